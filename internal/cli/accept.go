package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/lint"
)

// What a person is asked before something is approved.

// noReason is recorded where a person gave none.
const noReason = "accepted with --yes, no reason given"

// decide asks, where there is somebody, and returns what is accepted of the open
// findings. Nothing is approved unless each block finding is accepted.
func (a *app) decide(c *candidate, open []lint.Finding, o *lockOptions) (accepted []baseline.Acceptance, ok bool, err error) {
	chosen, left := open, []string(nil)
	if len(o.accept) > 0 {
		chosen = nil
		for _, f := range open {
			if slices.Contains(o.accept, f.ID) {
				chosen = append(chosen, f)
			} else {
				left = append(left, f.Rule+" "+f.ID)
			}
		}
	}
	name := plain.Line(c.target.Label(), maxShown)
	if len(left) > 0 {
		a.fail(hinted(fmt.Errorf("%s is not approved: %s that nobody has accepted", name, counted(len(left), "block finding")),
			"left are: %s", shown(left)))
		return nil, false, nil
	}
	reason := o.reason
	switch {
	case o.yes && reason == "":
		reason = noReason
	case o.yes:
	case a.interactive() && !o.dryRun:
		a.list(chosen, o)
		if reason, ok, err = a.confirm(name, chosen, reason); err != nil || !ok {
			return nil, false, err
		}
	case len(open) > 0 && len(o.accept) == 0:
		a.fail(hinted(fmt.Errorf("%s is not approved: %s that nobody has accepted", name, counted(len(open), "block finding")),
			"read each; only if all are harmless: %s", c.line.lock(c.target, "--yes", "--reason", "TEXT")))
		return nil, false, nil
	}
	return baseline.Accept(chosen, reason), true, nil
}

// list shows each finding that is about to be accepted in a line, where a person has
// not seen all of them: the page of changes folds what does not fit.
func (a *app) list(chosen []lint.Finding, o *lockOptions) {
	if len(chosen) == 0 || o.verbose && !o.quiet || len(chosen) == 1 && chosen[0].Severity == lint.Block && !o.quiet {
		return
	}
	fmt.Fprintln(a.stderr, "To be accepted:")
	for _, f := range chosen {
		at := plain.Line(place(string(f.Kind), f.Item, f.Pointer), maxShown)
		fmt.Fprintf(a.stderr, "  %s at %s (%s): %s\n", f.Rule, at, f.ID[:min(len(f.ID), listedDigits)], plain.Line(f.Excerpt, maxListed))
	}
}

const (
	listedDigits = 12 // of an id
	maxListed    = 80 // bytes of an excerpt
)

// confirm asks whether what was shown is approved, and why the findings are
// harmless.
func (a *app) confirm(name string, chosen []lint.Finding, given string) (reason string, ok bool, err error) {
	question := "Approve this of " + name
	if len(chosen) > 0 {
		question += ", and accept " + counted(len(chosen), "finding")
	}
	if answer, err := a.ask(question + "? [y/N] "); err != nil || !isYes(answer) {
		return "", false, err
	}
	for asked := 0; len(chosen) > 0 && given == ""; asked++ {
		if asked == 2 {
			a.fail(hinted(fmt.Errorf("%s is not approved: no reason was given", name), "the reason is for those who review the lockfile"))
			return "", false, nil
		}
		if given, err = a.ask("Why is that harmless? "); err != nil {
			return "", false, err
		}
	}
	return given, true, nil
}

// interactive reports whether a person can be asked.
func (a *app) interactive() bool {
	f, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && terminal(a.stderr)
}

// ask puts a question and returns the line that is typed.
func (a *app) ask(question string) (string, error) {
	fmt.Fprint(a.stderr, question)
	if a.answers == nil {
		a.answers = bufio.NewReader(a.stdin)
	}
	line, err := a.answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

func isYes(answer string) bool {
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true
	}
	return false
}

// tellAccepted repeats what was accepted, and why.
func (a *app) tellAccepted(accepted []baseline.Acceptance) {
	for i, f := range accepted {
		if i == maxRemarks {
			fmt.Fprintf(a.stdout, "  accepted, too: %s\n", counted(len(accepted)-i, "finding"))
			break
		}
		at := place(string(f.Kind), f.Item, f.Pointer)
		fmt.Fprintf(a.stdout, "  accepted: %s at %s, because: %s\n", f.Rule, plain.Line(at, maxShown), plain.Line(f.Reason, maxShown))
	}
}
