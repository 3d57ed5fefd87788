//go:build unix

package probe_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// The cases of family B: what programs do that are started as servers.

func TestFieldB1Banner(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{Banner: []string{"[dotenv] injecting env \x1b[31m(3)", "🚀 server is up 🚀"}})
	r := check(t, proc.Target(), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"stdout-noise"}})
	toolCount(t, r, 2)
	n := note(t, r, "stdout-noise")
	contains(t, "the note", n.Text, "[dotenv] injecting env")
	if strings.ContainsAny(n.Text, "\x1b\n") {
		t.Errorf("the note is not sanitised: %q", n.Text)
	}
	if n.Count != 2 && !strings.Contains(n.Text, "2") {
		t.Errorf("the note does not count two lines: %+v", n)
	}
	contains(t, "the hint", n.Hint, "standard error")
}

func TestFieldB1NoiseWithoutEnd(t *testing.T) {
	t.Parallel()
	banner := slices.Repeat([]string{strings.Repeat("x", 1000)}, 500)
	proc := fakemcp.Stdio(t, fakemcp.Script{Banner: banner})
	r := check(t, proc.Target(), probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"stdout-noise"}})
	if n := note(t, r, "stdout-noise"); len(n.Text) > 600 {
		t.Errorf("the note has %d bytes", len(n.Text))
	}
}

func TestFieldB2StderrFlood(t *testing.T) {
	t.Parallel()
	for name, unbroken := range map[string]bool{"lines": false, "one line": true} {
		proc := fakemcp.Stdio(t, fakemcp.Script{StderrFlood: 256 << 10, FloodUnbroken: unbroken})
		r := check(t, proc.Target(), probe.Options{})
		t.Run(name, func(t *testing.T) {
			verify(t, r, want{})
			toolCount(t, r, 2)
		})
	}
}

func TestFieldB3LongLines(t *testing.T) {
	t.Parallel()
	padded := func(n int) *fakemcp.Process {
		return fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"tools/list": {Pad: n}}})
	}
	r := check(t, padded(300<<10).Target(), probe.Options{})
	verify(t, r, want{})
	toolCount(t, r, 2)

	r = check(t, padded(5<<20).Target(), probe.Options{})
	verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "response-too-large", text: []string{"4"}})

	r = check(t, padded(5<<20).Target(), probe.Options{Limits: target.Limits{ResponseBytes: 8 << 20}})
	verify(t, r, want{})
}

// TestFieldB3LineWithoutEnd runs alone, because it measures memory.
func TestFieldB3LineWithoutEnd(t *testing.T) {
	proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"tools/list": {Flood: 200 << 20}}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := check(t, proc.Target(), probe.Options{})
	runtime.ReadMemStats(&after)
	verify(t, r, want{status: probe.StatusUnknown, step: probe.StepTools, reason: "response-too-large"})
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 40 {
		t.Errorf("%d MiB were allocated for a line over a cap of 4", grown)
	}
}

// TestFieldB4Descendants leaves it to the end of the test to find what is left
// over of each process tree.
func TestFieldB4Descendants(t *testing.T) {
	t.Parallel()
	scripts := map[string]fakemcp.Script{
		"wrapped":             {},
		"grandchild":          {Grandchild: true},
		"stubborn grandchild": {GrandchildStubborn: true},
		"fails":               {Grandchild: true, Replies: map[string]fakemcp.Reply{"tools/list": {Result: `{"tools":null}`}}},
		"dies":                {Grandchild: true, Replies: map[string]fakemcp.Reply{"tools/list": {ExitBefore: true}}},
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := fakemcp.Stdio(t, script)
			tgt := &target.Target{Name: name, Command: proc.Wrapped()}
			var running sync.WaitGroup
			for worker := range 2 {
				running.Go(func() {
					for i := range 5 {
						cancelledCheck(t, tgt, (worker+i)%3 == 0)
					}
				})
			}
			running.Wait()
			if n := proc.Starts(); n == 0 {
				t.Error("the server was never started")
			}
		})
	}
}

// cancelledCheck runs a check and, if asked, cancels it on the way.
func cancelledCheck(t *testing.T, tgt *target.Target, cancelled bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if cancelled {
		stop := time.AfterFunc(60*time.Millisecond, cancel)
		defer stop.Stop()
	}
	if r := probe.Check(ctx, tgt, probe.Options{}); r == nil {
		t.Error("there is no report")
	}
}

func TestFieldB4HealthyWrapper(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{})
	r := check(t, &target.Target{Command: proc.Wrapped()}, probe.Options{})
	verify(t, r, want{anyNotes: true})
	toolCount(t, r, 2)
	if left := proc.Alive(time.Second); len(left) != 0 {
		t.Errorf("after the check there are still %v", left)
	}
}

func TestFieldB6SlowShutdown(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{IgnoreEOF: true, IgnoreTERM: true})
	tgt := proc.Target()
	tgt.Command.StdinGrace, tgt.Command.TermGrace = 200*time.Millisecond, 200*time.Millisecond
	r := check(t, tgt, probe.Options{})
	verify(t, r, want{notes: []probe.Reason{"slow-shutdown"}})
	if left := proc.Alive(0); len(left) != 0 {
		t.Errorf("the check came back and left %v", left)
	}
}

func TestFieldB6EndsOnTERM(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{IgnoreEOF: true})
	tgt := proc.Target()
	tgt.Command.StdinGrace = 200 * time.Millisecond
	verify(t, check(t, tgt, probe.Options{}), want{notes: []probe.Reason{"slow-shutdown"}})
}

func TestFieldB8SlowFirstStart(t *testing.T) {
	t.Parallel()
	marker := filepath.Join(t.TempDir(), "installed")
	proc := fakemcp.Stdio(t, fakemcp.Script{StartDelay: 3 * time.Second, Marker: marker, Stderr: "added 112 packages\n"})
	o := probe.Options{StartupTimeout: time.Second, CheckTimeout: 600 * time.Millisecond, Timeout: 5 * time.Second}
	r := check(t, proc.Target(), o)
	verify(t, r, want{status: probe.StatusUnknown, reason: "startup-timeout", text: []string{"1s"}})
	if _, err := os.Stat(marker); err == nil {
		t.Fatal("the server came to the end of its installation although it was stopped")
	}

	// The start-up has a budget of its own: longer than that of the step.
	o.StartupTimeout = time.Minute
	r = check(t, proc.Target(), o)
	verify(t, r, want{})
	if s := step(t, r, probe.StepConnect).Stages; s == nil || s.Spawn == nil || s.Spawn.Duration() < 2*time.Second {
		t.Errorf("the time of the start is not in the stages: %+v", s)
	}

	o.StartupTimeout = 2500 * time.Millisecond // less than the first start takes
	verify(t, check(t, proc.Target(), o), want{})
}

func TestFieldB9Command(t *testing.T) {
	t.Parallel()
	t.Run("not found", func(t *testing.T) {
		r := check(t, &target.Target{Command: &target.Command{Path: "no-such-mcp-server"}}, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "command-not-found", text: []string{"no-such-mcp-server"}, code: probe.CodeSpawn})
	})
	t.Run("no such path", func(t *testing.T) {
		r := check(t, &target.Target{Command: &target.Command{Path: "/no/such/server"}}, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "command-not-found", text: []string{"/no/such/server"}})
	})
	t.Run("not executable", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "server.py")
		if err := os.WriteFile(file, []byte("print()"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := check(t, &target.Target{Command: &target.Command{Path: file}}, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "command-not-executable", text: []string{file}})
	})
	t.Run("no such directory", func(t *testing.T) {
		proc := fakemcp.Stdio(t, fakemcp.Script{})
		tgt := proc.Target()
		tgt.Command.Dir = "/no/such/directory"
		r := check(t, tgt, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "bad-directory", text: []string{"/no/such/directory"}})
	})
	t.Run("arguments", func(t *testing.T) {
		args := []string{"with space", `"double"`, `'single'`, "a^b", "naïve", "", "$HOME", "*", `back\slash`, "new\nline"}
		proc := fakemcp.Stdio(t, fakemcp.Script{})
		verify(t, check(t, &target.Target{Command: proc.Command(args...)}, probe.Options{}), want{})
		if got := proc.Args(); !slices.Equal(got, args) {
			t.Errorf("arguments arrived as\n  %q\nwant\n  %q", got, args)
		}
	})
}

func TestFieldB11Encodings(t *testing.T) {
	t.Parallel()
	tool := "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"tools\":[{\"name\":\"caf\",\"description\":\"caf\xe9\",\"inputSchema\":{\"type\":\"object\"}}]}}\n"
	for name, tc := range map[string]struct {
		script fakemcp.Script
		want   want
	}{
		"a byte in a text": {
			fakemcp.Script{Replies: map[string]fakemcp.Reply{"tools/list": {Raw: []byte(tool)}}},
			want{notes: []probe.Reason{"invalid-utf8"}},
		},
		"a byte outside of texts": {
			fakemcp.Script{Replies: map[string]fakemcp.Reply{"tools/list": {Raw: []byte("{\"jsonrpc\":\"2.0\",\"id\":$ID,\xe9\"result\":{}}\n")}}},
			want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "malformed-json"},
		},
		"byte order mark": {fakemcp.Script{BOM: true}, want{notes: []probe.Reason{"bom"}}},
		"CRLF":            {fakemcp.Script{CRLF: true}, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := probe.Options{CheckTimeout: 2 * time.Second}
			r := check(t, fakemcp.Stdio(t, tc.script).Target(), o)
			verify(t, r, tc.want)
			if name == "a byte in a text" {
				contains(t, "the note", note(t, r, "invalid-utf8").Text, "0xE9", "position")
				toolCount(t, r, 1)
			}
		})
	}
}

func TestFieldB12ReducedEnvironment(t *testing.T) {
	t.Setenv("FAKE_EXTRA_CA", "/tmp/ca.pem") // ours, not the child's
	t.Setenv("FAKE_UNRELATED_SECRET", "sesame-opens")
	script := fakemcp.Script{NeedEnv: "FAKE_EXTRA_CA", Stderr: "loading certificates\n"}
	proc := fakemcp.Stdio(t, script)
	o := probe.Options{StartupTimeout: 1500 * time.Millisecond, CheckTimeout: 500 * time.Millisecond}
	r := check(t, proc.Target(), o)
	verify(t, r, want{status: probe.StatusUnknown, reason: "startup-timeout", hint: []string{"PATH", "HOME"}})
	i := slices.IndexFunc(r.Checks, func(c probe.Result) bool { return c.Reason == "startup-timeout" })
	if i < 0 || r.Checks[i].Details["stderr"] != "loading certificates" {
		t.Errorf("the tail of standard error is not in the details:\n%s", describe(r))
	}
	for _, v := range proc.Env() {
		if strings.HasPrefix(v, "FAKE_") {
			t.Errorf("the child got %s", v)
		}
	}

	tgt := proc.Target()
	tgt.Command.Env = []target.EnvVar{{Name: "FAKE_EXTRA_CA", Value: target.FromEnv("FAKE_EXTRA_CA")}}
	verify(t, check(t, tgt, probe.Options{}), want{})
	if env := proc.Env(); !slices.Contains(env, "FAKE_EXTRA_CA=/tmp/ca.pem") || !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		t.Errorf("the child got %q", env)
	}

	tgt = proc.Target()
	tgt.Command.InheritEnv = true
	verify(t, check(t, tgt, probe.Options{}), want{})
	if !slices.Contains(proc.Env(), "FAKE_UNRELATED_SECRET=sesame-opens") {
		t.Errorf("with InheritEnv the child got %q", proc.Env())
	}
}

func TestFieldB12MissingVariable(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{})
	tgt := proc.Target()
	tgt.Command.Env = []target.EnvVar{{Name: "API_TOKEN", Value: target.FromEnv("FAKE_NOT_SET_ANYWHERE")}}
	r := check(t, tgt, probe.Options{})
	if r.Status != probe.StatusMisconfigured || !strings.Contains(describe(r), "FAKE_NOT_SET_ANYWHERE") {
		t.Errorf("report:\n%s", describe(r))
	}
	sound(t, r)
	if proc.Starts() != 0 {
		t.Error("the server was started without its variable")
	}
}

func TestFieldStdioDies(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]fakemcp.Script{
		"at once":          {ExitAtOnce: true, ExitCode: 3, Stderr: "Error: no token sesame-opens given\n"},
		"at every message": {ExitCode: 3, Stderr: "Error: no token sesame-opens given\n", Replies: map[string]fakemcp.Reply{"*": {ExitBefore: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proc := fakemcp.Stdio(t, script)
			tgt := proc.Target()
			tgt.Command.Env = []target.EnvVar{{Name: "TOKEN", Value: target.Literal("sesame-opens")}}
			r := check(t, tgt, probe.Options{})
			verify(t, r, want{status: probe.StatusUnhealthy, reason: "process-exited", text: []string{"3"}})
			text := describe(r)
			for _, c := range r.Checks {
				if tail, ok := c.Details["stderr"].(string); ok {
					text += tail
				}
			}
			contains(t, "the report", text, "no token *** given")
			if strings.Contains(text, "sesame-opens") {
				t.Error("a secret is in the report")
			}
			if n := proc.Starts(); n > 2 {
				t.Errorf("the server was started %d times", n)
			}
		})
	}
	t.Run("while listing", func(t *testing.T) {
		t.Parallel()
		proc := fakemcp.Stdio(t, fakemcp.Script{ExitCode: 3, Replies: map[string]fakemcp.Reply{"tools/list": {ExitBefore: true}}})
		r := check(t, proc.Target(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepTools, reason: "process-exited", text: []string{"3"}})
	})
}

// TestFieldStdioExitsOnUnknownMessage is a server that ends when it is asked
// something it does not know. It is started once more.
func TestFieldStdioExitsOnUnknownMessage(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{ExitCode: 1, Replies: map[string]fakemcp.Reply{"server/discover": {ExitBefore: true}}})
	r := check(t, proc.Target(), probe.Options{})
	verify(t, r, want{anyNotes: true})
	toolCount(t, r, 2)
	sequence(t, proc.Methods(), "server/discover", "initialize", "notifications/initialized", "tools/list")
	if n := proc.Starts(); n != 2 {
		t.Errorf("the server was started %d times", n)
	}
}

func TestFieldStdioCancelled(t *testing.T) {
	t.Parallel()
	proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{"tools/list": {Silent: true}}})
	ctx, cancel := context.WithCancel(t.Context())
	stop := time.AfterFunc(500*time.Millisecond, cancel)
	defer stop.Stop()
	start := time.Now()
	r := checkContext(t, ctx, proc.Target(), probe.Options{})
	verify(t, r, want{status: probe.StatusUnhealthy, reason: "aborted", code: probe.CodeAborted})
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("a cancelled check took %s", took)
	}
}
