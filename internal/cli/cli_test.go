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

func TestThreeStates(t *testing.T) {
	r := &probe.Report{
		Status: probe.StatusMisconfigured,
		Checks: []probe.Result{
			{Name: "connect", Status: probe.StatusHealthy, Passed: true},
			{Name: "tools", Status: probe.StatusUnknown},
			{Name: "resources", Status: probe.StatusHealthy, Passed: true, Skipped: true}, // not offered
			{Name: "prompts", Status: probe.StatusHealthy, Passed: true, Skipped: true},   // --skip
			{Name: "call", Status: probe.StatusUnknown, Skipped: true},
		},
	}
	got := threeStates(r, []string{"prompts"})
	if got.Status != probe.StatusUnhealthy || got.Checks[1].Status != probe.StatusUnhealthy {
		t.Errorf("more than three states: %s, %s", got.Status, got.Checks[1].Status)
	}
	if want := (probe.Summary{Total: 5, Passed: 2, Failed: 1, Skipped: 2}); got.Summary != want {
		t.Errorf("summary is %+v, want %+v", got.Summary, want)
	}
	if r.Status != probe.StatusMisconfigured || r.Checks[1].Status != probe.StatusUnknown {
		t.Error("the report itself was changed")
	}
}

func TestSplitCommand(t *testing.T) {
	for in, want := range map[string][]string{
		`node ./server.js`:             {"node", "./server.js"},
		`'/opt/my app/run' "a b" c\ d`: {"/opt/my app/run", "a b", "c d"},
		`run --name '' $HOME 'a|b'`:    {"run", "--name", "", "$HOME", "a|b"},
	} {
		got, err := splitCommand(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "  ", "a | b", "a; b", "a && b", "a > b", "a 'b", `a "b`, "ä < b"} {
		if got, err := splitCommand(in); err == nil {
			t.Errorf("%q was accepted as %q", in, got)
		}
	}
}

func TestSplitCommandRunsNothing(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	_, _ = splitCommand("echo `touch " + mark + "` $(touch " + mark + ")")
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
				typeHeaders: "A:b", typeAssignments: "A=b", "ms": "1", "n": "1", "bool": "true", "format": "json", "name": "tools",
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
	p := &progress{w: &b}
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

func TestOverrideLeavesTheFilesTargetAlone(t *testing.T) {
	command := &target.Command{Path: "x"}
	o := pointOptions{inheritEnv: true, protocolVersion: "2025-11-25"}
	t1 := target.Target{Command: command}
	o.override(&t1)
	if command.InheritEnv || !t1.Command.InheritEnv || t1.ProtocolVersion != "2025-11-25" {
		t.Error("the command of the file was changed, or that of the run was not")
	}
}
