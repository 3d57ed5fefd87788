package store

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// NotificationFilter says which notifications: those that fit all that is set.
type NotificationFilter struct {
	Incident int64
	Channel  string
	Status   string
	// After is the cursor: what next of the page before was.
	After int64
	Limit int // at most 1000; 0: 1000
}

// InsertNotifications stores notifications and returns those that are new, with their
// IDs: one whose key is stored already is left out.
func (t *Tx) InsertNotifications(ctx context.Context, notifications []watch.Notification) (fresh []watch.Notification, err error) {
	return nil, nil
}

// Notification returns a notification, or ErrNotFound.
func (t *Tx) Notification(ctx context.Context, id int64) (*watch.Notification, error) {
	return nil, ErrNotFound
}

// RecordDelivery stores an attempt, and the status that its notification has now.
func (t *Tx) RecordDelivery(ctx context.Context, d watch.Delivery, status string) error { return nil }

// Notifications returns a page of notifications, the latest first, and the cursor of
// the next page, 0 after the last.
func (t *Tx) Notifications(ctx context.Context, f NotificationFilter) (notifications []watch.Notification, next int64, err error) {
	return nil, 0, nil
}

// Deliveries returns a page of the attempts of a channel, the latest first, and the
// cursor of the next page, 0 after the last.
func (t *Tx) Deliveries(ctx context.Context, channel string, after int64, limit int) (deliveries []watch.Delivery, next int64, err error) {
	return nil, 0, nil
}
