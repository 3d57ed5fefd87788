package engine

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The tasks that keep house, each done by one process at a time.
const (
	keepRollups   = "rollups"
	keepRetention = "retention"
	keepApprovals = "approvals"
)

// keepers are the tasks and how often they are done.
func keepers() map[string]time.Duration {
	return map[string]time.Duration{keepRollups: 5 * time.Minute, keepRetention: time.Hour, keepApprovals: time.Minute}
}

func periodic() []*river.PeriodicJob {
	var out []*river.PeriodicJob
	for task, every := range keepers() {
		out = append(out, river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
			return keepArgs{Task: task}, &river.InsertOpts{
				Queue: queueKeep, MaxAttempts: 2, UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: every},
			}
		}, &river.PeriodicJobOpts{ID: task, RunOnStart: true}))
	}
	return out
}

// keepWorker keeps house.
type keepWorker struct {
	river.WorkerDefaults[keepArgs]
	engine *Engine
}

// keepBudget bounds one task.
const keepBudget = 30 * time.Minute

// Timeout is long: what a task does not get done is done by the next.
func (w *keepWorker) Timeout(*river.Job[keepArgs]) time.Duration { return keepBudget }

// Work does one task.
func (w *keepWorker) Work(ctx context.Context, job *river.Job[keepArgs]) error {
	return w.engine.keepHouse(ctx, job.Args.Task)
}

func (e *Engine) keepHouse(ctx context.Context, task string) error {
	now := e.now()
	switch task {
	case keepRollups:
		return e.o.Store.RollupDue(ctx, now)
	case keepRetention:
		_, err := e.o.Store.Retain(ctx, now, e.o.Retention)
		return err
	case keepApprovals:
		return e.expire(ctx, now)
	}
	return nil
}

// expire ends the approvals whose time is over, and has their monitors checked soon: a
// monitor that is left without any waits for a person then.
func (e *Engine) expire(ctx context.Context, now time.Time) error {
	return e.o.Store.InTx(ctx, func(tx *store.Tx) error {
		ended, err := tx.ExpireApprovals(ctx, now)
		if err != nil || len(ended) == 0 {
			return err
		}
		var events []watch.Event
		var ids []int64
		for i := range ended {
			a := &ended[i]
			ids = append(ids, a.Monitor)
			events = append(events, watch.Event{
				Monitor: a.Monitor, At: now, Name: watch.EventBaselineExpired, Axis: watch.Surface, Text: "the approval of a surface ended",
				Data: &watch.Facts{Digest: a.Digest.String(), Approver: a.Approver},
			})
		}
		monitors, err := tx.MonitorsOf(ctx, ids)
		if err != nil {
			return err
		}
		var wanted []store.Confirmation
		for id, m := range monitors {
			for _, location := range m.Definition.Locations {
				wanted = append(wanted, store.Confirmation{Monitor: id, Location: location, At: now})
			}
		}
		if err := tx.Confirm(ctx, wanted); err != nil {
			return err
		}
		return tx.InsertEvents(ctx, events)
	})
}
