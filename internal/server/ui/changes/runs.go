package changes

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/text"
)

func number(i int) string { return strconv.Itoa(i) }

// Run is a part of a text: what became of it, and the finding that it is in.
type Run struct {
	Op   diff.Op
	Text string
	// Found are the findings that it is in, by their index among those of the item.
	Found []int
	// Folded is how many bytes that stayed are left out in its place.
	Folded int
}

// Pieces are what is shown of the run.
func (r Run) Pieces() []text.Piece {
	pieces, _ := text.Pieces(r.Text, len(r.Text))
	return pieces
}

const (
	foldOver = 600 // bytes of what stayed
	foldKeep = 200 // of them on either side
)

// runs compare the texts at a place, and mark what findings are about. cut is how many
// bytes are not shown of what came, or of what went; tooLong that they were not compared.
func (f *fields) runs(pointer, before, after string, limit int) (runs []Run, cut int, tooLong bool) {
	var edits []diff.Edit
	if *f.extent.left -= len(before) + len(after); *f.extent.left < 0 {
		tooLong = true
		edits = []diff.Edit{{Op: diff.Deleted, Text: clip(before, limit/4)}, {Op: diff.Inserted, Text: clip(after, limit/4)}}
		if before == after {
			edits = []diff.Edit{{Text: clip(after, limit/4)}}
		}
		cut = max(0, len(before)-limit/4) + max(0, len(after)-limit/4)
	} else {
		edits = diff.Words(before, after)
	}
	marks := f.marks(pointer, after)
	place, shown, pieces := 0, 0, 0
	for _, e := range edits {
		parts := []Run{{Op: e.Op, Text: e.Text}}
		if e.Op != diff.Deleted {
			parts = split(e, place, marks)
			place += len(e.Text)
		}
		for _, r := range parts {
			if r.Text == "" {
				continue
			}
			if f.extent.Fold && r.Op == diff.Same && len(r.Found) == 0 && len(r.Text) > foldOver && before != after {
				head, tail := clip(r.Text, foldKeep), clipStart(r.Text, foldKeep)
				runs = append(runs, Run{Text: head}, Run{Folded: len(r.Text) - len(head) - len(tail)}, Run{Text: tail})
				shown += len(head) + len(tail)
				continue
			}
			if left := limit - shown; len(r.Text) > left {
				kept := clip(r.Text, max(left, 0))
				cut += len(r.Text) - len(kept)
				r.Text = kept
			}
			if n := hidden(r.Text); pieces+n > maxPieces {
				kept := clip(r.Text, max(0, (maxPieces-pieces)))
				cut += len(r.Text) - len(kept)
				r.Text = kept
			}
			pieces += hidden(r.Text)
			if shown += len(r.Text); r.Text != "" {
				runs = append(runs, r)
			}
		}
	}
	return runs, cut, tooLong
}

// hidden counts the characters that each become an element of a page.
func hidden(s string) int {
	n := 0
	for _, r := range s {
		if r == utf8.RuneError || r != '\n' && r != '\t' && (r < 0x20 || r >= 0x7f && diff.Hidden(r)) {
			n++
		}
	}
	return n
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func clipStart(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// mark is where a finding is in a text.
type mark struct{ start, end, finding int }

// marks are where the findings of a place are in its text.
func (f *fields) marks(pointer, said string) []mark {
	var out []mark
	for n, x := range f.item.Findings {
		if x.Pointer != pointer || len(out) == maxMarks {
			continue
		}
		if start, end, ok := locate(said, x.Excerpt); ok {
			out = append(out, mark{start, end, n})
		}
	}
	return out
}

// bare leaves out of an excerpt what is left out of a text.
//
//nolint:gochecknoglobals // it never changes
var bare = strings.NewReplacer(" ", "", `\u{000A}`, "", `\u{0009}`, "", `\u{000D}`, "")

const (
	// maxMarks bounds the findings that are marked in one text.
	maxMarks = 50
	// maxLocated bounds the text in which a place is looked for.
	maxLocated = 1 << 20
	// aroundMatch is how much text a finding quotes on either side.
	aroundMatch = 60
)

// locate finds what a finding is about by its excerpt, which is the text with hidden
// characters spelled out, and some of what is around. What is around is not marked, as
// far as it is known.
func locate(said, excerpt string) (start, end int, ok bool) {
	lead, trail := strings.HasPrefix(excerpt, "…"), strings.HasSuffix(excerpt, "…")
	quoted := strings.TrimSuffix(strings.TrimPrefix(excerpt, "…"), "…")
	if quoted == "" || len(said) > maxLocated {
		return 0, 0, false
	}
	start = strings.Index(said, quoted)
	if end = start + len(quoted); start < 0 {
		if start, end, ok = spelled(said, quoted, false); !ok {
			if start, end, ok = spelled(said, quoted, true); !ok {
				return 0, 0, false
			}
		}
	}
	if lead && end-start > aroundMatch {
		start += aroundMatch
	}
	if trail && end-start > aroundMatch {
		end -= aroundMatch
	}
	for start > 0 && start < len(said) && !utf8.RuneStart(said[start]) {
		start--
	}
	for end < len(said) && !utf8.RuneStart(said[end]) {
		end++
	}
	return start, end, start < end
}

// spelled is locate in the text with what cannot be seen spelled out, or without it and
// without blanks, as some rules read it.
func spelled(said, quoted string, without bool) (start, end int, ok bool) {
	if without {
		if quoted = bare.Replace(quoted); len(quoted) < 8 {
			return 0, 0, false
		}
	}
	var out strings.Builder
	var from []int // of each byte of out, the place in said
	for i := 0; i < len(said); {
		r, size := utf8.DecodeRuneInString(said[i:])
		char := said[i : i+size]
		if size > 1 || char[0] < 0x20 || char[0] >= 0x7f {
			char = plain.Line(char, 16)
		}
		if without && (unicode.IsSpace(r) || char != said[i:i+size]) {
			char = ""
		}
		out.WriteString(char)
		for range len(char) {
			from = append(from, i)
		}
		i += size
	}
	at := strings.Index(out.String(), quoted)
	if at < 0 {
		return 0, 0, false
	}
	end = len(said)
	if at+len(quoted) < len(from) {
		end = from[at+len(quoted)]
	}
	return from[at], end, true
}

// split cuts an edit, which begins at place in the text as it is, where marks begin and
// end.
func split(e diff.Edit, place int, marks []mark) []Run {
	cuts := []int{0, len(e.Text)}
	for _, m := range marks {
		for _, at := range []int{m.start - place, m.end - place} {
			if at > 0 && at < len(e.Text) {
				cuts = append(cuts, at)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []Run
	for n := 1; n < len(cuts); n++ {
		r := Run{Op: e.Op, Text: e.Text[cuts[n-1]:cuts[n]]}
		for _, m := range marks {
			if m.start-place <= cuts[n-1] && m.end-place >= cuts[n] {
				r.Found = append(r.Found, m.finding)
			}
		}
		out = append(out, r)
	}
	return out
}
