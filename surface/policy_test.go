package surface

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// declaredClasses are the constants of type Class in change.go.
func declaredClasses(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "change.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var classes []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && len(spec.Values) == 1 {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Class" {
				classes = append(classes, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	return classes
}

func TestClasses(t *testing.T) {
	var got []string
	for _, info := range Classes() {
		got = append(got, string(info.Class))
		if !strings.HasPrefix(info.Event, "mcp_") || info.Text == "" || info.Effect == "" || info.Seed == "" {
			t.Errorf("%+v", info)
		}
	}
	want := declaredClasses(t)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every class once (-want +got):\n%s", diff)
	}
}

// TestEffects holds the tables against what the documentation promises.
func TestEffects(t *testing.T) {
	events := []Class{
		ToolAnnotations, ToolMeta, ServerVersion, ServerMeta, ProtocolVersion, CapabilitiesChanged,
		ResourceRemoved, ResourceAdded, ResourceMeta, TemplateMeta, PromptMeta,
		AuthScopes, AuthMetadataChanged, VolatileText, CredentialDependent,
	}
	silent := []Class{ToolSchemaEquivalent, ToolAnnotationsSame, ToolEquivalent}
	failUnderSeed := []Class{
		ToolRemoved, ToolAdded, ToolText, ToolSchemaWidened, ToolSchemaNarrowed, ToolSchemaChanged, ToolSchemaEquivalent,
		ToolHeader, ToolReadOnlyLost, ToolDestructive, InstructionsChanged, InconsistentListing, CloakedSurface,
	}
	for _, info := range Classes() {
		want := map[PolicyName]Effect{"": Fail, Alert: Fail, Record: Event, Seed: Event}
		switch {
		case slices.Contains(events, info.Class):
			want[""], want[Alert] = Event, Event
		case slices.Contains(silent, info.Class):
			want[""], want[Alert], want[Record] = Silent, Silent, Silent
		case info.Class == InconsistentListing, info.Class == CloakedSurface:
			want[Record] = Fail
		}
		if slices.Contains(failUnderSeed, info.Class) {
			want[Seed] = Fail
		}
		if info.Class == ToolEquivalent {
			want[Seed] = Silent
		}
		for base, effect := range want {
			got := Policy{Base: base}.Apply([]Change{{Class: info.Class}})[0]
			if got.Effect != effect || got.Event != info.Event {
				t.Errorf("%s under %q: %s %s, want %s", info.Class, base, got.Event, got.Effect, effect)
			}
		}
	}
}

// TestSeed holds the policy against the table of the hosted monitor it is named for.
func TestSeed(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		event               string
		effect              Effect
	}{
		{"description", `"description":"a"`, `"description":"b"`, "mcp_tool_description_changed", Fail},
		{"title", `"title":"a"`, `"title":"b"`, "mcp_tool_description_changed", Fail},
		{"schema", `"inputSchema":{}`, `"inputSchema":{"type":"object"}`, "mcp_tool_schema_changed", Fail},
		{"text of a parameter", `"inputSchema":{"title":"a"}`, `"inputSchema":{"title":"b"}`, "mcp_tool_schema_changed", Fail},
		{"equivalent schema", `"outputSchema":{"required":["a","b"]}`, `"outputSchema":{"required":["b","a"]}`, "mcp_tool_schema_changed", Fail},
		{"read-only lost", `"annotations":{"readOnlyHint":true}`, `"annotations":{}`, "mcp_tool_annotations_changed", Fail},
		{"destructive", `"annotations":{"destructiveHint":false}`, `"annotations":{}`, "mcp_tool_annotations_changed", Fail},
		{"open-world", `"annotations":{"openWorldHint":false}`, `"annotations":{}`, "mcp_tool_annotations_changed", Event},
		{"relaxed", `"annotations":{}`, `"annotations":{"readOnlyHint":true}`, "mcp_tool_annotations_changed", Event},
		{"title of annotations", `"annotations":{"title":"a"}`, `"annotations":{"title":"b"}`, "mcp_tool_annotations_changed", Event},
		{"no effect", `"annotations":{}`, `"annotations":{"openWorldHint":true}`, "mcp_tool_annotations_changed", Event},
		{"meta", `"_meta":{"ui":1}`, `"_meta":{"ui":2}`, "mcp_tool_meta_changed", Event},
	} {
		t.Run(test.name, func(t *testing.T) {
			changes := compareTools(t, `{"name":"t",`+test.before+`}`, `{"name":"t",`+test.after+`}`)
			for _, c := range (Policy{Base: Seed}).Apply(changes) {
				if c.Event != test.event || c.Effect != test.effect {
					t.Errorf("%s: %s %s", c.Class, c.Event, c.Effect)
				}
			}
			if len(changes) == 0 {
				t.Error("no change")
			}
		})
	}
}

func TestPolicyOverrides(t *testing.T) {
	changes := []Change{{Class: ToolAdded}, {Class: ToolRemoved}, {Class: "of a later version", Event: "e", Effect: Event}}
	got := Policy{Base: Alert, Effects: map[Class]Effect{ToolAdded: Silent}}.Apply(changes)
	want := []Effect{Silent, Fail, Event}
	for i, c := range got {
		if c.Effect != want[i] {
			t.Errorf("%s: %s, want %s", c.Class, c.Effect, want[i])
		}
	}
	if changes[0].Effect != "" {
		t.Error("the changes that were given are modified")
	}
}
