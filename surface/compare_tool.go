package surface

import (
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

func (d *differ) tool(before, after rawjson.Value) {
	d.object(before, after, ToolText, func(m member) {
		switch m.name {
		case "name", "title", "description":
			d.text(ToolText, m.before, m.after)
		case "inputSchema":
			d.schema(m.before, m.after, "input schema")
		case "outputSchema":
			d.schema(m.before, m.after, "output schema")
		case "annotations":
			d.annotations(m.before, m.after)
		case "_meta":
			d.meta(m.before, m.after, ToolMeta, ToolMetaSteering)
		default:
			d.other(m, ToolText, ToolMeta)
		}
	})
	d.growth(before, after)
}

// other reports a member that is none of the protocol, or is one but for letter case.
func (d *differ) other(m member, misspelled, unknown Class) {
	if isMisspelled(d.kind, []byte(m.name)) {
		d.change(misspelled, m.before, m.after, "a member of the protocol in another letter case "+comingOr(m.before, m.after, "changed"))
	} else {
		d.change(unknown, m.before, m.after, comingOr(m.before, m.after, "changed"))
	}
}

// growth reports a tool whose text more than doubled, by more than 4 KB.
func (d *differ) growth(before, after rawjson.Value) {
	const allowed = 4 << 10
	if len(after.Raw()) <= allowed {
		return
	}
	was, is := textSize(before), textSize(after)
	if is > 2*was && is-was > allowed {
		d.change(OversizedGrowth, rawjson.Value{}, rawjson.Value{}, "the text more than doubled")
	}
}

// textSize is the size of all titles, descriptions and comments in v.
func textSize(v rawjson.Value) int {
	size := 0
	for _, e := range v.Elems() {
		size += textSize(e)
	}
	for name, m := range v.RawMembers() {
		if m.Kind() == rawjson.String && roleOf(string(name[1:len(name)-1])) == roleText {
			size += len(m.Raw())
		} else {
			size += textSize(m)
		}
	}
	return size
}

// hints are the annotations of a tool by what they mean: with the defaults of the
// specification, and with those that say nothing about a read-only tool left out.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

func hintsOf(v rawjson.Value) hints {
	hint := func(name string, byDefault bool) bool {
		if value, ok := v.Get(name).Bool(); ok {
			return value
		}
		return byDefault
	}
	h := hints{readOnly: hint("readOnlyHint", false), openWorld: hint("openWorldHint", true)}
	if !h.readOnly {
		h.destructive = hint("destructiveHint", true)
		h.idempotent = hint("idempotentHint", false)
	}
	return h
}

// annotations compares hints by what they mean, and in which direction.
func (d *differ) annotations(before, after rawjson.Value) {
	for _, v := range []rawjson.Value{before, after} {
		if v.Exists() && !v.IsNull() && v.Kind() != rawjson.Object {
			d.change(ToolHintsRelaxed, before, after, "changed: not an object")
			return
		}
	}
	found := len(d.changes)
	text := false
	was, is := hintsOf(before), hintsOf(after)
	for _, m := range d.members(before, after) {
		d.at(m.name, func() {
			switch m.name {
			case "title":
				text = true
				d.text(ToolText, m.before, m.after)
			case "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
				if !isHint(m.before) || !isHint(m.after) {
					// Some clients read "true" and 1 as true, and 0 as false.
					d.change(ToolHintsRelaxed, m.before, m.after, "changed: not a boolean")
					return
				}
				d.hint(m, was, is)
			default:
				if isMisspelledHint(m.name) {
					d.change(ToolHintsRelaxed, m.before, m.after, "a hint in another letter case "+comingOr(m.before, m.after, "changed"))
					return
				}
				d.change(ToolAnnotations, m.before, m.after, comingOr(m.before, m.after, "changed"))
			}
		})
	}
	if len(d.changes) == found && !text {
		d.change(ToolAnnotationsSame, before, after, "written differently, with the same effect")
	}
}

// isHint reports whether clients agree on what the value of a hint means.
func isHint(v rawjson.Value) bool { return !v.Exists() || v.IsNull() || v.Kind() == rawjson.Bool }

// isMisspelledHint tells what clients that do not tell letter case apart read as one
// of the annotations.
func isMisspelledHint(name string) bool {
	return strings.EqualFold(name, "title") ||
		slices.ContainsFunc(toolHints[:], func(h hint) bool { return strings.EqualFold(`"`+name+`"`, h.member) })
}

// hint reports what one hint that is written differently changed.
func (d *differ) hint(m member, was, is hints) {
	report := func(class Class, detail string) { d.change(class, m.before, m.after, detail) }
	switch m.name {
	case "readOnlyHint":
		switch {
		case was.readOnly && !is.readOnly && is.destructive:
			report(ToolReadOnlyLost, "no longer read-only, and may destroy")
		case was.readOnly && !is.readOnly:
			report(ToolReadOnlyLost, "no longer read-only")
		case !was.readOnly && is.readOnly:
			report(ToolHintsRelaxed, "became read-only")
		}
	case "destructiveHint":
		switch says, _ := m.after.Bool(); {
		case is.destructive && !was.destructive && (says || !was.readOnly):
			report(ToolDestructive, "became destructive")
		case was.destructive && !is.destructive && !is.readOnly:
			report(ToolHintsRelaxed, "no longer destructive")
		}
	case "idempotentHint":
		switch {
		case was.readOnly || is.readOnly:
		case is.idempotent && !was.idempotent:
			report(ToolAnnotations, "became idempotent")
		case was.idempotent && !is.idempotent:
			report(ToolAnnotations, "no longer idempotent")
		}
	case "openWorldHint":
		switch {
		case is.openWorld && !was.openWorld:
			report(ToolOpenWorld, "became open-world")
		case was.openWorld && !is.openWorld:
			report(ToolHintsRelaxed, "now claims to be closed-world")
		}
	}
}

// meta compares _meta by its members.
func (d *differ) meta(before, after rawjson.Value, class, steering Class) {
	for _, v := range []rawjson.Value{before, after} {
		if v.Exists() && v.Kind() != rawjson.Object {
			d.change(class, before, after, "changed: not an object")
			return
		}
	}
	found := len(d.changes)
	for _, m := range d.members(before, after) {
		class := class
		if steers(m.name) {
			class = steering
		}
		d.at(m.name, func() { d.change(class, m.before, m.after, comingOr(m.before, m.after, "changed")) })
	}
	if len(d.changes) == found { // an empty object came or went
		d.change(class, before, after, comingOr(before, after, "changed"))
	}
}

// steers reports whether clients are known to load or show a tool by this key of
// _meta: the keys of MCP Apps (ui, ui/resourceUri), and those of two vendors, under
// their name or their domain.
func steers(key string) bool {
	key = strings.ToLower(key)
	prefix, name := "", key
	if slash := strings.LastIndexByte(key, '/'); slash >= 0 {
		prefix, name = key[:slash], key[slash+1:]
	}
	if name == "ui" || strings.Contains(key, "ui/resourceuri") || strings.HasPrefix(key, "ui/") {
		return true
	}
	for label := range strings.FieldsFuncSeq(prefix, func(r rune) bool { return r == '.' || r == '/' }) {
		if label == "openai" || label == "anthropic" {
			return true
		}
	}
	return false
}
