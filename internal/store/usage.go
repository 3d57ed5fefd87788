package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Location is where checks run from, as the schedule knows it.
type Location struct {
	Name string `json:"location"`
	// Monitors are checked from it; Paused of them are not for now.
	Monitors int64 `json:"monitors"`
	Paused   int64 `json:"paused"`
	// Due checks wait for a process of the location, the oldest for Lag. Busy are in flight.
	Due   int64         `json:"due"`
	Busy  int64         `json:"busy"`
	Lag   time.Duration `json:"-"`
	Since time.Time     `json:"waiting_since,omitzero"`
	// LastReport is the latest of those that are kept.
	LastReport time.Time `json:"last_report,omitzero"`
}

// Locations are all that monitors are checked from, by name.
func (t *Tx) Locations(ctx context.Context, now time.Time) ([]Location, error) {
	var out []Location
	err := t.each(ctx, `select location, count(*), coalesce(sum(case when due is null then 1 else 0 end), 0),
			coalesce(sum(case when due <= $1 and busy_until <= $1 then 1 else 0 end), 0),
			coalesce(sum(case when busy_until > $1 then 1 else 0 end), 0),
			min(case when due <= $1 and busy_until <= $1 then due end)
		from schedule group by location order by location`,
		[]any{ms(now)}, func(rows *sql.Rows) error {
			var l Location
			var due sql.NullInt64
			if err := rows.Scan(&l.Name, &l.Monitors, &l.Paused, &l.Due, &l.Busy, &due); err != nil {
				return err
			}
			if l.Lag = since(due, now); due.Valid {
				l.Since = fromMs(due.Int64)
			}
			out = append(out, l)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read locations: %w", err)
	}
	err = t.each(ctx, "select location, max(at) from reports group by location", nil, func(rows *sql.Rows) error {
		var name string
		var at int64
		if err := rows.Scan(&name, &at); err != nil {
			return err
		}
		if i := slices.IndexFunc(out, func(l Location) bool { return l.Name == name }); i >= 0 {
			out[i].LastReport = fromMs(at)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the last reports of locations: %w", err)
	}
	return out, nil
}

// countedTables are those that TableRows counts, in the order in which they are shown.
func countedTables() []string {
	return []string{"monitors", "results", "rollups", "events", "incidents", "notifications", "deliveries", "surfaces", "sightings", "approvals", "audit"}
}

// TableRows is how many rows a table has.
type TableRows struct {
	Table string `json:"table"`
	Count int64  `json:"count"`
	// More: counting ended there.
	More bool `json:"more,omitempty"`
}

// TableRows counts what is stored, each table up to limit, so that it takes no longer the more
// there is.
func (t *Tx) TableRows(ctx context.Context, limit int64) ([]TableRows, error) {
	var out []TableRows
	for _, table := range countedTables() {
		r := TableRows{Table: table}
		query := "select count(*) from (select 1 from " + table + " limit $1) as counted"
		if err := t.one(ctx, query, []any{limit + 1}, &r.Count); err != nil {
			return nil, fmt.Errorf("count %s: %w", table, err)
		}
		if r.Count > limit {
			r.Count, r.More = limit, true
		}
		out = append(out, r)
	}
	return out, nil
}

// Copy is a backup in a file of its own, which is gone once it is closed.
type Copy struct{ *os.File }

// Close removes the copy.
func (c *Copy) Close() error {
	err := c.File.Close()
	if gone := os.Remove(c.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// copyName is what copies are called beside the database. There is one at a time: what a
// process left that died over it is removed by the next.
const copyName = ".backup-to-send"

// Copy makes a backup beside the database, to be read from its start. Its caller sees to
// it that there is one at a time. The error is [ErrBackup] on PostgreSQL.
func (s *Store) Copy(ctx context.Context) (*Copy, error) {
	if s.dialect == Postgres || s.path == "" {
		return nil, ErrBackup
	}
	path := s.path + copyName
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("backup: %w", err)
	}
	if err := s.Backup(ctx, path); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("backup: %w", errors.Join(err, os.Remove(path)))
	}
	return &Copy{File: f}, nil
}
