package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const testSecret = "s3cr3t-value"

func stdioTestConfig() Config {
	redact := plain.NewRedactor(testSecret)
	return Config{Limits: Limits{ResponseBytes: 4 << 20}, Redact: redact, Log: NewLog(redact)}
}

// serverConfig starts the test binary as a server. Its graces are long enough
// for a server that ends by itself.
func serverConfig(t testing.TB, mode string, args ...string) StdioConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return StdioConfig{
		Path:       self,
		Args:       args,
		Env:        SafeEnv(os.Environ(), []string{serverVariable + "=" + mode, "GORACE=atexit_sleep_ms=0"}),
		StdinGrace: 5 * time.Second,
		TermGrace:  5 * time.Second,
	}
}

// start starts a server that is closed at the end of the test, and then has left
// no goroutine behind.
func start(t *testing.T, sc StdioConfig, cfg Config) *stdioConn {
	t.Helper()
	before := goleak.IgnoreCurrent()
	c, err := startStdio(t.Context(), sc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.close(context.Background())
		goleak.VerifyNone(t, before)
	})
	return c
}

// impatient is for servers that must be made to end.
func impatient(sc StdioConfig) StdioConfig {
	sc.StdinGrace, sc.TermGrace = 50*time.Millisecond, 50*time.Millisecond
	return sc
}

func ask(t *testing.T, c *stdioConn, id int64, method string) (*answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return c.exchange(ctx, &request{id: id, method: method, body: encode(id, method, nil)})
}

// askFor is ask for a server that does not answer.
func askFor(t *testing.T, c *stdioConn, d time.Duration, id int64, method string) *Error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	a, err := c.exchange(ctx, &request{id: id, method: method, body: encode(id, method, nil)})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %+v, %v; want an *Error", a, err)
	}
	return e
}

func mustAsk(t *testing.T, c *stdioConn, id int64, method string) string {
	t.Helper()
	a, err := ask(t, c, id, method)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if a.rpcErr != nil {
		t.Fatalf("%s: %+v", method, a.rpcErr)
	}
	return string(a.result.Raw())
}

// noted returns the notes as reason -> count, and the text of the last one.
func noted(l *Log) (counts map[string]int, text string) {
	counts = map[string]int{}
	for _, n := range l.Notes() {
		counts[n.Reason] += n.Count
		text = n.Text
	}
	return counts, text
}

func TestStdioAnswers(t *testing.T) {
	tests := []struct {
		mode, want string
		notes      map[string]int
		note       string
	}{
		{"plain", `{"method":"a/b"}`, nil, ""},
		{"noise", `{"method":"a/b"}`, map[string]int{"stdout-noise": 3}, "standard output has lines that are no messages, first \"[dotenv] injecting env, key=*** \U0001F680\""},
		{"flood", `{"method":"a/b"}`, nil, ""},
		{"crlf", `{"ok":true}`, nil, ""},
		{"bom", `{"method":"a/b"}`, map[string]int{"bom": 1}, "the answer to a/b starts with a byte order mark"},
		{"latin1", "{\"description\":\"caf\xe9\"}", map[string]int{ReasonInvalidUTF8: 1}, "the answer to a/b is not UTF-8: byte 0xE9 at position 52 (1 such bytes)"},
		{"duplicate", `{"a":1,"a":2}`, map[string]int{"duplicate-member": 1}, "the answer to a/b has a member twice: /result/a"},
		{"chatty", `{"method":"a/b"}`, nil, ""},
		{"foreign-id", `{"method":"a/b"}`, map[string]int{ReasonIDMismatch: 2}, "a response came that answers no open request; its id is null"},
		{"ask", `{"ping":["p-1",{}],"roots":[1,{"code":-32601,"message":"method not found"}]}`, nil, ""},
		{"last-words", `{"bye":true}`, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			cfg := stdioTestConfig()
			c := start(t, serverConfig(t, test.mode), cfg)
			if got := mustAsk(t, c, 1, "a/b"); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			counts, text := noted(cfg.Log)
			if test.notes == nil {
				test.notes = map[string]int{}
			}
			if diff := cmp.Diff(test.notes, counts); diff != "" || text != test.note {
				t.Errorf("notes (-want +got):\n%s%s", diff, text)
			}
			select {
			case <-c.firstMessage():
			default:
				t.Error("an answer is no first message")
			}
			if c.firstAfter() <= 0 {
				t.Errorf("first message after %s", c.firstAfter())
			}
			x := cfg.Log.Exchanges()
			if len(x) != 1 || x[0].Method != "a/b" || x[0].Duration <= 0 || x[0].Bytes == 0 || x[0].Err != nil {
				t.Errorf("exchanges: %+v", x)
			}
		})
	}
}

// Two floods must not block a server whose pipe they fill.
func TestStdioStderrIsDrained(t *testing.T) {
	c := start(t, serverConfig(t, "flood"), stdioTestConfig())
	for id := int64(1); id <= 4; id++ {
		mustAsk(t, c, id, "a")
	}
	if got := c.stderrTail(); len(got) > tailBytes+len("…") || !strings.HasPrefix(got, "eee") {
		t.Errorf("a tail of %d bytes: %.40q", len(got), got)
	}
}

func TestStdioRefusedMethod(t *testing.T) {
	c := start(t, serverConfig(t, "legacy"), stdioTestConfig())
	a, err := ask(t, c, 1, methodDiscover)
	if err != nil || a.rpcErr == nil || a.rpcErr.Code != codeMethodNotFound {
		t.Errorf("got %+v, %v", a, err)
	}
	mustAsk(t, c, 2, "initialize")
}

func TestStdioBrokenAnswers(t *testing.T) {
	tests := []struct{ mode, reason, text string }{
		{"string-id", ReasonIDMismatch, `the answer to a has the id "1"; 1 was sent`},
		{"malformed", ReasonMalformedMessage, `the answer is no JSON-RPC message: "jsonrpc" is not "2.0"`},
		{"broken-json", ReasonMalformedJSON, "the answer is not JSON: invalid JSON at offset 34: unexpected end of input where a member name should start"},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			c := start(t, serverConfig(t, test.mode), stdioTestConfig())
			e := askFor(t, c, 10*time.Second, 1, "a")
			if e.Reason != test.reason || e.Text != test.text {
				t.Errorf("got %s: %s", e.Reason, e.Text)
			}
		})
	}
}

func TestStdioSize(t *testing.T) {
	cfg := stdioTestConfig()
	c := start(t, serverConfig(t, "plain"), cfg)
	if got := mustAsk(t, c, 1, "size/307200"); len(got) != 307200+len(`{"pad":""}`) {
		t.Errorf("got %d bytes", len(got))
	}
	e := askFor(t, c, 10*time.Second, 2, "size/5242880")
	if e.Reason != ReasonResponseTooLarge || !strings.Contains(e.Text, "4194304 bytes") {
		t.Errorf("got %s: %s", e.Reason, e.Text)
	}
	mustAsk(t, c, 3, "a") // the rest of the line was dropped
	if counts, _ := noted(cfg.Log); len(counts) > 0 {
		t.Errorf("notes: %v", counts)
	}
}

func TestStdioEndlessLineTakesNoMemory(t *testing.T) {
	c := start(t, serverConfig(t, "endless"), stdioTestConfig())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if e := askFor(t, c, 30*time.Second, 1, "a"); e.Reason != ReasonResponseTooLarge {
		t.Errorf("got %s: %s", e.Reason, e.Text)
	}
	// Waits for the end of the line. The answer to the first request comes
	// after it, too late, and the second line fails this one.
	if e := askFor(t, c, 30*time.Second, 2, "b"); e.Reason != ReasonResponseTooLarge {
		t.Errorf("got %s: %s", e.Reason, e.Text)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("a line of 200 MiB allocated %d MiB", took>>20)
	}
}

func TestStdioConcurrentExchanges(t *testing.T) {
	c := start(t, serverConfig(t, "two"), stdioTestConfig())
	var wg sync.WaitGroup
	got := make([]string, 2)
	for i := range got {
		wg.Go(func() {
			a, err := ask(t, c, int64(i+1), "a")
			if err != nil {
				t.Error(err)
				return
			}
			n, _ := a.result.Get("n").Int()
			got[i] = strconv.FormatInt(n, 10)
		})
	}
	wg.Wait()
	// The server numbers them in the order in which it read them.
	if got[0] == got[1] {
		t.Errorf("both got answer %q", got[0])
	}
}

func TestStdioLateAnswer(t *testing.T) {
	cfg := stdioTestConfig()
	c := start(t, serverConfig(t, "late"), cfg)
	if e := askFor(t, c, 50*time.Millisecond, 7, "slow"); e.Reason != ReasonTimeout || e.Seen {
		t.Errorf("got %s: %s", e.Reason, e.Text)
	}
	want := `{"cancelled":{"requestId":7,"reason":"the time for the answer ran out"}}`
	if got := mustAsk(t, c, 8, "next"); got != want {
		t.Errorf("got %s", got)
	}
	if counts, text := noted(cfg.Log); len(counts) > 0 {
		t.Errorf("a late answer was noted: %s", text)
	}
}

func TestStdioTimeouts(t *testing.T) {
	t.Run("silence", func(t *testing.T) {
		c := start(t, serverConfig(t, "silent"), stdioTestConfig())
		if e := askFor(t, c, 50*time.Millisecond, 1, methodDiscover); e.Reason != ReasonTimeout || e.Seen {
			t.Errorf("got %s: %s", e.Reason, e.Text)
		}
		mustAsk(t, c, 2, "initialize")
	})
	t.Run("half a line", func(t *testing.T) {
		c := start(t, serverConfig(t, "half"), stdioTestConfig())
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go func() { // no deadline: the server may take its time to start
			for !c.lines.partial() {
				time.Sleep(time.Millisecond)
			}
			cancel(context.DeadlineExceeded)
		}()
		_, err := c.exchange(ctx, &request{id: 1, method: "a", body: encode(1, "a", nil)})
		if ReasonOf(err) != ReasonPartialResponse {
			t.Errorf("got %v", err)
		}
	})
	t.Run("does not read", func(t *testing.T) {
		c := start(t, impatient(serverConfig(t, "hang")), stdioTestConfig())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		big := []byte(`{"pad":"` + strings.Repeat("x", 1<<20) + `"}`)
		_, err := c.exchange(ctx, &request{id: 1, method: "a", body: encode(1, "a", big)})
		var e *Error
		if !errors.As(err, &e) || e.Reason != ReasonTimeout || e.Text != "the server did not read a from its standard input before the time ran out" {
			t.Fatalf("got %v", err)
		}
		if got := e.Details["stderr"]; got != "waiting for EXTRA_CA, password: ***" {
			t.Errorf("stderr: %q", got)
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := c.notify(short, &request{method: "b", body: encode(0, "b", nil)}); ReasonOf(err) != ReasonTimeout {
			t.Errorf("notify: %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		c := start(t, impatient(serverConfig(t, "hang")), stdioTestConfig())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.exchange(ctx, &request{id: 1, method: "a", body: encode(1, "a", nil)}); ReasonOf(err) != ReasonAborted {
			t.Errorf("got %v", err)
		}
	})
}

func TestStdioProcessEnds(t *testing.T) {
	tests := []struct {
		mode, text, stderr string
	}{
		{"exit", "the server process ended with exit code 3: fatal: no database, key ***", "starting\nfatal: no database, key ***"},
		{"die", `the server process was ended by the signal "killed"`, ""},
		{"close-stdin", "the server closed its standard input and is still running: not listening", "not listening"},
		{"close-stdout", "the server closed its standard output and is still running: not talking", "not talking"},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			t.Parallel()
			c, err := startStdio(t.Context(), impatient(serverConfig(t, test.mode)), stdioTestConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer c.close(context.Background())
			for strings.HasPrefix(test.mode, "close") && c.stderrTail() == "" {
				time.Sleep(time.Millisecond) // it says so when it has closed the pipe
			}
			e := askFor(t, c, 10*time.Second, 1, "a")
			if e.Reason != ReasonProcessExited || e.Text != test.text {
				t.Errorf("got %s: %s", e.Reason, e.Text)
			}
			if got, _ := e.Details["stderr"].(string); got != test.stderr {
				t.Errorf("stderr: %q", got)
			}
			if test.mode == "close-stdin" {
				return // its output is still open
			}
			<-c.lost
			if c.lostError().Text != test.text {
				t.Errorf("exitText: %s", c.lostError().Text)
			}
			if e := askFor(t, c, time.Second, 2, "b"); e.Text != test.text {
				t.Errorf("the next exchange got %s", e.Text)
			}
			if err := c.notify(t.Context(), &request{method: "n", body: encode(0, "n", nil)}); ReasonOf(err) != ReasonProcessExited {
				t.Errorf("notify: %v", err)
			}
		})
	}
}

func TestStdioArgumentsArriveUnchanged(t *testing.T) {
	args := []string{"a b", `"q" 'r'`, "x^y", "żółć", "", "$HOME", "*", `back\slash`, "--flag=a b"}
	c := start(t, serverConfig(t, "argv", args...), stdioTestConfig())
	var got struct{ Args []string }
	if err := json.Unmarshal([]byte(mustAsk(t, c, 1, "a")), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(args, got.Args); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStdioEnvironmentAndDirectory(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "leak")
	sc := serverConfig(t, "environ")
	sc.Env = append(sc.Env, "EXTRA=1")
	sc.Dir, _ = filepath.EvalSymlinks(t.TempDir())
	c := start(t, sc, stdioTestConfig())
	var got struct {
		Env []string
		Dir string
	}
	if err := json.Unmarshal([]byte(mustAsk(t, c, 1, "a")), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sc.Env, got.Env); diff != "" || got.Dir != sc.Dir {
		t.Errorf("in %s (-want +got):\n%s", got.Dir, diff)
	}
}

func TestStdioShutdown(t *testing.T) {
	tests := []struct {
		mode, note string
		atMost     time.Duration
	}{
		{"plain", "", 5 * time.Second},
		{"deaf", "the server did not end within 50ms of the end of its input, only after it was asked to (SIGTERM)", 3 * time.Second},
		{"stubborn", "the server did not end within 50ms of the end of its input, and had to be killed", 3 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			cfg := stdioTestConfig()
			sc := serverConfig(t, test.mode)
			if test.note != "" {
				sc = impatient(sc)
				sc.TermGrace *= 10
			}
			c := start(t, sc, cfg)
			mustAsk(t, c, 1, "a")
			began := time.Now()
			var wg sync.WaitGroup
			for range 3 { // all wait for the end
				wg.Go(func() {
					c.close(context.Background())
					if c.cmd.ProcessState == nil {
						t.Error("close returned before the process had ended")
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); took > test.atMost {
				t.Errorf("took %s", took)
			}
			_, note := noted(cfg.Log)
			if note != test.note {
				t.Errorf("note: %s", note)
			}
			if _, err := ask(t, c, 2, "a"); ReasonOf(err) != ReasonAborted {
				t.Errorf("after close: %v", err)
			}
		})
	}
}

// A server that cannot hear that its input ends is not given the time for it.
func TestStdioShutdownOfTheDeaf(t *testing.T) {
	for mode, atMost := range map[string]time.Duration{"close-stdin": time.Second, "close-stdout": time.Second, "close-both": 2 * time.Second} {
		t.Run(mode, func(t *testing.T) {
			cfg := stdioTestConfig()
			c := start(t, serverConfig(t, mode), cfg) // graces of 5 s
			for id, ended := int64(1), time.Now().Add(10*time.Second); ; id++ {
				if e := askFor(t, c, 2*time.Second, id, "a"); e.Reason == ReasonProcessExited {
					break
				} else if time.Now().After(ended) {
					t.Fatalf("got %s: %s", e.Reason, e.Text)
				}
			}
			began := time.Now()
			c.close(context.Background())
			if took := time.Since(began); took > atMost {
				t.Errorf("took %s", took)
			}
			if counts, text := noted(cfg.Log); len(counts) > 0 {
				t.Errorf("noted: %s", text)
			}
		})
	}
}

// What is no message ends a connection when there is too much of it, and soon.
func TestStdioFloods(t *testing.T) {
	const noisy = "standard output carries something else than messages: "
	tests := []struct{ mode, text string }{
		{"yes", noisy + `10001 lines of 20002 bytes, first "a"`},
		{"blank", noisy + "10001 lines of 10001 bytes"},
		{"wide", noisy + "8 lines of 8388616 bytes, first \"" + strings.Repeat("a", maxNoiseQuote) + "…\""},
		{"broken-lines", noisy + "10001 lines of 120012 bytes"},
		{"notifications", "the server floods the stream: 50001 messages that answer nothing"},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			cfg := stdioTestConfig()
			c := start(t, serverConfig(t, test.mode), cfg)
			if !within(c.lost, 10*time.Second) {
				t.Fatal("it is still read")
			}
			if e := askFor(t, c, 10*time.Second, 1, "a"); e.Reason != ReasonMalformedMessage || e.Text != test.text || e.Hint == "" {
				t.Errorf("got %s: %s", e.Reason, e.Text)
			}
			if test.mode == "yes" && !within(c.exited, 10*time.Second) {
				t.Error("it writes on")
			}
			began := time.Now()
			c.close(context.Background())
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %s to close", took)
			}
		})
	}
	t.Run("logs", func(t *testing.T) {
		cfg := stdioTestConfig()
		c := start(t, serverConfig(t, "logs"), cfg)
		mustAsk(t, c, 1, "a")
		if counts, _ := noted(cfg.Log); counts["stdout-noise"] != maxNoiseLines/2 {
			t.Errorf("notes: %v", counts)
		}
	})
}

func TestMayBeMessage(t *testing.T) {
	for line, want := range map[string]bool{
		"{": true, " \t[1]": true, "\xef\xbb\xbf{}": true, "\r{": true, "": false, "a{": false, " ": false, "\xef\xbb": false, "1": false, `"a"`: false, "\v{": false,
	} {
		if got := mayBeMessage([]byte(line)); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// close must not wait for an exchange that is under way.
func TestStdioCloseEndsExchanges(t *testing.T) {
	c := start(t, impatient(serverConfig(t, "hang")), stdioTestConfig())
	failed := make(chan error)
	go func() {
		_, err := c.exchange(context.Background(), &request{id: 1, method: "a", body: encode(1, "a", nil)})
		failed <- err
	}()
	for c.mux.only() == nil {
		runtime.Gosched()
	}
	c.close(context.Background())
	if err := <-failed; ReasonOf(err) != ReasonAborted {
		t.Errorf("got %v", err)
	}
}

func TestStdioCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	script := filepath.Join(dir, "script")
	for path, content := range map[string]string{file: "x", script: "#!/does/not/exist\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(script, 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	path := "PATH=relative:" + dir
	tests := []struct {
		name         string
		sc           StdioConfig
		reason, text string
	}{
		{"empty", StdioConfig{}, ReasonCommandNotFound, "no command was given"},
		{"not on PATH", StdioConfig{Path: "no-such", Env: []string{path}}, ReasonCommandNotFound, `the command "no-such" is not on the PATH that the server gets`},
		{"no PATH", StdioConfig{Path: "sh"}, ReasonCommandNotFound, `the command "sh" is not on the PATH that the server gets`},
		{"absolute", StdioConfig{Path: dir + "/no"}, ReasonCommandNotFound, `the command "` + dir + `/no" does not exist`},
		{"relative to Dir", StdioConfig{Path: "./no", Dir: dir}, ReasonCommandNotFound, `the command "` + dir + `/no" does not exist`},
		{"not executable", StdioConfig{Path: "file", Env: []string{path}}, ReasonCommandNotExecutable, `"` + file + `" cannot be executed: it is a directory, or permission is missing`},
		{"a directory", StdioConfig{Path: dir}, ReasonCommandNotExecutable, `"` + dir + `" cannot be executed: it is a directory, or permission is missing`},
		{"interpreter", StdioConfig{Path: "./script", Dir: dir}, ReasonCommandNotExecutable, `cannot start "` + script + `": the interpreter in its first line, or its loader, does not exist`},
		{"no directory", StdioConfig{Path: "sh", Dir: dir + "/no"}, ReasonBadDirectory, `the working directory "` + dir + `/no" does not exist`},
		{"a file as directory", StdioConfig{Path: "sh", Dir: file}, ReasonBadDirectory, `the working directory "` + file + `" is not a directory`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			c, err := startStdio(t.Context(), test.sc, stdioTestConfig())
			var e *Error
			if !errors.As(err, &e) || e.Reason != test.reason || e.Text != test.text {
				t.Errorf("got %v, %s: %v", c, ReasonOf(err), err)
			}
			goleak.VerifyNone(t, before)
		})
	}
	_, err := startStdio(t.Context(), StdioConfig{Path: "npx -y server"}, stdioTestConfig())
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, `the command "npx" and its arguments in a list`) {
		t.Errorf("hint: %v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (StdioConfig{Path: script}).connect(ctx, stdioTestConfig()); ReasonOf(err) != ReasonAborted {
		t.Errorf("cancelled: %v", err)
	}
}

func TestStartErrorReasons(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EAGAIN: ReasonProcessLimit, syscall.EMFILE: ReasonProcessLimit, syscall.ENFILE: ReasonProcessLimit, syscall.ENOMEM: ReasonProcessLimit,
		syscall.ENOENT: ReasonCommandNotExecutable, syscall.EACCES: ReasonCommandNotExecutable, syscall.ENOEXEC: ReasonCommandNotExecutable,
		syscall.E2BIG: ReasonSpawnFailed,
	} {
		e := startError("/bin/x", &os.PathError{Op: "fork/exec", Path: "/bin/x", Err: errno})
		if e.Reason != want || !strings.HasPrefix(e.Text, `cannot start "/bin/x": `) {
			t.Errorf("%v: %s: %s", errno, e.Reason, e.Text)
		}
	}
}

func TestSafeEnv(t *testing.T) {
	environ := []string{"PATH=/bin", "HOME=/h", "SHELL=/bin/sh", "TOKEN=x", "TMPDIR=/t", "USER=u", "LD_PRELOAD=x", "broken", "=x", "HOMEPAGE=x"}
	got := SafeEnv(environ, []string{"A=1", "HOME=/other", "A=2", "B=x=y", "C="})
	want := []string{"PATH=/bin", "HOME=/other", "TMPDIR=/t", "USER=u", "A=2", "B=x=y", "C="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLineReader(t *testing.T) {
	type line struct {
		text string
		long bool
	}
	tests := []struct {
		name, in string
		want     []line
	}{
		{"nothing", "", nil},
		{"lines", "a\nb\n", []line{{text: "a"}, {text: "b"}}},
		{"no end", "a\nb", []line{{text: "a"}, {text: "b"}}},
		{"CRLF", "a\r\n\r\nb\r", []line{{text: "a"}, {}, {text: "b"}}},
		{"as long as may be", "12345678\n123456789\n1\n", []line{{text: "12345678"}, {long: true}, {text: "1"}}},
		{"too long to the end", "1\n1234567890123", []line{{text: "1"}, {long: true}}},
	}
	for _, test := range tests {
		for _, step := range []int{1, 3, 1000} {
			l := newLineReader(&stepReader{data: []byte(test.in), step: step}, 8)
			var got []line
			for {
				text, err := l.next()
				if err != nil && !errors.Is(err, errLineTooLong) {
					break
				}
				got = append(got, line{string(text), err != nil})
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(line{})); diff != "" {
				t.Errorf("%s, %d bytes a read (-want +got):\n%s", test.name, step, diff)
			}
		}
	}
}

func TestTail(t *testing.T) {
	var kept tail
	for i := range 5000 {
		fmt.Fprintf(&kept, "line %d\n", i)
	}
	if n := len(kept.text()); n != tailKept {
		t.Errorf("keeps %d bytes", n)
	}
	got := showTail(kept.text())
	if lines := strings.Split(got, "\n"); len(lines) != tailLines || lines[0] != "line 4990" || lines[9] != "line 4999" {
		t.Errorf("shows %q", lines)
	}
	kept.Write(bytes.Repeat([]byte("é"), tailKept))
	if got := showTail(kept.text()); !strings.HasPrefix(got, "é") || len(got) > tailBytes {
		t.Errorf("shows %d bytes, %.10q", len(got), got)
	}
	if got := showTail("a\r\n\x1b]0;t\x07\r\n\n"); got != "a\n\\u{001B}]0;t\\u{0007}" {
		t.Errorf("shows %q", got)
	}
}

// FuzzStdio feeds arbitrary output of a server to the reader of a connection.
func FuzzStdio(f *testing.F) {
	for _, seed := range []string{
		"", "\n\r\n", "banner\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", "\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xe9\"}}\r\n",
		`{"jsonrpc":"2.0","id":"1","result":{}}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"error":{"code":1}}]`,
		`{"jsonrpc":"2.0","id":1,`, `{"id":1,"result":3}`, strings.Repeat("x", 600) + "\n1\n",
	} {
		f.Add([]byte(seed), uint8(5))
	}
	f.Fuzz(func(t *testing.T, output []byte, step uint8) {
		whole := fuzzStdio(t, &stepReader{data: output, step: len(output) + 1})
		cut := fuzzStdio(t, &stepReader{data: output, step: int(step%16) + 1})
		if diff := cmp.Diff(whole, cut); diff != "" {
			t.Fatalf("it matters how the output is cut (-whole +cut):\n%s", diff)
		}
	})
}

// fuzzStdio says what became of two requests, and of the log.
func fuzzStdio(t *testing.T, r *stepReader) (seen []string) {
	cfg := stdioTestConfig()
	c := &stdioConn{cfg: cfg, lines: newLineReader(r, 512), first: make(chan struct{}), lost: make(chan struct{}), asides: make(chan []byte, maxQueued)}
	c.mux = newMux(cfg.Log, c.aside, c.malformed)
	c.mux.arrived = c.arrived
	var waiting []*pending
	for id := int64(1); id <= 2; id++ {
		p, err := c.mux.register(&request{id: id, method: "m"})
		if err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, p)
	}
	c.readLines()
	c.mux.fail(failf(ReasonProcessExited, "over"))
	for _, p := range waiting {
		o := <-p.done
		if (o.answer == nil) == (o.err == nil) {
			t.Fatalf("outcome %+v", o)
		}
		if o.err != nil {
			seen = append(seen, o.err.Reason+": "+o.err.Text)
			if o.err.Text != plain.Line(o.err.Text, 1000) {
				t.Fatalf("unsafe text %q", o.err.Text)
			}
		} else {
			seen = append(seen, string(o.answer.result.Raw()))
		}
	}
	for _, n := range cfg.Log.Notes() {
		seen = append(seen, fmt.Sprint(n.Count, " ", n.Reason, ": ", n.Text))
	}
	return append(seen, strconv.Itoa(len(c.asides)))
}
