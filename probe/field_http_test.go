package probe_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// The cases of family A: what HTTP servers and the things in front of them do.

func TestFieldA1BothMediaTypes(t *testing.T) {
	t.Parallel()
	refuse := fakemcp.Text(406, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Not Acceptable"}}`)
	t.Run("strict", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnHTTP("POST", fakemcp.When(func(x *fakemcp.Exchange) bool {
			accept := x.Header.Get("Accept")
			return !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream")
		}, refuse))
		verify(t, check(t, srv.Target(), probe.Options{}), want{})
	})
	t.Run("refused all the same", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnHTTP("POST", refuse)
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, reason: "accept-rejected", text: []string{"406"}})
	})
}

func TestFieldA3Redirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{307, 308} {
		for name, cfg := range map[string]fakemcp.Config{"legacy": {Path: "/mcp/"}, "modern": {Path: "/mcp/", Era: fakemcp.Modern}} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				srv := fakemcp.New(t, cfg)
				srv.OnPath("/mcp", fakemcp.Redirect(status, "/mcp/"))
				tgt := srv.TargetAt("/mcp")
				tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
				r := check(t, tgt, probe.Options{})
				verify(t, r, want{notes: []probe.Reason{"redirect"}})
				contains(t, "the hint", note(t, r, "redirect").Hint, srv.URL)
				toolCount(t, r, 2)
				for _, q := range srv.Requests() {
					if q.Header.Get("Authorization") != "Bearer sesame-opens" {
						t.Errorf("%s %s arrived without the credential", q.HTTPMethod, q.Path)
					}
				}
			})
		}
	}
	for _, status := range []int{301, 302} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Path: "/mcp/"})
			srv.OnPath("/mcp", fakemcp.Redirect(status, "/mcp/"))
			r := check(t, srv.TargetAt("/mcp"), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, reason: "redirect", hint: []string{"GET", srv.URL}})
		})
	}
}

func TestFieldA3RedirectLoop(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnPath("/mcp", fakemcp.Redirect(307, "/mcp"))
	verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, reason: "redirect"})
	if n := len(srv.Requests()); n > 12 {
		t.Errorf("%d requests were sent into a redirect loop", n)
	}
}

func TestFieldA3RedirectToAnotherOrigin(t *testing.T) {
	t.Parallel()
	other := fakemcp.New(t, fakemcp.Config{})
	for _, status := range []int{301, 302, 307, 308} {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnPath("/mcp", fakemcp.Redirect(status, other.URL))
		tgt := srv.Target()
		tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusUnhealthy, reason: "redirect", hint: []string{other.URL}})
	}
	if got := other.Requests(); len(got) != 0 {
		t.Errorf("%d requests went to another origin", len(got))
	}
}

const signInPage = `<!DOCTYPE html><html><head><title>Please sign in</title></head><body>secret-body-text</body></html>`

func TestFieldA5WebPage(t *testing.T) {
	t.Parallel()
	page := func(h fakemcp.Handler) (*fakemcp.Server, *target.Target) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnPath("/mcp", fakemcp.Redirect(307, "/signin"))
		srv.OnPath("/signin", h)
		srv.OnPath("/mcp/", fakemcp.Unauthorized(`Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`))
		return srv, srv.Target()
	}
	html := fakemcp.Text(200, "text/html; charset=utf-8", signInPage)
	t.Run("plain", func(t *testing.T) {
		srv, tgt := page(html)
		r := check(t, tgt, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "not-mcp-endpoint", text: []string{"text/html", "Please sign in"}})
		if strings.Contains(describe(r), "secret-body-text") {
			t.Error("the page's body was quoted")
		}
		for _, q := range srv.Requests() {
			if q.Method == "initialize" {
				t.Errorf("a page was asked to %s", q.Method)
			}
		}
	})
	t.Run("the other slash form", func(t *testing.T) {
		srv, tgt := page(html)
		r := check(t, tgt, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "not-mcp-endpoint", hint: []string{srv.URL + "/"}})
	})
	t.Run("without end", func(t *testing.T) {
		_, tgt := page(fakemcp.Respond(fakemcp.Response{Type: "text/html", Body: "<html>", Hold: true}))
		start := time.Now()
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusMisconfigured, reason: "not-mcp-endpoint"})
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("took %s although the headers had told everything", took)
		}
	})
	t.Run("text", func(t *testing.T) {
		_, tgt := page(fakemcp.Text(200, "text/plain", "hello"))
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusMisconfigured, reason: "not-mcp-endpoint", text: []string{"text/plain"}})
	})
}

func TestFieldA6GetRefused(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]fakemcp.Handler{
		"404": fakemcp.Text(404, "text/plain", "not found"),
		"406": fakemcp.Text(406, "application/json", `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}`),
		"400": fakemcp.Text(400, "text/plain", "no session id"),
		"405": fakemcp.Text(405, "text/plain", ""),
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.OnHTTP("GET", get)
			verify(t, check(t, srv.Target(), probe.Options{}), want{})
			if srv.Count("HTTP GET")+srv.Count("HTTP HEAD") != 0 {
				t.Errorf("a check sent %v", srv.Methods())
			}
			srv.Allow("get")
			verify(t, check(t, srv.Target(), probe.Options{Diagnose: true}), want{anyNotes: true})
		})
	}
}

func TestFieldA7GetAnswersJSON(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("GET", fakemcp.Raw(`{"name":"info","status":"ok"}`))
	verify(t, check(t, srv.Target(), probe.Options{}), want{})
	if n := srv.Count("HTTP GET"); n != 0 {
		t.Errorf("a plain check sent GET %d times", n)
	}
	srv.Allow("get")
	r := check(t, srv.Target(), probe.Options{Diagnose: true})
	verify(t, r, want{anyNotes: true, notes: []probe.Reason{"get-not-sse"}})
	contains(t, "the hint", note(t, r, "get-not-sse").Hint, "405")
	toolCount(t, r, 2)
	if n := srv.Count("HTTP GET"); n == 0 || n > 3 {
		t.Errorf("GET was sent %d times", n)
	}
}

// framings are event streams that conforming clients read.
var framings = map[string]func(msg string) fakemcp.Response{
	"A8 priming event": func(msg string) fakemcp.Response {
		return fakemcp.Stream("id: s:0\nretry: 1000\ndata: \n\n", "id: s:1\ndata: "+msg+"\n\n")
	},
	"A8 priming event without data": func(msg string) fakemcp.Response {
		return fakemcp.Stream("id: s:0\ndata:\n\n", "id: s:1\n\n", fakemcp.Event(msg))
	},
	"A9 CRLF byte by byte": func(msg string) fakemcp.Response {
		return inBytes(": ping - 2026-01-01 00:00:00\r\n\r\nevent: ping\r\ndata: not json\r\n\r\nevent: message\r\ndata: " + msg + "\r\n\r\n")
	},
	"A9 CR byte by byte": func(msg string) fakemcp.Response {
		return inBytes(": ping\r\revent: ping\rdata: not json\r\revent: message\rdata: " + msg + "\r\r")
	},
	"A9 mixed line ends": func(msg string) fakemcp.Response {
		return fakemcp.Stream(": a\r\n\n", "event: message\rdata: "+msg+"\n\r\n")
	},
	"A9 data on several lines": func(msg string) fakemcp.Response {
		head, tail, _ := strings.Cut(msg, ",")
		return fakemcp.Stream("data: " + head + ",\ndata: " + tail + "\n\n")
	},
	"A9 no blanks, BOM": func(msg string) fakemcp.Response {
		return fakemcp.Stream("\ufeffevent:message\nid\nunknown: x\ndata:" + msg + "\n\n")
	},
	"stream left open": func(msg string) fakemcp.Response {
		r := fakemcp.Stream(fakemcp.Event(msg))
		r.Hold = true
		return r
	},
	"content type with parameters": func(msg string) fakemcp.Response {
		r := fakemcp.Stream(fakemcp.Event(msg))
		r.Type = "Text/Event-Stream; charset=utf-8"
		return r
	},
}

func inBytes(body string) fakemcp.Response {
	return fakemcp.Response{Type: "text/event-stream", Body: body, Chunk: 1}
}

func TestFieldA8A9EventStreams(t *testing.T) {
	t.Parallel()
	for name, frame := range framings {
		for era, cfg := range map[string]fakemcp.Config{"legacy": {}, "modern": {Era: fakemcp.Modern}} {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				srv := fakemcp.New(t, cfg)
				srv.OnHTTP("POST", fakemcp.Framed(frame))
				r := check(t, srv.Target(), probe.Options{})
				verify(t, r, want{})
				toolCount(t, r, 2)
				if r.Era != era {
					t.Errorf("era is %s", r.Era)
				}
			})
		}
	}
}

func TestFieldA11A12NotificationAck(t *testing.T) {
	t.Parallel()
	ack := []probe.Reason{"notification-ack"}
	for name, tc := range map[string]struct {
		answer fakemcp.Response
		notes  []probe.Reason
	}{
		"A11 202 with text":            {fakemcp.Response{Status: 202, Type: "text/plain", Body: "Accepted"}, nil},
		"A11 202 without content type": {fakemcp.Response{Status: 202}, nil},
		"A11 202 with JSON":            {fakemcp.Response{Status: 202, Type: "application/json", Body: "null"}, nil},
		"A11 204":                      {fakemcp.Response{Status: 204}, ack},
		"A11 200 empty":                {fakemcp.Response{Type: "application/json"}, ack},
		"A12 null":                     {fakemcp.Response{Type: "application/json", Body: "null"}, ack},
		"A12 null id":                  {fakemcp.Response{Type: "application/json", Body: `{"jsonrpc":"2.0","id":null}`}, ack},
		"A12 result without id":        {fakemcp.Response{Type: "application/json", Body: `{"jsonrpc":"2.0","result":{}}`}, ack},
		"A12 never-ending body":        {fakemcp.Response{Type: "text/event-stream", Body: ": hi\n\n", Hold: true}, ack},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("notifications/initialized", fakemcp.Respond(tc.answer))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{notes: tc.notes})
			toolCount(t, r, 2)
			if tc.notes != nil {
				contains(t, "the hint", note(t, r, "notification-ack").Hint, "202")
			}
		})
	}
}

// TestFieldA12StrayAnswer sends, as the answer to the notification, a result
// with the id that the client is going to use next.
func TestFieldA12StrayAnswer(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("notifications/initialized", func(x *fakemcp.Exchange) {
		id, err := strconv.Atoi(string(srv.Received("initialize")[0].ID))
		if err != nil {
			t.Errorf("the id is no number: %v", err)
		}
		x.Text(200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}`, id+1))
	})
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"notification-ack"}})
	toolCount(t, r, 2)
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // to memory
	_ = z.Close()
	return b.String()
}

// halfCompressed answers with gzip under the length of the plain text, unless
// gzip was not accepted.
func halfCompressed(x *fakemcp.Exchange, plain string) {
	if !strings.Contains(x.Header.Get("Accept-Encoding"), "gzip") {
		x.Default()
		return
	}
	x.Hijack(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(plain), gzipped(plain)), false)
}

func TestFieldA14CompressedWithPlainLength(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"server/discover", "tools/list"} {
		t.Run(method, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
			plain := `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat(`{"name":"a"},`, 100) + `]}}`
			srv.On(method, func(x *fakemcp.Exchange) { halfCompressed(x, plain) })
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{
				status: probe.StatusUnhealthy, reason: "truncated-body", hint: []string{"compression"},
				text: []string{strconv.Itoa(len(plain)), strconv.Itoa(len(gzipped(plain)))},
			})
			if n := srv.Count(method); n > 2 {
				t.Errorf("%s was sent %d times", method, n)
			}
			if srv.Count("initialize") != 0 {
				t.Error("a fallback was tried that hides the first error")
			}
		})
	}
}

func TestFieldA14Compressed(t *testing.T) {
	t.Parallel()
	zip := func(pad int) fakemcp.Handler {
		return fakemcp.Framed(func(msg string) fakemcp.Response {
			body := gzipped(strings.Repeat(" ", pad) + msg)
			return fakemcp.Response{Type: "application/json", Header: map[string]string{"Content-Encoding": "gzip"}, Body: body}
		})
	}
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", zip(10))
	verify(t, check(t, srv.Target(), probe.Options{}), want{})

	srv.On("tools/list", zip(2<<20))
	r := check(t, srv.Target(), probe.Options{Limits: target.Limits{ResponseBytes: 1 << 20}})
	verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "response-too-large"})
}

func TestFieldA15HostGuard(t *testing.T) {
	t.Parallel()
	for name, guard := range map[string]fakemcp.Handler{
		"421":      fakemcp.Text(421, "text/plain", "Invalid Host header"),
		"403":      fakemcp.Text(403, "text/plain", "Invalid Host header"),
		"403 JSON": fakemcp.Text(403, "application/json", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Invalid Host: 127.0.0.1"},"id":null}`),
		"origin":   fakemcp.Text(403, "text/plain", "Invalid Origin header"),
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.OnHTTP("POST", guard)
			srv.OnPath("/health", fakemcp.Text(200, "text/plain", "ok"))
			verify(t, check(t, srv.Target(), probe.Options{}), want{
				status: probe.StatusUnhealthy, reason: "host-rejected", hint: []string{"127.0.0.1:" + srv.Port(), "health"},
			})
		})
	}
}

// setProxy points the proxy variables of both spellings at a proxy. The test
// must not be parallel.
func setProxy(t *testing.T, proxy, except string) {
	t.Helper()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		value := ""
		if strings.ToUpper(name) == name {
			value = proxy
		}
		t.Setenv(name, value)
	}
	t.Setenv("NO_PROXY", except)
	t.Setenv("no_proxy", "")
	t.Setenv("ALL_PROXY", "")
	t.Setenv("all_proxy", "")
}

func TestFieldA17Proxy(t *testing.T) {
	const host = "mcp.fake.test"
	proxy := fakemcp.BadGateway(t)
	address := strings.TrimSuffix(proxy.URL, "/")
	srv := fakemcp.New(t, fakemcp.Config{})
	o := probe.Options{Resolver: fakemcp.NewResolver(host)}

	setProxy(t, address, "")
	r := check(t, srv.TargetAs(host), o)
	verify(t, r, want{status: probe.StatusUnknown, reason: "proxy-error", text: []string{"HTTP_PROXY", strings.TrimPrefix(address, "http://")}})
	if len(proxy.Requests()) == 0 || len(srv.Requests()) != 0 {
		t.Errorf("%d requests to the proxy, %d to the server", len(proxy.Requests()), len(srv.Requests()))
	}

	tgt := srv.TargetAs(host)
	tgt.Endpoint = strings.Replace(tgt.Endpoint, "http://", "https://", 1)
	r = check(t, tgt, o)
	verify(t, r, want{status: probe.StatusUnknown, reason: "proxy-error", text: []string{"HTTPS_PROXY", strings.TrimPrefix(address, "http://")}})

	proxy.Close() // now nothing listens there
	verify(t, check(t, srv.TargetAs(host), o), want{status: probe.StatusUnknown, reason: "proxy-error", text: []string{"HTTP_PROXY"}})

	setProxy(t, address, host)
	verify(t, check(t, srv.TargetAs(host), o), want{})
}

func TestFieldA19Certificates(t *testing.T) {
	t.Parallel()
	o := probe.Options{Resolver: fakemcp.NewResolver(fakemcp.TLSHost)}
	for name, tc := range map[string]struct {
		kind fakemcp.TLS
		sub  string
		text []string
	}{
		"missing intermediate": {fakemcp.TLSMissingIntermediate, "missing-intermediate", []string{"chain of 1 certificate", "fakemcp intermediate"}},
		"self-signed":          {fakemcp.TLSSelfSigned, "self-signed", []string{"self-signed"}},
		"expired":              {fakemcp.TLSExpired, "expired", []string{"expired"}},
		"wrong name":           {fakemcp.TLSWrongName, "name-mismatch", []string{fakemcp.TLSHost, fakemcp.WrongHost}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{TLS: tc.kind})
			r := check(t, srv.TargetAs(fakemcp.TLSHost), o)
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "tls-untrusted", text: tc.text})
			if sub := step(t, r, probe.StepConnect).Details["sub"]; sub != tc.sub {
				t.Errorf("the sub-reason is %v, want %s", sub, tc.sub)
			}
			if len(srv.Requests()) != 0 {
				t.Error("a request went through")
			}
		})
	}
	srv := fakemcp.New(t, fakemcp.Config{TLS: fakemcp.TLSGood})
	r := check(t, srv.TargetAs(fakemcp.TLSHost), o)
	verify(t, r, want{})
	if c := r.Certificate; c == nil || !strings.Contains(c.Issuer, "fakemcp intermediate") || c.DaysLeft < 20 || c.DaysLeft > 32 {
		t.Errorf("the certificate is %+v", c)
	}
}

func TestFieldA20ConnectionsThatDie(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.OneAnswerPerConnection(fakemcp.Default()))
	srv.OnHTTP("DELETE", fakemcp.OneAnswerPerConnection(fakemcp.Default()))
	srv.Allow("delete") // its outcome does not matter, so it is not repeated
	noted := 0
	for i := range 20 {
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{anyNotes: true})
		toolCount(t, r, 2)
		for _, n := range r.Notes {
			if n.Reason != "stale-connection" {
				t.Errorf("check %d has the note %s", i, n.Reason)
			}
			noted += n.Count
		}
	}
	if noted == 0 {
		t.Error("no check noted that its connection had died")
	}
}

func TestFieldD1NoChallenge(t *testing.T) {
	t.Parallel()
	for name, challenge := range map[string]string{"none": "", "bearer": `Bearer realm="mcp"`} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.OnHTTP("POST", fakemcp.Unauthorized(challenge))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "auth-required"})
			if told := slices.Contains(noteReasons(r), "auth-not-advertised"); told != (challenge == "") {
				t.Errorf("the missing challenge is noted: %t", told)
			}
			if !step(t, r, probe.StepInitialize).Skipped || !step(t, r, probe.StepConnect).Passed {
				t.Errorf("reachability and protocol are not judged apart:\n%s", describe(r))
			}

			tgt := srv.Target()
			tgt.Headers = []target.Header{{Name: "X-Api-Key", Value: target.Literal("sesame-opens")}}
			r = check(t, tgt, probe.Options{})
			verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "token-rejected"})
			if slices.Contains(noteReasons(r), "auth-not-advertised") {
				t.Error("a fault is raised although a header is configured")
			}

			srv.OnHTTP("POST", fakemcp.When(func(x *fakemcp.Exchange) bool { return x.Header.Get("X-Api-Key") != "sesame-opens" }, fakemcp.Unauthorized(challenge)))
			r = check(t, tgt, probe.Options{})
			verify(t, r, want{})
			if !step(t, r, probe.StepAuthentication).Passed {
				t.Error("the credential was accepted and authentication did not pass")
			}
		})
	}
}

func TestFieldG1GetAndHeadProveNothing(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]fakemcp.Handler{
		"400": fakemcp.Text(400, "text/plain", ""), "404": fakemcp.Text(404, "text/plain", ""),
		"405": fakemcp.Text(405, "text/plain", ""), "406": fakemcp.Text(406, "text/plain", ""),
		"endless stream": fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Body: ": hi\n\n", Hold: true}),
	} {
		for _, status := range []int{405, 500} {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.OnHTTP("GET", get)
			srv.OnHTTP("HEAD", fakemcp.Text(status, "text/plain", ""))
			verify(t, check(t, srv.Target(), probe.Options{}), want{})
			if got := srv.Count("HTTP GET") + srv.Count("HTTP HEAD"); got != 0 {
				t.Errorf("%s: %d GET and HEAD requests", name, got)
			}
			srv.Allow("head")
			r := probe.Ping(t.Context(), srv.Target(), probe.Options{})
			verify(t, r, want{})
			sequence(t, srv.Methods()[len(srv.Methods())-1:], "HTTP HEAD")
		}
	}
}

func TestFieldG1HeadNeverAnswered(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("HEAD", fakemcp.Hang())
	srv.Allow("head")
	t.Run("ping", func(t *testing.T) {
		t.Parallel()
		verify(t, probe.Ping(t.Context(), srv.Target(), probe.Options{}), want{})
	})
	tgt := srv.Target()
	tgt.HeadReachability = true
	r := check(t, tgt, probe.Options{})
	verify(t, r, want{})
	toolCount(t, r, 2)
}

func TestFieldG5AlwaysServerError(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 503, 504} {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnHTTP("POST", fakemcp.Text(status, "text/plain", "Internal Server Error"))
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, reason: "http-5xx", text: []string{strconv.Itoa(status)}})
		sequence(t, srv.Methods(), "server/discover")
	}
}

func TestFieldG7SlowServer(t *testing.T) {
	t.Parallel()
	gate := fakemcp.NewGate()
	slow, fast := fakemcp.New(t, fakemcp.Config{}), fakemcp.New(t, fakemcp.Config{})
	slow.On("tools/list", fakemcp.Gated(gate, fakemcp.Default()))
	o := short()
	reports := probe.CheckAll(t.Context(), []*target.Target{slow.Target(), fast.Target()}, 2, o)
	verify(t, reports[0], want{
		status: probe.StatusUnhealthy, step: probe.StepTools, reason: "timeout", code: probe.CodeCheckTimeout,
		text: []string{"tools/list", "700"}, // the phase and the budget
	})
	verify(t, reports[1], want{})
	gate.Open()
	verify(t, check(t, slow.Target(), probe.Options{}), want{})
}

func TestFieldG15Names(t *testing.T) {
	t.Parallel()
	const host = "mcp.fake.test"
	t.Run("one failed look-up", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		names := fakemcp.NewResolver(host)
		names.Fail(1)
		verify(t, check(t, srv.TargetAs(host), probe.Options{Resolver: names}), want{anyNotes: true})
		if n := len(names.Lookups()); n < 2 {
			t.Errorf("%d look-ups", n)
		}
	})
	t.Run("no such host", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		names := fakemcp.NewResolver()
		verify(t, check(t, srv.TargetAs(host), probe.Options{Resolver: names}), want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "dns-not-found", text: []string{host}})
		if n := len(names.Lookups()); n < 2 || n > 6 {
			t.Errorf("%d look-ups", n)
		}
	})
	t.Run("moved", func(t *testing.T) {
		old, moved := fakemcp.New(t, fakemcp.Config{}), fakemcp.New(t, fakemcp.Config{})
		names := fakemcp.NewResolver(host)
		verify(t, check(t, old.TargetAs(host), probe.Options{Resolver: names}), want{})
		before := len(names.Lookups())
		// The port must stay, so the second check goes to another server; what
		// counts is that the name is looked up again.
		verify(t, check(t, moved.TargetAs(host), probe.Options{Resolver: names}), want{})
		if len(names.Lookups()) <= before {
			t.Error("the second check did not look the name up")
		}
		names.Set(host, "127.0.0.2")
		r := check(t, old.TargetAs(host), probe.Options{Resolver: names})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "connection-refused", text: []string{"127.0.0.2"}})
	})
	t.Run("several addresses", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		names := fakemcp.NewResolver()
		names.Set(host, "127.0.0.3", "127.0.0.1")
		verify(t, check(t, srv.TargetAs(host), probe.Options{Resolver: names}), want{anyNotes: true})
	})
}

func TestFieldUnreachable(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.Close()
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "connection-refused", code: probe.CodeTransport})
	for _, name := range []string{probe.StepInitialize, probe.StepTools, probe.StepResources, probe.StepPrompts} {
		if c := step(t, r, name); !c.Skipped || c.Passed || !strings.Contains(c.Message, probe.StepConnect) {
			t.Errorf("after a failed connect, %s is %+v", name, c)
		}
	}
}

func TestFieldHTTPBreaksOff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw    string
		reason probe.Reason
	}{
		"no HTTP":        {"SSH-2.0-OpenSSH_9.9\r\n", "http-malformed"},
		"closed":         {"", "connection-closed"},
		"half a body":    {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"", "truncated-body"},
		"half a chunk":   {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"jsonrpc\"", "truncated-body"},
		"unknown coding": {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd", "bad-encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
			srv.OnHTTP("POST", fakemcp.Bytes(tc.raw))
			verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, reason: tc.reason})
		})
	}
}

func TestFieldHeadersOfEachPost(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	verify(t, check(t, srv.Target(), probe.Options{Client: probe.Client{Name: "acme", Version: "9"}}), want{})
	for _, q := range srv.Requests() {
		if agent := q.Header.Get("User-Agent"); !strings.HasPrefix(agent, "acme/9 (+http") {
			t.Errorf("User-Agent is %q", agent)
		}
		if q.HTTPMethod == http.MethodPost && q.Header.Get("Accept-Encoding") == "" {
			t.Error("compression is not accepted")
		}
	}
	contains(t, "initialize", string(srv.Received("initialize")[0].Params), `"name":"acme"`, `"version":"9"`)
}
