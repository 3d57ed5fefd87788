package store

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// IncidentFilter says which incidents: those that fit all that is set.
type IncidentFilter struct {
	Monitor int64
	Axis    watch.Axis
	Open    *bool
	// After is the cursor: what next of the page before was.
	After int64
	Limit int // at most 1000; 0: 1000
}

// OpenIncidents returns the open incidents of monitors. In a transaction that writes
// they stay as they are until it ends; States with lock comes before.
func (t *Tx) OpenIncidents(ctx context.Context, monitors []int64) (map[int64][]watch.Incident, error) {
	return nil, nil
}

// SystemIncident returns the open incident of a location itself, or nil.
func (t *Tx) SystemIncident(ctx context.Context, location string) (*watch.Incident, error) {
	return nil, nil
}

// SaveIncidents stores incidents: new ones, with ID 0, get their IDs. Its error is
// ErrIncidentOpen when a new one is open while another of the same monitor and axis is.
func (t *Tx) SaveIncidents(ctx context.Context, incidents []watch.Incident) error { return nil }

// ClaimIncidents returns up to limit incidents that are due, the longest due first.
// Nobody else gets them until the transaction ends, which has to save them with
// another Due.
func (t *Tx) ClaimIncidents(ctx context.Context, now time.Time, limit int) ([]watch.Incident, error) {
	return nil, nil
}

// Incident returns an incident, or ErrNotFound. In a transaction that writes it stays
// as it is until that ends.
func (t *Tx) Incident(ctx context.Context, id int64) (*watch.Incident, error) {
	return nil, ErrNotFound
}

// Incidents returns a page of incidents, the latest first, and the cursor of the next
// page, 0 after the last.
func (t *Tx) Incidents(ctx context.Context, f IncidentFilter) (incidents []watch.Incident, next int64, err error) {
	return nil, 0, nil
}
