package baseline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

const (
	// maxColumn is where block style ends: deeper values are written in one line,
	// so that a hostile depth cannot multiply the size of the file.
	maxColumn = 40
	// maxInline is the longest list that is written in one line by choice.
	maxInline = 60
	// maxImplicitKey bounds a key in front of ":" (YAML 1.2.2, 7.4.2: 1024).
	maxImplicitKey = 1000
)

// emitter writes YAML 1.2 in one fixed style. A lockfile has to be the same bytes
// for the same content in every release, which no library promises.
//
// Strings are plain where every reader of YAML takes them for the same string,
// literal blocks where they have several lines, and double-quoted otherwise; one
// that holds anything invisible is double-quoted with escapes, a line to a line.
type emitter struct{ out []byte }

func (e *emitter) write(parts ...string) {
	for _, p := range parts {
		e.out = append(e.out, p...)
	}
}

func (e *emitter) pad(col int) {
	for range col {
		e.out = append(e.out, ' ')
	}
}

// child writes v behind "key:" or "-", both at column col.
func (e *emitter) child(v rawjson.Value, col int, dash bool) {
	block := v.Len() > 0 && col <= maxColumn && !inline(v)
	switch {
	case block && dash:
		e.write(" ")
		e.block(v, col+2, true)
	case block && v.Kind() == rawjson.Object:
		e.write("\n")
		e.block(v, col+2, false)
	case block:
		e.write("\n")
		e.block(v, col, false)
	case v.Kind() == rawjson.String:
		s, _ := v.Text()
		e.write(" ")
		e.text(s, col)
	default:
		e.write(" ")
		e.flow(v)
		e.write("\n")
	}
}

// block writes the members or elements of v, each in lines of its own from column
// col; started says that the first line is there and indented already.
func (e *emitter) block(v rawjson.Value, col int, started bool) {
	next := func() {
		if !started {
			e.pad(col)
		}
		started = false
	}
	for _, elem := range v.Elems() {
		next()
		e.write("-")
		e.child(elem, col, true)
	}
	for _, m := range members(v) {
		next()
		e.key(m.name, col)
		e.child(m.value, col, false)
	}
}

func (e *emitter) key(name string, col int) {
	key := scalar(name, false)
	if len(key) <= maxImplicitKey {
		e.write(key, ":")
		return
	}
	e.write("? ", key, "\n")
	e.pad(col)
	e.write(":")
}

// field writes a member of the lockfile itself at column col.
func (e *emitter) field(col int, key, value string) {
	e.pad(col)
	e.started(col, key, value)
}

// started is field in a line that reaches to column col already.
func (e *emitter) started(col int, key, value string) {
	e.write(key, ": ")
	e.text(value, col)
}

// optional is field for a value that may be absent.
func (e *emitter) optional(col int, key, value string) {
	if value != "" {
		e.field(col, key, value)
	}
}

// text writes a string whose key or dash is at column col, and the line's end. What
// is no character is U+FFFD.
func (e *emitter) text(s string, col int) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	switch {
	case !strings.Contains(s, "\n"):
		e.write(scalar(s, false), "\n")
	case literal(s):
		e.literal(s, col+2)
	default:
		e.folded(s, col+2)
	}
}

// literal reports whether s can stand in a literal block without anything in it
// that a reader, or an editor that trims lines, would miss.
func literal(s string) bool {
	if strings.Trim(s, "\n") == "" {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasSuffix(line, " ") || !shown(line) {
			return false
		}
	}
	return true
}

func (e *emitter) literal(s string, col int) {
	e.write("|")
	if strings.HasPrefix(strings.TrimLeft(s, "\n"), " ") {
		e.write("2") // the indentation, which the first line would hide
	}
	body := strings.TrimSuffix(s, "\n")
	switch {
	case body == s:
		e.write("-")
	case strings.HasSuffix(body, "\n"):
		e.write("+")
	}
	e.write("\n")
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			e.pad(col)
		}
		e.write(line, "\n")
	}
}

// folded writes a double-quoted string, each of its lines on a line of the file.
func (e *emitter) folded(s string, col int) {
	e.write(`"`)
	started := false
	for line := range strings.SplitAfterSeq(s, "\n") {
		if line == "" {
			break // behind the last line end
		}
		escaped := escape(line)
		if started {
			e.write("\\\n")
			e.pad(col)
			if escaped[0] == ' ' {
				e.write(`\`) // or it would count as indentation
			}
		}
		e.write(escaped)
		started = true
	}
	e.write("\"\n")
}

// flow writes v in one line.
func (e *emitter) flow(v rawjson.Value) {
	switch v.Kind() {
	case rawjson.Object:
		e.write("{")
		for i, m := range members(v) {
			if i > 0 {
				e.write(", ")
			}
			key := scalar(m.name, true)
			if len(key) > maxImplicitKey {
				e.write("? ")
			}
			e.write(key, ": ")
			e.flow(m.value)
		}
		e.write("}")
	case rawjson.Array:
		e.write("[")
		for i, elem := range v.Elems() {
			if i > 0 {
				e.write(", ")
			}
			e.flow(elem)
		}
		e.write("]")
	case rawjson.String:
		s, _ := v.Text()
		e.write(scalar(s, true))
	default:
		e.out = append(e.out, v.Raw()...)
	}
}

// inline reports whether v is a list that reads best in one line.
func inline(v rawjson.Value) bool {
	if v.Kind() != rawjson.Array || len(v.Raw()) > maxInline {
		return false
	}
	return !slices.ContainsFunc(v.Elems(), func(elem rawjson.Value) bool { return elem.Len() > 0 })
}

type member struct {
	name  string
	value rawjson.Value
}

// members returns the members of an object, what a person reads first in front.
func members(v rawjson.Value) []member {
	if v.Kind() != rawjson.Object {
		return nil
	}
	out := make([]member, 0, v.Len())
	for name, value := range v.Members() {
		out = append(out, member{name, value})
	}
	rank := func(m member) int {
		switch m.name {
		case "name":
			return 0
		case "title":
			return 1
		case "description":
			return 2
		}
		return 3
	}
	slices.SortStableFunc(out, func(a, b member) int { return rank(a) - rank(b) })
	return out
}

// scalar writes a string in one line, in flow style when flow is set.
func scalar(s string, flow bool) string {
	if bare(s, flow) {
		return s
	}
	return `"` + escape(s) + `"`
}

// bare reports whether s may stand without quotes, for readers of YAML 1.1 as of
// 1.2: it begins like a word, looks like no other type, and holds no indicator.
func bare(s string, flow bool) bool {
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case !unicode.IsLetter(first) && first != '/' && first != '_',
		!shown(s),
		strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":"),
		strings.Contains(s, ": ") || strings.Contains(s, " #"),
		flow && strings.ContainsAny(s, ",:[]{}?#"):
		return false
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}

// shown reports whether everything in s can be seen as it is.
func shown(s string) bool { return plain.Line(s, len(s)) == s }

// escape writes what stands between double quotes: everything that cannot be seen
// by itself as an escape.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		default:
			switch one := string(r); {
			case ' ' <= r && r <= '~' || r >= utf8.RuneSelf && shown(one):
				b.WriteString(one)
			case r > 0xFFFF:
				fmt.Fprintf(&b, `\U%08X`, r)
			default:
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		}
	}
	return b.String()
}
