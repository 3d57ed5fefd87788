package surface

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// splitter divides definitions into the parts that have digests of their own. Each
// part is written as JSON, of which only the digest is kept. It reads canonical
// values: members come in order, and equal names have equal bytes.
type splitter struct {
	text, shape, annotations, meta []byte
	buf                            []byte

	traits // of the schema that is being written
}

func (s *splitter) split(kind Kind, v rawjson.Value) {
	s.text, s.shape, s.annotations, s.meta = s.text[:0], s.shape[:0], s.annotations[:0], s.meta[:0]
	switch {
	case kind == Protocol, kind == Capabilities:
		s.meta = append(s.meta, v.Raw()...)
	case kind == Auth:
		s.login(v)
	case v.Kind() != rawjson.Object:
		s.text = append(s.text, v.Raw()...)
	default:
		s.object(kind, v)
	}
}

func (s *splitter) object(kind Kind, v rawjson.Value) {
	s.text = append(s.text, '{')
	s.shape = append(s.shape, '{')
	s.meta = append(s.meta, '{')
	for name, member := range v.RawMembers() {
		s.member(kind, name, member)
	}
	if kind == Tool {
		s.hints(v)
	}
	s.text = append(s.text, '}')
	s.shape = append(s.shape, '}')
	s.meta = append(s.meta, '}')
}

// member puts a member of an item where it belongs.
func (s *splitter) member(kind Kind, name []byte, v rawjson.Value) {
	switch {
	case isText(kind, name):
		s.text = append(openMember(s.text, name), v.Raw()...)
	case kind == Tool && (string(name) == `"inputSchema"` || string(name) == `"outputSchema"`):
		s.both(name, func() { s.root(v) })
	case kind == Tool && string(name) == `"annotations"`:
		s.annotationTitle(name, v)
	case kind == Prompt && string(name) == `"arguments"`:
		s.arguments(name, v)
	case kind == Server && string(name) == `"version"`, isResource(kind) && string(name) == `"mimeType"`:
		s.shape = append(openMember(s.shape, name), v.Raw()...)
	case isResource(kind) && string(name) == `"annotations"`:
		s.annotations = append(s.annotations, v.Raw()...)
	case isMisspelled(kind, name[1:len(name)-1]):
		s.text = append(openMember(s.text, name), v.Raw()...)
	default:
		s.meta = append(openMember(s.meta, name), v.Raw()...)
	}
}

// isMisspelled tells members that are known but for letter case, which clients that do
// not tell letter case apart read as those.
func isMisspelled(kind Kind, name []byte) bool {
	const items = "name title description icons _meta "
	known := ""
	switch kind {
	case Server:
		known = items + "version websiteUrl"
	case Tool:
		known = items + "inputSchema outputSchema annotations execution"
	case Prompt:
		known = items + "arguments required" // required of an argument
	case Resource, ResourceTemplate:
		known = items + "uri uriTemplate mimeType annotations size"
	}
	for member := range strings.FieldsSeq(known) {
		if len(member) <= len(name) && strings.EqualFold(member, string(name)) {
			return member != string(name)
		}
	}
	return false
}

func isResource(kind Kind) bool { return kind == Resource || kind == ResourceTemplate }

func isText(kind Kind, name []byte) bool {
	switch string(name) {
	case `"name"`, `"title"`, `"description"`:
		return true
	case `"uri"`:
		return kind == Resource
	case `"uriTemplate"`:
		return kind == ResourceTemplate
	}
	return false
}

// openMember starts a member of an object that is being written.
func openMember(dst, name []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, name...)
	return append(dst, ':')
}

// openElement starts an element of an array that is being written.
func openElement(dst []byte) []byte {
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// both writes a member to text and shape, to text only if there is some. It gives
// the place of the value in the shape.
func (s *splitter) both(name []byte, write func()) (value int) {
	mark := len(s.text)
	s.text = openMember(s.text, name)
	empty := len(s.text)
	s.shape = openMember(s.shape, name)
	value = len(s.shape)
	write()
	if len(s.text) == empty {
		s.text = s.text[:mark]
	}
	return value
}

// hint is an annotation of a tool with the value that it has when it is missing
// (ToolAnnotations in the schema of the protocol).
type hint struct{ member, missing string }

var toolHints = [...]hint{
	{`"destructiveHint"`, "true"},
	{`"idempotentHint"`, "false"},
	{`"openWorldHint"`, "true"},
	{`"readOnlyHint"`, "false"},
}

// hints writes the effective annotations of a tool: what its hints mean, and what
// else there is. What is there twice stays as it is: which one counts depends on the
// reader.
func (s *splitter) hints(tool rawjson.Value) {
	s.annotations = append(s.annotations, '{')
	var values [len(toolHints)][]byte
	twice := false
	for name, annotations := range tool.RawMembers() {
		if string(name) != `"annotations"` {
			continue
		}
		if twice || annotations.Kind() != rawjson.Object && !annotations.IsNull() {
			s.annotations = append(openMember(s.annotations, name), annotations.Raw()...)
			continue
		}
		twice = true
		for name, v := range annotations.RawMembers() {
			i := slices.IndexFunc(toolHints[:], func(h hint) bool { return h.member == string(name) })
			switch {
			case string(name) == `"title"`:
			case i >= 0 && values[i] == nil:
				values[i] = v.Raw()
			default:
				s.annotations = append(openMember(s.annotations, name), v.Raw()...)
			}
		}
	}
	for i, h := range toolHints {
		if values[i] == nil || string(values[i]) == "null" {
			values[i] = []byte(h.missing)
		}
	}
	readOnly := string(values[3]) == "true"
	for i, h := range toolHints {
		if readOnly && i < 2 {
			continue // neither destructive nor idempotent says anything then
		}
		s.annotations = append(openMember(s.annotations, []byte(h.member)), values[i]...)
	}
	s.annotations = append(s.annotations, '}')
}

// annotationTitle takes the title, which is text, out of the annotations of a tool.
func (s *splitter) annotationTitle(name []byte, annotations rawjson.Value) {
	for member, v := range annotations.RawMembers() {
		if string(member) == `"title"` {
			s.text = append(openMember(s.text, name), `{"title":`...)
			s.text = append(append(s.text, v.Raw()...), '}')
		}
	}
}

// arguments divides the arguments of a prompt, whose order does not count.
func (s *splitter) arguments(name []byte, v rawjson.Value) {
	s.shape = openMember(s.shape, name)
	if v.Kind() != rawjson.Array {
		s.shape = append(s.shape, v.Raw()...)
		return
	}
	arguments := v.Elems()
	slices.SortFunc(arguments, func(a, b rawjson.Value) int {
		if byName := bytes.Compare(a.Get("name").Raw(), b.Get("name").Raw()); byName != 0 {
			return byName
		}
		return bytes.Compare(a.Raw(), b.Raw())
	})
	text, meta := len(s.text), len(s.meta)
	s.text = append(openMember(s.text, name), '[')
	s.meta = append(openMember(s.meta, name), '[')
	s.shape = append(s.shape, '[')
	for _, argument := range arguments {
		s.argument(argument)
	}
	s.shape = append(s.shape, ']')
	s.text = closeArray(s.text, text)
	s.meta = closeArray(s.meta, meta)
}

// closeArray ends the array that is the value of the member at mark, or takes back
// the member when the array is empty.
func closeArray(dst []byte, mark int) []byte {
	if dst[len(dst)-1] == '[' {
		return dst[:mark]
	}
	return append(dst, ']')
}

func (s *splitter) argument(v rawjson.Value) {
	s.shape = openElement(s.shape)
	if v.Kind() != rawjson.Object {
		s.shape = append(s.shape, v.Raw()...)
		return
	}
	text, meta := len(s.text), len(s.meta)
	s.text = openNamed(s.text, v.Get("name"))
	s.meta = openNamed(s.meta, v.Get("name"))
	noText, noMeta := len(s.text), len(s.meta)
	s.shape = append(s.shape, '{')
	for member, value := range v.RawMembers() {
		switch string(member) {
		case `"name"`:
			s.shape = append(openMember(s.shape, member), value.Raw()...)
		case `"required"`:
			if required, ok := value.Bool(); !ok || required {
				s.shape = append(openMember(s.shape, member), value.Raw()...)
			}
		case `"title"`, `"description"`:
			s.text = append(openMember(s.text, member), value.Raw()...)
		default:
			if isMisspelled(Prompt, member[1:len(member)-1]) {
				s.text = append(openMember(s.text, member), value.Raw()...)
			} else {
				s.meta = append(openMember(s.meta, member), value.Raw()...)
			}
		}
	}
	s.shape = append(s.shape, '}')
	s.text = closeNamed(s.text, text, noText)
	s.meta = closeNamed(s.meta, meta, noMeta)
}

// openNamed starts an element that is a name with an object of what it has.
func openNamed(dst []byte, name rawjson.Value) []byte {
	dst = append(openElement(dst), '[')
	if name.Exists() {
		dst = append(append(dst, name.Raw()...), ',')
	}
	return append(dst, '{')
}

// closeNamed ends the element at mark, or takes it back when it has nothing behind
// empty.
func closeNamed(dst []byte, mark, empty int) []byte {
	if len(dst) == empty {
		return dst[:mark]
	}
	return append(dst, '}', ']')
}

// login writes the metadata of the login, each document without what only people
// read.
func (s *splitter) login(v rawjson.Value) {
	s.meta = append(s.meta, '{')
	for name, document := range v.RawMembers() {
		s.meta = openMember(s.meta, name)
		s.document(document)
	}
	s.meta = append(s.meta, '}')
}

func (s *splitter) document(v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		s.meta = append(s.meta, v.Raw()...)
		return
	}
	s.meta = append(s.meta, '{')
	for name, value := range v.RawMembers() {
		switch {
		case isDisplay(name):
		case string(name) == `"`+memberSigned+`"`:
			s.meta = openMember(s.meta, name)
			s.document(value)
		default:
			s.meta = append(openMember(s.meta, name), value.Raw()...)
		}
	}
	s.meta = append(s.meta, '}')
}

// isDisplay tells the members of RFC 9728 and RFC 8414 that are for people, which
// may carry a language.
func isDisplay(member []byte) bool {
	base, _, _ := bytes.Cut(bytes.Trim(member, `"`), []byte("#"))
	switch string(base) {
	case "resource_name", "resource_documentation", "resource_policy_uri", "resource_tos_uri",
		"service_documentation", "op_policy_uri", "op_tos_uri", "ui_locales_supported":
		return true
	}
	return false
}
