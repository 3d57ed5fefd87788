package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Marks say which version of a monitor and of its state is stored. They are for being
// compared with ones that were read before: what differs was stored since.
type Marks struct {
	// Revisions are those of monitors.
	Revisions map[int64]int64
	// Saved are the marks of states: one that is stored again has a higher one.
	Saved map[int64]int64
	// Monitors is how many monitors there are.
	Monitors int
}

const (
	// lateState is how long a transaction may take from storing a state to its end.
	// Marks of states are those of the database's clock.
	lateState = 15_000
	// lateMonitor is the same for monitors, whose times are those of the processes'
	// clocks, which are not the same.
	lateMonitor = 300_000
)

// Changes are the marks of what may have been stored lately, or, with all, of
// everything. What took longer to be stored than is allowed for is only among all.
func (t *Tx) Changes(ctx context.Context, all bool) (Marks, error) {
	m := Marks{Revisions: map[int64]int64{}, Saved: map[int64]int64{}}
	states, monitors := "", ""
	if !all {
		states = fmt.Sprintf(" where saved_at > %s - %d", t.begun(), lateState)
		monitors = fmt.Sprintf(" where updated_at > %s - %d", t.begun(), lateMonitor)
	}
	pairs := func(query string, into map[int64]int64) error {
		return t.each(ctx, query, nil, func(rows *sql.Rows) error {
			var id, mark int64
			err := rows.Scan(&id, &mark)
			into[id] = mark
			return err
		})
	}
	err := pairs("select monitor, saved_at from states"+states, m.Saved)
	if err == nil {
		err = pairs("select id, revision from monitors"+monitors, m.Revisions)
	}
	if err == nil {
		err = t.one(ctx, "select count(*) from monitors", nil, &m.Monitors)
	}
	if err != nil {
		return Marks{}, fmt.Errorf("read what changed: %w", err)
	}
	return m, nil
}

// MarkedRow is a monitor with its state and the mark of that.
type MarkedRow struct {
	MonitorRow
	Saved int64
}

// RowsOf returns those of the monitors that exist, with their states.
func (t *Tx) RowsOf(ctx context.Context, ids []int64) ([]MarkedRow, error) {
	var out []MarkedRow
	query := "select " + monitorColumns + ", s.state, s.saved_at from monitors m left join states s on s.monitor = m.id where " + t.in("m.id", 1)
	err := t.each(ctx, query, []any{list(t, ids)}, func(rows *sql.Rows) error {
		var r MarkedRow
		var state sql.NullString
		var saved sql.NullInt64
		if err := scanMonitor(rows, &r.Monitor, &state, &saved); err != nil {
			return err
		}
		r.Saved = saved.Int64
		var err error
		r.State, err = stateFrom(state)
		out = append(out, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read monitors: %w", err)
	}
	return out, nil
}

// clock is the time of the database as it runs a statement, and begun as the
// transaction began, in milliseconds.
func (t *Tx) clock() string {
	if t.postgres() {
		return "(extract(epoch from clock_timestamp()) * 1000)::bigint"
	}
	return "cast(unixepoch('now', 'subsec') * 1000 as integer)"
}

func (t *Tx) begun() string {
	if t.postgres() {
		return "(extract(epoch from now()) * 1000)::bigint"
	}
	return t.clock()
}

// later is the next mark of a state: higher than the one before, whatever the clock says.
func (t *Tx) later() string {
	if t.postgres() {
		return "greatest(" + t.clock() + ", states.saved_at + 1)"
	}
	return "max(" + t.clock() + ", states.saved_at + 1)"
}
