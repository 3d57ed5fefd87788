//go:build linux

package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// What the monitor may cost with ten thousand servers at one minute each, on two cores,
// with the embedded store.
const (
	loadInterval = time.Minute
	maxLag       = 2 * time.Second // p99 from the slot to the start of the check
	maxCores     = 0.6
	maxLoadRSS   = 400 << 20
)

// TestLoad watches 1,000 and 10,000 servers for LOADTIME (10 minutes) each, in a process
// of its own, and measures that process.
func TestLoad(t *testing.T) {
	if os.Getenv(enabledBy) == "" {
		t.Skip(skipReason)
	}
	length := 10 * time.Minute
	if text := os.Getenv("LOADTIME"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "mcpvigil")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "../../cmd/mcpvigil")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	url := servers(t)["modern"]
	var cost []float64
	for _, n := range []int{1_000, 10_000} {
		l := watchMany(t, path, url, n, length)
		t.Logf("%6d monitors for %s: %d of %d slots, lag p50 %s p99 %s max %s, %.3f cores (%.2f ms CPU a check), peak %d MiB, database %d MiB",
			n, length, l.ran, l.due, l.p50, l.p99, l.max, l.cores, l.cores*1000*length.Seconds()/float64(l.ran), l.rss>>20, l.size>>20)
		if l.ran < l.due {
			t.Errorf("%d monitors: %d slots were not run", n, l.due-l.ran)
		}
		if l.p99 > maxLag || l.cores > maxCores || l.rss > maxLoadRSS {
			t.Errorf("%d monitors: over the limits of %s, %.1f cores, %d MiB", n, maxLag, maxCores, maxLoadRSS>>20)
		}
		cost = append(cost, l.cores/float64(n))
	}
	t.Logf("CPU for each monitor, 10,000 against 1,000: %.2f times", cost[1]/cost[0])
}

type load struct {
	due, ran      int
	p50, p99, max time.Duration
	cores         float64
	rss, size     int64
}

func watchMany(t *testing.T, path, url string, n int, length time.Duration) load {
	t.Helper()
	dir := t.TempDir()
	var config bytes.Buffer
	config.WriteString("version: v1\ndefaults: {interval: 1m}\ntargets:\n")
	for i := range n {
		fmt.Fprintf(&config, "  - {name: server-%d, type: mcp, endpoint: %q}\n", i, url)
	}
	file := filepath.Join(dir, "mcpvigil.yaml")
	if err := os.WriteFile(file, config.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	address := free(t)
	var log bytes.Buffer
	cmd := exec.Command(path, "serve", "--listen", address, "--open-metrics", "--log-format", "json", "--data", filepath.Join(dir, "data"), "--config", file)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	await(t, "http://"+address+"/readyz", ended, &log)
	// A first round sets the baselines; what is measured is the steady state after it.
	time.Sleep(loadInterval + 10*time.Second)
	from, cpu := time.Now().Truncate(time.Millisecond), cpuOf(t, cmd.Process.Pid) // slots are in milliseconds
	time.Sleep(length)
	to, cpuAfter := time.Now().Truncate(time.Millisecond), cpuOf(t, cmd.Process.Pid)
	l := load{cores: (cpuAfter - cpu).Seconds() / to.Sub(from).Seconds(), rss: peakOf(t, cmd.Process.Pid)}
	time.Sleep(2 * maxLag) // for the checks that are still under way
	cmd.Process.Signal(syscall.SIGTERM)
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the monitor ended with %d: %s", code, tail(log.String()))
	}
	database := filepath.Join(dir, "data", "mcpvigil.db")
	if info, err := os.Stat(database); err == nil {
		l.size = info.Size()
	}
	l.read(t, database, from, to)
	return l
}

// read counts the slots between two moments in the history.
func (l *load) read(t *testing.T, database string, from, to time.Time) {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, store.Options{Path: database})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var lags []time.Duration
	err = s.View(ctx, func(tx *store.Tx) error {
		monitors, err := tx.AllMonitors(ctx)
		if err != nil {
			return err
		}
		for _, m := range monitors {
			offset := watch.Offset(m.ID, watch.DefaultLocation, loadInterval)
			for slot := watch.NextSlot(offset, loadInterval, from.Add(-1)); slot.Before(to); slot = watch.NextSlot(offset, loadInterval, slot) {
				l.due++
			}
			results, _, err := tx.Results(ctx, store.ResultFilter{Monitor: m.ID, From: from, To: to, Limit: 1_000})
			if err != nil {
				return err
			}
			for _, r := range results {
				if r.Kind == watch.Scheduled && r.Status == "healthy" {
					l.ran++
					lags = append(lags, r.Started.Sub(r.Slot))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lags) == 0 {
		t.Fatal("no check ran")
	}
	slices.Sort(lags)
	l.p50, l.p99, l.max = lags[len(lags)/2], lags[len(lags)*99/100], lags[len(lags)-1]
}

func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func await(t *testing.T, url string, ended <-chan struct{}, log *bytes.Buffer) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("the monitor ended: %s", tail(log.String()))
		default:
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		cancel()
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Fatalf("the monitor is not ready: %s", tail(log.String()))
}

func tail(s string) string { return s[max(0, len(s)-4096):] }

// cpuOf is the CPU time that a process has used (proc(5): utime and stime, in ticks of
// 10 ms).
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		t.Fatalf("unreadable /proc stat: %s", stat)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peakOf is the most memory that a process had resident.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM in /proc status")
	return 0
}
