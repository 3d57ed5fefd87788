package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Error is one mistake in a configuration file.
type Error struct {
	File string
	// Line and Column count from 1, in characters. Zero: not known.
	Line, Column int
	// Path leads to the value, such as targets[2].auth.header; empty for the
	// file as a whole.
	Path string
	// Text says what is wrong and Hint what to write instead. Hint may be empty.
	Text, Hint string
}

// Error returns one line: file:line:column: what is wrong; what was meant.
func (e Error) Error() string {
	s := e.position() + ": " + e.Text
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e Error) position() string {
	if e.Line == 0 {
		return e.File
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// Errors are all mistakes of one file, in the order of the file.
type Errors struct { //nolint:errname // it is many, each of which is an Error
	Problems []Error
	// Omitted counts further mistakes that were not kept.
	Omitted int
	// line returns a line of the file, or "". It is a function so that no way
	// of printing an Errors prints the file.
	line func(n int) string
}

const (
	shownErrors = 20
	keptErrors  = 1000
)

// Error returns one line for each of the first twenty mistakes.
func (e *Errors) Error() string { return e.text(false) }

// Detail is Error with the line of the file under each mistake and a mark
// under the column. What may be a secret is not shown.
func (e *Errors) Detail() string { return e.text(true) }

// Unwrap returns every mistake as an [Error].
func (e *Errors) Unwrap() []error {
	out := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		out[i] = p
	}
	return out
}

func (e *Errors) text(excerpts bool) string {
	var b strings.Builder
	var public map[string]bool
	if excerpts {
		public = publicKeys()
	}
	for i, p := range e.Problems {
		if i == shownErrors {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Error())
		if excerpts {
			b.WriteString(e.excerpt(p, public))
		}
	}
	if more := len(e.Problems) + e.Omitted - shownErrors; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

const (
	shownLine = 120
	longLine  = 2000 // not even looked at
	notShown  = "(not shown)"
)

// excerpt returns the line of p and a caret line, each after a line end.
func (e *Errors) excerpt(p Error, public map[string]bool) string {
	if p.Line < 1 || e.line == nil {
		return ""
	}
	line := presentable(e.line(p.Line), p.Path, public)
	gutter := fmt.Sprintf("%5d | ", p.Line)
	column := max(p.Column, 1)
	if utf8.RuneCountInString(line) > shownLine {
		line = string([]rune(line)[:shownLine]) + "…"
	}
	out := "\n" + gutter + line
	if shown := strings.TrimSuffix(line, notShown); column <= utf8.RuneCountInString(shown)+1 {
		out += "\n" + strings.Repeat(" ", len(gutter)+column-1) + "^"
	}
	return out
}

var (
	keyPattern    = regexp.MustCompile(`(?:^|[\s{,\[])-?\s*["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?\s*:(?:\s|$)`)
	secretWord    = regexp.MustCompile(`(?i)auth|bearer|token|secret|passw|api.?key|credential|cookie|private`)
	commentSuffix = regexp.MustCompile(`(^|\s)#.*$`)
)

// presentable returns line fit for an excerpt: whole when every key in it is a
// known one that never holds a secret, else only up to its first key.
func presentable(line, path string, public map[string]bool) string {
	if len(line) > longLine {
		return notShown
	}
	line = strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r < 0x20 || r == 0x7f || !isPrintable(r) {
			return '?'
		}
		return r
	}, strings.TrimRight(commentSuffix.ReplaceAllString(line, ""), " \r\n"))
	keys := keyPattern.FindAllStringSubmatchIndex(line, -1)
	if len(keys) == 0 {
		if path != "" && safePath(path, public) && !LooksSecret(line) && !secretWord.MatchString(line) {
			return line
		}
		return mask(line, 0)
	}
	for _, m := range keys {
		if !public[line[m[2]:m[3]]] {
			return mask(line, keys[0][1])
		}
	}
	if !safePath(path, public) || LooksSecret(line[keys[0][1]:]) || strings.Contains(line, "://") {
		return mask(line, keys[0][1])
	}
	return line
}

// mask keeps the indentation and the first n bytes of line.
func mask(line string, n int) string {
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	n = max(n, indent)
	if n >= len(line) {
		return line
	}
	head := line[:n]
	if LooksSecret(head) {
		head = line[:indent]
	}
	return head + notShown
}

// publicKeys are the keys whose values never hold a secret. Nobody may modify
// the map.
var publicKeys = sync.OnceValue(func() map[string]bool {
	public := map[string]bool{}
	var walk func(o *objectRule)
	seen := map[*objectRule]bool{}
	walk = func(o *objectRule) {
		if seen[o] {
			return
		}
		seen[o] = true
		for _, f := range o.fields {
			if f.private {
				continue
			}
			public[f.name] = true
			for r := f.rule; r != nil; r = r.elem {
				if r.object != nil {
					walk(r.object)
				}
			}
		}
	}
	walk(fileRule())
	delete(public, "auth")
	return public
})

var pathKey = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// safePath reports whether every key on the way to a value is a public one.
func safePath(path string, public map[string]bool) bool {
	return !slices.ContainsFunc(pathKey.FindAllString(path, -1), func(key string) bool { return !public[key] })
}
