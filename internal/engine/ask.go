package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// CheckLive checks a monitor once from here, without a functional call, and stores
// nothing. Its callers bound how many run at a time.
func (e *Engine) CheckLive(ctx context.Context, monitor int64) (*probe.Report, error) {
	m, err := e.roster.load(ctx, monitor, e.now())
	if err != nil {
		return nil, err
	}
	t := withoutCall(e.targetOf(m))
	report := e.check(ctx, t, e.probeOptions(m, t))
	return report, context.Cause(ctx)
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
