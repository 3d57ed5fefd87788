package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/store"
)

func transactionTests() []test {
	return []test{
		{"the database answers", func(t *testing.T, s *store.Store) {
			if err := s.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"an error leaves nothing behind", func(t *testing.T, s *store.Store) {
			stop := errors.New("stop")
			err := s.InTx(t.Context(), func(tx *store.Tx) error {
				m := NewMonitor("gone")
				return errors.Join(tx.InsertMonitor(t.Context(), &m), stop)
			})
			if !errors.Is(err, stop) {
				t.Fatalf("got error %v", err)
			}
			nothing(t, s)
		}},
		{"a panic leaves nothing behind and blocks nobody", func(t *testing.T, s *store.Store) {
			func() {
				defer func() { _ = recover() }()
				_ = s.InTx(t.Context(), func(tx *store.Tx) error {
					m := NewMonitor("gone")
					if err := tx.InsertMonitor(t.Context(), &m); err != nil {
						t.Error(err)
					}
					panic("as a bug would")
				})
			}()
			nothing(t, s)
			Insert(t, s, 1, nil)
		}},
		{"a context that ends leaves nothing behind", func(t *testing.T, s *store.Store) {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.InTx(ctx, func(tx *store.Tx) error {
				m := NewMonitor("gone")
				err := tx.InsertMonitor(ctx, &m)
				cancel()
				return err
			})
			if err == nil {
				t.Fatal("it was committed")
			}
			nothing(t, s)
			Insert(t, s, 1, nil)
		}},
		{"a view cannot write", readOnlyView},
		{"a view sees one state, and writes go on beside it", steadyView},
	}
}

// nothing is there of the monitor that a transaction was to insert.
func nothing(t *testing.T, s *store.Store) {
	t.Helper()
	const name = "gone"
	view(t, s, func(tx *store.Tx) error {
		if _, err := tx.MonitorByName(t.Context(), name); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: got error %v, want %v", name, err, store.ErrNotFound)
		}
		return nil
	})
}

func readOnlyView(t *testing.T, s *store.Store) {
	err := s.View(t.Context(), func(tx *store.Tx) error {
		m := NewMonitor("gone")
		return tx.InsertMonitor(t.Context(), &m)
	})
	if err == nil {
		t.Fatal("it was written")
	}
	nothing(t, s)
}

func steadyView(t *testing.T, s *store.Store) {
	Insert(t, s, 1, nil)
	view(t, s, func(tx *store.Tx) error {
		before, err := tx.AllMonitors(t.Context())
		if err != nil {
			return err
		}
		in(t, s, func(tx *store.Tx) error {
			m := NewMonitor("later")
			return tx.InsertMonitor(t.Context(), &m)
		})
		after, err := tx.AllMonitors(t.Context())
		if len(before) != 1 || len(after) != 1 {
			t.Errorf("%d monitors, then %d", len(before), len(after))
		}
		return err
	})
}
