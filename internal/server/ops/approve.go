package ops

import (
	"context"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// approve stores an acceptance, and judges the surface that was seen last by it, so that
// what was accepted does not fail until the next check.
func (o *Ops) approve(ctx context.Context, t *store.Tx, x *examined, binding baseline.Binding, proof people.Proof, a *Acceptance) (Monitor, error) {
	approval, err := watch.Accept(proof, x.monitor, x.current, binding, x.surface, x.result, x.findings, a.selection(), o.now())
	if err != nil {
		return Monitor{}, refuse(Invalid, "read the review again", "%s", err.Error())
	}
	if _, err := t.Approve(ctx, approval, a.Keep); err != nil {
		return Monitor{}, err
	}
	if err := t.InsertEvents(ctx, []watch.Event{approval.Event()}); err != nil {
		return Monitor{}, err
	}
	m, err := t.Monitor(ctx, x.monitor.ID)
	if err != nil {
		return Monitor{}, err
	}
	st, err := o.rejudge(ctx, t, m, *x.state, x.surface, approval.Baseline(), binding)
	if err != nil {
		return Monitor{}, err
	}
	return shown(m, &st, o.now()), nil
}

// rejudge has watch decide again on the surface that was seen last, after a person
// decided about it.
func (o *Ops) rejudge(ctx context.Context, t *store.Tx, m *watch.Monitor, st watch.State, s *surface.Surface,
	b *baseline.Baseline, binding baseline.Binding,
) (watch.State, error) {
	now := o.now()
	tools := len(s.Of(surface.Tool))
	seen := watch.Observation{
		Result: watch.Result{
			Monitor: m.ID, Location: watch.DefaultLocation, Slot: now, Started: now, Kind: watch.Review,
			Digest: s.Digest(), Tools: &tools,
		},
		Revision: m.Revision, Approvals: m.Approvals, Surface: s, Baseline: b, Binding: binding,
		Verified: baseline.Verify(s, b, m.Definition.Policy(), lint.Options{}),
	}
	st.Awaiting = false
	open, err := t.OpenIncidents(ctx, []int64{m.ID})
	if err != nil {
		return st, err
	}
	maintenance, err := o.inMaintenance(ctx, t, m)
	if err != nil {
		return st, err
	}
	d := watch.Decide(m, st, open[m.ID], &seen, watch.Context{Now: now, Maintenance: maintenance, HasApproval: true})
	return d.State, saveDecision(ctx, t, d.State, d.Incidents, d.Events)
}

func saveDecision(ctx context.Context, t *store.Tx, st watch.State, incidents []watch.Incident, events []watch.Event) error {
	if err := t.SaveIncidents(ctx, incidents); err != nil {
		return err
	}
	if err := t.SaveStates(ctx, []watch.State{st}); err != nil {
		return err
	}
	return t.InsertEvents(ctx, events)
}

func (o *Ops) inMaintenance(ctx context.Context, t *store.Tx, m *watch.Monitor) (bool, error) {
	windows, err := t.Windows(ctx)
	if err != nil {
		return false, err
	}
	for i := range windows {
		w := &windows[i]
		if w.Kind != watch.Maintenance || !w.Concerns(m) {
			continue
		}
		if _, active := w.Active(o.now()); active {
			return true, nil
		}
	}
	return false, nil
}

// EndApproval withdraws all that is approved of a monitor: the next surface is unknown
// until a person accepts it.
func (o *Ops) EndApproval(ctx context.Context, actor people.Actor, id int64, reason string, p Proof) (Monitor, error) {
	if err := may(actor, people.Approve); err != nil {
		return Monitor{}, err
	}
	if _, err := o.Monitor(ctx, actor, id); err != nil {
		return Monitor{}, err
	}
	_, err := o.prove(ctx, actor, p, "to withdraw an approval", people.Statement{Action: people.ActionUnapprove, Monitor: id})
	if err != nil {
		return Monitor{}, err
	}
	var out Monitor
	err = o.change(ctx, "monitor", func(t *store.Tx) error {
		st, err := stateOf(ctx, t, id, true)
		if err != nil {
			return err
		}
		m, err := t.Monitor(ctx, id)
		if err != nil {
			return err
		}
		approvals, err := t.Approvals(ctx, id, o.now(), false)
		if err != nil {
			return err
		}
		if len(approvals) > 0 {
			if st, err = o.withdraw(ctx, t, actor, m, st, reason); err != nil {
				return err
			}
		}
		out = shown(m, st, o.now())
		return nil
	})
	return out, err
}

func (o *Ops) withdraw(ctx context.Context, t *store.Tx, actor people.Actor, m *watch.Monitor, st *watch.State, reason string) (*watch.State, error) {
	if err := t.EndApprovals(ctx, m.ID, actor.Name(), o.now()); err != nil {
		return nil, err
	}
	if st == nil {
		st = &watch.State{Monitor: m.ID, Revision: m.Revision}
	}
	st.Awaiting = true
	if st.Surface.State != watch.Unknown {
		st.Surface.Since = o.now()
	}
	st.Surface.State, st.Surface.Reason, st.Surface.Text = watch.Unknown, "awaiting", "the approval was withdrawn; a person has to confirm the surface"
	e := o.event(watch.EventBaselineDropped, m, actor, "the approval was withdrawn")
	e.Axis = watch.Surface
	e.Data = &watch.Facts{Comment: reason, Approver: actor.Name()}
	return st, saveDecision(ctx, t, *st, nil, []watch.Event{e})
}
