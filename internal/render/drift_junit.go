package render

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

// driftJUnit writes a suite a surface, with a case for the surface itself, one
// for the changes of a class and one for each finding. What is only an event
// passes, with a word of it in its output.
func driftJUnit(verifications []*Verification) ([]byte, error) {
	doc := junitSuites{Name: "mcpvigil"}
	var total probe.Millis
	for _, v := range verifications {
		s := driftSuite(v)
		total += v.TotalMs
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
		doc.Suites = append(doc.Suites, s)
	}
	doc.Time = taken(total)
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(out, '\n')...), nil
}

// taken is a time that is known, or empty.
func taken(m probe.Millis) string {
	if m == 0 {
		return ""
	}
	return seconds(m)
}

func driftSuite(v *Verification) junitSuite {
	s := junitSuite{Name: v.label(), Time: taken(v.TotalMs), Properties: []junitProperty{{"status", string(v.Result.Status)}}}
	if !v.Timestamp.IsZero() {
		s.Timestamp = v.Timestamp.UTC().Format("2006-01-02T15:04:05")
	}
	if v.Target != nil {
		s.Properties = append(s.Properties, junitProperty{"transport", string(v.Target.Transport)}, junitProperty{"endpoint", line(v.Target.Endpoint)})
	}
	for _, d := range []struct {
		name   string
		digest surface.Digest
	}{{"digest", v.Result.Digest}, {"approved", v.Result.Approved}} {
		if !d.digest.IsZero() {
			s.Properties = append(s.Properties, junitProperty{d.name, d.digest.String()})
		}
	}
	whole := junitCase{Name: "surface", ClassName: s.Name, Time: s.Time}
	switch {
	case v.down():
		kind := name(v.Reason)
		if kind == "" {
			kind = string(v.Result.Status)
		}
		text := line(v.Message)
		if v.Hint != "" {
			text += "\nhint: " + line(v.Hint)
		}
		whole.Error = &junitProblem{Type: kind, Message: line(v.Message), Text: text}
	case v.Result.Status != baseline.Approved:
		text := v.word() + ": " + v.counts()
		whole.Failure = &junitProblem{Type: string(v.Result.Status), Message: text, Text: text}
	default:
		whole.Output = v.word()
	}
	s.add(whole)
	for _, r := range rows(pointers(v.Result.Changes)) {
		s.add(changeCase(r, s.Name))
	}
	for i := range v.Result.Findings {
		s.add(findingCase(&v.Result.Findings[i], s.Name))
	}
	return s
}

func changeCase(r *row, suite string) junitCase {
	c := junitCase{Name: string(r.class), ClassName: suite}
	if r.identity != "" {
		c.Name += " as " + r.identity
	}
	var text strings.Builder
	for _, d := range r.details {
		for _, same := range sameEdits(d.changes) {
			fmt.Fprintf(&text, "%s: %s\n", placeOf(same), d.text)
			for _, l := range excerptLines(same[0]) {
				fmt.Fprintf(&text, "  %s\n", l)
			}
		}
	}
	body := plain.Text(strings.Join(within(strings.Split(text.String(), "\n"), 20*maxLine), "\n"), 20*maxLine)
	if r.effect == surface.Fail {
		c.Failure = &junitProblem{Type: r.details[0].changes[0].Event, Message: line(r.what(4*screenColumns, true)), Text: body}
	} else {
		c.Output = body
	}
	return c
}

func findingCase(f *baseline.Verdict, suite string) junitCase {
	c := junitCase{Name: name(f.Rule) + ": " + place(f.Kind, f.Item, f.Pointer), ClassName: suite}
	body := fmt.Sprintf("%s\n| %s\nid %s", line(f.Message), runs(line(f.Excerpt)), f.ID)
	if f.Accepted != nil {
		body += "\naccepted: " + line(f.Accepted.Reason)
	}
	if f.Effect == surface.Fail {
		c.Failure = &junitProblem{Type: lint.Event, Message: line(f.Message), Text: body}
	} else {
		c.Output = body
	}
	return c
}
