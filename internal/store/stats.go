package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Stats are numbers for metrics. How many monitors are in which state is not among them:
// what a stored state means at a time is for watch.Current alone.
type Stats struct {
	Monitors, Paused int64
	// OpenIncidents are by axis.
	OpenIncidents map[watch.Axis]int64
	// Pending and Failed count notifications; OldestPending is how long one waits.
	Pending, Failed int64
	OldestPending   time.Duration
	// Due checks wait to be claimed; Lag is how long one waits. Busy ones are in flight.
	Due, Busy int64
	Lag       time.Duration
	// Bytes is the size of the database.
	Bytes int64
}

// Stats reads the numbers.
func (t *Tx) Stats(ctx context.Context, now time.Time) (Stats, error) {
	s := Stats{OpenIncidents: map[watch.Axis]int64{}}
	err := t.one(ctx, "select count(*), coalesce(sum(case when paused then 1 else 0 end), 0) from monitors", nil, &s.Monitors, &s.Paused)
	if err != nil {
		return s, fmt.Errorf("count monitors: %w", err)
	}
	err = t.each(ctx, "select axis, count(*) from incidents where resolved_at is null group by axis", nil, func(rows *sql.Rows) error {
		var axis watch.Axis
		var n int64
		err := rows.Scan(&axis, &n)
		s.OpenIncidents[axis] = n
		return err
	})
	if err != nil {
		return s, fmt.Errorf("count incidents: %w", err)
	}
	var oldest, due sql.NullInt64
	err = t.one(ctx, `select
			(select count(*) from notifications where status = $1), (select count(*) from notifications where status = $2),
			(select min(at) from notifications where status = $1)`,
		[]any{watch.Pending, watch.Failed}, &s.Pending, &s.Failed, &oldest)
	if err != nil {
		return s, fmt.Errorf("count notifications: %w", err)
	}
	err = t.one(ctx, `select
			(select count(*) from schedule where due <= $1 and busy_until <= $1),
			(select min(due) from schedule where due <= $1 and busy_until <= $1),
			(select count(*) from schedule where busy_until > $1)`,
		[]any{ms(now)}, &s.Due, &due, &s.Busy)
	if err != nil {
		return s, fmt.Errorf("count what is due: %w", err)
	}
	s.OldestPending, s.Lag = since(oldest, now), since(due, now)
	size := "select page_count * page_size from pragma_page_count(), pragma_page_size()"
	if t.postgres() {
		size = "select pg_database_size(current_database())"
	}
	if err := t.one(ctx, size, nil, &s.Bytes); err != nil {
		return s, fmt.Errorf("read the size of the database: %w", err)
	}
	return s, nil
}

func since(at sql.NullInt64, now time.Time) time.Duration {
	if !at.Valid {
		return 0
	}
	return max(now.Sub(fromMs(at.Int64)), 0)
}
