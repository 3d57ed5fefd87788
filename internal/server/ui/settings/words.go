package settings

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// kindName is what a type of channels is called.
func kindName(ctx context.Context, kind string) string {
	if name, ok := kindNames[kind]; ok {
		return lang.T(ctx, name)
	}
	return kind
}

// plainly is a description of package alert on a page: its marks of code are left out.
func plainly(ctx context.Context, doc string) string {
	return strings.ReplaceAll(lang.T(ctx, doc), "`", "")
}

// field is the line of the form for a setting. What is secret is never given back.
func (f channelForm) field(ctx context.Context, field alert.Field) shell.Field {
	label := field.Name
	if own, ok := labels[field.Name]; ok {
		label = lang.T(ctx, own)
	}
	if !field.Required {
		label = lang.T(ctx, "%s (optional)", label)
	}
	out := shell.Field{
		Name: "settings." + field.Name, Label: label, Value: f.values[field.Name], Required: field.Required,
		Help: plainly(ctx, field.Doc), Problems: shell.ProblemsOf(f.refused),
	}
	if field.Example != "" {
		out.Help += " " + lang.T(ctx, "Such as: %s", field.Example)
	}
	if field.Long {
		out.Rows = 4
	}
	if !field.Secret {
		return out
	}
	out.Value = ""
	if !field.Long {
		out.Type, out.AutoComplete = "password", "new-password"
	}
	if slices.Contains(f.kept, field.Name) {
		out.Required = false
		out.Help = lang.T(ctx, "One is stored. Leave this blank to keep it.") + " " + out.Help
	}
	return out
}

// policyPath is the page of a policy.
func policyPath(name string) templ.SafeURL {
	return templ.SafeURL("/settings/escalations/policy?name=" + url.QueryEscape(name))
}

// stateNames are the states that can page, as the shell says them.
var stateNames = map[string]string{
	watch.Down: "Down", watch.Changed: "Changed", watch.Inconsistent: "Inconsistent", watch.Flagged: "Flagged", watch.Blind: "Blind",
	watch.Misconfigured: "Misconfigured", watch.Degraded: "Degraded",
}

func stateName(ctx context.Context, state string) string { return lang.T(ctx, stateNames[state]) }

// after says when in words.
func after(ctx context.Context, d time.Duration) string {
	if d == 0 {
		return lang.T(ctx, "At once")
	}
	return lang.T(ctx, "After %s", span(d))
}

func stepLabel(ctx context.Context, i int) string {
	if i == 0 {
		return lang.T(ctx, "After (since the incident opened)")
	}
	return lang.T(ctx, "After (since the step before)")
}

// said is the policy that the form says, as far as it can be read.
func (f *policyForm) said() watch.Escalation {
	e := watch.Escalation{Name: f.name, On: f.on}
	for _, s := range f.steps {
		d, _ := duration(s.delay)
		e.Steps = append(e.Steps, watch.Step{Delay: watch.Duration(d), Channels: s.channels})
	}
	e.Repeat, _ = strconv.Atoi(f.repeat)
	return e
}

func kindOfWindow(ctx context.Context, kind watch.WindowKind) string {
	if kind == watch.ExpectedChange {
		return lang.T(ctx, "Expected change")
	}
	return lang.T(ctx, "Maintenance")
}

// weekly says when a weekly window is.
func weekly(ctx context.Context, w watch.Window) string {
	var days []string
	for _, day := range dayNames {
		if slices.Contains(w.Days, day[0]) {
			days = append(days, lang.T(ctx, day[1]))
		}
	}
	return lang.T(ctx, "%s from %s for %s, in %s", strings.Join(days, ", "), w.From, span(time.Duration(w.For)), cmp.Or(w.Zone, "UTC"))
}

// scope says whom a window is for.
func scope(ctx context.Context, w watch.Window) string {
	var parts []string
	for _, one := range []struct {
		text  string
		names []string
	}{
		{lang.T(ctx, "Monitors"), w.Monitors},
		{lang.T(ctx, "Tags"), w.Tags},
		{lang.T(ctx, "Groups"), w.Groups},
	} {
		if names := one.names; len(names) > 0 {
			part := one.text + ": " + strings.Join(names[:min(len(names), maxNames)], ", ")
			if more := len(names) - maxNames; more > 0 {
				part += " " + lang.N(ctx, more, "… and %d more", "… and %d more")
			}
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return lang.T(ctx, "Every monitor")
	}
	return strings.Join(parts, "; ")
}

func databaseName(kind string) string {
	if kind == ops.SQLite {
		return "SQLite"
	}
	return "PostgreSQL"
}

// tables are what the tables of the database are called.
var tables = map[string]string{
	"monitors": "Monitors", "results": "Results", "rollups": "Summaries", "events": "Events", "incidents": "Incidents",
	"notifications": "Notifications", "deliveries": "Deliveries", "surfaces": "Surfaces", "sightings": "Sightings",
	"approvals": "Approvals", "audit": "Audit entries",
}

func tableName(ctx context.Context, table string) string { return lang.T(ctx, tables[table]) }
