package engine

import (
	"context"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// What a check saw is stored when judging it took all of the check's time, but not when
// the engine stops.
func TestOvertime(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite))
	id := b.add("search")
	b.after(time.Minute)
	spent, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(-time.Second), errBudget)
	defer cancel()
	if st, err := b.Engine.state(spent, id); err != nil || st == nil {
		t.Errorf("a check whose time is over reads nothing: %v", err)
	}
	m := b.entry(id)
	at := b.clock.now().Add(time.Second)
	it := &item{
		o:   &watch.Observation{Result: watch.Result{Monitor: id, Location: watch.DefaultLocation, Slot: at, Kind: watch.Manual, Started: at, Status: "healthy"}},
		m:   m,
		due: store.Due{Monitor: id, Location: watch.DefaultLocation, Slot: at, Kind: watch.Manual},
	}
	before := len(b.results(id))
	if err := b.settle(spent, it, &memory{}); err != nil {
		t.Fatal(err)
	}
	if n := len(b.results(id)); n != before+1 {
		t.Errorf("%d results, want %d", n, before+1)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if within, end := overtime(stopped); within.Err() == nil {
		end()
		t.Error("a stop is not obeyed")
	}
}

func (b *bench) entry(id int64) *entry {
	b.t.Helper()
	var m *watch.Monitor
	b.view(func(tx *store.Tx) (err error) {
		m, err = tx.Monitor(b.t.Context(), id)
		return err
	})
	return &entry{Monitor: *m}
}
