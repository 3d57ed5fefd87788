package engine

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// After a pause or a restart, 25 monitors of one server that answers one request at a
// time, in 200 ms, do not wait for each other: they do not start at once.
func TestFieldG12NoHerdAfterAPause(t *testing.T) {
	t.Parallel()
	var one sync.Mutex
	var all sync.Mutex
	var took []time.Duration
	b := newBench(t, openStore(t, store.SQLite), func(o *Options) {
		o.Now = time.Now
		o.Check = func(context.Context, *target.Target, probe.Options) *probe.Report {
			began := time.Now()
			one.Lock()
			time.Sleep(200 * time.Millisecond) // the service, not a wait for luck
			one.Unlock()
			all.Lock()
			defer all.Unlock()
			took = append(took, time.Since(began))
			return healthy("search")
		}
	})
	b.clock.at = time.Now().Add(-time.Hour) // when the monitors were made: all are due
	ids := b.addMany(25, func(d *watch.Definition) { d.Interval = watch.Duration(10 * time.Second) })
	b.eventually("each was checked", func() bool {
		return !slices.ContainsFunc(ids, func(id int64) bool { return len(b.results(id)) == 0 })
	})
	all.Lock()
	defer all.Unlock()
	slices.Sort(took)
	if p95 := took[len(took)*95/100]; p95 > 1500*time.Millisecond {
		t.Errorf("p95 of the time of a check is %s", p95)
	}
}

// New monitors are first checked within a minute, and not all at once.
func TestNewMonitorsAreSpread(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		ids := b.addMany(120)
		most, seen := 0, 0
		for range 12 {
			b.after(5 * time.Second)
			n := 0
			for _, id := range ids {
				n += len(b.results(id))
			}
			most, seen = max(most, n-seen), n
		}
		if seen != len(ids) {
			t.Errorf("%d of %d were checked in the first minute", seen, len(ids))
		}
		if most > 3*len(ids)/12 {
			t.Errorf("%d of %d were checked in the same five seconds", most, len(ids))
		}
	})
}

// Two engines on one database share the work, and no check runs twice.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	s := openStore(t, store.Postgres)
	b := newBench(t, s)
	first := b.Engine
	b.run(b.o)
	ids := b.addMany(40)
	r := newReceiver(t, 0)
	b.tells(map[string]*receiver{"hook": r}, watch.Step{Channels: []string{"hook"}})
	b.server.says("m0", sayDown)
	for range 3 {
		b.clock.add(time.Minute)
		var both sync.WaitGroup
		for _, e := range []*Engine{first, b.Engine} {
			both.Go(func() {
				if err := e.Tick(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		b.tick()
	}
	for i, id := range ids {
		results := b.results(id)
		if n := b.server.count("m" + itoa(int64(i))); n != len(results) || n != 3 {
			t.Errorf("monitor %d: %d checks, %d results", i, n, len(results))
		}
	}
	if n := len(r.got()); n != 1 {
		t.Errorf("%d messages", n)
	}
}
