package ops

import (
	"context"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Cursor reads what a Page gave as Next; empty is 0.
func Cursor(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(after, 10, 64)
	if err != nil || n <= 0 {
		return 0, invalid(watch.Problem{Field: "after", Text: "is no cursor", Hint: "give what next of the page before was"})
	}
	return n, nil
}

// Events are the timeline, the latest first unless the filter says otherwise.
func (o *Ops) Events(ctx context.Context, actor people.Actor, f store.EventFilter) (Page[watch.Event], error) {
	return list(ctx, o, actor, "event", func(t *store.Tx) ([]watch.Event, string, error) {
		events, next, err := t.Events(ctx, f)
		return events, cursor(next), err
	})
}

// Results are the checks of a monitor, the latest first.
func (o *Ops) Results(ctx context.Context, actor people.Actor, f store.ResultFilter) (Page[watch.Result], error) {
	return list(ctx, o, actor, "monitor", func(t *store.Tx) ([]watch.Result, string, error) {
		if _, err := t.Monitor(ctx, f.Monitor); err != nil {
			return nil, "", err
		}
		return t.Results(ctx, f)
	})
}

// list reads a part of a list.
func list[T any](ctx context.Context, o *Ops, actor people.Actor, what string, read func(*store.Tx) ([]T, string, error)) (Page[T], error) {
	if err := may(actor, people.Read); err != nil {
		return Page[T]{}, err
	}
	var out Page[T]
	err := o.view(ctx, what, func(t *store.Tx) error {
		items, next, err := read(t)
		out = pageOf(items, next)
		return err
	})
	return out, err
}

// Rollups sum up the checks of a monitor in buckets of a period that start in [from, to).
func (o *Ops) Rollups(ctx context.Context, actor people.Actor, id int64, period time.Duration, from, to time.Time) (Page[store.Rollup], error) {
	if problems := span(from, to); len(problems) > 0 {
		return Page[store.Rollup]{}, invalid(problems...)
	}
	if to.Sub(from)/period > 10_000 {
		return Page[store.Rollup]{}, invalid(watch.Problem{Field: "from", Text: "is more than 10,000 buckets ago", Hint: "ask for less, or for a longer period"})
	}
	return list(ctx, o, actor, "monitor", func(t *store.Tx) ([]store.Rollup, string, error) {
		if _, err := t.Monitor(ctx, id); err != nil {
			return nil, "", err
		}
		rollups, err := t.Rollups(ctx, id, period, from, to)
		return rollups, "", err
	})
}

func span(from, to time.Time) []watch.Problem {
	if !from.Before(to) {
		return []watch.Problem{{Field: "from", Text: "is not before to"}}
	}
	return nil
}

// Uptime is how the checks of a monitor went in a time, without maintenance.
func (o *Ops) Uptime(ctx context.Context, actor people.Actor, id int64, from, to time.Time) (store.Uptime, error) {
	if err := may(actor, people.Read); err != nil {
		return store.Uptime{}, err
	}
	if problems := span(from, to); len(problems) > 0 {
		return store.Uptime{}, invalid(problems...)
	}
	var out store.Uptime
	err := o.view(ctx, "monitor", func(t *store.Tx) (err error) {
		if _, err = t.Monitor(ctx, id); err == nil {
			out, err = t.Uptime(ctx, id, from, to)
		}
		return err
	})
	return out, err
}

// Reports are the last reports of a monitor, one from each location. They quote the
// server.
func (o *Ops) Reports(ctx context.Context, actor people.Actor, id int64) (Page[store.StoredReport], error) {
	return list(ctx, o, actor, "monitor", func(t *store.Tx) ([]store.StoredReport, string, error) {
		if _, err := t.Monitor(ctx, id); err != nil {
			return nil, "", err
		}
		reports, err := t.Reports(ctx, id)
		return reports, "", err
	})
}

// Sighting is a surface that a monitor showed for a time.
type Sighting struct {
	Location string    `json:"location"`
	Digest   string    `json:"digest"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
}

// Sightings are the surfaces that a monitor showed, the latest first.
func (o *Ops) Sightings(ctx context.Context, actor people.Actor, id int64) (Page[Sighting], error) {
	return list(ctx, o, actor, "monitor", func(t *store.Tx) ([]Sighting, string, error) {
		if _, err := t.Monitor(ctx, id); err != nil {
			return nil, "", err
		}
		seen, err := t.Sightings(ctx, id)
		out := make([]Sighting, 0, len(seen))
		for _, s := range seen {
			out = append(out, Sighting{Location: s.Location, Digest: s.Digest.String(), From: s.At, Until: s.Until})
		}
		return out, "", err
	})
}

// Surface is a surface that was seen, by its digest. All of it is the server's text.
func (o *Ops) Surface(ctx context.Context, actor people.Actor, digest string) (*surface.Surface, error) {
	if err := may(actor, people.Read); err != nil {
		return nil, err
	}
	var d surface.Digest
	if err := d.UnmarshalText([]byte(digest)); err != nil {
		return nil, invalid(watch.Problem{Field: "digest", Text: "is no digest", Hint: "sha256: and 64 hexadecimal digits"})
	}
	var out *surface.Surface
	err := o.view(ctx, "surface", func(t *store.Tx) (err error) {
		out, err = t.Surface(ctx, d)
		return err
	})
	return out, err
}

// SurfaceAt is the surface that a monitor had shown last at a time.
func (o *Ops) SurfaceAt(ctx context.Context, actor people.Actor, id int64, at time.Time) (*surface.Surface, error) {
	if err := may(actor, people.Read); err != nil {
		return nil, err
	}
	if at.IsZero() {
		at = o.now()
	}
	var out *surface.Surface
	err := o.view(ctx, "monitor or surface", func(t *store.Tx) error {
		if _, err := t.Monitor(ctx, id); err != nil {
			return err
		}
		d, err := t.SurfaceAt(ctx, id, at)
		if err != nil {
			return err
		}
		out, err = t.Surface(ctx, d)
		return err
	})
	return out, err
}
