package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// IncidentFilter says which incidents: those that fit all that is set.
type IncidentFilter struct {
	Monitor int64
	Axis    watch.Axis
	Open    *bool
	// Stage is how far people are with it, at Now.
	Stage watch.Stage
	Now   time.Time
	// Assignee is the name of an account.
	Assignee string
	// Text is part of name, URL, tag or group of its monitor, in any case.
	Text string
	// After is the cursor: what next of the page before was.
	After int64
	Limit int // at most 1000; 0: 1000
}

// OpenIncidents returns the open incidents of monitors. In a transaction that writes
// they stay as they are until it ends; States with lock comes before.
func (t *Tx) OpenIncidents(ctx context.Context, monitors []int64) (map[int64][]watch.Incident, error) {
	found, err := t.incidents(ctx, "where resolved_at is null and "+t.in("coalesce(monitor, 0)", 1)+
		" order by id"+t.lock("update"), list(t, monitors))
	if err != nil {
		return nil, err
	}
	out := make(map[int64][]watch.Incident, len(found))
	for i := range found {
		out[found[i].Monitor] = append(out[found[i].Monitor], found[i])
	}
	return out, nil
}

// SystemIncident returns the open incident of a location itself, or nil. In a
// transaction that writes it stays as it is until that ends.
func (t *Tx) SystemIncident(ctx context.Context, location string) (*watch.Incident, error) {
	found, err := t.incidents(ctx, "where resolved_at is null and coalesce(monitor, 0) = 0 and axis = $1 and location = $2"+t.lock("update"),
		string(watch.System), location)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// SaveIncidents stores incidents: new ones, with ID 0, get their IDs. Its error is
// ErrIncidentOpen when a new one is open while another of the same monitor and axis is,
// or *ExistsError for its key; the transaction cannot be committed then.
func (t *Tx) SaveIncidents(ctx context.Context, incidents []watch.Incident) error {
	added := batch{columns: "monitor bigint, axis text, location text, key text, incident text, opened_at bigint, resolved_at bigint, due bigint, " +
		"acknowledged_at bigint, snoozed_until bigint, assignee text"}
	changed := batch{columns: "id bigint, incident text, resolved_at bigint, due bigint, acknowledged_at bigint, snoozed_until bigint, assignee text"}
	fresh := map[string]*watch.Incident{}
	for i := range incidents {
		n := &incidents[i]
		text, err := encode(n)
		if err != nil {
			return err
		}
		if n.ID != 0 {
			changed.add(n.ID, text, nullMs(n.ResolvedAt), nullMs(n.Due), nullMs(n.AcknowledgedAt), nullMs(n.SnoozedUntil), n.Assignee)
			continue
		}
		fresh[n.Key] = n
		added.add(nullID(n.Monitor), string(n.Axis), n.Location, n.Key, text, ms(n.OpenedAt), nullMs(n.ResolvedAt), nullMs(n.Due),
			nullMs(n.AcknowledgedAt), nullMs(n.SnoozedUntil), n.Assignee)
	}
	changed.last(1)
	// One that is resolved makes way for a new one.
	err := t.execBatch(ctx, `update incidents set incident = r.incident, resolved_at = r.resolved_at, due = r.due,
		acknowledged_at = r.acknowledged_at, snoozed_until = r.snoozed_until, assignee = r.assignee
		from $ROWS where incidents.id = r.id`, &changed)
	if err == nil {
		err = t.queryBatch(ctx, `insert into incidents (monitor, axis, location, key, incident, opened_at, resolved_at, due,
				acknowledged_at, snoozed_until, assignee)
			select * from $ROWS where true returning id, key`, &added, func(rows *sql.Rows) error {
			var id int64
			var key string
			err := rows.Scan(&id, &key)
			if n := fresh[key]; n != nil {
				n.ID = id
			}
			return err
		})
	}
	if strings.Contains(violates(err), "incidents_open") {
		err = ErrIncidentOpen
	}
	if err != nil {
		return fmt.Errorf("store incidents: %w", exists(err, "key"))
	}
	return nil
}

// ClaimIncidents returns up to limit incidents that are due, the longest due first.
// Nobody else gets them until the transaction ends, which has to save them with
// another Due.
func (t *Tx) ClaimIncidents(ctx context.Context, now time.Time, limit int) ([]watch.Incident, error) {
	return t.incidents(ctx, "where due <= $1 order by due, id limit $2"+t.lock("update skip locked"), ms(now), limit)
}

// Incident returns an incident, or ErrNotFound. In a transaction that writes it stays
// as it is until that ends.
func (t *Tx) Incident(ctx context.Context, id int64) (*watch.Incident, error) {
	found, err := t.incidents(ctx, "where id = $1"+t.lock("update"), id)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("incident %d: %w", id, ErrNotFound)
	}
	return &found[0], nil
}

// Incidents returns a page of incidents, the latest first, and the cursor of the next
// page, 0 after the last.
func (t *Tx) Incidents(ctx context.Context, f IncidentFilter) (incidents []watch.Incident, next int64, err error) {
	limit := limited(f.Limit, mostRows)
	c := f.conditions()
	if f.After != 0 {
		c.and("id < ?", f.After)
	}
	incidents, err = t.incidents(ctx, c.where()+" order by id desc limit "+strconv.Itoa(limit+1), c.args...)
	if err != nil {
		return nil, 0, err
	}
	incidents, next = page(incidents, limit, func(i *watch.Incident) int64 { return i.ID })
	return incidents, next, nil
}

// IncidentCounts are how many incidents there are at each stage, of those that a filter
// selects; its Stage and After do not count.
func (t *Tx) IncidentCounts(ctx context.Context, f IncidentFilter) (map[watch.Stage]int64, error) {
	out := map[watch.Stage]int64{}
	for _, stage := range []watch.Stage{watch.StageOpen, watch.StageAcknowledged, watch.StageSnoozed, watch.StageResolved} {
		f.Stage = stage
		c := f.conditions()
		var n int64
		if err := t.one(ctx, "select count(*) from incidents"+c.where(), c.args, &n); err != nil {
			return nil, fmt.Errorf("count incidents: %w", err)
		}
		out[stage] = n
	}
	return out, nil
}

func (f *IncidentFilter) conditions() *conditions {
	c := &conditions{}
	if f.Monitor != 0 {
		c.and("monitor = ?", f.Monitor)
	}
	if f.Axis != "" {
		c.and("axis = ?", string(f.Axis))
	}
	if f.Open != nil {
		c.and(map[bool]string{true: "resolved_at is null", false: "resolved_at is not null"}[*f.Open])
	}
	switch f.Stage {
	case watch.StageOpen:
		c.and("resolved_at is null and acknowledged_at is null and coalesce(snoozed_until, 0) <= ?", ms(f.Now))
	case watch.StageAcknowledged:
		c.and("resolved_at is null and acknowledged_at is not null")
	case watch.StageSnoozed:
		c.and("resolved_at is null and acknowledged_at is null and snoozed_until > ?", ms(f.Now))
	case watch.StageResolved:
		c.and("resolved_at is not null")
	}
	if f.Assignee != "" {
		c.and("assignee = ?", f.Assignee)
	}
	if f.Text != "" {
		c.and(`monitor in (select id from monitors where search like ? escape '\')`, likeText(f.Text))
	}
	return c
}

func (t *Tx) incidents(ctx context.Context, rest string, args ...any) ([]watch.Incident, error) {
	var out []watch.Incident
	err := t.each(ctx, "select id, incident from incidents "+rest, args, func(rows *sql.Rows) error {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		var i watch.Incident
		err := decode(text, &i)
		i.ID = id
		out = append(out, i)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read incidents: %w", err)
	}
	return out, nil
}
