package watch_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// disk mounts a disk of some megabytes, which root alone can.
func disk(t *testing.T, megabytes string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("run this as root in CI: it mounts a small disk")
		}
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "mode=0700,size="+megabytes+"m"); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill writes a file until nothing fits any more, and returns its path.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return path
}

// TestFullDiskAtTheStart: the monitor says why it does not start.
func TestFullDiskAtTheStart(t *testing.T) {
	t.Parallel()
	dir := disk(t, "8")
	fill(t, dir)
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	err = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(said.String(), "disk is full") && !strings.Contains(said.String(), "no space left") {
		t.Errorf("it ended with %d (%v): %s", code, err, said.String())
	}
	if strings.Count(strings.TrimSpace(said.String()), "\n") > 2 {
		t.Errorf("it says too much: %s", said.String())
	}
}

// TestFullDisk: a disk that becomes full ends nothing and loses nothing that was stored;
// with room again, checks are stored again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := disk(t, "24")
	f, r := newFleet(t, "m"), newReceiver(t)
	key := account(t, dir)
	p := start(t, "--data", dir, "--config", write(t, f, r, "m"))
	v := views{t: t, base: "http://" + p.address, key: key}
	up := func() bool { return v.all()["m"].Status.Healthy }
	eventually(t, time.Minute, "it is up", up)
	path := fill(t, dir)
	failed := func() bool {
		_, metrics := v.get("/metrics")
		return !strings.Contains(metrics, "mcpvigil_store_failures_total 0\n") || !strings.Contains(metrics, "mcpvigil_dispatch_failures_total 0\n")
	}
	eventually(t, 3*time.Minute, "something cannot be stored", failed)
	if status, _ := v.get("/livez"); status != http.StatusOK {
		t.Errorf("with a full disk /livez answers %d", status)
	}
	before := v.all()["m"].Status.LastCheck // who reads still may
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, 3*time.Minute, "checks are stored again", func() bool {
		m := v.all()["m"].Status
		return m.Healthy && m.LastCheck != nil && before != nil && m.LastCheck.After(*before)
	})
	p.stop()
	if text := p.log.String(); !strings.Contains(text, "disk is full") {
		t.Errorf("the log does not say what is wrong: %s", text)
	}
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "mcpvigil.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var sound string
	if err := s.DB().QueryRowContext(t.Context(), "pragma integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("the database: %s, %v", sound, err)
	}
	err = s.View(t.Context(), func(tx *store.Tx) error {
		events, _, err := tx.Events(t.Context(), store.EventFilter{Ascending: true, Limit: 100})
		for _, e := range events {
			if e.Name == watch.EventDown || e.Name == watch.EventDegraded {
				t.Errorf("a full disk is told as an outage: %+v", e)
			}
		}
		if !slices.ContainsFunc(events, func(e watch.Event) bool { return e.Name == watch.EventBaselineSet }) {
			t.Errorf("what was stored before: %+v", events)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
