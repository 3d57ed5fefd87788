package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

func offering(tools ...string) *surface.Surface {
	in := surface.Input{Tools: surface.List{Listed: true}}
	for _, tool := range tools {
		in.Tools.Entries = append(in.Tools.Entries, json.RawMessage(tool))
	}
	return surface.New(in)
}

// TestLinesOfItems: an item is on its line in the section of its server, also when
// another server has the same one, and whatever texts look like.
func TestLinesOfItems(t *testing.T) {
	add := `{"name":"add","description":"- name: add\n- digest: x\n    digest: y"}`
	one := baseline.New("one", baseline.Binding{Endpoint: "stdio://one"}, offering(add, `{"name":"subtract"}`))
	two := baseline.New("two", baseline.Binding{Endpoint: "stdio://two"}, offering(`{"name":"a"}`, add))
	data := (&baseline.Lockfile{Baselines: []*baseline.Baseline{two, one}}).Encode()
	read, err := baseline.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	l := newLockfile(read, data)
	lines := strings.Split(string(data), "\n")
	at := func(b *baseline.Baseline, kind surface.Kind, item string) string {
		return strings.TrimSpace(strings.Join(lines[l.line(b, kind, item)-1:][:3], " "))
	}
	for _, b := range l.Baselines {
		if got := at(b, surface.Tool, "add"); !strings.HasSuffix(got, "name: add") || !strings.HasPrefix(got, "- digest: sha256:") {
			t.Errorf("add of %s is at %s", b.Name, got)
		}
		for _, name := range []string{"multiply", ""} {
			if got := at(b, surface.Prompt, name); !strings.HasPrefix(got, "- name: "+b.Name) {
				t.Errorf("what %s does not have is at %s", b.Name, got)
			}
		}
	}
	if first, second := l.line(l.Baselines[0], surface.Tool, "add"), l.line(l.Baselines[1], surface.Tool, "add"); first >= second {
		t.Errorf("the same tool is on lines %d and %d", first, second)
	}
	other := newLockfile(read, []byte(`{"version": 1, "baselines": []}`))
	if got := other.line(l.Baselines[0], surface.Tool, "add"); got != 1 {
		t.Errorf("in a file of another form it is on line %d", got)
	}
	if got := l.line(one, surface.Tool, "add"); got != 1 {
		t.Errorf("of a baseline that is not in the file it is on line %d", got)
	}
}

func TestBeside(t *testing.T) {
	l := &lockfile{Lockfile: &baseline.Lockfile{Baselines: []*baseline.Baseline{
		baseline.New("own", baseline.Binding{Endpoint: "https://own.example", Credential: "env:A"}, offering(`{"name":"a"}`)),
		baseline.New("same address", baseline.Binding{Endpoint: "https://own.example"}, offering(`{"name":"b"}`)),
		baseline.New("other", baseline.Binding{Endpoint: "https://other.example"}, offering(`{"name":"c"}`, `{"name":"d"}`)),
		baseline.New("other", baseline.Binding{Endpoint: "https://other.example", Credential: "env:A"}, offering(`{"name":"e"}`)),
	}}}
	got := l.beside(&target.Target{Name: "own", Endpoint: "https://own.example"})
	if diff := cmp.Diff(neighbours{"other": {"c", "d", "e"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := neighbours{}
	for i := range 2 * maxNeighbours {
		many.add(strings.Repeat("x", i), offering(`{"name":"a"}`))
	}
	if len(many) != maxNeighbours {
		t.Errorf("%d neighbours", len(many))
	}
}

func TestSameProgram(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"npx -y pkg@1.0.0", "npx -y pkg@2", true},
		{"npx -y pkg@1", "npx --yes pkg", true},
		{"npx -y @scope/pkg@1", "/usr/bin/npx -y @scope/pkg@2", true},
		{"npx -y @scope/pkg@1", "npx -y @scope/other@1", false},
		{"uvx pkg==1.0", "uvx pkg==1.1", true},
		{"docker run -i --rm mcp/files:1", "docker run -i mcp/files:2", true},
		{"docker run -i mcp/files:1", "docker run -i mcp/git:1", false},
		{"npx -y pkg@1 /srv", "npx -y pkg@2 /home", false},
		{"npx pkg", "uvx pkg", false},
		{"node a.js", "node b.js", false},
		{"", "npx", false},
	} {
		if got := sameProgram(tt.a, tt.b); got != tt.same {
			t.Errorf("%s and %s: %t", tt.a, tt.b, got)
		}
	}
}

// TestListed: an identity that gets to fewer lists than we do was not listed to its
// end.
func TestListed(t *testing.T) {
	of := func(tools, prompts bool) *surface.Surface {
		return surface.New(surface.Input{Tools: surface.List{Listed: tools}, Prompts: surface.List{Listed: prompts}})
	}
	for _, tt := range []struct {
		name       string
		other, own *surface.Surface
		want       bool
	}{
		{"the same", of(true, true), of(true, true), true},
		{"more", of(true, true), of(true, false), true},
		{"less", of(true, false), of(true, true), false},
		{"others", of(false, true), of(true, false), false},
		{"nothing", of(false, false), of(false, false), false},
		{"not opened", nil, of(true, true), false},
	} {
		if got := listed(tt.other, tt.own); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
