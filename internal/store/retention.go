package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Forever as a retention drops nothing.
const Forever time.Duration = -1

const (
	// retainRows is how many rows one transaction drops at most, and retainMonitors of
	// how many monitors.
	retainRows     = 5000
	retainMonitors = 500
	// retainSightings is how many sightings a monitor keeps at most.
	retainSightings = 5000
	day             = 24 * time.Hour
)

// Retention is how long what is kept. Zero is the default of each, and what is coarser
// is never kept shorter than what is finer.
type Retention struct {
	Raw         time.Duration // results; 48 h
	FiveMinutes time.Duration // rollups; 14 days
	Hourly      time.Duration // rollups; 400 days
	Daily       time.Duration // rollups; five years
	Events      time.Duration // 400 days
	Incidents   time.Duration // that are resolved; 400 days
	Deliveries  time.Duration // and notifications; 90 days
	Sightings   time.Duration // 400 days, at most 5000 of a monitor; surfaces go with the last of them
	Audit       time.Duration // two years
}

// Filled is r with the defaults.
func (r Retention) Filled() Retention {
	for _, field := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&r.Raw, 48 * time.Hour},
		{&r.FiveMinutes, 14 * day},
		{&r.Hourly, 400 * day},
		{&r.Daily, 5 * 365 * day},
		{&r.Events, 400 * day},
		{&r.Incidents, 400 * day},
		{&r.Deliveries, 90 * day},
		{&r.Sightings, 400 * day},
		{&r.Audit, 2 * 365 * day},
	} {
		if *field.value == 0 {
			*field.value = field.standard
		}
	}
	// A day of results has to be whole where rollups take over.
	r.FiveMinutes = atLeast(r.FiveMinutes, r.Raw, day)
	r.Hourly = atLeast(r.Hourly, r.FiveMinutes, 0)
	r.Daily = atLeast(r.Daily, r.Hourly, 0)
	return r
}

func atLeast(value, finer, more time.Duration) time.Duration {
	if value < 0 || finer < 0 {
		return Forever
	}
	return max(value, finer+more)
}

// Retained says how many rows Retain dropped. On PostgreSQL, Results does not count
// those of dropped partitions, which Partitions counts.
type Retained struct {
	Results, Rollups, Events, Incidents, Notifications, Deliveries int64
	Sightings, Surfaces, Sessions, Audit, Partitions               int64
}

// Retain drops what is older than r says, in many small transactions between which
// others write. It makes the rollups that are due first: nothing is dropped that is not
// summed up. On PostgreSQL it makes the partitions of the days ahead.
func (s *Store) Retain(ctx context.Context, now time.Time, r Retention) (Retained, error) {
	r = r.Filled()
	var done Retained
	// What cannot be done now, as somebody holds a lock, keeps nothing else from being done.
	errs := []error{s.makePartitions(ctx, now), s.RollupDue(ctx, now)}
	for _, step := range []func(context.Context, time.Time, Retention, *Retained) error{
		s.retainResults, s.retainRollups, s.retainRows, s.retainSightings, s.retainSurfaces,
	} {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, step(ctx, now, r, &done))
	}
	return done, errors.Join(errs...)
}

// patiently is InTx that waits while somebody else has locked the database.
func (s *Store) patiently(ctx context.Context, fn func(*Tx) error) error {
	const most = time.Second
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, most) {
		err := s.InTx(ctx, fn)
		if err == nil || !locked(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, while the database was locked: %w", context.Cause(ctx), err)
		case <-time.After(wait):
		}
	}
}

// retainResults drops raw results, but none that are not in every rollup.
func (s *Store) retainResults(ctx context.Context, now time.Time, r Retention, done *Retained) error {
	before := int64(0)
	if r.Raw > 0 {
		before = ms(now.Add(-r.Raw))
		err := s.View(ctx, func(t *Tx) error {
			for _, period := range periods() {
				made, err := t.mark(ctx, madeUntil(period))
				if err != nil {
					return err
				}
				before = min(before, made)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	step := Hourly.Milliseconds()
	if s.dialect == Postgres {
		step = Daily.Milliseconds()
	}
	if before = max(downTo(before, step), 0); before > 0 {
		// First the mark: from here on nobody counts what goes now.
		if err := s.setMark(ctx, resultsFrom, before); err != nil {
			return err
		}
	}
	if s.dialect == Postgres {
		return s.dropPartitions(ctx, before, done)
	}
	return s.dropByMonitor(ctx, "results", "slot", "true", before, &done.Results)
}

func (s *Store) retainRollups(ctx context.Context, now time.Time, r Retention, done *Retained) error {
	for period, keep := range map[time.Duration]time.Duration{FiveMinutes: r.FiveMinutes, Hourly: r.Hourly, Daily: r.Daily} {
		before := int64(0)
		if keep > 0 {
			// Whole days, so that coarser buckets go on where these end.
			before = downTo(ms(now.Add(-keep)), Daily.Milliseconds())
			if err := s.setMark(ctx, keptFrom(period), before); err != nil {
				return err
			}
		}
		condition := fmt.Sprintf("period = %d", period.Milliseconds())
		if err := s.dropByMonitor(ctx, "rollups", "bucket", condition, before, &done.Rollups); err != nil {
			return err
		}
	}
	return nil
}

// dropByMonitor drops the rows of a table, whose key begins with monitor, of which the
// time in column is before a time, and all those of monitors that are gone.
func (s *Store) dropByMonitor(ctx context.Context, table, column, condition string, before int64, dropped *int64) error {
	d := drops{table: table, column: column, condition: condition, before: before}
	for !d.over {
		err := s.patiently(ctx, func(t *Tx) error {
			next := d
			if err := next.some(ctx, t); err != nil {
				return fmt.Errorf("drop old %s: %w", table, err)
			}
			d = next
			return nil
		})
		if err != nil {
			return err
		}
	}
	*dropped += d.dropped
	return nil
}

// drops is how far dropByMonitor came.
type drops struct {
	table, column, condition string
	before                   int64
	after                    int64 // the last monitor that is done
	dropped                  int64
	over                     bool
}

// some drops up to retainRows rows.
func (d *drops) some(ctx context.Context, t *Tx) error {
	left := int64(retainRows)
	for range retainMonitors {
		// One step down the key gives the next monitor, however many rows each has.
		var monitor sql.NullInt64
		var known bool
		if err := t.one(ctx, "select min(monitor) from "+d.table+" where monitor > $1", []any{d.after}, &monitor); err != nil {
			return err
		}
		if !monitor.Valid {
			d.over = true
			return nil
		}
		if err := t.one(ctx, "select exists (select 1 from monitors where id = $1)", []any{monitor.Int64}, &known); err != nil {
			return err
		}
		before := d.before
		if !known {
			before = 1 << 62
		}
		n, err := d.of(ctx, t, monitor.Int64, before, left)
		if err != nil {
			return err
		}
		d.dropped += n
		if left -= n; left <= 0 {
			return nil
		}
		d.after = monitor.Int64
	}
	return nil
}

// of drops the oldest rows of a monitor that are before a time, up to limit.
func (d *drops) of(ctx context.Context, t *Tx, monitor, before, limit int64) (int64, error) {
	where := " from " + d.table + " where monitor = $1 and " + d.condition + " and " + d.column + " < $2"
	err := t.one(ctx, "select "+d.column+where+" order by "+d.column+" limit 1 offset $3", []any{monitor, before, limit}, &before)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	n, err2 := t.exec(ctx, "delete"+where, monitor, before)
	if err2 == nil && err == nil {
		// More is there: the limit counts as reached even where rows share a time.
		n = max(n, limit)
	}
	return n, err2
}

// retainRows drops the rows of tables that are small next to results.
func (s *Store) retainRows(ctx context.Context, now time.Time, r Retention, done *Retained) error {
	for _, table := range []struct {
		name, where string
		keep        time.Duration
		dropped     *int64
	}{
		{"events", "at < $1", r.Events, &done.Events},
		{"incidents", "resolved_at < $1", r.Incidents, &done.Incidents},
		{
			"notifications", "at < $1 and not exists (select 1 from incidents i where i.id = notifications.incident and i.resolved_at is null)",
			r.Deliveries, &done.Notifications,
		},
		{"deliveries", "at < $1", r.Deliveries, &done.Deliveries},
	} {
		if table.keep < 0 {
			continue
		}
		if err := s.drop(ctx, table.name, "id", table.where, ms(now.Add(-table.keep)), table.dropped); err != nil {
			return err
		}
	}
	if r.Audit > 0 {
		if err := s.dropAudit(ctx, ms(now.Add(-r.Audit)), &done.Audit); err != nil {
			return err
		}
	}
	return s.drop(ctx, "sessions", "token", "expires_at < $1", ms(now), &done.Sessions)
}

// drop drops the rows of a table that fit, some at a time. $1 in where is arg.
func (s *Store) drop(ctx context.Context, table, key, where string, arg any, dropped *int64) error {
	query := fmt.Sprintf("delete from %[1]s where %[2]s in (select %[2]s from %[1]s where %[3]s order by %[2]s limit %[4]d)",
		table, key, where, retainRows)
	for {
		var n int64
		err := s.patiently(ctx, func(t *Tx) (err error) {
			n, err = t.exec(ctx, query, arg)
			return err
		})
		if err != nil {
			return fmt.Errorf("drop old %s: %w", table, err)
		}
		*dropped += n
		if n < retainRows {
			return nil
		}
	}
}

// retainSightings drops old sightings, but never the last of a monitor and a location.
func (s *Store) retainSightings(ctx context.Context, now time.Time, r Retention, done *Retained) error {
	if r.Sightings > 0 {
		where := `last_at < $1 and exists (select 1 from sightings n
			where n.monitor = sightings.monitor and n.location = sightings.location and n.first_at > sightings.first_at)`
		if err := s.drop(ctx, "sightings", "id", where, ms(now.Add(-r.Sightings)), &done.Sightings); err != nil {
			return err
		}
	}
	var many []int64
	err := s.View(ctx, func(t *Tx) (err error) {
		many, err = t.ids(ctx, "select monitor from sightings group by monitor having count(*) > $1", retainSightings)
		return err
	})
	if err != nil {
		return err
	}
	for _, monitor := range many {
		where := fmt.Sprintf(`monitor = $1 and id not in
			(select id from sightings where monitor = $1 order by last_at desc, id desc limit %d)`, retainSightings)
		if err := s.drop(ctx, "sightings", "id", where, monitor, &done.Sightings); err != nil {
			return err
		}
	}
	return nil
}
