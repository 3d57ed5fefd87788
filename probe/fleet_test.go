package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/demo"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// counted is a demo server that counts the listings of its tools.
func counted(t *testing.T) (url string, listings *atomic.Int64) {
	t.Helper()
	listings = new(atomic.Int64)
	demoServer := &demo.Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/list" {
			listings.Add(1)
		}
		demoServer.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, listings
}

func TestCheckAllChecksASharedDependencyOnce(t *testing.T) {
	url, listings := counted(t)
	shared := &target.Target{Name: "shared", ID: "shared", Endpoint: url}
	a := &target.Target{Name: "a", Endpoint: url, Dependencies: []target.Dependency{{Target: shared, Relationship: target.Gateway}}}
	b := &target.Target{Name: "b", Endpoint: url, Dependencies: []target.Dependency{{Target: shared}}}

	reports := probe.CheckAll(context.Background(), []*target.Target{a, b, shared}, 2, probe.Options{})

	if n := listings.Load(); n != 3 {
		t.Errorf("%d listings for three nodes", n)
	}
	if got := reports[0].Dependencies[0]; got.ID != "shared" || !got.Critical || got.Relationship != target.Gateway || got.Status != probe.StatusHealthy {
		t.Errorf("the dependency of a is %+v", got)
	}
	if reports[0].Dependencies[0].Report != reports[2] {
		t.Error("the shared node has two reports")
	}
}

func TestDependenciesWeighIn(t *testing.T) {
	url, _ := counted(t)
	dead := &target.Target{Name: "dead", Endpoint: "http://127.0.0.1:1/mcp"}
	none := &target.Target{Name: "none", Endpoint: url, Checks: []target.Dimension{}} // unknown
	slow := &target.Target{Name: "slow", Endpoint: url, Expect: target.Expectations{MaxLatency: 1}}
	for _, c := range []struct {
		name     string
		on       *target.Target
		optional bool
		want     probe.Status
	}{
		{"a dead critical one", dead, false, probe.StatusUnhealthy},
		{"a dead optional one", dead, true, probe.StatusDegraded},
		{"an unknown critical one", none, false, probe.StatusUnknown},
		{"an unknown optional one", none, true, probe.StatusDegraded},
		{"a degraded critical one", slow, false, probe.StatusDegraded},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := &target.Target{Endpoint: url, Dependencies: []target.Dependency{{Target: c.on, Optional: c.optional}}}
			if got := probe.CheckAll(context.Background(), []*target.Target{top}, 0, probe.Options{})[0]; got.Status != c.want {
				t.Errorf("status is %s, want %s", got.Status, c.want)
			}
		})
	}
}

func TestDependencySummaryWhenAskedFor(t *testing.T) {
	url, _ := counted(t)
	dead := &target.Target{Name: "dead", Endpoint: "http://127.0.0.1:1/mcp"}
	top := &target.Target{Endpoint: url, Checks: append(target.DefaultDimensions(), target.DependencyDimension), Dependencies: []target.Dependency{{Target: dead}}}
	r := probe.CheckAll(context.Background(), []*target.Target{top}, 0, probe.Options{})[0]
	step := r.Result(probe.StepDependencies)
	if step == nil || step.Passed || step.Status != probe.StatusUnhealthy {
		t.Fatalf("the summary step is %+v", step)
	}
	if r.Summary.Failed != 1 {
		t.Errorf("%d steps failed, want 1", r.Summary.Failed)
	}
}

// Only Go programs can make a cycle; the file format refuses them.
func TestACycleMadeInGoEnds(t *testing.T) {
	url, _ := counted(t)
	a, b := &target.Target{Name: "a", Endpoint: url}, &target.Target{Name: "b", Endpoint: url}
	a.Dependencies = []target.Dependency{{Target: b}}
	b.Dependencies = []target.Dependency{{Target: a}}
	for _, r := range probe.CheckAll(context.Background(), []*target.Target{a, b}, 0, probe.Options{}) {
		if r.Status != probe.StatusHealthy {
			t.Errorf("%s is %s", r.Target.Name, r.Status)
		}
	}
}

func TestCheckAllKeepsToItsConcurrency(t *testing.T) {
	var now, most atomic.Int64
	demoServer := &demo.Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		demoServer.ServeHTTP(w, r)
	}))
	defer server.Close()
	var targets []*target.Target
	for range 20 {
		targets = append(targets, &target.Target{Endpoint: server.URL})
	}
	for _, r := range probe.CheckAll(context.Background(), targets, 3, probe.Options{}) {
		if r.Status != probe.StatusHealthy {
			t.Fatalf("%s: %+v", r.Status, r.Checks)
		}
	}
	if most.Load() > 3 {
		t.Errorf("%d checks ran at a time, want at most 3", most.Load())
	}
}
