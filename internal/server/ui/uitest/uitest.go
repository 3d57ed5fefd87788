// Package uitest is a whole web interface with a database of its own, for tests of its
// areas: people of every role are signed in, and monitors are what a test says.
package uitest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/people/peopletest"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Password is that of every account: admin, viewer, editor and approver.
const Password = "correct horse battery staple"

// World is a web interface.
type World struct {
	t      testing.TB
	Store  *store.Store
	People *people.People
	Ops    *ops.Ops
	Board  *board.Board
	// URL is where it is served.
	URL string
	// codes are those of code apps, by the name of the account.
	codes map[string]func() string
	// Tokens are those of the sessions, by the name of the account.
	Tokens map[string]string
	log    *Log
}

// Engine stands for the engine.
type Engine struct{}

// TestChannel is ops.Engine's.
func (Engine) TestChannel(context.Context, string) (string, error) { return "202 Accepted", nil }

// Binding is ops.Engine's.
func (Engine) Binding(_ context.Context, m *watch.Monitor) (baseline.Binding, error) {
	t := &target.Target{Name: m.Definition.Name, Endpoint: m.Definition.URL, ProtocolVersion: m.Definition.ProtocolVersion}
	for _, name := range m.Definition.Headers {
		t.Headers = append(t.Headers, target.Header{Name: name, Value: target.Literal("x")})
	}
	return baseline.BindingOf(t, ""), nil
}

// New makes one with an account of each role. The test fails if it logs anything. change
// is for what operations work on.
func New(t testing.TB, change ...func(*ops.Deps)) *World {
	t.Helper()
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(t.TempDir(), "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := &World{t: t, Store: s, People: people.New(s.People(), people.Options{PublicURL: "http://localhost"}), codes: map[string]func() string{}, Tokens: map[string]string{}, log: new(Log)}
	t.Cleanup(func() {
		if text := w.log.String(); text != "" {
			t.Errorf("the server logged:\n%s", text)
		}
	})
	d := ops.Deps{Store: s, People: w.People, Engine: Engine{}}
	for _, f := range change {
		f(&d)
	}
	w.Ops = ops.New(d)
	w.Board = board.New(board.Options{Store: s})
	watching, stop := context.WithCancel(ctx)
	go w.Board.Run(watching)
	t.Cleanup(func() {
		stop()
		<-w.Board.Done()
	})
	pages, err := ui.New(ui.Deps{Ops: w.Ops, People: w.People, Board: w.Board, PublicURL: "http://localhost", Logger: slog.New(slog.NewTextHandler(w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)
	w.URL = server.URL
	w.accounts(ctx)
	return w
}

func (w *World) accounts(ctx context.Context) {
	w.t.Helper()
	token, _, err := w.People.SetupToken(ctx)
	if err == nil {
		_, err = w.People.Setup(ctx, token, "admin", Password)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	admin := w.signIn(ctx, "admin")
	for _, role := range []people.Role{people.Viewer, people.Editor, people.Approver} {
		if _, err := w.People.CreateAccount(ctx, admin, people.Password(Password), string(role), Password, role); err != nil {
			w.t.Fatal(err)
		}
		session := w.signIn(ctx, string(role))
		if role == people.Approver {
			w.codes[string(role)] = peopletest.EnrolTOTP(w.t, w.People, session, Password, time.Now())
		}
	}
	w.codes["admin"] = peopletest.EnrolTOTP(w.t, w.People, admin, Password, time.Now())
}

// Proof is what a person adds to a form to prove it: admin and approver have a code app.
func (w *World) Proof(name string) url.Values {
	w.t.Helper()
	form := url.Values{"proof_password": {Password}}
	if code := w.codes[name]; code != nil {
		form.Set("proof_code", code())
	}
	return form
}

func (w *World) signIn(ctx context.Context, name string) *people.Session {
	w.t.Helper()
	token, session, err := w.People.Login(ctx, name, Password, "", "127.0.0.1:1", "test")
	if err != nil {
		w.t.Fatal(err)
	}
	w.Tokens[name] = token
	return session
}

// Actor is a person as who makes requests of operations.
func (w *World) Actor(name string) people.Actor {
	w.t.Helper()
	actor, err := w.People.AuthenticateSession(context.Background(), w.Tokens[name])
	if err != nil {
		w.t.Fatal(err)
	}
	return actor
}

// Answer is what came back.
type Answer struct {
	Status   int
	Location string
	Header   http.Header
	Body     string
}

// Get asks for a page as an account; an empty name is nobody.
func (w *World) Get(name, path string, headers ...string) Answer {
	w.t.Helper()
	return w.send(name, http.MethodGet, path, nil, headers)
}

// Post sends a form.
func (w *World) Post(name, path string, form url.Values, headers ...string) Answer {
	w.t.Helper()
	return w.send(name, http.MethodPost, path, form, headers)
}

func (w *World) send(name, method, path string, form url.Values, headers []string) Answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, w.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if name != "" {
		r.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: w.Tokens[name]})
	}
	client := http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return Answer{Status: answer.StatusCode, Location: answer.Header.Get("Location"), Header: answer.Header, Body: string(body)}
}

// Monitor makes a monitor that was never checked.
func (w *World) Monitor(name string, change ...func(*watch.Monitor)) *watch.Monitor {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	m := &watch.Monitor{
		Source: watch.FromAPI, Revision: 1, CreatedAt: now, UpdatedAt: now,
		Definition: watch.Definition{Name: name, URL: "https://mcp.example.com/" + url.PathEscape(name)},
	}
	for _, f := range change {
		f(m)
	}
	m.Definition.Normalize()
	w.do(func(ctx context.Context, t *store.Tx) error { return t.InsertMonitor(ctx, m) })
	return m
}

// See has a monitor checked: it is up and shows a surface, the first of which is
// approved. Each call is one check, decided as the monitor decides.
func (w *World) See(m *watch.Monitor, s *surface.Surface) {
	w.t.Helper()
	tools := len(s.Of(surface.Tool))
	w.Observe(m, &watch.Observation{
		Result:  watch.Result{Status: "healthy", Tools: &tools, Digest: s.Digest(), Timing: watch.Timing{Total: 12}},
		Surface: s, Server: "example 1.0.0", Protocol: "2025-11-25", Era: "legacy",
	})
}

// Observe has watch decide on an observation, and stores what it says. Monitor, slot and
// whatever it is compared with are filled in.
func (w *World) Observe(m *watch.Monitor, o *watch.Observation) {
	w.t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	o.Monitor, o.Slot, o.Started = m.ID, now, now
	if o.Location == "" {
		o.Location, o.Kind = watch.DefaultLocation, watch.Manual
	}
	o.Binding, _ = Engine{}.Binding(context.Background(), m)
	w.do(func(ctx context.Context, t *store.Tx) error {
		current, err := t.Monitor(ctx, m.ID)
		if err != nil {
			return err
		}
		o.Revision, o.Approvals = current.Revision, current.Approvals
		approvals, err := t.Approvals(ctx, m.ID, now, true)
		if err != nil {
			return err
		}
		if len(approvals) > 0 && o.Surface != nil {
			o.Baseline = approvals[0].Baseline
			seen := baseline.Observe(o.Baseline, current.Definition.Policy(), lint.Options{})
			for again := true; again; { // what is new is listed again until it is believed
				o.Verified, again = seen.Add(o.Surface)
			}
		}
		states, err := t.States(ctx, []int64{m.ID}, true)
		if err != nil {
			return err
		}
		st, ok := states[m.ID]
		if !ok {
			st = watch.State{Monitor: m.ID}
		}
		open, err := t.OpenIncidents(ctx, []int64{m.ID})
		if err != nil {
			return err
		}
		return w.save(ctx, t, o, watch.Decide(current, st, open[m.ID], o, watch.Context{Now: now, HasApproval: len(approvals) > 0}))
	})
}

func (w *World) save(ctx context.Context, t *store.Tx, o *watch.Observation, d watch.Decision) error {
	if o.Surface != nil {
		if err := t.PutSurface(ctx, o.Surface); err != nil {
			return err
		}
		if err := t.Saw(ctx, []store.Sighting{{Monitor: o.Monitor, Location: o.Location, Digest: o.Surface.Digest(), At: o.Started}}); err != nil {
			return err
		}
	}
	if d.First != nil {
		if _, err := t.Approve(ctx, *d.First, false); err != nil {
			return err
		}
	}
	if err := t.SaveIncidents(ctx, d.Incidents); err != nil {
		return err
	}
	for _, i := range d.Incidents {
		for n := range d.Events {
			if e := &d.Events[n]; e.Name == watch.EventOpened && e.Axis == i.Axis && e.Data.Incident == 0 {
				e.Data.Incident = i.ID
			}
		}
	}
	if err := t.SaveStates(ctx, []watch.State{d.State}); err != nil {
		return err
	}
	if _, err := t.InsertResults(ctx, []watch.Result{o.Result}); err != nil {
		return err
	}
	return t.InsertEvents(ctx, d.Events)
}

func (w *World) do(f func(context.Context, *store.Tx) error) {
	w.t.Helper()
	ctx := context.Background()
	if err := w.Store.InTx(ctx, func(t *store.Tx) error { return f(ctx, t) }); err != nil {
		w.t.Fatal(fmt.Errorf("prepare the database: %w", err))
	}
}

// Log is a log that is read while it is written.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to it.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of it.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Logged is what the server logged since the test began, or since this was last asked.
func (w *World) Logged() string {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	text := w.log.text.String()
	w.log.text.Reset()
	return text
}
