package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func incidentTests() []test {
	return []test{
		{"one incident of a monitor and an axis is open", oneOpenIncident},
		{"the incident of a location", systemIncident},
		{"incidents are due, the longest first", dueIncidents},
		{"incidents are filtered", filteredIncidents},
		{"incidents are at a stage, and somebody's", stagedIncidents},
		{"events of an incident", eventsOfIncident},
		{"a notification is new once", freshNotifications},
		{"deliveries", recordedDeliveries},
	}
}

func incident(monitor int64, axis watch.Axis, key string) watch.Incident {
	return watch.Incident{
		Monitor: monitor, Axis: axis, Key: key, State: watch.Down, Title: "it is down", OpenedAt: epoch(),
		Escalation: watch.DefaultEscalation, Items: []string{"a"},
	}
}

func save(t *testing.T, s *store.Store, incidents ...watch.Incident) []watch.Incident {
	t.Helper()
	in(t, s, func(tx *store.Tx) error { return tx.SaveIncidents(t.Context(), incidents) })
	return incidents
}

func oneOpenIncident(t *testing.T, s *store.Store) {
	saved := save(t, s, incident(1, watch.Availability, "a"), incident(1, watch.Surface, "b"), incident(2, watch.Availability, "c"))
	for _, c := range []struct {
		name  string
		again watch.Incident
	}{
		{"the same axis", incident(1, watch.Availability, "d")},
		{"the same axis and key", incident(1, watch.Availability, "a")},
	} {
		err := s.InTx(t.Context(), func(tx *store.Tx) error { return tx.SaveIncidents(t.Context(), []watch.Incident{c.again}) })
		var exists *store.ExistsError
		if !errors.Is(err, store.ErrIncidentOpen) && !errors.As(err, &exists) {
			t.Errorf("%s: got error %v", c.name, err)
		}
	}
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.SaveIncidents(t.Context(), []watch.Incident{incident(1, watch.Availability, "d")})
	})
	if !errors.Is(err, store.ErrIncidentOpen) {
		t.Errorf("got error %v, want %v", err, store.ErrIncidentOpen)
	}
	// One that is resolved makes way, in the same call.
	saved[0].ResolvedAt, saved[0].Told = epoch().Add(time.Minute), []string{"pager"}
	both := save(t, s, incident(1, watch.Availability, "d"), saved[0])
	if both[0].ID <= saved[2].ID {
		t.Errorf("the new incident has id %d", both[0].ID)
	}
	in(t, s, func(tx *store.Tx) error {
		open, err := tx.OpenIncidents(t.Context(), []int64{1, 2, 3})
		want := map[int64][]watch.Incident{1: {saved[1], both[0]}, 2: {saved[2]}}
		if diff := cmp.Diff(want, open); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		got, err2 := tx.Incident(t.Context(), saved[0].ID)
		if diff := cmp.Diff(&saved[0], got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if _, err := tx.Incident(t.Context(), 99); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such incident: got error %v", err)
		}
		return errors.Join(err, err2)
	})
}

func systemIncident(t *testing.T, s *store.Store) {
	blind := incident(0, watch.System, "blind")
	blind.Location = "paris"
	other := incident(0, watch.System, "other")
	other.Location = "rome"
	saved := save(t, s, blind, other)
	in(t, s, func(tx *store.Tx) error {
		got, err := tx.SystemIncident(t.Context(), "paris")
		if diff := cmp.Diff(&saved[0], got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		none, err2 := tx.SystemIncident(t.Context(), "local")
		if none != nil {
			t.Errorf("of another location: %v", none)
		}
		return errors.Join(err, err2)
	})
	saved[0].ResolvedAt = epoch()
	save(t, s, saved[0])
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.SystemIncident(t.Context(), "paris")
		if got != nil {
			t.Errorf("resolved, and still %v", got)
		}
		return err
	})
}

func dueIncidents(t *testing.T, s *store.Store) {
	var incidents []watch.Incident
	for i, minute := range []int{3, 1, 2, 0, 9} {
		n := incident(int64(i+1), watch.Availability, fmt.Sprint(i))
		if minute > 0 {
			n.Due = epoch().Add(time.Duration(minute) * time.Minute)
		}
		incidents = append(incidents, n)
	}
	save(t, s, incidents...)
	claim := func(limit int) (monitors []int64) {
		in(t, s, func(tx *store.Tx) error {
			got, err := tx.ClaimIncidents(t.Context(), epoch().Add(3*time.Minute), limit)
			for i := range got {
				monitors = append(monitors, got[i].Monitor)
				got[i].Due = time.Time{}
			}
			return errors.Join(err, tx.SaveIncidents(t.Context(), got))
		})
		return monitors
	}
	if diff := cmp.Diff([][]int64{{2, 3}, {1}, nil}, [][]int64{claim(2), claim(2), claim(2)}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func filteredIncidents(t *testing.T, s *store.Store) {
	resolved := incident(1, watch.Surface, "b")
	resolved.ResolvedAt = epoch()
	save(t, s, incident(1, watch.Availability, "a"), resolved, incident(2, watch.Availability, "c"), incident(0, watch.System, "d"))
	yes, no := true, false
	for _, c := range []struct {
		name string
		f    store.IncidentFilter
		want []string
		next bool
	}{
		{"all", store.IncidentFilter{}, []string{"d", "c", "b", "a"}, false},
		{"of a monitor", store.IncidentFilter{Monitor: 1}, []string{"b", "a"}, false},
		{"of an axis", store.IncidentFilter{Axis: watch.Availability}, []string{"c", "a"}, false},
		{"open", store.IncidentFilter{Open: &yes, Monitor: 1}, []string{"a"}, false},
		{"resolved", store.IncidentFilter{Open: &no}, []string{"b"}, false},
		{"a page", store.IncidentFilter{Limit: 2}, []string{"d", "c"}, true},
	} {
		view(t, s, func(tx *store.Tx) error {
			got, next, err := tx.Incidents(t.Context(), c.f)
			var keys []string
			for i := range got {
				keys = append(keys, got[i].Key)
			}
			if diff := cmp.Diff(c.want, keys); diff != "" || (next != 0) != c.next {
				t.Errorf("%s: next %d (-want +got)\n%s", c.name, next, diff)
			}
			if !c.next {
				return err
			}
			rest, last, err2 := tx.Incidents(t.Context(), store.IncidentFilter{After: next})
			if len(rest) != 2 || last != 0 {
				t.Errorf("%s: %d follow, then %d", c.name, len(rest), last)
			}
			return errors.Join(err, err2)
		})
	}
}

func stagedIncidents(t *testing.T, s *store.Store) {
	m := NewMonitor("search")
	in(t, s, func(tx *store.Tx) error { return tx.InsertMonitor(t.Context(), &m) })
	open := incident(m.ID, watch.Availability, "open")
	acknowledged, snoozed, resolved := incident(2, watch.Availability, "acknowledged"), incident(3, watch.Availability, "snoozed"), incident(4, watch.Availability, "resolved")
	acknowledged.AcknowledgedAt, acknowledged.Assignee = epoch(), "ann"
	snoozed.SnoozedUntil = epoch().Add(time.Hour)
	resolved.ResolvedAt, resolved.AcknowledgedAt, resolved.Assignee = epoch(), epoch(), "ann"
	saved := save(t, s, open, acknowledged, snoozed, resolved)
	check := func(name string, f store.IncidentFilter, want ...string) {
		t.Helper()
		if f.Now.IsZero() {
			f.Now = epoch()
		}
		view(t, s, func(tx *store.Tx) error {
			got, _, err := tx.Incidents(t.Context(), f)
			var keys []string
			for i := range got {
				keys = append(keys, got[i].Key)
			}
			if diff := cmp.Diff(want, keys); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
			return err
		})
	}
	check("open", store.IncidentFilter{Stage: watch.StageOpen}, "open")
	check("acknowledged", store.IncidentFilter{Stage: watch.StageAcknowledged}, "acknowledged")
	check("snoozed", store.IncidentFilter{Stage: watch.StageSnoozed}, "snoozed")
	check("resolved", store.IncidentFilter{Stage: watch.StageResolved}, "resolved")
	check("snoozed no more", store.IncidentFilter{Stage: watch.StageOpen, Now: epoch().Add(time.Hour)}, "snoozed", "open")
	check("of somebody", store.IncidentFilter{Assignee: "ann"}, "resolved", "acknowledged")
	check("of a monitor by its name", store.IncidentFilter{Text: "SEAR"}, "open")
	check("of no monitor", store.IncidentFilter{Text: "sear%h"})
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.IncidentCounts(t.Context(), store.IncidentFilter{Now: epoch(), After: 1, Stage: watch.StageOpen})
		want := map[watch.Stage]int64{watch.StageOpen: 1, watch.StageAcknowledged: 1, watch.StageSnoozed: 1, watch.StageResolved: 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counts (-want +got)\n%s", diff)
		}
		return err
	})
	// What is changed later is found too.
	saved[0].Assignee, saved[0].AcknowledgedAt = "bob", epoch()
	saved[2].SnoozedUntil = time.Time{}
	save(t, s, saved[0], saved[2])
	check("acknowledged later", store.IncidentFilter{Stage: watch.StageAcknowledged, Assignee: "bob"}, "open")
	check("awake", store.IncidentFilter{Stage: watch.StageOpen}, "snoozed")
}

func eventsOfIncident(t *testing.T, s *store.Store) {
	var events []watch.Event
	for _, id := range []int64{7, 77, 8} {
		events = append(events, watch.Event{Monitor: 1, At: epoch(), Name: watch.EventOpened, Data: &watch.Facts{Incident: id}})
	}
	events = append(events,
		watch.Event{Monitor: 1, At: epoch(), Name: watch.EventCommented, Data: &watch.Facts{Incident: 7, Until: epoch(), Comment: "x"}},
		watch.Event{Monitor: 1, At: epoch(), Name: watch.EventCommented, Data: &watch.Facts{Incident: 8, Comment: `"incident":7,`}},
		watch.Event{Monitor: 1, At: epoch(), Name: watch.EventUp})
	in(t, s, func(tx *store.Tx) error { return tx.InsertEvents(t.Context(), events) })
	view(t, s, func(tx *store.Tx) error {
		got, _, err := tx.Events(t.Context(), store.EventFilter{Incident: 7, From: epoch(), Ascending: true})
		if diff := cmp.Diff([]watch.Event{events[0], events[3]}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return err
	})
}

func notification(incident int64, channel, key string) watch.Notification {
	return watch.Notification{
		Key: key, Incident: incident, Monitor: 1, Channel: channel, Phase: watch.Triggered, At: epoch(),
		Snapshot: watch.Incident{ID: incident, Key: "incident", Title: "it is down"},
	}
}

func freshNotifications(t *testing.T, s *store.Store) {
	a, b, c := notification(1, "pager", "a"), notification(1, "mail", "b"), notification(2, "mail", "c")
	var first, second []watch.Notification
	in(t, s, func(tx *store.Tx) (err error) {
		first, err = tx.InsertNotifications(t.Context(), []watch.Notification{a, b, a})
		return err
	})
	in(t, s, func(tx *store.Tx) (err error) {
		b.Channel = "other"
		second, err = tx.InsertNotifications(t.Context(), []watch.Notification{b, c, a})
		return err
	})
	if len(first) != 2 || first[0].Key != "a" || first[1].Key != "b" || len(second) != 1 || second[0].Key != "c" {
		t.Fatalf("got %+v, then %+v", first, second)
	}
	view(t, s, func(tx *store.Tx) error {
		for _, want := range append(first, second...) {
			got, err := tx.Notification(t.Context(), want.ID)
			if diff := cmp.Diff(&want, got); diff != "" || err != nil || got.Status != watch.Pending {
				t.Errorf("error %v (-want +got)\n%s", err, diff)
			}
		}
		if _, err := tx.Notification(t.Context(), 99); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such notification: got error %v", err)
		}
		for _, c := range []struct {
			f    store.NotificationFilter
			want int
		}{
			{store.NotificationFilter{}, 3},
			{store.NotificationFilter{Incident: 1}, 2},
			{store.NotificationFilter{Channel: "mail"}, 2},
			{store.NotificationFilter{Status: watch.Sent}, 0},
			{store.NotificationFilter{Status: watch.Pending, Channel: "mail", After: second[0].ID}, 1},
		} {
			got, next, err := tx.Notifications(t.Context(), c.f)
			if len(got) != c.want || next != 0 || err != nil {
				t.Errorf("%+v: got %d, next %d, error %v", c.f, len(got), next, err)
			}
		}
		page, next, err := tx.Notifications(t.Context(), store.NotificationFilter{Limit: 2})
		if len(page) != 2 || next != page[1].ID {
			t.Errorf("a page of %d, next %d", len(page), next)
		}
		return err
	})
}

func recordedDeliveries(t *testing.T, s *store.Store) {
	var n watch.Notification
	in(t, s, func(tx *store.Tx) error {
		fresh, err := tx.InsertNotifications(t.Context(), []watch.Notification{notification(1, "pager", "a")})
		n = fresh[0]
		return err
	})
	attempts := []watch.Delivery{
		{Notification: n.ID, Channel: "pager", Key: "a", Attempt: 1, At: epoch(), Detail: "503", DurationMs: 1.5},
		{Notification: n.ID, Channel: "pager", Key: "a", Attempt: 2, At: epoch().Add(time.Minute), OK: true, Detail: "202", DurationMs: 2},
	}
	for i, want := range []watch.Notification{
		{Status: watch.Pending, Attempts: 1, Error: "503"},
		{Status: watch.Sent, Attempts: 2, SentAt: attempts[1].At},
	} {
		in(t, s, func(tx *store.Tx) error { return tx.RecordDelivery(t.Context(), attempts[i], want.Status) })
		view(t, s, func(tx *store.Tx) error {
			got, err := tx.Notification(t.Context(), n.ID)
			if err == nil && (got.Status != want.Status || got.Attempts != want.Attempts || got.Error != want.Error || !got.SentAt.Equal(want.SentAt)) {
				t.Errorf("attempt %d: got %+v", i+1, got)
			}
			return err
		})
	}
	view(t, s, func(tx *store.Tx) error {
		latest, next, err := tx.Deliveries(t.Context(), "pager", 0, 1)
		rest, last, err2 := tx.Deliveries(t.Context(), "pager", next, 1)
		if diff := cmp.Diff([]watch.Delivery{attempts[1], attempts[0]}, append(latest, rest...)); diff != "" || last != 0 {
			t.Errorf("last %d (-want +got)\n%s", last, diff)
		}
		none, _, err3 := tx.Deliveries(t.Context(), "mail", 0, 0)
		if len(none) != 0 {
			t.Errorf("of another channel: %v", none)
		}
		return errors.Join(err, err2, err3)
	})
}
