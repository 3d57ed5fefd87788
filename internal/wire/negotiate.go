package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// Peer is a way to reach a server: [HTTPConfig], [SSEConfig] or [StdioConfig].
type Peer interface {
	connect(ctx context.Context, cfg Config) (conn, error)
}

func (hc HTTPConfig) connect(_ context.Context, cfg Config) (conn, error) {
	return newHTTPConn(hc, cfg), nil
}

// Open connects to a server and settles on a revision. ctx bounds the opening;
// for stdio it must leave room for cfg.Startup. The error is an *Error; what
// was learnt on the way is in cfg.Log.
//
// The order is that of the 2026-07-28 specification, Versioning: server/discover
// first, initialize when the answer is not that of a modern server. A recognised
// modern error, and a refusal for want of a credential, never leads to
// initialize.
func Open(ctx context.Context, p Peer, cfg Config) (*Session, error) {
	n := &negotiation{peer: p, cfg: cfg, ids: new(atomic.Int64)}
	if sc, ok := p.(StdioConfig); ok {
		return n.openStdio(ctx, sc)
	}
	c, err := p.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	n.conn = c
	n.http = true // legacy SSE as well: some servers speak 2026-07-28 on it, when it is pinned
	s, err := n.open(ctx)
	if err != nil {
		n.suggestSSE(err)
		n.suggestSlash(ctx, err)
		c.close(ctx)
		return nil, err
	}
	return s, nil
}

// negotiation is the state of one opening on one connection.
type negotiation struct {
	peer Peer
	cfg  Config
	ids  *atomic.Int64
	conn conn
	http bool
	// racing are exchanges beside each other (stdio).
	racing sync.WaitGroup
}

func (n *negotiation) open(ctx context.Context) (*Session, error) {
	_, sse := n.peer.(SSEConfig)
	if n.cfg.Pin != "" && !Modern(n.cfg.Pin) || sse && n.cfg.Pin == "" {
		return n.initialize(ctx, n.offer())
	}
	a, err := n.first(ctx, n.discoverRequest(n.wanted()))
	return n.afterProbe(ctx, a, err)
}

// first makes the first exchange, which has a budget of its own.
func (n *negotiation) first(ctx context.Context, r *request) (*answer, error) {
	if n.cfg.First <= 0 {
		return n.conn.exchange(ctx, r)
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.First)
	defer cancel()
	return n.conn.exchange(ctx, r)
}

// afterProbe goes on from what server/discover brought.
func (n *negotiation) afterProbe(ctx context.Context, a *answer, err error) (*Session, error) {
	s, first := n.judgeProbe(ctx, a, err)
	if first == nil {
		return s, nil
	}
	next, fall := n.fallback(first)
	switch {
	case n.cfg.Pin != "":
		return nil, n.notModern(first)
	case !fall:
		return nil, n.explain(first)
	}
	s, err = n.initialize(ctx, next)
	if err != nil {
		return nil, n.firstFinding(first, err)
	}
	return s, nil
}

// wanted is the modern revision to ask for.
func (n *negotiation) wanted() string {
	if n.cfg.Pin != "" {
		return n.cfg.Pin
	}
	return Rev20260728
}

// offer is the legacy revision to offer.
func (n *negotiation) offer() string {
	if n.cfg.Pin != "" {
		return n.cfg.Pin
	}
	return Rev20251125
}

// judgeProbe judges what server/discover brought. A server that refuses the
// revision and names a modern one it does speak is asked once more, even with
// the same.
func (n *negotiation) judgeProbe(ctx context.Context, a *answer, err error) (*Session, error) {
	if err == nil && a.rpcErr != nil && a.rpcErr.Code == codeUnsupportedVersion {
		if next := n.mutual(supportedIn(a.rpcErr), true); next != "" {
			a, err = n.conn.exchange(ctx, n.discoverRequest(next))
		}
	}
	if err != nil {
		return nil, err
	}
	return n.judgeDiscover(a)
}

func (n *negotiation) discoverRequest(revision string) *request {
	id := n.ids.Add(1)
	params := modernParams(n.cfg, revision, rawjson.Value{})
	return &request{id: id, method: methodDiscover, body: encode(id, methodDiscover, params), modern: true, header: modernHeader(revision, methodDiscover)}
}

// legacyOnlyError marks an answer that is valid and names legacy revisions only, of
// which offer is to be offered.
type legacyOnlyError struct{ offer string }

func (legacyOnlyError) Error() string { return "only legacy revisions are supported" }

// errNoDiscover marks an answer that no modern server gives.
var errNoDiscover = errors.New("not the answer of a modern server")

func (n *negotiation) judgeDiscover(a *answer) (*Session, error) {
	if a.rpcErr != nil {
		return nil, n.judgeDiscoverError(a)
	}
	versions, ok := textList(a.result.Get("supportedVersions"))
	if !ok || len(versions) == 0 {
		return nil, &Error{Reason: ReasonInvalidDiscover, Text: "the answer to server/discover names no supportedVersions", Seen: true, Err: errNoDiscover}
	}
	revision := n.mutual(versions, true)
	if revision == "" {
		return nil, n.noModern(versions)
	}
	s := n.session(EraModern, revision, a)
	if s.caps.Kind() != rawjson.Object {
		return nil, &Error{Reason: ReasonInvalidDiscover, Text: "the answer to server/discover has no capabilities object", Seen: true}
	}
	if err := completeResult(n.cfg.Log, methodDiscover, a.result); err != nil {
		return nil, err
	}
	info := a.result.Get("_meta").Get(metaServer)
	if !info.Exists() && a.result.Get("serverInfo").Exists() {
		info = a.result.Get("serverInfo")
		n.cfg.Log.Note("draft-server-info", "serverInfo stands in the result itself, as in drafts of 2026-07-28", "move it to _meta under "+metaServer)
	}
	n.noteNulls(methodDiscover, "", a.result)
	s.server = n.implementation(info)
	n.conn.speaks(revision, "")
	return s, nil
}

func (n *negotiation) judgeDiscoverError(a *answer) error {
	e := rpcFailure(methodDiscover, a)
	switch a.rpcErr.Code {
	case codeHeaderMismatch, codeMissingCapability:
	case codeUnsupportedVersion:
		return n.noModern(supportedIn(a.rpcErr))
	case codeMethodNotFound:
		e.Reason, e.Err = ReasonDiscoverMissing, errNoDiscover
		e.Text = "the server does not know server/discover, which 2026-07-28 requires"
	default:
		e.Err = errNoDiscover
	}
	return e
}

// notModern reads the failure of a pinned server/discover: where an unpinned
// check would go on to initialize, the server speaks another revision.
func (n *negotiation) notModern(err error) error {
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, errNoDiscover) && e.Reason != ReasonHTTPStatus {
		return err
	}
	e.Reason = ReasonVersionMismatch
	e.Text = fmt.Sprintf("%s is pinned and the server does not speak it: %s", n.cfg.Pin, e.Text)
	return e
}

// noModern is the verdict when a server lists what it supports and no modern
// revision of ours is among it.
func (n *negotiation) noModern(versions []string) *Error {
	e := &Error{Reason: ReasonVersionUnsupported, Seen: true, Details: map[string]any{"supported": n.shown(versions)}}
	e.Text = fmt.Sprintf("the server speaks %s; this check speaks %s", n.list(versions), strings.Join(Revisions(), ", "))
	switch {
	case n.mutual(versions, true) != "":
		e.Text = fmt.Sprintf("the server refuses the very revision it lists: %s", n.list(versions))
		e.Hint = "accept the revisions that the error names as supported"
	case n.cfg.Pin != "":
		return n.mismatch(n.list(versions))
	}
	if offer := n.mutual(versions, false); offer != "" {
		e.Err = legacyOnlyError{offer}
	}
	return e
}

func (n *negotiation) mismatch(got string) *Error {
	return &Error{Reason: ReasonVersionMismatch, Text: fmt.Sprintf("%s is pinned and the server speaks %s", n.cfg.Pin, got), Seen: true}
}

// mutual returns the newest revision of versions that this package speaks, in
// the modern era or in the legacy one, and that the pin allows.
func (n *negotiation) mutual(versions []string, modern bool) string {
	for _, rev := range slices.Backward(Revisions()) {
		if Modern(rev) == modern && slices.Contains(versions, rev) && (n.cfg.Pin == "" || n.cfg.Pin == rev) {
			return rev
		}
	}
	return ""
}

// fallback decides whether initialize is to be tried after err, and what to
// offer.
func (n *negotiation) fallback(err error) (offer string, ok bool) {
	var e *Error
	if !errors.As(err, &e) {
		return "", false
	}
	var only legacyOnlyError
	switch {
	case errors.As(err, &only):
		return only.offer, true
	case errors.Is(err, errNoDiscover):
		return n.offer(), true
	}
	switch e.Reason {
	case ReasonHTTPStatus, ReasonMalformedJSON, ReasonMalformedMessage, ReasonIDMismatch, ReasonEmptyResponse, ReasonSSEEnded:
		return n.offer(), true
	case ReasonNotMCPEndpoint:
		return n.offer(), e.HTTPStatus >= 400 && e.HTTPStatus < 500
	}
	return "", false
}

// firstFinding picks what to report when initialize failed as well. The first
// finding stands where it said something of its own about the server; a plain
// refusal of an unknown method is only the way to the second.
func (n *negotiation) firstFinding(first, second error) error {
	var e *Error
	if !errors.As(first, &e) {
		return second
	}
	switch ReasonOf(second) {
	case ReasonAuthRequired, ReasonTokenRejected, ReasonForbidden, ReasonInsufficientScope, ReasonAborted:
		return second
	}
	if !ownFinding(e) {
		return second
	}
	e.Text += "; initialize failed too: " + second.Error()
	return first
}

// ownFinding tells what a server said about itself from the plain refusal that
// any server gives to a method it does not know. Invalid parameters with status
// 400 are what a modern server answers to _meta it does not like.
func ownFinding(e *Error) bool {
	var only legacyOnlyError
	switch {
	case e.HTTPStatus == 0, e.HTTPStatus == http.StatusOK, errors.As(error(e), &only), e.Reason == ReasonDiscoverMissing:
		return true
	}
	return e.HTTPStatus == http.StatusBadRequest && e.RPC != nil && e.RPC.Code == codeInvalidParams
}

// explain adds what only the opening knows.
func (n *negotiation) explain(err error) error {
	var e *Error
	if !errors.As(err, &e) || !n.http || n.cfg.Pin != "" || e.Reason != ReasonTimeout {
		return err
	}
	if x := n.cfg.Log.Exchanges(); len(x) > 0 && x[len(x)-1].Stages != nil && x[len(x)-1].Stages.TCP >= 0 {
		e.Reason = ReasonProbeTimeout
		e.Text = "the connection stood, and server/discover was not answered before the time ran out"
		e.Hint = "raise the timeout if the server may be that slow; if it ignores methods it does not know, pin the revision it speaks (protocol_version, --protocol-version)"
	}
	return err
}

// initialize opens a legacy session.
func (n *negotiation) initialize(ctx context.Context, offer string) (*Session, error) {
	ask := n.conn.exchange
	if n.http && n.ids.Load() == 0 {
		ask = n.first
	}
	a, err := ask(ctx, n.initializeRequest(offer))
	return n.openLegacy(ctx, offer, a, err)
}

// openLegacy goes on from what initialize brought. When the server refuses the
// offer and lists what it speaks, it is asked once more.
func (n *negotiation) openLegacy(ctx context.Context, offer string, a *answer, err error) (*Session, error) {
	if next := n.counter(a, err, offer); next != "" {
		n.cfg.Log.Note("version-negotiation", fmt.Sprintf("the server refused the offer of %s instead of answering with %s", offer, next), "answer initialize with a revision of your own; the client decides")
		offer = next
		a, err = n.conn.exchange(ctx, n.initializeRequest(offer))
	}
	if err != nil {
		return nil, err
	}
	// The server has opened its session, whatever is thought of the answer: it
	// is to be ended in any case.
	answered, _ := a.result.Get("protocolVersion").Text()
	if strings.ContainsFunc(answered, notVisible) {
		answered = "" // it could not stand in a header
	}
	n.conn.speaks(answered, a.sessionID)
	s, err := n.judgeInitialize(a)
	if err != nil {
		return nil, err
	}
	if err := n.conn.notify(ctx, &request{method: methodInitialized, body: encode(0, methodInitialized, nil)}); err != nil {
		return nil, err
	}
	return s, nil
}

func (n *negotiation) initializeRequest(offer string) *request {
	id := n.ids.Add(1)
	info, _ := json.Marshal(n.cfg.Client)
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{},"clientInfo":%s}`, offer, info)
	return &request{id: id, method: methodInitialize, body: encode(id, methodInitialize, params)}
}

var revisionText = lazily(`\b20\d\d-[01]\d-[0-3]\d\b`)

// counter returns the revision to offer next when the server refused the offer
// and said what it would take: in the data of an error, or in the text of an
// HTTP refusal.
func (n *negotiation) counter(a *answer, err error, offered string) string {
	var versions []string
	var e *Error
	switch {
	case errors.As(err, &e) && e.Reason == ReasonHTTPStatus:
		for _, v := range revisionText().FindAll(e.Body, 32) {
			versions = append(versions, string(v))
		}
	case err == nil && a.rpcErr != nil:
		versions = supportedIn(a.rpcErr)
	}
	versions = slices.DeleteFunc(versions, func(v string) bool { return v == offered })
	return n.mutual(versions, false)
}

func (n *negotiation) judgeInitialize(a *answer) (*Session, error) {
	invalid := func(what string) (*Session, error) {
		return nil, &Error{Reason: ReasonInvalidInitialize, Text: "the answer to initialize " + what, Seen: true}
	}
	if a.rpcErr != nil {
		if versions := supportedIn(a.rpcErr); a.rpcErr.Code == codeUnsupportedVersion && len(versions) > 0 {
			return nil, n.noModern(versions)
		}
		if n.cfg.Pin != "" && a.rpcErr.Code == codeMethodNotFound {
			return nil, n.mismatch("none that is opened by initialize")
		}
		return nil, rpcFailure(methodInitialize, a)
	}
	revision, ok := a.result.Get("protocolVersion").Text()
	info := a.result.Get("serverInfo")
	name, _ := info.Get("name").Text()
	switch {
	case !ok || revision == "":
		return invalid("has no protocolVersion")
	case n.cfg.Pin != "" && revision != n.cfg.Pin:
		return nil, n.mismatch(n.cfg.quote(revision, 40))
	case !Known(revision) || Modern(revision):
		return nil, &Error{Reason: ReasonVersionUnsupported, Text: fmt.Sprintf("the server answered initialize with the revision \"%s\"; this check speaks %s that way", n.cfg.quote(revision, 40), strings.Join(Revisions()[:len(Revisions())-1], ", ")), Seen: true}
	case a.result.Get("capabilities").Kind() != rawjson.Object:
		return invalid("has no capabilities object")
	case info.Kind() != rawjson.Object:
		return invalid("has no serverInfo object")
	case strings.TrimSpace(name) == "":
		return invalid("has a serverInfo without a name")
	}
	switch version, ok := info.Get("version").Text(); {
	case !ok:
		return invalid("has a serverInfo without a version")
	case version == "":
		n.cfg.Log.Note("server-info", "serverInfo has an empty version", "send the version of the server, so that people can tell deployments apart")
	}
	n.noteNulls(methodInitialize, "", a.result)
	n.noteNulls(methodInitialize, "/serverInfo", info)
	s := n.session(EraLegacy, revision, a)
	s.server = n.implementation(info)
	return s, nil
}

// noteNulls notes optional members that are null. Clients that check what they
// get refuse the opening for them.
func (n *negotiation) noteNulls(method, at string, v rawjson.Value) {
	for name, m := range v.Members() {
		if m.IsNull() {
			n.cfg.Log.Note("null-field", fmt.Sprintf("%s sends null at %s", method, n.cfg.quote(at+rawjson.Pointer(name), maxQuote)), "leave optional members out; strict clients refuse null")
		}
	}
}

func (n *negotiation) session(era Era, revision string, opening *answer) *Session {
	if opening.disputed {
		noteDisputed(n.cfg.Log, "opening")
	}
	return &Session{
		conn: n.conn, cfg: n.cfg, ids: n.ids, http: n.http, era: era, revision: revision,
		opening: opening.result, caps: opening.result.Get("capabilities"), disputed: opening.disputed,
	}
}

func (n *negotiation) implementation(v rawjson.Value) Implementation {
	text := func(name string) string {
		s, _ := v.Get(name).Text()
		return n.cfg.quote(s, maxQuote)
	}
	return Implementation{Name: text("name"), Version: text("version"), Title: text("title")}
}

// supportedIn returns the revisions listed in an error's data.
func supportedIn(e *RPCError) []string {
	v, _, err := rawjson.Parse(e.Data)
	if err != nil {
		return nil
	}
	versions, _ := textList(v.Get("supported"))
	return versions
}

// textList reads an array of strings.
func textList(v rawjson.Value) ([]string, bool) {
	if v.Kind() != rawjson.Array {
		return nil, false
	}
	out := make([]string, 0, v.Len())
	for _, e := range v.Elems() {
		s, ok := e.Text()
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// shown are the first revisions of a list, safe to show.
func (n *negotiation) shown(versions []string) []string {
	out := make([]string, 0, min(len(versions), 10))
	for _, s := range versions[:min(len(versions), 10)] {
		out = append(out, n.cfg.quote(s, 40))
	}
	return out
}

func (n *negotiation) list(versions []string) string {
	if len(versions) == 0 {
		return "no revision it names"
	}
	return strings.Join(n.shown(versions), ", ")
}

// suggestSSE says what a refused POST may mean. Finding out takes a GET, which a
// check does not send.
func (n *negotiation) suggestSSE(err error) {
	var e *Error
	hc, ok := n.peer.(HTTPConfig)
	if !ok || !errors.As(err, &e) || e.Hint != "" {
		return
	}
	refused := e.Reason == ReasonHTTPStatus && e.HTTPStatus == http.StatusMethodNotAllowed
	named := strings.HasSuffix(strings.TrimSuffix(hc.URL.Path, "/"), "/sse") && e.HTTPStatus >= 400 && e.HTTPStatus < 500 && (e.Reason == ReasonHTTPStatus || e.Reason == ReasonNotMCPEndpoint || e.Reason == ReasonRPCError)
	if refused || named {
		e.Hint = "check the path of the URL; if the server speaks the old HTTP+SSE transport, check it with --sse " + n.cfg.quote(weburl.Redact(hc.URL), maxQuote) + " (transport: sse)"
	}
}

// suggestSlash asks the endpoint's other slash form, when this one turned out
// to be no MCP server, and says so if it is.
func (n *negotiation) suggestSlash(ctx context.Context, err error) {
	var e *Error
	hc, ok := n.peer.(HTTPConfig)
	if !ok || !errors.As(err, &e) || (e.Reason != ReasonNotMCPEndpoint && (e.Reason != ReasonHTTPStatus || e.HTTPStatus != http.StatusNotFound)) || ctx.Err() != nil {
		return
	}
	other := *hc.URL
	if strings.HasSuffix(other.Path, "/") {
		other.Path = strings.TrimRight(other.Path, "/")
	} else {
		other.Path += "/"
	}
	other.RawPath = ""
	if other.Path == "" || other.Path == "/" {
		return // the same request
	}
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	quiet := n.cfg
	quiet.Log = NewLog(n.cfg.Redact) // it is no part of what the check sent to its target
	c := newHTTPConn(HTTPConfig{URL: &other, Header: hc.Header, UserAgent: hc.UserAgent, Net: hc.Net}, quiet)
	defer c.close(ctx)
	a, got := c.exchange(ctx, n.discoverRequest(Rev20260728))
	var refused *Error
	switch {
	case got == nil && a != nil:
	case errors.As(got, &refused) && refused.HTTPStatus == http.StatusUnauthorized && strings.Contains(strings.ToLower(strings.Join(refused.Challenges, " ")), "bearer"):
	default:
		return
	}
	e.Hint = "configure " + n.cfg.quote(weburl.Redact(&other), maxQuote) + ": that form answers as an MCP server"
}
