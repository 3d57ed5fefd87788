package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	tickEvery = 250 * time.Millisecond
	// maxClaims bounds the checks of one tick, and maxIncidents its incidents.
	maxClaims    = 2_000
	maxIncidents = 200
	checkTries   = 3
)

// dispatch ticks until ctx ends.
func (e *Engine) dispatch(ctx context.Context) {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	failing := false
	for {
		err := e.tick(ctx, e.pace.allow(time.Now()))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			e.metrics.dispatchFailed()
			if !failing { // once, not four times a second
				e.log.ErrorContext(ctx, "nothing can be dispatched", slog.String("error", err.Error()))
			}
		case failing:
			e.log.InfoContext(ctx, "dispatching again")
		}
		failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Tick does now what Run does four times a second: it starts the checks that are due
// and looks at the incidents that are. Unlike there, all checks that are due start at
// once.
func (e *Engine) Tick(ctx context.Context) error { return e.tick(ctx, maxClaims) }

func (e *Engine) tick(ctx context.Context, limit int) error {
	err := errors.Join(e.claim(ctx, limit), e.escalate(ctx))
	if err == nil {
		e.ticked.Store(time.Now().UnixMilli())
	}
	return err
}

// claim makes jobs of up to limit checks that are due.
func (e *Engine) claim(ctx context.Context, limit int) error {
	if e.pace.stale(time.Now()) {
		if err := e.measure(ctx); err != nil {
			return err
		}
	}
	if limit <= 0 {
		return nil
	}
	n := 0
	err := e.o.Store.InTx(ctx, func(tx *store.Tx) error {
		now := e.now()
		due, err := tx.Claim(ctx, now, e.o.Locations, limit)
		if err != nil || len(due) == 0 {
			return err
		}
		jobs, err := e.jobs(ctx, tx, due, now)
		if err != nil || len(jobs) == 0 {
			return err
		}
		n = len(due)
		_, err = e.client.InsertManyFastTx(ctx, tx.SQL(), jobs)
		return err
	})
	if err != nil {
		return err
	}
	e.pace.took(n, n == limit)
	e.metrics.dispatched(n)
	return nil
}

// jobs are those for the checks that were claimed.
func (e *Engine) jobs(ctx context.Context, tx *store.Tx, due []store.Due, now time.Time) ([]river.InsertManyParams, error) {
	ids := make([]int64, len(due))
	for i := range due {
		ids[i] = due[i].Monitor
	}
	monitors, err := tx.MonitorsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	jobs := make([]river.InsertManyParams, 0, len(due))
	for i := range due {
		d := &due[i]
		m, ok := monitors[d.Monitor]
		if !ok {
			continue
		}
		queue := queueCheck
		if m.Definition.Transport == watch.Stdio {
			queue = queueStdio
			started := &entry{Monitor: m}
			d.Budget = max(d.Budget, budget(started, e.targetOf(started)))
		}
		jobs = append(jobs, river.InsertManyParams{
			Args: checkArgs{
				Monitor: d.Monitor, Location: d.Location, Slot: d.Slot.UnixMilli(), Why: d.Kind, Claimed: now.UnixMilli(),
				Budget: d.Budget, Revision: m.Revision, Approvals: m.Approvals,
			},
			InsertOpts: &river.InsertOpts{Queue: queue + d.Location, MaxAttempts: checkTries},
		})
	}
	return jobs, nil
}

// measure finds out how many checks a second the schedule of this process's locations
// has.
func (e *Engine) measure(ctx context.Context) error {
	var all []watch.Monitor
	err := e.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		all, err = tx.AllMonitors(ctx)
		return err
	})
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for _, location := range e.o.Locations {
		here[location] = true
	}
	rate := 0.0
	for i := range all {
		d := &all[i].Definition
		if all[i].Paused || d.Interval <= 0 {
			continue
		}
		for _, location := range d.Locations {
			if here[location] {
				rate += 1 / time.Duration(d.Interval).Seconds()
			}
		}
	}
	e.pace.measured(rate, time.Now())
	return nil
}
