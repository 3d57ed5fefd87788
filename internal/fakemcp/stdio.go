package fakemcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/target"
)

// Script describes a stdio server. The zero value is a well-behaved legacy one.
type Script struct {
	Config Config
	// Replies replace what is said to a method; "*" stands for every method
	// that has no entry of its own.
	Replies map[string]Reply

	// StartDelay passes before anything else. With a Marker, a path, it passes
	// only until a first start has come to its end and written that file, as
	// an installer does.
	StartDelay time.Duration
	Marker     string
	// NeedEnv names a variable without which the server hangs in silence.
	NeedEnv string
	// ExitAtOnce ends the server before it reads, with ExitCode.
	ExitAtOnce bool
	ExitCode   int
	// Banner lines are written to stdout before the first message, Stderr to
	// standard error.
	Banner []string
	Stderr string
	// StderrFlood bytes go to standard error before every reply, on lines of
	// 100 bytes, or in one line with FloodUnbroken.
	StderrFlood   int
	FloodUnbroken bool
	// BOM starts stdout with a byte order mark; CRLF ends its lines that way.
	BOM, CRLF bool
	// IgnoreEOF and IgnoreTERM keep the server running.
	IgnoreEOF, IgnoreTERM bool
	// Grandchild starts a process that sleeps; GrandchildStubborn makes it
	// ignore SIGTERM.
	Grandchild, GrandchildStubborn bool
}

// Reply is what a scripted server does about one method.
type Reply struct {
	// Result and Error are a raw result or error object in a proper response.
	Result, Error string
	// Before are raw lines ahead of the answer, After behind it.
	Before, After []string
	// Raw bytes are written in the place of the answer, with nothing added.
	Raw []byte
	// Flood writes that many bytes without a line end in the place of the
	// answer. Pad makes a proper answer at least that long.
	Flood, Pad int
	// Silent gives no answer.
	Silent bool
	// Delay passes before the answer; other messages are answered meanwhile.
	Delay time.Duration
	// ExitBefore ends the server instead of answering, ExitAfter behind the
	// answer, both with Script.ExitCode.
	ExitBefore, ExitAfter bool
	// Times limits the reply to the first so many messages of each process.
	// Zero: all.
	Times int
}

// Process is a stdio server to be started, once or many times.
type Process struct {
	exe, dir string
	allowed  map[string]bool
	t        TB
}

// The arguments and the variable that turn a test binary into a fake.
const (
	scriptFlag = "-fakemcp.script="
	sleepFlag  = "-fakemcp.sleep="
	// ScriptEnv is the other way to hand over a script: as JSON.
	ScriptEnv = "FAKEMCP_SCRIPT"

	scriptFile = "script.json"
	logFile    = "log.jsonl"
)

// Stdio prepares a scripted server. At the end of the test it fails when a
// message broke a rule, or when a process is left over.
func Stdio(t TB, script Script) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("fakemcp: %v", err)
	}
	script.Config = script.Config.withDefaults()
	data, err := json.Marshal(script)
	if err != nil {
		t.Fatalf("fakemcp: %v", err)
	}
	p := &Process{exe: exe, dir: t.TempDir(), allowed: map[string]bool{}, t: t}
	if err := os.WriteFile(filepath.Join(p.dir, scriptFile), data, 0o600); err != nil {
		t.Fatalf("fakemcp: %v", err)
	}
	t.Cleanup(func() {
		for _, v := range p.Violations() {
			t.Errorf("fakemcp: the client broke the rule %q: %s", v.Rule, v.Text)
		}
		if left := p.Alive(2 * time.Second); len(left) > 0 && !p.allowed["*"] {
			t.Errorf("fakemcp: processes are left over: %v", left)
		}
	})
	return p
}

// Command starts the server. args follow the script on the command line.
func (p *Process) Command(args ...string) *target.Command {
	return &target.Command{Path: p.exe, Args: append([]string{scriptFlag + p.dir}, args...)}
}

// Wrapped starts the server as the child of a shell that also has a sleeping
// background process, as npx and uvx do.
func (p *Process) Wrapped() *target.Command {
	return &target.Command{Path: "sh", Args: []string{
		"-c", `"$0" "$2" </dev/null >/dev/null 2>&1 & "$0" "$1"; exit $?`, p.exe, scriptFlag + p.dir, sleepFlag + p.dir,
	}}
}

// Target is a target that starts the server.
func (p *Process) Target() *target.Target {
	return &target.Target{Name: "fake", Command: p.Command()}
}

// Allow turns rules off. "*" turns all of them off.
func (p *Process) Allow(rules ...string) *Process {
	for _, r := range rules {
		p.allowed[r] = true
	}
	return p
}

// record is one line of the log that the processes write.
type record struct {
	Kind      string // start, request, violation
	PID       int
	Time      time.Time
	Args      []string        `json:",omitempty"`
	Env       []string        `json:",omitempty"`
	Request   json.RawMessage `json:",omitempty"`
	Violation *Violation      `json:",omitempty"`
}

func (p *Process) log(kind string) []record {
	data, err := os.ReadFile(filepath.Join(p.dir, logFile))
	if err != nil {
		return nil
	}
	var list []record
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err == nil && r.Kind == kind {
			list = append(list, r)
		}
	}
	return list
}

// Methods returns the methods that were received, in order, of all processes.
func (p *Process) Methods() []string {
	var methods []string
	for _, m := range p.received() {
		if m.Method != "" {
			methods = append(methods, m.Method)
		}
	}
	return methods
}

func (p *Process) received() []message {
	var list []message
	for _, r := range p.log("request") {
		var m message
		if err := json.Unmarshal(r.Request, &m); err == nil {
			list = append(list, m)
		}
	}
	return list
}

// Answers returns what the client answered to requests of the server, raw.
func (p *Process) Answers() []string {
	var list []string
	for _, r := range p.log("request") {
		var m message
		if err := json.Unmarshal(r.Request, &m); err == nil && m.Method == "" {
			list = append(list, string(r.Request))
		}
	}
	return list
}

// Times returns when each message of a method arrived.
func (p *Process) Times(method string) []time.Time {
	var list []time.Time
	for _, r := range p.log("request") {
		var m message
		if err := json.Unmarshal(r.Request, &m); err == nil && m.Method == method {
			list = append(list, r.Time)
		}
	}
	return list
}

// Params returns the params of every message of a method, raw.
func (p *Process) Params(method string) []string {
	var list []string
	for _, m := range p.received() {
		if m.Method == method {
			list = append(list, string(m.Params))
		}
	}
	return list
}

// Count is how often a method was received.
func (p *Process) Count(method string) int {
	n := 0
	for _, m := range p.Methods() {
		if m == method {
			n++
		}
	}
	return n
}

// Starts is how often the server was started.
func (p *Process) Starts() int { return len(p.log("start")) }

// Args returns the arguments behind the script of the latest start, as they
// arrived.
func (p *Process) Args() []string {
	starts := p.log("start")
	if len(starts) == 0 {
		return nil
	}
	return starts[len(starts)-1].Args
}

// Env returns the environment of the latest start, sorted.
func (p *Process) Env() []string {
	starts := p.log("start")
	if len(starts) == 0 {
		return nil
	}
	return starts[len(starts)-1].Env
}

// Violations returns what was broken so far.
func (p *Process) Violations() []Violation {
	var list []Violation
	for _, r := range p.log("violation") {
		if !p.allowed[r.Violation.Rule] && !p.allowed["*"] {
			list = append(list, *r.Violation)
		}
	}
	return list
}

// Alive returns the processes of this server that still run, descendants
// included, once they had up to patience to end. It needs /proc and returns
// nothing without it.
func (p *Process) Alive(patience time.Duration) []string {
	deadline := time.Now().Add(patience)
	for {
		left := processesOf(p.dir)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// processesOf finds the processes that have dir in their command line. A
// zombie has none.
func processesOf(dir string) []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(dir)) {
			list = append(list, e.Name()+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	slices.Sort(list)
	return list
}
