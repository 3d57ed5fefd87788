package ops

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// approve stores an approval, and judges the surface that was seen last by it, so that
// what was accepted does not fail until the next check.
func (o *Ops) approve(ctx context.Context, t *store.Tx, st *watch.State, approval watch.Approval, seen watch.Observation, keep bool) (Monitor, error) {
	if _, err := t.Approve(ctx, approval, keep); err != nil {
		return Monitor{}, err
	}
	if err := t.InsertEvents(ctx, []watch.Event{approval.Event()}); err != nil {
		return Monitor{}, err
	}
	m, err := t.Monitor(ctx, approval.Monitor())
	if err != nil {
		return Monitor{}, err
	}
	entry := people.AuditEntry{At: o.now(), Actor: approval.Approver(), Action: "surface.accept", Object: monitorNamed(m), Detail: accepted(approval.Items(), st.Digest, approval.Reason())}
	if err := t.Audit(ctx, entry); err != nil {
		return Monitor{}, err
	}
	next, err := o.rejudge(ctx, t, m, *st, seen, true)
	return shown(m, &next, o.now()), err
}

// accepted is what was accepted, and why, as the audit says it.
func accepted(items []string, digest surface.Digest, reason string) string {
	what := "all"
	if n := len(items); n > 0 {
		what = strconv.Itoa(n) + " items"
	}
	return what + " of " + digest.String() + ": " + reason
}

// refused is why an acceptance was.
func refused(err error) error {
	var selection *watch.SelectionError
	switch {
	case errors.As(err, &selection):
		return invalid(selection.Problem)
	case errors.Is(err, watch.ErrStale):
		return refuse(Moved, "read the review again, and decide on what it shows now", "%s", watch.ErrStale.Error())
	case errors.Is(err, watch.ErrSamePerson):
		return refuse(Forbidden, "ask another person who may approve", "%s", watch.ErrSamePerson.Error())
	case errors.Is(err, watch.ErrProof):
		return refuse(ProofRequired, "give the password again", "%s", watch.ErrProof.Error())
	default:
		return err
	}
}

// rejudge has watch decide again on the surface that was seen last, after a person
// decided about it.
func (o *Ops) rejudge(ctx context.Context, t *store.Tx, m *watch.Monitor, st watch.State, seen watch.Observation, approved bool) (watch.State, error) {
	now := o.now()
	seen.Result = watch.Result{Monitor: m.ID, Location: whereSeen(m, &st), Slot: now, Started: now, Kind: watch.Review}
	seen.Revision, seen.Approvals = m.Revision, m.Approvals
	if seen.Surface != nil {
		n := len(seen.Surface.Of(surface.Tool))
		seen.Digest, seen.Tools = seen.Surface.Digest(), &n
		seen.MissingTools = m.Definition.Missing(seen.Surface)
	}
	open, err := t.OpenIncidents(ctx, []int64{m.ID})
	if err != nil {
		return st, err
	}
	maintenance, err := o.inMaintenance(ctx, t, m)
	if err != nil {
		return st, err
	}
	d := watch.Decide(m, st, open[m.ID], &seen, watch.Context{Now: now, Maintenance: maintenance, HasApproval: approved})
	return d.State, saveDecision(ctx, t, d.State, d.Incidents, d.Events)
}

// whereSeen is a location that saw the last surface.
func whereSeen(m *watch.Monitor, st *watch.State) string {
	for _, name := range slices.Sorted(maps.Keys(st.Locations)) {
		if st.Locations[name].Digest == st.Digest {
			return name
		}
	}
	return m.Definition.Locations[0]
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
	maintenance, _ := watch.CalendarOf(windows).Open(m, o.now())
	return !maintenance.IsZero(), nil
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
		if len(approvals) == 0 {
			out = shown(m, st, o.now())
			return nil
		}
		out, err = o.withdraw(ctx, t, actor, m, st, reason)
		return err
	})
	return out, err
}

func (o *Ops) withdraw(ctx context.Context, t *store.Tx, actor people.Actor, m *watch.Monitor, st *watch.State, reason string) (Monitor, error) {
	if err := t.EndApprovals(ctx, m.ID, actor.Name(), o.now()); err != nil {
		return Monitor{}, err
	}
	e := o.event(watch.EventBaselineDropped, m, actor, "the approval was withdrawn: a person has to confirm what it tells agents")
	e.Axis, e.Data = watch.Surface, &watch.Facts{Comment: reason}
	if err := t.InsertEvents(ctx, []watch.Event{e}); err != nil {
		return Monitor{}, err
	}
	if err := o.audit(ctx, t, actor, "approval.end", monitorNamed(m), reason); err != nil {
		return Monitor{}, err
	}
	m, err := t.Monitor(ctx, m.ID)
	if err != nil || st == nil {
		return shown(m, st, o.now()), err
	}
	var seen watch.Observation
	if !st.Digest.IsZero() {
		switch seen.Surface, err = t.Surface(ctx, st.Digest); {
		case errors.Is(err, store.ErrNotFound): // not kept any more
		case err != nil:
			return Monitor{}, err
		default:
			seen.Findings = baseline.Judge(lint.Scan(seen.Surface, lint.Options{}))
		}
	}
	next, err := o.rejudge(ctx, t, m, *st, seen, false)
	return shown(m, &next, o.now()), err
}
