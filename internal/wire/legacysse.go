package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// SSEConfig reaches a server over the HTTP+SSE transport of 2024-11-05: one GET
// stream for everything the server says, and an endpoint it names for messages.
type SSEConfig HTTPConfig

// sseConn is a conn over HTTP+SSE.
type sseConn struct {
	*httpConn
	mux      *mux
	messages *url.URL
	asides   chan []byte // answers to requests of the server
	cancel   context.CancelFunc
	reader   sync.WaitGroup
}

func (sc SSEConfig) connect(ctx context.Context, cfg Config) (conn, error) {
	c := &sseConn{httpConn: newHTTPConn(HTTPConfig(sc), cfg), asides: make(chan []byte, maxQueued)}
	c.mux = newMux(cfg.Log, c.aside, func(_ []byte, err *Error) { c.mux.failWaiting(err) })
	if err := c.openStream(ctx); err != nil {
		c.close(ctx)
		return nil, err
	}
	return c, nil
}

func (c *sseConn) close(ctx context.Context) {
	if c.cancel != nil {
		c.cancel()
	}
	c.reader.Wait()
	c.httpConn.close(ctx)
}

// openStream opens the stream, which outlives ctx, and waits for the endpoint.
func (c *sseConn) openStream(ctx context.Context) error {
	streamCtx, cancel := context.WithCancel(c.background)
	c.cancel = cancel
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	resp, x, err := c.get(ctx, streamCtx)
	if c.anotherToken(err) {
		c.finish(x, err)
		resp, x, err = c.get(ctx, streamCtx)
	}
	if err != nil {
		c.finish(x, err)
		return err
	}
	left := c.cfg.Limits.ResponseBytes
	src := &countingReader{r: resp.Body, n: &x.read}
	events := newSSEReader(src, &left)
	c.messages, err = c.endpoint(ctx, events, resp.Request.URL)
	c.finish(x, err)
	if err != nil {
		resp.Body.Close()
		return err
	}
	c.posting.Go(c.postAsides)
	c.reader.Go(func() {
		defer resp.Body.Close()
		c.listen(streamCtx, events, &left)
	})
	return nil
}

// get asks for the stream, following redirects of the same origin. The body
// belongs to streamCtx; what goes wrong is explained by ctx.
func (c *sseConn) get(ctx, streamCtx context.Context) (*http.Response, *trace, error) {
	u := c.hc.URL
	for hops := 0; ; hops++ {
		resp, x, err := c.send(streamCtx, http.MethodGet, u, http.Header{"Accept": {typeSSE}}, nil, nil)
		if err != nil {
			var e *Error
			if errors.As(err, &e) && ctx.Err() != nil {
				err = ended(ctx, "an answer from "+u.Host, x.seen())
			}
			return nil, x, err
		}
		next, err := c.redirect(resp, u, hops, false)
		if err == nil && next == nil {
			if err = c.streamRefused(ctx, resp, x); err == nil {
				return resp, x, nil
			}
		}
		resp.Body.Close()
		if err != nil {
			return nil, x, err
		}
		c.finish(x, nil)
		u = next
		c.mu.Lock()
		c.url = next
		c.mu.Unlock()
	}
}

// streamRefused says why resp is no event stream, or nil.
func (c *sseConn) streamRefused(ctx context.Context, resp *http.Response, x *trace) error {
	switch {
	case resp.StatusCode != http.StatusOK:
		e := c.refusal(ctx, resp, x)
		if resp.StatusCode == http.StatusMethodNotAllowed && e.Reason == ReasonHTTPStatus {
			e.Hint = "the endpoint does not take GET: it is probably Streamable HTTP; check it with --url (transport: http)"
		}
		return e
	case mediaType(resp.Header) == "text/html":
		return c.webPage(ctx, resp, x)
	case mediaType(resp.Header) != typeSSE:
		return notMCP(resp, "a stream was asked for and it answered with the content type "+quoteType(mediaType(resp.Header)), "")
	}
	return nil
}

// endpoint waits for the first event, which names where messages go.
func (c *sseConn) endpoint(ctx context.Context, events *sseReader, base *url.URL) (*url.URL, error) {
	for {
		ev, err := events.next()
		var e *Error
		switch {
		case errors.As(err, &e):
			return nil, e
		case err != nil && timedOut(ctx):
			return nil, &Error{Reason: ReasonSSEStalled, Text: "the event stream opened, and no endpoint event came before the time ran out", Hint: "something on the way may hold the events back: turn response buffering off in the proxy (X-Accel-Buffering: no)", Seen: true}
		case err != nil && ctx.Err() != nil:
			return nil, ended(ctx, "the endpoint event", true)
		case err != nil:
			return nil, &Error{Reason: ReasonSSENoEndpoint, Text: "the event stream ended before an endpoint event", Seen: true}
		case ev.name != "endpoint":
			if ev.data == "" {
				continue
			}
			return nil, &Error{Reason: ReasonSSENoEndpoint, Text: fmt.Sprintf("the first event is \"%s\", not endpoint", c.cfg.quote(ev.name, 40)), Seen: true}
		}
		return c.checkEndpoint(ev.data, base)
	}
}

// checkEndpoint resolves what the server named. Messages, and the credentials
// with them, never go to another origin.
func (c *sseConn) checkEndpoint(data string, base *url.URL) (*url.URL, error) {
	u, err := base.Parse(data)
	if err != nil {
		return nil, &Error{Reason: ReasonSSENoEndpoint, Text: "the endpoint event does not hold a URL", Seen: true, Err: err}
	}
	if !weburl.SameOrigin(u, base) {
		return nil, &Error{
			Reason: ReasonSSEEndpoint,
			Text:   fmt.Sprintf("the server wants messages sent to another origin, %s", c.cfg.quote(u.Scheme+"://"+u.Host, maxQuote)),
			Hint:   "make the server announce a relative path, or its public address: behind a proxy it often announces an internal one",
			Seen:   true,
		}
	}
	return u, nil
}

// listen reads the stream until it ends.
func (c *sseConn) listen(ctx context.Context, events *sseReader, left *int64) {
	for {
		*left = c.cfg.Limits.ResponseBytes // for each event anew
		ev, err := events.next()
		var e *Error
		switch {
		case errors.As(err, &e):
			c.mux.fail(e)
			return
		case err != nil && ctx.Err() != nil:
			c.mux.fail(&Error{Reason: ReasonAborted, Text: "the event stream was closed", Seen: true})
			return
		case err != nil:
			c.mux.fail(&Error{Reason: ReasonSSEEnded, Text: "the event stream ended", Hint: "on this transport the stream is the only way back; it must stay open", Seen: true})
			return
		}
		if ev.data != "" && (ev.name == "" || ev.name == "message") {
			c.mux.receive([]byte(ev.data))
		}
		if e := c.mux.flooded(); e != nil {
			c.mux.fail(e)
			return
		}
	}
}

func (c *sseConn) exchange(ctx context.Context, r *request) (*answer, error) {
	p, failed := c.mux.register(r)
	if failed != nil {
		return nil, failed
	}
	// The answer comes on the stream, and may come before the POST is answered,
	// which some servers do late or never.
	posted := make(chan error, 1)
	postCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop, closed := context.AfterFunc(ctx, cancel), context.AfterFunc(c.background, cancel)
	c.posting.Go(func() {
		defer cancel()
		defer closed()
		posted <- c.postMessage(postCtx, r)
	})
	var o outcome
	select {
	case o = <-p.done:
		// The POST goes on, until the connection is closed: its answer may just have
		// handed the TCP connection to the next request, and to cancel the one then
		// would cut off the other.
		stop()
	case err := <-posted:
		if err != nil {
			c.mux.abandon(p)
			return nil, err
		}
		o = c.mux.wait(ctx, p, func() *Error { return ended(ctx, "an answer to "+r.method+" on the event stream", false) })
	}
	if o.err != nil {
		return nil, o.err
	}
	c.cfg.Log.answered(r.method, o.bytes)
	return o.answer, nil
}

func (c *sseConn) notify(ctx context.Context, r *request) error {
	c.mux.unasked()
	return c.postMessage(ctx, r)
}

// postMessage sends a message to the endpoint. Any 2xx accepts it.
func (c *sseConn) postMessage(ctx context.Context, r *request) error {
	err := c.postOnce(ctx, r)
	if c.anotherToken(err) && !r.once {
		err = c.postOnce(ctx, r)
	}
	return err
}

func (c *sseConn) postOnce(ctx context.Context, r *request) error {
	resp, x, err := c.send(ctx, http.MethodPost, c.messages, r.header, r.body, r)
	if err == nil {
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			err = c.refusal(ctx, resp, x)
		}
		resp.Body.Close()
	}
	c.finish(x, err)
	return err
}

// aside queues an answer to a request of the server, or drops it when the server
// sends them faster than it takes their answers.
func (c *sseConn) aside(body []byte) {
	select {
	case c.asides <- body:
	default:
	}
}

// postAsides sends what is queued, one after the other, until the connection is
// closed.
func (c *sseConn) postAsides() {
	for {
		select {
		case body := <-c.asides:
			ctx, cancel := context.WithTimeout(c.background, replyBudget)
			c.postMessage(ctx, &request{body: body}) //nolint:errcheck // the exchange it belongs to will tell
			cancel()
		case <-c.background.Done():
			return
		}
	}
}
