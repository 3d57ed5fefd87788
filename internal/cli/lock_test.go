package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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

// TestEmptyLockfile: what approves nothing is written to as if it were new, and there
// is nothing in it to read.
func TestEmptyLockfile(t *testing.T) {
	server := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("add")}})
	for _, text := range []string{"", "# ours\n", "version: 1\n", "version: 1\nbaselines:\n", "# ours\r\nversion: 1 # yes\r\nbaselines: []\r\n"} {
		path := filepath.Join(t.TempDir(), "mcpvigil.lock")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"lint", path}, {"diff", path, path}} {
			if code, _, stderr := runMain(t, args...); code != 2 || !strings.Contains(stderr, "holds no baseline") {
				t.Errorf("%s of %q: exit %d: %s", args[0], text, code, stderr)
			}
		}
		if code, stdout, stderr := runMain(t, "lock", server.Target().Endpoint, "--lockfile", path); code != 0 {
			t.Errorf("lock of %q: exit %d: %s%s", text, code, stdout, stderr)
		}
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), "name: add") {
			t.Errorf("%q: %v: %s", text, err, data)
		}
	}
	for _, text := range []string{"version: 2\n", "other: 1\n", "baselines: [1]\n"} {
		if approvesNothing([]byte(text)) {
			t.Errorf("%q approves nothing", text)
		}
	}
}

// TestReportsSpareWhatIsRead: no report replaces the lockfile.
func TestReportsSpareWhatIsRead(t *testing.T) {
	server := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.Tool("add")}})
	t.Chdir(t.TempDir())
	url := server.Target().Endpoint
	if code, _, stderr := runMain(t, "lock", url); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if err := os.Link("mcpvigil.lock", "other"); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile("mcpvigil.lock")
	for _, args := range [][]string{
		{"verify", url, "--output", "mcpvigil.lock"},
		{"verify", url, "--also", "json=./mcpvigil.lock"},
		{"verify", url, "--lockfile", "none", "--output", "x/../none"},
		{"lint", "mcpvigil.lock", "--output", "other"},
		{"diff", "mcpvigil.lock", url, "--also", "sarif=mcpvigil.lock"},
	} {
		code, _, stderr := runMain(t, args...)
		if code != 2 || !strings.Contains(stderr, "would replace") {
			t.Errorf("%q: exit %d: %s", args, code, stderr)
		}
		if data, _ := os.ReadFile("mcpvigil.lock"); string(data) != string(before) {
			t.Fatalf("%q replaced it", args)
		}
	}
	for _, command := range []string{"lock", "verify"} {
		if code, _, stderr := runMain(t, command, "http://127.0.0.1:1", "--lockfile", ""); code != 2 || !strings.Contains(stderr, "--lockfile is empty") {
			t.Errorf("%s: exit %d: %s", command, code, stderr)
		}
	}
}

// TestLoginIsNotPinned: who approves a server without the metadata of its login is
// told so.
func TestLoginIsNotPinned(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TEST_TOKEN", "hunter2-hunter2")
	if err := os.WriteFile(filepath.Join(dir, "served.json"), []byte(`{"tools":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	offers := newListings(func(name string) string { return filepath.Join(dir, name) })
	silent := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent && r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		offers.ServeHTTP(w, r)
	}))
	defer server.Close()
	for i, want := range []bool{true, false} {
		silent = want
		args := []string{"lock", server.URL, "--bearer-env", "TEST_TOKEN", "--lockfile", filepath.Join(dir, fmt.Sprint(i))}
		code, _, stderr := runMain(t, args...)
		if code != 0 || strings.Contains(stderr, "is not pinned") != want {
			t.Errorf("exit %d: %s", code, stderr)
		}
	}
}
