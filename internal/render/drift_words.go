package render

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

// How much of a text is shown of it on a screen.
const (
	wordColumns  = 76 // a line of an excerpt, with its mark
	contextRunes = 20 // before the first difference
	overlap      = 12 // bytes that two quotes of one text share at least
)

// blankRun is what [plain.Line] makes of several line ends and blanks in a row.
var blankRun = regexp.MustCompile(`(?:\\u\{000[9AD]\}| ){2,}`)

// runs counts line breaks and blanks that follow each other, where spelling them out
// would push the words off the line. Its argument is safe to show.
func runs(s string) string {
	return blankRun.ReplaceAllStringFunc(s, func(run string) string {
		breaks := strings.Count(run, `\u{000A}`)
		blanks := strings.Count(run, " ") + strings.Count(run, `\u{0009}`)
		var parts []string
		if breaks > 0 {
			parts = append(parts, plural(breaks, "line break"))
		}
		if blanks > 0 {
			parts = append(parts, plural(blanks, "blank"))
		}
		if breaks < 2 && blanks < 4 {
			return run
		}
		return "[" + strings.Join(parts, ", ") + "]"
	})
}

// textOf is a value in canonical JSON as people read it: the text that it is, or its
// JSON where decoding would lose something. It is not safe to show.
func textOf(value json.RawMessage) string {
	if v, flaws, err := rawjson.Parse(value); err == nil && flaws.InvalidUTF8 == 0 && flaws.LoneSurrogates == 0 {
		if s, ok := v.Text(); ok {
			return s
		}
	}
	return string(value)
}

// shown makes text fit to be shown in a line, also the character that stands for what
// could not be read: it is in the text itself.
func shown(s string, most int) string {
	return strings.ReplaceAll(plain.Line(s, most), "\ufffd", `\u{FFFD}`)
}

// spoken is what a value says to a model: a text, or the description of an item. Nil:
// nothing.
func spoken(value json.RawMessage) json.RawMessage {
	v, _, err := rawjson.Parse(value)
	if err != nil {
		return nil
	}
	if v.Kind() == rawjson.Object {
		v = v.Get("description")
	}
	if v.Kind() != rawjson.String {
		return nil
	}
	return v.Raw()
}

// excerpt is a text before and after, from shortly before the first difference, each
// in one line of at most columns; "" where there was none. Both are safe to show.
func excerpt(before, after json.RawMessage, columns int) (old, now string) {
	a, b := textOf(before), textOf(after)
	if before == nil || after == nil {
		a, b = strings.TrimLeft(a, " \n"), strings.TrimLeft(b, " \n")
	}
	start := 0
	if before != nil && after != nil {
		start = excerptStart(a, b, columns/2)
	}
	part := func(s string, counted bool) string {
		s = shown(s[start:], 4*columns)
		if counted {
			s = runs(s)
		}
		if start > 0 {
			s = "…" + s
		}
		return cut(s, columns)
	}
	if old, now = part(a, true), part(b, true); old == now {
		return part(a, false), part(b, false)
	}
	return old, now
}

// excerptStart is where an excerpt of two texts begins: at a word shortly before
// they differ, or at their beginning, if that is not further than near.
func excerptStart(a, b string, near int) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at <= near {
		return 0
	}
	start := at
	for n := 0; start > 0 && n < contextRunes; n++ {
		_, size := utf8.DecodeLastRuneInString(a[:start])
		start -= size
	}
	if space := strings.IndexByte(a[start:at], ' '); space >= 0 {
		start += space + 1
	}
	return start
}

// firstLine is the first line of a text that has anything in it, safe to show.
func firstLine(s string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	first = runs(shown(strings.TrimSpace(first), maxLine))
	if rest != "" {
		first += " …"
	}
	return first
}

// wrap breaks text that is safe to show into lines of at most columns, at blanks
// where there are some.
func wrap(s string, columns int) []string {
	var out []string
	for width(s) > columns {
		used, at, space := 0, 0, -1
		for i, r := range s {
			if r == ' ' && i > 0 {
				space = i
			}
			if used += runeWidth(r); used > columns {
				at = i
				break
			}
		}
		if space > at/2 {
			out = append(out, s[:space])
			s = s[space+1:]
			continue
		}
		at = max(at, 1)
		if escape := strings.LastIndex(s[:at], `\u{`); escape > 0 && at-escape < len(`\u{10FFFF}`) && !strings.Contains(s[escape:at], "}") {
			at = escape
		}
		out = append(out, s[:at])
		s = s[at:]
	}
	return append(out, s)
}

// mergeQuotes makes one quote of quotes of the same text that overlap.
func mergeQuotes(quotes []string) []string {
	var out []string
	for _, q := range quotes {
		merged := false
		for i, known := range out {
			if both, ok := joinQuotes(known, q); ok {
				out[i], merged = both, true
				break
			}
		}
		if !merged {
			out = append(out, q)
		}
	}
	if len(out) < len(quotes) {
		return mergeQuotes(out) // what was put together may join more
	}
	return out
}

// joinQuotes joins two quotes, of which "…" marks what goes on.
func joinQuotes(a, b string) (string, bool) {
	bareA, bareB := strings.Trim(a, "…"), strings.Trim(b, "…")
	switch {
	case bareA == "" || bareB == "":
		return "", false
	case strings.Contains(bareA, bareB):
		return a, true
	case strings.Contains(bareB, bareA):
		return b, true
	}
	if n := overlapping(bareA, bareB); n > 0 {
		return strings.TrimSuffix(a, "…") + strings.TrimPrefix(b, "…")[n:], true
	}
	if n := overlapping(bareB, bareA); n > 0 {
		return strings.TrimSuffix(b, "…") + strings.TrimPrefix(a, "…")[n:], true
	}
	return "", false
}

// overlapping is how many bytes at the end of a are the beginning of b, or 0 if they
// are too few to tell.
func overlapping(a, b string) int {
	for n := min(len(a), len(b)); n >= overlap; n-- {
		if a[len(a)-n:] == b[:n] {
			return n
		}
	}
	return 0
}

// shortID is an id as far as it takes to name it.
func shortID(id string) string { return id[:min(len(id), 12)] }

// bullet writes text with what stands before its first line and before the others.
func (p *page) bullet(first, rest, text string) {
	taken := max(width(sgr.ReplaceAllString(first, "")), width(rest))
	for i, l := range wrap(strings.TrimRight(text, " "), max(20, screenColumns-taken)) {
		if i == 0 {
			p.printf("%s%s\n", first, l)
			continue
		}
		p.printf("%s%s\n", rest, l)
	}
}

// say writes a sentence of ours. Its further lines are indented more than any line that
// stands for itself, so that no text in it passes for one. A command at its end that
// would be torn apart gets a line of its own, to be copied.
func (p *page) say(label, text string) {
	first, rest := "  "+label, strings.Repeat(" ", max(6, 2+len(label)))
	at := strings.LastIndex(text, "mcpvigil ")
	if width(first+text) > screenColumns && at > 0 && (strings.HasSuffix(text[:at], ": ") || strings.HasSuffix(text[:at], " run ")) {
		p.bullet(first, rest, strings.TrimSpace(text[:at]))
		p.printf("      %s\n", text[at:])
		return
	}
	p.bullet(first, rest, text)
}

// inPlaces says of how many places where two texts differ the first is shown, if there
// are several.
func inPlaces(before, after json.RawMessage) string {
	if before == nil || after == nil {
		return ""
	}
	n, inside := 0, false
	for _, e := range compare(piecesOf(before), piecesOf(after)) {
		if e.mark != ' ' && !inside {
			n++
		}
		inside = e.mark != ' '
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(", 1 of %d places", n)
}

// reportColumns is how much of a text programs show of it, a line.
const reportColumns = 200

// excerptLines are what a text that a model reads said and says now, each "- " or "+ "
// and a line around the first difference. Of any other change there are none.
func excerptLines(c *surface.Change) []string {
	old, now := spoken(c.Before), spoken(c.After)
	if spokenRank(c) < 0 || old == nil && now == nil {
		return nil
	}
	a, b := excerpt(old, now, reportColumns)
	var out []string
	if old != nil {
		out = append(out, "- "+a)
	}
	end := cutEnd(old, a)
	if now != nil {
		out = append(out, "+ "+b)
		if added := cutEnd(now, b); added != nil {
			end = added
		}
	}
	out = append(out, end...)
	return append(out, partsOf(c)...)
}

// placeOf names the items and the place of changes that are the same.
func placeOf(changes []*surface.Change) string {
	c := changes[0]
	names := itemNames(changes)
	if len(names) < 2 {
		return place(c.Kind, c.Item, c.Pointer)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s %s", plural(len(names), kindNoun(c.Kind)), some(names, reportColumns), line(c.Pointer)), " ")
}
