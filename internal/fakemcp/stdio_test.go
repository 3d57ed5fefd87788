//go:build unix

package fakemcp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/target"
)

// pipe is a running scripted server.
type pipe struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bytes.Buffer
}

func run(t *testing.T, c *target.Command, env ...string) *pipe {
	t.Helper()
	p := &pipe{t: t, cmd: exec.Command(c.Path, c.Args...), stderr: &bytes.Buffer{}}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = 500 * time.Millisecond // descendants hold the pipes
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		_ = p.cmd.Wait()
	})
	return p
}

func (p *pipe) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pipe) read() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read: %v, stderr %s", err, p.stderr)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *pipe) open() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + initParams + `}`)
	if got := p.read(); !strings.Contains(got, `"id":1,"result":{"protocolVersion":"2025-11-25"`) {
		p.t.Fatalf("initialize: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (p *pipe) ask(id int, method string) string {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method))
	return p.read()
}

func TestStdioConversation(t *testing.T) {
	proc := fakemcp.Stdio(t, fakemcp.Script{Replies: map[string]fakemcp.Reply{
		"tools/list": {Before: []string{`{"note":"$ID:initialize"}`}, Result: `{"tools":[],"for":$ID}`, Times: 1},
	}})
	p := run(t, proc.Command("a b", `"ü^`), "FAKE_X=1")
	p.open()
	if got := p.ask(7, "tools/list"); got != `{"note":"1"}` {
		t.Errorf("line before: %s", got)
	}
	if got := p.read(); got != `{"jsonrpc":"2.0","id":7,"result":{"tools":[],"for":7}}` {
		t.Errorf("reply: %s", got)
	}
	if got := p.ask(8, "tools/list"); !strings.Contains(got, `"search"`) {
		t.Errorf("default reply: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","id":"s","result":{}}`)
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	if got := strings.Join(proc.Methods(), " "); got != "initialize notifications/initialized tools/list tools/list" {
		t.Errorf("methods: %s", got)
	}
	if times := proc.Times("tools/list"); len(times) != 2 || time.Since(times[0]) > time.Minute || times[1].Before(times[0]) {
		t.Errorf("times: %v", times)
	}
	if got := proc.Params("initialize"); len(got) != 1 || got[0] != initParams {
		t.Errorf("params: %v", got)
	}
	if got := proc.Answers(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","id":"s","result":{}}` {
		t.Errorf("answers: %s", got)
	}
	if got := proc.Args(); !slices.Equal(got, []string{"a b", `"ü^`}) {
		t.Errorf("args: %q", got)
	}
	if !slices.Contains(proc.Env(), "FAKE_X=1") || proc.Starts() != 1 {
		t.Errorf("starts %d, env %v", proc.Starts(), proc.Env())
	}
	if !strings.Contains(p.stderr.String(), `arg "\"ü^"`) {
		t.Errorf("stderr: %s", p.stderr)
	}
}

func TestStdioBytes(t *testing.T) {
	proc := fakemcp.Stdio(t, fakemcp.Script{
		BOM: true, CRLF: true, Banner: []string{"hello"}, Stderr: "warn\n", StderrFlood: 1000,
		Replies: map[string]fakemcp.Reply{
			"raw":   {Raw: []byte("{\"id\":$ID,\"x\":\"\xe9\"}\n")},
			"big":   {Flood: 300_000, After: []string{""}},
			"ping":  {Pad: 5000},
			"wrong": {Error: `{"code":-1,"message":"m"}`},
		},
	})
	p := run(t, proc.Command())
	if got := p.read(); got != "\xef\xbb\xbfhello\r" {
		t.Errorf("banner: %q", got)
	}
	p.open()
	if got := p.ask(2, "raw"); got != "{\"id\":2,\"x\":\"\xe9\"}" {
		t.Errorf("raw bytes: %q", got)
	}
	if got := p.ask(3, "big"); len(got) < 300_000 {
		t.Errorf("flood: %d bytes", len(got))
	}
	if got := p.ask(4, "ping"); len(got) < 5000 || !strings.Contains(got, `"x-pad"`) {
		t.Errorf("padded: %d bytes", len(got))
	}
	if got := p.ask(5, "wrong"); !strings.Contains(got, `"id":5,"error":{"code":-1`) {
		t.Errorf("error: %s", got)
	}
}

func TestStdioProcesses(t *testing.T) {
	tb := &recorder{T: t}
	proc := fakemcp.Stdio(tb, fakemcp.Script{GrandchildStubborn: true, IgnoreEOF: true, IgnoreTERM: true})
	p := run(t, proc.Wrapped())
	p.open()
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // only the shell dies
	if left := proc.Alive(100 * time.Millisecond); len(left) < 3 {
		t.Errorf("alive: %v, want the server and two sleepers", left)
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if left := proc.Alive(5 * time.Second); len(left) != 0 {
		t.Errorf("after SIGKILL to the group: %v", left)
	}
	tb.finish()
	if len(tb.errors) != 0 {
		t.Errorf("cleanup: %v", tb.errors)
	}
}

func TestStdioSlowFirstStart(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "installed")
	proc := fakemcp.Stdio(t, fakemcp.Script{StartDelay: 300 * time.Millisecond, Marker: marker})
	for range 2 {
		run(t, proc.Command()).open()
	}
	if _, err := os.Stat(marker); err != nil {
		t.Error(err)
	}
}

func TestStdioNeedsVariable(t *testing.T) {
	proc := fakemcp.Stdio(t, fakemcp.Script{NeedEnv: "FAKE_NEEDED"})
	p := run(t, proc.Command())
	p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	_ = p.in.Close()
	if rest, _ := io.ReadAll(p.out); len(rest) != 0 {
		t.Errorf("without the variable: %s", rest)
	}
	run(t, proc.Command(), "FAKE_NEEDED=1").open()
}

func TestStdioExits(t *testing.T) {
	for name, script := range map[string]fakemcp.Script{
		"at once": {ExitAtOnce: true, ExitCode: 3},
		"before":  {ExitCode: 3, Replies: map[string]fakemcp.Reply{"*": {ExitBefore: true}}},
		"after":   {ExitCode: 3, Replies: map[string]fakemcp.Reply{"initialize": {ExitAfter: true}}},
	} {
		proc := fakemcp.Stdio(t, script)
		p := run(t, proc.Command())
		_, _ = io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+initParams+"}\n")
		rest, _ := io.ReadAll(p.out)
		if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState.ExitCode() != 3 {
			t.Errorf("%s: exit %v", name, p.cmd.ProcessState)
		}
		if (name == "after") != (len(rest) > 0) {
			t.Errorf("%s: said %q", name, rest)
		}
	}
}

func TestStdioStrictness(t *testing.T) {
	tb := &recorder{T: t}
	proc := fakemcp.Stdio(tb, fakemcp.Script{})
	p := run(t, proc.Command())
	p.ask(1, "tools/list")
	p.ask(2, "initialize")
	p.ask(3, "tools/call")
	p.send("nonsense")
	_ = p.in.Close()
	_ = p.cmd.Wait()
	rules := ""
	for _, v := range proc.Violations() {
		rules += v.Rule + " "
	}
	if rules != "initialized initialize call initialized message " {
		t.Errorf("broken rules: %s", rules)
	}
	proc.Allow("*")
	tb.finish()
	if len(tb.errors) != 0 {
		t.Errorf("allowed rules failed the test: %v", tb.errors)
	}
}
