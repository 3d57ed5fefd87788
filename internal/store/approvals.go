package store

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Approve stores an approval and its surface, and ends the others of its monitor unless
// keep. What is approved has changed then: Approvals of the monitor grows.
func (t *Tx) Approve(ctx context.Context, a watch.Approval, keep bool) (id int64, err error) {
	return 0, nil
}

// Approvals returns what is approved of a monitor at now, the latest first, with its
// baselines when load is set.
func (t *Tx) Approvals(ctx context.Context, monitor int64, now time.Time, load bool) ([]watch.Approved, error) {
	return nil, nil
}

// EndApprovals ends all approvals of a monitor. Without any, nothing changes.
func (t *Tx) EndApprovals(ctx context.Context, monitor int64, by string, now time.Time) error {
	return nil
}

// ExpireApprovals ends the approvals of all monitors whose time is over, and returns them.
func (t *Tx) ExpireApprovals(ctx context.Context, now time.Time) ([]watch.Approved, error) {
	return nil, nil
}
