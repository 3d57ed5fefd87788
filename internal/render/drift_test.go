package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// bait is what a hostile server calls its tools and writes into its texts.
const bait = "x\x1b[2J\u202e\u200b\n### @octocat `](https://evil.example) | <img src=x> #1 [click](https://evil.example) {0} \xff"

// drifted has a change of many kinds, and findings.
func drifted(item string) *Verification {
	raw := func(s string) json.RawMessage { b, _ := json.Marshal(s); return b }
	change := func(c surface.Class, k surface.Kind, item, pointer, detail string) surface.Change {
		return surface.Change{Class: c, Kind: k, Item: item, Pointer: pointer, Detail: detail}
	}
	changes := []surface.Change{
		change(surface.ToolAdded, surface.Tool, item, "", "added"),
		change(surface.ToolSchemaWidened, surface.Tool, item, "/inputSchema/properties/"+item, "property added"),
		change(surface.ServerVersion, surface.Server, "", "/version", "version changed"),
		change(surface.ToolSchemaEquivalent, surface.Tool, "quiet", "/inputSchema/required", "another order"),
	}
	for i := range 30 {
		c := change(surface.ToolText, surface.Tool, fmt.Sprintf("%s%02d", item, i), "/description", "text changed")
		c.Before, c.After = raw("Reads a file. It is fast.\nThird."), raw("Reads a file. It is slow and "+item+".\nThird.")
		changes = append(changes, c)
	}
	cloak := change(surface.CloakedSurface, surface.Tool, item, "/description", "another text")
	cloak.Identity = item
	changes = append(changes, cloak)
	accepted := lint.Finding{ID: "aaaa", Rule: "sensitive_path", Severity: lint.Block, Kind: surface.Tool, Item: "quiet", Message: "names a file of secrets", Excerpt: "~/.ssh"}
	f := lint.Finding{
		ID: "f00d", Rule: "hidden_tag", Family: "hidden_unicode", Severity: lint.Block, Kind: surface.Tool, Item: item, Pointer: "/description",
		Message: "characters that are not seen", Excerpt: item, Techniques: []string{"SAFE-T1001"}, Ruleset: "1",
	}
	note := f
	note.ID, note.Severity, note.Rule = "beef", lint.Note, "oversized"
	r := baseline.Result{
		Status: baseline.Changed, Changes: surface.Policy{}.Apply(changes),
		Findings: []baseline.Verdict{
			{Finding: note, Effect: surface.Event, New: true},
			{Finding: f, Effect: surface.Fail, New: true},
			{Finding: accepted, Effect: surface.Silent, Accepted: &baseline.Acceptance{ID: "aaaa", Reason: "docs"}},
		},
		Digest: surface.Digest{1}, Approved: surface.Digest{2},
	}
	return &Verification{
		Target: &probe.TargetInfo{Name: "files", Transport: target.HTTP, Endpoint: "https://mcp.example.com/mcp"}, Source: "files",
		Result: r, File: "mcpvigil.lock", Next: "read what changed",
	}
}

func down() *Verification {
	return &Verification{
		Target: &probe.TargetInfo{Name: "down", Transport: target.HTTP, Endpoint: "https://down.example.com/"}, Source: "down",
		Result: baseline.Result{Status: baseline.Unknown}, Reason: "connection-refused", Message: "connect: nobody " + bait, Hint: "start it",
	}
}

func TestDriftGolden(t *testing.T) {
	o := Options{Version: "0.2.0"}
	for _, tt := range []struct {
		file    string
		format  Format
		shown   []*Verification
		options Options
	}{
		{"drift.txt", Human, []*Verification{drifted("read"), down()}, o},
		{"drift-hostile.txt", Human, []*Verification{drifted(bait)}, o},
		{"drift-verbose.txt", Human, []*Verification{drifted(bait)}, Options{Verbose: true}},
		{"drift.json", JSON, []*Verification{drifted(bait)}, o},
		{"drift-two.json", JSON, []*Verification{drifted("read"), down()}, o},
		{"drift.xml", JUnit, []*Verification{drifted(bait), down()}, o},
		{"drift.sarif", SARIF, []*Verification{drifted(bait), down()}, o},
		{"drift.md", Markdown, []*Verification{drifted(bait), down()}, o},
		{"drift-verbose.md", Markdown, []*Verification{drifted(bait)}, Options{Verbose: true}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Drift(&b, tt.format, "verify", tt.shown, tt.options); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, b.Bytes())
			visible(t, b.String())
		})
	}
}

func TestLintGolden(t *testing.T) {
	v := drifted(bait)
	v.Result.Status, v.Result.Changes = baseline.Flagged, nil
	clean := &Verification{Source: "clean.json", File: "clean.json", Word: "clean", Result: baseline.Result{Status: baseline.Approved}}
	for file, format := range map[string]Format{"lint.txt": Human, "lint.json": JSON, "lint.md": Markdown, "lint.xml": JUnit, "lint.sarif": SARIF} {
		var b bytes.Buffer
		if err := Lint(&b, format, []*Verification{clean, v, down()}, Options{Version: "0.2.0"}); err != nil {
			t.Fatal(err)
		}
		golden(t, file, b.Bytes())
		visible(t, b.String())
	}
}

// TestScreen: however much changed, the summary keeps to a screen.
func TestScreen(t *testing.T) {
	v := drifted("a_tool_with_a_name_of_some_length_as_servers_have_them")
	for i := range 200 {
		for _, c := range surface.Classes() {
			v.Result.Changes = append(v.Result.Changes, surface.Policy{}.Apply([]surface.Change{
				{Class: c.Class, Kind: surface.Tool, Item: fmt.Sprint("日本語", i), Pointer: fmt.Sprint("/inputSchema/properties/", i), Detail: "property added"},
			})...)
		}
	}
	v.Result.Findings = v.Result.Findings[:1]
	var b bytes.Buffer
	if err := Drift(&b, Human, "verify", []*Verification{v}, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n > screenLines {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
	for l := range strings.Lines(b.String()) {
		if width(strings.TrimSuffix(l, "\n")) > screenColumns {
			t.Errorf("%d columns: %s", width(l), l)
		}
	}
}

// TestSummaryTellsMost: of more places than lines, those are told that are about most
// items, what fails first, and the screen is used.
func TestSummaryTellsMost(t *testing.T) {
	var changes []surface.Change
	add := func(class surface.Class, n int, pointer, detail string) {
		for i := range n {
			changes = append(changes, surface.Change{Class: class, Kind: surface.Tool, Item: fmt.Sprintf("tool_%02d", i), Pointer: pointer, Detail: detail})
		}
	}
	for i := range 9 {
		add(surface.ToolText, 2, fmt.Sprintf("/inputSchema/properties/p%d/description", i), "text changed")
		add(surface.ToolSchemaWidened, 1, fmt.Sprintf("/inputSchema/properties/p%d/maximum", i), "maximum removed")
	}
	add(surface.ToolSchemaNarrowed, 30, "/inputSchema/additionalProperties", "forbids further properties")
	add(surface.ToolSchemaNarrowed, 29, "/inputSchema/properties/"+strings.Repeat("very_", 10)+"long", "parameter added, required")
	add(surface.ToolMeta, 30, "/execution", "removed")
	add(surface.ToolAnnotations, 30, "/annotations/idempotentHint", "became idempotent")
	add(surface.ToolDestructive, 3, "/annotations/destructiveHint", "became destructive")
	v := drifted("read")
	v.Result.Changes, v.Result.Findings = surface.Policy{}.Apply(changes), nil
	v.Next = strings.Repeat("This is longer than a line. ", 4)
	v.Target.Endpoint += strings.Repeat("/long", 12)
	for below := range 4 {
		v.Below = below
		coloured := string(driftPage("verify", []*Verification{v}, Options{Colour: true}))
		page := string(driftPage("verify", []*Verification{v}, Options{}))
		if sgr.ReplaceAllString(coloured, "") != page {
			t.Errorf("in colour it is another page:\n%s", coloured)
		}
		if n := lines(page); n+below != screenLines || n != strings.Count(page, "\n")+1 {
			t.Errorf("%d lines and %d below:\n%s", n, below, page)
		}
		for _, want := range []string{
			"/inputSchema/additionalProperties: forbids further properties (30 tools)\n",
			"long: parameter added, required (29 tools)\n",
			"EVENT tool-annotations      30 tools: ",
			"tool-text             2 tools: ",
			"; 8 more\n",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("not told with %d below: %s\n%s", below, want, page)
			}
		}
		if strings.Count(page, "/maximum") != 1 {
			t.Errorf("what is about one tool is told before what is about two:\n%s", page)
		}
	}
}

// TestNoTextInTitles: what programs take for a title holds our words, and names
// made safe.
func TestNoTextInTitles(t *testing.T) {
	var b bytes.Buffer
	if err := Drift(&b, JUnit, "verify", []*Verification{drifted("read")}, Options{}); err != nil {
		t.Fatal(err)
	}
	var doc junitSuites
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 9 || doc.Failures != 6 || doc.Errors != 0 || len(doc.Suites) != 1 {
		t.Errorf("%d tests, %d failures, %d errors", doc.Tests, doc.Failures, doc.Errors)
	}
	for _, c := range doc.Suites[0].Cases {
		title := c.Name
		if c.Failure != nil {
			title += c.Failure.Message + c.Failure.Type
		}
		if strings.Contains(title, "Reads") || strings.Contains(title, "slow") {
			t.Errorf("the server's text is in %q", title)
		}
	}
}

// TestMarkdownIsInert: outside of code spans there is nothing but our words, and no
// span or cell ends early.
func TestMarkdownIsInert(t *testing.T) {
	var b bytes.Buffer
	if err := Drift(&b, Markdown, "verify", []*Verification{drifted(bait), down()}, Options{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	span := regexp.MustCompile("`[^`]*`")
	ours := []string{"<details>\n", "<summary>What was said, and what is said now</summary>\n", "</details>\n"}
	fence := ""
	for l := range strings.Lines(b.String()) {
		if fence != "" {
			if strings.HasPrefix(l, fence) {
				fence = ""
			} else if !regexp.MustCompile("^[-+ ] ").MatchString(l) {
				t.Errorf("in a block: %s", l)
			}
			continue
		}
		if found, ok := strings.CutSuffix(l, "diff\n"); ok && strings.HasPrefix(l, "```") {
			fence = found
			continue
		}
		if slices.Contains(ours, l) {
			continue
		}
		if n := strings.Count(l, "|"); n != 0 && n != 5 && n != 7 {
			t.Errorf("%d cells: %s", n-1, l)
		}
		bare := span.ReplaceAllString(l, "")
		if strings.ContainsAny(bare, "`@[]<>\\") || strings.Contains(bare, "evil") || strings.Contains(bare, "#1") {
			t.Errorf("outside of code: %s", bare)
		}
	}
	var long []*Verification
	for range 40 {
		long = append(long, drifted(strings.Repeat("long ", 50)))
	}
	b.Reset()
	if err := Drift(&b, Markdown, "verify", long, Options{}); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 65_536 || !strings.Contains(b.String(), "left out") {
		t.Errorf("a comment of %d bytes", b.Len())
	}
}

// TestSarif reads what was written as a viewer does.
func TestSarif(t *testing.T) {
	var b bytes.Buffer
	if err := Drift(&b, SARIF, "verify", []*Verification{drifted(bait), down()}, Options{Version: "0.2.0"}); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 7 || run.Invocations[0].ExecutionSuccessful || len(run.Invocations[0].Notifications) != 1 {
		t.Errorf("%d results, %+v", len(run.Results), run.Invocations)
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("%s is rule %d", r.RuleID, r.RuleIndex)
		}
		if regexp.MustCompile(`(^|[^\\])[\[\]]`).MatchString(r.Message.Text) {
			t.Errorf("a link in %q", r.Message.Text)
		}
		if prints[r.PartialFingerprints["mcpvigil/v1"]] {
			t.Errorf("two results with the fingerprint of %q", r.Message.Text)
		}
		prints[r.PartialFingerprints["mcpvigil/v1"]] = true
		if r.Locations[0].Physical.Artifact.URI != "mcpvigil.lock" {
			t.Errorf("it is in %+v", r.Locations[0])
		}
	}
	for path, want := range map[string]string{"a b/c#d.lock": "a%20b/c%23d.lock", "/x/y": "file:///x/y", "./z": "z", "a:b": "./a:b"} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestUnified(t *testing.T) {
	long := strings.Repeat("A sentence. ", 5000)
	for _, tt := range []struct {
		before, after json.RawMessage
		want          []string
	}{
		{text("One. Two. Three."), text("One. 2. Three."), []string{"  One.", "- Two.", "+ 2.", "  Three."}},
		{text("One. Two."), text("One. Two. Three."), []string{"  [1 unchanged]", "  Two.", "+ Three."}},
		{text("a\nb\nc\nd\ne"), text("a\nb\nC\nd\ne"), []string{"  [1 unchanged]", "  b", "- c", "+ C", "  d", "  [1 unchanged]"}},
		{text("One. Two."), text("One.\nTwo."), []string{"  One.", `- \u{0020}`, `+ \u{000A}`, "  Two."}},
		{text("a.\n   b"), text("a.\n  b"), []string{"  a.", `- \u{000A}\u{0020}\u{0020}\u{0020}`, `+ \u{000A}\u{0020}\u{0020}`, "  b"}},
		{text("end"), text("end "), []string{"- end", `+ end\u{0020}`}},
		{text("a\u200bb"), text("ab"), []string{`- a\u{200B}b`, "+ ab"}},
		{nil, text("new"), []string{"+ new"}},
		{text("old"), nil, []string{"- old"}},
		{json.RawMessage(`{"a":1,"b":2}`), json.RawMessage("{\"a\":\"\u202e\",\"b\":2}"), []string{"  {", `-   "a": 1,`, `+   "a": "\u{202E}",`, `    "b": 2`, "  }"}},
		{json.RawMessage(`"\ud800"`), json.RawMessage(`"\ud801"`), []string{`- "\ud800"`, `+ "\ud801"`}},
		{text(""), text("x"), []string{"+ x"}},
		{text(long + "x"), text(strings.ReplaceAll(long, "A", "B") + "x"), nil},
	} {
		got := unified(tt.before, tt.after)
		if tt.want == nil {
			continue // it has an end
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%.40s to %.40s (-want +got):\n%s", tt.before, tt.after, diff)
		}
	}
}

func TestCut(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", 100), strings.Repeat("日本", 50), "é" + strings.Repeat("ü", 90)} {
		for _, columns := range []int{1, 5, 40, 80} {
			if got := cut(s, columns); width(got) > columns || got != s && !strings.HasSuffix(got, "…") || !utf8.ValidString(got) || width(s) <= columns && got != s {
				t.Errorf("%q in %d columns: %q", s, columns, got)
			}
		}
	}
}

// TestDriftReturnsErrors: of the writer, and about formats that there are not.
func TestDriftReturnsErrors(t *testing.T) {
	for _, f := range DriftFormats() {
		if err := Drift(brokenPipe{}, f, "verify", []*Verification{drifted("read")}, Options{}); err == nil {
			t.Errorf("%s: no error", f)
		}
		if err := Lint(brokenPipe{}, f, []*Verification{drifted("read")}, Options{}); err == nil {
			t.Errorf("lint %s: no error", f)
		}
	}
	if err := Drift(io.Discard, Prometheus, "verify", nil, Options{}); err == nil {
		t.Error("prometheus was accepted")
	}
}

func text(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}
