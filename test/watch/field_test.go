package watch_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The tests of this file are cases from the field about monitors, each against its
// smallest reproduction; those about one check alone are in package probe.

// A GET or HEAD says nothing of an MCP server; of the monitor itself kubelets ask
// nothing else.
func TestFieldG1(t *testing.T) {
	t.Parallel()
	w := newWorld(t, store.SQLite)
	servers := map[string]*fakemcp.Server{}
	for name, get := range map[string]fakemcp.Handler{
		"400": fakemcp.Text(400, "text/plain", ""), "404": fakemcp.Text(404, "text/plain", ""),
		"405": fakemcp.Text(405, "text/plain", ""), "406": fakemcp.Text(406, "text/plain", ""),
		"stream": fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Body: ": hi\n\n", Hold: true}),
	} {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnHTTP("GET", get)
		srv.OnHTTP("HEAD", fakemcp.Text(500, "text/plain", ""))
		servers[name] = srv
		w.add(name, srv.URL)
	}
	for range 2 {
		w.round()
	}
	for name, srv := range servers {
		if got := w.of(name); got.State != watch.Up {
			t.Errorf("GET answers %s: %+v", name, got)
		}
		if n := srv.Count("HTTP GET") + srv.Count("HTTP HEAD"); n != 0 {
			t.Errorf("GET answers %s: %d GET and HEAD requests", name, n)
		}
	}
	anybody := views{t: t, base: w.web.URL}
	for _, path := range []string{"/livez", "/readyz"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if status, body := anybody.send(method, path, nil); status != http.StatusOK || method == http.MethodGet && body != "ok\n" {
				t.Errorf("%s %s: %d %q", method, path, status, body)
			}
		}
	}
}

// A server that asks for a login is reachable: nobody is paged, and the health of all
// does not fail for it.
func TestFieldG3(t *testing.T) {
	t.Parallel()
	w := newWorld(t, store.SQLite)
	srv := fakemcp.New(t, fakemcp.Config{})
	origin := strings.TrimSuffix(srv.URL, "/mcp")
	const at = "/.well-known/oauth-protected-resource/mcp"
	srv.OnPath(at, fakemcp.Text(200, "application/json", `{"resource":"`+srv.URL+`","authorization_servers":["`+origin+`"]}`))
	srv.OnPath("/.well-known/oauth-authorization-server", fakemcp.Text(200, "application/json",
		`{"issuer":"`+origin+`","authorization_endpoint":"`+origin+`/authorize","token_endpoint":"`+origin+`/token","code_challenge_methods_supported":["S256"],"client_id_metadata_document_supported":true}`))
	srv.Allow(fakemcp.RuleGet)
	srv.OnHTTP("POST", fakemcp.When(func(x *fakemcp.Exchange) bool { return x.Header.Get("Authorization") != "Bearer X" },
		fakemcp.Unauthorized(`Bearer resource_metadata="`+origin+at+`"`)))

	id := w.add("without", srv.URL)
	with := w.add("with", srv.URL, func(m *watch.Monitor) {
		m.Definition.AuthMode, m.Definition.Headers = watch.AuthHeader, []string{"Authorization"}
	})
	w.tx(func(tx *store.Tx) error {
		return tx.SetHeaders(t.Context(), with, map[string]string{"Authorization": "Bearer X"})
	})
	for range 5 {
		w.round()
	}
	if got := w.of("without"); got.State != watch.Misconfigured {
		t.Errorf("without a credential: %+v", got)
	}
	if got := w.of("with"); got.State != watch.Up {
		t.Errorf("with one: %+v", got)
	}
	if code, status, counts, _ := w.views().aggregate(); code != http.StatusOK || status != "degraded" || counts[watch.Misconfigured] != 1 || counts[watch.Down] != 0 {
		t.Errorf("the health of all: %d %s %v", code, status, counts)
	}
	if i := w.incidents(id); len(i) != 1 || !i[0].Open() || i[0].State != watch.Misconfigured {
		t.Errorf("incidents: %+v", i)
	}
	if told := w.told(); len(told) != 0 {
		t.Errorf("somebody was told: %q", told)
	}
}

// A server that always fails does not stay pending for ever.
func TestFieldG5(t *testing.T) {
	t.Parallel()
	w := newWorld(t, store.SQLite)
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.Text(500, "text/plain", "Internal Server Error"))
	w.add("m", srv.URL)
	if got := w.of("m"); got != (shown{watch.Unknown, watch.ReasonPending, false}) {
		t.Errorf("before the first check: %+v", got)
	}
	for n := 1; n <= 5; n++ {
		w.round()
		want := shown{watch.Unknown, watch.ReasonPending, false}
		if n >= 3 {
			want = shown{watch.Down, "http-5xx", false}
		}
		if got := w.of("m"); got != want {
			t.Errorf("after %d checks: %+v, want %+v", n, got, want)
		}
	}
	if told := w.told(); !slices.Equal(told, []string{"down triggered"}) {
		t.Errorf("told: %q", told)
	}
}

// A timeout is a class of its own, the same for a check that somebody asks for; failures
// count only in a row, and of one server alone.
func TestFieldG7(t *testing.T) {
	t.Parallel()
	w := newWorld(t, store.SQLite)
	gate := fakemcp.NewGate()
	slow, fast := fakemcp.New(t, fakemcp.Config{}), fakemcp.New(t, fakemcp.Config{})
	slow.On("tools/list", fakemcp.Gated(gate, fakemcp.Default()))
	short := func(m *watch.Monitor) { m.Definition.Timeout = watch.Duration(time.Second) }
	id, other := w.add("slow", slow.URL, short), w.add("fast", fast.URL, short)
	w.round()
	w.after(time.Second)
	w.tx(func(tx *store.Tx) error { return tx.RunNow(t.Context(), id, w.now()) })
	eventually(t, time.Minute, "the check that was asked for has ended", func() bool { return len(w.results(id)) == 2 })
	kinds := map[watch.Kind]bool{}
	for _, r := range w.results(id) {
		kinds[r.Kind] = true
		if r.Reason != "timeout" || r.Step != "tools" || !strings.Contains(r.Message, "tools/list") || !strings.Contains(r.Message, "1 s") && !strings.Contains(r.Message, "1s") {
			t.Errorf("a %s check: %s in step %s: %s", r.Kind, r.Reason, r.Step, r.Message)
		}
	}
	if !kinds[watch.Scheduled] || !kinds[watch.Manual] {
		t.Errorf("kinds of checks: %v", kinds)
	}
	if got := w.of("fast"); got.State != watch.Up {
		t.Errorf("the other server: %+v", got)
	}
	if r := w.results(other); len(r) != 1 || r[0].Status != "healthy" {
		t.Errorf("results of the other server: %+v", r)
	}
	gate.Open()
	w.round() // ok
	slow.On("tools/list", fakemcp.Error(-32603, "no"))
	w.round()
	w.round()
	if got := w.of("slow"); got.State != watch.Up {
		t.Errorf("after fail, fail, ok, fail, fail with a threshold of 3: %+v", got)
	}
	if told, i := w.told(), w.incidents(id); len(told) != 0 || len(i) != 0 {
		t.Errorf("told %q, incidents %+v", told, i)
	}
}

// A light is green for what was checked, and not for long.
func TestFieldG8(t *testing.T) {
	t.Parallel()
	w := newWorld(t, store.SQLite)
	srv := fakemcp.New(t, fakemcp.Config{})
	minute := func(m *watch.Monitor) { m.Definition.Interval = watch.Duration(time.Minute) }
	w.add("m", srv.URL, minute)
	w.after(time.Minute)
	if got := w.of("m"); got != (shown{State: watch.Up}) {
		t.Fatalf("after a check: %+v", got)
	}
	w.stop() // nothing is checked any more, and every page still answers
	w.add("never", srv.URL, minute)
	w.mu.Lock()
	w.at = w.at.Add(4 * time.Minute)
	w.mu.Unlock()
	if got := w.of("m"); got != (shown{watch.Unknown, watch.ReasonStale, true}) {
		t.Errorf("after four intervals without a check: %+v", got)
	}
	if got := w.of("never"); got != (shown{watch.Unknown, watch.ReasonPending, false}) {
		t.Errorf("never checked: %+v", got)
	}
	if code, status, _, _ := w.views().aggregate(); code != http.StatusServiceUnavailable || status != watch.Unknown {
		t.Errorf("the health of all: %d %s", code, status)
	}
	if _, body := w.views().get("/health/m"); !strings.Contains(body, `"age_ms": 240000`) {
		t.Errorf("the page does not say how old it is: %s", body)
	}
	if _, metrics := w.views().get("/metrics"); strings.Contains(metrics, `mcp_tool_count{monitor="m"}`) || !strings.Contains(metrics, `mcpvigil_monitor_last_check_age_seconds{monitor="m"} 240`) {
		t.Error("metrics say what was measured then, or not how old it is")
	}
	w.restart()
	w.after(time.Minute)
	if got := w.of("m"); got != (shown{State: watch.Up}) {
		t.Errorf("when checks run again: %+v", got)
	}
}

// A restart forgets no alert.
func TestFieldG10(t *testing.T) {
	for _, dialect := range []string{store.SQLite, store.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			w, f := newWorld(t, dialect), newFleet(t, "m")
			id := w.add("m", f.url("m"))
			w.round()
			f.change("m", func(m *member) { m.down = true })
			for range 4 {
				w.round()
			}
			before := w.incidents(id)
			if told := w.told(); len(before) != 1 || !slices.Equal(told, []string{"down triggered"}) {
				t.Fatalf("told %q, incidents %+v", told, before)
			}
			w.restart()
			for range 5 {
				w.round()
			}
			after := w.incidents(id)
			if told := w.told(); len(told) != 1 {
				t.Errorf("told after the restart: %q", told)
			}
			if len(after) != 1 || after[0].ID != before[0].ID || !after[0].OpenedAt.Equal(before[0].OpenedAt) || !after[0].Open() {
				t.Errorf("incidents before %+v, after %+v", before, after)
			}
			f.change("m", func(m *member) { m.down = false })
			w.round()
			eventually(t, time.Minute, "the end was told, too", func() bool {
				return slices.Equal(w.told(), []string{"down triggered", "down resolved"})
			})
		})
	}
}

// A database that is locked delays what is stored: nothing fails, and no gap is called
// an outage. That its size is bounded is a matter of the tests of package store.
func TestFieldG13(t *testing.T) {
	for _, dialect := range []string{store.SQLite, store.Postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			names := make([]string, 20)
			for i := range names {
				names[i] = fmt.Sprintf("m%d", i)
			}
			w, f := newWorld(t, dialect, func(w *world) { w.real = true }), newFleet(t, names...)
			ids := map[string]int64{}
			for _, name := range names {
				ids[name] = w.add(name, f.url(name), func(m *watch.Monitor) {
					m.Definition.Interval, m.Definition.FailureThreshold = watch.Duration(watch.MinInterval), 1
				})
			}
			rows := func(least int) func() bool {
				return func() bool {
					return !slices.ContainsFunc(names, func(name string) bool { return len(w.results(ids[name])) < least })
				}
			}
			eventually(t, 2*time.Minute, "each was checked", rows(1))
			began := time.Now()
			release := sync.OnceFunc(w.lock())
			defer release()
			time.Sleep(10 * time.Second) // how long the lock is held, not a wait for luck
			if code, status, _, _ := w.views().aggregate(); code != http.StatusOK {
				t.Errorf("while the database is locked: %d %s", code, status)
			}
			release()
			locked := time.Since(began)
			eventually(t, 2*time.Minute, "each was checked again, and again", rows(3))
			for _, name := range names {
				for _, r := range w.results(ids[name]) {
					if r.Status != "healthy" && r.Status != "" { // a slot that was skipped has none
						t.Errorf("%s: a result %+v", name, r)
					}
				}
				said := w.events(ids[name])
				if said[watch.EventDown]+said[watch.EventUnknown]+said[watch.EventDegraded] != 0 || len(w.incidents(ids[name])) != 0 {
					t.Errorf("%s: events %v", name, said)
				}
				w.read(func(tx *store.Tx) error {
					u, err := tx.Uptime(t.Context(), ids[name], began.Add(-locked), time.Now())
					if err == nil && (u.Ratio == nil || *u.Ratio != 1 || u.Down != 0) {
						t.Errorf("%s: uptime %+v", name, u)
					}
					return err
				})
			}
			if m := w.engine.Metrics(); m.StoreFailures != 0 {
				t.Errorf("%d results could not be stored", m.StoreFailures)
			}
		})
	}
}

// lock keeps everybody from writing, as another program would, until release is called.
func (w *world) lock() (release func()) {
	w.t.Helper()
	driver, address, lock := "sqlite", w.options.Path, "begin immediate"
	if w.options.URL != "" {
		driver, address, lock = "pgx", w.options.URL, "begin; lock table results, states, schedule in exclusive mode"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		w.t.Fatal(err)
	}
	conn, err := db.Conn(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, time.Minute, "the database is locked", func() bool {
		_, err = conn.ExecContext(w.t.Context(), lock)
		return err == nil
	})
	return func() {
		w.t.Helper()
		_, err := conn.ExecContext(w.t.Context(), "rollback")
		if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
			w.t.Error(err)
		}
	}
}

// One look-up that fails is no outage, and an address that moves is followed.
func TestFieldG15(t *testing.T) {
	t.Parallel()
	const host = "mcp.fake.test"
	names := fakemcp.NewResolver(host)
	w := newWorld(t, store.SQLite, func(w *world) { w.names = names })
	old := newFleet(t, "m")
	address := strings.TrimPrefix(old.http.URL, "http://127.0.0.1:")
	moved := newFleetAt(t, "127.0.0.2:"+address, "m")
	id := w.add("m", "http://"+host+":"+address+"/m")
	w.round()
	names.Fail(1)
	before := len(names.Lookups())
	w.round()
	if n := len(names.Lookups()) - before; n < 2 {
		t.Errorf("%d look-ups", n)
	}
	if got, said := w.of("m"), w.events(id); got.State != watch.Up || said[watch.EventDown]+said[watch.EventUnknown] != 0 {
		t.Errorf("after one failed look-up: %+v, %v", got, said)
	}
	wantAddress(t, w, id, "127.0.0.1:"+address)

	names.Set(host, "127.0.0.2")
	here, there := old.look("m").requests, moved.look("m").requests
	w.round()
	if old.look("m").requests != here || moved.look("m").requests == there {
		t.Error("the check went to the old address")
	}
	if r := w.results(id); r[0].Status != "healthy" {
		t.Errorf("result: %+v", r[0])
	}
	w.after(time.Hour) // the stored report is replaced when it is old
	wantAddress(t, w, id, "127.0.0.2:"+address)

	names.Fail(1000)
	for range 3 {
		w.round()
	}
	if got := w.of("m"); got != (shown{watch.Down, "dns-not-found", false}) {
		t.Errorf("no such host: %+v", got)
	}
}

// wantAddress holds the address in the stored report against the one that was used.
func wantAddress(t *testing.T, w *world, id int64, want string) {
	t.Helper()
	w.read(func(tx *store.Tx) error {
		reports, err := tx.Reports(t.Context(), id)
		if len(reports) != 1 || !strings.Contains(string(reports[0].Report), `"address":"`+want+`"`) {
			t.Errorf("the report does not say that %s was used: %+v", want, reports)
		}
		return err
	})
}

// A server that goes up and down is told of once.
func TestFieldG17(t *testing.T) {
	t.Parallel()
	w, f := newWorld(t, store.SQLite), newFleet(t, "m")
	id := w.add("m", f.url("m"))
	for i, c := range "FFFOFOFOOOO" {
		f.change("m", func(m *member) { m.down = c == 'F' })
		w.round()
		if n := len(w.results(id)); n != i+1 {
			t.Fatalf("%d results after %d rounds", n, i+1)
		}
	}
	if told := w.told(); !slices.Equal(told, []string{"down triggered", "down resolved"}) {
		t.Errorf("told: %q", told)
	}
	want := map[string]int{watch.EventDown: 1, watch.EventOpened: 1, watch.EventFlapping: 1, watch.EventSteady: 1, watch.EventUp: 1, watch.EventResolved: 1}
	got := w.events(id)
	maps.DeleteFunc(got, func(name string, _ int) bool { return want[name] == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := w.of("m"); got != (shown{State: watch.Up}) {
		t.Errorf("in the end: %+v", got)
	}
}

// What a census counts as alive depends on its classes: each has its own here, and the
// sums are those of the single monitors.
func TestFieldG19(t *testing.T) {
	t.Parallel()
	w := newWorld(t, store.SQLite, func(w *world) { w.names = fakemcp.NewResolver() })
	post := func(c fakemcp.Config, h fakemcp.Handler) string {
		srv := fakemcp.New(t, c)
		srv.OnHTTP("POST", h)
		srv.Allow(fakemcp.RuleGet)
		return srv.URL
	}
	type class struct {
		url  string
		want shown
	}
	classes := map[string]class{
		"ok":        {fakemcp.New(t, fakemcp.Config{}).URL, shown{State: watch.Up}},
		"auth":      {post(fakemcp.Config{}, fakemcp.Unauthorized(`Bearer realm="x"`)), shown{State: watch.Misconfigured, Reason: "auth-required"}},
		"html":      {post(fakemcp.Config{}, fakemcp.Text(200, "text/html", "<!doctype html><title>Hello</title>")), shown{State: watch.Misconfigured, Reason: "not-mcp-endpoint"}},
		"timeout":   {post(fakemcp.Config{}, fakemcp.Hang()), shown{State: watch.Down, Reason: "probe-timeout"}},
		"dns":       {"http://nowhere.fake.test/mcp", shown{State: watch.Down, Reason: "dns-not-found"}},
		"tls":       {fakemcp.New(t, fakemcp.Config{TLS: fakemcp.TLSSelfSigned}).URL, shown{State: watch.Down, Reason: "tls-untrusted"}},
		"malformed": {post(fakemcp.Config{}, fakemcp.Raw(`{"jsonrpc": oops`)), shown{State: watch.Down, Reason: "malformed-json"}},
		"empty":     {fakemcp.New(t, fakemcp.Config{Tools: []string{}}).URL, shown{State: watch.Up}},
	}
	for name, c := range classes {
		w.add(name, c.url, func(m *watch.Monitor) {
			m.Definition.Timeout, m.Definition.FailureThreshold = watch.Duration(time.Second), 1
		})
	}
	w.round()
	want := map[string]int{watch.Up: 0, watch.Degraded: 0, watch.Down: 0, watch.Misconfigured: 0, watch.Unknown: 0}
	for name, c := range classes {
		if got := w.of(name); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		want[c.want.State]++
	}
	code, status, counts, _ := w.views().aggregate()
	if diff := cmp.Diff(want, counts); diff != "" || code != http.StatusServiceUnavailable || status != "unhealthy" {
		t.Errorf("the health of all: %d %s (-want +got):\n%s", code, status, diff)
	}
	_, metrics := w.views().get("/metrics")
	sums := map[string]int{}
	for line := range strings.Lines(metrics) {
		for state := range want {
			if strings.HasPrefix(line, `mcpvigil_monitor_state{axis="availability"`) && strings.Contains(line, fmt.Sprintf("state=%q} 1", state)) {
				sums[state]++
			}
		}
	}
	maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	w.read(func(tx *store.Tx) error { // each result says from where
		results, _, err := tx.Results(t.Context(), store.ResultFilter{Limit: 100})
		for _, r := range results {
			if r.Location != watch.DefaultLocation || r.Kind == "" {
				t.Errorf("a result from nowhere: %+v", r)
			}
		}
		return err
	})
}
