package store_test

import (
	"path/filepath"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest/history"
)

func TestHistorySQLite(t *testing.T) {
	history.Run(t, func(t *testing.T) store.Options {
		return store.Options{Path: filepath.Join(t.TempDir(), "watch.db"), Sealer: seal.Generate()}
	})
}

func TestHistoryPostgres(t *testing.T) {
	history.Run(t, func(t *testing.T) store.Options {
		return store.Options{URL: storetest.Postgres(t), Sealer: seal.Generate()}
	})
}
