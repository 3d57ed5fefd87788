package storetest

import (
	"bytes"
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

func monitorTests() []test {
	return []test{
		{"a monitor is what was stored", storedMonitor},
		{"names and external ids are unique", uniqueMonitors},
		{"a monitor is updated by who knows its revision", updatedMonitor},
		{"a deleted monitor leaves its events and incidents", deletedMonitor},
		{"monitors are filtered", filteredMonitors},
		{"monitors come in pages", pagedMonitors},
		{"headers are sealed for their monitor", sealedHeaders},
	}
}

func storedMonitor(t *testing.T, s *store.Store) {
	m := NewMonitor("search")
	m.ExternalID = "ext-1"
	m.Definition.Tags = []string{"prod", "ü ß", "prod"}
	m.Definition.Group = "team"
	m.Definition.DriftEffects = map[surface.Class]surface.Effect{surface.ToolText: surface.Fail}
	m.Definition.Dependencies = []watch.Dependency{{Monitor: "other", Critical: true}}
	m.CreatedAt = epoch().Add(123456789) // cut to milliseconds
	in(t, s, func(tx *store.Tx) error { return tx.InsertMonitor(t.Context(), &m) })
	if m.ID == 0 || m.Revision != 1 {
		t.Errorf("id %d, revision %d", m.ID, m.Revision)
	}
	m.CreatedAt = epoch().Add(123 * time.Millisecond)
	view(t, s, func(tx *store.Tx) error {
		ctx := t.Context()
		byID, err1 := tx.Monitor(ctx, m.ID)
		byName, err2 := tx.MonitorByName(ctx, "search")
		byExternal, err3 := tx.MonitorByExternalID(ctx, "ext-1")
		for _, got := range []*watch.Monitor{byID, byName, byExternal} {
			if diff := cmp.Diff(&m, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
		of, err4 := tx.MonitorsOf(ctx, []int64{m.ID, m.ID + 1})
		if diff := cmp.Diff(map[int64]watch.Monitor{m.ID: m}, of); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, get := range []func() (*watch.Monitor, error){
			func() (*watch.Monitor, error) { return tx.Monitor(ctx, m.ID+1) },
			func() (*watch.Monitor, error) { return tx.MonitorByName(ctx, "Search") },
			func() (*watch.Monitor, error) { return tx.MonitorByExternalID(ctx, "") },
		} {
			if got, err := get(); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %v, error %v", got, err)
			}
		}
		return errors.Join(err1, err2, err3, err4)
	})
}

func uniqueMonitors(t *testing.T, s *store.Store) {
	Insert(t, s, 2, func(i int, m *watch.Monitor) { m.ExternalID = []string{"a", ""}[i] })
	field := func(err error) string {
		var exists *store.ExistsError
		if !errors.As(err, &exists) {
			t.Fatalf("got error %v", err)
		}
		return exists.Field
	}
	in(t, s, func(tx *store.Tx) error {
		m := NewMonitor("monitor-0001")
		if got := field(tx.InsertMonitor(t.Context(), &m)); got != "name" {
			t.Errorf("got field %q", got)
		}
		m = NewMonitor("other")
		m.ExternalID = "a"
		if got := field(tx.InsertMonitor(t.Context(), &m)); got != "external_id" {
			t.Errorf("got field %q", got)
		}
		m.ExternalID = "" // several may have none, and the transaction goes on
		return tx.InsertMonitor(t.Context(), &m)
	})
	for _, c := range []struct{ name, external, want string }{
		{"monitor-0001", "", "name"}, {"monitor-0002", "a", "external_id"},
	} {
		err := s.InTx(t.Context(), func(tx *store.Tx) error {
			m, err := tx.MonitorByName(t.Context(), "monitor-0002")
			if err != nil {
				return err
			}
			m.Definition.Name, m.ExternalID = c.name, c.external
			return tx.UpdateMonitor(t.Context(), m, m.Revision)
		})
		if got := field(err); got != c.want {
			t.Errorf("got field %q, want %q", got, c.want)
		}
	}
}

func updatedMonitor(t *testing.T, s *store.Store) {
	m := Insert(t, s, 1, nil)[0]
	m.Definition.Name, m.Definition.Tags = "renamed", []string{"new"}
	m.UpdatedAt = epoch().Add(time.Hour)
	in(t, s, func(tx *store.Tx) error {
		old := m
		if err := tx.UpdateMonitor(t.Context(), &old, 7); !errors.Is(err, store.ErrConflict) {
			t.Errorf("another revision: got error %v", err)
		}
		old.ID++
		if err := tx.UpdateMonitor(t.Context(), &old, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another id: got error %v", err)
		}
		return tx.UpdateMonitor(t.Context(), &m, 1)
	})
	if m.Revision != 2 {
		t.Errorf("revision %d", m.Revision)
	}
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.MonitorByName(t.Context(), "renamed")
		if diff := cmp.Diff(&m, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		tagged, _, err2 := tx.Monitors(t.Context(), store.MonitorFilter{Tag: "new", Text: "RENAMED"})
		if len(tagged) != 1 {
			t.Errorf("%d monitors are found by their new tag", len(tagged))
		}
		return errors.Join(err, err2)
	})
}

func deletedMonitor(t *testing.T, s *store.Store) {
	m := Insert(t, s, 1, func(_ int, m *watch.Monitor) { m.Definition.Tags = []string{"tag"} })[0]
	ctx, seen := t.Context(), sample("deleted")
	in(t, s, func(tx *store.Tx) error {
		_, err := tx.Approve(ctx, approval(&m, seen, epoch()), false)
		return errors.Join(err,
			tx.SaveStates(ctx, []watch.State{{Monitor: m.ID}}),
			tx.SaveReports(ctx, []store.StoredReport{{Monitor: m.ID, Location: "local", At: epoch(), Report: watch.Report(`{}`)}}),
			tx.Saw(ctx, []store.Sighting{{Monitor: m.ID, Location: "local", Digest: seen.Digest(), At: epoch()}}),
			tx.InsertEvents(ctx, []watch.Event{{Monitor: m.ID, At: epoch(), Name: watch.EventCreated}}),
			tx.SaveIncidents(ctx, []watch.Incident{{Monitor: m.ID, Axis: watch.Availability, Key: "k", OpenedAt: epoch()}}),
		)
	})
	in(t, s, func(tx *store.Tx) error { return tx.DeleteMonitor(ctx, m.ID) })
	in(t, s, func(tx *store.Tx) error {
		if err := tx.DeleteMonitor(ctx, m.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("again: got error %v", err)
		}
		for _, table := range []string{"schedule", "states", "reports", "sightings", "approvals", "monitor_tags"} {
			var n int
			if err := tx.SQL().QueryRowContext(ctx, "select count(*) from "+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d rows are left, error %v", table, n, err)
			}
		}
		events, _, err1 := tx.Events(ctx, store.EventFilter{Monitor: m.ID})
		incidents, _, err2 := tx.Incidents(ctx, store.IncidentFilter{Monitor: m.ID})
		if len(events) != 1 || len(incidents) != 1 {
			t.Errorf("%d events and %d incidents are left", len(events), len(incidents))
		}
		// What a check in flight writes of it is dropped.
		err3 := errors.Join(
			tx.SaveStates(ctx, []watch.State{{Monitor: m.ID}}),
			tx.SaveReports(ctx, []store.StoredReport{{Monitor: m.ID, Location: "local", At: epoch(), Report: watch.Report(`{}`)}}),
			tx.Saw(ctx, []store.Sighting{{Monitor: m.ID, Location: "local", Digest: seen.Digest(), At: epoch()}}),
		)
		next := NewMonitor("next")
		err4 := tx.InsertMonitor(ctx, &next)
		if next.ID <= m.ID {
			t.Errorf("the id %d was used again, as %d", m.ID, next.ID)
		}
		return errors.Join(err1, err2, err3, err4)
	})
}

func filteredMonitors(t *testing.T, s *store.Store) {
	Insert(t, s, 4, func(i int, m *watch.Monitor) {
		m.Paused = i == 3
		m.Definition.Group = []string{"Red", "red", "", "blue_50%"}[i]
		m.Definition.Tags = [][]string{{"prod"}, {"prod", "Search"}, nil, {"production"}}[i]
		if i == 2 {
			m.Source = watch.FromFile
		}
	})
	ctx := t.Context()
	in(t, s, func(tx *store.Tx) error {
		return tx.SaveStates(ctx, []watch.State{
			{Monitor: 1, Availability: watch.AxisState{State: watch.Up}, Surface: watch.AxisState{State: watch.AsApproved}, Posture: watch.AxisState{State: watch.Clean}},
			{Monitor: 2, Availability: watch.AxisState{State: watch.Down}, Surface: watch.AxisState{State: watch.Changed}, Posture: watch.AxisState{State: watch.Flagged}},
		})
	})
	yes, no := true, false
	for _, c := range []struct {
		name string
		f    store.MonitorFilter
		want string
	}{
		{"all", store.MonitorFilter{}, "1 2 3 4"},
		{"text in a name", store.MonitorFilter{Text: "MONITOR-0002"}, "2"},
		{"text in a URL", store.MonitorFilter{Text: "0003.example/"}, "3"},
		{"text in a tag", store.MonitorFilter{Text: "search"}, "2"},
		{"text in a group, with signs of patterns", store.MonitorFilter{Text: "e_50%"}, "4"},
		{"signs of patterns alone", store.MonitorFilter{Text: "%"}, "4"},
		{"tag", store.MonitorFilter{Tag: "prod"}, "1 2"},
		{"group", store.MonitorFilter{Group: "red"}, "2"},
		{"source", store.MonitorFilter{Source: watch.FromFile}, "3"},
		{"availability", store.MonitorFilter{Availability: watch.Down}, "2"},
		{"never checked", store.MonitorFilter{Availability: watch.Unknown}, "3 4"},
		{"surface and posture", store.MonitorFilter{Surface: watch.AsApproved, Posture: watch.Clean}, "1"},
		{"both cannot be", store.MonitorFilter{Surface: watch.AsApproved, Posture: watch.Flagged}, ""},
		{"paused", store.MonitorFilter{Paused: &yes}, "4"},
		{"not paused", store.MonitorFilter{Paused: &no, Tag: "prod", Text: "monitor"}, "1 2"},
		{"nothing", store.MonitorFilter{Text: "' or 1=1 --"}, ""},
	} {
		view(t, s, func(tx *store.Tx) error {
			rows, next, err := tx.Monitors(ctx, c.f)
			var got []string
			for _, r := range rows {
				got = append(got, fmt.Sprint(r.ID))
				if (r.State != nil) != (r.ID <= 2) || r.State != nil && r.State.Monitor != r.ID {
					t.Errorf("%s: monitor %d has the state %v", c.name, r.ID, r.State)
				}
			}
			if strings.Join(got, " ") != c.want || next != 0 {
				t.Errorf("%s: got %v and then %d, want %s", c.name, got, next, c.want)
			}
			return err
		})
	}
}

func pagedMonitors(t *testing.T, s *store.Store) {
	Insert(t, s, 7, nil)
	view(t, s, func(tx *store.Tx) error {
		var got []int64
		var sizes []int
		for next := int64(0); ; {
			rows, after, err := tx.Monitors(t.Context(), store.MonitorFilter{Limit: 3, After: next})
			if err != nil {
				return err
			}
			for _, r := range rows {
				got = append(got, r.ID)
			}
			sizes = append(sizes, len(rows))
			if next = after; next == 0 {
				break
			}
		}
		if diff := cmp.Diff([]int64{1, 2, 3, 4, 5, 6, 7}, got); diff != "" || !cmp.Equal(sizes, []int{3, 3, 1}) {
			t.Errorf("sizes %v (-want +got)\n%s", sizes, diff)
		}
		return nil
	})
}

func sealedHeaders(t *testing.T, s *store.Store) {
	Insert(t, s, 2, nil)
	ctx, want := t.Context(), map[string]string{"X-Key": "very-secret"}
	in(t, s, func(tx *store.Tx) error {
		if err := tx.SetHeaders(ctx, 3, want); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such monitor: got error %v", err)
		}
		return tx.SetHeaders(ctx, 1, want)
	})
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Headers(ctx, 1)
		none, err2 := tx.Headers(ctx, 2)
		if diff := cmp.Diff(want, got); diff != "" || none != nil {
			t.Errorf("the other has %v (-want +got)\n%s", none, diff)
		}
		var stored []byte
		err3 := tx.SQL().QueryRowContext(ctx, "select headers from monitors where id = 1").Scan(&stored)
		if len(stored) == 0 || bytes.Contains(stored, []byte("secret")) {
			t.Errorf("stored as %q", stored)
		}
		return errors.Join(err, err2, err3)
	})
	in(t, s, func(tx *store.Tx) error {
		// Moved to another monitor they do not open.
		_, err := tx.SQL().ExecContext(ctx, "update monitors set headers = (select headers from monitors where id = 1) where id = 2")
		if got, err := tx.Headers(ctx, 2); err == nil {
			t.Errorf("the headers of another monitor open as %v", got)
		}
		return errors.Join(err, tx.SetHeaders(ctx, 1, nil))
	})
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Headers(ctx, 1)
		if got != nil {
			t.Errorf("after they were removed: %v", got)
		}
		return err
	})
}
