package wire

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

func parseValue(t testing.TB, s string) rawjson.Value {
	t.Helper()
	v, _, err := rawjson.Parse([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func TestToolHeaders(t *testing.T) {
	tests := []struct {
		name, schema string
		want         toolHeaderSet
	}{
		{"none", `{"type":"object","properties":{"a":{"type":"string"}}}`, nil},
		{"not a schema", `[{"x-mcp-header":"A"}]`, nil},
		{"missing", `null`, nil},
		{
			"all types",
			`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"b-2"},"c":{"type":"boolean","x-mcp-header":"!#$%&'*+-.^_|~"}}}`,
			toolHeaderSet{{"A", []string{"a"}, "string"}, {"b-2", []string{"b"}, "integer"}, {"!#$%&'*+-.^_|~", []string{"c"}, "boolean"}},
		},
		{
			"nested", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"string","x-mcp-header":"C"}}},"d":{"type":"string","x-mcp-header":"D"}}}}}`,
			toolHeaderSet{{"C", []string{"a", "b", "c"}, "string"}, {"D", []string{"a", "d"}, "string"}},
		},
		{"a property of that name", `{"properties":{"x-mcp-header":{"type":"number"}}}`, nil},
		{"an annotated property of that name", `{"properties":{"x-mcp-header":{"type":"string","x-mcp-header":"X"}}}`, toolHeaderSet{{"X", []string{"x-mcp-header"}, "string"}}},
		{"properties named like keywords", `{"properties":{"items":{"type":"string","x-mcp-header":"I"},"properties":{"type":"string","x-mcp-header":"P"}}}`, toolHeaderSet{{"I", []string{"items"}, "string"}, {"P", []string{"properties"}, "string"}}},
		{"values are not schemas", `{"properties":{"a":{"type":"object","default":{"x-mcp-header":1},"examples":[{"x-mcp-header":2}],"const":{"x-mcp-header":3}}},"x-other":{"x-mcp-header":""}}`, nil},
		{"boolean schemas", `{"properties":{"a":true},"additionalProperties":false,"items":false}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := toolHeaders(parseValue(t, test.schema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(toolHeader{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolHeadersInvalid(t *testing.T) {
	const ok = `{"type":"string","x-mcp-header":"A"}`
	const chain = ": only a property that properties alone lead to may have it"
	const kind = ": the type of the property must be string, integer or boolean"
	tests := []struct{ schema, want string }{
		{ok, "/x-mcp-header" + chain},
		{`{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, "/properties/a/x-mcp-header: it is a number, not a string"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":null}}}`, "/properties/a/x-mcp-header: it is null, not a string"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, "/properties/a/x-mcp-header: it is empty"},
		{`{"properties":{"a/b~":{"type":"string","x-mcp-header":"A B"}}}`, `/properties/a~1b~0/x-mcp-header: "A B" is not a header name`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A:"}}}`, `/properties/a/x-mcp-header: "A:" is not a header name`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}`, "/properties/a/x-mcp-header: \"A\r\nB\" is not a header name"},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"é"}}}`, `/properties/a/x-mcp-header: "é" is not a header name`},
		{`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, "/properties/a/x-mcp-header" + kind},
		{`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, "/properties/a/x-mcp-header" + kind},
		{`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, "/properties/a/x-mcp-header" + kind},
		{`{"properties":{"a":{"x-mcp-header":"A"}}}`, "/properties/a/x-mcp-header" + kind},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"Key"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"kEY"}}}}}`, `/properties/b/properties/c/x-mcp-header: "kEY" is used twice`},
		{`{"items":{"properties":{"a":` + ok + `}}}`, "/items/properties/a/x-mcp-header" + chain},
		{`{"properties":{"a":{"items":` + ok + `}}}`, "/properties/a/items/x-mcp-header" + chain},
		{`{"properties":{"a":{"items":[true,` + ok + `]}}}`, "/properties/a/items/1/x-mcp-header" + chain},
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties", "propertyNames", "contains", "not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contentSchema"} {
		tests = append(tests, struct{ schema, want string }{`{"` + keyword + `":` + ok + `}`, "/" + keyword + "/x-mcp-header" + chain})
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		tests = append(tests, struct{ schema, want string }{`{"` + keyword + `":[{},` + ok + `]}`, "/" + keyword + "/1/x-mcp-header" + chain})
	}
	for _, keyword := range []string{"$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"} {
		tests = append(tests, struct{ schema, want string }{`{"` + keyword + `":{"k":` + ok + `}}`, "/" + keyword + "/k/x-mcp-header" + chain})
	}
	for _, test := range tests {
		_, err := toolHeaders(parseValue(t, test.schema))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.schema, err, test.want)
		}
	}
}

func TestParamHeaders(t *testing.T) {
	set := toolHeaderSet{{"S", []string{"s"}, "string"}, {"I", []string{"o", "i"}, "integer"}, {"B", []string{"b"}, "boolean"}}
	tests := []struct {
		args string
		want map[string]string
		err  string
	}{
		{`{}`, map[string]string{}, ""},
		{`null`, map[string]string{}, ""},
		{`{"s":null,"o":null,"b":null}`, map[string]string{}, ""},
		{`{"s":"x","o":{"i":-42},"b":true}`, map[string]string{"S": "x", "I": "-42", "B": "true"}, ""},
		{`{"s":"","b":false}`, map[string]string{"S": "", "B": "false"}, ""},
		{`{"s":"Zürich"}`, map[string]string{"S": "=?base64?WsO8cmljaA==?="}, ""},
		{`{"o":{"i":9007199254740991}}`, map[string]string{"I": "9007199254740991"}, ""},
		{`{"o":{"i":1.0}}`, map[string]string{"I": "1"}, ""},
		{`{"o":{"i":9007199254740992}}`, nil, "the argument /o/i must be an integer of at most 53 bits"},
		{`{"o":{"i":-9007199254740992}}`, nil, "the argument /o/i must be an integer of at most 53 bits"},
		{`{"o":{"i":1.5}}`, nil, "the argument /o/i must be an integer of at most 53 bits"},
		{`{"s":1}`, nil, "the argument /s must be a string"},
		{`{"b":"true"}`, nil, "the argument /b must be a boolean"},
	}
	for _, test := range tests {
		got, err := paramHeaders(set, parseValue(t, test.args))
		if text := errorText(err); text != test.err {
			t.Errorf("%s: error %q, want %q", test.args, text, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.args, diff)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestEncodeHeaderValue(t *testing.T) {
	tests := []struct {
		in    string
		as64  bool
		about string
	}{
		{"", false, "empty"},
		{"us-west1", false, "plain"},
		{"a b\"c,;=", false, "inner space and separators"},
		{" a", true, "leading space"},
		{"a ", true, "trailing space"},
		{"\ta", true, "leading tab"},
		{"a\tb", true, "inner tab is a control character"},
		{"a\nb", true, "line feed"},
		{"a\x7f", true, "delete"},
		{"日本", true, "not ASCII"},
		{"\xff", true, "not UTF-8"},
		{"=?base64?YQ==?=", true, "looks encoded"},
		{"=?BASE64?YQ==?=", false, "another case is another thing"},
		{"=?base64?YQ==", false, "without its end"},
	}
	for _, test := range tests {
		want := test.in
		if test.as64 {
			want = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(test.in)) + "?="
		}
		if got := encodeHeaderValue(test.in); got != want {
			t.Errorf("%s: %q gives %q, want %q", test.about, test.in, got, want)
		}
	}
}

// decodeHeaderValue is what a server does.
func decodeHeaderValue(s string) (string, error) {
	inner, ok := strings.CutPrefix(s, base64Prefix)
	if !ok || !strings.HasSuffix(inner, base64Suffix) {
		return s, nil
	}
	b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, base64Suffix))
	return string(b), err
}

func FuzzToolHeaders(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"i":{"type":"integer","x-mcp-header":"I"}}}}}`), []byte(`{"a":" é","o":{"i":1e3}}`))
	f.Add([]byte(`{"anyOf":[{"x-mcp-header":"A"}]}`), []byte(`{}`))
	f.Add([]byte(`{"properties":{"x-mcp-header":{"type":"boolean","x-mcp-header":"x"}}}`), []byte(`{"x-mcp-header":true}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		v, _, err := rawjson.Parse(schema)
		if err != nil {
			return
		}
		set, err := toolHeaders(v)
		if err != nil {
			if set != nil || !strings.Contains(err.Error(), annotation) && len(schema) < maxQuote {
				t.Fatalf("%v with %v", err, set)
			}
			return
		}
		seen := map[string]bool{}
		for _, h := range set {
			if h.suffix == "" || strings.ContainsFunc(h.suffix, notToken) || len(h.path) == 0 || seen[strings.ToLower(h.suffix)] {
				t.Fatalf("%+v", h)
			}
			seen[strings.ToLower(h.suffix)] = true
		}
		args, _, err := rawjson.Parse(arguments)
		if err != nil {
			return
		}
		headers, err := paramHeaders(set, args)
		if err != nil {
			return
		}
		for suffix, value := range headers {
			if !seen[strings.ToLower(suffix)] || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Trim(value, " ") != value {
				t.Fatalf("header %q: %q", suffix, value)
			}
			if _, err := decodeHeaderValue(value); err != nil {
				t.Fatalf("header %q: %q: %v", suffix, value, err)
			}
		}
	})
}
