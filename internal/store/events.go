package store

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// EventFilter says which events: those that fit all that is set.
type EventFilter struct {
	Monitor  int64
	Names    []string
	From, To time.Time // To is not included
	// After is the cursor: what next of the page before was.
	After int64
	Limit int // at most 1000; 0: 1000
	// Ascending gives the oldest first.
	Ascending bool
}

// InsertEvents stores events and sets their IDs, in increasing order. Events of
// several transactions at the same time may become visible in another order than that
// of their ids.
func (t *Tx) InsertEvents(ctx context.Context, events []watch.Event) error { return nil }

// Events returns a page of events, and the cursor of the next page, 0 after the last.
func (t *Tx) Events(ctx context.Context, f EventFilter) (events []watch.Event, next int64, err error) {
	return nil, 0, nil
}
