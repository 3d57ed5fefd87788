package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Stats are numbers for metrics.
type Stats struct {
	Monitors, Paused int64
	// Availability, Surface, Posture and Check count monitors that are not paused, by
	// state; one that was never checked, or not for three intervals, is unknown.
	Availability, Surface, Posture, Check map[string]int64
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
	s := Stats{
		Availability: map[string]int64{}, Surface: map[string]int64{}, Posture: map[string]int64{},
		Check: map[string]int64{}, OpenIncidents: map[watch.Axis]int64{},
	}
	if err := t.countStates(ctx, now, &s); err != nil {
		return s, fmt.Errorf("count states: %w", err)
	}
	err := t.each(ctx, "select axis, count(*) from incidents where resolved_at is null group by axis", nil, func(rows *sql.Rows) error {
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

// countStates counts monitors. Three intervals and a check's budget without a result
// make a state unknown, as watch.Current has it.
func (t *Tx) countStates(ctx context.Context, now time.Time, s *Stats) error {
	query := `select paused, known, availability, surface, posture, check_status, count(*) from (
		select m.paused as paused, coalesce(s.availability, $2) as availability, coalesce(s.surface, $2) as surface,
			coalesce(s.posture, $2) as posture, coalesce(s.check_status, $2) as check_status,
			s.monitor is not null and s.last_check >= $1 - coalesce(
				(select max(3 * c.interval_ms + c.budget_ms) from schedule c where c.monitor = m.id), 0) as known
		from monitors m left join states s on s.monitor = m.id) x
		group by paused, known, availability, surface, posture, check_status`
	return t.each(ctx, query, []any{ms(now), watch.Unknown}, func(rows *sql.Rows) error {
		var paused, known bool
		var availability, surface, posture, check string
		var n int64
		if err := rows.Scan(&paused, &known, &availability, &surface, &posture, &check, &n); err != nil {
			return err
		}
		s.Monitors += n
		if paused {
			s.Paused += n
			return nil
		}
		if !known {
			availability, surface, posture, check = watch.Unknown, watch.Unknown, watch.Unknown, watch.CheckUnknown
		}
		s.Availability[availability] += n
		s.Surface[surface] += n
		s.Posture[posture] += n
		s.Check[check] += n
		return nil
	})
}
