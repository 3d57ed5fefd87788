//go:build unix

package watch_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary is the program, built once for the test binary.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mcpvigil-watch-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "mcpvigil")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "../../cmd/mcpvigil")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build mcpvigil: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8") // these tests wait for the most part
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// process is one running monitor.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	log     *bytes.Buffer
	done    chan struct{}
}

// start starts the monitor with args and waits until it is ready.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, address: freeAddress(t), log: &bytes.Buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, append([]string{"serve", "--listen", p.address, "--open-metrics", "--log-format", "json"}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	deadline := time.Now().Add(60 * time.Second)
	for !p.ready() {
		select {
		case <-p.done:
			t.Fatalf("the monitor ended: %s", p.log)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.kill()
			t.Fatalf("the monitor is not ready after a minute: %s", p.log)
		}
	}
	return p
}

func (p *process) ready() bool {
	status, _ := p.get("/readyz")
	return status == http.StatusOK
}

func (p *process) get(path string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, string(text)
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// stop asks the process to end, and fails the test when it does not.
func (p *process) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(30 * time.Second):
		p.kill()
		p.t.Errorf("the monitor did not stop within 30 s: %s", p.log)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the monitor ended with %d: %s", code, p.log)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// write writes a configuration with one monitor for each name, all of which page the
// receiver, and returns its path.
func write(t *testing.T, f *fleet, r *receiver, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	hook := filepath.Join(dir, "hook")
	if err := os.WriteFile(hook, []byte(r.http.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `version: v1
channels:
  - {name: hook, type: webhook, settings: {url_file: %q}}
escalations:
  - name: default
    steps: [{channels: [hook]}]
targets:
`, hook)
	for _, name := range names {
		fmt.Fprintf(&b, "  - {name: %s, type: mcp, endpoint: %q, monitor: {interval: 10s, failure_threshold: 1}}\n", name, f.url(name))
	}
	path := filepath.Join(dir, "mcpvigil.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
