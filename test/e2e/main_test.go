// Package e2e_test uses the web interface as people do: a real browser, the real program,
// and scripted MCP servers that it watches.
package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// chrome is the one browser of all tests; each page has a profile of its own in it.
var chrome context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := findBrowser()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("lang", "en-US"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	quiet := func(string, ...any) {} // what a newer browser says beyond the protocol of the library
	var end context.CancelFunc
	chrome, end = chromedp.NewContext(allocator, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	defer end()
	if err := chromedp.Do(chrome); err != nil {
		fmt.Fprintf(os.Stderr, "start the browser %s: %v\n", path, err)
		return 1
	}
	defer func() {
		if path, err := binary(); err == nil && os.Getenv("E2E_BINARY") == "" {
			os.RemoveAll(filepath.Dir(path))
		}
	}()
	return m.Run()
}

// findBrowser is the Chromium of this machine. Without one no test runs, and that fails.
func findBrowser() (string, error) {
	if path := os.Getenv("CHROME"); path != "" {
		return path, nil
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium or Chrome was found: install chromium, or name one with CHROME=/path/to/chrome")
}

// binary is the program, built once for the test binary.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("E2E_BINARY"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "mcpvigil-e2e-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "mcpvigil")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./cmd/mcpvigil")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build mcpvigil: %w\n%s", err, out)
	}
	return path, nil
})

// patience is how long a step may take. What is waited for is there much earlier, except
// on a machine that is busy with something else.
var patience = func() time.Duration {
	d := 20 * time.Second
	if s, err := strconv.Atoi(os.Getenv("E2E_PATIENCE")); err == nil && s > 0 {
		d = time.Duration(s) * time.Second
	}
	return d
}()

// artifacts is the folder of what tests leave to be looked at.
func artifacts(t testing.TB, parts ...string) string {
	t.Helper()
	dir := os.Getenv("E2E_ARTIFACTS")
	if dir == "" {
		dir = "artifacts"
	}
	path := filepath.Join(append([]string{dir}, parts...)...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
