package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// EventFilter says which events: those that fit all that is set.
type EventFilter struct {
	Monitor  int64
	Axis     watch.Axis // empty: all
	Names    []string
	Incident int64     // that they tell of; best with From
	From, To time.Time // To is not included
	// After is the cursor: what next of the page before was.
	After int64
	Limit int // at most 1000; 0: 1000
	// Ascending gives the oldest first.
	Ascending bool
}

// eventsLock is the advisory lock of who stores events on PostgreSQL.
const eventsLock = 0x6d6376_65766e74

// InsertEvents stores events and sets their IDs, in increasing order. They become visible
// in the order of their ids, so that who reads from the last one on misses none: others
// that store events wait until the transaction ends. It is best the last that one does.
func (t *Tx) InsertEvents(ctx context.Context, events []watch.Event) error {
	if len(events) == 0 {
		return nil
	}
	if t.postgres() {
		if _, err := t.exec(ctx, "select pg_advisory_xact_lock($1)", int64(eventsLock)); err != nil {
			return fmt.Errorf("wait for others that store events: %w", err)
		}
	}
	b := batch{columns: "monitor bigint, at bigint, name text, axis text, line text, actor text, data text"}
	for i := range events {
		e := &events[i]
		var data sql.NullString
		if e.Data != nil {
			text, err := encode(e.Data)
			if err != nil {
				return err
			}
			data = sql.NullString{String: text, Valid: true}
		}
		b.add(nullID(e.Monitor), ms(e.At), e.Name, string(e.Axis), e.Text, e.Actor, data)
	}
	next := 0
	err := t.queryBatch(ctx, `insert into events (monitor, at, name, axis, text, actor, data)
		select * from $ROWS where true returning id`, &b, func(rows *sql.Rows) error {
		err := rows.Scan(&events[next].ID)
		next++
		return err
	})
	if err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	return nil
}

// Events returns a page of events, and the cursor of the next page, 0 after the last.
func (t *Tx) Events(ctx context.Context, f EventFilter) (events []watch.Event, next int64, err error) {
	limit := limited(f.Limit, mostRows)
	c := &conditions{}
	after, order := "id < ?", "desc"
	if f.Ascending {
		after, order = "id > ?", "asc"
	}
	if f.After != 0 {
		c.and(after, f.After)
	}
	if f.Monitor != 0 {
		c.and("monitor = ?", f.Monitor)
	}
	if f.Axis != "" {
		c.and("axis = ?", string(f.Axis))
	}
	if len(f.Names) > 0 {
		c.args = append(c.args, list(t, f.Names))
		c.and(t.in("name", len(c.args)))
	}
	if f.Incident != 0 {
		c.and("(data like ? or data like ?)", fmt.Sprintf(`%%"incident":%d,%%`, f.Incident), fmt.Sprintf(`%%"incident":%d}%%`, f.Incident))
	}
	if !f.From.IsZero() {
		c.and("at >= ?", ms(f.From))
	}
	if !f.To.IsZero() {
		c.and("at < ?", ms(f.To))
	}
	query := "select id, coalesce(monitor, 0), at, name, axis, text, actor, data from events" + c.where() +
		" order by id " + order + " limit " + strconv.Itoa(limit+1)
	err = t.each(ctx, query, c.args, func(rows *sql.Rows) error {
		var e watch.Event
		var at int64
		var data sql.NullString
		if err := rows.Scan(&e.ID, &e.Monitor, &at, &e.Name, &e.Axis, &e.Text, &e.Actor, &data); err != nil {
			return err
		}
		e.At = fromMs(at)
		if data.Valid {
			e.Data = &watch.Facts{}
			if err := decode(data.String, e.Data); err != nil {
				return err
			}
		}
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read events: %w", err)
	}
	events, next = page(events, limit, func(e *watch.Event) int64 { return e.ID })
	return events, next, nil
}
