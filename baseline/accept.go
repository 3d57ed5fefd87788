package baseline

import (
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// New makes a baseline of a surface that a person approves now, under the rules of
// today.
func New(name string, binding Binding, s *surface.Surface, accepted ...Acceptance) *Baseline {
	return &Baseline{Name: name, Binding: binding, Surface: s, Ruleset: lint.Ruleset, Accepted: accepted}
}

// Accept makes acceptances of findings, with the reason that a person gave.
func Accept(findings []lint.Finding, reason string) []Acceptance {
	accepted := make([]Acceptance, 0, len(findings))
	seen := make(map[Acceptance]bool, len(findings))
	for _, f := range findings {
		a := acceptanceOf(f)
		if seen[a.what()] {
			continue
		}
		seen[a.what()] = true
		a.Reason = valid(reason)
		accepted = append(accepted, a)
	}
	return accepted
}

// acceptanceOf is that of f as it comes back from a file, which holds characters
// only.
func acceptanceOf(f lint.Finding) Acceptance {
	return Acceptance{
		ID: f.ID, Rule: f.Rule, Ruleset: f.Ruleset, Severity: f.Severity, Kind: f.Kind,
		Item: valid(f.Item), Pointer: valid(f.Pointer), Excerpt: valid(f.Excerpt),
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// what is all that a has to agree with a finding of the approved surface in: whatever
// a reviewer is shown of it. By the id alone, one could be shown to be of something
// harmless.
func (a Acceptance) what() Acceptance {
	a.Ruleset, a.Reason = "", ""
	return a
}

// Carry returns what b accepts of findings, for the next baseline, and the findings
// that it does not. An acceptance whose text is gone is not carried over.
func (b *Baseline) Carry(findings []lint.Finding) (accepted []Acceptance, open []lint.Finding) {
	if len(b.Accepted) == 0 {
		return nil, findings
	}
	known := b.acceptances(lint.Scan(b.Surface, lint.Options{}))
	for _, f := range findings {
		old := known.of(f)
		if old == nil {
			open = append(open, f)
			continue
		}
		a := acceptanceOf(f)
		a.Ruleset, a.Reason = old.Ruleset, old.Reason
		if !slices.ContainsFunc(accepted, func(x Acceptance) bool { return x.what() == a.what() }) {
			accepted = append(accepted, a)
		}
	}
	return accepted, open
}

// acceptances tell what is accepted.
type acceptances struct {
	// whole are acceptances by what they are of, byID those that are of a finding in
	// the approved surface: of another text than that, the id says enough.
	whole map[Acceptance]*Acceptance
	byID  map[string]*Acceptance
}

// acceptances are those of b, in whose surface approved was found.
func (b *Baseline) acceptances(approved []lint.Finding) acceptances {
	known := acceptances{make(map[Acceptance]*Acceptance, len(b.Accepted)), map[string]*Acceptance{}}
	for i := range b.Accepted {
		known.whole[b.Accepted[i].what()] = &b.Accepted[i]
	}
	for _, f := range approved {
		a, seen := known.byID[f.ID]
		if whole := known.whole[acceptanceOf(f).what()]; !seen || a != nil {
			known.byID[f.ID] = whole // of several all have to be accepted
		}
	}
	return known
}

// of returns what accepts f, or nil.
func (known acceptances) of(f lint.Finding) *Acceptance {
	if a := known.whole[acceptanceOf(f).what()]; a != nil {
		return a
	}
	return known.byID[f.ID]
}
