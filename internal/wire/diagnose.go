package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
)

// lookBudget bounds each of the looks that only a diagnosis takes.
const lookBudget = 2 * time.Second

// Head asks whether the endpoint can be reached: any HTTP status will do, and
// within two seconds a connection without a status as well, because some
// servers never answer HEAD. status is 0 then. What was learnt is in cfg.Log.
func Head(ctx context.Context, hc HTTPConfig, cfg Config) (status int, err error) {
	hc.Authorize = nil // any status will do, so no token is got for it
	c := newHTTPConn(hc, cfg)
	defer c.close(ctx)
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	resp, x, err := c.send(ctx, http.MethodHead, hc.URL, nil, nil, nil)
	if err == nil {
		resp.Body.Close()
		status = resp.StatusCode
	}
	c.finish(x, err)
	x.mu.Lock()
	connected := x.Stages.TCP >= 0 && !x.wrote.IsZero()
	x.mu.Unlock()
	if proxy, _ := netguard.ProxyFor(hc.Net, hc.URL); err != nil && proxy == nil && connected && timedOut(ctx) {
		return 0, nil
	}
	return status, err
}

// AskAnonymously opens the server and lists its tools without a credential, and
// returns how that was refused: the status and the raw challenges. Status 200
// says that it was not refused. Whatever else kept the server from listing is an
// error, and status 0: it says nothing about credentials.
func AskAnonymously(ctx context.Context, p Peer, cfg Config) (status int, challenges []string, err error) {
	return AskWith(ctx, p, cfg, nil)
}

// AskWith is AskAnonymously with a credential in place of the peer's own.
func AskWith(ctx context.Context, p Peer, cfg Config, credential http.Header) (status int, challenges []string, err error) {
	cfg.Pin, cfg.Log = "", NewLog(cfg.Redact)
	switch hc := p.(type) {
	case HTTPConfig:
		hc.Header, hc.Credential, hc.Authorize = credential, credential != nil, nil
		p = hc
	case SSEConfig:
		hc.Header, hc.Credential, hc.Authorize = credential, credential != nil, nil
		p = hc
	}
	s, err := Open(ctx, p, cfg)
	if err == nil {
		// Some servers open to anybody and ask for the credential afterwards.
		if s.Declares("tools") {
			_, err = s.List(ctx, Tools)
		}
		s.Close(ctx)
	}
	if err == nil {
		return http.StatusOK, nil, nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return 0, nil, err
	}
	switch e.Reason {
	case ReasonAuthRequired, ReasonTokenRejected, ReasonForbidden, ReasonInsufficientScope:
	case ReasonHTTPStatus, ReasonRPCError:
		if e.HTTPStatus != http.StatusBadRequest { // how some refuse a request without a token
			return 0, nil, err
		}
	default:
		return 0, nil, err
	}
	return e.HTTPStatus, e.Challenges, nil
}

// LookAtGET opens the optional GET stream of a Streamable HTTP server and notes
// what is untidy about the answer. A stream that is silent is in order.
func (s *Session) LookAtGET(ctx context.Context) {
	c, ok := s.conn.(*httpConn)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	u, _, _ := c.state()
	resp, x, err := c.send(ctx, http.MethodGet, u, http.Header{"Accept": {typeSSE}}, nil, nil)
	c.finish(x, err)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	const tidy = "answer 405 to GET when there is no stream"
	switch {
	case resp.StatusCode == http.StatusOK && mediaType(resp.Header) != typeSSE:
		s.cfg.Log.Note("get-not-sse", fmt.Sprintf("GET is answered with 200 and the content type %s; clients take it for a stream that died and reconnect for ever", quoteType(mediaType(resp.Header))), tidy)
	case resp.StatusCode == http.StatusOK && s.era == EraModern:
		s.cfg.Log.Note("get-stream", "GET opens a stream, which 2026-07-28 removed", tidy)
	case resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusMethodNotAllowed:
		s.cfg.Log.Note("get-status", fmt.Sprintf("GET is answered with %d", resp.StatusCode), tidy)
	}
}

// impossibleRevision is one that no server can speak.
const impossibleRevision = "1999-01-01"

// LookForEcho opens one more legacy session with an impossible revision and
// notes when the server repeats it: its handshake proves nothing.
func LookForEcho(ctx context.Context, p Peer, cfg Config) {
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	quiet := cfg
	quiet.Log = NewLog(cfg.Redact)
	c, err := p.connect(ctx, quiet)
	if err != nil {
		return
	}
	defer c.close(ctx)
	n := &negotiation{peer: p, cfg: quiet, ids: new(atomic.Int64), conn: c}
	a, err := c.exchange(ctx, n.initializeRequest(impossibleRevision))
	if err != nil || a.rpcErr != nil {
		return
	}
	got, _ := a.result.Get("protocolVersion").Text()
	c.speaks(got, a.sessionID)
	if got == impossibleRevision {
		cfg.Log.Note("version-echo", "the server repeats whatever revision it is offered, even "+impossibleRevision, "answer with a revision that the server really speaks")
	}
}

// LookForLegacySSE reports whether the endpoint is one of the HTTP+SSE
// transport of 2024-11-05.
func LookForLegacySSE(ctx context.Context, hc HTTPConfig, cfg Config) bool {
	ctx, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	cfg.Log = NewLog(cfg.Redact)
	c, err := SSEConfig(hc).connect(ctx, cfg)
	if err != nil {
		return ReasonOf(err) == ReasonSSEEndpoint
	}
	c.close(ctx)
	return true
}

// OpenPinned opens a session with one revision and its own opening, and says
// what the server answered. It serves the table of revisions.
func OpenPinned(ctx context.Context, p Peer, cfg Config, revision string) (supported bool, answer string) {
	cfg.Pin = revision
	cfg.Log = NewLog(cfg.Redact)
	s, err := Open(ctx, p, cfg)
	if err != nil {
		return false, cfg.quote(strings.TrimPrefix(strings.TrimPrefix(err.Error(), revision+" is pinned and "), "the server does not speak it: "), maxQuote)
	}
	s.Close(ctx)
	return true, "answered with " + s.revision
}
