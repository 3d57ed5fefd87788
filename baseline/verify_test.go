package baseline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// hidden is "Hi" in tag characters, which no person sees: a block finding.
	hidden = "\U000E0048\U000E0069"
	// spaced is a zero-width space where a careless copy leaves one: a note.
	spaced = " \u200b "
)

// tools makes a surface of tools, "NAME=DESCRIPTION" each.
func tools(t interface{ Fatalf(string, ...any) }, version string, list ...string) *surface.Surface {
	entries := make([]string, 0, len(list))
	for _, tool := range list {
		name, description, _ := strings.Cut(tool, "=")
		entries = append(entries, fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":{"type":"object"}}`, appendText(nil, name), appendText(nil, description)))
	}
	return of(t, fmt.Sprintf(`{"serverInfo":{"name":"s","version":%s},"tools":[%s]}`, appendText(nil, version), strings.Join(entries, ",")))
}

// approve makes a baseline of s, under today's rules.
func approve(s *surface.Surface) *Baseline { return New("s", Binding{Endpoint: "https://a"}, s) }

func run(s *surface.Surface, b *Baseline, p surface.Policy) *Result {
	return Verify(s, b, p, lint.Options{})
}

// summary is what a result comes to, a line for each change and finding.
func summary(r *Result) string {
	lines := []string{string(r.Status)}
	for _, c := range r.Changes {
		line := fmt.Sprintf("%s %s %s%s", c.Effect, c.Class, c.Item, c.Pointer)
		if c.Identity != "" {
			line += " in " + c.Identity
		}
		lines = append(lines, line)
	}
	for _, v := range r.Findings {
		line := fmt.Sprintf("%s %s in %s", v.Effect, v.Severity, v.Item)
		if v.New {
			line += " new"
		}
		if v.Accepted != nil {
			line += " accepted: " + v.Accepted.Reason
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func expect(t *testing.T, r *Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), summary(r)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestVerify(t *testing.T) {
	var alert surface.Policy
	record, seed := surface.Policy{Base: surface.Record}, surface.Policy{Base: surface.Seed}
	good := tools(t, "1.0.0", "read=Reads a file.", "write=Writes a file.")
	changed := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file.")
	poisoned := tools(t, "1.0.0", "read=Reads a file."+hidden, "write=Writes a file.")
	noted := tools(t, "1.0.0", "read=Reads a"+spaced+"file.", "write=Writes a file.")

	expect(t, run(good, approve(good), alert), "approved")
	expect(t, run(changed, approve(good), alert), "changed", "fail tool-text read/description")
	expect(t, run(changed, approve(good), record), "approved", "event tool-text read/description")
	expect(t, run(changed, approve(good), surface.Policy{Effects: map[surface.Class]surface.Effect{surface.ToolText: surface.Silent}}),
		"approved", "silent tool-text read/description")

	// A finding is not approved with the surface, whoever was there first.
	expect(t, run(poisoned, approve(poisoned), alert), "flagged", "fail block in read")
	expect(t, run(poisoned, approve(poisoned), record), "approved", "event block in read")
	expect(t, run(poisoned, approve(good), alert), "changed", "fail tool-text read/description", "fail block in read new")
	expect(t, run(poisoned, approve(good), record), "approved", "event tool-text read/description", "event block in read new")

	// A note fails with a change of its item alone.
	expect(t, run(noted, approve(noted), alert), "approved", "event note in read")
	expect(t, run(noted, approve(good), alert), "changed", "fail tool-text read/description", "fail note in read new")
	expect(t, run(noted, approve(good), seed), "changed", "fail tool-text read/description", "event note in read new")
	expect(t, run(noted, approve(good), surface.Policy{Effects: map[surface.Class]surface.Effect{surface.ToolText: surface.Event}}),
		"approved", "event tool-text read/description", "event note in read new")
	expect(t, run(tools(t, "1.0.0", "read=It reads a"+spaced+"file.", "write=Writes a file."), approve(noted), alert),
		"changed", "fail tool-text read/description", "event note in read")

	// What was not listed is unknown, not removed.
	partial := of(t, `{"surface":1,"serverInfo":{"name":"s","version":"1.0.0"},"unlisted":["tool"]}`)
	r := run(partial, approve(good), alert)
	expect(t, r, "unknown")
	if diff := cmp.Diff([]surface.Kind{surface.Tool}, r.Unlisted); diff != "" {
		t.Error(diff)
	}
	if r.Digest != partial.Digest() || r.Approved != good.Digest() {
		t.Error("the digests are others")
	}
}

func TestVerifyMasks(t *testing.T) {
	b := approve(tools(t, "1.0.0", "read=Data as of 2026-11-01."))
	next := tools(t, "1.0.0", "read=Data as of 2026-11-02.")
	expect(t, run(next, b, surface.Policy{}), "changed", "fail tool-text read/description")
	b.Masks = []surface.Mask{{Kind: surface.Tool, Item: "read", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}}}
	expect(t, run(next, b, surface.Policy{}), "approved")
	expect(t, run(tools(t, "1.0.0", "read=Data from 2026-11-02."), b, surface.Policy{}), "changed", "fail tool-text read/description")
}

func TestResultAdd(t *testing.T) {
	good := tools(t, "1.0.0", "read=Reads a file.")
	r := run(good, approve(good), surface.Policy{})
	if data, err := json.Marshal(r); err != nil || !strings.Contains(string(data), `"changes":[],"findings":[]`) {
		t.Errorf("%v: %s", err, data)
	}
	r.Add(surface.Change{Class: surface.CredentialDependent, Effect: surface.Event})
	if r.Status != Approved {
		t.Errorf("%s after an event", r.Status)
	}
	r.Add(surface.Change{Class: surface.CloakedSurface, Effect: surface.Fail})
	if r.Status != Inconsistent {
		t.Errorf("%s after another identity saw something else", r.Status)
	}
	r.Add(surface.Change{Class: surface.ToolText, Effect: surface.Fail})
	if r.Status != Changed {
		t.Errorf("%s after a change", r.Status)
	}
	for _, cause := range []Status{Misconfigured, Unknown} {
		none := Unseen(cause, approve(good))
		none.Add(surface.Change{Class: surface.CredentialDependent, Effect: surface.Event})
		if none.Status != cause || none.Approved != good.Digest() {
			t.Errorf("%s, although nothing was seen because of %s", none.Status, cause)
		}
		none.Add(surface.Change{Class: surface.ToolText, Effect: surface.Fail})
		if none.Status != Changed {
			t.Errorf("%s after a change", none.Status)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct{ statuses, want string }{
		{"", "approved"},
		{"approved unknown", "unknown"},
		{"unknown misconfigured approved", "misconfigured"},
		{"inconsistent misconfigured", "inconsistent"},
		{"flagged changed inconsistent", "changed"},
		{"changed melted", "melted"},
	} {
		var statuses []Status
		for _, s := range strings.Fields(c.statuses) {
			statuses = append(statuses, Status(s))
		}
		if got := Worst(statuses...); got != Status(c.want) {
			t.Errorf("%s of %s", got, c.statuses)
		}
	}
}

// TestRulesets: newer rules fail nothing in a text that was approved under rules known
// to be older, and all the rest. Whatever else calls itself a ruleset is no excuse.
func TestRulesets(t *testing.T) {
	good := tools(t, "1.0.0", "read=Reads a file."+hidden, "write=Writes a file.")
	worse := tools(t, "1.0.0", "read=Reads a file."+hidden, "write=Writes a file."+hidden)
	v := newVerifier(approve(good), surface.Policy{}, lint.Options{})
	v.older = true
	expect(t, v.verify(good), "approved", "event block in read")
	expect(t, v.verify(worse), "changed", "fail tool-text write/description", "event block in read", "fail block in write new")
	for _, ruleset := range []string{lint.Ruleset, "", "0", "-1", lint.Ruleset + " ", " ", "01", "99", "one"} {
		b := approve(good)
		b.Ruleset = ruleset
		expect(t, run(good, b, surface.Policy{}), "flagged", "fail block in read")
	}
	// What was open when it was approved is open after an upgrade.
	b := approve(good)
	b.LeaveOpen(lint.Scan(good, lint.Options{}))
	if b.Ruleset != "" {
		t.Errorf("ruleset %q, with an open finding", b.Ruleset)
	}
	b = approve(good)
	b.Accepted = Accept(lint.Scan(good, lint.Options{}), "seen")
	b.LeaveOpen(lint.Scan(good, lint.Options{}))
	if b.Ruleset != lint.Ruleset {
		t.Errorf("ruleset %q, with all accepted", b.Ruleset)
	}
}

// TestLoginNotLookedAt: a login that was approved and is not looked at is unknown.
func TestLoginNotLookedAt(t *testing.T) {
	at := func(auth *surface.AuthMetadata) *surface.Surface {
		nothing := surface.List{Listed: true}
		return surface.New(surface.Input{
			Opening: json.RawMessage(`{"serverInfo":{"name":"s"}}`), Auth: auth,
			Tools: nothing, Resources: nothing, ResourceTemplates: nothing, Prompts: nothing,
		})
	}
	login := at(&surface.AuthMetadata{Issuer: json.RawMessage(`{"issuer":"https://login.example"}`)})
	r, again := observe(approve(login), at(nil))
	expect(t, r, "unknown")
	if diff := cmp.Diff([]surface.Kind{surface.Auth}, r.Unlisted); diff != "" || again {
		t.Errorf("again %v (-want +got)\n%s", again, diff)
	}
	expect(t, run(login, approve(login), surface.Policy{}), "approved")
	expect(t, run(at(nil), approve(at(nil)), surface.Policy{}), "approved")
	if r := run(at(&surface.AuthMetadata{}), approve(login), surface.Policy{}); r.Status != Changed {
		t.Errorf("%s for a login that is gone", summary(r))
	}
}

func TestAcceptance(t *testing.T) {
	poisoned := tools(t, "1.0.0", "read=Reads a file."+hidden, "write=Writes"+spaced+"a file.")
	b := approve(poisoned)
	findings := lint.Scan(poisoned, lint.Options{})
	if len(findings) != 2 {
		t.Fatalf("%d findings, want a block and a note", len(findings))
	}
	b.Accepted = Accept(append(findings[:1:1], findings[0]), "seen")
	want := []Acceptance{{
		ID: findings[0].ID, Rule: findings[0].Rule, Ruleset: lint.Ruleset, Severity: lint.Block,
		Kind: surface.Tool, Item: "read", Pointer: "/description", Excerpt: findings[0].Excerpt, Reason: "seen",
	}}
	if diff := cmp.Diff(want, b.Accepted); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	expect(t, run(poisoned, b, surface.Policy{}), "approved", "silent block in read accepted: seen", "event note in write")

	// What a reviewer is shown of an acceptance is what it is of.
	for name, edit := range map[string]func(*Acceptance){
		"id":       func(a *Acceptance) { a.ID = "0" },
		"rule":     func(a *Acceptance) { a.Rule = "oversized" },
		"severity": func(a *Acceptance) { a.Severity = lint.Note },
		"kind":     func(a *Acceptance) { a.Kind = "" },
		"item":     func(a *Acceptance) { a.Item = "write" },
		"pointer":  func(a *Acceptance) { a.Pointer = "/title" },
		"excerpt":  func(a *Acceptance) { a.Excerpt = "a harmless one" },
	} {
		forged := *b
		forged.Accepted = slices.Clone(b.Accepted)
		edit(&forged.Accepted[0])
		if r := run(poisoned, &forged, surface.Policy{}); r.Status != Flagged {
			t.Errorf("%s: %s", name, summary(r))
		}
		if accepted, open := forged.Carry(findings); len(accepted) != 0 || len(open) != 2 {
			t.Errorf("%s: %d carried over", name, len(accepted))
		}
	}
	aged := *b
	aged.Accepted = slices.Clone(b.Accepted)
	aged.Accepted[0].Ruleset, aged.Accepted[0].Reason = "0", "read"
	expect(t, run(poisoned, &aged, surface.Policy{}), "approved", "silent block in read accepted: read", "event note in write")

	reworded := tools(t, "1.0.0", "read=Reads every file of a folder."+hidden, "write=Writes"+spaced+"a file.")
	expect(t, run(reworded, b, surface.Policy{}), "changed", "fail tool-text read/description", "fail block in read new", "event note in write")

	worse := tools(t, "1.0.0", "read=Reads a file."+hidden+hidden, "write=Writes"+spaced+"a file.")
	expect(t, run(worse, b, surface.Policy{}), "changed", "fail tool-text read/description", "fail block in read new", "event note in write")

	gone := tools(t, "1.0.0", "read=Reads a file.", "write=Writes"+spaced+"a file.")
	expect(t, run(gone, b, surface.Policy{}), "changed", "fail tool-text read/description", "event note in write")

	for name, c := range map[string]struct {
		now            *surface.Surface
		accepted, open int
	}{"the same": {poisoned, 1, 1}, "reworded": {reworded, 0, 2}, "worse": {worse, 0, 2}, "gone": {gone, 0, 1}} {
		accepted, open := b.Carry(lint.Scan(c.now, lint.Options{}))
		if len(accepted) != c.accepted || len(open) != c.open {
			t.Errorf("%s: %d carried over, %d open; want %d and %d", name, len(accepted), len(open), c.accepted, c.open)
		}
	}
}

func observe(b *Baseline, listings ...*surface.Surface) (r *Result, again bool) {
	o := Observe(b, surface.Policy{}, lint.Options{})
	for _, s := range listings {
		r, again = o.Add(s)
	}
	return r, again
}

func TestObserve(t *testing.T) {
	good := tools(t, "1.0.0", "read=Reads a file.", "write=Writes a file.")
	changed := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file.")
	more := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file.", "drop=Drops a table.")
	poisoned := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file."+hidden)
	b := approve(good)
	for name, c := range map[string]struct {
		listings []*surface.Surface
		again    bool
		want     []string
	}{
		"as approved":       {[]*surface.Surface{good}, false, []string{"approved"}},
		"changed":           {[]*surface.Surface{changed}, true, []string{"changed", "fail tool-text read/description"}},
		"confirmed":         {[]*surface.Surface{changed, changed}, false, []string{"changed", "fail tool-text read/description"}},
		"only a version":    {[]*surface.Surface{tools(t, "1.0.1", "read=Reads a file.", "write=Writes a file.")}, true, []string{"approved", "event server-version /version"}},
		"changed only once": {[]*surface.Surface{changed, good}, false, []string{"inconsistent", "fail inconsistent-listing ", "event tool-text read/description in listing 1"}},
		"changed in part": {[]*surface.Surface{changed, more}, false, []string{
			"changed", "fail tool-text read/description", "fail inconsistent-listing ", "event tool-added drop in listing 2",
		}},
		"poisoned once": {[]*surface.Surface{poisoned, changed}, false, []string{
			"changed", "fail tool-text read/description", "fail inconsistent-listing ", "event tool-text write/description in listing 1", "fail block in write new",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, again := observe(b, c.listings...)
			if again != c.again {
				t.Errorf("again %v, want %v", again, c.again)
			}
			expect(t, r, c.want...)
		})
	}
	// A finding that was there when the surface was approved needs no second look.
	if r, again := observe(approve(poisoned), poisoned); again || r.Status != Flagged {
		t.Errorf("%s, again %v", r.Status, again)
	}
	// A listing that was cut off confirms nothing, and contradicts nothing.
	r, again := observe(b, changed, of(t, `{"surface":1,"serverInfo":{"name":"s","version":"1.0.0"},"unlisted":["tool"]}`))
	if again {
		t.Error("a third listing after one that was cut off")
	}
	expect(t, r, "unknown")
}

func TestFieldE1(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j")
	listing := func() *surface.Surface {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		entries := make([]string, 0, len(names))
		for _, name := range names {
			keys := []string{`"x":{"type":"string"}`, `"y":{"type":"number"}`, `"z":{}`}
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			entries = append(entries, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, name, strings.Join(keys, ",")))
		}
		return of(t, `{"tools":[`+strings.Join(entries, ",")+`]}`)
	}
	b := approve(listing())
	var h History
	for range 100 {
		s := listing()
		r, again := observe(b, s)
		if again {
			t.Fatal("a second listing")
		}
		expect(t, r, "approved")
		var say surface.Class
		if h, say = h.See(nil, s, b); say != "" {
			t.Fatal(say)
		}
	}
}

func TestFieldE4(t *testing.T) {
	of := func(credential string, n int) *Baseline {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("tool%d=Does %d things.", i, i)
		}
		return New("s", Binding{Endpoint: "https://a", Credential: credential}, tools(t, "1.0.0", list...))
	}
	a, b := of("env:A", 5), of("env:B", 9)
	var l Lockfile
	l.Put(a)
	l.Put(b)
	for _, want := range []*Baseline{a, b} {
		got, err := l.Find("s", want.Binding)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := observe(got, want.Surface)
		expect(t, r, "approved")
	}
}

func TestFieldE5(t *testing.T) {
	one := tools(t, "1.0.0", "a=Adds numbers.", "b=Bakes bread.")
	two := tools(t, "2.0.0", "c=Counts words.", "d=Draws lines.", "e=Ends a process.", "f=Finds files.")
	built := tools(t, "2.0.0+build.17", "c=Counts words.", "d=Draws lines.", "e=Ends a process.", "f=Finds files.")
	r, again := observe(approve(one), two, two)
	if again || r.Status != Changed {
		t.Errorf("%s, again %v", r.Status, again)
	}
	groups := map[surface.Class]int{}
	for _, g := range surface.Group(r.Changes) {
		groups[g.Class] = len(g.Items)
	}
	if diff := cmp.Diff(map[surface.Class]int{surface.ToolRemoved: 2, surface.ToolAdded: 4, surface.ServerVersion: 1}, groups); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	r, _ = observe(approve(two), built, built)
	expect(t, r, "approved", "event server-version /version")

	var h History
	for _, s := range []*surface.Surface{one, one, two, two, built, built} {
		var say surface.Class
		if h, say = h.See(nil, s, nil); say != "" {
			t.Error(say)
		}
	}
}

func TestFieldE6(t *testing.T) {
	at := func(day, count int) *surface.Surface {
		return of(t, fmt.Sprintf(`{"instructions":"Request %d of this server.","tools":[{"name":"read","description":"Data as of 2026-11-%02d.","inputSchema":{"type":"object"}}]}`, count, day))
	}
	b := approve(at(1, 7))
	if _, again := observe(b, at(2, 8)); !again {
		t.Fatal("no second listing")
	}
	if _, again := observe(b, at(2, 8), at(3, 9)); !again {
		t.Fatal("no third listing")
	}
	r, again := observe(b, at(2, 8), at(3, 9), at(4, 10))
	if again {
		t.Error("a fourth listing")
	}
	// Nobody approved that it changes.
	expect(t, r, "changed", "fail instructions ", "fail tool-text read/description", "event volatile-text ", "event volatile-text read/description")
	for i, want := range []struct{ detail, mask string }{
		{"differs in integer each time it is listed", "instructions=integer"},
		{"differs in date each time it is listed", "tool/read#/description=date"},
	} {
		c := r.Changes[2+i]
		if c.Mask == nil {
			t.Fatalf("%s has no mask", c.Detail)
		}
		if got := FormatMask(*c.Mask); c.Detail != want.detail || got != want.mask || c.Event != "mcp_volatile_text" {
			t.Errorf("%s: %s, %s", c.Event, c.Detail, got)
		}
		b.Masks = append(b.Masks, *c.Mask)
	}
	r, again = observe(b, at(5, 11))
	if again {
		t.Error("a second listing of what is masked")
	}
	expect(t, r, "approved")

	// What is proposed does not drop what is masked already.
	b = approve(of(t, `{"instructions":"Of 2026-11-01, request 1."}`))
	b.Masks = []surface.Mask{{Kind: surface.Instructions, Masks: []surface.MaskKind{surface.MaskInteger}}}
	counted := func(day int) *surface.Surface {
		return of(t, fmt.Sprintf(`{"instructions":"Of 2026-11-%02d, request %d."}`, day, day))
	}
	r, _ = observe(b, counted(2), counted(3), counted(4))
	expect(t, r, "changed", "fail instructions ", "event volatile-text ")
	if got := FormatMask(*r.Changes[1].Mask); got != "instructions=date,integer" {
		t.Error(got)
	}

	b = approve(at(1, 7))
	b.Masks = []surface.Mask{{Kind: surface.Tool, Item: "read", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}}}
	r, _ = observe(b, at(2, 8), at(3, 9), at(4, 10))
	expect(t, r, "changed", "fail instructions ", "event volatile-text ")

	// The last listing being as approved does not excuse the others.
	r, _ = observe(approve(at(4, 10)), at(2, 8), at(3, 9), at(4, 10))
	expect(t, r, "changed", "fail instructions  in listing 2", "fail tool-text read/description in listing 2",
		"event volatile-text ", "event volatile-text read/description")

	// A version that is no text cannot be masked, and needs no mask.
	versions := func(n int) *surface.Surface { return tools(t, fmt.Sprintf("1.0.%d", n), "read=Reads a file.") }
	r, _ = observe(approve(versions(1)), versions(2), versions(3), versions(4))
	expect(t, r, "approved", "event server-version /version", "event volatile-text /version")
	if m := r.Changes[1].Mask; m != nil {
		t.Errorf("%s is proposed", FormatMask(*m))
	}
	// Digits that are a message are.
	paid := func(n int) *surface.Surface { return tools(t, "1.0.0", fmt.Sprintf("pay=Pay %d dollars.", n)) }
	if r, _ = observe(approve(paid(5)), paid(1001), paid(1002), paid(1003)); r.Status != Changed {
		t.Errorf("%s", summary(r))
	}

	// What else changed is not excused by it.
	b = approve(at(1, 7))
	worse := func(day, count int) *surface.Surface {
		return of(t, fmt.Sprintf(`{"instructions":"Request %d of this server. Send it on.","tools":[{"name":"read","description":"Data as of 2026-11-%02d.","inputSchema":{"type":"object"}}]}`, count, day))
	}
	r, _ = observe(b, worse(2, 8), worse(3, 9), worse(4, 10))
	expect(t, r, "changed", "fail instructions ", "fail tool-text read/description", "event volatile-text ", "event volatile-text read/description")

	// One of three listings again: these are replicas.
	r, again = observe(b, at(2, 8), at(3, 9), at(2, 8))
	if again || r.Status != Inconsistent {
		t.Errorf("%s, again %v", r.Status, again)
	}
	// Two equal ones at the end: an upgrade in between.
	r, again = observe(b, at(2, 8), at(3, 9), at(3, 9))
	if again || r.Status != Changed {
		t.Errorf("%s, again %v", r.Status, again)
	}
}

func TestHistory(t *testing.T) {
	digest := func(c rune) surface.Digest { return surface.Digest{byte(c)} }
	// Each letter is a digest; an upper-case one differs from the one before in
	// volatile text alone. Below stands what is said.
	for _, c := range []struct{ seen, said string }{
		{"aaaaaaaaaaaa", "............"},
		{"aabbbbbbbbbb", "............"}, // an upgrade
		{"abaaaaaaaaaa", "............"}, // and its end
		{"ababababab", "...i......"},
		{"aabbaabbaa", "......i..."},
		{"abcdef", "......"}, // changes, each of which is told by itself
		{"aBCDEFGH", "...v...."},
		{"aBABABAB", "...v...."},
		{"aBCDababababab", "...v.......i.."}, // it may get worse
		{"abababCDEFGHIJKL", "...i............"},
		{"ababbbbbbbbbaba", "...i..........i"}, // it settled, and began again
	} {
		var h History
		var said strings.Builder
		for _, r := range c.seen {
			lower := []rune(strings.ToLower(string(r)))[0]
			var say surface.Class
			h, say = h.see(Sighting{Digest: digest(lower), Volatile: r != lower})
			switch say {
			case surface.InconsistentListing:
				said.WriteByte('i')
			case surface.VolatileText:
				said.WriteByte('v')
			default:
				said.WriteByte('.')
			}
			data, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			h = History{}
			if err := json.Unmarshal(data, &h); err != nil {
				t.Fatal(err)
			}
		}
		if said.String() != c.said {
			t.Errorf("%s\n%s, want\n%s", c.seen, said.String(), c.said)
		}
		if len(h.Seen) > kept {
			t.Errorf("%d checks are kept", len(h.Seen))
		}
	}
}

// TestHistorySees: what a check did not see, and what says nothing, is no change.
func TestHistorySees(t *testing.T) {
	text := func(text string) *surface.Surface { return tools(t, "1.0.0", "read="+text) }
	one, two := text("Reads a file."), text("Reads any file.")
	partial := of(t, `{"surface":1,"serverInfo":{"name":"s","version":"1.0.0"},"unlisted":["tool"]}`)
	with := func(s *surface.Surface, issuer string) *surface.Surface {
		return of(t, strings.TrimSuffix(strings.TrimSpace(string(s.Save())), "}")+`,"auth":{"issuer":{"issuer":"`+issuer+`"}}}`)
	}
	login, other := with(one, "https://a.example"), with(one, "https://b.example")
	dated := func(day int) *surface.Surface { return text(fmt.Sprintf("Data as of 2026-11-%02d.", day)) }
	mask := surface.Mask{Kind: surface.Tool, Item: "read", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}}
	schema := func(schema string) *surface.Surface {
		return of(t, `{"tools":[{"name":"read","inputSchema":`+schema+`}]}`)
	}
	short, long := schema(`{"type":"object"}`), schema(`{"type":"object","required":[],"properties":{}}`)
	for name, c := range map[string]struct {
		seen  []*surface.Surface
		masks []surface.Mask
		say   surface.Class
	}{
		"the same":                  {seen: []*surface.Surface{one, one, one, one, one}},
		"replicas":                  {seen: []*surface.Surface{one, two, one, two, one}, say: surface.InconsistentListing},
		"cut off":                   {seen: []*surface.Surface{one, partial, one, partial, one, partial, one}},
		"replicas, cut off":         {seen: []*surface.Surface{one, partial, two, partial, one, two}, say: surface.InconsistentListing},
		"login not always seen":     {seen: []*surface.Surface{one, login, one, login, one, login, one}},
		"logins":                    {seen: []*surface.Surface{login, other, login, other}, say: surface.InconsistentListing},
		"logins, not always seen":   {seen: []*surface.Surface{login, one, other, login, one, other}, say: surface.InconsistentListing},
		"volatile":                  {seen: []*surface.Surface{dated(1), dated(2), dated(3), dated(4)}, say: surface.VolatileText},
		"volatile, and masked":      {seen: []*surface.Surface{dated(1), dated(2), dated(1), dated(2), dated(1)}, masks: []surface.Mask{mask}},
		"written in different ways": {seen: []*surface.Surface{short, long, short, long, short}},
	} {
		b := approve(c.seen[0])
		b.Masks = c.masks
		var h History
		var prev *surface.Surface
		var said surface.Class
		for _, s := range c.seen {
			var say surface.Class
			if h, say = h.See(prev, s, b); say != "" {
				said = say
			}
			prev = s
		}
		if said != c.say {
			t.Errorf("%s: %q, want %q", name, said, c.say)
		}
	}
	// Nothing is known of the checks before a start but what the history holds.
	var h History
	var said surface.Class
	for _, s := range []*surface.Surface{login, one, two, one, login, two} {
		var say surface.Class
		if h, say = h.See(nil, s, nil); say != "" {
			said = say
		}
	}
	if said != surface.InconsistentListing {
		t.Errorf("%q after restarts", said)
	}
}

func TestJudge(t *testing.T) {
	s := tools(t, "1.0.0", "read=Reads a file."+hidden, "write=Writes"+spaced+"a file.")
	expect(t, &Result{Status: Flagged, Findings: Judge(lint.Scan(s, lint.Options{}))}, "flagged", "fail block in read new", "event note in write new")
	if Judge(nil) == nil {
		t.Error("no findings are null in JSON")
	}
}

func TestUnusedMasks(t *testing.T) {
	s := of(t, `{
		"serverInfo": {"name": "s", "version": "1.2.3", "title": "Server of 2026-11-01"},
		"instructions": "Request 7.",
		"tools": [
			{"name": "a/b", "description": "Data {as} of 2026-11-01, {{1}} 5.",
			 "inputSchema": {"type": "object", "properties": {"x/y": {"description": "Up to 5.", "default": "5", "anyOf": [{"description": "5", "type": "string"}]}}}},
			{"name": "bad", "description": "\ud800 5"}
		],
		"prompts": [{"name": "p", "arguments": [{"name": "q", "description": "Of 1.2.3"}]}]
	}`)
	for text, used := range map[string]bool{
		"instructions=integer":                                        true,
		"instructions=date":                                           false,
		"instructions#/x=integer":                                     false,
		"server#/title=date":                                          true,
		"server#/version=version":                                     false, // no text
		"tool/a%2Fb#/description=date":                                true,
		"tool/a%2Fb#/description=date,version":                        true,
		"tool/a%2Fb#/description=version":                             false,
		"tool/a%2Fb#/title=date":                                      false,
		"tool/a%2Fb=date":                                             false,
		"tool/a#/description=date":                                    false,
		"tool/a%2Fb#/inputSchema/properties/x~1y/description=integer": true,
		"tool/a%2Fb#/inputSchema/properties/x~1y/anyOf/0/description=integer": true,
		"tool/a%2Fb#/inputSchema/properties/x~1y/anyOf/1/description=integer": false,
		"tool/a%2Fb#/inputSchema/properties/x~1y/default=integer":             false, // no text
		"tool/a%2Fb#/inputSchema/properties/x~1y=integer":                     false,
		"tool/bad#/description=integer":                                       false, // not to be compared
		"prompt/p#/arguments/0/description=version":                           true,
		"resource/p#/description=version":                                     false,
	} {
		m, err := ParseMask(text)
		if err != nil {
			t.Fatal(err)
		}
		b := approve(s)
		b.Masks = []surface.Mask{m}
		if got := len(b.UnusedMasks()) == 0; got != used {
			t.Errorf("%s: used %v, want %v", text, got, used)
		}
	}
}

// TestVerifyBesideOthers: what neighbours make a finding was one when it was approved.
func TestVerifyBesideOthers(t *testing.T) {
	good := tools(t, "1.0.0", "re\u0430d=Reads a file.", "write=Writes a file.")
	more := tools(t, "1.0.1", "re\u0430d=Reads a file.", "write=Writes a file.")
	o := lint.Options{Neighbours: map[string][]string{"other": {"read"}}}
	alone := len(run(more, approve(good), surface.Policy{}).Findings)
	r := Verify(more, approve(good), surface.Policy{}, o)
	if len(r.Findings) <= alone {
		t.Fatalf("%d findings beside others, %d alone", len(r.Findings), alone)
	}
	for _, v := range r.Findings {
		if v.New {
			t.Errorf("%s of %s is new", v.Rule, v.Item)
		}
	}
}
