package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestMain(m *testing.M) {
	fakemcp.Main()
	os.Exit(m.Run())
}

// both runs a test on both databases.
func both(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, openStore(t, store.SQLite)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, openStore(t, store.Postgres)) })
}

func openStore(t testing.TB, dialect string) *store.Store {
	t.Helper()
	o := store.Options{Sealer: seal.Generate()}
	if dialect == store.Postgres {
		o.URL = storetest.Postgres(t)
	} else {
		o.Path = filepath.Join(t.TempDir(), "watch.db")
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// clock is a clock that stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// server is what checks see, by the name of the monitor.
type server struct {
	mu      sync.Mutex
	answers map[string]func(ctx context.Context, t *target.Target, o probe.Options) *probe.Report
	asked   map[string]int
	at      map[string]int // running
	most    map[string]int
}

func newServer() *server {
	return &server{
		answers: map[string]func(context.Context, *target.Target, probe.Options) *probe.Report{},
		asked:   map[string]int{}, at: map[string]int{}, most: map[string]int{},
	}
}

func (s *server) on(name string, answer func(ctx context.Context, t *target.Target, o probe.Options) *probe.Report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[name] = answer
}

// says has a monitor see a report each time.
func (s *server) says(name string, report func() *probe.Report) {
	s.on(name, func(context.Context, *target.Target, probe.Options) *probe.Report { return report() })
}

func (s *server) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

func (s *server) check(ctx context.Context, t *target.Target, o probe.Options) *probe.Report {
	s.mu.Lock()
	answer := s.answers[t.Name]
	s.asked[t.Name]++
	s.at[t.Name]++
	s.most[t.Name] = max(s.most[t.Name], s.at[t.Name])
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at[t.Name]--
	}()
	if answer == nil {
		return healthy("search")
	}
	return answer(ctx, t, o)
}

// healthy is the report of a server that lists these tools.
func healthy(tools ...string) *probe.Report {
	n := len(tools)
	r := &probe.Report{
		Status: probe.StatusHealthy, TotalMs: 12, Era: "modern",
		Server:  &probe.ServerInfo{Name: "fake", Version: "1", ProtocolVersion: "2026-07-28"},
		Surface: &probe.Surface{Tools: &n},
		Checks: []probe.Result{
			{Name: probe.StepConnect, Status: probe.StatusHealthy, Passed: true, DurationMs: 1},
			{Name: probe.StepInitialize, Status: probe.StatusHealthy, Passed: true, DurationMs: 5},
			{Name: probe.StepTools, Status: probe.StatusHealthy, Passed: true, DurationMs: 6},
		},
		Inventory: &probe.Inventory{
			Opening:   json.RawMessage(`{"capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`),
			Resources: []json.RawMessage{}, ResourceTemplates: []json.RawMessage{}, Prompts: []json.RawMessage{},
			Tools: []json.RawMessage{},
		},
	}
	for _, name := range tools {
		r.Inventory.Tools = append(r.Inventory.Tools, json.RawMessage(fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}}`, name, name)))
	}
	return r
}

// failed is the report of a check that got nowhere.
func failed(status probe.Status, reason probe.Reason) *probe.Report {
	return &probe.Report{
		Status: status, TotalMs: 3,
		Checks: []probe.Result{{Name: probe.StepConnect, Status: status, Reason: reason, Message: "it failed", Error: &probe.Failure{Code: probe.CodeTransport}}},
	}
}

func down() *probe.Report { return failed(probe.StatusUnhealthy, "connection-refused") }

// bench is an engine with all that a test turns.
type bench struct {
	*Engine
	t      *testing.T
	s      *store.Store
	clock  *clock
	server *server
	stop   func()
}

// newBench makes an engine on s whose clock stands, and runs it.
func newBench(t *testing.T, s *store.Store, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, s: s, clock: newClock(), server: newServer()}
	o := Options{
		Store: s, Now: b.clock.now, Logger: slog.New(slog.NewTextHandler(logTo{t}, nil)), Check: b.server.check,
		Alerts: alert.New(alert.Options{Policy: netguard.Policy{AllowPrivate: true}}), stopPatience: 100 * time.Millisecond,
	}
	for _, f := range change {
		f(&o)
	}
	b.run(o)
	return b
}

// run makes an engine and runs it until the test, or stop, ends it.
func (b *bench) run(o Options) {
	b.t.Helper()
	e, err := New(b.t.Context(), o)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Engine = e
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Errorf("run: %v", err)
			}
		case <-time.After(time.Minute):
			b.t.Error("the engine does not stop")
		}
	})
	b.t.Cleanup(b.stop)
}

// logTo writes a log into that of a test.
type logTo struct{ t *testing.T }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Log(string(p))
	return len(p), nil
}

func definition(name string) watch.Definition {
	d := watch.Definition{Name: name, URL: "http://127.0.0.1:1/" + name, Interval: watch.Duration(time.Minute)}
	d.Normalize()
	return d
}

// add stores a monitor.
func (b *bench) add(name string, change ...func(*watch.Definition)) int64 {
	b.t.Helper()
	m := watch.Monitor{Source: watch.FromAPI, Revision: 1, Definition: definition(name), CreatedAt: b.clock.now(), UpdatedAt: b.clock.now()}
	for _, f := range change {
		f(&m.Definition)
	}
	b.tx(func(tx *store.Tx) error { return tx.InsertMonitor(b.t.Context(), &m) })
	return m.ID
}

func (b *bench) addMany(n int, change ...func(*watch.Definition)) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = b.add("m"+strconv.Itoa(i), change...)
	}
	return ids
}

func (b *bench) tx(f func(tx *store.Tx) error) {
	b.t.Helper()
	if err := b.s.InTx(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) view(f func(tx *store.Tx) error) {
	b.t.Helper()
	if err := b.s.View(b.t.Context(), f); err != nil {
		b.t.Fatal(err)
	}
}

// tick has everything done that is due, and that follows from it at this time.
func (b *bench) tick() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	for range 2 { // the checks, then the incidents of what they saw
		if err := b.Tick(ctx); err != nil {
			b.t.Fatal(err)
		}
		if err := b.Idle(ctx); err != nil {
			b.t.Fatal(err)
		}
	}
}

// after moves the clock and ticks.
func (b *bench) after(d time.Duration) {
	b.t.Helper()
	b.clock.add(d)
	b.tick()
}

func (b *bench) state(id int64) watch.State {
	b.t.Helper()
	var out watch.State
	b.view(func(tx *store.Tx) error {
		states, err := tx.States(b.t.Context(), []int64{id}, false)
		out = states[id]
		return err
	})
	return out
}

func (b *bench) results(id int64) []watch.Result {
	b.t.Helper()
	var out []watch.Result
	b.view(func(tx *store.Tx) (err error) {
		out, _, err = tx.Results(b.t.Context(), store.ResultFilter{Monitor: id, Limit: 1000})
		return err
	})
	return out
}

// events are the names of the events of a monitor, in order; 0: of all.
func (b *bench) events(id int64) []string {
	b.t.Helper()
	var out []string
	b.view(func(tx *store.Tx) error {
		events, _, err := tx.Events(b.t.Context(), store.EventFilter{Monitor: id, Ascending: true})
		for i := range events {
			out = append(out, events[i].Name)
		}
		return err
	})
	return out
}

func (b *bench) incidents(id int64) []watch.Incident {
	b.t.Helper()
	var out []watch.Incident
	b.view(func(tx *store.Tx) (err error) {
		out, _, err = tx.Incidents(b.t.Context(), store.IncidentFilter{Monitor: id})
		return err
	})
	return out
}

func (b *bench) notifications() []watch.Notification {
	b.t.Helper()
	var out []watch.Notification
	b.view(func(tx *store.Tx) (err error) {
		out, _, err = tx.Notifications(b.t.Context(), store.NotificationFilter{})
		return err
	})
	return out
}

// eventually waits until what is asked for holds.
func (b *bench) eventually(what string, holds func() bool) {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("not in time: %s", what)
		}
	}
}
