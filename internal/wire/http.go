package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// Bounds of the HTTP transports.
const (
	maxRedirects   = 5
	maxResumes     = 3
	maxReplies     = 32                     // answers to requests of the server, a session
	deleteBudget   = 250 * time.Millisecond // for the DELETE that ends a session
	replyBudget    = 2 * time.Second
	errorBodyBytes = 64 << 10
	errorBodyTime  = 2 * time.Second
	maxSessionID   = 4096
	minSecretID    = 12 // a shorter one, or a plain word, could hide text of the report
)

// The header names of the protocol.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSession     = "Mcp-Session-Id"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
	headerLastEvent   = "Last-Event-Id"
	acceptBoth        = "application/json, text/event-stream"
	typeJSON          = "application/json"
	typeSSE           = "text/event-stream"
)

// Authorizer gives the credential of each request to the endpoint's origin.
type Authorizer interface {
	// Authorize returns the value of the Authorization header. The error is an
	// *Error and ends the request.
	Authorize(ctx context.Context) (string, error)
	// Refused is told that the server refused the value with 401. It reports
	// whether another value may be had, so that a request which may be repeated
	// is worth another try.
	Refused() bool
}

// HTTPConfig is what the HTTP transports need to know.
type HTTPConfig struct {
	URL *url.URL
	// Header goes to the origin of URL and nowhere else. All of it is treated
	// as secret.
	Header http.Header
	// Credential: Header holds one, so that a refusal is of it.
	Credential bool
	// Authorize, when not nil, gives the Authorization header.
	Authorize Authorizer
	UserAgent string
	Net       netguard.Options
}

// httpConn is a conn over Streamable HTTP. Each check has its own, with
// connections of its own.
type httpConn struct {
	cfg    Config
	hc     HTTPConfig
	client *http.Transport

	mu        sync.Mutex
	url       *url.URL // where redirects led
	revision  string   // legacy: sent on every request once settled
	sessionID string
	replies   int

	// Answers to requests of the server are posted beside the exchange.
	background context.Context
	stop       context.CancelFunc
	posting    sync.WaitGroup
}

func newHTTPConn(hc HTTPConfig, cfg Config) *httpConn {
	background, stop := context.WithCancel(context.Background())
	return &httpConn{cfg: cfg, hc: hc, client: netguard.NewTransport(hc.Net), url: hc.URL, background: background, stop: stop}
}

func (c *httpConn) speaks(revision, sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision, c.sessionID = revision, sessionID
}

func (c *httpConn) state() (u *url.URL, revision, sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.url, c.revision, c.sessionID
}

// close ends the session of a legacy server with DELETE. Its outcome means
// nothing: servers answer it with every status there is.
func (c *httpConn) close(ctx context.Context) {
	if u, _, sessionID := c.state(); sessionID != "" {
		// Also a cancelled check says goodbye.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteBudget)
		if resp, _, err := c.send(ctx, http.MethodDelete, u, nil, nil, nil); err == nil {
			resp.Body.Close()
		}
		cancel()
	}
	c.stop()
	c.posting.Wait()
	c.client.CloseIdleConnections()
}

// exchange posts r and reads its answer.
func (c *httpConn) exchange(ctx context.Context, r *request) (*answer, error) {
	a, err := c.attempt(ctx, r, "gzip")
	if c.anotherToken(err) && !r.once {
		a, err = c.attempt(ctx, r, "gzip")
	}
	if ReasonOf(err) != ReasonTruncatedBody || r.once || r.method == methodInitialize {
		return a, err // initialize would open a second session
	}
	// A body whose length is that of the uncompressed text looks cut off to
	// every client; whether compression is to blame is worth knowing.
	if _, again := c.attempt(ctx, r, "identity"); again == nil {
		var e *Error
		errors.As(err, &e)
		e.Hint = "the same request without compression worked: something on the way compresses the answer and keeps the length of the plain text; turn compression off there, or let it set the length"
	}
	return nil, err
}

// anotherToken reports whether err is the refusal of a token in whose place
// another may be had, and gives that one back.
func (c *httpConn) anotherToken(err error) bool {
	return ReasonOf(err) == ReasonTokenRejected && c.hc.Authorize != nil && c.hc.Authorize.Refused()
}

// attempt is one exchange with one content coding.
func (c *httpConn) attempt(ctx context.Context, r *request, coding string) (*answer, error) {
	resp, x, err := c.post(ctx, r, coding)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a, err := c.readAnswer(ctx, r, resp, x)
	c.finish(x, err)
	return a, err
}

// finish logs an exchange.
func (c *httpConn) finish(x *trace, err error) {
	x.mu.Lock() // a dial that lost the race may still report its stages
	e := x.Exchange
	stages := *x.Stages
	x.mu.Unlock()
	e.Stages, e.Duration, e.Bytes, e.Err = &stages, time.Since(e.Started), x.read, err
	c.cfg.Log.exchange(e)
}

// post sends r, following redirects that keep the method on the same origin,
// and once more on a fresh connection when a kept one turned out dead.
func (c *httpConn) post(ctx context.Context, r *request, coding string) (*http.Response, *trace, error) {
	if r.once {
		// A call that must not be repeated must not meet a dead connection.
		c.client.CloseIdleConnections()
	}
	u, _, _ := c.state()
	header := r.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept-Encoding", coding)
	for hops := 0; ; hops++ {
		resp, x, err := c.send(ctx, http.MethodPost, u, header, r.body, r)
		if err != nil && !r.once && x.reused && !x.seen() && ctx.Err() == nil {
			c.finish(x, err)
			c.client.CloseIdleConnections()
			if resp, x, err = c.send(ctx, http.MethodPost, u, header, r.body, r); err == nil {
				c.cfg.Log.Note("stale-connection", "a kept connection was dead; the request went through on a new one", "")
			}
		}
		if err != nil {
			c.finish(x, err)
			return nil, x, err
		}
		next, err := c.redirect(resp, u, hops, r.once)
		if err != nil || next == nil {
			if err != nil {
				resp.Body.Close()
				c.finish(x, err)
			}
			return resp, x, err
		}
		resp.Body.Close()
		c.finish(x, nil)
		c.mu.Lock()
		c.url = next
		c.mu.Unlock()
		u = next
	}
}

// redirect returns where to send the request instead, nil when resp is no
// redirect, or an error when it may not be followed. Only 307 and 308 keep the
// method (RFC 9110, 15.4.8 and 15.4.9), and only the same origin may see the
// credentials.
func (c *httpConn) redirect(resp *http.Response, from *url.URL, hops int, once bool) (*url.URL, error) {
	if resp.StatusCode < 300 || resp.StatusCode > 399 || resp.StatusCode == http.StatusNotModified {
		return nil, nil
	}
	fail := func(text, hint string) (*url.URL, error) {
		return nil, &Error{Reason: ReasonRedirect, Text: fmt.Sprintf("the server answered %d: %s", resp.StatusCode, text), Hint: hint, HTTPStatus: resp.StatusCode, Seen: true}
	}
	to, err := resp.Location()
	if err != nil {
		return fail("a redirect without a usable Location", "configure the URL at which the server answers itself")
	}
	shown := c.cfg.quote(weburl.Redact(to), maxQuote)
	same := weburl.SameOrigin(from, to)
	switch {
	case resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect:
		return fail("a redirect to "+shown, "most clients turn this redirect into a GET and fail; configure "+shown+" as the endpoint, or make the server answer 308")
	case !same:
		return fail("a redirect to another origin, "+shown, "credentials are never sent to another origin; if you trust it, configure "+shown+" as the endpoint")
	case once:
		return fail("a redirect to "+shown, "configure "+shown+" as the endpoint")
	case hops >= maxRedirects:
		return fail(fmt.Sprintf("more than %d redirects, the last to %s", maxRedirects, shown), "mend the redirect loop on the server")
	}
	c.cfg.Log.Note("redirect", fmt.Sprintf("the endpoint redirects (%d) to %s", resp.StatusCode, shown), "configure "+shown+": not every client repeats a POST with its headers")
	return to, nil
}

// trace watches one HTTP request.
type trace struct {
	Exchange
	mu                                 sync.Mutex
	reused                             bool
	dns, connect, tlsStart, wrote, got time.Time
	read                               int64
}

func (t *trace) seen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.got.IsZero()
}

// send makes one HTTP request. r is nil for requests that carry no message of
// ours. The caller closes the body and logs the trace when err is nil.
func (c *httpConn) send(ctx context.Context, method string, u *url.URL, header http.Header, body []byte, r *request) (*http.Response, *trace, error) {
	x := &trace{Exchange: Exchange{HTTPMethod: method, URL: weburl.Redact(u), Started: time.Now(), Body: body, Stages: &Stages{DNS: -1, TCP: -1, TLS: -1, FirstByte: -1}}}
	if r != nil {
		x.Method = r.method
		if r.once {
			x.Body = nil // arguments are the operator's business
		}
	}
	// The dial and the handshake outlive a request unless they are followed.
	followed, trail := netguard.Follow(ctx, x.hooks())
	req, err := http.NewRequestWithContext(followed, method, u.String(), nil)
	if err != nil {
		return nil, x, &Error{Reason: "invalid-endpoint", Text: "the endpoint cannot be requested", Err: err}
	}
	if body != nil {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.ContentLength = int64(len(body))
	}
	if err := c.setHeaders(req, header, x); err != nil {
		return nil, x, err
	}
	resp, err := c.client.RoundTrip(req)
	if err != nil {
		return nil, x, c.unreachable(ctx, u, x, trail.Explain(err))
	}
	x.Status, x.ContentType = resp.StatusCode, c.cfg.quote(resp.Header.Get("Content-Type"), 100)
	if resp.TLS != nil && len(resp.TLS.PeerCertificates) > 0 {
		x.Certificate = resp.TLS.PeerCertificates[0]
	}
	return resp, x, nil
}

func (c *httpConn) setHeaders(req *http.Request, header http.Header, x *trace) error {
	h := req.Header
	h.Set("Accept", acceptBoth)
	h.Set("User-Agent", c.hc.UserAgent)
	if req.Body != nil {
		h.Set("Content-Type", typeJSON)
	}
	_, revision, sessionID := c.state()
	if revision != "" {
		h.Set(headerVersion, revision)
	}
	for name, values := range header {
		h[name] = slices.Clone(values)
	}
	x.Header = h.Clone()
	if sessionID != "" {
		h.Set(headerSession, sessionID)
		x.SecretHeaders = append(x.SecretHeaders, headerSession)
	}
	if weburl.SameOrigin(req.URL, c.hc.URL) {
		for name, values := range c.hc.Header {
			h[name] = slices.Clone(values)
			x.SecretHeaders = append(x.SecretHeaders, name)
			x.Header.Del(name)
		}
	}
	if host := h.Get("Host"); host != "" { // net/http takes it from here
		req.Host = host
	}
	if c.hc.Authorize != nil && weburl.SameOrigin(req.URL, c.hc.URL) {
		value, err := c.hc.Authorize.Authorize(req.Context())
		if err != nil {
			return err
		}
		h.Set("Authorization", value)
		x.SecretHeaders = append(x.SecretHeaders, "Authorization")
	}
	slices.Sort(x.SecretHeaders)
	return nil
}

// hooks measures the stages. They may be called from other goroutines.
func (t *trace) hooks() *httptrace.ClientTrace {
	locked := func(f func(now time.Time)) {
		t.mu.Lock()
		defer t.mu.Unlock()
		f(time.Now())
	}
	return &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			locked(func(time.Time) { t.reused, t.Address = i.Reused, i.Conn.RemoteAddr().String() })
		},
		DNSStart: func(httptrace.DNSStartInfo) {
			locked(func(now time.Time) { t.dns = now })
		},
		DNSDone: func(httptrace.DNSDoneInfo) {
			locked(func(now time.Time) { t.Stages.DNS = now.Sub(t.dns) })
		},
		ConnectStart: func(string, string) {
			locked(func(now time.Time) {
				if t.connect.IsZero() { // the first of several addresses
					t.connect = now
				}
			})
		},
		ConnectDone: func(_, _ string, err error) {
			locked(func(now time.Time) {
				if err == nil {
					t.Stages.TCP = now.Sub(t.connect)
				}
			})
		},
		TLSHandshakeStart: func() { locked(func(now time.Time) { t.tlsStart = now }) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			locked(func(now time.Time) {
				if err == nil {
					t.Stages.TLS = now.Sub(t.tlsStart)
				}
			})
		},
		WroteRequest: func(httptrace.WroteRequestInfo) { locked(func(now time.Time) { t.wrote = now }) },
		GotFirstResponseByte: func() {
			locked(func(now time.Time) {
				t.got = now
				if !t.wrote.IsZero() {
					t.Stages.FirstByte = now.Sub(t.wrote)
				}
			})
		},
	}
}

// unreachable classifies a request that got no response headers.
func (c *httpConn) unreachable(ctx context.Context, u *url.URL, x *trace, err error) *Error {
	f := netguard.Classify(err)
	if ctx.Err() != nil && (!timedOut(ctx) || x.seen() || f.Reason == netguard.ReasonTimeout || f.Reason == netguard.ReasonCanceled) {
		what := "an answer from " + u.Host
		if x.Method != "" {
			what = "an answer to " + x.Method + " from " + u.Host
		}
		return ended(ctx, what, x.seen())
	}
	e := &Error{Reason: f.Reason, Text: c.cfg.quote(f.Text, 2*maxQuote), Hint: f.Hint, Seen: x.seen(), Err: err}
	for name, value := range f.Detail {
		if e.Details == nil {
			e.Details = map[string]any{}
		}
		e.Details[name] = c.cfg.quote(value, maxQuote)
	}
	if f.Reason == netguard.ReasonTLSHandshake && aboutClientCertificate(f.Detail["alert"]) {
		e.Reason, e.Seen = ReasonAuthRequired, true
		e.Hint = "give a client certificate that the server trusts (tls.cert_file and tls.key_file)"
		if len(c.hc.Net.ClientCertificates) > 0 {
			e.Reason, e.Hint = ReasonTokenRejected, "renew the client certificate, or give one of an authority that the server trusts (tls.cert_file and tls.key_file)"
		}
		return e
	}
	if proxy, variable := netguard.ProxyFor(c.hc.Net, u); proxy != nil && f.Reason != ReasonProxyError && !strings.HasPrefix(f.Reason, "tls-") {
		return c.proxyFailed(proxy, variable, e.Text)
	}
	return e
}

// clientCertificateAlerts are what a server ends a handshake with when it misses
// a client certificate or refuses the one it got (RFC 8446, 6.2): its 401.
var clientCertificateAlerts = []string{
	"certificate required", "bad certificate", "unsupported certificate", "revoked certificate", "expired certificate",
	"unknown certificate", "unknown certificate authority", "access denied",
}

func aboutClientCertificate(alert string) bool {
	return slices.Contains(clientCertificateAlerts, alert)
}

func (c *httpConn) proxyFailed(proxy *url.URL, variable, what string) *Error {
	return &Error{
		Reason: ReasonProxyError,
		Text:   fmt.Sprintf("the proxy %s (from %s) did not carry the request: %s", c.cfg.quote(proxy.Host, maxQuote), variable, what),
		Hint:   fmt.Sprintf("mend the proxy, or add the server's host to NO_PROXY to reach it without %s", variable),
		Seen:   true,
	}
}

// mediaType returns the type of a Content-Type header, lower case, or "".
func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		t, _, _ = strings.Cut(h.Get("Content-Type"), ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// notify posts a notification. The specification wants 202 without a body; a
// body is never read as an answer.
func (c *httpConn) notify(ctx context.Context, r *request) error {
	err := c.notifyOnce(ctx, r)
	if c.anotherToken(err) {
		err = c.notifyOnce(ctx, r)
	}
	return err
}

func (c *httpConn) notifyOnce(ctx context.Context, r *request) error {
	resp, x, err := c.post(ctx, r, "gzip")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	err = c.acknowledged(ctx, r, resp, x)
	c.finish(x, err)
	return err
}

func (c *httpConn) acknowledged(ctx context.Context, r *request, resp *http.Response, x *trace) error {
	const hint = "answer notifications with 202 and no body"
	switch {
	case resp.StatusCode == http.StatusAccepted:
		return nil
	case resp.StatusCode >= 200 && resp.StatusCode <= 299:
		body, _ := c.errorBody(ctx, resp, x)
		text := fmt.Sprintf("the notification %s was answered with %d", r.method, resp.StatusCode)
		if len(bytes.TrimSpace(body)) > 0 {
			text += " and a body"
		}
		c.cfg.Log.Note("notification-ack", text, hint)
		return nil
	}
	e := c.refusal(ctx, resp, x)
	if e.Reason == ReasonHTTPStatus || e.Reason == ReasonRPCError {
		e.Reason = ReasonNotifyRejected
		e.Text = fmt.Sprintf("the notification %s was refused: %s", r.method, e.Text)
		e.Hint = hint
	}
	return e
}
