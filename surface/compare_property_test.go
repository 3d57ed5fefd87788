package surface

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/rawjson/rawjsontest"
)

func parsed(t *rapid.T, file []byte) rawjson.Value {
	v, _, err := rawjson.Parse(file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{draws: draws{t}}
		file := w.file()
		again := rawjsontest.Respell(w, parsed(t, file))
		before, after := mustRead(t, file), mustRead(t, again)
		if got := Compare(before, before, CompareOptions{}); len(got) > 0 {
			t.Errorf("with itself: %v", told(got))
		}
		if got := Compare(before, after, CompareOptions{}); len(got) > 0 {
			t.Errorf("with another spelling: %v", told(got))
		}
	})
}

// equivalents writes v so that schemas in it say the same in another way.
type equivalents struct{ draws }

func (e equivalents) value(v rawjson.Value) any {
	switch v.Kind() {
	case rawjson.Object:
		out := map[string]any{}
		for name, m := range v.Members() {
			switch name {
			case "inputSchema", "outputSchema":
				schema := e.schema(m)
				if object, ok := schema.(map[string]any); ok && !dependsOnDraft(m, "2020-12") && e.IntN(4) == 0 {
					object["$schema"] = "https://json-schema.org/draft/2020-12/schema"
				}
				out[name] = schema
			default:
				out[name] = e.value(m)
			}
		}
		return out
	case rawjson.Array:
		out := []any{}
		for _, elem := range v.Elems() {
			out = append(out, e.value(elem))
		}
		return out
	}
	return json.RawMessage(v.Raw())
}

func (e equivalents) schema(v rawjson.Value) any {
	if v.Kind() != rawjson.Object {
		return json.RawMessage(v.Raw())
	}
	out := map[string]any{}
	for name, m := range v.Members() {
		switch roleOf(name) {
		case roleSet:
			out[name] = e.set(name, m)
		case roleSchema:
			out[name] = e.schema(m)
		case roleSchemas, roleBranches:
			out[name] = e.schemas(name, m)
		case roleMap:
			named := map[string]any{}
			for name, m := range m.Members() {
				named[name] = e.schema(m)
			}
			out[name] = named
		default:
			out[name] = json.RawMessage(m.Raw())
		}
	}
	for name, nothing := range map[string]any{"required": []any{}, "properties": map[string]any{}, "additionalProperties": true} {
		if _, known := out[name]; !known && e.IntN(4) == 0 {
			out[name] = nothing
		}
	}
	return out
}

func (e equivalents) set(name string, v rawjson.Value) any {
	if v.Kind() != rawjson.Array {
		if name == "type" && e.IntN(2) == 0 {
			return []any{json.RawMessage(v.Raw())}
		}
		return json.RawMessage(v.Raw())
	}
	var out []any
	for _, elem := range v.Elems() {
		out = slices.Insert(out, e.IntN(len(out)+1), any(json.RawMessage(elem.Raw())))
	}
	return out
}

func (e equivalents) schemas(name string, v rawjson.Value) any {
	var out []any
	for _, elem := range v.Elems() {
		at := len(out)
		if roleOf(name) == roleBranches {
			at = e.IntN(len(out) + 1)
		}
		out = slices.Insert(out, at, e.schema(elem))
	}
	return out
}

func TestCompareWithAnEquivalent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{draws: draws{t}}
		file := w.file()
		again, err := json.Marshal(equivalents{w.draws}.value(parsed(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range Compare(mustRead(t, file), mustRead(t, again), CompareOptions{}) {
			if c.Effect != Silent {
				t.Errorf("%s: %s %s: %s -> %s", c.Class, c.Item, c.Pointer, c.Before, c.After)
			}
		}
	})
}

// classesOf are the classes of changes of each part of a tool; those of the other
// kinds are told apart by their tables.
func classesOf(part string) []Class {
	switch part {
	case "text":
		return []Class{ToolText}
	case "shape":
		return []Class{ToolSchemaChanged, ToolSchemaNarrowed, ToolSchemaWidened, ToolHeader}
	case "annotations":
		return []Class{ToolAnnotations}
	case "meta":
		return []Class{ToolMeta}
	}
	return []Class{ToolSchemaEquivalent}
}

// TestCompareFindsOneChange: each change of one value is one change at its place,
// with what was there and what is.
func TestCompareFindsOneChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{draws: draws{t}}
		file := w.file()
		all := marks.FindAllSubmatchIndex(file, -1)
		at := all[w.IntN(len(all))]
		part, old := string(file[at[2]:at[3]]), file[at[0]:at[1]]
		changed := slices.Concat(file[:at[0]], change(w, old), file[at[1]:])
		before, after := mustRead(t, file), mustRead(t, changed)

		got := Compare(before, after, CompareOptions{})
		if part == "raw" && len(got) == 0 { // what people alone read, about the login
			return
		}
		for _, c := range got {
			if c.Pointer != got[0].Pointer {
				t.Fatalf("%s: several places: %v", old, told(got))
			}
		}
		if len(got) != 1 && (len(got) != 2 || !strings.HasSuffix(got[0].Pointer, "/required")) {
			t.Fatalf("%s: %v", old, told(got))
		}
		c := got[0]
		if (part == "raw") != (c.Effect == Silent) {
			t.Errorf("%s: %s has effect %s", old, c.Class, c.Effect)
		}
		if c.Kind == Tool && !slices.Contains(classesOf(part), c.Class) {
			t.Errorf("%s: class %s", old, c.Class)
		}
		if bytes.Equal(c.Before, c.After) || !bytes.Contains(c.Before, old[1:len(old)-1]) {
			t.Errorf("%s: %s -> %s", old, c.Before, c.After)
		}
		for _, item := range before.Items() {
			if item.Kind == c.Kind && item.Name == c.Item {
				if value := find(parsed(t, item.Definition), c.Pointer); !bytes.Equal(value.Raw(), c.Before) {
					t.Errorf("%s: %q holds %s, not %s", old, c.Pointer, value.Raw(), c.Before)
				}
			}
		}
	})
}

// find gives the value at a pointer. The order of branches and arguments is that of
// the other side, which here is the same.
func find(v rawjson.Value, pointer string) rawjson.Value {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch {
		case pointer == "":
		case v.Kind() == rawjson.Array:
			i, _ := strconv.Atoi(token)
			v = v.Elems()[i]
		default:
			v = v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		}
	}
	return v
}

func TestCompareTheOtherWayRound(t *testing.T) {
	mirror := map[Class]Class{
		ToolAdded: ToolRemoved, ResourceAdded: ResourceRemoved, TemplateAdded: TemplateRemoved, PromptAdded: PromptRemoved,
		ToolText: ToolText, InstructionsChanged: InstructionsChanged, ToolMeta: ToolMeta,
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := &writer{draws: draws{t}}, &writer{draws: draws{t}, marks: 1000 * rapid.IntRange(0, 1).Draw(t, "offset")}
		before, after := mustRead(t, a.file()), mustRead(t, b.file())
		there, back := map[Class]int{}, map[Class]int{}
		for _, c := range Compare(before, after, CompareOptions{}) {
			there[c.Class]++
		}
		for _, c := range Compare(after, before, CompareOptions{}) {
			back[c.Class]++
		}
		for class, other := range mirror {
			if there[class] != back[other] || there[other] != back[class] {
				t.Errorf("%s: %d, and %s: %d on the way back", class, there[class], other, back[other])
			}
		}
		if there[ToolSchemaWidened] > back[ToolSchemaNarrowed] || back[ToolSchemaWidened] > there[ToolSchemaNarrowed] {
			t.Errorf("widened %d, narrowed %d on the way back; widened %d on the way back, narrowed %d",
				there[ToolSchemaWidened], back[ToolSchemaNarrowed], back[ToolSchemaWidened], there[ToolSchemaNarrowed])
		}
	})
}

// wild draws JSON in which keywords hold whatever they should not.
func wild(levels int) *rapid.Generator[any] {
	names := []string{
		"name", "description", "inputSchema", "outputSchema", "annotations", "title", "_meta", "ui", "readOnlyHint", "arguments", "required",
		"properties", "additionalProperties", "items", "anyOf", "oneOf", "not", "if", "$ref", "$defs", "$id", "type", "enum", "const",
		"examples", "minimum", "uniqueItems", "dependencies", "x-mcp-header", "patternProperties", "prefixItems", "https://h.com/", "~/", "",
	}
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if levels > 0 {
			kinds = 8
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return json.Number(rapid.SampledFrom([]string{"0", "-1", "1.5", "1e400", "9007199254740993"}).Draw(t, "number"))
		case 3:
			return rapid.SampledFrom(names).Draw(t, "name")
		case 4, 5:
			return rapid.SampledFrom([]string{"", "string", "null", "https://h.com", "https://%zz", "a b"}).Draw(t, "text")
		case 6:
			return rapid.SliceOfN(wild(levels-1), 0, 3).Draw(t, "list")
		default:
			return rapid.MapOfN(rapid.SampledFrom(names), wild(levels-1), 0, 5).Draw(t, "object")
		}
	})
}

func TestCompareAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		surfaceOf := func(label string) *Surface {
			member := map[string]any{}
			for _, name := range []string{"inputSchema", "outputSchema", "annotations", "_meta", "arguments", "description"} {
				member[name] = wild(4).Draw(t, label)
			}
			member["name"], member["uri"], member["uriTemplate"] = "n", "u", "t"
			item, err := json.Marshal(member)
			if err != nil {
				t.Fatal(err)
			}
			opening, err := json.Marshal(map[string]any{"serverInfo": wild(2).Draw(t, label), "capabilities": wild(2).Draw(t, label)})
			if err != nil {
				t.Fatal(err)
			}
			list := List{Listed: true, Entries: []json.RawMessage{item}}
			return New(Input{
				Opening: opening, Tools: list, Resources: list, ResourceTemplates: list, Prompts: list,
				Auth: &AuthMetadata{Resource: item, Issuer: opening},
			})
		}
		before, after := surfaceOf("before"), surfaceOf("after")
		changes := Compare(before, after, CompareOptions{})
		changed := map[Kind]bool{}
		for _, c := range changes {
			changed[c.Kind] = true
			if c.Detail == "" || c.Event == "" || c.Effect == "" {
				t.Errorf("%+v", c)
			}
		}
		for _, kind := range []Kind{Tool, Resource, ResourceTemplate} {
			if before.Of(kind)[0].Digests.Raw != after.Of(kind)[0].Digests.Raw && !changed[kind] {
				t.Errorf("no change of the %s: %s -> %s", kind, before.Of(kind)[0].Definition, after.Of(kind)[0].Definition)
			}
		}
		x, y := before.Of(Tool)[0].Digests, after.Of(Tool)[0].Digests
		loud := slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == Tool && c.Effect != Silent })
		if (x.Text != y.Text || x.Meta != y.Meta) && !loud {
			t.Errorf("text or metadata changed silently: %s -> %s", before.Of(Tool)[0].Definition, after.Of(Tool)[0].Definition)
		}
		if _, err := json.Marshal(changes); err != nil {
			t.Error(err)
		}
		Group(changes)
	})
}
