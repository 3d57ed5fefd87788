package surface

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grouped gives groups as lines.
func grouped(changes []Change) []string {
	var lines []string
	for _, g := range Group(changes) {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s %s (%d)", g.Effect, g.Class, g.Pointer, g.Detail, strings.Join(g.Items, ","), len(g.Changes)))
	}
	return lines
}

func TestGroup(t *testing.T) {
	tool := func(name, description, schema string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, name, description, schema)
	}
	const prose = "Searches all documents of the workspace for the words that are given."
	before := toolsOf(
		tool("a", "1", `{"required":["x","y"]}`), tool("b", "2", `{"required":["x","y"]}`), tool("c", "3", `{"additionalProperties":{}}`),
		tool("d", "4", `{"additionalProperties":{}}`), tool("e", prose, `{"minimum":1}`), tool("f", "6", `{}`), tool("g", "7", `{}`))
	after := toolsOf(
		tool("a", "1!", `{"required":["y","x"]}`), tool("b", "2!", `{"required":["y","x"]}`), tool("c", "3", `{"additionalProperties":false}`),
		tool("d", "4", `{"additionalProperties":false}`), tool("z", prose, `{"minimum":1}`), tool("h", "8", `{}`), tool("i", "9", `{}`))
	want := []string{
		"fail tool-text /description: text changed a,b (2)",
		"fail tool-schema-narrowed /inputSchema/additionalProperties: no longer allows further properties c,d (2)",
		"fail tool-removed : renamed e (2)",
		"fail tool-removed : removed f,g (2)",
		"fail tool-added : added h,i (2)",
		"silent tool-schema-equivalent /inputSchema: input schema written differently a,b (2)",
	}
	if diff := cmp.Diff(want, grouped(Compare(before, after, CompareOptions{}))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGroupKeepsApart: what is told of a group is true of all its changes.
func TestGroupKeepsApart(t *testing.T) {
	change := Change{Kind: Tool, Class: ToolText, Effect: Fail, Item: "a", Pointer: "/title", Detail: "text changed"}
	changes := []Change{change, change}
	for _, differ := range []func(*Change){
		func(c *Change) { c.Class = ToolHeader },
		func(c *Change) { c.Effect = Event },
		func(c *Change) { c.Kind = Prompt },
		func(c *Change) { c.Identity = "cursor" },
		func(c *Change) { c.Pointer = "/description" },
		func(c *Change) { c.Detail = "text added" },
	} {
		other := change
		differ(&other)
		changes = append(changes, other)
	}
	groups := Group(changes)
	if len(groups) != len(changes)-1 {
		t.Fatalf("%d groups: %v", len(groups), grouped(changes))
	}
	for _, g := range groups {
		for _, c := range g.Changes {
			if c.Class != g.Class || c.Effect != g.Effect || c.Kind != g.Kind || c.Identity != g.Identity || c.Pointer != g.Pointer || c.Detail != g.Detail {
				t.Errorf("%+v is in %+v", c, g)
			}
		}
	}
}

func TestGroupOrder(t *testing.T) {
	got := grouped([]Change{
		{Kind: Prompt, Class: PromptAdded, Effect: Fail, Item: "p"},
		{Kind: Tool, Class: ToolSchemaEquivalent, Effect: Silent, Item: "a"},
		{Kind: Server, Class: ServerVersion, Effect: Event},
		{Kind: Tool, Class: ToolAdded, Effect: Fail, Item: "c"},
		{Kind: Tool, Class: ToolAdded, Effect: Event, Item: "b"},
	})
	want := []string{
		"fail tool-added :  c (1)", "fail prompt-added :  p (1)", "event server-version :   (1)",
		"event tool-added :  b (1)", "silent tool-schema-equivalent :  a (1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := Group(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestFieldE5: an upgrade that swaps all tools is a few lines, and a new version
// alone is an event.
func TestFieldE5(t *testing.T) {
	server := func(version string, tools ...string) *Surface {
		var list []string
		for _, name := range tools {
			list = append(list, fmt.Sprintf(`{"name":%q,"description":"The tool named %s, which does it."}`, name, name))
		}
		return New(Input{Opening: fmt.Appendf(nil, `{"serverInfo":{"name":"s","version":%q}}`, version), Tools: entries(list...)})
	}
	got := grouped(Compare(server("1", "a", "b"), server("2", "c", "d", "e", "f"), CompareOptions{}))
	want := []string{
		"fail tool-removed : removed a,b (2)", "fail tool-added : added c,d,e,f (4)", "event server-version /version: version changed  (1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got = grouped(Compare(server("2", "c", "d"), server("2+build.17", "c", "d"), CompareOptions{}))
	if diff := cmp.Diff([]string{"event server-version /version: version changed  (1)"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
