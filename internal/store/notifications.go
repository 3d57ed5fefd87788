package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

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
	b := batch{columns: "key text, incident bigint, monitor bigint, channel text, phase text, at bigint, snapshot text, " +
		"status text, attempts bigint, sent_at bigint, error text"}
	byKey := map[string]*watch.Notification{}
	for i := range notifications {
		n := &notifications[i]
		if byKey[n.Key] != nil {
			continue
		}
		byKey[n.Key] = n
		snapshot, err := encode(&n.Snapshot)
		if err != nil {
			return nil, err
		}
		status := n.Status
		if status == "" {
			status = watch.Pending
		}
		b.add(n.Key, n.Incident, nullID(n.Monitor), n.Channel, string(n.Phase), ms(n.At), snapshot,
			status, n.Attempts, nullMs(n.SentAt), n.Error)
	}
	err = t.queryBatch(ctx, `insert into notifications (key, incident, monitor, channel, phase, at, snapshot, status, attempts, sent_at, error)
		select * from $ROWS where true on conflict (key) do nothing returning id, key, status`, &b, func(rows *sql.Rows) error {
		var id int64
		var key, status string
		if err := rows.Scan(&id, &key, &status); err != nil {
			return err
		}
		n := *byKey[key]
		n.ID, n.Status = id, status
		fresh = append(fresh, n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store notifications: %w", err)
	}
	return fresh, nil
}

// Notification returns a notification, or ErrNotFound.
func (t *Tx) Notification(ctx context.Context, id int64) (*watch.Notification, error) {
	found, err := t.notifications(ctx, "where id = $1", id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("notification %d: %w", id, ErrNotFound)
	}
	return &found[0], nil
}

// RecordDelivery stores an attempt, and the status that its notification has now.
func (t *Tx) RecordDelivery(ctx context.Context, d watch.Delivery, status string) error {
	_, err := t.exec(ctx, `insert into deliveries (notification, channel, key, attempt, at, ok, detail, duration_ms)
		values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		d.Notification, d.Channel, d.Key, d.Attempt, ms(d.At), d.OK, d.Detail, d.DurationMs)
	if err == nil {
		var sent sql.NullInt64
		problem := d.Detail
		if d.OK {
			sent, problem = nullMs(d.At), ""
		}
		_, err = t.exec(ctx, `update notifications set status = $2, attempts = $3, sent_at = $4, error = $5 where id = $1`,
			d.Notification, status, d.Attempt, sent, problem)
	}
	if err != nil {
		return fmt.Errorf("store a delivery: %w", err)
	}
	return nil
}

// Notifications returns a page of notifications, the latest first, and the cursor of
// the next page, 0 after the last.
func (t *Tx) Notifications(ctx context.Context, f NotificationFilter) (notifications []watch.Notification, next int64, err error) {
	limit := limited(f.Limit, mostRows)
	c := &conditions{}
	if f.After != 0 {
		c.and("id < ?", f.After)
	}
	if f.Incident != 0 {
		c.and("incident = ?", f.Incident)
	}
	if f.Channel != "" {
		c.and("channel = ?", f.Channel)
	}
	if f.Status != "" {
		c.and("status = ?", f.Status)
	}
	notifications, err = t.notifications(ctx, c.where()+" order by id desc limit "+strconv.Itoa(limit+1), c.args...)
	if err != nil {
		return nil, 0, err
	}
	notifications, next = page(notifications, limit, func(n *watch.Notification) int64 { return n.ID })
	return notifications, next, nil
}

func (t *Tx) notifications(ctx context.Context, rest string, args ...any) ([]watch.Notification, error) {
	var out []watch.Notification
	err := t.each(ctx, `select id, key, incident, coalesce(monitor, 0), channel, phase, at, snapshot, status, attempts, sent_at, error
		from notifications `+rest, args, func(rows *sql.Rows) error {
		var n watch.Notification
		var snapshot string
		var at int64
		var sent sql.NullInt64
		if err := rows.Scan(&n.ID, &n.Key, &n.Incident, &n.Monitor, &n.Channel, &n.Phase, &at, &snapshot,
			&n.Status, &n.Attempts, &sent, &n.Error); err != nil {
			return err
		}
		n.At, n.SentAt = fromMs(at), fromNullMs(sent)
		err := decode(snapshot, &n.Snapshot)
		out = append(out, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read notifications: %w", err)
	}
	return out, nil
}

// Deliveries returns a page of the attempts of a channel, the latest first, and the
// cursor of the next page, 0 after the last.
func (t *Tx) Deliveries(ctx context.Context, channel string, after int64, limit int) (deliveries []watch.Delivery, next int64, err error) {
	limit = limited(limit, mostRows)
	c := &conditions{}
	c.and("channel = ?", channel)
	if after != 0 {
		c.and("id < ?", after)
	}
	var ids []int64
	err = t.each(ctx, "select id, notification, channel, key, attempt, at, ok, detail, duration_ms from deliveries"+c.where()+
		" order by id desc limit "+strconv.Itoa(limit+1), c.args, func(rows *sql.Rows) error {
		var d watch.Delivery
		var id, at int64
		err := rows.Scan(&id, &d.Notification, &d.Channel, &d.Key, &d.Attempt, &at, &d.OK, &d.Detail, &d.DurationMs)
		d.At = fromMs(at)
		ids, deliveries = append(ids, id), append(deliveries, d)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read deliveries: %w", err)
	}
	if len(deliveries) > limit {
		return deliveries[:limit], ids[limit-1], nil
	}
	return deliveries, 0, nil
}
