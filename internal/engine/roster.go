package engine

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// maxRoster bounds how many monitors are kept in memory between their checks.
const maxRoster = 20_000

// entry is a monitor with what its checks need. It is not modified.
type entry struct {
	watch.Monitor
	headers  map[string]string
	approved []watch.Approved // without baselines
	broken   error            // what is stored of it cannot be read
}

// roster keeps monitors between their checks.
type roster struct {
	store *store.Store
	kept  *lru[int64, *entry]
}

func newRoster(s *store.Store) *roster {
	return &roster{store: s, kept: newLRU[int64, *entry](maxRoster)}
}

// known returns a monitor of this version, or nil when it is not in memory.
func (r *roster) known(id int64, v store.Version) *entry {
	if e, ok := r.kept.get(id); ok && e.Revision == v.Revision && e.Approvals == v.Approvals {
		return e
	}
	return nil
}

// get returns the monitors of checks, of at least the versions that were there when those
// were claimed, without those that are gone.
func (r *roster) get(ctx context.Context, due []store.Due, now time.Time) (map[int64]*entry, error) {
	out := make(map[int64]*entry, len(due))
	var missing []int64
	for i := range due {
		if e := r.known(due[i].Monitor, due[i].Version); e != nil {
			out[e.ID] = e
			continue
		}
		missing = append(missing, due[i].Monitor)
	}
	if len(missing) == 0 {
		return out, nil
	}
	read, err := r.read(ctx, missing, now)
	if err != nil {
		read = r.readEach(ctx, missing, now)
	}
	maps.Copy(out, read)
	return out, context.Cause(ctx)
}

// readEach reads monitors one by one: one that cannot be read keeps no other from being
// checked.
func (r *roster) readEach(ctx context.Context, ids []int64, now time.Time) map[int64]*entry {
	out := map[int64]*entry{}
	for _, id := range ids {
		e, err := r.load(ctx, id, now)
		switch {
		case err == nil:
			out[id] = e
		case !errors.Is(err, store.ErrNotFound):
			out[id] = &entry{Monitor: watch.Monitor{ID: id}, broken: err}
		}
	}
	return out
}

// load reads a monitor as it is now. Its error is [store.ErrNotFound] when it is gone.
func (r *roster) load(ctx context.Context, id int64, now time.Time) (*entry, error) {
	read, err := r.read(ctx, []int64{id}, now)
	if err == nil && read[id] == nil {
		err = store.ErrNotFound
	}
	return read[id], err
}

func (r *roster) read(ctx context.Context, ids []int64, now time.Time) (map[int64]*entry, error) {
	out := make(map[int64]*entry, len(ids))
	err := r.store.View(ctx, func(tx *store.Tx) error {
		monitors, err := tx.MonitorsOf(ctx, ids)
		if err != nil {
			return err
		}
		approved, err := tx.ApprovalsOf(ctx, ids, now)
		if err != nil {
			return err
		}
		for id := range monitors {
			e := &entry{Monitor: monitors[id], approved: approved[id]}
			if e.Source == watch.FromAPI && e.Definition.AuthMode == watch.AuthHeader {
				if e.headers, err = tx.Headers(ctx, id); err != nil {
					return err
				}
			}
			out[id] = e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id, e := range out {
		r.kept.put(id, e, 1)
	}
	return out, nil
}

// approves reports whether a surface is approved as it is.
func (e *entry) approves(d surface.Digest, now time.Time) bool {
	for i := range e.approved {
		if e.approved[i].Digest == d && current(&e.approved[i], now) {
			return true
		}
	}
	return false
}

// hasApproval reports whether anything is approved.
func (e *entry) hasApproval(now time.Time) bool {
	for i := range e.approved {
		if current(&e.approved[i], now) {
			return true
		}
	}
	return false
}

func current(a *watch.Approved, now time.Time) bool {
	return a.ExpiresAt.IsZero() || now.Before(a.ExpiresAt)
}

// timeout is how long a check of the monitor may take, start-up aside.
func (e *entry) timeout() time.Duration {
	d := &e.Definition
	timeout := time.Duration(d.Timeout)
	if timeout <= 0 {
		timeout = watch.DefaultTimeout
	}
	if half := time.Duration(d.Interval) / 2; half > 0 {
		timeout = min(timeout, half)
	}
	return timeout
}

// startup is how long a stdio server may take until its first message.
func startup(t *target.Target) time.Duration {
	if t.Kind() != target.Stdio {
		return 0
	}
	if t.Budgets.Startup > 0 {
		return t.Budgets.Startup
	}
	return defaultStartup
}
