package store

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Due is a check that was claimed: nobody else gets one of the same monitor and
// location before it is released, or its time is over.
type Due struct {
	Monitor  int64         `json:"monitor"`
	Location string        `json:"location"`
	Slot     time.Time     `json:"slot"`
	Kind     watch.Kind    `json:"kind"`
	Budget   time.Duration `json:"budget"`
	// Late is how long after its slot it was claimed.
	Late time.Duration `json:"late"`
	// Missed is how many regular slots before Slot passed without a check.
	Missed int `json:"missed,omitempty"`
}

// Confirmation asks for a confirming check.
type Confirmation struct {
	Monitor  int64
	Location string
	At       time.Time
}

// Slack is added to the budget of a claimed check before it counts as lost: in it a
// queue finds out that the node which ran it is gone, and runs it again.
const Slack = 60 * time.Second

// Claim takes up to limit checks that are due at the locations, the longest due first,
// moves each on to its first regular slot after now, and keeps the monitor and
// location busy for the budget and Slack. Regular slots that were missed are one
// check, at the last of them.
func (t *Tx) Claim(ctx context.Context, now time.Time, locations []string, limit int) ([]Due, error) {
	return nil, nil
}

// Renew keeps a claim busy for its budget and Slack from now, for a check that starts
// late or again. It reports false when the claim is not held any more, so that the
// check must not run: another may be running.
func (t *Tx) Renew(ctx context.Context, d Due, now time.Time) (bool, error) { return true, nil }

// Release ends claims whose checks are done. A claim that is not held any more, since
// its time was over, is left alone.
func (t *Tx) Release(ctx context.Context, done []Due) error { return nil }

// RunNow makes a monitor due at now at all its locations. Its error is ErrNotFound,
// ErrPaused, or ErrBusy when a check runs at each of them.
func (t *Tx) RunNow(ctx context.Context, id int64, now time.Time) error { return nil }

// ConfirmAt is Confirm for one check.
func (t *Tx) ConfirmAt(ctx context.Context, id int64, location string, at time.Time) error {
	return t.Confirm(ctx, []Confirmation{{Monitor: id, Location: location, At: at}})
}

// Confirm asks for confirming checks, unless one is due before.
func (t *Tx) Confirm(ctx context.Context, wanted []Confirmation) error { return nil }

// NextDue is when the next check is due anywhere; zero: never.
func (t *Tx) NextDue(ctx context.Context) (time.Time, error) { return time.Time{}, nil }
