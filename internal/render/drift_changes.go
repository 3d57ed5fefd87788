package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	effectColumns = 5
	maxTexts      = 4 // shown with their words on a screen
	leastTexts    = 2 // likewise, however much else there is
	fewItems      = 3 // whose titles are shown with their words
)

// changes writes what changed, in room lines: first the texts that a model reads with
// their words, then a line for each class of the rest, and in what is left what
// happened where. What fails comes first; where there is no room for all of it, the
// classes that fail nothing share a line.
func (p *page) changes(all []*surface.Change, room int) {
	texts := spokenChanges(all)
	var rest, folded []*row
	for n := min(len(texts), maxTexts); ; n-- {
		rest, folded = rows(without(all, texts[:n])), nil
		used := textLines(texts[:n])
		if used+len(rest) > room {
			rest, folded = fold(rest)
		}
		if n <= leastTexts || used+len(rest)+min(len(folded), 1) <= room {
			texts = texts[:n]
			room -= used + min(len(folded), 1)
			break
		}
	}
	columns := 0
	for _, t := range texts {
		columns = max(columns, len(t.row.class))
	}
	for _, r := range rest {
		columns = max(columns, len(r.class))
	}
	for _, t := range texts {
		p.spoken(t, columns)
	}
	p.classes(rest, room, columns)
	p.headings(folded)
}

// spokenChange is the same edit of a text that a model reads, in some items.
type spokenChange struct {
	row     *row
	detail  *detail
	changes []*surface.Change
	old     json.RawMessage
	now     json.RawMessage
	rank    int
}

// spokenChanges are the edits to be shown with their words: what fails first, what
// models always read before texts of parameters and titles, those before new items,
// and of equal ones those first that say most that was not said before.
func spokenChanges(changes []*surface.Change) []*spokenChange {
	var out []*spokenChange
	for _, r := range rows(changes) {
		for _, d := range r.details {
			for _, same := range sameEdits(d.changes) {
				c := same[0]
				t := &spokenChange{row: r, detail: d, changes: same, old: spoken(c.Before), now: spoken(c.After), rank: spokenRank(c)}
				mass := t.rank == rankTitle && len(d.changes) > fewItems
				if t.rank >= 0 && !mass && (t.old != nil || t.now != nil) && c.Effect != surface.Silent {
					out = append(out, t)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *spokenChange) int {
		return cmp.Or(rank(a.row.effect)-rank(b.row.effect), a.rank-b.rank, b.news()-a.news())
	})
	return out
}

// The ranks of texts, from what tells most.
const (
	rankText      = iota // instructions, descriptions, hosts
	rankParameter        // texts inside of schemas
	rankTitle
	rankNew // items that were not there
)

// spokenRank is the rank of the text that a change is about, or -1 for what is told in
// a word.
func spokenRank(c *surface.Change) int {
	switch c.Class {
	case surface.ToolAdded, surface.PromptAdded, surface.ResourceAdded, surface.TemplateAdded:
		if c.Renamed != "" {
			return -1
		}
		return rankNew
	case surface.InstructionsChanged, surface.ToolText, surface.PromptText, surface.ResourceText, surface.TemplateText,
		surface.ServerText, surface.ServerIdentity, surface.HostAdded, surface.ToolMetaSteering,
		surface.VolatileText, surface.InconsistentListing, surface.CloakedSurface, surface.CredentialDependent:
	default:
		return -1
	}
	switch {
	case c.Class == surface.HostAdded:
		return rankText
	case c.Class == surface.ServerIdentity, strings.HasSuffix(c.Pointer, "/title"):
		return rankTitle
	case strings.Count(c.Pointer, "/") > 1:
		return rankParameter
	}
	return rankText
}

// news is how many bytes of a text were not there before.
func (t *spokenChange) news() int {
	a, b := string(t.old), string(t.now)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return len(b) - head - tail
}

// textLines are how many lines texts take.
func textLines(texts []*spokenChange) int {
	n := 0
	for _, t := range texts {
		n++
		if t.old != nil {
			n++
		}
		if t.now != nil {
			n++
		}
	}
	return n
}

// spoken writes a text with what it said and says now around the first difference.
func (p *page) spoken(t *spokenChange, columns int) {
	head := fmt.Sprintf("  %s %s  ", p.effect(t.row.effect), pad(string(t.row.class), columns))
	p.printf("%s\n", strings.TrimRight(head+t.where(screenColumns-effectColumns-columns-5), " "))
	old, now := excerpt(t.old, t.now, wordColumns-2)
	if t.old != nil {
		p.printf("    %s\n", p.colour(red, "- "+old))
	}
	if t.now != nil {
		p.printf("    %s\n", p.colour(green, "+ "+now))
	}
}

// where says which text it is, in at most columns.
func (t *spokenChange) where(columns int) string {
	c := t.changes[0]
	as, gap, pointer, what := "", "", "", ""
	if t.row.identity != "" {
		as = "as " + cut(t.row.identity, columns/4) + ": "
	}
	if t.detail.pointer != "" {
		pointer = t.detail.pointer
		gap = " "
	}
	seen := strings.HasPrefix(t.detail.text, "text ") || strings.HasPrefix(t.detail.text, "told differently")
	if t.rank != rankNew && !seen {
		what = ": " + t.detail.text
	}
	what += inPlaces(t.old, t.now)
	items := kindNoun(c.Kind)
	if names := itemNames(t.changes); len(names) == 1 {
		items += " " + names[0]
	} else if len(names) > 1 {
		items = plural(len(names), items)
	}
	if c.Kind == surface.Instructions {
		items, what = "", strings.TrimLeft(what, ":, ")
	}
	items = cut(items, max(20, columns-width(as+gap+pointer+what)))
	return cut(as+items+gap+cutFront(pointer, max(20, columns-width(as+items+gap+what)))+what, columns)
}

// without are the changes that none of texts shows.
func without(changes []*surface.Change, texts []*spokenChange) []*surface.Change {
	shown := map[*surface.Change]bool{}
	for _, t := range texts {
		for _, c := range t.changes {
			shown[c] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c *surface.Change) bool { return shown[c] })
}

// classes writes a line for each row and, in the lines that are left of room, what
// happened where. Rows for which there is no line of their own share the last ones,
// in which all are named as long as there is room for that.
func (p *page) classes(rows []*row, room, columns int) {
	shown := rows
	for len(shown) > 0 && len(shown)+len(shared(rows[len(shown):], len(rows))) > room {
		shown = shown[:len(shown)-1]
	}
	named := shared(rows[len(shown):], room)
	room -= len(named)
	left := screenColumns - effectColumns - columns - 5
	details := telling(shown, room-len(shown), left)
	for _, r := range shown {
		p.printf("  %s %s  %s\n", p.effect(r.effect), pad(string(r.class), columns),
			r.what(left, !slices.ContainsFunc(r.details, func(d *detail) bool { return details[d] })))
		for _, d := range r.details {
			if details[d] {
				p.printf("        %s\n", d.line(r, screenColumns-8))
			}
		}
	}
	for i, l := range named {
		label := strings.Repeat(" ", effectColumns)
		if i == 0 {
			label = p.effect(rows[len(shown)].effect)
		}
		p.printf("  %s %s\n", label, l)
	}
}

// sharedColumns are those behind the effect.
const sharedColumns = screenColumns - effectColumns - 3

// shared are the lines in which rows are named, most of them or one: with how many
// items they are about, if that fits one line.
func shared(rows []*row, most int) []string {
	if len(rows) == 0 {
		return nil
	}
	if l := strings.Join(headings(rows), ", "); width(l) <= sharedColumns {
		return []string{l}
	}
	var names []string
	for _, r := range rows {
		names = append(names, string(r.class))
	}
	lines := wrap(strings.Join(names, ", "), sharedColumns)
	if most = max(most, 1); len(lines) > most {
		lines = lines[:most-1]
		lines = append(lines, some(names[strings.Count(strings.Join(lines, " "), ","):], sharedColumns))
	}
	return lines
}

// headings writes one line about all of rows, none of which fails.
func (p *page) headings(rows []*row) {
	if len(rows) > 0 {
		p.printf("  %s %s\n", p.effect(rows[0].effect), some(headings(rows), sharedColumns))
	}
}

// fold takes the rows that fail nothing away, so that they share a line of their own.
func fold(rows []*row) (kept, folded []*row) {
	for _, r := range rows {
		if r.effect == surface.Fail {
			kept = append(kept, r)
		} else {
			folded = append(folded, r)
		}
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
// each row. Rows that say all there is in columns need none.
func telling(rows []*row, n, columns int) map[*detail]bool {
	type candidate struct {
		*detail
		rank, index int
	}
	var all []candidate
	for _, r := range rows {
		if r.tells(columns) {
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

// comings reports whether the class says all that happened to an item.
func (r *row) comings() bool {
	class := string(r.class)
	return strings.HasSuffix(class, "-added") && r.class != surface.HostAdded || strings.HasSuffix(class, "-removed")
}

// maxAside is what a list of items takes at most behind a place, in columns.
const maxAside = 30

// line says what happened where, and to how many items of r, in at most columns.
func (d *detail) line(r *row, columns int) string {
	aside := ""
	if len(r.items) > 1 {
		aside = fmt.Sprintf(" (%s)", plural(len(d.items), kindNoun(r.kind)))
	}
	if names := " (" + strings.Join(d.items, ", ") + ")"; len(d.items) < len(r.items) && width(names) <= min(maxAside, columns-width(d.what(columns))) {
		aside = names
	}
	return d.what(columns-width(aside)) + aside
}

// what says what happened where, in at most columns. Of a pointer the end tells more.
func (d *detail) what(columns int) string {
	if d.pointer == "" {
		return cut(d.text, columns)
	}
	return cut(cutFront(d.pointer, max(12, columns-2-width(d.text)))+": "+d.text, columns)
}

// whole is all of it.
func (d *detail) whole() string { return strings.TrimPrefix(d.pointer+": "+d.text, ": ") }

// tells reports whether the line of a row says all there is.
func (r *row) tells(columns int) bool {
	return r.comings() || len(r.details) == 1 && strings.Contains(r.what(columns, true), r.details[0].whole())
}

// what says which items a row is about, in at most columns, and if alone is set,
// because no line below says it, what happened to them.
func (r *row) what(columns int, alone bool) string {
	before := ""
	if r.identity != "" {
		before = "as " + cut(r.identity, columns/4) + ": "
	}
	more := ""
	if n := len(r.details) - 1; n > 0 {
		more = fmt.Sprintf("; %d more", n)
	}
	if len(r.items) == 0 {
		return cut(before+r.details[0].what(columns-width(before+more))+more, columns)
	}
	if len(r.items) == 1 && alone && !r.comings() {
		before += cut(r.items[0], max(columns/3, 12)) + ": "
		return cut(before+r.details[0].what(max(20, columns-width(before+more)))+more, columns)
	}
	before += plural(len(r.items), kindNoun(r.kind)) + ": "
	left := columns - width(before)
	if r.comings() || !alone {
		return cut(before+some(r.items, left), columns)
	}
	happened := r.details[0].what(left-width(more)) + more
	if room := left - width(happened) - 3; room >= 20 {
		happened += " (" + some(r.items, room) + ")"
	}
	return cut(before+happened, columns)
}
