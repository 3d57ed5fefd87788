package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// askEvery is how often it is looked whether what was asked for has happened.
const askEvery = 100 * time.Millisecond

// Ran is what became of a check that was asked for.
type Ran struct {
	// Asked is the time that the check was asked for.
	Asked time.Time
	// Result is that of the first check since then, of any kind: a regular one that
	// was due as well is the one that was asked for. Nil when it was not waited for.
	Result *watch.Result
	View   watch.View
}

// RunNow has a monitor checked now, at all its locations. With wait it returns when
// the first of them has been judged. Its error is [store.ErrNotFound],
// [store.ErrPaused], or [store.ErrBusy] while a check of it is in flight.
func (e *Engine) RunNow(ctx context.Context, monitor int64, wait bool) (Ran, error) {
	out := Ran{Asked: e.now()}
	err := e.o.Store.InTx(ctx, func(tx *store.Tx) error { return tx.RunNow(ctx, monitor, out.Asked) })
	if err != nil {
		return Ran{}, err
	}
	for wait {
		if err := pause(ctx, askEvery); err != nil {
			return out, err
		}
		if out.Result, err = e.since(ctx, monitor, out.Asked); err != nil {
			return out, err
		}
		wait = out.Result == nil
	}
	out.View, err = e.view(ctx, monitor)
	return out, err
}

// since is the result of the first check that started at or after a time, or nil.
func (e *Engine) since(ctx context.Context, monitor int64, at time.Time) (*watch.Result, error) {
	var out *watch.Result
	err := e.o.Store.View(ctx, func(tx *store.Tx) error {
		results, _, err := tx.Results(ctx, store.ResultFilter{Monitor: monitor, Limit: 20})
		for i := range results {
			if !results[i].Started.Before(at) {
				out = &results[i]
			}
		}
		return err
	})
	return out, err
}

// view is how a monitor stands now.
func (e *Engine) view(ctx context.Context, monitor int64) (watch.View, error) {
	var out watch.View
	err := e.o.Store.View(ctx, func(tx *store.Tx) error {
		m, err := tx.Monitor(ctx, monitor)
		if err != nil {
			return err
		}
		states, err := tx.States(ctx, []int64{monitor}, false)
		if err != nil {
			return err
		}
		var st *watch.State
		if known, ok := states[monitor]; ok {
			st = &known
		}
		out = watch.Current(m, st, e.now())
		return nil
	})
	return out, err
}

// CheckLive checks a monitor once from here, without a functional call, and stores
// nothing. The view is that of the stored state. At most eight run at a time, and
// others wait.
func (e *Engine) CheckLive(ctx context.Context, monitor int64) (*probe.Report, watch.View, error) {
	select {
	case e.live <- struct{}{}:
		defer func() { <-e.live }()
	case <-ctx.Done():
		return nil, watch.View{}, context.Cause(ctx)
	}
	m, err := e.roster.load(ctx, monitor, e.now())
	if err != nil {
		return nil, watch.View{}, err
	}
	t := withoutCall(e.targetOf(m))
	report := e.check(ctx, t, e.probeOptions(m, t))
	if err := context.Cause(ctx); err != nil {
		return nil, watch.View{}, err
	}
	view, err := e.view(ctx, monitor)
	return report, view, err
}

// TestChannel sends a test message to a channel now, and returns what the receiver
// answered. Its error is [store.ErrNotFound], or that of the delivery.
func (e *Engine) TestChannel(ctx context.Context, channel string) (string, error) {
	var c *watch.Channel
	err := e.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		c, err = tx.ChannelByName(ctx, channel)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("channel %s: %w", channel, err)
	}
	if e.o.Alerts == nil {
		return "", errors.New("this process sends nothing")
	}
	ctx, cancel := context.WithTimeout(ctx, sendBudget)
	defer cancel()
	return e.o.Alerts.Send(ctx, c, alert.Test(channel, e.o.PublicURL, e.now()))
}
