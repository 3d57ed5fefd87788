package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// readAnswer reads the response to r from resp. A JSON-RPC error is an answer
// whatever HTTP status carried it; the caller judges.
func (c *httpConn) readAnswer(ctx context.Context, r *request, resp *http.Response, x *trace) (*answer, error) {
	switch {
	case resp.StatusCode == http.StatusOK:
	case carriesAnswer(resp):
		c.cfg.Log.Note("answer-status", fmt.Sprintf("the answer to %s came with status %d", r.method, resp.StatusCode), "answer requests with 200")
	default:
		return c.readRefusal(ctx, resp, x)
	}
	if e := edgeChallenge(resp); e != nil {
		return nil, e
	}
	sessionID, err := c.readSessionID(resp)
	if err != nil {
		return nil, err
	}
	if r.method == methodInitialize && sessionID != "" {
		// The session is open from here on: what the stream of this answer asks
		// for belongs to it, and it is to be ended even if the stream breaks.
		c.speaks("", sessionID)
	}
	var a *answer
	switch t := mediaType(resp.Header); t {
	case typeSSE:
		a, err = c.readStream(ctx, r, resp, x)
	case "text/html", "application/xhtml+xml":
		return nil, c.webPage(ctx, resp, x)
	default:
		a, err = c.readJSON(ctx, r, resp, x, t)
	}
	if err != nil {
		return nil, err
	}
	a.status, a.sessionID = resp.StatusCode, sessionID
	return a, nil
}

// carriesAnswer reports whether clients take the body of a success that is not
// 200 for an answer: by its type, and unless the status says that there is none.
func carriesAnswer(resp *http.Response) bool {
	t := mediaType(resp.Header)
	switch resp.StatusCode {
	case http.StatusCreated, http.StatusNonAuthoritativeInfo:
		return t == typeJSON || t == typeSSE
	}
	return false
}

// readSessionID validates the session id that came with an answer: visible
// ASCII (2025-03-26, Session Management).
func (c *httpConn) readSessionID(resp *http.Response) (string, error) {
	ids := resp.Header.Values(headerSession)
	if len(ids) == 0 {
		return "", nil
	}
	if id := ids[0]; len(ids) > 1 || id == "" || len(id) > maxSessionID || strings.ContainsFunc(id, notVisible) {
		return "", &Error{Reason: ReasonSessionID, Text: "the session id is not one string of visible ASCII characters", Seen: true, HTTPStatus: resp.StatusCode}
	}
	if id := ids[0]; len(id) >= minSecretID && strings.ContainsAny(id, "0123456789") {
		c.cfg.Redact.Add(id) // whoever holds it can act in the session
	}
	return ids[0], nil
}

// notVisible reports what is not a visible ASCII character.
func notVisible(r rune) bool { return r < 0x21 || r > 0x7e }

// readJSON reads a body that is one message, or a batch.
func (c *httpConn) readJSON(ctx context.Context, r *request, resp *http.Response, x *trace, contentType string) (*answer, error) {
	if contentType != typeJSON {
		return c.readUntyped(ctx, r, resp, x, contentType)
	}
	body, err := c.body(ctx, resp, x)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, &Error{Reason: ReasonEmptyResponse, Text: "the answer to " + r.method + " has an empty body", HTTPStatus: resp.StatusCode, Seen: true}
	}
	return c.pick(r, body)
}

// readUntyped reads a 200 that is neither JSON nor a stream by its type. It may
// still be a message with a careless Content-Type; if not, it is no MCP server.
func (c *httpConn) readUntyped(ctx context.Context, r *request, resp *http.Response, x *trace, contentType string) (*answer, error) {
	body, readErr := c.errorBody(ctx, resp, x)
	if readErr == nil && len(body) > 0 {
		if a, err := c.pick(r, body); err == nil {
			c.cfg.Log.Note(ReasonContentType, fmt.Sprintf("the answer to %s has the content type \"%s\"", r.method, contentType), "send application/json or text/event-stream")
			return a, nil
		}
	}
	return nil, notMCP(resp, "it answered with the content type "+quoteType(contentType), "")
}

func quoteType(t string) string {
	if t == "" {
		return "(none)"
	}
	return fmt.Sprintf("\"%s\"", clip(t))
}

// pick finds the answer to r among the messages of a JSON body, and deals with
// the others.
func (c *httpConn) pick(r *request, body []byte) (*answer, error) {
	msgs, batch, err := parseMessages(body)
	if err != nil {
		return nil, err
	}
	if _, revision, _ := c.state(); batch && revision != Rev20250326 {
		c.cfg.Log.Note("batch-reply", "the answer to "+r.method+" is a JSON-RPC batch", "batches left the protocol in 2025-06-18: answer with one object")
	}
	var found *answer
	for i := range msgs {
		m := &msgs[i]
		noteFlaws(c.cfg.Log, r.method, m.flaws)
		if m.answers(r.id) {
			found = &answer{result: m.result, rpcErr: m.rpcErr, disputed: m.disputed || found != nil}
			continue
		}
		if m.kind == isResponse && !batch {
			return nil, wrongID(r, m)
		}
		c.aside(r, m)
	}
	if found == nil {
		return nil, &Error{Reason: ReasonIDMismatch, Text: "no message of the batch answers " + r.method, Seen: true}
	}
	return found, nil
}

func wrongID(r *request, m *message) *Error {
	got := "no id"
	if m.id.Exists() {
		got = "the id " + clip(string(m.id.Raw()))
	}
	e := &Error{Reason: ReasonIDMismatch, Text: fmt.Sprintf("the answer to %s has %s; %d was sent", r.method, got, r.id), Seen: true, RPC: m.rpcErr}
	if m.rpcErr != nil {
		e.Text += fmt.Sprintf(" (error %d: %s)", m.rpcErr.Code, m.rpcErr.Message)
	}
	return e
}

// noteFlaws reports what is wrong with a message that could still be read.
func noteFlaws(l *Log, method string, f rawjson.Flaws) {
	if f.BOM {
		l.Note("bom", "the answer to "+method+" starts with a byte order mark", "send UTF-8 without one (RFC 8259, 8.1)")
	}
	if f.InvalidUTF8 > 0 {
		l.Note(ReasonInvalidUTF8, fmt.Sprintf("the answer to %s is not UTF-8: byte 0x%02X at position %d (%d such bytes)", method, f.FirstByte, f.FirstInvalid, f.InvalidUTF8), "write UTF-8, whatever the code page of the machine is")
	}
	for _, p := range f.Duplicates {
		l.Note("duplicate-member", "the answer to "+method+" has a member twice: "+p, "parsers disagree about which one counts; send it once")
	}
}

// noteDisputed reports an answer in which clients may read different things.
func noteDisputed(l *Log, method string) {
	l.Note("duplicate-member", "the answer to "+method+" has a member twice, or in another letter case", "parsers disagree about which one counts; send it once")
}

// body reads the whole body, decoded, under the limit.
func (c *httpConn) body(ctx context.Context, resp *http.Response, x *trace) ([]byte, error) {
	left := c.cfg.Limits.ResponseBytes
	src, err := c.decoded(ctx, resp, x)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		b.Grow(int(min(n, left, 64<<10)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(src, left+1))
	switch {
	case n > left:
		return nil, tooLarge(left)
	case err != nil:
		return nil, c.broken(ctx, resp, x, err)
	}
	return b.Bytes(), nil
}

func tooLarge(limit int64) *Error {
	return &Error{Reason: ReasonResponseTooLarge, Text: fmt.Sprintf("the answer is larger than the limit of %d bytes", limit), Seen: true}
}

// decoded counts what comes off the wire and undoes the content coding.
func (c *httpConn) decoded(ctx context.Context, resp *http.Response, x *trace) (io.Reader, error) {
	raw := &countingReader{r: resp.Body, n: &x.read}
	switch coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(raw)
		if err == nil {
			return z, nil
		}
		if errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.EOF) {
			return nil, &Error{Reason: ReasonBadEncoding, Text: "the body is labelled gzip and is not", HTTPStatus: resp.StatusCode, Seen: true}
		}
		return nil, c.broken(ctx, resp, x, err)
	default:
		return nil, &Error{Reason: ReasonBadEncoding, Text: "the body has the content coding " + c.cfg.quote(coding, 60) + ", which was not asked for", HTTPStatus: resp.StatusCode, Seen: true}
	}
}

type countingReader struct {
	r io.Reader
	n *int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// broken classifies an error in the middle of a body.
func (c *httpConn) broken(ctx context.Context, resp *http.Response, x *trace, err error) *Error {
	if ctx.Err() != nil {
		return ended(ctx, "the answer's body", true)
	}
	e := &Error{Reason: ReasonTruncatedBody, HTTPStatus: resp.StatusCode, Seen: true, Err: err}
	switch {
	case resp.ContentLength >= 0 && x.read < resp.ContentLength:
		e.Text = fmt.Sprintf("the body is cut off: %d bytes were declared, %d arrived", resp.ContentLength, x.read)
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Text = fmt.Sprintf("the body is cut off after %d bytes", x.read)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		e.Reason, e.Text = ReasonBadEncoding, "the gzip body is damaged"
	default:
		f := netguard.Classify(err)
		e.Reason, e.Text, e.Hint = f.Reason, "while reading the body: "+c.cfg.quote(f.Text, maxQuote), f.Hint
	}
	return e
}

// errorBody reads a little of a body that only serves an explanation.
func (c *httpConn) errorBody(ctx context.Context, resp *http.Response, x *trace) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, errorBodyTime)
	defer cancel()
	// Closing the body is the only way to end a read of it.
	stop := context.AfterFunc(ctx, func() { resp.Body.Close() })
	defer stop()
	src, err := c.decoded(ctx, resp, x)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(src, errorBodyBytes))
}

// readRefusal reads an answer whose status is not 200. JSON-RPC errors come
// with many statuses, and with a null id or none; only there is that accepted.
func (c *httpConn) readRefusal(ctx context.Context, resp *http.Response, x *trace) (*answer, error) {
	e := c.refusal(ctx, resp, x)
	if e.RPC != nil && (e.Reason == ReasonRPCError) {
		return &answer{rpcErr: e.RPC, status: resp.StatusCode}, nil
	}
	return nil, e
}

// refusal classifies a response whose status is not the wanted one.
func (c *httpConn) refusal(ctx context.Context, resp *http.Response, x *trace) *Error {
	if e := edgeChallenge(resp); e != nil {
		return e
	}
	body, _ := c.errorBody(ctx, resp, x)
	e := &Error{Reason: ReasonHTTPStatus, HTTPStatus: resp.StatusCode, Seen: true}
	e.Text = fmt.Sprintf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	e.RPC = rpcErrorIn(body)
	page := isPage(resp, body)
	if page && edgePage(body) {
		return blockedByEdge(resp)
	}
	if proxy, variable := netguard.ProxyFor(c.hc.Net, resp.Request.URL); proxy != nil && resp.Request.URL.Scheme == "http" && e.RPC == nil && gatewayStatus(resp.StatusCode) {
		return c.proxyFailed(proxy, variable, e.Text)
	}
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		c.refusedAccess(e, resp, body)
	case s == http.StatusMisdirectedRequest:
		c.hostRejected(e, resp)
	case s == http.StatusTooManyRequests:
		e.Reason = ReasonRateLimited
		if after := resp.Header.Get("Retry-After"); after != "" {
			e.Text += ", to come back after " + c.cfg.quote(after, 40)
		}
	case s == http.StatusNotImplemented && page: // a web server that knows no POST
		return notMCP(resp, fmt.Sprintf("it answered %d with a web page", s), c.pageTitle(body))
	case s >= 500:
		e.Reason = ReasonHTTP5xx
		e.quoteRPC()
	case s == http.StatusNotAcceptable:
		e.Reason = ReasonAcceptRejected
		e.Text += ", although both media types were accepted"
	case c.hasSession() && sessionLost(s, e.RPC, body):
		e.Reason = ReasonSessionLost
		e.Text = fmt.Sprintf("the server no longer knows the session it opened a moment ago (%d)", s)
	case s >= 200 && s <= 299:
		e.Reason = ReasonEmptyResponse
		e.Text += " in place of an answer"
	case e.RPC != nil:
		e.Reason = ReasonRPCError
	case page:
		return notMCP(resp, fmt.Sprintf("it answered %d with a web page", s), c.pageTitle(body))
	}
	e.Details = detail(e.Details, "status", resp.StatusCode)
	if e.Reason == ReasonHTTPStatus && len(body) > 0 {
		e.Body = body
	}
	return e
}

// sessionLost recognises that a server forgot a session: 404 (2025-03-26,
// Session Management), or, from careless servers, 400 with a word about it.
func sessionLost(status int, rpc *RPCError, body []byte) bool {
	switch {
	case rpc != nil && rpc.Code == codeMethodNotFound:
		return false
	case status == http.StatusBadRequest:
		return bytes.Contains(bytes.ToLower(body), []byte("session"))
	}
	return status == http.StatusNotFound
}

func detail(m map[string]any, name string, value any) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	m[name] = value
	return m
}

func (e *Error) quoteRPC() {
	if e.RPC != nil {
		e.Text += fmt.Sprintf(" (error %d: %s)", e.RPC.Code, e.RPC.Message)
	}
}

func (c *httpConn) hasSession() bool {
	_, _, id := c.state()
	return id != ""
}

func gatewayStatus(s int) bool {
	return s == http.StatusBadGateway || s == http.StatusServiceUnavailable || s == http.StatusGatewayTimeout || s == http.StatusProxyAuthRequired
}

// refusedAccess tells a missing credential, a refused one and a guard on Host
// or Origin apart.
func (c *httpConn) refusedAccess(e *Error, resp *http.Response, body []byte) {
	e.Challenges = resp.Header.Values("WWW-Authenticate")
	forbidden := resp.StatusCode == http.StatusForbidden
	if forbidden && len(e.Challenges) == 0 && hostGuard().Match(body) {
		c.hostRejected(e, resp)
		return
	}
	if v, _, err := rawjson.Parse(body); err == nil && forbidden && len(e.Challenges) == 0 {
		if said := lacksScope(v); said != nil {
			e.Reason, e.Hint = said.Reason, said.Hint
			e.Text += ", and says " + insufficientScope
			return
		}
	}
	switch {
	case forbidden && !c.hasCredential() && len(e.Challenges) > 0:
		e.Reason = ReasonAuthRequired
	case forbidden:
		e.Reason = ReasonForbidden
		if !c.hasCredential() {
			e.Hint = "hand over a credential that may use the server, or have it let this client in"
		}
	case c.hasCredential():
		e.Reason = ReasonTokenRejected
	default:
		e.Reason = ReasonAuthRequired
	}
}

func (c *httpConn) hasCredential() bool { return c.hc.Credential || c.hc.Authorize != nil }

// hostGuard matches what the DNS-rebinding guards of the SDKs say.
var hostGuard = lazily(`(?i)\b(invalid|untrusted|disallowed|forbidden|unknown|missing|not allowed)[ :"']{1,3}(host|origin)\b|\b(host|origin)( header)?[^\n]{0,80}\b(not allowed|not permitted|is invalid|rejected|forbidden|not trusted)\b|dns.rebinding`)

func (c *httpConn) hostRejected(e *Error, resp *http.Response) {
	e.Reason = ReasonHostRejected
	e.Text = fmt.Sprintf("the server's guard on Host or Origin refused the request (%d)", resp.StatusCode)
	e.Hint = fmt.Sprintf("add %s to the server's list of allowed hosts; a green health route proves nothing, as the guard covers only the MCP route", c.cfg.quote(resp.Request.URL.Host, maxQuote))
}

// rpcErrorIn returns the JSON-RPC error in the body of a refusal, or nil.
func rpcErrorIn(body []byte) *RPCError {
	v, _, err := rawjson.Parse(body)
	if err != nil {
		return nil
	}
	if version, _ := v.Get("jsonrpc").Text(); version != "2.0" {
		return nil
	}
	e, ok := readRPCError(v.Get("error"))
	if !ok {
		return nil
	}
	return e
}

func isPage(resp *http.Response, body []byte) bool {
	t := mediaType(resp.Header)
	return t == "text/html" || t == "application/xhtml+xml" || t == "" && bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(body)), []byte("<!doctype html"))
}

var titleTag = lazily(`(?is)<title[^>]{0,200}>([^<]{0,400})`)

func (c *httpConn) pageTitle(body []byte) string {
	m := titleTag().FindSubmatch(body)
	if m == nil {
		return ""
	}
	return c.cfg.quote(strings.Join(strings.Fields(string(m[1])), " "), 80)
}

// webPage is decided by the headers; the title is a courtesy.
func (c *httpConn) webPage(ctx context.Context, resp *http.Response, x *trace) *Error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	body, _ := c.errorBody(ctx, resp, x)
	if edgePage(body) {
		return blockedByEdge(resp)
	}
	return notMCP(resp, fmt.Sprintf("it answered %d with a web page (%s)", resp.StatusCode, mediaType(resp.Header)), c.pageTitle(body))
}

func notMCP(resp *http.Response, what, title string) *Error {
	e := &Error{Reason: ReasonNotMCPEndpoint, Text: "this is not an MCP endpoint: " + what, HTTPStatus: resp.StatusCode, Seen: true}
	if title != "" {
		e.Text += fmt.Sprintf(" titled \"%s\"", title)
	}
	return e
}

// edgeChallenge recognises, by its headers, a bot challenge that something in
// front of the server sent. The server itself was not asked.
func edgeChallenge(resp *http.Response) *Error {
	h := resp.Header
	if strings.EqualFold(h.Get("Cf-Mitigated"), "challenge") || h.Get("X-Amzn-Waf-Action") != "" ||
		strings.EqualFold(h.Get("X-Vercel-Mitigated"), "challenge") || strings.EqualFold(h.Get("X-Datadome"), "protected") && resp.StatusCode >= 400 {
		return blockedByEdge(resp)
	}
	return nil
}

var edgeWords = lazily(`(?i)<title>(just a moment|attention required|access denied|please wait|one more step|ddos-guard|security check)|challenge-platform|cf-chl-|/_incapsula_resource|captcha-delivery\.com|px-captcha|awswafintegration|ak_bmsc|sucuri website firewall`)

func edgePage(body []byte) bool { return edgeWords().Match(body) }

func blockedByEdge(resp *http.Response) *Error {
	text := fmt.Sprintf("something in front of the server answered %d with a bot challenge", resp.StatusCode)
	if s := resp.Header.Get("Server"); s != "" {
		text += " (server: " + clip(s) + ")"
	}
	return &Error{Reason: ReasonEdgeChallenge, Text: text, HTTPStatus: resp.StatusCode, Seen: true}
}
