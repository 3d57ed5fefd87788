package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The periods of rollups.
const (
	FiveMinutes = 5 * time.Minute //nolint:revive // the unit is part of its name, not of its type
	Hourly      = time.Hour
	Daily       = 24 * time.Hour
)

// The stages of a check in rollups.
const (
	StageTotal     = "total"
	StageInit      = "init"
	StageList      = "list"
	StageDNS       = "dns"
	StageTCP       = "tcp"
	StageTLS       = "tls"
	StageFirstByte = "first_byte"
)

const (
	// rollupMonitors are summed up in one go, and rollupBuckets of each; rollupRows are
	// stored in one transaction.
	rollupMonitors = 100
	rollupBuckets  = 48
	rollupRows     = 1000
	// rollupGrace is how long after its end a bucket is made: results come late.
	rollupGrace = 5 * time.Minute
)

// Counts say how the scheduled checks of a time went, at all locations. Those in
// maintenance are counted in Checks and Maintenance alone.
type Counts struct {
	// Checks ran.
	Checks        int64 `json:"checks"`
	Up            int64 `json:"up"`
	Degraded      int64 `json:"degraded"`
	Down          int64 `json:"down"`
	Misconfigured int64 `json:"misconfigured"`
	Unknown       int64 `json:"unknown"`
	Skipped       int64 `json:"skipped"`
	Maintenance   int64 `json:"maintenance"`
}

// add counts n results of a status.
func (c *Counts) add(status string, maintenance bool, n int64) {
	if status == "" {
		c.Skipped += n
		return
	}
	c.Checks += n
	switch {
	case maintenance:
		c.Maintenance += n
	case status == "healthy":
		c.Up += n
	case status == "degraded":
		c.Degraded += n
	case status == "unhealthy":
		c.Down += n
	case status == "misconfigured":
		c.Misconfigured += n
	default:
		c.Unknown += n
	}
}

// Rollup sums up the checks of one monitor in one bucket.
type Rollup struct {
	Monitor int64          `json:"monitor"`
	Period  watch.Duration `json:"period"`
	From    time.Time      `json:"from"`
	Counts
	// Tools is the latest count of tools, or nil.
	Tools *int64 `json:"tools,omitempty"`
	// Stages are those of the checks that were up or degraded, without maintenance.
	Stages map[string]Stage `json:"stages"`
}

// Stage is how long a stage took, in milliseconds. A percentile is the smallest value
// that is not below so many percent of all.
type Stage struct {
	Avg float64 `json:"avg"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// sample is what a rollup needs of a result.
type sample struct {
	monitor, slot int64
	status        string
	maintenance   bool
	tools         sql.NullInt64
	stages        [7]sql.NullFloat64
}

func stageNames() [7]string {
	return [7]string{StageTotal, StageInit, StageList, StageDNS, StageTCP, StageTLS, StageFirstByte}
}

// summary collects one bucket.
type summary struct {
	rollup Rollup
	bucket int64
	values [7][]float64
}

func (s *summary) add(r *sample) {
	s.rollup.add(r.status, r.maintenance, 1)
	if r.tools.Valid {
		s.rollup.Tools = &r.tools.Int64
	}
	if r.maintenance || (r.status != "healthy" && r.status != "degraded") {
		return
	}
	for i, v := range r.stages {
		if v.Valid {
			s.values[i] = append(s.values[i], v.Float64)
		}
	}
}

func (s *summary) finish() Rollup {
	s.rollup.Stages = map[string]Stage{}
	for i, name := range stageNames() {
		if len(s.values[i]) > 0 {
			s.rollup.Stages[name] = stageOf(s.values[i])
		}
	}
	return s.rollup
}

// stageOf sorts values, of which there is at least one.
func stageOf(values []float64) Stage {
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	rank := func(percent int) float64 { return micro(values[(percent*len(values)+99)/100-1]) }
	return Stage{
		Avg: micro(sum / float64(len(values))),
		P50: rank(50), P95: rank(95), P99: rank(99), Max: micro(values[len(values)-1]),
	}
}

// micro cuts milliseconds to microseconds.
func micro(v float64) float64 { return math.Round(v*1000) / 1000 }

// Rollup makes the rollups of one period whose buckets start in [from, to), from raw
// results. It may run again: a bucket is replaced. Buckets without results, and those
// whose results were dropped in the meantime, stay as they are.
func (s *Store) Rollup(ctx context.Context, period time.Duration, from, to time.Time) error {
	if !slices.Contains(periods(), period) {
		return fmt.Errorf("there are no rollups of %s", period)
	}
	var kept int64
	err := s.View(ctx, func(t *Tx) (err error) {
		kept, err = t.mark(ctx, resultsFrom)
		return err
	})
	if err != nil {
		return err
	}
	step := period.Milliseconds()
	start := upTo(max(ms(from), kept), step)
	end := upTo(ms(to), step)
	for ; start < end; start += rollupBuckets * step {
		if err := s.rollupSpan(ctx, step, start, min(end, start+rollupBuckets*step)); err != nil {
			return err
		}
	}
	return nil
}

func periods() []time.Duration { return []time.Duration{FiveMinutes, Hourly, Daily} }

// upTo is the first multiple of step that is not below at.
func upTo(at, step int64) int64 { return downTo(at+step-1, step) }

// downTo is the last multiple of step that is not above at.
func downTo(at, step int64) int64 { return at - ((at%step)+step)%step }

// rollupSpan makes the rollups of a few buckets, some monitors at a time.
func (s *Store) rollupSpan(ctx context.Context, step, from, to int64) error {
	for after := int64(0); ; {
		var ids []int64
		var rollups []Rollup
		err := s.View(ctx, func(t *Tx) (err error) {
			if ids, err = t.ids(ctx, "select id from monitors where id > $1 order by id limit $2", after, rollupMonitors); err != nil {
				return err
			}
			rollups, err = t.summarize(ctx, ids, step, from, to)
			return err
		})
		if err != nil {
			return err
		}
		for some := range slices.Chunk(rollups, rollupRows) {
			err := s.patiently(ctx, func(t *Tx) error { return t.saveRollups(ctx, some) })
			if err != nil {
				return err
			}
		}
		if len(ids) < rollupMonitors {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// ids reads a column of numbers.
func (t *Tx) ids(ctx context.Context, query string, args ...any) ([]int64, error) {
	var out []int64
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ids: %w", err)
	}
	return out, nil
}

// summarize sums up the results of monitors. It holds the values of one bucket at a time.
func (t *Tx) summarize(ctx context.Context, ids []int64, step, from, to int64) ([]Rollup, error) {
	var out []Rollup
	var current *summary
	query := `select monitor, slot, status, maintenance, tools,
		total_ms, init_ms, list_ms, dns_ms, tcp_ms, tls_ms, first_byte_ms
		from results where ` + t.in("monitor", 1) + ` and slot >= $2 and slot < $3 and kind = $4
		order by monitor, slot, location`
	args := []any{list(t, ids), from, to, string(watch.Scheduled)}
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var r sample
		err := rows.Scan(&r.monitor, &r.slot, &r.status, &r.maintenance, &r.tools, &r.stages[0], &r.stages[1],
			&r.stages[2], &r.stages[3], &r.stages[4], &r.stages[5], &r.stages[6])
		if err != nil {
			return err
		}
		bucket := downTo(r.slot, step)
		if current == nil || current.rollup.Monitor != r.monitor || current.bucket != bucket {
			if current != nil {
				out = append(out, current.finish())
			}
			current = &summary{bucket: bucket, rollup: Rollup{
				Monitor: r.monitor, Period: watch.Duration(time.Duration(step) * time.Millisecond), From: fromMs(bucket),
			}}
		}
		current.add(&r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("sum up results: %w", err)
	}
	if current != nil {
		out = append(out, current.finish())
	}
	return out, nil
}

func (t *Tx) saveRollups(ctx context.Context, rollups []Rollup) error {
	b := batch{columns: "monitor bigint, period bigint, bucket bigint, checks bigint, up bigint, degraded bigint, down bigint, " +
		"misconfigured bigint, unknown bigint, skipped bigint, maintenance bigint, tools bigint, stages text"}
	for i := range rollups {
		r := &rollups[i]
		stages, err := encode(r.Stages)
		if err != nil {
			return err
		}
		var tools sql.NullInt64
		if r.Tools != nil {
			tools = sql.NullInt64{Int64: *r.Tools, Valid: true}
		}
		b.add(r.Monitor, time.Duration(r.Period).Milliseconds(), ms(r.From), r.Checks, r.Up, r.Degraded, r.Down,
			r.Misconfigured, r.Unknown, r.Skipped, r.Maintenance, tools, stages)
	}
	err := t.execBatch(ctx, `insert into rollups (monitor, period, bucket, checks, up, degraded, down,
			misconfigured, unknown, skipped, maintenance, tools, stages)
		select monitor, period, bucket, checks, up, degraded, down,
			misconfigured, unknown, skipped, maintenance, tools, stages from $ROWS where true
		on conflict (monitor, period, bucket) do update set checks = excluded.checks, up = excluded.up,
			degraded = excluded.degraded, down = excluded.down, misconfigured = excluded.misconfigured,
			unknown = excluded.unknown, skipped = excluded.skipped, maintenance = excluded.maintenance,
			tools = excluded.tools, stages = excluded.stages`, &b)
	if err != nil {
		return fmt.Errorf("store rollups: %w", err)
	}
	return nil
}

// RollupDue makes the rollups of all buckets that were over some minutes ago and were
// not made yet, of every period.
func (s *Store) RollupDue(ctx context.Context, now time.Time) error {
	for _, period := range periods() {
		if err := s.rollupPeriod(ctx, period, now); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) rollupPeriod(ctx context.Context, period time.Duration, now time.Time) error {
	step := period.Milliseconds()
	var start int64
	err := s.View(ctx, func(t *Tx) (err error) {
		if start, err = t.mark(ctx, madeUntil(period)); err != nil || start != 0 {
			return err
		}
		var first sql.NullInt64
		err = t.one(ctx, "select min(slot) from (select (select min(slot) from results where monitor = m.id) as slot from monitors m) x",
			nil, &first)
		if err != nil {
			return fmt.Errorf("find the first result: %w", err)
		}
		start = downTo(first.Int64, step)
		return nil
	})
	if err != nil || start == 0 {
		return err
	}
	end := downTo(ms(now.Add(-rollupGrace)), step)
	for start < end {
		// Each span is marked, so that a long way is not gone again after a restart.
		next := min(end, start+rollupBuckets*step)
		if err := s.Rollup(ctx, period, fromMs(start), fromMs(next)); err != nil {
			return err
		}
		if err := s.setMark(ctx, madeUntil(period), next); err != nil {
			return err
		}
		start = next
	}
	return nil
}

// resultsFrom is the mark before which raw results were dropped.
const resultsFrom = "history/results/from"

// madeUntil is the mark up to which rollups were made, keptFrom that before which they
// were dropped.
func madeUntil(period time.Duration) string { return "history/" + period.String() + "/until" }
func keptFrom(period time.Duration) string  { return "history/" + period.String() + "/from" }

// mark is a stored time in milliseconds, or 0.
func (t *Tx) mark(ctx context.Context, name string) (int64, error) {
	text, err := t.Setting(ctx, name)
	if err != nil || text == "" {
		return 0, err
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read setting %s: %w", name, err)
	}
	return at, nil
}

// setMark moves a mark on, and never back.
func (s *Store) setMark(ctx context.Context, name string, at int64) error {
	return s.patiently(ctx, func(t *Tx) error {
		before, err := t.mark(ctx, name)
		if err != nil || before >= at {
			return err
		}
		return t.SetSetting(ctx, name, strconv.FormatInt(at, 10))
	})
}

// Rollups reads the rollups of a monitor whose buckets start in [from, to), in order.
func (t *Tx) Rollups(ctx context.Context, monitor int64, period time.Duration, from, to time.Time) ([]Rollup, error) {
	var out []Rollup
	query := `select bucket, checks, up, degraded, down, misconfigured, unknown, skipped, maintenance, tools, stages
		from rollups where monitor = $1 and period = $2 and bucket >= $3 and bucket < $4 order by bucket`
	args := []any{monitor, period.Milliseconds(), ms(from), ms(to)}
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		r := Rollup{Monitor: monitor, Period: watch.Duration(period)}
		var bucket int64
		var stages string
		err := rows.Scan(&bucket, &r.Checks, &r.Up, &r.Degraded, &r.Down, &r.Misconfigured, &r.Unknown,
			&r.Skipped, &r.Maintenance, &r.Tools, &stages)
		if err != nil {
			return err
		}
		r.From = fromMs(bucket)
		out = append(out, r)
		return decode(stages, &out[len(out)-1].Stages)
	})
	if err != nil {
		return nil, fmt.Errorf("read rollups: %w", err)
	}
	return out, nil
}
