package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/people/peopletest"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server/api"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// password is that of every account of the tests.
const password = "correct horse battery staple"

// fakeEngine stands for the engine.
type fakeEngine struct {
	mu     sync.Mutex
	tested []string
	fail   error
}

func (e *fakeEngine) TestChannel(_ context.Context, channel string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tested = append(e.tested, channel)
	return "202 Accepted", e.fail
}

func (e *fakeEngine) Binding(_ context.Context, m *watch.Monitor) (baseline.Binding, error) {
	t := &target.Target{Name: m.Definition.Name, Endpoint: m.Definition.URL, ProtocolVersion: m.Definition.ProtocolVersion}
	for _, name := range m.Definition.Headers {
		t.Headers = append(t.Headers, target.Header{Name: name, Value: target.Literal("x")})
	}
	return baseline.BindingOf(t, ""), nil
}

// world is a server with a store of its own.
type world struct {
	t      testing.TB
	url    string
	api    *api.API
	store  *store.Store
	people *people.People
	engine *fakeEngine
	log    *uitest.Log
	offset atomic.Int64 // of the clock
	// credentials by role: "session viewer", "key editor".
	credentials map[string]string
	codes       map[string]func() string // of code apps, by credential
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.offset.Load())) }

// open opens a database: a new one in a folder of the test, or that of a URL.
func open(t testing.TB, url string) *store.Store {
	t.Helper()
	o := store.Options{URL: url, Sealer: seal.Generate()}
	if url == "" {
		o.Path = filepath.Join(t.TempDir(), "watch.db")
	}
	s, err := store.Open(context.Background(), o)
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

func newWorld(t testing.TB, s *store.Store, change ...func(*api.Deps)) *world {
	t.Helper()
	w := &world{t: t, store: s, engine: &fakeEngine{}, credentials: map[string]string{}, codes: map[string]func() string{}, log: new(uitest.Log)}
	t.Cleanup(func() {
		if text := w.log.String(); text != "" {
			t.Errorf("the server logged:\n%s", text)
		}
	})
	w.people = people.New(s.People(), people.Options{Now: w.now})
	d := api.Deps{
		Ops:    ops.New(ops.Deps{Store: s, People: w.people, Engine: w.engine, Now: w.now}),
		People: w.people, Now: w.now, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Rate: 1e6, Burst: 1e6, Failures: 1e6,
	}
	for _, f := range change {
		f(&d)
	}
	a, err := api.New(d)
	if err != nil {
		t.Fatal(err)
	}
	w.api = a
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// populate makes an account and a key of each role.
func (w *world) populate() *world {
	w.t.Helper()
	ctx := context.Background()
	token, needed, err := w.people.SetupToken(ctx)
	if err != nil || !needed {
		w.t.Fatalf("setup token: needed %v, %v", needed, err)
	}
	w.request("POST", "/setup", "", map[string]any{"token": token, "name": "admin", "password": password}, http.StatusCreated, nil)
	admin := w.signIn("admin")
	w.credentials["session admin"] = admin
	for _, role := range []string{"viewer", "editor", "approver"} {
		w.request("POST", "/accounts", admin, map[string]any{"name": role, "role": role, "new_password": password, "password": password}, http.StatusCreated, nil)
		w.credentials["session "+role] = w.signIn(role)
	}
	w.keys()
	for _, name := range []string{"admin", "approver"} {
		w.enrol(name)
	}
	return w
}

// keys makes a key of each role, with limits of their own: tests try more than anybody may.
func (w *world) keys() {
	w.t.Helper()
	ctx := context.Background()
	elsewhere := people.New(w.store.People(), people.Options{Now: w.now})
	_, session, err := elsewhere.Login(ctx, "admin", password, "", "192.0.2.1", "test")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, role := range []people.Role{people.Viewer, people.Editor, people.Admin} {
		key, _, err := elsewhere.CreateKey(ctx, session, people.Password(password), "k-"+string(role), role, time.Time{})
		if err != nil {
			w.t.Fatal(err)
		}
		w.credentials["key "+string(role)] = key
	}
	if err := elsewhere.Logout(ctx, session); err != nil {
		w.t.Fatal(err)
	}
}

// enrol sets up a code app for who is signed in under a name of credentials.
func (w *world) enrol(name string) {
	w.t.Helper()
	credential := w.credentials["session "+name]
	actor, err := w.people.AuthenticateSession(context.Background(), strings.TrimPrefix(credential, "cookie:"))
	if err != nil {
		w.t.Fatal(err)
	}
	session, _ := actor.Session()
	w.codes[credential] = peopletest.EnrolTOTP(w.t, w.people, session, password, w.now())
}

// coded is a body with a code beside the right password, where the account has a code
// app and the body does not say which code.
func (w *world) coded(credential string, body any) any {
	fields, ok := body.(map[string]any)
	code := w.codes[credential]
	if _, there := fields["code"]; !ok || there || code == nil || fields["password"] != password {
		return body
	}
	return with(fields, "code", code())
}

func (w *world) signIn(name string) string {
	w.t.Helper()
	body := w.coded(w.credentials["session "+name], map[string]any{"name": name, "password": password})
	answer := w.request("POST", "/session", "", body, http.StatusCreated, nil)
	for _, c := range answer.cookies {
		if strings.HasSuffix(c.Name, web.SessionCookie) {
			return "cookie:" + c.Value
		}
	}
	w.t.Fatal("signing in gave no cookie")
	return ""
}

// answer is what came back.
type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    []byte
}

// send makes a request with a credential: cookie:TOKEN, a key, or none.
func (w *world) send(method, path, credential string, body io.Reader, change ...func(*http.Request)) answer {
	w.t.Helper()
	r, err := http.NewRequest(method, w.url+api.Prefix+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token, ok := strings.CutPrefix(credential, "cookie:"); ok {
		for _, secure := range []bool{false, true} {
			r.AddCookie(&http.Cookie{Name: web.CookieName(web.SessionCookie, secure), Value: token})
		}
	} else if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	for _, f := range change {
		f(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, response.Cookies(), data}
}

// request makes a request and wants a status; out, unless nil, gets the body.
func (w *world) request(method, path, credential string, body any, want int, out any) answer {
	w.t.Helper()
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(w.coded(credential, body))
		if err != nil {
			w.t.Fatal(err)
		}
		reader = bytes.NewReader(data)
	}
	a := w.send(method, path, credential, reader)
	if a.status != want {
		w.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, want, a.body)
	}
	if out != nil {
		reflect.ValueOf(out).Elem().SetZero() // what the answer leaves out is not from before
		if err := json.Unmarshal(a.body, out); err != nil {
			w.t.Fatalf("%s %s: %v in %s", method, path, err, a.body)
		}
	}
	return a
}

// problem is a request that is refused, and its code.
func (w *world) problem(method, path, credential string, body any, want int, code string) api.Problem {
	w.t.Helper()
	var p api.Problem
	a := w.request(method, path, credential, body, want, &p)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		w.t.Errorf("%s %s: content type %q", method, path, got)
	}
	if p.Code != code || p.Status != want {
		w.t.Fatalf("%s %s: code %q and status %d, want %q: %s", method, path, p.Code, p.Status, code, a.body)
	}
	return p
}

// monitor makes a monitor and gives its id.
func (w *world) monitor(name string, more map[string]any) int64 {
	w.t.Helper()
	in := map[string]any{"name": name, "url": "https://" + name + ".example.com/mcp"}
	for k, v := range more {
		in[k] = v
	}
	var m ops.Monitor
	w.request("POST", "/monitors", w.credentials["key editor"], in, http.StatusCreated, &m)
	return m.ID
}

func path(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// tools is a surface with tools of these descriptions, by name.
func tools(descriptions map[string]string) *surface.Surface {
	var entries []map[string]any
	for name, text := range descriptions {
		entries = append(entries, map[string]any{"name": name, "description": text, "inputSchema": map[string]any{"type": "object"}})
	}
	data, err := json.Marshal(map[string]any{"serverInfo": map[string]any{"name": "demo", "version": "1"}, "tools": entries})
	if err != nil {
		panic(err)
	}
	s, err := surface.Read(data)
	if err != nil {
		panic(err)
	}
	return s
}

// observe does what the engine does when a check saw a surface.
func (w *world) observe(id int64, s *surface.Surface) watch.State {
	w.t.Helper()
	var out watch.State
	err := w.store.InTx(context.Background(), func(t *store.Tx) error {
		ctx, now := context.Background(), w.now().UTC().Truncate(time.Millisecond)
		states, err := t.States(ctx, []int64{id}, true)
		if err != nil {
			return err
		}
		m, err := t.Monitor(ctx, id)
		if err != nil {
			return err
		}
		approved, err := t.Approvals(ctx, id, now, true)
		if err != nil {
			return err
		}
		binding, _ := w.engine.Binding(ctx, m)
		n := len(s.Of(surface.Tool))
		o := &watch.Observation{
			Result: watch.Result{
				Monitor: id, Location: "local", Slot: now, Kind: watch.Scheduled, Started: now, Status: "healthy",
				Digest: s.Digest(), Tools: &n,
			},
			Revision: m.Revision, Approvals: m.Approvals, Surface: s, Binding: binding,
		}
		if len(approved) > 0 {
			o.Baseline = approved[0].Baseline
			o.Verified = baseline.Verify(s, o.Baseline, m.Definition.Policy(), lint.Options{})
		}
		o.Findings = baseline.Judge(lint.Scan(s, lint.Options{}))
		if _, err := t.InsertResults(ctx, []watch.Result{o.Result}); err != nil {
			return err
		}
		if err := t.PutSurface(ctx, s); err != nil {
			return err
		}
		if err := t.Saw(ctx, []store.Sighting{{Monitor: id, Location: "local", Digest: s.Digest(), At: now}}); err != nil {
			return err
		}
		open, err := t.OpenIncidents(ctx, []int64{id})
		if err != nil {
			return err
		}
		d := watch.Decide(m, states[id], open[id], o, watch.Context{Now: now, HasApproval: len(approved) > 0})
		if d.First != nil {
			if _, err := t.Approve(ctx, *d.First, false); err != nil {
				return err
			}
		}
		if d.Drop {
			if err := t.EndApprovals(ctx, id, "binding", now); err != nil {
				return err
			}
		}
		out = d.State
		return errors.Join(t.SaveIncidents(ctx, d.Incidents), t.SaveStates(ctx, []watch.State{d.State}), t.InsertEvents(ctx, d.Events))
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}
