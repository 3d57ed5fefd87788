package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// annotation is the member of a property's schema that asks for the argument to
// be sent in a header too (2026-07-28, Streamable HTTP, custom headers).
const annotation = "x-mcp-header"

// toolHeader is one argument that is sent as Mcp-Param-Suffix too.
type toolHeader struct {
	suffix string
	path   []string // property names from the root of the arguments
	kind   string   // string, integer or boolean
}

// toolHeaderSet is what the input schema of one tool asks for.
type toolHeaderSet []toolHeader

// toolHeaders reads the x-mcp-header annotations of an input schema. One of them
// at fault makes the tool invalid: the error names it by its JSON pointer, and
// quotes the server. A $ref is not followed, as nothing behind it may be annotated.
func toolHeaders(schema rawjson.Value) (toolHeaderSet, error) {
	if raw := schema.Raw(); !bytes.Contains(raw, []byte(annotation)) && !bytes.Contains(raw, []byte(`\u`)) {
		return nil, nil // no member can have that name, spelled in any way
	}
	scan := headerScan{seen: make(map[string]bool)}
	if err := scan.schema(schema, true); err != nil {
		return nil, err
	}
	return scan.found, nil
}

// headerScan walks a schema. Its recursion is bounded by rawjson.MaxDepth.
type headerScan struct {
	found   toolHeaderSet
	seen    map[string]bool // suffixes in lower case
	pointer []string
	path    []string // the property names of pointer
}

// Keywords that hold schemas, by what they hold: one schema or an array of them,
// or an object of them by name. Other members hold values, such as default and
// examples, in which the annotation means nothing.
var (
	schemaKeywords = []string{
		"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains",
		"additionalProperties", "unevaluatedProperties", "propertyNames",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema",
	}
	schemaMapKeywords = []string{"patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)

// schema scans one schema. chain says that only properties lead to it.
func (s *headerScan) schema(v rawjson.Value, chain bool) error {
	if a := v.Get(annotation); a.Exists() {
		if err := s.annotated(v, a, chain); err != nil {
			return err
		}
	}
	for name, property := range v.Get("properties").Members() {
		s.path = append(s.path, name)
		if err := s.at(property, chain, "properties", name); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
	}
	for _, keyword := range schemaKeywords {
		sub := v.Get(keyword)
		if err := s.at(sub, false, keyword); err != nil {
			return err
		}
		for i, element := range sub.Elems() {
			if err := s.at(element, false, keyword, strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	for _, keyword := range schemaMapKeywords {
		for name, sub := range v.Get(keyword).Members() {
			if err := s.at(sub, false, keyword, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// at scans a schema that is steps further down.
func (s *headerScan) at(v rawjson.Value, chain bool, steps ...string) error {
	if v.Kind() != rawjson.Object {
		return nil
	}
	before := len(s.pointer)
	s.pointer = append(s.pointer, steps...)
	err := s.schema(v, chain)
	s.pointer = s.pointer[:before]
	return err
}

// annotated checks one annotation, and takes it down.
func (s *headerScan) annotated(schema, a rawjson.Value, chain bool) error {
	if !chain || len(s.path) == 0 {
		return s.fault("only a property that properties alone lead to may have it")
	}
	suffix, ok := a.Text()
	switch {
	case !ok:
		return s.fault("it is %s, not a string", article(a.Kind()))
	case suffix == "":
		return s.fault("it is empty")
	case strings.ContainsFunc(suffix, notToken):
		return s.fault("\"%s\" is not a header name", clip(suffix))
	}
	kind, _ := schema.Get("type").Text()
	switch kind {
	case "string", "integer", "boolean":
	default:
		return s.fault("the type of the property must be string, integer or boolean")
	}
	lower := strings.ToLower(suffix)
	if s.seen[lower] {
		return s.fault("\"%s\" is used twice", clip(suffix))
	}
	s.seen[lower] = true
	s.found = append(s.found, toolHeader{suffix: suffix, path: append([]string(nil), s.path...), kind: kind})
	return nil
}

func (s *headerScan) fault(format string, args ...any) error {
	pointer := clip(rawjson.Pointer(append(s.pointer, annotation)...))
	return fmt.Errorf("%s: %s", pointer, fmt.Sprintf(format, args...))
}

// notToken reports whether r may not be in a token (RFC 9110, 5.6.2).
func notToken(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// paramHeaders returns the values, encoded, of the headers that go with a call,
// by what follows Mcp-Param-. An argument that is null or absent has no header;
// one of the wrong type is an error, whose text quotes the server.
func paramHeaders(set toolHeaderSet, args rawjson.Value) (map[string]string, error) {
	headers := make(map[string]string, len(set))
	for _, h := range set {
		v := args
		for _, name := range h.path {
			v = v.Get(name)
		}
		if !v.Exists() || v.IsNull() {
			continue
		}
		value, ok := headerValue(v, h.kind)
		if !ok {
			limits := ""
			if h.kind == "integer" {
				limits = " of at most 53 bits"
			}
			return nil, fmt.Errorf("the argument %s must be %s %s%s", clip(rawjson.Pointer(h.path...)), indefinite(h.kind), h.kind, limits)
		}
		headers[h.suffix] = encodeHeaderValue(value)
	}
	return headers, nil
}

func indefinite(noun string) string {
	if strings.HasPrefix(noun, "i") {
		return "an"
	}
	return "a"
}

func headerValue(v rawjson.Value, kind string) (string, bool) {
	switch kind {
	case "integer":
		const most = 1<<53 - 1
		n, ok := v.Int()
		return strconv.FormatInt(n, 10), ok && -most <= n && n <= most
	case "boolean":
		b, ok := v.Bool()
		return strconv.FormatBool(b), ok
	default:
		return v.Text()
	}
}

// The marks around a value in base64. They are matched exactly.
const (
	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// encodeHeaderValue makes a text fit for a header: as it is when it is printable
// ASCII without white space at its ends and not marked as base64 itself, and
// else as marked base64.
func encodeHeaderValue(s string) string {
	unfit := func(r rune) bool { return r < ' ' || '~' < r }
	if strings.ContainsFunc(s, unfit) || strings.Trim(s, " ") != s ||
		strings.HasPrefix(s, base64Prefix) && strings.HasSuffix(s, base64Suffix) {
		return base64Prefix + base64.StdEncoding.EncodeToString([]byte(s)) + base64Suffix
	}
	return s
}
