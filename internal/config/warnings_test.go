package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func program(t *testing.T, dir, name string, mode os.FileMode) string {
	t.Helper()
	path := writeFile(t, dir, name, "#!/bin/sh\n")
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	program(t, dir, "bin/server", 0o755)
	program(t, dir, "work/run.sh", 0o755)
	program(t, dir, "work/plain.sh", 0o644)
	program(t, dir, "with space/server", 0o755)
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	const stdio = "  - {type: mcp, endpoint: 'stdio://x', mcp: {transport: stdio, stdio: {"
	text := strings.ReplaceAll("version: v1\ntargets:\n"+
		stdio+"command: server}}, name: fine}\n"+
		stdio+"command: ./run.sh, directory: DIR/work}}, name: relative}\n"+
		stdio+"command: DIR/with space/server}}, name: space in a path}\n"+
		stdio+"command: gone}}, name: gone}\n"+
		stdio+"command: 'server --token hunter2 x'}}, name: split}\n"+
		stdio+"command: ./plain.sh, directory: DIR/work}}, name: plain}\n"+
		stdio+"command: DIR/none}}, name: none}\n"+
		stdio+"command: server, directory: DIR/none}}, name: directory}\n"+
		stdio+"command: ./x, directory: DIR/bin/server}}, name: file}\n"+
		stdio+"command: gone, env: {PATH: SOME_PATH}}}, name: its own path}\n"+
		stdio+"command: gone, env: {A: UNSET}}}, name: problem}\n"+
		"  - {type: mcp, endpoint: 'https://x.example', name: fine, monitor: {interval: 1m}}\n"+
		"  - {type: mcp, endpoint: 'https://x.example', name: fine, monitor: {interval: 1m}}\n", "DIR", dir)
	f := mustParse(t, text, "SOME_PATH", "/x")
	want := []string{
		`6:81: command "gone" is not on PATH; install it, or give its path`,
		`7:81: command "server --token *** x" is not found; it has spaces in it, and no shell splits it; write the program alone, and what follows it into args`,
		`8:81: command "./plain.sh" may not be run by this user; install it, or change the path`,
		`9:81: command "DIR/none" does not exist; install it, or change the path`,
		`10:100: directory "DIR/none" does not exist; create it, or change the path`,
		`11:97: directory "DIR/bin/server" is a file; give the directory that holds it`,
		`14:54: name "fine" is used twice, first on line 3; give each target a name of its own: reports and metrics tell targets apart by it`,
		`15:54: name "fine" is used twice, first on line 3; give each target a name of its own: reports and metrics tell targets apart by it`,
	}
	var got []string
	for _, w := range f.Warnings {
		line := strings.ReplaceAll(strings.TrimPrefix(w.String(), "test.yaml:"), dir, "DIR")
		got = append(got, line)
		if w.Target == nil {
			t.Errorf("%s concerns %v", line, w.Target)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	portable, err := Parse("f", []byte(text), Options{Portable: true})
	if err != nil || len(portable.Warnings) != 2 {
		t.Errorf("on another machine: %v, %v", portable.Warnings, err)
	}
}
