package engine

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Two nodes whose monitors see the same new surfaces in another order do not wait for
// each other.
func TestTwoNodesStoreTheSameSurfaces(t *testing.T) {
	const many, rounds = 150, 4
	url, clock := storetest.Postgres(t), newClock()
	nodes := make([]*Engine, 2)
	batches := make([][]*item, 2)
	for n := range nodes {
		s, err := store.Open(t.Context(), store.Options{URL: url, Sealer: seal.Generate()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if nodes[n], err = New(t.Context(), Options{Store: s, Now: clock.now}); err != nil {
			t.Fatal(err)
		}
		for i := range many {
			m := watch.Monitor{Source: watch.FromAPI, Revision: 1, Definition: definition(strconv.Itoa(n) + "/" + strconv.Itoa(i)), CreatedAt: clock.now()}
			if err := s.InTx(t.Context(), func(tx *store.Tx) error { return tx.InsertMonitor(t.Context(), &m) }); err != nil {
				t.Fatal(err)
			}
			batches[n] = append(batches[n], &item{m: &entry{Monitor: m}})
		}
	}
	for round := range rounds {
		clock.add(time.Minute)
		var wait sync.WaitGroup
		for n, batch := range batches {
			for i, it := range batch {
				s := healthy("search", "r"+strconv.Itoa(round), "t"+strconv.Itoa(i)).Snapshot()
				it.o = &watch.Observation{
					Result: watch.Result{
						Monitor: it.m.ID, Location: watch.DefaultLocation, Slot: clock.now(), Started: clock.now(),
						Kind: watch.Scheduled, Status: string(probe.StatusHealthy), Digest: s.Digest(),
					},
					Revision: 1, Surface: s,
				}
			}
			batch = slices.Clone(batch)
			if n == 1 {
				slices.Reverse(batch)
			}
			wait.Go(func() {
				if err := nodes[n].sink.once(t.Context(), batch); err != nil {
					t.Errorf("round %d, node %d: %v", round, n, err)
				}
			})
		}
		wait.Wait()
	}
}
