package store

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/surface"
)

// Sighting is a surface that a monitor saw from a location.
type Sighting struct {
	Monitor  int64          `json:"monitor"`
	Location string         `json:"location"`
	Digest   surface.Digest `json:"digest"`
	At       time.Time      `json:"at"`
}

// Seen is a surface that a monitor saw, check after check, from At until Until.
type Seen struct {
	Sighting
	Until time.Time `json:"until"`
}

// PutSurface stores a surface, once however often it is seen.
func (t *Tx) PutSurface(ctx context.Context, s *surface.Surface) error { return nil }

// Surface returns a stored surface, or ErrNotFound.
func (t *Tx) Surface(ctx context.Context, digest surface.Digest) (*surface.Surface, error) {
	return nil, ErrNotFound
}

// Saw stores sightings: one of the surface that was seen last makes that one longer.
// Those of monitors that are gone are left out.
func (t *Tx) Saw(ctx context.Context, sightings []Sighting) error { return nil }

// Sightings returns what a monitor saw, the latest first, at most 1000.
func (t *Tx) Sightings(ctx context.Context, monitor int64) ([]Seen, error) { return nil, nil }

// SurfaceAt is the digest of what a monitor had seen last at a time, or ErrNotFound.
func (t *Tx) SurfaceAt(ctx context.Context, monitor int64, at time.Time) (surface.Digest, error) {
	return surface.Digest{}, ErrNotFound
}
