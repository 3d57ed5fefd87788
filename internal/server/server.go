// Package server is the HTTP side of the watch: who may ask what, liveness and
// readiness, metrics, the health of single monitors, and under /api/v1 and /mcp what
// packages api and mcpserver give.
//
// Everything that is shown of a monitor is what [watch.Current] says, so that no two
// views of it differ. What a server said is on none of these pages but in the report of
// a health page.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mcpvigil/mcpvigil/internal/engine"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Engine is what pages need of the engine.
type Engine interface {
	CheckLive(ctx context.Context, monitor int64) (*probe.Report, error)
	Ready(ctx context.Context) error
	Metrics() engine.Metrics
}

// Deps are what the pages need.
type Deps struct {
	Store  *store.Store
	Engine Engine
	People *people.People
	// API answers below /api/v1/, MCP at /mcp, Pages everywhere else; nil: nothing does.
	API, MCP, Pages http.Handler
	// PolicyReports counts what browsers reported of the pages; nil: nothing does.
	PolicyReports func() uint64
	// OpenMetrics lets everybody read metrics, probes and health.
	OpenMetrics bool
	// PublicURL is where people reach the server, as a browser has it.
	PublicURL string
	// TrustedProxies are networks of proxies that say who their client is.
	TrustedProxies []netip.Prefix
	Version        string
	Now            func() time.Time // nil: time.Now
	Logger         *slog.Logger     // nil: none
}

type server struct {
	Deps
	registry *prometheus.Registry
	live     *live
}

// maxBody bounds requests. What has a smaller bound has it on top.
const maxBody = 8 << 20

// answerTime is how long an answer may take until it is read to its end, so that nobody
// keeps any by not reading them. What takes longer moves the end on while it is read.
const answerTime = 5 * time.Minute

// New makes the handler of everything.
func New(d Deps) http.Handler {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{Deps: d, live: newLive(d.Engine)}
	s.registry = s.newRegistry()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.guarded(s.metrics))
	mux.Handle("GET /probe", s.guarded(s.probe))
	mux.Handle("GET /health", s.guarded(s.aggregate))
	mux.Handle("GET /health/{name...}", s.guarded(s.health))
	if d.API != nil {
		mux.Handle("/api/v1/", d.API)
	}
	if d.MCP != nil {
		mux.Handle("/mcp", d.MCP)
	}
	if d.Pages != nil {
		mux.Handle("/", d.Pages)
	}
	return behind(d.TrustedProxies, s.protect(mux))
}

// protect adds what holds for every answer, and refuses what a browser sends on behalf
// of another site, and addresses that are no text.
func (s *server) protect(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	if s.PublicURL != "" {
		// Its form was tested when the server was configured.
		_ = cross.AddTrustedOrigin(s.PublicURL)
	}
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, forms would have no origin
		h.Set("X-Frame-Options", "DENY")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		if !legible(r.URL) {
			writeText(w, http.StatusBadRequest, "the address is no text in UTF-8\n")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
		next.ServeHTTP(w, r)
	})
}

// legible tells whether what an address says is text. Nothing here has a name that is
// none, and PostgreSQL refuses to look for one.
func legible(u *url.URL) bool {
	text := func(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
	if !text(u.Path) {
		return false
	}
	for name, values := range u.Query() {
		if !text(name) || slices.ContainsFunc(values, func(value string) bool { return !text(value) }) {
			return false
		}
	}
	return true
}

// guarded asks for a key that may read, unless metrics are open.
func (s *server) guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.OpenMetrics {
			next(w, r)
			return
		}
		actor, err := s.actor(r)
		switch {
		case errors.Is(err, people.ErrUnauthenticated):
			w.Header().Set("WWW-Authenticate", `Bearer realm="mcpvigil"`)
			writeText(w, http.StatusUnauthorized, "an API key is needed: Authorization: Bearer mvk_…\n")
		case err != nil:
			s.Logger.ErrorContext(r.Context(), "a key could not be looked up", "error", err)
			writeText(w, http.StatusServiceUnavailable, "the key could not be looked up\n")
		case !actor.Can(people.Read):
			writeText(w, http.StatusForbidden, "the key may not read\n")
		default:
			next(w, r)
		}
	})
}

// actor is who sends a request with a key.
func (s *server) actor(r *http.Request) (people.Actor, error) {
	scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || s.People == nil {
		return people.Actor{}, people.ErrUnauthenticated
	}
	return s.People.AuthenticateKey(r.Context(), strings.TrimSpace(key))
}

// ready says whether this process can do its work. Which monitors are up is none of it.
func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	for _, part := range []struct {
		name string
		ask  func(context.Context) error
	}{{"database", s.Store.Ping}, {"engine", s.Engine.Ready}} {
		if err := part.ask(ctx); err != nil {
			s.Logger.WarnContext(ctx, "not ready", "part", part.name, "error", err)
			writeText(w, http.StatusServiceUnavailable, part.name+": not ready\n")
			return
		}
	}
	writeText(w, http.StatusOK, "ok\n")
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
