// Package conformance_test runs the official conformance suite against the
// check, by way of the program in client.
package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	// The program under test is built here, which the cache of go test results
	// does not see; this import makes its changes known.
	_ "github.com/mcpvigil/mcpvigil/probe"
)

const (
	node   = "../../.tools/bin/node22"
	client = "../../.tools/conformance-client"
	suite2 = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	suite1 = "v0.1/node_modules/@modelcontextprotocol/conformance/dist/index.js"
)

// timed are scenarios that measure time to the tenth of a second. A failure
// beside thirty other scenarios says nothing, and is tried again alone.
var timed = []string{"sse-retry"}

func TestConformance(t *testing.T) {
	for _, path := range []string{node, suite1, suite2} {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s is missing: run make test-deps", path)
		}
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", client, "./client").CombinedOutput(); err != nil {
		t.Fatalf("build the client: %v\n%s", err, out)
	}
	cases := []struct {
		name string
		run  suite
		// pass and fail are how many scenarios there are of each kind. Those
		// that fail, and at which checks, are in expected-failures/NAME.yml.
		pass, fail int
	}{
		{"2026-07-28", suite{suite2, []string{"--requirements", "2026-07-28"}}, 28, 11},
		{"2025-11-25", suite{suite2, []string{"--requirements", "2025-11-25"}}, 15, 10},
		{"0.1.16", suite{suite1, []string{"--suite", "all"}}, 17, 9},
		// Of 2025-03-26 there is no set of its own.
		{"2025-03-26", suite{suite2, []string{"--scenario", "auth/2025-03-26-oauth-metadata-backcompat"}}, 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			excused := expectedFailures(t, filepath.Join("expected-failures", c.name+".yml"))
			results := c.run.results(t)
			var passing []string
			var failed int
			for name, r := range results {
				checks, excuse := excused[name]
				switch err := r.failed(checks); {
				case excuse && err == nil:
					failed++
				case excuse:
					t.Errorf("expected-failures/%s.yml is wrong about %s: %v\n%s", c.name, name, err, r.report)
				case err == nil:
					passing = append(passing, name)
				default:
					t.Errorf("%s failed: %v\n%s", name, err, r.report)
				}
			}
			for name := range excused {
				if _, ran := results[name]; !ran {
					t.Errorf("expected-failures/%s.yml lists %s, which the suite does not have", c.name, name)
				}
			}
			slices.Sort(passing)
			t.Logf("%d scenarios: %d passed, %d failed as expected\npassed: %s", len(results), len(passing), failed, strings.Join(passing, ", "))
			if len(passing) != c.pass || failed != c.fail {
				t.Errorf("%d passed and %d failed as expected, want %d and %d", len(passing), failed, c.pass, c.fail)
			}
		})
	}
}

// suite is one run of one release of the suite.
type suite struct {
	script string
	args   []string
}

// result is what the suite found out about one scenario.
type result struct {
	// bad are the checks with a failure or a warning, which counts as one, and
	// what the suite says about each.
	bad map[string]string
	// good counts the checks that succeeded.
	good int
	// healthy: the check that was made came out so.
	healthy bool
	// report is what the client printed.
	report []byte
	shut   bool
}

// shut are scenarios in which a client must not get in.
var shut = []string{
	"auth/resource-mismatch", "auth/metadata-issuer-mismatch", "auth/scope-retry-limit",
	"auth/authorization-server-migration", "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized",
}

// failed says what the scenario failed at, apart from the checks that are
// expected to fail, or nil. It is an error as well when one of these passes.
// "*" stands for whatever fails, and that something does.
func (r *result) failed(expected []string) error {
	if slices.Contains(expected, "*") {
		if r.good > 0 && len(r.bad) == 0 {
			return errors.New("it passes")
		}
		return nil
	}
	var wrong []string
	for id, text := range r.bad {
		if !slices.Contains(expected, id) {
			wrong = append(wrong, text)
		}
	}
	for _, id := range expected {
		if r.bad[id] == "" {
			wrong = append(wrong, "the check "+id+" does not fail")
		}
	}
	slices.Sort(wrong)
	switch {
	case len(wrong) > 0:
		return errors.New(strings.Join(wrong, "; "))
	case r.good == 0:
		return errors.New("the suite checked nothing")
	case r.healthy == r.shut:
		return fmt.Errorf("the checks of the suite are as expected, and the report being healthy is %t", r.healthy)
	}
	return nil
}

// results runs the suite and returns its scenarios.
func (s suite) results(t *testing.T) map[string]*result {
	t.Helper()
	results := s.run(t, s.args...)
	for _, name := range timed {
		if r := results[name]; r != nil && r.failed(nil) != nil {
			t.Logf("%s failed beside the others, and is tried alone: %v", name, r.failed(nil))
			results[name] = s.run(t, "--scenario", name)[name]
			if results[name] == nil {
				t.Fatalf("%s left no results", name)
			}
		}
	}
	return results
}

func (s suite) run(t *testing.T, args ...string) map[string]*result {
	t.Helper()
	abs, err := filepath.Abs(client)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args = append([]string{s.script, "client", "--command", abs, "-o", dir}, args...)
	cmd := exec.CommandContext(ctx, node, args...)
	// The suite's exit status says no more than its results, and it has none
	// for a scenario that was tried again.
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("run the suite: %v\n%s", err, out)
	}
	results := map[string]*result{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "checks.json" {
			rel, _ := filepath.Rel(dir, filepath.Dir(path))
			name := stamp.ReplaceAllString(filepath.ToSlash(rel), "")
			results[name] = readResult(t, name, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(results) == 0 {
		t.Fatalf("the suite left no results: %v\n%s", err, out)
	}
	return results
}

// stamp is the time that the suite adds to the name of a scenario.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readResult(t *testing.T, name, dir string) *result {
	t.Helper()
	var checks []struct{ ID, Description, Status, ErrorMessage string }
	data, err := os.ReadFile(filepath.Join(dir, "checks.json"))
	if err == nil {
		err = json.Unmarshal(data, &checks)
	}
	if err != nil {
		t.Fatalf("results of %s: %v", name, err)
	}
	r := &result{shut: slices.Contains(shut, name), bad: map[string]string{}}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			r.good++
		case "FAILURE", "WARNING":
			r.bad[c.ID] += c.ID + ": " + c.Description + ": " + c.ErrorMessage
		}
	}
	r.report, _ = os.ReadFile(filepath.Join(dir, "stdout.txt"))
	var report struct{ Status string }
	r.healthy = json.NewDecoder(bytes.NewReader(r.report)).Decode(&report) == nil && report.Status == "healthy"
	return r
}

var entry = regexp.MustCompile(`^  - ([^\s:]+)(?::(\S+))? # never: .+$`)

// expectedFailures reads a file of the suite's own format, in which each entry
// is a scenario or, better, SCENARIO:CHECK, and must have its reason beside it.
// It returns the checks of each scenario that fail, "*" for all of them.
func expectedFailures(t *testing.T, path string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	lines = slices.DeleteFunc(lines, func(s string) bool { return strings.HasPrefix(s, "#") || s == "client:" })
	out := map[string][]string{}
	for _, line := range lines {
		m := entry.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("%s: %q is not of the form \"  - SCENARIO[:CHECK] # never: REASON\"", path, line)
		}
		id := m[2]
		if id == "" {
			id = "*"
		}
		if slices.Contains(out[m[1]], id) {
			t.Fatalf("%s: %s is listed twice", path, m[1])
		}
		out[m[1]] = append(out[m[1]], id)
	}
	return out
}
