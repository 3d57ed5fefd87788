package probe_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// What the design decides about verdicts, steps and budgets. The rows that a
// field case covers are not repeated.

func ptr(n int) *int { return &n }

func TestDesignMalformedAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer fakemcp.Handler
		reason probe.Reason
	}{
		"no JSON":          {fakemcp.Raw(`tools: a, b`), "malformed-json"},
		"cut off":          {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":{"tools":[`), "malformed-json"},
		"two documents":    {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]}}{}`), "malformed-json"},
		"very deep":        {fakemcp.Raw(strings.Repeat("[", 200_000)), "malformed-json"},
		"very deep result": {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":` + strings.Repeat(`{"a":`, 100_000) + `1` + strings.Repeat("}", 100_000) + `}`), "malformed-json"},
		"empty":            {fakemcp.Raw(""), "empty-response"},
		"accepted":         {fakemcp.Respond(fakemcp.Response{Status: 202}), "empty-response"},
		"no content":       {fakemcp.Respond(fakemcp.Response{Status: 204}), "empty-response"},
		"a number":         {fakemcp.Raw(`7`), "malformed-message"},
		"no version":       {fakemcp.Raw(`{"id":$ID,"result":{"tools":[]}}`), "malformed-message"},
		"other version":    {fakemcp.Raw(`{"jsonrpc":"1.0","id":$ID,"result":{"tools":[]}}`), "malformed-message"},
		"no answer":        {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID}`), "malformed-message"},
		"two answers":      {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"m"}}`), "malformed-message"},
		"result no object": {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":[]}`), "malformed-message"},
		"null result":      {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":null}`), "malformed-message"},
		"error no object":  {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"error":"no"}`), "malformed-message"},
		"code in words":    {fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"error":{"code":"no","message":"m"}}`), "malformed-message"},
		"id as text":       {fakemcp.Raw(`{"jsonrpc":"2.0","id":"$ID","result":{"tools":[]}}`), "id-mismatch"},
		"other id":         {fakemcp.Raw(`{"jsonrpc":"2.0","id":987654,"result":{"tools":[]}}`), "id-mismatch"},
		"null id":          {fakemcp.Raw(`{"jsonrpc":"2.0","id":null,"result":{"tools":[]}}`), "id-mismatch"},
		"event: no JSON":   {fakemcp.Events("data: hello\n\n"), "malformed-json"},
		"event: id":        {fakemcp.Events(fakemcp.Event(`{"jsonrpc":"2.0","id":"$ID","result":{"tools":[]}}`)), "id-mismatch"},
		"event: nothing":   {fakemcp.Events(": bye\n\n"), "sse-ended"},
		"404":              {fakemcp.Text(404, "text/plain", "not found"), "http-status"},
		"418":              {fakemcp.Text(418, "text/plain", "teapot"), "http-status"},
		"429":              {fakemcp.Text(429, "text/plain", "slow down"), "rate-limited"},
		"RPC error":        {fakemcp.Error(-32603, "Internal error"), "rpc-error"},
		"RPC error on 400": {fakemcp.ErrorStatus(400, -32602, "Invalid params", ""), "rpc-error"},
		"cursor no string": {fakemcp.Result(`{"resultType":"complete","ttlMs":1,"cacheScope":"public","tools":[],"nextCursor":7}`), "malformed-message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
			srv.On("tools/list", tc.answer)
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: tc.reason})
			if n := srv.Count("tools/list"); n != 1 {
				t.Errorf("tools/list was sent %d times", n)
			}
		})
	}
}

func TestDesignIDsOnStdio(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{
		"tools/list": {Raw: []byte(`{"jsonrpc":"2.0","id":"$ID","result":{"tools":[]}}` + "\n")},
	}})
	r := check(t, proc.Target(), probe.Options{CheckTimeout: time.Second})
	if r.Status != probe.StatusUnhealthy || r.Surface != nil && r.Surface.Tools != nil {
		t.Errorf("an answer with the id as text was taken:\n%s", describe(r))
	}
	sound(t, r)
	if !strings.Contains(describe(r), "id-mismatch") {
		t.Errorf("the wrong id is not named:\n%s", describe(r))
	}
}

func TestDesignMalformedOpening(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{
		"no revision":     `{"capabilities":{},"serverInfo":{"name":"n","version":"1"}}`,
		"number":          `{"protocolVersion":20251125,"capabilities":{},"serverInfo":{"name":"n","version":"1"}}`,
		"no capabilities": `{"protocolVersion":"2025-11-25","serverInfo":{"name":"n","version":"1"}}`,
		"capability list": `{"protocolVersion":"2025-11-25","capabilities":["tools"],"serverInfo":{"name":"n","version":"1"}}`,
		"no server":       `{"protocolVersion":"2025-11-25","capabilities":{}}`,
		"no name":         `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"version":"1"}}`,
	} {
		t.Run("initialize "+name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.Allow("delete")
			srv.On("initialize", fakemcp.Result(result))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "invalid-initialize", code: probe.CodeHandshake})
			for _, later := range []string{probe.StepTools, probe.StepResources, probe.StepPrompts} {
				if c := step(t, r, later); !c.Skipped || c.Passed || !strings.Contains(c.Message, probe.StepInitialize) {
					t.Errorf("after a failed initialize, %s is %+v", later, c)
				}
			}
		})
	}
	for name, result := range map[string]string{
		"no capabilities": `{"resultType":"complete","ttlMs":1,"cacheScope":"public","supportedVersions":["2026-07-28"]}`,
		"capability list": `{"resultType":"complete","ttlMs":1,"cacheScope":"public","supportedVersions":["2026-07-28"],"capabilities":[]}`,
	} {
		t.Run("discover "+name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
			srv.On("server/discover", fakemcp.Result(result))
			r := check(t, srv.Target(), probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "invalid-discover"})
			sequence(t, srv.Methods(), "server/discover")
		})
	}
}

func TestDesignSessionID(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Stateless: true})
	srv.On("initialize", func(x *fakemcp.Exchange) {
		x.W.Header().Set("Mcp-Session-Id", "two words")
		x.Default()
	})
	verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "session-id"})
}

func TestDesignEdgeChallenge(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]fakemcp.Response{
		"header": {Status: 403, Type: "text/html", Header: map[string]string{"Cf-Mitigated": "challenge", "Server": "cloudflare"}, Body: "<html>"},
		"page":   {Status: 403, Type: "text/html", Body: `<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>`},
		"200":    {Status: 200, Type: "text/html", Body: `<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>`},
		"503":    {Status: 503, Type: "text/html", Body: `<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>`},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			srv.OnHTTP("POST", fakemcp.Respond(answer))
			verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnknown, reason: "edge-challenge"})
		})
	}
}

func TestDesignRequired(t *testing.T) {
	t.Parallel()
	all := fakemcp.Config{Tools: fakemcp.Tools("a"), Resources: fakemcp.Resources("file:///a"), Prompts: fakemcp.Prompts("p")}
	there := target.Expectations{Tools: []string{"a"}, Resources: []string{"file:///a"}, Prompts: []string{"p"}}
	srv := fakemcp.New(t, all)
	tgt := srv.Target()
	tgt.Expect = there
	verify(t, check(t, tgt, probe.Options{}), want{})

	for name, expect := range map[string]target.Expectations{
		probe.StepTools: {Tools: []string{"a", "b"}}, probe.StepResources: {Resources: []string{"file:///b"}}, probe.StepPrompts: {Prompts: []string{"q"}},
	} {
		for kind, cfg := range map[string]fakemcp.Config{"listed": all, "not declared": {Capabilities: `{"logging":{}}`}} {
			t.Run(name+" "+kind, func(t *testing.T) {
				srv := fakemcp.New(t, cfg)
				tgt := srv.Target()
				tgt.Expect = expect
				r := check(t, tgt, probe.Options{})
				verify(t, r, want{status: probe.StatusUnhealthy, step: name, reason: "required-missing"})
				r = check(t, srv.Target(), probe.Options{Expect: expect})
				verify(t, r, want{status: probe.StatusUnhealthy, step: name, reason: "required-missing"})
			})
		}
	}
}

func TestDesignCounts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		expect target.Expectations
		step   string
		reason probe.Reason
	}{
		"min tools":     {target.Expectations{MinTools: ptr(3)}, probe.StepTools, "too-few"},
		"max tools":     {target.Expectations{MaxTools: ptr(1)}, probe.StepTools, "too-many"},
		"max zero":      {target.Expectations{MaxTools: ptr(0)}, probe.StepTools, "too-many"},
		"min resources": {target.Expectations{MinResources: ptr(1)}, probe.StepResources, "too-few"},
		"min prompts":   {target.Expectations{MinPrompts: ptr(1)}, probe.StepPrompts, "too-few"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := fakemcp.New(t, fakemcp.Config{})
			r := check(t, srv.Target(), probe.Options{Expect: tc.expect})
			verify(t, r, want{status: probe.StatusDegraded, step: tc.step, reason: tc.reason, code: probe.CodeThreshold})
			if step(t, r, tc.step).Passed || !r.Passed() {
				t.Errorf("a count outside its bounds fails the step and degrades the report:\n%s", describe(r))
			}
			if probe.Healthy(t.Context(), srv.Target(), probe.Options{Expect: tc.expect}) {
				t.Error("Healthy is true for degraded")
			}
		})
	}
	srv := fakemcp.New(t, fakemcp.Config{})
	fits := target.Expectations{MinTools: ptr(2), MaxTools: ptr(2), MinResources: ptr(0), MinPrompts: ptr(0)}
	verify(t, check(t, srv.Target(), probe.Options{Expect: fits}), want{})
}

func TestDesignLatency(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	srv.On("tools/list", fakemcp.Delayed(150*time.Millisecond, fakemcp.Default()))
	r := check(t, srv.Target(), probe.Options{Expect: target.Expectations{MaxLatency: 50 * time.Millisecond}})
	verify(t, r, want{status: probe.StatusDegraded, step: probe.StepTools, reason: "slow"})
	if !step(t, r, probe.StepTools).Passed || r.Summary.Failed != 0 {
		t.Errorf("a slow step does not fail:\n%s", describe(r))
	}

	srv = fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	srv.On("server/discover", fakemcp.Delayed(150*time.Millisecond, fakemcp.Default()))
	r = check(t, srv.Target(), probe.Options{Expect: target.Expectations{FirstResponse: 50 * time.Millisecond}})
	verify(t, r, want{status: probe.StatusDegraded, step: probe.StepLatency, reason: "slow"})
	r = check(t, srv.Target(), probe.Options{Expect: target.Expectations{FirstResponse: time.Minute}})
	verify(t, r, want{})
	if c := step(t, r, probe.StepLatency); c.DurationMs < 100 {
		t.Errorf("latency is %v ms", c.DurationMs)
	}
}

func TestDesignWorstWins(t *testing.T) {
	t.Parallel()
	cfg := fakemcp.Config{Tools: fakemcp.ManyTools(3), Prompts: fakemcp.Prompts("p")}
	tools := map[probe.Status]func(*fakemcp.Server, *target.Target){
		probe.StatusHealthy:  func(*fakemcp.Server, *target.Target) {},
		probe.StatusDegraded: func(_ *fakemcp.Server, tgt *target.Target) { tgt.Expect.MinTools = ptr(9) },
		probe.StatusUnknown: func(s *fakemcp.Server, _ *target.Target) {
			s.On("tools/list", fakemcp.Result(`{"tools":[`+strings.Repeat(" ", 3000)+`]}`))
		},
		probe.StatusMisconfigured: func(s *fakemcp.Server, _ *target.Target) {
			s.On("tools/list", fakemcp.Unauthorized("Bearer"))
		},
		probe.StatusUnhealthy: func(s *fakemcp.Server, _ *target.Target) { s.On("tools/list", fakemcp.Error(-1, "no")) },
	}
	prompts := map[probe.Status]func(*fakemcp.Server, *target.Target){
		probe.StatusDegraded:  func(_ *fakemcp.Server, tgt *target.Target) { tgt.Expect.MinPrompts = ptr(9) },
		probe.StatusUnhealthy: func(s *fakemcp.Server, _ *target.Target) { s.On("prompts/list", fakemcp.Error(-1, "no")) },
	}
	for a, first := range tools {
		for b, second := range prompts {
			if a == probe.StatusMisconfigured && b == probe.StatusUnhealthy {
				continue // the refusal ends the check
			}
			srv := fakemcp.New(t, cfg)
			tgt := srv.Target()
			first(srv, tgt)
			second(srv, tgt)
			r := check(t, tgt, probe.Options{Limits: target.Limits{ResponseBytes: 2000}})
			sound(t, r)
			if expected := a.Worse(b); r.Status != expected {
				t.Errorf("%s and %s gave %s, want %s:\n%s", a, b, r.Status, expected, describe(r))
			}
		}
	}
}

func TestDesignSteps(t *testing.T) {
	t.Parallel()
	names := func(r *probe.Report) []string {
		var list []string
		for _, c := range r.Checks {
			list = append(list, c.Name)
		}
		return list
	}
	srv := fakemcp.New(t, fakemcp.Config{Resources: fakemcp.Resources("file:///a"), Templates: fakemcp.Templates("file:///{a}"), Prompts: fakemcp.Prompts("p")})
	var progress []string
	r := check(t, srv.Target(), probe.Options{Progress: func(s string) { progress = append(progress, s) }})
	verify(t, r, want{})
	standard := []string{probe.StepConnect, probe.StepInitialize, probe.StepTools, probe.StepResources, probe.StepPrompts}
	if got := names(r); !slices.Equal(got, standard) {
		t.Errorf("steps: %v", got)
	}
	if !slices.Equal(progress, []string{probe.StepConnect, probe.StepInitialize, probe.StepResources, probe.StepPrompts}) {
		t.Errorf("progress: %v", progress)
	}
	if s := r.Surface; s == nil || s.Resources == nil || s.ResourceTemplates == nil || s.Prompts == nil {
		t.Fatalf("surface: %+v", s)
	}
	if s := r.Surface; s.Tools != nil || *s.Resources != 1 || *s.ResourceTemplates != 1 || *s.Prompts != 1 {
		t.Errorf("surface: %+v", s)
	}
	if r.Summary != (probe.Summary{Total: 4, Passed: 4, Skipped: 1}) {
		t.Errorf("summary: %+v", r.Summary)
	}
	if c := step(t, r, probe.StepResources); c.Details["templateCount"] != 1 {
		t.Errorf("the templates are not details of resources: %v", c.Details)
	}
	r = check(t, srv.Target(), probe.Options{Skip: []string{"resources", "prompts"}})
	verify(t, r, want{})
	if !step(t, r, probe.StepResources).Skipped || !step(t, r, probe.StepPrompts).Skipped {
		t.Errorf("what was to be skipped ran:\n%s", describe(r))
	}
	if srv.Count("prompts/list") != 1 || srv.Count("resources/list") != 1 {
		t.Errorf("methods: %v", srv.Methods())
	}
	if c := step(t, r, probe.StepConnect); c.Stages == nil || c.Stages.FirstByte == nil || c.Stages.TCP == nil || c.Stages.DNS != nil || c.Stages.TLS != nil {
		t.Errorf("stages: %+v", c.Stages)
	}
}

func TestDesignOneFailureDoesNotHideTheNext(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.Tools("a"), Prompts: fakemcp.Prompts("p")})
	srv.On("tools/list", fakemcp.Error(-32603, "tools are gone"))
	srv.On("prompts/list", fakemcp.Error(-32603, "prompts are gone"))
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "rpc-error", text: []string{"tools are gone"}, code: probe.CodeProtocol})
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepPrompts, reason: "rpc-error", text: []string{"prompts are gone"}, code: probe.CodeProtocol})
}

func TestDesignTimeouts(t *testing.T) {
	t.Parallel()
	cfg := fakemcp.Config{Tools: fakemcp.Tools("a"), Prompts: fakemcp.Prompts("p")}
	t.Run("step", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, cfg)
		srv.On("tools/list", fakemcp.Hang())
		r := check(t, srv.Target(), short())
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "timeout", code: probe.CodeCheckTimeout})
		if c := step(t, r, probe.StepPrompts); !c.Passed || c.Skipped {
			t.Errorf("the next step did not run: %+v", c)
		}
	})
	t.Run("overall", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, cfg)
		srv.On("tools/list", fakemcp.Hang())
		start := time.Now()
		r := check(t, srv.Target(), probe.Options{Timeout: 700 * time.Millisecond, Custom: []probe.Custom{custom("mine", true, nil)}})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "timeout", code: probe.CodeOverallTimeout})
		for _, later := range []string{probe.StepResources, probe.StepPrompts, "mine"} {
			if c := step(t, r, later); !c.Skipped || c.Passed || c.Error == nil || c.Error.Code != probe.CodeOverallTimeout {
				t.Errorf("after the overall timeout, %s is %+v", later, c)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		if n := srv.Count("HTTP DELETE"); n != 1 {
			t.Errorf("the session was deleted %d times", n)
		}
	})
	t.Run("of the target", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, cfg)
		srv.On("tools/list", fakemcp.Hang())
		tgt := srv.Target()
		tgt.Budgets.Steps = map[target.Dimension]time.Duration{target.Capability: 500 * time.Millisecond}
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "timeout", code: probe.CodeCheckTimeout})
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		srv.On("tools/list", func(x *fakemcp.Exchange) { cancel(); x.Hang() })
		r := checkContext(t, ctx, srv.Target(), probe.Options{Custom: []probe.Custom{custom("mine", true, nil)}})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "aborted", code: probe.CodeAborted})
		for _, later := range []string{probe.StepResources, probe.StepPrompts, "mine"} {
			if c := step(t, r, later); !c.Skipped {
				t.Errorf("after the cancellation, %s is %+v", later, c)
			}
		}
	})
	t.Run("cancelled before", func(t *testing.T) {
		t.Parallel()
		srv := fakemcp.New(t, cfg)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := checkContext(t, ctx, srv.Target(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnhealthy, reason: "aborted", code: probe.CodeAborted})
		if len(srv.Requests()) != 0 {
			t.Errorf("methods: %v", srv.Methods())
		}
	})
}

// custom is a custom check that passes, or does what run does.
func custom(name string, required bool, run func(context.Context, *probe.Session) (probe.CustomResult, error)) probe.Custom {
	if run == nil {
		run = func(context.Context, *probe.Session) (probe.CustomResult, error) {
			return probe.CustomResult{Passed: true, Message: "fine"}, nil
		}
	}
	return probe.Custom{Name: name, Required: required, Run: run}
}

func TestDesignCustomChecks(t *testing.T) {
	t.Parallel()
	type outcome = func(context.Context, *probe.Session) (probe.CustomResult, error)
	for name, tc := range map[string]struct {
		run    outcome
		failed bool
		code   string
	}{
		"passes": {nil, false, ""},
		"does not pass": {func(context.Context, *probe.Session) (probe.CustomResult, error) {
			return probe.CustomResult{Message: "too few", Details: map[string]any{"have": 2}}, nil
		}, true, probe.CodeCustomCheck},
		"error": {func(context.Context, *probe.Session) (probe.CustomResult, error) {
			return probe.CustomResult{Passed: true}, errors.New("broke")
		}, true, probe.CodeCustomCheck},
		"panic": {func(context.Context, *probe.Session) (probe.CustomResult, error) { panic("at the disco") }, true, probe.CodeCustomCheck},
		"too slow": {func(ctx context.Context, _ *probe.Session) (probe.CustomResult, error) {
			<-ctx.Done()
			return probe.CustomResult{}, ctx.Err()
		}, true, probe.CodeCheckTimeout},
		"deaf": {func(context.Context, *probe.Session) (probe.CustomResult, error) {
			time.Sleep(3 * time.Second)
			return probe.CustomResult{Passed: true}, nil
		}, true, probe.CodeCheckTimeout},
	} {
		for required, status := range map[bool]probe.Status{true: probe.StatusUnhealthy, false: probe.StatusDegraded} {
			t.Run(fmt.Sprintf("%s %t", name, required), func(t *testing.T) {
				t.Parallel()
				srv := fakemcp.New(t, fakemcp.Config{})
				r := check(t, srv.Target(), probe.Options{CheckTimeout: time.Second, Custom: []probe.Custom{custom("mine", required, tc.run), custom("next", true, nil)}})
				w := want{}
				if tc.failed {
					w = want{status: status, step: "mine", reason: "custom-check", code: tc.code}
				}
				verify(t, r, w)
				if c := step(t, r, "next"); !c.Passed || c.Message != "fine" {
					t.Errorf("the next one is %+v", c)
				}
				if last := r.Checks[len(r.Checks)-1].Name; last != "next" {
					t.Errorf("the last step is %s", last)
				}
			})
		}
	}
}

func TestDesignCustomChecksGetTheSession(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Callable: true})
	run := func(ctx context.Context, s *probe.Session) (probe.CustomResult, error) {
		if len(s.Tools()) != 2 || s.Server().Name != "fake" || s.Era() != "legacy" {
			return probe.CustomResult{}, fmt.Errorf("the session is %v %v %v", s.Tools(), s.Server(), s.Era())
		}
		raw, err := s.Call(ctx, "tools/call", map[string]any{"name": "search"})
		return probe.CustomResult{Passed: strings.Contains(string(raw), `"ok"`), Message: "called", Details: map[string]any{"bytes": len(raw)}}, err
	}
	r := check(t, srv.Target(), probe.Options{Custom: []probe.Custom{custom("mine", true, run)}})
	verify(t, r, want{})
	if c := step(t, r, "mine"); c.Details["bytes"] == nil || c.Message != "called" {
		t.Errorf("the result is %+v", c)
	}
	sequence(t, srv.Methods(), "server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call", "HTTP DELETE")
}

func TestDesignSkippedAfterFailure(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.Text(500, "text/plain", "no"))
	ran := false
	mine := custom("mine", true, func(context.Context, *probe.Session) (probe.CustomResult, error) {
		ran = true
		return probe.CustomResult{}, nil
	})
	r := check(t, calling(srv.Target(), "search", ""), probe.Options{Custom: []probe.Custom{mine}})
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepInitialize, reason: "http-5xx"})
	for _, later := range []string{probe.StepTools, probe.StepResources, probe.StepPrompts, probe.StepCall, "mine"} {
		if c := step(t, r, later); !c.Skipped || c.Passed || !strings.Contains(c.Message, probe.StepInitialize) {
			t.Errorf("%s is %+v", later, c)
		}
	}
	if ran {
		t.Error("a custom check ran without a session")
	}
	if r.Summary.Failed != 1 {
		t.Errorf("summary: %+v", r.Summary)
	}
}

func TestDesignBadConfiguration(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	t.Cleanup(func() {
		if n := len(srv.Requests()); n != 0 {
			t.Errorf("%d requests were sent for targets that are misconfigured", n)
		}
	})
	for name, tc := range map[string]struct {
		change func(*target.Target)
		reason probe.Reason
	}{
		"no endpoint": {func(t *target.Target) { t.Endpoint = "" }, "invalid-endpoint"},
		"scheme":      {func(t *target.Target) { t.Endpoint = "ftp://127.0.0.1/mcp" }, "invalid-endpoint"},
		"user":        {func(t *target.Target) { t.Endpoint = strings.Replace(t.Endpoint, "//", "//me:sesame-opens@", 1) }, "invalid-endpoint"},
		"unknown pin": {func(t *target.Target) { t.ProtocolVersion = "2025-11-26" }, "unknown-pin"},
		"problem": {func(t *target.Target) {
			t.Problem = &target.Problem{Reason: "missing-variable", Text: "TOKEN is not set (mcpvigil.yaml:7)", Hint: "set it"}
		}, "missing-variable"},
		"secret unset": {func(t *target.Target) {
			t.Headers = []target.Header{target.Bearer(target.FromEnv("FAKE_NOT_SET_ANYWHERE"))}
		}, "unreadable-secret"},
		"plaintext": {func(t *target.Target) {
			t.Endpoint = "http://mcp.fake.test/mcp"
			t.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
		}, "plaintext-credential"},
		"header name":   {func(t *target.Target) { t.Headers = []target.Header{{Name: "a b", Value: target.Literal("x")}} }, "invalid-header"},
		"call not safe": {func(t *target.Target) { calling(t, "search", ""); t.Call.Safe = false }, "invalid-call"},
		"big arguments": {func(t *target.Target) { calling(t, "search", `{"a":"`+strings.Repeat("x", target.MaxArguments)+`"}`) }, "invalid-call"},
	} {
		t.Run(name, func(t *testing.T) {
			tgt := srv.Target()
			tc.change(tgt)
			r := check(t, tgt, probe.Options{Resolver: fakemcp.NewResolver()})
			verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepConfiguration, reason: tc.reason})
			if !step(t, r, probe.StepConnect).Skipped {
				t.Error("connect was not skipped")
			}
			if strings.Contains(describe(r), "sesame-opens") {
				t.Error("a secret is in the report")
			}
		})
	}
}

func TestDesignPlaintextOnPurpose(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	tgt := srv.TargetAs("mcp.fake.test")
	tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
	tgt.AllowPlaintextCredentials = true
	verify(t, check(t, tgt, probe.Options{Resolver: fakemcp.NewResolver("mcp.fake.test")}), want{})
}

func TestDesignSecretsStayOut(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.On("tools/list", fakemcp.Error(-32000, "token sesame-opens is not good \u202e\x1b[31m"))
	tgt := srv.Target()
	tgt.Endpoint += "?key=sesame-opens"
	tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
	r := check(t, tgt, probe.Options{})
	verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "rpc-error", text: []string{"-32000"}})
	data, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	evidence := fmt.Sprintf("%+v", r.Evidence)
	for what, text := range map[string]string{"report": string(data) + describe(r), "evidence": evidence} {
		if strings.Contains(text, "sesame-opens") {
			t.Errorf("a secret is in the %s: %s", what, text)
		}
		if strings.ContainsAny(text, "\u202e\x1b") {
			t.Errorf("control characters are in the %s: %q", what, text)
		}
	}
}

func TestDesignNothingIsSharedBetweenChecks(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
	verify(t, check(t, srv.Target(), probe.Options{}), want{})
	connections := srv.Connections()
	srv.On("server/discover", fakemcp.Text(404, "text/plain", "not found"))
	r := check(t, srv.Target(), probe.Options{})
	verify(t, r, want{})
	revisionIs(t, r, "legacy", "2025-11-25")
	if srv.Connections() == connections {
		t.Error("the second check used a connection of the first")
	}
	srv.On("server/discover", nil)
	r = check(t, srv.Target(), probe.Options{})
	verify(t, r, want{})
	revisionIs(t, r, "modern", "2026-07-28")
}

func TestDesignRetries(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.First(2, fakemcp.Reset()))
	tgt := srv.Target()
	tgt.Budgets.Retries, tgt.Budgets.RetryDelay = 2, time.Millisecond
	verify(t, check(t, tgt, probe.Options{}), want{})

	srv = fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.First(1, fakemcp.Reset()))
	verify(t, check(t, srv.Target(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "connection-reset"})

	srv = fakemcp.New(t, fakemcp.Config{})
	srv.OnHTTP("POST", fakemcp.Text(503, "text/plain", "no"))
	tgt = srv.Target()
	tgt.Budgets.Retries = 3
	verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusUnhealthy, reason: "http-5xx"})
	sequence(t, srv.Methods(), "server/discover")
}

func TestDesignHandler(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{})
	ask := func(method string, o probe.Options) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		probe.Handler(srv.Target(), o).ServeHTTP(w, httptest.NewRequest(method, "/healthz", http.NoBody))
		return w
	}
	if w := ask("GET", probe.Options{}); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"status":"healthy"`) {
		t.Errorf("healthy: %d %s", w.Code, w.Body)
	}
	if w := ask("HEAD", probe.Options{}); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %s", w.Code, w.Body)
	}
	if w := ask("GET", probe.Options{Expect: target.Expectations{MinTools: ptr(9)}}); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"status":"degraded"`) {
		t.Errorf("degraded: %d %s", w.Code, w.Body)
	}
	if w := ask("GET", probe.Options{Expect: target.Expectations{Tools: []string{"x"}}}); w.Code != http.StatusServiceUnavailable {
		t.Errorf("unhealthy: %d %s", w.Code, w.Body)
	}
	before := len(srv.Requests())
	if w := ask("POST", probe.Options{}); w.Code != http.StatusMethodNotAllowed || len(srv.Requests()) != before {
		t.Errorf("POST: %d", w.Code)
	}
}
