package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// The methods a check sends.
const (
	methodDiscover    = "server/discover"
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCall        = "tools/call"
	methodRead        = "resources/read"
	methodGet         = "prompts/get"
)

// The members of _meta that carry what initialize used to (2026-07-28).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// Session is an open session with one server. Its methods may be called from
// several goroutines; [Session.Close] comes last, once.
type Session struct {
	conn     conn
	cfg      Config
	ids      *atomic.Int64
	http     bool // tools are mirrored into headers
	era      Era
	revision string
	opening  rawjson.Value
	disputed bool // the opening was
	server   Implementation
	caps     rawjson.Value
	spawn    time.Duration
	reopened atomic.Bool
	listed   atomic.Int64 // bytes of all lists

	mu      sync.Mutex
	headers map[string]toolHeaderSet // by tool name, once tools were listed
}

// Era returns the family of revisions that was settled on.
func (s *Session) Era() Era { return s.era }

// Revision returns the protocol revision that was settled on.
func (s *Session) Revision() string { return s.revision }

// Server returns who the server says it is, safe to show.
func (s *Session) Server() Implementation { return s.server }

// Opening returns the raw result of server/discover or initialize.
func (s *Session) Opening() json.RawMessage { return s.opening.Raw() }

// Disputed reports whether other clients may read another opening in the same bytes:
// the message had a member twice, or in another letter case.
func (s *Session) Disputed() bool { return s.disputed }

// Spawn returns the time from the start of a stdio server to its first
// message, or 0.
func (s *Session) Spawn() time.Duration { return s.spawn }

// Declares reports whether the server declared a capability, such as "tools".
func (s *Session) Declares(capability string) bool {
	v := s.caps.Get(capability)
	if declared, isBool := v.Bool(); isBool {
		return declared
	}
	return v.Exists() && !v.IsNull()
}

// Close ends the session and gives everything back; what is left of ctx bounds
// the patience with it. Its outcome never matters to a verdict.
func (s *Session) Close(ctx context.Context) { s.conn.close(ctx) }

// Call sends one request and returns its raw result. params must be a JSON
// object or empty. The request goes out at most once, whatever happens; a
// JSON-RPC error, and a modern result that is not complete, is an *Error.
func (s *Session) Call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r, err := s.request(method, params)
	if err != nil {
		return nil, err
	}
	r.once = true
	a, err := s.conn.exchange(ctx, r)
	if err != nil {
		return nil, err
	}
	v, err := s.judge(method, a)
	if err != nil {
		return nil, err
	}
	return v.Raw(), nil
}

// ask sends a request that may be repeated. A server that forgot the session is
// given a new one, once in a check, as a conforming client does (2025-03-26,
// Session Management).
func (s *Session) ask(ctx context.Context, method string, params json.RawMessage) (*answer, error) {
	r, err := s.request(method, params)
	if err != nil {
		return nil, err
	}
	a, err := s.conn.exchange(ctx, r)
	var lost *Error
	if !errors.As(err, &lost) || lost.Reason != ReasonSessionLost || s.reopened.Swap(true) {
		return a, err
	}
	n := &negotiation{cfg: s.cfg, ids: s.ids, conn: s.conn, http: s.http}
	n.cfg.Pin = s.revision
	s.conn.speaks("", "")
	if _, again := n.initialize(ctx, s.revision); again != nil {
		return nil, err
	}
	s.cfg.Log.Note("session-restarted", "the server forgot the session it had just opened, and took a new one", "")
	if lost.HTTPStatus != http.StatusNotFound {
		s.cfg.Log.Note("session-expiry-status", fmt.Sprintf("a forgotten session was answered with %d", lost.HTTPStatus), "answer 404, so that clients know to open a new session")
	}
	if r, err = s.request(method, params); err != nil {
		return nil, err
	}
	return s.conn.exchange(ctx, r)
}

// request builds a request in the session's era.
func (s *Session) request(method string, params json.RawMessage) (*request, error) {
	if len(bytes.TrimSpace(params)) == 0 {
		params = json.RawMessage("{}")
	}
	v, _, err := rawjson.Parse(params)
	if err != nil || v.Kind() != rawjson.Object {
		return nil, failf("invalid-call", "the parameters of %s are not a JSON object", method)
	}
	r := &request{id: s.ids.Add(1), method: method}
	if s.era == EraLegacy {
		r.body = encode(r.id, method, v.Raw())
		return r, nil
	}
	r.body = encode(r.id, method, modernParams(s.cfg, s.revision, v))
	r.modern, r.header = true, modernHeader(s.revision, method)
	return r, s.mirror(r, method, v)
}

// mirror copies names and annotated arguments of a call into headers.
func (s *Session) mirror(r *request, method string, params rawjson.Value) error {
	if !s.http {
		return nil
	}
	field := map[string]string{methodCall: "name", methodGet: "name", methodRead: "uri"}[method]
	if field == "" {
		return nil
	}
	name, _ := params.Get(field).Text()
	r.header.Set(headerName, encodeHeaderValue(name))
	if method != methodCall {
		return nil
	}
	s.mu.Lock()
	set := s.headers[name]
	s.mu.Unlock()
	values, err := paramHeaders(set, params.Get("arguments"))
	if err != nil {
		return &Error{Reason: "invalid-call", Text: fmt.Sprintf("the arguments do not fit the headers that the tool asks for: %s", s.cfg.quote(err.Error(), maxQuote)), Err: err}
	}
	for suffix, value := range values {
		r.header.Set(headerParamPrefix+suffix, value)
	}
	return nil
}

func modernHeader(revision, method string) http.Header {
	h := http.Header{}
	h.Set(headerVersion, revision)
	h.Set(headerMethod, method)
	return h
}

// modernParams puts the request's _meta in front of its own members.
func modernParams(cfg Config, revision string, own rawjson.Value) []byte {
	info, _ := json.Marshal(cfg.Client)
	var b bytes.Buffer
	b.Grow(256 + len(info) + len(own.Raw()))
	b.WriteString(`{"_meta":{"` + metaVersion + `":"` + revision + `","` + metaClient + `":`)
	b.Write(info)
	b.WriteString(`,"` + metaCapabilities + `":{`)
	for i, name := range cfg.Extensions {
		if i == 0 {
			b.WriteString(`"extensions":{`)
		} else {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(name) + ":{}")
	}
	if len(cfg.Extensions) > 0 {
		b.WriteByte('}')
	}
	b.WriteByte('}')
	for name, v := range own.Get("_meta").Members() {
		if !strings.HasPrefix(name, "io.modelcontextprotocol/") || name == "io.modelcontextprotocol/logLevel" {
			member(&b, name, v)
		}
	}
	b.WriteByte('}')
	for name, v := range own.Members() {
		if name != "_meta" {
			member(&b, name, v)
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

func member(b *bytes.Buffer, name string, v rawjson.Value) {
	key, _ := json.Marshal(name)
	b.WriteByte(',')
	b.Write(key)
	b.WriteByte(':')
	b.Write(v.Raw())
}

// judge turns an answer into its result. Modern results must be complete.
func (s *Session) judge(method string, a *answer) (rawjson.Value, error) {
	if a.rpcErr != nil {
		return rawjson.Value{}, rpcFailure(method, a)
	}
	if s.era == EraModern {
		if err := completeResult(s.cfg.Log, method, a.result); err != nil {
			return rawjson.Value{}, err
		}
	}
	return a.result, nil
}

func rpcFailure(method string, a *answer) *Error {
	e := &Error{Reason: ReasonRPCError, RPC: a.rpcErr, HTTPStatus: a.status, Seen: true}
	switch a.rpcErr.Code {
	case codeHeaderMismatch:
		e.Reason = ReasonHeaderMismatch
	case codeMissingCapability:
		e.Reason = ReasonMissingCapability
	case codeUnsupportedVersion:
		e.Reason = ReasonVersionUnsupported
	default:
		if strings.Contains(a.rpcErr.Message, insufficientScope) { // a 403 in disguise
			e.Reason = ReasonInsufficientScope
		}
	}
	e.Text = fmt.Sprintf("%s was answered with error %d: %s", method, a.rpcErr.Code, a.rpcErr.Message)
	return e
}

// cacheable are the methods whose results carry ttlMs and cacheScope (2026-07-28).
func cacheable(method string) bool {
	return method == methodDiscover || method == methodRead || strings.HasSuffix(method, "/list")
}

// completeResult checks the members that every modern result has. An absent
// resultType reads as complete; servers of the drafts leave it out.
func completeResult(l *Log, method string, v rawjson.Value) error {
	var missing []string
	switch kind, ok := v.Get("resultType").Text(); {
	case !v.Get("resultType").Exists():
		missing = append(missing, "resultType")
	case !ok:
		return &Error{Reason: ReasonResultType, Text: "the result of " + method + " has a resultType that is not a string", Seen: true}
	case kind == "input_required":
		return &Error{Reason: ReasonInputRequired, Text: "the server wants input before it answers " + method + "; a check has none to give", Seen: true}
	case kind != "complete":
		return &Error{Reason: ReasonResultType, Text: fmt.Sprintf("the result of %s has the resultType \"%s\"", method, l.quote(kind, 60)), Seen: true}
	}
	if cacheable(method) {
		if ttl, ok := v.Get("ttlMs").Int(); !ok || ttl < 0 {
			missing = append(missing, "ttlMs")
		}
		if scope, _ := v.Get("cacheScope").Text(); scope != "public" && scope != "private" {
			missing = append(missing, "cacheScope")
		}
	}
	if len(missing) > 0 {
		l.Note("modern-result-fields", fmt.Sprintf("the result of %s lacks a valid %s", method, strings.Join(missing, ", ")), "2026-07-28 requires these members; strict clients refuse the result")
	}
	return nil
}
