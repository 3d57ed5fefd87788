package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// mostRows is how many rows a page has at most.
const mostRows = 1000

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
func (t *Tx) InsertMonitor(ctx context.Context, m *watch.Monitor) error {
	definition, err := encode(m.Definition)
	if err != nil {
		return err
	}
	m.Revision = max(m.Revision, 1)
	err = t.one(ctx, `insert into monitors (name, external_id, source, revision, approvals, definition, paused, group_name, search, created_at, updated_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing returning id`,
		[]any{
			m.Definition.Name, nullText(m.ExternalID), string(m.Source), m.Revision, m.Approvals, definition, m.Paused,
			m.Definition.Group, searchText(&m.Definition), ms(m.CreatedAt), ms(m.UpdatedAt),
		}, &m.ID)
	if errors.Is(err, ErrNotFound) {
		err = &ExistsError{Field: "external_id"}
		if _, named := t.MonitorByName(ctx, m.Definition.Name); named == nil {
			err = &ExistsError{Field: "name"}
		}
	}
	if err == nil {
		err = t.tag(ctx, m)
	}
	if err == nil {
		err = t.schedule(ctx, m, m.CreatedAt)
	}
	if err != nil {
		return fmt.Errorf("store monitor %q: %w", m.Definition.Name, err)
	}
	return nil
}

// UpdateMonitor replaces a monitor that has expectRevision, gives it the next one, and
// puts it on the schedule anew where interval, locations or Paused changed. UpdatedAt
// is taken as now. Its error is ErrNotFound, ErrConflict for another revision, or
// *ExistsError, after which the transaction cannot be committed.
func (t *Tx) UpdateMonitor(ctx context.Context, m *watch.Monitor, expectRevision int64) error {
	definition, err := encode(m.Definition)
	if err != nil {
		return err
	}
	n, err := t.exec(ctx, `update monitors set name = $3, external_id = $4, source = $5, revision = revision + 1,
		definition = $6, paused = $7, group_name = $8, search = $9, updated_at = $10 where id = $1 and revision = $2`,
		m.ID, expectRevision, m.Definition.Name, nullText(m.ExternalID), string(m.Source), definition, m.Paused,
		m.Definition.Group, searchText(&m.Definition), ms(m.UpdatedAt))
	if err == nil && n == 0 {
		if _, err = t.Monitor(ctx, m.ID); err == nil {
			err = ErrConflict
		}
	}
	if err == nil {
		m.Revision = expectRevision + 1
		err = t.tag(ctx, m)
	}
	if err == nil {
		err = t.schedule(ctx, m, m.UpdatedAt)
	}
	if err != nil {
		return fmt.Errorf("store monitor %q: %w", m.Definition.Name, exists(err, "name", "external_id"))
	}
	return nil
}

// DeleteMonitor removes a monitor and all that is only of interest with it. Events and
// incidents stay; results and rollups go with the next Retain. Ids are never used again.
func (t *Tx) DeleteMonitor(ctx context.Context, id int64) error {
	n, err := t.exec(ctx, "delete from monitors where id = $1", id)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("delete monitor %d: %w", id, err)
	}
	return nil
}

func (t *Tx) tag(ctx context.Context, m *watch.Monitor) error {
	if _, err := t.exec(ctx, "delete from monitor_tags where monitor = $1", m.ID); err != nil {
		return err
	}
	b := batch{columns: "monitor bigint, tag text"}
	for _, tag := range m.Definition.Tags {
		b.add(m.ID, tag)
	}
	return t.execBatch(ctx, `insert into monitor_tags (monitor, tag) select r.monitor, r.tag from $ROWS where true
		on conflict do nothing`, &b)
}

// searchText is where MonitorFilter.Text is looked for.
func searchText(d *watch.Definition) string {
	parts := slices.Concat([]string{d.Name, d.URL, d.Group}, d.Tags)
	return strings.ToLower(strings.Join(parts, "\n"))
}

func nullText(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

const monitorColumns = "m.id, m.revision, m.approvals, m.source, coalesce(m.external_id, ''), m.definition, m.paused, m.created_at, m.updated_at"

// scanMonitor reads monitorColumns, and more after them.
func scanMonitor(rows *sql.Rows, m *watch.Monitor, more ...any) error {
	var definition string
	var created, updated int64
	dest := append([]any{
		&m.ID, &m.Revision, &m.Approvals, &m.Source, &m.ExternalID, &definition, &m.Paused, &created, &updated,
	}, more...)
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	m.CreatedAt, m.UpdatedAt = fromMs(created), fromMs(updated)
	return decode(definition, &m.Definition)
}

// monitors reads monitors with the rest of a query.
func (t *Tx) monitors(ctx context.Context, rest string, args ...any) ([]watch.Monitor, error) {
	var out []watch.Monitor
	err := t.each(ctx, "select "+monitorColumns+" from monitors m "+rest, args, func(rows *sql.Rows) error {
		var m watch.Monitor
		err := scanMonitor(rows, &m)
		out = append(out, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read monitors: %w", err)
	}
	return out, nil
}

func (t *Tx) monitor(ctx context.Context, column string, value any) (*watch.Monitor, error) {
	found, err := t.monitors(ctx, "where m."+column+" = $1", value)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNotFound
	}
	return &found[0], nil
}

// Monitor returns a monitor, or ErrNotFound.
func (t *Tx) Monitor(ctx context.Context, id int64) (*watch.Monitor, error) {
	return t.monitor(ctx, "id", id)
}

// MonitorByName is Monitor by its name.
func (t *Tx) MonitorByName(ctx context.Context, name string) (*watch.Monitor, error) {
	return t.monitor(ctx, "name", name)
}

// MonitorByExternalID is Monitor by the name that its caller gave it.
func (t *Tx) MonitorByExternalID(ctx context.Context, external string) (*watch.Monitor, error) {
	return t.monitor(ctx, "external_id", external)
}

// MonitorsOf returns those of the monitors that exist.
func (t *Tx) MonitorsOf(ctx context.Context, ids []int64) (map[int64]watch.Monitor, error) {
	found, err := t.monitors(ctx, "where "+t.in("m.id", 1), list(t, ids))
	if err != nil {
		return nil, err
	}
	out := make(map[int64]watch.Monitor, len(found))
	for i := range found {
		out[found[i].ID] = found[i]
	}
	return out, nil
}

// Standing is what changes of a monitor without its definition.
type Standing struct {
	Version
	Paused bool
}

// Standings returns those of the monitors that exist.
func (t *Tx) Standings(ctx context.Context, ids []int64) (map[int64]Standing, error) {
	out := make(map[int64]Standing, len(ids))
	err := t.each(ctx, "select id, revision, approvals, paused from monitors where "+t.in("id", 1), []any{list(t, ids)}, func(rows *sql.Rows) error {
		var id int64
		var s Standing
		err := rows.Scan(&id, &s.Revision, &s.Approvals, &s.Paused)
		out[id] = s
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read monitors: %w", err)
	}
	return out, nil
}

// AllMonitors returns every monitor, in the order of their ids.
func (t *Tx) AllMonitors(ctx context.Context) ([]watch.Monitor, error) {
	return t.monitors(ctx, "order by m.id")
}

// Monitors returns a page of monitors in the order of their ids, and the cursor of the
// next page, 0 after the last.
func (t *Tx) Monitors(ctx context.Context, f MonitorFilter) ([]MonitorRow, int64, error) {
	limit := limited(f.Limit, mostRows)
	c := f.conditions()
	var out []MonitorRow
	query := "select " + monitorColumns + ", s.state from monitors m left join states s on s.monitor = m.id" +
		c.where() + " order by m.id limit " + strconv.Itoa(limit+1)
	err := t.each(ctx, query, c.args, func(rows *sql.Rows) error {
		var m MonitorRow
		var state sql.NullString
		if err := scanMonitor(rows, &m.Monitor, &state); err != nil {
			return err
		}
		var err error
		m.State, err = stateFrom(state)
		out = append(out, m)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read monitors: %w", err)
	}
	out, next := page(out, limit, func(m *MonitorRow) int64 { return m.ID })
	return out, next, nil
}

// stateFrom reads a state that may not be there.
func stateFrom(stored sql.NullString) (*watch.State, error) {
	if !stored.Valid {
		return nil, nil //nolint:nilnil // it was never checked
	}
	st := &watch.State{}
	return st, decode(stored.String, st)
}

// likeText is the pattern of what holds a text, in any case.
func likeText(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(strings.ToLower(text)) + "%"
}

func (f *MonitorFilter) conditions() *conditions {
	c := &conditions{}
	c.and("m.id > ?", f.After)
	if f.Text != "" {
		c.and(`m.search like ? escape '\'`, likeText(f.Text))
	}
	if f.Tag != "" {
		c.and("m.id in (select monitor from monitor_tags where tag = ?)", f.Tag)
	}
	if f.Group != "" {
		c.and("m.group_name = ?", f.Group)
	}
	if f.Source != "" {
		c.and("m.source = ?", string(f.Source))
	}
	for _, axis := range [...]struct{ column, state string }{
		{"availability", f.Availability}, {"surface", f.Surface}, {"posture", f.Posture},
	} {
		switch axis.state {
		case "":
		case watch.Unknown: // or never checked
			c.and("m.id not in (select monitor from states where "+axis.column+" <> ?)", watch.Unknown)
		default:
			c.and("m.id in (select monitor from states where "+axis.column+" = ?)", axis.state)
		}
	}
	if f.Paused != nil {
		c.and("m.paused = ?", *f.Paused)
	}
	return c
}

// page cuts rows that were read with one more than limit, and gives the cursor of the
// next page.
func page[T any](rows []T, limit int, id func(*T) int64) ([]T, int64) {
	if len(rows) <= limit {
		return rows, 0
	}
	rows = rows[:limit]
	return rows, id(&rows[limit-1])
}

// lockMonitors keeps monitors as they are until the transaction ends. Whoever changes
// several rows of a monitor does this first, in the order of ids, so that no two wait
// for each other.
func (t *Tx) lockMonitors(ctx context.Context, ids []int64) error {
	lock := t.lock("no key update")
	if lock == "" || len(ids) == 0 {
		return nil
	}
	return t.each(ctx, "select id from monitors where "+t.in("id", 1)+" order by id"+lock, []any{list(t, ids)}, nil)
}

func headersPlace(id int64) string { return "monitors/headers/" + strconv.FormatInt(id, 10) }

// SetHeaders stores the values of the headers of a monitor, sealed, in place of those
// before; none removes them.
func (t *Tx) SetHeaders(ctx context.Context, id int64, headers map[string]string) error {
	var sealed []byte
	if len(headers) > 0 {
		if t.store.sealer == nil {
			return ErrNoKey
		}
		plain, err := json.Marshal(headers)
		if err == nil {
			sealed, err = t.store.sealer.Seal(plain, headersPlace(id))
		}
		if err != nil {
			return fmt.Errorf("seal the headers of monitor %d: %w", id, err)
		}
	}
	n, err := t.exec(ctx, "update monitors set headers = $2 where id = $1", id, sealed)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("store the headers of monitor %d: %w", id, err)
	}
	return nil
}

// Headers returns what SetHeaders stored.
func (t *Tx) Headers(ctx context.Context, id int64) (map[string]string, error) {
	var sealed []byte
	if err := t.one(ctx, "select headers from monitors where id = $1", []any{id}, &sealed); err != nil {
		return nil, fmt.Errorf("headers of monitor %d: %w", id, err)
	}
	if len(sealed) == 0 {
		return nil, nil
	}
	if t.store.sealer == nil {
		return nil, ErrNoKey
	}
	plain, err := t.store.sealer.Open(sealed, headersPlace(id))
	if err != nil {
		return nil, fmt.Errorf("open the headers of monitor %d: %w", id, err)
	}
	var headers map[string]string
	return headers, decode(string(plain), &headers)
}
