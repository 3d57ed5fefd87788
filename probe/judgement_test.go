package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/demo"
	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// A dimension that was asked for is judged, and one that was not has no part in
// the verdict.
func TestEachAskedDimensionIsJudged(t *testing.T) {
	t.Parallel()
	servers := map[string]fakemcp.Handler{
		"page":    fakemcp.Text(200, "text/html", "<title>Welcome</title>"),
		"401":     fakemcp.Unauthorized(`Bearer realm="x"`),
		"500":     fakemcp.Text(500, "text/plain", "no"),
		"nothing": fakemcp.Hang(),
	}
	const r, a, p, l = target.Reachability, target.Authentication, target.Protocol, target.Latency
	for _, c := range []struct {
		server string
		checks []target.Dimension
		want   probe.Status
	}{
		{"page", []target.Dimension{r, l}, probe.StatusHealthy},
		{"page", []target.Dimension{r, a}, probe.StatusMisconfigured},
		{"page", []target.Dimension{r, p}, probe.StatusMisconfigured},
		{"401", []target.Dimension{r, l}, probe.StatusHealthy},
		{"401", []target.Dimension{r, a}, probe.StatusMisconfigured},
		{"401", []target.Dimension{r, p}, probe.StatusMisconfigured},
		{"500", []target.Dimension{r, l}, probe.StatusHealthy},
		{"500", []target.Dimension{a}, probe.StatusUnhealthy},
		{"500", []target.Dimension{p}, probe.StatusUnhealthy},
		{"nothing", []target.Dimension{r}, probe.StatusUnhealthy},
		{"nothing", []target.Dimension{p}, probe.StatusUnhealthy},
	} {
		t.Run(fmt.Sprint(c.server, c.checks), func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{}).Allow("delete")
			srv.OnHTTP(http.MethodPost, servers[c.server])
			tgt := srv.Target()
			tgt.Checks = c.checks
			if rep := check(t, tgt, short()); rep.Status != c.want {
				t.Errorf("status is %s, want %s\n%s", rep.Status, c.want, describe(rep))
			}
		})
	}
}

// Leaving out the list of tools drops no custom check, and does not drop a
// functional call in silence.
func TestSkippingToolsDropsNothingElse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&demo.Server{})
	defer server.Close()
	ran := false
	custom := probe.Custom{Name: "mine", Required: true, Run: func(context.Context, *probe.Session) (probe.CustomResult, error) {
		ran = true
		return probe.CustomResult{Passed: true}, nil
	}}
	tgt := &target.Target{Endpoint: server.URL, Call: &target.Call{Tool: "add", Safe: true}}
	rep := check(t, tgt, probe.Options{Skip: []string{"tools"}, Custom: []probe.Custom{custom}})
	if !ran {
		t.Error("the custom check did not run")
	}
	if step := rep.Result(probe.StepCall); step == nil || step.Passed || rep.Status != probe.StatusMisconfigured {
		t.Errorf("the call is %+v in a report that is %s", step, rep.Status)
	}
}

// The overall timeout is one for all attempts.
func TestRetriesShareTheOverallTimeout(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP(http.MethodPost, fakemcp.Hang())
	tgt := srv.Target()
	tgt.Budgets = target.Budgets{Overall: 500 * time.Millisecond, Step: 400 * time.Millisecond, Retries: 3}
	tgt.Checks = []target.Dimension{target.Reachability}
	start := time.Now()
	check(t, tgt, probe.Options{})
	if took := time.Since(start); took > 1200*time.Millisecond {
		t.Errorf("three retries took %s of an overall timeout of 500ms", took)
	}
}

func TestARetryHelpsAServerThatComesUp(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP(http.MethodPost, fakemcp.First(1, fakemcp.Reset()))
	tgt := srv.Target()
	tgt.Budgets.Retries = 1
	verify(t, check(t, tgt, probe.Options{}), want{anyNotes: true})
}

// The timeout of reachability bounds the first exchange alone.
func TestReachabilityHasATimeoutOfItsOwn(t *testing.T) {
	t.Parallel()
	slow := fakemcp.Delayed(400*time.Millisecond, fakemcp.Default())
	first := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	first.On("server/discover", slow)
	later := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	later.On("tools/list", slow)
	budgets := target.Budgets{Steps: map[target.Dimension]time.Duration{target.Reachability: 150 * time.Millisecond}}
	a, b := first.Target(), later.Target()
	a.Budgets, b.Budgets = budgets, budgets
	rep := check(t, a, probe.Options{})
	if step := rep.Result(probe.StepInitialize); rep.Status != probe.StatusUnhealthy || step.Error == nil || step.Error.Code != probe.CodeCheckTimeout {
		t.Errorf("a slow first answer: %s", describe(rep))
	}
	verify(t, check(t, b, probe.Options{}), want{})
}

// A server may ask something in the middle of initialize, and wait for it.
func TestServerRequestWithinInitialize(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{SSE: true})
	ponged := fakemcp.NewGate()
	srv.On("", func(x *fakemcp.Exchange) {
		x.Default()
		if strings.Contains(string(x.Body), `"srv-1"`) {
			ponged.Open()
		}
	})
	srv.On("initialize", fakemcp.Framed(func(msg string) fakemcp.Response {
		r := fakemcp.Stream(fakemcp.Event(`{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`))
		r.Gate, r.Rest = ponged, fakemcp.Event(msg)
		return r
	}))
	srv.Allow("version", "initialized")
	verify(t, check(t, srv.Target(), short()), want{})
}

// A stdio server that leaves server/discover unanswered and refuses initialize
// is reported with its own words, and what it says it speaks is tried.
func TestSilenceThenARefusal(t *testing.T) {
	t.Parallel()
	o := probe.Options{CheckTimeout: 2 * time.Second}
	refuses := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{
		"server/discover": {Silent: true},
		"initialize":      {Error: `{"code":-32000,"message":"license expired"}`},
	}})
	verify(t, check(t, refuses.Target(), o), want{status: probe.StatusUnhealthy, reason: "rpc-error", text: []string{"license expired"}})
	counters := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{
		"server/discover": {Silent: true},
		"initialize":      {Error: `{"code":-32602,"message":"no","data":{"supported":["2025-06-18"]}}`, Times: 1},
	}})
	verify(t, check(t, counters.Target(), o), want{notes: []probe.Reason{"version-negotiation"}})
}

// What a server lists is what it is offered, however long the list is.
func TestALongListOfRevisions(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	var versions []string
	for i := range 20 {
		versions = append(versions, fmt.Sprintf("2001-01-%02d", i+1))
	}
	list, err := json.Marshal(append(versions, "2025-06-18"))
	if err != nil {
		t.Fatal(err)
	}
	srv.On("server/discover", fakemcp.Result(`{"supportedVersions":`+string(list)+`,"capabilities":{},"resultType":"complete","ttlMs":0,"cacheScope":"public"}`))
	rep := check(t, srv.Target(), probe.Options{})
	verify(t, rep, want{})
	if rep.Server.ProtocolVersion != "2025-06-18" {
		t.Errorf("%s was settled on", rep.Server.ProtocolVersion)
	}
}

func TestNoTarget(t *testing.T) {
	if rep := probe.Check(t.Context(), nil, probe.Options{}); rep == nil || rep.Status != probe.StatusMisconfigured {
		t.Errorf("the report of no target is %+v", rep)
	}
}

func TestNoChecks(t *testing.T) {
	rep := probe.Check(t.Context(), &target.Target{Endpoint: "http://127.0.0.1:1", Checks: []target.Dimension{}}, probe.Options{})
	data, err := json.Marshal(*rep) // by value
	if err != nil {
		t.Fatal(err)
	}
	if rep.Status != probe.StatusUnknown || !strings.Contains(string(data), `"checks":[]`) {
		t.Errorf("%s", data)
	}
}

// What echoes its input is no server, whatever it says.
func TestAnEcho(t *testing.T) {
	t.Parallel()
	rep := check(t, &target.Target{Command: &target.Command{Path: "cat"}}, probe.Options{})
	verify(t, rep, want{status: probe.StatusUnhealthy, reason: "malformed-message", text: []string{"repeats its input"}})
}

// A credential that comes back in anything the server says is in no report, not
// even a part of it, wherever a text is cut.
func TestAReflectedCredentialIsInNoReport(t *testing.T) {
	t.Parallel()
	const secret = "Zq8rT2vXk4mNp6wYb3cJd5fHg7sLa9eU0iOyRtQzWvBnMkJhGfDsA1Pq"
	for _, before := range []int{0, 20, 37, 60, 95, 120, 180, 199, 250, 380, 590, 790, 990, 3990} {
		pad := strings.Repeat("x", before) + " " + secret
		for name, h := range reflections(pad) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern}).Allow("delete", "version", "get", "call", "meta")
			for method, handler := range h {
				srv.On(method, handler)
			}
			tgt := srv.Target()
			tgt.Headers = []target.Header{target.Bearer(target.Literal(secret))}
			rep := check(t, tgt, probe.Options{Diagnose: true, Revisions: true})
			data, err := json.Marshal(rep)
			if err != nil {
				t.Fatal(err)
			}
			if all := string(data) + fmt.Sprintf("%+v", rep.Evidence); partOf(strings.ToLower(all), strings.ToLower(secret)) {
				t.Errorf("%s after %d characters: a part of the secret is in the report:\n%s", name, before, all)
			}
		}
	}
}

// A secret with a character that is escaped where it is shown is found before it
// is escaped.
func TestASecretWithATabIsInNoReport(t *testing.T) {
	t.Parallel()
	const secret = "pass\twordtab\u00a012345"
	message, _ := json.Marshal("bad key: " + secret)
	proc := fakemcp.Stdio(t, fakemcp.Script{Stderr: "key is " + secret + "\n", Replies: map[string]fakemcp.Reply{"tools/list": {Error: `{"code":-32000,"message":` + string(message) + `}`}}})
	tgt := proc.Target()
	tgt.Command.Env = append(tgt.Command.Env, target.EnvVar{Name: "API_KEY", Value: target.Literal(secret)})
	rep := check(t, tgt, probe.Options{})
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	if rep.Passed() || strings.Contains(string(data), "wordtab") {
		t.Errorf("%s", data)
	}
}

// All lists of a check share a limit: what they hold is kept until its end.
func TestAllListsShareALimit(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	page := 0
	srv.On("tools/list", func(x *fakemcp.Exchange) {
		page++
		x.Result(fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, fakemcp.Tool(fmt.Sprint("t", page), `"description":"`+strings.Repeat("x", 60_000)+`"`), page))
	})
	rep := check(t, srv.Target(), probe.Options{Limits: target.Limits{ResponseBytes: 64 << 10}})
	verify(t, rep, want{status: probe.StatusUnknown, reason: "response-too-large", anyNotes: true})
	if n := srv.Count("tools/list"); n > 10 {
		t.Errorf("%d pages were read", n)
	}
}

// The curl line is one command, whatever the names of the headers are.
func TestTheCurlLineIsOneCommand(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer server.Close()
	tgt := &target.Target{Endpoint: server.URL, Headers: []target.Header{{Name: "X-`touch$ifs$home`'!-Key", Value: target.Literal("v1234567")}}}
	rep := check(t, tgt, probe.Options{})
	const want = "-H 'X-`touch$ifs$home`'\\''!-Key: '\"$X__TOUCH_IFS_HOME____KEY\""
	if line := rep.Evidence[0].Curl(); !strings.Contains(line, want) {
		t.Errorf("%s\ndoes not hold\n%s", line, want)
	}
}

// reflections are servers that say text in one place each.
func reflections(text string) map[string]map[string]fakemcp.Handler {
	q, _ := json.Marshal(text)
	quoted := string(q)
	return map[string]map[string]fakemcp.Handler{
		"message":  {"tools/list": fakemcp.Error(-32000, text)},
		"opening":  {"server/discover": fakemcp.Error(-32000, text), "initialize": fakemcp.Error(-32000, text)},
		"id":       {"tools/list": fakemcp.Raw(`{"jsonrpc":"2.0","id":` + quoted + `,"result":{}}`)},
		"name":     {"tools/list": fakemcp.Result(`{"tools":[` + fakemcp.Tool(text) + `,` + fakemcp.Tool(text, `"title":"b"`) + `]}`)},
		"schema":   {"tools/list": fakemcp.Result(`{"tools":[{"name":` + quoted + `,"inputSchema":{"type":` + quoted + `}}]}`)},
		"type":     {"tools/list": fakemcp.Result(`{"resultType":` + quoted + `,"tools":[]}`)},
		"versions": {"server/discover": fakemcp.Result(`{"supportedVersions":[` + quoted + `],"capabilities":{}}`)},
		"page":     {"tools/list": fakemcp.Text(200, "text/html", "<title>"+text+"</title>")},
		"retry":    {"tools/list": fakemcp.Respond(fakemcp.Response{Status: 429, Type: "text/plain", Header: map[string]string{"Retry-After": text}})},
		"media":    {"tools/list": fakemcp.Text(200, "application/x-"+text, "{}")},
		"host":     {"tools/list": fakemcp.Redirect(301, "http://"+strings.TrimSpace(strings.ReplaceAll(text, "x", ""))+".example/")},
		"coding":   {"tools/list": fakemcp.Respond(fakemcp.Response{Status: 200, Type: "application/json", Header: map[string]string{"Content-Encoding": text}, Body: "{}"})},
		"scheme":   {"server/discover": fakemcp.Unauthorized(strings.TrimSpace(strings.ReplaceAll(text, "x", "")) + ` realm="` + text + `"`)},
		"server":   {"server/discover": fakemcp.Result(`{"supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":` + quoted + `,"version":` + quoted + `}}`)},
	}
}

// partOf reports whether twelve characters of secret in a row are in text.
func partOf(text, secret string) bool {
	const n = 12
	return slices.ContainsFunc(windows(secret, n), func(w string) bool { return strings.Contains(text, w) })
}

func windows(s string, n int) []string {
	var out []string
	for i := 0; i+n <= len(s); i++ {
		out = append(out, s[i:i+n])
	}
	return out
}
