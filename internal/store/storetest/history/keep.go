package history

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

func (b *bench) retain(now time.Time, r store.Retention) store.Retained {
	b.Helper()
	done, err := b.Retain(b.Context(), now, r)
	if err != nil {
		b.Fatal(err)
	}
	return done
}

// testRetention keeps 90 days of a few monitors: the database stops growing once it is
// as old as the longest retention, and the counts of all 90 days stay exact.
func testRetention(t *testing.T, b *bench) {
	const (
		days, monitors, perDay = 90, 3, 96
		oneDay                 = 24 * time.Hour
	)
	ids := make([]int64, monitors)
	for i := range ids {
		ids[i] = b.monitor(fmt.Sprintf("m%d", i))
	}
	r := store.Retention{Raw: 2 * oneDay, FiveMinutes: 5 * oneDay, Hourly: 20 * oneDay}
	b.retain(day0(), r) // partitions are there before results are
	var size int64
	for d := range days {
		start := day0().Add(time.Duration(d) * oneDay)
		var results []watch.Result
		for i := range perDay {
			for j, id := range ids {
				status := "healthy"
				if i%(j+2) == 0 {
					status = "unhealthy"
				}
				results = append(results, result(id, start.Add(time.Duration(i)*oneDay/perDay), status, float64(i)))
			}
		}
		b.insert(results...)
		b.retain(start.Add(oneDay+5*time.Minute), r)
		b.vacuum()
		if d == 30 {
			size = b.size()
		}
	}
	same(t, "results", 2*perDay*monitors, b.number("select count(*) from results"))
	for period, kept := range map[time.Duration]int64{store.FiveMinutes: 5 * perDay, store.Hourly: 20 * 24, store.Daily: days} {
		same(t, "rollups of "+period.String(), kept*monitors, b.number("select count(*) from rollups where period = $1", period.Milliseconds()))
	}
	if now := b.size(); now > size+size/4 {
		t.Errorf("the database has grown from %d to %d bytes between the days 30 and 90", size, now)
	}
	for j, id := range ids {
		down := int64(days * perDay / (j + 2)) // every second, third and fourth
		up := int64(days*perDay) - down
		same(t, "uptime of 90 days", store.Uptime{
			From: day0(), To: day0().Add(days * oneDay), Ratio: ptr(float64(up) / float64(up+down)),
			Counts: store.Counts{Checks: days * perDay, Up: up, Down: down},
		}, b.uptime(id, day0(), day0().Add(days*oneDay)))
	}
	if b.Dialect() == store.Postgres {
		same(t, "results outside of partitions", 0, b.number("select count(*) from results_default"))
		// Two days kept, the last one, and three ahead.
		same(t, "partitions", 2+1+3+1, b.number("select count(*) from pg_inherits where inhparent = 'results'::regclass"))
	}
	t.Run("a monitor that is gone", func(t *testing.T) {
		b := b.on(t)
		b.do(func(ctx context.Context, t *store.Tx) error { return t.DeleteMonitor(ctx, ids[1]) })
		b.retain(day0().Add(days*oneDay+10*time.Minute), r)
		same(t, "rollups", 0, b.number("select count(*) from rollups where monitor = $1", ids[1]))
		if b.Dialect() == store.SQLite {
			same(t, "results", 0, b.number("select count(*) from results where monitor = $1", ids[1]))
		}
		same(t, "the others", 2*2*perDay, b.number("select count(*) from results where monitor <> $1", ids[1]))
		b.retain(day0().Add((days+10)*oneDay), r)
		same(t, "all results, once they are old", 0, b.number("select count(*) from results"))
	})
}

// size is that of results and rollups, of SQLite of the whole database.
func (b *bench) size() int64 {
	b.Helper()
	if b.Dialect() == store.SQLite {
		return b.stats(day0()).Bytes
	}
	return b.number(`select sum(pg_total_relation_size(oid)) from pg_class
		where relkind = 'r' and (relname like 'results%' or relname = 'rollups')`)
}

// vacuum does what PostgreSQL does by itself after a while.
func (b *bench) vacuum() {
	b.Helper()
	if b.Dialect() != store.Postgres {
		return
	}
	if _, err := b.DB().ExecContext(b.Context(), "vacuum rollups"); err != nil {
		b.Fatal(err)
	}
}

// testRetainRest has more of everything than one transaction drops.
func testRetainRest(t *testing.T, b *bench) {
	m := b.monitor("search")
	old, fresh := day0(), day0().Add(100*24*time.Hour)
	now := fresh.Add(time.Hour)
	var events []watch.Event
	for i := range 6000 {
		events = append(events, watch.Event{Monitor: m, At: old, Name: watch.EventUp, Text: fmt.Sprint(i)})
	}
	events = append(events, watch.Event{Monitor: m, At: fresh, Name: watch.EventDown})
	resolved := watch.Incident{Monitor: m, Axis: watch.Availability, Key: "old", State: watch.Down, OpenedAt: old, ResolvedAt: old.Add(time.Hour)}
	later, open := resolved, resolved
	later.Key, later.ResolvedAt = "later", fresh
	open.Key, open.ResolvedAt = "open", time.Time{}
	incidents := []watch.Incident{resolved, later, open}
	ann := b.account("ann")
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.InsertEvents(ctx, events); err != nil {
			return err
		}
		if err := t.SaveIncidents(ctx, incidents); err != nil {
			return err
		}
		var notifications []watch.Notification
		for i, at := range []time.Time{old, fresh, old} {
			notifications = append(notifications, watch.Notification{
				Key: fmt.Sprint(i), Incident: incidents[i].ID, Monitor: m, Channel: "chat", Phase: watch.Triggered, At: at, Status: watch.Sent,
			})
		}
		made, err := t.InsertNotifications(ctx, notifications)
		if err != nil {
			return err
		}
		for i, at := range []time.Time{old, fresh} {
			d := watch.Delivery{Notification: made[i].ID, Channel: "chat", Key: made[i].Key, Attempt: 1, At: at, OK: true}
			if err := t.RecordDelivery(ctx, d, watch.Sent); err != nil {
				return err
			}
		}
		return nil
	})
	b.exec("insert into audit (at, actor, action, object, detail) values ($1, '', '', '', ''), ($2, '', '', '', '')", old.UnixMilli(), fresh.UnixMilli())
	b.exec(`insert into sessions (token, account, created_at, seen_at, expires_at, address, agent)
		values ('a', $1, 1, 1, $2, '', ''), ('b', $1, 1, 1, $3, '', '')`, ann.ID, fresh.UnixMilli(), now.Add(time.Hour).UnixMilli())

	if done := b.retain(now, store.Retention{}); done.Events+done.Incidents+done.Audit != 0 {
		t.Errorf("100 days with the defaults drop %+v", done)
	}
	b.exec("update sessions set expires_at = $1 where token = 'a'", fresh.UnixMilli())
	keep := 50 * 24 * time.Hour
	done := b.retain(now, store.Retention{Events: keep, Incidents: keep, Deliveries: keep, Audit: keep})
	same(t, "events", 6000, done.Events)
	same(t, "incidents", 1, done.Incidents)
	same(t, "audit", 1, done.Audit)
	for _, table := range []string{"events", "audit", "deliveries", "sessions"} {
		same(t, table+" that stay", 1, b.number("select count(*) from "+table))
	}
	same(t, "incidents that stay", 2, b.number("select count(*) from incidents where key in ('later', 'open')"))
	// Of an incident that is open, what was told stays known.
	same(t, "notifications that stay", 2, b.number("select count(*) from notifications where key in ('1', '2')"))
	same(t, "for ever", store.Retained{Sessions: 1}, b.retain(now.Add(9999*24*time.Hour), store.Retention{
		Raw: store.Forever, Events: store.Forever, Incidents: store.Forever, Deliveries: store.Forever, Audit: store.Forever,
		Sightings: store.Forever,
	}))
}

// seen is a surface with one tool.
func seen(tool string) *surface.Surface {
	return surface.New(surface.Input{
		Opening:  json.RawMessage(`{"serverInfo":{"name":"s","version":"1"}}`),
		Protocol: "2025-06-18",
		Tools:    surface.List{Listed: true, Entries: []json.RawMessage{json.RawMessage(`{"name":"` + tool + `"}`)}},
	})
}

func testRetainSurfaces(t *testing.T, b *bench) {
	id := b.monitor("search")
	m := b.byName("search")
	sighted, latest, approved, inState, old, nowhere := seen("sighted"), seen("latest"), seen("approved"), seen("state"), seen("old"), seen("nowhere")
	now := day0().Add(500 * 24 * time.Hour)
	b.do(func(ctx context.Context, t *store.Tx) error {
		for _, s := range []*surface.Surface{sighted, latest, approved, inState, old, nowhere} {
			if err := t.PutSurface(ctx, s); err != nil {
				return err
			}
		}
		if err := t.Saw(ctx, []store.Sighting{
			{Monitor: id, Location: "local", Digest: old.Digest(), At: day0()},
			{Monitor: id, Location: "local", Digest: sighted.Digest(), At: now.Add(-time.Hour)},
			// The last one of a location stays, however old.
			{Monitor: id, Location: "fra", Digest: latest.Digest(), At: day0()},
		}); err != nil {
			return err
		}
		if _, err := t.Approve(ctx, watch.First(&m, baseline.Binding{Endpoint: m.Definition.URL}, approved, day0()), false); err != nil {
			return err
		}
		return t.SaveStates(ctx, []watch.State{{Monitor: id, Digest: inState.Digest()}})
	})
	done := b.retain(now, store.Retention{})
	same(t, "sightings", 1, done.Sightings)
	same(t, "surfaces", 2, done.Surfaces)
	b.do(func(ctx context.Context, tx *store.Tx) error {
		for name, s := range map[string]*surface.Surface{"sighted": sighted, "latest": latest, "approved": approved, "state": inState} {
			if _, err := tx.Surface(ctx, s.Digest()); err != nil {
				t.Errorf("surface %s: %v", name, err)
			}
		}
		for _, s := range []*surface.Surface{old, nowhere} {
			_, err := tx.Surface(ctx, s.Digest())
			wantError(t, err, store.ErrNotFound)
		}
		return nil
	})
	t.Run("a monitor that sees another surface each time", func(t *testing.T) {
		b := b.on(t)
		b.exec(`insert into sightings (monitor, location, digest, first_at, last_at)
			with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
			select $1, 'local', 'd' || i, cast($2 as bigint) + i, cast($2 as bigint) + i from n`, id, now.UnixMilli())
		done := b.retain(now.Add(time.Hour), store.Retention{})
		same(t, "sightings that go", 12000+2-5000, done.Sightings)
		same(t, "the latest is kept", 1, b.number("select count(*) from sightings where digest = 'd12000'"))
		same(t, "the oldest that is kept", 1, b.number("select count(*) from sightings where digest = 'd7001'"))
	})
}

func (b *bench) stats(now time.Time) store.Stats {
	b.Helper()
	var s store.Stats
	b.do(func(ctx context.Context, t *store.Tx) (err error) {
		s, err = t.Stats(ctx, now)
		return err
	})
	return s
}

func testStats(t *testing.T, b *bench) {
	var ids []int64
	for i := range 5 {
		ids = append(ids, b.monitor(fmt.Sprintf("m%d", i)))
	}
	now := at(10, 0)
	incident := watch.Incident{Monitor: ids[0], Axis: watch.Availability, Key: "k", State: watch.Down, OpenedAt: now}
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.SaveIncidents(ctx, []watch.Incident{incident}); err != nil {
			return err
		}
		_, err := t.InsertNotifications(ctx, []watch.Notification{
			{Key: "1", Incident: 1, Channel: "c", Phase: watch.Triggered, At: now.Add(-time.Minute), Status: watch.Pending},
			{Key: "2", Incident: 1, Channel: "c", Phase: watch.Triggered, At: now, Status: watch.Pending},
			{Key: "3", Incident: 1, Channel: "c", Phase: watch.Triggered, At: now, Status: watch.Failed},
		})
		return err
	})
	b.exec("update monitors set paused = $1 where id = $2", true, ids[4])
	b.exec("update schedule set due = null")
	b.exec("update schedule set due = $1 where monitor = $2", now.Add(-3*time.Second).UnixMilli(), ids[0])
	b.exec("update schedule set due = $1 where monitor = $2", now.Add(time.Second).UnixMilli(), ids[1])
	b.exec("update schedule set due = $1, busy_until = $2 where monitor = $3", now.Add(-time.Hour).UnixMilli(), now.Add(time.Second).UnixMilli(), ids[2])
	got := b.stats(now)
	if got.Bytes < 10_000 {
		t.Errorf("a database of %d bytes", got.Bytes)
	}
	got.Bytes = 0
	same(t, "stats", store.Stats{
		Monitors: 5, Paused: 1,
		OpenIncidents: map[watch.Axis]int64{watch.Availability: 1},
		Pending:       2, Failed: 1, OldestPending: time.Minute,
		Due: 1, Busy: 1, Lag: 3 * time.Second,
	}, got)
}
