package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/target"
)

// Warning is what a file is not refused for, and a person may want to change.
// The target can be checked, although the check may well fail for it.
type Warning struct {
	// Target is whom it concerns; nil: the file as a whole.
	Target *target.Target
	// Where says what it is, and prints as one line that starts with the place.
	Where Error
	// refuses: with it, the file cannot be served.
	refuses bool
}

func (w Warning) String() string { return w.Where.Error() }

// warn records a warning. Like mistakes, they are not kept without bounds.
func (b *builder) warn(t *target.Target, e Error) {
	if len(b.result.Warnings) < keptErrors {
		e.File = b.decoder.file
		b.result.Warnings = append(b.result.Warnings, Warning{Target: t, Where: e})
	}
}

// refuse records a warning that is a mistake when the file is served.
func (b *builder) refuse(t *target.Target, e Error) {
	if len(b.result.Warnings) < keptErrors {
		e.File = b.decoder.file
		b.result.Warnings = append(b.result.Warnings, Warning{Target: t, Where: e, refuses: true})
	}
}

// named warns of a second top-level target of the same name. It is no mistake,
// since agenthealth allows it, but for a monitor it is.
func (b *builder) named(c *targetConfig, t *target.Target, path string, first map[string]int) {
	at := c.where("name")
	if line, again := first[c.Name]; again {
		b.refuse(t, Error{
			Line: at.Line, Column: at.Column, Path: path + ".name", Text: fmt.Sprintf("name %s is used twice, first on line %d", quoteKey(c.Name), line),
			Hint: "give each target a name of its own: reports and metrics tell targets apart by it",
		})
		return
	}
	first[c.Name] = at.Line
}

// fault is a reason why a program will not start on this machine.
type fault struct{ key, text, hint string } // key is command or directory

// faults looks for the program of c and its directory, without starting it.
func faults(c *target.Command) []fault {
	var out []fault
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil {
			out = append(out, fault{"directory", "directory " + shownPath(c.Dir) + " " + whyNot(err), "create it, or change the path"})
		} else if !info.IsDir() {
			out = append(out, fault{"directory", "directory " + shownPath(c.Dir) + " is a file", "give the directory that holds it"})
		}
	}
	path := c.Path
	named := !strings.ContainsAny(path, `/\`) // a name is looked up on PATH
	if !named && !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
		if !filepath.IsAbs(path) {
			path = "." + string(filepath.Separator) + path
		}
	}
	if strings.TrimSpace(path) == "" || len(out) > 0 && path != c.Path {
		return out
	}
	_, err := exec.LookPath(path)
	ownPath := named && slices.ContainsFunc(c.Env, func(v target.EnvVar) bool { return v.Name == "PATH" })
	if err == nil || ownPath {
		return out
	}
	shown := shownPath(c.Path)
	switch {
	case strings.ContainsAny(strings.TrimSpace(c.Path), " \t"):
		out = append(out, fault{"command", "command " + shown + " is not found; it has spaces in it, and no shell splits it", "write the program alone, and what follows it into args"})
	case named:
		out = append(out, fault{"command", "command " + shown + " is not on PATH", "install it, or give its path"})
	default:
		out = append(out, fault{"command", "command " + shown + " " + whyNot(err), "install it, or change the path"})
	}
	return out
}

func whyNot(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "may not be run by this user"
	}
	return "cannot be used"
}

// shownPath quotes a path or a command, with what looks like a secret masked.
func shownPath(path string) string {
	return strconv.QuoteToASCII(plain.Line(strings.Join(ShowArgs(strings.Split(path, " ")), " "), 200))
}
