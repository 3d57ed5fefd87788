package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
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
func (t *Tx) PutSurface(ctx context.Context, s *surface.Surface) error {
	digest := s.Digest().String()
	var there int
	err := t.one(ctx, "select 1 from surfaces where digest = $1", []any{digest}, &there)
	if errors.Is(err, ErrNotFound) {
		body := s.Save()
		_, err = t.exec(ctx, "insert into surfaces (digest, body, size, created_at) values ($1, $2, $3, $4) on conflict do nothing",
			digest, t.store.pack(body), len(body), time.Now().UnixMilli())
	}
	if err != nil {
		return fmt.Errorf("store a surface: %w", err)
	}
	return nil
}

// Surface returns a stored surface, or ErrNotFound.
func (t *Tx) Surface(ctx context.Context, digest surface.Digest) (*surface.Surface, error) {
	var packed []byte
	if err := t.one(ctx, "select body from surfaces where digest = $1", []any{digest.String()}, &packed); err != nil {
		return nil, fmt.Errorf("surface %s: %w", digest, err)
	}
	body, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("surface %s: %w", digest, err)
	}
	s, err := surface.Read(body)
	if err != nil {
		return nil, fmt.Errorf("surface %s: %w", digest, err)
	}
	return s, nil
}

type place struct {
	monitor  int64
	location string
}

// Saw stores sightings: one of the surface that was seen last makes that one longer.
// Those of monitors that are gone are left out.
func (t *Tx) Saw(ctx context.Context, sightings []Sighting) error {
	sightings = slices.Clone(sightings)
	slices.SortStableFunc(sightings, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(a.Monitor, b.Monitor), cmp.Compare(a.Location, b.Location), a.At.Compare(b.At))
	})
	asked := batch{columns: "monitor bigint, location text"}
	for _, s := range sightings {
		asked.add(s.Monitor, s.Location)
	}
	asked.last(2)
	type row struct {
		id     int64
		digest string
	}
	last := map[place]row{}
	err := t.queryBatch(ctx, `select s.id, s.monitor, s.location, s.digest from $ROWS join sightings s on s.id =
		(select l.id from sightings l where l.monitor = r.monitor and l.location = r.location order by l.first_at desc, l.id desc limit 1)`,
		&asked, func(rows *sql.Rows) error {
			var p place
			var r row
			err := rows.Scan(&r.id, &p.monitor, &p.location, &r.digest)
			last[p] = r
			return err
		})
	if err != nil {
		return fmt.Errorf("read sightings: %w", err)
	}
	longer := batch{columns: "id bigint, last_at bigint"}
	more := batch{columns: "monitor bigint, location text, digest text, first_at bigint, last_at bigint"}
	for _, s := range sightings {
		p, digest, at := place{s.Monitor, s.Location}, s.Digest.String(), ms(s.At)
		switch r, ok := last[p]; {
		case ok && r.digest == digest && r.id != 0:
			longer.add(r.id, at)
		case ok && r.digest == digest: // of this call, the last in more
			more.rows[len(more.rows)-1][4] = at
		default:
			more.add(s.Monitor, s.Location, digest, at, at)
			last[p] = row{digest: digest}
		}
	}
	longer.last(1)
	err = t.execBatch(ctx, `update sightings set last_at = r.last_at from $ROWS
		where sightings.id = r.id and sightings.last_at < r.last_at`, &longer)
	if err == nil {
		err = t.execBatch(ctx, `insert into sightings (monitor, location, digest, first_at, last_at)
			select r.* from $ROWS where exists (select 1 from monitors m where m.id = r.monitor)`, &more)
	}
	if err != nil {
		return fmt.Errorf("store sightings: %w", err)
	}
	return nil
}

// Sightings returns what a monitor saw, the latest first, at most 1000.
func (t *Tx) Sightings(ctx context.Context, monitor int64) ([]Seen, error) {
	var out []Seen
	err := t.each(ctx, `select location, digest, first_at, last_at from sightings where monitor = $1
		order by first_at desc, id desc limit `+strconv.Itoa(mostRows), []any{monitor}, func(rows *sql.Rows) error {
		s := Seen{Sighting: Sighting{Monitor: monitor}}
		var digest string
		var first, last int64
		if err := rows.Scan(&s.Location, &digest, &first, &last); err != nil {
			return err
		}
		s.At, s.Until = fromMs(first), fromMs(last)
		out = append(out, s)
		return out[len(out)-1].Digest.UnmarshalText([]byte(digest))
	})
	if err != nil {
		return nil, fmt.Errorf("read sightings of monitor %d: %w", monitor, err)
	}
	return out, nil
}

// SurfaceAt is the digest of what a monitor had seen last at a time, or ErrNotFound.
func (t *Tx) SurfaceAt(ctx context.Context, monitor int64, at time.Time) (surface.Digest, error) {
	var digest surface.Digest
	var text string
	err := t.one(ctx, `select digest from sightings where monitor = $1 and first_at <= $2
		order by first_at desc, id desc limit 1`, []any{monitor, ms(at)}, &text)
	if err == nil {
		err = digest.UnmarshalText([]byte(text))
	}
	if err != nil {
		return surface.Digest{}, fmt.Errorf("surface of monitor %d: %w", monitor, err)
	}
	return digest, nil
}
