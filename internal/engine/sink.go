package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	// maxBatch and batchEvery bound what is stored in one transaction. Where there is
	// much to store it is for busyEvery: a transaction has its price.
	maxBatch   = 1_000
	batchEvery = 30 * time.Millisecond
	busyEvery  = 200 * time.Millisecond
	busyBatch  = 8
	// storeTries is how often a transaction is begun, from storePause on ever slower.
	storeTries = 6
	storePause = 50 * time.Millisecond
)

// errStopped is the error for a result that came too late to be stored.
var errStopped = errors.New("the engine has stopped")

// item is an observation on its way into the store.
type item struct {
	o   *watch.Observation
	m   *entry
	due store.Due
	// sight: the surface is stored as seen.
	sight bool
	// calls: a check of it makes a functional call, which is not made to confirm.
	calls bool
	// first says that the first baseline was made of it.
	first bool
	done  chan error // of capacity 1
}

// sink stores observations, many in one transaction, with all that follows from them.
type sink struct {
	engine *Engine
	in     chan *item
	ends   chan struct{}
	wait   sync.WaitGroup
	busy   bool // the last batch was a large one
}

func newSink(e *Engine) *sink {
	return &sink{engine: e, in: make(chan *item, maxBatch), ends: make(chan struct{})}
}

// put has an item stored, and returns when it is.
func (s *sink) put(ctx context.Context, it *item) error {
	it.done = make(chan error, 1)
	select {
	case s.in <- it:
	case <-s.ends:
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-it.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start begins to store. Stop ends it, after what was put before.
func (s *sink) start(ctx context.Context) {
	s.wait.Go(func() {
		for {
			select {
			case first := <-s.in:
				s.commit(ctx, s.gather(first))
			case <-s.ends:
				s.drain(ctx)
				return
			}
		}
	})
}

func (s *sink) stop() {
	close(s.ends)
	s.wait.Wait()
}

func (s *sink) drain(ctx context.Context) {
	for {
		select {
		case it := <-s.in:
			s.commit(ctx, s.gather(it))
		default:
			return
		}
	}
}

// gather waits a moment for more to be stored together with the first.
func (s *sink) gather(first *item) []*item {
	batch := []*item{first}
	every := batchEvery
	if s.busy {
		every = busyEvery
	}
	defer func() { s.busy = len(batch) >= busyBatch }()
	timer := time.NewTimer(every)
	defer timer.Stop()
	for len(batch) < maxBatch {
		select {
		case it := <-s.in:
			batch = append(batch, it)
		case <-timer.C:
			return batch
		case <-s.ends:
			return batch
		}
	}
	return batch
}

// commit stores a batch. When that fails for a reason that lies in what is stored, the
// batch is halved, so that one bad row keeps nothing else from being stored.
func (s *sink) commit(ctx context.Context, batch []*item) {
	err := s.try(ctx, batch)
	if err != nil && len(batch) > 1 && s.engine.o.Store.Ping(ctx) == nil {
		half := len(batch) / 2
		s.commit(ctx, batch[:half])
		s.commit(ctx, batch[half:])
		return
	}
	if err != nil {
		s.engine.metrics.storeFailed(len(batch))
		s.engine.log.ErrorContext(ctx, "results cannot be stored", slog.Int("results", len(batch)), slog.Int64("monitor", batch[0].o.Monitor), slog.String("error", err.Error()))
	}
	for _, it := range batch {
		it.done <- err
	}
}

// try runs the transaction of a batch, again while the database says that it is busy.
func (s *sink) try(ctx context.Context, batch []*item) (err error) {
	for n := range storeTries {
		if n > 0 {
			s.engine.metrics.storeRetried()
			if pause(ctx, storePause<<n) != nil {
				return err
			}
		}
		began := time.Now()
		if err = s.once(ctx, batch); err == nil {
			s.engine.metrics.stored(len(batch), time.Since(began))
			return nil
		}
		if !passing(err) && s.engine.o.Store.Ping(ctx) == nil {
			return err
		}
	}
	return err
}

// once runs the transaction of a batch. What panics in it is an error.
func (s *sink) once(ctx context.Context, batch []*item) (err error) {
	defer func() {
		if value := recover(); value != nil {
			s.engine.metrics.panicked()
			err = fmt.Errorf("storing results panicked: %v\n%s", value, debug.Stack())
		}
	}()
	var c *commit
	err = s.engine.o.Store.InTx(ctx, func(tx *store.Tx) error {
		c = &commit{engine: s.engine, now: s.engine.now(), batch: batch}
		return c.run(ctx, tx)
	})
	if err == nil {
		c.log(ctx)
	}
	return err
}

// log says in the log which incidents began and ended.
func (c *commit) log(ctx context.Context) {
	for i := range c.events {
		e := &c.events[i]
		attrs := []slog.Attr{slog.String("monitor", c.monitors[e.Monitor].Definition.Name), slog.String("axis", string(e.Axis)), slog.String("text", e.Text)}
		if e.Data != nil {
			attrs = append(attrs, slog.String("reason", e.Data.Reason), slog.Int64("incident", e.Data.Incident))
		}
		switch e.Name {
		case watch.EventOpened:
			c.engine.log.LogAttrs(ctx, slog.LevelWarn, "an incident was opened", attrs...)
		case watch.EventResolved:
			c.engine.log.LogAttrs(ctx, slog.LevelInfo, "an incident is resolved", attrs...)
		}
	}
}

// The codes of the databases for: somebody else was first, or the server is going away.
const (
	pgSerialization = "40001"
	pgDeadlock      = "40P01"
	pgLockTimeout   = "55P03"
	pgShutdown      = "57P01"
	sqliteBusy      = 5
	sqliteLocked    = 6
)

// passing reports whether a transaction that failed may succeed when it is run again.
func passing(err error) bool {
	var pg *pgconn.PgError
	var lite *sqlite.Error
	switch {
	case errors.As(err, &pg):
		return pg.Code == pgSerialization || pg.Code == pgDeadlock || pg.Code == pgLockTimeout || pg.Code == pgShutdown
	case errors.As(err, &lite):
		code := lite.Code() & 0xff
		return code == sqliteBusy || code == sqliteLocked
	}
	// Another node opened the incident of the location at the same time.
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, store.ErrIncidentOpen)
}
