package baseline

import (
	"slices"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Verify compares a surface with what was approved, and reads both for findings,
// with what o says of their neighbours.
//
// A change fails as the policy says. A block finding fails until it is accepted;
// one in text that was approved under rules that are known to be older is an event,
// so that new rules alone fail nothing. A note is an event, and fails when it is new
// in an item with a change that fails. Under [surface.Record] no finding fails,
// under [surface.Seed] no note.
func Verify(s *surface.Surface, b *Baseline, p surface.Policy, o lint.Options) *Result {
	return newVerifier(b, p, o).verify(s)
}

// verifier verifies surfaces against one baseline.
type verifier struct {
	b      *Baseline
	policy surface.Policy
	rules  lint.Options
	// older: the rules of today are newer than those of the baseline.
	older bool
	// found are the findings of what was read already; listings of one server are
	// nearly always the same.
	found map[surface.Digest][]lint.Finding
}

func newVerifier(b *Baseline, p surface.Policy, o lint.Options) *verifier {
	return &verifier{b: b, policy: p, rules: o, older: lint.Older(b.Ruleset), found: map[surface.Digest][]lint.Finding{}}
}

func (v *verifier) verify(s *surface.Surface) *Result {
	r := &Result{
		Changes:  v.policy.Apply(surface.Compare(v.b.Surface, s, surface.CompareOptions{Masks: v.b.Masks})),
		Unlisted: missing(s, v.b.Surface),
		Digest:   s.Digest(),
		Approved: v.b.Surface.Digest(),
	}
	r.Findings = v.judge(v.scan(s), r.Changes)
	r.Judge()
	return r
}

// scan gives the findings in s.
func (v *verifier) scan(s *surface.Surface) []lint.Finding {
	findings, known := v.found[s.Digest()]
	if !known {
		findings = lint.Scan(s, v.rules)
		v.found[s.Digest()] = findings
	}
	return findings
}

// missing are the parts that are approved and s does not tell: inventories that were
// not listed to their end, and the login when it was not looked at.
func missing(s, approved *surface.Surface) []surface.Kind {
	var out []surface.Kind
	for _, kind := range s.Unlisted() {
		if !slices.Contains(approved.Unlisted(), kind) {
			out = append(out, kind)
		}
	}
	if len(approved.Of(surface.Auth)) > 0 && len(s.Of(surface.Auth)) == 0 {
		out = append(out, surface.Auth)
	}
	return out
}

// place is one item.
type place struct {
	kind surface.Kind
	name string
}

func (v *verifier) judge(findings []lint.Finding, changes []surface.Change) []Verdict {
	if len(findings) == 0 {
		return []Verdict{}
	}
	approved := map[string]bool{}
	for _, f := range v.scan(v.b.Surface) {
		approved[f.ID] = true
	}
	failing := map[place]bool{}
	for _, c := range changes {
		if c.Effect == surface.Fail {
			failing[place{c.Kind, c.Item}] = true
		}
	}
	accepted := v.b.acceptances(v.scan(v.b.Surface))
	verdicts := make([]Verdict, 0, len(findings))
	for _, f := range findings {
		verdict := Verdict{Finding: f, Effect: surface.Event, New: !approved[f.ID], Accepted: accepted.of(f)}
		switch {
		case verdict.Accepted != nil:
			verdict.Effect = surface.Silent
		case v.policy.Base == surface.Record:
		case f.Severity == lint.Block:
			if verdict.New || !v.older {
				verdict.Effect = surface.Fail
			}
		case verdict.New && failing[place{f.Kind, f.Item}] && v.policy.Base != surface.Seed:
			verdict.Effect = surface.Fail
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}
