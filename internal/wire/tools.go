package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Bounds of tool names: SHOULD from 2025-11-25.
const maxToolName = 128

// tool looks at what only tools have: a name that model APIs accept, a usable
// input schema, annotations that ask for headers. False: a conforming client
// leaves the tool out.
func (l *lister) tool(name string, v rawjson.Value) (keep bool) {
	cfg := l.s.cfg
	if l.s.http && l.s.era == EraModern { // a stdio client may ignore the annotation
		set, err := toolHeaders(v.Get("inputSchema"))
		if err != nil {
			l.out.Dropped = append(l.out.Dropped, name)
			cfg.Log.Note("invalid-tool-header", fmt.Sprintf("the tool \"%s\" is left out: %s", cfg.quote(name, 100), cfg.quote(err.Error(), maxQuote)), "mend its x-mcp-header; conforming HTTP clients drop the tool")
			return false
		}
		if len(set) > 0 {
			l.headers[name] = set
		}
	}
	l.s.checkToolName(name)
	if pointer, text := schemaProblem(v); text != "" {
		l.out.Schemas = append(l.out.Schemas, SchemaProblem{Tool: cfg.quote(name, 100), Index: len(l.out.Items), Pointer: cfg.quote(pointer, maxQuote), Text: cfg.quote(text, maxQuote)})
	}
	return true
}

func (s *Session) checkToolName(name string) {
	shown := s.cfg.quote(name, 140)
	switch odd := strings.IndexFunc(name, oddInName); {
	case utf8.RuneCountInString(name) > maxToolName:
		s.cfg.Log.Note("tool-name", fmt.Sprintf("the name of the tool \"%s\" is longer than %d characters", shown, maxToolName), "shorten it; some model APIs refuse names over 64")
	case odd >= 0 && strings.ContainsRune("./", rune(name[odd])):
		s.cfg.Log.Note("tool-name-portable", fmt.Sprintf("the name of the tool \"%s\" has a dot or a slash", shown), "some model APIs take only letters, digits, _ and -")
	case odd >= 0:
		s.cfg.Log.Note("tool-name", fmt.Sprintf("the name of the tool \"%s\" has characters outside A-Z a-z 0-9 _ - . /", shown), "rename it; model APIs refuse the request")
	}
}

func oddInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// schemaProblem returns where and why a tool's input schema makes mainstream
// clients drop every tool of the server, or nothing.
func schemaProblem(tool rawjson.Value) (pointer, text string) {
	schema := tool.Get("inputSchema")
	if !schema.Exists() {
		return "/inputSchema", "is missing"
	}
	if schema.Kind() != rawjson.Object {
		return "/inputSchema", "is " + article(schema.Kind()) + ", not an object"
	}
	kind := schema.Get("type")
	if name, ok := kind.Text(); !ok || name != "object" {
		switch {
		case !kind.Exists():
			return "/inputSchema/type", `is missing; it must be "object"`
		case ok:
			return "/inputSchema/type", fmt.Sprintf(`is "%s"; it must be "object"`, clip(name))
		default:
			return "/inputSchema/type", fmt.Sprintf(`is %s; it must be the string "object"`, article(kind.Kind()))
		}
	}
	if p := schema.Get("properties"); p.Exists() && p.Kind() != rawjson.Object {
		return "/inputSchema/properties", "is " + article(p.Kind()) + ", not an object"
	}
	for name, p := range schema.Get("properties").Members() {
		if k := p.Kind(); k != rawjson.Object && k != rawjson.Bool {
			return "/inputSchema" + rawjson.Pointer("properties", clip(name)), "is " + article(k) + ", not a schema"
		}
	}
	if req := schema.Get("required"); req.Exists() {
		if _, ok := textList(req); !ok {
			return "/inputSchema/required", "is not an array of strings"
		}
	}
	if out := tool.Get("outputSchema"); out.Exists() && !out.IsNull() && out.Kind() != rawjson.Object {
		return "/outputSchema", "is " + article(out.Kind()) + ", not an object"
	}
	return "", ""
}
