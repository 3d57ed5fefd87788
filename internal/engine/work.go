package engine

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// checkWorker runs checks that were claimed.
type checkWorker struct {
	river.WorkerDefaults[checkArgs]
	engine *Engine
}

// reclaimAfter is how late a job may start before it has to find out whether its claim
// still holds.
const reclaimAfter = 30 * time.Second

// Timeout leaves time to confirm what is new, and to store the result.
func (w *checkWorker) Timeout(job *river.Job[checkArgs]) time.Duration {
	return job.Args.Budget + confirmPatience + commitPatience
}

// NextRetry is soon: what failed is not the server, and its slot is passing.
func (w *checkWorker) NextRetry(*river.Job[checkArgs]) time.Time {
	return time.Now().Add(time.Second)
}

// Work runs one check and stores what it saw.
func (w *checkWorker) Work(ctx context.Context, job *river.Job[checkArgs]) error {
	e, a := w.engine, &job.Args
	now := e.now()
	due := a.due()
	// The queue takes back an attempt that a stop interrupted, but not who made it.
	again := job.Attempt > 1 || len(job.AttemptedBy) > 1
	if again || now.Sub(time.UnixMilli(a.Claimed)) > reclaimAfter {
		held, err := e.renew(ctx, due, now)
		if err != nil || !held {
			return err // another check of the monitor may be running
		}
	}
	m, err := e.roster.get(ctx, a.Monitor, version{a.Revision, a.Approvals}, now)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	o := &watch.Observation{
		Result:   watch.Result{Monitor: a.Monitor, Location: a.Location, Slot: due.Slot, Kind: a.Why, Started: now},
		Revision: m.Revision, Approvals: m.Approvals,
	}
	mem, free := e.memories.begin(place{a.Monitor, a.Location}, m.Revision)
	if free {
		defer e.memories.end(place{a.Monitor, a.Location})
	}
	interval := time.Duration(m.Definition.Interval)
	if !free || m.Paused || interval > 0 && now.Sub(time.UnixMilli(a.Claimed)) > interval {
		e.metrics.skipped()
		return e.sink.put(ctx, &item{o: o, m: m, due: due})
	}
	e.metrics.started(now.Sub(due.Slot), interval)
	if err := e.run(ctx, m, mem, o, again); err != nil {
		return err
	}
	return e.settle(ctx, &item{o: o, m: m, due: due, calls: e.targetOf(m).Call != nil}, mem)
}

// settle stores what a check saw, and then remembers it.
func (e *Engine) settle(ctx context.Context, it *item, mem *memory) error {
	o := it.o
	it.sight = o.Surface != nil && (mem.sighted != o.Digest || o.Started.Sub(mem.sightedAt) >= sightingEvery)
	if err := e.sink.put(ctx, it); err != nil {
		return err
	}
	if it.sight {
		mem.sighted, mem.sightedAt = o.Digest, o.Started
	}
	if o.Surface != nil {
		mem.judged = o.Digest
	}
	if o.Report != nil {
		mem.reportKey, mem.reportAt = reportKey(o), o.Started
	}
	if it.first {
		mem.bound, mem.boundAt, mem.isBound = o.Binding, o.Approvals+1, true
	}
	return nil
}

// renew keeps a claim for a job that starts late or again, if it still holds.
func (e *Engine) renew(ctx context.Context, due store.Due, now time.Time) (held bool, err error) {
	err = e.o.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		held, err = tx.Renew(ctx, due, now)
		return err
	})
	return held, err
}

// errBudget ends a check that took longer than all of its parts together may.
var errBudget = errors.New("the budget of the check is spent")

// run makes o of one check of m. A functional call is never made twice: of a job whose
// earlier attempt may have made it nothing is known.
func (e *Engine) run(ctx context.Context, m *entry, mem *memory, o *watch.Observation, again bool) error {
	t := e.targetOf(m)
	if again && t.Call != nil {
		o.Status, o.Reason, o.Step = string(probe.StatusUnknown), "call-interrupted", probe.StepCall
		o.Message = "the check was interrupted, and its call is not made a second time"
		return nil
	}
	if t.Call != nil && !mayCall(o, m) {
		t = withoutCall(t)
	}
	began := time.Now()
	within, cancel := context.WithTimeoutCause(ctx, budget(m, t)+confirmPatience, errBudget)
	defer cancel()
	err := e.look(within, m, t, mem, o)
	if errors.Is(err, errBudget) {
		o.Status, o.Reason = string(probe.StatusUnknown), "timeout"
		o.Message = "the check did not end within its budget"
		o.Timing.Total = float64(probe.MillisOf(time.Since(began)))
		return nil
	}
	return err
}

// mayCall reports whether a check makes the functional call: none that confirms
// another does, and one location of several.
func mayCall(o *watch.Observation, m *entry) bool {
	locations := m.Definition.Locations
	return o.Kind != watch.Confirm && (len(locations) == 0 || o.Location == locations[0])
}
