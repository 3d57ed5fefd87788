package baseline

import (
	"encoding/json"
	"fmt"
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

	// Other words elsewhere leave the finding what it is, though not its excerpt.
	elsewhere := tools(t, "1.0.0", "read=On request, it reads a file."+hidden, "write=Writes"+spaced+"a file.")
	expect(t, run(elsewhere, b, surface.Policy{}), "changed", "fail tool-text read/description", "silent block in read accepted: seen", "event note in write")

	worse := tools(t, "1.0.0", "read=Reads a file."+hidden+hidden, "write=Writes"+spaced+"a file.")
	expect(t, run(worse, b, surface.Policy{}), "changed", "fail tool-text read/description", "fail block in read new", "event note in write")

	gone := tools(t, "1.0.0", "read=Reads a file.", "write=Writes"+spaced+"a file.")
	expect(t, run(gone, b, surface.Policy{}), "changed", "fail tool-text read/description", "event note in write")

	for name, c := range map[string]struct {
		now            *surface.Surface
		accepted, open int
	}{"the same": {poisoned, 1, 1}, "reworded": {reworded, 0, 2}, "elsewhere": {elsewhere, 1, 1}, "worse": {worse, 0, 2}, "gone": {gone, 0, 1}} {
		accepted, open := b.Carry(lint.Scan(c.now, lint.Options{}))
		if len(accepted) != c.accepted || len(open) != c.open {
			t.Errorf("%s: %d carried over, %d open; want %d and %d", name, len(accepted), len(open), c.accepted, c.open)
		}
	}
}

func TestJudge(t *testing.T) {
	s := tools(t, "1.0.0", "read=Reads a file."+hidden, "write=Writes"+spaced+"a file.")
	expect(t, &Result{Status: Flagged, Findings: Judge(lint.Scan(s, lint.Options{}))}, "flagged", "fail block in read new", "event note in write new")
	if Judge(nil) == nil {
		t.Error("no findings are null in JSON")
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
