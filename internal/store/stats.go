package store

import (
	"context"
	"time"
)

// Stats are numbers for metrics.
type Stats struct {
	Monitors, Paused int64
	// Availability, Surface, Posture and Check count monitors that are not paused, by
	// state; one that was never checked, or not for three intervals, is unknown.
	Availability, Surface, Posture, Check map[string]int64
	// OpenIncidents are by axis.
	OpenIncidents map[string]int64
	// Pending and Failed count notifications; OldestPending is how long the oldest waits.
	Pending, Failed int64
	OldestPending   time.Duration
	// Due checks wait to be claimed; Lag is how late the latest of them is. Busy are in flight.
	Due, Busy int64
	Lag       time.Duration
	// Bytes is the size of the database.
	Bytes int64
}

// Stats reads the numbers.
func (t *Tx) Stats(ctx context.Context, now time.Time) (Stats, error) { return Stats{}, nil }
