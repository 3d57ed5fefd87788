package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// checkWorker runs checks that were claimed.
type checkWorker struct {
	river.WorkerDefaults[checksArgs]
	engine *Engine
	// seats bound the checks that run at a time, by queue. Those of stdio servers are
	// bound by their jobs, which have one check each.
	seats map[string]chan struct{}
}

func newCheckWorker(e *Engine) *checkWorker {
	w := &checkWorker{engine: e, seats: map[string]chan struct{}{}}
	for _, location := range e.o.Locations {
		w.seats[queueCheck+location] = make(chan struct{}, e.o.Workers)
	}
	return w
}

const (
	// reclaimAfter is how late a check may start before it has to find out whether its
	// claim still holds.
	reclaimAfter = 5 * time.Second
	// seatPatience is how long checks wait for a seat before they go back to the queue.
	seatPatience = 15 * time.Second
)

// errNoSeat is the error for a check that was not begun, as all seats were taken.
var errNoSeat = errors.New("too many checks run")

// Timeout leaves time to wait for a seat, to confirm what is new, and to store the results.
func (w *checkWorker) Timeout(job *river.Job[checksArgs]) time.Duration {
	return seatPatience + job.Args.Budget + confirmPatience + commitPatience
}

// NextRetry is soon: what failed is not the server, and its slot is passing.
func (w *checkWorker) NextRetry(*river.Job[checksArgs]) time.Time {
	return time.Now().Add(time.Second)
}

// Work runs checks side by side, and stores what each saw as soon as it ends. It returns
// when all are stored. A job that is run again runs the checks whose claims are still
// held: the others were stored.
func (w *checkWorker) Work(ctx context.Context, job *river.Job[checksArgs]) error {
	e, a := w.engine, &job.Args
	now, claimed := e.now(), time.UnixMilli(a.Claimed)
	due, held := a.dues(), claimed
	// The queue takes back an attempt that a stop interrupted, but not who made it.
	again := job.Attempt > 1 || len(job.AttemptedBy) > 1
	if again || now.Sub(claimed) > reclaimAfter {
		var err error
		if due, err = e.renew(ctx, due, now); err != nil || len(due) == 0 {
			return err // other checks of the monitors may be running
		}
		held = now
	}
	monitors, err := e.roster.get(ctx, due, now)
	if err != nil {
		return err
	}
	full := make(chan struct{})
	patience := time.AfterFunc(seatPatience, func() { close(full) })
	defer patience.Stop()
	errs := make([]error, len(due))
	var all sync.WaitGroup
	for i := range due {
		m := monitors[due[i].Monitor]
		if m == nil {
			continue // deleted meanwhile
		}
		t := &attempt{
			engine: e, monitor: m, due: due[i], claimed: claimed, held: held, again: again, seats: w.seats[job.Queue], full: full,
		}
		all.Go(func() { errs[i] = t.run(ctx) })
	}
	all.Wait()
	return w.end(ctx, job, due, errs)
}

// end puts checks that were not begun back into the queue, in a job of their own: one
// that is run again would make no functional call.
func (w *checkWorker) end(ctx context.Context, job *river.Job[checksArgs], due []store.Due, errs []error) error {
	left := &checksArgs{Location: job.Args.Location, Claimed: job.Args.Claimed}
	for i := range due {
		if errors.Is(errs[i], errNoSeat) {
			left.add(&due[i])
			errs[i] = nil
		}
	}
	if len(left.Checks) > 0 {
		_, err := w.engine.client.Insert(ctx, left, &river.InsertOpts{Queue: job.Queue, MaxAttempts: checkTries})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// attempt is one try of one check.
type attempt struct {
	engine  *Engine
	monitor *entry
	due     store.Due
	// claimed is when the check was claimed, and held when its claim was kept last.
	claimed, held time.Time
	again         bool
	seats         chan struct{} // nil: none is needed
	full          chan struct{} // closed when it has waited long enough for one
}

// run waits for a seat, checks, and stores what was seen. What panics in it is an error.
func (t *attempt) run(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			t.engine.metrics.panicked()
			t.engine.log.ErrorContext(ctx, "a check panicked", slog.Int64("monitor", t.monitor.ID), slog.Any("panic", value), slog.String("trace", string(debug.Stack())))
			err = fmt.Errorf("a check of monitor %d panicked: %v", t.monitor.ID, value)
		}
	}()
	if t.seats == nil {
		return t.check(ctx, func() {})
	}
	select {
	case t.seats <- struct{}{}:
	case <-t.full:
		return errNoSeat
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	leave := sync.OnceFunc(func() { <-t.seats })
	defer leave()
	return t.check(ctx, leave)
}

// check runs the check, leaves its seat, and has stored what was seen.
func (t *attempt) check(ctx context.Context, leave func()) error {
	e, m, now := t.engine, t.monitor, t.engine.now()
	if now.Sub(t.held) > reclaimAfter {
		if held, err := e.renew(ctx, []store.Due{t.due}, now); err != nil || len(held) == 0 {
			return err
		}
	}
	if m.broken != nil {
		return m.broken
	}
	o := &watch.Observation{
		Result:   watch.Result{Monitor: m.ID, Location: t.due.Location, Slot: t.due.Slot, Kind: t.due.Kind, Started: now},
		Revision: m.Revision, Approvals: m.Approvals,
	}
	p := place{m.ID, t.due.Location}
	mem, free := e.memories.begin(p, m.Revision)
	if free {
		defer e.memories.end(p)
	}
	interval := time.Duration(m.Definition.Interval)
	if !free || m.Paused || interval > 0 && now.Sub(t.claimed) > interval {
		leave()
		e.metrics.skipped(1)
		return e.sink.put(ctx, &item{o: o, m: m, due: t.due})
	}
	e.metrics.started(now.Sub(t.due.Slot), interval)
	aim := e.targetOf(m)
	if err := e.run(ctx, m, aim, mem, o, t.again); err != nil {
		return err
	}
	leave()
	return e.settle(ctx, &item{o: o, m: m, due: t.due, calls: aim.Call != nil}, mem)
}

// settle stores what a check saw, and then remembers it.
func (e *Engine) settle(ctx context.Context, it *item, mem *memory) error {
	o := it.o
	it.sight = o.Surface != nil && (mem.sighted != o.Digest || o.Started.Sub(mem.sightedAt) >= sightingEvery)
	within, cancel := overtime(ctx)
	defer cancel()
	if err := e.sink.put(within, it); err != nil {
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

// overtime is ctx or, when its time is over, one with the time to read and store what
// the check still needs: to judge a large surface may take long, and what was seen
// counts. A stop is obeyed.
func overtime(ctx context.Context) (context.Context, context.CancelFunc) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
}

// read reads from the store for a check.
func (e *Engine) read(ctx context.Context, f func(context.Context, *store.Tx) error) error {
	within, cancel := overtime(ctx)
	defer cancel()
	return e.o.Store.View(within, func(tx *store.Tx) error { return f(within, tx) })
}

// renew keeps those of the claims that still hold, for checks that start late or again,
// and returns them.
func (e *Engine) renew(ctx context.Context, due []store.Due, now time.Time) (held []store.Due, err error) {
	err = e.o.Store.InTx(ctx, func(tx *store.Tx) error {
		held = nil
		for i := range due {
			ok, err := tx.Renew(ctx, due[i], now)
			if err != nil {
				return err
			}
			if ok {
				held = append(held, due[i])
			}
		}
		return nil
	})
	return held, err
}

// errBudget ends a check that took longer than all of its parts together may.
var errBudget = errors.New("the budget of the check is spent")

// run makes o of one check of m. A functional call is never made twice: of a check whose
// earlier attempt may have made it nothing is known.
func (e *Engine) run(ctx context.Context, m *entry, t *target.Target, mem *memory, o *watch.Observation, again bool) error {
	if again && t.Call != nil {
		interrupted(o)
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

// interrupted makes o of a check that may have made its functional call, and of which
// nothing is known.
func interrupted(o *watch.Observation) {
	o.Status, o.Reason, o.Step = string(probe.StatusUnknown), "call-interrupted", probe.StepCall
	o.Message = "the check was interrupted, and its call is not made a second time"
}

// mayCall reports whether a check makes the functional call: none that confirms
// another does, and one location of several.
func mayCall(o *watch.Observation, m *entry) bool {
	locations := m.Definition.Locations
	return o.Kind != watch.Confirm && (len(locations) == 0 || o.Location == locations[0])
}
