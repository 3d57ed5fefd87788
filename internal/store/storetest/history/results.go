package history

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

func at(hour, minute int) time.Time {
	return day0().Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

func ptr[T any](v T) *T { return &v }

func testResults(t *testing.T, b *bench) {
	m, other := b.monitor("search"), b.monitor("other")
	full := watch.Result{
		Monitor: m, Location: "fra/1", Slot: at(0, 5), Kind: watch.Scheduled, Started: at(0, 5).Add(time.Second),
		Status: "unhealthy", Reason: "http-5xx", Step: "connect", Message: "HTTP 500",
		Timing: watch.Timing{
			Total: 12.5, Init: ptr(1.25), List: ptr(2.5), DNS: ptr(0.0), TCP: ptr(3.5), TLS: ptr(4.5), FirstByte: ptr(5.5),
		},
		Tools: ptr(7), Digest: surface.Digest{1, 2, 3}, Maintenance: true,
	}
	bare := result(m, at(0, 0), "", 0)
	confirm := result(m, at(0, 5), "healthy", 3)
	confirm.Location, confirm.Kind = "fra/1", watch.Confirm
	b.insert(full, bare, confirm, result(m, at(0, 10), "healthy", 4), result(other, at(0, 5), "healthy", 5))
	read := func(f store.ResultFilter) (out []watch.Result, next string) {
		t.Helper()
		f.Monitor = m
		b.do(func(ctx context.Context, t *store.Tx) (err error) {
			out, next, err = t.Results(ctx, f)
			return err
		})
		return out, next
	}
	want := []watch.Result{result(m, at(0, 10), "healthy", 4), full, confirm, bare}
	all, next := read(store.ResultFilter{})
	same(t, "all, the latest first", want, all)
	same(t, "cursor after the last", "", next)
	some, _ := read(store.ResultFilter{From: at(0, 5), To: at(0, 10)})
	same(t, "from and to", want[1:3], some)
	failing, _ := read(store.ResultFilter{Failing: true})
	same(t, "what failed, without what did not run", want[1:2], failing)

	var paged []watch.Result
	for f := (store.ResultFilter{Limit: 1}); ; {
		page, next := read(f)
		same(t, "size of a page", 1, len(page))
		paged = append(paged, page...)
		if f.After = next; next == "" {
			break
		}
	}
	same(t, "page by page", want, paged)
	for _, cursor := range []string{"x", "1", "1/scheduled", "x/scheduled/local"} {
		err := b.try(func(ctx context.Context, t *store.Tx) error {
			_, _, err := t.Results(ctx, store.ResultFilter{Monitor: m, After: cursor})
			return err
		})
		wantError(t, err, store.ErrCursor)
	}
}

// hundred are checks of one bucket of 5 minutes: 1 to 100 ms, the tools counted up, and
// with what counts for nothing beside them.
func hundred(m int64) []watch.Result {
	var out []watch.Result
	for i := range 100 {
		n := 100 - i // not in order
		r := result(m, at(0, 5).Add(time.Duration(i)*time.Second), "healthy", float64(n))
		if n%10 == 0 {
			r.Status = "degraded"
		}
		if n <= 4 {
			r.Timing.Init = ptr(float64(n) + 0.0004)
		}
		r.Tools = ptr(i)
		out = append(out, r)
	}
	for i, status := range []string{"unhealthy", "misconfigured", "unknown", ""} {
		r := result(m, at(0, 5).Add(time.Duration(200+i)*time.Second), status, 9999)
		out = append(out, r)
	}
	planned := result(m, at(0, 9), "unhealthy", 9999)
	planned.Maintenance = true
	confirm := result(m, at(0, 9), "unhealthy", 9999)
	confirm.Kind = watch.Confirm
	manual := result(m, at(0, 9), "unhealthy", 9999)
	manual.Kind = watch.Manual
	return append(out, planned, confirm, manual)
}

func (b *bench) rollups(m int64, period time.Duration) []store.Rollup {
	b.Helper()
	var out []store.Rollup
	b.do(func(ctx context.Context, t *store.Tx) (err error) {
		out, err = t.Rollups(ctx, m, period, at(0, 0), at(1000, 0))
		return err
	})
	return out
}

func (b *bench) rollup(period time.Duration, from, to time.Time) {
	b.Helper()
	if err := b.Rollup(b.Context(), period, from, to); err != nil {
		b.Fatal(err)
	}
}

func testRollups(t *testing.T, b *bench) {
	m, other := b.monitor("search"), b.monitor("other")
	b.insert(hundred(m)...)
	next := result(m, at(0, 10), "healthy", 1000)
	next.Location = "fra"
	b.insert(next, result(m, at(1, 0), "unhealthy", 1), result(other, at(0, 5), "healthy", 7))
	for _, period := range []time.Duration{store.FiveMinutes, store.Hourly, store.Daily} {
		b.rollup(period, at(0, 0), at(24, 0))
	}
	// Nearest rank: of 1 to 100, the 95th percentile is 95. Of 1, 2, 3, 4 the median is 2.
	five := store.Rollup{
		Monitor: m, Period: watch.Duration(store.FiveMinutes), From: at(0, 5),
		Counts: store.Counts{Checks: 104, Up: 90, Degraded: 10, Down: 1, Misconfigured: 1, Unknown: 1, Skipped: 1, Maintenance: 1},
		Tools:  ptr(int64(99)),
		Stages: map[string]store.Stage{
			store.StageTotal: {Avg: 50.5, P50: 50, P95: 95, P99: 99, Max: 100},
			store.StageInit:  {Avg: 2.5, P50: 2, P95: 4, P99: 4, Max: 4},
		},
	}
	ten := store.Rollup{
		Monitor: m, Period: watch.Duration(store.FiveMinutes), From: at(0, 10), Counts: store.Counts{Checks: 1, Up: 1},
		Stages: map[string]store.Stage{store.StageTotal: {Avg: 1000, P50: 1000, P95: 1000, P99: 1000, Max: 1000}},
	}
	sixty := store.Rollup{
		Monitor: m, Period: watch.Duration(store.FiveMinutes), From: at(1, 0),
		Counts: store.Counts{Checks: 1, Down: 1}, Stages: map[string]store.Stage{},
	}
	same(t, "five minutes", []store.Rollup{five, ten, sixty}, b.rollups(m, store.FiveMinutes))
	hour := five
	hour.Period, hour.From = watch.Duration(store.Hourly), at(0, 0)
	hour.Checks, hour.Up = 105, 91
	// 101 values, of which rank 51 is 51, rank 96 is 96, rank 100 is 100: from raw, and no
	// mean of percentiles.
	hour.Stages = map[string]store.Stage{
		store.StageTotal: {Avg: 59.901, P50: 51, P95: 96, P99: 100, Max: 1000},
		store.StageInit:  {Avg: 2.5, P50: 2, P95: 4, P99: 4, Max: 4},
	}
	hours := b.rollups(m, store.Hourly)
	if len(hours) != 2 {
		t.Fatalf("hours: %v", hours)
	}
	same(t, "hour", hour, hours[0])
	day := hour
	day.Period = watch.Duration(store.Daily)
	day.Checks, day.Down = 106, 2
	same(t, "day", []store.Rollup{day}, b.rollups(m, store.Daily))
	same(t, "another monitor", 1, len(b.rollups(other, store.Daily)))

	t.Run("again", func(t *testing.T) {
		b := b.on(t)
		b.insert(result(m, at(0, 11), "unhealthy", 5)) // it came late
		b.rollup(store.FiveMinutes, at(0, 0), at(24, 0))
		ten.Checks, ten.Down = 2, 1
		same(t, "five minutes", []store.Rollup{five, ten, sixty}, b.rollups(m, store.FiveMinutes))
	})
	t.Run("only what starts in the time", func(t *testing.T) {
		b := b.on(t)
		b.exec("delete from rollups")
		b.rollup(store.FiveMinutes, at(0, 6), at(1, 0))
		same(t, "five minutes", []store.Rollup{ten}, b.rollups(m, store.FiveMinutes))
	})
	if err := b.Rollup(t.Context(), 7*time.Minute, at(0, 0), at(1, 0)); err == nil {
		t.Error("rollups of 7 minutes are made")
	}
}

// testRollupDue has more monitors than are summed up in one go, and goes on where it
// was.
func testRollupDue(t *testing.T, b *bench) {
	const monitors = 230
	var results []watch.Result
	for i := range monitors {
		m := b.monitor(fmt.Sprintf("m%d", i))
		for _, slot := range []time.Time{at(0, 1), at(0, 2), at(0, 21), at(30, 0)} {
			results = append(results, result(m, slot, "healthy", 1))
		}
	}
	b.insert(results...)
	due := func(now time.Time) (five, hours, days int64) {
		t.Helper()
		if err := b.RollupDue(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		count := func(period time.Duration) int64 {
			return b.number("select count(*) from rollups where period = $1", period.Milliseconds())
		}
		return count(store.FiveMinutes), count(store.Hourly), count(store.Daily)
	}
	for _, step := range []struct {
		now               time.Time
		five, hours, days int64
	}{
		{at(0, 9), 0, 0, 0}, // too fresh
		{at(0, 10), 1, 0, 0},
		{at(1, 5), 2, 1, 0},
		{at(24, 5), 2, 1, 1},
		{at(100, 0), 3, 2, 2},
		{at(100, 0), 3, 2, 2},
	} {
		five, hours, days := due(step.now)
		same(t, fmt.Sprintf("rollups at %s", step.now), []int64{step.five * monitors, step.hours * monitors, step.days * monitors},
			[]int64{five, hours, days})
	}
	b.exec("delete from rollups")
	five, hours, days := due(at(100, 0))
	same(t, "what was made is not made again", []int64{0, 0, 0}, []int64{five, hours, days})
}

func (b *bench) uptime(m int64, from, to time.Time) store.Uptime {
	b.Helper()
	var u store.Uptime
	b.do(func(ctx context.Context, t *store.Tx) (err error) {
		u, err = t.Uptime(ctx, m, from, to)
		return err
	})
	return u
}

func testUptime(t *testing.T, b *bench) {
	m := b.monitor("search")
	b.insert(hundred(m)...)
	b.insert(result(m, at(2, 0), "unhealthy", 1), result(m, at(2, 5), "healthy", 1), result(m, at(2, 10), "healthy", 1),
		result(m, at(2, 15), "healthy", 1), result(m, at(3, 0), "unknown", 1), result(m, at(3, 5), "", 0))
	same(t, "an hour with everything", store.Uptime{
		From: at(0, 0), To: at(1, 0), Ratio: ptr(100.0 / 101),
		Counts: store.Counts{Checks: 104, Up: 90, Degraded: 10, Down: 1, Misconfigured: 1, Unknown: 1, Skipped: 1, Maintenance: 1},
	}, b.uptime(m, at(0, 0), at(1, 0)))
	same(t, "three of four", store.Uptime{
		From: at(2, 0), To: at(2, 16), Ratio: ptr(0.75), Counts: store.Counts{Checks: 4, Up: 3, Down: 1},
	}, b.uptime(m, at(2, 0), at(2, 16)))
	same(t, "the end is not included", store.Uptime{
		From: at(2, 1), To: at(2, 15), Ratio: ptr(1.0), Counts: store.Counts{Checks: 2, Up: 2},
	}, b.uptime(m, at(2, 1), at(2, 15)))
	same(t, "nothing that says anything", store.Uptime{
		From: at(3, 0), To: at(4, 0), Counts: store.Counts{Checks: 1, Unknown: 1, Skipped: 1},
	}, b.uptime(m, at(3, 0), at(4, 0)))
	same(t, "nothing", store.Uptime{From: at(5, 0), To: at(6, 0)}, b.uptime(m, at(5, 0), at(6, 0)))
}

// testUptimeRolled counts a window whose parts are kept as days, hours, five minutes
// and results: nothing twice, nothing left out.
func testUptimeRolled(t *testing.T, b *bench) {
	m := b.monitor("search")
	var results []watch.Result
	const days = 20
	for i := range days * 24 * 6 {
		status := "healthy"
		if i%9 == 0 {
			status = "unhealthy"
		}
		results = append(results, result(m, day0().Add(time.Duration(i)*10*time.Minute), status, 1))
	}
	b.insert(results...)
	count := func(from, to time.Time) store.Counts {
		var c store.Counts
		for _, r := range results {
			if r.Slot.Before(from) || !r.Slot.Before(to) {
				continue
			}
			c.Checks++
			if r.Status == "healthy" {
				c.Up++
			} else {
				c.Down++
			}
		}
		return c
	}
	now := day0().Add(days * 24 * time.Hour)
	retention := store.Retention{Raw: 48 * time.Hour, FiveMinutes: 5 * 24 * time.Hour, Hourly: 10 * 24 * time.Hour}
	if _, err := b.Retain(t.Context(), now.Add(5*time.Minute), retention); err != nil {
		t.Fatal(err)
	}
	same(t, "results that are kept", 2*24*6, b.number("select count(*) from results"))
	same(t, "hours that are kept", 10*24, b.number("select count(*) from rollups where period = $1", store.Hourly.Milliseconds()))
	for _, test := range []struct {
		name             string
		from, to         time.Time
		wantFrom, wantTo time.Time
	}{
		{"all", day0(), now, day0(), now},
		{"last day", now.Add(-24 * time.Hour), now, now.Add(-24 * time.Hour), now},
		{"from within a bucket of five minutes", at(17*24, 3), now, at(17*24, 0), now},
		{"from within an hour", at(11*24+7, 20), now, at(11*24+7, 0), now},
		{"from within a day", at(3*24+7, 20), now, at(3*24, 0), now},
		{"all of it days", at(2*24, 0), at(4*24, 0), at(2*24, 0), at(4*24, 0)},
		{"to within a day", at(2*24, 0), at(4*24+1, 0), at(2*24, 0), at(5*24, 0)},
		{"hours and five minutes", at(12*24, 0), at(16*24, 30), at(12*24, 0), at(16*24, 30)},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := b.on(t)
			counts := count(test.wantFrom, test.wantTo)
			ratio := float64(counts.Up) / float64(counts.Up+counts.Down)
			same(t, "uptime", store.Uptime{From: test.wantFrom, To: test.wantTo, Ratio: &ratio, Counts: counts}, b.uptime(m, test.from, test.to))
		})
	}
	t.Run("dropped results leave rollups alone", func(t *testing.T) {
		b := b.on(t)
		before := b.number("select sum(checks) from rollups")
		for _, period := range []time.Duration{store.FiveMinutes, store.Hourly, store.Daily} {
			b.rollup(period, day0(), now)
		}
		same(t, "checks in rollups", before, b.number("select sum(checks) from rollups"))
	})
}
