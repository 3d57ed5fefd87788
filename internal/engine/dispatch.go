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
	// maxTogether bounds the checks of one job.
	maxTogether = 32
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
	var n, missed int
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
		n, missed = len(due), 0
		for i := range due {
			missed += due[i].Missed
		}
		_, err = e.client.InsertManyFastTx(ctx, tx.SQL(), jobs)
		return err
	})
	if err != nil {
		return err
	}
	e.pace.took(n, n == limit)
	e.metrics.dispatched(n)
	e.metrics.skipped(missed)
	return nil
}

// jobs are those for the checks that were claimed. A check of a stdio server, which is a
// process, has one of its own.
func (e *Engine) jobs(ctx context.Context, tx *store.Tx, due []store.Due, now time.Time) ([]river.InsertManyParams, error) {
	processes, err := e.processes(ctx, tx, due)
	if err != nil {
		return nil, err
	}
	var jobs []river.InsertManyParams
	open := map[string]*checksArgs{}
	put := func(queue string, a *checksArgs) {
		jobs = append(jobs, river.InsertManyParams{Args: a, InsertOpts: &river.InsertOpts{Queue: queue + a.Location, MaxAttempts: checkTries}})
	}
	for i := range due {
		d := &due[i]
		if processes[i] != nil {
			d.Budget = max(d.Budget, budget(processes[i], e.targetOf(processes[i])))
			a := &checksArgs{Location: d.Location, Claimed: now.UnixMilli()}
			a.add(d)
			put(queueStdio, a)
			continue
		}
		a := open[d.Location]
		if a == nil || len(a.Checks) == maxTogether {
			a = &checksArgs{Location: d.Location, Claimed: now.UnixMilli()}
			open[d.Location] = a
			put(queueCheck, a)
		}
		a.add(d)
	}
	return jobs, nil
}

// processes are the monitors of those checks that start one, at their places.
func (e *Engine) processes(ctx context.Context, tx *store.Tx, due []store.Due) ([]*entry, error) {
	known := make([]*entry, len(due))
	var missing []int64
	for i := range due {
		if known[i] = e.roster.known(due[i].Monitor, due[i].Version); known[i] == nil {
			missing = append(missing, due[i].Monitor)
		}
	}
	var read map[int64]watch.Monitor
	if len(missing) > 0 {
		var err error
		if read, err = tx.MonitorsOf(ctx, missing); err != nil {
			return nil, err
		}
	}
	for i := range due {
		if m, ok := read[due[i].Monitor]; ok && known[i] == nil {
			known[i] = &entry{Monitor: m}
		}
		if known[i] != nil && known[i].Definition.Transport != watch.Stdio {
			known[i] = nil
		}
	}
	return known, nil
}

// measure finds out how many checks a second the schedule of this process's locations
// has.
func (e *Engine) measure(ctx context.Context) error {
	var rate float64
	err := e.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		rate, err = tx.Rate(ctx, e.o.Locations)
		return err
	})
	if err != nil {
		return err
	}
	e.pace.measured(rate, time.Now())
	return nil
}
