package surface

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func schemaChanges(t *testing.T, member, before, after string) []Change {
	t.Helper()
	tool := func(schema string) string { return fmt.Sprintf(`{"name":"t",%q:%s}`, member, schema) }
	return compareTools(t, tool(before), tool(after))
}

// verdicts gives changes as "verdict pointer: detail" without what all have.
func verdicts(changes []Change) []string {
	var lines []string
	for _, c := range changes {
		class := strings.TrimPrefix(strings.TrimPrefix(string(c.Class), "tool-"), "schema-")
		pointer := strings.TrimPrefix(strings.TrimPrefix(c.Pointer, "/inputSchema"), "/outputSchema")
		lines = append(lines, strings.TrimSpace(class+" "+pointer)+": "+c.Detail)
	}
	return lines
}

const same0 = "equivalent: input schema written differently"

const anotherDraft = "read by another draft of JSON Schema, in which a keyword means something else"

func TestCompareSchema(t *testing.T) {
	for _, test := range []struct {
		before, after string
		want          []string
	}{
		// Written differently.
		{`{"required":["a","b"]}`, `{"required":["b","a"]}`, []string{same0}},
		{`{"required":[]}`, `{}`, []string{same0}},
		{`{"properties":{}}`, `{}`, []string{same0}},
		{`{"additionalProperties":{}}`, `{"additionalProperties":true}`, []string{same0}},
		{`{"additionalProperties":true}`, `{}`, []string{same0}},
		{`{"additionalProperties":{}}`, `{}`, []string{same0}},
		{`{"additionalProperties":{"not":{}}}`, `{"additionalProperties":false}`, []string{same0}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, []string{same0}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"https://json-schema.org/draft-07/schema"}`, []string{same0}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","exclusiveMinimum":1,"const":{"title":"x"}}`, `{"exclusiveMinimum":1,"const":{"title":"x"}}`, []string{same0}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","description":"x","definitions":{"a":{}}}`, `{"$ref":"#/definitions/a","description":"x","definitions":{"a":{}}}`, []string{same0}},
		{`{"type":["object"]}`, `{"type":"object"}`, []string{same0}},
		{`{"type":["string","null"]}`, `{"type":["null","string"]}`, []string{same0}},
		{`{"enum":["a","b"]}`, `{"enum":["b","a"]}`, []string{same0}},
		{`{"enum":["a"]}`, `{"const":"a"}`, []string{same0}},
		{`{"examples":[1,2]}`, `{"examples":[2,1]}`, []string{same0}},
		{`{"dependentRequired":{"a":["b","c"]}}`, `{"dependentRequired":{"a":["c","b"]}}`, []string{same0}},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"null"},{"type":"string"}]}`, []string{same0}},
		{`{"allOf":[{"type":["string"]},{"required":["a","b"]}]}`, `{"allOf":[{"required":["b","a"]},{"type":"string"}]}`, []string{same0}},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":true}}`, []string{same0}},
		{`{"uniqueItems":false}`, `{}`, []string{same0}},

		// Parameters.
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{}}}`, []string{"widened /properties/b: parameter added, optional"}},
		{
			`{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{}},"required":["b"]}`,
			[]string{"narrowed /properties/b: parameter added, required"},
		},
		{`{"properties":{"a":{}}}`, `{}`, []string{"narrowed /properties/a: parameter removed, was optional"}},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{}}`, []string{"narrowed /properties/a: parameter removed, was required"}},
		{`{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`, []string{"narrowed /required: became required"}},
		{`{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, []string{"widened /required: no longer required"}},
		{
			`{"properties":{"a":{},"b":{}},"required":["a"]}`, `{"properties":{"a":{},"b":{}},"required":["b"]}`,
			[]string{"narrowed /required: became required", "widened /required: no longer required"},
		},
		{`{"required":["a"]}`, `{"required":null}`, []string{"changed /required: required changed: not a list"}},
		{
			`{"properties":{"a":{"properties":{}}}}`, `{"properties":{"a":{"properties":{"b":{}}}}}`,
			[]string{"widened /properties/a/properties/b: property added, optional"},
		},
		{`{"properties":{"description":{"type":"string"}}}`, `{"properties":{"description":{"type":"number"}}}`, []string{"changed /properties/description/type: type changed"}},
		{`{"properties":{"a/b~c":{}}}`, `{}`, []string{"narrowed /properties/a~1b~0c: parameter removed, was optional"}},

		// Further properties.
		{`{"additionalProperties":false}`, `{}`, []string{"widened /additionalProperties: allows further properties"}},
		{`{"additionalProperties":false}`, `{"additionalProperties":true}`, []string{"widened /additionalProperties: allows further properties"}},
		{`{"additionalProperties":{}}`, `{"additionalProperties":false}`, []string{"narrowed /additionalProperties: no longer allows further properties"}},
		{`{"additionalProperties":false}`, `{"additionalProperties":{"type":"string"}}`, []string{"widened /additionalProperties: allows further properties"}},
		{`{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":false}`, []string{"narrowed /additionalProperties: no longer allows further properties"}},
		{`{"additionalProperties":{"type":"string"}}`, `{}`, []string{"widened /additionalProperties: allows more further properties"}},
		{`{}`, `{"additionalProperties":{"type":"string"}}`, []string{"narrowed /additionalProperties: allows fewer further properties"}},
		{`{"additionalProperties":{"type":"string"}}`, `{"additionalProperties":{"type":["string","null"]}}`, []string{"widened /additionalProperties/type: type widened"}},
		{`{"additionalProperties":false}`, `{"additionalProperties":"no"}`, []string{"changed /additionalProperties: changed: not a schema"}},
		{`{"unevaluatedProperties":false}`, `{}`, []string{"widened /unevaluatedProperties: allows further properties"}},
		{
			`{"additionalProperties":false}`, `{"additionalProperties":{"not":{"description":"d"}}}`,
			[]string{"text /additionalProperties/not/description: text added", same0},
		},
		{`{}`, `{"additionalProperties":{"description":"d"}}`, []string{"text /additionalProperties/description: text added", same0}},

		// Values.
		{`{"enum":["a"]}`, `{"enum":["a","b"]}`, []string{"widened /enum: values added to enum"}},
		{`{"enum":["a","b"]}`, `{"enum":["b"]}`, []string{"narrowed /enum: values removed from enum"}},
		{`{"enum":["a","b"]}`, `{"enum":["b","c"]}`, []string{"changed /enum: values of enum changed"}},
		{`{"enum":["a"]}`, `{"enum":["A"]}`, []string{"changed /enum: values of enum changed"}},
		{`{}`, `{"enum":["a"]}`, []string{"narrowed /enum: restricted to fixed values"}},
		{`{"const":1}`, `{}`, []string{"widened /const: no longer restricted to fixed values"}},
		{`{"const":1}`, `{"const":2}`, []string{"changed /const: constant changed"}},
		{`{"const":"a"}`, `{"enum":["a","b"]}`, []string{"widened: values added to enum"}},
		{`{"const":1,"enum":[1]}`, `{"const":1,"enum":[2]}`, []string{"changed /enum: fixed values changed"}},
		{`{"type":"string"}`, `{"type":["string","null"]}`, []string{"widened /type: type widened"}},
		{`{"type":["string","null"]}`, `{"type":"null"}`, []string{"narrowed /type: type narrowed"}},
		{`{"type":"integer"}`, `{"type":"number"}`, []string{"widened /type: type widened"}},
		{`{"type":"number"}`, `{"type":"integer"}`, []string{"narrowed /type: type narrowed"}},
		{`{"type":["integer","number"]}`, `{"type":"number"}`, []string{same0}},
		{`{"type":"string"}`, `{"type":["string","integer"]}`, []string{"widened /type: type widened"}},
		{`{"type":"string"}`, `{"type":"array"}`, []string{"changed /type: type changed"}},
		{`{"type":"string"}`, `{}`, []string{"widened /type: type removed"}},
		{`{}`, `{"type":"string"}`, []string{"narrowed /type: type added"}},
		{`{"type":"string"}`, `{"type":7}`, []string{"changed /type: type changed"}},

		// Limits.
		{`{"minimum":2}`, `{"minimum":1}`, []string{"widened /minimum: minimum lowered"}},
		{`{"minimum":1}`, `{"minimum":1.5}`, []string{"narrowed /minimum: minimum raised"}},
		{`{"exclusiveMaximum":1}`, `{"exclusiveMaximum":2}`, []string{"widened /exclusiveMaximum: exclusiveMaximum raised"}},
		{`{"maxLength":9}`, `{"maxLength":8}`, []string{"narrowed /maxLength: maxLength lowered"}},
		{`{"maxItems":9}`, `{}`, []string{"widened /maxItems: maxItems removed"}},
		{`{}`, `{"minLength":9}`, []string{"narrowed /minLength: minLength added"}},
		{`{"maximum":9007199254740992}`, `{"maximum":9007199254740993}`, []string{"changed /maximum: maximum changed"}},
		{`{"maximum":1}`, `{"maximum":1e400}`, []string{"widened /maximum: maximum raised"}},
		{`{"maximum":1}`, `{"maximum":"2"}`, []string{"changed /maximum: maximum changed"}},
		{`{"pattern":"a"}`, `{}`, []string{"widened /pattern: pattern removed"}},
		{`{"format":"uri"}`, `{}`, []string{"widened /format: format removed"}},
		{`{"format":"uri"}`, `{"format":"email"}`, []string{"changed /format: format changed"}},
		{`{}`, `{"pattern":"a"}`, []string{"narrowed /pattern: pattern added"}},
		{`{"multipleOf":2}`, `{"multipleOf":3}`, []string{"changed /multipleOf: multipleOf changed"}},
		{`{}`, `{"uniqueItems":true}`, []string{"narrowed /uniqueItems: elements have to be unique"}},
		{`{"uniqueItems":true}`, `{}`, []string{"widened /uniqueItems: elements no longer have to be unique"}},

		// Elements.
		{`{"items":{"type":"string"}}`, `{"items":{"type":["string","null"]}}`, []string{"widened /items/type: type widened"}},
		{`{"items":{"type":"string"}}`, `{}`, []string{"widened /items: allows more further elements"}},
		{`{"items":false}`, `{}`, []string{"widened /items: allows further elements"}},
		{`{"items":[{"const":1},{"const":2}]}`, `{"items":[{"const":1},{"const":3}]}`, []string{"changed /items/1/const: constant changed"}},
		{`{"items":[{}]}`, `{"items":{}}`, []string{"changed /items: changed: not a schema"}},
		{`{"prefixItems":[{"const":1},{"const":2}]}`, `{"prefixItems":[{"const":2},{"const":1}]}`, []string{
			"changed /prefixItems/0/const: constant changed", "changed /prefixItems/1/const: constant changed",
		}},
		{`{"prefixItems":[{}]}`, `{"prefixItems":[{},{}]}`, []string{"changed /prefixItems: number of elements with a place changed"}},
		{`{}`, `{"contains":{"const":1}}`, []string{"narrowed /contains: contains added"}},
		{`{"contains":{"type":"string"}}`, `{"contains":{}}`, []string{"changed /contains/type: type removed"}},

		// Branches.
		{`{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"null"},{"type":"string"}]}`, []string{"widened /anyOf: alternatives added"}},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`, []string{"narrowed /anyOf: alternatives removed"}},
		{`{"allOf":[{"type":"string"}]}`, `{"allOf":[{"type":"string"},{"minLength":1}]}`, []string{"narrowed /allOf: alternatives added"}},
		{`{"oneOf":[{"type":"string"}]}`, `{"oneOf":[{"type":"string"},{"type":"null"}]}`, []string{"changed /oneOf: alternatives added"}},
		{`{}`, `{"anyOf":[{"type":"string"}]}`, []string{"narrowed /anyOf: anyOf added"}},
		{`{"oneOf":[{"type":"string"}]}`, `{}`, []string{"widened /oneOf: oneOf removed"}},
		{
			`{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}]}`, `{"anyOf":[{"type":"null"},{"type":"string","maxLength":4}]}`,
			[]string{"widened /anyOf/1/maxLength: maxLength raised"},
		},
		{
			`{"anyOf":[{"type":"string","maxLength":3}]}`, `{"anyOf":[{"type":"null"},{"type":"string","maxLength":4}]}`,
			[]string{"widened /anyOf/1/maxLength: maxLength raised", "widened /anyOf: alternatives added"},
		},
		{
			`{"anyOf":[{"const":1,"title":"a"},{"const":2,"title":"b"}]}`, `{"anyOf":[{"const":1,"title":"b"},{"const":2,"title":"a"}]}`,
			[]string{"text /anyOf/0/title: text changed", "text /anyOf/1/title: text changed"},
		},
		{`{"anyOf":[{"const":1},{"const":2}]}`, `{"anyOf":[{"const":3}]}`, []string{"changed /anyOf: alternatives changed"}},
		{`{"anyOf":[{}]}`, `{"anyOf":{}}`, []string{"changed /anyOf: changed: not a list"}},

		// The other way round, or nobody knows.
		{`{"not":{"type":"string"}}`, `{"not":{"type":["string","null"]}}`, []string{"narrowed /not/type: type widened"}},
		{`{"not":{"not":{"type":"string"}}}`, `{"not":{"not":{"type":["string","null"]}}}`, []string{"widened /not/not/type: type widened"}},
		{`{}`, `{"not":{"type":"string"}}`, []string{"narrowed /not: not added"}},
		{`{"not":{"type":"string"}}`, `{}`, []string{"widened /not: not removed"}},
		{`{"oneOf":[{"type":"string"}]}`, `{"oneOf":[{"type":["string","null"]}]}`, []string{"changed /oneOf/0/type: type widened"}},
		{`{"if":{"type":"string"}}`, `{"if":{"type":["string","null"]}}`, []string{"changed /if/type: type widened"}},
		{`{"then":{"maximum":1}}`, `{"then":{"maximum":2}}`, []string{"widened /then/maximum: maximum raised"}},

		// Names.
		{`{"patternProperties":{"a":{"maximum":1}}}`, `{"patternProperties":{"a":{"maximum":2}}}`, []string{"widened /patternProperties/a/maximum: maximum raised"}},
		{`{}`, `{"patternProperties":{"a":{}}}`, []string{"changed /patternProperties/a: pattern of properties added"}},
		{`{}`, `{"dependentSchemas":{"a":{}}}`, []string{"narrowed /dependentSchemas/a: dependency added"}},
		{`{"propertyNames":{"maxLength":3}}`, `{"propertyNames":{"maxLength":4}}`, []string{"widened /propertyNames/maxLength: maxLength raised"}},
		{`{"dependentRequired":{"a":["b"]}}`, `{"dependentRequired":{"a":["c"]}}`, []string{"changed /dependentRequired/a: dependency changed"}},
		{`{"dependencies":{"a":["b"]}}`, `{"dependencies":{"a":["c","b"]}}`, []string{"narrowed /dependencies/a: dependency on more properties"}},
		{`{"dependencies":{"a":["b"]}}`, `{"dependencies":{"a":[]}}`, []string{"widened /dependencies/a: dependency on fewer properties"}},
		{`{"dependencies":{"a":{"title":"b"}}}`, `{"dependencies":{"a":{"title":"c"}}}`, []string{"text /dependencies/a/title: text changed"}},
		{`{"dependencies":{"a":["b"]}}`, `{"dependencies":{"a":{"required":["b"]}}}`, []string{"changed /dependencies/a: changed: not a schema"}},
		{`{"dependentRequired":{"a":["b"]}}`, `{}`, []string{"widened /dependentRequired/a: dependency removed"}},
		{`{}`, `{"dependentRequired":{}}`, []string{same0}},
		{`{"$defs":{"a":{"maximum":1}}}`, `{"$defs":{"a":{"maximum":2}}}`, []string{"widened /$defs/a/maximum: maximum raised"}},
		{`{"$defs":{"a":{}}}`, `{"$defs":{"b":{}}}`, []string{"changed /$defs/a: definition removed", "changed /$defs/b: definition added"}},

		// References.
		{`{"$ref":"#/$defs/a"}`, `{"$ref":"#/$defs/b"}`, []string{"changed: reference changed"}},
		{`{"type":"string","description":"a"}`, `{"$ref":"#/$defs/b","description":"b"}`, []string{
			"changed: replaced by a reference", "text /description: text changed",
		}},
		{`{"items":{"type":"string"}}`, `{"items":{"$ref":"https://a.example/s.json"}}`, []string{
			"changed /items: refers to another document, which can change by itself",
		}},

		// Data that models read.
		{`{"default":1}`, `{"default":2}`, []string{"changed /default: default changed"}},
		{`{"default":[1,2]}`, `{"default":[2,1]}`, []string{"changed /default: default changed"}},
		{`{}`, `{"examples":["x"]}`, []string{"changed /examples: examples added"}},
		{`{"x-order":1}`, `{"x-order":2}`, []string{"changed /x-order: keyword changed"}},
		{`{}`, `{"nullable":true}`, []string{"changed /nullable: keyword added"}},
		{`{"const":{"description":"a"}}`, `{"const":{"description":"b"}}`, []string{"changed /const: constant changed"}},

		// Texts.
		{`{"title":"a"}`, `{"title":"b"}`, []string{"text /title: text changed"}},
		{`{"$comment":"a"}`, `{}`, []string{"text /$comment: text removed"}},
		{`{"$id":"https://a.example/1"}`, `{"$id":"do as I say"}`, []string{"text /$id: text changed"}},
		{`{"$id":"https://a.example/1"}`, `{}`, []string{"text /$id: text removed"}},
		{`{"id":"a"}`, `{"id":"b"}`, []string{"text /id: text changed"}},
		{`{"$defs":{"a":{"$id":"urn:1","type":"string"},"b":{"$id":"urn:2"}}}`, `{"$defs":{"a":{"$id":"urn:2","type":"string"},"b":{"$id":"urn:1"}}}`, []string{"text /$defs/a/$id: text changed", "text /$defs/b/$id: text changed"}},
		{`{"$anchor":"a"}`, `{"$anchor":"Read_the_notes"}`, []string{"text /$anchor: text changed"}},
		{`{"$schema":"x"}`, `{"$schema":"y"}`, []string{"text /$schema: text changed"}},
		{
			`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"$schema":"http://json-schema.org/draft-07/schema#Read_the_notes"}`,
			[]string{"text /$schema: text changed"},
		},
		{`{"required":["a","b"],"title":"a"}`, `{"required":["b","a"],"title":"b"}`, []string{"text /title: text changed", same0}},

		// Readings that differ by the draft.
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{}]}`, `{"items":[{}]}`, []string{"changed /$schema: " + anotherDraft}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/x","type":"string"}}}`, `{"properties":{"a":{"$ref":"#/x","type":"string"}}}`, []string{"changed /$schema: " + anotherDraft}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","const":1}`, `{"$schema":"http://json-schema.org/draft-04/schema#","const":1}`, []string{"changed /$schema: " + anotherDraft}},
		{`{"properties":{"a":{"$schema":"http://json-schema.org/draft-07/schema#","minContains":1}}}`, `{"properties":{"a":{"minContains":1}}}`, []string{"changed /properties/a/$schema: " + anotherDraft}},

		// What accepts anything and is missed.
		{`{"additionalProperties":true,"unevaluatedProperties":false}`, `{"unevaluatedProperties":false}`, []string{"changed /additionalProperties: additionalProperties removed"}},
		{`{"anyOf":[{}],"unevaluatedProperties":false}`, `{"anyOf":[{"additionalProperties":{}}],"unevaluatedProperties":false}`, []string{"changed /anyOf/0/additionalProperties: additionalProperties added"}},
		{`{"items":{},"unevaluatedItems":false}`, `{"unevaluatedItems":false}`, []string{"changed /items: items removed"}},
		{`{"if":{},"then":{"type":"string"}}`, `{"then":{"type":"string"}}`, []string{"changed /if: if removed"}},
		{`{"else":false}`, `{"else":false,"if":true}`, []string{"changed /if: if added"}},

		// Order that counts.
		{
			`{"anyOf":[{"type":"string"},{"type":"null"}],"not":{"$ref":"#/anyOf/0"}}`, `{"anyOf":[{"type":"null"},{"type":"string"}],"not":{"$ref":"#/anyOf/0"}}`,
			[]string{"changed /anyOf/0/type: type changed", "changed /anyOf/1/type: type changed"},
		},
		{`{"enum":[{},{"a":1}],"not":{"$ref":"#/enum/0"}}`, `{"enum":[{"a":1},{}],"not":{"$ref":"#/enum/0"}}`, []string{"changed /enum: values of enum changed places, by which something refers to them"}},
		{`{"examples":[{},1],"not":{"$ref":"#/examples/0"}}`, `{"examples":[1,{}],"not":{"$ref":"#/examples/0"}}`, []string{"changed /examples: examples changed"}},

		// Headers.
		{
			`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`,
			[]string{"header /properties/a/x-mcp-header: HTTP header of a parameter added"},
		},
		{
			`{"properties":{"a":{"x-mcp-header":"A"}}}`, `{"properties":{"a":{"x-mcp-header":"B"}}}`,
			[]string{"header /properties/a/x-mcp-header: HTTP header of a parameter changed"},
		},
		{`{"properties":{}}`, `{"properties":{"a":{"items":{"x-mcp-header":"A"}}}}`, []string{
			"widened /properties/a: parameter added, optional", "header /properties/a: HTTP header of a parameter added",
		}},
		{`{"properties":{"a":{"x-mcp-header":"A"}}}`, `{}`, []string{
			"narrowed /properties/a: parameter removed, was optional", "header /properties/a: HTTP header of a parameter removed",
		}},
	} {
		t.Run(test.before+" -> "+test.after, func(t *testing.T) {
			got := schemaChanges(t, "inputSchema", test.before, test.after)
			if diff := cmp.Diff(test.want, verdicts(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, c := range got {
				if silent := c.Class == ToolSchemaEquivalent; silent != (c.Effect == Silent) {
					t.Errorf("%s has effect %s", c.Class, c.Effect)
				}
			}
			// What came goes on the way back, and what is wider is narrower.
			for _, c := range got {
				if c.Class != ToolSchemaWidened {
					continue
				}
				back := schemaChanges(t, "outputSchema", test.after, test.before)
				found := false
				for _, b := range back {
					found = found || b.Class == ToolSchemaNarrowed
				}
				if !found {
					t.Errorf("the way back is not narrower: %v", verdicts(back))
				}
			}
		})
	}
}

// Hostile schemas cost no more than their size.
func TestCompareSchemaIsBounded(t *testing.T) {
	repeat := func(n int, f func(int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = f(i)
		}
		return strings.Join(parts, ",")
	}
	nest := func(open, inner, end string, depth int) string {
		return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
	}
	big := func(seed string) string {
		return `{"properties":{` + repeat(4000, func(i int) string { return fmt.Sprintf(`"p%d":{"const":"%s%d"}`, i, seed, i) }) + `}}`
	}
	longName := strings.Repeat("n", 200_000)
	for _, test := range []struct{ name, before, after string }{
		{
			"many branches", `{"anyOf":[` + repeat(10_000, func(i int) string { return fmt.Sprintf(`{"const":%d,"maximum":1}`, i) }) + `]}`,
			`{"anyOf":[` + repeat(10_000, func(i int) string { return fmt.Sprintf(`{"const":%d,"maximum":2}`, -i) }) + `]}`,
		},
		{
			"many branches of one key", `{"anyOf":[` + repeat(10_000, func(i int) string { return fmt.Sprintf(`{"minimum":%d}`, i) }) + `]}`,
			`{"anyOf":[` + repeat(9_999, func(i int) string { return fmt.Sprintf(`{"maximum":%d}`, i) }) + `]}`,
		},
		{
			"nested branches", nest(`{"anyOf":[{"type":"null","title":"a"},`, big("a"), `]}`, 100),
			nest(`{"anyOf":[{"type":"null","title":"b"},`, big("b"), `]}`, 100),
		},
		{
			"nested branches of which one is more", nest(`{"anyOf":[{"type":"null"},`, big("a"), `]}`, 100),
			nest(`{"anyOf":[{"type":"null","title":"b"},{"type":"array"},`, big("b"), `]}`, 100),
		},
		{"nested properties", nest(`{"properties":{"p":`, big("a"), `}}`, 120), nest(`{"properties":{"p":`, big("b"), `}}`, 120)},
		{"nested negations", nest(`{"not":`, `{"const":1}`, `}`, 250), nest(`{"not":`, `{"const":2}`, `}`, 250)},
		{"too deep", nest(`{"not":`, `{"const":1}`, `}`, 300), nest(`{"not":`, `{"const":2}`, `}`, 300)},
		{"long pointers", `{"properties":{"` + longName + `":` + big("a") + `}}`, `{"properties":{"` + longName + `":` + big("b") + `}}`},
		{
			"many headers with long pointers", `{}`,
			`{"properties":{"` + longName + `":{"properties":{` +
				repeat(10_000, func(i int) string { return fmt.Sprintf(`"p%d":{"x-mcp-header":"h"}`, i) }) + `}}}}`,
		},
		{
			"many types", `{"type":[` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"a%d"`, i) }) + `]}`,
			`{"type":[` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"b%d"`, i) }) + `]}`,
		},
		{
			"many required", `{"required":[` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"a%d"`, i) }) + `]}`,
			`{"required":[` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"b%d"`, i) }) + `]}`,
		},
		{
			"many hosts", `{}`,
			`{"properties":{"` + longName + `":{"enum":[` + repeat(30_000, func(i int) string { return fmt.Sprintf(`"http://h%d.com"`, i) }) + `]}}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, after := toolsOf(`{"name":"t","inputSchema":`+test.before+`}`), toolsOf(`{"name":"t","inputSchema":`+test.after+`}`)
			start := time.Now()
			changes := Compare(before, after, CompareOptions{})
			groups := Group(changes)
			if took := time.Since(start); took > time.Minute { // on a loaded machine; a mistake takes hours
				t.Errorf("took %v", took)
			}
			if len(changes) == 0 {
				t.Error("no changes")
			}
			size := 0
			for _, c := range changes {
				size += len(c.Pointer)
			}
			if size > 2*maxDetail {
				t.Errorf("pointers of %d bytes", size)
			}
			t.Logf("%d changes, %d groups, %v", len(changes), len(groups), time.Since(start))
		})
	}
}

// TestNestedBranchesCostNoMore: a schema under a hundred levels of alternatives costs
// about what it costs under one. Memory is counted, which the load of the machine does
// not change.
func TestNestedBranchesCostNoMore(t *testing.T) {
	compare := func(levels int) uint64 {
		nested := func(seed string) *Surface {
			var big strings.Builder
			for i := range 4_000 {
				fmt.Fprintf(&big, `,"p%d":{"const":"%s%d"}`, i, seed, i)
			}
			return toolsOf(`{"name":"t","inputSchema":` + strings.Repeat(`{"anyOf":[{"type":"null","title":"`+seed+`"},`, levels) +
				`{"properties":{` + big.String()[1:] + `}}` + strings.Repeat(`]}`, levels) + `}`)
		}
		before, after := nested("a"), nested("b")
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		Compare(before, after, CompareOptions{})
		runtime.ReadMemStats(&is)
		return is.TotalAlloc - was.TotalAlloc
	}
	one, hundred := compare(1), compare(100)
	t.Logf("one level takes %d bytes, a hundred take %d", one, hundred)
	if hundred > 4*one {
		t.Errorf("one level takes %d bytes, a hundred take %d", one, hundred)
	}
}
