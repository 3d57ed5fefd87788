package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/engine"
	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

func TestMain(m *testing.M) {
	fakemcp.Main()
	os.Exit(m.Run())
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// keys makes the first account, and a key of each of the roles.
func keys(t *testing.T, p *people.People, roles ...people.Role) []string {
	t.Helper()
	ctx := t.Context()
	token, _, err := p.SetupToken(ctx)
	if err == nil {
		_, err = p.Setup(ctx, token, "ann", "correct horse battery staple")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, session, err := p.Login(ctx, "ann", "correct horse battery staple", "", "127.0.0.1:1", "test")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range roles {
		key, _, err := p.CreateKey(ctx, session, people.Password("correct horse battery staple"), "key-"+string(r), r, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, key)
	}
	return out
}

// fakeEngine answers live checks with what check gives.
type fakeEngine struct {
	mu    sync.Mutex
	calls int
	check func(ctx context.Context, id int64) (*probe.Report, error)
	ready error
}

func (e *fakeEngine) CheckLive(ctx context.Context, id int64) (*probe.Report, error) {
	e.mu.Lock()
	e.calls++
	e.mu.Unlock()
	return e.check(ctx, id)
}
func (e *fakeEngine) Ready(context.Context) error { return e.ready }
func (e *fakeEngine) Metrics() engine.Metrics {
	return engine.Metrics{Checks: map[string]uint64{"healthy": 3}, StartLag: engine.Histogram{Bounds: []float64{1, 2}, Counts: []uint64{4, 5, 6}, Count: 15, Sum: 30}}
}

// targetOf is what a state says it is about, which a decision knows.
func targetOf(m *watch.Monitor, at time.Time) string {
	o := watch.Observation{Result: watch.Result{Monitor: m.ID, Location: "local", Slot: at, Kind: watch.Scheduled, Started: at, Status: "healthy"}, Revision: m.Revision}
	return watch.Decide(m, watch.State{Monitor: m.ID}, nil, &o, watch.Context{Now: at}).State.Target
}

// put stores a monitor with a state.
func put(t *testing.T, s *store.Store, name, availability string, paused bool, at time.Time) watch.Monitor {
	t.Helper()
	m := watch.Monitor{Source: watch.FromAPI, Paused: paused, Revision: 1, CreatedAt: at, UpdatedAt: at, Definition: watch.Definition{Name: name, URL: "https://x.example/mcp"}}
	m.Definition.Normalize()
	tools, init := 3, 1.5
	err := s.InTx(t.Context(), func(tx *store.Tx) error {
		if err := tx.InsertMonitor(t.Context(), &m); err != nil || availability == "" {
			return err
		}
		st := watch.State{
			Monitor: m.ID, Revision: m.Revision, Target: targetOf(&m, at), Availability: watch.AxisState{State: availability, Since: at, Reason: "a-reason", Text: "text"},
			Surface: watch.AxisState{State: watch.AsApproved, Since: at}, Posture: watch.AxisState{State: watch.Clean, Since: at},
			Check: watch.CheckPass, LastCheck: at, Tools: &tools, Timing: watch.Timing{Total: 9, Init: &init},
		}
		if err := tx.SaveStates(t.Context(), []watch.State{st}); err != nil {
			return err
		}
		return tx.SaveReports(t.Context(), []store.StoredReport{{Monitor: m.ID, Location: "local", At: at, Report: json.RawMessage(`{"status":"healthy"}`)}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// get asks and returns status and body.
func get(t *testing.T, h http.Handler, path, key string, headers ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(body)
}

func has(t *testing.T, what, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("%s has no %s:\n%s", what, w, text)
		}
	}
}
