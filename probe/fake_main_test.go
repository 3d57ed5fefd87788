package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestMain(m *testing.M) {
	fakemcp.Main()
	undo, err := fakemcp.Trust()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer undo()
	m.Run()
}

// patience is how long a check may take that has nothing to wait for. It only
// has to tell bounded from unbounded on a loaded machine.
const patience = 20 * time.Second

// check runs a check and fails when it does not come back.
func check(t *testing.T, tgt *target.Target, o probe.Options) *probe.Report {
	t.Helper()
	return checkContext(t, t.Context(), tgt, o)
}

func checkContext(t *testing.T, ctx context.Context, tgt *target.Target, o probe.Options) *probe.Report { //nolint:revive // t comes first in helpers
	t.Helper()
	done := make(chan *probe.Report, 1)
	go func() { done <- probe.Check(ctx, tgt, o) }()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		t.Fatalf("the check did not come back within %s", patience)
		return nil
	}
}

// short bounds the checks that run into a silent server.
func short() probe.Options {
	return probe.Options{CheckTimeout: 700 * time.Millisecond, Timeout: 5 * time.Second}
}

// want is what a case expects of a report. The zero value is a healthy report
// without a single note.
type want struct {
	// status is healthy when it is empty.
	status probe.Status
	// reason is that of the failed step; step names it where it matters.
	step   string
	reason probe.Reason
	// notes are the reasons of all notes of a report that passed; of a report
	// that failed they are among them. anyNotes leaves them alone.
	notes    []probe.Reason
	anyNotes bool
	// text and hint are parts of the failed step's message and hint.
	text, hint []string
	// code is the error code of mcp-healthcheck on the failed step.
	code string
}

// verify holds a report against what a case expects, and against what every
// report must be.
func verify(t *testing.T, r *probe.Report, w want) {
	t.Helper()
	if w.status == "" {
		w.status = probe.StatusHealthy
	}
	failed := t.Failed()
	if r.Status != w.status {
		t.Errorf("status is %s, want %s", r.Status, w.status)
	}
	sound(t, r)
	verifyNotes(t, r, w)
	verifyStep(t, r, w)
	if t.Failed() && !failed {
		t.Logf("the report:\n%s", describe(r))
	}
}

func verifyNotes(t *testing.T, r *probe.Report, w want) {
	t.Helper()
	have := noteReasons(r)
	for _, reason := range w.notes {
		if !slices.Contains(have, reason) {
			t.Errorf("the note %s is missing", reason)
		}
	}
	if w.anyNotes || !w.status.Passed() {
		return
	}
	for _, reason := range have {
		if !slices.Contains(w.notes, reason) {
			t.Errorf("there is a note %s that nobody asked for", reason)
		}
	}
}

func verifyStep(t *testing.T, r *probe.Report, w want) {
	t.Helper()
	if w.reason == "" {
		for _, c := range r.Checks {
			if !c.Passed && !c.Skipped {
				t.Errorf("step %s did not pass: %s (%s)", c.Name, c.Message, c.Reason)
			}
		}
		return
	}
	i := slices.IndexFunc(r.Checks, func(c probe.Result) bool {
		return c.Reason == w.reason && (w.step == "" || c.Name == w.step)
	})
	if i < 0 {
		t.Errorf("no step %s has the reason %s", w.step, w.reason)
		return
	}
	c := r.Checks[i]
	if c.Status != w.status {
		t.Errorf("step %s is %s, want %s", c.Name, c.Status, w.status)
	}
	for _, part := range w.text {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message of %s lacks %q: %s", c.Name, part, c.Message)
		}
	}
	for _, part := range w.hint {
		if !strings.Contains(c.Hint, part) {
			t.Errorf("the hint of %s lacks %q: %s", c.Name, part, c.Hint)
		}
	}
	if w.code != "" && (c.Error == nil || c.Error.Code != w.code) {
		t.Errorf("step %s has the error %v, want code %s", c.Name, c.Error, w.code)
	}
}

// sound checks what holds for every report.
func sound(t *testing.T, r *probe.Report) {
	t.Helper()
	known := map[probe.Reason]bool{}
	for _, info := range probe.Reasons() {
		known[info.Reason] = true
	}
	passed, failed, skipped := 0, 0, 0
	worst := probe.StatusHealthy
	for _, c := range r.Checks {
		switch {
		case c.Skipped:
			skipped++
		case c.Passed:
			passed++
		default:
			failed++
		}
		if !c.Skipped {
			worst = worst.Worse(c.Status)
		}
		soundStep(t, c, known)
	}
	if got := (probe.Summary{Total: passed + failed, Passed: passed, Failed: failed, Skipped: skipped}); r.Summary != got {
		t.Errorf("the summary is %+v, the steps say %+v", r.Summary, got)
	}
	if len(r.Checks) > 0 && worst.Worse(r.Status) != r.Status {
		t.Errorf("the report is %s and a step is %s", r.Status, worst)
	}
	for _, n := range r.Notes {
		if !known[n.Reason] || n.Text == "" {
			t.Errorf("the note %+v is not among probe.Reasons, or says nothing", n)
		}
	}
	if r.Timestamp.IsZero() || r.TotalMs < 0 {
		t.Errorf("timestamp %s, total %v", r.Timestamp, r.TotalMs)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("the report does not marshal: %v", err)
	}
}

func soundStep(t *testing.T, c probe.Result, known map[probe.Reason]bool) {
	t.Helper()
	if c.Message == "" {
		t.Errorf("step %s has no message", c.Name)
	}
	if c.Reason != "" && !known[c.Reason] {
		t.Errorf("the reason %s of step %s is not among probe.Reasons", c.Reason, c.Name)
	}
	if c.Skipped {
		return
	}
	if (c.Status == probe.StatusHealthy) != (c.Reason == "") {
		t.Errorf("step %s is %s with the reason %q", c.Name, c.Status, c.Reason)
	}
	if !c.Passed && (c.Error == nil || c.Error.Code == "" || c.Hint == "") {
		t.Errorf("the failed step %s lacks an error code or a hint: %+v, %q", c.Name, c.Error, c.Hint)
	}
}

func noteReasons(r *probe.Report) []probe.Reason {
	var list []probe.Reason
	for _, n := range r.Notes {
		if !slices.Contains(list, n.Reason) {
			list = append(list, n.Reason)
		}
	}
	return list
}

// note returns the first note with a reason, or fails.
func note(t *testing.T, r *probe.Report, reason probe.Reason) probe.Note {
	t.Helper()
	for _, n := range r.Notes {
		if n.Reason == reason {
			return n
		}
	}
	t.Errorf("the note %s is missing:\n%s", reason, describe(r))
	return probe.Note{}
}

// step returns a step, or fails.
func step(t *testing.T, r *probe.Report, name string) probe.Result {
	t.Helper()
	if c := r.Result(name); c != nil {
		return *c
	}
	t.Fatalf("there is no step %s:\n%s", name, describe(r))
	return probe.Result{}
}

// describe prints a report for a failing test.
func describe(r *probe.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, era %q, %.0f ms\n", r.Status, r.Era, float64(r.TotalMs))
	for _, c := range r.Checks {
		state := string(c.Status)
		if c.Skipped {
			state = "skipped"
		}
		fmt.Fprintf(&b, "  %-14s %-13s %s | %s | %s\n", c.Name, state, c.Reason, c.Message, c.Hint)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  note %s (%s, %d): %s | %s\n", n.Reason, n.Step, n.Count, n.Text, n.Hint)
	}
	return b.String()
}

// contains fails unless text has every part.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q: %s", what, p, text)
		}
	}
}

// sequence fails unless the methods are exactly these.
func sequence(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the messages were\n  %s\nwant\n  %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// toolCount fails unless the report counts n tools.
func toolCount(t *testing.T, r *probe.Report, n int) {
	t.Helper()
	if r.Surface == nil || r.Surface.Tools == nil || *r.Surface.Tools != n {
		t.Errorf("the report does not count %d tools:\n%s", n, describe(r))
	}
}
