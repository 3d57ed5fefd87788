package baseline

import (
	"slices"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Status is the outcome of a verification.
type Status string

// The outcomes, from the worst.
const (
	Changed       Status = "changed"       // a change that fails
	Flagged       Status = "flagged"       // no such change, but a finding that fails
	Inconsistent  Status = "inconsistent"  // fresh listings, or identities, differ
	Misconfigured Status = "misconfigured" // no baseline, another binding, a refused credential
	Unknown       Status = "unknown"       // could not be listed to its end
	Approved      Status = "approved"      // nothing that fails
)

// Statuses returns the outcomes, from the worst.
func Statuses() []Status {
	return []Status{Changed, Flagged, Inconsistent, Misconfigured, Unknown, Approved}
}

// Worst returns the worst of statuses. One of a later version is the worst of all;
// none at all is [Approved].
func Worst(statuses ...Status) Status {
	worst := Approved
	for _, s := range statuses {
		if slices.Index(Statuses(), s) < slices.Index(Statuses(), worst) {
			worst = s
		}
	}
	return worst
}

// Verdict is a finding, and what it does in a verification.
type Verdict struct {
	lint.Finding
	// Effect: fail, event (a note, or found by newer rules in text that was
	// approved), or silent (accepted).
	Effect surface.Effect `json:"effect"`
	// New: not in the approved surface.
	New      bool        `json:"new"`
	Accepted *Acceptance `json:"accepted,omitempty"`
}

// Judge turns findings in a surface that nothing is approved of into verdicts: a
// block fails, a note is an event.
func Judge(findings []lint.Finding) []Verdict {
	out := make([]Verdict, 0, len(findings))
	for _, f := range findings {
		v := Verdict{Finding: f, Effect: surface.Event, New: true}
		if f.Severity == lint.Block {
			v.Effect = surface.Fail
		}
		out = append(out, v)
	}
	return out
}

// Result is the outcome of a verification.
type Result struct {
	// Status is what [Result.Judge] makes of the rest.
	Status Status `json:"status"`
	// Cause is [Misconfigured] or [Unknown] when something kept the server from
	// being seen as it should be, and empty otherwise. It counts where nothing fails
	// in what was seen.
	Cause    Status           `json:"cause,omitempty"`
	Changes  []surface.Change `json:"changes"`
	Findings []Verdict        `json:"findings"`
	// Unlisted are parts that were approved and not seen to their end now:
	// inventories, and the login when it was not looked at.
	Unlisted []surface.Kind `json:"unlisted,omitempty"`
	// Digest is that of the surface seen, Approved that of the baseline.
	Digest   surface.Digest `json:"digest"`
	Approved surface.Digest `json:"approved"`
}

// Unseen is the result for a server of which nothing was seen, because of cause:
// [Misconfigured] or [Unknown]. b is nil when nothing is approved of it.
func Unseen(cause Status, b *Baseline) *Result {
	r := &Result{Cause: cause, Changes: []surface.Change{}, Findings: []Verdict{}}
	if b != nil {
		r.Approved = b.Surface.Digest()
	}
	r.Judge()
	return r
}

// Add adds changes that no comparison with the baseline shows, such as those of
// [surface.Cloaked], with the effects that they have, and judges again.
func (r *Result) Add(changes ...surface.Change) {
	r.Changes = append(r.Changes, changes...)
	r.Judge()
}

// Judge sets the status to the worst of what r holds. It is called by who changes
// anything else in r.
func (r *Result) Judge() {
	statuses := []Status{Approved}
	if r.Cause != "" {
		statuses = append(statuses, r.Cause)
	}
	if len(r.Unlisted) > 0 {
		statuses = append(statuses, Unknown)
	}
	for _, c := range r.Changes {
		switch {
		case c.Effect != surface.Fail:
		case c.Class == surface.InconsistentListing || c.Class == surface.CloakedSurface:
			statuses = append(statuses, Inconsistent)
		default:
			statuses = append(statuses, Changed)
		}
	}
	for i := range r.Findings {
		if r.Findings[i].Effect == surface.Fail {
			statuses = append(statuses, Flagged)
		}
	}
	r.Status = Worst(statuses...)
}
