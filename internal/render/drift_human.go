package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
)

// The screen that a summary is made to fit on.
const (
	screenLines   = 24
	screenColumns = 80
	fewest        = 4 // lines of changes that are shown, however many findings
	fewestFound   = 8 // lines of findings likewise
)

// driftPage writes verifications for people: status, what changed by class, what
// was found, what to do. The changes of one verification fit a screen unless all
// is asked for.
func driftPage(command string, verifications []*Verification, o Options) []byte {
	p := &page{o: o}
	if command != "" {
		p.title(command)
	}
	start := 0
	for _, v := range verifications {
		p.verification(v, start)
		start = p.Len()
	}
	if len(verifications) > 1 {
		p.driftTally(verifications)
	}
	p.printf("\n")
	return []byte(p.String())
}

// verification writes one of them, of which what stands on the page from start on
// is the title.
func (p *page) verification(v *Verification, start int) {
	r := &v.Result
	p.surfaceHead(v)
	p.printf("  Status: %s\n", p.driftStatus(r.Status, v.word()))
	if p.o.Verbose && !r.Digest.IsZero() {
		p.printf("  Digest: %s\n", r.Digest)
		if !r.Approved.IsZero() && !v.First {
			p.printf("  Before: %s\n", r.Approved)
		}
	}
	if v.Message != "" {
		p.printf("\n")
		p.driftCause(v)
	}
	tail := &page{o: p.o}
	tail.driftSummary(v)
	used := lines(p.String()[start:]) + lines(tail.String()) + v.Below + 1 // the blank one at the end
	findings, hidden := p.shownFindings(r.Findings)
	body := &page{o: p.o}
	if len(findings) > 0 {
		body.section("Findings:")
		body.findings(findings, hidden, max(fewestFound, screenLines-used-fewest-3))
		used += lines(body.String())
	}
	if len(r.Changes) > 0 {
		p.printf("\n")
		room := max(fewest, screenLines-used-1)
		switch {
		case p.o.Verbose:
			p.everyChange(rows(pointers(r.Changes)), v.First)
		case v.First:
			p.introduction(v, room)
		default:
			p.changes(pointers(r.Changes), room)
		}
	}
	p.printf("%s%s", body, tail)
}

// sgr is what [page.colour] puts around text.
var sgr = regexp.MustCompile("\x1b\\[[0-9]*m")

// lines is how many lines s takes on the screen.
func lines(s string) int {
	n := 0
	for l := range strings.Lines(sgr.ReplaceAllString(s, "")) {
		n += max(1, (width(strings.TrimSuffix(l, "\n"))+screenColumns-1)/screenColumns)
	}
	return n
}

// surfaceHead says whose surface it is.
func (p *page) surfaceHead(v *Verification) {
	switch {
	case v.Before != "":
		p.printf("\n  Before: %s\n  After:  %s\n", cut(line(v.Before), screenColumns-10), cut(line(v.Source), screenColumns-10))
	case v.Target != nil:
		address := strings.TrimSuffix(fmt.Sprintf("%s -- %s", v.Target.Transport, line(v.Target.Endpoint)), " -- ")
		if n := v.Target.Name; n != "" && n != v.Target.Endpoint {
			address = fmt.Sprintf("%s (%s)", name(n), address)
		}
		p.printf("\n  Target: %s\n", address)
	default:
		p.printf("\n  File: %s\n", line(v.Source))
	}
}

// driftStatus is a word for a status, in its colour.
func (p *page) driftStatus(s baseline.Status, word string) string {
	switch s {
	case baseline.Approved:
		return p.colour(green, word)
	case baseline.Unknown:
		return p.colour(yellow, word)
	default:
		return p.colour(red, word)
	}
}

func (p *page) driftCause(v *Verification) {
	reason := ""
	if v.Reason != "" {
		reason = name(v.Reason) + ": "
	}
	p.say("", reason+line(v.Message))
	if v.Hint != "" {
		p.say("hint: ", line(v.Hint))
	}
}

func (p *page) effect(e surface.Effect) string {
	switch e {
	case surface.Fail:
		return p.colour(red, "FAIL ")
	case surface.Event:
		return p.colour(yellow, "EVENT")
	default:
		return p.colour(dim, "same ")
	}
}

// some lists items in at most columns, with the number of those left out. At
// least one is shown, and cut if it has to be.
func some(items []string, columns int) string {
	used := 0
	for i, item := range items {
		rest := ""
		if i < len(items)-1 {
			rest = fmt.Sprintf(" and %d more", len(items)-i-1)
		}
		if i == 0 {
			item = cut(item, max(8, columns-len(rest)))
		}
		w := width(item)
		if i > 0 {
			w += 2
		}
		if i > 0 && used+w+len(rest) > columns {
			return strings.Join(shorten(items[:i], columns-len(rest)), ", ") + fmt.Sprintf(" and %d more", len(items)-i)
		}
		used += w
	}
	return strings.Join(shorten(items, columns), ", ")
}

// shorten cuts the first of items.
func shorten(items []string, columns int) []string {
	return append([]string{cut(items[0], max(8, columns))}, items[1:]...)
}

// cut shortens s to a number of columns.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// cutFront is cut for pointers, of which the end tells more.
func cutFront(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	used := width(s)
	for i, r := range s {
		if used <= columns-1 {
			return "…" + s[i:]
		}
		used -= runeWidth(r)
	}
	return "…"
}

func width(s string) int {
	if len(s) == utf8.RuneCountInString(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// runeWidth is 2 for what may take two columns: all that is not Latin, Greek or
// the like.
func runeWidth(r rune) int {
	if r >= 0x1100 && r != '…' {
		return 2
	}
	return 1
}

// driftSummary counts, and says what to do.
func (p *page) driftSummary(v *Verification) {
	r := &v.Result
	if !v.down() {
		text := "Summary: " + v.counts()
		if len(r.Unlisted) > 0 {
			var kinds []string
			for _, k := range r.Unlisted {
				kinds = append(kinds, kindNoun(k)+"s")
			}
			text += "; not listed to the end, and not compared: " + strings.Join(kinds, ", ")
		}
		const more = "; --verbose shows every text"
		if len(r.Changes) > 0 && !v.First && !p.o.Verbose && !strings.Contains(v.Next, "--verbose") && width(text+more) <= screenColumns-2 {
			text += more
		}
		p.printf("\n")
		p.say("", text)
	} else if v.Next != "" || len(v.Remarks) > 0 {
		p.printf("\n")
	}
	for _, remark := range v.Remarks {
		p.say("", line(remark))
	}
	for _, rule := range v.rules() {
		p.say("", rule)
	}
	if v.Next != "" {
		p.say("Next: ", line(v.Next))
	}
}

// counts says how many changes and findings there are, and how many of them fail.
func (v *Verification) counts() string {
	r := &v.Result
	changes, findings := fails(r)
	text := counted(len(r.Changes), "change", changes)
	if v.First {
		text = plural(len(r.Changes), "addition")
	}
	n := accepted(r)
	text += ", " + counted(len(r.Findings)-n, "finding", findings)
	if n > 0 {
		text += fmt.Sprintf(", %d accepted", n)
	}
	return text
}

// accepted counts the findings that a person accepted.
func accepted(r *baseline.Result) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Accepted != nil {
			n++
		}
	}
	return n
}

// counted is such as "3 changes (2 fail)".
func counted(n int, what string, fail int) string {
	s := plural(n, what)
	switch {
	case n == 0:
		s = "no " + what + "s"
	case n == 1 && fail == 1:
		s += ", which fails"
	case fail == 1:
		s += " (1 fails)"
	case fail > 1:
		s += fmt.Sprintf(" (%d fail)", fail)
	}
	return s
}

func (p *page) driftTally(verifications []*Verification) {
	counts := map[baseline.Status]int{}
	for _, v := range verifications {
		counts[v.Result.Status]++
	}
	var parts []string
	for _, s := range baseline.Statuses() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.driftStatus(s, string(s))))
		}
	}
	p.printf("\n  %d targets: %s\n", len(verifications), strings.Join(parts, ", "))
}
