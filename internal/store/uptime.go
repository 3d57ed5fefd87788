package store

import (
	"context"
	"time"
)

// Uptime is how the scheduled checks of a monitor went in a time. Checks in maintenance
// count nowhere but in Maintenance.
type Uptime struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Ratio is (Up + Degraded) / (Up + Degraded + Down), or nil without any of them.
	Ratio         *float64 `json:"ratio"`
	Checks        int64    `json:"checks"`
	Up            int64    `json:"up"`
	Degraded      int64    `json:"degraded"`
	Down          int64    `json:"down"`
	Misconfigured int64    `json:"misconfigured"`
	Unknown       int64    `json:"unknown"`
	Skipped       int64    `json:"skipped"`
	Maintenance   int64    `json:"maintenance"`
}

// Uptime is that of [from, to). Where raw results were dropped it counts the finest
// rollups that are kept, whole buckets, so that From may be a little earlier.
func (t *Tx) Uptime(ctx context.Context, monitor int64, from, to time.Time) (Uptime, error) {
	return Uptime{}, nil
}
