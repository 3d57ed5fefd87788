package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// each runs a benchmark on both databases. The PostgreSQL does not wait for the disk.
func each(b *testing.B, run func(b *testing.B, s *store.Store)) {
	b.Run(store.SQLite, func(b *testing.B) {
		run(b, open(b, store.Options{Path: filepath.Join(b.TempDir(), "watch.db")}))
	})
	b.Run(store.Postgres, func(b *testing.B) {
		run(b, open(b, store.Options{URL: storetest.Postgres(b)}))
	})
}

func commit(b *testing.B, s *store.Store, fn func(*store.Tx) error) {
	b.Helper()
	if err := s.InTx(b.Context(), fn); err != nil {
		b.Fatal(err)
	}
}

// One operation is 1,000 results of 1,000 monitors in one transaction.
func BenchmarkInsertResults(b *testing.B) {
	each(b, func(b *testing.B, s *store.Store) {
		results := make([]watch.Result, 1000)
		slot := noon()
		for b.Loop() {
			slot = slot.Add(time.Minute)
			for i := range results {
				results[i] = storetest.NewResult(int64(i+1), slot)
			}
			commit(b, s, func(tx *store.Tx) error {
				_, err := tx.InsertResults(b.Context(), results)
				return err
			})
		}
		b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "rows/s")
	})
}

// One operation is 1,000 of 10,000 monitors claimed in one transaction, and released in
// another.
func BenchmarkClaim(b *testing.B) {
	each(b, func(b *testing.B, s *store.Store) {
		storetest.Insert(b, s, 10_000, nil)
		now := noon()
		for b.Loop() {
			now = now.Add(time.Minute)
			var due []store.Due
			commit(b, s, func(tx *store.Tx) (err error) {
				due, err = tx.Claim(b.Context(), now, []string{"local"}, 1000)
				return err
			})
			if len(due) != 1000 {
				b.Fatalf("%d are claimed", len(due))
			}
			commit(b, s, func(tx *store.Tx) error { return tx.Release(b.Context(), due) })
		}
	})
}

// One operation is a page of 100 of 10,000 monitors.
func BenchmarkMonitors(b *testing.B) {
	filters := map[string]store.MonitorFilter{
		"page": {Limit: 100, After: 5000},
		"text": {Limit: 100, Text: "9999"},
		"down": {Limit: 100, Availability: watch.Down},
		"tag":  {Limit: 100, Tag: "tag-7"},
	}
	each(b, func(b *testing.B, s *store.Store) {
		storetest.Insert(b, s, 10_000, func(i int, m *watch.Monitor) {
			m.Definition.Tags = []string{"all", "tag-" + string(rune('0'+i%10))}
		})
		states := make([]watch.State, 10_000)
		for i := range states {
			states[i] = watch.State{Monitor: int64(i + 1), Availability: watch.AxisState{State: watch.Up}, Said: []string{"a", "b"}}
			if i%100 == 0 {
				states[i].Availability.State = watch.Down
			}
		}
		commit(b, s, func(tx *store.Tx) error { return tx.SaveStates(b.Context(), states) })
		for name, filter := range filters {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					err := s.View(b.Context(), func(tx *store.Tx) error {
						rows, _, err := tx.Monitors(b.Context(), filter)
						if len(rows) == 0 {
							b.Fatal("none was found")
						}
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}
