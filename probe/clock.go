package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/target"
)

// Causes of a context's end. They wrap DeadlineExceeded, so that the layers
// below take them for the end of time and not for a cancellation.
var (
	errOverall = fmt.Errorf("the overall timeout: %w", context.DeadlineExceeded)
	errStep    = fmt.Errorf("the timeout of the step: %w", context.DeadlineExceeded)
)

// budgets are the times of one check, settled.
type budgets struct {
	overall, startup, step time.Duration
	steps                  map[target.Dimension]time.Duration
	// within: the start-up of a stdio server counts against overall.
	within bool
}

func settleBudgets(t *target.Target, o Options) budgets {
	b := budgets{
		overall: budget(o.Timeout, t.Budgets.Overall, DefaultTimeout),
		startup: budget(o.StartupTimeout, t.Budgets.Startup, DefaultStartupTimeout),
		step:    budget(o.CheckTimeout, t.Budgets.Step, DefaultCheckTimeout),
		steps:   t.Budgets.Steps,
		within:  o.StartupTimeout == StartupWithinTimeout,
	}
	if b.within {
		b.startup = b.overall
	}
	return b
}

// budget is the first that is set: positive, and at most a week, so that sums of
// them stay in range.
func budget(choices ...time.Duration) time.Duration {
	for _, d := range choices {
		if d > 0 {
			return min(d, 7*24*time.Hour)
		}
	}
	return DefaultTimeout
}

func (b budgets) of(d target.Dimension) time.Duration {
	return budget(b.steps[d], b.step)
}

// clock is the overall timeout of a check with all its attempts. It wraps a
// timer and not a deadline, because the start-up of a stdio server does not
// count.
type clock struct {
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	started  time.Time
	overall  time.Duration
	startups time.Duration // of all attempts so far
}

func startClock(ctx context.Context, overall time.Duration) (context.Context, *clock) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &clock{
		cancel: cancel, started: time.Now(), overall: overall,
		timer: time.AfterFunc(overall, func() { cancel(errOverall) }),
	}
}

func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(nil)
}

// left is what is left of the overall timeout.
func (c *clock) left() time.Duration {
	return max(0, c.overall-(time.Since(c.started)-c.startups))
}

// allow gives time for a start-up on top.
func (c *clock) allow(startup time.Duration) { c.timer.Reset(c.left() + startup) }

// startedUp takes back what the start-up did not use.
func (c *clock) startedUp(used time.Duration) {
	c.startups += used
	c.timer.Reset(c.left())
}
