package peers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// TestCommand runs the built command against a peer of each transport.
func TestCommand(t *testing.T) {
	command := build(t)
	for name, want := range map[string]probe.Surface{
		"everything, HTTP":       {Tools: new(13), Resources: new(7), ResourceTemplates: new(2), Prompts: new(4)},
		"everything, legacy SSE": {Tools: new(13), Resources: new(7), ResourceTemplates: new(2), Prompts: new(4)},
		"memory, stdio":          {Tools: new(9), Resources: new(1), ResourceTemplates: new(0)},
	} {
		t.Run(name, func(t *testing.T) {
			all := peers()
			p := all[slices.IndexFunc(all, func(p peer) bool { return p.name == name })]
			tgt := p.start(t)
			flags, server := []string{"check", "--format", "json"}, []string{"--url", tgt.Endpoint}
			switch p.transport() {
			case target.SSE:
				server[0] = "--sse"
			case target.Stdio:
				for _, v := range tgt.Command.Env {
					value, err := v.Value.Reveal(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					flags = append(flags, "--env", v.Name+"="+value)
				}
				server = append([]string{"--", tgt.Command.Path}, tgt.Command.Args...)
			}

			report, code := check(t, command, slices.Concat(flags, server))
			if code != 0 || report.Status != probe.StatusHealthy {
				t.Errorf("exit code %d, status %s: %s", code, report.Status, explain(report))
			}
			if got := show(report.Surface); got != show(&want) {
				t.Errorf("counts %v, want %v", got, show(&want))
			}
			if report.Server == nil || report.Server.ProtocolVersion != "2025-11-25" || report.Target.Transport != p.transport() {
				t.Errorf("server %+v over %s", report.Server, report.Target.Transport)
			}

			report, code = check(t, command, slices.Concat(flags, []string{"--require-tool", "no-such-tool"}, server))
			if code != 1 || report.Status != probe.StatusUnhealthy || report.Result(probe.StepTools).Reason != "required-missing" {
				t.Errorf("a missing tool: exit code %d, status %s: %s", code, report.Status, explain(report))
			}
			report, code = check(t, command, slices.Concat(flags, []string{"--max-tools", "1"}, server))
			if code != 3 || report.Status != probe.StatusDegraded {
				t.Errorf("too many tools: exit code %d, status %s: %s", code, report.Status, explain(report))
			}
		})
	}
}

// build builds the command as a user gets it.
func build(t *testing.T) string {
	t.Helper()
	// The command is no import of this test. Looking at its files keeps go test
	// from taking an old result for a new program.
	for _, dir := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "mcpvigil")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, "../../cmd/mcpvigil")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, said)
	}
	return out
}

// check runs the command and reads its report.
func check(t *testing.T, command string, args []string) (*probe.Report, int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var report probe.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%q printed no report: %v\n%s\n%s", args, err, &stdout, &stderr)
	}
	return &report, cmd.ProcessState.ExitCode()
}

func show(s *probe.Surface) [4]string {
	if s == nil {
		return [4]string{}
	}
	return [4]string{shown(s.Tools), shown(s.Resources), shown(s.ResourceTemplates), shown(s.Prompts)}
}
