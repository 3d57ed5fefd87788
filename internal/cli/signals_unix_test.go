//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubborn is a server that says nothing and starts another: neither ends when
// its input does or when it is asked to. Their ids go into the file $1.
const stubborn = `trap '' TERM HUP INT QUIT
sleep 600 &
echo $$ $! > "$1.tmp"
mv "$1.tmp" "$1"
wait`

// start runs a check of the stubborn server until it is up, and returns the ids
// of its processes.
func start(t *testing.T, cmd *exec.Cmd, mark string) []int {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		if data, err := os.ReadFile(mark); err == nil {
			var pids []int
			for _, field := range strings.Fields(string(data)) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
			t.Cleanup(func() {
				for _, pid := range pids {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
			return pids
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatal("the server did not start")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// alive reports whether a process runs; one that nobody has waited for does not.
func alive(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func anyAlive(pids []int) bool {
	for range 100 {
		left := false
		for _, pid := range pids {
			left = left || alive(pid)
		}
		if !left {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}

// handlingSignals gives children the default treatment of signals, also when
// these tests were started by nohup or in the background of a shell, where some
// are ignored: what a process handles is not handed down by exec.
func handlingSignals(t *testing.T) {
	t.Helper()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(c) })
}

func checkStubborn(mark string, out *bytes.Buffer) *exec.Cmd {
	cmd := exec.Command("mcpvigil", "check", "--", "sh", "-c", stubborn, "sh", mark)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

func TestSignalsEndTheCheck(t *testing.T) {
	handlingSignals(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		var out bytes.Buffer
		mark := filepath.Join(t.TempDir(), "mark")
		cmd := checkStubborn(mark, &out)
		pids := start(t, cmd, mark)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitUnhealthy || !strings.Contains(out.String(), "ABORTED") || strings.Contains(out.String(), "goroutine") {
			t.Errorf("%v: exit %d\n%s", s, code, out.String())
		}
		if anyAlive(pids) {
			t.Errorf("%v: a process of the server is left", s)
		}
	}
}

// TestNohup: who starts a program so that it outlives the terminal means it.
func TestNohup(t *testing.T) {
	var out bytes.Buffer
	mark := filepath.Join(t.TempDir(), "mark")
	cmd := checkStubborn(mark, &out)
	cmd.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh"}, cmd.Args...)
	var err error
	if cmd.Path, err = exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	start(t, cmd, mark)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if !alive(cmd.Process.Pid) {
		t.Error("the check was ended")
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}

func TestSecondSignalKillsAtOnce(t *testing.T) {
	handlingSignals(t)
	var out bytes.Buffer
	mark := filepath.Join(t.TempDir(), "mark")
	cmd := checkStubborn(mark, &out)
	pids := start(t, cmd, mark)
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+15 {
		t.Errorf("exit %d\n%s", code, out.String())
	}
	if anyAlive(pids) {
		t.Error("a process of the server is left")
	}
}

// TestSignalBeforeTheCheck: what is not about servers ends at the first signal.
func TestSignalBeforeTheCheck(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var out bytes.Buffer
	cmd := exec.Command("mcpvigil", "check", "/dev/stdin")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	// More than a pipe holds: once it is written, the file is being read.
	if _, err := w.Write(bytes.Repeat([]byte("#\n"), 100<<10)); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+15 {
		t.Errorf("exit %d after %v: %s", code, time.Since(started), out.String())
	}
}

// TestPipes: a pipe that nobody is at the other end of is refused, one with a
// reader is written to.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", pipe},
		{"validate", pipe},
		{"import", pipe},
		{"check", "--config", pipe},
		{"check", "http://127.0.0.1:9/", "--bearer-file", pipe},
		{"check", "http://127.0.0.1:9/", "--output", pipe},
	} {
		got := make(chan string, 1)
		go func() {
			var out bytes.Buffer
			code := Main(append([]string{"mcpvigil"}, args...), nil, &out, &out, noEnv)
			got <- strconv.Itoa(code) + " " + out.String()
		}()
		select {
		case text := <-got:
			if !strings.HasPrefix(text, "2 mcpvigil: ") || !strings.Contains(text, " pipe") || !strings.Contains(text, "hint: ") {
				t.Errorf("%q: %s", args, text)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q waits", args)
		}
	}

	read := make(chan []byte, 1)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- data
	}()
	for range 500 { // until the reader is there
		if err := replaceFile(pipe, []byte("a report")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if data := <-read; string(data) != "a report" {
		t.Errorf("read %q", data)
	}
}

func TestReplaceFileKeepsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old and long"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link was replaced: %q, %v", to, err)
	}
}

// TestStandardOutputByName: also where it is a file, which must not be replaced
// under the shell that has opened it.
func TestStandardOutputByName(t *testing.T) {
	if _, err := os.Stat("/dev/stdout"); err != nil {
		t.Skip("no /dev/stdout on this system")
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, path := range []string{"/dev/stdout", "/dev/fd/1"} {
		cmd := exec.Command("mcpvigil", "demo", "--format", "json", "--output", path)
		cmd.Env, cmd.Stdout = append(os.Environ(), "GORACE=atexit_sleep_ms=0"), f
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(f.Name())
	if err != nil || strings.Count(string(data), `"reports"`) != 2 {
		t.Errorf("%v: %s", err, data)
	}
	if info, err := os.Lstat("/dev/stdout"); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("/dev/stdout was replaced: %v, %v", info, err)
	}
}

// TestOutputThatIsNotWritten: a reader that has gone leaves the verdict, all else
// is an error.
func TestOutputThatIsNotWritten(t *testing.T) {
	for _, args := range []string{"demo", "demo --format json", "check http://127.0.0.1:9/", "version", "--help", "demo --exit-map nagios", "completion bash"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var out bytes.Buffer
		cmd := exec.Command("mcpvigil", strings.Fields(args)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "GORACE=atexit_sleep_ms=0"), w, &out
		_ = cmd.Run()
		w.Close()
		want := exitHealthy
		if strings.HasPrefix(args, "check") {
			want = exitUnhealthy
		}
		if code := cmd.ProcessState.ExitCode(); code != want || out.Len() > 0 {
			t.Errorf("%s: nobody reads: %v, want exit %d: %s", args, cmd.ProcessState, want, out.String())
		}

		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			continue // only Linux has it
		}
		out.Reset()
		cmd = exec.Command("mcpvigil", strings.Fields(args)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "GORACE=atexit_sleep_ms=0"), full, &out
		_ = cmd.Run()
		full.Close()
		want = exitMisconfigured
		if strings.Contains(args, "nagios") {
			want = 3
		}
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.HasPrefix(out.String(), "mcpvigil: write to standard output: ") || !strings.Contains(out.String(), "hint: ") {
			t.Errorf("%s: a full device: exit %d, want %d: %s", args, code, want, out.String())
		}
	}
}
