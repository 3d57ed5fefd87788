package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/people/peopletest"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// desk keeps one account and its session: what a proof needs.
type desk struct {
	people.Tx
	account  people.Account
	session  people.SessionRow
	settings map[string]string
	secret   []byte
	asked    people.Challenge
}

func (d *desk) View(_ context.Context, f func(people.Tx) error) error   { return f(d) }
func (d *desk) Change(_ context.Context, f func(people.Tx) error) error { return f(d) }

func (d *desk) Accounts(context.Context) ([]people.Account, error) {
	if d.account.ID == 0 {
		return nil, nil
	}
	return []people.Account{d.account}, nil
}

func (d *desk) Account(context.Context, int64) (people.Account, error) { return d.account, nil }

func (d *desk) AccountByName(_ context.Context, name string) (people.Account, error) {
	if d.account.ID == 0 || d.account.Name != name {
		return people.Account{}, people.ErrNotFound
	}
	return d.account, nil
}

func (d *desk) PutAccount(_ context.Context, a *people.Account) error {
	a.ID, a.TOTP = 1, d.secret != nil
	d.account = *a
	return nil
}

func (d *desk) Session(context.Context, string) (people.SessionRow, error) { return d.session, nil }

func (d *desk) Sessions(context.Context, int64) ([]people.SessionRow, error) { return nil, nil }

func (d *desk) InsertSession(_ context.Context, s people.SessionRow) error {
	d.session = s
	return nil
}

func (d *desk) TOTP(context.Context, int64) ([]byte, error) { return d.secret, nil }

func (d *desk) SetTOTP(_ context.Context, _ int64, secret []byte) error {
	d.secret, d.account.TOTP = secret, true
	return nil
}

func (d *desk) Challenge(context.Context, string) (people.Challenge, error) { return d.asked, nil }

func (d *desk) PutChallenge(_ context.Context, c people.Challenge) error {
	d.asked = c
	return nil
}

func (d *desk) DeleteChallenge(context.Context, string) error                { return nil }
func (d *desk) DropChallenges(context.Context, string, time.Time, int) error { return nil }

func (d *desk) TouchSession(context.Context, string, time.Time) error         { return nil }
func (d *desk) DeleteSession(context.Context, string) error                   { return nil }
func (d *desk) DeleteSessions(context.Context, int64, string) error           { return nil }
func (d *desk) DeleteOldSessions(context.Context, time.Time, time.Time) error { return nil }
func (d *desk) Audit(context.Context, people.AuditEntry) error                { return nil }
func (d *desk) Setting(_ context.Context, name string) (string, error)        { return d.settings[name], nil }

func (d *desk) SetSetting(_ context.Context, name, value string) error {
	d.settings[name] = value
	return nil
}

// prover makes proofs as ann, who is signed in, and says when each was given. A second
// one for a statement is the first again.
func prover(t *testing.T) func(people.Statement) (people.Proof, time.Time) {
	t.Helper()
	now := epoch()
	p := people.New(&desk{settings: map[string]string{}}, people.Options{Now: func() time.Time { return now }})
	ctx := t.Context()
	const password = "correct horse battery staple"
	token, _, err := p.SetupToken(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Setup(ctx, token, "ann", password); err != nil {
		t.Fatal(err)
	}
	_, session, err := p.Login(ctx, "ann", password, "", "127.0.0.1", "test")
	if err != nil {
		t.Fatal(err)
	}
	code := peopletest.EnrolTOTP(t, p, session, password, now)
	given := map[string]people.Proof{}
	return func(st people.Statement) (people.Proof, time.Time) {
		t.Helper()
		key := fmt.Sprint(st)
		if proof, ok := given[key]; ok { // hashing a password takes its time
			return proof, proof.At()
		}
		now = now.Add(time.Minute)
		proof, err := p.Prove(ctx, session, people.Code(password, code()), st)
		if err != nil {
			t.Fatal(err)
		}
		given[key] = proof
		return proof, now
	}
}

// changed is a monitor whose server has changed: one tool another text, one tool new and
// poisoned, one tool gone.
type changed struct {
	m       Monitor
	current *baseline.Baseline
	seen    *surface.Surface
	verdict *baseline.Result
}

func newChanged(t *testing.T) *changed {
	t.Helper()
	c := &changed{m: Monitor{ID: 7, Definition: *definition(nil)}}
	binding := baseline.Binding{Endpoint: c.m.Definition.URL}
	c.current = baseline.New("search", binding, tools(t, "add=Adds.", "old=Is old.", "same=Stays."))
	c.seen = tools(t, "add=Adds more.", "same=Stays.", strings.Replace(poison, "add=", "new=", 1))
	c.verdict = baseline.Verify(c.seen, c.current, surface.Policy{}, lint.Options{})
	return c
}

func (c *changed) accept(proof people.Proof, sel Selection, now time.Time) (Approval, error) {
	return Accept(proof, &c.m, c.current, c.current.Binding, c.seen, c.verdict, nil, sel, now)
}

// keys are those of the changes of an item.
func (c *changed) keys(item string) []string {
	var out []string
	for _, change := range c.verdict.Changes {
		if change.Item == item {
			out = append(out, ChangeKey(change))
		}
	}
	return out
}

func (c *changed) blocks() []string {
	var out []string
	for _, v := range c.verdict.Findings {
		if v.Severity == lint.Block {
			out = append(out, v.ID)
		}
	}
	return out
}

// left is what still fails of what was seen, under what is approved now.
func (c *changed) left(a Approval) string {
	r := baseline.Verify(c.seen, a.Baseline(), surface.Policy{}, lint.Options{})
	var out []string
	for _, change := range r.Changes {
		if change.Effect == surface.Fail && !slices.Contains(out, change.Item) {
			out = append(out, change.Item)
		}
	}
	for _, v := range r.Findings {
		if v.Effect == surface.Fail && v.Severity == lint.Block {
			out = append(out, "finding")
			break
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestAccept(t *testing.T) {
	prove := prover(t)
	c := newChanged(t)
	if len(c.keys("new")) == 0 || len(c.blocks()) == 0 || c.left(Approval{baseline: c.current}) != "add finding new old" {
		t.Fatalf("%v %v %s", c.keys("new"), c.blocks(), c.left(Approval{baseline: c.current}))
	}
	for name, x := range map[string]struct {
		sel     Selection
		left    string
		ruleset string
	}{
		"all":                    {Selection{All: true}, "", lint.Ruleset},
		"one change":             {Selection{Changes: c.keys("add")}, "finding new old", lint.Ruleset},
		"a removal":              {Selection{Changes: c.keys("old")}, "add finding new", lint.Ruleset},
		"two changes":            {Selection{Changes: slices.Concat(c.keys("add"), c.keys("old"))}, "finding new", lint.Ruleset},
		"a poisoned one":         {Selection{Changes: c.keys("new")}, "add finding old", ""},
		"with its findings":      {Selection{Changes: c.keys("new"), Findings: c.blocks()}, "add old", lint.Ruleset},
		"everything, one by one": {Selection{Changes: slices.Concat(c.keys("add"), c.keys("old"), c.keys("new")), Findings: c.blocks()}, "", lint.Ruleset},
	} {
		t.Run(name, func(t *testing.T) {
			x.sel.Reason = "reviewed\u200b with the release"
			proof, now := prove(x.sel.Statement(c.m.ID, c.seen.Digest()))
			a, err := c.accept(proof, x.sel, now)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "left", c.left(a), x.left)
			same(t, "ruleset", a.Baseline().Ruleset, x.ruleset)
			if a.Monitor() != 7 || a.Source() != ApprovedPerson || a.Approver() != "user:ann" || !a.ExpiresAt().IsZero() || strings.Contains(a.Reason(), "\u200b") {
				t.Errorf("%+v", a)
			}
			e := a.Event()
			if e.Name != EventBaselineAccepted || e.Actor != "user:ann" || e.Data.Comment == "" || e.Data.Digest != a.Baseline().Surface.Digest().String() ||
				e.Data.Approved != c.current.Surface.Digest().String() || !e.At.Equal(now) {
				t.Errorf("%+v %+v", e, e.Data)
			}
			if (len(a.Items()) == 0) != x.sel.All {
				t.Errorf("items %v", a.Items())
			}
			if x.left == "" && a.Baseline().Surface.Digest() != c.seen.Digest() {
				t.Error("all is accepted, and another surface is approved")
			}
		})
	}
}

func TestAcceptRefuses(t *testing.T) {
	prove := prover(t)
	all := Selection{All: true, Reason: "reviewed"}
	type attempt struct {
		*changed
		st  func(people.Statement) people.Statement
		sel Selection
		now time.Duration
	}
	for name, x := range map[string]struct {
		change func(a *attempt)
		want   error  // or
		field  string // of the selection
	}{
		"another monitor": {func(a *attempt) { a.st = func(st people.Statement) people.Statement { st.Monitor = 8; return st } }, ErrProof, ""},
		"another action": {func(a *attempt) {
			a.st = func(st people.Statement) people.Statement { st.Action = people.ActionEdit; return st }
		}, ErrProof, ""},
		"other items": {func(a *attempt) {
			a.st = func(st people.Statement) people.Statement { st.Items = []string{"x"}; return st }
		}, ErrProof, ""},
		"all, for an item": {func(a *attempt) {
			a.st = func(st people.Statement) people.Statement { st.Items = a.keys("add"); return st }
		}, ErrProof, ""},
		"too old":           {func(a *attempt) { a.now = 6 * time.Minute }, ErrProof, ""},
		"from the future":   {func(a *attempt) { a.now = -time.Minute }, ErrProof, ""},
		"the surface moved": {func(a *attempt) { a.seen = tools(t, good) }, ErrStale, ""},
		"no surface":        {func(a *attempt) { a.seen = nil }, ErrStale, ""},
		"another verdict": {func(a *attempt) {
			a.verdict = baseline.Verify(a.current.Surface, a.current, surface.Policy{}, lint.Options{})
		}, ErrStale, ""},
		"no verdict":        {func(a *attempt) { a.verdict = nil }, ErrStale, ""},
		"another baseline":  {func(a *attempt) { b := *a.current; b.Surface = tools(t, good); a.current = &b }, ErrStale, ""},
		"no reason":         {func(a *attempt) { a.sel.Reason = " " }, nil, "reason"},
		"expired":           {func(a *attempt) { a.sel.ExpiresAt = epoch() }, nil, "expires_at"},
		"nothing":           {func(a *attempt) { a.sel.All = false }, nil, "changes"},
		"an unknown change": {func(a *attempt) { a.sel = Selection{Reason: "x", Changes: []string{"c.x"}} }, nil, "changes[0]"},
		"an unknown finding": {func(a *attempt) {
			a.sel = Selection{Reason: "x", Changes: a.keys("add"), Findings: []string{"f"}}
		}, nil, "findings[0]"},
		"a finding without its change": {func(a *attempt) { a.sel = Selection{Reason: "x", Findings: a.blocks()} }, nil, "findings[0]"},
		"an inconsistent server": {func(a *attempt) {
			a.verdict.Add(surface.Change{Class: surface.InconsistentListing, Kind: surface.Server, Effect: surface.Fail})
		}, nil, "all"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attempt{changed: newChanged(t), sel: all}
			shown := a.seen.Digest()
			x.change(a)
			st := a.sel.Statement(a.m.ID, shown)
			if a.st != nil {
				st = a.st(st)
			}
			proof, now := prove(st)
			_, err := a.accept(proof, a.sel, now.Add(a.now))
			var wrong *SelectionError
			switch {
			case x.want != nil && !errors.Is(err, x.want):
				t.Errorf("%v, want %v", err, x.want)
			case x.want == nil && !errors.As(err, &wrong):
				t.Errorf("%v", err)
			case wrong != nil && (wrong.Problem.Field != x.field || wrong.Problem.Hint == ""):
				t.Errorf("%+v, want %s", wrong.Problem, x.field)
			}
		})
	}
	c := newChanged(t)
	if _, err := c.accept(people.Proof{}, all, epoch()); !errors.Is(err, ErrProof) {
		t.Errorf("no proof: %v", err)
	}
}

// Changes of one item that are one act.
func TestAcceptAnItemWhole(t *testing.T) {
	prove := prover(t)
	c := newChanged(t)
	c.verdict.Changes = append(c.verdict.Changes, surface.Change{Class: surface.ToolDestructive, Kind: surface.Tool, Item: "add", Effect: surface.Fail})
	sel := Selection{Reason: "x", Changes: c.keys("add")[:1]}
	proof, now := prove(sel.Statement(c.m.ID, c.seen.Digest()))
	if _, err := c.accept(proof, sel, now); err == nil || !strings.Contains(err.Error(), "tool add") {
		t.Errorf("%v", err)
	}
}

func TestAcceptTheFirst(t *testing.T) {
	prove := prover(t)
	c := newChanged(t)
	sel := Selection{All: true, Reason: "x"}
	proof, now := prove(sel.Statement(c.m.ID, c.seen.Digest()))
	elsewhere := baseline.Binding{Endpoint: "https://b.example.com"}
	accept := func(current *baseline.Baseline, binding baseline.Binding, v *baseline.Result, sel Selection) (Approval, error) {
		return Accept(proof, &c.m, current, binding, c.seen, v, baseline.Judge(lint.Scan(c.seen, lint.Options{})), sel, now)
	}
	for name, current := range map[string]*baseline.Baseline{"nothing was approved": nil, "for another address": c.current} {
		a, err := accept(current, elsewhere, nil, sel)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, name, c.left(a), "")
		if a.Baseline().Binding != elsewhere || a.Baseline().Name != "search" {
			t.Errorf("%s: %+v", name, a.Baseline())
		}
	}
	part := Selection{Changes: c.keys("add"), Reason: "x"}
	proof, now = prove(part.Statement(c.m.ID, c.seen.Digest()))
	var wrong *SelectionError
	if _, err := accept(nil, elsewhere, nil, part); !errors.As(err, &wrong) {
		t.Errorf("a part of nothing: %v", err)
	}
}

func TestAcceptCarries(t *testing.T) {
	prove := prover(t)
	c := newChanged(t)
	// What was accepted stays accepted, under its reason; a mask stays where it masks.
	poisoned := tools(t, poison, "old=As of 2026-11-02.", "same=Stays.")
	c.current.Surface = poisoned
	found := lint.Scan(poisoned, lint.Options{})
	c.current.Accepted = baseline.Accept(found, "known")
	c.current.Masks = []surface.Mask{
		{Kind: surface.Tool, Item: "old", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}},
	}
	c.seen = tools(t, poison, "old=As of 2026-11-03.", "same=Stays, too.")
	c.verdict = baseline.Verify(c.seen, c.current, surface.Policy{}, lint.Options{})
	sel := Selection{Reason: "x", Changes: c.keys("same"), ExpiresAt: epoch().Add(24 * time.Hour), Keep: true}
	proof, now := prove(sel.Statement(c.m.ID, c.seen.Digest()))
	a, err := c.accept(proof, sel, now)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "left", c.left(a), "")
	same(t, "masks", len(a.Baseline().Masks), 1)
	if len(a.Baseline().Accepted) != len(found) || a.Baseline().Accepted[0].Reason != "known" || !a.ExpiresAt().Equal(sel.ExpiresAt) {
		t.Errorf("%+v", a.Baseline())
	}
}

func TestAcceptMasks(t *testing.T) {
	prove := prover(t)
	dated := func(day string) *surface.Surface { return tools(t, "add=As of 2026-11-0"+day+".") }
	c := newChanged(t)
	c.current.Surface = dated("1")
	o := baseline.Observe(c.current, surface.Policy{}, lint.Options{})
	o.Add(dated("2"))
	o.Add(dated("3"))
	c.seen = dated("4")
	c.verdict, _ = o.Add(c.seen)
	for _, named := range []bool{false, true} {
		sel := Selection{All: true, Reason: "x"}
		if named {
			for _, change := range c.verdict.Changes {
				if change.Class == surface.VolatileText {
					sel.Changes = append(sel.Changes, ChangeKey(change))
				}
			}
		}
		proof, now := prove(sel.Statement(c.m.ID, c.seen.Digest()))
		a, err := c.accept(proof, sel, now)
		if err != nil {
			t.Fatal(err)
		}
		r := baseline.Verify(dated("9"), a.Baseline(), surface.Policy{}, lint.Options{})
		if (r.Status == baseline.Approved) != named {
			t.Errorf("named %v: another day is %s", named, r.Status)
		}
	}
}

func TestBuildKeepsEveryByte(t *testing.T) {
	s := surface.New(surface.Input{
		Opening:   []byte(`{"serverInfo":{"name":"a"},"ServerInfo":{"name":"b"},"instructions":"x\ud800","capabilities":{"tools":{}}}`),
		Protocol:  "2025-06-18",
		Tools:     surface.List{Listed: true, Entries: jsons(`{"name":"a","name":"b"}`, "{\"name\":\"\xff\"}", `not json`, `{"canonicalBase64":"e30="}`, `{"name":"n","x":9007199254740993}`)},
		Resources: surface.List{Listed: true},
		Prompts:   surface.List{Listed: true, Entries: jsons(strings.Repeat("[", 500) + strings.Repeat("]", 500))},
		Auth:      &surface.AuthMetadata{Resource: []byte(`{"resource":"https://a","scopes_supported":["b","a"]}`), Issuer: []byte(`{"issuer":"https://i"}`)},
	})
	again, err := build(s.Items(), s.Unlisted())
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest() != s.Digest() {
		t.Errorf("%s became %s", s.Save(), again.Save())
	}
}

func jsons(entries ...string) (out []json.RawMessage) {
	for _, e := range entries {
		out = append(out, json.RawMessage(e))
	}
	return out
}

func TestFromLockfile(t *testing.T) {
	m := &Monitor{ID: 7, Definition: *definition(nil)}
	b := baseline.New("search", baseline.Binding{}, tools(t, good))
	a := FromLockfile(m, b, "deploy/mcpvigil.lock.yaml", [32]byte{0xab}, epoch())
	if a.Source() != ApprovedLockfile || !strings.HasPrefix(a.Approver(), "file:deploy/mcpvigil.lock.yaml@sha256:ab00") || a.Event().Actor != a.Approver() || a.Baseline() != b {
		t.Errorf("%+v", a)
	}
}

func TestChangeKey(t *testing.T) {
	text := func(s string) surface.Change {
		return surface.Change{Class: surface.ToolText, Kind: surface.Tool, Item: "a", Pointer: "/description", After: []byte(`"` + s + `"`)}
	}
	one := text("As of 2026-11-02.")
	if ChangeKey(one) != ChangeKey(text("As of 2026-12-24.")) {
		t.Error("another day is another change")
	}
	for name, other := range map[string]surface.Change{
		"text":    text("As of yesterday."),
		"item":    {Class: one.Class, Kind: one.Kind, Item: "b", Pointer: one.Pointer, After: one.After},
		"class":   {Class: surface.ToolAdded, Kind: one.Kind, Item: "a", Pointer: one.Pointer, After: one.After},
		"pointer": {Class: one.Class, Kind: one.Kind, Item: "a", Pointer: "/title", After: one.After},
		"version": {Class: surface.ServerVersion, After: []byte(`"1.0.1"`)},
	} {
		if ChangeKey(one) == ChangeKey(other) {
			t.Errorf("%s does not count", name)
		}
	}
	v1, v2 := surface.Change{Class: surface.ServerVersion, After: []byte(`"1.0.1"`)}, surface.Change{Class: surface.ServerVersion, After: []byte(`"1.0.2"`)}
	if ChangeKey(v1) == ChangeKey(v2) {
		t.Error("another version is the same change")
	}
}
