package render

import (
	"fmt"
	"strings"

	"github.com/mcpvigil/mcpvigil/probe"
)

// cause is why a report has its verdict, as the report tells it. Only String
// makes it safe to show.
type cause struct {
	Name    string       `json:"name"` // the step; empty when there is none to blame
	Status  probe.Status `json:"status"`
	Reason  probe.Reason `json:"reason,omitempty"`
	Message string       `json:"message"`
	Hint    string       `json:"hint,omitempty"`
}

func (c cause) String() string {
	if c.Name == "" {
		return line(c.Message)
	}
	return name(c.Name) + ": " + line(c.Message)
}

const nothingChecked = "nothing was checked, because the target's list of checks is empty"

// causeOf finds the cause of a verdict that is not healthy: the first step with
// that verdict, else the step that the time ran out before, else a dependency.
func causeOf(r *probe.Report) cause {
	if c := worstStep(r); c != nil {
		out := cause{c.Name, r.Status, c.Reason, c.Message, c.Hint}
		if c.Name != probe.StepDependencies {
			return out
		}
		if d := guilty(r); d != nil && !strings.Contains(out.Message, causeOf(reportOf(d)).Message) {
			out.Message += "; " + dependencyCause(d)
		}
		return out
	}
	if d := guilty(r); d != nil {
		return cause{Name: probe.StepDependencies, Status: r.Status, Reason: "dependency", Message: dependencyCause(d), Hint: "look at the dependency first"}
	}
	if len(r.Checks) == 0 && r.Status == probe.StatusUnknown {
		return cause{Status: r.Status, Message: nothingChecked, Hint: "name what to judge under checks, or leave it out for the default"}
	}
	return cause{Status: r.Status, Message: "the report does not hold the step that made it so"}
}

// worstStep is the first step that has the report's verdict, or nil. A skipped
// one counts when it carries an error: the time ran out before it.
func worstStep(r *probe.Report) *probe.Result {
	for _, skipped := range []bool{false, true} {
		for i := range r.Checks {
			c := &r.Checks[i]
			if c.Skipped == skipped && c.Status == r.Status && (!skipped || c.Error != nil) {
				return c
			}
		}
	}
	return nil
}

// guilty is the worst of r's dependencies, a critical one before an optional
// one, or nil when all are healthy.
func guilty(r *probe.Report) *probe.DependencyResult {
	var out *probe.DependencyResult
	for _, critical := range []bool{true, false} {
		for i := range r.Dependencies {
			d := &r.Dependencies[i]
			if d.Critical != critical || d.Status == probe.StatusHealthy || out != nil && out.Status.Worse(d.Status) == out.Status {
				continue
			}
			out = d
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// dependencyCause says what is wrong with d, and follows it down to the target
// where the trouble starts.
func dependencyCause(d *probe.DependencyResult) string {
	return fmt.Sprintf("%s is %s: %s", name(d.Name), d.Status, causeOf(reportOf(d)))
}

// reportOf is d's report, or what is known of it.
func reportOf(d *probe.DependencyResult) *probe.Report {
	if d.Report != nil {
		return d.Report
	}
	return &probe.Report{Status: d.Status, Checks: d.Checks}
}

// checkTail is how much of a failed command's standard error check shows.
const checkTail = 5

// stderrOf returns the last lines of what a failed command wrote to its standard
// error, safe to show, and how many lines there were. most 0: all lines.
func stderrOf(c *probe.Result, most int) (lines []string, of int) {
	text, ok := c.Details["stderr"].(string)
	if text = strings.TrimRight(text, "\r\n\t "); !ok || text == "" {
		return nil, 0
	}
	lines = strings.Split(strings.NewReplacer("\r\n", "\n", "\t", "    ").Replace(text), "\n")
	of = len(lines)
	if most > 0 && of > most {
		lines = lines[of-most:]
	}
	for i, l := range lines {
		lines[i] = line(l)
	}
	return lines, of
}
