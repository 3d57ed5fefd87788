package probe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// The cases of family C: what servers make of the protocol.

// offered returns a condition on the revision that initialize offers.
func offered(revision string) func(*fakemcp.Exchange) bool {
	return func(x *fakemcp.Exchange) bool {
		return strings.Contains(string(x.Params), `"protocolVersion":"`+revision+`"`)
	}
}

func not(f func(*fakemcp.Exchange) bool) func(*fakemcp.Exchange) bool {
	return func(x *fakemcp.Exchange) bool { return !f(x) }
}

func revisionIs(t *testing.T, r *probe.Report, era, revision string) {
	t.Helper()
	if r.Era != era || r.Server == nil || r.Server.ProtocolVersion != revision {
		t.Errorf("the report says era %q, server %+v; want %s %s", r.Era, r.Server, era, revision)
	}
}

func TestFieldC1RefusedRevision(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("server/discover", fakemcp.Text(400, "text/plain", "Unsupported protocol version. Supported: 2025-06-18, 2025-03-26, 2024-11-05"))
	srv.On("initialize", fakemcp.When(not(offered("2025-06-18")),
		fakemcp.Text(400, "text/plain", "Bad Request: Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26, 2024-11-05)")))
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"version-negotiation"}})
	revisionIs(t, r, "legacy", "2025-06-18")
	if n := srv.Count("initialize"); n != 2 {
		t.Errorf("initialize was sent %d times", n)
	}
}

func TestFieldC1RefusedForGood(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("initialize", fakemcp.Text(400, "text/plain", "Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26)"))
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "http-status"})
	if n := srv.Count("initialize"); n != 2 {
		t.Errorf("initialize was sent %d times", n)
	}
}

func TestFieldC2OwnRevision(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Revision: revision})
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{anyNotes: revision < "2025-06-18"})
			revisionIs(t, r, "legacy", revision)
			if len(r.Notes) == 0 && revision < "2025-06-18" {
				t.Error("an old revision leaves no note")
			}
		})
	}
	for _, revision := range []string{"2099-01-01", "2026-07-28", "1.0", "2025-11-26"} {
		t.Run(revision, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Revision: revision})
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "version-unsupported", text: []string{revision, "2025-11-25"}})
			if srv.Count("tools/list") != 0 {
				t.Error("the check went on")
			}
		})
	}
}

func TestFieldC2ErrorWithList(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"-32022": -32022, "-32602": -32602} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("initialize", fakemcp.When(offered("2025-11-25"),
				fakemcp.ErrorStatus(400, code, "Unsupported protocol version", `{"supported":["2025-06-18"],"requested":"2025-11-25"}`)))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{notes: []probe.Reason{"version-negotiation"}})
			revisionIs(t, r, "legacy", "2025-06-18")
			if n := srv.Count("initialize"); n != 2 {
				t.Errorf("initialize was sent %d times", n)
			}
		})
	}
}

func TestFieldC3VersionEcho(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("initialize", func(x *fakemcp.Exchange) {
		_, rest, _ := strings.Cut(string(x.Params), `"protocolVersion":"`)
		version, _, _ := strings.Cut(rest, `"`)
		x.Result(`{"protocolVersion":"` + version + `","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`)
	})
	verify(t, check(t, srv.Target(), probe.Options{}), want{})
	if n := srv.Count("initialize"); n != 1 {
		t.Errorf("a plain check sent initialize %d times", n)
	}
	srv.Allow("get")
	verify(t, check(t, srv.Target(), probe.Options{Diagnose: true}), want{anyNotes: true, notes: []probe.Reason{"version-echo"}})

	honest := fakemcp.New(t, fakemcp.Config{})
	honest.Allow("get")
	if r := check(t, honest.Target(), probe.Options{Diagnose: true}); slices.Contains(noteReasons(r), "version-echo") {
		t.Errorf("an honest server is said to echo:\n%s", describe(r))
	}
}

func TestFieldC4InvalidSession(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("server/discover", fakemcp.Text(404, "text/plain", "Invalid session ID"))
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{})
	revisionIs(t, r, "legacy", "2025-11-25")
	sequence(t, srv.Methods(), "server/discover", "initialize", "notifications/initialized", "tools/list", "HTTP DELETE")
}

// refusals of server/discover after which initialize is tried.
var refusals = map[string]fakemcp.Handler{
	"a 200 -32601":            fakemcp.Error(-32601, "Method not found"),
	"b 200 -32602":            fakemcp.Error(-32602, "Invalid request parameters"),
	"c 400 -32600 null id":    fakemcp.Text(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`),
	"c 400 -32600 without id": fakemcp.Text(400, "application/json", `{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}`),
	"d 404 -32601":            fakemcp.ErrorStatus(404, -32601, "Method not found", ""),
	"e 400 -32000":            fakemcp.ErrorStatus(400, -32000, "Bad Request: Unsupported protocol version", ""),
	"400 without body":        fakemcp.Respond(fakemcp.Response{Status: 400}),
	"404 text":                fakemcp.Text(404, "text/plain", "404 page not found"),
	"405 text":                fakemcp.Text(405, "text/plain", "Method Not Allowed"),
	"415 html":                fakemcp.Text(415, "text/html", "<html><title>415</title></html>"),
	"200 code 0":              fakemcp.Error(0, "invalid during session initialization"),
	"200 -32001":              fakemcp.Error(-32001, "draft HeaderMismatch"),
	"200 -32003":              fakemcp.Error(-32003, "draft MissingCapability"),
	"200 -32004":              fakemcp.Error(-32004, "draft UnsupportedVersion"),
	"200 no DiscoverResult":   fakemcp.Result(`{}`),
	"SSE -32601":              fakemcp.Respond(fakemcp.Stream(fakemcp.Event(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}`))),
}

func TestFieldC5Fallback(t *testing.T) {
	t.Parallel()
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("server/discover", refusal)
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{})
			revisionIs(t, r, "legacy", "2025-11-25")
			sequence(t, srv.Methods(), "server/discover", "initialize", "notifications/initialized", "tools/list", "HTTP DELETE")
		})
	}
}

func TestFieldC5fAuthIsNoProofOfAge(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		for _, challenge := range []string{"", `Bearer realm="mcp"`} {
			t.Run(fmt.Sprintf("%d %s", status, challenge), func(t *testing.T) {
				srv := fakemcp.New(t, fakemcp.Config{})
				refusal := fakemcp.Response{Status: status, Type: "text/plain", Body: "no"}
				if challenge != "" {
					refusal.Header = map[string]string{"WWW-Authenticate": challenge}
				}
				srv.On("server/discover", fakemcp.Respond(refusal))
				r := check(t, srv.Target(), probe.Options{})
				if r.Status != probe.StatusMisconfigured || r.Era != "" {
					t.Errorf("status %s, era %q:\n%s", r.Status, r.Era, describe(r))
				}
				sound(t, r)
				sequence(t, srv.Methods(), "server/discover")
			})
		}
	}
}

func TestFieldC8SilenceOnStdio(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"server/discover": {Silent: true}}})
	o := probe.Options{CheckTimeout: 3 * time.Second}
	r := check(t, proc.Target(), o)
	verify(t, r, want{anyNotes: true})
	revisionIs(t, r, "legacy", "2025-11-25")
	toolCount(t, r, 2)
	asked, offered := proc.Times("server/discover"), proc.Times("initialize")
	if len(asked) != 1 || len(offered) != 1 {
		t.Fatalf("messages: %v", proc.Methods())
	}
	if waited := offered[0].Sub(asked[0]); waited < time.Second || waited > 2800*time.Millisecond {
		t.Errorf("initialize came %s after server/discover, half of the budget is 1.5 s", waited)
	}
	if n := proc.Starts(); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	got := slices.DeleteFunc(proc.Methods(), func(m string) bool { return m == "notifications/cancelled" })
	sequence(t, got, "server/discover", "initialize", "notifications/initialized", "tools/list")
}

// TestFieldC8ModernAnswerWins answers server/discover only when initialize
// comes, before or behind its answer.
func TestFieldC8ModernAnswerWins(t *testing.T) {
	t.Parallel()
	discovered := `{"jsonrpc":"2.0","id":$ID:server/discover,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` +
		`"capabilities":{"tools":{}},"ttlMs":1000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"late","version":"1"}}}}`
	for name, reply := range map[string]fakemcp.Reply{
		"before": {Before: []string{discovered}},
		"behind": {After: []string{discovered}},
		"alone":  {Before: []string{discovered}, Silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := fakemcp.Stdio(t, fakemcp.Script{
				Config:  fakemcp.Config{Era: fakemcp.Dual},
				Replies: map[string]fakemcp.Reply{"server/discover": {Silent: true}, "initialize": reply},
			})
			r := check(t, proc.Target(), probe.Options{CheckTimeout: 1200 * time.Millisecond})
			verify(t, r, want{anyNotes: true})
			revisionIs(t, r, "modern", "2026-07-28")
			if proc.Count("notifications/initialized") != 0 {
				t.Error("a modern session was initialized")
			}
		})
	}
}

func TestFieldC8SilenceOnHTTP(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("server/discover", fakemcp.Hang())
	start := time.Now()
	r := check(t, srv.Target(), short())
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "probe-timeout", text: []string{"server/discover"}, hint: []string{"pin"}})
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("took %s with 700 ms for a step", took)
	}
	sequence(t, srv.Methods(), "server/discover")

	tgt := srv.Target()
	tgt.ProtocolVersion = "2025-11-25" // the way out that the hint names
	verify(t, check(t, tgt, probe.Options{}), want{})
}

func TestFieldC9ModernOnly(t *testing.T) {
	t.Parallel()
	t.Run("http", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		revisionIs(t, r, "modern", "2026-07-28")
		sequence(t, srv.Methods(), "server/discover", "tools/list")
	})
	t.Run("stdio", func(t *testing.T) {
		proc := fakemcp.Stdio(t, fakemcp.Script{Config: fakemcp.Config{Era: fakemcp.Modern}})
		r := check(t, proc.Target(), probe.Options{})
		verify(t, r, want{})
		revisionIs(t, r, "modern", "2026-07-28")
		sequence(t, proc.Methods(), "server/discover", "tools/list")
	})
}

func TestFieldC11ModernFields(t *testing.T) {
	t.Parallel()
	lists := `"tools":[` + fakemcp.Tool("a") + `]`
	discover := `"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}`
	for name, tc := range map[string]struct {
		extra string
		want  want
	}{
		"none":              {``, want{notes: []probe.Reason{"modern-result-fields"}}},
		"no resultType":     {`,"ttlMs":1,"cacheScope":"public"`, want{notes: []probe.Reason{"modern-result-fields"}}},
		"negative lifetime": {`,"resultType":"complete","ttlMs":-1,"cacheScope":"public"`, want{notes: []probe.Reason{"modern-result-fields"}}},
		"lifetime in words": {`,"resultType":"complete","ttlMs":"1","cacheScope":"public"`, want{notes: []probe.Reason{"modern-result-fields"}}},
		"unknown scope":     {`,"resultType":"complete","ttlMs":1,"cacheScope":"all"`, want{notes: []probe.Reason{"modern-result-fields"}}},
		"zero lifetime":     {`,"resultType":"complete","ttlMs":0,"cacheScope":"private"`, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
			srv.On("server/discover", fakemcp.Result("{"+discover+tc.extra+"}"))
			srv.On("tools/list", fakemcp.Result("{"+lists+tc.extra+"}"))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, tc.want)
			toolCount(t, r, 1)
		})
	}
}

func TestFieldC11ResultType(t *testing.T) {
	t.Parallel()
	for kind, w := range map[string]want{
		`"input_required"`: {status: probe.StatusUnknown, step: probe.StepTools, reason: "input-required"},
		`"task"`:           {status: probe.StatusUnhealthy, step: probe.StepTools, reason: "result-type", text: []string{"task"}},
		`7`:                {status: probe.StatusUnhealthy, step: probe.StepTools, reason: "result-type"},
	} {
		t.Run(kind, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
			srv.On("tools/list", fakemcp.Result(`{"resultType":`+kind+`,"requestState":"x","tools":[],"ttlMs":1,"cacheScope":"public"}`))
			verify(t, check(t, srv.Target(), probe.Options{}), w)
			sequence(t, srv.Methods(), "server/discover", "tools/list")
		})
	}
}

func TestFieldC12NoArray(t *testing.T) {
	t.Parallel()
	type shape struct {
		result string
		reason probe.Reason
	}
	both := fakemcp.Config{Tools: fakemcp.Tools("a"), Resources: fakemcp.Resources("file:///a"), Prompts: fakemcp.Prompts("p")}
	for method, shapes := range map[string][]shape{
		"tools/list": {
			{`{"tools":null}`, "tools-not-array"},
			{`{"tools":{}}`, "tools-not-array"},
			{`{}`, "tools-not-array"},
			{`{"tools":"a"}`, "tools-not-array"},
			{`{"tools":[null]}`, "tool-entry-invalid"},
			{`{"tools":["a"]}`, "tool-entry-invalid"},
			{`{"tools":[{"inputSchema":{"type":"object"}}]}`, "tool-entry-invalid"},
			{`{"tools":[{"name":7,"inputSchema":{"type":"object"}}]}`, "tool-entry-invalid"},
		},
		"resources/list": {
			{`{"resources":null}`, "resources-not-array"}, {`{"resources":[null]}`, "resource-entry-invalid"}, {`{"resources":[{"name":"a"}]}`, "resource-entry-invalid"},
		},
		"resources/templates/list": {
			{`{"resourceTemplates":null}`, "resource-templates-not-array"}, {`{"resourceTemplates":[null]}`, "resource-template-entry-invalid"},
		},
		"prompts/list": {
			{`{"prompts":null}`, "prompts-not-array"}, {`{"prompts":[{}]}`, "prompt-entry-invalid"},
		},
	} {
		for _, s := range shapes {
			t.Run(method+" "+s.result, func(t *testing.T) {
				t.Parallel()
				srv := fakemcp.New(t, both)
				srv.On(method, fakemcp.Result(s.result))
				inventory, _, _ := strings.Cut(method, "/")
				r := check(t, srv.Target(), probe.Options{})
				verify(t, r, want{status: probe.StatusUnhealthy, step: inventory, reason: s.reason})
			})
		}
	}
}

func TestFieldC13PaginationLoop(t *testing.T) {
	t.Parallel()
	eight := strings.Join(fakemcp.ManyTools(8), ",")
	for _, cursor := range []string{"", "abc"} {
		t.Run("always "+cursor, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("tools/list", fakemcp.Result(`{"tools":[`+eight+`],"nextCursor":"`+cursor+`"}`))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{notes: []probe.Reason{"pagination-loop"}})
			toolCount(t, r, 8)
			listings := srv.Received("tools/list")
			if len(listings) != 2 {
				t.Fatalf("tools/list was sent %d times", len(listings))
			}
			contains(t, "the second page", string(listings[1].Params), `"cursor":"`+cursor+`"`)
			if strings.Contains(string(listings[0].Params), "cursor") {
				t.Errorf("the first page was asked for with %s", listings[0].Params)
			}
		})
	}
	t.Run("in a circle", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		page := func(next string) fakemcp.Handler {
			return fakemcp.Result(`{"tools":[` + eight + `],"nextCursor":"` + next + `"}`)
		}
		srv.On("tools/list", fakemcp.Sequence(page("a"), page("b"), page("a"), page("b")))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{notes: []probe.Reason{"pagination-loop"}})
		toolCount(t, r, 8)
		if n := srv.Count("tools/list"); n > 4 {
			t.Errorf("tools/list was sent %d times", n)
		}
	})
	t.Run("and nothing usable", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("tools/list", fakemcp.Result(`{"tools":[],"nextCursor":"abc"}`))
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "pagination-loop"})
		if n := srv.Count("tools/list"); n != 2 {
			t.Errorf("tools/list was sent %d times", n)
		}
	})
	t.Run("the empty cursor leads on", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("tools/list", fakemcp.Sequence(
			fakemcp.Result(`{"tools":[`+fakemcp.Tool("a")+`],"nextCursor":""}`),
			fakemcp.Result(`{"tools":[`+fakemcp.Tool("b")+`]}`),
		))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		toolCount(t, r, 2)
	})
}

func TestFieldC13FreshCursorsForEver(t *testing.T) {
	t.Parallel()
	for name, tools := range map[string]string{"same tools": fakemcp.Tool("a"), "no tools": ""} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.On("tools/list", func(x *fakemcp.Exchange) {
				x.Result(fmt.Sprintf(`{"tools":[%s],"nextCursor":"c%d"}`, tools, x.Seq))
			})
			r := check(t, srv.Target(), probe.Options{Limits: target.Limits{Pages: 5}})
			verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "pagination-limit", text: []string{"5"}})
			if n := srv.Count("tools/list"); n != 5 {
				t.Errorf("tools/list was sent %d times", n)
			}
			if r.Inventory != nil && r.Inventory.Tools != nil {
				t.Error("a truncated list was handed on")
			}
		})
	}
	if probe.DefaultPages != 100 || probe.DefaultEntries != 10_000 || probe.DefaultResponseBytes != 4<<20 {
		t.Error("the default limits are not those of the design")
	}
}

func TestFieldC13PagesToTheirEnd(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]fakemcp.Config{"legacy": {}, "modern": {Era: fakemcp.Modern}} {
		cfg.Tools, cfg.PageSize = fakemcp.ManyTools(50), 10
		srv := fakemcp.New(t, cfg)
		r := check(t, srv.Target(), probe.Options{Limits: target.Limits{Pages: 5}})
		verify(t, r, want{})
		toolCount(t, r, 50)
		r = check(t, srv.Target(), probe.Options{Limits: target.Limits{Entries: 49}})
		verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "entry-limit", text: []string{"49"}})
		if r.Era != name {
			t.Errorf("era is %s", r.Era)
		}
	}
}

func TestFieldC15ToolSchema(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ members, pointer string }{
		"anyOf":           {`"inputSchema":{"anyOf":[{"type":"object"}]}`, "/inputSchema/type"},
		"empty":           {`"inputSchema":{}`, "/inputSchema/type"},
		"string":          {`"inputSchema":{"type":"string"}`, "/inputSchema/type"},
		"missing":         {`"title":"no schema"`, "/inputSchema"},
		"null":            {`"inputSchema":null`, "/inputSchema"},
		"array of types":  {`"inputSchema":{"type":["object"]}`, "/inputSchema/type"},
		"required null":   {`"inputSchema":{"type":"object","required":null}`, "/inputSchema/required"},
		"properties null": {`"inputSchema":{"type":"object","properties":null}`, "/inputSchema/properties"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("first"), `{"name":"second",` + tc.members + `}`, fakemcp.Tool("third")}})
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{
				status: probe.StatusUnhealthy, step: probe.StepTools, reason: "tool-schema",
				text: []string{`"second"`, tc.pointer, "1 of 3 tools", "strict clients show none of its tools"},
			})
			if d := step(t, r, probe.StepTools).Details; d["tool"] != "second" || d["index"] != 1 || d["pointer"] != tc.pointer {
				t.Errorf("details: %v", d)
			}
		})
	}
}

func TestFieldC15LegalSchemas(t *testing.T) {
	t.Parallel()
	var tools []string
	for i, schema := range []string{
		`{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":"object","additionalProperties":{}}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":false}`,
		`{"type":"object","required":[]}`, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","anyOf":[{"required":["a"]}]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":["string","null"]}}}`,
	} {
		tools = append(tools, fakemcp.Tool(fmt.Sprintf("tool_%d", i), `"inputSchema":`+schema))
	}
	srv := fakemcp.New(t, fakemcp.Config{Tools: tools})
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{})
	toolCount(t, r, len(tools))
}

func TestFieldC18OutputSchema(t *testing.T) {
	t.Parallel()
	tool := fakemcp.SafeTool("report", `"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for name, tc := range map[string]struct {
		result string
		want   want
	}{
		"text only":      {`{"content":[{"type":"text","text":"3"}]}`, want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "output-schema"}},
		"wrong shape":    {`{"content":[],"structuredContent":{"n":"three"}}`, want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "output-schema"}},
		"missing member": {`{"content":[],"structuredContent":{}}`, want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "output-schema"}},
		"error of its own shape": {
			`{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"error":"no"}}`,
			want{status: probe.StatusUnhealthy, step: probe.StepCall, reason: "tool-error"},
		},
		"as declared": {`{"content":[{"type":"text","text":"3"}],"structuredContent":{"n":3}}`, want{}},
	} {
		for era, kind := range map[string]fakemcp.Era{"legacy": fakemcp.Legacy, "modern": fakemcp.Modern} {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				srv := fakemcp.New(t, fakemcp.Config{Era: kind, Tools: []string{tool}, CallResult: tc.result, Callable: true})
				verify(t, check(t, srv.Target(), probe.Options{}), want{})
				if srv.Count("tools/call") != 0 {
					t.Fatal("a passive check called a tool")
				}
				tgt := calling(srv.Target(), "report", "")
				verify(t, check(t, tgt, probe.Options{}), tc.want)
				if n := srv.Count("tools/call"); n != 1 {
					t.Errorf("the tool was called %d times", n)
				}
			})
		}
	}
}

// calling asks for a functional call on top of the default dimensions.
func calling(t *target.Target, tool, arguments string) *target.Target {
	t.Checks = append(target.DefaultDimensions(), target.Functional)
	t.Call = &target.Call{Tool: tool, Safe: true, Arguments: []byte(arguments)}
	return t
}

func TestFieldC19Names(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 130)
	pages := func(first, second string) fakemcp.Handler {
		return fakemcp.Sequence(fakemcp.Result(`{"tools":[`+first+`],"nextCursor":"2"}`), fakemcp.Result(`{"tools":[`+second+`]}`))
	}
	t.Run("all together", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		five := strings.Join([]string{
			fakemcp.Tool("a"), fakemcp.Tool("a", `"inputSchema":{"type":"object","required":["x"]}`),
			fakemcp.Tool("admin.list"), fakemcp.Tool("user/update"), fakemcp.Tool(long),
		}, ",")
		srv.On("tools/list", pages(five, fakemcp.Tool("a")))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{notes: []probe.Reason{"duplicate-tool", "tool-name", "tool-name-portable"}})
		contains(t, "the note", note(t, r, "duplicate-tool").Text, `"a"`)
		contains(t, "the note", note(t, r, "tool-name").Text, "128")
	})
	t.Run("repeated unchanged", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.On("tools/list", pages(fakemcp.Tool("a")+","+fakemcp.Tool("b"), fakemcp.Tool("a")))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		toolCount(t, r, 2)
	})
	for name, notes := range map[string][]probe.Reason{
		"admin.list": {"tool-name-portable"}, "user/update": {"tool-name-portable"},
		"with space": {"tool-name"}, "größe": {"tool-name"}, long: {"tool-name"},
		strings.Repeat("n", 128): nil, "a_b-C9": nil,
	} {
		srv := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.Tools(name)})
		verify(t, check(t, srv.Target(), probe.Options{}), want{notes: notes})
	}
}

const (
	listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	logMessage  = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`
)

func TestFieldC21NotificationsFirst(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		early := fakemcp.Reply{Before: []string{listChanged, logMessage}}
		proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"*": early}})
		r := check(t, proc.Target(), probe.Options{})
		verify(t, r, want{})
		toolCount(t, r, 2)
	})
	t.Run("before anything was asked", func(t *testing.T) {
		proc := fakemcp.Stdio(t, fakemcp.Script{Banner: []string{listChanged, logMessage}})
		verify(t, check(t, proc.Target(), probe.Options{}), want{})
	})
	t.Run("SSE", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		srv.OnHTTP("POST", fakemcp.Framed(func(msg string) fakemcp.Response {
			return fakemcp.Stream(fakemcp.Event(listChanged), fakemcp.Event(logMessage), fakemcp.Event(msg))
		}))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		toolCount(t, r, 2)
	})
	t.Run("legacy SSE", func(t *testing.T) {
		srv := fakemcp.NewSSE(t, fakemcp.Config{})
		srv.On("initialize", func(x *fakemcp.Exchange) {
			srv.Push(listChanged)
			srv.Push(logMessage)
			x.Default()
		})
		verify(t, check(t, srv.Target(), probe.Options{}), want{})
	})
}

func TestFieldC23NullFields(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("tools/list", fakemcp.Result(`{"nextCursor":null,"tools":[{"name":"a","description":null,"annotations":null,"inputSchema":{"type":"object"}}]}`))
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"null-field"}})
	toolCount(t, r, 1)
	texts := ""
	for _, n := range r.Notes {
		texts += n.Text + "\n"
	}
	contains(t, "the notes", texts, "/nextCursor", "/tools/0/description", "/tools/0/annotations")
	if n := srv.Count("tools/list"); n != 1 {
		t.Errorf("tools/list was sent %d times", n)
	}
}

func TestFieldC24Capabilities(t *testing.T) {
	t.Parallel()
	t.Run("not offered", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{})
		for _, name := range []string{probe.StepResources, probe.StepPrompts} {
			if c := step(t, r, name); !c.Skipped || !c.Passed || c.DurationMs != 0 {
				t.Errorf("%s is %+v", name, c)
			}
		}
		if srv.Count("resources/list")+srv.Count("resources/templates/list")+srv.Count("prompts/list") != 0 {
			t.Errorf("methods: %v", srv.Methods())
		}
	})
	t.Run("offered and unknown", func(t *testing.T) {
		for _, era := range []fakemcp.Era{fakemcp.Legacy, fakemcp.Modern} {
			srv := fakemcp.New(t, fakemcp.Config{Era: era, Tools: fakemcp.Tools("a"), Capabilities: `{"tools":{},"resources":{},"prompts":{}}`})
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{notes: []probe.Reason{"capability-mismatch"}})
		}
	})
	t.Run("templates unknown", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{Resources: fakemcp.Resources("file:///a")})
		srv.On("resources/templates/list", fakemcp.Error(-32601, "Method not found"))
		verify(t, check(t, srv.Target(), probe.Options{}), want{notes: []probe.Reason{"capability-mismatch"}})
	})
	t.Run("offered and failing", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{Prompts: fakemcp.Prompts("p")})
		srv.On("prompts/list", fakemcp.Error(-32603, "database is gone"))
		verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepPrompts, reason: "rpc-error", text: []string{"-32603", "database is gone"}})
	})
}

func TestFieldServerPing(t *testing.T) {
	t.Parallel()
	ping, sampling := `{"jsonrpc":"2.0","id":"srv-1","method":"ping"}`, `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`
	t.Run("stdio", func(t *testing.T) {
		proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"tools/list": {Before: []string{ping, sampling}}}})
		verify(t, check(t, proc.Target(), probe.Options{}), want{anyNotes: true})
		answers := strings.Join(proc.Answers(), "\n")
		contains(t, "the answers", answers, `"id":"srv-1"`, `"result":{}`, `"id":7`, `-32601`)
	})
	t.Run("SSE", func(t *testing.T) {
		srv := fakemcp.New(t, fakemcp.Config{})
		answered := fakemcp.NewGate()
		srv.On("", func(x *fakemcp.Exchange) {
			x.Default()
			if strings.Contains(string(x.Body), `"srv-1"`) {
				answered.Open()
			}
		})
		// The answer comes only once the ping was answered.
		srv.On("tools/list", fakemcp.Framed(func(msg string) fakemcp.Response {
			r := fakemcp.Stream(fakemcp.Event(sampling), fakemcp.Event(ping))
			r.Gate, r.Rest = answered, fakemcp.Event(msg)
			return r
		}))
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{anyNotes: true})
		toolCount(t, r, 2)
	})
	t.Run("legacy SSE", func(t *testing.T) {
		srv := fakemcp.NewSSE(t, fakemcp.Config{})
		srv.On("tools/list", func(x *fakemcp.Exchange) {
			srv.Push(ping)
			x.Text(202, "text/plain", "Accepted")
		})
		srv.On("", func(x *fakemcp.Exchange) {
			x.Text(202, "text/plain", "Accepted")
			contains(t, "the answer", string(x.Body), `"id":"srv-1"`, `"result":{}`)
			listing := srv.Received("tools/list")[0]
			srv.Push(`{"jsonrpc":"2.0","id":` + string(listing.ID) + `,"result":{"tools":[]}}`)
		})
		r := check(t, srv.Target(), probe.Options{})
		verify(t, r, want{anyNotes: true})
		toolCount(t, r, 0)
	})
}
