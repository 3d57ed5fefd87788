package account_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/people/peopletest"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/server"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

const password = "correct horse battery staple"

// world is a whole server with what it refuses before a page is asked.
type world struct {
	store *store.Store
	*people.People
	t       *testing.T
	deps    ui.Deps
	handler http.Handler
	clock   time.Time
	log     *uitest.Log
	secure  bool
}

// options say which server it is.
type options struct {
	url          string // the public one
	openID       *openid.Provider
	providerOnly bool
	empty        bool // without an account
}

// open makes one, in which ann administers.
func open(t *testing.T, o options) *world {
	t.Helper()
	if o.url == "" {
		o.url = "http://localhost:8087"
	}
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	w := &world{t: t, clock: time.Now(), log: new(uitest.Log), store: s, secure: strings.HasPrefix(o.url, "https:")}
	w.People = people.New(s.People(), people.Options{PublicURL: o.url, ProviderOnly: o.providerOnly, Now: func() time.Time { return w.clock }})
	if !o.empty {
		w.setup()
	}
	logger := slog.New(slog.NewTextHandler(w.log, nil))
	w.deps = ui.Deps{
		Ops: ops.New(ops.Deps{Store: s, People: w.People}), People: w.People, Board: board.New(board.Options{Store: s}),
		OpenID: o.openID, NoPasswordLogin: o.providerOnly, PublicURL: o.url, Logger: logger,
	}
	pages, err := ui.New(w.deps)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = server.New(server.Deps{Store: s, People: w.People, Pages: pages, PublicURL: o.url, Logger: logger})
	return w
}

func (w *world) setup() {
	w.t.Helper()
	token, _, err := w.SetupToken(w.t.Context())
	if err == nil {
		_, err = w.Setup(w.t.Context(), token, "ann", password)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// session is a token of ann.
func (w *world) session() (string, *people.Session) {
	w.t.Helper()
	token, s, err := w.Login(w.t.Context(), "ann", password, "", "192.0.2.9", "test")
	if err != nil {
		w.t.Fatal(err)
	}
	return token, s
}

// codeApp gives ann a code app. What it gives are codes.
func (w *world) codeApp() func() string {
	w.t.Helper()
	_, s := w.session()
	return peopletest.EnrolTOTP(w.t, w.People, s, password, w.clock)
}

// browser keeps cookies, and nothing else.
type browser struct {
	*world
	cookies map[string]string
	address string
}

func (w *world) browser() *browser {
	return &browser{world: w, cookies: map[string]string{}, address: "192.0.2.1:5000"}
}

// signedIn is one in which ann is.
func (w *world) signedIn() *browser {
	b := w.browser()
	b.cookies[web.CookieName(web.SessionCookie, w.secure)], _ = w.session()
	return b
}

// answer is what came back.
type answer struct {
	*http.Response
	body string
}

func (a answer) to() string { return a.Header.Get("Location") }

// cookie is one that was set, or nil.
func (a answer) cookie(name string) *http.Cookie {
	for _, c := range a.Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func (b *browser) get(path string, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodGet, path, nil, headers)
}

func (b *browser) post(path string, form url.Values, headers ...string) answer {
	b.t.Helper()
	return b.send(http.MethodPost, path, form, headers)
}

func (b *browser) send(method, path string, form url.Values, headers []string) answer {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(form.Encode()))
	r.RemoteAddr = b.address
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	a := answer{Response: w.Result()}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	a.body = string(text)
	for _, c := range a.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return a
}

func (b *browser) want(what string, a answer, status int, texts ...string) {
	b.t.Helper()
	if a.StatusCode != status {
		b.t.Errorf("%s: %d to %q, want %d\n%s", what, a.StatusCode, a.to(), status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			b.t.Errorf("%s does not say %q:\n%s", what, text, a.body)
		}
	}
	if strings.Contains(a.body, password) {
		b.t.Errorf("%s shows a password", what)
	}
}

func (b *browser) goes(what string, a answer, to string) {
	b.t.Helper()
	if a.StatusCode != http.StatusSeeOther || a.to() != to {
		b.t.Errorf("%s: %d to %q, want to %q\n%s", what, a.StatusCode, a.to(), to, a.body)
	}
}
