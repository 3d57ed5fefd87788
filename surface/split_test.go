package surface

import (
	"encoding/base64"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// only is the one item of a kind.
func only(t testing.TB, s *Surface, kind Kind) Item {
	t.Helper()
	items := s.Of(kind)
	if len(items) != 1 {
		t.Fatalf("%d items of kind %s", len(items), kind)
	}
	return items[0]
}

// moved names the digests in which two items differ.
func moved(a, b Item) string {
	var names []string
	for _, d := range []struct {
		name string
		a, b Digest
	}{
		{"raw", a.Digests.Raw, b.Digests.Raw},
		{"text", a.Digests.Text, b.Digests.Text},
		{"shape", a.Digests.Shape, b.Digests.Shape},
		{"annotations", a.Digests.Annotations, b.Digests.Annotations},
		{"meta", a.Digests.Meta, b.Digests.Meta},
	} {
		if d.a != d.b {
			names = append(names, d.name)
		}
	}
	return strings.Join(names, " ")
}

func toolWith(t testing.TB, members string) Item {
	t.Helper()
	return only(t, New(Input{Tools: entries(`{"name":"t",` + members + `}`)}), Tool)
}

func TestDigestsOfSchemas(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		// Written differently.
		{"order of required", `{"required":["a","b"]}`, `{"required":["b","a"]}`, "raw"},
		{"nothing required", `{"required":[]}`, `{}`, "raw"},
		{"order of an enumeration", `{"enum":[1,"a",null]}`, `{"enum":["a",null,1.0]}`, "raw"},
		{"order of types", `{"type":["string","null"]}`, `{"type":["null","string"]}`, "raw"},
		{"a list of one type", `{"type":["string"]}`, `{"type":"string"}`, "raw"},
		{"order of dependentRequired", `{"dependentRequired":{"a":["b","c"]}}`, `{"dependentRequired":{"a":["c","b"]}}`, "raw"},
		{"order of dependencies", `{"dependencies":{"a":["b","c"]}}`, `{"dependencies":{"a":["c","b"]}}`, "raw"},
		{"order of examples", `{"examples":[1,2]}`, `{"examples":[2,1]}`, "raw"},
		{"any additional property", `{"additionalProperties":{}}`, `{}`, "raw"},
		{"true additional property", `{"additionalProperties":true}`, `{"additionalProperties":{}}`, "raw"},
		{"no properties", `{"properties":{}}`, `{}`, "raw"},
		{"dialect", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, "raw"},
		{"order of branches", `{"anyOf":[{"type":"string","title":"s"},{"title":"n","type":"null"}]}`, `{"anyOf":[{"type":"null","title":"n"},{"title":"s","type":"string"}]}`, "raw"},
		{"order of deep branches", `{"items":{"oneOf":[{"allOf":[{"a":1},{"b":1}]},{}]}}`, `{"items":{"oneOf":[{},{"allOf":[{"b":1},{"a":1}]}]}}`, "raw"},

		// Constraints.
		{"type", `{"type":"string"}`, `{"type":"integer"}`, "raw shape"},
		{"limit", `{"maxLength":5}`, `{"maxLength":50}`, "raw shape"},
		{"closed", `{}`, `{"additionalProperties":false}`, "raw shape"},
		{"order of positions", `{"prefixItems":[{"type":"string"},{}]}`, `{"prefixItems":[{},{"type":"string"}]}`, "raw shape"},
		{"order of older positions", `{"items":[{"type":"string"},{}]}`, `{"items":[{},{"type":"string"}]}`, "raw shape"},
		{"order in a default", `{"default":[1,2]}`, `{"default":[2,1]}`, "raw shape"},
		{"order in a constant", `{"const":{"required":["a","b"]}}`, `{"const":{"required":["b","a"]}}`, "raw shape"},
		{"one of many required", `{"required":["a"]}`, `{"required":["a","b"]}`, "raw shape"},
		{"a property named like a text", `{"properties":{"title":{"type":"string"}}}`, `{"properties":{"description":{"type":"string"}}}`, "raw shape"},
		{"a property of no schema", `{"properties":{"title":"a"}}`, `{"properties":{"title":"b"}}`, "raw shape"},
		{"text inside of data", `{"default":{"description":"a"}}`, `{"default":{"description":"b"}}`, "raw shape"},
		{"text of vendors", `{"x-hint":"a"}`, `{"x-hint":"b"}`, "raw shape"},
		{"header", `{"x-mcp-header":"A"}`, `{"x-mcp-header":"B"}`, "raw shape"},
		{"reference", `{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/b"}`, "raw shape"},
		{"a branch beside one with text", `{"anyOf":[{"type":"string","title":"s"}]}`, `{"anyOf":[{"type":"null"},{"type":"string","title":"s"}]}`, "raw shape"},
		{"a constraint of a branch with text", `{"anyOf":[{"type":"string","title":"s"},{"type":"null","title":"n"}]}`, `{"anyOf":[{"type":"string","title":"s","maxLength":1},{"type":"null","title":"n"}]}`, "raw shape"},
		{"no object", `true`, `false`, "raw shape"},

		// Text.
		{"title", `{"title":"a"}`, `{"title":"A"}`, "raw text"},
		{"an empty description", `{"description":""}`, `{}`, "raw text"},
		{"a null", `{"description":null}`, `{}`, "raw text"},
		{"comment", `{"$comment":"a"}`, `{"$comment":"a "}`, "raw text"},
		{"an identifier that is prose", `{"$id":"read this"}`, `{"$id":"read that"}`, "raw text"},
		{"an identifier", `{"$id":"https://a"}`, `{"$id":"https://b"}`, "raw text"},
		{"an anchor", `{"$anchor":"a"}`, `{"$dynamicAnchor":"a"}`, "raw text"},
		{"a dialect that is not known", `{"$schema":"http://json-schema.org/draft-07/schema#x"}`, `{"$schema":"http://json-schema.org/draft-07/schema#"}`, "raw text"},
		{"a dialect that matters", `{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[]}`, `{"prefixItems":[]}`, "raw shape"},
		{"looking at all properties", `{"allOf":[{"additionalProperties":true}],"unevaluatedProperties":false}`, `{"allOf":[{}],"unevaluatedProperties":false}`, "raw shape"},
		{"order of branches with numbers", `{"anyOf":[{"type":"string"},{"type":"null"}],"not":{"$ref":"#/%61nyOf/0"}}`, `{"anyOf":[{"type":"null"},{"type":"string"}],"not":{"$ref":"#/%61nyOf/0"}}`, "raw shape"},
		{"order of values with numbers", `{"enum":[{},{"a":1}],"not":{"$ref":"#/enum/0"}}`, `{"enum":[{"a":1},{}],"not":{"$ref":"#/enum/0"}}`, "raw shape"},
		{"a dialect that is prose", `{"$schema":"urn:a"}`, `{"$schema":"urn:\u200ba"}`, "raw text"},
		{"place", `{"properties":{"a":{"title":"x"},"b":{}}}`, `{"properties":{"a":{},"b":{"title":"x"}}}`, "raw text"},
		{"position", `{"prefixItems":[{"title":"x"},{}]}`, `{"prefixItems":[{},{"title":"x"}]}`, "raw text"},
		{"definitions", `{"$defs":{"title":{"title":"x"}}}`, `{"$defs":{"title":{"title":"y"}}}`, "raw text"},
		{"texts of branches swapped", `{"anyOf":[{"type":"string","title":"s"},{"type":"null","title":"n"}]}`, `{"anyOf":[{"type":"string","title":"n"},{"type":"null","title":"s"}]}`, "raw text"},
		{"texts of branches of a type swapped", `{"anyOf":[{"minLength":1,"title":"s"},{"minLength":2,"title":"n"}]}`, `{"anyOf":[{"minLength":1,"title":"n"},{"minLength":2,"title":"s"}]}`, "raw text"},
		{"text moved to another branch", `{"oneOf":[{"type":"string","title":"s"},{"type":"null"}]}`, `{"oneOf":[{"type":"string"},{"type":"null","title":"s"}]}`, "raw text"},
		{"text under additional properties", `{"additionalProperties":{"title":"a"}}`, `{}`, "raw text"},

		// Which of two members counts depends on the reader.
		{"a member twice", `{"additionalProperties":true,"additionalProperties":false}`, `{"additionalProperties":false,"additionalProperties":true}`, "raw text shape"},
		{"a text twice", `{"title":"a","title":"b"}`, `{"title":"b","title":"a"}`, "raw text shape"},
	} {
		for _, schema := range []string{"inputSchema", "outputSchema"} {
			member := `"` + schema + `":`
			if got := moved(toolWith(t, member+c.before), toolWith(t, member+c.after)); got != c.want {
				t.Errorf("%s of %s: moved %q, want %q", c.name, schema, got, c.want)
			}
		}
	}
}

func TestDigestsOfTools(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"no annotations", `"annotations":{}`, `"annotations":null`, "raw"},
		{"defaults spelled out", `"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`, `"a":1`, "raw meta"},
		{"a null hint", `"annotations":{"readOnlyHint":null}`, `"annotations":{}`, "raw"},
		{"destructive when read-only", `"annotations":{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":true}`, `"annotations":{"readOnlyHint":true,"destructiveHint":false}`, "raw"},
		{"read-only", `"annotations":{"readOnlyHint":true}`, `"annotations":{"readOnlyHint":false}`, "raw annotations"},
		{"destructive", `"annotations":{"destructiveHint":false}`, `"annotations":{}`, "raw annotations"},
		{"idempotent", `"annotations":{"idempotentHint":true}`, `"annotations":{}`, "raw annotations"},
		{"open world", `"annotations":{"openWorldHint":false}`, `"annotations":{}`, "raw annotations"},
		{"a hint of another type", `"annotations":{"readOnlyHint":"true"}`, `"annotations":{"readOnlyHint":true}`, "raw annotations"},
		{"hints of vendors", `"annotations":{"x":1}`, `"annotations":{"x":2}`, "raw annotations"},
		{"annotations of another type", `"annotations":[1]`, `"annotations":[2]`, "raw annotations"},
		{"a hint twice", `"annotations":{"readOnlyHint":true,"readOnlyHint":false}`, `"annotations":{"readOnlyHint":false,"readOnlyHint":true}`, "raw annotations"},
		{"annotations twice", `"annotations":{"readOnlyHint":true},"annotations":{}`, `"annotations":{"readOnlyHint":true}`, "raw annotations"},
		{"title of annotations", `"annotations":{"title":"a"}`, `"annotations":{"title":"b"}`, "raw text"},
		{"title elsewhere", `"title":"a"`, `"annotations":{"title":"a"}`, "raw text"},
		{"description", `"description":"a"`, `"description":"a\u200b"`, "raw text"},
		{"description twice", `"description":"a","description":"b"`, `"description":"b","description":"a"`, "raw text"},
		{"a broken description", `"description":"\ud800"`, `"description":"\udc00"`, "raw text"},
		{"_meta", `"_meta":{"a":1}`, `"_meta":{"a":2}`, "raw meta"},
		{"icons", `"icons":[{"src":"a"}]`, `"icons":[{"src":"b"}]`, "raw meta"},
		{"execution", `"execution":{"taskSupport":"optional"}`, `"execution":{}`, "raw meta"},
		{"a member of vendors", `"mimeType":"a"`, `"mimeType":"b"`, "raw meta"},
		{"a large integer", `"_meta":{"a":9007199254740993}`, `"_meta":{"a":9007199254740992}`, "raw meta"},
		{"a schema that is missing", `"inputSchema":{}`, `"x":{}`, "raw shape meta"},
	} {
		if got := moved(toolWith(t, c.before), toolWith(t, c.after)); got != c.want {
			t.Errorf("%s: moved %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDigestsOfOtherKinds(t *testing.T) {
	for _, c := range []struct {
		kind                Kind
		name, before, after string
		want                string
	}{
		{Prompt, "order of arguments", `"arguments":[{"name":"a","title":"x"},{"name":"b"}]`, `"arguments":[{"name":"b"},{"name":"a","title":"x"}]`, "raw"},
		{Prompt, "not required", `"arguments":[{"name":"a","required":false}]`, `"arguments":[{"name":"a"}]`, "raw"},
		{Prompt, "required", `"arguments":[{"name":"a","required":true}]`, `"arguments":[{"name":"a"}]`, "raw shape"},
		{Prompt, "another argument", `"arguments":[{"name":"a","title":"x"}]`, `"arguments":[{"name":"0"},{"name":"a","title":"x"}]`, "raw shape"},
		{Prompt, "an argument of no object", `"arguments":[1]`, `"arguments":["a"]`, "raw shape"},
		{Prompt, "arguments of no list", `"arguments":{}`, `"arguments":1`, "raw shape"},
		{Prompt, "text of an argument", `"arguments":[{"name":"a","description":"x"}]`, `"arguments":[{"name":"a","description":"y"}]`, "raw text"},
		{Prompt, "texts of arguments swapped", `"arguments":[{"name":"a","title":"x"},{"name":"b","title":"y"}]`, `"arguments":[{"name":"a","title":"y"},{"name":"b","title":"x"}]`, "raw text"},
		{Prompt, "rest of an argument", `"arguments":[{"name":"a","x":1}]`, `"arguments":[{"name":"a","x":2}]`, "raw meta"},
		{Prompt, "text", `"description":"a"`, `"description":"b"`, "raw text"},
		{Prompt, "rest", `"_meta":{}`, `"_meta":{"a":1}`, "raw meta"},
		{Resource, "address", `"uri":"a:1"`, `"uri":"a:2"`, "raw text"},
		{Resource, "text", `"title":"a"`, `"title":"b"`, "raw text"},
		{Resource, "type", `"mimeType":"text/plain"`, `"mimeType":"text/html"`, "raw shape"},
		{Resource, "annotations", `"annotations":{"audience":["user"]}`, `"annotations":{"audience":["assistant"]}`, "raw annotations"},
		{Resource, "size", `"size":1`, `"size":2`, "raw meta"},
		{ResourceTemplate, "address", `"uriTemplate":"a:{b}"`, `"uriTemplate":"a:{c}"`, "raw text"},
		{ResourceTemplate, "type", `"mimeType":"text/plain"`, `"mimeType":"text/html"`, "raw shape"},
		{Server, "version", `"version":"1"`, `"version":"2"`, "raw shape"},
		{Server, "name", `"name":"a"`, `"name":"b"`, "raw text"},
		{Server, "address", `"websiteUrl":"a"`, `"websiteUrl":"b"`, "raw meta"},
	} {
		surfaceOf := func(members string) *Surface {
			object := `{` + members + `}`
			switch c.kind {
			case Prompt:
				return New(Input{Prompts: entries(object)})
			case Resource:
				return New(Input{Resources: entries(object)})
			case ResourceTemplate:
				return New(Input{ResourceTemplates: entries(object)})
			}
			return New(Input{Opening: []byte(`{"serverInfo":` + object + `}`)})
		}
		if got := moved(only(t, surfaceOf(c.before), c.kind), only(t, surfaceOf(c.after), c.kind)); got != c.want {
			t.Errorf("%s of %s: moved %q, want %q", c.name, c.kind, got, c.want)
		}
	}
}

// signed gives a document with these claims as its signed metadata.
func signed(claims string) string {
	return `{"signed_metadata":"e30.` + base64.RawURLEncoding.EncodeToString([]byte(claims)) + `.c2ln"}`
}

func TestDigestsOfAuth(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"order of a set", `{"scopes_supported":["a","b"]}`, `{"scopes_supported":["b","a"]}`, ""},
		{"keys", `{"jwks":{"keys":[1]}}`, `{}`, ""},
		{"what is signed, anew", signed(`{"iss":"x","iat":1,"exp":2,"nbf":3,"jti":"a","scopes_supported":["a","b"]}`), signed(`{"scopes_supported":["b","a"],"iss":"x","iat":4}`), ""},
		{"what is signed", signed(`{"issuer":"https://a"}`), signed(`{"issuer":"https://b"}`), "raw meta"},
		{"what is signed, for people", signed(`{"resource_name":"a"}`), signed(`{"resource_name":"b"}`), "raw"},
		{"what cannot be read of it", `{"signed_metadata":"a.b.c"}`, `{"signed_metadata":"a.b.d"}`, "raw meta"},
		{"a name for it in it", signed(`{"signed_metadata":"a"}`), signed(`{"signed_metadata":"b"}`), "raw meta"},
		{"what people read", `{"resource_name":"a","resource_name#de":"b","op_tos_uri":"x"}`, `{"resource_name":"c"}`, "raw"},
		{"issuer", `{"issuer":"https://a"}`, `{"issuer":"https://b"}`, "raw meta"},
		{"what is not known", `{"x":1}`, `{"x":2}`, "raw meta"},
		{"order of another list", `{"x":[1,"a"]}`, `{"x":["a",1]}`, "raw meta"},
		{"no object", `[]`, `1`, "raw meta"},
		{"no JSON", `{`, `[`, "raw meta"},
		{"too deep", strings.Repeat("[", 256) + strings.Repeat("]", 256), strings.Repeat("[", 256) + "1" + strings.Repeat("]", 256), "raw meta"},
	} {
		for _, of := range []func(string) *AuthMetadata{
			func(s string) *AuthMetadata { return &AuthMetadata{Resource: []byte(s)} },
			func(s string) *AuthMetadata { return &AuthMetadata{Issuer: []byte(s)} },
		} {
			before, after := only(t, New(Input{Auth: of(c.before)}), Auth), only(t, New(Input{Auth: of(c.after)}), Auth)
			if got := moved(before, after); got != c.want {
				t.Errorf("%s: moved %q, want %q", c.name, got, c.want)
			}
		}
	}
	for in, want := range map[*AuthMetadata]int{nil: 0, {}: 1} {
		if s := New(Input{Auth: in}); len(s.Of(Auth)) != want {
			t.Errorf("%v gives %v", in, s.Items())
		}
	}
}

// TestForms shows what the digests of parts are made of.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		kind                           Kind
		in                             string
		text, shape, annotations, meta string
	}{
		{
			Tool,
			`{"name":"t","description":"d","icons":[],"_meta":{"a":1},"annotations":{"title":"T","openWorldHint":false,"x":0},` +
				`"inputSchema":{"type":["object"],"required":["b","a"],"additionalProperties":{},"properties":{` +
				`"title":{"type":"string","title":"a title"},"list":{"items":[{"title":"i"},true]},` +
				`"either":{"anyOf":[{"type":"string","$comment":"s"},{"type":["null"]},{"const":1,"title":"one"}]}}}}`,
			`{"annotations":{"title":"T"},"description":"d","inputSchema":{"properties":{` +
				`"either":{"anyOf":[[{"const":1},1,{"title":"one"}],[{"type":"string"},1,{"$comment":"s"}]]},` +
				`"list":{"items":{"0":{"title":"i"}}},"title":{"title":"a title"}}},"name":"t"}`,
			`{"inputSchema":{"properties":{"either":{"anyOf":[{"const":1},{"type":"null"},{"type":"string"}]},` +
				`"list":{"items":[{},true]},"title":{"type":"string"}},"required":["a","b"],"type":"object"}}`,
			`{"x":0,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false,"readOnlyHint":false}`,
			`{"_meta":{"a":1},"icons":[]}`,
		},
		{
			Prompt,
			`{"name":"p","arguments":[{"name":"b","required":true,"title":"B"},{"name":"a","x":1},{"title":"none"}],"mimeType":"m"}`,
			`{"arguments":[[{"title":"none"}],["b",{"title":"B"}]],"name":"p"}`,
			`{"arguments":[{},{"name":"a"},{"name":"b","required":true}]}`,
			``,
			`{"arguments":[["a",{"x":1}]],"mimeType":"m"}`,
		},
		{Resource, `{"uri":"u","mimeType":"m","size":1,"annotations":{"priority":1.0}}`, `{"uri":"u"}`, `{"mimeType":"m"}`, `{"priority":1}`, `{"size":1}`},
		{Server, `{"name":"s","version":"1","icons":[]}`, `{"name":"s"}`, `{"version":"1"}`, ``, `{"icons":[]}`},
		{Instructions, `"i"`, `"i"`, ``, ``, ``},
		{Capabilities, `{"tools":{}}`, ``, ``, ``, `{"tools":{}}`},
		{Auth, `{"resource":{"resource":"r","resource_name#de":"n"}}`, ``, ``, ``, `{"resource":{"resource":"r"}}`},
	} {
		v, _, err := rawjson.Parse(rawjson.Canonical(mustParse(t, c.in)))
		if err != nil {
			t.Fatal(err)
		}
		var s splitter
		s.split(c.kind, v)
		want := []string{c.text, c.shape, c.annotations, c.meta}
		if diff := cmp.Diff(want, []string{string(s.text), string(s.shape), string(s.annotations), string(s.meta)}); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.in, diff)
		}
	}
}

func mustParse(t testing.TB, in string) rawjson.Value {
	t.Helper()
	v, _, err := rawjson.Parse([]byte(in))
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return v
}

// TestDigestsAreStable: a digest that is stored today is the same tomorrow, or the
// version in its domain changes.
func TestDigestsAreStable(t *testing.T) {
	tool := toolWith(t, `"description":"d","inputSchema":{"type":"object","properties":{"a":{"title":"A","anyOf":[{"type":"string"},{"title":"N","type":"null"}]}}},"_meta":{}`)
	var short []string
	for _, d := range []Digest{tool.Digests.Raw, tool.Digests.Text, tool.Digests.Shape, tool.Digests.Annotations, tool.Digests.Meta} {
		short = append(short, d.String()[len(digestPrefix):][:12])
	}
	want := []string{"8ed3aafcaba0", "8e3f235eb5fe", "1e70d08d5fb7", "09cd6e25ca4f", "2cc64ab7a753"}
	if diff := cmp.Diff(want, short); diff != "" {
		t.Errorf("digests (-want +got)\n%s", diff)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(short))); len(distinct) != len(short) {
		t.Errorf("digests of different parts are equal: %v", short)
	}
}

// TestDeepSchemasCostNoMore: lists of schemas in lists of schemas are not copied on
// every level.
func TestDeepSchemasCostNoMore(t *testing.T) {
	schema := `{"enum":["` + strings.Repeat("a", 1<<20) + `"],"title":"` + strings.Repeat("b", 1<<20) + `"}`
	for range 100 {
		schema = `{"anyOf":[` + schema + `,{"a":1}]}`
	}
	in := Input{Tools: entries(`{"name":"t","inputSchema":` + schema + `}`)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := New(in)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 30*uint64(len(schema)) {
		t.Errorf("a schema of %d bytes took %d", len(schema), used)
	}
	if got := only(t, s, Tool); got.Name != "t" {
		t.Errorf("got %s", got.Definition)
	}
}
