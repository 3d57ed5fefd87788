package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func noEnv(string) (string, bool) { return "", false }

// TestBugIsOneLine makes the program panic in the middle of a command.
func TestBugIsOneLine(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Main([]string{"mcpvigil", "check", "http://localhost/"}, nil, &stdout, &stderr,
		func(string) (string, bool) { panic("boom\x1b[2J") })
	if code != exitUnknown {
		t.Errorf("exit code is %d, want %d", code, exitUnknown)
	}
	want := "mcpvigil: internal error: boom\\u{001B}[2J\n" +
		"hint: this is a bug in mcpvigil; please report it with the command you ran\n"
	if diff := cmp.Diff(want, stderr.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMainIsGivenNothing(t *testing.T) {
	var out bytes.Buffer
	if code := Main(nil, nil, &out, &out, noEnv); code != exitMisconfigured {
		t.Errorf("exit code is %d", code)
	}
}

func report(status probe.Status, connected bool) *probe.Report {
	return &probe.Report{Status: status, Checks: []probe.Result{{Name: probe.StepConnect, Passed: connected}}}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		report                           *probe.Report
		own, agenthealth, nagios, health int
	}{
		{report(probe.StatusHealthy, true), 0, 0, 0, 0},
		{report(probe.StatusUnhealthy, true), 1, 2, 2, 1},
		{report(probe.StatusUnhealthy, false), 1, 3, 2, 1},
		{report(probe.StatusMisconfigured, false), 2, 4, 2, 1},
		{report(probe.StatusDegraded, true), 3, 1, 1, 3},
		{report(probe.StatusUnknown, true), 4, 5, 3, 1},
	} {
		got := []int{
			exitCode(mapOwn, []*probe.Report{tt.report}), exitCode(mapAgenthealth, []*probe.Report{tt.report}),
			exitCode(mapNagios, []*probe.Report{tt.report}), exitCode(mapHealthcheck, []*probe.Report{tt.report}),
		}
		if want := []int{tt.own, tt.agenthealth, tt.nagios, tt.health}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.report.Status, got, want)
		}
	}
	if got := statusCode(mapOwn, "new"); got != exitUnknown {
		t.Errorf("a status that is not in the table exits with %d", got)
	}
	order := []probe.Status{probe.StatusHealthy, probe.StatusDegraded, probe.StatusUnknown, probe.StatusMisconfigured, probe.StatusUnhealthy}
	for i := range order[1:] {
		both := []*probe.Report{report(order[i+1], true), report(order[i], true)}
		if got, want := exitCode(mapOwn, both), statusCode(mapOwn, order[i+1]); got != want {
			t.Errorf("%s and %s exit with %d, want %d", order[i], order[i+1], got, want)
		}
	}
}

func healthcheckFlags() *pflag.FlagSet {
	return (&app{program: healthcheckName, lookup: noEnv}).newHealthcheckCommand().Flags()
}

func TestThreeStates(t *testing.T) {
	r := &probe.Report{
		Status: probe.StatusMisconfigured,
		Checks: []probe.Result{
			{Name: "connect", Status: probe.StatusHealthy, Passed: true},
			{Name: "initialize", Status: probe.StatusHealthy, Passed: true},
			{Name: "tools", Status: probe.StatusUnknown},
			{Name: "resources", Status: probe.StatusHealthy, Passed: true, Skipped: true}, // not offered
			{Name: "prompts", Status: probe.StatusHealthy, Passed: true, Skipped: true},   // --skip
		},
	}
	got := asHealthcheck(r, []string{"prompts"}, healthcheckFlags())
	if got.Status != probe.StatusUnhealthy || got.Checks[2].Status != probe.StatusUnhealthy {
		t.Errorf("more than three states: %s, %s", got.Status, got.Checks[2].Status)
	}
	if want := (probe.Summary{Total: 5, Passed: 3, Failed: 1, Skipped: 1}); got.Summary != want {
		t.Errorf("summary is %+v, want %+v", got.Summary, want)
	}
	if r.Status != probe.StatusMisconfigured || r.Checks[2].Status != probe.StatusUnknown {
		t.Error("the report itself was changed")
	}
}

// TestFiveSteps: a failure of a step that mcp-healthcheck does not know is one of
// a step that it knows.
func TestFiveSteps(t *testing.T) {
	well := probe.Result{Status: probe.StatusHealthy, Passed: true}
	ill := probe.Result{Status: probe.StatusMisconfigured, Message: "the reason"}
	skip := probe.Result{Status: probe.StatusUnknown, Skipped: true}
	step := func(r probe.Result, name, message string) probe.Result {
		r.Name = name
		if message != "" {
			r.Message = message
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		steps []probe.Result
		want  string
	}{
		{"let in", []probe.Result{
			step(well, "connect", ""), step(well, "authentication", ""), step(well, "initialize", ""), step(well, "tools", ""), step(well, "resources", ""), step(well, "prompts", ""), step(well, "latency", ""),
		}, "connect= initialize= tools= resources= prompts="},
		{"kept out", []probe.Result{
			step(well, "connect", ""), step(ill, "authentication", ""), step(skip, "initialize", "not run, because authentication failed"), step(skip, "tools", "not run, because authentication failed"),
		}, "connect= initialize=the reason tools=not run, because initialize failed"},
		{"not set up", []probe.Result{
			step(ill, "configuration", ""), step(skip, "connect", "not run, because configuration failed"), step(skip, "initialize", "not run, because configuration failed"),
		}, "connect=the reason initialize=not run, because connect failed"},
	} {
		var got []string
		for _, s := range fiveSteps(tt.steps) {
			got = append(got, s.Name+"="+s.Message)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestHintsNameOwnFlags: whatever the reason, mcp-healthcheck's hints name no
// flag and no file that it does not have, and some advice is left.
func TestHintsNameOwnFlags(t *testing.T) {
	flags := healthcheckFlags()
	hints := []string{
		"hand over a token (--bearer-env NAME, auth.bearer_env); the server describes how to get one at https://a.example/x",
		"it may still be installing itself, or wait for a variable; name more variables, or give it more time with startup_timeout (--startup-timeout)",
		"check it with --sse http://a.example/ (transport: sse)",
	}
	for _, info := range probe.Reasons() {
		hints = append(hints, info.Hint)
	}
	for _, hint := range hints {
		got := ownHint(hint, flags)
		for _, flag := range flagInText.FindAllString(got, -1) {
			if flags.Lookup(strings.TrimPrefix(flag, "--")) == nil {
				t.Errorf("%s in %q", flag, got)
			}
		}
		if keyInText.MatchString(got) {
			t.Errorf("a configuration in %q", got)
		}
	}
	for _, hint := range hints[:3] {
		if ownHint(hint, flags) == "" {
			t.Errorf("nothing is left of %q", hint)
		}
	}
}

func TestSplitCommand(t *testing.T) {
	for in, want := range map[string][]string{
		`node ./server.js`:             {"node", "./server.js"},
		`'/opt/my app/run' "a b" c\ d`: {"/opt/my app/run", "a b", "c d"},
		`run --name '' $HOME 'a|b'`:    {"run", "--name", "", "$HOME", "a|b"},
	} {
		got, err := splitCommand("--stdio", in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "  ", "a | b", "a; b", "a && b", "a > b", "a 'b", `a "b`, "ä < b"} {
		if got, err := splitCommand("--stdio", in); err == nil {
			t.Errorf("%q was accepted as %q", in, got)
		}
	}
}

func TestSplitCommandRunsNothing(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	_, _ = splitCommand("--stdio", "echo `touch "+mark+"` $(touch "+mark+")")
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command in the string was run")
	}
}

func TestSplitList(t *testing.T) {
	header := func(s string) bool { return headLen(s, ":") > 0 }
	for in, want := range map[string][]string{
		"A:1,B:2":                      {"A:1", "B:2"},
		"A: x, y,B:2":                  {"A: x, y", "B:2"},
		"A: http://h/p, and more,B: 2": {"A: http://h/p, and more", "B: 2"},
		"A: x, y\nB:2\n":               {"A: x, y", "B:2"},
		" A:1 ":                        {"A:1"},
		",,":                           nil,
	} {
		if got := splitList(in, header); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	for in, want := range map[string]time.Duration{"5000": 5 * time.Second, "1.5s": 1500 * time.Millisecond, "0.5": 500 * time.Microsecond, "2m": 2 * time.Minute} {
		var d time.Duration
		if err := (span{&d}).Set(in); err != nil || d != want {
			t.Errorf("%s: %v, %v; want %v", in, d, err, want)
		}
	}
	for _, in := range []string{"", "0", "-1", "-5s", "soon", "NaN", "Inf", "1e300", "25h"} {
		var d time.Duration
		if err := (span{&d}).Set(in); err == nil {
			t.Errorf("%q was accepted as %v", in, d)
		}
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "8388608": 8 << 20, "8MiB": 8 << 20, "512 KiB": 512 << 10, "1GiB": 1 << 30, "5MB": 5e6, "7B": 7} {
		var n int64
		if err := (size{&n}).Set(in); err != nil || n != want {
			t.Errorf("%s: %d, %v; want %d", in, n, err, want)
		}
	}
	for _, in := range []string{"", "0", "-1", "1.5MiB", "MiB", "8 MiB B", "2GiB", "9223372036854775807GiB", "1TiB", "NaN"} {
		var n int64
		if err := (size{&n}).Set(in); err == nil {
			t.Errorf("%q was accepted as %d", in, n)
		}
	}
	for in, ok := range map[string]bool{"1": true, "100": true, "0": false, "101": false, "-1": false, "": false} {
		var n int
		if err := (count{&n, 100}).Set(in); (err == nil) != ok {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestNoUserinfoInMessages: neither of a URL nor of what was to be one.
func TestNoUserinfoInMessages(t *testing.T) {
	for in, want := range map[string]string{
		"http://user:hunter2@h/mcp":            "http://h/mcp",
		"http://user:hunter2@h y":              "http://***@h y",
		"http://user:hunt er2@h":               "http://***@h",
		"http://user:hunter2/@h?key=hunter2":   "http://***@h?key=***",
		"http://user:hunter2@h%zz?a=b&c=d#e":   "http://***@h%zz?a=***&c=***#e",
		"run --url http://user:hunter2@h/x -v": "run --url http://h/x -v",
		"--url=http://user:hunter2@h/x":        "--url=http://h/x",
		"a b":                                  "a b",
	} {
		if got := masked(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, args := range [][]string{{"http://user:hunter2@h y"}, {"check", "http://user:hunter2@h y"}, {"check", "http://user:hunter2@h y", "z"}, {"check", "http://user:hunter2@h/ y", "--url", "http://user:hunter2@h"}, {"inspect", "--stdio", "x http://user:hunter2@h |"}, {"version", "http://user:hunter2@h y"}} {
		var out bytes.Buffer
		code := Main(append([]string{"mcpvigil"}, args...), nil, &out, &out, noEnv)
		if code != exitMisconfigured || strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), "user") {
			t.Errorf("%q: exit %d, %s", args, code, out.String())
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"min-tools", "max-tools", "min-prompts", "url", "sse", "stdio", "format"}
	for in, want := range map[string]string{"min-tool": "min-tools", "mim-tools": "min-tools", "fromat": "format", "studio": "stdio", "nonsense": "", "x": "", "form": "format"} {
		if got := nearest(in, names); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestEveryFlagHasVariables sets each flag of each command by both names.
func TestEveryFlagHasVariables(t *testing.T) {
	a := &app{program: "mcpvigil", lookup: noEnv}
	for _, cmd := range a.newRootCommand().Commands() {
		if cmd.Name() == "version" || cmd.Hidden {
			continue // a format for reports must not break them
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == "version" {
				return
			}
			value := map[string]string{
				typeHeaders: "A:b", typeAssignments: "A=b", typeVariable: "NAME", typeSecretFile: "path", "ms": "1", "n": "1", "bool": "true", typeSize: "1MiB", "format": "json", "name": "tools",
				typePolicy: "seed", typeEffect: "tool-text=event", typeMask: "instructions=date", typeIdentity: "a=client-name=b",
				typeFinding: "0123456789abcdef", typeAlso: "json=a,b", typeNetwork: "10.1.0.0/16", typePeriod: "30d", typeGroupRole: "ops=admin", typeRole: "viewer",
			}[f.Value.Type()]
			if f.Name == "exit-map" {
				value = "nagios"
			} else if value == "" {
				value = "text"
			}
			for _, prefix := range a.prefixes() {
				f.Changed = false
				name := prefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
				g := &given{flags: cmd.Flags(), fromEnv: map[string]string{}}
				err := g.fill(a.prefixes(), func(n string) (string, bool) {
					if n == name {
						return value, true
					}
					return "", false
				})
				if err != nil || !f.Changed || g.fromEnv[f.Name] != name {
					t.Errorf("%s --%s is not set by %s: %v", cmd.Name(), f.Name, name, err)
				}
			}
		})
	}
}

// TestStartUpIsBoundByTimeout: see the help of --timeout.
func TestStartUpIsBoundByTimeout(t *testing.T) {
	o := runOptions{timeout: time.Second}
	if got := o.probe().StartupTimeout; got != probe.StartupWithinTimeout {
		t.Errorf("start-up may take %v", got)
	}
	o.startupTimeout = time.Minute
	if got := o.probe().StartupTimeout; got != time.Minute {
		t.Errorf("start-up may take %v", got)
	}
	if got := new(runOptions).probe(); got.Timeout != 0 || got.StartupTimeout != 0 {
		t.Errorf("without flags the target's own budgets do not count: %+v", got)
	}
}

func TestProgressIsRemoved(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, columns: func() int { return 80 }}
	p.show("checking %s", "a\nb")
	p.done()
	p.show("late")
	if want := eraseLine + `checking a\u{000A}b` + eraseLine; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	silent := (&app{stderr: &b}).newProgress(false) // no terminal
	silent.show("x")
	silent.done()
	if strings.Contains(b.String(), "x") {
		t.Error("progress without a terminal")
	}
}

// TestProgressFits: a line of more than one row could not be erased.
func TestProgressFits(t *testing.T) {
	for _, wide := range []int{1, 20, 40, 200} {
		var b bytes.Buffer
		p := &progress{w: &b, columns: func() int { return wide }}
		p.show("%s: %s", "initialize", "https://mcp.example.com/"+strings.Repeat("日本", 50))
		shown := strings.TrimPrefix(b.String(), eraseLine)
		taken := 0
		for _, r := range shown {
			taken++
			if r > 0x1100 {
				taken++
			}
		}
		if taken >= wide && wide > 1 || wide > 20 && !strings.HasPrefix(shown, "initialize: https://") {
			t.Errorf("%d columns of %d: %q", taken, wide, shown)
		}
	}
}

func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	for i := range 2 {
		if err := replaceFile(path, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != fmt.Sprint(i) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if err := replaceFile(os.DevNull, []byte("x")); err != nil {
		t.Errorf("a device: %v", err)
	}
}

// TestOverrideKeepsTheGraph: what two targets stand on stays one node, and the
// flags reach it.
func TestOverrideKeepsTheGraph(t *testing.T) {
	shared := &target.Target{Command: &target.Command{Path: "x"}}
	top := &target.Target{Dependencies: []target.Dependency{{Target: shared}}}
	o := pointOptions{inheritEnv: true, protocolVersion: "2025-11-25", allowPlaintext: true}
	targets := []*target.Target{top, shared}
	o.override(targets)
	if targets[0] != top || targets[1] != shared || top.Dependencies[0].Target != shared {
		t.Error("a target was copied")
	}
	if !shared.Command.InheritEnv || shared.ProtocolVersion != "2025-11-25" || !shared.AllowPlaintextCredentials {
		t.Errorf("the flags do not reach what a target stands on: %+v", shared)
	}
}
