package storetest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func scheduleTests() []test {
	return []test{
		{"a new monitor is due within a minute, and then in its slots", newlyDue},
		{"a claimed check is nobody else's until it is released", claimedOnce},
		{"a claim that took too long is lost", lostClaim},
		{"what was due while nobody ran is one check", missedSlots},
		{"a manual check", manualCheck},
		{"a confirming check", confirmingCheck},
		{"a paused monitor is not due", pausedMonitor},
		{"an edited monitor is on the schedule anew", rescheduled},
		{"checks are claimed by location, the longest due first", claimedByLocation},
		{"a claim that is rolled back is none", rolledBackClaim},
		{"a claim that is given back is due again at once", givenBack},
		{"slots pass without a gap, twice never, and checks do not overlap", slotProperties},
	}
}

var here = []string{watch.DefaultLocation} //nolint:gochecknoglobals // never changed

func claim(t testing.TB, s *store.Store, now time.Time, locations ...string) []store.Due {
	t.Helper()
	if len(locations) == 0 {
		locations = here
	}
	var due []store.Due
	err := s.InTx(context.Background(), func(tx *store.Tx) (err error) {
		due, err = tx.Claim(context.Background(), now, locations, 100)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return due
}

func release(t testing.TB, s *store.Store, due ...store.Due) {
	t.Helper()
	err := s.InTx(context.Background(), func(tx *store.Tx) error { return tx.Release(context.Background(), due) })
	if err != nil {
		t.Fatal(err)
	}
}

func confirm(tx *store.Tx, monitor int64, location string, at time.Time) error {
	return tx.Confirm(context.Background(), []store.Confirmation{{Monitor: monitor, Location: location, At: at}})
}

// NextDue is when the next check is due anywhere; zero: never.
func NextDue(t testing.TB, s *store.Store) time.Time {
	t.Helper()
	ctx := context.Background()
	var due sql.NullInt64
	err := s.View(ctx, func(tx *store.Tx) error {
		return tx.SQL().QueryRowContext(ctx, "select min(due) from schedule").Scan(&due)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !due.Valid {
		return time.Time{}
	}
	return time.UnixMilli(due.Int64).UTC()
}

// due is one monitor that was claimed and released at its first slot, and when its next
// one is.
func due(t *testing.T, s *store.Store) (watch.Monitor, time.Time) {
	t.Helper()
	m := Insert(t, s, 1, nil)[0]
	release(t, s, claim(t, s, NextDue(t, s))...)
	return m, NextDue(t, s)
}

func newlyDue(t *testing.T, s *store.Store) {
	if next := NextDue(t, s); !next.IsZero() {
		t.Fatalf("without a monitor, %v is due", next)
	}
	hourly := func(_ int, m *watch.Monitor) { m.Definition.Interval = watch.Duration(time.Hour) }
	m := Insert(t, s, 1, hourly)[0]
	first := NextDue(t, s)
	if first.Before(epoch()) || !first.Before(epoch().Add(time.Minute)) {
		t.Fatalf("first due at %v", first)
	}
	if early := claim(t, s, first.Add(-time.Millisecond)); len(early) != 0 {
		t.Errorf("claimed too early: %v", early)
	}
	got := claim(t, s, first.Add(5*time.Millisecond))
	want := []store.Due{{
		Monitor: m.ID, Location: "local", Slot: first, Kind: watch.Scheduled,
		Budget: watch.Budget(&m.Definition, 0), Version: store.Version{Revision: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	slot := watch.NextSlot(watch.Offset(m.ID, "local", time.Hour), time.Hour, first.Add(5*time.Millisecond))
	if next := NextDue(t, s); !next.Equal(slot) {
		t.Errorf("then due at %v, want %v", next, slot)
	}
}

func claimedOnce(t *testing.T, s *store.Store) {
	_, slot := due(t, s)
	first := claim(t, s, slot)
	if len(first) != 1 {
		t.Fatalf("claimed %v", first)
	}
	later := slot.Add(time.Minute) // the next slot, and the check still runs
	if again := claim(t, s, later); len(again) != 0 {
		t.Errorf("claimed while it runs: %v", again)
	}
	release(t, s, first...)
	second := claim(t, s, later)
	if len(second) != 1 || !second[0].Slot.Equal(later) {
		t.Errorf("claimed after it ended: %v", second)
	}
}

func lostClaim(t *testing.T, s *store.Store) {
	_, slot := due(t, s)
	old := claim(t, s, slot)[0]
	over := slot.Add(old.Budget + store.Slack)
	renew := func(d store.Due, now time.Time) bool {
		var held bool
		in(t, s, func(tx *store.Tx) (err error) { held, err = tx.Renew(t.Context(), d, now); return err })
		return held
	}
	if !renew(old, slot.Add(time.Second)) {
		t.Error("a claim that is held cannot be kept")
	}
	if got := claim(t, s, over); len(got) != 0 {
		t.Errorf("claimed while it was kept: %v", got)
	}
	over = over.Add(time.Second)
	now := claim(t, s, over)
	if len(now) != 1 {
		t.Fatalf("claimed %v", now)
	}
	if renew(old, over) {
		t.Error("a claim that was lost is kept")
	}
	release(t, s, old) // which is not held any more
	if got := claim(t, s, over.Add(time.Minute)); len(got) != 0 {
		t.Errorf("a lost claim that is released made another one free: %v", got)
	}
	release(t, s, now...)
	if renew(now[0], over) {
		t.Error("a released claim is kept")
	}
}

func missedSlots(t *testing.T, s *store.Store) {
	_, slot := due(t, s)
	now := slot.Add(10*time.Minute + 7*time.Second)
	got := claim(t, s, now)
	if len(got) != 1 || !got[0].Slot.Equal(slot.Add(10*time.Minute)) || got[0].Missed != 10 {
		t.Fatalf("claimed %+v", got)
	}
	release(t, s, got...)
	if again := claim(t, s, now); len(again) != 0 {
		t.Errorf("and again %v", again)
	}
	if next := NextDue(t, s); !next.Equal(slot.Add(11 * time.Minute)) {
		t.Errorf("next due at %v", next)
	}
}

func manualCheck(t *testing.T, s *store.Store) {
	m, slot := due(t, s)
	run := func(id int64, now time.Time) error {
		return s.InTx(t.Context(), func(tx *store.Tx) error { return tx.RunNow(t.Context(), id, now) })
	}
	if err := run(m.ID+1, slot); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such monitor: got error %v", err)
	}
	now := slot.Add(-30 * time.Second)
	if err := run(m.ID, now); err != nil {
		t.Fatal(err)
	}
	got := claim(t, s, now)
	if len(got) != 1 || got[0].Kind != watch.Manual || !got[0].Slot.Equal(now) || got[0].Missed != 0 {
		t.Fatalf("claimed %+v", got)
	}
	if err := run(m.ID, now.Add(time.Second)); !errors.Is(err, store.ErrBusy) {
		t.Errorf("while it runs: got error %v", err)
	}
	if next := NextDue(t, s); !next.Equal(slot) {
		t.Errorf("the regular slot moved from %v to %v", slot, next)
	}
	release(t, s, got...)
	// Asked for at a regular slot, it is the check of that slot.
	if err := run(m.ID, slot); err != nil {
		t.Fatal(err)
	}
	if got = claim(t, s, slot); len(got) != 1 || got[0].Kind != watch.Scheduled {
		t.Errorf("claimed %+v", got)
	}
	release(t, s, got...)
	if got = claim(t, s, slot.Add(time.Second)); len(got) != 0 {
		t.Errorf("and again %+v", got)
	}
}

func confirmingCheck(t *testing.T, s *store.Store) {
	m, slot := due(t, s)
	confirm := func(at time.Time) {
		in(t, s, func(tx *store.Tx) error { return confirm(tx, m.ID, "local", at) })
	}
	confirm(slot.Add(time.Second)) // the regular one comes before
	if next := NextDue(t, s); !next.Equal(slot) {
		t.Errorf("due at %v, want %v", next, slot)
	}
	at := slot.Add(-20 * time.Second)
	confirm(at)
	confirm(at.Add(time.Second)) // one is due before
	got := claim(t, s, at)
	if len(got) != 1 || got[0].Kind != watch.Confirm || !got[0].Slot.Equal(at) {
		t.Fatalf("claimed %+v", got)
	}
	release(t, s, got...)
	if got = claim(t, s, slot); len(got) != 1 || got[0].Kind != watch.Scheduled || !got[0].Slot.Equal(slot) {
		t.Errorf("then claimed %+v", got)
	}
}

func pausedMonitor(t *testing.T, s *store.Store) {
	m, slot := due(t, s)
	edit := func(paused bool, at time.Time) {
		m.Paused, m.UpdatedAt = paused, at
		in(t, s, func(tx *store.Tx) error { return tx.UpdateMonitor(t.Context(), &m, m.Revision) })
	}
	edit(true, slot)
	in(t, s, func(tx *store.Tx) error {
		if err := tx.RunNow(t.Context(), m.ID, slot); !errors.Is(err, store.ErrPaused) {
			t.Errorf("run now: got error %v", err)
		}
		return confirm(tx, m.ID, "local", slot)
	})
	if got := claim(t, s, slot.Add(time.Hour)); len(got) != 0 || !NextDue(t, s).IsZero() {
		t.Errorf("claimed %+v, next due %v", got, NextDue(t, s))
	}
	resumed := slot.Add(time.Hour)
	edit(false, resumed)
	if next := NextDue(t, s); next.Before(resumed) || next.After(resumed.Add(time.Minute)) {
		t.Errorf("resumed at %v, due at %v", resumed, next)
	}
}

func rescheduled(t *testing.T, s *store.Store) {
	m, slot := due(t, s)
	edit := func(at time.Time, change func(*watch.Definition)) {
		t.Helper()
		change(&m.Definition)
		m.UpdatedAt = at
		in(t, s, func(tx *store.Tx) error { return tx.UpdateMonitor(t.Context(), &m, m.Revision) })
	}
	at := slot.Add(-time.Second)
	in(t, s, func(tx *store.Tx) error { return tx.RunNow(t.Context(), m.ID, at) })
	edit(at, func(d *watch.Definition) { d.Group = "other" })
	if got := claim(t, s, at); len(got) != 1 || got[0].Kind != watch.Manual {
		t.Errorf("the manual check was forgotten: %+v", got)
	}
	if next := NextDue(t, s); !next.Equal(slot) {
		t.Errorf("an edit of the group moved the slot from %v to %v", slot, next)
	}
	edit(slot, func(d *watch.Definition) { d.Interval = watch.Duration(2 * time.Hour) })
	want := watch.NextSlot(watch.Offset(m.ID, "local", 2*time.Hour), 2*time.Hour, slot)
	if next := NextDue(t, s); !next.Equal(want) {
		t.Errorf("another interval: due at %v, want %v", next, want)
	}
	edit(slot, func(d *watch.Definition) { d.Locations = []string{"paris"} })
	if got := claim(t, s, slot.Add(24*time.Hour)); len(got) != 0 {
		t.Errorf("claimed at a location that it is not at: %+v", got)
	}
	if got := claim(t, s, slot.Add(time.Minute), "paris"); len(got) != 1 {
		t.Errorf("claimed at its new location: %+v", got)
	}
}

func claimedByLocation(t *testing.T, s *store.Store) {
	ctx := t.Context()
	Insert(t, s, 10, func(i int, m *watch.Monitor) {
		m.Definition.Locations = []string{"local", "paris"}
		if i < 2 {
			m.Definition.Locations = []string{"rome"}
		}
	})
	now := epoch().Add(time.Hour)
	var claimed []store.Due
	for {
		var got []store.Due
		in(t, s, func(tx *store.Tx) (err error) {
			got, err = tx.Claim(ctx, now, []string{"local", "rome"}, 4)
			return err
		})
		if len(got) == 0 {
			break
		}
		if len(got) > 4 {
			t.Fatalf("%d are claimed at once", len(got))
		}
		claimed = append(claimed, got...)
	}
	count := map[string]int{}
	for i, d := range claimed {
		count[d.Location]++
		since := func(d store.Due) time.Time { return d.Slot.Add(-time.Duration(d.Missed) * time.Minute) }
		if i > 0 && since(d).Before(since(claimed[i-1]).Add(-time.Minute)) {
			t.Errorf("%+v comes after %+v", d, claimed[i-1])
		}
	}
	if diff := cmp.Diff(map[string]int{"local": 8, "rome": 2}, count); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if rest := claim(t, s, now, "paris", "nowhere"); len(rest) != 8 {
		t.Errorf("%d are left for paris", len(rest))
	}
}

func rolledBackClaim(t *testing.T, s *store.Store) {
	_, slot := due(t, s)
	stop := errors.New("killed")
	var lost []store.Due
	err := s.InTx(t.Context(), func(tx *store.Tx) (err error) {
		lost, err = tx.Claim(t.Context(), slot, here, 100)
		return errors.Join(err, stop)
	})
	if !errors.Is(err, stop) || len(lost) != 1 {
		t.Fatalf("claimed %v, error %v", lost, err)
	}
	if diff := cmp.Diff(lost, claim(t, s, slot)); diff != "" {
		t.Errorf("claimed again (-first +second)\n%s", diff)
	}
}

// slotProperties drives one monitor through random times: claims, ends of checks,
// checks that are lost, manual and confirming ones.
func slotProperties(t *testing.T, s *store.Store) {
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		interval := time.Duration(rapid.Int64Range(10_000, 600_000).Draw(r, "interval")) * time.Millisecond
		m := NewMonitor("property-" + time.Duration(n).String())
		m.Definition.Interval = watch.Duration(interval)
		location := m.Definition.Name
		m.Definition.Locations = []string{location}
		ctx := context.Background()
		if err := s.InTx(ctx, func(tx *store.Tx) error { return tx.InsertMonitor(ctx, &m) }); err != nil {
			r.Fatal(err)
		}
		now, running := epoch(), []store.Due(nil)
		var last time.Time // regular slot
		var until time.Time
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 2*interval.Milliseconds()).Draw(r, "wait")) * time.Millisecond)
			switch rapid.IntRange(0, 4).Draw(r, "act") {
			case 0:
				release(t, s, running...)
				running, until = nil, time.Time{}
			case 1:
				_ = s.InTx(ctx, func(tx *store.Tx) error { return tx.RunNow(ctx, m.ID, now) })
			case 2:
				_ = s.InTx(ctx, func(tx *store.Tx) error { return confirm(tx, m.ID, location, now.Add(interval/4)) })
			default:
				got := claim(t, s, now, location)
				if len(got) == 0 {
					continue
				}
				d := got[0]
				if len(got) > 1 || now.Before(until) {
					r.Fatalf("at %v, while a check runs until %v: %+v", now, until, got)
				}
				if d.Slot.After(now) {
					r.Fatalf("at %v: %+v", now, d)
				}
				running, until = got, now.Add(d.Budget+store.Slack)
				if d.Kind != watch.Scheduled {
					continue
				}
				// The first slot that was missed, or this one, is the one after the last.
				first := d.Slot.Add(-time.Duration(d.Missed) * interval)
				if !last.IsZero() && (!first.After(last) || first.Add(-interval).After(last)) {
					r.Fatalf("slot %v, %d missed, comes after slot %v", d.Slot, d.Missed, last)
				}
				if now.Sub(d.Slot) >= interval {
					r.Fatalf("at %v slot %v is not the last one", now, d.Slot)
				}
				last = d.Slot
			}
		}
	})
}

func givenBack(t *testing.T, s *store.Store) {
	_, slot := due(t, s)
	held := func() []store.Due {
		var out []store.Due
		in(t, s, func(tx *store.Tx) (err error) { out, err = tx.Busy(t.Context()); return err })
		return out
	}
	give := func(d ...store.Due) {
		in(t, s, func(tx *store.Tx) error { return tx.GiveBack(t.Context(), d) })
	}
	first := claim(t, s, slot)
	if got := held(); len(got) != 1 || !got[0].Slot.Equal(slot) || got[0].Kind != watch.Scheduled {
		t.Fatalf("held: %v", got)
	}
	give(first...)
	if got := held(); len(got) != 0 {
		t.Errorf("still held: %v", got)
	}
	again := claim(t, s, slot.Add(time.Second))
	if len(again) != 1 || !again[0].Slot.Equal(slot) || again[0].Kind != watch.Scheduled {
		t.Fatalf("claimed again: %v, want the slot %v", again, slot)
	}
	release(t, s, again...)
	give(again...) // which it does not hold any more
	if next := NextDue(t, s); !next.Equal(slot.Add(time.Minute)) {
		t.Errorf("then due at %v", next)
	}
	var rate float64
	in(t, s, func(tx *store.Tx) (err error) { rate, err = tx.Rate(t.Context(), here); return err })
	if want := 1.0 / 60; rate < want*.999 || rate > want*1.001 {
		t.Errorf("the schedule has %f checks a second", rate)
	}
}
