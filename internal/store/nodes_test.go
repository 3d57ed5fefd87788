package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// nodes opens n stores on one PostgreSQL.
func nodes(t *testing.T, n int) []*store.Store {
	t.Helper()
	options := store.Options{URL: storetest.Postgres(t)}
	var out []*store.Store
	for range n {
		out = append(out, open(t, options))
	}
	return out
}

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func TestTwoNodesClaimEachCheckOnce(t *testing.T) {
	const monitors, rounds = 600, 3
	both := nodes(t, 2)
	storetest.Insert(t, both[0], monitors, nil)
	for round := range rounds {
		now := noon().Add(time.Duration(round+1) * time.Hour)
		var lock sync.Mutex
		claimed := map[int64]int{}
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for done := false; !done; {
					err := both[i%2].InTx(t.Context(), func(tx *store.Tx) error {
						due, err := tx.Claim(t.Context(), now, []string{"local"}, 25)
						lock.Lock()
						defer lock.Unlock()
						done = len(due) == 0 && len(claimed) == monitors || err != nil
						for _, d := range due {
							claimed[d.Monitor]++
						}
						return err
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if len(claimed) != monitors {
			t.Errorf("round %d: %d monitors were claimed", round, len(claimed))
		}
		for id, n := range claimed {
			if n != 1 {
				t.Errorf("round %d: monitor %d was claimed %d times", round, id, n)
			}
		}
	}
}

// held runs fn in a transaction and keeps that open until release is called.
func held(t *testing.T, s *store.Store, fn func(*store.Tx) error) (release func()) {
	t.Helper()
	ready, end, over := make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- s.InTx(context.WithoutCancel(t.Context()), func(tx *store.Tx) error {
			err := fn(tx)
			ready <- err
			<-end
			return err
		})
	}()
	if err := <-ready; err != nil {
		t.Error(err)
	}
	var once sync.Once
	release = func() {
		once.Do(func() {
			close(end)
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(release)
	return release
}

func TestIncidentsOfAnotherNode(t *testing.T) {
	both := nodes(t, 2)
	ctx := t.Context()
	storetest.Insert(t, both[0], 1, nil)
	err := both[0].InTx(ctx, func(tx *store.Tx) error {
		return tx.SaveIncidents(ctx, []watch.Incident{
			{Monitor: 1, Axis: watch.Availability, Key: "a", OpenedAt: noon(), Due: noon()},
			{Monitor: 2, Axis: watch.Availability, Key: "b", OpenedAt: noon(), Due: noon()},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	// One node decides about an incident: the other does not escalate it meanwhile.
	release := held(t, both[0], func(tx *store.Tx) error {
		_, err := tx.OpenIncidents(ctx, []int64{1})
		return err
	})
	claim := func() (keys string) {
		err := both[1].InTx(ctx, func(tx *store.Tx) error {
			due, err := tx.ClaimIncidents(ctx, noon(), 10)
			for i := range due {
				keys += due[i].Key
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return keys
	}
	if got := claim(); got != "b" {
		t.Errorf("claimed %q while one is decided about", got)
	}
	release()
	if got := claim(); got != "ab" {
		t.Errorf("claimed %q afterwards", got)
	}
}

func TestOneNodeDecidesAboutAMonitor(t *testing.T) {
	both := nodes(t, 2)
	ctx := t.Context()
	m := storetest.Insert(t, both[0], 1, nil)[0]
	release := held(t, both[0], func(tx *store.Tx) error {
		_, err := tx.States(ctx, []int64{m.ID}, true)
		return err
	})
	update := func(ctx context.Context) error {
		return both[1].InTx(ctx, func(tx *store.Tx) error {
			changed := m
			return tx.UpdateMonitor(ctx, &changed, m.Revision)
		})
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := update(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("changed while it was decided about: error %v", err)
	}
	release()
	if err := update(ctx); err != nil {
		t.Error(err)
	}
}

// Sinks of two nodes that write the same results in another order neither wait for each
// other for ever nor take one for new twice.
func TestTwoNodesStoreTheSameResults(t *testing.T) {
	const many = 300
	both := nodes(t, 2)
	storetest.Insert(t, both[0], many, nil)
	fresh := make([]int, 2)
	for round := range 5 {
		var wg sync.WaitGroup
		for i, s := range both {
			wg.Go(func() {
				var results []watch.Result
				var ids []int64
				for n := range many {
					if i == 1 {
						n = many - 1 - n
					}
					ids = append(ids, int64(n+1))
					results = append(results, storetest.NewResult(int64(n+1), noon().Add(time.Duration(round)*time.Minute)))
				}
				err := s.InTx(t.Context(), func(tx *store.Tx) error {
					added, err := tx.InsertResults(t.Context(), results)
					for _, f := range added {
						if f {
							fresh[i]++
						}
					}
					if err == nil {
						_, err = tx.States(t.Context(), ids, true)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if fresh[0]+fresh[1] != 5*many {
		t.Errorf("%v of %d results were new", fresh, 5*many)
	}
}

// Two transactions that wait for each other both happen.
func TestTransactionsThatWaitForEachOther(t *testing.T) {
	both := nodes(t, 2)
	names := []string{"a", "b"}
	for _, name := range names {
		if err := both[0].InTx(t.Context(), func(tx *store.Tx) error { return tx.SetSetting(t.Context(), name, "0") }); err != nil {
			t.Fatal(err)
		}
	}
	var begun, wait sync.WaitGroup
	begun.Add(2)
	runs := make([]int, 2)
	for i, s := range both {
		wait.Go(func() {
			err := s.InTx(t.Context(), func(tx *store.Tx) error {
				runs[i]++
				if err := tx.SetSetting(t.Context(), names[i], "own"); err != nil {
					return err
				}
				if runs[i] == 1 {
					begun.Done()
					begun.Wait()
				}
				return tx.SetSetting(t.Context(), names[1-i], "other")
			})
			if err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	if runs[0]+runs[1] != 3 {
		t.Errorf("they ran %v times: one of them twice was to be seen", runs)
	}
}

// Who reads events from the last one on misses none that another node stores meanwhile.
func TestEventsAppearInOrder(t *testing.T) {
	both := nodes(t, 2)
	ctx := t.Context()
	const each = 60
	var wait sync.WaitGroup
	for _, s := range both {
		for range 3 {
			wait.Go(func() {
				for range each {
					err := s.InTx(ctx, func(tx *store.Tx) error {
						return tx.InsertEvents(ctx, []watch.Event{{Name: "a", At: noon()}, {Name: "b", At: noon()}})
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	stored := make(chan struct{})
	go func() { wait.Wait(); close(stored) }()
	const want = 2 * 3 * each * 2
	last, got := int64(0), 0
	for over := false; !over; {
		select {
		case <-stored:
			over = true
		default:
		}
		err := both[0].View(ctx, func(tx *store.Tx) error {
			events, _, err := tx.Events(ctx, store.EventFilter{After: last, Ascending: true})
			for i := range events {
				last = events[i].ID
			}
			got += len(events)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got != want {
		t.Errorf("a reader saw %d of %d events", got, want)
	}
}
