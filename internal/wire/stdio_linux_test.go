package wire

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// descendants are the processes whose environment holds mark, however they are
// related to us by now, without those that have ended and await their parent.
func descendants(t *testing.T, mark string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ")) // empty for zombies
		if err != nil || !bytes.Contains(env, []byte(mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// A wrapper starts the real server as its child, and something else besides.
func wrapped(t *testing.T, sc StdioConfig) StdioConfig {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	sc.Args = []string{"-c", `sleep 1000 & "$0"; exit $?`, sc.Path}
	sc.Path = sh
	return sc
}

// Whatever becomes of a check, nothing of the server is left: no process, no
// descriptor, no goroutine. SOAK=1 does it a thousand times.
func TestStdioLeaksNothing(t *testing.T) {
	rounds := 50
	if os.Getenv("SOAK") != "" {
		rounds = 1000
	}
	mark := fmt.Sprintf("MCPVIGIL_TEST_MARK=%d-%d", os.Getpid(), time.Now().UnixNano())
	modes := []string{"plain", "wrapped", "cancelled", "exit", "wrapped stubborn", "unused"}
	before := goleak.IgnoreCurrent()
	files := openFiles(t)
	for i := range rounds {
		mode := modes[i%len(modes)]
		oneStart(t, mode, mark)
		if left := descendants(t, mark); len(left) > 0 {
			t.Fatalf("round %d (%s) left the processes %v", i, mode, left)
		}
	}
	if now := openFiles(t); now > files {
		t.Errorf("%d descriptors were open before, %d are now", files, now)
	}
	goleak.VerifyNone(t, before)
}

func oneStart(t *testing.T, mode, mark string) {
	t.Helper()
	server := strings.TrimPrefix(mode, "wrapped ")
	if mode == "cancelled" {
		server = "hang"
	}
	sc := serverConfig(t, server)
	sc.Env = append(sc.Env, mark)
	if strings.HasPrefix(mode, "wrapped") {
		sc = wrapped(t, sc)
	}
	if server == "hang" || server == "stubborn" {
		sc = impatient(sc)
	}
	c, err := startStdio(t.Context(), sc, stdioTestConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close(context.Background())
	switch mode {
	case "unused":
	case "cancelled":
		askFor(t, c, 5*time.Millisecond, 1, "a")
	case "exit":
		askFor(t, c, 10*time.Second, 1, "a")
	default:
		mustAsk(t, c, 1, "a")
	}
}

// The end of a wrapper is the end of what it left running in its group.
func TestStdioLeaderLeavesServerBehind(t *testing.T) {
	mark := fmt.Sprintf("MCPVIGIL_TEST_MARK=orphan-%d", os.Getpid())
	sc := serverConfig(t, "unused")
	sc.Path, sc.Args = wrapped(t, sc).Path, []string{"-c", "sleep 1000 & exit 4"}
	sc.Env = append(sc.Env, mark)
	c := start(t, sc, stdioTestConfig())
	<-c.lost
	if c.lostError().Text != "the server process ended with exit code 4" {
		t.Error(c.lostError().Text)
	}
	if left := descendants(t, mark); len(left) > 0 {
		t.Errorf("left the processes %v", left)
	}
}

// What leaves the process group does not outlive the check, as far as it can be
// found: by its parents, its session or the pipes it holds.
func TestStdioStrays(t *testing.T) {
	const one = "1 process of the server had left its group and was killed"
	// A stray says in the file $2 that it has left. $0 is the server, $1 sleep.
	const (
		stay   = `setsid sh -c ': >"$1"; exec "$0" 1000' "$1" "$2" `
		daemon = `setsid sh -c ': >"$1"; "$0" 1000 & exit' "$1" "$2" `
		closed = `</dev/null >/dev/null 2>&1 `
		left   = `while [ ! -e "$2" ]; do "$1" 0.01; done; `
		server = left + `"$0"; exit $?`
	)
	tests := []struct {
		name, script string
		mode         string // of the server: "" is none
		note         string
		early        bool // it ends by itself
	}{
		{name: "a session of its own", script: stay + closed + "& " + server, mode: "plain", note: one},
		{name: "of a server that is killed", script: stay + closed + "& " + server, mode: "stubborn", note: one},
		{name: "that ignores SIGTERM", script: `setsid sh -c 'trap "" TERM; : >"$1"; "$0" 1000; "$0" 1000' "$1" "$2" ` + closed + "& " + server, mode: "plain", note: "2 processes of the server had left its group and were killed"},
		{name: "a daemon with standard error", script: daemon + "</dev/null >/dev/null; " + server, mode: "plain", note: one},
		{name: "a daemon with standard input", script: `setsid sh -c ': >"$1"; "$0" 1000 <&3 3<&- & exit' "$1" "$2" 3<&0 >/dev/null 2>&1; ` + server, mode: "plain", note: one},
		{name: "an early end, and the pipes", script: stay + "& " + left + "exit 4", note: one, early: true},
		{name: "an early end, and a parent in the group", script: "(" + stay + "; true) " + closed + "& " + left + "exit 4", note: one, early: true},
		{name: "that ends with its parent", script: `mkfifo "$2.fifo"; setsid sh -c ': >"$1"; exec cat' "$1" "$2" <"$2.fifo" >/dev/null 2>&1 & exec 9>"$2.fifo"; ` + server, mode: "plain"},
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mark := fmt.Sprintf("MCPVIGIL_TEST_MARK=stray-%d-%d", os.Getpid(), i)
			cfg := stdioTestConfig()
			sc := serverConfig(t, test.mode)
			if test.mode == "stubborn" {
				sc = impatient(sc)
			}
			sc.Args = []string{"-c", test.script, sc.Path, lookPath(t, "sleep"), filepath.Join(t.TempDir(), "left")}
			sc.Path = lookPath(t, "sh")
			sc.Env = append(sc.Env, mark)
			c := start(t, sc, cfg)
			if test.early {
				<-c.lost
			} else {
				mustAsk(t, c, 1, "a")
				c.close(context.Background())
			}
			if left := descendants(t, mark); len(left) > 0 {
				t.Errorf("left the processes %v", left)
				for _, pid := range left {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			note := ""
			for _, n := range cfg.Log.Notes() {
				if n.Reason == "stray-processes" {
					note = n.Text
				}
			}
			if note != test.note {
				t.Errorf("note: %s\nwant: %s", note, test.note)
			}
		})
	}
}

// A cancelled check is over soon, and leaves nothing either.
func TestStdioCancelledStrays(t *testing.T) {
	mark := fmt.Sprintf("MCPVIGIL_TEST_MARK=stray-cancelled-%d", os.Getpid())
	sc := serverConfig(t, "stubborn")
	sc.Args = []string{"-c", `setsid sh -c 'trap "" TERM; : >"$1"; "$0" 1000; "$0" 1000' "$1" "$2" & while [ ! -e "$2" ]; do "$1" 0.01; done; "$0"; exit $?`, sc.Path, lookPath(t, "sleep"), filepath.Join(t.TempDir(), "left")}
	sc.Path, sc.Env = lookPath(t, "sh"), append(sc.Env, mark)
	cfg := stdioTestConfig()
	c := start(t, sc, cfg)
	mustAsk(t, c, 1, "a")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	c.close(ctx)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %s", took)
	}
	if left := descendants(t, mark); len(left) > 0 {
		t.Errorf("left the processes %v", left)
	}
	if counts, text := noted(cfg.Log); len(counts) > 0 {
		t.Errorf("blamed for a time it was not given: %s", text)
	}
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A process that got the id of another is never signalled.
func TestStrayWithReusedID(t *testing.T) {
	cmd := exec.Command(lookPath(t, "sleep"), "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	p, ok := readProcess(cmd.Process.Pid)
	if !ok || p.parent != os.Getpid() || p.ended {
		t.Fatalf("read %+v, %v", p, ok)
	}
	earlier := p
	earlier.started--
	stray{earlier}.kill()
	if within(ended, 50*time.Millisecond) || (stray{earlier}).alive() {
		t.Error("a process was signalled for one that had its id before")
	}
	stray{p}.kill()
	if !within(ended, 10*time.Second) {
		t.Error("it was not killed")
	}
}

// A child in the making has all files of its parent open: it is not taken for
// one that holds a pipe.
func TestStraysAreNotChildrenInTheMaking(t *testing.T) {
	self, ok := readProcess(os.Getpid())
	if !ok {
		t.Fatal("cannot read /proc")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	f := newFamily(1<<30, r, w)
	f.since = self.started
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for !within(stop, 0) {
			if err := exec.Command(lookPath(t, "true")).Run(); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 300 {
		if strays := f.strays(); len(strays) > 0 {
			t.Errorf("found %+v", strays)
			break
		}
	}
	close(stop)
	<-done
}

func TestDescend(t *testing.T) {
	all := []process{
		{pid: 10, parent: 1, group: 10, session: 10, started: 5},
		{pid: 11, parent: 10, group: 10, session: 10, started: 6},
		{pid: 9, parent: 11, group: 9, session: 9, started: 7},   // the ids have wrapped
		{pid: 12, parent: 1, group: 9, session: 9, started: 8},   // an orphan of its session
		{pid: 13, parent: 12, group: 13, session: 3, started: 7}, // of an earlier process 12
		{pid: 14, parent: 1, group: 14, session: 3, started: 9},
	}
	var got []int
	for _, p := range descend(all, map[int]struct{}{10: {}}) {
		got = append(got, p.pid)
	}
	if fmt.Sprint(got) != "[10 11 9 12]" {
		t.Errorf("got %v", got)
	}
}

// A server ends with the process that checks it.
func TestStdioDiesWithParent(t *testing.T) {
	mark := fmt.Sprintf("MCPVIGIL_TEST_MARK=parent-%d", os.Getpid())
	sc := serverConfig(t, "checker")
	cmd := exec.Command(sc.Path)
	cmd.Env = append(sc.Env, mark)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	if n := len(descendants(t, mark)); n != 2 {
		t.Errorf("%d processes run, want the checker and its server", n)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // killed
	for deadline := time.Now().Add(10 * time.Second); len(descendants(t, mark)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server lives on")
		}
	}
}
