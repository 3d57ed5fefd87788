package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Due is a check that was claimed: nobody else gets one of the same monitor and
// location before it is released, or its time is over.
type Due struct {
	Monitor  int64         `json:"monitor"`
	Location string        `json:"location"`
	Slot     time.Time     `json:"slot"`
	Kind     watch.Kind    `json:"kind"`
	Budget   time.Duration `json:"budget"`
	// Missed is how many regular slots before Slot passed without a check.
	Missed int `json:"missed,omitempty"`
	// Version is that of the monitor when it was claimed.
	Version Version `json:"version"`
}

// Version says which monitor a check is of: with another one it is another check.
type Version struct {
	Revision  int64 `json:"revision"`
	Approvals int64 `json:"approvals"`
}

// Confirmation asks for a confirming check.
type Confirmation struct {
	Monitor  int64
	Location string
	At       time.Time
}

// Slack is added to the budget of a claimed check before it counts as lost: in it the
// check waits to be run, confirms what it saw, and is stored.
const Slack = 40 * time.Second

// firstWithin is when a monitor that is new or resumed is checked at the latest, unless
// there are many of them: then within their interval.
const firstWithin = time.Minute

// CatchUp is how much faster than the schedule checks may start when many are due at
// once, and Slowest how many a second in any case.
const (
	CatchUp = 1.5
	Slowest = 4.0
)

// within is in which time so many new monitors are checked first, beside the checks of a
// schedule that has rate a second with them.
func within(many int, rate float64) time.Duration {
	spare := max(rate*(CatchUp-1), Slowest-rate)
	return max(firstWithin, time.Duration(float64(many)/spare*float64(time.Second)))
}

// Claim takes up to limit checks that are due at the locations, the longest due first,
// moves each on to its first regular slot after now, and keeps the monitor and
// location busy for the budget and Slack. Regular slots that were missed are one
// check, at the last of them; it is also the confirming or manual one that was asked
// for.
func (t *Tx) Claim(ctx context.Context, now time.Time, locations []string, limit int) ([]Due, error) {
	query := `select s.monitor, s.location, s.interval_ms, s.offset_ms, s.budget_ms, s.next_due, coalesce(s.extra_due, 0), coalesce(s.extra_kind, ''),
		m.revision, m.approvals
		from schedule s join monitors m on m.id = s.monitor where s.due <= $1 and s.busy_until <= $1 and ` + t.in("s.location", 2) + `
		order by s.due, s.monitor, s.location limit $3` + t.lock("update of s skip locked")
	var claimed []Due
	moved := batch{columns: "monitor bigint, location text, next_due bigint, busy_until bigint, slot bigint, kind text"}
	err := t.each(ctx, query, []any{ms(now), list(t, locations), limit}, func(rows *sql.Rows) error {
		var s slots
		if err := rows.Scan(&s.monitor, &s.location, &s.interval, &s.offset, &s.budget, &s.next, &s.extra, &s.kind,
			&s.version.Revision, &s.version.Approvals); err != nil {
			return err
		}
		d, next := s.claim(now)
		claimed = append(claimed, d)
		moved.add(d.Monitor, d.Location, ms(next), busyUntil(d, now), ms(d.Slot), string(d.Kind))
		return nil
	})
	if err == nil {
		err = t.execBatch(ctx, `update schedule set next_due = r.next_due, due = r.next_due, extra_due = null, extra_kind = null,
			busy_until = r.busy_until, busy_slot = r.slot, busy_kind = r.kind
			from $ROWS where schedule.monitor = r.monitor and schedule.location = r.location`, &moved)
	}
	if err != nil {
		return nil, fmt.Errorf("claim checks: %w", err)
	}
	return claimed, nil
}

func busyUntil(d Due, now time.Time) int64 { return ms(now.Add(d.Budget + Slack)) }

// slots are when a monitor is due at a location, in milliseconds.
type slots struct {
	monitor                  int64
	location                 string
	interval, offset, budget int64
	next, extra              int64
	kind                     string
	version                  Version
}

// claim is the check that is due at now, and the first regular slot after it.
func (s *slots) claim(now time.Time) (Due, time.Time) {
	d := Due{
		Monitor: s.monitor, Location: s.location, Budget: millis(s.budget),
		Slot: fromMs(s.extra), Kind: watch.Kind(s.kind), Version: s.version,
	}
	next := fromMs(s.next)
	if !next.After(now) {
		interval := millis(s.interval)
		first := next
		next = watch.NextSlot(millis(s.offset), interval, now)
		d.Slot, d.Kind = next.Add(-interval), watch.Scheduled
		if d.Slot.Before(first) {
			d.Slot = first // the first one of a monitor is no regular slot
		}
		d.Missed = int((d.Slot.Sub(first) + interval - 1) / interval)
	}
	return d, next
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Renew keeps a claim busy for its budget and Slack from now, for a check that starts
// late or again. It reports false when the claim is not held any more, so that the
// check must not run: another may be running.
func (t *Tx) Renew(ctx context.Context, d Due, now time.Time) (bool, error) {
	n, err := t.exec(ctx, `update schedule set busy_until = $5
		where monitor = $1 and location = $2 and busy_slot = $3 and busy_kind = $4 and busy_until > 0`,
		d.Monitor, d.Location, ms(d.Slot), string(d.Kind), busyUntil(d, now))
	if err != nil {
		return false, fmt.Errorf("keep a claim of monitor %d: %w", d.Monitor, err)
	}
	return n > 0, nil
}

// Busy returns the claims that are held.
func (t *Tx) Busy(ctx context.Context) ([]Due, error) {
	var out []Due
	err := t.each(ctx, `select s.monitor, s.location, s.busy_slot, s.busy_kind, s.budget_ms, m.revision, m.approvals
		from schedule s join monitors m on m.id = s.monitor where s.busy_until > 0 order by s.monitor, s.location`, nil,
		func(rows *sql.Rows) error {
			var d Due
			var slot, budget int64
			err := rows.Scan(&d.Monitor, &d.Location, &slot, &d.Kind, &budget, &d.Version.Revision, &d.Version.Approvals)
			d.Slot, d.Budget = fromMs(slot), millis(budget)
			out = append(out, d)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	return out, nil
}

// GiveBack ends claims whose checks did not run: their slots are due again at once,
// unless their monitors are paused. A claim that is not held any more is left alone.
func (t *Tx) GiveBack(ctx context.Context, claims []Due) error {
	b := batch{columns: "monitor bigint, location text, slot bigint, kind text"}
	for _, d := range claims {
		b.add(d.Monitor, d.Location, ms(d.Slot), string(d.Kind))
	}
	err := t.execBatch(ctx, `update schedule set busy_until = 0,
			extra_due = case when due is null or extra_due < r.slot then extra_due else r.slot end,
			extra_kind = case when due is null or extra_due < r.slot then extra_kind else r.kind end,
			due = case when due > r.slot then r.slot else due end
		from $ROWS where schedule.monitor = r.monitor and schedule.location = r.location
			and schedule.busy_slot = r.slot and schedule.busy_kind = r.kind and schedule.busy_until > 0`, &b)
	if err != nil {
		return fmt.Errorf("give claims back: %w", err)
	}
	return nil
}

// Rate is how many checks a second the schedule has at the locations in the long run.
func (t *Tx) Rate(ctx context.Context, locations []string) (float64, error) {
	var rate float64
	err := t.one(ctx, "select coalesce(sum(1000.0 / interval_ms), 0) from schedule where due is not null and interval_ms > 0 and "+t.in("location", 1),
		[]any{list(t, locations)}, &rate)
	if err != nil {
		return 0, fmt.Errorf("measure the schedule: %w", err)
	}
	return rate, nil
}

// Release ends claims whose checks are done. A claim that is not held any more, since
// its time was over, is left alone.
func (t *Tx) Release(ctx context.Context, done []Due) error {
	var ids []int64
	b := batch{columns: "monitor bigint, location text, slot bigint, kind text"}
	for _, d := range done {
		ids = append(ids, d.Monitor)
		b.add(d.Monitor, d.Location, ms(d.Slot), string(d.Kind))
	}
	err := t.lockMonitors(ctx, ids)
	if err == nil {
		err = t.execBatch(ctx, `update schedule set busy_until = 0
			from $ROWS where schedule.monitor = r.monitor and schedule.location = r.location
			and schedule.busy_slot = r.slot and schedule.busy_kind = r.kind`, &b)
	}
	if err != nil {
		return fmt.Errorf("release checks: %w", err)
	}
	return nil
}

// RunNow makes a monitor due at now at all its locations. Its error is ErrNotFound,
// ErrPaused, or ErrBusy when a check runs at each of them.
func (t *Tx) RunNow(ctx context.Context, id int64, now time.Time) error {
	var paused bool
	if err := t.one(ctx, "select paused from monitors where id = $1"+t.lock("no key update"), []any{id}, &paused); err != nil {
		return fmt.Errorf("monitor %d: %w", id, err)
	}
	if paused {
		return ErrPaused
	}
	n, err := t.exec(ctx, `update schedule set extra_due = $2, extra_kind = $3,
		due = case when next_due < $2 then next_due else $2 end
		where monitor = $1 and busy_until <= $2`, id, ms(now), string(watch.Manual))
	if err != nil {
		return fmt.Errorf("run monitor %d: %w", id, err)
	}
	if n == 0 {
		return ErrBusy
	}
	return nil
}

// Confirm asks for confirming checks, unless one is due before, or the monitor is
// paused.
func (t *Tx) Confirm(ctx context.Context, wanted []Confirmation) error {
	var ids []int64
	b := batch{columns: "monitor bigint, location text, at bigint, kind text"}
	for _, c := range wanted {
		ids = append(ids, c.Monitor)
		b.add(c.Monitor, c.Location, ms(c.At), string(watch.Confirm))
	}
	err := t.lockMonitors(ctx, ids)
	if err == nil {
		err = t.execBatch(ctx, `update schedule set extra_due = r.at, extra_kind = r.kind, due = r.at
			from $ROWS where schedule.monitor = r.monitor and schedule.location = r.location and schedule.due > r.at`, &b)
	}
	if err != nil {
		return fmt.Errorf("ask for confirming checks: %w", err)
	}
	return nil
}

// schedule puts a monitor on the schedule, or changes how it stands there: a location
// that it had with the same interval keeps its slots.
func (t *Tx) schedule(ctx context.Context, m *watch.Monitor, now time.Time) error {
	type row struct {
		interval, next int64
		paused         bool
	}
	before := map[string]row{}
	query := "select location, interval_ms, next_due, due is null from schedule where monitor = $1" + t.lock("update")
	err := t.each(ctx, query, []any{m.ID},
		func(rows *sql.Rows) error {
			var location string
			var r row
			err := rows.Scan(&location, &r.interval, &r.next, &r.paused)
			before[location] = r
			return err
		})
	if err != nil {
		return err
	}
	d := &m.Definition
	interval, startup := time.Duration(d.Interval), time.Duration(0)
	if d.Transport == watch.Stdio {
		startup = probe.DefaultStartupTimeout
	}
	b := batch{columns: "monitor bigint, location text, interval_ms bigint, offset_ms bigint, budget_ms bigint, next_due bigint, due bigint"}
	for _, location := range d.Locations {
		offset := watch.Offset(m.ID, location, interval)
		next := watch.NextSlot(offset, interval, now)
		if spread := max(t.spread, firstWithin); interval > spread {
			next = now.Add(offset % spread)
		}
		switch r, ok := before[location]; {
		case !ok || r.paused:
		case r.interval == interval.Milliseconds():
			next = fromMs(r.next)
		default:
			next = watch.NextSlot(offset, interval, now)
		}
		delete(before, location)
		due := nullMs(next)
		if m.Paused {
			due = nullMs(time.Time{})
		}
		b.add(m.ID, location, interval.Milliseconds(), offset.Milliseconds(), watch.Budget(d, startup).Milliseconds(), ms(next), due)
	}
	for location := range before {
		if _, err := t.exec(ctx, "delete from schedule where monitor = $1 and location = $2", m.ID, location); err != nil {
			return err
		}
	}
	return t.execBatch(ctx, `insert into schedule (monitor, location, interval_ms, offset_ms, budget_ms, next_due, due)
		select r.monitor, r.location, r.interval_ms, r.offset_ms, r.budget_ms, r.next_due, r.due from $ROWS where true
		on conflict (monitor, location) do update set interval_ms = excluded.interval_ms, offset_ms = excluded.offset_ms,
			budget_ms = excluded.budget_ms, next_due = excluded.next_due,
			extra_due = case when excluded.due is not null then schedule.extra_due end,
			extra_kind = case when excluded.due is not null then schedule.extra_kind end,
			due = case when excluded.due > schedule.extra_due then schedule.extra_due else excluded.due end`, &b)
}
