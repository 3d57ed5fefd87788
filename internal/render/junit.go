package render

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
)

// The JUnit XML that CI systems read: a suite a target, a case a step. A step
// that found the server wanting is a failure; one that could not tell, or was
// set up wrongly, is an error.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr,omitempty"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr,omitempty"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Output     string          `xml:"system-out,omitempty"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr,omitempty"`
		Failure   *junitProblem `xml:"failure,omitempty"`
		Error     *junitProblem `xml:"error,omitempty"`
		Skipped   *junitSkip    `xml:"skipped,omitempty"`
		Output    string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkip struct {
		Message string `xml:"message,attr"`
	}
)

func junit(reports []*probe.Report) ([]byte, error) {
	doc := junitSuites{Name: "mcpvigil"}
	var total probe.Millis
	for _, r := range reports {
		s := junitSuiteOf(r)
		doc.Tests += s.Tests
		doc.Failures += s.Failures
		doc.Errors += s.Errors
		doc.Skipped += s.Skipped
		total += r.TotalMs
		doc.Suites = append(doc.Suites, s)
	}
	doc.Time = seconds(total)
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(out, '\n')...), nil
}

func junitSuiteOf(r *probe.Report) junitSuite {
	s := junitSuite{
		Name: name(r.Target.Name), Time: seconds(r.TotalMs),
		Timestamp: r.Timestamp.UTC().Format("2006-01-02T15:04:05"),
		Properties: []junitProperty{
			{"status", string(r.Status)},
			{"transport", string(r.Target.Transport)},
			{"endpoint", line(r.Target.Endpoint)},
		},
	}
	if r.Server != nil {
		s.Properties = append(s.Properties,
			junitProperty{"server", serverName(r.Server)},
			junitProperty{"protocolVersion", name(r.Server.ProtocolVersion)})
	}
	if c := r.Credential; c != nil {
		s.Properties = append(s.Properties, junitProperty{"credential", name(c.Kind)})
		if c.ExpiresAt != nil {
			s.Properties = append(s.Properties, junitProperty{"credentialExpiresAt", c.ExpiresAt.UTC().Format(time.RFC3339)})
		}
	}
	for i := range r.Checks {
		s.add(junitCaseOf(&r.Checks[i], s.Name))
	}
	if !r.Passed() && s.Failures+s.Errors == 0 {
		// No step tells the verdict, but a suite must not look well.
		c := causeOf(r)
		s.add(junitCaseOf(&probe.Result{
			Name: "verdict", Status: r.Status, Message: c.String(), Reason: c.Reason, Hint: c.Hint,
		}, s.Name))
	}
	var notes strings.Builder
	for _, g := range r.Chain {
		fmt.Fprintf(&notes, "chain %s %s: %s\n", name(g.Name), name(g.Verdict), line(g.Text))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&notes, "note %s: %s\n", name(string(n.Reason)), line(n.Text))
	}
	s.Output = notes.String()
	return s
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func junitCaseOf(c *probe.Result, class string) junitCase {
	out := junitCase{Name: name(c.Name), ClassName: class, Time: seconds(c.DurationMs)}
	problem := func() *junitProblem {
		text := fmt.Sprintf("%s: %s", c.Status, line(c.Message))
		if c.Hint != "" {
			text += "\nhint: " + line(c.Hint)
		}
		if lines, of := stderrOf(c, 0); of > 0 {
			text += "\nstderr:\n" + strings.Join(lines, "\n")
		}
		kind := name(string(c.Reason))
		if kind == "" {
			kind = string(c.Status)
		}
		return &junitProblem{Type: kind, Message: line(c.Message), Text: plain.Text(text, 20*maxLine)}
	}
	switch {
	case c.Skipped:
		out.Skipped = &junitSkip{Message: line(c.Message)}
	case c.Passed:
		out.Output = line(c.Message)
	case c.Status == probe.StatusMisconfigured || c.Status == probe.StatusUnknown:
		out.Error = problem()
	default:
		out.Failure = problem()
	}
	return out
}

func seconds(m probe.Millis) string {
	return strconv.FormatFloat(float64(m)/1000, 'f', 3, 64)
}
