// Package peers_test checks real servers over their real transports, and proves
// each number by a second client. README.md in this directory says what they
// are; its table of measurements is held against what is measured here.
package peers_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// peer is one way to run one server.
type peer struct {
	// name is the row of README.md; mode tells the peers of one row apart.
	name, mode string
	// command is what to run in this directory. The words node, EVERYTHING,
	// SERVERS, GO, DIR and FILE stand for paths.
	command string
	env     string
	// endpoint is the path of the MCP endpoint; empty for stdio.
	endpoint string
	// refusesLegacy: it speaks 2026-07-28 alone.
	refusesLegacy bool
}

const loopback = "node --import ./loopback.mjs EVERYTHING "

func peers() []peer {
	return []peer{
		{name: "everything, stdio", command: "node EVERYTHING stdio"},
		{name: "everything, HTTP", command: loopback + "streamableHttp", env: "PORT=0", endpoint: "/mcp"},
		{name: "everything, legacy SSE", command: loopback + "sse", env: "PORT=0", endpoint: "/sse"},
		{name: "filesystem, stdio", command: "node SERVERS/server-filesystem/dist/index.js DIR"},
		{name: "memory, stdio", command: "node SERVERS/server-memory/dist/index.js", env: "MEMORY_FILE_PATH=FILE"},
		{name: "sequential-thinking, stdio", command: "node SERVERS/server-sequential-thinking/dist/index.js"},
		{name: "fastmcp, stdio", command: "node fm.mjs stdio"},
		{name: "fastmcp, HTTP", command: "node fm.mjs http 0", endpoint: "/mcp"},
		{name: "ts1", command: "node ts1.mjs 0", endpoint: "/mcp"},
		{name: "ts1 json", command: "node ts1.mjs 0 json", endpoint: "/mcp"},
		{name: "dual, stdio, serve or reject", mode: "serve", command: "node ts2/dual.mjs stdio serve"},
		{name: "dual, stdio, serve or reject", mode: "reject", command: "node ts2/dual.mjs stdio reject", refusesLegacy: true},
		{name: "dual, HTTP, auto or json, stateless or reject", mode: "auto", command: "node ts2/dual.mjs http 0 stateless auto", endpoint: "/mcp"},
		{name: "dual, HTTP, auto or json, stateless or reject", mode: "json", command: "node ts2/dual.mjs http 0 stateless json", endpoint: "/mcp"},
		{name: "dual, HTTP, auto or json, stateless or reject", mode: "reject auto", command: "node ts2/dual.mjs http 0 reject auto", endpoint: "/mcp", refusesLegacy: true},
		{name: "dual, HTTP, auto or json, stateless or reject", mode: "reject json", command: "node ts2/dual.mjs http 0 reject json", endpoint: "/mcp", refusesLegacy: true},
		{name: "dual, HTTP, sse, stateless or reject", mode: "stateless", command: "node ts2/dual.mjs http 0 stateless sse", endpoint: "/mcp"},
		{name: "dual, HTTP, sse, stateless or reject", mode: "reject", command: "node ts2/dual.mjs http 0 reject sse", endpoint: "/mcp", refusesLegacy: true},
		{name: "gosdk-old, stdio", command: "GO/gosdk-old stdio"},
		{name: "gosdk-old, HTTP, default or stateless", mode: "default", command: "GO/gosdk-old http 127.0.0.1:0", endpoint: "/mcp"},
		{name: "gosdk-old, HTTP, default or stateless", mode: "stateless", command: "GO/gosdk-old http 127.0.0.1:0 stateless", endpoint: "/mcp"},
		{name: "gosdk-old, HTTP, stateless json", command: "GO/gosdk-old http 127.0.0.1:0 stateless json", endpoint: "/mcp"},
		{name: "gosdk-old, legacy SSE", command: "GO/gosdk-old sse 127.0.0.1:0", endpoint: "/sse"},
		{name: "gosdk, stdio", command: "GO/gosdk stdio"},
		{name: "gosdk, HTTP", command: "GO/gosdk http 127.0.0.1:0", endpoint: "/mcp"},
		{name: "gosdk, HTTP, stateless", command: "GO/gosdk http 127.0.0.1:0 stateless", endpoint: "/mcp"},
		{name: "gosdk, HTTP, stateless json", command: "GO/gosdk http 127.0.0.1:0 stateless json", endpoint: "/mcp"},
		{name: "gosdk, legacy SSE", command: "GO/gosdk sse 127.0.0.1:0", endpoint: "/sse"},
		{name: "mark3, stdio", command: "GO/mark3 stdio"},
		{name: "mark3, HTTP, in all three modes", mode: "default", command: "GO/mark3 http 127.0.0.1:0", endpoint: "/mcp"},
		{name: "mark3, HTTP, in all three modes", mode: "stateless", command: "GO/mark3 http 127.0.0.1:0 stateless", endpoint: "/mcp"},
		{name: "mark3, HTTP, in all three modes", mode: "json", command: "GO/mark3 http 127.0.0.1:0 stateless json", endpoint: "/mcp"},
		{name: "mark3, legacy SSE", command: "GO/mark3 sse 127.0.0.1:0", endpoint: "/sse"},
	}
}

func (p peer) String() string {
	if p.mode == "" {
		return p.name
	}
	return p.name + ": " + p.mode
}

func (p peer) transport() target.Transport {
	switch p.endpoint {
	case "":
		return target.Stdio
	case "/sse":
		return target.SSE
	default:
		return target.HTTP
	}
}

// words are the command with its paths filled in.
func (p peer) words(t *testing.T) (argv, env []string) {
	t.Helper()
	abs := func(path string) string {
		full, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return full
	}
	fill := strings.NewReplacer(
		"EVERYTHING", "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
		"SERVERS", "node_modules/@modelcontextprotocol",
		"GO/", abs("../../.tools/peers")+"/",
		"DIR", t.TempDir(),
		"FILE", filepath.Join(t.TempDir(), "memory.jsonl"),
	)
	for _, word := range strings.Fields(p.command) {
		word = fill.Replace(word)
		if word == "node" {
			word = abs("../../.tools/bin/node22")
		}
		argv = append(argv, word)
	}
	if p.env != "" {
		env = []string{fill.Replace(p.env)}
	}
	needs := []string{argv[0]}
	if strings.HasPrefix(p.command, "node") {
		needs = append(needs, "node_modules", "ts2/node_modules", "old/node_modules")
	}
	for _, file := range needs {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s is missing: run make test-deps", file)
		}
	}
	return argv, env
}

var listening = regexp.MustCompile(`^listening (\d+)$`)

// start runs p until the test ends, unless it is a stdio server, and returns
// the target to check.
func (p peer) start(t *testing.T) *target.Target {
	t.Helper()
	argv, env := p.words(t)
	if p.transport() == target.Stdio {
		c := &target.Command{Path: argv[0], Args: argv[1:]}
		for _, v := range env {
			name, value, _ := strings.Cut(v, "=")
			c.Env = append(c.Env, target.EnvVar{Name: name, Value: target.Literal(value)})
		}
		return &target.Target{Name: p.String(), Command: c}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	port, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var said []string
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				port <- m[1]
			}
			said = append(said, lines.Text())
		}
		ended <- strings.Join(said, "\n")
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		if said := <-ended; t.Failed() && said != "" {
			t.Logf("%s said:\n%s", p, said)
		}
		cmd.Wait()
	})
	select {
	case n := <-port:
		return &target.Target{Name: p.String(), Endpoint: "http://127.0.0.1:" + n + p.endpoint, Transport: p.transport()}
	case said := <-ended:
		ended <- ""
		t.Fatalf("%s ended before it listened:\n%s", p, said)
	case <-time.After(time.Minute):
		t.Fatalf("%s does not listen after a minute", p)
	}
	return nil
}

func TestPeers(t *testing.T) {
	rows := readTable(t)
	t.Run("peers", func(t *testing.T) { // ends when all of them have
		for _, p := range peers() {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				row, ok := rows[p.name]
				if !ok {
					t.Fatalf("README.md has no row for %q", p.name)
				}
				measure(t, p, row)
			})
		}
	})
	for name := range rows {
		if !slices.ContainsFunc(peers(), func(p peer) bool { return p.name == name }) {
			t.Errorf("README.md has a row for %q, which is not measured", name)
		}
	}
	if left := children(); len(left) > 0 {
		t.Errorf("processes are left behind: %q", left)
	}
}

// measure checks one peer in every way there is, and compares with its row.
func measure(t *testing.T, p peer, want row) {
	tgt := p.start(t)
	report := probe.Check(t.Context(), tgt, probe.Options{})
	if report.Status != probe.StatusHealthy {
		t.Fatalf("%s: %s", report.Status, explain(report))
	}
	got := row{
		discover: discoverAnswer(t, p, tgt), revision: report.Server.ProtocolVersion,
		counts: show(report.Surface),
	}
	if p.transport() == target.HTTP {
		got.replies, got.session = replies(report)
	}
	if got != want {
		t.Errorf("measured %+v\nREADME.md has %+v", got, want)
	}
	if truth := countsOfSDK(t, p, tgt, got.revision); truth != got.counts {
		t.Errorf("the check counts %v, the Go SDK's client %v", got.counts, truth)
	}
	if era := map[bool]string{true: "modern", false: "legacy"}[want.revision == "2026-07-28"]; report.Era != era {
		t.Errorf("the era is %q, want %q", report.Era, era)
	}
	wantNotes(t, report, nil)
	t.Logf("%s: %s over %s, counts %v", p, got.revision, p.transport(), got.counts)
	pins(t, p, tgt, want)
}

// pins checks with each revision pinned in turn.
func pins(t *testing.T, p peer, tgt *target.Target, want row) {
	for _, pin := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		pinned := *tgt
		pinned.ProtocolVersion = pin
		report := probe.Check(t.Context(), &pinned, probe.Options{})
		if refusal := p.refuses(pin, want.discover); refusal != "" {
			res := report.Result(probe.StepInitialize)
			if report.Status != probe.StatusUnhealthy || res.Reason != refusal {
				t.Errorf("pinned to %s: %s: %s, want unhealthy with %s", pin, report.Status, explain(report), refusal)
			}
			continue
		}
		if report.Status != probe.StatusHealthy || report.Server.ProtocolVersion != pin {
			t.Errorf("pinned to %s: %s with %+v: %s", pin, report.Status, report.Server, explain(report))
			continue
		}
		var notes []probe.Reason
		if pin < "2025-06-18" {
			notes = append(notes, "old-revision")
		}
		wantNotes(t, report, notes)
	}
}

// refuses returns the reason for which a pin fails, by what the server answers
// to server/discover, or nothing.
func (p peer) refuses(pin, discover string) probe.Reason {
	if pin != "2026-07-28" {
		if p.refusesLegacy {
			return "version-mismatch"
		}
		return ""
	}
	switch discover {
	case "the four legacy revisions", "-32601", "400, -32000", "error of code 0", "400, plain text", "400 on the POST":
		return "version-mismatch"
	}
	return ""
}

func explain(r *probe.Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		if !c.Passed && !c.Skipped {
			b.WriteString(c.Name + ": " + string(c.Reason) + ": " + c.Message + "; ")
		}
	}
	for _, n := range r.Notes {
		b.WriteString("note " + string(n.Reason) + ": " + n.Text + "; ")
	}
	return b.String()
}

func wantNotes(t *testing.T, r *probe.Report, want []probe.Reason) {
	t.Helper()
	var got []probe.Reason
	for _, n := range r.Notes {
		got = append(got, n.Reason)
	}
	if !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q: %s", got, want, explain(r))
	}
}
