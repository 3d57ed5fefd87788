package cli

// The rules of the terminal:
//
//   - Reports and what a command was asked for go to standard output, all else
//     (errors, hints, progress, warnings) to standard error.
//   - A message is one line: the program's name, what happened, to what; lower
//     case, no full stop. What to do about it follows on lines with "hint:".
//     A wrong flag never prints the help, a bug never a stack trace.
//   - Progress is one line that is overwritten, and only when standard error is
//     a terminal and nobody asked for quiet. It is gone before anything else is
//     printed.
//   - Colour only when standard output is a terminal, TERM is not dumb, and
//     neither NO_COLOR nor --no-color is given.
//   - Text from outside (arguments, files, servers) passes through internal/plain.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const maxShown = 300 // runes of one text from outside

// userError is an error with advice.
type userError struct {
	err   error
	hints []string
	usage bool // the command was called wrongly: point at its help
}

func (e *userError) Error() string { return e.err.Error() }
func (e *userError) Unwrap() error { return e.err }

// hinted adds advice to err.
func hinted(err error, format string, args ...any) *userError {
	return (&userError{err: err}).hint(format, args...)
}

func (e *userError) hint(format string, args ...any) *userError {
	e.hints = append(e.hints, fmt.Sprintf(format, args...))
	return e
}

// usageErrorf says what is wrong with a command line, and with which part of it.
func usageErrorf(what, part string) *userError {
	if part != "" {
		what += ": " + plain.Line(masked(part), maxShown)
	}
	return &userError{err: errors.New(what), usage: true}
}

// withCommand points a usage error at the help of the command.
func withCommand(err error, cmd *cobra.Command) error {
	var e *userError
	if errors.As(err, &e) && e.usage {
		_ = e.hint("run '%s --help' for the flags", cmd.CommandPath())
		e.usage = false
	}
	return err
}

// fail prints err with its hints.
func (a *app) fail(err error) {
	var hints []string
	if e := (*userError)(nil); errors.As(err, &e) {
		hints = e.hints
	}
	text := a.program + ": " + err.Error()
	if e := (*config.Errors)(nil); errors.As(err, &e) && len(e.Problems) > 0 {
		// Each line stands alone as file:line:column, as editors read it.
		text = fmt.Sprintf("%s: %s in %s\n%s", a.program, counted(len(e.Problems)+e.Omitted, "problem"), e.Problems[0].File, e.Detail())
	}
	fmt.Fprintln(a.stderr, plain.Text(strings.TrimRight(text, "\n"), 64<<10))
	for _, h := range hints {
		a.hint(h)
	}
}

func (a *app) hint(text string) { fmt.Fprintf(a.stderr, "hint: %s\n", plain.Line(text, 2*maxShown)) }

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// warn prints something worth knowing that stops nothing.
func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.stderr, "%s: %s\n", a.program, plain.Line(fmt.Sprintf(format, args...), 2*maxShown))
}

// flagError turns what the flag parser says into one line that helps.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var out *userError
	switch {
	case errors.As(err, &unknown):
		given := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			out = beforeCommand(cmd, usageErrorf("unknown flag", "-"+short))
			break
		}
		out = beforeCommand(cmd, usageErrorf("unknown flag", "--"+given))
		if near := nearest(given, flagNames(cmd.Flags())); near != "" {
			out = out.hint("did you mean --%s?", near)
		}
	case errors.As(err, &missing):
		out = usageErrorf("no value was given", "--"+missing.GetFlag().Name)
	case errors.As(err, &invalid):
		value := invalid.GetValue()
		if mayHoldSecret(invalid.GetFlag()) {
			value = ""
		}
		out = usageErrorf(fmt.Sprintf("--%s: %s", invalid.GetFlag().Name, flagText(invalid.GetFlag(), invalid.Unwrap())), value)
	default:
		out = usageErrorf(plain.Line(err.Error(), maxShown), "")
	}
	return withCommand(out, cmd)
}

// beforeCommand adds to the error of an unknown flag that it may be one of a server's
// command.
func beforeCommand(cmd *cobra.Command, err *userError) *userError {
	args := cmd.Flags().Args() // those before the flag
	if len(args) == 0 || strings.Contains(args[0], "://") || cmd.Flags().Lookup("stdio") == nil {
		return err
	}
	if _, stat := os.Stat(args[0]); stat == nil && !strings.ContainsAny(args[0], `/\`) {
		return err
	}
	return err.hint("to start a server, put -- before its command: %s -- %s", cmd.CommandPath(), shown(maskedArgs(args[:1])))
}

func flagNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// nearest returns the name that was probably meant, or "".
func nearest(given string, names []string) string {
	best, distance := "", 3
	for _, n := range names {
		d := edits(given, n)
		if d < distance && d*2 < len(n)+1 {
			best, distance = n, d
		} else if distance == 3 && best == "" && len(given) > 2 && strings.HasPrefix(n, given) {
			best = n
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether standard output may be coloured.
func (a *app) colour(forbidden bool) bool {
	if forbidden || !terminal(a.stdout) {
		return false
	}
	noColor, _ := a.lookup("NO_COLOR")
	kind, _ := a.lookup("TERM")
	return noColor == "" && kind != "dumb"
}

// progress is the line that shows what is going on.
type progress struct {
	mu  sync.Mutex
	w   io.Writer // nil: shows nothing
	did bool
	// columns is how wide the terminal is now.
	columns func() int
}

func (a *app) newProgress(quiet bool) *progress {
	if quiet || !terminal(a.stderr) {
		return &progress{}
	}
	return &progress{w: a.stderr, columns: func() int { return columns(a.stderr) }}
}

// columns of a terminal, or a width that any has.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 40
}

const eraseLine = "\r\x1b[K"

// show replaces the line. It keeps to one row of the terminal, since only that
// can be erased. It is safe for concurrent use.
func (p *progress) show(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		p.did = true
		fmt.Fprintf(p.w, "%s%s", eraseLine, fit(plain.Line(fmt.Sprintf(format, args...), maxShown), p.columns()-1))
	}
}

// fit cuts s to a number of columns. What is not Latin, Greek or the like may
// take two.
func fit(s string, columns int) string {
	used := 0
	for i, r := range s {
		used++
		if r >= 0x1100 {
			used++
		}
		if used > max(columns, 1) {
			return s[:i]
		}
	}
	return s
}

// done removes the line; later calls of show print nothing.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.did {
		fmt.Fprint(p.w, eraseLine)
	}
	p.w = nil
}
