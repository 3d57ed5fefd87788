//go:build unix

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipesAreNotWaitedFor: opening a pipe takes somebody at its other end.
func TestPipesAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(string) string{
		"configuration": func(path string) string { _, err := Load(path); return err.Error() },
		"client":        func(path string) string { _, err := ReadClients(path); return err.Error() },
		"secret":        unreadable,
		"envFile": func(path string) string {
			f, err := parseClients("mcp.json", []byte(`{"mcpServers": {"x": {"command": "x", "envFile": "`+path+`"}}}`), Options{LookupEnv: os.LookupEnv})
			if err != nil {
				return err.Error()
			}
			return f.Servers[0].Target.Problem.Text
		},
	} {
		for _, path := range []string{pipe, link} {
			got := make(chan string, 1)
			go func() { got <- read(path) }()
			select {
			case text := <-got:
				if !strings.Contains(text, "a pipe") {
					t.Errorf("%s: %s", name, text)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s waits for a writer", name)
			}
		}
	}
}

// TestOpenPipesAreRead: <(command) and a pipe on standard input.
func TestOpenPipesAreRead(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("no /dev/fd on this system")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("version: v1\ntargets: [{name: a, type: mcp, endpoint: 'http://x'}]\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	f, err := Load(fmt.Sprintf("/dev/fd/%d", r.Fd()))
	if err != nil || len(f.Targets) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}
