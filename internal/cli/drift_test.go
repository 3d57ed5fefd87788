package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestDriftCodes(t *testing.T) {
	for status, want := range map[baseline.Status]int{
		baseline.Approved: 0, baseline.Changed: 1, baseline.Flagged: 1, baseline.Inconsistent: 1, baseline.Misconfigured: 2, baseline.Unknown: 4, "new": 1,
	} {
		if got := driftCode([]*baseline.Result{{Status: status}}); got != want {
			t.Errorf("%s: %d, want %d", status, got, want)
		}
	}
	order := []baseline.Status{baseline.Approved, baseline.Unknown, baseline.Misconfigured, baseline.Changed}
	for i := range order[1:] {
		both := []*baseline.Result{{Status: order[i+1]}, {Status: order[i]}}
		want := driftCode(both[:1])
		if got := driftCode(both); got != want {
			t.Errorf("%s and %s: %d, want %d", order[i], order[i+1], got, want)
		}
		slices.Reverse(both)
		if got := driftCode(both); got != want {
			t.Errorf("%s and %s: %d, want %d", order[i+1], order[i], got, want)
		}
	}
}

func TestIdentities(t *testing.T) {
	got, err := identities([]string{
		"editor=client-name=Acme, Inc.,user-agent=Acme/2.0 (x=y, z)", "other=protocol-version=2025-06-18",
		"editor=client-version=2.0", "admin=bearer-env=ADMIN,header-env=X-Key=KEY",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []*identity{
		{name: "editor", client: probe.Client{Name: "Acme, Inc.", Version: "2.0", UserAgent: "Acme/2.0 (x=y, z)"}},
		{name: "other", protocol: "2025-06-18"},
		{name: "admin", headers: []target.Header{target.Bearer(target.FromEnv("ADMIN")), {Name: "X-Key", Value: target.FromEnv("KEY")}}},
	}
	same := cmp.Comparer(func(a, b target.Secret) bool { return a.Origin() == b.Origin() })
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(identity{}), same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !got[0].sameCredential() || got[2].sameCredential() {
		t.Error("whose credential it is was mistaken")
	}
	for _, twice := range [][]string{
		{"a=client-name=x,client-name=y"},
		{"a=client-name=x", "a=user-agent=x,client-name=x"},
		{"a=bearer-env=A,bearer-env=B"},
		{"a=header-env=X-Key=A,header-env=x-key=B"},
		{"a=header-env=Authorization=A,bearer-env=B"},
	} {
		if _, err := identities(twice); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%q: %v", twice, err)
		}
	}
	if _, err := identities([]string{"a=header-env=X=A,header-env=Y=B", "b=client-name=x", "c=client-name=x"}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "name", "name=", "a=client-name=", "a=user-agent= ", "a=client-name=,user-agent=x", "name=value", "=client-name=x", "a=colour=red", "a=bearer-env=not a name", "a=header-env=KEY", "a=header-env=X=not a name"} {
		if got, err := identities([]string{bad}); err == nil {
			t.Errorf("%q was accepted as %+v", bad, got[0])
		}
	}
}

func TestEffects(t *testing.T) {
	o := driftOptions{policy: "record", effects: []string{"tool-text=fail"}}
	of := surface.Policy{Base: surface.Seed, Effects: map[surface.Class]surface.Effect{surface.ToolText: surface.Silent, surface.ToolAdded: surface.Event}}
	got := o.over(of)
	want := surface.Policy{Base: surface.Record, Effects: map[surface.Class]surface.Effect{surface.ToolText: surface.Fail, surface.ToolAdded: surface.Event}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if of.Effects[surface.ToolText] != surface.Silent {
		t.Error("the policy of the file was changed")
	}
	if got := new(driftOptions).over(of); got.Base != surface.Seed || len(got.Effects) != 2 {
		t.Errorf("without flags it is %+v", got)
	}
	for _, c := range surface.Classes() {
		if err := isEffect(string(c.Class) + "=event"); err != nil {
			t.Errorf("%s: %v", c.Class, err)
		}
	}
	for _, bad := range []string{"", "tool-text", "tool-text=", "=fail", "tool=fail", "tool-text=FAIL"} {
		if isEffect(bad) == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// TestRemarks: what has to be read to its end is said once, and not without end.
func TestRemarks(t *testing.T) {
	var changes []surface.Change
	for i := range 20 {
		changes = append(changes,
			surface.Change{Class: surface.CloakedSurface, Kind: surface.Tool, Item: strings.Repeat("x", i), Detail: "the same rule"},
			surface.Change{Class: surface.VolatileText, Kind: surface.Tool, Detail: strings.Repeat("mask ", i)},
			surface.Change{Class: surface.ToolText, Kind: surface.Tool, Detail: "text changed"})
	}
	got := (&observation{result: &baseline.Result{Changes: changes}}).remarks()
	if len(got) != maxRemarks || got[0] != "tool: the same rule" || slices.Contains(got[1:], "tool: the same rule") {
		t.Errorf("%q", got)
	}
}

// TestLoginNotSeen: it is said why a server is unknown of which all lists are known.
func TestLoginNotSeen(t *testing.T) {
	r := &baseline.Result{Unlisted: []surface.Kind{surface.Auth}}
	r.Judge()
	o := &observation{target: &target.Target{Endpoint: "https://a.example"}, seen: offering(), result: r}
	if v := o.verification(); r.Status != baseline.Unknown || !strings.Contains(v.Message, "login") || o.complete() {
		t.Errorf("%s: %q", r.Status, v.Message)
	}
}

// TestLockfileStaysAsItWas: what could not be read again does not replace a lockfile.
func TestLockfileStaysAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcpvigil.lock")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := baseline.New("a", baseline.Binding{Endpoint: "stdio://a"}, offering())
	a := &app{stdout: &output{w: io.Discard}}
	o := &lockOptions{lockfileOptions: lockfileOptions{lockfile: path}}
	twice := &lockfile{data: []byte("before"), Lockfile: &baseline.Lockfile{Baselines: []*baseline.Baseline{b, b}}}
	err := a.writeLockfile(t.Context(), twice, o, []*baseline.Baseline{b}, nil)
	if data, _ := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "is not written") || string(data) != "before" {
		t.Errorf("%v: %s", err, data)
	}
}
