package surface

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Save writes the surface as JSON that [Read] reads back without loss, indented,
// with everything that cannot be seen as an escape. The members are surface (the
// version of the format), serverInfo, protocolVersion, capabilities, instructions,
// auth, tools, resources, resourceTemplates, prompts, each as the server sent it,
// and unlisted, the kinds of the inventories that were not listed to their end. A
// definition that JSON text cannot hold, because it has bytes that are not UTF-8 or
// is nested nearly too deeply, stands as {"canonicalBase64": …}, in standard base64.
func (s *Surface) Save() []byte {
	compact := s.appendFile(nil)
	var indented bytes.Buffer
	indented.Grow(2 * len(compact))
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		return compact // not reached: definitions are JSON
	}
	indented.WriteByte('\n')
	return plain.JSON(indented.Bytes())
}

// MarshalJSON gives what Save does.
func (s *Surface) MarshalJSON() ([]byte, error) { return s.Save(), nil }

func (s *Surface) appendFile(dst []byte) []byte {
	dst = append(dst, `{"`+memberFormat+`":`...)
	dst = strconv.AppendInt(dst, format, 10)
	for _, t := range kinds {
		items := s.Of(t.kind)
		elems := make([][]byte, len(items))
		for i := range items {
			elems[i] = appendSaved(nil, items[i].Definition)
		}
		if t.name != "" && len(items) > 0 {
			elems = [][]byte{appendArray(nil, elems)}
		}
		for _, value := range elems { // several, if the server sent several
			dst = append(dst, `,"`+t.member+`":`...)
			dst = append(dst, value...)
		}
	}
	if len(s.unlisted) > 0 {
		dst = append(dst, `,"`+memberUnlisted+`":`...)
		names, _ := json.Marshal(s.unlisted)
		dst = append(dst, names...)
	}
	return append(dst, '}')
}

// fileLevels are the levels of a file around a definition.
const fileLevels = 2

// appendSaved appends a definition as it stands in a file.
func appendSaved(dst, definition []byte) []byte {
	isEncoded := bytes.HasPrefix(definition, []byte(`{"`+memberCanonical+`":`))
	if !isEncoded && utf8.Valid(definition) && depth(definition) <= rawjson.MaxDepth-fileLevels {
		return append(dst, definition...)
	}
	dst = append(dst, `{"`+memberCanonical+`":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, definition)
	return append(dst, `"}`...)
}

// depth is the nesting of a JSON text.
func depth(text []byte) int {
	deepest, level := 0, 0
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
