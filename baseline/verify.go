package baseline

import (
	"slices"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Verify compares a surface, and the findings of [lint.Scan] in it, with what was
// approved.
//
// A change fails as the policy says. A block finding fails until it is accepted;
// one that rules newer than the baseline's find in text that was approved is an
// event, so that new rules alone fail nothing. A note is an event, and fails when it
// is new in an item with a change that fails. Under [surface.Record] no finding
// fails, under [surface.Seed] no note.
func Verify(s *surface.Surface, findings []lint.Finding, b *Baseline, p surface.Policy) *Result {
	return verify(s, findings, b, p, lint.Options{})
}

// scan is verify with the findings that o gives.
func scan(s *surface.Surface, b *Baseline, p surface.Policy, o lint.Options) *Result {
	return verify(s, lint.Scan(s, o), b, p, o)
}

func verify(s *surface.Surface, findings []lint.Finding, b *Baseline, p surface.Policy, o lint.Options) *Result {
	r := &Result{
		Changes:  p.Apply(surface.Compare(b.Surface, s, surface.CompareOptions{Masks: b.Masks})),
		Unlisted: missing(s, b.Surface),
		Digest:   s.Digest(),
		Approved: b.Surface.Digest(),
	}
	if r.Changes == nil {
		r.Changes = []surface.Change{}
	}
	r.Findings = judge(findings, approved(s, findings, b, o), b, p, r.Changes)
	r.Status = r.status()
	return r
}

// missing are the inventories that s did not list to their end, and approved did.
func missing(s, approved *surface.Surface) []surface.Kind {
	var out []surface.Kind
	for _, kind := range s.Unlisted() {
		if !slices.Contains(approved.Unlisted(), kind) {
			out = append(out, kind)
		}
	}
	return out
}

// Add adds changes that no comparison with the baseline shows, such as those of
// [surface.Cloaked], with the effects that they have, and judges again.
func (r *Result) Add(changes ...surface.Change) {
	r.Changes = append(r.Changes, changes...)
	r.Status = r.status()
}

// status is the worst of what r holds. One that says that there was nothing to
// compare stays.
func (r *Result) status() Status {
	inconsistent := false
	for _, c := range r.Changes {
		switch {
		case c.Effect != surface.Fail:
		case c.Class == surface.InconsistentListing || c.Class == surface.CloakedSurface:
			inconsistent = true
		default:
			return Changed
		}
	}
	switch {
	case slices.ContainsFunc(r.Findings, func(v Verdict) bool { return v.Effect == surface.Fail }):
		return Flagged
	case inconsistent:
		return Inconsistent
	case r.Status == Misconfigured:
		return Misconfigured
	case len(r.Unlisted) > 0 || r.Status == Unknown:
		return Unknown
	}
	return Approved
}

// place is one item.
type place struct {
	kind surface.Kind
	name string
}

// approved returns which findings today's rules have in the approved surface; that
// is not read again where the answer is known or nobody asks.
func approved(s *surface.Surface, findings []lint.Finding, b *Baseline, o lint.Options) map[string]bool {
	if len(findings) > 0 && s.Digest() != b.Surface.Digest() {
		findings = lint.Scan(b.Surface, o)
	}
	ids := make(map[string]bool, len(findings))
	for _, f := range findings {
		ids[f.ID] = true
	}
	return ids
}

func judge(findings []lint.Finding, approved map[string]bool, b *Baseline, p surface.Policy, changes []surface.Change) []Verdict {
	failing := map[place]bool{}
	for _, c := range changes {
		if c.Effect == surface.Fail {
			failing[place{c.Kind, c.Item}] = true
		}
	}
	accepted := b.acceptances()
	verdicts := make([]Verdict, 0, len(findings))
	for _, f := range findings {
		v := Verdict{Finding: f, Effect: surface.Event, New: !approved[f.ID], Accepted: accepted[f.ID]}
		switch {
		case v.Accepted != nil:
			v.Effect = surface.Silent
		case p.Base == surface.Record:
		case f.Severity == lint.Block:
			if v.New || b.Ruleset == lint.Ruleset {
				v.Effect = surface.Fail
			}
		case v.New && failing[place{f.Kind, f.Item}] && p.Base != surface.Seed:
			v.Effect = surface.Fail
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}
