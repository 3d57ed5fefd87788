// Package history runs, on every database, the tests of what the store keeps for long, of
// what people and files own in it, and of keeping the database itself.
package history

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Database names a new, empty database, the same one however often it is opened.
type Database func(t *testing.T) store.Options

// Run runs the tests.
func Run(t *testing.T, database Database) {
	shared := newBench(t, database)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"channels", testChannels},
		{"escalations", testEscalations},
		{"windows", testWindows},
		{"settings and audit", testSettings},
		{"the audit is one chain", testAuditChain},
		{"the audit is only added to", testAuditIsKept},
		{"code apps", testCodeApps},
		{"passkeys", testPasskeys},
		{"challenges", testChallenges},
		{"accounts", testAccounts},
		{"sessions", testSessions},
		{"keys", testKeys},
		{"changes of accounts are one after another", testPeopleOrder},
		{"file: what is the same stays", testFileSame},
		{"file: changes", testFileChanges},
		{"file: the API's names", testFileOwned},
		{"results", testResults},
		{"rollups", testRollups},
		{"rollups of what is due", testRollupDue},
		{"uptime", testUptime},
		{"uptime over rollups", testUptimeRolled},
		{"retention of the rest", testRetainRest},
		{"retention of surfaces", testRetainSurfaces},
		{"a lock delays", testLock},
		{"stats", testStats},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, shared.on(t).clear()) })
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"retention over 90 days", testRetention},
		{"channels without a key", testChannelsWithoutKey},
		{"backup", testBackup},
		{"another key", testRekey},
		{"another key for code apps", testRekeyFactors},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, database)) })
	}
}

// bench is an open store with short forms for tests.
type bench struct {
	*testing.T
	*store.Store
	options store.Options
}

func newBench(t *testing.T, database Database) *bench {
	t.Helper()
	b := &bench{T: t, options: database(t)}
	b.Store = b.open(b.options)
	return b
}

// on is b for a test of its own.
func (b *bench) on(t *testing.T) *bench {
	c := *b
	c.T = t
	return &c
}

// clear empties the database, which takes less time than to make one.
func (b *bench) clear() *bench {
	b.Helper()
	b.exec("delete from settings")
	b.exec("insert into settings (name, value) values ('audit_anchor', '1000000000')") // lets the audit go
	for _, table := range []string{
		"results", "rollups", "monitors", "surfaces", "events", "incidents", "notifications", "deliveries",
		"channels", "escalations", "windows", "accounts", "api_keys", "challenges", "audit", "settings",
	} {
		b.exec("delete from " + table)
	}
	return b
}

func (b *bench) open(o store.Options) *store.Store {
	b.Helper()
	s, err := store.Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// do runs fn in a transaction that has to end well.
func (b *bench) do(fn func(ctx context.Context, t *store.Tx) error) {
	b.Helper()
	if err := b.try(fn); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) try(fn func(ctx context.Context, t *store.Tx) error) error {
	return b.InTx(b.Context(), func(t *store.Tx) error { return fn(b.Context(), t) })
}

// monitor stores a monitor that the API owns.
func (b *bench) monitor(name string) int64 {
	b.Helper()
	m := watch.Monitor{Source: watch.FromAPI, CreatedAt: day0(), UpdatedAt: day0(), Definition: definition(name)}
	b.do(func(ctx context.Context, t *store.Tx) error { return t.InsertMonitor(ctx, &m) })
	return m.ID
}

func definition(name string) watch.Definition {
	d := watch.Definition{Name: name, URL: "https://" + name + ".example.com/mcp", Interval: watch.Duration(5 * time.Minute)}
	d.Normalize()
	return d
}

// day0 is the first day of the tests.
func day0() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

// result is one of a scheduled check of one location.
func result(monitor int64, slot time.Time, status string, total float64) watch.Result {
	return watch.Result{
		Monitor: monitor, Location: watch.DefaultLocation, Slot: slot, Kind: watch.Scheduled,
		Started: slot, Status: status, Timing: watch.Timing{Total: total},
	}
}

func (b *bench) insert(results ...watch.Result) {
	b.Helper()
	for len(results) > 0 {
		n := min(len(results), 1000)
		b.do(func(ctx context.Context, t *store.Tx) error {
			_, err := t.InsertResults(ctx, results[:n])
			return err
		})
		results = results[n:]
	}
}

// number reads one number with SQL.
func (b *bench) number(query string, args ...any) int64 {
	b.Helper()
	var n int64
	b.do(func(ctx context.Context, t *store.Tx) error {
		return t.SQL().QueryRowContext(ctx, query, args...).Scan(&n)
	})
	return n
}

func (b *bench) exec(query string, args ...any) {
	b.Helper()
	b.do(func(ctx context.Context, t *store.Tx) error {
		_, err := t.SQL().ExecContext(ctx, query, args...)
		return err
	})
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func wantExists(t *testing.T, err error, field string) {
	t.Helper()
	var exists *store.ExistsError
	if !errors.As(err, &exists) || exists.Field != field {
		t.Errorf("error %v, want that the %s is taken", err, field)
	}
}

func wantOwned(t *testing.T, err error, want store.OwnedError) {
	t.Helper()
	var owned *store.OwnedError
	if !errors.As(err, &owned) || *owned != want {
		t.Errorf("error %v, want %v", err, fmt.Sprintf("%+v", want))
	}
}
