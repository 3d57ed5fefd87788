package monitorpage

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

// shownIncidents are listed on the page of the monitor itself.
const shownIncidents = 10

func firstIncidents(all []watch.Incident) []watch.Incident {
	return all[:min(len(all), shownIncidents)]
}

func eraName(ctx context.Context, era string) string {
	switch era {
	case "modern":
		return lang.T(ctx, "modern: without sessions")
	case "legacy":
		return lang.T(ctx, "legacy: with a handshake")
	}
	return era
}

func sourceName(ctx context.Context, source string) string {
	switch source {
	case watch.ApprovedFirst:
		return lang.T(ctx, "the first surface that was seen")
	case watch.ApprovedLockfile:
		return lang.T(ctx, "a lockfile")
	}
	return ""
}

func authName(ctx context.Context, mode string) string {
	switch mode {
	case watch.AuthHeader:
		return lang.T(ctx, "headers")
	case watch.AuthOAuth:
		return lang.T(ctx, "oauth: the way to a login is judged")
	case watch.AuthLogin:
		return lang.T(ctx, "a token of an authorization server")
	}
	return lang.T(ctx, "none")
}

func revisionText(ctx context.Context, r *probe.Revision) string {
	if r.Supported {
		return lang.T(ctx, "spoken")
	}
	return r.Answer
}

func joined(list []string) string { return strings.Join(list, ", ") }

func headerNames(m *ops.Monitor) string {
	var out []string
	for _, h := range m.Headers {
		out = append(out, h.Name)
	}
	return joined(out)
}

func atMost(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func effects(m *ops.Monitor) string {
	var out []string
	for _, class := range slices.Sorted(maps.Keys(m.DriftEffects)) {
		out = append(out, class+": "+m.DriftEffects[class])
	}
	return joined(out)
}

func dependencies(ctx context.Context, m *ops.Monitor) string {
	var out []string
	for _, d := range m.Dependencies {
		name := d.Monitor
		if d.Critical {
			name = lang.T(ctx, "%s (critical)", name)
		}
		out = append(out, name)
	}
	return joined(out)
}

func countText(n *int64) string {
	if n == nil {
		return "–"
	}
	return strconv.FormatInt(*n, 10)
}

func msText(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func stripLabel(ctx context.Context, s strip) string {
	if s.Known == 0 {
		return lang.T(ctx, "No check of the last 90 days tells anything.")
	}
	return lang.T(ctx, "The last 90 days: %d with checks, %d of them with failures.", s.Known, s.Bad)
}

func dayLabel(ctx context.Context, b *dayBar) string {
	date := b.Day.Format(time.DateOnly)
	if b.Ratio == nil {
		return lang.T(ctx, "%s: nothing is known", date)
	}
	return lang.T(ctx, "%s: %s, %d of %d checks failed", date, shell.Percent(b.Ratio), b.Down, b.Checks)
}

// dayTop is where the bar of a day begins: the lower, the more failed.
func dayTop(b *dayBar) float64 {
	lost := 1 - *b.Ratio
	if lost == 0 {
		return 0
	}
	return 5 + lost*20
}

// kindsTitle is the English name of all items of a kind.
func kindsTitle(kind surface.Kind) string {
	for _, k := range kinds() {
		if k.Kind == kind {
			return k.Name
		}
	}
	return string(kind)
}

func descriptionTitle(ctx context.Context, kind surface.Kind) string {
	switch kind {
	case surface.Instructions:
		return lang.T(ctx, "What it tells models to do")
	case surface.Protocol:
		return lang.T(ctx, "Protocol")
	}
	return lang.T(ctx, "Description")
}

func severityName(s lint.Severity) string {
	if s == lint.Block {
		return "Fails"
	}
	return "Note"
}

func findingState(found []lint.Finding) string {
	for i := range found {
		if found[i].Severity == lint.Block {
			return "state-flagged"
		}
	}
	return "state-degraded"
}

// statusState is that of a report as a state of the pages, with its English name. None is
// that of a slot in which nothing ran.
func statusState(status string) (state, name string) {
	switch status {
	case "":
		return "paused", "Skipped"
	case "healthy":
		return "healthy", "Healthy"
	case "degraded":
		return "degraded", "Degraded"
	case "unhealthy":
		return "unhealthy", "Failed"
	case "misconfigured":
		return "misconfigured", "Misconfigured"
	}
	return "unknown", "Unknown"
}

func whyName(kind watch.Kind) string {
	switch kind {
	case watch.Confirm:
		return "To confirm"
	case watch.Manual:
		return "Asked for"
	case watch.Review:
		return "Decided by a person"
	}
	return "Schedule"
}
