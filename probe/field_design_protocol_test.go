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

// What the design decides about eras, pins, calls and streams.

func pinned(t *target.Target, revision string) *target.Target {
	t.ProtocolVersion = revision
	return t
}

func TestDesignPins(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
			r := check(t, pinned(srv.Target(), revision), probe.Options{})
			verify(t, r, want{anyNotes: true})
			revisionIs(t, r, "legacy", revision)
			sequence(t, srv.Methods(), "initialize", "notifications/initialized", "tools/list", "HTTP DELETE")
			contains(t, "the offer", string(srv.Received("initialize")[0].Params), `"protocolVersion":"`+revision+`"`)

			proc := fakemcp.Stdio(t, fakemcp.Script{})
			r = check(t, pinned(proc.Target(), revision), probe.Options{})
			verify(t, r, want{anyNotes: true})
			sequence(t, proc.Methods(), "initialize", "notifications/initialized", "tools/list")
		})
	}
	t.Run("modern", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
		r := check(t, pinned(srv.Target(), "2026-07-28"), probe.Options{})
		verify(t, r, want{})
		revisionIs(t, r, "modern", "2026-07-28")
	})
}

func TestDesignPinMismatch(t *testing.T) {
	t.Parallel()
	mismatch := want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "version-mismatch"}
	t.Run("other answer", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{Revision: "2025-03-26"})
		w := mismatch
		w.text = []string{"2025-06-18", "2025-03-26"}
		verify(t, check(t, pinned(srv.Target(), "2025-06-18"), probe.Options{}), w)
		if n := srv.Count("initialize"); n != 1 {
			t.Errorf("initialize was sent %d times", n)
		}
	})
	t.Run("only legacy listed", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("server/discover", fakemcp.Result(`{"resultType":"complete","ttlMs":1,"cacheScope":"public","supportedVersions":["2025-11-25"],"capabilities":{}}`))
		verify(t, check(t, pinned(srv.Target(), "2026-07-28"), probe.Options{}), mismatch)
		sequence(t, srv.Methods(), "server/discover")
	})
	t.Run("-32022", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("server/discover", fakemcp.ErrorStatus(400, -32022, "no", `{"supported":["2025-11-25"],"requested":"2026-07-28"}`))
		verify(t, check(t, pinned(srv.Target(), "2026-07-28"), probe.Options{}), mismatch)
		sequence(t, srv.Methods(), "server/discover")
	})
	t.Run("legacy pin at a modern server", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
		verify(t, check(t, pinned(srv.Target(), "2025-11-25"), probe.Options{}), mismatch)
		sequence(t, srv.Methods(), "initialize")
	})
	t.Run("modern pin at a legacy server", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		r := check(t, pinned(srv.Target(), "2026-07-28"), probe.Options{})
		sound(t, r)
		if r.Status != probe.StatusUnhealthy {
			t.Errorf("report:\n%s", describe(r))
		}
		sequence(t, srv.Methods(), "server/discover")
	})
	t.Run("modern pin, silent stdio server", func(t *testing.T) {
		proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"server/discover": {Silent: true, Before: []string{logMessage}}}})
		r := check(t, pinned(proc.Target(), "2026-07-28"), probe.Options{CheckTimeout: 700 * time.Millisecond})
		sound(t, r)
		if r.Status != probe.StatusUnhealthy || proc.Count("initialize") != 0 {
			t.Errorf("methods %v, report:\n%s", proc.Methods(), describe(r))
		}
	})
}

func TestDesignModernErrorsNeverDowngrade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code   int
		data   string
		reason probe.Reason
	}{
		"-32020": {-32020, "", "header-mismatch"},
		"-32021": {-32021, `{"requiredCapabilities":{"sampling":{}}}`, "missing-client-capability"},
	} {
		for _, status := range []int{200, 400} {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
				srv.On("server/discover", fakemcp.ErrorStatus(status, tc.code, "Server not initialized", tc.data))
				r := check(t, srv.Target(), probe.Options{})
				verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: tc.reason, text: []string{name}})
				sequence(t, srv.Methods(), "server/discover")
			})
		}
		t.Run(name+" stdio", func(t *testing.T) {
			proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"server/discover": {Error: fmt.Sprintf(`{"code":%d,"message":"no"}`, tc.code)}}})
			r := check(t, proc.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: tc.reason})
			sequence(t, proc.Methods(), "server/discover")
		})
	}
}

func unsupported(supported string) fakemcp.Handler {
	return fakemcp.ErrorStatus(400, -32022, "no", `{"supported":`+supported+`,"requested":"2026-07-28"}`)
}

func TestDesignUnsupportedVersion(t *testing.T) {
	t.Parallel()
	const discover, initialize, initialized, list, end = "server/discover", "initialize", "notifications/initialized", "tools/list", "HTTP DELETE"
	for name, tc := range map[string]struct {
		answer  fakemcp.Handler
		want    want
		era     string
		methods []string
	}{
		"the same once more": {
			fakemcp.First(1, unsupported(`["2026-07-28"]`)), want{}, "modern", []string{discover, discover, list},
		},
		"the same for ever": {
			unsupported(`["2026-07-28"]`), want{status: probe.StatusUnhealthy, reason: "version-unsupported"}, "", []string{discover, discover},
		},
		"legacy ones": {
			unsupported(`["2025-06-18","2025-03-26"]`), want{}, "legacy", []string{discover, initialize, initialized, list, end},
		},
		"both": {
			fakemcp.First(1, unsupported(`["2026-07-28","2025-11-25"]`)), want{}, "modern", []string{discover, discover, list},
		},
		"later ones": {
			unsupported(`["2027-01-01"]`), want{status: probe.StatusUnhealthy, reason: "version-unsupported", text: []string{"2027-01-01", "2026-07-28"}}, "", []string{discover},
		},
		"no list": {
			fakemcp.ErrorStatus(400, -32022, "no", ""), want{status: probe.StatusUnhealthy, reason: "version-unsupported"}, "", []string{discover},
		},
		"on 200": {
			fakemcp.ErrorStatus(200, -32022, "no", `{"supported":["2025-06-18"],"requested":"2026-07-28"}`), want{}, "legacy", []string{discover, initialize, initialized, list, end},
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
			srv.On(discover, tc.answer)
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, tc.want)
			if r.Era != tc.era {
				t.Errorf("era is %q", r.Era)
			}
			sequence(t, srv.Methods(), tc.methods...)
		})
	}
}

func TestDesignLegacyOnlyDiscover(t *testing.T) {
	t.Parallel()
	result := `{"resultType":"complete","ttlMs":1,"cacheScope":"public","supportedVersions":["2025-03-26","2025-06-18"],"capabilities":{}}`
	t.Run("http", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("server/discover", fakemcp.Result(result))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		revisionIs(t, r, "legacy", "2025-06-18")
	})
	t.Run("stdio", func(t *testing.T) {
		proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"server/discover": {Result: result}}})
		r := check(t, proc.Target(), probe.Options{})
		verify(t, r, want{})
		revisionIs(t, r, "legacy", "2025-06-18")
	})
}

func TestDesignFirstFindingIsReported(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		discover, initialize fakemcp.Handler
		reason               probe.Reason
		text                 string
	}{
		"-32601, 404":      {fakemcp.ErrorStatus(404, -32601, "Method not found", ""), fakemcp.ErrorStatus(404, -32601, "Method not found", ""), "discover-missing", "server/discover"},
		"-32603, -32600":   {fakemcp.Error(-32603, "database is gone"), fakemcp.Error(-32600, "bad"), "rpc-error", "database is gone"},
		"legacy list, 500": {fakemcp.Result(`{"resultType":"complete","ttlMs":1,"cacheScope":"public","supportedVersions":["2025-11-25"],"capabilities":{}}`), fakemcp.Text(500, "text/plain", "no"), "version-unsupported", "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("server/discover", tc.discover)
			srv.On("initialize", tc.initialize)
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: tc.reason, text: []string{tc.text}})
			sequence(t, srv.Methods(), "server/discover", "initialize")
		})
	}
}

func TestDesignNoFallback(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer fakemcp.Handler
		reason probe.Reason
	}{
		"500":          {fakemcp.Text(500, "text/plain", "no"), "http-5xx"},
		"500 with RPC": {fakemcp.ErrorStatus(500, -32601, "Method not found", ""), "http-5xx"},
		"503":          {fakemcp.Text(503, "text/plain", "no"), "http-5xx"},
		"429":          {fakemcp.Text(429, "text/plain", "no"), "rate-limited"},
		"reset":        {fakemcp.Reset(), "connection-reset"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("server/discover", tc.answer)
			verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, reason: tc.reason})
			sequence(t, srv.Methods(), "server/discover")
		})
	}
}

func TestDesignRevisions(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  fakemcp.Config
		want string
	}{
		"dual":   {fakemcp.Config{Era: fakemcp.Dual}, "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28"},
		"legacy": {fakemcp.Config{Revision: "2025-06-18"}, "2025-06-18"},
		"modern": {fakemcp.Config{Era: fakemcp.Modern}, "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, tc.cfg)
			r := check(t, srv.Target(), probe.Options{Revisions: true})
			verify(t, r, want{})
			var got []string
			for _, v := range r.Revisions {
				if v.Supported {
					got = append(got, v.Version)
				}
			}
			if s := strings.Join(got, " "); s != tc.want || len(r.Revisions) != 5 {
				t.Errorf("the revisions are %+v, want %s", r.Revisions, tc.want)
			}
		})
	}
}

// Functional calls.

func TestDesignCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	interrupted := want{status: probe.StatusUnknown, step: probe.StepCall, reason: "call-interrupted"}
	for name, tc := range map[string]struct {
		answer fakemcp.Handler
		want   want
	}{
		"answered":     {fakemcp.Default(), want{}},
		"reset":        {fakemcp.Reset(), interrupted},
		"closed":       {fakemcp.Bytes(""), interrupted},
		"never":        {fakemcp.Hang(), interrupted},
		"half":         {fakemcp.Bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"), want{}},
		"stream ended": {fakemcp.Events(": bye\n\n"), want{}},
		"307":          {fakemcp.Redirect(307, "/elsewhere"), want{}},
		"404":          {fakemcp.Text(404, "text/plain", "session not found"), want{}},
		"503":          {fakemcp.Text(503, "text/plain", "no"), want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "http-5xx"}},
		"401":          {fakemcp.Unauthorized("Bearer"), want{}},
		"RPC error":    {fakemcp.Error(-32602, "Unknown tool"), want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "rpc-error"}},
		"gzip cut off": {func(x *fakemcp.Exchange) { halfCompressed(x, strings.Repeat("a", 1000)) }, want{}},
	} {
		for era, kind := range map[string]fakemcp.Era{"legacy": fakemcp.Legacy, "modern": fakemcp.Modern} {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				srv := fakemcp.New(t, fakemcp.Config{Era: kind, Tools: []string{fakemcp.SafeTool("search")}, Callable: true})
				srv.On("tools/call", tc.answer)
				tgt := calling(srv.Target(), "search", `{"q":"x"}`)
				tgt.Budgets.Retries = 2
				o := short()
				r := check(t, tgt, o)
				if tc.want.status == "" && name != "answered" {
					sound(t, r)
					if r.Status == probe.StatusHealthy {
						t.Errorf("report:\n%s", describe(r))
					}
				} else {
					verify(t, r, tc.want)
				}
				calls := srv.Received("tools/call")
				if len(calls) != 1 || srv.Count("tools/list") != 1 {
					t.Fatalf("messages: %v", srv.Methods())
				}
				contains(t, "the call", string(calls[0].Params), `"name":"search"`, `"arguments":{"q":"x"}`)
			})
		}
	}
}

func TestDesignCallOnConnectionsThatDie(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern, Tools: []string{fakemcp.SafeTool("search")}, Callable: true})
	srv.OnHTTP("POST", fakemcp.OneAnswerPerConnection(fakemcp.Default()))
	r := check(t, calling(srv.Target(), "search", ""), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"stale-connection"}})
	if n := srv.Count("tools/call"); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
}

func TestDesignCallOnStdio(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reply fakemcp.Reply
		want  want
	}{
		"answered": {fakemcp.Reply{}, want{}},
		"exit":     {fakemcp.Reply{ExitBefore: true}, want{status: probe.StatusUnknown, step: probe.StepCall, reason: "call-interrupted"}},
		"silent":   {fakemcp.Reply{Silent: true}, want{status: probe.StatusUnknown, step: probe.StepCall, reason: "call-interrupted"}},
		"input":    {fakemcp.Reply{Result: `{"resultType":"input_required","requestState":"x"}`}, want{status: probe.StatusUnknown, step: probe.StepCall, reason: "input-required"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := fakemcp.Stdio(t, fakemcp.Script{
				Config:  fakemcp.Config{Era: fakemcp.Modern, Tools: []string{fakemcp.SafeTool("search")}, Callable: true},
				Replies: map[string]fakemcp.Reply{"tools/call": tc.reply},
			})
			r := check(t, calling(proc.Target(), "search", ""), probe.Options{CheckTimeout: time.Second})
			verify(t, r, tc.want)
			if proc.Count("tools/call") != 1 || proc.Starts() != 1 {
				t.Errorf("%d starts, messages: %v", proc.Starts(), proc.Methods())
			}
		})
	}
}

func TestDesignUnsafeTools(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{
		"no annotations":      fakemcp.Tool("search"),
		"read-only only":      fakemcp.Tool("search", `"annotations":{"readOnlyHint":true}`),
		"not read-only":       fakemcp.Tool("search", `"annotations":{"readOnlyHint":false,"destructiveHint":false}`),
		"destructive":         fakemcp.Tool("search", `"annotations":{"readOnlyHint":true,"destructiveHint":true}`),
		"not destructive":     fakemcp.Tool("search", `"annotations":{"destructiveHint":false}`),
		"in words":            fakemcp.Tool("search", `"annotations":{"readOnlyHint":"true","destructiveHint":"false"}`),
		"null":                fakemcp.Tool("search", `"annotations":{"readOnlyHint":true,"destructiveHint":null}`),
		"annotations a list":  fakemcp.Tool("search", `"annotations":[]`),
		"read-only elsewhere": fakemcp.Tool("search", `"readOnlyHint":true,"destructiveHint":false`),
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Tools: []string{tool}})
			r := check(t, calling(srv.Target(), "search", ""), probe.Options{})
			verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepCall, reason: "unsafe-tool"})
		})
	}
	srv := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.SafeTool("search")}})
	verify(t, check(t, calling(srv.Target(), "absent", ""), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "required-missing"})
	verify(t, check(t, calling(srv.Target(), "search", `[1]`), probe.Options{}), want{status: probe.StatusMisconfigured, reason: "invalid-call"})
}

func TestDesignCallResults(t *testing.T) {
	t.Parallel()
	bad, failed := probe.Reason("content-invalid"), probe.Reason("tool-error")
	for result, reason := range map[string]probe.Reason{
		`{"content":[]}`: "",
		`{"content":[{"type":"text","text":""},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"}]}`: "",
		`{"content":[{"type":"resource_link","uri":"file:///a","name":"a"},{"type":"resource","resource":{"uri":"file:///a","text":"x"}}]}`:               "",
		`{"content":[],"isError":false,"unknown":1}`:   "",
		`{"content":[],"isError":true}`:                failed,
		`{}`:                                           bad,
		`{"content":null}`:                             bad,
		`{"content":{}}`:                               bad,
		`{"content":[null]}`:                           bad,
		`{"content":["text"]}`:                         bad,
		`{"content":[{"text":"x"}]}`:                   bad,
		`{"content":[{"type":"text"}]}`:                bad,
		`{"content":[{"type":"text","text":7}]}`:       bad,
		`{"content":[{"type":"image","data":"AAAA"}]}`: bad,
		`{"content":[{"type":"image","data":"not base64!","mimeType":"image/png"}]}`:   bad,
		`{"content":[{"type":"resource","resource":{"uri":"file:///a"}}]}`:             bad,
		`{"content":[{"type":"resource","resource":{"uri":"a","text":"","blob":""}}]}`: bad,
		`{"content":[{"type":"resource_link","uri":"file:///a"}]}`:                     bad,
		`{"content":[{"type":"tool_use","id":"1"}]}`:                                   bad,
	} {
		srv := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.SafeTool("search")}, CallResult: result, Callable: true})
		w := want{}
		if reason != "" {
			w = want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: reason}
		}
		r := check(t, calling(srv.Target(), "search", ""), probe.Options{})
		t.Run(result, func(t *testing.T) { verify(t, r, w) })
	}
}

func TestDesignOutputSchemaOfAnyKind(t *testing.T) {
	t.Parallel()
	for schema, tc := range map[string]struct {
		content string
		fails   bool
	}{
		`{"type":"array","items":{"type":"integer"}}`:                                            {`[1,2]`, false},
		`{"type":"array","items":{"type":"string"}}`:                                             {`[1]`, true},
		`{"$ref":"https://schemas.fake.test/x.json"}`:                                            {`{}`, true},
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["a"]}`: {`{"a":1}`, false},
		`{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`:     {`{"n":9007199254740993}`, false},
	} {
		srv := fakemcp.New(t, fakemcp.Config{
			Era: fakemcp.Modern, Tools: []string{fakemcp.SafeTool("search", `"outputSchema":`+schema)}, Callable: true,
			CallResult: `{"content":[],"structuredContent":` + tc.content + `}`,
		})
		w := want{}
		if tc.fails {
			w = want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "output-schema"}
		}
		r := check(t, calling(srv.Target(), "search", ""), probe.Options{})
		t.Run(schema, func(t *testing.T) { verify(t, r, w) })
	}
}

const annotated = `"inputSchema":{"type":"object","properties":{` +
	`"region":{"type":"string","x-mcp-header":"Region"},"size":{"type":"integer","x-mcp-header":"Size"},` +
	`"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},"note":{"type":"string","x-mcp-header":"Note"},` +
	`"deep":{"type":"object","properties":{"id":{"type":"string","x-mcp-header":"Deep-Id"}}}}}`

func TestDesignMirroredArguments(t *testing.T) {
	t.Parallel()
	arguments := `{"region":"eu west","size":9007199254740991,"dry":false,"deep":{"id":" größe"},"note":null,"other":"x"}`
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern, Tools: []string{fakemcp.SafeTool("größe", annotated)}, Callable: true})
	verify(t, check(t, calling(srv.Target(), "größe", arguments), probe.Options{}), want{notes: []probe.Reason{"tool-name"}})
	calls := srv.Received("tools/call")
	if len(calls) != 1 {
		t.Fatalf("messages: %v", srv.Methods())
	}
	h := calls[0].Header
	for name, expected := range map[string]string{"Region": "eu west", "Size": "9007199254740991", "Dry-Run": "false", "Deep-Id": " größe", "Note": "", "Other": ""} {
		got, err := fakemcp.DecodeHeader(h.Get("Mcp-Param-" + name))
		if err != nil || got != expected {
			t.Errorf("Mcp-Param-%s is %q, want %q", name, h.Get("Mcp-Param-"+name), expected)
		}
	}
	if raw := h.Get("Mcp-Param-Region"); raw != "eu west" {
		t.Errorf("a plain value was encoded: %q", raw)
	}
	if raw := h.Get("Mcp-Name"); !strings.HasPrefix(raw, "=?base64?") {
		t.Errorf("Mcp-Name is %q", raw)
	}
	if _, present := h["Mcp-Param-Note"]; present {
		t.Error("a null argument became a header")
	}

	srv = fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.SafeTool("search", annotated)}, Callable: true})
	verify(t, check(t, calling(srv.Target(), "search", arguments), probe.Options{}), want{})
	for name := range srv.Received("tools/call")[0].Header {
		if strings.HasPrefix(name, "Mcp-Param-") {
			t.Errorf("a legacy call carries %s", name)
		}
	}
}

func TestDesignInvalidToolHeaders(t *testing.T) {
	t.Parallel()
	for name, properties := range map[string]string{
		"empty":      `"a":{"type":"string","x-mcp-header":""}`,
		"no token":   `"a":{"type":"string","x-mcp-header":"a b"}`,
		"no string":  `"a":{"type":"string","x-mcp-header":7}`,
		"number":     `"a":{"type":"number","x-mcp-header":"A"}`,
		"object":     `"a":{"type":"object","x-mcp-header":"A"}`,
		"twice":      `"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`,
		"in an item": `"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`,
		"in anyOf":   `"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			tool := fakemcp.SafeTool("bad", `"inputSchema":{"type":"object","properties":{`+properties+`}}`)
			cfg := fakemcp.Config{Era: fakemcp.Modern, Tools: []string{tool, fakemcp.SafeTool("good")}}
			srv := fakemcp.New(t, cfg)
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{notes: []probe.Reason{"invalid-tool-header"}})
			contains(t, "the note", note(t, r, "invalid-tool-header").Text, `"bad"`)
			toolCount(t, r, 1)
			verify(t, check(t, srv.Target(), probe.Options{Expect: target.Expectations{Tools: []string{"bad"}}}), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "required-missing"})
			verify(t, check(t, calling(srv.Target(), "bad", ""), probe.Options{}), want{status: probe.StatusUnhealthy, reason: "required-missing"})

			proc := fakemcp.Stdio(t, fakemcp.Script{Config: cfg})
			r = check(t, proc.Target(), probe.Options{})
			if r.Status != probe.StatusHealthy {
				t.Errorf("on stdio, which has no headers:\n%s", describe(r))
			}
		})
	}
}

// Streams.

// interruptedStream answers tools/list with a stream that ends early, and each
// resumption with the next of what follows.
func interruptedStream(t *testing.T, cfg fakemcp.Config, first fakemcp.Response, next ...fakemcp.Handler) *fakemcp.Server {
	t.Helper()
	srv := fakemcp.New(t, cfg)
	srv.On("tools/list", fakemcp.Respond(first))
	srv.OnHTTP("GET", fakemcp.Sequence(next...))
	return srv
}

const listed = `{"jsonrpc":"2.0","id":$ID:tools/list,"result":{"tools":[]}}`

func primed(id string) fakemcp.Handler {
	return fakemcp.Respond(fakemcp.Stream("id: " + id + "\nretry: 20\ndata:\n\n"))
}

func TestDesignResume(t *testing.T) {
	t.Parallel()
	first := fakemcp.Stream("id: e1\nretry: 300\ndata:\n\n")
	last := fakemcp.Events("id: e9\ndata: " + listed + "\n\n")
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		srv := interruptedStream(t, fakemcp.Config{}, first, last)
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{anyNotes: true})
		toolCount(t, r, 0)
		sequence(t, srv.Methods(), "server/discover", "initialize", "notifications/initialized", "tools/list", "HTTP GET", "HTTP DELETE")
		all := srv.Requests()
		post, get := all[3], all[4]
		if get.Header.Get("Last-Event-ID") != "e1" || get.Header.Get("Accept") != "text/event-stream" || get.Header.Get("Mcp-Session-Id") == "" || get.Header.Get("Mcp-Protocol-Version") != "2025-11-25" {
			t.Errorf("the resumption has the headers %v", get.Header)
		}
		if waited := get.Time.Sub(post.Time); waited < 280*time.Millisecond {
			t.Errorf("resumed after %s, the server asked for 300 ms", waited)
		}
	})
	t.Run("three times", func(t *testing.T) {
		t.Parallel()
		srv := interruptedStream(t, fakemcp.Config{}, first, primed("e2"), primed("e3"), last)
		verify(t, check(t, srv.Target(), probe.Options{}), want{anyNotes: true})
		var ids []string
		for _, q := range srv.Requests() {
			if q.HTTPMethod == "GET" {
				ids = append(ids, q.Header.Get("Last-Event-ID"))
			}
		}
		sequence(t, ids, "e1", "e2", "e3")
	})
	t.Run("for ever", func(t *testing.T) {
		t.Parallel()
		srv := interruptedStream(t, fakemcp.Config{}, first, primed("e2"))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "resume-limit"})
		if n := srv.Count("HTTP GET"); n != 3 {
			t.Errorf("resumed %d times", n)
		}
	})
	t.Run("modern", func(t *testing.T) {
		t.Parallel()
		srv := interruptedStream(t, fakemcp.Config{Era: fakemcp.Modern}, first, last)
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "sse-ended"})
	})
	t.Run("without an id", func(t *testing.T) {
		t.Parallel()
		srv := interruptedStream(t, fakemcp.Config{}, fakemcp.Stream("retry: 1\ndata:\n\n"), last)
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "sse-ended"})
	})
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		srv := interruptedStream(t, fakemcp.Config{}, fakemcp.Stream("id: e1\nretry: 3600000\ndata:\n\n"), last)
		r := check(t, srv.Target(), short())
		verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "partial-response", code: probe.CodeCheckTimeout})
	})
	t.Run("broken off", func(t *testing.T) {
		t.Parallel()
		cut := first
		cut.Abort = true
		srv := interruptedStream(t, fakemcp.Config{}, cut, last)
		verify(t, check(t, srv.Target(), probe.Options{}), want{anyNotes: true})
	})
	t.Run("over the cap together", func(t *testing.T) {
		t.Parallel()
		filler := ": " + strings.Repeat("x", 700) + "\n\n"
		big := first
		big.Body = filler + big.Body
		srv := interruptedStream(t, fakemcp.Config{}, big, fakemcp.Events(filler, "data: "+listed+"\n\n"))
		r := check(t, srv.Target(), probe.Options{Limits: target.Limits{ResponseBytes: 1000}})
		verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "response-too-large"})
	})
}

func TestDesignServerRequestInModernStream(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	srv.On("tools/list", fakemcp.Framed(func(msg string) fakemcp.Response {
		return fakemcp.Stream(fakemcp.Event(`{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`), fakemcp.Event(msg))
	}))
	verify(t, check(t, srv.Target(), probe.Options{}), want{notes: []probe.Reason{"server-request"}})
	sequence(t, srv.Methods(), "server/discover", "tools/list")
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("%d requests: the server's request was answered", n)
	}
}

func TestDesignBatchOf20250326(t *testing.T) {
	t.Parallel()
	notification := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	for name, frame := range map[string]func(msg string) fakemcp.Response{
		"JSON": func(msg string) fakemcp.Response {
			return fakemcp.Response{Type: "application/json", Body: "[" + notification + "," + msg + "]"}
		},
		"SSE": func(msg string) fakemcp.Response {
			return fakemcp.Stream(fakemcp.Event("[" + notification + "," + msg + "]"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Revision: "2025-03-26"})
			srv.On("tools/list", fakemcp.Framed(frame))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{anyNotes: true})
			toolCount(t, r, 2)
		})
	}
}

func TestDesignDeleteComesLast(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.Tools("a"), Resources: fakemcp.Resources("file:///a"), Prompts: fakemcp.Prompts("p")})
	srv.On("prompts/list", fakemcp.Error(-32603, "no"))
	verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepPrompts, reason: "rpc-error"})
	methods := srv.Methods()
	if methods[len(methods)-1] != "HTTP DELETE" || srv.Sessions() != 0 {
		t.Errorf("methods: %v, open sessions: %d", methods, srv.Sessions())
	}
}
