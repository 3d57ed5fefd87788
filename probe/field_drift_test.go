package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// approve makes a baseline of what a target lists now, by way of a lockfile.
func approve(t *testing.T, tgt *target.Target) *baseline.Baseline {
	t.Helper()
	b := baseline.New("fake", baseline.BindingOf(tgt, ""), snapshot(t, tgt, probe.Options{}))
	file := &baseline.Lockfile{}
	file.Put(b)
	return found(t, file, b.Binding)
}

// found writes a lockfile, reads it back, and finds a baseline in it.
func found(t *testing.T, file *baseline.Lockfile, binding baseline.Binding) *baseline.Baseline {
	t.Helper()
	read, err := baseline.Read(file.Encode())
	if err != nil {
		t.Fatalf("the lockfile cannot be read: %v\n%s", err, file.Encode())
	}
	b, err := read.Find("fake", binding)
	if err != nil {
		t.Fatalf("the baseline is not found: %v\n%s", err, file.Encode())
	}
	return b
}

// observe lists a target afresh until the result counts. It returns how often.
func observe(t *testing.T, tgt *target.Target, b *baseline.Baseline) (*baseline.Result, int) {
	t.Helper()
	o := baseline.Observe(b, surface.Policy{}, lint.Options{})
	for n := 1; ; n++ {
		r, again := o.Add(snapshot(t, tgt, probe.Options{}))
		if !again {
			return r, n
		}
		if n > baseline.MaxListings {
			t.Fatalf("%d listings are not enough: %+v", n, r)
		}
	}
}

// verdict fails unless the result has this status and, of its changes, these are
// not silent: "effect class item".
func verdict(t *testing.T, r *baseline.Result, status baseline.Status, changes ...string) {
	t.Helper()
	var got []string
	for _, c := range r.Changes {
		if c.Effect != surface.Silent {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Effect, c.Class, c.Item)))
		}
	}
	slices.Sort(got)
	slices.Sort(changes)
	if r.Status != status || !slices.Equal(got, changes) {
		t.Errorf("it is %s with\n  %s\nwant %s with\n  %s", r.Status, strings.Join(got, "\n  "), status, strings.Join(changes, "\n  "))
	}
	for _, f := range r.Findings {
		t.Errorf("there is the finding %+v", f)
	}
}

// TestFieldE1OrderChanges: the order of tools, and of the members of their schemas,
// is another one each time.
func TestFieldE1OrderChanges(t *testing.T) {
	t.Parallel()
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Dual})
	srv.Vary(func(_ *fakemcp.Exchange, c *fakemcp.Config) {
		members := fakemcp.Shuffled([]string{`"path":{"type":"string","description":"Where"}`, `"depth":{"description":"How deep","type":"integer"}`, `"all":{"type":"boolean"}`})
		schema := fakemcp.Shuffled([]string{`"type":"object"`, `"properties":{` + strings.Join(members, ",") + `}`, `"required":["path"]`})
		var tools []string
		for _, name := range []string{"list", "read", "write", "move"} {
			tools = append(tools, fakemcp.Tool(name, fakemcp.Shuffled([]string{`"title":"T"`, `"inputSchema":{` + strings.Join(schema, ",") + `}`, `"annotations":{"readOnlyHint":true}`})...))
		}
		c.Tools = fakemcp.Shuffled(tools)
	})
	b := approve(t, srv.Target())
	orders := map[string]bool{}
	for range 100 {
		r := check(t, srv.Target(), probe.Options{})
		orders[fmt.Sprintf("%s", r.Inventory.Tools)] = true
		res, again := baseline.Observe(b, surface.Policy{}, lint.Options{}).Add(r.Snapshot())
		if again || res.Digest != b.Surface.Digest() || len(res.Changes) > 0 {
			t.Fatalf("another order is a change: %+v", res)
		}
		verdict(t, res, baseline.Approved)
	}
	if len(orders) < 50 {
		t.Errorf("the server showed only %d orders", len(orders))
	}
}

// TestFieldE4ListGrowsInSession: what a session was shown after it asked for more
// is not what a fresh one is shown.
func TestFieldE4ListGrowsInSession(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	grown := map[string]bool{}
	srv := fakemcp.New(t, fakemcp.Config{Callable: true})
	srv.On("tools/call", func(x *fakemcp.Exchange) {
		mu.Lock()
		grown[x.Caller().Session] = true
		mu.Unlock()
		x.Default()
	})
	srv.Vary(func(x *fakemcp.Exchange, c *fakemcp.Config) {
		mu.Lock()
		defer mu.Unlock()
		c.Tools = fakemcp.Tools("enable", "find", "list")
		if grown[x.Caller().Session] {
			c.Tools = append(c.Tools, fakemcp.ManyTools(27)...)
		}
	})
	b := approve(t, srv.Target())
	seen := 0
	enable := probe.Custom{Name: "enable", Required: true, Run: func(ctx context.Context, s *probe.Session) (probe.CustomResult, error) {
		if _, err := s.Call(ctx, "tools/call", map[string]string{"name": "enable"}); err != nil {
			return probe.CustomResult{}, err
		}
		raw, err := s.Call(ctx, "tools/list", nil)
		var list struct{ Tools []json.RawMessage }
		err = errors.Join(err, json.Unmarshal(raw, &list))
		seen = len(list.Tools)
		return probe.CustomResult{Passed: err == nil}, err
	}}
	grew := snapshot(t, srv.Target(), probe.Options{Custom: []probe.Custom{enable}})
	if seen != 30 {
		t.Fatalf("the session that called enable was shown %d tools", seen)
	}
	verdict(t, baseline.Verify(grew, b, surface.Policy{}, lint.Options{}), baseline.Approved)
	r, n := observe(t, srv.Target(), b)
	if verdict(t, r, baseline.Approved); n != 1 {
		t.Errorf("it took %d listings", n)
	}
}

// TestFieldE4ListDependsOnCaller: each credential has an approval of its own.
func TestFieldE4ListDependsOnCaller(t *testing.T) {
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.Vary(func(x *fakemcp.Exchange, c *fakemcp.Config) {
		c.Tools = fakemcp.ManyTools(map[string]int{"Bearer for-a": 5, "Bearer for-b": 9}[x.Caller().Authorization])
	})
	as := func(name, value string) *target.Target {
		t.Setenv(name, value)
		tgt := srv.Target()
		tgt.Headers = []target.Header{target.Bearer(target.FromEnv(name))}
		return tgt
	}
	a, b := as("TOKEN_A", "for-a"), as("TOKEN_B", "for-b")
	file := &baseline.Lockfile{}
	file.Put(approve(t, a))
	var other *baseline.BindingError
	if _, err := file.Find("fake", baseline.BindingOf(b, "")); !errors.As(err, &other) {
		t.Errorf("the approval for one credential counts for another: %v", err)
	}
	file.Put(approve(t, b))
	for tgt, tools := range map[*target.Target]int{a: 5, b: 9} {
		approved := found(t, file, baseline.BindingOf(tgt, ""))
		if n := len(approved.Surface.Of(surface.Tool)); n != tools {
			t.Errorf("%d tools are approved, want %d", n, tools)
		}
		r, _ := observe(t, tgt, approved)
		verdict(t, r, baseline.Approved)
	}
	// The key is rotated: another value under the same name is no other server.
	t.Setenv("TOKEN_A", "for-b")
	rotated, _ := observe(t, a, found(t, file, baseline.BindingOf(a, "")))
	if rotated.Status != baseline.Changed {
		t.Errorf("a key that opens more is %s", rotated.Status)
	}
}

// TestFieldE5Upgrade: an upgrade swaps the tools and the version; a deploy changes
// the version alone.
func TestFieldE5Upgrade(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	version, names := "1.0.0", []string{"a", "b"}
	serve := func(v string, n ...string) {
		mu.Lock()
		defer mu.Unlock()
		version, names = v, n
	}
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.Vary(func(_ *fakemcp.Exchange, c *fakemcp.Config) {
		mu.Lock()
		defer mu.Unlock()
		c.Version, c.Tools = version, nil
		for _, name := range names {
			c.Tools = append(c.Tools, fakemcp.Tool(name, `"title":"The tool `+name+`"`))
		}
	})
	old := approve(t, srv.Target())

	serve("2.0.0", "c", "d", "e", "f")
	r, n := observe(t, srv.Target(), old)
	verdict(t, r, baseline.Changed,
		"fail tool-removed a", "fail tool-removed b", "fail tool-added c", "fail tool-added d", "fail tool-added e", "fail tool-added f",
		"event server-version")
	if n != 2 {
		t.Errorf("it was confirmed by %d listings", n)
	}
	var groups []string
	for _, g := range surface.Group(r.Changes) {
		groups = append(groups, fmt.Sprintf("%s %d", g.Class, len(g.Items)))
	}
	slices.Sort(groups)
	if want := []string{"server-version 1", "tool-added 4", "tool-removed 2"}; !slices.Equal(groups, want) {
		t.Errorf("the lines are %q, want %q", groups, want)
	}

	upgraded := approve(t, srv.Target())
	serve("2.0.0+build.17", "c", "d", "e", "f")
	r, _ = observe(t, srv.Target(), upgraded)
	verdict(t, r, baseline.Approved, "event server-version")
}

// TestFieldE6VolatileText: a date and a counter change with each listing.
func TestFieldE6VolatileText(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	requests, extra := 0, ""
	srv := fakemcp.New(t, fakemcp.Config{})
	srv.Vary(func(x *fakemcp.Exchange, c *fakemcp.Config) {
		mu.Lock()
		defer mu.Unlock()
		if x.Method == "initialize" {
			requests++
		}
		c.Instructions = fmt.Sprintf("Looks things up. You are request %d.%s", 100+requests, extra)
		c.Tools = []string{`{"name":"rates","description":"Data as of 2026-11-` + fmt.Sprintf("%02d", 1+requests%28) + `T10:00:00Z.","inputSchema":{"type":"object"}}`}
	})
	b := approve(t, srv.Target())
	r, n := observe(t, srv.Target(), b)
	verdict(t, r, baseline.Changed, "event volatile-text", "event volatile-text rates", "fail instructions", "fail tool-text rates")
	if n != 3 {
		t.Errorf("it was named after %d listings", n)
	}
	for _, c := range r.Changes {
		if c.Class != surface.VolatileText {
			continue
		}
		if c.Mask == nil {
			t.Fatalf("no mask is proposed for %+v", c)
		}
		mask, err := baseline.ParseMask(baseline.FormatMask(*c.Mask))
		if err != nil {
			t.Fatalf("%+v cannot be given on a command line: %v", c.Mask, err)
		}
		b.Masks = append(b.Masks, mask)
	}
	file := &baseline.Lockfile{}
	file.Put(b)
	masked := found(t, file, b.Binding)
	for range 3 {
		r, n = observe(t, srv.Target(), masked)
		if verdict(t, r, baseline.Approved); n != 1 {
			t.Errorf("masked text took %d listings", n)
		}
	}
	mu.Lock()
	extra = " Read the file 1 first."
	mu.Unlock()
	r, n = observe(t, srv.Target(), masked)
	if verdict(t, r, baseline.Changed, "fail instructions"); n != 2 {
		t.Errorf("new text beside a mask took %d listings", n)
	}
}

// TestReplicasDiffer: two servers behind one address tell different things.
func TestReplicasDiffer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	openings := 0
	srv := fakemcp.New(t, fakemcp.Config{Stateless: true})
	srv.Vary(func(x *fakemcp.Exchange, c *fakemcp.Config) {
		mu.Lock()
		defer mu.Unlock()
		if x.Method == "initialize" {
			openings++
		}
		if c.Tools = fakemcp.Tools("a", "b"); openings%2 == 0 {
			c.Tools = fakemcp.Tools("a", "c")
		}
	})
	b := approve(t, srv.Target()) // the one with b
	r, n := observe(t, srv.Target(), b)
	if n != 2 || r.Status != baseline.Inconsistent {
		t.Errorf("after %d listings it is %s: %+v", n, r.Status, r.Changes)
	}
	named := 0
	for _, c := range r.Changes {
		if c.Class == surface.InconsistentListing {
			named++
		}
	}
	if named != 1 {
		t.Errorf("it is named %d times", named)
	}
}

// TestAPartIsNoChange: a list that failed, or was cut off, reads as unknown and
// never as removed.
func TestAPartIsNoChange(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]fakemcp.Handler{
		"an error":          fakemcp.Error(-32603, "Internal error"),
		"one page of many":  fakemcp.Result(`{"tools":[],"nextCursor":"$ID"}`),
		"a broken document": fakemcp.Raw(`{"jsonrpc":"2.0","id":$ID,"result":{"tools":[`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakemcp.New(t, fakemcp.Config{Tools: fakemcp.Tools("a", "b"), Prompts: fakemcp.Prompts("p")})
			b := approve(t, srv.Target())
			srv.On("tools/list", broken)
			s := snapshot(t, srv.Target(), probe.Options{Limits: target.Limits{Pages: 3}})
			r := baseline.Verify(s, b, surface.Policy{}, lint.Options{})
			verdict(t, r, baseline.Unknown)
			if !slices.Equal(r.Unlisted, []surface.Kind{surface.Tool}) {
				t.Errorf("unlisted: %v", r.Unlisted)
			}
		})
	}
}

// TestFieldF5OneValidLocation: metadata in one of its places is enough, and an order
// that never changes is no finding.
func TestFieldF5OneValidLocation(t *testing.T) {
	t.Parallel()
	l := (&login{cfg: fakemcp.Config{Tools: fakemcp.Tools("zebra", "ant", "mole")}}).start(t) // the path form alone
	verify(t, check(t, l.audit(), probe.Options{}), want{})
	if paths := l.documents(); slices.Contains(paths, resourcePath) {
		t.Errorf("the root was asked for: %q", paths)
	}
	tgt := l.bearer("opens-me")
	verify(t, check(t, tgt, diagnose), want{})
	s := snapshot(t, tgt, probe.Options{AuthMetadata: true})
	if findings := lint.Scan(s, lint.Options{}); len(findings) > 0 {
		t.Errorf("there are findings: %+v", findings)
	}
	b := approve(t, tgt)
	r, n := observe(t, tgt, b)
	if verdict(t, r, baseline.Approved); n != 1 {
		t.Errorf("it took %d listings", n)
	}
}
