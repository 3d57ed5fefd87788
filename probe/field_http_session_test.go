package probe_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestFieldA22LostSession(t *testing.T) {
	t.Parallel()
	dead := fakemcp.ErrorStatus(400, -32000, "Bad Request: No valid session ID provided", "")
	for name, tc := range map[string]struct {
		answer fakemcp.Handler
		notes  []probe.Reason
	}{
		"400":      {dead, []probe.Reason{"session-restarted", "session-expiry-status"}},
		"400 text": {fakemcp.Text(400, "text/plain", "Invalid session ID"), []probe.Reason{"session-restarted", "session-expiry-status"}},
		"404":      {fakemcp.Text(404, "text/plain", "session not found"), []probe.Reason{"session-restarted"}},
	} {
		restarted := func(x *fakemcp.Exchange) {
			x.Server.Restart()
			tc.answer(x)
		}
		t.Run("in the middle "+name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("tools/list", fakemcp.First(1, restarted))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{notes: tc.notes})
			toolCount(t, r, 2)
			if n := srv.Count("initialize"); n != 2 {
				t.Errorf("initialize was sent %d times", n)
			}
		})
		t.Run("for ever "+name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("tools/list", restarted)
			r := check(t, srv.Target(), probe.Options{})
			if r.Status != probe.StatusUnhealthy {
				t.Errorf("status is %s:\n%s", r.Status, describe(r))
			}
			if n := srv.Count("initialize"); n > 3 {
				t.Errorf("initialize was sent %d times", n)
			}
		})
		t.Run("between checks "+name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			for range 3 {
				verify(t, check(t, srv.Target(), probe.Options{}), want{})
				srv.Restart()
			}
			if n := srv.Count("initialize"); n != 3 {
				t.Errorf("initialize was sent %d times by 3 checks", n)
			}
		})
	}
}

func TestFieldA24DeleteRefused(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]fakemcp.Handler{
		"501":   fakemcp.Text(501, "text/html", "<html>Unsupported method</html>"),
		"400":   fakemcp.Text(400, "text/plain", "bad request"),
		"404":   fakemcp.Text(404, "text/plain", "not found"),
		"405":   fakemcp.Text(405, "text/plain", "method not allowed"),
		"401":   fakemcp.Unauthorized("Bearer"),
		"reset": fakemcp.Reset(),
		"never": fakemcp.Hang(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.OnHTTP("DELETE", answer)
			start := time.Now()
			verify(t, check(t, srv.Target(), probe.Options{}), want{})
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("the check took %s", took)
			}
			if n := srv.Count("HTTP DELETE"); n != 1 {
				t.Errorf("DELETE was sent %d times", n)
			}
		})
	}
}

func TestFieldA26EndpointOfLegacySSE(t *testing.T) {
	t.Parallel()
	other := fakemcp.New(t, fakemcp.Config{})
	for name, announced := range map[string]string{
		"internal host":    "http://10.0.0.5:3001/messages?sessionId=x",
		"another port":     other.URL + "?sessionId=x",
		"protocol":         "https://" + strings.TrimPrefix(other.URL, "http://"),
		"without scheme":   "//10.0.0.5:3001/messages",
		"no web address":   "file:///etc/passwd",
		"same in disguise": "http://user@10.0.0.5/messages",
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.NewSSE(t, fakemcp.Config{})
			srv.Announce(announced)
			tgt := srv.Target()
			tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
			verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusUnhealthy, reason: "sse-endpoint-origin"})
			if srv.Count("initialize") != 0 {
				t.Error("something was posted")
			}
		})
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d requests went where the server pointed", n)
	}
}

func TestFieldA26LegacySSE(t *testing.T) {
	t.Parallel()
	t.Run("works", func(t *testing.T) {
		srv := fakemcp.NewSSE(t, fakemcp.Config{})
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		toolCount(t, r, 2)
		if srv.Count("server/discover")+srv.Count("HTTP DELETE") != 0 {
			t.Errorf("methods: %v", srv.Methods())
		}
	})
	t.Run("answered before the POST is", func(t *testing.T) {
		// To cancel such a POST could cut off the next one on its TCP connection.
		srv := fakemcp.NewSSE(t, fakemcp.Config{Tools: fakemcp.Tools("a"), Prompts: fakemcp.Prompts("p")})
		cut := make(chan bool, 1)
		push := func(x *fakemcp.Exchange, result string) {
			x.Server.Push(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, x.ID, result))
		}
		srv.On("tools/list", func(x *fakemcp.Exchange) {
			push(x, `{"tools":[]}`)
			select {
			case <-x.HTTP.Context().Done():
				cut <- true
			case <-time.After(50 * time.Millisecond):
				cut <- false
			}
			x.Text(202, "text/plain", "Accepted")
		})
		srv.On("prompts/list", func(x *fakemcp.Exchange) {
			if <-cut { // the connection is still open
				t.Error("the POST was cancelled when its answer came")
			}
			push(x, `{"prompts":[]}`)
			x.Text(202, "text/plain", "Accepted")
		})
		verify(t, check(t, srv.Target(), probe.Options{}), want{})
	})
	t.Run("no endpoint event", func(t *testing.T) {
		srv := fakemcp.NewSSE(t, fakemcp.Config{})
		srv.OnHTTP("GET", fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Body: ": hi\n\n", Hold: true}))
		r := check(t, srv.Target(), short())
		if r.Status.Passed() {
			t.Errorf("passed:\n%s", describe(r))
		}
	})
	t.Run("taken for Streamable HTTP", func(t *testing.T) {
		srv := fakemcp.NewSSE(t, fakemcp.Config{})
		tgt := srv.Target()
		tgt.Transport = target.HTTP
		r := check(t, tgt, probe.Options{Diagnose: true})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "legacy-sse", hint: []string{"sse"}})
	})
}

func TestFieldA27HeldBack(t *testing.T) {
	t.Parallel()
	stalled := fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Hold: true})
	for name, method := range map[string]string{"opening": "server/discover", "listing": "tools/list"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
			srv.On(method, stalled)
			verify(t, check(t, srv.Target(), short()), want{
				status: probe.StatusUnhealthy, reason: "sse-stalled", hint: []string{"buffering", "X-Accel-Buffering"}, code: probe.CodeCheckTimeout,
			})
		})
	}
	t.Run("headers too", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
		srv.On("tools/list", fakemcp.Hang())
		verify(t, check(t, srv.Target(), short()), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "timeout", code: probe.CodeCheckTimeout})
	})
	t.Run("proxy gives up", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
		srv.On("tools/list", fakemcp.Delayed(300*time.Millisecond, fakemcp.Text(502, "text/html", "<html>Bad Gateway</html>")))
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "http-5xx"})
	})
	t.Run("in the middle of an event", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
		srv.On("tools/list", fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Body: "data: {\"jsonrpc\"", Hold: true}))
		verify(t, check(t, srv.Target(), short()), want{status: probe.StatusUnknown, step: probe.StepTools, reason: "partial-response"})
	})
}

// TestFieldA27NoEvent is a stream on which something arrives, and never an
// event: the server, or what stands before it, hangs.
func TestFieldA27NoEvent(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	srv.On("tools/list", fakemcp.Respond(fakemcp.Response{
		Type: "text/event-stream", Body: strings.Repeat(": keep-alive\n\n", 100), Chunk: 14, Pause: 100 * time.Millisecond,
	}))
	verify(t, check(t, srv.Target(), short()), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "sse-stalled", code: probe.CodeCheckTimeout})
}

func TestFieldAnswersWithoutEnd(t *testing.T) {
	t.Parallel()
	tooLarge := want{status: probe.StatusUnknown, step: probe.StepTools, reason: "response-too-large"}
	partial := want{status: probe.StatusUnknown, step: probe.StepTools, reason: "partial-response", code: probe.CodeCheckTimeout}
	big := strings.Repeat(" ", 2<<20)
	for name, tc := range map[string]struct {
		answer fakemcp.Response
		want   want
	}{
		"JSON":           {fakemcp.Response{Type: "application/json", Body: `{"jsonrpc"` + big, Hold: true}, tooLarge},
		"one event":      {fakemcp.Response{Type: "text/event-stream", Body: "data: " + big, Hold: true}, tooLarge},
		"many events":    {fakemcp.Response{Type: "text/event-stream", Body: strings.Repeat(fakemcp.Event(logMessage), 20_000), Hold: true}, tooLarge},
		"many comments":  {fakemcp.Response{Type: "text/event-stream", Body: strings.Repeat(": x\n\n", 300_000), Hold: true}, tooLarge},
		"dripping JSON":  {fakemcp.Response{Type: "application/json", Body: `{"jsonrpc":"2.0","id":$ID` + big[:1000], Chunk: 10, Pause: 50 * time.Millisecond}, partial},
		"dripping event": {fakemcp.Response{Type: "text/event-stream", Body: "data: {" + big[:1000], Chunk: 10, Pause: 50 * time.Millisecond}, partial},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
			srv.On("tools/list", fakemcp.Respond(tc.answer))
			o := short()
			o.Limits.ResponseBytes = 1 << 20
			if tc.want.reason == "response-too-large" {
				o.CheckTimeout, o.Timeout = 0, 0 // bounded by bytes alone
			}
			verify(t, check(t, srv.Target(), o), tc.want)
		})
	}
}

func TestFieldHeadersWithoutEnd(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	srv.On("tools/list", fakemcp.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX: "+strings.Repeat("x", 20<<20)))
	r := check(t, srv.Target(), probe.Options{})
	sound(t, r)
	if step(t, r, probe.StepTools).Passed {
		t.Errorf("report:\n%s", describe(r))
	}
}

func TestFieldLocalhost(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{}) // on 127.0.0.1 only
	verify(t, check(t, srv.TargetAs("localhost"), probe.Options{}), want{})
	names := fakemcp.NewResolver()
	names.Set("localhost", "::1", "127.0.0.1")
	verify(t, check(t, srv.TargetAs("localhost"), probe.Options{Resolver: names}), want{})
}

func TestFieldA27SilentGet(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("GET", fakemcp.Sequence(
		fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Hold: true}),
		fakemcp.Text(409, "text/plain", "only one stream"),
	))
	srv.Allow("get")
	verify(t, check(t, srv.Target(), probe.Options{Diagnose: true}), want{})
}

// The HTTP cases of families D and G that concern a single check.
