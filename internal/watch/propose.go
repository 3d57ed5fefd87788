package watch

import (
	"errors"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/surface"
)

// ErrSamePerson refuses who proposed something and accepts it too.
var ErrSamePerson = errors.New("it takes a second person: you proposed it yourself")

// ProposalLife is how long a proposal waits for a second person.
const ProposalLife = 7 * 24 * time.Hour

// Proposal is what one person accepted where it takes two. Nothing is approved by it.
type Proposal struct {
	ID      int64 `json:"id"`
	Monitor int64 `json:"monitor"`
	// Account is the name of who proposed it.
	Account   string         `json:"account"`
	Digest    surface.Digest `json:"digest"`
	Selection Selection      `json:"selection"`
	// Revision and Approvals are those of the monitor at the time.
	Revision  int64     `json:"revision"`
	Approvals int64     `json:"approvals"`
	CreatedAt time.Time `json:"created_at"`
}

// Propose makes a proposal of an approval that the selection would give. Its event is
// for the timeline.
func Propose(a Approval, m *Monitor, shown surface.Digest, sel Selection, account string, now time.Time) (Proposal, Event) {
	sel.Reason = a.Reason()
	p := Proposal{
		Monitor: m.ID, Account: account, Digest: shown, Selection: sel,
		Revision: m.Revision, Approvals: m.Approvals, CreatedAt: cut(now),
	}
	e := a.Event()
	e.Name, e.Text = EventProposed, account+" accepts it: a second person has to accept the same"
	return p, e
}

// Stands tells whether the proposal is still about what the monitor shows and what is
// approved of it. One that does not is void.
func (p *Proposal) Stands(m *Monitor, shown surface.Digest, now time.Time) bool {
	return p.Monitor == m.ID && p.Digest == shown && p.Revision == m.Revision && p.Approvals == m.Approvals &&
		now.Sub(p.CreatedAt) < ProposalLife && (p.Selection.ExpiresAt.IsZero() || p.Selection.ExpiresAt.After(now))
}

// Accept is the acceptance of a second person, whose proof is for the same selection of
// the same surface. The approval names both. Errors: ErrSamePerson, and those of Accept.
func (p *Proposal) Accept(proof people.Proof, m *Monitor, current *baseline.Baseline, binding baseline.Binding, s *surface.Surface,
	v *baseline.Result, findings []baseline.Verdict, now time.Time,
) (Approval, error) {
	if s == nil || !p.Stands(m, s.Digest(), now) {
		return Approval{}, ErrStale
	}
	if proof.Account() == p.Account {
		return Approval{}, ErrSamePerson
	}
	a, err := Accept(proof, m, current, binding, s, v, findings, p.Selection, now)
	if err != nil {
		return Approval{}, err
	}
	a.approver = "user:" + p.Account + ", " + a.approver
	a.event.Actor, a.event.Data.Approver = a.approver, a.approver
	a.event.Text = "accepted by " + p.Account + " and " + proof.Account() + ": " + extent(p.Selection)
	return a, nil
}

// Rejection is that a person looked at a surface and does not approve it, or some of its
// items. It changes nothing of what fails: it says so to others, until the server shows
// something else.
type Rejection struct {
	ID      int64          `json:"id"`
	Monitor int64          `json:"monitor"`
	Account string         `json:"account"`
	Digest  surface.Digest `json:"digest"`
	// Changes are the keys of what is rejected; none for all of it.
	Changes   []string  `json:"changes,omitempty"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
}

// Of tells whether the rejection is about a change.
func (r *Rejection) Of(key string) bool {
	return len(r.Changes) == 0 || slices.Contains(r.Changes, key)
}

// Event is what the rejection is on the timeline, with the incident that is open about
// the surface, or 0. items are the names of the kinds and items that it is about.
func (r *Rejection) Event(incident int64, items []string) Event {
	e := Event{
		Monitor: r.Monitor, At: r.CreatedAt, Name: EventRejected, Axis: Surface, Actor: "user:" + r.Account,
		Text: "rejected by " + r.Account + ": all of it",
		Data: &Facts{Digest: r.Digest.String(), Comment: r.Reason, Incident: incident, Count: len(r.Changes)},
	}
	if len(r.Changes) > 0 {
		e.Text = "rejected by " + r.Account + ": " + counted(len(items), "item")
		if len(items) == 1 {
			e.Text = "rejected by " + r.Account + ": " + items[0]
		}
	}
	return e
}
