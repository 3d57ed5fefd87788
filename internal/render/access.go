package render

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/probe"
)

// The verdicts on a rung of the discovery chain.
const (
	rungOK      = "ok"
	rungWarning = "warning"
	rungFailed  = "failed"
	rungUnknown = "unknown"
)

// brokenRung is the first rung that failed, else the first that could not be
// judged, or nil when the chain is intact or was not walked.
func brokenRung(r *probe.Report) *probe.Rung {
	for _, verdict := range []string{rungFailed, rungUnknown} {
		for i := range r.Chain {
			if r.Chain[i].Verdict == verdict {
				return &r.Chain[i]
			}
		}
	}
	return nil
}

// audited tells a report on the discovery chain alone: nothing was opened.
func audited(r *probe.Report) bool {
	opened := r.Result(probe.StepInitialize)
	return r.Chain != nil && opened != nil && opened.Skipped && opened.Passed
}

// chainVerdict names the broken rung of the chain in a sentence and its repair
// in another, when it is the login that keeps the check out. Else it is empty.
func chainVerdict(r *probe.Report) string {
	broken, worst := brokenRung(r), worstStep(r)
	if broken == nil || r.Passed() || worst == nil || worst.Name != probe.StepAuthentication {
		return ""
	}
	what := "breaks"
	if broken.Verdict == rungUnknown {
		what = "cannot be followed past"
	} else {
		what += " at"
	}
	return fmt.Sprintf("the way to a login %s %s: %s.%s", what, name(broken.Name), line(broken.Text), repair(broken.Hint))
}

// repair is a hint as a sentence of its own, with a space in front.
func repair(hint string) string {
	hint = strings.TrimRight(line(hint), ". ")
	if hint == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(hint)
	return " " + string(unicode.ToUpper(first)) + hint[size:] + "."
}

// chain writes the discovery chain as a ladder, a line or two a rung.
func (p *page) chain(rungs []probe.Rung) {
	if len(rungs) == 0 {
		return
	}
	p.section("The way to a login, as a new client goes it:")
	width, timeWidth, statusWidth := 0, durationColumn, 0
	for i := range rungs {
		width = max(width, utf8.RuneCountInString(name(rungs[i].Name)))
		timeWidth = max(timeWidth, len(millis(rungs[i].DurationMs)))
		if rungs[i].HTTPStatus != 0 {
			statusWidth = 3
		}
	}
	for i := range rungs {
		g := &rungs[i]
		status, took := "", ""
		if g.HTTPStatus != 0 {
			status = fmt.Sprint(g.HTTPStatus)
		}
		if g.DurationMs > 0 {
			took = millis(g.DurationMs)
		}
		p.printf("    %s  %s  %s  %*s  %s\n", p.sign(g.Verdict), pad(name(g.Name), width), pad(status, statusWidth), timeWidth, took, line(g.Text))
		indent := strings.Repeat(" ", 10)
		if g.URL != "" && !strings.Contains(g.Text, g.URL) {
			p.printf("%s%s\n", indent, p.colour(dim, line(g.URL)))
		}
		if g.Reason != "" {
			p.printf("%s%s: %s\n", indent, name(g.Verdict), name(string(g.Reason)))
		}
		if g.Hint != "" {
			p.printf("%s%s %s\n", indent, p.colour(bold, "->"), line(g.Hint))
		}
	}
}

// sign is the word at the start of a rung's line, as those of steps are.
func (p *page) sign(verdict string) string {
	switch verdict {
	case rungOK:
		return p.colour(green, "PASS")
	case rungWarning:
		return p.colour(yellow, "WARN")
	case rungFailed:
		return p.colour(red, "FAIL")
	case rungUnknown:
		return p.colour(yellow, "????")
	}
	return p.colour(dim, "SKIP")
}

func (p *page) credential(c *probe.Credential) {
	if c == nil {
		return
	}
	p.section("Credential:")
	p.printf("    kind:     %s\n", name(c.Kind))
	if c.ExpiresAt != nil {
		left := ""
		if c.DaysLeft != nil {
			left = " (" + days(*c.DaysLeft) + ")"
		}
		p.printf("    ends:     %s%s\n", ending(*c.ExpiresAt), left)
	}
	if len(c.Audience) > 0 {
		p.printf("    audience: %s\n", line(strings.Join(c.Audience, ", ")))
	}
}

// ending is when something ends, for people.
func ending(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 MST") }
