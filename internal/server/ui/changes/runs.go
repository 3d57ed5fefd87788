package changes

import (
	"slices"
	"strconv"
	"strings"
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
	// Folded is how many bytes are left out in its place, Alike that they stayed.
	Folded int
	Alike  bool
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
	f.told[pointer] = true
	marks := f.marks(pointer, after)
	far := len(marks) > 0 && len(after) > limit // what is marked might not be shown
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
			alike := r.Op == diff.Same && before != after
			if f.extent.Fold && len(r.Found) == 0 && len(r.Text) > foldOver && (alike || far && r.Op != diff.Deleted) {
				head, tail := clip(r.Text, foldKeep), clipStart(r.Text, foldKeep)
				runs = append(runs, Run{Op: r.Op, Text: head}, Run{Op: r.Op, Folded: len(r.Text) - len(head) - len(tail), Alike: alike}, Run{Op: r.Op, Text: tail})
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

// maxMarks bounds what is marked in one text.
const maxMarks = 200

// marks are where the findings of a place are in its text.
func (f *fields) marks(pointer, said string) []mark {
	var out []mark
	for n := range f.item.Findings {
		x := &f.item.Findings[n]
		if x.Pointer != pointer || x.InName {
			continue
		}
		for _, s := range x.Spans {
			if len(out) < maxMarks && s.Start >= 0 && s.Start < s.End && s.End <= len(said) && f.about(x, said[s.Start:s.End]) {
				out = append(out, mark{s.Start, s.End, n})
			}
		}
	}
	return out
}

// about tells whether a finding is about a part of a text. Where a server lists several
// items of one name, only what it quotes tells which of them it is in.
func (f *fields) about(x *Finding, part string) bool {
	return len(f.item.After) < 2 || strings.Contains(x.Excerpt, plain.Line(clip(part, 20), 20))
}

// names are the findings in the name of the member at a place.
func (i *Item) names(pointer string) []int {
	var out []int
	for n := range i.Findings {
		if i.Findings[n].InName && i.Findings[n].Pointer == pointer {
			out = append(out, n)
		}
	}
	return out
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
