package peers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// snapshot checks a target and returns the surface that was seen.
func snapshot(t *testing.T, tgt *target.Target) *surface.Surface {
	t.Helper()
	r := probe.Check(t.Context(), tgt, probe.Options{})
	s := r.Snapshot()
	if s == nil || r.Digest().IsZero() {
		t.Fatalf("the surface was not seen whole: %s: %s", r.Status, explain(r))
	}
	return s
}

// approve makes a baseline, by way of a lockfile.
func approve(t *testing.T, tgt *target.Target, s *surface.Surface) *baseline.Baseline {
	t.Helper()
	b := baseline.New(tgt.Label(), baseline.BindingOf(tgt, ""), s, baseline.Accept(lint.Scan(s, lint.Options{}), "the test servers are what they are")...)
	file := &baseline.Lockfile{}
	file.Put(b)
	read, err := baseline.Read(file.Encode())
	if err != nil {
		t.Fatal(err)
	}
	back, err := read.Find(b.Name, b.Binding)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestSurfaceIsStable: every server is approved as long as it is the same, and has
// the items that another client lists.
func TestSurfaceIsStable(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			tgt := p.start(t)
			first := snapshot(t, tgt)
			b := approve(t, tgt, first)
			if b.Surface.Digest() != first.Digest() {
				t.Errorf("the lockfile gives back %s, not %s", b.Surface.Digest(), first.Digest())
			}
			second := snapshot(t, tgt)
			r, again := baseline.Observe(b, surface.Policy{}, lint.Options{}).Add(second)
			if again || r.Status != baseline.Approved || len(r.Changes) > 0 || second.Digest() != first.Digest() {
				t.Errorf("%s with %+v", r.Status, r.Changes)
			}
			var revision string
			if err := json.Unmarshal(first.Of(surface.Protocol)[0].Definition, &revision); err != nil {
				t.Fatal(err)
			}
			want, got := namesOfSDK(t, p, tgt, revision), map[surface.Kind][]string{}
			for _, kind := range []surface.Kind{surface.Tool, surface.Resource, surface.ResourceTemplate, surface.Prompt} {
				for _, item := range first.Of(kind) {
					got[kind] = append(got[kind], item.Name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the Go SDK's client lists other items (-SDK +check):\n%s", diff)
			}
		})
	}
}

// namesOfSDK are the names that the Go SDK's client lists.
func namesOfSDK(t *testing.T, p peer, tgt *target.Target, revision string) map[surface.Kind][]string {
	t.Helper()
	names := map[surface.Kind][]string{}
	for kind, items := range listsOfSDK(t, p, tgt, revision) {
		for name := range items {
			names[kind] = append(names[kind], name)
		}
		slices.Sort(names[kind])
	}
	return names
}

// listsOfSDK are the objects that the Go SDK's client lists, by kind and name: as
// they were on the wire, because its types leave out what they do not know.
func listsOfSDK(t *testing.T, p peer, tgt *target.Target, revision string) map[surface.Kind]map[string]map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wire bytes.Buffer
	var transport mcp.Transport
	switch p.transport() {
	case target.Stdio:
		transport = &mcp.CommandTransport{Command: command(t, p), TerminateDuration: 5 * time.Second}
	case target.SSE:
		transport = &mcp.SSEClientTransport{Endpoint: tgt.Endpoint}
	default:
		transport = &mcp.StreamableClientTransport{Endpoint: tgt.Endpoint, DisableStandaloneSSE: true}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "truth", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, &mcp.LoggingTransport{Transport: transport, Writer: &wire}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("the Go SDK's client: %v", err)
	}
	declared := session.InitializeResult().Capabilities
	if declared.Tools != nil {
		length(t, session.Tools(ctx, nil))
	}
	if declared.Resources != nil {
		length(t, session.Resources(ctx, nil))
		length(t, session.ResourceTemplates(ctx, nil))
	}
	if declared.Prompts != nil {
		length(t, session.Prompts(ctx, nil))
	}
	session.Close()
	return objects(t, wire.String())
}

// objects reads what a logging transport wrote.
func objects(t *testing.T, log string) map[surface.Kind]map[string]map[string]any {
	t.Helper()
	all := map[surface.Kind]map[string]map[string]any{}
	for line := range strings.Lines(log) {
		data, ok := strings.CutPrefix(line, "read: ")
		if !ok {
			continue
		}
		var m struct{ Result map[string]any }
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			t.Fatal(err)
		}
		for member, traits := range map[string]struct {
			kind surface.Kind
			name string
		}{
			"tools": {surface.Tool, "name"}, "prompts": {surface.Prompt, "name"},
			"resources": {surface.Resource, "uri"}, "resourceTemplates": {surface.ResourceTemplate, "uriTemplate"},
		} {
			list, _ := m.Result[member].([]any)
			for _, entry := range list {
				object := entry.(map[string]any)
				if all[traits.kind] == nil {
					all[traits.kind] = map[string]map[string]any{}
				}
				all[traits.kind][object[traits.name].(string)] = object
			}
		}
	}
	return all
}

const newestLegacy = "2025-11-25"

// upgrade is one server in two versions.
type upgrade struct {
	name string
	// pkg is the package, in old/node_modules and in node_modules.
	pkg, args string
}

func upgrades() []upgrade {
	return []upgrade{
		{name: "filesystem 2025.8.18 to 2026.8.31", pkg: "@modelcontextprotocol/server-filesystem", args: "DIR"},
		{name: "everything 2025.8.18 to 2026.8.31", pkg: "@modelcontextprotocol/server-everything", args: "stdio"},
	}
}

// at is the peer that runs whatever stands at a path.
func (u upgrade) at(path string) peer {
	return peer{name: u.name, command: "node " + path + "/dist/index.js " + u.args}
}

// install puts a version of the package where link says, as an upgrade in place
// does. modules is where it is.
func (u upgrade) install(t *testing.T, link, modules string) {
	t.Helper()
	to, err := filepath.Abs(filepath.Join(modules, u.pkg))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
}

// Where the two versions are.
const (
	oldModules = "old/node_modules"
	newModules = "node_modules"
)

// TestUpgradeShowsWhatDrifted upgrades a server in place and holds the changes
// against what another client reads before and after.
func TestUpgradeShowsWhatDrifted(t *testing.T) {
	for _, u := range upgrades() {
		t.Run(u.name, func(t *testing.T) {
			link := filepath.Join(t.TempDir(), "server")
			u.install(t, link, oldModules)
			p := u.at(link)
			tgt := p.start(t)
			b := approve(t, tgt, snapshot(t, tgt))
			was := listsOfSDK(t, p, tgt, newestLegacy)

			u.install(t, link, newModules)
			is := listsOfSDK(t, p, tgt, newestLegacy)
			listing, confirmation := snapshot(t, tgt), snapshot(t, tgt)
			o := baseline.Observe(b, surface.Policy{}, lint.Options{})
			if _, again := o.Add(listing); !again {
				t.Error("one listing is enough for a change")
			}
			r, again := o.Add(confirmation)
			if again || r.Status != baseline.Changed {
				t.Errorf("two equal listings are %s", r.Status)
			}
			for _, kind := range []surface.Kind{surface.Tool, surface.Resource, surface.ResourceTemplate, surface.Prompt} {
				if diff := cmp.Diff(drift(was[kind], is[kind]), reported(r.Changes, kind)); diff != "" {
					t.Errorf("%s (-drifted +reported):\n%s", kind, diff)
				}
			}
			for _, v := range r.Findings {
				if v.New && v.Severity == lint.Block {
					t.Errorf("an honest upgrade is flagged: %s in %s: %s", v.Rule, v.Item, v.Excerpt)
				}
			}
			for _, g := range surface.Group(r.Changes) {
				t.Logf("%-6s %-24s %-36s %-30s %d", g.Effect, g.Class, g.Pointer, g.Detail, len(g.Items))
			}
		})
	}
}

// drift says for each item whether it was added, removed, or which of its members
// are no longer what they were.
func drift(was, is map[string]map[string]any) map[string][]string {
	out := map[string][]string{}
	for name, old := range was {
		now, ok := is[name]
		if !ok {
			out[name] = []string{"removed"}
			continue
		}
		for member := range old {
			if !reflect.DeepEqual(old[member], now[member]) {
				out[name] = append(out[name], member)
			}
		}
		for member := range now {
			if _, ok := old[member]; !ok {
				out[name] = append(out[name], member)
			}
		}
		slices.Sort(out[name])
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			out[name] = []string{"added"}
		}
	}
	return out
}

// reported says the same of changes.
func reported(changes []surface.Change, kind surface.Kind) map[string][]string {
	out := map[string][]string{}
	for _, c := range changes {
		if c.Kind != kind || c.Class == surface.HostAdded { // which says it again
			continue
		}
		what := strings.Split(c.Pointer+"/", "/")[1]
		switch c.Class {
		case surface.ToolAdded, surface.ResourceAdded, surface.TemplateAdded, surface.PromptAdded:
			what = "added"
		case surface.ToolRemoved, surface.ResourceRemoved, surface.TemplateRemoved, surface.PromptRemoved:
			what = "removed"
		}
		if !slices.Contains(out[c.Item], what) {
			out[c.Item] = append(out[c.Item], what)
			slices.Sort(out[c.Item])
		}
	}
	return out
}

// TestFilesystemDrift knows the two versions of the filesystem server by heart.
func TestFilesystemDrift(t *testing.T) {
	u := upgrades()[0]
	of := func(modules string) *surface.Surface {
		return snapshot(t, u.at(modules+"/"+u.pkg).start(t))
	}
	groups := map[string]int{}
	for _, g := range surface.Group(surface.Compare(of(oldModules), of(newModules), surface.CompareOptions{})) {
		groups[fmt.Sprintf("%s %s %s", g.Effect, g.Class, g.Pointer)] += len(g.Items)
	}
	for what, n := range map[string]int{
		"event tool-meta /execution":                                       14,
		"fail tool-schema-changed /outputSchema":                           14,
		"fail tool-schema-widened /inputSchema/additionalProperties":       13,
		"fail tool-schema-narrowed /inputSchema/properties/paths/minItems": 1,
		"fail tool-text /title":                                            14,
		"fail tool-text /description":                                      2,
		"fail tool-hints-relaxed /annotations/readOnlyHint":                10,
		"fail tool-hints-relaxed /annotations/openWorldHint":               14,
		"event capabilities /tools":                                        1,
		"event server-version /version":                                    0,
		"fail tool-removed ":                                               0,
		"fail tool-added ":                                                 0,
	} {
		if groups[what] != n {
			t.Errorf("%q concerns %d items, want %d: %v", what, groups[what], n, groups)
		}
	}
}

// TestLockAndVerify runs the built command against a server that is upgraded in
// place.
func TestLockAndVerify(t *testing.T) {
	program := build(t)
	for _, u := range upgrades() {
		t.Run(u.name, func(t *testing.T) {
			link := filepath.Join(t.TempDir(), "server")
			u.install(t, link, oldModules)
			argv, _ := u.at(link).words(t)
			lockfile := filepath.Join(t.TempDir(), "mcpvigil.lock")
			run := func(name string, flags ...string) (stdout string, code int) {
				t.Helper()
				args := slices.Concat([]string{name, "--lockfile", lockfile}, flags, []string{"--"}, argv)
				cmd := exec.CommandContext(t.Context(), program, args...)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				if stderr.Len() > 0 {
					t.Logf("%s said: %s", name, &stderr)
				}
				return string(out), cmd.ProcessState.ExitCode()
			}
			verify := func() (v verification, code int) {
				t.Helper()
				out, code := run("verify", "--format", "json")
				if err := json.Unmarshal([]byte(out), &v); err != nil {
					t.Fatalf("verify printed %q: %v", out, err)
				}
				return v, code
			}
			lock := func() {
				t.Helper()
				if out, code := run("lock", "--yes", "--reason", "the test servers are what they are"); code != 0 {
					t.Fatalf("lock ended with %d: %s", code, out)
				}
			}
			approved := func(version string) {
				t.Helper()
				if v, code := verify(); code != 0 || v.Status != baseline.Approved || len(v.Changes) > 0 {
					t.Errorf("%s, approved: exit code %d, %+v", version, code, v)
				}
			}

			lock()
			approved("the old version")
			u.install(t, link, newModules)
			v, code := verify()
			if code != 1 || v.Status != baseline.Changed {
				t.Errorf("after the upgrade: exit code %d, %s", code, v.Status)
			}
			p := u.at(link)
			is := listsOfSDK(t, p, p.start(t), newestLegacy)
			u.install(t, link, oldModules)
			was := listsOfSDK(t, p, p.start(t), newestLegacy)
			drifted, said := drift(was[surface.Tool], is[surface.Tool]), reported(v.Changes, surface.Tool)
			for name, members := range drifted {
				// What is written differently and means the same is not printed.
				members = slices.DeleteFunc(members, func(m string) bool { return m == "inputSchema" && !slices.Contains(said[name], m) })
				if !slices.Equal(members, said[name]) {
					t.Errorf("of %s drifted %q, and verify says %q", name, members, said[name])
				}
			}
			if len(said) != len(drifted) {
				t.Errorf("%d tools drifted, and verify names %d", len(drifted), len(said))
			}
			u.install(t, link, newModules)
			lock()
			approved("the new version")
		})
	}
}

// verification is what verify prints.
type verification struct {
	Status  baseline.Status
	Changes []surface.Change
}
