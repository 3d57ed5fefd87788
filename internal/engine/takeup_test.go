package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/target"
)

// What a process that was killed was in the middle of runs at once when it is started
// again, in its slot; a call that may have been made is not made again.
func TestStartAfterAKill(t *testing.T) {
	for name, begun := range map[string]bool{"while checks ran": true, "before checks ran": false} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, store.SQLite)
			b := newBench(t, s, func(o *Options) {
				o.FileTarget = func(name string) *target.Target {
					t := &target.Target{Name: name, Endpoint: "http://127.0.0.1:1/"}
					if name == "calls" {
						t.Call = &target.Call{Tool: "ping", Safe: true}
					}
					return t
				}
			})
			b.stop()
			ids := map[string]int64{}
			for _, name := range []string{"plain", "calls"} {
				m := watch.Monitor{Source: watch.FromFile, Revision: 1, Definition: definition(name), CreatedAt: b.clock.now()}
				b.tx(func(tx *store.Tx) error { return tx.InsertMonitor(t.Context(), &m) })
				ids[name] = m.ID
			}
			b.clock.add(time.Minute)
			if err := b.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			var claims []store.Due
			b.view(func(tx *store.Tx) (err error) { claims, err = tx.Busy(t.Context()); return err })
			if begun {
				b.tx(func(tx *store.Tx) error {
					_, err := tx.SQL().ExecContext(t.Context(), "update river_job set state = 'running', attempt = 1 where kind = $1", kindChecks)
					return err
				})
			}
			b.run(b.o)
			b.eventually("both are stored", func() bool { return len(b.results(ids["plain"])) == 1 && len(b.results(ids["calls"])) == 1 })
			for _, d := range claims {
				if r := b.results(d.Monitor)[0]; !r.Slot.Equal(d.Slot) || r.Kind != d.Kind {
					t.Errorf("claimed %v, ran %s %v", d, r.Kind, r.Slot)
				}
			}
			if r := b.results(ids["plain"])[0]; r.Status != "healthy" {
				t.Errorf("without a call: %+v", r)
			}
			status, asked := "healthy", 1
			if begun {
				status, asked = "unknown", 0
			}
			if r, n := b.results(ids["calls"])[0], b.server.count("calls"); r.Status != status || n != asked {
				t.Errorf("with a call: it was checked %d times, %+v", n, r)
			}
			b.view(func(tx *store.Tx) (err error) { claims, err = tx.Busy(t.Context()); return err })
			if len(claims) != 0 {
				t.Errorf("still held: %v", claims)
			}
		})
	}
}

// A check that finds no seat goes back to the queue as one that was never begun.
func TestCheckWithoutASeat(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite))
	b.stop()
	w := newCheckWorker(b.Engine)
	full, seats := make(chan struct{}), make(chan struct{}, 1)
	seats <- struct{}{}
	close(full)
	a := &attempt{engine: b.Engine, monitor: &entry{Monitor: watch.Monitor{ID: 7}}, seats: seats, full: full}
	err := a.run(t.Context())
	if !errors.Is(err, errNoSeat) {
		t.Fatalf("error: %v", err)
	}
	due := []store.Due{{Monitor: 7, Location: "local", Slot: b.clock.now(), Kind: watch.Scheduled}, {Monitor: 8, Location: "local"}}
	job := &river.Job[checksArgs]{JobRow: &rivertype.JobRow{Queue: "check_local"}, Args: checksArgs{Location: "local", Claimed: 5}}
	if err := w.end(t.Context(), job, due, []error{err, nil}); err != nil {
		t.Fatal(err)
	}
	var left map[claimKey]bool
	b.tx(func(tx *store.Tx) (err error) { left, err = dropJobs(t.Context(), tx); return err })
	if len(left) != 1 || !left[keyOf(due[0])] {
		t.Errorf("in the queue: %v", left)
	}
}
