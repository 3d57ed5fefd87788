package lint

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

// itemsOf reads an example: a tool, or a surface.
func itemsOf(t testing.TB, example string) []surface.Item {
	t.Helper()
	v, _, err := rawjson.Parse([]byte(example))
	if err != nil {
		return []surface.Item{{Kind: surface.Tool, Definition: []byte(example)}}
	}
	lists := []struct {
		member, name string
		kind         surface.Kind
	}{
		{"serverInfo", "", surface.Server},
		{"capabilities", "", surface.Capabilities},
		{"instructions", "", surface.Instructions},
		{"tools", "name", surface.Tool},
		{"resources", "uri", surface.Resource},
		{"resourceTemplates", "uriTemplate", surface.ResourceTemplate},
		{"prompts", "name", surface.Prompt},
	}
	var items []surface.Item
	for _, list := range lists {
		member := v.Get(list.member)
		if list.name == "" && member.Exists() {
			items = append(items, surface.Item{Kind: list.kind, Definition: member.Raw()})
		}
		for _, entry := range member.Elems() {
			name, _ := entry.Get(list.name).Text()
			items = append(items, surface.Item{Kind: list.kind, Name: name, Definition: entry.Raw()})
		}
	}
	if items == nil {
		name, _ := v.Get("name").Text()
		items = []surface.Item{{Kind: surface.Tool, Name: name, Definition: []byte(example)}}
	}
	return items
}

func scanExample(t testing.TB, example string) []Finding {
	t.Helper()
	return scanItems(itemsOf(t, example), Options{})
}

func ofRule(findings []Finding, rule string) []Finding {
	var of []Finding
	for _, f := range findings {
		if f.Rule == rule {
			of = append(of, f)
		}
	}
	return of
}

// TestRules runs every rule's own examples.
func TestRules(t *testing.T) {
	technique := regexp.MustCompile(`^SAFE-T[0-9]{4}$`)
	known := map[string]bool{}
	rules := Rules()
	if len(rules) > 64 {
		t.Fatalf("%d rules do not fit a ruleMask", len(rules))
	}
	for _, r := range rules {
		t.Run(r.ID, func(t *testing.T) {
			if known[r.ID] {
				t.Error("two rules have this ID")
			}
			known[r.ID] = true
			if r.Family == "" || r.Text == "" || len(r.Severities) == 0 || len(r.True) == 0 || len(r.False) == 0 {
				t.Errorf("incomplete: %+v", r)
			}
			for _, id := range r.Techniques {
				if !technique.MatchString(id) {
					t.Errorf("technique %q", id)
				}
			}
			given := map[Severity]bool{}
			for _, example := range r.True {
				found := ofRule(scanExample(t, example), r.ID)
				if len(found) == 0 {
					t.Errorf("nothing found in %s", cut(example, 200))
				}
				for _, f := range found {
					given[f.Severity] = true
					if !slices.Contains(r.Severities, f.Severity) {
						t.Errorf("severity %q is not one of %q", f.Severity, r.Severities)
					}
					if f.Message == "" || strings.HasSuffix(f.Message, ".") || f.Ruleset != Ruleset || f.Family != r.Family {
						t.Errorf("finding %+v", f)
					}
				}
			}
			for _, severity := range r.Severities {
				if !given[severity] {
					t.Errorf("no example of severity %q", severity)
				}
			}
			for _, example := range r.False {
				if found := ofRule(scanExample(t, example), r.ID); len(found) != 0 {
					t.Errorf("found in %s: %+v", cut(example, 200), found)
				}
			}
		})
	}
}

// TestOlder: no version is older than the first, and odd ones are none.
func TestOlder(t *testing.T) {
	for _, ruleset := range []string{"", "0", Ruleset, " " + Ruleset, "01", "2", "next"} {
		if Older(ruleset) {
			t.Errorf("%q is older than %q", ruleset, Ruleset)
		}
	}
}

// TestFindingJSON: programs tell a finding from other events by its name.
func TestFindingJSON(t *testing.T) {
	found := scanExample(t, `{"name":"a","description":"b\u202e"}`)
	b, err := json.Marshal(found)
	if err != nil || !strings.Contains(string(b), `"event":"mcp_poison_finding"`) {
		t.Errorf("%s, %v", b, err)
	}
}

// TestFieldF3: words that attacks use stand in honest prose, and what was accepted is
// not asked again because something else was reworded.
func TestFieldF3(t *testing.T) {
	for _, text := range []string{"Ignore previous formatting options when raw is true.", "Overrides the default region."} {
		if found := scanExample(t, tool(t, text)); len(found) != 0 {
			t.Errorf("%q: %+v", text, found)
		}
	}
	const accepted = "Overrides the default instructions."
	before := scanExample(t, tool(t, "Reads a file. "+accepted))
	after := scanExample(t, tool(t, "Reads one file of the workspace. "+accepted+" Paths are absolute."))
	if len(before) != 1 || len(after) != 1 || before[0].Severity != Note || before[0].ID != after[0].ID {
		t.Errorf("%+v and %+v", before, after)
	}
}

// TestFieldF4: schemas that allow much are legal.
func TestFieldF4(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object"}`, `{"type":"object","additionalProperties":{}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"properties":{}}`,
	} {
		if found := scanExample(t, `{"name":"a","description":"Reads a file.","inputSchema":`+schema+`}`); len(found) != 0 {
			t.Errorf("%s: %+v", schema, found)
		}
	}
}
