// Package storetest runs the same tests on every database that the store speaks, and
// starts a PostgreSQL for them.
package storetest

import (
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/store"
)

// Run runs the tests of package store. open opens a store of its own for each.
func Run(t *testing.T, open func(t *testing.T) *store.Store) {
	t.Run("ping", func(t *testing.T) {
		if err := open(t).Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
