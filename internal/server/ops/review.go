package ops

import (
	"context"
	"errors"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Review is what a person looks at before accepting a surface. It quotes the server,
// and everything quoted is untrusted.
type Review struct {
	Monitor int64 `json:"monitor"`
	// Digest names what is reviewed: an acceptance has to name the same.
	Digest   string     `json:"digest"`
	SeenAt   time.Time  `json:"seen_at"`
	Awaiting bool       `json:"awaiting" doc:"Nothing is approved that belongs to this endpoint, credential and identity: all of the surface is to be confirmed."`
	Approved []Approval `json:"approved" nullable:"false" doc:"What counts as approved now, the latest first."`
	// Compared is the approved digest that the changes are from.
	Compared string           `json:"compared,omitempty"`
	Status   baseline.Status  `json:"status"`
	Changes  []ReviewChange   `json:"changes" nullable:"false"`
	Findings []ReviewFinding  `json:"findings" nullable:"false"`
	Unlisted []string         `json:"unlisted,omitempty"`
	Items    map[string]int64 `json:"items" doc:"How many items the surface has, by kind."`
	// TwoPersons: what one person accepts is a proposal.
	TwoPersons bool       `json:"two_persons" doc:"What one person accepts is a proposal, which a second one has to accept too."`
	Proposals  []Proposal `json:"proposals,omitempty" doc:"What a first person accepted of this surface."`
	Rejections []Rejected `json:"rejections,omitempty" doc:"Who looked at this surface and does not approve it, or some of it."`

	// Before is what is compared with, nil when nothing is approved; After what is
	// reviewed.
	Before *surface.Surface `json:"-"`
	After  *surface.Surface `json:"-"`
}

// ReviewChange is a change with the key that accepts it.
type ReviewChange struct {
	Key string `json:"key"`
	surface.Change
}

// ReviewFinding is a finding; its id accepts it.
type ReviewFinding struct {
	lint.Finding
	Effect   surface.Effect `json:"effect"`
	New      bool           `json:"new" doc:"Not in what was approved."`
	Accepted bool           `json:"accepted"`
}

// Approval is what was approved, by whom.
type Approval struct {
	ID        int64      `json:"id"`
	Source    string     `json:"source" doc:"first: the first surface that was seen; person; lockfile."`
	Approver  string     `json:"approver"`
	Reason    string     `json:"reason"`
	Digest    string     `json:"digest"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Acceptance is what a person accepts of a surface.
type Acceptance struct {
	Digest   string   `json:"digest" minLength:"1" maxLength:"80" doc:"Of the surface that was shown. When the server shows another one by now, nothing is accepted."`
	All      bool     `json:"all,omitempty" doc:"The whole surface, with its findings. Otherwise what changes and findings name, an item at a time: the rest goes on failing."`
	Changes  []string `json:"changes,omitempty" maxItems:"10000" doc:"Keys of changes."`
	Findings []string `json:"findings,omitempty" maxItems:"10000" doc:"Ids of findings."`
	Reason   string   `json:"reason,omitempty" maxLength:"2000" doc:"Why it is right; needed."`
	// ExpiresAt is when the approval ends.
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"When the approval ends; without it, never."`
	Keep      bool       `json:"keep,omitempty" doc:"What was approved before stays approved beside it, as for two versions that are deployed in turn."`
	// Proposal accepts what the proposal selects, for its reason, and nothing else.
	Proposal int64 `json:"proposal,omitempty" minimum:"0" doc:"Id of what a first person accepted: the same is accepted, for the same reason. Only digest and the proof count beside it."`
	Proof
}

// examined is what a review is about.
type examined struct {
	monitor   *watch.Monitor
	state     *watch.State
	surface   *surface.Surface
	approvals []watch.Approved   // the latest first, without baselines
	current   *baseline.Baseline // what is compared with, or nil
	result    *baseline.Result   // nil without current
	findings  []baseline.Verdict
}

// examine reads the surface that a monitor showed last and compares it with what is
// approved.
func (o *Ops) examine(ctx context.Context, t *store.Tx, id int64) (*examined, error) {
	m, err := t.Monitor(ctx, id)
	if err != nil {
		return nil, err
	}
	x := &examined{monitor: m}
	if x.state, err = stateOf(ctx, t, id, false); err != nil {
		return nil, err
	}
	if x.state == nil || x.state.Digest.IsZero() {
		return nil, refuse(NotFound, "wait for a check that lists everything", "no surface of the monitor was seen to its end yet")
	}
	if x.state.Revision != m.Revision {
		return nil, refuse(Moved, "wait for the next check, or run one", "the monitor was changed, and its surface was not seen since")
	}
	now := o.now()
	if x.approvals, err = t.Approvals(ctx, id, now, false); err != nil {
		return nil, err
	}
	key := keyOf(m, x.state.Digest, x.approvals)
	if known, ok := o.comparisons.get(key); ok {
		x.surface, x.current, x.result, x.findings = known.surface, known.current, known.result, known.found
		return x, nil
	}
	if x.surface, err = t.Surface(ctx, x.state.Digest); err != nil {
		return nil, err
	}
	loaded, err := o.baselines.load(ctx, t, x.approvals)
	if err != nil {
		return nil, err
	}
	x.compare(loaded)
	o.comparisons.put(compared{key: key, surface: x.surface, current: x.current, result: x.result, found: x.findings})
	return x, nil
}

// compare finds the approval that the surface is nearest to, as a check does.
func (x *examined) compare(approvals []watch.Approved) {
	least := -1
	for _, a := range approvals {
		if a.Baseline == nil {
			continue
		}
		r := baseline.Verify(x.surface, a.Baseline, x.monitor.Definition.Policy(), lint.Options{})
		n := 0
		for _, c := range r.Changes {
			if c.Effect == surface.Fail {
				n++
			}
		}
		if least < 0 || n < least || r.Digest == r.Approved {
			least, x.current, x.result, x.findings = n, a.Baseline, r, r.Findings
		}
		if r.Digest == r.Approved {
			return
		}
	}
	if x.result == nil {
		x.findings = baseline.Judge(lint.Scan(x.surface, lint.Options{}))
	}
}

// Review gives what a person decides on.
func (o *Ops) Review(ctx context.Context, actor people.Actor, id int64) (Review, error) {
	if err := may(actor, people.Read); err != nil {
		return Review{}, err
	}
	end, err := o.effort.begin(ctx, actor)
	if err != nil {
		return Review{}, err
	}
	defer end()
	var out Review
	err = o.view(ctx, "monitor", func(t *store.Tx) error {
		x, err := o.examine(ctx, t, id)
		if err == nil {
			out, err = o.reviewOf(ctx, t, x)
		}
		return err
	})
	return out, err
}

// reviewOf is the review of what was examined, with what people did about it.
func (o *Ops) reviewOf(ctx context.Context, t *store.Tx, x *examined) (Review, error) {
	r := x.review()
	r.TwoPersons = o.twoPersons
	standing, err := o.proposals(ctx, t, x.monitor, x.state)
	if err != nil {
		return Review{}, err
	}
	rejections, err := t.Rejections(ctx, x.monitor.ID, r.Digest)
	r.Proposals, r.Rejections = proposalsOf(standing), rejectionsOf(rejections)
	return r, err
}

func (x *examined) review() Review {
	r := Review{
		Monitor: x.monitor.ID, Digest: x.state.Digest.String(), SeenAt: x.state.DigestAt, Awaiting: x.state.Awaiting,
		Approved: approvalsOf(x.approvals), Status: baseline.Unknown,
		Changes: []ReviewChange{}, Findings: []ReviewFinding{}, Items: map[string]int64{}, After: x.surface,
	}
	for _, item := range x.surface.Items() {
		r.Items[string(item.Kind)]++
	}
	for _, f := range x.findings {
		r.Findings = append(r.Findings, ReviewFinding{Finding: f.Finding, Effect: f.Effect, New: f.New, Accepted: f.Accepted != nil})
	}
	if x.result == nil {
		return r
	}
	r.Status, r.Compared, r.Before = x.result.Status, x.result.Approved.String(), x.current.Surface
	for _, c := range x.result.Changes {
		r.Changes = append(r.Changes, ReviewChange{Key: watch.ChangeKey(c), Change: c})
	}
	for _, kind := range x.result.Unlisted {
		r.Unlisted = append(r.Unlisted, string(kind))
	}
	return r
}

func approvalsOf(approvals []watch.Approved) []Approval {
	out := make([]Approval, 0, len(approvals))
	for _, a := range approvals {
		out = append(out, Approval{
			ID: a.ID, Source: a.Source, Approver: a.Approver, Reason: a.Reason, Digest: a.Digest.String(),
			CreatedAt: a.CreatedAt, ExpiresAt: when(a.ExpiresAt),
		})
	}
	return out
}

// Approvals are what counts as approved of a monitor, the latest first.
func (o *Ops) Approvals(ctx context.Context, actor people.Actor, id int64) ([]Approval, error) {
	if err := may(actor, people.Read); err != nil {
		return nil, err
	}
	var out []Approval
	err := o.view(ctx, "monitor", func(t *store.Tx) error {
		if _, err := t.Monitor(ctx, id); err != nil {
			return err
		}
		approvals, err := t.Approvals(ctx, id, o.now(), false)
		out = approvalsOf(approvals)
		return err
	})
	return out, err
}

// Accept approves what a person chose of the surface that was shown. The person has to
// be signed in, may approve, and gives the password again; the acceptance is of one
// digest, and void when the server shows another one by now.
//
// Where it takes two persons, what the first one accepts is only proposed, and reported
// as such: nothing is approved until a second one names the proposal.
func (o *Ops) Accept(ctx context.Context, actor people.Actor, id int64, a Acceptance) (m Monitor, proposed bool, err error) {
	if err := may(actor, people.Approve); err != nil {
		return Monitor{}, false, err
	}
	var digest surface.Digest
	if err := digest.UnmarshalText([]byte(a.Digest)); err != nil {
		return Monitor{}, false, invalid(watch.Problem{Field: "digest", Text: "is no digest", Hint: "take it from the review"})
	}
	var x *examined
	var first *watch.Proposal
	err = o.view(ctx, "monitor", func(t *store.Tx) (err error) {
		if x, err = o.examine(ctx, t, id); err == nil && x.state.Digest != digest {
			err = moved()
		}
		if err == nil && a.Proposal != 0 {
			first, err = o.proposed(ctx, t, x, a.Proposal)
		}
		return err
	})
	if err != nil {
		return Monitor{}, false, err
	}
	selection := a.selection()
	if first != nil {
		selection = first.Selection
		if err := o.mayStill(ctx, first.Account); err != nil {
			return Monitor{}, false, err
		}
	}
	approval, account, err := o.approval(ctx, actor, x, first, selection, a.Proof)
	if err != nil {
		return Monitor{}, false, err
	}
	if o.twoPersons && first == nil {
		m, err = o.propose(ctx, x, approval, selection, account)
		return m, true, err
	}
	m, err = o.accepted(ctx, x, approval, selection.Keep, a.Proposal)
	return m, false, err
}

// approval is what a person proves to accept of what was examined. What takes long is
// done before the transaction, which finds out whether it still holds.
func (o *Ops) approval(ctx context.Context, actor people.Actor, x *examined, first *watch.Proposal, sel watch.Selection, p Proof) (watch.Approval, string, error) {
	binding, err := o.engine.Binding(ctx, x.monitor)
	if err != nil {
		return watch.Approval{}, "", refuse(Conflict, "run a check and see", "the target of the monitor is not usable: %s", err.Error())
	}
	proof, err := o.prove(ctx, actor, p, "to accept a surface", sel.Statement(x.monitor.ID, x.state.Digest))
	if err != nil {
		return watch.Approval{}, "", err
	}
	var approval watch.Approval
	if first != nil {
		approval, err = first.Accept(proof, x.monitor, x.current, binding, x.surface, x.result, x.findings, o.now())
	} else {
		approval, err = watch.Accept(proof, x.monitor, x.current, binding, x.surface, x.result, x.findings, sel, o.now())
	}
	if err != nil {
		return watch.Approval{}, "", refused(err)
	}
	return approval, proof.Account(), nil
}

// accepted stores an approval, if what was examined is still what there is, and drops
// the proposals that it makes void, of which one has to be there still unless it is 0.
func (o *Ops) accepted(ctx context.Context, x *examined, approval watch.Approval, keep bool, proposal int64) (Monitor, error) {
	b := approval.Baseline()
	seen := watch.Observation{Surface: x.surface, Baseline: b, Binding: b.Binding}
	seen.Verified = baseline.Verify(x.surface, b, x.monitor.Definition.Policy(), lint.Options{})
	var out Monitor
	err := o.change(ctx, "monitor", func(t *store.Tx) error {
		_, st, err := o.unmoved(ctx, t, x)
		if err != nil {
			return err
		}
		if proposal != 0 {
			switch err := t.DropProposal(ctx, x.monitor.ID, proposal); {
			case errors.Is(err, store.ErrNotFound):
				return moved()
			case err != nil:
				return err
			}
		}
		if err := t.DropProposals(ctx, x.monitor.ID); err != nil {
			return err
		}
		out, err = o.approve(ctx, t, st, approval, seen, keep)
		return err
	})
	return out, err
}

// unmoved is the monitor with its state, if both are what was examined.
func (o *Ops) unmoved(ctx context.Context, t *store.Tx, x *examined) (*watch.Monitor, *watch.State, error) {
	st, err := stateOf(ctx, t, x.monitor.ID, true)
	if err != nil {
		return nil, nil, err
	}
	m, err := t.Monitor(ctx, x.monitor.ID)
	switch {
	case err != nil:
		return nil, nil, err
	case m.Revision != x.monitor.Revision || m.Approvals != x.monitor.Approvals:
		return nil, nil, store.ErrConflict
	case st == nil || st.Digest != x.state.Digest:
		return nil, nil, moved()
	}
	return m, st, nil
}

func moved() *Error {
	return refuse(Moved, "read the review again, and decide on what it shows now", "the server shows another surface by now")
}

func (a *Acceptance) selection() watch.Selection {
	s := watch.Selection{All: a.All, Changes: a.Changes, Findings: a.Findings, Reason: a.Reason, Keep: a.Keep}
	if a.ExpiresAt != nil {
		s.ExpiresAt = a.ExpiresAt.UTC()
	}
	return s
}
