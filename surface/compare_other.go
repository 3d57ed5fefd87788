package surface

import (
	"slices"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

func (d *differ) server(before, after rawjson.Value) {
	d.object(before, after, ServerIdentity, func(m member) {
		switch m.name {
		case "name":
			d.change(ServerIdentity, m.before, m.after, "name "+comingOr(m.before, m.after, "changed"))
		case "version":
			d.change(ServerVersion, m.before, m.after, "version "+comingOr(m.before, m.after, "changed"))
		case "title", "description":
			d.text(ServerText, m.before, m.after)
		default:
			d.other(m, ServerText, ServerMeta)
		}
	})
}

func (d *differ) capabilities(before, after rawjson.Value) {
	d.object(before, after, CapabilitiesChanged, func(m member) {
		d.change(CapabilitiesChanged, m.before, m.after, "capability "+comingOr(m.before, m.after, "changed"))
	})
}

// resource compares resources and resource templates.
func (d *differ) resource(before, after rawjson.Value, text, meta Class) {
	d.object(before, after, text, func(m member) {
		switch {
		case d.moved && m.name == traitsOfKind(d.kind).name:
			// told as a removed and an added item
		case slices.Contains([]string{"uri", "uriTemplate", "name", "title", "description"}, m.name):
			d.text(text, m.before, m.after)
		case m.name == "_meta":
			d.meta(m.before, m.after, meta, meta)
		default:
			d.other(m, text, meta)
		}
	})
}

func (d *differ) prompt(before, after rawjson.Value) {
	d.object(before, after, PromptText, func(m member) {
		switch m.name {
		case "name", "title", "description":
			d.text(PromptText, m.before, m.after)
		case "arguments":
			d.arguments(m)
		case "_meta":
			d.meta(m.before, m.after, PromptMeta, PromptMeta)
		default:
			d.other(m, PromptText, PromptMeta)
		}
	})
}

// arguments compares the arguments of a prompt by their names; their order does not
// count. Pointers are those of after, or of before for one that was removed.
func (d *differ) arguments(m member) {
	for _, v := range []rawjson.Value{m.before, m.after} {
		if v.Exists() && v.Kind() != rawjson.Array {
			d.change(PromptArguments, m.before, m.after, "changed: not a list")
			return
		}
	}
	d.explained = true
	p := pairing{before: numbered(m.before), after: numbered(m.after)}
	p.by(func(v rawjson.Value) string { return string(v.Raw()) })
	p.pairs = nil // equal
	p.by(func(v rawjson.Value) string { return string(v.Get("name").Raw()) })
	for _, pair := range p.pairs {
		d.atIndex(pair.after, func() { d.argument(pair.before.value, pair.after.value) })
	}
	for _, gone := range p.before {
		d.atIndex(gone, func() { d.change(PromptArguments, gone.value, rawjson.Value{}, "argument removed") })
	}
	for _, come := range p.after {
		detail := "argument added, optional"
		if required, _ := come.value.Get("required").Bool(); required {
			detail = "argument added, required"
		}
		d.atIndex(come, func() { d.change(PromptArguments, rawjson.Value{}, come.value, detail) })
	}
}

func (d *differ) argument(before, after rawjson.Value) {
	d.object(before, after, PromptArguments, func(m member) {
		switch m.name {
		case "name", "title", "description":
			d.text(PromptText, m.before, m.after)
		case "required":
			d.requiredArgument(m)
		default:
			d.other(m, PromptText, PromptMeta)
		}
	})
}

func (d *differ) requiredArgument(m member) {
	was, okBefore := m.before.Bool()
	is, okAfter := m.after.Bool()
	switch {
	case m.before.Exists() && !okBefore, m.after.Exists() && !okAfter:
		d.change(PromptArguments, m.before, m.after, "required changed: not a boolean")
	case is && !was:
		d.change(PromptArguments, m.before, m.after, "became required")
	case was && !is:
		d.change(PromptArguments, m.before, m.after, "no longer required")
	}
}
