package watch

import (
	"slices"
	"time"
)

// NextKind says what comes next of an incident.
type NextKind string

// The kinds.
const (
	NextOver      NextKind = "over"       // it is resolved
	NextTended    NextKind = "tended"     // somebody looks after it: nobody else is told
	NextNoPolicy  NextKind = "no-policy"  // nobody is ever told
	NextNotPaging NextKind = "not-paging" // its policy does not page for its state
	NextHeld      NextKind = "held"       // for the reason in Held, looked at again at At
	NextStep      NextKind = "step"       // Channels are told at At
	NextDone      NextKind = "done"       // all steps were taken
)

// Next is what comes next of an incident.
type Next struct {
	Kind     NextKind  `json:"kind"`
	At       time.Time `json:"at,omitzero"`
	Channels []string  `json:"channels,omitempty"`
}

// Next is what comes next of the incident while nothing about it changes, under p, which
// is nil when there is no such policy.
func (i *Incident) Next(p *Escalation) Next {
	switch {
	case !i.Open():
		return Next{Kind: NextOver}
	case !i.AcknowledgedAt.IsZero() && !i.unheard():
		return Next{Kind: NextTended}
	case p == nil || len(p.Steps) == 0:
		return Next{Kind: NextNoPolicy}
	case !slices.Contains(p.on(), i.State):
		return Next{Kind: NextNotPaging}
	case i.Held != "":
		return Next{Kind: NextHeld, At: i.Due}
	}
	round, step := i.Round, i.Step
	if step >= len(p.Steps) {
		round, step = round+1, 0
	}
	if round > p.Repeat {
		return Next{Kind: NextDone}
	}
	at := *i
	at.Round, at.Step = round, step
	return Next{Kind: NextStep, At: at.next(p), Channels: slices.Clone(p.Steps[step].Channels)}
}
