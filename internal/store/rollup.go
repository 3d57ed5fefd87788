package store

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The periods of rollups.
const (
	FiveMinutes = 5 * time.Minute
	Hourly      = time.Hour
	Daily       = 24 * time.Hour
)

// The names of the stages of a check in rollups.
const (
	StageTotal     = "total"
	StageInit      = "init"
	StageList      = "list"
	StageDNS       = "dns"
	StageTCP       = "tcp"
	StageTLS       = "tls"
	StageFirstByte = "first_byte"
)

// ResultFilter selects results of one monitor with slots in [From, To), the latest
// first. A zero time is no limit. After is the cursor that the page before gave; Limit
// is at most 10,000 and 100 when it is 0.
type ResultFilter struct {
	Monitor  int64
	From, To time.Time
	After    string
	Limit    int
}

// Rollup sums up the scheduled checks of one monitor in one bucket, at all its
// locations.
type Rollup struct {
	Monitor int64         `json:"monitor"`
	Period  time.Duration `json:"-"`
	From    time.Time     `json:"from"`
	// Checks ran. Those in maintenance are counted in Maintenance and in no status.
	Checks        int64 `json:"checks"`
	Up            int64 `json:"up"`
	Degraded      int64 `json:"degraded"`
	Down          int64 `json:"down"`
	Misconfigured int64 `json:"misconfigured"`
	Unknown       int64 `json:"unknown"`
	Skipped       int64 `json:"skipped"`
	Maintenance   int64 `json:"maintenance"`
	// Tools is the latest count of tools, or nil.
	Tools *int64 `json:"tools,omitempty"`
	// Stages are milliseconds of the checks that were up or degraded, by stage.
	Stages map[string]Stage `json:"stages"`
}

// Stage is how long a stage took, in milliseconds. A percentile is the smallest value
// that so many percent of the checks did not exceed.
type Stage struct {
	Avg float64 `json:"avg"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Results reads a page of results; next is the cursor of the page after it, or empty.
func (t *Tx) Results(ctx context.Context, f ResultFilter) (results []watch.Result, next string, err error) {
	return nil, "", nil
}

// Rollup makes the rollups of one period whose buckets start in [from, to), from raw
// results. It may run again: a bucket is replaced. Buckets whose raw results were
// dropped stay as they are.
func (s *Store) Rollup(ctx context.Context, period time.Duration, from, to time.Time) error {
	return nil
}

// RollupDue makes the rollups of every period that are over and were not made yet.
func (s *Store) RollupDue(ctx context.Context, now time.Time) error { return nil }

// Rollups reads the rollups of a monitor whose buckets start in [from, to), in order.
func (t *Tx) Rollups(ctx context.Context, monitor int64, period time.Duration, from, to time.Time) ([]Rollup, error) {
	return nil, nil
}
