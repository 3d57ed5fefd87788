package store

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// MonitorFilter says which monitors: those that fit all that is set.
type MonitorFilter struct {
	// Text is part of name, URL, tag or group, in any case.
	Text   string
	Tag    string
	Group  string
	Source watch.Source
	// Availability, Surface and Posture are states of the axes, as stored: that of a
	// monitor that was never checked is unknown.
	Availability, Surface, Posture string
	Paused                         *bool
	// After is the cursor: what next of the page before was.
	After int64
	Limit int // at most 1000; 0: 1000
}

// MonitorRow is a monitor with its state, which is nil when it was never checked.
type MonitorRow struct {
	watch.Monitor
	State *watch.State `json:"state,omitempty"`
}

// InsertMonitor stores a new monitor, sets its ID, and puts it on the schedule: first
// within a minute, spread, then in its slots. CreatedAt is taken as now. Its error is
// *ExistsError for a name or an external id that is taken.
func (t *Tx) InsertMonitor(ctx context.Context, m *watch.Monitor) error { return nil }

// UpdateMonitor replaces a monitor that has expectRevision, and puts it on the schedule
// anew where interval, locations or Paused changed. UpdatedAt is taken as now. Its
// error is ErrNotFound, ErrConflict for another revision, or *ExistsError.
func (t *Tx) UpdateMonitor(ctx context.Context, m *watch.Monitor, expectRevision int64) error {
	return nil
}

// DeleteMonitor removes a monitor and all that is only of interest with it. Events and
// incidents stay; results and rollups go with the next Retain. Ids are never used again.
func (t *Tx) DeleteMonitor(ctx context.Context, id int64) error { return nil }

// Monitor returns a monitor, or ErrNotFound.
func (t *Tx) Monitor(ctx context.Context, id int64) (*watch.Monitor, error) { return nil, ErrNotFound }

// MonitorByName is Monitor by its name.
func (t *Tx) MonitorByName(ctx context.Context, name string) (*watch.Monitor, error) {
	return nil, ErrNotFound
}

// MonitorByExternalID is Monitor by the name that its caller gave it.
func (t *Tx) MonitorByExternalID(ctx context.Context, external string) (*watch.Monitor, error) {
	return nil, ErrNotFound
}

// MonitorsOf returns those of the monitors that exist.
func (t *Tx) MonitorsOf(ctx context.Context, ids []int64) (map[int64]watch.Monitor, error) {
	return nil, nil
}

// Monitors returns a page of monitors in the order of their ids, and the cursor of the
// next page, 0 after the last.
func (t *Tx) Monitors(ctx context.Context, f MonitorFilter) ([]MonitorRow, int64, error) {
	return nil, 0, nil
}

// AllMonitors returns every monitor, in the order of their ids.
func (t *Tx) AllMonitors(ctx context.Context) ([]watch.Monitor, error) { return nil, nil }

// SetHeaders stores the values of the headers of a monitor, sealed, in place of those
// before; none removes them.
func (t *Tx) SetHeaders(ctx context.Context, id int64, headers map[string]string) error { return nil }

// Headers returns what SetHeaders stored.
func (t *Tx) Headers(ctx context.Context, id int64) (map[string]string, error) { return nil, nil }
