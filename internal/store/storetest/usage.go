package storetest

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func usageTests() []test {
	return []test{
		{"locations, and what waits there", locations},
		{"tables are counted up to a limit", tableRows},
		{"a copy is gone once it is closed", copied},
	}
}

func locations(t *testing.T, s *store.Store) {
	monitors := Insert(t, s, 3, func(i int, m *watch.Monitor) {
		m.Paused = i == 2
		m.Definition.Locations = []string{"local", "moon"}[:1+i%2]
	})
	in(t, s, func(tx *store.Tx) error {
		return tx.SaveReports(t.Context(), []store.StoredReport{
			{Monitor: monitors[0].ID, Location: "local", At: epoch().Add(2 * time.Minute)},
			{Monitor: monitors[1].ID, Location: "local", At: epoch().Add(time.Minute)},
			{Monitor: monitors[1].ID, Location: "mars", At: epoch().Add(3 * time.Minute)}, // from where nothing is checked any more
		})
	})
	view(t, s, func(tx *store.Tx) error {
		list, err := tx.Locations(t.Context(), epoch().Add(time.Hour))
		if err != nil {
			return err
		}
		if len(list) != 2 || list[0].Name != "local" || list[1].Name != "moon" {
			t.Fatalf("locations: %+v", list)
		}
		if l := list[0]; l.Monitors != 3 || l.Paused != 1 || l.Due != 2 || l.Busy != 0 || l.Lag < 59*time.Minute || l.Since.IsZero() ||
			!l.LastReport.Equal(epoch().Add(2*time.Minute)) {
			t.Errorf("local: %+v", l)
		}
		if l := list[1]; l.Monitors != 1 || l.Paused != 0 || l.Due != 1 || !l.LastReport.IsZero() {
			t.Errorf("moon: %+v", l)
		}
		return nil
	})
}

func tableRows(t *testing.T, s *store.Store) {
	Insert(t, s, 3, nil)
	for limit, want := range map[int64]store.TableRows{3: {Table: "monitors", Count: 3}, 2: {Table: "monitors", Count: 2, More: true}} {
		view(t, s, func(tx *store.Tx) error {
			rows, err := tx.TableRows(t.Context(), limit)
			if err == nil && rows[0] != want {
				t.Errorf("up to %d: %+v, want %+v", limit, rows[0], want)
			}
			return err
		})
	}
}

func copied(t *testing.T, s *store.Store) {
	Insert(t, s, 1, nil)
	for range 2 {
		made, err := s.Copy(t.Context())
		if s.Dialect() == store.Postgres {
			if !errors.Is(err, store.ErrBackup) {
				t.Errorf("a copy of PostgreSQL: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 15)
		if _, err := io.ReadFull(made, head); err != nil || string(head) != "SQLite format 3" {
			t.Errorf("the copy begins with %q, %v", head, err)
		}
		if err := made.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(made.Name()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the copy is still there: %v", err)
		}
	}
}
