package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// SafeEnv is the environment of a stdio server: of environ, only what programs
// need to run at all (the search path, the user and home directory, where
// temporary files go, and what Windows itself requires), and all of extra, whose
// values win. Both hold NAME=value entries; the order is kept.
func SafeEnv(environ, extra []string) []string {
	env := make([]string, 0, len(extra)+8)
	set := func(entry string) {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return
		}
		same := func(e string) bool { n, _, _ := strings.Cut(e, "="); return sameName(n, name) }
		if i := slices.IndexFunc(env, same); i >= 0 {
			env[i] = entry
			return
		}
		env = append(env, entry)
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.ContainsFunc(safeNames, func(safe string) bool { return sameName(safe, name) }) {
			set(entry)
		}
	}
	for _, entry := range extra {
		set(entry)
	}
	return env
}

// lookupEnv finds a variable in an environment, the last one if there are several.
func lookupEnv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if n, value, ok := strings.Cut(entry, "="); ok && sameName(n, name) {
			return value
		}
	}
	return ""
}

// workingDir returns dir as an absolute path, "" for our own.
func workingDir(dir string) (string, *Error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err == nil {
		return abs, nil
	}
	what := "cannot be used"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "does not exist"
	case errors.Is(err, syscall.ENOTDIR):
		what = "is not a directory"
	case errors.Is(err, fs.ErrPermission):
		what = "may not be entered"
	}
	return "", &Error{Reason: ReasonBadDirectory, Text: fmt.Sprintf("the working directory %s %s", shownName(dir), what), Err: err}
}

// findCommand returns the absolute path of the program to start. A name with a
// separator is relative to dir, any other is looked up in the PATH of env.
// Relative entries of PATH are ignored, as os/exec does.
func findCommand(name, dir string, env []string) (string, *Error) {
	if name == "" {
		return "", failf(ReasonCommandNotFound, "no command was given")
	}
	if filepath.IsAbs(name) || strings.ContainsFunc(name, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		path := name
		if !filepath.IsAbs(path) {
			var err error
			if path, err = filepath.Abs(filepath.Join(dir, name)); err != nil {
				return "", &Error{Reason: ReasonCommandNotFound, Text: "cannot find " + shownName(name), Err: err}
			}
		}
		found, blocked := executable(path, env)
		if found == "" {
			return "", notFound(name, blocked, fmt.Sprintf("the command %s does not exist", shownName(path)))
		}
		return found, nil
	}
	var blocked string
	for _, entry := range filepath.SplitList(lookupEnv(env, "PATH")) {
		if !filepath.IsAbs(entry) {
			continue
		}
		found, no := executable(filepath.Join(entry, name), env)
		if found != "" {
			return found, nil
		}
		if blocked == "" {
			blocked = no
		}
	}
	return "", notFound(name, blocked, fmt.Sprintf("the command %s is not on the PATH that the server gets", shownName(name)))
}

// executable returns the file that path stands for, or else the one that would
// be it if it could be executed.
func executable(path string, env []string) (found, blocked string) {
	for _, candidate := range candidates(path, env) {
		info, err := os.Stat(candidate)
		switch {
		case err != nil:
			if errors.Is(err, fs.ErrPermission) {
				blocked = candidate
			}
		case info.IsDir() || !mayExecute(info):
			blocked = candidate
		default:
			return candidate, ""
		}
	}
	return "", blocked
}

func notFound(name, blocked, text string) *Error {
	if blocked != "" {
		return &Error{
			Reason: ReasonCommandNotExecutable,
			Text:   fmt.Sprintf("%s cannot be executed: it is a directory, or permission is missing", shownName(blocked)),
			Hint:   "make the file executable, or give the interpreter as the command and the file as its first argument",
		}
	}
	e := &Error{Reason: ReasonCommandNotFound, Text: text, Hint: notFoundHint}
	if first, _, spaced := strings.Cut(name, " "); spaced {
		e.Hint = fmt.Sprintf("give the program and its arguments apart: the command %s and its arguments in a list", shownName(first))
	}
	return e
}

// startError says why the operating system did not start a program that is there.
func startError(path string, err error) *Error {
	e := &Error{Reason: ReasonSpawnFailed, Text: "cannot start " + shownName(path), Err: err}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Text += ": " + plain.Line(errno.Error(), maxQuote)
	}
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		e.Reason = ReasonProcessLimit
		e.Hint = "this is a limit of the machine that checks, not of the server: see ulimit -u and ulimit -n"
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = ReasonCommandNotExecutable
		e.Text = fmt.Sprintf("cannot start %s: the interpreter in its first line, or its loader, does not exist", shownName(path))
	case errors.Is(err, fs.ErrPermission), badFormat(err):
		e.Reason = ReasonCommandNotExecutable
	}
	return e
}

func shownName(name string) string { return `"` + plain.Line(name, maxQuote) + `"` }
