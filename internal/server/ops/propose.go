package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Proposal is what a first person accepted, where it takes two.
type Proposal struct {
	ID        int64      `json:"id"`
	By        string     `json:"by" doc:"Name of the account."`
	Digest    string     `json:"digest"`
	All       bool       `json:"all,omitempty"`
	Changes   []string   `json:"changes,omitempty"`
	Findings  []string   `json:"findings,omitempty"`
	Reason    string     `json:"reason"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When the approval would end."`
	Keep      bool       `json:"keep,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	Until     time.Time  `json:"until" doc:"When the proposal is void, unless the surface or what is approved changes before."`
}

// proposals are those that still stand for what a monitor shows.
func (o *Ops) proposals(ctx context.Context, t *store.Tx, m *watch.Monitor, st *watch.State) ([]watch.Proposal, error) {
	if !o.twoPersons || st == nil || st.Digest.IsZero() {
		return nil, nil
	}
	all, err := t.Proposals(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	var out []watch.Proposal
	for i := range all {
		if all[i].Stands(m, st.Digest, o.now()) {
			out = append(out, all[i])
		}
	}
	return out, nil
}

func proposalsOf(proposals []watch.Proposal) []Proposal {
	var out []Proposal
	for i := range proposals {
		p := &proposals[i]
		out = append(out, Proposal{
			ID: p.ID, By: p.Account, Digest: p.Digest.String(), All: p.Selection.All, Changes: p.Selection.Changes, Findings: p.Selection.Findings,
			Reason: p.Selection.Reason, ExpiresAt: when(p.Selection.ExpiresAt), Keep: p.Selection.Keep,
			CreatedAt: p.CreatedAt, Until: p.CreatedAt.Add(watch.ProposalLife),
		})
	}
	return out
}

// proposed is the proposal of that id, if it stands and its person still may approve.
func (o *Ops) proposed(ctx context.Context, t *store.Tx, x *examined, id int64) (*watch.Proposal, error) {
	all, err := t.Proposals(ctx, x.monitor.ID)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id && all[i].Stands(x.monitor, x.state.Digest, o.now()) {
			return &all[i], nil
		}
	}
	return nil, refuse(Moved, "read the review again, and decide on what it shows now",
		"the proposal is void: it was withdrawn or accepted, or what it is about has changed")
}

// mayStill sees that who proposed something may approve now, too.
func (o *Ops) mayStill(ctx context.Context, name string) error {
	var a people.Account
	err := o.store.People().View(ctx, func(tx people.Tx) (err error) {
		a, err = tx.AccountByName(ctx, name)
		return err
	})
	if errors.Is(err, people.ErrNotFound) || err == nil && (a.Disabled || !a.Role.Can(people.Approve)) {
		return refuse(Conflict, "withdraw nothing: accept it anew, and have another person accept the same", "who proposed it may not approve any more")
	}
	return err
}

// propose stores what the first of two persons accepted.
func (o *Ops) propose(ctx context.Context, x *examined, approval watch.Approval, sel watch.Selection, account string) (Monitor, error) {
	var out Monitor
	err := o.change(ctx, "monitor", func(t *store.Tx) error {
		m, st, err := o.unmoved(ctx, t, x)
		if err != nil {
			return err
		}
		p, event := watch.Propose(approval, m, st.Digest, sel, account, o.now())
		if err := o.supersede(ctx, t, m, st, &p); err != nil {
			return err
		}
		if err := t.Propose(ctx, &p); err != nil {
			return err
		}
		if err := t.InsertEvents(ctx, []watch.Event{event}); err != nil {
			return err
		}
		entry := people.AuditEntry{At: o.now(), Actor: event.Actor, Action: "surface.propose", Object: monitorNamed(m), Detail: accepted(approval.Items(), st.Digest, approval.Reason())}
		if err := t.Audit(ctx, entry); err != nil {
			return err
		}
		standing, err := o.proposals(ctx, t, m, st)
		out = shown(m, st, o.now())
		out.Proposals = proposalsOf(standing)
		return err
	})
	return out, err
}

// supersede drops what the same person proposed before of the same items: who presses
// twice, or thinks of a better reason, leaves one proposal to decide about.
func (o *Ops) supersede(ctx context.Context, t *store.Tx, m *watch.Monitor, st *watch.State, p *watch.Proposal) error {
	standing, err := o.proposals(ctx, t, m, st)
	if err != nil {
		return err
	}
	for i := range standing {
		old := &standing[i]
		same := old.Selection.All == p.Selection.All && slices.Equal(old.Selection.Changes, p.Selection.Changes) && slices.Equal(old.Selection.Findings, p.Selection.Findings)
		if old.Account != p.Account || !same {
			continue
		}
		if err := t.DropProposal(ctx, m.ID, old.ID); err != nil {
			return err
		}
	}
	return nil
}

// WithdrawProposal takes the own proposal back.
func (o *Ops) WithdrawProposal(ctx context.Context, actor people.Actor, id, proposal int64) (Monitor, error) {
	if err := may(actor, people.Approve); err != nil {
		return Monitor{}, err
	}
	session, _ := actor.Session()
	var out Monitor
	err := o.change(ctx, "proposal", func(t *store.Tx) error {
		st, err := stateOf(ctx, t, id, true)
		if err != nil {
			return err
		}
		m, err := t.Monitor(ctx, id)
		if err != nil {
			return err
		}
		all, err := t.Proposals(ctx, id)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].ID == proposal && all[i].Account != session.Account().Name {
				return refuse(Forbidden, "do not accept it, and it becomes void", "the proposal is not yours")
			}
		}
		if err := t.DropProposal(ctx, id, proposal); err != nil {
			return err
		}
		if err := o.audit(ctx, t, actor, "surface.unpropose", monitorNamed(m), ""); err != nil {
			return err
		}
		e := o.event(watch.EventUnproposed, m, actor, "a proposal was withdrawn by who made it")
		e.Axis = watch.Surface
		if err := t.InsertEvents(ctx, []watch.Event{e}); err != nil {
			return err
		}
		standing, err := o.proposals(ctx, t, m, st)
		out = shown(m, st, o.now())
		out.Proposals = proposalsOf(standing)
		return err
	})
	return out, err
}
