package render

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func ms(v float64) *probe.Millis { m := probe.Millis(v); return &m }
func ptr[T any](v T) *T          { return &v }

func at() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 123e6, time.UTC) }

func passed(n string, d target.Dimension, took probe.Millis, message string) probe.Result {
	return probe.Result{Name: n, Dimension: d, Status: probe.StatusHealthy, Passed: true, DurationMs: took, Message: message}
}

func skipped(n, message string) probe.Result {
	return probe.Result{Name: n, Dimension: target.Capability, Status: probe.StatusHealthy, Passed: true, Skipped: true, Message: message}
}

// healthy is the example in mcp-healthcheck's README.
func healthy() *probe.Report {
	return &probe.Report{
		Status: probe.StatusHealthy, TotalMs: 108, Timestamp: at(), Era: "legacy",
		Target: probe.TargetInfo{Name: "node ./server.js", Transport: target.Stdio, Endpoint: "node ./server.js"},
		Checks: []probe.Result{
			passed("connect", target.Reachability, 12, "stdio transport connected"),
			passed("initialize", target.Protocol, 45, "protocol v2025-06-18, server: my-server v1.0.0"),
			passed("tools", target.Capability, 28, "5 tools: search, create, update, delete, list"),
			passed("resources", target.Capability, 15, "2 resources"),
			passed("prompts", target.Capability, 8, "1 prompt"),
		},
		Summary: probe.Summary{Total: 5, Passed: 5},
		Server:  &probe.ServerInfo{Name: "my-server", Version: "1.0.0", ProtocolVersion: "2025-06-18"},
		Surface: &probe.Surface{Tools: ptr(5), Resources: ptr(2), Prompts: ptr(1)},
	}
}

func degraded() *probe.Report {
	r := healthy()
	r.Status, r.Era = probe.StatusDegraded, "modern"
	r.Target = probe.TargetInfo{Name: "search", ID: "search", Transport: target.HTTP, Endpoint: "https://mcp.example.com/mcp?key=***"}
	r.Checks = []probe.Result{
		passed("connect", target.Reachability, 31.4, "https://mcp.example.com answered"),
		passed("initialize", target.Protocol, 0.42, "protocol v2026-07-28, server: search v2"),
		{
			Name: "tools", Dimension: target.Capability, Status: probe.StatusDegraded, DurationMs: 17,
			Message: "2 tools, fewer than 3", Reason: "too-few-tools", Hint: "see whether a tool was lost, or lower --min-tools",
			Error:   &probe.Failure{Code: probe.CodeThreshold, Message: "2 tools, fewer than 3"},
			Details: map[string]any{"toolCount": 2, "toolNames": []string{"find", "fetch"}},
		},
		skipped("resources", "the server does not offer resources"),
		skipped("prompts", "the server does not offer prompts"),
		{
			Name: "latency", Dimension: target.Latency, Status: probe.StatusDegraded, Passed: true, DurationMs: 12345,
			Message: "first response after 12345ms, over 800ms", Reason: "slow", Hint: "look at the stages to see where the time goes",
		},
	}
	r.Checks[0].Stages = &probe.Stages{DNS: ms(2), TCP: ms(8.2), TLS: ms(14), FirstByte: ms(7)}
	r.Summary = probe.Summary{Total: 4, Passed: 3, Failed: 1, Skipped: 2}
	r.Server = &probe.ServerInfo{Name: "search", Version: "2", Title: "Search for everything", ProtocolVersion: "2026-07-28"}
	r.Surface = &probe.Surface{Tools: ptr(2)}
	r.Notes = []probe.Note{
		{Reason: "missing-result-type", Text: "tools/list answered without resultType", Hint: "set resultType to complete", Step: "tools", Count: 3},
		{Reason: "old-revision", Text: "settled on 2025-03-26", Step: "initialize", Count: 1},
	}
	r.Certificate = &probe.Certificate{
		Subject: "CN=mcp.example.com", Issuer: "CN=Example CA", Names: []string{"mcp.example.com", "example.com"},
		NotAfter: time.Date(2027, 1, 31, 8, 30, 0, 0, time.UTC), DaysLeft: 61,
	}
	r.Revisions = []probe.Revision{
		{Version: "2025-11-25", Supported: false, Answer: "HTTP 400, unsupported protocol version"},
		{Version: "2026-07-28", Supported: true, Answer: "spoken"},
	}
	r.Dependencies = []probe.DependencyResult{
		{Name: "index", Critical: true, Relationship: target.Downstream, Status: probe.StatusHealthy},
		{Name: "cache", Status: probe.StatusUnhealthy},
	}
	return r
}

func failing(status probe.Status, label string, failed probe.Result, rest ...string) *probe.Report {
	failed.Status = status
	r := &probe.Report{
		Status: status, TotalMs: 41, Timestamp: at(),
		Target:  probe.TargetInfo{Name: label, Transport: target.HTTP, Endpoint: "http://127.0.0.1:9/mcp"},
		Checks:  []probe.Result{failed},
		Summary: probe.Summary{Total: 1, Failed: 1, Skipped: len(rest)},
	}
	for _, n := range rest {
		s := skipped(n, "skipped because "+failed.Name+" failed")
		s.Passed, s.Status = false, probe.StatusUnknown
		r.Checks = append(r.Checks, s)
	}
	return r
}

func unhealthy() *probe.Report {
	r := failing(probe.StatusUnhealthy, "dead", probe.Result{
		Name: "connect", Dimension: target.Reachability, DurationMs: 3, Message: "connection refused by 127.0.0.1:9",
		Reason: "connection-refused", Hint: "start the server, or check the port",
		Error: &probe.Failure{Code: probe.CodeTransport, Message: "connection refused"},
	}, "initialize", "tools", "resources", "prompts")
	r.Evidence = []probe.Exchange{
		{
			Step: "connect", Method: "server/discover", HTTPMethod: "POST", URL: "http://127.0.0.1:9/mcp", Duration: 3 * time.Millisecond,
			Stages: &probe.Stages{TCP: ms(0.2)}, Err: "connection refused", Curl: func() string { return "curl -sS -X POST -H 'Authorization: Bearer $TOKEN' http://127.0.0.1:9/mcp" },
		},
	}
	return r
}

func misconfigured() *probe.Report {
	return failing(probe.StatusMisconfigured, "walled", probe.Result{
		Name: "authentication", Dimension: target.Authentication, DurationMs: 20, Message: "HTTP 401, a bearer token is asked for",
		Reason: "auth-required", Hint: "give a token with --bearer-env NAME",
	}, "initialize")
}

func unknown() *probe.Report {
	return failing(probe.StatusUnknown, "huge", probe.Result{
		Name: "tools", Dimension: target.Capability, DurationMs: 400, Message: "more than 10000 entries",
		Reason: "limit-entries", Hint: "the list was not read to its end",
	})
}

// evil holds what must not reach a terminal: escapes, a bidirectional override,
// line ends, tags, zero-width characters and bytes that are not UTF-8.
const evil = "\x1b[2J\x1b]0;x\a\u202Egnp.exe\u200b\r\n</failure>&<b>\"'\\ \xff\U000E0041"

func hostile() *probe.Report {
	r := failing(probe.StatusUnhealthy, "evil"+evil, probe.Result{
		Name: "tools" + evil, DurationMs: 1, Message: "message" + evil, Reason: probe.Reason("reason" + evil), Hint: "hint" + evil,
		Error:   &probe.Failure{Code: "CODE" + evil, Message: evil},
		Details: map[string]any{"key" + evil: "value" + evil, "stderr": "one" + evil + "\n" + evil},
	})
	r.Target.Endpoint = "http://x/" + evil
	r.Era = "era" + evil
	r.Server = &probe.ServerInfo{Name: "name" + evil, Version: "v" + evil, Title: "t" + evil, ProtocolVersion: "p" + evil}
	r.Notes = []probe.Note{{Reason: "n" + probe.Reason(evil), Text: evil, Hint: evil, Step: evil, Count: 2}}
	r.Certificate = &probe.Certificate{Subject: evil, Issuer: evil, Names: []string{evil}, NotAfter: at(), DaysLeft: -1}
	r.Revisions = []probe.Revision{{Version: evil, Answer: evil}}
	r.Dependencies = []probe.DependencyResult{{Name: evil, Relationship: target.Relationship(evil), Status: probe.StatusUnhealthy}}
	r.Evidence = []probe.Exchange{{Step: "tools" + evil, Method: evil, HTTPMethod: evil, URL: evil, ContentType: evil, Err: evil, Curl: func() string { return "curl " + evil }}}
	object := json.RawMessage(fmt.Sprintf(`{"name":%q,"uri":"u\u202e","uriTemplate":"\u001b[1m","description":"\u001b[31mred \u202egnp\nsecond","n":12345678901234567890,"n":1.0}`, "tool"+"\u200b"))
	r.Inventory = &probe.Inventory{
		Opening: json.RawMessage("{\"instructions\":\"do \\u001b[5m this\\n\u202ethat\"}"),
		Tools:   []json.RawMessage{object}, Resources: []json.RawMessage{object}, ResourceTemplates: []json.RawMessage{object},
		Prompts: []json.RawMessage{},
	}
	return r
}

func everything() []*probe.Report {
	return []*probe.Report{healthy(), degraded(), unhealthy(), misconfigured(), unknown(), hostile()}
}

func TestReportsGolden(t *testing.T) {
	o := Options{Version: "0.2.0"}
	verbose := Options{Version: "0.2.0", Verbose: true, Colour: true}
	for _, tt := range []struct {
		file    string
		format  Format
		reports []*probe.Report
		options Options
	}{
		{"healthy.txt", Human, []*probe.Report{healthy()}, o},
		{"all.txt", Human, everything(), o},
		{"verbose.txt", Human, everything(), verbose},
		{"healthy.json", JSON, []*probe.Report{healthy()}, o},
		{"all.json", JSON, everything(), o},
		{"healthy.yaml", YAML, []*probe.Report{healthy()}, o},
		{"all.yaml", YAML, everything(), o},
		{"all.xml", JUnit, everything(), o},
		{"all.prom", Prometheus, everything(), o},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Reports(&b, tt.format, tt.reports, tt.options); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, b.Bytes())
			visible(t, strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "").Replace(b.String()))
		})
	}
}

// TestLayoutOfHealthcheck compares with the example in mcp-healthcheck's README.
func TestLayoutOfHealthcheck(t *testing.T) {
	const want = `
  mcp-healthcheck v0.2.0

  Target: stdio -- node ./server.js
  Status: healthy

  PASS  connect         12ms   stdio transport connected
  PASS  initialize      45ms   protocol v2025-06-18, server: my-server v1.0.0
  PASS  tools           28ms   5 tools: search, create, update, delete, list
  PASS  resources       15ms   2 resources
  PASS  prompts          8ms   1 prompt

  Summary: 5/5 passed in 108ms

`
	var b bytes.Buffer
	if err := Reports(&b, Human, []*probe.Report{healthy()}, Options{Program: "mcp-healthcheck", Version: "0.2.0"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDoctorGolden(t *testing.T) {
	for i, r := range everything() {
		var b bytes.Buffer
		if err := Doctor(&b, []*probe.Report{r}, Options{Version: "0.2.0"}); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("doctor-%d-%s.txt", i, r.Status), b.Bytes())
		visible(t, b.String())
	}
}

// TestDoctorOfSeveral: one title, the origin of each target, and a count.
func TestDoctorOfSeveral(t *testing.T) {
	var b bytes.Buffer
	o := Options{Version: "0.2.0", Sources: []string{"/home/a/.cursor/mcp.json (Cursor)", "~/.codex/config.toml (Codex)"}}
	if err := Doctor(&b, []*probe.Report{healthy(), silent()}, o); err != nil {
		t.Fatal(err)
	}
	golden(t, "doctor-several.txt", b.Bytes())
	if n := strings.Count(b.String(), "mcpvigil v0.2.0 doctor"); n != 1 {
		t.Errorf("the title stands there %d times", n)
	}
}

// silent is a command that wrote why it could not start.
func silent() *probe.Report {
	r := failing(probe.StatusUnhealthy, "files", probe.Result{
		Name: "connect", Dimension: target.Reachability, DurationMs: 12, Message: "the command ended with exit status 1",
		Reason: "process-ended", Hint: "run it by hand", Error: &probe.Failure{Code: probe.CodeTransport},
		Details: map[string]any{"stderr": "line 1\nline 2\nline 3\nline 4\nline 5\r\n\tat line 6\nline 7\n"},
	}, "initialize")
	r.Target.Transport, r.Target.Endpoint = target.Stdio, "node files.js"
	return r
}

// standing is a healthy server on top of r.
func standing(r *probe.Report, critical bool) *probe.Report {
	out := healthy()
	out.Status = r.Status
	if !critical {
		out.Status = probe.StatusDegraded
	}
	out.Target.Name = "above " + r.Target.Name
	out.Dependencies = []probe.DependencyResult{{Name: r.Target.Name, Critical: critical, Status: r.Status, Report: r, Checks: r.Checks}}
	return out
}

func nothing() *probe.Report {
	return &probe.Report{Status: probe.StatusUnknown, Timestamp: at(), Target: probe.TargetInfo{Name: "idle", Transport: target.HTTP}}
}

// TestVerdictIsToldByEveryView: whatever made the verdict, each view says it.
func TestVerdictIsToldByEveryView(t *testing.T) {
	late := healthy()
	late.Status = probe.StatusUnknown
	late.Checks[4] = probe.Result{Name: "prompts", Status: probe.StatusUnknown, Skipped: true, Message: "the overall timeout was spent", Error: &probe.Failure{Code: probe.CodeOverallTimeout}}
	named := standing(unhealthy(), true)
	named.Checks = append(named.Checks, probe.Result{Name: probe.StepDependencies, Status: probe.StatusUnhealthy, Message: "1 dependency check, worst unhealthy", Reason: "dependency"})
	for want, reports := range map[string][]*probe.Report{
		"connection refused by 127.0.0.1:9": {standing(unhealthy(), true), standing(unhealthy(), false), standing(standing(unhealthy(), true), true), named},
		"list of checks is empty":           {nothing(), standing(nothing(), true)},
		"overall timeout was spent":         {late},
	} {
		for _, r := range reports {
			for view, write := range map[string]func(w io.Writer) error{
				"human":  func(w io.Writer) error { return Reports(w, Human, []*probe.Report{r}, Options{}) },
				"doctor": func(w io.Writer) error { return Doctor(w, []*probe.Report{r}, Options{}) },
				"nagios": func(w io.Writer) error {
					_, err := io.WriteString(w, Plugin("CRITICAL", []*probe.Report{r}))
					return err
				},
			} {
				var b bytes.Buffer
				if err := write(&b); err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(b.String(), want) {
					t.Errorf("%s of %s does not say %q:\n%s", view, r.Target.Name, want, b.String())
				}
			}
			var b bytes.Buffer
			if err := Reports(&b, JUnit, []*probe.Report{r}, Options{}); err != nil {
				t.Fatal(err)
			}
			if green := strings.Contains(b.String(), `failures="0" errors="0"`); green == (r.Status != probe.StatusDegraded) {
				t.Errorf("%s is %s, and its suite is green: %v", r.Target.Name, r.Status, green)
			}
		}
	}
}

func TestDependencyShowsItsSteps(t *testing.T) {
	var b bytes.Buffer
	if err := Reports(&b, Human, []*probe.Report{standing(silent(), true)}, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Doctor(&b, []*probe.Report{standing(silent(), true)}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"process-ended (TRANSPORT_ERROR)", "hint: run it by hand", "| line 7", "1. files: connect: process-ended\n       -> run it by hand"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the dependency does not say %q:\n%s", want, b.String())
		}
	}
}

// TestStderrIsABlock: check shows the last lines, doctor and --verbose all.
func TestStderrIsABlock(t *testing.T) {
	for _, tt := range []struct {
		write func(w io.Writer) error
		lines int
	}{
		{func(w io.Writer) error { return Reports(w, Human, []*probe.Report{silent()}, Options{}) }, 5},
		{func(w io.Writer) error { return Reports(w, Human, []*probe.Report{silent()}, Options{Verbose: true}) }, 7},
		{func(w io.Writer) error { return Doctor(w, []*probe.Report{silent()}, Options{}) }, 7},
	} {
		var b bytes.Buffer
		if err := tt.write(&b); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "          | "); n != tt.lines || !strings.Contains(b.String(), "|     at line 6\n") || strings.Contains(b.String(), `\n`) || strings.Contains(b.String(), "000A") {
			t.Errorf("%d lines, want %d:\n%s", n, tt.lines, b.String())
		}
	}
}

func TestPlugin(t *testing.T) {
	few := degraded()
	few.Checks[2].Message = "2 tools | fewer than 3"
	for want, got := range map[string]string{
		"OK - 5/5 steps passed, 5 tools, 2 resources, 1 prompt | total=108ms connect=12ms initialize=45ms tools=28ms resources=15ms prompts=8ms":    Plugin("OK", []*probe.Report{healthy()}),
		"WARNING - tools: 2 tools / fewer than 3 | total=108ms connect=31ms initialize=0.4ms tools=17ms latency=12345ms":                            Plugin("WARNING", []*probe.Report{few}),
		"CRITICAL - 2 of 3 targets not healthy; dead: connect: connection refused by 127.0.0.1:9 | 'node ./server.js'=108ms search=108ms dead=41ms": Plugin("CRITICAL", []*probe.Report{healthy(), few, unhealthy()}),
		"OK - 2 targets are healthy | 'node ./server.js'=108ms 'node ./server.js (2)'=108ms":                                                        Plugin("OK", []*probe.Report{healthy(), healthy()}),
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := Plugin("CRITICAL", []*probe.Report{hostile()}); strings.ContainsAny(got, "\n\x1b") || strings.Count(got, "|") != 1 {
		t.Errorf("%q", got)
	}
}

func TestDoctorExplainsTimeOutsideTheSteps(t *testing.T) {
	r := healthy()
	r.TotalMs = 500
	r.Revisions = degraded().Revisions
	for total, want := range map[probe.Millis]bool{500: true, 120: false} {
		r.TotalMs = total
		var b bytes.Buffer
		if err := Doctor(&b, []*probe.Report{r}, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "outside the steps: 392ms, for trying every revision, starting and ending the command"); got != want {
			t.Errorf("of %v ms the steps took 108:\n%s", total, b.String())
		}
	}
}

// TestCauseIsToldOnce: beside the verdict and the step.
func TestCauseIsToldOnce(t *testing.T) {
	var b bytes.Buffer
	if err := Doctor(&b, []*probe.Report{unhealthy()}, Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "connection refused"); n != 2 {
		t.Errorf("told %d times:\n%s", n, b.String())
	}
}

func TestTitle(t *testing.T) {
	for version, want := range map[string]string{"1.2.0": "x v1.2.0", "276c45d": "x 276c45d", "dev": "x dev", "": "x", "0.2.0-3-gabc": "x v0.2.0-3-gabc", "1e.3": "x 1e.3"} {
		if got := Title("x", version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}

func TestTargetWithoutAddress(t *testing.T) {
	var b bytes.Buffer
	if err := Reports(&b, Human, []*probe.Report{nothing()}, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Target: idle (http)\n") {
		t.Error(b.String())
	}
}

// TestInspectSaysWhyItFailed: programs get the step that failed, too.
func TestInspectSaysWhyItFailed(t *testing.T) {
	for _, tt := range []struct {
		report *probe.Report
		want   map[string]string
	}{
		{healthy(), nil},
		{misconfigured(), map[string]string{
			"name": "authentication", "status": "misconfigured", "reason": "auth-required",
			"message": "HTTP 401, a bearer token is asked for", "hint": "give a token with --bearer-env NAME",
		}},
	} {
		var b bytes.Buffer
		if err := Inspect(&b, JSON, []*probe.Report{tt.report}, Options{}); err != nil {
			t.Fatal(err)
		}
		var got struct{ Failure map[string]string }
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got.Failure); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestInspectColumns(t *testing.T) {
	long := strings.Repeat("x", 50)
	r := healthy()
	r.Inventory = &probe.Inventory{Tools: []json.RawMessage{
		[]byte(`{"name":"short","description":"S"}`), []byte(`{"name":"` + long[:30] + `","description":"M"}`), []byte(`{"name":"` + long + `","description":"L"}`),
	}}
	var b bytes.Buffer
	if err := Inspect(&b, Human, []*probe.Report{r}, Options{}); err != nil {
		t.Fatal(err)
	}
	margin := strings.Repeat(" ", 4)
	want := margin + "short" + strings.Repeat(" ", 27) + "S\n" + margin + long[:30] + "  M\n" + margin + long + "\n" + strings.Repeat(" ", 36) + "L\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("want\n%s\ngot\n%s", want, b.String())
	}
}

func TestPrometheusSaysWhy(t *testing.T) {
	r := unhealthy()
	r.TotalMs = 1.23456789
	var b bytes.Buffer
	if err := Reports(&b, Prometheus, []*probe.Report{r}, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`mcpvigil_step_info{target="dead",step="connect",status="unhealthy",reason="connection-refused"} 1`,
		`mcpvigil_step_passed{target="dead",step="connect"} 0`, `mcpvigil_check_duration_seconds{target="dead"} 0.001235`,
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

func TestInspectGolden(t *testing.T) {
	for file, format := range map[string]Format{"inspect.txt": Human, "inspect.json": JSON} {
		var b bytes.Buffer
		if err := Inspect(&b, format, []*probe.Report{hostile(), unhealthy()}, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, file, b.Bytes())
		visible(t, b.String())
	}
	if err := Inspect(io.Discard, JUnit, nil, Options{}); err == nil {
		t.Error("inspect accepted junit")
	}
}

// visible fails when out holds a character that acts without being seen.
func visible(t *testing.T, out string) {
	t.Helper()
	for _, r := range out {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector)) || r == unicode.ReplacementChar {
			t.Errorf("output holds %U", r)
		}
	}
}

// TestJSONKeepsValues proves that making JSON safe lost nothing that was valid.
func TestJSONKeepsValues(t *testing.T) {
	var b bytes.Buffer
	if err := Reports(&b, JSON, []*probe.Report{hostile()}, Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Checks []struct{ Message string }
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if want := strings.ToValidUTF8("message"+evil, "\uFFFD"); got.Checks[0].Message != want {
		t.Errorf("message is %q, want %q", got.Checks[0].Message, want)
	}
}

// TestYAMLEqualsJSON reads both back and compares.
func TestYAMLEqualsJSON(t *testing.T) {
	for _, reports := range [][]*probe.Report{{hostile()}, {degraded()}, everything(), {}} {
		var asJSON, asYAML bytes.Buffer
		if err := errors.Join(Reports(&asJSON, JSON, reports, Options{}), Reports(&asYAML, YAML, reports, Options{})); err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(asJSON.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Load(asYAML.Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, asYAML.String())
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var back any
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, back); diff != "" {
			t.Errorf("YAML differs from JSON (-json +yaml):\n%s", diff)
		}
	}
}

func TestJUnitIsXML(t *testing.T) {
	var b bytes.Buffer
	if err := Reports(&b, JUnit, everything(), Options{}); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&b)
	d.Strict = true
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrometheusLints(t *testing.T) {
	reports := append(everything(), healthy()) // the same name twice
	reports[0].Checks = append(reports[0].Checks, reports[0].Checks[0])
	var b bytes.Buffer
	if err := Reports(&b, Prometheus, reports, Options{}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for series := range strings.Lines(b.String()) {
		key := series[:strings.LastIndexByte(series, ' ')]
		if seen[key] {
			t.Errorf("series twice: %s", key)
		}
		seen[key] = true
	}
	problems, err := promlint.New(&b).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrorsAreReturned(t *testing.T) {
	for _, f := range Formats() {
		if err := Reports(brokenPipe{}, f, everything(), Options{}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for in, want := range map[string]Format{"human": Human, "text": Human, "terminal": Human, "JSON": JSON, "yaml": YAML, "junit": JUnit, "prometheus": Prometheus} {
		if got, err := ParseFormat(in); err != nil || got != want {
			t.Errorf("ParseFormat(%q) = %q, %v", in, got, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil {
		t.Error("xml was accepted")
	}
}
