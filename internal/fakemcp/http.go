package fakemcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/target"
)

// maxRequest bounds what the fake reads of one request.
const maxRequest = 8 << 20

// Request is one HTTP request as it arrived.
type Request struct {
	// Seq counts from 0 in the order of arrival; Conn numbers the connection.
	Seq, Conn   int
	Time        time.Time
	HTTPMethod  string
	Path, Query string
	Host        string
	Header      http.Header
	Body        []byte
	// Method, ID and Params are those of the JSON-RPC message in the body;
	// Method is empty for everything else, an answer of the client included.
	Method string
	ID     json.RawMessage
	Params json.RawMessage
}

// Violation is something that a conforming client would not have done.
type Violation struct {
	// Rule is what [Server.Allow] takes.
	Rule string
	Text string
}

// Server is a scripted MCP server over HTTP. Its methods are safe for
// concurrent use; overrides may be set while it serves.
type Server struct {
	// URL is the endpoint.
	URL string

	given Config // cfg without the defaults
	cfg   Config
	vary  func(*Exchange, *Config) // nil: everybody is told the same
	http  *httptest.Server
	sse   *legacySSE // nil for Streamable HTTP
	done  chan struct{}

	mu         sync.Mutex
	requests   []Request
	violations []Violation
	allowed    map[string]bool
	onMethod   map[string]Handler
	onHTTP     map[string]Handler
	onPath     map[string]Handler
	sessions   map[string]*session
	lastIDs    map[string]string
	issued     int
	conns      atomic.Int64
}

// session is what the server knows of a legacy session.
type session struct {
	revision    string
	client      client
	initialized bool
	deleted     bool // the client asked for it, whatever it was told
	header      bool // its id travels in Mcp-Session-Id
}

// New starts a Streamable HTTP server that ends with the test, and fails it
// when something broke a rule.
func New(t TB, cfg Config) *Server {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = "/mcp"
	}
	s := newServer(cfg)
	s.start(t)
	return s
}

func newServer(cfg Config) *Server {
	return &Server{
		given:    cfg,
		cfg:      cfg.withDefaults(),
		done:     make(chan struct{}),
		allowed:  map[string]bool{},
		onMethod: map[string]Handler{},
		onHTTP:   map[string]Handler{},
		onPath:   map[string]Handler{},
		sessions: map[string]*session{},
		lastIDs:  map[string]string{},
	}
}

type connKey struct{}

func (s *Server) start(t TB) {
	t.Helper()
	s.http = httptest.NewUnstartedServer(s)
	s.http.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.http.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, int(s.conns.Add(1)))
	}
	if s.cfg.TLS == TLSNone {
		s.http.Start()
	} else {
		config, err := s.cfg.TLS.config()
		if err != nil {
			t.Fatalf("fakemcp: certificates: %v", err)
		}
		s.http.TLS = config
		s.http.StartTLS()
	}
	s.URL = s.http.URL + s.cfg.Path
	t.Cleanup(func() {
		s.Close()
		for _, v := range s.Violations() {
			t.Errorf("fakemcp: the client broke the rule %q: %s", v.Rule, v.Text)
		}
	})
}

// Close ends the server and every answer that hangs. The end of the test does
// it too.
func (s *Server) Close() {
	s.mu.Lock()
	closed := false
	select {
	case <-s.done:
		closed = true
	default:
		close(s.done)
	}
	s.mu.Unlock()
	if !closed {
		s.http.CloseClientConnections()
		s.http.Close()
	}
}

// Target is a target of the server's endpoint and transport.
func (s *Server) Target() *target.Target {
	t := &target.Target{Name: "fake", Endpoint: s.URL, Transport: target.HTTP}
	if s.sse != nil {
		t.Transport = target.SSE
	}
	return t
}

// TargetAt is a target at another path of the server.
func (s *Server) TargetAt(path string) *target.Target {
	t := s.Target()
	t.Endpoint = s.http.URL + path
	return t
}

// TargetAs is a target of the same port under another host name.
func (s *Server) TargetAs(host string) *target.Target {
	t := s.Target()
	t.Endpoint = strings.Replace(s.URL, "127.0.0.1", host, 1)
	return t
}

// Port is the port the server listens on.
func (s *Server) Port() string {
	u, _ := url.Parse(s.URL)
	return u.Port()
}

// On replaces the answer to a JSON-RPC method, "" standing for a message that
// has none. A nil handler restores the default.
func (s *Server) On(method string, h Handler) { s.set(s.onMethod, method, h) }

// OnHTTP replaces the answer to an HTTP method, where the JSON-RPC method has
// no override of its own.
func (s *Server) OnHTTP(method string, h Handler) { s.set(s.onHTTP, method, h) }

// OnPath replaces everything at a path. It comes before the other overrides.
func (s *Server) OnPath(path string, h Handler) { s.set(s.onPath, path, h) }

func (s *Server) set(m map[string]Handler, key string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h == nil {
		delete(m, key)
		return
	}
	m[key] = h
}

// Allow turns rules off. "*" turns all of them off.
func (s *Server) Allow(rules ...string) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		s.allowed[r] = true
	}
	return s
}

// Restart forgets every session, as a restarted server does.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// Sessions counts the sessions that are open.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, open := range s.sessions {
		if open.header {
			n++
		}
	}
	return n
}

// Requests returns everything that was received, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Received returns the requests of one JSON-RPC method.
func (s *Server) Received(method string) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Method != method || r.HTTPMethod != http.MethodPost })
}

// Methods returns the JSON-RPC methods in order, and HTTP methods other than
// POST as "HTTP GET" and so on. Answers of the client are left out.
func (s *Server) Methods() []string {
	var methods []string
	for _, r := range s.Requests() {
		switch {
		case r.HTTPMethod != http.MethodPost:
			methods = append(methods, "HTTP "+r.HTTPMethod)
		case r.Method != "":
			methods = append(methods, r.Method)
		}
	}
	return methods
}

// Count is how often a JSON-RPC method, or "HTTP GET" and so on, was received.
func (s *Server) Count(method string) int {
	n := 0
	for _, m := range s.Methods() {
		if m == method {
			n++
		}
	}
	return n
}

// Connections is how many connections were opened.
func (s *Server) Connections() int { return int(s.conns.Load()) }

// Reset forgets what was received, not the sessions.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// ServeHTTP records, judges and answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.receive(w, r)
	s.judge(x)
	s.handler(x)(x)
}

func (s *Server) receive(w http.ResponseWriter, r *http.Request) *Exchange {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	x := &Exchange{W: w, HTTP: r, Server: s}
	x.Request = Request{
		Time: time.Now(), HTTPMethod: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Host: r.Host, Header: r.Header.Clone(), Body: body,
	}
	x.Request.Conn, _ = r.Context().Value(connKey{}).(int)
	if err := json.Unmarshal(body, &x.message); err == nil {
		x.Method, x.ID, x.Params = x.message.Method, x.message.ID, x.message.Params
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.Seq = len(s.requests)
	s.requests = append(s.requests, x.Request)
	if x.Method != "" && x.ID != nil {
		s.lastIDs[x.Method] = string(x.ID)
	}
	return x
}

func (s *Server) handler(x *Exchange) Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h, ok := s.onPath[x.Path]; ok {
		return h
	}
	if x.HTTPMethod == http.MethodPost {
		if h, ok := s.onMethod[x.Method]; ok {
			return h
		}
	}
	if h, ok := s.onHTTP[x.HTTPMethod]; ok {
		return h
	}
	return (*Exchange).Default
}

// fill puts ids in the place of $ID and $ID:METHOD.
func (s *Server) fill(text string, x *Exchange) string {
	if !strings.Contains(text, "$ID") {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fillIDs(text, x.id(), s.lastIDs)
}

func fillIDs(text, id string, last map[string]string) string {
	for method, lastID := range last {
		text = strings.ReplaceAll(text, "$ID:"+method, lastID)
	}
	return strings.ReplaceAll(text, "$ID", id)
}

// sessionKey is where the session of an exchange is kept: its id, or for a
// transport without ids what stands in its place.
func (s *Server) sessionKey(x *Exchange) string {
	if s.sse != nil {
		return x.Query
	}
	return x.Header.Get("Mcp-Session-Id")
}

// openSession starts a session and returns the id to announce, or "".
func (s *Server) openSession(x *Exchange, revision string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sse != nil || s.cfg.Stateless {
		s.sessions[s.sessionKey(x)] = &session{revision: revision, client: x.message.params().Client}
		return ""
	}
	s.issued++
	id := fmt.Sprintf("fake-session-%d", s.issued)
	s.sessions[id] = &session{revision: revision, client: x.message.params().Client, header: true}
	return id
}
