package monitorpage

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// maxArguments bounds the arguments that are listed of an item.
	maxArguments = 100
	// maxPretty bounds what is shown of a value, and maxIndent its margin, which would
	// otherwise be most of what is nested deeply.
	maxPretty = 64 << 10
	maxIndent = 40
)

// member is a part of a definition.
type member struct {
	Name string
	// Text is the value as indented JSON, Cut that there is more of it.
	Text string
	Cut  bool
}

// argument is one that a tool or a prompt takes.
type argument struct {
	// Pointer is its place in the definition.
	Pointer                 string
	Name, Type, Description string
	Required                bool
}

// read takes a definition apart.
func (d *itemData) read(q *shell.Request) {
	parts := members(d.Item.Definition)
	if parts == nil {
		if d.Description = textOf(d.Item.Definition); d.Description == "" {
			d.Rest = append(d.Rest, memberOf("", d.Item.Definition))
		}
		return
	}
	take := func(name string) json.RawMessage {
		raw := parts[name]
		delete(parts, name)
		return raw
	}
	d.Described = "/description"
	d.Title, d.Description = textOf(parts["title"]), textOf(parts["description"])
	for name, text := range map[string]string{"title": d.Title, "description": d.Description} {
		if text != "" {
			delete(parts, name)
		}
	}
	if name := textOf(parts["name"]); name == d.Item.Name {
		delete(parts, "name")
	}
	switch d.Item.Kind {
	case surface.Tool:
		for _, name := range []string{"inputSchema", "outputSchema"} {
			if raw := take(name); raw != nil {
				d.Schemas = append(d.Schemas, memberOf(name, raw))
				if name == "inputSchema" {
					d.Arguments = schemaArguments(raw)
				}
			}
		}
		d.Hints = hintsOf(q, parts["annotations"])
	case surface.Prompt:
		d.Arguments = promptArguments(parts["arguments"])
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if len(d.Rest) == maxArguments {
			break
		}
		d.Rest = append(d.Rest, memberOf(name, parts[name]))
	}
}

func memberOf(name string, raw []byte) member {
	text, cut := pretty(raw, maxPretty)
	return member{Name: name, Text: text, Cut: cut}
}

// hintsOf says the annotations of a tool in words, with what is meant by those that are
// left out.
func hintsOf(q *shell.Request, raw json.RawMessage) []string {
	given := members(raw)
	says := func(name string, otherwise bool) bool {
		var value bool
		if json.Unmarshal(given[name], &value) != nil {
			return otherwise
		}
		return value
	}
	if says("readOnlyHint", false) {
		return append([]string{q.T("says that it only reads")}, world(q, says)...)
	}
	out := []string{q.T("may change things")}
	if says("destructiveHint", true) {
		out = append(out, q.T("may destroy"))
	} else {
		out = append(out, q.T("says that it only adds"))
	}
	if says("idempotentHint", false) {
		out = append(out, q.T("says that calling it again changes nothing more"))
	}
	return append(out, world(q, says)...)
}

func world(q *shell.Request, says func(string, bool) bool) []string {
	if says("openWorldHint", true) {
		return []string{q.T("reaches the outside world")}
	}
	return []string{q.T("says that it stays in a closed domain")}
}

func schemaArguments(schema json.RawMessage) []argument {
	parts := members(schema)
	properties := members(parts["properties"])
	var required []string
	_ = json.Unmarshal(parts["required"], &required) // anything else requires nothing that can be told
	needed := make(map[string]bool, len(required))
	for _, name := range required {
		needed[name] = true
	}
	var out []argument
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(out) == maxArguments {
			break
		}
		p := members(properties[name])
		a := argument{Pointer: "/inputSchema/properties" + rawjson.Pointer(name), Name: name, Required: needed[name]}
		if a.Type = textOf(p["type"]); a.Type == "" && p["type"] != nil {
			a.Type, _ = beginning(string(p["type"]), maxLine)
		}
		a.Description = textOf(p["description"])
		out = append(out, a)
	}
	return out
}

func promptArguments(raw json.RawMessage) []argument {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // anything else is shown among the rest
	var out []argument
	for i, one := range list[:min(len(list), maxArguments)] {
		p := members(one)
		a := argument{Pointer: "/arguments/" + strconv.Itoa(i), Name: textOf(p["name"]), Description: textOf(p["description"])}
		_ = json.Unmarshal(p["required"], &a.Required)
		out = append(out, a)
	}
	return out
}

// pretty indents JSON, at most limit bytes of it. Strings stay as they are written.
func pretty(raw []byte, limit int) (text string, cut bool) {
	var b strings.Builder
	depth := 0
	line := func() {
		b.WriteByte('\n')
		b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	}
	for i := 0; i < len(raw); i++ {
		if b.Len() >= limit {
			return b.String(), true
		}
		switch c := raw[i]; c {
		case '"':
			end := stringEnd(raw, i)
			if b.Len()+end-i > limit {
				part, _ := beginning(string(raw[i:end]), limit-b.Len())
				b.WriteString(part)
				return b.String(), true
			}
			b.Write(raw[i:end])
			i = end - 1
		case '{', '[':
			b.WriteByte(c)
			if i+1 < len(raw) && (raw[i+1] == '}' || raw[i+1] == ']') {
				i++
				b.WriteByte(raw[i])
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			b.WriteByte(c)
		case ',':
			b.WriteByte(c)
			line()
		case ':':
			b.WriteString(": ")
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), false
}

// stringEnd is where the string that starts at i ends.
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); {
		n := bytes.IndexAny(raw[i:], `"\`)
		if n < 0 {
			return len(raw)
		}
		if i += n; raw[i] == '"' {
			return i + 1
		}
		i += 2
	}
	return len(raw)
}
