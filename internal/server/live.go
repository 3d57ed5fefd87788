package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
)

const (
	liveAtATime = 8
	liveLimit   = 2 * time.Minute
)

// errBusy is the error of a live check when too many are running.
var errBusy = errors.New("too many checks are running: try again in a moment")

// live runs checks that somebody waits for: at most a few at a time, and of a monitor
// one, which all who ask meanwhile share.
type live struct {
	engine Engine
	mu     sync.Mutex
	runs   map[int64]*liveRun
}

type liveRun struct {
	done   chan struct{}
	report *probe.Report
	err    error
}

func newLive(e Engine) *live { return &live{engine: e, runs: map[int64]*liveRun{}} }

// check returns the report of a check that ends after it was called. When ctx ends
// first, the check goes on for the others.
func (l *live) check(ctx context.Context, monitor int64) (*probe.Report, error) {
	l.mu.Lock()
	run := l.runs[monitor]
	if run == nil {
		if len(l.runs) >= liveAtATime {
			l.mu.Unlock()
			return nil, errBusy
		}
		run = &liveRun{done: make(chan struct{})}
		l.runs[monitor] = run
		go l.run(context.WithoutCancel(ctx), monitor, run)
	}
	l.mu.Unlock()
	select {
	case <-run.done:
		return run.report, run.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *live) run(ctx context.Context, monitor int64, run *liveRun) {
	ctx, cancel := context.WithTimeout(ctx, liveLimit)
	defer cancel()
	defer func() {
		l.mu.Lock()
		delete(l.runs, monitor)
		l.mu.Unlock()
		close(run.done)
	}()
	run.err = errors.New("the check was not finished")
	run.report, run.err = l.engine.CheckLive(ctx, monitor)
}
