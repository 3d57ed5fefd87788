package fakemcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lifetime ends a fake that nobody ended, so that a failing test does not leave
// processes behind for ever.
const lifetime = 90 * time.Second

// Main turns the process into a scripted server when it was started as one, and
// returns at once when it was not. Call it first in TestMain.
func Main() {
	if data := os.Getenv(ScriptEnv); data != "" {
		serve([]byte(data), "", os.Args[1:])
	}
	if len(os.Args) < 2 {
		return
	}
	if dir, ok := strings.CutPrefix(os.Args[1], sleepFlag); ok {
		if len(os.Args) > 2 {
			signal.Ignore(syscall.SIGTERM)
		}
		_ = dir // only there so that the process can be found by it
		time.Sleep(lifetime)
		exit(0)
	}
	if dir, ok := strings.CutPrefix(os.Args[1], scriptFlag); ok {
		data, err := os.ReadFile(filepath.Join(dir, scriptFile))
		if err != nil {
			fatal(err)
		}
		serve(data, dir, os.Args[2:])
	}
}

// exit ends the process at once. os.Exit would wait a second for the reports of
// the race detector, if the binary has it.
func exit(code int) { syscall.Exit(code) }

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "fakemcp:", err)
	exit(70)
}

// child is a running scripted server.
type child struct {
	Script
	dir string

	mu      sync.Mutex // guards what follows and standard output
	out     *bufio.Writer
	log     *os.File
	lastIDs map[string]string
	seen    map[string]int

	opened, initialized bool
}

func serve(script []byte, dir string, args []string) {
	c := &child{dir: dir, out: bufio.NewWriter(os.Stdout), lastIDs: map[string]string{}, seen: map[string]int{}}
	if err := json.Unmarshal(script, &c.Script); err != nil {
		fatal(err)
	}
	c.Config = c.Config.withDefaults()
	if dir != "" {
		f, err := os.OpenFile(filepath.Join(dir, logFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			fatal(err)
		}
		c.log = f
	}
	env := os.Environ()
	slices.Sort(env)
	c.write(record{Kind: "start", Args: args, Env: env})
	time.AfterFunc(lifetime, func() { exit(71) })
	if c.IgnoreTERM {
		signal.Ignore(syscall.SIGTERM)
	}
	c.start(args)
	c.loop()
	if c.IgnoreEOF {
		time.Sleep(lifetime)
	}
	exit(0)
}

// start does everything before the first message is read.
func (c *child) start(args []string) {
	if c.Grandchild || c.GrandchildStubborn {
		c.spawn()
	}
	fmt.Fprint(os.Stderr, c.Stderr)
	for _, a := range args {
		fmt.Fprintf(os.Stderr, "arg %q\n", a)
	}
	if c.Marker == "" {
		time.Sleep(c.StartDelay)
	} else if _, err := os.Stat(c.Marker); err != nil {
		time.Sleep(c.StartDelay)
		if err := os.WriteFile(c.Marker, nil, 0o600); err != nil {
			fatal(err)
		}
	}
	if c.NeedEnv != "" && os.Getenv(c.NeedEnv) == "" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		exit(0)
	}
	if c.ExitAtOnce {
		exit(c.ExitCode)
	}
	if c.BOM {
		_, _ = c.out.WriteString("\xef\xbb\xbf")
	}
	for _, line := range c.Banner {
		c.line(line)
	}
	_ = c.out.Flush()
}

func (c *child) spawn() {
	exe, err := os.Executable()
	if err != nil {
		fatal(err)
	}
	argv := []string{sleepFlag + c.dir}
	if c.GrandchildStubborn {
		argv = append(argv, "stubborn")
	}
	cmd := exec.Command(exe, argv...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // which keeps the pipes open
	if err := cmd.Start(); err != nil {
		fatal(err)
	}
}

// loop answers until standard input ends.
func (c *child) loop() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			c.receive(bytes.TrimSpace(line))
		}
		if err != nil {
			return
		}
	}
}

func (c *child) receive(line []byte) {
	var m message
	_ = json.Unmarshal(line, &m)
	logged := json.RawMessage(line)
	if !json.Valid(line) {
		logged, _ = json.Marshal(string(line))
	}
	c.write(record{Kind: "request", Request: logged})
	c.mu.Lock()
	c.judge(line, &m)
	if m.Method != "" && m.ID != nil {
		c.lastIDs[m.Method] = string(m.ID)
	}
	reply := c.reply(m.Method)
	c.mu.Unlock()
	if reply.Delay == 0 {
		c.do(&m, reply)
		return
	}
	time.AfterFunc(reply.Delay, func() { c.do(&m, reply) })
}

// reply picks the reply to a method and counts it.
func (c *child) reply(method string) Reply {
	key := method
	if _, ok := c.Replies[key]; !ok {
		key = "*"
	}
	r := c.Replies[key]
	c.seen[key]++
	if r.Times > 0 && c.seen[key] > r.Times {
		return Reply{}
	}
	return r
}

// do carries a reply out.
func (c *child) do(m *message, r Reply) {
	if r.ExitBefore {
		exit(c.ExitCode)
	}
	c.flood()
	c.say(m, r)
	if r.ExitAfter {
		exit(c.ExitCode)
	}
}

// say writes what a reply holds.
func (c *child) say(m *message, r Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := "null"
	if m.ID != nil {
		id = string(m.ID)
	}
	for _, line := range r.Before {
		c.line(fillIDs(line, id, c.lastIDs))
	}
	c.answer(m, r, id)
	for _, line := range r.After {
		c.line(fillIDs(line, id, c.lastIDs))
	}
	_ = c.out.Flush()
}

func (c *child) answer(m *message, r Reply, id string) {
	switch {
	case r.Raw != nil:
		_, _ = c.out.WriteString(fillIDs(string(r.Raw), id, c.lastIDs))
	case r.Flood > 0:
		c.pour(c.out, r.Flood)
	case r.Silent, m.ID == nil, m.Method == "":
	case r.Result != "":
		c.line(response(id, fillIDs(r.Result, id, c.lastIDs)))
	case r.Error != "":
		c.line(`{"jsonrpc":"2.0","id":` + id + `,"error":` + r.Error + `}`)
	default:
		c.line(pad(c.proper(m, id), r.Pad))
	}
}

// proper is the well-behaved answer.
func (c *child) proper(m *message, id string) string {
	result, rpcErr := c.Config.answer(m)
	if rpcErr != nil {
		return errorResponse(id, rpcErr)
	}
	if m.Method == "initialize" {
		c.opened = true
	}
	return response(id, result)
}

// pad lengthens a response by a member that nobody knows.
func pad(msg string, length int) string {
	if missing := length - len(msg); missing > 0 {
		return strings.TrimSuffix(msg, "}") + `,"x-pad":"` + strings.Repeat("p", missing) + `"}`
	}
	return msg
}

func (c *child) line(text string) {
	end := "\n"
	if c.CRLF {
		end = "\r\n"
	}
	_, _ = c.out.WriteString(text + end)
}

// pour writes n bytes without holding them in memory.
func (c *child) pour(w io.Writer, n int) {
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for n > 0 {
		size := min(n, len(piece))
		if _, err := w.Write(piece[:size]); err != nil {
			return
		}
		n -= size
	}
}

func (c *child) flood() {
	if c.StderrFlood == 0 {
		return
	}
	if c.FloodUnbroken {
		c.pour(os.Stderr, c.StderrFlood)
		return
	}
	line := strings.Repeat("x", 99) + "\n"
	_, _ = io.WriteString(os.Stderr, strings.Repeat(line, c.StderrFlood/len(line)+1))
}

func (c *child) write(r record) {
	if c.log == nil {
		return
	}
	r.PID, r.Time = os.Getpid(), time.Now()
	data, err := json.Marshal(r)
	if err != nil {
		fatal(err)
	}
	if _, err := c.log.Write(append(data, '\n')); err != nil {
		fatal(err)
	}
}

// judge holds a message against the rules.
func (c *child) judge(line []byte, m *message) {
	if text := badMessage(line, m); text != "" {
		c.breach(RuleMessage, "%s", text)
		return
	}
	if forbiddenCall(m.Method) && !c.Config.Callable {
		c.breach(RuleCall, "%s was sent although no call was configured", m.Method)
	}
	p := m.params()
	switch {
	case m.modern():
		if text := badMeta(&p); text != "" {
			c.breach(RuleModern, "%s: %s", m.Method, text)
		}
	case m.Method == "initialize":
		if text := badInitialize(m); text != "" {
			c.breach(RuleInitialize, "%s", text)
		}
		if c.opened {
			c.breach(RuleInitialize, "it was sent a second time to the same process")
		}
	case m.Method == "notifications/initialized":
		c.initialized = true
	case m.Method != "" && m.Method != "notifications/cancelled" && !c.initialized:
		c.breach(RuleInitialized, "%s came before notifications/initialized", m.Method)
	}
}

func (c *child) breach(rule, format string, args ...any) {
	c.write(record{Kind: "violation", Violation: &Violation{rule, fmt.Sprintf(format, args...)}})
}
