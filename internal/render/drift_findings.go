package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	maxFound    = 20 // places of findings that are shown unless all is asked for
	maxAccepted = 5  // accepted findings likewise
	quoteLines  = 4  // of a text at most, likewise
)

// found is what was found in one text.
type found struct {
	effect surface.Effect
	where  string // safe to show
	quotes []string
	rules  []*foundRule
}

// foundRule is what one rule found there.
type foundRule struct {
	*baseline.Verdict // the first of them
	ids               []string
}

// foundIn puts findings together by the text that they are in, what fails first. The
// accepted ones are told apart.
func foundIn(findings []baseline.Verdict) (places []*found, accepted []*baseline.Verdict) {
	known := map[string]*found{}
	for i := range findings {
		f := &findings[i]
		if f.Accepted != nil {
			accepted = append(accepted, f)
			continue
		}
		key := string(f.Kind) + "\n" + f.Item + "\n" + f.Pointer
		at := known[key]
		if at == nil {
			at = &found{effect: f.Effect, where: place(f.Kind, f.Item, f.Pointer)}
			known[key] = at
			places = append(places, at)
		}
		at.add(f)
	}
	for _, at := range places {
		at.quotes = mergeQuotes(at.quotes)
		for i, q := range at.quotes {
			at.quotes[i] = strings.TrimSpace(runs(q))
		}
		slices.SortStableFunc(at.rules, func(a, b *foundRule) int { return rank(a.Effect) - rank(b.Effect) })
	}
	slices.SortStableFunc(places, func(a, b *found) int { return rank(a.effect) - rank(b.effect) })
	return places, accepted
}

func (f *found) add(v *baseline.Verdict) {
	if rank(v.Effect) < rank(f.effect) {
		f.effect = v.Effect
	}
	if q := line(v.Excerpt); q != "" && !slices.Contains(f.quotes, q) {
		f.quotes = append(f.quotes, q)
	}
	for _, r := range f.rules {
		if r.Rule == v.Rule && r.Severity == v.Severity && r.Effect == v.Effect && r.Message == v.Message {
			r.ids = append(r.ids, shortID(v.ID))
			return
		}
	}
	f.rules = append(f.rules, &foundRule{v, []string{shortID(v.ID)}})
}

// shownFindings are those that a person should look at now: all of them if all is
// asked for, else the new and the failing ones, and how many others there are.
func (p *page) shownFindings(all []baseline.Verdict) (shown []baseline.Verdict, hidden int) {
	for _, f := range all {
		if p.o.Verbose || f.New || f.Effect == surface.Fail || f.Accepted != nil {
			shown = append(shown, f)
		}
	}
	return shown, len(all) - len(shown)
}

// findings writes each text with what was found in it, as far as room lines go, and a
// line for each finding that was accepted. At least one text is shown.
func (p *page) findings(findings []baseline.Verdict, hidden, room int) {
	places, accepted := foundIn(findings)
	columns := 0
	for i := range findings {
		columns = max(columns, len(findings[i].Rule))
	}
	room -= min(len(accepted), maxAccepted)
	used := 0
	for i, f := range places {
		part := &page{o: p.o}
		part.found(f, columns, true)
		if n := lines(part.String()); used+n > room && !p.o.Verbose {
			part = &page{o: p.o}
			part.found(f, columns, false)
		}
		n := lines(part.String())
		if i > 0 && !p.o.Verbose && (used+n > room || i == maxFound) {
			for _, left := range places[i:] {
				hidden += left.count()
			}
			break
		}
		used += n
		p.printf("%s", part)
	}
	for i, f := range accepted {
		if i == maxAccepted && !p.o.Verbose {
			hidden += len(accepted) - i
			break
		}
		p.accepted(f, columns)
	}
	if hidden > 0 {
		p.printf("  and %d more (--verbose)\n", hidden)
	}
}

// count is how many findings there are.
func (f *found) count() int {
	n := 0
	for _, r := range f.rules {
		n += len(r.ids)
	}
	return n
}

// found writes where something was found, the text once, and the rules below it, with
// all that they have to say or no more than a line of it.
func (p *page) found(f *found, columns int, whole bool) {
	p.bullet("  "+p.effect(f.effect)+" ", strings.Repeat(" ", effectColumns+3), f.where)
	most := quoteLines
	if !whole {
		most--
	}
	for _, q := range f.quotes {
		quote := wrap(q, screenColumns-10)
		if len(quote) > most && !p.o.Verbose {
			quote = quote[:most]
			quote[most-1] = cut(quote[most-1]+"…", screenColumns-10)
		}
		for _, l := range quote {
			p.printf("        | %s\n", l)
		}
	}
	for _, r := range f.rules {
		head := fmt.Sprintf("        %s  %s  %s  ", pad(string(r.Severity), 5), pad(name(r.Rule), columns), strings.Join(r.ids, " "))
		message := line(r.Message)
		if p.o.Verbose && len(r.Techniques) > 0 {
			message += " (" + strings.Join(r.Techniques, ", ") + ")"
		}
		switch left := screenColumns - width(head); {
		case !whole:
			p.printf("%s\n", strings.TrimRight(cut(head+message, screenColumns), " "))
		case left >= width(message):
			p.printf("%s%s\n", head, message)
		default:
			p.bullet(strings.Repeat(" ", 8), strings.Repeat(" ", 15), strings.TrimSpace(head))
			p.bullet(strings.Repeat(" ", 15), strings.Repeat(" ", 15), message)
		}
	}
}

// accepted writes a line about a finding that a person accepted.
func (p *page) accepted(f *baseline.Verdict, columns int) {
	mark := p.colour(green, "OK   ")
	text := pad(name(f.Rule), columns) + "  " + place(f.Kind, f.Item, f.Pointer)
	reason := "accepted: " + line(f.Accepted.Reason)
	if p.o.Verbose {
		p.bullet("  "+mark+" ", "        ", text)
		p.bullet("        ", "        ", reason)
		return
	}
	left := screenColumns - effectColumns - 5
	reason = cut(reason, max(screenColumns/4, left-width(text)))
	p.printf("  %s %s; %s\n", mark, cut(text, left-width(reason)), reason)
}
