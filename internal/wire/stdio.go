package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// StdioConfig says how to start a stdio server. No shell is involved.
//
// Whatever becomes of a session, the server and its descendants end with it: all
// of its process group and, on Linux, those that left the group and still have
// their parents or one of the server's pipes. Out of reach is a daemon that was
// orphaned before the session ended and has closed all three pipes, one that
// runs as another user, and, other than on Linux and Windows, all that left the
// group.
type StdioConfig struct {
	// Path is the program: absolute, or with a separator relative to Dir, or
	// looked up in the PATH of Env.
	Path string
	Args []string
	// Dir is the working directory, "" for our own.
	Dir string
	// Env is the whole environment of the server; see [SafeEnv]. Inherited says
	// that it holds all of our own, so that a missing variable is not our doing.
	Env       []string
	Inherited bool
	// StdinGrace is how long the server may take to end after its standard
	// input was closed, TermGrace after it was asked to end. Zero: two and
	// three seconds.
	StdinGrace, TermGrace time.Duration
}

// reducedEnv explains to a person why a server may lack a variable.
const reducedEnv = "it gets only PATH, HOME, USER and the temporary directories, beside what is configured; hand more over with mcp.stdio.env (--env NAME=VALUE), or everything with --inherit-env"

const (
	defaultStdinGrace = 2 * time.Second
	defaultTermGrace  = 3 * time.Second

	// drainGrace is how long output is still awaited after the server ended:
	// from descendants that were asked to end too, which hold its pipes.
	drainGrace = 500 * time.Millisecond
	// closedGrace is how long a server that closed a pipe may take to end
	// before the closed pipe is the news.
	closedGrace = time.Second
	// flushGrace is for what is still to be written when the connection closes.
	flushGrace = 50 * time.Millisecond
	// lateGrace is what a grace shrinks to when the budget of the check is spent.
	lateGrace = 150 * time.Millisecond
	// strayGrace is how long what left the group of a server may outlive it,
	// and strayPoll how often it is looked for.
	strayGrace = 100 * time.Millisecond
	strayPoll  = 5 * time.Millisecond
	// killGrace bounds the wait for a process that was killed: one that hangs
	// in the kernel does not end.
	killGrace = 5 * time.Second

	maxQueued     = 64
	maxShortLine  = 160 // runes of a last line that goes into an error's text
	maxNoiseQuote = 120
	maxNoiseScrub = 4 << 10

	// Bounds of what is no message on standard output, a connection.
	maxNoiseLines = 10_000
	maxNoiseBytes = 8 << 20
)

// stdioConn is a connection to a server that was started as a child process. It
// implements conn. Three goroutines serve its pipes and one the process; close
// waits for them.
type stdioConn struct {
	cfg     Config
	sc      StdioConfig
	started time.Time

	cmd    *exec.Cmd
	tree   *processTree
	family *family
	stdin  *os.File
	stdout *os.File
	stderr *os.File

	// spread: a line holds nothing but the start of a JSON value, which goes on
	// over the lines that follow.
	spread atomic.Bool

	mux   *mux
	lines *lineReader
	said  tail // on standard error

	requests chan *outgoing
	asides   chan []byte   // lines that nobody waits for
	quit     chan struct{} // closed by close: write what is queued and stop
	deaf     chan struct{} // closed by the writer: the server has closed its input
	hurry    chan struct{} // closed by close: the time of the check is up

	first      chan struct{} // closed at the first message
	spawn      time.Duration // set before first is closed
	gotFirst   bool          // of the reader of stdout
	noise      noise         // of the reader of stdout
	stdoutDone chan struct{}
	stderrDone chan struct{}
	writerDone chan struct{}
	exited     chan struct{} // the process has ended, its descendants may not have
	lost       chan struct{} // no more answers will come
	goroutines sync.WaitGroup
	closeOnce  sync.Once

	mu     sync.Mutex
	ending *Error // how it was lost
}

// outgoing is one line for the server.
type outgoing struct {
	line    []byte
	written chan error // holds one
}

// startStdio starts a server. ctx bounds the start alone: the process lives
// until close, which must be called when there is no error.
func startStdio(ctx context.Context, sc StdioConfig, cfg Config) (*stdioConn, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, "the start of the server", false)
	}
	dir, fail := workingDir(sc.Dir)
	if fail != nil {
		return nil, fail
	}
	path, fail := findCommand(sc.Path, dir, sc.Env)
	if fail != nil {
		return nil, fail
	}
	if sc.StdinGrace == 0 {
		sc.StdinGrace = defaultStdinGrace
	}
	if sc.TermGrace == 0 {
		sc.TermGrace = defaultTermGrace
	}
	c := &stdioConn{
		cfg: cfg,
		sc:  sc,
		cmd: &exec.Cmd{
			Path: path,
			Args: append([]string{sc.Path}, sc.Args...),
			Dir:  dir,
			Env:  append([]string{}, sc.Env...), // nil would be our own environment
		},
		requests:   make(chan *outgoing),
		asides:     make(chan []byte, maxQueued),
		quit:       make(chan struct{}),
		deaf:       make(chan struct{}),
		hurry:      make(chan struct{}),
		first:      make(chan struct{}),
		stdoutDone: make(chan struct{}),
		stderrDone: make(chan struct{}),
		writerDone: make(chan struct{}),
		exited:     make(chan struct{}),
		lost:       make(chan struct{}),
	}
	c.mux = newMux(cfg.Log, c.aside, c.malformed)
	c.mux.arrived = c.arrived
	if err := c.start(); err != nil {
		return nil, startError(path, err)
	}
	return c, nil
}

func (sc StdioConfig) connect(ctx context.Context, cfg Config) (conn, error) {
	c, err := startStdio(ctx, sc, cfg)
	if err != nil {
		return nil, err // not c: a nil *stdioConn in an interface is not nil
	}
	return c, nil
}

// lose ends all exchanges. The first reason counts.
func (c *stdioConn) lose(err *Error) {
	c.mu.Lock()
	if c.ending == nil {
		c.ending = err
		defer close(c.lost)
	}
	c.mu.Unlock()
	c.mux.fail(err)
}

func (c *stdioConn) exitError() *Error {
	e := &Error{Reason: ReasonProcessExited, Seen: c.lines.partial(), Details: map[string]any{}}
	code, signal := exitStatus(c.cmd.ProcessState)
	if signal != "" {
		e.Text = "the server process was ended by the signal " + strconv.Quote(signal)
		e.Details["signal"] = signal
	} else {
		e.Text = fmt.Sprintf("the server process ended with exit code %d", code)
		e.Details["exitCode"] = code
	}
	c.addStderr(e)
	if !c.sc.Inherited && exitHint().MatchString(c.stderrTail()) {
		e.Hint = "see what the server says; if it lacks a variable: " + reducedEnv
	}
	return e
}

// exitHint matches what servers say that lack a variable.
var exitHint = lazily(`(?i)environment|env var|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|api.?key|token|credential|\b(required|missing|not set|undefined|must be set)\b`)

// addStderr puts what the server last said on its standard error into e.
func (c *stdioConn) addStderr(e *Error) {
	text := c.stderrTail()
	if text == "" {
		return
	}
	if e.Details == nil {
		e.Details = make(map[string]any)
	}
	e.Details["stderr"] = text
	if line := tellingLine(text); e.Reason == ReasonProcessExited && line != "" {
		e.Text += ": " + plain.Line(line, maxShortLine)
	}
}

// firstMessage is closed when the server has sent its first JSON-RPC message.
func (c *stdioConn) firstMessage() <-chan struct{} { return c.first }

// firstAfter is how long after its start the server sent its first message, 0
// while it has not.
func (c *stdioConn) firstAfter() time.Duration {
	select {
	case <-c.first:
		return c.spawn
	default:
		return 0
	}
}

// stderrTail is the end of what the server wrote to its standard error, at most
// 10 lines, redacted and safe to show.
func (c *stdioConn) stderrTail() string {
	return showTail(scrub(c.said.text(), c.cfg.Redact))
}

// speaks does nothing: messages over stdio look the same in all revisions.
func (c *stdioConn) speaks(_, _ string) {}

func (c *stdioConn) exchange(ctx context.Context, r *request) (*answer, error) {
	x := Exchange{Method: r.method, Started: time.Now()}
	o := c.roundTrip(ctx, r)
	x.Duration, x.Bytes = time.Since(x.Started), int64(o.bytes)
	if o.err == nil {
		c.cfg.Log.exchange(x)
		return o.answer, nil
	}
	if o.err.Reason == ReasonTimeout || o.err.Reason == ReasonPartialResponse {
		c.addStderr(o.err)
	}
	x.Err = o.err
	c.cfg.Log.exchange(x)
	return nil, o.err
}

func (c *stdioConn) roundTrip(ctx context.Context, r *request) outcome {
	p, lost := c.mux.register(r)
	if lost != nil {
		return outcome{err: lost}
	}
	unread := func() *Error { return c.unread(ctx, r.method) }
	out := newOutgoing(r.body)
	select {
	case c.requests <- out:
	case o := <-p.done:
		return o
	case <-ctx.Done():
		c.mux.abandon(p)
		return outcome{err: unread()}
	}
	select {
	case err := <-out.written:
		if err != nil {
			return c.brokenStdin(ctx, p)
		}
	case o := <-p.done:
		return o
	case <-ctx.Done():
		return c.mux.wait(ctx, p, unread)
	}
	return c.mux.wait(ctx, p, func() *Error {
		c.cancelled(r)
		return ended(ctx, "the answer to "+r.method, c.lines.partial())
	})
}

func newOutgoing(body []byte) *outgoing {
	return &outgoing{line: append(slices.Clip(body), '\n'), written: make(chan error, 1)}
}

// unread is the end of ctx before the server had read the message.
func (c *stdioConn) unread(ctx context.Context, method string) *Error {
	e := ended(ctx, "an answer", c.lines.partial())
	if e.Reason != ReasonAborted {
		e.Text = "the server did not read " + method + " from its standard input before the time ran out"
	}
	return e
}

// brokenStdin waits for the end of a server that closed its standard input:
// mostly it has just crashed, and how tells more.
func (c *stdioConn) brokenStdin(ctx context.Context, p *pending) outcome {
	soon, cancel := context.WithTimeout(ctx, closedGrace)
	defer cancel()
	return c.mux.wait(soon, p, func() *Error {
		if ctx.Err() != nil {
			return ended(ctx, "the answer to "+p.r.method, c.lines.partial())
		}
		e := failf(ReasonProcessExited, "the server closed its standard input and is still running")
		c.addStderr(e)
		return e
	})
}

// cancelled tells the server that nobody waits for r any more, if that can be
// said at once. initialize cannot be cancelled.
func (c *stdioConn) cancelled(r *request) {
	if r.method == "initialize" {
		return
	}
	params := fmt.Appendf(nil, `{"requestId":%d,"reason":"the time for the answer ran out"}`, r.id)
	c.mux.unasked()
	c.aside(encode(0, "notifications/cancelled", params))
}

func (c *stdioConn) notify(ctx context.Context, r *request) error {
	c.mux.unasked()
	out := newOutgoing(r.body)
	select {
	case c.requests <- out:
	case <-c.lost:
		return c.lostError()
	case <-ctx.Done():
		return c.unread(ctx, r.method)
	}
	select {
	case err := <-out.written:
		if err == nil {
			return nil
		}
	case <-c.lost:
		return c.lostError()
	case <-ctx.Done():
		return c.unread(ctx, r.method)
	}
	select {
	case <-c.lost:
		return c.lostError()
	case <-ctx.Done():
	case <-time.After(closedGrace):
	}
	return failf(ReasonProcessExited, "the server closed its standard input and is still running")
}

func (c *stdioConn) lostError() *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending.clone()
}

// aside queues a line that nobody waits for, or drops it when the server does
// not read: the reader of its output must never wait for its input.
func (c *stdioConn) aside(body []byte) {
	select {
	case c.asides <- append(slices.Clip(body), '\n'):
	default:
	}
}

// write is the only writer of the server's standard input. A server that does
// not read blocks it and nobody else, until close closes the pipe.
func (c *stdioConn) write() {
	defer close(c.writerDone)
	heard := true
	send := func(line []byte) error {
		_, err := c.stdin.Write(line)
		if err != nil && heard {
			heard = false
			close(c.deaf)
		}
		return err
	}
	for {
		select {
		case out := <-c.requests:
			out.written <- send(out.line)
		case line := <-c.asides:
			_ = send(line)
		case <-c.quit:
			for {
				select {
				case line := <-c.asides:
					_ = send(line)
				default:
					return
				}
			}
		}
	}
}

func (c *stdioConn) readStderr() {
	defer close(c.stderrDone)
	buf := make([]byte, 8<<10)
	for {
		n, err := c.stderr.Read(buf)
		_, _ = c.said.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (c *stdioConn) readStdout() {
	c.readLines()
	close(c.stdoutDone)
	// The end of its output is mostly the end of the server, of which run
	// tells more.
	timer := time.NewTimer(closedGrace)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		e := failf(ReasonProcessExited, "the server closed its standard output and is still running")
		c.addStderr(e)
		c.lose(e)
	}
}

func (c *stdioConn) readLines() {
	for {
		line, err := c.lines.next()
		switch {
		case errors.Is(err, errLineTooLong):
			e := tooLarge(c.lines.max)
			e.Text = fmt.Sprintf("the server printed a line longer than the limit of %d bytes", c.lines.max)
			if !c.mux.failWaiting(e) {
				c.mux.note(e.Reason, e.Text, "")
			}
		case err != nil:
			return
		case len(bytes.TrimSpace(line)) == 0:
			c.noise.count(line)
		case !mayBeMessage(line):
			c.noted(line)
		default:
			c.mux.receive(line)
		}
		if e := c.flooded(); e != nil {
			c.lose(e)
			_ = c.stdout.Close() // it is not to write on
			return
		}
	}
}

// flooded says why the output is not worth to be read on, or is nil.
func (c *stdioConn) flooded() *Error {
	n := &c.noise
	if n.lines <= maxNoiseLines && n.bytes <= maxNoiseBytes {
		return c.mux.flooded()
	}
	e := &Error{Reason: ReasonMalformedMessage, Hint: noiseHint, Seen: true}
	e.Text = fmt.Sprintf("standard output carries something else than messages: %d lines of %d bytes", n.lines, n.bytes)
	if n.first != "" {
		e.Text += fmt.Sprintf(", first \"%s\"", n.first)
	}
	return e
}

// arrived is called by the reader of stdout, before an answer is handed out: who
// has an answer can rely on what it sets.
func (c *stdioConn) arrived() {
	if c.gotFirst {
		return
	}
	c.gotFirst = true
	c.spawn = time.Since(c.started)
	close(c.first)
}

// malformed is the mux's policy for what is not JSON-RPC: a line that was meant
// as a message breaks the exchange it belongs to, any other is noise.
func (c *stdioConn) malformed(line []byte, err *Error) {
	v, _, _ := rawjson.Parse(line)
	if !meantAsMessage(line, v) {
		c.noted(line)
		return
	}
	c.noise.count(line)
	if !c.mux.blame(v.Get("id"), err) {
		c.mux.note(err.Reason, err.Text, "")
	}
}

// meantAsMessage tells a broken message from the log lines that servers print by
// mistake, which may well be JSON: v is the line, if it is.
func meantAsMessage(line []byte, v rawjson.Value) bool {
	switch v.Kind() {
	case rawjson.Invalid:
		line = bytes.TrimLeft(line, "\xef\xbb\xbf \t")
		return len(line) > 0 && (line[0] == '{' || line[0] == '[') && bytes.Contains(line, []byte(`"jsonrpc"`))
	case rawjson.Object:
		answers := v.Get("id").Exists() && (v.Get("result").Exists() || v.Get("error").Exists())
		return answers || v.Get("jsonrpc").Exists()
	case rawjson.Array:
		return slices.ContainsFunc(v.Elems(), func(e rawjson.Value) bool { return e.Get("jsonrpc").Exists() })
	default:
		return false
	}
}

// mayBeMessage is a quick look at whether a line can be a message at all.
func mayBeMessage(line []byte) bool {
	for len(line) > 0 {
		switch line[0] {
		case '{', '[':
			return true
		case ' ', '\t', '\r':
			line = line[1:]
		default:
			rest, marked := bytes.CutPrefix(line, []byte("\xef\xbb\xbf"))
			if !marked {
				return false
			}
			line = rest
		}
	}
	return false
}

// noise is what came that was no message.
type noise struct {
	lines, bytes int
	first        string // of the lines that are noted: safe to show
}

func (n *noise) count(line []byte) {
	n.lines++
	n.bytes += len(line) + 1
}

const noiseHint = "print banners and logs to standard error: clients that are strict break off here"

// noted notes a line of noise. The text is that of the first one, so that the
// note counts the lines.
func (c *stdioConn) noted(line []byte) {
	if first := bytes.TrimSpace(line); len(first) == 1 && (first[0] == '{' || first[0] == '[') {
		c.spread.Store(true)
	}
	c.noise.count(line)
	if c.noise.first == "" {
		first := scrub(string(line[:min(len(line), maxNoiseScrub)]), c.cfg.Redact)
		c.noise.first = plain.Line(first, maxNoiseQuote)
	}
	c.cfg.Log.Note("stdout-noise", fmt.Sprintf("standard output has lines that are no messages, first \"%s\"", c.noise.first), noiseHint)
}
