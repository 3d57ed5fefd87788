package render

import (
	"fmt"
	"strings"

	"github.com/mcpvigil/mcpvigil/probe"
)

// Plugin is the line that a Nagios plugin begins with: the given word (OK,
// WARNING, CRITICAL or UNKNOWN), the most important message, and after a bar the
// performance data. It has no line end.
func Plugin(word string, reports []*probe.Report) string {
	text := strings.ReplaceAll(pluginText(reports), "|", "/") // a bar begins the data
	return fmt.Sprintf("%s - %s | %s", word, text, strings.Join(pluginData(reports), " "))
}

func pluginText(reports []*probe.Report) string {
	if len(reports) == 1 {
		return pluginMessage(reports[0])
	}
	worst, ill := (*probe.Report)(nil), 0
	for _, r := range reports {
		if r.Status != probe.StatusHealthy {
			ill++
		}
		if worst == nil || worst.Status != r.Status && worst.Status.Worse(r.Status) == r.Status {
			worst = r
		}
	}
	if ill == 0 {
		return fmt.Sprintf("%d targets are healthy", len(reports))
	}
	return fmt.Sprintf("%d of %d targets not healthy; %s: %s", ill, len(reports), name(worst.Target.Name), pluginMessage(worst))
}

func pluginMessage(r *probe.Report) string {
	if r.Status != probe.StatusHealthy {
		return causeOf(r).String()
	}
	parts := []string{fmt.Sprintf("%d/%d steps passed", r.Summary.Passed, r.Summary.Total)}
	if r.Surface != nil {
		parts = append(parts, counts(r.Surface))
	}
	return strings.Join(parts, ", ")
}

// pluginData is the time of the whole and of each step of one target, or the
// time of each of several targets.
func pluginData(reports []*probe.Report) []string {
	if len(reports) != 1 {
		var out []string
		for i, unique := range uniqueTargets(reports) {
			out = append(out, datum(unique, reports[i].TotalMs))
		}
		return out
	}
	out := []string{datum("total", reports[0].TotalMs)}
	eachStep(reports[0], func(c *probe.Result, step string) { out = append(out, datum(step, c.DurationMs)) })
	return out
}

// datum quotes a label where it has to be.
func datum(label string, m probe.Millis) string {
	label = strings.NewReplacer("'", "", "=", "-", "|", "/").Replace(label)
	if strings.ContainsAny(label, " ;,") {
		label = "'" + label + "'"
	}
	return label + "=" + millis(m)
}
