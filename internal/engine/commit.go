package engine

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

// commit is one transaction that stores a batch of observations and what follows. It
// is made anew for each try.
type commit struct {
	engine *Engine
	now    time.Time
	batch  []*item

	monitors map[int64]watch.Monitor
	states   map[int64]watch.State
	open     map[int64][]watch.Incident
	events   []watch.Event
	reports  []store.StoredReport
	seen     []store.Sighting
	confirm  []store.Confirmation
}

func (c *commit) run(ctx context.Context, tx *store.Tx) error {
	fresh, err := c.results(ctx, tx)
	if err != nil {
		return err
	}
	if err := c.load(ctx, tx, fresh); err != nil {
		return err
	}
	if err := c.surfaces(ctx, tx, fresh); err != nil {
		return err
	}
	for len(fresh) > 0 {
		// One observation of each monitor at a time: the next one is judged with what
		// became of the one before.
		var rest, wave []*item
		taken := map[int64]bool{}
		for _, it := range fresh {
			if taken[it.o.Monitor] {
				rest = append(rest, it)
				continue
			}
			taken[it.o.Monitor] = true
			wave = append(wave, it)
		}
		if err := c.wave(ctx, tx, wave); err != nil {
			return err
		}
		fresh = rest
	}
	if err := c.locations(ctx, tx); err != nil {
		return err
	}
	return c.save(ctx, tx)
}

// results stores the results, and returns the items that are new and of a check that ran.
func (c *commit) results(ctx context.Context, tx *store.Tx) ([]*item, error) {
	ids := make([]int64, 0, len(c.batch))
	for _, it := range c.batch {
		ids = append(ids, it.o.Monitor)
	}
	var err error
	// Locked before anything is written: a person who decides waits, and then sees
	// what is stored here.
	if c.states, err = tx.States(ctx, ids, true); err != nil {
		return nil, err
	}
	if err := c.standings(ctx, tx, ids); err != nil {
		return nil, err
	}
	windows, err := tx.Windows(ctx)
	if err != nil {
		return nil, err
	}
	calendar := watch.CalendarOf(windows)
	rows := make([]watch.Result, 0, len(c.batch))
	items := make([]*item, 0, len(c.batch))
	for _, it := range c.batch {
		m, ok := c.monitors[it.o.Monitor]
		if !ok {
			continue // deleted meanwhile
		}
		maintenance, _ := calendar.Open(&m, it.o.Started)
		it.o.Maintenance = !maintenance.IsZero()
		rows, items = append(rows, it.o.Result), append(items, it)
	}
	fresh, err := tx.InsertResults(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := items[:0]
	for i, it := range items {
		m := c.monitors[it.o.Monitor]
		if fresh[i] && it.o.Status != "" && !m.Paused {
			out = append(out, it)
		}
	}
	return out, nil
}

// standings loads the monitors as they are now. Those of which no more than their
// standing changed since they were checked are not read again.
func (c *commit) standings(ctx context.Context, tx *store.Tx, ids []int64) error {
	now, err := tx.Standings(ctx, ids)
	if err != nil {
		return err
	}
	c.monitors = make(map[int64]watch.Monitor, len(now))
	for _, it := range c.batch {
		m := it.m.Monitor
		if standing, ok := now[m.ID]; ok && m.Revision == standing.Revision {
			m.Approvals, m.Paused = standing.Approvals, standing.Paused
			c.monitors[m.ID] = m
		}
	}
	var edited []int64
	for id := range now {
		if _, ok := c.monitors[id]; !ok {
			edited = append(edited, id)
		}
	}
	if len(edited) == 0 {
		return nil
	}
	read, err := tx.MonitorsOf(ctx, edited)
	maps.Copy(c.monitors, read)
	return err
}

func (c *commit) load(ctx context.Context, tx *store.Tx, fresh []*item) (err error) {
	ids := make([]int64, 0, len(fresh))
	for _, it := range fresh {
		ids = append(ids, it.o.Monitor)
	}
	if len(ids) > 0 {
		c.open, err = tx.OpenIncidents(ctx, ids)
	}
	if c.open == nil {
		c.open = map[int64][]watch.Incident{}
	}
	return err
}

// surfaces stores the surfaces that differ from the last of their monitors. Two nodes see
// the same ones, and would wait for each other if each had its own order.
func (c *commit) surfaces(ctx context.Context, tx *store.Tx, fresh []*item) error {
	seen := map[surface.Digest]*surface.Surface{}
	for _, it := range fresh {
		if o := it.o; o.Surface != nil && o.Digest != c.states[o.Monitor].Digest {
			seen[o.Digest] = o.Surface
		}
	}
	for _, digest := range slices.SortedFunc(maps.Keys(seen), func(a, b surface.Digest) int { return bytes.Compare(a[:], b[:]) }) {
		if err := tx.PutSurface(ctx, seen[digest]); err != nil {
			return err
		}
	}
	return nil
}

// wave judges one observation of each of some monitors.
func (c *commit) wave(ctx context.Context, tx *store.Tx, wave []*item) error {
	var incidents []watch.Incident
	decisions := make([]watch.Decision, len(wave))
	for i, it := range wave {
		d, err := c.decide(ctx, tx, it)
		if err != nil {
			return err
		}
		decisions[i] = d
		incidents = append(incidents, d.Incidents...)
	}
	if err := tx.SaveIncidents(ctx, incidents); err != nil {
		return err
	}
	for i, it := range wave {
		d := &decisions[i]
		n := len(d.Incidents)
		c.number(d, incidents[:n])
		c.open[it.o.Monitor] = stillOpen(c.open[it.o.Monitor], incidents[:n])
		incidents = incidents[n:]
		c.states[it.o.Monitor] = d.State
		c.events = append(c.events, d.Events...)
		c.note(it, d)
	}
	return nil
}

// decide says what an observation means, and stores what is approved by it or ends.
func (c *commit) decide(ctx context.Context, tx *store.Tx, it *item) (watch.Decision, error) {
	m, o := c.monitors[it.o.Monitor], it.o
	has := it.m.hasApproval(c.now)
	if m.Approvals != it.m.Approvals {
		approved, err := tx.Approvals(ctx, m.ID, c.now, false)
		if err != nil {
			return watch.Decision{}, err
		}
		has = len(approved) > 0
	}
	d := watch.Decide(&m, c.states[m.ID], c.open[m.ID], o, watch.Context{Now: c.now, Maintenance: o.Maintenance, HasApproval: has})
	if d.Drop {
		if err := tx.EndApprovals(ctx, m.ID, "binding", c.now); err != nil {
			return d, err
		}
	}
	if d.First != nil {
		if _, err := tx.Approve(ctx, *d.First, false); err != nil {
			return d, err
		}
		it.first = true
	}
	if d.First != nil || d.Drop {
		m.Approvals++ // what else is in this batch was judged without it
		c.monitors[m.ID] = m
	}
	return d, nil
}

// number puts the ids of incidents, which they have since they were saved, into what
// refers to them.
func (c *commit) number(d *watch.Decision, saved []watch.Incident) {
	for i := range saved {
		if d.Incidents[i].ID != 0 {
			continue
		}
		id, axis := saved[i].ID, saved[i].Axis
		if saved[i].Open() {
			switch axis {
			case watch.Availability:
				d.State.Availability.Incident = id
			case watch.Surface:
				d.State.Surface.Incident = id
			case watch.Posture:
				d.State.Posture.Incident = id
			}
		}
		for j := range d.Events {
			e := &d.Events[j]
			if e.Name == watch.EventOpened && e.Axis == axis && e.Data != nil && e.Data.Incident == 0 {
				e.Data.Incident = id
			}
		}
	}
}

// stillOpen is what is open after incidents were saved.
func stillOpen(open, saved []watch.Incident) []watch.Incident {
	out := make([]watch.Incident, 0, len(open)+len(saved))
	changed := map[int64]bool{}
	for i := range saved {
		changed[saved[i].ID] = true
		if saved[i].Open() {
			out = append(out, saved[i])
		}
	}
	for i := range open {
		if !changed[open[i].ID] {
			out = append(out, open[i])
		}
	}
	return out
}

// note collects what is stored of an observation beside its decision.
func (c *commit) note(it *item, d *watch.Decision) {
	o := it.o
	if o.Report != nil {
		c.reports = append(c.reports, store.StoredReport{Monitor: o.Monitor, Location: o.Location, At: o.Started, Report: o.Report})
	}
	if it.sight {
		c.seen = append(c.seen, store.Sighting{Monitor: o.Monitor, Location: o.Location, Digest: o.Digest, At: o.Started})
	}
	if !d.ConfirmAt.IsZero() && !it.calls {
		c.confirm = append(c.confirm, store.Confirmation{Monitor: o.Monitor, Location: o.Location, At: d.ConfirmAt})
	}
}

// locations judges whether checks can be run at the locations of the batch.
func (c *commit) locations(ctx context.Context, tx *store.Tx) error {
	at := map[string][]*watch.Observation{}
	for _, it := range c.batch {
		if it.o.Status != "" {
			at[it.o.Location] = append(at[it.o.Location], it.o)
		}
	}
	for _, location := range slices.Sorted(maps.Keys(at)) {
		telling := c.engine.blindness.telling(location, at[location])
		if len(telling) == 0 {
			continue
		}
		open, err := tx.SystemIncident(ctx, location)
		if err != nil {
			return err
		}
		changed, events := watch.DecideSystem(location, open, telling, c.now)
		if changed != nil {
			saved := []watch.Incident{*changed}
			if err := tx.SaveIncidents(ctx, saved); err != nil {
				return err
			}
			for i := range events {
				if events[i].Data != nil && events[i].Data.Incident == 0 && events[i].Name != watch.EventBlind && events[i].Name != watch.EventSighted {
					events[i].Data.Incident = saved[0].ID
				}
			}
		}
		c.events = append(c.events, events...)
	}
	return nil
}

// save stores what was collected.
func (c *commit) save(ctx context.Context, tx *store.Tx) error {
	done := make([]store.Due, len(c.batch))
	touched := map[int64]bool{}
	var states []watch.State
	for i, it := range c.batch {
		done[i] = it.due
		st, ok := c.states[it.o.Monitor]
		if ok && it.o.Status != "" && !touched[it.o.Monitor] && st.Monitor != 0 {
			touched[it.o.Monitor] = true
			states = append(states, st)
		}
	}
	for _, step := range []func() error{
		func() error { return tx.SaveStates(ctx, states) },
		func() error { return tx.SaveReports(ctx, c.reports) },
		func() error { return tx.Saw(ctx, c.seen) },
		func() error { return tx.Release(ctx, done) },
		func() error { return tx.Confirm(ctx, c.confirm) },
		func() error { return tx.InsertEvents(ctx, c.events) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
