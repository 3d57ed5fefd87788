package baseline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// of makes a surface of a saved one.
func of(t interface{ Fatalf(string, ...any) }, text string) *surface.Surface {
	s, err := surface.Read([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

const searchSurface = `{
  "protocolVersion": "2025-11-25",
  "serverInfo": {"name": "search", "version": "1.2.3"},
  "capabilities": {"tools": {"listChanged": true}},
  "instructions": "Search first.\nThen read.",
  "tools": [
    {"name": "search", "title": "Search", "description": "Searches the web.\n\nArgs:\n    query: what to look for\n",
     "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": ["integer", "null"], "maximum": 9007199254740993}}, "required": ["query"]},
     "annotations": {"readOnlyHint": true}},
    {"name": "read", "description": "Reads\u200b a page.", "inputSchema": {"type": "object"}, "name": "read"}
  ],
  "resources": [{"uri": "docs://a", "name": "A", "description": "One\u200b\n  two\n"}]
}`

func search(t interface{ Fatalf(string, ...any) }) *Baseline {
	b := New("search", Binding{Endpoint: "https://mcp.example.com/mcp?key=***", Credential: "env:SEARCH_TOKEN", Protocol: "2025-11-25"},
		of(t, searchSurface), Acceptance{
			ID: "f1", Rule: "hidden_format", Ruleset: "1", Severity: lint.Block, Kind: surface.Tool, Item: "read",
			Pointer: "/description", Excerpt: `Reads\u{200B} a page.`, Reason: "copied from a web page\nseen by hand",
		})
	b.Masks = []surface.Mask{{Kind: surface.Tool, Item: "search", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate, surface.MaskInteger}}}
	return b
}

const searchLock = header + `version: 1
baselines:
- name: search
  endpoint: https://mcp.example.com/mcp?key=***
  credential: env:SEARCH_TOKEN
  protocol: "2025-11-25"
  ruleset: "RULES"
  digest: DIGEST
  masks:
  - tool/search#/description=date,integer
  accepted:
  - id: f1
    rule: hidden_format
    ruleset: "1"
    severity: block
    kind: tool
    item: read
    pointer: /description
    excerpt: Reads\u{200B} a page.
    reason: |-
      copied from a web page
      seen by hand
  serverInfo:
    digest: DIGEST
    definition:
      name: search
      version: "1.2.3"
  protocolVersion:
    digest: DIGEST
    definition: "2025-11-25"
  capabilities:
    digest: DIGEST
    definition:
      tools:
        listChanged: true
  instructions:
    digest: DIGEST
    definition: |-
      Search first.
      Then read.
  tools:
  - digest: DIGEST
    definition:
      name: read
      description: "Reads\u200B a page."
      inputSchema:
        type: object
      name (2): read
    bytes: BYTES
  - digest: DIGEST
    definition:
      name: search
      title: Search
      description: |
        Searches the web.

        Args:
            query: what to look for
      annotations:
        readOnlyHint: true
      inputSchema:
        properties:
          limit:
            maximum: 9007199254740993E0
            type: [integer, "null"]
          query:
            type: string
        required: [query]
        type: object
  resources:
  - digest: DIGEST
    definition:
      name: A
      description: "One\u200B\n\
        \  two\n"
      uri: docs://a
`

// blur replaces what a reader of a test cannot check.
func blur(lock []byte) string {
	lines := strings.SplitAfter(string(lock), "\n")
	for i, line := range lines {
		for _, key := range []string{"digest", "bytes"} {
			if before, _, ok := strings.Cut(line, key+": "); ok && strings.Trim(before, " -") == "" {
				lines[i] = before + key + ": " + strings.ToUpper(key) + "\n"
			}
		}
	}
	return strings.Join(lines, "")
}

func TestLockfileIsReadable(t *testing.T) {
	data := (&Lockfile{Baselines: []*Baseline{search(t)}}).Encode()
	if diff := cmp.Diff(strings.Replace(searchLock, "RULES", lint.Ruleset, 1), blur(data)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// state is all that there is in a baseline.
func state(b *Baseline) map[string]any {
	return map[string]any{
		"name": b.Name, "binding": b.Binding, "ruleset": b.Ruleset, "accepted": b.Accepted, "masks": b.Masks,
		"digest": b.Surface.Digest(), "items": b.Surface.Items(), "unlisted": b.Surface.Unlisted(),
	}
}

func TestLockfileRoundTrip(t *testing.T) {
	other := New("another: one", Binding{Endpoint: "npx -y server"}, surface.New(surface.Input{Tools: surface.List{Listed: true}}))
	l := &Lockfile{Baselines: []*Baseline{search(t), other}}
	data := l.Encode()
	for name, file := range map[string][]byte{
		"as written": data,
		"Windows":    bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
	} {
		got, err := Read(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Baselines) != 2 {
			t.Fatalf("%s: %d baselines", name, len(got.Baselines))
		}
		for i, want := range []*Baseline{other, search(t)} {
			if diff := cmp.Diff(state(want), state(got.Baselines[i])); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", name, diff)
			}
		}
		if again := got.Encode(); !bytes.Equal(again, data) {
			t.Errorf("%s: encoded again as\n%s", name, again)
		}
	}
	slices.Reverse(l.Baselines)
	if !bytes.Equal(l.Encode(), data) {
		t.Error("the order of baselines shows in the file")
	}
	empty := (&Lockfile{}).Encode()
	if got, err := Read(empty); err != nil || len(got.Baselines) != 0 {
		t.Errorf("no baselines: %v", err)
	}
}

// hostileSurface draws what a server might list.
func hostileSurface() *rapid.Generator[*surface.Surface] {
	list := func(t *rapid.T, label string) surface.List {
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) json.RawMessage {
			switch rapid.IntRange(0, 9).Draw(t, "form") {
			case 0:
				return json.RawMessage(rapid.SampledFrom([]string{"", "{", "nul", "\xff\xfe", `{"name":"a"`, strings.Repeat("[", 300)}).Draw(t, "no JSON"))
			case 1, 2:
				return json.RawMessage(hostileJSON(3, false).Draw(t, "flawed"))
			case 3:
				name := appendText(nil, hostileText().Draw(t, "name"))
				return json.RawMessage(fmt.Sprintf(`{"name":%s,"uri":%[1]s,"description":%s}`, name, appendText(nil, hostileText().Draw(t, "text"))))
			default:
				return json.RawMessage(hostileJSON(3, true).Draw(t, "entry"))
			}
		}), 0, 3).Draw(t, label)
		return surface.List{Listed: rapid.IntRange(0, 5).Draw(t, "listed") > 0, Entries: entries}
	}
	return rapid.Custom(func(t *rapid.T) *surface.Surface {
		in := surface.Input{
			Opening: json.RawMessage(fmt.Sprintf(`{"serverInfo":%s,"capabilities":%s,"instructions":%s,"capabilities":%s}`,
				hostileJSON(2, false).Draw(t, "info"), hostileJSON(2, true).Draw(t, "capabilities"),
				appendText(nil, hostileText().Draw(t, "instructions")), hostileJSON(1, false).Draw(t, "more"))),
			Protocol: rapid.SampledFrom([]string{"", "2025-11-25", "\xff", "a\u200bb"}).Draw(t, "protocol"),
			Tools:    list(t, "tools"), Resources: list(t, "resources"), ResourceTemplates: list(t, "templates"), Prompts: list(t, "prompts"),
		}
		if rapid.Bool().Draw(t, "auth") {
			in.Auth = &surface.AuthMetadata{
				Resource: json.RawMessage(hostileJSON(2, false).Draw(t, "resource")),
				Issuer:   json.RawMessage(rapid.SampledFrom([]string{"", "{", `{"issuer":"https://a","scopes_supported":["b","a"]}`}).Draw(t, "issuer")),
			}
		}
		return surface.New(in)
	})
}

func TestLockfileHoldsAnySurface(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return hostileText().Filter(validText).Draw(t, label) }
		raw := func(label string) string {
			return rapid.OneOf(hostileText(), rapid.Just("cut \xe2\x80"), rapid.Just("\xff\xff")).Draw(t, label)
		}
		b := New(text("name"), Binding{Endpoint: text("endpoint"), Credential: text("credential"), Client: text("client")},
			hostileSurface().Draw(t, "surface"))
		b.Accepted = Accept([]lint.Finding{{
			ID: text("id"), Severity: lint.Note, Kind: rapid.SampledFrom(append(surface.Kinds(), "")).Draw(t, "kind"),
			Item: raw("item"), Pointer: raw("pointer"), Excerpt: raw("excerpt"),
		}}, raw("reason"))
		b.Masks = []surface.Mask{{Kind: surface.Tool, Item: text("item"), Pointer: "/" + text("pointer"), Masks: []surface.MaskKind{surface.MaskVersion}}}
		data := (&Lockfile{Baselines: []*Baseline{b}}).Encode()
		l, err := Read(data)
		if err != nil {
			t.Fatalf("%v:\n%s", err, data)
		}
		if diff := cmp.Diff(state(b), state(l.Baselines[0])); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if again := l.Encode(); !bytes.Equal(again, data) {
			t.Fatalf("encoded again (-want +got)\n%s", cmp.Diff(string(data), string(again)))
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSuffix(line, "\n"); !shown(line) {
				t.Fatalf("something that cannot be seen in %q", line)
			}
		}
	})
}

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }

func TestReadRefuses(t *testing.T) {
	good := string((&Lockfile{Baselines: []*Baseline{search(t)}}).Encode())
	before := func(text string) string {
		head, _, found := strings.Cut(good, text)
		if !found {
			t.Fatalf("%q is not in the lockfile", text)
		}
		return head
	}
	lineOf := func(text string) int { return 1 + strings.Count(before(text), "\n") }
	edit := func(old, replacement string) string {
		return before(old) + replacement + strings.TrimPrefix(good, before(old)+old)
	}
	const byHand = "was edited by hand"
	for name, c := range map[string]struct{ file, want string }{
		"empty":                {"", "the file is empty"},
		"comments alone":       {"# nothing\n", "the file is empty"},
		"a list":               {"- a\n", "line 1, column 1: not a lockfile"},
		"no version":           {"baselines: []\n", "line 1, column 1: not a lockfile: it has no version"},
		"newer":                {"version: 2\nmagic: {}\n", "line 1, column 10: the lockfile has version 2, and this mcpvigil reads 1: use a newer one"},
		"version in words":     {"version: one\nbaselines: []\n", "line 1, column 10: version must be 1"},
		"quoted version":       {"version: \"1\"\nbaselines: []\n", "line 1, column 10: version must be 1"},
		"no baselines":         {"version: 1\n", "the lockfile has no baselines"},
		"baselines of a kind":  {"version: 1\nbaselines: {}\n", "line 2, column 12: baselines must be a list, not a mapping"},
		"unknown key":          {edit("  ruleset: ", "  rulebook: x\n  ruleset: "), fmt.Sprintf("line %d, column 3: unknown key \"rulebook\" in a baseline", lineOf("  ruleset: "))},
		"key twice":            {edit("  ruleset: ", "  endpoint: x\n  ruleset: "), "a baseline has endpoint twice"},
		"missing key":          {"version: 1\nbaselines:\n- name: a\n", "line 3, column 3: a baseline has no endpoint"},
		"name is a number":     {"version: 1\nbaselines:\n- name: 1\n", "a baseline has no endpoint"},
		"endpoint is a number": {edit("endpoint: https://mcp.example.com/mcp?key=***", "endpoint: 12"), "column 13: endpoint must be a string, not a number"},
		"two documents":        {good + "---\nversion: 1\n", "a second document starts here"},
		"not YAML":             {"version: 1\nbaselines: [\n", "not valid YAML"},
		"not UTF-8":            {"version: 1 # \xff\n", "not valid YAML"},
		"anchor":               {edit("type: string", "type: &a string"), "anchors (&) and aliases (*) are not used here"},
		"alias bomb":           {"version: 1\na: &a [x,x]\nb: &b [*a,*a]\nbaselines: [*b,*b]\n", "alias"},
		"tag":                  {edit("type: string", "type: !!str string"), "tags (!) are not used here"},
		"conflict":             {edit("  - digest: ", "<<<<<<< HEAD\n  - digest: "), fmt.Sprintf("line %d: a merge conflict is not resolved", lineOf("  - digest: "))},
		"conflict, middle":     {good + "=======\r\n", "a merge conflict is not resolved"},
		"too deep":             {"version: 1\nbaselines: " + strings.Repeat("[", 1000), "exceeded max depth"},
		"text":                 {edit("    query: what", "    query: all"), fmt.Sprintf("line %d, column 5: tool \"search\" was edited by hand: its digest is not that of its definition", lineOf("  - digest: ")+8)},
		"instructions":         {edit("Search first.", "Search last."), "instructions " + byHand},
		"number":               {edit("9007199254740993E0", "9007199254740992"), "tool \"search\" " + byHand},
		"type of a value":      {edit(`version: "1.2.3"`, `version: 1.2`), "serverInfo " + byHand},
		"no value of JSON":     {edit(`version: "1.2.3"`, `version: 0x1F`), `"0x1F" is no value of JSON: put it in quotes`},
		"a date":               {edit(`version: "1.2.3"`, `version: 2026-11-30`), `"2026-11-30" is no value of JSON: put it in quotes`},
		"member twice":         {edit(`type: string`, "type: string\n            type: string"), `"type" stands there twice`},
		"shown":                {edit("name (2): read", "name (2): reap"), "the bytes of tool \"read\" are not what its definition shows"},
		"not base64":           {edit("    bytes: ", "    bytes: =="), "bytes are not base64"},
		"an item less":         {before("  resources:"), "the baseline of \"search\" " + byHand},
		"severity":             {edit("severity: block", "severity: mild"), "severity must be block or note"},
		"kind":                 {edit("kind: tool", "kind: hammer"), `"hammer" is no kind of item`},
		"mask":                 {edit("=date,integer", "=date,words"), `"words" is no kind of mask`},
		"unlisted":             {edit("  serverInfo:", "  unlisted:\n  - everything\n  serverInfo:"), "unlisted holds tools, resources"},
		"digest":               {edit("digest: sha256:", "digest: md5:"), "not a digest"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(c.file))
			if err == nil {
				t.Fatalf("it was read")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
	if _, err := Read(make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "larger than 64 MiB") {
		t.Errorf("too large: %v", err)
	}
	for _, value := range []string{"1,", "1\n", "- - ", "? ? "} {
		if _, err := Read([]byte(strings.Repeat(value, 5<<20))); err == nil || !strings.Contains(err.Error(), "more than 4194304 values") {
			t.Errorf("%q: %v", value, err)
		}
	}
	twice := strings.Replace(good, "version: 1\nbaselines:\n", "", 1)
	if _, err := Read([]byte(good + strings.TrimPrefix(twice, header))); err == nil || !strings.Contains(err.Error(), `a second baseline of "search"`) {
		t.Errorf("twice: %v", err)
	}
	two := search(t)
	two.Accepted = append(two.Accepted, two.Accepted[0])
	if _, err := Read((&Lockfile{Baselines: []*Baseline{two}}).Encode()); err == nil || !strings.Contains(err.Error(), `"f1" is accepted twice`) {
		t.Errorf("accepted twice: %v", err)
	}
	two.Accepted[1].Excerpt = "of another tool of that name"
	if _, err := Read((&Lockfile{Baselines: []*Baseline{two}}).Encode()); err != nil {
		t.Errorf("two excerpts of one id: %v", err)
	}
}

func TestFindAndPut(t *testing.T) {
	at := func(endpoint, credential string) *Baseline {
		return New("search", Binding{Endpoint: endpoint, Credential: credential}, surface.New(surface.Input{}))
	}
	var l Lockfile
	if _, err := l.Find("search\u202e", Binding{}); !errors.Is(err, ErrNoBaseline) || !strings.Contains(err.Error(), `\u{202E}`) {
		t.Errorf("%v", err)
	}
	a, b, c := at("https://a", "env:A"), at("https://a", "env:B"), at("https://a", "env:A")
	l.Put(a)
	l.Put(b)
	l.Put(c)
	if len(l.Baselines) != 2 {
		t.Fatalf("%d baselines, want one for each credential", len(l.Baselines))
	}
	if got, err := l.Find("search", a.Binding); err != nil || got != c {
		t.Errorf("%v, want the newest", err)
	}
	_, err := l.Find("search", Binding{Endpoint: "https://b", Credential: "env:A", Protocol: "2025-11-25"})
	var mismatch *BindingError
	if !errors.As(err, &mismatch) {
		t.Fatalf("%v", err)
	}
	if mismatch.Have != c.Binding {
		t.Errorf("have %v, want the nearest", mismatch.Have)
	}
	const want = `the baseline of "search" is for another endpoint (https://b; approved: https://a) and revision (2025-11-25; approved: none): approve this one with mcpvigil lock`
	if err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	l.Put(at("https://b", ""))
	if len(l.Baselines) != 1 {
		t.Errorf("%d baselines, want that of the new endpoint alone", len(l.Baselines))
	}
}

func TestLargeLockfile(t *testing.T) {
	var tools []json.RawMessage
	for i := range 188 {
		properties := make([]string, 40)
		for j := range properties {
			properties[j] = fmt.Sprintf(`"property_%d":{"type":"string","description":"The %dth value of tool %d: what it means, and when to give it.","enum":["a","b","c"]}`, j, j, i)
		}
		tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":"tool_%d","description":%s,"inputSchema":{"type":"object","properties":{%s}}}`,
			i, appendText(nil, strings.Repeat("A line of a long description.\n", 60)), strings.Join(properties, ","))))
	}
	b := New("large", Binding{Endpoint: "https://a"}, surface.New(surface.Input{Tools: surface.List{Listed: true, Entries: tools}}))
	size := 0
	for _, item := range b.Surface.Items() {
		size += len(item.Definition)
	}
	data := (&Lockfile{Baselines: []*Baseline{b}}).Encode()
	l, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	if l.Baselines[0].Surface.Digest() != b.Surface.Digest() {
		t.Error("read back as something else")
	}
	if size < 1_300_000 || len(data) > 3*size {
		t.Errorf("%d bytes of definitions take %d bytes", size, len(data))
	}
}

// TestReadRefusesOtherSpellings: what YAML allows and mcpvigil does not write can show
// a reviewer something else than is read. [ReadLoose] takes it, to write it afresh.
func TestReadRefusesOtherSpellings(t *testing.T) {
	good := string((&Lockfile{Baselines: []*Baseline{search(t)}}).Encode())
	edit := func(old, replacement string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the lockfile", old)
		}
		return strings.Replace(good, old, replacement, 1)
	}
	const mask = "  - tool/search#/description=date,integer\n"
	comments := strings.Repeat("# only a comment\n", 400)
	utf16 := []byte{0xff, 0xfe}
	for _, unit := range good {
		utf16 = append(utf16, byte(unit), byte(unit>>8))
	}
	first := func(text string) int {
		before, _, _ := strings.Cut(good, text)
		return 1 + strings.Count(before, "\n")
	}
	for name, c := range map[string]struct {
		file string
		line int
	}{
		"a comment":             {edit("version: 1\n", "# harmless\nversion: 1\n"), 4},
		"a comment behind":      {edit("name: search\n", "name: search # as before\n"), first("- name: search")},
		"a comment at the end":  {good + "# approved by all\n", 1 + strings.Count(good, "\n")},
		"comments before masks": {edit(mask, comments+mask), first(mask)},
		"U+2028 in a comment":   {edit("version: 1\n", "# harmless\u2028version: 1\n"), 4},
		"U+0085 in a comment":   {edit("version: 1\n", "# harmless\u0085version: 1\n"), 4},
		"CR in a comment":       {edit("version: 1\n", "# harmless\rversion: 1\n"), 4},
		"an escape of a letter": {edit("name: search\n", "name: \"\\x73earch\"\n"), first("- name: search")},
		"a long escape":         {edit("credential: env:SEARCH_TOKEN\n", "credential: \"\\u0065nv:SEARCH_TOKEN\"\n"), first("  credential:")},
		"quotes":                {edit("name: search\n", "name: 'search'\n"), first("- name: search")},
		"blanks":                {edit("      Search first.", "      "+strings.Repeat(" ", 3000)+"\n      Search first."), 0},
		"blanks before a value": {edit("rule: hidden_format", "rule: "+strings.Repeat(" ", 3000)+"hidden_format"), first("    rule:")},
		"blanks behind":         {edit("rule: hidden_format", "rule: hidden_format  "), first("    rule:")},
		"flow":                  {edit("  masks:\n"+mask, "  masks: [tool/search#/description=date,integer]\n"), 0},
		"another flow":          {edit("  masks:\n"+mask, "  masks: [\"tool/search#/description=date,integer\"]\n"), first("  masks:")},
		"another order":         {edit("  credential: env:SEARCH_TOKEN\n  protocol: \"2025-11-25\"\n", "  protocol: \"2025-11-25\"\n  credential: env:SEARCH_TOKEN\n"), first("  credential:")},
		"an empty line":         {edit("baselines:\n", "baselines:\n\n"), first("- name: search")},
		"no line end":           {strings.TrimSuffix(good, "\n"), strings.Count(good, "\n")},
		"a start of document":   {"---\n" + good, 1},
		"an end of document":    {good + "...\n", 1 + strings.Count(good, "\n")},
		"a byte order mark":     {"\ufeff" + good, 1},
		"UTF-16":                {string(utf16), 1},
		"no header":             {strings.TrimPrefix(good, header), 1},
		"an empty optional":     {edit("  protocol:", "  client: \"\"\n  protocol:"), first("  protocol:")},
		"a mask spelled badly":  {edit("=date,integer", "=integer,date"), first(mask)},
	} {
		_, err := Read([]byte(c.file))
		if err == nil {
			t.Errorf("%s was read", name)
			continue
		}
		if c.line == 0 { // no other spelling, but something else
			continue
		}
		if want := fmt.Sprintf("line %d: not written as mcpvigil writes it", c.line); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		l, err := ReadLoose([]byte(c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(good, string(l.Encode())); diff != "" {
			t.Errorf("%s, written afresh: (-want +got)\n%s", name, diff)
		}
	}
	// What a person may edit is what mcpvigil could have written.
	for _, file := range []string{
		edit("      seen by hand", "      seen by two"),
		edit("  masks:\n"+mask, ""),
	} {
		if _, err := Read([]byte(file)); err != nil {
			t.Error(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	data := (&Lockfile{Baselines: []*Baseline{search(f)}}).Encode()
	f.Add(data)
	f.Add(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	f.Add([]byte("version: 1\nbaselines: [{name: a, endpoint: b, ruleset: c, digest: d}]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ReadLoose(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q", err)
			}
			return
		}
		encoded := l.Encode()
		again, err := Read(encoded)
		if err != nil {
			t.Fatalf("%v:\n%s", err, encoded)
		}
		if !bytes.Equal(again.Encode(), encoded) {
			t.Errorf("encoded differently:\n%s", encoded)
		}
	})
}
