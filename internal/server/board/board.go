// Package board is how all monitors stand, in memory: for pages that show many of them,
// and for those who want to be told when one changes.
//
// It asks the database once a second what was stored since, so that it works beside any
// number of other processes on the same database. Everything in it is what
// [watch.Current] says.
package board

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
)

const (
	// every is how often the database is asked, and wholly how often for everything.
	every  = time.Second
	wholly = time.Minute
	// chunk is how many monitors are read at a time.
	chunk = 500
)

// Options are what a board works on. Store is required.
type Options struct {
	Store  *store.Store
	Logger *slog.Logger     // nil: none
	Now    func() time.Time // nil: time.Now
}

// Board is how all monitors stand. It is safe for concurrent use.
type Board struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	done  chan struct{}
	// name is that of this board among those of all processes.
	name string

	shown atomic.Pointer[snapshot]

	whole atomic.Pointer[time.Time] // when everything was compared

	turn   chan struct{} // holds one while there is a refresh, which alone uses what follows
	looked time.Time     // until when it was looked for what became stale

	listeners struct {
		sync.Mutex
		all map[*Subscription]bool
	}
}

// New makes a board that is empty until it is refreshed.
func New(o Options) *Board {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Board{store: o.Store, log: o.Logger, now: o.Now, done: make(chan struct{}), turn: make(chan struct{}, 1), name: rand.Text()}
	b.listeners.all = map[*Subscription]bool{}
	b.shown.Store(&snapshot{byID: map[int64]*entry{}})
	b.whole.Store(new(time.Time))
	return b
}

// Run keeps the board current until ctx ends; then Done is closed. It is called once.
func (b *Board) Run(ctx context.Context) {
	defer close(b.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	failed := false
	for {
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil && !failed {
			b.log.ErrorContext(ctx, "the overview is out of date: the database cannot be read", "error", err)
			failed = true
		} else if err == nil && failed {
			b.log.InfoContext(ctx, "the overview is up to date again")
			failed = false
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Done is closed when the board is kept current no more: whoever sends changes to
// somebody ends then.
func (b *Board) Done() <-chan struct{} { return b.done }

// Refresh reads what was stored since it was last called, by whomever. A page that is to
// show what its reader has just done calls it first.
func (b *Board) Refresh(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done(): // while the database does not answer, the one before does not end
		return context.Cause(ctx)
	}
	now := b.now()
	whole := *b.whole.Load()
	all := whole.IsZero() || now.Sub(whole) >= wholly || now.Before(whole)
	var marks store.Marks
	var ids []int64
	before := b.shown.Load()
	read := func(whole bool) error {
		return b.store.View(ctx, func(t *store.Tx) (err error) {
			marks, err = t.Changes(ctx, whole)
			ids = before.differs(marks)
			return err
		})
	}
	err := read(all)
	if err == nil && !all && before.after(marks) != marks.Monitors { // one was deleted, or came late
		all = true
		err = read(true)
	}
	if err != nil {
		return fmt.Errorf("look for what changed: %w", err)
	}
	next := before
	var gone []int64
	if all {
		gone = before.gone(marks)
	}
	if len(ids) > 0 || len(gone) > 0 {
		fresh, err := b.read(ctx, ids)
		if err != nil {
			return err
		}
		next = before.with(fresh, gone)
		for _, e := range fresh {
			e.round = next.round
		}
		b.shown.Store(next)
	}
	if all {
		b.whole.Store(&now)
	}
	b.tell(before, next, ids, gone, now)
	return nil
}

func (b *Board) read(ctx context.Context, ids []int64) ([]*entry, error) {
	out := make([]*entry, 0, len(ids))
	for from := 0; from < len(ids); from += chunk {
		part := ids[from:min(from+chunk, len(ids))]
		err := b.store.View(ctx, func(t *store.Tx) error {
			rows, err := t.RowsOf(ctx, part)
			for i := range rows {
				out = append(out, newEntry(&rows[i]))
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read what changed: %w", err)
		}
	}
	return out, nil
}

// tell has the subscribers look at what was read, and at what became stale.
func (b *Board) tell(before, next *snapshot, ids, gone []int64, now time.Time) {
	changed := append(ids, gone...)
	for _, e := range next.sorted {
		if !e.staleAt.IsZero() && e.staleAt.Before(now) && !e.staleAt.Before(b.looked) {
			changed = append(changed, e.id)
		}
	}
	b.looked = now
	if len(changed) == 0 {
		return
	}
	b.listeners.Lock()
	defer b.listeners.Unlock()
	for s := range b.listeners.all {
		s.look(before, next, changed, now)
	}
}
