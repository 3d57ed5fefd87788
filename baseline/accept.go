package baseline

import (
	"strings"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// New makes a baseline of a surface that a person approves now, under the rules of
// today. Whoever leaves block findings open says so with [Baseline.LeaveOpen].
func New(name string, binding Binding, s *surface.Surface, accepted ...Acceptance) *Baseline {
	return &Baseline{Name: name, Binding: binding, Surface: s, Ruleset: lint.Ruleset, Accepted: accepted}
}

// LeaveOpen takes the ruleset from b when it does not accept each block finding
// among findings, which are those in its surface: what was open when the surface was
// approved must not pass for something that only newer rules find.
func (b *Baseline) LeaveOpen(findings []lint.Finding) {
	_, open := b.Carry(findings)
	for _, f := range open {
		if f.Severity == lint.Block {
			b.Ruleset = ""
		}
	}
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

// what is all that a has to agree with a finding in: whatever a reviewer is shown of
// it. By the id alone, one could be shown to be of something harmless.
func (a Acceptance) what() Acceptance {
	a.Ruleset, a.Reason = "", ""
	return a
}

// Carry returns what b accepts of findings, for the next baseline, and the findings
// that it does not. An acceptance whose text is gone is not carried over.
func (b *Baseline) Carry(findings []lint.Finding) (accepted []Acceptance, open []lint.Finding) {
	known := b.acceptances()
	found := make(map[Acceptance]bool, len(findings))
	for _, f := range findings {
		if what := acceptanceOf(f).what(); known[what] != nil {
			found[what] = true
		} else {
			open = append(open, f)
		}
	}
	for _, a := range b.Accepted {
		if found[a.what()] {
			accepted = append(accepted, a)
		}
	}
	return accepted, open
}

// acceptances are those of b by what they are of.
func (b *Baseline) acceptances() map[Acceptance]*Acceptance {
	out := make(map[Acceptance]*Acceptance, len(b.Accepted))
	for i := range b.Accepted {
		out[b.Accepted[i].what()] = &b.Accepted[i]
	}
	return out
}
