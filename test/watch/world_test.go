package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/engine"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server"
	"github.com/mcpvigil/mcpvigil/internal/server/api"
	"github.com/mcpvigil/mcpvigil/internal/server/mcpserver"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// world is a whole monitor in this process, with real checks and a clock that stands
// until it is moved. Everybody who is told of something is the receiver.
type world struct {
	t        *testing.T
	options  store.Options
	receiver *receiver
	// names, unless nil, is asked for addresses in place of the system.
	names probe.Resolver
	// real: the clock goes.
	real bool

	mu sync.Mutex
	at time.Time

	store  *store.Store
	engine *engine.Engine
	web    *httptest.Server
	key    string
	stop   func()
}

func newWorld(t *testing.T, dialect string, change ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, receiver: newReceiver(t), options: store.Options{Sealer: seal.Generate()}, at: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)}
	if dialect == store.Postgres {
		w.options.URL = storetest.Postgres(t)
	} else {
		w.options.Path = filepath.Join(t.TempDir(), "mcpvigil.db")
	}
	for _, f := range change {
		f(w)
	}
	w.begin()
	w.setUp()
	return w
}

func (w *world) now() time.Time {
	if w.real {
		return time.Now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

// begin opens the store, runs the engine and serves, as a process does that starts.
func (w *world) begin() {
	w.t.Helper()
	ctx := w.t.Context()
	var err error
	if w.store, err = store.Open(ctx, w.options); err != nil {
		w.t.Fatal(err)
	}
	alerts := alert.New(alert.Options{Policy: netguard.Policy{AllowPrivate: true}})
	w.engine, err = engine.New(ctx, engine.Options{Store: w.store, Now: w.now, Alerts: alerts, Check: w.check})
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve()
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- w.engine.Run(running) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("run: %v", err)
		}
		alerts.Close()
	})
	s, web := w.store, w.web
	w.t.Cleanup(func() {
		w.stop()
		web.Close()
		_ = s.Close() // a restart closed it before
	})
}

func (w *world) check(ctx context.Context, t *target.Target, o probe.Options) *probe.Report {
	o.Resolver = w.names
	return probe.Check(ctx, t, o)
}

// serve answers as the command serve does.
func (w *world) serve() {
	w.t.Helper()
	p := people.New(w.store.People(), people.Options{Now: w.now})
	operations := ops.New(ops.Deps{Store: w.store, People: p, Engine: w.engine, Now: w.now})
	rest, err := api.New(api.Deps{Ops: operations, People: p, Now: w.now, Rate: 1e6, Burst: 1e6})
	if err != nil {
		w.t.Fatal(err)
	}
	w.web = httptest.NewServer(server.New(server.Deps{
		Store: w.store, Engine: w.engine, People: p, API: rest, Now: w.now,
		MCP: mcpserver.New(mcpserver.Deps{Ops: operations, Key: p.AuthenticateKey}),
	}))
	if w.key != "" {
		return
	}
	ctx := w.t.Context()
	token, _, err := p.SetupToken(ctx)
	if err == nil {
		_, err = p.Setup(ctx, token, "ann", "correct horse battery")
	}
	if err != nil {
		w.t.Fatal(err)
	}
	_, session, err := p.Login(ctx, "ann", "correct horse battery", "", "127.0.0.1", "test")
	if err == nil {
		w.key, _, err = p.CreateKey(ctx, session, people.Password("correct horse battery"), "test", people.Editor, time.Time{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) setUp() {
	w.t.Helper()
	ctx, now := w.t.Context(), w.now()
	w.tx(func(tx *store.Tx) error {
		channel := watch.Channel{
			Name: "hook", Type: "webhook", Source: watch.FromFile, CreatedAt: now, UpdatedAt: now,
			Settings: map[string]string{"url": w.receiver.http.URL},
		}
		if err := tx.PutChannel(ctx, &channel); err != nil {
			return err
		}
		return tx.PutEscalation(ctx, &watch.Escalation{Name: watch.DefaultEscalation, Source: watch.FromFile, Steps: []watch.Step{{Channels: []string{"hook"}}}})
	})
}

func (w *world) tx(f func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.store.InTx(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(f func(tx *store.Tx) error) {
	w.t.Helper()
	if err := w.store.View(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// restart ends the process and starts another one on the same data.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.web.Close()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.begin()
}

// add makes a monitor that is checked every half minute.
func (w *world) add(name, url string, change ...func(*watch.Monitor)) int64 {
	w.t.Helper()
	m := watch.Monitor{
		Source: watch.FromAPI, Revision: 1, CreatedAt: w.now(), UpdatedAt: w.now(),
		Definition: watch.Definition{Name: name, URL: url, Interval: watch.Duration(30 * time.Second), FailureThreshold: 3},
	}
	for _, f := range change {
		f(&m)
	}
	m.Definition.Normalize()
	w.tx(func(tx *store.Tx) error { return tx.InsertMonitor(w.t.Context(), &m) })
	return m.ID
}

// after moves the clock and does everything that is due then.
func (w *world) after(d time.Duration) {
	w.t.Helper()
	w.mu.Lock()
	w.at = w.at.Add(d)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	for range 3 { // checks, what they lead to, what that leads to
		if err := w.engine.Tick(ctx); err != nil {
			w.t.Fatal(err)
		}
		if err := w.engine.Idle(ctx); err != nil {
			w.t.Fatal(err)
		}
	}
}

// round is one more check of every monitor.
func (w *world) round() { w.t.Helper(); w.after(30 * time.Second) }

func (w *world) results(id int64) []watch.Result {
	w.t.Helper()
	var out []watch.Result
	w.read(func(tx *store.Tx) (err error) {
		out, _, err = tx.Results(w.t.Context(), store.ResultFilter{Monitor: id, Limit: 1000})
		return err
	})
	return out
}

func (w *world) incidents(id int64) []watch.Incident {
	w.t.Helper()
	var out []watch.Incident
	w.read(func(tx *store.Tx) (err error) {
		out, _, err = tx.Incidents(w.t.Context(), store.IncidentFilter{Monitor: id, Limit: 1000})
		return err
	})
	return out
}

// events counts the events of a monitor by name.
func (w *world) events(id int64) map[string]int {
	w.t.Helper()
	out := map[string]int{}
	w.read(func(tx *store.Tx) error {
		events, _, err := tx.Events(w.t.Context(), store.EventFilter{Monitor: id, Limit: 1000})
		for i := range events {
			out[events[i].Name]++
		}
		return err
	})
	return out
}

// told are the phases of what the receiver got, in order.
func (w *world) told() []string {
	var out []string
	for _, m := range w.receiver.all() {
		out = append(out, m.Data.Incident.State+" "+m.Data.Phase)
	}
	return out
}

// shown is what each view says of one monitor.
type shown struct {
	State, Reason string
	Stale         bool
}

// of asks every view about a monitor and returns what they agree on.
func (w *world) of(name string) shown {
	w.t.Helper()
	v := views{t: w.t, base: w.web.URL, key: w.key}
	return v.of(name)
}

// views are those of a running monitor, in this process or another one.
type views struct {
	t    *testing.T
	base string
	key  string
}

// get reads a page.
func (v views) get(path string) (status int, body string) {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

func (v views) send(method, path string, in any) (status int, body string) {
	v.t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		v.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	if in != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		r.Header.Set("Content-Type", "application/json")
	}
	if v.key != "" {
		r.Header.Set("Authorization", "Bearer "+v.key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 8<<20))
	if err != nil {
		v.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// ask makes a request of the API, which has to succeed.
func (v views) ask(method, path string, in, out any) {
	v.t.Helper()
	status, body := v.send(method, api.Prefix+path, in)
	if status/100 != 2 {
		v.t.Fatalf("%s %s: %d %s", method, path, status, body)
	}
	if out != nil {
		if err := json.Unmarshal([]byte(body), out); err != nil {
			v.t.Fatalf("%s %s: %v in %s", method, path, err, body)
		}
	}
}

// mcp connects to the MCP server.
func (v views) mcp() *mcp.ClientSession {
	v.t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(v.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: v.base + "/mcp", MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: bearer(v.key)},
	}, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { _ = session.Close() })
	return session
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// all is how every monitor stands, as the API says.
func (v views) all() map[string]ops.Monitor {
	v.t.Helper()
	var page ops.Page[ops.Monitor]
	v.ask(http.MethodGet, "/monitors?limit=200", nil, &page)
	out := map[string]ops.Monitor{}
	for _, m := range page.Items {
		out[m.Name] = m
	}
	return out
}

// of is what API, health, metrics and the MCP server say of a monitor; it is an error
// when they differ.
func (v views) of(name string) shown {
	v.t.Helper()
	m, ok := v.all()[name]
	if !ok {
		v.t.Fatalf("the API has no monitor %s", name)
	}
	says := map[string]shown{"API": {m.Status.Availability.State, m.Status.Availability.Reason, m.Status.Stale}}

	code, body := v.get("/health/" + name)
	var health struct{ watch.View }
	if err := json.Unmarshal([]byte(body), &health); err != nil {
		v.t.Fatalf("%v in %s", err, body)
	}
	says["health"] = shown{health.Availability.State, health.Availability.Reason, health.Stale}
	good := m.Paused || m.Status.Healthy
	if good != (code == http.StatusOK) {
		v.t.Errorf("%s: the status of its health is %d", name, code)
	}

	answer, err := v.mcp().CallTool(v.t.Context(), &mcp.CallToolParams{Name: "get_monitor", Arguments: map[string]any{"name": name}})
	if err != nil || answer.IsError {
		v.t.Fatalf("get_monitor: %v, %+v", err, answer)
	}
	var told struct {
		Summary struct {
			Availability string
			Reason       string `json:"availability_reason"`
			Stale        bool
		} `json:"mcp_summary"`
	}
	data, _ := json.Marshal(answer.StructuredContent)
	if err := json.Unmarshal(data, &told); err != nil {
		v.t.Fatalf("%v in %s", err, data)
	}
	says["MCP"] = shown{told.Summary.Availability, told.Summary.Reason, told.Summary.Stale}

	_, metrics := v.get("/metrics")
	for _, state := range []string{watch.Up, watch.Degraded, watch.Down, watch.Misconfigured, watch.Unknown} {
		series := fmt.Sprintf("mcpvigil_monitor_state{axis=\"availability\",monitor=%q,state=%q} 1\n", name, state)
		if want := state == m.Status.Availability.State && !m.Paused; strings.Contains(metrics, series) != want {
			v.t.Errorf("%s: metrics and the API, which says %s, do not agree on %s", name, m.Status.Availability.State, state)
		}
	}
	for who, says1 := range says {
		if says1 != says["API"] {
			v.t.Errorf("%s: the API says %+v, %s %+v", name, says["API"], who, says1)
		}
	}
	return says["API"]
}

// aggregate is the health of all.
func (v views) aggregate() (code int, status string, counts map[string]int, paused int) {
	v.t.Helper()
	code, body := v.get("/health")
	var page struct {
		Status string
		Counts map[string]int
		Paused int
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		v.t.Fatalf("%v in %s", err, body)
	}
	return code, page.Status, page.Counts, page.Paused
}

func (w *world) views() views { return views{t: w.t, base: w.web.URL, key: w.key} }

// eventually waits for a condition.
func eventually(t *testing.T, patience time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
