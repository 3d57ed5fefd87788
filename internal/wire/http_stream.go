package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// stream is the state of one SSE answer across its resumptions.
type stream struct {
	c       *httpConn
	r       *request
	left    int64 // of the response budget, shared by the resumptions
	lastID  string
	retry   time.Duration
	events  int
	started time.Time
}

// readStream reads events until the answer to r. It does not wait for the end
// of the stream, which a server need not close. A legacy stream that ends early
// and gave an event id is resumed.
func (c *httpConn) readStream(ctx context.Context, r *request, resp *http.Response, x *trace) (*answer, error) {
	s := &stream{c: c, r: r, left: c.cfg.Limits.ResponseBytes, started: time.Now()}
	a, err := s.read(ctx, resp, x)
	for resumes := 0; a == nil && err == nil; resumes++ {
		if s.lastID == "" || r.modern {
			return nil, &Error{Reason: ReasonSSEEnded, Text: "the event stream ended without an answer to " + r.method, HTTPStatus: resp.StatusCode, Seen: true}
		}
		if resumes == maxResumes {
			return nil, &Error{Reason: ReasonResumeLimit, Text: fmt.Sprintf("the event stream ended %d times without an answer to %s", maxResumes+1, r.method), Seen: true}
		}
		a, err = s.resume(ctx)
	}
	return a, err
}

// read reads one connection's events. Nil and nil: it ended early.
func (s *stream) read(ctx context.Context, resp *http.Response, x *trace) (*answer, error) {
	defer resp.Body.Close()
	src, err := s.c.decoded(ctx, resp, x)
	if err != nil {
		return nil, err
	}
	events := newSSEReader(src, &s.left)
	for {
		ev, err := events.next()
		if err != nil {
			return nil, s.ended(ctx, x, events.partial(), err)
		}
		s.events++
		if ev.hasID {
			s.lastID = ev.id
		}
		if ev.hasRetry {
			s.retry = ev.retry
		}
		if ev.data == "" || ev.name != "" && ev.name != "message" {
			continue // a priming event, a keep-alive, something of the server's own
		}
		a, err := s.c.pickEvent(s.r, []byte(ev.data))
		if a != nil || err != nil {
			return a, err
		}
	}
}

// ended classifies the end of a connection. Nil: it may be resumed.
func (s *stream) ended(ctx context.Context, x *trace, partial bool, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Reason == ReasonResponseTooLarge:
		return tooLarge(s.c.cfg.Limits.ResponseBytes) // of which resumptions share one
	case errors.As(err, &e):
		return e
	case timedOut(ctx) && s.events == 0 && !partial: // keep-alives are no events
		return &Error{
			Reason: ReasonSSEStalled,
			Text:   fmt.Sprintf("the headers of an event stream came after %s and no event before the time ran out", time.Since(x.Started).Round(time.Millisecond)-time.Since(s.started).Round(time.Millisecond)),
			Hint:   "something on the way holds the events back: turn response buffering off in the proxy (X-Accel-Buffering: no)",
			Seen:   true,
		}
	case ctx.Err() != nil:
		return ended(ctx, "an event stream", true)
	}
	return nil // cut off or finished: the same to a client
}

// pickEvent is pick for one event. Nil and nil: not the answer, read on.
func (c *httpConn) pickEvent(r *request, data []byte) (*answer, error) {
	msgs, _, err := parseMessages(data)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		m := &msgs[i]
		noteFlaws(c.cfg.Log, r.method, m.flaws)
		if m.answers(r.id) {
			return &answer{result: m.result, rpcErr: m.rpcErr, disputed: m.disputed}, nil
		}
		if m.kind == isResponse {
			return nil, wrongID(r, m)
		}
		c.aside(r, m)
	}
	return nil, nil
}

// resume waits as the server asked and opens the stream again after the last
// event (2025-03-26, Resumability and Redelivery).
func (s *stream) resume(ctx context.Context) (*answer, error) {
	wait := time.NewTimer(s.retry)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return nil, ended(ctx, "an event stream that was to be resumed", true)
	case <-wait.C:
	}
	u, _, _ := s.c.state()
	header := http.Header{"Accept": {typeSSE}, headerLastEvent: {s.lastID}}
	resp, x, err := s.c.send(ctx, http.MethodGet, u, header, nil, nil)
	if err != nil {
		s.c.finish(x, err)
		return nil, err
	}
	var a *answer
	switch {
	case resp.StatusCode == http.StatusOK && mediaType(resp.Header) == typeSSE:
		a, err = s.read(ctx, resp, x)
	case resp.StatusCode == http.StatusOK:
		resp.Body.Close()
		err = &Error{Reason: ReasonContentType, Text: "resuming the event stream was answered with " + quoteType(mediaType(resp.Header)), HTTPStatus: resp.StatusCode, Seen: true}
	default:
		e := s.c.refusal(ctx, resp, x)
		resp.Body.Close()
		if e.Reason == ReasonHTTPStatus || e.Reason == ReasonRPCError {
			e.Text = "resuming the event stream failed: " + e.Text
		}
		err = e
	}
	s.c.finish(x, err)
	return a, err
}

// aside deals with a message that is not the answer to r: requests of the
// server are answered, notifications ignored.
func (c *httpConn) aside(r *request, m *message) {
	if m.kind != isRequest {
		return
	}
	if r.modern {
		c.cfg.Log.Note("server-request", fmt.Sprintf("the server sent the request %s, which a stateless revision does not allow", c.cfg.quote(m.method, 60)), "ask for input with resultType input_required instead")
		return
	}
	body := reply(m)
	c.mu.Lock()
	allowed := body != nil && c.replies < maxReplies
	if allowed {
		c.replies++
	}
	c.mu.Unlock()
	if !allowed {
		return
	}
	c.posting.Go(func() {
		ctx, cancel := context.WithTimeout(c.background, replyBudget)
		defer cancel()
		u, _, _ := c.state()
		resp, _, err := c.send(ctx, http.MethodPost, u, nil, body, nil)
		if err != nil {
			return // the exchange it belongs to will tell
		}
		io.Copy(io.Discard, io.LimitReader(resp.Body, errorBodyBytes)) //nolint:errcheck // only frees the connection
		resp.Body.Close()
	})
}
