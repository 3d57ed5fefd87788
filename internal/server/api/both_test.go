package api_test

import (
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
)

// onBoth runs a test on a SQLite file and on a PostgreSQL.
func onBoth(t *testing.T, f func(t *testing.T, w *world)) {
	t.Run("sqlite", func(t *testing.T) { f(t, newWorld(t, open(t, "")).populate()) })
	t.Run("postgres", func(t *testing.T) { f(t, newWorld(t, open(t, storetest.Postgres(t))).populate()) })
}
