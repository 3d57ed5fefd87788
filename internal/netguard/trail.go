package netguard

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync"
)

// HandshakeError is a TLS handshake that a server did not complete. In TLS 1.3
// that can show only when the request is sent.
type HandshakeError struct {
	Address string // host:port
	// Unidentified: the server had asked for a client certificate, and none of
	// the configured ones was fit to send.
	Unidentified bool
	Err          error
}

func (e *HandshakeError) Error() string {
	return "TLS handshake with " + e.Address + ": " + e.Err.Error()
}
func (e *HandshakeError) Unwrap() error { return e.Err }

// Timeout makes the answer of an enclosing *url.Error right.
func (e *HandshakeError) Timeout() bool { return isTimeout(e.Err) }

// stage is how far the current request of a trail has got.
type stage uint8

const (
	idle stage = iota
	lookup
	connect
	tunnel // connected to a proxy, waiting for its answer to CONNECT
	handshake
	ready
)

// Trail remembers how far a request got. It is safe for concurrent use, but
// stands for one request at a time, redirects included. A nil *Trail is that of
// a request nobody follows.
type Trail struct {
	ended context.Context // the request's own, which net/http hides from dialers

	mu       sync.Mutex
	stage    stage
	secure   bool   // the URL is https
	target   string // host:port of the URL
	host     string // being looked up
	dialed   string // host:port being connected to
	pending  []netip.AddrPort
	proxy    string
	variable string
	release  func() bool
	// unidentified: a client certificate was asked for in vain, and no response
	// has come since.
	unidentified bool
}

type trailKey struct{}

// Follow returns a context for one request, whose dial and TLS handshake then
// end when ctx does. The hooks, which may be nil and belong to Follow from then
// on, are called as usual, as are those of net/http/httptrace in ctx. (Handing
// them over saves a combination of the two by reflection.)
func Follow(ctx context.Context, hooks *httptrace.ClientTrace) (context.Context, *Trail) {
	t := &Trail{ended: ctx}
	if hooks == nil {
		hooks = &httptrace.ClientTrace{}
	}
	theirs := *hooks
	hooks.TLSHandshakeStart = func() {
		t.reach(handshake)
		if theirs.TLSHandshakeStart != nil {
			theirs.TLSHandshakeStart()
		}
	}
	hooks.TLSHandshakeDone = func(state tls.ConnectionState, err error) {
		t.handshakeDone(err)
		if theirs.TLSHandshakeDone != nil {
			theirs.TLSHandshakeDone(state, err)
		}
	}
	hooks.GotConn = func(info httptrace.GotConnInfo) {
		t.reach(ready)
		if theirs.GotConn != nil {
			theirs.GotConn(info)
		}
	}
	hooks.GotFirstResponseByte = func() {
		t.identified(true)
		if theirs.GotFirstResponseByte != nil {
			theirs.GotFirstResponseByte()
		}
	}
	return httptrace.WithClientTrace(context.WithValue(ctx, trailKey{}, t), hooks), t
}

func trailOf(ctx context.Context) *Trail {
	t, _ := ctx.Value(trailKey{}).(*Trail)
	return t
}

// start begins a request; the transport calls it before anything else.
func (t *Trail) start(u, proxy *url.URL, variable string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage, t.secure, t.target = idle, u.Scheme == "https", hostPort(u)
	t.proxy, t.variable, t.unidentified = "", "", false
	if proxy != nil {
		t.proxy, t.variable = proxy.Host, variable
	}
}

func (t *Trail) reach(s stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(s)
}

// advance is for holders of the lock. A request can get a connection that became
// idle while its own dial still runs; that dial's progress then means nothing.
func (t *Trail) advance(s stage) {
	if t.stage != ready {
		t.stage = s
	}
}

// identified tells whether the server can do without the client certificate that
// it asked for.
func (t *Trail) identified(yes bool) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unidentified = !yes
}

// onEnd calls cancel when the request is over, until the result is called.
func (t *Trail) onEnd(cancel func()) func() {
	if t == nil {
		return func() {}
	}
	stop := context.AfterFunc(t.ended, cancel)
	return func() { stop() }
}

func (t *Trail) lookingUp(host string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(lookup)
	t.host = host
}

func (t *Trail) connecting(address string, targets []netip.AddrPort) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(connect)
	t.dialed, t.pending = address, targets
}

// connected takes charge of a new connection until its handshake is done, so
// that a server that never answers one holds no descriptor for long.
func (t *Trail) connected(conn net.Conn) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.secure:
		t.advance(ready)
		return
	case t.proxy != "":
		t.advance(tunnel)
	default:
		t.advance(handshake)
	}
	t.release = context.AfterFunc(t.ended, func() { conn.Close() })
}

func (t *Trail) handshakeDone(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		return // the stage still tells where it failed
	}
	if t.release != nil {
		t.release()
	}
	// What follows is the request, or, after the handshake with an https proxy,
	// CONNECT and a second handshake, which the transport's own limits guard.
	if t.proxy == "" {
		t.advance(ready)
	} else {
		t.advance(tunnel)
	}
}

// Explain adds to the error of a request which step it happened in, when the
// error does not tell: a deadline while connecting becomes a *DialError, one in
// a handshake a *HandshakeError, and so on. The result wraps err, or what ended
// the request when err is only a consequence of that. Call it as soon as the
// request has returned.
func (t *Trail) Explain(err error) error {
	if t == nil || err == nil {
		return err
	}
	// The *url.Error of an http.Client stays outermost.
	if outer, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost
		return &url.Error{Op: outer.Op, URL: outer.URL, Err: t.wrap(outer.Err)}
	}
	return t.wrap(err)
}

func (t *Trail) wrap(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, done := errors.AsType[*ProxyError](err); done {
		return err
	}
	step := t.located(err)
	if t.proxy != "" && (t.stage == lookup || t.stage == connect || t.stage == tunnel) {
		return &ProxyError{Proxy: t.proxy, Variable: t.variable, Err: step}
	}
	return step
}

// located gives an error the type of its stage, unless it has one.
func (t *Trail) located(err error) error {
	// When the request ends, its dial is canceled and its connection closed. Which
	// of these net/http notices first is chance.
	if cut := t.ended.Err(); cut != nil && (errors.Is(err, net.ErrClosed) || errors.Is(err, context.Canceled)) {
		err = cut
	}
	_, isLookup := errors.AsType[*LookupError](err)
	_, isDial := errors.AsType[*DialError](err)
	if isLookup || isDial {
		return err
	}
	switch t.stage {
	case lookup:
		return &LookupError{Host: t.host, Err: err}
	case connect:
		attempts := make([]Attempt, len(t.pending))
		for i, addr := range t.pending {
			attempts[i] = Attempt{Addr: addr, Err: err}
		}
		return &DialError{Address: t.dialed, Attempts: attempts}
	}
	if t.stage == handshake || t.unidentified {
		return &HandshakeError{Address: t.target, Unidentified: t.unidentified, Err: err}
	}
	return err
}
