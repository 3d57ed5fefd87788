package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// approve approves what a report shows, beside what is approved already.
func (b *bench) approve(id int64, r *probe.Report, binding baseline.Binding) {
	b.t.Helper()
	b.tx(func(tx *store.Tx) error {
		m, err := tx.Monitor(b.t.Context(), id)
		if err != nil {
			return err
		}
		a := watch.FromLockfile(m, baseline.New(m.Definition.Name, binding, r.Snapshot()), "mcpvigil.lock", [32]byte{1}, b.clock.now())
		_, err = tx.Approve(b.t.Context(), a, true)
		return err
	})
}

// A server that is rolled out is seen in two versions, both of which are approved.
func TestSeveralApprovedSurfaces(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		blue, green := func() *probe.Report { return healthy("search") }, func() *probe.Report { return healthy("search", "fetch") }
		b.after(time.Minute)
		binding, err := b.Binding(t.Context(), &watch.Monitor{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		b.approve(id, green(), binding)
		n := b.server.count("search")
		for range 3 {
			b.server.says("search", green)
			b.after(time.Minute)
			b.server.says("search", blue)
			b.after(time.Minute)
			if st := b.state(id); st.Surface.State != watch.AsApproved {
				t.Fatalf("state: %+v", st.Surface)
			}
		}
		if got := b.server.count("search") - n; got != 6 {
			t.Errorf("6 checks listed %d times", got)
		}
		if i := b.incidents(id); len(i) != 0 {
			t.Errorf("incidents: %+v", i)
		}
	})
}

func TestAnotherAddressDropsTheBaseline(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		b.after(time.Minute)
		b.tx(func(tx *store.Tx) error {
			m, err := tx.Monitor(t.Context(), id)
			if err != nil {
				return err
			}
			revision := m.Revision
			m.Definition.URL, m.UpdatedAt = "http://127.0.0.1:2/other", b.clock.now()
			m.Revision++
			return tx.UpdateMonitor(t.Context(), m, revision)
		})
		for range 3 {
			b.after(time.Minute)
		}
		st := b.state(id)
		if !st.Awaiting || st.Surface.State != watch.Unknown || st.Availability.State != watch.Up {
			t.Errorf("state: %+v", st)
		}
		events := b.events(id)
		dropped := 0
		for _, name := range events {
			if name == watch.EventBaselineDropped {
				dropped++
			}
		}
		if dropped != 1 || slices.Index(events[1:], watch.EventBaselineSet) > 0 {
			t.Errorf("events: %q", events)
		}
	})
}

func TestExpiredApprovalWaitsForAPerson(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		id := b.add("search")
		b.after(time.Minute)
		at := b.clock.now().Add(30 * time.Second).UnixMilli()
		if _, err := s.DB().ExecContext(t.Context(), "update approvals set expires_at = "+itoa(at)); err != nil {
			t.Fatal(err)
		}
		b.clock.add(time.Minute)
		if err := b.keepHouse(t.Context(), keepApprovals); err != nil {
			t.Fatal(err)
		}
		b.tick()
		b.after(time.Minute)
		if st := b.state(id); !st.Awaiting || st.Surface.State != watch.Unknown {
			t.Errorf("state: %+v", st)
		}
		if events := b.events(id); !slices.Contains(events, watch.EventBaselineExpired) {
			t.Errorf("events: %q", events)
		}
	})
}
