package baseline

import (
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
	seen := map[string]bool{}
	for _, f := range findings {
		if seen[f.ID] {
			continue
		}
		seen[f.ID] = true
		accepted = append(accepted, Acceptance{
			ID: f.ID, Rule: f.Rule, Ruleset: f.Ruleset, Severity: f.Severity,
			Kind: f.Kind, Item: f.Item, Pointer: f.Pointer, Excerpt: f.Excerpt, Reason: reason,
		})
	}
	return accepted
}

// Carry returns what b accepts of findings, for the next baseline, and the findings
// that it does not. An acceptance whose text is gone is not carried over.
func (b *Baseline) Carry(findings []lint.Finding) (accepted []Acceptance, open []lint.Finding) {
	known := b.acceptances()
	found := make(map[string]bool, len(findings))
	for _, f := range findings {
		found[f.ID] = true
		if known[f.ID] == nil {
			open = append(open, f)
		}
	}
	for _, a := range b.Accepted {
		if found[a.ID] {
			accepted = append(accepted, a)
		}
	}
	return accepted, open
}

// acceptances are those of b by the finding.
func (b *Baseline) acceptances() map[string]*Acceptance {
	out := make(map[string]*Acceptance, len(b.Accepted))
	for i := range b.Accepted {
		out[b.Accepted[i].ID] = &b.Accepted[i]
	}
	return out
}
