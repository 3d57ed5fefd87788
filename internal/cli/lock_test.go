package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
)

// TestLockAtOnce: runs that approve at the same time lose nothing of each other.
func TestLockAtOnce(t *testing.T) {
	const runs = 8
	path := filepath.Join(t.TempDir(), "mcpvigil.lock")
	var all sync.WaitGroup
	for range runs {
		server := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("add")}})
		all.Go(func() {
			if code, _, stderr := runMain(t, "lock", server.Target().Endpoint, "--lockfile", path, "--yes", "--reason", "test"); code != 0 {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
	all.Wait()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := baseline.Read(data); err != nil || len(l.Baselines) != runs {
		t.Errorf("%v: %s", err, data)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestLockfileKeepsItsPlace: a lockfile keeps its mode, and is made where a link leads.
func TestLockfileKeepsItsPlace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes, and links for some only")
	}
	server := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("add")}})
	dir := t.TempDir()
	link, path := filepath.Join(dir, "link"), filepath.Join(dir, "mcpvigil.lock")
	if err := os.Symlink("mcpvigil.lock", link); err != nil {
		t.Fatal(err)
	}
	lock := func(name string) (int, string) {
		code, _, stderr := runMain(t, "lock", server.Target().Endpoint, "--name", name, "--lockfile", link)
		return code, stderr
	}
	if code, stderr := lock("one"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if to, err := os.Readlink(link); err != nil || to != "mcpvigil.lock" {
		t.Errorf("the link was replaced: %q, %v", to, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stderr := lock("two"); code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o400); err != nil || os.Geteuid() == 0 {
		return // root may write it all the same
	}
	if code, stderr := lock("three"); code != 2 || !strings.Contains(stderr, "permission denied") {
		t.Errorf("a lockfile that is only to be read: exit %d: %s", code, stderr)
	}
}
