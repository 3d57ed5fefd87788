// Package storetest runs the same tests on every database that the store speaks, and
// starts a PostgreSQL for them.
package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// test is one test of a store of its own.
type test struct {
	name string
	run  func(*testing.T, *store.Store)
}

// Run runs the tests of package store. open opens a store of its own, with a key, for
// each.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	all := slices.Concat(transactionTests(), monitorTests(), scheduleTests(), historyTests(), surfaceTests(), incidentTests(), changeTests(), usageTests(), proposalTests(), pageTests())
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// epoch is when the tests begin.
func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func in(t *testing.T, s *store.Store, fn func(*store.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s *store.Store, fn func(*store.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// NewMonitor is a monitor that can be inserted, with an interval of a minute.
func NewMonitor(name string) watch.Monitor {
	return watch.Monitor{
		Source: watch.FromAPI, CreatedAt: epoch(), UpdatedAt: epoch(),
		Definition: watch.Definition{
			Name: name, URL: "https://" + name + ".example/mcp", Transport: watch.StreamableHTTP, AuthMode: watch.AuthNone,
			Interval: watch.Duration(time.Minute), Timeout: watch.Duration(20 * time.Second), Locations: []string{watch.DefaultLocation},
		},
	}
}

// Insert inserts n monitors, monitor-0001 and so on, as edit changes them, or nil.
func Insert(t testing.TB, s *store.Store, n int, edit func(i int, m *watch.Monitor)) []watch.Monitor {
	t.Helper()
	monitors := make([]watch.Monitor, n)
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		for i := range monitors {
			monitors[i] = NewMonitor(fmt.Sprintf("monitor-%04d", i+1))
			if edit != nil {
				edit(i, &monitors[i])
			}
			if err := tx.InsertMonitor(t.Context(), &monitors[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return monitors
}
