package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/seal"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

const watchedYAML = "version: v1\ntargets:\n  - {name: a, type: mcp, endpoint: 'https://a.example/mcp'}\nlockfile: mcpvigil.lock\n"

// writeLock approves a server that has one tool with this description.
func writeLock(t *testing.T, path, description string) {
	t.Helper()
	s, err := surface.Read([]byte(`{"tools":[{"name":"x","description":"` + description + `","inputSchema":{"type":"object"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var l baseline.Lockfile
	l.Put(baseline.New("a", baseline.BindingOf(&target.Target{Name: "a", Endpoint: "https://a.example/mcp", Transport: target.HTTP}, ""), s))
	if err := os.WriteFile(path, l.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLockfileApproves: a lockfile approves once what its commit does; what a person did
// since then stays until it changes.
func TestLockfileApproves(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &servedFile{path: filepath.Join(dir, "mcpvigil.yaml"), store: s, single: true, now: time.Now}
	lock := filepath.Join(dir, "mcpvigil.lock")
	if err := os.WriteFile(f.path, []byte(watchedYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	writeLock(t, lock, "one")
	approvals := func(want int, events int, named ...string) {
		t.Helper()
		change, err := f.apply(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(change.approved, named) {
			t.Errorf("approved %q, want %q", change.approved, named)
		}
		err = s.View(t.Context(), func(tx *store.Tx) error {
			m, err := tx.MonitorByName(t.Context(), "a")
			if err != nil {
				return err
			}
			got, err := tx.Approvals(t.Context(), m.ID, time.Now(), false)
			if err != nil {
				return err
			}
			accepted, _, err := tx.Events(t.Context(), store.EventFilter{Monitor: m.ID, Names: []string{watch.EventBaselineAccepted}})
			if len(got) != want || len(accepted) != events {
				t.Errorf("%d approvals and %d events, want %d and %d", len(got), len(accepted), want, events)
			}
			for _, a := range got {
				if a.Source != watch.ApprovedLockfile || !strings.HasPrefix(a.Approver, "file:"+lock+"@sha256:") {
					t.Errorf("%+v", a)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	approvals(1, 1, "a")
	approvals(1, 1) // a start is no acceptance
	err = s.InTx(t.Context(), func(tx *store.Tx) error { return tx.EndApprovals(t.Context(), 1, "user:ann", time.Now()) })
	if err != nil {
		t.Fatal(err)
	}
	approvals(0, 1) // nor does it undo what a person did
	writeLock(t, lock, "two")
	approvals(1, 2, "a")

	// A mistake changes nothing.
	if err := os.WriteFile(lock, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := f.current.Load()
	if _, err := f.apply(t.Context()); err == nil || f.current.Load() != before {
		t.Errorf("a lockfile that cannot be read was applied: %v", err)
	}
}

// TestChanged: files are looked at through links, as Kubernetes swaps them.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, version, "mcpvigil.yaml"), []byte("same size"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "..data")
	link := func(to string) {
		_ = os.Remove(data)
		if err := os.Symlink(to, data); err != nil {
			t.Skip("there are no links here")
		}
	}
	link("v1")
	f := &servedFile{path: filepath.Join(data, "mcpvigil.yaml")}
	for i, want := range []bool{true, false, true, false, true} {
		switch i {
		case 2:
			link("v2")
		case 4:
			link("gone")
		}
		if got := f.changed(); got != want {
			t.Errorf("look %d: %v", i, got)
		}
	}
}

// TestStoreFails: a right file that could not be stored is no file with mistakes.
func TestStoreFails(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	f := &servedFile{path: filepath.Join(dir, "mcpvigil.yaml"), store: s, single: true, now: time.Now}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	right, _, _ := strings.Cut(watchedYAML, "lockfile")
	var log strings.Builder
	reload := func(failed bool, lines int) {
		t.Helper()
		f.reload(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		if got := strings.Count(log.String(), "\n"); f.failed != failed || got != lines {
			t.Errorf("failed %v, want %v; %d lines, want %d:\n%s", f.failed, failed, got, lines, log.String())
		}
	}
	write(right)
	reload(false, 1)
	write("nonsense")
	reload(false, 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(right)
	reload(true, 3)
	reload(true, 3)
	if f.store, err = store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "watch.db"), Sealer: seal.Generate()}); err != nil {
		t.Fatal(err)
	}
	defer f.store.Close()
	reload(false, 4)
}

// TestChangedWhileRead: what is written while the file is applied is applied as well.
func TestChangedWhileRead(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "watch.db"), Sealer: seal.Generate()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &servedFile{path: filepath.Join(dir, "mcpvigil.yaml"), store: s, single: true}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	right, _, _ := strings.Cut(watchedYAML, "lockfile")
	f.now = func() time.Time { // asked for once the file was read
		write(right + "  - {name: b, type: mcp, endpoint: 'https://b.example/mcp'}\n")
		return time.Now()
	}
	write(right)
	f.changed()
	f.reload(t.Context(), slog.New(slog.DiscardHandler))
	if f.target("b") != nil || !f.changed() {
		t.Error("a change that came while the file was read is not seen")
	}
}

func TestSome(t *testing.T) {
	if got := some(make([]string, 10_000)); len(got) != 21 || got[20] != "and 9980 more" {
		t.Errorf("%q", got)
	}
	if got := some([]string{"a"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
