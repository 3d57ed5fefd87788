package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/api"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

func TestWhoMayAsk(t *testing.T) {
	s := openStore(t)
	now := time.Now().UTC()
	put(t, s, "a", watch.Up, false, now)
	p := people.New(s.People(), people.Options{})
	key := keys(t, p, people.Viewer)[0]
	e := &fakeEngine{check: func(context.Context, int64) (*probe.Report, error) {
		return &probe.Report{Status: probe.StatusHealthy}, nil
	}}
	for _, open := range []bool{false, true} {
		h := New(Deps{Store: s, Engine: e, People: p, OpenMetrics: open})
		for _, tt := range []struct {
			path string
			open bool
		}{
			{"/livez", true},
			{"/readyz", true},
			{"/metrics", false},
			{"/probe?target=a", false},
			{"/health", false},
			{"/health/a", false},
			{"/health/a?live=1", false},
		} {
			want := http.StatusOK
			if !tt.open && !open {
				want = http.StatusUnauthorized
			}
			for _, wrong := range []string{"", "mvk_wrong"} {
				if code, body := get(t, h, tt.path, wrong); code != want {
					t.Errorf("open %v: %s with key %q: %d, want %d\n%s", open, tt.path, wrong, code, want, body)
				}
			}
			if code, body := get(t, h, tt.path, key); code != http.StatusOK {
				t.Errorf("%s with a key: %d\n%s", tt.path, code, body)
			}
		}
		for _, path := range []string{"/x", "/api/v1/monitors", "/mcp", "/livez/x"} {
			if code, _ := get(t, h, path, key); code != http.StatusNotFound {
				t.Errorf("%s: %d", path, code)
			}
		}
	}
}

func TestReady(t *testing.T) {
	s := openStore(t)
	e := &fakeEngine{ready: errors.New("secret detail")}
	h := New(Deps{Store: s, Engine: e})
	if code, body := get(t, h, "/readyz", ""); code != http.StatusServiceUnavailable || strings.Contains(body, "secret") || !strings.Contains(body, "engine") {
		t.Errorf("%d %s", code, body)
	}
	e.ready = nil
	if code, _ := get(t, h, "/readyz", ""); code != http.StatusOK {
		t.Errorf("%d", code)
	}
	_ = s.Close()
	if code, body := get(t, h, "/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, "database") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := get(t, h, "/livez", ""); code != http.StatusOK {
		t.Errorf("alive: %d", code)
	}
}

// TestViewsAgree: health, the aggregate, metrics and the API say the same of monitors in
// every state, at the same time.
func TestViewsAgree(t *testing.T) {
	s := openStore(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for name, state := range map[string]string{"up": watch.Up, "degraded": watch.Degraded, "down": watch.Down, "misconfigured": watch.Misconfigured, "unknown": watch.Unknown, "never": ""} {
		put(t, s, name, state, false, now)
	}
	put(t, s, "paused one", watch.Down, true, now)
	put(t, s, "stale/one", watch.Up, false, now.Add(-time.Hour))
	p := people.New(s.People(), people.Options{})
	key := keys(t, p, people.Viewer)[0]
	clock := func() time.Time { return now.Add(time.Second) }
	operations := ops.New(ops.Deps{Store: s, People: p, Now: clock})
	rest, err := api.New(api.Deps{Ops: operations, People: p, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	h := New(Deps{Store: s, Engine: &fakeEngine{}, People: p, API: rest, Now: clock})
	_, metrics := get(t, h, "/metrics", key)
	_, list := get(t, h, api.Prefix+"/monitors", key)
	var page struct {
		Items []struct {
			Name   string
			Paused bool
			Status struct {
				Availability struct{ State string }
				Stale        bool
			}
		}
	}
	if err := json.Unmarshal([]byte(list), &page); err != nil || len(page.Items) != 8 {
		t.Fatalf("%v\n%s", err, list)
	}
	for _, m := range page.Items {
		code, body := get(t, h, "/health/"+url.PathEscape(m.Name), key)
		var health struct {
			Status       string
			Availability struct{ State string }
			Stale        bool
			Paused       bool
			Reports      []struct{ Report json.RawMessage }
		}
		if err := json.Unmarshal([]byte(body), &health); err != nil {
			t.Errorf("%s: %v\n%s", m.Name, err, body)
			continue
		}
		state := m.Status.Availability.State
		wantCode, wantStatus := http.StatusServiceUnavailable, state
		if state == watch.Up || state == watch.Degraded {
			wantCode = http.StatusOK
		}
		if m.Paused {
			wantCode, wantStatus = http.StatusOK, "paused"
		}
		if code != wantCode || health.Status != wantStatus || health.Availability.State != state || health.Stale != m.Status.Stale {
			t.Errorf("%s: %d\n%s", m.Name, code, body)
		}
		if m.Name != "never" && len(health.Reports) != 1 {
			t.Errorf("%s: no report\n%s", m.Name, body)
		}
		series := fmt.Sprintf("mcpvigil_monitor_state{axis=\"availability\",monitor=%q,state=%q} 1\n", m.Name, state)
		if strings.Contains(metrics, series) == m.Paused {
			t.Errorf("%s is %s, paused %v, and metrics say otherwise", m.Name, state, m.Paused)
		}
	}
	has(t, "metrics", metrics, `mcpvigil_monitor_paused{monitor="paused one"} 1`, `mcp_tool_count{monitor="up"} 3`, `mcp_init_ms{monitor="up"} 1.5`,
		`mcpvigil_monitor_last_check_age_seconds{monitor="up"} 1`, `mcpvigil_monitors_collected 1`, `mcpvigil_checks_total{status="healthy"} 3`,
		`mcpvigil_check_start_lag_seconds_bucket{le="2"} 9`, `mcpvigil_check_start_lag_seconds_count 15`, `mcpvigil_monitors{paused="true"} 1`)
	for _, absent := range []string{`mcp_tool_count{monitor="stale/one"`, `mcp_list_ms{monitor="up"`, `mcp_tool_count{monitor="paused one"`} {
		if strings.Contains(metrics, absent) {
			t.Errorf("metrics have %s", absent)
		}
	}
	code, body := get(t, h, "/health", key)
	has(t, "the aggregate", body, `"status": "unhealthy"`, `"down": 1`, `"unknown": 3`, `"paused": 1`, `"misconfigured": 1`, `"up": 1`)
	if code != http.StatusServiceUnavailable || strings.Contains(body, "paused one") {
		t.Errorf("%d\n%s", code, body)
	}
	if code, _ := get(t, h, "/health/nobody", key); code != http.StatusNotFound {
		t.Errorf("an unknown name: %d", code)
	}
}

func TestAggregate(t *testing.T) {
	for name, tt := range map[string]struct {
		states []string
		code   int
		status string
	}{
		"nothing":       {nil, 200, "healthy"},
		"up":            {[]string{watch.Up, "paused"}, 200, "healthy"},
		"degraded":      {[]string{watch.Up, watch.Degraded}, 200, "degraded"},
		"wants a login": {[]string{watch.Up, watch.Misconfigured}, 200, "degraded"},
		"unknown":       {[]string{watch.Up, watch.Unknown, watch.Degraded}, 503, "unknown"},
		"down":          {[]string{watch.Up, watch.Unknown, watch.Down}, 503, "unhealthy"},
	} {
		s := openStore(t)
		now := time.Now().UTC()
		for i, state := range tt.states {
			paused := state == "paused"
			if paused {
				state = watch.Down
			}
			put(t, s, fmt.Sprint(i), state, paused, now)
		}
		code, body := get(t, New(Deps{Store: s, Engine: &fakeEngine{}, OpenMetrics: true}), "/health", "")
		if code != tt.code || !strings.Contains(body, fmt.Sprintf("\"status\": %q", tt.status)) {
			t.Errorf("%s: %d\n%s", name, code, body)
		}
	}
}

// TestLive: checks that somebody waits for are shared, bounded, and give their verdict.
func TestLive(t *testing.T) {
	s := openStore(t)
	now := time.Now().UTC()
	for i := range liveAtATime + 1 {
		put(t, s, fmt.Sprint(i), watch.Down, false, now)
	}
	gate := make(chan struct{})
	e := &fakeEngine{check: func(ctx context.Context, id int64) (*probe.Report, error) {
		<-gate
		status := probe.StatusHealthy
		if id == 2 {
			status = probe.StatusMisconfigured
		}
		return &probe.Report{Status: status, TotalMs: 5}, nil
	}}
	h := New(Deps{Store: s, Engine: e, OpenMetrics: true})
	var wg sync.WaitGroup
	for i := range 3 * liveAtATime {
		wg.Go(func() {
			name := fmt.Sprint(i % liveAtATime)
			want := http.StatusOK
			if name == "1" {
				want = http.StatusServiceUnavailable // misconfigured
			}
			if code, body := get(t, h, "/health/"+name+"?live=1", ""); code != want {
				t.Errorf("%s: %d\n%s", name, code, body)
			}
		})
	}
	until(t, "as many checks as may run", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.calls == liveAtATime
	})
	code, body := get(t, h, fmt.Sprintf("/health/%d?live=1", liveAtATime), "")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "too many") {
		t.Errorf("one too many: %d %s", code, body)
	}
	close(gate)
	wg.Wait()
	if _, body := get(t, h, "/probe?target=1", ""); !strings.Contains(body, "probe_success 0\n") || !strings.Contains(body, `mcpvigil_status{status="misconfigured"} 1`) {
		t.Error(body)
	}
	if _, body := get(t, h, "/probe?target=0", ""); !strings.Contains(body, "probe_success 1\n") || !strings.Contains(body, "probe_duration_seconds 0.005\n") {
		t.Error(body)
	}
	for path, want := range map[string]int{"/probe": 400, "/probe?target=https://x.example/mcp": 404, "/probe?target=": 400} {
		if code, body := get(t, h, path, ""); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestProbeKeepsTheScrapeTime: Prometheus gets an answer before it gives up.
func TestProbeKeepsTheScrapeTime(t *testing.T) {
	s := openStore(t)
	put(t, s, "a", watch.Up, false, time.Now().UTC())
	gate := make(chan struct{})
	defer close(gate)
	e := &fakeEngine{check: func(context.Context, int64) (*probe.Report, error) { <-gate; return nil, errors.New("late") }}
	h := New(Deps{Store: s, Engine: e, OpenMetrics: true})
	code, body := get(t, h, "/probe?target=a", "", "X-Prometheus-Scrape-Timeout-Seconds", "0.1")
	if code != http.StatusOK || !strings.Contains(body, "probe_success 0\n") {
		t.Errorf("%d %s", code, body)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("there is never %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// deadlined notes until when an answer may be written.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetWriteDeadline(at time.Time) error {
	d.until = at
	return nil
}

// TestAnswersEnd: whoever does not read an answer does not keep it for ever.
func TestAnswersEnd(t *testing.T) {
	h := New(Deps{Store: openStore(t), Engine: &fakeEngine{}, Pages: http.NotFoundHandler()})
	for _, path := range []string{"/livez", "/metrics", "/", "/status/x"} {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if left := time.Until(w.until); left <= 0 || left > answerTime {
			t.Errorf("%s: it may be written for %s", path, left)
		}
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	s := openStore(t)
	h := New(Deps{Store: s, Engine: &fakeEngine{}, PublicURL: "https://watch.example.com", MCP: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })})
	for origin, want := range map[string]int{"": http.StatusTeapot, "https://watch.example.com": http.StatusTeapot, "https://evil.example": http.StatusForbidden} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:8087/mcp", strings.NewReader("{}"))
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if got := serve(h, r); got.Code != want || got.Header().Get("X-Content-Type-Options") != "nosniff" && want == http.StatusTeapot {
			t.Errorf("%s: %d", origin, got.Code)
		}
	}
}

// TestAddressesAreText: what is no text gets no further, as PostgreSQL refuses it.
func TestAddressesAreText(t *testing.T) {
	h := New(Deps{Store: openStore(t), Engine: &fakeEngine{}, Pages: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })})
	for address, want := range map[string]int{
		"/incidents?q=caf%C3%A9&after=%zz":  http.StatusTeapot,
		"/status/caf%C3%A9":                 http.StatusTeapot,
		"/incidents?q=%ff":                  http.StatusBadRequest,
		"/incidents?after=%zz&q=a%00":       http.StatusBadRequest,
		"/incidents?%ff=q":                  http.StatusBadRequest,
		"/status/%ff":                       http.StatusBadRequest,
		"/settings/escalations/a%00?next=/": http.StatusBadRequest,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:8087"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := serve(h, r); got.Code != want {
			t.Errorf("%s: %d, want %d", address, got.Code, want)
		}
	}
}
