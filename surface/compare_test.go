package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// toolsOf makes a surface of tools.
func toolsOf(tools ...string) *Surface {
	return New(Input{Tools: entries(tools...), Resources: entries(), ResourceTemplates: entries(), Prompts: entries()})
}

// told gives changes as lines: class, item, pointer and detail.
func told(changes []Change) []string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprint(c.Class, " ", c.Item, " ", c.Pointer, " ", c.Detail)), " "))
	}
	return lines
}

func compareTools(t *testing.T, before, after string) []Change {
	t.Helper()
	return Compare(toolsOf(before), toolsOf(after), CompareOptions{})
}

func checkTold(t *testing.T, changes []Change, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(changes)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestComparePairs(t *testing.T) {
	const a1, a2, a3 = `{"name":"a","description":"1"}`, `{"name":"a","description":"2"}`, `{"name":"a","description":"3"}`
	for _, test := range []struct {
		name          string
		before, after []string
		want          []string
	}{
		{"nothing", nil, nil, nil},
		{"another order", []string{a1, `{"name":"b"}`}, []string{`{"name":"b"}`, a1}, nil},
		{"removed and added", []string{`{"name":"b"}`}, []string{`{"name":"c"}`}, []string{
			"tool-removed b removed", "tool-added c added",
		}},
		{"equal names, equal bytes first", []string{a1, a2}, []string{a2, a3}, []string{
			"tool-text a /description text changed",
		}},
		{"one of two equal ones", []string{a1, a1}, []string{a1}, []string{"tool-removed a removed"}},
		{"a second one", []string{a1}, []string{a1, a2}, []string{"tool-added a added"}},
		{"no object", []string{`"x"`}, []string{`{"description":"x"}`}, []string{"tool-text changed: not an object"}},
		{"not JSON", []string{`{`}, []string{`[`}, []string{"tool-text changed: not an object"}},
		{"a member twice", []string{a1}, []string{`{"name":"a","description":"1","description":"1"}`}, []string{
			"tool-schema-changed a /description changed: a member that is there several times",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkTold(t, Compare(toolsOf(test.before...), toolsOf(test.after...), CompareOptions{}), test.want...)
		})
	}
}

func TestCompareTool(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"description", `"description":"a"`, `"description":"b"`, []string{"tool-text t /description text changed"}},
		{"a blank is text", `"description":"a"`, `"description":"a "`, []string{"tool-text t /description text changed"}},
		{"empty is not absent", ``, `"description":""`, []string{"tool-text t /description text added"}},
		{"title gone", `"title":"a"`, ``, []string{"tool-text t /title text removed"}},
		{"lone surrogates differ", `"description":"\ud800"`, `"description":"\ud801"`, []string{"tool-text t /description text changed"}},
		{
			"bytes that are not UTF-8 differ", "\"description\":\"\xff\"", "\"description\":\"\xfe\"",
			[]string{"tool-text t /description text changed"},
		},
		{"icons", `"icons":[{"src":"https://a.example/i.png"}]`, ``, []string{"tool-meta t /icons removed"}},
		{"key of a vendor", `"x":1`, `"x":2`, []string{"tool-meta t /x changed"}},
		{"meta", `"_meta":{"a":1,"b":{}}`, `"_meta":{"a":2}`, []string{"tool-meta t /_meta/a changed", "tool-meta t /_meta/b removed"}},
		{"empty meta", `"_meta":{}`, ``, []string{"tool-meta t /_meta removed"}},
		{"output schema", ``, `"outputSchema":{"type":"object"}`, []string{"tool-schema-changed t /outputSchema output schema added"}},
		{"no output schema", `"outputSchema":{"type":"object"}`, ``, []string{"tool-schema-changed t /outputSchema output schema removed"}},
		{"input schema is none", `"inputSchema":{}`, `"inputSchema":7`, []string{"tool-schema-changed t /inputSchema changed: not a schema"}},
		{
			"text within output schema", `"outputSchema":{"title":"a"}`, `"outputSchema":{"title":"b"}`,
			[]string{"tool-text t /outputSchema/title text changed"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool := func(member string) string {
				if member != "" {
					member = "," + member
				}
				return `{"name":"t"` + member + `}`
			}
			checkTold(t, compareTools(t, tool(test.before), tool(test.after)), test.want...)
		})
	}
}

func TestCompareMetaSteering(t *testing.T) {
	for key, want := range map[string]Class{
		"ui":                               ToolMetaSteering,
		"UI/resourceUri":                   ToolMetaSteering,
		"com.acme/ui":                      ToolMetaSteering,
		"ui/visibility":                    ToolMetaSteering,
		"openai/outputTemplate":            ToolMetaSteering,
		"com.openai/outputTemplate":        ToolMetaSteering,
		"anthropic/alwaysLoad":             ToolMetaSteering,
		"com.anthropic.client/alwaysLoad":  ToolMetaSteering,
		"com.acme/guide":                   ToolMeta,
		"openai":                           ToolMeta,
		"notopenai/x":                      ToolMeta,
		"io.modelcontextprotocol/whatever": ToolMeta,
	} {
		for _, pair := range [][2]string{{`{"k":0}`, `{"k":0,%q:1}`}, {`{%q:1}`, `{}`}, {`{%q:1}`, `{%q:2}`}} {
			fill := func(pattern string) string {
				return `{"name":"t","_meta":` + strings.Replace(pattern, "%q", `"`+key+`"`, 1) + `}`
			}
			got := compareTools(t, fill(pair[0]), fill(pair[1]))
			if len(got) == 0 || got[0].Class != want {
				t.Errorf("%s: %v -> %v: got %v, want %s", key, pair[0], pair[1], told(got), want)
			}
		}
	}
}

// TestCompareLetterCase: some clients read a member in another letter case as the one
// of the protocol.
func TestCompareLetterCase(t *testing.T) {
	for _, test := range []struct{ input, member, want string }{
		{"tool", `"Description":"x"`, "tool-text n /Description"},
		{"tool", `"InputSchema":{}`, "tool-text n /InputSchema"},
		{"tool", `"ANNOTATIONS":null`, "tool-text n /ANNOTATIONS"},
		{"tool", `"\u212aind":1`, "tool-meta n /\u212aind"},
		{"tool", `"icon\u017f":1`, "tool-text n /icon\u017f"},
		{"prompt", `"Title":"x"`, "prompt-text n /Title"},
		{"prompt", `"arguments":[{"name":"a","Description":"x"}]`, "prompt-text n /arguments/0/Description"},
		{"resource", `"URI":"x"`, "resource-text n /URI"},
		{"template", `"Name":"x"`, "resource-template-text n /Name"},
		{"server", `"Description":"x"`, "server-text  /Description"},
	} {
		of := func(members string) *Surface {
			list := entries(`{"name":"n","uri":"n","uriTemplate":"n",` + members + `}`)
			switch test.input {
			case "tool":
				return New(Input{Tools: list})
			case "prompt":
				return New(Input{Prompts: list})
			case "resource":
				return New(Input{Resources: list})
			case "template":
				return New(Input{ResourceTemplates: list})
			}
			return New(Input{Opening: []byte(`{"serverInfo":{` + members + `}}`)})
		}
		before, after := of(`"arguments":[{"name":"a"}]`), of(`"arguments":[{"name":"a"}],`+test.member)
		if strings.HasPrefix(test.member, `"arguments"`) {
			after = of(test.member)
		}
		got := Compare(before, after, CompareOptions{})
		if len(got) != 1 || !strings.HasPrefix(told(got)[0], strings.Join(strings.Fields(test.want), " ")) {
			t.Errorf("%s %s: got %v, want %s", test.input, test.member, told(got), test.want)
			continue
		}
		x, y := before.Items()[0].Digests, after.Items()[0].Digests
		if text := got[0].Effect == Fail; x.Text == y.Text == text || x.Meta == y.Meta != text {
			t.Errorf("%s %s: the digests of text and meta do not say %v", test.input, test.member, told(got))
		}
	}
}

// TestCompareMoved: a resource under nearly the same URI is the same resource.
func TestCompareMoved(t *testing.T) {
	of := func(uri, title string) *Surface {
		return New(Input{
			Resources:         entries(fmt.Sprintf(`{"uri":%q,"title":%q}`, uri, title)),
			ResourceTemplates: entries(fmt.Sprintf(`{"uriTemplate":%q,"title":%q}`, uri, title)),
		})
	}
	for _, uri := range []string{"file:///a#1", "file:///a?x=1", "FILE:///A", "file:///a/", "file:///a//?#"} {
		got := told(Compare(of("file:///a", "x"), of(uri, "Read the notes."), CompareOptions{}))
		want := []string{
			"resource-removed file:///a renamed", "resource-added " + uri + " renamed", "resource-text " + uri + " /title text changed",
			"resource-template-removed file:///a renamed", "resource-template-added " + uri + " renamed", "resource-template-text " + uri + " /title text changed",
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", uri, diff)
		}
		if got := Compare(of("file:///a", "x"), of(uri, "x"), CompareOptions{}); len(got) != 4 || got[0].Effect != Event {
			t.Errorf("%s: %v", uri, told(got))
		}
	}
	got := told(Compare(of("file:///a", "x"), of("file:///b", "Read the notes."), CompareOptions{}))
	if len(got) != 4 {
		t.Errorf("another resource: %v", got)
	}
}

func TestCompareAnnotations(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{`{"readOnlyHint":true}`, `{"readOnlyHint":false}`, "tool-read-only-lost t /annotations/readOnlyHint no longer read-only, and may destroy"},
		{`{"readOnlyHint":true}`, `{}`, "tool-read-only-lost t /annotations/readOnlyHint no longer read-only, and may destroy"},
		{
			`{"readOnlyHint":true,"destructiveHint":false}`, `{"readOnlyHint":false,"destructiveHint":false}`,
			"tool-read-only-lost t /annotations/readOnlyHint no longer read-only",
		},
		{
			`{"readOnlyHint":true}`, `{"readOnlyHint":false,"destructiveHint":true}`,
			"tool-destructive t /annotations/destructiveHint became destructive; " +
				"tool-read-only-lost t /annotations/readOnlyHint no longer read-only, and may destroy",
		},
		{`{"destructiveHint":false}`, `{"destructiveHint":true}`, "tool-destructive t /annotations/destructiveHint became destructive"},
		{`{"destructiveHint":false}`, `{}`, "tool-destructive t /annotations/destructiveHint became destructive"},
		{`{"openWorldHint":false}`, `{}`, "tool-open-world t /annotations/openWorldHint became open-world"},
		{`{"openWorldHint":false}`, `{"openWorldHint":true}`, "tool-open-world t /annotations/openWorldHint became open-world"},
		{`{}`, `{"readOnlyHint":true}`, "tool-hints-relaxed t /annotations/readOnlyHint became read-only"},
		{`{"destructiveHint":true}`, `{"destructiveHint":false}`, "tool-hints-relaxed t /annotations/destructiveHint no longer destructive"},
		{`{}`, `{"openWorldHint":false}`, "tool-hints-relaxed t /annotations/openWorldHint now claims to be closed-world"},
		{`{}`, `{"idempotentHint":true}`, "tool-annotations t /annotations/idempotentHint became idempotent"},
		{`{"idempotentHint":true}`, `{}`, "tool-annotations t /annotations/idempotentHint no longer idempotent"},
		{`{}`, `{"x":1}`, "tool-annotations t /annotations/x added"},
		{`{}`, `{"readOnlyHint":"true"}`, "tool-hints-relaxed t /annotations/readOnlyHint changed: not a boolean"},
		{`{"destructiveHint":true}`, `{"destructiveHint":0}`, "tool-hints-relaxed t /annotations/destructiveHint changed: not a boolean"},
		{`{"readOnlyHint":1}`, `{"readOnlyHint":true}`, "tool-hints-relaxed t /annotations/readOnlyHint changed: not a boolean"},
		{`{}`, `{"ReadOnlyHint":true}`, "tool-hints-relaxed t /annotations/ReadOnlyHint a hint in another letter case added"},
		{`{}`, `[]`, "tool-hints-relaxed t /annotations changed: not an object"},
		{`{"title":"a"}`, `{"title":"b"}`, "tool-text t /annotations/title text changed"},
		{`{}`, `{"destructiveHint":true,"idempotentHint":false,"openWorldHint":true,"readOnlyHint":false}`, "tool-annotations-same t /annotations written differently, with the same effect"},
		{
			`{"readOnlyHint":true}`, `{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":true}`,
			"tool-annotations-same t /annotations written differently, with the same effect",
		},
		{`null`, `{}`, "tool-annotations-same t /annotations written differently, with the same effect"},
	} {
		got := compareTools(t, `{"name":"t","annotations":`+test.before+`}`, `{"name":"t","annotations":`+test.after+`}`)
		if line := strings.Join(told(got), "; "); line != test.want {
			t.Errorf("%s -> %s:\n got %s\nwant %s", test.before, test.after, line, test.want)
		}
	}
}

func TestCompareGrowth(t *testing.T) {
	tool := func(size int, rest string) string {
		return `{"name":"t","description":"` + strings.Repeat("x", size-2) + `"` + rest + `}`
	}
	for _, test := range []struct {
		was, is int
		grew    bool
	}{
		{100, 100 + 4096, false}, // by 4 KB
		{100, 101 + 4096, true},
		{5000, 10000, false}, // twice
		{5000, 10001, true},
		{10001, 5000, false},
	} {
		changes := compareTools(t, tool(test.was, ""), tool(test.is, ""))
		grew := false
		for _, c := range changes {
			grew = grew || c.Class == OversizedGrowth
		}
		if grew != test.grew {
			t.Errorf("%d -> %d: grew is %v", test.was, test.is, grew)
		}
	}
	parameter := `,"inputSchema":{"properties":{"p":{"description":"` + strings.Repeat("y", 9000) + `"}}}`
	if got := compareTools(t, tool(10, ""), tool(10, parameter)); got[len(got)-1].Class != OversizedGrowth {
		t.Errorf("text of a parameter does not count: %v", told(got))
	}
	enum := `,"inputSchema":{"enum":["` + strings.Repeat("y", 9000) + `"]}`
	if got := compareTools(t, tool(10, ""), tool(10, enum)); got[len(got)-1].Class == OversizedGrowth {
		t.Errorf("a value counts as text: %v", told(got))
	}
}

func TestCompareSnippets(t *testing.T) {
	got := compareTools(t, `{"name":"t","inputSchema":{"properties":{"p":{"maximum":1.0}}}}`,
		`{"name":"t","inputSchema":{"properties":{"p":{"maximum":20e-1}}}}`)
	if string(got[0].Before) != "1" || string(got[0].After) != "2" {
		t.Errorf("got %s -> %s", got[0].Before, got[0].After)
	}

	long := strings.Repeat(`\"é\\`, 100_000)
	got = compareTools(t, `{"name":"t","description":"`+long+`old"}`, `{"name":"t","description":"`+long+`new`+long+`"}`)
	for i, snippet := range []json.RawMessage{got[0].Before, got[0].After} {
		var text string
		if err := json.Unmarshal(snippet, &text); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if len(snippet) > maxSnippet || !strings.Contains(text, []string{"old", "new"}[i]) {
			t.Errorf("%d: %d bytes, without the difference", i, len(snippet))
		}
	}
	if _, err := json.Marshal(compareTools(t, "{\"name\":\"t\",\"x\":\"\xff\"}", `{"name":"t","x":"\udead"}`)); err != nil {
		t.Error(err)
	}
}

func TestCompareSingles(t *testing.T) {
	opening := func(server, capabilities, instructions string) Input {
		return Input{Opening: fmt.Appendf(nil, `{"serverInfo":%s,"capabilities":%s,"instructions":%s}`, server, capabilities, instructions)}
	}
	base := opening(`{"name":"s","version":"1","title":"T"}`, `{"tools":{},"logging":{}}`, `"do"`)
	base.Protocol = "2025-06-18"
	for _, test := range []struct {
		name  string
		after Input
		want  []string
	}{
		{"version", opening(`{"name":"s","version":"2","title":"T"}`, `{"tools":{},"logging":{}}`, `"do"`), []string{"server-version /version version changed"}},
		{"identity", opening(`{"name":"z","version":"1","title":"T"}`, `{"tools":{},"logging":{}}`, `"do"`), []string{"server-identity /name name changed"}},
		{"text", opening(`{"name":"s","version":"1","description":"d"}`, `{"tools":{},"logging":{}}`, `"do"`), []string{
			"server-text /description text added", "server-text /title text removed",
		}},
		{"meta", opening(`{"name":"s","version":"1","title":"T","websiteUrl":"https://a.example"}`, `{"tools":{},"logging":{}}`, `"do"`), []string{"server-meta /websiteUrl added"}},
		{"capabilities", opening(`{"name":"s","version":"1","title":"T"}`, `{"tools":{"listChanged":true},"prompts":{}}`, `"do"`), []string{
			"capabilities /logging capability removed", "capabilities /prompts capability added", "capabilities /tools capability changed",
		}},
		{"instructions", opening(`{"name":"s","version":"1","title":"T"}`, `{"tools":{},"logging":{}}`, `"do not"`), []string{"instructions text changed"}},
		{"no instructions", opening(`{"name":"s","version":"1","title":"T"}`, `{"tools":{},"logging":{}}`, `null`), []string{"instructions text removed"}},
		{"protocol", func() Input { in := base; in.Protocol = "2025-11-25"; return in }(), []string{"protocol-version another revision was negotiated"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.after.Protocol == "" {
				test.after.Protocol = base.Protocol
			}
			checkTold(t, Compare(New(base), New(test.after), CompareOptions{}), test.want...)
		})
	}
	other := base
	other.Protocol = "2025-11-25"
	checkTold(t, Compare(New(base), New(other), CompareOptions{IgnoreProtocol: true}))
}

func TestCompareResourcesAndPrompts(t *testing.T) {
	input := func(resource, template, prompt string) *Surface {
		return New(Input{Tools: entries(), Resources: entries(resource), ResourceTemplates: entries(template), Prompts: entries(prompt)})
	}
	const (
		resource = `{"uri":"r:a","name":"n","mimeType":"text/plain","size":1}`
		template = `{"uriTemplate":"r:{a}","name":"n","description":"d"}`
		prompt   = `{"name":"p","arguments":[{"name":"a","required":true},{"name":"b","description":"x"}]}`
	)
	base := input(resource, template, prompt)
	for _, test := range []struct {
		name  string
		after *Surface
		want  []string
	}{
		{"order of arguments", input(resource, template, `{"name":"p","arguments":[{"name":"b","description":"x","required":false},{"name":"a","required":true}]}`), nil},
		{"resource", input(`{"uri":"r:a","name":"m","mimeType":"text/html","size":2}`, template, prompt), []string{
			"resource-meta r:a /mimeType changed", "resource-text r:a /name text changed", "resource-meta r:a /size changed",
		}},
		{"another resource", input(`{"uri":"r:b","name":"n"}`, template, prompt), []string{"resource-removed r:a removed", "resource-added r:b added"}},
		{"template", input(resource, `{"uriTemplate":"r:{a}","name":"n","_meta":{"ui":{}}}`, prompt), []string{
			"resource-template-meta r:{a} /_meta/ui added", "resource-template-text r:{a} /description text removed",
		}},
		{"another template", input(resource, `{"uriTemplate":"r:{b}"}`, prompt), []string{
			"resource-template-removed r:{a} removed", "resource-template-added r:{b} added",
		}},
		{"another prompt", input(resource, template, `{"name":"q"}`), []string{"prompt-removed p removed", "prompt-added q added"}},
		{"prompt", input(resource, template, `{"name":"p","title":"t","icons":[],"arguments":[{"name":"b","description":"y","x":1},{"name":"c"},{"name":"d","required":true}]}`), []string{
			"prompt-text p /arguments/0/description text changed",
			"prompt-meta p /arguments/0/x added",
			"prompt-arguments p /arguments/0 argument removed",
			"prompt-arguments p /arguments/1 argument added, optional",
			"prompt-arguments p /arguments/2 argument added, required",
			"prompt-meta p /icons added",
			"prompt-text p /title text added",
		}},
		{"required", input(resource, template, `{"name":"p","arguments":[{"name":"a"},{"name":"b","description":"x","required":true}]}`), []string{
			"prompt-arguments p /arguments/0/required no longer required", "prompt-arguments p /arguments/1/required became required",
		}},
	} {
		t.Run(test.name, func(t *testing.T) { checkTold(t, Compare(base, test.after, CompareOptions{}), test.want...) })
	}
}

// A list that failed or was cut off never reads as removed, or as empty.
func TestCompareUnlisted(t *testing.T) {
	full := New(Input{Tools: entries(`{"name":"a"}`), Resources: entries(`{"uri":"r:a"}`), Prompts: entries()})
	failed := New(Input{Resources: entries(), Prompts: entries()})
	checkTold(t, Compare(full, failed, CompareOptions{}), "resource-removed r:a removed")
	checkTold(t, Compare(failed, full, CompareOptions{}), "tool-added a added", "resource-added r:a added")
}

func TestCompareMasks(t *testing.T) {
	const before, after = `{"name":"t","description":"Data as of 2026-11-30, 5 rows"}`, `{"name":"t","description":"Data as of 2026-12-01, 5 rows"}`
	const more = `{"name":"t","description":"Data as of 2026-12-01, 6 rows"}`
	masks := []Mask{{Kind: Tool, Item: "t", Pointer: "/description", Masks: []MaskKind{MaskDate}}}
	checkTold(t, Compare(toolsOf(before), toolsOf(after), CompareOptions{Masks: masks}))
	checkTold(t, Compare(toolsOf(before), toolsOf(more), CompareOptions{Masks: masks}), "tool-text t /description text changed")
	masks[0].Item = "u"
	checkTold(t, Compare(toolsOf(before), toolsOf(after), CompareOptions{Masks: masks}), "tool-text t /description text changed")

	// Two bytes that are not UTF-8 read alike and are not.
	masks = []Mask{{Kind: Tool, Item: "t", Pointer: "/description", Masks: []MaskKind{MaskInteger}}}
	checkTold(t, Compare(toolsOf("{\"name\":\"t\",\"description\":\"\xff 5\"}"), toolsOf("{\"name\":\"t\",\"description\":\"\xfe 6\"}"), CompareOptions{Masks: masks}),
		"tool-text t /description text changed")

	masks = []Mask{{Kind: Instructions, Masks: []MaskKind{MaskInteger}}}
	asked := func(n int) *Surface {
		return New(Input{Opening: fmt.Appendf(nil, `{"instructions":"You are visitor number %d"}`, n)})
	}
	checkTold(t, Compare(asked(1), asked(2), CompareOptions{Masks: masks}))
}

func TestCompareRenames(t *testing.T) {
	const (
		search  = `{"name":%q,"description":"Searches all documents of the workspace for the words that are given.","inputSchema":{"properties":{"q":{"type":"string"}}}}`
		similar = `{"name":%q,"description":"Searches all documents of the workspace for the words that are given here.","inputSchema":{"properties":{"q":{"type":"string"}}}}`
		short   = `{"name":%q,"description":"Short"}`
	)
	named := func(format string, names ...string) []string {
		var tools []string
		for _, name := range names {
			tools = append(tools, strings.Replace(format, "%q", `"`+name+`"`, 1))
		}
		return tools
	}
	for _, test := range []struct {
		name          string
		before, after []string
		want          []string
	}{
		{"equal", named(search, "a"), named(search, "b"), []string{"a>b", "b>a"}},
		{"similar", named(search, "a"), named(similar, "b"), []string{"a>b", "b>a"}},
		{"two that are equal", named(search, "a"), named(search, "b", "c"), []string{"a>", "b>", "c>"}},
		{"equal before similar", named(search, "a"), append(named(similar, "b"), named(search, "c")...), []string{"a>c", "b>", "c>a"}},
		{"nothing to tell it by", named(short, "a"), named(short, "b"), []string{"a>", "b>"}},
		{"other constraints", named(search, "a"), named(strings.Replace(search, `"q"`, `"z"`, 1), "b"), []string{"a>", "b>"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, c := range Compare(toolsOf(test.before...), toolsOf(test.after...), CompareOptions{}) {
				got = append(got, c.Item+">"+c.Renamed)
				if c.Class != ToolRemoved && c.Class != ToolAdded {
					t.Errorf("class %s", c.Class)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUnexplained: what the comparison of parts finds nothing in is silent only when
// the digests agree.
func TestUnexplained(t *testing.T) {
	moved := Digests{Raw: Digest{1}, Text: Digest{1}}
	reshaped := Digests{Raw: Digest{1}, Shape: Digest{1}, Annotations: Digest{1}}
	for _, test := range []struct {
		kind      Kind
		after     Digests
		respelled bool
		want      []string
	}{
		{Tool, Digests{Raw: Digest{1}}, false, []string{"tool-equivalent written differently"}},
		{Tool, Digests{Raw: Digest{1}}, true, nil},
		{Tool, reshaped, true, nil},
		{Tool, reshaped, false, []string{"tool-schema-changed changed"}},
		{Tool, moved, true, []string{"tool-schema-changed changed"}},
		{Prompt, moved, false, []string{"prompt-text changed"}},
		{Resource, Digests{Raw: Digest{1}}, false, nil},
	} {
		c := comparer{room: maxDetail}
		d := differ{comparer: &c, kind: test.kind}
		d.unexplained(member{}, Digests{}, test.after, test.respelled)
		checkTold(t, c.changes, test.want...)
	}
}

// Surfaces of many items cost no more than their size.
func TestCompareIsBounded(t *testing.T) {
	many := func(n int, tool func(int) string) *Surface {
		tools := make([]string, n)
		for i := range tools {
			tools[i] = tool(i)
		}
		return toolsOf(tools...)
	}
	prose := strings.Repeat("many words that are the same in each of them ", 20)
	for _, test := range []struct {
		name          string
		before, after func(int) string
	}{
		{
			"all under other names", func(i int) string { return fmt.Sprintf(`{"name":"a%d","description":"%s%d"}`, i, prose, i) },
			func(i int) string { return fmt.Sprintf(`{"name":"b%d","description":"%s%d!"}`, i, prose, i) },
		},
		{
			"all of one name", func(i int) string { return fmt.Sprintf(`{"name":"a","title":"%d"}`, i) },
			func(i int) string { return fmt.Sprintf(`{"name":"a","title":"%d!"}`, i) },
		},
		{
			"all changed", func(i int) string { return fmt.Sprintf(`{"name":"%d","inputSchema":{"maximum":1,"title":"a"}}`, i) },
			func(i int) string { return fmt.Sprintf(`{"name":"%d","inputSchema":{"maximum":2,"title":"b"}}`, i) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, after := many(10_000, test.before), many(10_000, test.after)
			start := time.Now()
			changes := Compare(before, after, CompareOptions{})
			Group(changes)
			if took := time.Since(start); took > time.Minute { // on a loaded machine; a mistake takes longer
				t.Errorf("took %v", took)
			}
			if len(changes) < 10_000 {
				t.Errorf("%d changes", len(changes))
			}
		})
	}
}

// When there is no more room, each item that changed still fails.
func TestCompareTellsOfEachItem(t *testing.T) {
	var before, after []string
	for i := range 3 {
		var was, is []string
		for p := range 30_000 {
			was = append(was, fmt.Sprintf(`"p%d":{"const":1}`, p))
			is = append(is, fmt.Sprintf(`"p%d":{"const":2}`, p))
		}
		before = append(before, fmt.Sprintf(`{"name":"t%d","inputSchema":{"properties":{%s}}}`, i, strings.Join(was, ",")))
		after = append(after, fmt.Sprintf(`{"name":"t%d","inputSchema":{"properties":{%s}}}`, i, strings.Join(is, ",")))
	}
	changes := Compare(toolsOf(before...), toolsOf(after...), CompareOptions{})
	if len(changes)*changeCost > 2*maxDetail {
		t.Errorf("%d changes", len(changes))
	}
	last := changes[len(changes)-1]
	if last.Item != "t2" || last.Effect != Fail || !strings.Contains(last.Detail, "more changes than are told apart") {
		t.Errorf("the last one: %+v", last)
	}
}

// What the server wrote is in Item, Pointer, Renamed, Before and After alone.
func TestDetailNamesNoServerText(t *testing.T) {
	const marker = "zqx"
	wild := func(value string) string {
		return strings.ReplaceAll(`{"name":"t","zqx":V,"title":"zqx V","description":"https://zqx.com V","annotations":{"zqx":V,"readOnlyHint":V},
			"_meta":{"zqx":V,"openai/zqx":V},"inputSchema":{"zqx":V,"required":["zqx",V],"type":["zqx",V],"enum":["zqx",V],"format":"zqx V",
			"properties":{"zqx":{"const":"zqx V","default":"zqx V","pattern":"zqx V","x-mcp-header":"zqx V","minimum":V},"zqxV":true},
			"patternProperties":{"zqx":{"$ref":"zqx V"}},"$defs":{"zqxV":{}},"dependentRequired":{"zqx":[V]},
			"anyOf":[{"const":"zqx V"},{"zqx":V}],"oneOf":V,"not":{"zqx":V},"items":[{"zqx":V}],"additionalProperties":{"zqx":V}}}`, "V", value)
	}
	changes := compareTools(t, wild("1"), wild("2"))
	if len(changes) < 25 {
		t.Errorf("only %d changes: %v", len(changes), told(changes))
	}
	for _, c := range changes {
		if strings.Contains(c.Detail, marker) || c.Detail == "" || c.Event == "" || c.Effect == "" {
			t.Errorf("%+v", c)
		}
		if bytes.Equal(c.Before, c.After) && c.Before != nil {
			t.Errorf("no difference in %+v", c)
		}
	}
}
