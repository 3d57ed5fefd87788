package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/surface"
)

// everyChange writes all changes with all that was there before and is there now. In a
// surface that nothing is approved of, which first says, everything is new.
func (p *page) everyChange(rows []*row, first bool) {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r.class))
	}
	for _, r := range rows {
		before := ""
		if r.identity != "" {
			before = "as " + r.identity + ": "
		}
		if len(r.items) > 0 {
			before += plural(len(r.items), kindNoun(r.kind)) + ": " + strings.Join(r.items, ", ")
		} else {
			before += kindNoun(r.kind)
		}
		indent := strings.Repeat(" ", effectColumns+columns+5)
		for i, l := range wrap(before, screenColumns-len(indent)) {
			head := indent
			if i == 0 {
				mark := p.effect(r.effect)
				if first {
					mark = pad("NEW", effectColumns)
				}
				head = fmt.Sprintf("  %s %s  ", mark, pad(string(r.class), columns))
			}
			p.printf("%s%s\n", head, l)
		}
		p.differences(r)
	}
}

// differences writes under a row what was there before and is there now.
func (p *page) differences(r *row) {
	for _, d := range r.details {
		for _, same := range sameEdits(d.changes) {
			c := same[0]
			at := d.text
			if d.pointer != "" {
				at = d.pointer + ": " + at
			}
			if names := itemNames(same); len(names) > 0 && len(names) < len(r.items) {
				at += " (" + strings.Join(names, ", ") + ")"
			}
			p.bullet("        ", "        ", at)
			for _, l := range unified(c.Before, c.After) {
				code := dim
				switch l[0] {
				case '-':
					code = red
				case '+':
					code = green
				}
				for _, part := range wrapMarked(l, screenColumns-10) {
					p.printf("          %s\n", p.colour(code, part))
				}
			}
			for _, l := range partsOf(c) {
				p.bullet("          ", "          ", l)
			}
		}
	}
}

// wrapMarked wraps a line of a difference. What follows keeps its mark and is indented
// like it.
func wrapMarked(l string, columns int) []string {
	mark, text := l[:2], l[2:]
	bare := strings.TrimLeft(text, " ")
	indent := text[:min(len(text)-len(bare), columns/2)]
	out := wrap(bare, columns-2-len(indent))
	for i := range out {
		out[i] = mark + indent + out[i]
	}
	return out
}

// sameEdits puts changes together that replace the same by the same.
func sameEdits(changes []*surface.Change) [][]*surface.Change {
	var out [][]*surface.Change
	known := map[string]int{}
	for _, c := range changes {
		key := string(c.Before) + "\n" + string(c.After)
		at, ok := known[key]
		if !ok {
			at = len(out)
			known[key] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], c)
	}
	return out
}

func itemNames(changes []*surface.Change) []string {
	var out []string
	for _, c := range changes {
		if c.Item != "" {
			out = append(out, listed(c.Item))
		}
	}
	return out
}

// Bounds of a difference of two texts.
const (
	maxPieces  = 2000 // of a text that is compared piece by piece
	maxBlanks  = 8    // that are spelled out where there is nothing else
	contextRun = 2    // pieces, blanks among them, shown around a difference
)

// unified compares two values in canonical JSON, strings sentence by sentence and
// anything else member by member. Each line begins with "- ", "+ " or "  " and is
// safe to show; nothing but what is equal is left out. Either value may be nil.
func unified(before, after json.RawMessage) []string {
	edits := compare(piecesOf(before), piecesOf(after))
	blank := func(i int) bool { return strings.Trim(edits[i].text, " \n") == "" }
	changed := func(i int) bool { return i >= 0 && i < len(edits) && edits[i].mark != ' ' }
	telling := func(i int) bool { return changed(i) && !blank(i) }
	var out []string
	skipped := 0
	tell := func() {
		if skipped > 0 {
			out = append(out, fmt.Sprintf("  [%d unchanged]", skipped))
		}
		skipped = 0
	}
	for i, e := range edits {
		near := false
		for j := i - contextRun; j <= i+contextRun; j++ {
			near = near || changed(j)
		}
		switch {
		case blank(i) && (!changed(i) || telling(i-1) || telling(i+1)):
			// What it separates tells the story.
		case near:
			tell()
			out = append(out, string(e.mark)+" "+shownPiece(e.text))
		default:
			skipped++
		}
	}
	tell()
	return out
}

// shownPiece makes a piece fit to be shown, also blanks at its end.
func shownPiece(s string) string {
	bare := strings.TrimRight(s, " ")
	if strings.Trim(s, " \n") == "" && len(s) > maxBlanks {
		return runs(shown(s, math.MaxInt))
	}
	blanks := len(s) - len(bare)
	if blanks > maxBlanks {
		return shown(bare, math.MaxInt) + fmt.Sprintf("[%d blanks]", blanks)
	}
	return shown(bare, math.MaxInt) + strings.Repeat(`\u{0020}`, blanks)
}

// piecesOf takes a value apart where a person would expect a new line: a text at
// line ends and after sentences, so that the pieces joined are the text; anything
// else with a member a line.
func piecesOf(value json.RawMessage) []string {
	if value == nil {
		return nil
	}
	s := textOf(value)
	if s == string(value) {
		// No text, or one that decoding would make another.
		var b bytes.Buffer
		if json.Indent(&b, value, "", "  ") != nil {
			return []string{s}
		}
		return strings.Split(b.String(), "\n")
	}
	var out []string
	for s != "" {
		n := pieceLen(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

// pieceLen is the length of the piece that s begins with: a sentence or a line,
// or the blanks and line ends that separate two.
func pieceLen(s string) int {
	if n := len(s) - len(strings.TrimLeft(s, " \n")); n > 0 {
		return n
	}
	for i := 1; i < len(s); i++ {
		if s[i] == '\n' || s[i] == ' ' && strings.IndexByte(".!?", s[i-1]) >= 0 {
			return i
		}
	}
	return len(s)
}

type edit struct {
	mark byte // '-', '+' or ' '
	text string
}

// compare finds the longest common subsequence of pieces. Of what is too long for
// that, only the beginning and the end that are equal are told.
func compare(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []edit
	all := func(mark byte, pieces []string) {
		for _, piece := range pieces {
			out = append(out, edit{mark, piece})
		}
	}
	all(' ', a[:head])
	middleA, middleB := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(middleA) > maxPieces || len(middleB) > maxPieces {
		all('-', middleA)
		all('+', middleB)
	} else {
		out = append(out, common(middleA, middleB)...)
	}
	all(' ', a[len(a)-tail:])
	return out
}

// common is the textbook table, of at most maxPieces squared cells.
func common(a, b []string) []edit {
	longest := make([][]uint16, len(a)+1)
	for i := range longest {
		longest[i] = make([]uint16, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return slices.Clip(out)
}
