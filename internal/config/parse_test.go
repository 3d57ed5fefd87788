package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

var update = flag.Bool("update", false, "rewrite golden files and expectations")

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func mustParse(t *testing.T, text string, vars ...string) *File {
	t.Helper()
	f, err := Parse("test.yaml", []byte(text), Options{LookupEnv: env(vars...)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestInvalid reads each file of testdata/invalid and compares every mistake
// with the "# want:" lines at its end.
func TestInvalid(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Parse("f", data, Options{LookupEnv: env()})
			var errs *Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got %v, want *Errors", err)
			}
			var got strings.Builder
			for _, p := range errs.Problems {
				fmt.Fprintf(&got, "# want: %s\n", strings.TrimPrefix(p.Error(), "f:"))
			}
			body, want, _ := bytes.Cut(data, []byte("# want:"))
			if *update {
				if err := os.WriteFile(path, append(body, got.String()...), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff("# want:"+string(want), got.String()); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
			for _, text := range []string{err.Error(), errs.Detail()} {
				for _, secret := range []string{"hunter2", "ghp_", "sk-abc", "xoxb"} {
					if strings.Contains(text, secret) {
						t.Errorf("the error shows a secret (%s):\n%s", secret, text)
					}
				}
			}
		})
	}
}

const designExample = `
version: v1
concurrency: 16
defaults: {interval: 10m, timeout: 20s}
targets:
  - name: search
    id: search
    type: mcp
    endpoint: https://mcp.example.com/mcp
    auth: {bearer_env: SEARCH_TOKEN}            # or header: {name: X-API-Key, value_file: /run/secrets/key}; mode: oauth
    checks: [reachability, authentication, protocol, capability, latency]
    thresholds: {latency_ms: 800, min_tools: 3, max_tools: 40}
    mcp:
      protocol_version: '2026-07-28'
      required_tools: [search]
    monitor:
      interval: 1m
      drift_policy: alert
      tags: [prod, search]
      locations: [local]
      escalation: on-call
  - name: files
    type: mcp
    endpoint: stdio://files
    mcp:
      transport: stdio
      stdio: {command: npx, args: [-y, '@modelcontextprotocol/server-filesystem', /srv], env: {API_TOKEN: FILES_TOKEN}}
    dependencies: [{ref: search, critical: false}]
`

func TestParse(t *testing.T) {
	f := mustParse(t, designExample, "SEARCH_TOKEN", "x", "FILES_TOKEN", "x")
	three, forty := 3, 40
	search := &target.Target{
		Name: "search", ID: "search", Endpoint: "https://mcp.example.com/mcp", Transport: target.HTTP,
		Headers:         []target.Header{target.Bearer(target.FromEnv("SEARCH_TOKEN"))},
		ProtocolVersion: "2026-07-28",
		Checks:          []target.Dimension{target.Reachability, target.Authentication, target.Protocol, target.Capability, target.Latency},
		Expect:          target.Expectations{Tools: []string{"search"}, MinTools: &three, MaxTools: &forty, FirstResponse: 800 * time.Millisecond},
		Budgets:         target.Budgets{Overall: 20 * time.Second, RetryDelay: 100 * time.Millisecond},
	}
	files := &target.Target{
		Name: "files", Endpoint: "stdio://files", Transport: target.Stdio,
		Command: &target.Command{
			Path: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "/srv"},
			Env: []target.EnvVar{{Name: "API_TOKEN", Value: target.FromEnv("FILES_TOKEN")}},
		},
		Budgets:      search.Budgets,
		Dependencies: []target.Dependency{{Target: search, Optional: true}},
	}
	f.Warnings = nil // they have tests of their own
	want := &File{
		Name: "test.yaml", Version: "v1", Concurrency: 16, Defaults: Defaults{Interval: 10 * time.Minute, Timeout: 20 * time.Second},
		Targets: []*target.Target{search, files}, Nodes: map[string]*target.Target{"search": search},
		Monitors: []Monitor{
			{Target: search, Configured: true, Interval: time.Minute, Policy: surface.Policy{Base: surface.Alert}, Tags: []string{"prod", "search"}, Locations: []string{"local"}, Escalation: "on-call"},
			{
				Target: files, Interval: 10 * time.Minute, Policy: surface.Policy{Base: surface.Alert}, Locations: []string{"local"},
				Dependencies: []watch.Dependency{{Monitor: "search"}},
			},
		},
	}
	if diff := cmp.Diff(want, f, sameSecret, cmpopts.IgnoreUnexported(File{}, Monitor{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f.Targets[1].Dependencies[0].Target != f.Targets[0] || f.Nodes["search"] != f.Targets[0] {
		t.Error("a reference is not the same pointer as what it refers to")
	}
}

var sameSecret = cmp.Comparer(func(a, b target.Secret) bool { return a.Origin() == b.Origin() })

func TestParseEverything(t *testing.T) {
	f := mustParse(t, `
version: v1
targets:
  - name: all
    type: mcp
    endpoint: https://${HOST}:${PORT:-8443}/mcp/$${x}
    checks: [capability, functional]
    timeout_ms: 7000
    check_timeouts_ms: {capability: 9000}
    retries: 3
    retry_delay_ms: 0
    timeout: 1m30s
    allow_plaintext_credentials: true
    auth:
      headers:
        - {name: X-A, value_env: A, prefix: 'Token '}
        - {name: X-B, value_file: rule.go}
    thresholds: {latency_ms: 0, max_latency_ms: 1.5, min_resources: 1, min_prompts: 2}
    mcp:
      transport: streamable-http
      reachability: head
      required_resources: ['a://b']
      required_prompts: [p]
      functional:
        tool: search
        safe: true
        arguments: {z: 1, a: [true, null, 1.50, 12345678901234567890, 2026-07-28, "\t<"], m: {}}
  - name: sub
    type: mcp
    endpoint: stdio://sub
    dependencies:
      - {name: inner, id: inner, type: mcp, endpoint: 'http://localhost/sse', relationship: gateway, mcp: {transport: sse}}
    mcp:
      transport: stdio
      stdio: {command: '${HOST}', args: ['--k=${A}', plain], directory: /tmp, startup_timeout: 3s, stdin_grace: 1s, term_grace: 500ms}
`, "HOST", "h.example", "A", "s3cret")
	got := f.Targets[0]
	if got.Problem != nil {
		t.Fatal(got.Problem)
	}
	if got.Endpoint != "https://h.example:8443/mcp/${x}" {
		t.Errorf("endpoint %q", got.Endpoint)
	}
	if want := `{"z":1,"a":[true,null,1.50,12345678901234567890,"2026-07-28","\t<"],"m":{}}`; string(got.Call.Arguments) != want {
		t.Errorf("arguments\n%s, want\n%s", got.Call.Arguments, want)
	}
	want := target.Budgets{
		Overall: 90 * time.Second, Step: 7 * time.Second, Retries: 3,
		Steps: map[target.Dimension]time.Duration{target.Capability: 9 * time.Second},
	}
	if diff := cmp.Diff(want, got.Budgets); diff != "" {
		t.Error(diff)
	}
	if e := got.Expect; e.FirstResponse != 1 || e.MaxLatency != 1500*time.Microsecond || *e.MinResources != 1 || *e.MinPrompts != 2 {
		t.Errorf("%+v", e)
	}
	if !got.HeadReachability || !got.AllowPlaintextCredentials || got.Transport != target.HTTP {
		t.Errorf("%+v", got)
	}
	if h := got.Headers; h[0].Prefix != "Token " || h[0].Value.Variable() != "A" || h[1].Value.Path() != "rule.go" {
		t.Errorf("%+v", h)
	}
	sub := f.Targets[1]
	if d := sub.Dependencies[0]; d.Target != f.Nodes["inner"] || d.Optional || d.Relationship != target.Gateway || d.Target.Transport != target.SSE {
		t.Errorf("%+v", d)
	}
	c := sub.Command
	if c.Path != "h.example" || c.Args[0] != "--k=s3cret" || c.Dir != "/tmp" || c.StdinGrace != time.Second || c.TermGrace != 500*time.Millisecond || sub.Budgets.Startup != 3*time.Second {
		t.Errorf("%+v", c)
	}
	if sub.Address() != "h.example --k=${A} plain" {
		t.Errorf("address %q", sub.Address())
	}
}

// TestSeedExamples reads the configurations of agenthealth's manual unchanged.
func TestSeedExamples(t *testing.T) {
	const head = "version: v1\ntargets:\n  - name: x\n    type: mcp\n"
	for name, text := range map[string]string{
		"search": "    endpoint: https://example.com/mcp\n    auth:\n      bearer_env: MCP_TOKEN\n    mcp:\n      protocol_version: '2026-07-28'\n      required_tools: [search]\n      required_resources: ['health://ready']\n      required_prompts: [summary]\n",
		"stdio":  "    endpoint: stdio://local-server\n    mcp:\n      transport: stdio\n      stdio:\n        command: python3\n        args: [server.py]\n        directory: /path/to/server\n        env:\n          API_TOKEN: LOCAL_API_TOKEN\n",
		"client": "    endpoint: https://example.com/mcp\n    mcp:\n      oauth:\n        issuer: https://auth.example.com\n        client_id: agenthealth-service\n        grant: client_credentials\n        client_secret_env: MCP_CLIENT_SECRET\n        scopes: [read]\n",
		"login":  "    endpoint: https://example.com/mcp\n    mcp:\n      oauth:\n        issuer: https://auth.example.com\n        client_id: registered-public-client\n        grant: authorization_code\n        token_file: .credentials/user-mcp.json\n        scopes: [read]\n        redirect_port: 8765\n",
		"call":   "    endpoint: http://localhost:3000/mcp\n    checks: [protocol, capability, functional, latency]\n    mcp:\n      required_tools: [search]\n      functional:\n        tool: search\n        safe: true\n        arguments_json: '{\"query\":\"health\"}'\n",
	} {
		f, err := Parse("dir/agenthealth.yaml", []byte(head+text), Options{LookupEnv: env("MCP_TOKEN", "x", "LOCAL_API_TOKEN", "x", "MCP_CLIENT_SECRET", "x")})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := f.Targets[0]
		if got.Budgets.Step != 5*time.Second {
			t.Errorf("%s: an attempt may take %s, not 5 s", name, got.Budgets.Step)
		}
		if got.Problem != nil {
			t.Errorf("%s: problem %+v", name, got.Problem)
		}
		if oauth := name == "client" || name == "login"; oauth != (got.OAuth != nil) {
			t.Errorf("%s: %+v", name, got.OAuth)
		}
	}
}

// TestProblems: what is wrong on this machine concerns one target.
func TestProblems(t *testing.T) {
	dir := t.TempDir()
	f := mustParse(t, `version: v1
targets:
  - {name: unset, type: mcp, endpoint: 'https://x.example/mcp', auth: {bearer_env: NOT_SET}}
  - {name: empty, type: mcp, endpoint: 'https://x.example/mcp', auth: {bearer_env: EMPTY}}
  - {name: endpoint, type: mcp, endpoint: 'https://${A}.${B}/mcp'}
  - {name: file, type: mcp, endpoint: 'https://x.example/mcp', auth: {bearer_file: '`+dir+`/none'}}
  - {name: directory, type: mcp, endpoint: 'https://x.example/mcp', auth: {bearer_file: '`+dir+`'}}
  - {name: child, type: mcp, endpoint: 'stdio://x', mcp: {transport: stdio, stdio: {command: x, env: {A: OK, B: GONE}}}}
  - {name: label, type: mcp, endpoint: 'https://x', mcp: {transport: stdio, stdio: {command: x}}}
  - {name: shape, type: mcp, endpoint: 'ftp://x/mcp'}
  - {name: program, type: mcp, endpoint: 'https://x.example/mcp', auth: {bearer_command: [no-such-program-anywhere, --key, x]}}
  - {name: issuer, type: mcp, endpoint: 'https://x.example/mcp', mcp: {oauth: {issuer: 'http://as.example', client_id: c, grant: authorization_code, token_file: t}}}
  - {name: authority, type: mcp, endpoint: 'https://x.example/mcp', tls: {ca_file: '`+dir+`/none'}}
  - {name: fine, type: mcp, endpoint: 'https://x.example/mcp', auth: {bearer_env: OK}}
`, "EMPTY", "", "OK", "x")
	want := []string{
		"missing-variable: test.yaml:3:84: environment variable NOT_SET is not set",
		"missing-variable: test.yaml:4:84: environment variable EMPTY is not set",
		"missing-variable: test.yaml:5:43: environment variable A is not set; test.yaml:5:43: environment variable B is not set",
		"unreadable-secret: test.yaml:6:84: file " + dir + "/none does not exist",
		"unreadable-secret: test.yaml:7:89: file " + dir + " is a directory",
		"missing-variable: test.yaml:8:113: environment variable GONE is not set",
		"invalid-endpoint: test.yaml:9:40: the endpoint of a stdio server is only its label",
		`invalid-endpoint: test.yaml:10:40: the endpoint's scheme is "ftp", not http or https`,
		`unreadable-secret: test.yaml:11:90: command "no-such-program-anywhere" of auth.bearer_command is not found`,
		"grant-invalid: test.yaml:12:79: the issuer is plain http",
		"tls-files: test.yaml:13:84: file " + dir + "/none does not exist",
		"",
	}
	for i, got := range f.Targets {
		text := ""
		if p := got.Validate(); p != nil {
			text = p.Reason + ": " + p.Text
			if p.Hint == "" {
				t.Errorf("%s: no hint", got.Name)
			}
		}
		if text != want[i] {
			t.Errorf("%s: %s\nwant %s", got.Name, text, want[i])
		}
	}
}

func TestEndpointHints(t *testing.T) {
	const other = "give the server's MCP URL, such as https://mcp.example.com/mcp"
	for written, want := range map[string]string{
		"mcp.example.com/mcp":         "did you mean https://mcp.example.com/mcp?",
		"mcp.example.com:8443/mcp":    "did you mean https://mcp.example.com:8443/mcp?",
		"//mcp.example.com/mcp":       "did you mean https://mcp.example.com/mcp?",
		"localhost:3000/mcp":          "did you mean http://localhost:3000/mcp?",
		"127.0.0.1:3000/mcp":          "did you mean http://127.0.0.1:3000/mcp?",
		"htps://mcp.example.com/mcp":  "did you mean https://mcp.example.com/mcp?",
		"htp://mcp.example.com/mcp":   "did you mean http://mcp.example.com/mcp?",
		"HTTTPS://mcp.example.com":    "did you mean https://mcp.example.com?",
		"ftp://mcp.example.com/mcp":   other,
		"${HOST}/mcp":                 other,
		"u:hunter2@mcp.example.com/x": other,
		"mcp.example.com/?a=hunter2":  other,
		"/mcp":                        other,
		"mcp":                         other,
	} {
		f := mustParse(t, "version: v1\ntargets:\n- name: a\n  type: mcp\n  endpoint: '"+written+"'\n", "HOST", "hunter2")
		p := f.Targets[0].Problem
		if p == nil || p.Reason != ReasonInvalidEndpoint || p.Hint != want || !strings.HasPrefix(p.Text, "test.yaml:5:13: ") {
			t.Errorf("%s: %+v, want %s", written, p, want)
		}
	}
}

func TestPortable(t *testing.T) {
	f, err := Parse("f", []byte(designExample), Options{Portable: true, LookupEnv: func(string) (string, bool) {
		t.Error("the environment was read")
		return "", false
	}})
	if err != nil || f.Targets[0].Problem != nil {
		t.Error(err, f.Targets[0].Problem)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: v1\ntargets:\n")
	for range 2000 {
		b.WriteString("  - {nam: x}\n")
	}
	_, err := Parse("f", []byte(b.String()), Options{})
	var errs *Errors
	if !errors.As(err, &errs) || len(errs.Problems) != keptErrors || errs.Omitted == 0 {
		t.Fatalf("%T", err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 21 || !strings.HasPrefix(lines[20], "and ") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	var one Error
	if !errors.As(err, &one) || one.Line != 3 || one.Path != "targets[0]" {
		t.Errorf("%+v", one)
	}
}

func TestBounds(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"size":    {"version: v1 #" + strings.Repeat("x", MaxBytes), "the file is larger than 4 MiB; split it into several files"},
		"flow":    {"version: " + strings.Repeat("[", 141), "values are nested more than 140 deep; flatten them"},
		"block":   {"version: v1\ntargets: \n " + strings.Repeat("- ", 200) + "a", "values are nested more than 140 deep; flatten them"},
		"utf-8":   {"version: \xff", "the file is not UTF-8 text; save it as UTF-8"},
		"targets": {"version: v1\ntargets:\n" + strings.Repeat("- {name: x, type: mcp, endpoint: 'http://x'}\n", MaxTargets+1), "targets has 10001 entries"},
	} {
		_, err := Parse("f", []byte(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := mustParse(t, "version: v1\ntargets:\n"+strings.Repeat("- {name: x, type: mcp, endpoint: 'http://x'}\n", MaxTargets))
	if len(f.Targets) != MaxTargets {
		t.Error(len(f.Targets))
	}
}

func chain(n int) string {
	var b strings.Builder
	b.WriteString("version: v1\ntargets:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {name: x, id: n%d, type: mcp, endpoint: 'http://x', dependencies: [", i)
		if i+1 < n {
			fmt.Fprintf(&b, "{ref: n%d}", i+1)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

func TestGraphBounds(t *testing.T) {
	if _, err := Parse("f", []byte(chain(maxChain)), Options{}); err != nil {
		t.Error(err)
	}
	_, err := Parse("f", []byte(chain(maxChain+1)), Options{})
	if err == nil || !strings.Contains(err.Error(), `the chain of dependencies under "n0" is more than 64 targets long`) {
		t.Error(err)
	}
	// 2^14 entries from 15 targets: a diamond on each level.
	wide := strings.ReplaceAll(chain(15), "[{ref", "[{ref: n14}, {ref")
	var b strings.Builder
	for i, line := range strings.Split(wide, "\n") {
		if i >= 2 && i < 16 {
			line = strings.Replace(line, "{ref: n14}", fmt.Sprintf("{ref: n%d}", i-1), 1)
		}
		b.WriteString(line + "\n")
	}
	_, err = Parse("f", []byte(b.String()), Options{})
	if err == nil || !strings.Contains(err.Error(), "has more than 10000 entries") {
		t.Error(err)
	}
}

func TestMerge(t *testing.T) {
	f := mustParse(t, `version: v1
targets:
  - &a {name: a, type: mcp, endpoint: 'http://x', timeout_ms: 5}
  - {<<: *a, name: b}
  - <<: [*a, {retries: 2}]
    name: c
`)
	if f.Targets[1].Name != "b" || f.Targets[1].Endpoint != "http://x" || f.Targets[2].Budgets.Retries != 2 || f.Targets[2].Budgets.Step != 5*time.Millisecond {
		t.Errorf("%+v", f.Targets)
	}
}

// TestMergeBounds: merge keys cannot be used to multiply a small file.
func TestMergeBounds(t *testing.T) {
	for name, text := range map[string]string{
		"cycle": "version: v1\ntargets:\n  - &a {name: a, <<: *a}\n",
		"bomb":  "version: v1\ntargets:\n  - &a {name: a}\n  - &b {<<: [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]}\n  - &c {<<: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]}\n  - &d {<<: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]}\n  - &e {<<: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]}\n  - {<<: [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]}\n",
	} {
		_, err := Parse("f", []byte(text), Options{})
		if err == nil || !strings.Contains(err.Error(), "merge keys (<<) bring in too many values") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Parse("f", []byte("version: v1\ntargets:\n  - {<<: 5, *x : 1, 1: 2}\n"), Options{})
	if err == nil {
		t.Error("no mistake was found")
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir + "/none.yaml": dir + "/none.yaml does not exist; check the path",
		dir:                dir + " is a directory; give a file, such as " + dir + "/mcpvigil.yaml",
	} {
		if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	path := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(path, make([]byte, MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "larger than 4 MiB") {
		t.Error(err)
	}
}

func TestSelect(t *testing.T) {
	f := mustParse(t, designExample+"  - {name: files, type: mcp, endpoint: 'http://x'}\n  - {name: one more, id: other, type: mcp, endpoint: 'http://x', dependencies: [{name: deep, id: deep, type: mcp, endpoint: 'http://y'}]}\n", "SEARCH_TOKEN", "x", "FILES_TOKEN", "x")
	for name, want := range map[string]string{
		"search": "search", "other": "one more", "one more": "one more", "deep": "deep",
		"files":  `test.yaml: several targets are called "files"; give them an id and select by that`,
		"serach": `test.yaml: no target is called "serach"; did you mean "search"?`,
		"zzzzzz": `test.yaml: no target is called "zzzzzz"; there are search, files, files, one more and other`,
	} {
		got, err := Select(f, name)
		var text string
		if err != nil {
			text = err.Error()
		} else {
			text = got.Name
		}
		if text != want {
			t.Errorf("%s: %s, want %s", name, text, want)
		}
	}
}

func TestDetail(t *testing.T) {
	text := "version: v1\ntargets:\n  - name: a\n    type: mcpp\n    endpoint: https://u:hunter2@x\n    auth: {bearer: hunter2}\n    password: hunter2\n    timeout_ms: x # hunter2\n\t- broken"
	_, err := Parse("f", []byte(text[:len(text)-10]), Options{})
	var errs *Errors
	if !errors.As(err, &errs) {
		t.Fatal(err)
	}
	want := `f:4:11: type must be "mcp", not "mcpp"; mcpvigil checks targets of type mcp only
    4 |     type: mcpp
                  ^
f:6:12: "bearer" is not a key of auth; a secret is never written into this file; write bearer_env: VARIABLE, bearer_file: PATH or bearer_command: [PROGRAM]
    6 |     auth: (not shown)
f:7:5: unknown key "password" in a target; known keys are name, type, endpoint, id, checks, thresholds, dependencies, timeout, timeout_ms, check_timeouts_ms, retries, retry_delay_ms, budget_ms, limits, auth, tls, allow_plaintext_credentials, mcp and monitor
    7 |     password: (not shown)
            ^
f:8:17: timeout_ms must be a whole number from 1 to 300000, not a string
    8 |     timeout_ms: x
                        ^`
	if diff := cmp.Diff(want, errs.Detail()); diff != "" {
		t.Error(diff)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
		if got := fmt.Sprintf(verb, errs); strings.Contains(got, "hunter2") {
			t.Errorf("%s shows %s", verb, got)
		}
	}
	if got := presentable("name: "+strings.Repeat("x", 3000), "targets[0].name", publicKeys()); got != notShown {
		t.Errorf("a long line is shown as %q", got)
	}
	for _, line := range []string{"hunter2", "  hunter2 more", "- hunter2", "key: hunter2", "name: {token: hunter2}", `"a": hunter2`, "endpoint: https://x/?k=hunter2", "bearer_env: hunter2", "X: hunter2 # y", "MIIEowIBAAKCAQEA7hunter2Jk2L9q1"} {
		for _, path := range []string{"", "targets[0].auth.bearer_env", "targets[0].mcp.stdio.args[2]", "targets[0].endpoint"} {
			if got := presentable(line, path, publicKeys()); strings.Contains(got, "hunter2") {
				t.Errorf("%q at %q is shown as %q", line, path, got)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(designExample))
	for _, pattern := range []string{"testdata/invalid/*.yaml", "../../examples/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		file, err := Parse("fuzz", data, Options{Portable: true})
		if (file == nil) == (err == nil) {
			t.Fatal("neither a file nor an error, or both")
		}
		var errs *Errors
		if err != nil && (!errors.As(err, &errs) || len(errs.Problems) == 0 || len(errs.Detail()) > 64<<10) {
			t.Fatalf("%T, %d bytes of detail", err, len(errs.Detail()))
		}
		if err == nil {
			for _, target := range file.Targets {
				target.Validate()
			}
		}
	})
}

func TestLimits(t *testing.T) {
	f, err := Parse("f", []byte(`version: v1
targets:
  - {name: a, type: mcp, endpoint: 'http://x', limits: {response_bytes: 8388608, pages: 3, entries: 70}}
  - {name: b, type: mcp, endpoint: 'http://x', limits: {entries: 5}}
  - {name: c, type: mcp, endpoint: 'http://x'}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []target.Limits{{ResponseBytes: 8 << 20, Pages: 3, Entries: 70}, {Entries: 5}, {}} {
		if got := f.Targets[i].Limits; got != want {
			t.Errorf("%s: %+v, want %+v", f.Targets[i].Name, got, want)
		}
	}
	for _, limits := range []string{"pages: 0", "response_bytes: 8MiB", "entries: 1000001", "bytes: 1"} {
		if _, err := Parse("f", []byte("version: v1\ntargets: [{name: a, type: mcp, endpoint: 'http://x', limits: {"+limits+"}}]\n"), Options{}); err == nil {
			t.Errorf("{%s} was accepted", limits)
		}
	}
}
