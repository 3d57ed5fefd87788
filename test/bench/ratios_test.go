//go:build unix

package bench_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a check may cost.
const (
	maxTime    = 1.3 // times the floor's
	maxAlloc   = 0.5 // times the SDK's
	maxCPU     = 20 * time.Millisecond
	maxRSS     = 32 << 20 // some 20 of it are pages of a file that holds the monitor, too
	rounds     = 1500
	warmup     = 100
	oneShots   = 10
	enabledBy  = "BENCH" // make bench sets it; the numbers of a busy machine say nothing
	skipReason = "measures time: run make bench"
)

// timesOf runs each of fs in turn, again and again, and returns the median time
// of each. In turn, because what else the machine does then hits them alike.
func timesOf(t *testing.T, fs []func() error) []time.Duration {
	t.Helper()
	all := make([][]float64, len(fs))
	for round := range rounds {
		for i, f := range fs {
			start := time.Now()
			if err := f(); err != nil {
				t.Fatal(err)
			}
			if round >= warmup {
				all[i] = append(all[i], float64(time.Since(start)))
			}
		}
	}
	times := make([]time.Duration, len(fs))
	for i, d := range all {
		times[i] = time.Duration(median(d))
	}
	return times
}

// bytesOf returns what f allocates, in bytes.
func bytesOf(t *testing.T, f func() error) float64 {
	t.Helper()
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// TestRatios compares the check with the floor and with the SDK.
func TestRatios(t *testing.T) {
	if os.Getenv(enabledBy) == "" {
		t.Skip(skipReason)
	}
	urls := servers(t)
	fmt.Printf("%-8s %-8s %12s %12s\n", "server", "client", "time", "allocated")
	for _, era := range []string{"modern", "legacy"} {
		names := []string{"check", "floor", "sdk"}
		runs := []func() error{check(t, urls[era]), floor(t, urls[era]), sdk(t, urls[era])}
		// The SDK by itself: what it leaves behind would slow down its successor.
		times := append(timesOf(t, runs[:2]), timesOf(t, runs[2:])...)
		var bytes []float64
		for i, f := range runs {
			bytes = append(bytes, bytesOf(t, f))
			fmt.Printf("%-8s %-8s %9.0f µs %9.1f kB\n", era, names[i], float64(times[i])/1e3, bytes[i]/1e3)
		}
		verdict(t, era+": time of the check, times the floor's", float64(times[0])/float64(times[1]), maxTime, "%.2f")
		verdict(t, era+": bytes allocated, times the SDK's", bytes[0]/bytes[2], maxAlloc, "%.2f")
	}
}

// TestOneShot measures the built command.
func TestOneShot(t *testing.T) {
	if os.Getenv(enabledBy) == "" {
		t.Skip(skipReason)
	}
	command := filepath.Join(t.TempDir(), "mcpvigil")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", command, "../../cmd/mcpvigil")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	for era, url := range servers(t) {
		// The launcher stands between, because Linux counts the memory of the
		// process that starts a program to that of the program.
		out, err := helper(t, "launcher", command, "check", url).Output()
		var spent []usage
		if err == nil {
			err = json.Unmarshal(out, &spent)
		}
		if err != nil {
			t.Fatalf("run the command: %v\n%s", err, out)
		}
		var cpu, rss []float64
		for _, u := range spent {
			cpu, rss = append(cpu, float64(u.CPU)/1e6), append(rss, float64(u.RSS)/(1<<20))
		}
		verdict(t, era+": CPU of the command, ms", median(cpu), float64(maxCPU.Milliseconds()), "%.1f")
		verdict(t, era+": peak memory of the command, MiB", median(rss), maxRSS>>20, "%.1f")
	}
}

// usage is what one process used.
type usage struct {
	CPU time.Duration // user and system
	RSS int64         // at most, in bytes
}

// launch runs a command several times and prints what it used.
func launch(argv []string) {
	var all []usage
	for range oneShots + 1 {
		cmd := exec.Command(argv[0], argv[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n%s", strings.Join(argv, " "), err, out)
			os.Exit(1)
		}
		s := cmd.ProcessState
		rss := s.SysUsage().(*syscall.Rusage).Maxrss
		if runtime.GOOS == "linux" {
			rss <<= 10 // it is in KiB there
		}
		all = append(all, usage{s.UserTime() + s.SystemTime(), rss})
	}
	json.NewEncoder(os.Stdout).Encode(all[1:]) // the first one warms the caches up
}

func verdict(t *testing.T, what string, got, limit float64, format string) {
	t.Helper()
	word := "ok"
	if got > limit {
		word = "MISSED"
		t.Errorf("%s: "+format+", at most "+format, what, got, limit)
	}
	fmt.Printf("  %-6s %-48s "+format+" (at most "+format+")\n", word, what, got, limit)
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
