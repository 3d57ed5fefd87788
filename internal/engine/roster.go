package engine

import (
	"context"
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
}

// version says which monitor an entry is of: another one is another check.
type version struct {
	revision, approvals int64
}

// roster keeps monitors between their checks.
type roster struct {
	store *store.Store
	kept  *lru[int64, *entry]
}

func newRoster(s *store.Store) *roster {
	return &roster{store: s, kept: newLRU[int64, *entry](maxRoster)}
}

// get returns a monitor of at least the version that was there when its check was
// claimed. Its error is [store.ErrNotFound] when it is gone.
func (r *roster) get(ctx context.Context, id int64, v version, now time.Time) (*entry, error) {
	if e, ok := r.kept.get(id); ok && e.Revision == v.revision && e.Approvals == v.approvals {
		return e, nil
	}
	return r.load(ctx, id, now)
}

// load reads a monitor as it is now.
func (r *roster) load(ctx context.Context, id int64, now time.Time) (*entry, error) {
	e := new(entry)
	err := r.store.View(ctx, func(tx *store.Tx) error {
		m, err := tx.Monitor(ctx, id)
		if err != nil {
			return err
		}
		e.Monitor = *m
		if m.Source == watch.FromAPI && m.Definition.AuthMode == watch.AuthHeader {
			if e.headers, err = tx.Headers(ctx, id); err != nil {
				return err
			}
		}
		e.approved, err = tx.Approvals(ctx, id, now, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.kept.put(id, e, 1)
	return e, nil
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
