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

// What left the process group and holds the pipes cannot make a check hang.
func TestStdioEscapedDescendant(t *testing.T) {
	c := start(t, serverConfig(t, "escape"), stdioTestConfig())
	defer func() {
		pid, err := strconv.Atoi(strings.TrimPrefix(c.stderrTail(), "left "))
		if err != nil {
			t.Fatalf("no process id in %q", c.stderrTail())
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case <-c.lost:
	case <-ctx.Done():
		t.Fatal("the end of the server was not noticed")
	}
	if e := askFor(t, c, time.Second, 1, "a"); e.Reason != ReasonProcessExited {
		t.Errorf("got %s: %s", e.Reason, e.Text)
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
