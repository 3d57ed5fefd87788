package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/surface"
)

const effectColumns = 5

// changes writes a line for each row and, in the lines that are left of room, what
// happened where. What fails and touches most items comes first; where there is no
// room for all of it, the rows that fail nothing share a line.
func (p *page) changes(rows []*row, first bool, room int) {
	if p.o.Verbose {
		room = len(rows)
	}
	var folded []*row
	if !p.o.Verbose && !first && lineCount(rows) > room {
		rows, folded = fold(rows)
		room -= min(len(folded), 1)
	}
	shown := rows
	if len(rows) > room {
		room--
		shown = rows[:room]
	}
	details := telling(shown, room-len(shown))
	width := 0
	for _, r := range rows {
		width = max(width, len(r.class))
	}
	for _, r := range shown {
		mark := p.effect(r.effect)
		if first {
			mark = "NEW  "
		}
		p.printf("  %s %s  %s\n", mark, pad(string(r.class), width), r.what(screenColumns-effectColumns-width-5, !p.o.Verbose && r.lacks(details)))
		if p.o.Verbose {
			p.differences(r)
			continue
		}
		for _, d := range r.details {
			if details[d] {
				p.printf("        %s\n", d.line(r, screenColumns-8))
			}
		}
	}
	if n := len(rows) - len(shown); n > 0 {
		p.printf("  and %d more; --verbose shows everything\n", n)
	}
	if len(folded) > 0 {
		p.printf("  %s %s\n", p.effect(folded[0].effect), some(headings(folded), screenColumns-effectColumns-3))
	}
}

// lineCount is how many lines rows take with all their details.
func lineCount(rows []*row) int {
	n := len(rows)
	for _, r := range rows {
		if !r.told() {
			n += len(r.details)
		}
	}
	return n
}

// fold takes the rows that fail nothing away, if that makes room.
func fold(rows []*row) (kept, folded []*row) {
	for _, r := range rows {
		if r.effect == surface.Fail {
			kept = append(kept, r)
		} else {
			folded = append(folded, r)
		}
	}
	if len(kept) == 0 || len(folded) < 2 {
		return rows, nil
	}
	return kept, folded
}

// headings are the classes of rows, with how many items they are about.
func headings(rows []*row) []string {
	var out []string
	for _, r := range rows {
		s := string(r.class)
		if n := len(r.items); n > 0 {
			s += fmt.Sprintf(" (%s)", plural(n, kindNoun(r.kind)))
		}
		out = append(out, s)
	}
	return out
}

// telling chooses the n details that tell most: what fails before what does not,
// what is about more items before what is about fewer, and of equal ones some of
// each row.
func telling(rows []*row, n int) map[*detail]bool {
	type candidate struct {
		*detail
		rank, index int
	}
	var all []candidate
	for _, r := range rows {
		if r.told() {
			continue
		}
		for i, d := range r.details {
			all = append(all, candidate{d, rank(r.effect), i})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(b.items), len(a.items)), cmp.Compare(a.index, b.index))
	})
	out := map[*detail]bool{}
	for _, c := range all[:min(max(n, 0), len(all))] {
		out[c.detail] = true
	}
	return out
}

// lacks reports whether some of the details of r are not among shown.
func (r *row) lacks(shown map[*detail]bool) bool {
	return slices.ContainsFunc(r.details, func(d *detail) bool { return !shown[d] })
}

// told reports whether the line of a row says all there is.
func (r *row) told() bool {
	return len(r.details) == 1 && (r.details[0].pointer == "" || len(r.items) == 0)
}

// text is what happened, unless the class says it.
func (r *row) text() string {
	class := string(r.class)
	if strings.HasSuffix(class, "-added") || strings.HasSuffix(class, "-removed") {
		return ""
	}
	return r.details[0].text
}

// maxAside is what a list of items takes at most behind a place, in columns.
const maxAside = 30

// line says what happened where, and to how many items of r, in at most columns.
func (d *detail) line(r *row, columns int) string {
	text := d.text
	if d.pointer != "" {
		text = d.pointer + ": " + text
	}
	aside := ""
	if len(r.items) > 1 {
		aside = fmt.Sprintf(" (%s)", plural(len(d.items), kindNoun(r.kind)))
	}
	if names := " (" + strings.Join(d.items, ", ") + ")"; len(d.items) < len(r.items) && width(names) <= min(maxAside, columns-width(text)) {
		aside = names
	}
	columns -= width(aside)
	if d.pointer != "" {
		text = cutFront(d.pointer, max(20, columns-2-width(d.text))) + ": " + d.text
	}
	return cut(text, columns) + aside
}

// what says which items a row is about, in at most columns, and if places is set,
// because no line below says it, in how many places.
func (r *row) what(columns int, places bool) string {
	var before, after string
	if r.identity != "" {
		before = "as " + r.identity + ": "
	}
	switch n := len(r.items); {
	case n == 0 && len(r.details) == 1:
		after = r.details[0].text
		if at := r.details[0].pointer; at != "" {
			after = at + ": " + after
		}
	case n == 0:
		after = fmt.Sprintf("%d places", len(r.details))
	default:
		before = cut(before, columns/2) + plural(n, kindNoun(r.kind)) + ": "
		end := ""
		if places && len(r.details) > 1 {
			end = fmt.Sprintf("; %d places", len(r.details))
		}
		after = some(r.items, columns-width(before+end)) + end
		if text := r.text(); (places || r.told()) && len(r.details) == 1 && text != "" && width(before+after+text)+2 <= columns {
			after += "; " + text
		}
	}
	return cut(before+after, columns)
}
