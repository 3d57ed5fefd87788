package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func pageTests() []test {
	return []test{
		{"status pages", statusPages},
		{"days of monitors", daysOfMonitors},
	}
}

func statusPages(t *testing.T, s *store.Store) {
	page := store.StatusPage{StatusPage: watch.StatusPage{
		Slug: "payments", Title: "Payments", Groups: []string{"payments"}, Names: map[string]string{"a": "A"}, CreatedAt: epoch(), UpdatedAt: epoch(),
	}, Password: "hash"}
	in(t, s, func(tx *store.Tx) error { return tx.PutStatusPage(t.Context(), &page) })
	later := page
	later.Title, later.Password, later.CreatedAt, later.UpdatedAt = "Paying", "", epoch().Add(time.Hour), epoch().Add(time.Hour)
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.StatusPage(t.Context(), "payments")
		page.Protected = true
		if diff := cmp.Diff(&page, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return err
	})
	in(t, s, func(tx *store.Tx) error { return tx.PutStatusPage(t.Context(), &later) })
	view(t, s, func(tx *store.Tx) error {
		changed, password, err := tx.StatusPageMark(t.Context(), "payments")
		if !changed.Equal(epoch().Add(time.Hour)) || password != "" {
			t.Errorf("changed %s, password %q", changed, password)
		}
		if _, _, err := tx.StatusPageMark(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got error %v", err)
		}
		return err
	})
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.StatusPages(t.Context())
		later.CreatedAt = epoch()
		if diff := cmp.Diff([]store.StatusPage{later}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return err
	})
	in(t, s, func(tx *store.Tx) error { return tx.DeleteStatusPage(t.Context(), "payments") })
	view(t, s, func(tx *store.Tx) error {
		if _, err := tx.StatusPage(t.Context(), "payments"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("got error %v", err)
		}
		return nil
	})
	err := s.InTx(t.Context(), func(tx *store.Tx) error { return tx.DeleteStatusPage(t.Context(), "payments") })
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got error %v", err)
	}
}

func daysOfMonitors(t *testing.T, s *store.Store) {
	monitors := Insert(t, s, 2, nil)
	now := epoch().Add(30 * time.Minute) // 12:30
	midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	row := func(monitor int64, period time.Duration, from time.Time, up, down int64) {
		_, err := s.DB().ExecContext(t.Context(), `insert into rollups (monitor, period, bucket, checks, up, degraded, down, misconfigured, unknown, skipped, maintenance, stages)
			values ($1, $2, $3, $4, $5, 0, $6, 0, 0, 0, 0, $7)`, monitor, period.Milliseconds(), from.UnixMilli(), up+down, up, down, `{"total":{"avg":100}}`)
		if err != nil {
			t.Fatal(err)
		}
	}
	one, two := monitors[0].ID, monitors[1].ID
	row(one, store.Daily, midnight.AddDate(0, 0, -3), 1000, 1) // too old
	row(one, store.Daily, midnight.AddDate(0, 0, -1), 10, 2)
	row(one, store.Hourly, midnight.Add(-time.Hour), 10, 2) // in the day before
	row(one, store.Hourly, midnight.Add(11*time.Hour), 3, 1)
	row(one, store.FiveMinutes, midnight.Add(11*time.Hour), 3, 1) // in its hour
	row(one, store.FiveMinutes, epoch(), 2, 0)
	row(two, store.FiveMinutes, epoch(), 0, 5)
	view(t, s, func(tx *store.Tx) error {
		got, err := tx.Days(t.Context(), []int64{one, two}, now.AddDate(0, 0, -2), now)
		want := []store.Day{
			{Monitor: one, From: midnight.AddDate(0, 0, -1), Counts: store.Counts{Checks: 12, Up: 10, Down: 2}},
			{Monitor: one, From: midnight, Counts: store.Counts{Checks: 6, Up: 5, Down: 1}},
			{Monitor: two, From: midnight, Counts: store.Counts{Checks: 5, Down: 5}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if err != nil {
			return err
		}
		took, err := tx.Took(t.Context(), []int64{one, two}, now.AddDate(0, 0, -2), now)
		if diff := cmp.Diff(map[int64]float64{one: 100}, took); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		return err
	})
}
