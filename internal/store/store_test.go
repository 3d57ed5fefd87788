package store_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
)

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store {
		return open(t, store.Options{Path: filepath.Join(t.TempDir(), "watch.db"), Sealer: seal.Generate()})
	})
}

func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store {
		return open(t, store.Options{URL: storetest.Postgres(t), Sealer: seal.Generate()})
	})
}

func open(t testing.TB, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
