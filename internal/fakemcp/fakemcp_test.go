package fakemcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
)

func TestMain(m *testing.M) {
	fakemcp.Main()
	undo, err := fakemcp.Trust()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer undo()
	m.Run()
}

// recorder is a TB that keeps failures to itself.
type recorder struct {
	*testing.T
	errors   []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) finish() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
}

// client is a small correct client, whose every header can be overruled.
type client struct {
	t       *testing.T
	url     string
	next    int
	headers map[string]string
}

func (c *client) do(method, body string, headers map[string]string) (*http.Response, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for _, set := range []map[string]string{c.headers, headers} {
		for name, value := range set {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body) // a body that is cut off is what some cases are about
	return res, string(data)
}

func (c *client) call(method, params string) (*http.Response, string) {
	c.t.Helper()
	c.next++
	return c.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.next, method, params), nil)
}

const initParams = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`

// open performs the handshake of the legacy era.
func (c *client) open() {
	c.t.Helper()
	res, body := c.call("initialize", initParams)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
		c.t.Fatalf("initialize: %d %s", res.StatusCode, body)
	}
	c.headers = map[string]string{"Mcp-Protocol-Version": "2025-11-25"}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.headers["Mcp-Session-Id"] = id
	}
	if res, _ := c.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil); res.StatusCode != http.StatusAccepted {
		c.t.Fatalf("notifications/initialized: %d", res.StatusCode)
	}
}

func TestLegacyConversation(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.ManyTools(5), PageSize: 2})
	c := &client{t: t, url: srv.URL}
	c.open()
	total, cursor := 0, ""
	for {
		_, body := c.call("tools/list", `{"cursor":"`+cursor+`"}`)
		var page struct {
			Result struct {
				Tools      []json.RawMessage
				NextCursor string
			}
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		total += len(page.Result.Tools)
		if cursor = page.Result.NextCursor; cursor == "" {
			break
		}
	}
	if total != 5 {
		t.Errorf("listed %d tools, want 5", total)
	}
	if _, body := c.call("prompts/list", `{}`); !strings.Contains(body, "-32601") {
		t.Errorf("prompts/list: %s", body)
	}
	if got := srv.Sessions(); got != 1 {
		t.Errorf("%d sessions are open, want 1", got)
	}
	c.do("DELETE", "", nil)
	want := "initialize notifications/initialized tools/list tools/list tools/list prompts/list HTTP DELETE"
	if got := strings.Join(srv.Methods(), " "); got != want {
		t.Errorf("methods:\n got %s\nwant %s", got, want)
	}
	if srv.Count("tools/list") != 3 || len(srv.Received("tools/list")) != 3 {
		t.Errorf("counted %d listings", srv.Count("tools/list"))
	}
	if res, _ := c.call("tools/list", `{}`); res.StatusCode != http.StatusNotFound {
		t.Errorf("after DELETE: status %d, want 404", res.StatusCode)
	}
}

const modernMeta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}}`

func TestModernConversation(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual, Resources: fakemcp.Resources("file:///a"), SSE: true})
	c := &client{t: t, url: srv.URL, headers: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}}
	res, body := c.call("server/discover", modernMeta)
	if !strings.HasPrefix(body, "event: message\ndata: {") || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("server/discover: %s", body)
	}
	for _, part := range []string{`"supportedVersions":["2026-07-28"`, `"ttlMs":60000`, `"resultType":"complete"`, `"capabilities":{"resources":{}}`} {
		if !strings.Contains(body, part) {
			t.Errorf("server/discover lacks %s: %s", part, body)
		}
	}
	c.headers["Mcp-Method"] = "resources/templates/list"
	if _, body := c.call("resources/templates/list", modernMeta); !strings.Contains(body, `"resourceTemplates":[]`) {
		t.Errorf("templates: %s", body)
	}
	srv.On("resources/list", fakemcp.ErrorStatus(404, -32601, "no", `{"a":1}`))
	c.headers["Mcp-Method"] = "resources/list"
	if res, body := c.call("resources/list", modernMeta); res.StatusCode != http.StatusNotFound || !strings.Contains(body, `"data":{"a":1}`) {
		t.Errorf("override: %d %s", res.StatusCode, body)
	}
}

func TestErasRefuseEachOther(t *testing.T) {
	modern := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	c := &client{t: t, url: modern.URL}
	if res, body := c.call("initialize", initParams); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"supported":["2026-07-28"]`) {
		t.Errorf("initialize at a modern server: %d %s", res.StatusCode, body)
	}
	legacy := fakemcp.New(t, fakemcp.Config{})
	c = &client{t: t, url: legacy.URL, headers: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"}}
	if res, body := c.call("server/discover", modernMeta); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "-32000") {
		t.Errorf("server/discover at a legacy server: %d %s", res.StatusCode, body)
	}
}

// TestStrictness breaks every rule once, on purpose.
func TestStrictness(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`
	cases := []struct {
		name, rule   string
		method, body string
		headers      map[string]string
	}{
		{"no event stream", "accept", "POST", list, map[string]string{"Accept": "application/json"}},
		{"text", "content-type", "POST", list, map[string]string{"Content-Type": "text/plain"}},
		{"no version", "version", "POST", list, map[string]string{"Mcp-Protocol-Version": ""}},
		{"other version", "version", "POST", list, map[string]string{"Mcp-Protocol-Version": "2025-06-18"}},
		{"no session", "session", "POST", list, map[string]string{"Mcp-Session-Id": ""}},
		{"get", "get", "GET", "", nil},
		{"head", "head", "HEAD", "", nil},
		{"call", "call", "POST", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"search"}}`, nil},
		{"batch", "message", "POST", "[" + list + "]", nil},
		{"null id", "message", "POST", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, nil},
		{"request without id", "message", "POST", `{"jsonrpc":"2.0","method":"tools/list"}`, nil},
		{"initialize in a session", "initialize", "POST", `{"jsonrpc":"2.0","id":9,"method":"initialize","params":` + initParams + `}`, nil},
		{"modern with a session", "modern", "POST", `{"jsonrpc":"2.0","id":9,"method":"tools/list","params":` + modernMeta + `}`, nil},
		{"delete without session", "delete", "DELETE", "", map[string]string{"Mcp-Session-Id": ""}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			tb := &recorder{T: t}
			srv := fakemcp.New(tb, fakemcp.Config{})
			c := &client{t: t, url: srv.URL}
			c.open()
			before := len(srv.Violations()) // the session, which is still open
			c.do(tc.method, tc.body, tc.headers)
			broken := srv.Violations()
			if len(broken) <= before || broken[0].Rule != tc.rule {
				t.Errorf("violations: %v, want one of rule %q", broken, tc.rule)
			}
			tb.finish()
			if len(tb.errors) == 0 {
				t.Error("the test did not fail")
			}
		})
	}
}

func TestStrictnessAboutOrderAndDelete(t *testing.T) {
	tb := &recorder{T: t}
	srv := fakemcp.New(tb, fakemcp.Config{})
	c := &client{t: t, url: srv.URL}
	res, _ := c.call("initialize", initParams)
	c.headers = map[string]string{"Mcp-Protocol-Version": "2025-11-25", "Mcp-Session-Id": res.Header.Get("Mcp-Session-Id")}
	c.call("tools/list", `{}`)
	rules := ""
	for _, v := range srv.Violations() {
		rules += v.Rule + " "
	}
	if rules != "initialized delete " {
		t.Errorf("broken rules: %s", rules)
	}
	srv.Allow("initialized", "delete")
	tb.finish()
	if len(tb.errors) != 0 {
		t.Errorf("allowed rules failed the test: %v", tb.errors)
	}
}

func TestStrictnessAboutModernHeaders(t *testing.T) {
	tb := &recorder{T: t}
	srv := fakemcp.New(tb, fakemcp.Config{Era: fakemcp.Modern, Callable: true})
	good := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6Q=?="}
	c := &client{t: t, url: srv.URL, headers: good}
	call := strings.Replace(modernMeta, "{", `{"name":"ä",`, 1)
	c.call("tools/call", call)
	if v := srv.Violations(); len(v) != 0 {
		t.Fatalf("a correct call broke %v", v)
	}
	for name := range good {
		before := len(srv.Violations())
		c.do("POST", `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":`+call+`}`, map[string]string{name: "other"})
		if got := srv.Violations(); len(got) != before+1 || got[before].Rule != "modern" {
			t.Errorf("wrong %s: %v", name, got[before:])
		}
	}
	tb.finish()
}

func TestCannedResponses(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{Stateless: true})
	srv.Allow("*")
	c := &client{t: t, url: srv.URL}
	ask := func(h fakemcp.Handler) (*http.Response, string) {
		srv.On("x", h)
		return c.call("x", `{}`)
	}
	if res, body := ask(fakemcp.Raw(`{"id":$ID}`)); body != fmt.Sprintf(`{"id":%d}`, c.next) || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("raw: %s", body)
	}
	if res, _ := ask(fakemcp.Respond(fakemcp.Response{Status: 202})); res.StatusCode != http.StatusAccepted || res.Header.Get("Content-Type") != "" {
		t.Errorf("bare status: %v", res.Header)
	}
	if res, _ := ask(fakemcp.Unauthorized(`Bearer realm="x"`)); res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") != `Bearer realm="x"` {
		t.Errorf("challenge: %v", res.Header)
	}
	if _, body := ask(fakemcp.Respond(fakemcp.Response{Body: "abc", Chunk: 1})); body != "abc" {
		t.Errorf("in pieces: %s", body)
	}
	if _, body := ask(fakemcp.Respond(fakemcp.Response{Body: "abc", Abort: true})); body != "abc" {
		t.Errorf("broken off: %s", body)
	}
	if _, body := ask(fakemcp.Bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")); body != "hello" {
		t.Errorf("raw bytes: %s", body)
	}
	counted := fakemcp.Sequence(fakemcp.Raw("1"), fakemcp.Raw("2"))
	got := ""
	for range 3 {
		_, body := ask(counted)
		got += body
	}
	if got != "122" {
		t.Errorf("sequence: %s", got)
	}
}

func TestFramedKeepsTheConversation(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.Framed(func(msg string) fakemcp.Response {
		return fakemcp.Stream("id: 0\ndata:\n\n", fakemcp.EventID("1", 10, msg))
	}))
	c := &client{t: t, url: srv.URL}
	c.open()
	if _, body := c.call("tools/list", `{}`); !strings.HasPrefix(body, "id: 0\ndata:\n\nid: 1\nretry: 10\ndata: {\"jsonrpc\"") {
		t.Errorf("framed: %s", body)
	}
	c.do("DELETE", "", nil)
}

func TestGateHoldsTheRestBack(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{Stateless: true})
	gate := fakemcp.NewGate()
	srv.On("x", fakemcp.Respond(fakemcp.Response{Rest: "late", Gate: gate}))
	srv.Allow("*")
	res, err := http.Post(srv.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // the headers are here, the body is not
	gate.Open()
	if body, _ := io.ReadAll(res.Body); string(body) != "late" {
		t.Errorf("body %q", body)
	}
}

func TestCloseFreesHangingAnswers(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.Hang())
	srv.Allow("*")
	done := make(chan error, 1)
	go func() {
		res, err := http.Post(srv.URL, "application/json", strings.NewReader(`{}`))
		if err == nil {
			res.Body.Close()
		}
		done <- err
	}()
	for len(srv.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	srv.Close()
	<-done
}

func TestConnectionsThatDieAfterOneAnswer(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{Stateless: true})
	srv.OnHTTP("POST", fakemcp.OneAnswerPerConnection(fakemcp.Raw("{}")))
	srv.Allow("*")
	post := func() error {
		res, err := http.Post(srv.URL, "application/json", strings.NewReader(`{}`))
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		return err
	}
	if first, second := post(), post(); first != nil || second == nil {
		t.Errorf("first %v, second %v: want an answer and a failure", first, second)
	}
}

func TestLegacySSE(t *testing.T) {
	srv := fakemcp.NewSSE(t, fakemcp.Config{})
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := bufio.NewReader(res.Body)
	event := func() string {
		var b bytes.Buffer
		for {
			line, err := stream.ReadString('\n')
			if err != nil || line == "\n" {
				return b.String()
			}
			b.WriteString(line)
		}
	}
	first := event()
	path := strings.TrimSpace(strings.TrimPrefix(first, "event: endpoint\ndata: "))
	if !strings.HasPrefix(path, "/messages?sessionId=") {
		t.Fatalf("first event: %q", first)
	}
	c := &client{t: t, url: strings.TrimSuffix(srv.URL, "/sse") + path}
	if res, _ := c.call("initialize", initParams); res.StatusCode != http.StatusAccepted {
		t.Errorf("status %d", res.StatusCode)
	}
	if got := event(); !strings.Contains(got, `"serverInfo"`) {
		t.Errorf("answer: %q", got)
	}
	srv.Push(`{"pushed":true}`)
	if got := event(); !strings.Contains(got, `{"pushed":true}`) {
		t.Errorf("pushed: %q", got)
	}
}

func TestCertificates(t *testing.T) {
	for kind, want := range map[fakemcp.TLS]string{
		fakemcp.TLSGood:                "",
		fakemcp.TLSMissingIntermediate: "unknown authority",
		fakemcp.TLSSelfSigned:          "unknown authority",
		fakemcp.TLSExpired:             "has expired",
		fakemcp.TLSWrongName:           "cannot validate certificate for 127.0.0.1",
	} {
		srv := fakemcp.New(t, fakemcp.Config{TLS: kind})
		srv.OnHTTP("GET", fakemcp.Text(200, "text/plain", "hi"))
		srv.Allow("get")
		res, err := http.Get(srv.URL)
		if err == nil {
			res.Body.Close()
		}
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("certificate %d: %v, want %q", kind, err, want)
		}
	}
}
