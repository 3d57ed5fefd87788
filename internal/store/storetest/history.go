package storetest

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

func historyTests() []test {
	return []test{
		{"a result is new once", freshResults},
		{"a result keeps all that it had", wholeResults},
		{"a thousand results", manyResults},
		{"states are what was stored", storedStates},
		{"the last report of each location", lastReports},
		{"events have increasing ids", increasingEvents},
		{"events are filtered, in pages and in both directions", filteredEvents},
	}
}

// NewResult is a healthy result of a regular slot.
func NewResult(monitor int64, slot time.Time) watch.Result {
	return watch.Result{
		Monitor: monitor, Location: watch.DefaultLocation, Slot: slot, Kind: watch.Scheduled, Started: slot.Add(time.Millisecond),
		Status: "healthy", Timing: watch.Timing{Total: 12.5},
	}
}

func freshResults(t *testing.T, s *store.Store) {
	a, b := NewResult(1, epoch()), NewResult(1, epoch().Add(time.Minute))
	confirm, elsewhere, other := a, a, a
	confirm.Kind, elsewhere.Location, other.Monitor = watch.Confirm, "paris", 2
	repeated := a
	repeated.Status = "unhealthy"
	for i, c := range []struct {
		results []watch.Result
		want    []bool
	}{
		{nil, []bool{}},
		{[]watch.Result{a, b, a}, []bool{true, true, false}},
		{[]watch.Result{repeated, confirm, elsewhere, b, other}, []bool{false, true, true, false, true}},
	} {
		in(t, s, func(tx *store.Tx) error {
			got, err := tx.InsertResults(t.Context(), c.results)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%d (-want +got)\n%s", i, diff)
			}
			return err
		})
	}
	view(t, s, func(tx *store.Tx) error {
		var n, bad int
		err := tx.SQL().QueryRowContext(t.Context(), "select count(*), count(case when status = 'unhealthy' then 1 end) from results").Scan(&n, &bad)
		if n != 5 || bad != 0 {
			t.Errorf("%d results, %d of them replaced", n, bad)
		}
		return err
	})
}

func wholeResults(t *testing.T, s *store.Store) {
	r := NewResult(1, epoch())
	n, f := 7, func(v float64) *float64 { return &v }
	r.Reason, r.Step, r.Message, r.Tools, r.Maintenance = "timeout", "tools", "it took long", &n, true
	r.Timing = watch.Timing{Total: 0.25, Init: f(1), List: f(2), DNS: f(3), TCP: f(4), TLS: f(5), FirstByte: f(0)}
	r.Digest = surface.Digest{1, 2, 3}
	bare := NewResult(2, epoch())
	bare.Status = "" // a slot that was skipped
	in(t, s, func(tx *store.Tx) error {
		_, err := tx.InsertResults(t.Context(), []watch.Result{r, bare})
		return err
	})
	view(t, s, func(tx *store.Tx) error {
		for _, want := range []watch.Result{r, bare} {
			got, err := readResult(t, tx, want.Monitor)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		}
		return nil
	})
}

func readResult(t *testing.T, tx *store.Tx, monitor int64) (watch.Result, error) {
	r := watch.Result{Monitor: monitor}
	var slot, started int64
	var digest string
	err := tx.SQL().QueryRowContext(t.Context(), `select slot, location, kind, started, status, reason, step, message,
		total_ms, init_ms, list_ms, dns_ms, tcp_ms, tls_ms, first_byte_ms, tools, digest, maintenance
		from results where monitor = $1`, monitor).Scan(&slot, &r.Location, &r.Kind, &started, &r.Status, &r.Reason, &r.Step, &r.Message,
		&r.Timing.Total, &r.Timing.Init, &r.Timing.List, &r.Timing.DNS, &r.Timing.TCP, &r.Timing.TLS, &r.Timing.FirstByte,
		&r.Tools, &digest, &r.Maintenance)
	r.Slot, r.Started = time.UnixMilli(slot).UTC(), time.UnixMilli(started).UTC()
	if digest != "" {
		err = errors.Join(err, r.Digest.UnmarshalText([]byte(digest)))
	}
	return r, err
}

func manyResults(t *testing.T, s *store.Store) {
	results := make([]watch.Result, 1000)
	for i := range results {
		results[i] = NewResult(int64(i%100+1), epoch().Add(time.Duration(i/100)*time.Minute))
	}
	for i, want := range []int{1000, 0} {
		in(t, s, func(tx *store.Tx) error {
			fresh, err := tx.InsertResults(t.Context(), results)
			got := 0
			for _, f := range fresh {
				if f {
					got++
				}
			}
			if got != want {
				t.Errorf("time %d: %d are new, want %d", i+1, got, want)
			}
			return err
		})
	}
}

func storedStates(t *testing.T, s *store.Store) {
	Insert(t, s, 3, nil)
	n := 3
	want := watch.State{
		Monitor: 1, Revision: 4, Check: watch.CheckFail, CheckReason: "down", LastCheck: epoch(), Tools: &n,
		Availability: watch.AxisState{State: watch.Down, Since: epoch(), Incident: 9},
		Locations:    map[string]watch.LocationState{"local": {At: epoch(), Fails: 2, Recent: 3, RecentN: 5}},
		Digest:       surface.Digest{9}, Said: []string{"a", "b"}, CertificateEnds: epoch().AddDate(1, 0, 0),
	}
	older := want
	older.Check = watch.CheckPass
	in(t, s, func(tx *store.Tx) error {
		return tx.SaveStates(t.Context(), []watch.State{older, {Monitor: 2}, want, {Monitor: 77}})
	})
	for _, lock := range []bool{true, false} {
		in(t, s, func(tx *store.Tx) error {
			got, err := tx.States(t.Context(), []int64{3, 1, 77}, lock)
			if diff := cmp.Diff(map[int64]watch.State{1: want}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			return err
		})
	}
	want.Check, want.Said = watch.CheckPass, nil
	in(t, s, func(tx *store.Tx) error { return tx.SaveStates(t.Context(), []watch.State{want}) })
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.States(t.Context(), []int64{1}, true) // a view has no locks
		if diff := cmp.Diff(map[int64]watch.State{1: want}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return err
	})
}

func lastReports(t *testing.T, s *store.Store) {
	Insert(t, s, 2, nil)
	long := `{"text":"` + strings.Repeat("long and ü ", 5_000) + `"}`
	report := func(monitor int64, location, text string, minute int) store.StoredReport {
		return store.StoredReport{
			Monitor: monitor, Location: location, At: epoch().Add(time.Duration(minute) * time.Minute), Report: watch.Report(text),
		}
	}
	in(t, s, func(tx *store.Tx) error {
		return errors.Join(
			tx.SaveReports(t.Context(), []store.StoredReport{report(1, "paris", `{"n":1}`, 1), report(1, "local", `{"n":2}`, 2), report(2, "local", `{}`, 3)}),
			tx.SaveReports(t.Context(), []store.StoredReport{report(1, "local", `{"n":3}`, 4), report(1, "local", long, 5)}),
		)
	})
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Reports(t.Context(), 1)
		want := []store.StoredReport{report(1, "local", long, 5), report(1, "paris", `{"n":1}`, 1)}
		if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		none, err2 := tx.Reports(t.Context(), 3)
		if len(none) != 0 {
			t.Errorf("reports of nobody: %v", none)
		}
		return errors.Join(err, err2)
	})
}

func increasingEvents(t *testing.T, s *store.Store) {
	var last int64
	for range 3 {
		events := make([]watch.Event, 500)
		for i := range events {
			events[i] = watch.Event{Monitor: int64(i % 7), At: epoch(), Name: fmt.Sprintf("event_%d", i)}
		}
		in(t, s, func(tx *store.Tx) error { return tx.InsertEvents(t.Context(), events) })
		for i := range events {
			if events[i].ID <= last {
				t.Fatalf("id %d comes after %d", events[i].ID, last)
			}
			last = events[i].ID
		}
		in(t, s, func(tx *store.Tx) error {
			var name sql.NullString
			err := tx.SQL().QueryRowContext(t.Context(), "select name from events where id = $1", events[321].ID).Scan(&name)
			if name.String != "event_321" {
				t.Errorf("the id of event_321 is that of %q", name.String)
			}
			return err
		})
	}
}

func filteredEvents(t *testing.T, s *store.Store) {
	events := []watch.Event{
		{Monitor: 1, At: epoch(), Name: watch.EventCreated, Text: "made", Actor: "user:ann"},
		{Monitor: 2, At: epoch().Add(time.Minute), Name: watch.EventCreated},
		{Monitor: 1, At: epoch().Add(2 * time.Minute), Name: watch.EventDown, Axis: watch.Availability, Data: &watch.Facts{Reason: "timeout", Count: 2}},
		{At: epoch().Add(3 * time.Minute), Name: watch.EventBlind, Axis: watch.System, Data: &watch.Facts{}},
		{Monitor: 1, At: epoch().Add(4 * time.Minute), Name: watch.EventUp, Axis: watch.Availability},
	}
	in(t, s, func(tx *store.Tx) error { return tx.InsertEvents(t.Context(), events) })
	id := func(i int) int64 { return events[i].ID }
	for _, c := range []struct {
		name string
		f    store.EventFilter
		want []int
		next int64
	}{
		{"all, the latest first", store.EventFilter{}, []int{4, 3, 2, 1, 0}, 0},
		{"of a monitor, the oldest first", store.EventFilter{Monitor: 1, Ascending: true}, []int{0, 2, 4}, 0},
		{"of an axis", store.EventFilter{Axis: watch.Availability}, []int{4, 2}, 0},
		{"by names", store.EventFilter{Names: []string{watch.EventCreated, watch.EventBlind, "no"}}, []int{3, 1, 0}, 0},
		{"by time, with from and without to", store.EventFilter{From: epoch().Add(time.Minute), To: epoch().Add(4 * time.Minute)}, []int{3, 2, 1}, 0},
		{"a page", store.EventFilter{Limit: 2}, []int{4, 3}, id(3)},
		{"the next page", store.EventFilter{Limit: 2, After: id(3)}, []int{2, 1}, id(1)},
		{"the last page", store.EventFilter{Limit: 2, After: id(1)}, []int{0}, 0},
		{"what came after", store.EventFilter{After: id(2), Ascending: true}, []int{3, 4}, 0},
		{"a page upwards", store.EventFilter{Limit: 1, After: id(2), Ascending: true}, []int{3}, id(3)},
		{"all at once", store.EventFilter{Monitor: 1, Names: []string{watch.EventDown}, From: epoch(), After: id(4)}, []int{2}, 0},
	} {
		view(t, s, func(tx *store.Tx) error {
			got, next, err := tx.Events(t.Context(), c.f)
			var want []watch.Event
			for _, i := range c.want {
				want = append(want, events[i])
			}
			if diff := cmp.Diff(want, got); diff != "" || next != c.next {
				t.Errorf("%s: next %d, want %d (-want +got)\n%s", c.name, next, c.next, diff)
			}
			return err
		})
	}
}
