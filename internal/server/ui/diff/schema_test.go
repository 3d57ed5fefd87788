package diff_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
)

func told(changes []diff.SchemaChange) string {
	var out []string
	for _, c := range changes {
		out = append(out, strings.TrimSpace(string(c.What)+" "+c.Pointer+" "+c.Name))
	}
	return strings.Join(out, "; ")
}

func TestSchema(t *testing.T) {
	const file = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`
	for _, x := range []struct{ before, after, want string }{
		{file, file, ""},
		{file, `{"type":"object","properties":{"path":{"type":"string"},"to/x":{"type":"string"}},"required":["path"]}`, "property-added /properties/to~1x to/x"},
		{file, `{"type":"object","properties":{},"required":[]}`, "property-removed /properties/path path; not-required /required path"},
		{file, `{"type":"object","properties":{"path":{"type":["string","null"]}},"required":["path"]}`, "type /properties/path/type type"},
		{file, `{"type":"object","properties":{"path":{"type":"string","description":"send it"}},"required":["path"]}`, "text /properties/path/description description"},
		{`{"enum":["a","b"]}`, `{"enum":["a","c"]}`, "value-removed /enum b; value-added /enum c"},
		{`{"enum":["a","b"]}`, `{"enum":["b","a"]}`, "keyword /enum enum"},
		{`{"items":{"type":"string"}}`, `{"items":{"type":"string","maxLength":9}}`, "keyword-added /items/maxLength maxLength"},
		{`{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"number"}]}`, "type /anyOf/0/type type"},
		{`{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"string"},{}]}`, "keyword /anyOf anyOf"},
		{`{"additionalProperties":false}`, `{}`, "keyword-removed /additionalProperties additionalProperties"},
		{`{"properties":{}}`, `{"properties":[]}`, "keyword /properties properties"},
		{`{"properties":{}}`, `{"properties":{"a":{},"a":{"x":1}}}`, "repeated /properties a; property-added /properties/a a"},
		{`true`, `{}`, "keyword"},
		{``, `{"type":"object"}`, "keyword"},
	} {
		got, more := diff.Schema([]byte(x.before), []byte(x.after))
		if told(got) != x.want || more {
			t.Errorf("%s to %s: %q (%v), want %q", x.before, x.after, told(got), more, x.want)
		}
	}
	if got, more := diff.Schema([]byte(`{"x":`), []byte(`{}`)); len(got) > 0 || !more {
		t.Errorf("no JSON: %v %v", got, more)
	}
}

// TestSchemaTellsEveryDifference: schemas that differ never count as equal.
func TestSchemaTellsEveryDifference(t *testing.T) {
	var schema func(t *rapid.T, depth int) any
	schema = func(t *rapid.T, depth int) any {
		out := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "n") {
			switch name := rapid.SampledFrom([]string{"type", "description", "enum", "required", "properties", "items", "anyOf", "x"}).Draw(t, "name"); {
			case depth > 3 || name == "type" || name == "description" || name == "x":
				out[name] = rapid.SampledFrom([]any{"string", "number", 1, nil, true}).Draw(t, "value")
			case name == "enum" || name == "required":
				out[name] = rapid.SliceOfN(rapid.SampledFrom([]any{"a", "b", 1}), 0, 3).Draw(t, "values")
			case name == "properties":
				out[name] = map[string]any{rapid.SampledFrom([]string{"a", "b/c"}).Draw(t, "property"): schema(t, depth+1)}
			case name == "anyOf":
				out[name] = []any{schema(t, depth+1)}
			default:
				out[name] = schema(t, depth+1)
			}
		}
		return out
	}
	rapid.Check(t, func(t *rapid.T) {
		a, _ := json.Marshal(schema(t, 0))
		b, _ := json.Marshal(schema(t, 0))
		got, more := diff.Schema(a, b)
		if equal := string(a) == string(b); equal != (len(got) == 0 && !more) {
			t.Fatalf("%s to %s: %s (%v)", a, b, told(got), more)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object"}`, `{"properties":{"a":{}}}`)
	f.Fuzz(func(t *testing.T, before, after string) {
		got, more := diff.Schema([]byte(before), []byte(after))
		if len(got) > diff.MaxChanges || before == after && (len(got) > 0 || more) {
			t.Fatalf("%d changes, %v", len(got), more)
		}
		diff.Annotations([]byte(before), []byte(after))
	})
}

func TestHostileSchemas(t *testing.T) {
	properties := func(prefix string, n int) []byte {
		p := map[string]any{}
		for i := range n {
			p[fmt.Sprintf("%s%d", prefix, i)] = map[string]any{"type": "string"}
		}
		text, _ := json.Marshal(map[string]any{"type": "object", "properties": p})
		return text
	}
	deep := func(leaf string) []byte {
		return []byte(strings.Repeat(`{"items":`, 200) + leaf + strings.Repeat("}", 200))
	}
	for name, x := range map[string][2][]byte{
		"10,000 properties": {properties("a", 10_000), properties("b", 10_000)},
		"deep":              {deep("{}"), deep(`{"type":"string"}`)},
		"long":              {properties("a", 1), []byte(`{"description":"` + strings.Repeat("x", 17<<20) + `"}`)},
	} {
		start := time.Now()
		got, more := diff.Schema(x[0], x[1])
		if !more || len(got) > diff.MaxChanges || time.Since(start) > 2*time.Second {
			t.Errorf("%s: %d changes, more %v, in %v", name, len(got), more, time.Since(start))
		}
	}
}

func TestAnnotations(t *testing.T) {
	hints, other := diff.Annotations([]byte(`{"readOnlyHint":true}`), []byte(`{"destructiveHint":true,"title":"x"}`))
	if len(hints) != 2 || !other || hints[0].Name != "readOnlyHint" || !hints[0].Before || hints[0].After || hints[0].SaidAfter || !hints[1].Before || !hints[1].SaidAfter {
		t.Errorf("%+v %v", hints, other)
	}
	if hints, other := diff.Annotations(nil, []byte(`{"openWorldHint":false}`)); len(hints) != 1 || other || !hints[0].Before || hints[0].After {
		t.Errorf("%+v %v", hints, other)
	}
	if hints, other := diff.Annotations(nil, []byte(`{"openWorldHint":"no"}`)); len(hints) != 1 || !other {
		t.Errorf("%+v %v", hints, other)
	}
}

// TestValue: texts that differ never look the same.
func TestValue(t *testing.T) {
	for raw, want := range map[string]string{
		`"a\"b\n\u00fc\ud83d\ude00"`: "a\"b\nü😀", `"\ud800x"`: "\xed\xa0\x80x", "\"\xff\"": "\xff", `{"a":1}`: `{"a":1}`, `"\\ud800"`: `\ud800`, `"\ud800\u0041"`: "\xed\xa0\x80A",
	} {
		v, _, err := rawjson.Parse([]byte(raw))
		if got := diff.Value(v); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", raw, got, want, err)
		}
	}
}
