// Package diff says how two texts of a server, and two schemas, differ, for a person who
// decides. It knows no page and no markup, and what it takes is bounded whatever is in
// the texts.
package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Op says what became of a part of a text.
type Op uint8

// What becomes of a part.
const (
	Same Op = iota
	Deleted
	Inserted
)

// Edit is a part of a text that stayed, went or came.
type Edit struct {
	Op   Op
	Text string
}

const (
	// maxTokens are how many tokens of both texts are compared one by one, and maxEdits
	// how many of them may differ: both bound time and memory.
	maxTokens = 20_000
	maxEdits  = 500
)

// Words compares two texts by words, blanks, marks and hidden characters, each of which
// is a part of its own. Texts that are long or very different are compared by lines, or
// one takes the place of the other. Without what was inserted the edits are before, and
// without what was deleted after, byte for byte. What was deleted stands before what was
// inserted in its place.
func Words(before, after string) []Edit {
	return between(before, after, words, func(a, b string) []Edit {
		return between(a, b, lines, replaced)
	})
}

// between compares what split makes of both texts, and leaves to coarser what would take
// too long.
func between(before, after string, split func(string, int) []string, coarser func(a, b string) []Edit) []Edit {
	head, tail := common(before, after)
	a, b := before[len(head):len(before)-len(tail)], after[len(head):len(after)-len(tail)]
	var middle []Edit
	x, y := split(a, maxTokens+1), split(b, maxTokens+1)
	if len(x)+len(y) <= maxTokens {
		middle = script(x, y)
	}
	if middle == nil {
		middle = coarser(a, b)
	}
	var out []Edit
	out = add(out, Same, head)
	for _, e := range middle {
		out = add(out, e.Op, e.Text)
	}
	return tidy(add(out, Same, tail))
}

func replaced(before, after string) []Edit {
	return add(add([]Edit{}, Deleted, before), Inserted, after)
}

// common are the equal beginning and end of both texts, without half a word.
func common(a, b string) (head, tail string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (inside(a, n) || inside(b, n)) {
		n--
	}
	head, a, b = a[:n], a[n:], b[n:]
	n = 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && (inside(a, len(a)-n) || inside(b, len(b)-n)) {
		n--
	}
	return head, a[len(a)-n:]
}

// inside tells whether a word or a character goes on at i.
func inside(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if !utf8.RuneStart(s[i]) {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(s[:i])
	next, _ := utf8.DecodeRuneInString(s[i:])
	kind := kindOf(last)
	return kind == kindOf(next) && (kind == word || kind == blank)
}

type kind uint8

const (
	single kind = iota // stands alone: a mark, a line break, a hidden character
	word
	blank
)

func kindOf(r rune) kind {
	switch {
	case r == ' ' || r == '\t':
		return blank
	case r < utf8.RuneSelf:
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return word
		}
		return single
	case r == utf8.RuneError || !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)):
		return single
	case Hidden(r):
		return single
	default:
		return word
	}
}

// Hidden tells whether a character is one that a reader does not see by itself.
func Hidden(r rune) bool {
	if r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f {
		return false
	}
	return plain.Line(string(r), 1) != string(r)
}

// words splits a text, into limit parts at most, the last of which is the rest.
func words(s string, limit int) []string {
	var out []string
	for start := 0; start < len(s); {
		if len(out) == limit-1 {
			return append(out, s[start:])
		}
		r, size := utf8.DecodeRuneInString(s[start:])
		end, of := start+size, kindOf(r)
		for of != single && end < len(s) {
			next, n := utf8.DecodeRuneInString(s[end:])
			if kindOf(next) != of {
				break
			}
			end += n
		}
		out = append(out, s[start:end])
		start = end
	}
	return out
}

func lines(s string, limit int) []string {
	out := strings.SplitAfterN(s, "\n", limit)
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// script is a shortest one that makes b of a, by the algorithm of Myers, or nil when it
// has more than maxEdits edits.
func script(a, b []string) []Edit {
	x, y := numbered(a, b)
	reach := []int32{0, 0} // by diagonal k, from -d to d, at k+d+1 of its own row
	var rows [][]int32
	for d := 0; d <= min(len(x)+len(y), maxEdits); d++ {
		row := make([]int32, 2*d+3)
		for k := -d; k <= d; k += 2 {
			row[k+d+1] = farthest(x, y, reach, d, k)
			if at := int(row[k+d+1]); at >= len(x) && at-k >= len(y) {
				return back(a, b, append(rows, row), d)
			}
		}
		rows = append(rows, row)
		reach = row
	}
	return nil
}

// step is where diagonal k begins after d edits, and whether that is by an insertion.
func step(reach []int32, d, k int) (from int32, inserted bool) {
	if d == 0 {
		return 0, false
	}
	at := func(k int) int32 { return reach[k+d] } // the row before has d-1
	if k == -d || k != d && at(k-1) < at(k+1) {
		return at(k + 1), true
	}
	return at(k-1) + 1, false
}

func farthest(x, y, reach []int32, d, k int) int32 {
	i, _ := step(reach, d, k)
	j := int(i) - k
	for int(i) < len(x) && j < len(y) && x[i] == y[j] {
		i, j = i+1, j+1
	}
	return i
}

// back reads the edits from the end.
func back(a, b []string, rows [][]int32, d int) []Edit {
	var out []Edit
	i, j := len(a), len(b)
	for ; d >= 0; d-- {
		k := i - j
		var reach []int32
		if d > 0 {
			reach = rows[d-1]
		}
		from, inserted := step(reach, d, k)
		for i > int(from) {
			i, j = i-1, j-1
			out = append(out, Edit{Same, a[i]})
		}
		switch {
		case d == 0:
		case inserted:
			j--
			out = append(out, Edit{Inserted, b[j]})
		default:
			i--
			out = append(out, Edit{Deleted, a[i]})
		}
	}
	edits := make([]Edit, 0, len(out))
	for n := len(out) - 1; n >= 0; n-- {
		edits = append(edits, out[n])
	}
	return edits
}

// numbered are the parts as numbers, equal ones for equal parts.
func numbered(a, b []string) (x, y []int32) {
	known := map[string]int32{}
	of := func(parts []string) []int32 {
		out := make([]int32, 0, len(parts))
		for _, p := range parts {
			n, ok := known[p]
			if !ok {
				n = int32(len(known)) //nolint:gosec // at most maxTokens
				known[p] = n
			}
			out = append(out, n)
		}
		return out
	}
	return of(a), of(b)
}

func add(edits []Edit, op Op, s string) []Edit {
	if s == "" {
		return edits
	}
	if n := len(edits); n > 0 && edits[n-1].Op == op {
		edits[n-1].Text += s
		return edits
	}
	return append(edits, Edit{op, s})
}

// tidy puts what changed next to each other together: blanks alone do not part changes,
// and of each change what was deleted comes first.
func tidy(edits []Edit) []Edit {
	var out []Edit
	var gone, came strings.Builder
	flush := func() {
		out = add(out, Deleted, gone.String())
		out = add(out, Inserted, came.String())
		gone.Reset()
		came.Reset()
	}
	for i, e := range edits {
		switch {
		case e.Op == Deleted:
			gone.WriteString(e.Text)
		case e.Op == Inserted:
			came.WriteString(e.Text)
		case gone.Len() > 0 && came.Len() > 0 && i+1 < len(edits) && strings.Trim(e.Text, " \t") == "":
			gone.WriteString(e.Text)
			came.WriteString(e.Text)
		default:
			flush()
			out = add(out, Same, e.Text)
		}
	}
	flush()
	return out
}
