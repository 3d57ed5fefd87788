package render

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/probe"
)

// prometheus writes the text exposition format, version 0.0.4, for a textfile
// collector or a push. Each series carries the target's name; targets that share
// a name are told apart by " (2)" and so on, since a series may occur only once.
func prometheus(reports []*probe.Report) []byte {
	names := uniqueTargets(reports)
	var b strings.Builder
	for _, f := range families() {
		var series strings.Builder
		for i, r := range reports {
			f.series(r, func(value float64, labels ...string) {
				writeSeries(&series, f.name, names[i], labels, value)
			})
		}
		if series.Len() > 0 {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n%s", f.name, f.help, f.name, series.String())
		}
	}
	return []byte(b.String())
}

// family is one metric: series calls emit for each of a report's series, with
// pairs of label name and value beside the target.
type family struct {
	name, help string
	series     func(r *probe.Report, emit func(value float64, labels ...string))
}

type emitter = func(value float64, labels ...string)

// families returns every metric, in the order of the output. It is long because
// it is the table of them.
func families() []family {
	return []family{
		{
			"mcpvigil_up", "Whether a client can use the server: 1 for healthy and degraded, 0 otherwise.",
			func(r *probe.Report, emit emitter) { emit(truth(r.Status.Passed())) },
		},
		{
			"mcpvigil_status", "The verdict of the check: 1 for the one that holds, 0 for the others.",
			func(r *probe.Report, emit emitter) {
				for _, s := range statuses() {
					emit(truth(r.Status == s), "status", string(s))
				}
			},
		},
		{
			"mcpvigil_check_duration_seconds", "How long the whole check took.",
			func(r *probe.Report, emit emitter) { emit(float64(r.TotalMs) / 1000) },
		},
		{
			"mcpvigil_check_timestamp_seconds", "When the check was made, in seconds since the epoch.",
			func(r *probe.Report, emit emitter) { emit(float64(r.Timestamp.UnixMilli()) / 1000) },
		},
		{
			"mcpvigil_step_passed", "Whether a step of the check passed. Steps that did not run are left out.",
			func(r *probe.Report, emit emitter) {
				eachStep(r, func(c *probe.Result, step string) { emit(truth(c.Passed), "step", step) })
			},
		},
		{
			"mcpvigil_step_duration_seconds", "How long a step of the check took.",
			func(r *probe.Report, emit emitter) {
				eachStep(r, func(c *probe.Result, step string) { emit(float64(c.DurationMs)/1000, "step", step) })
			},
		},
		{
			"mcpvigil_step_info", "The verdict on a step of the check, and its reason. Always 1.",
			func(r *probe.Report, emit emitter) {
				eachStep(r, func(c *probe.Result, step string) {
					emit(1, "step", step, "status", string(c.Status), "reason", string(c.Reason))
				})
			},
		},
		{"mcpvigil_tools", "Tools that the server lists.", count(func(s *probe.Surface) *int { return s.Tools })},
		{"mcpvigil_resources", "Resources that the server lists.", count(func(s *probe.Surface) *int { return s.Resources })},
		{"mcpvigil_resource_templates", "Resource templates that the server lists.", count(func(s *probe.Surface) *int { return s.ResourceTemplates })},
		{"mcpvigil_prompts", "Prompts that the server lists.", count(func(s *probe.Surface) *int { return s.Prompts })},
		{
			"mcpvigil_notes", "Things off-spec that did not change the verdict.",
			func(r *probe.Report, emit emitter) { emit(float64(len(r.Notes))) },
		},
		{
			"mcpvigil_certificate_expiry_timestamp_seconds", "When the endpoint's certificate expires, in seconds since the epoch.",
			func(r *probe.Report, emit emitter) {
				if r.Certificate != nil {
					emit(float64(r.Certificate.NotAfter.Unix()))
				}
			},
		},
		{
			"mcpvigil_credential_expiry_timestamp_seconds", "When the credential of the check expires, in seconds since the epoch. Left out where that cannot be told.",
			func(r *probe.Report, emit emitter) {
				if c := r.Credential; c != nil && c.ExpiresAt != nil {
					emit(float64(c.ExpiresAt.Unix()), "kind", c.Kind)
				}
			},
		},
		{
			"mcpvigil_info", "Who the server says it is. Always 1.",
			func(r *probe.Report, emit emitter) {
				if r.Server != nil {
					emit(1, "server", r.Server.Name, "version", r.Server.Version, "protocol", r.Server.ProtocolVersion, "era", r.Era)
				}
			},
		},
	}
}

func count(of func(*probe.Surface) *int) func(*probe.Report, emitter) {
	return func(r *probe.Report, emit emitter) {
		if r.Surface == nil {
			return
		}
		if n := of(r.Surface); n != nil {
			emit(float64(*n))
		}
	}
}

func statuses() []probe.Status {
	return []probe.Status{probe.StatusHealthy, probe.StatusDegraded, probe.StatusUnknown, probe.StatusMisconfigured, probe.StatusUnhealthy}
}

// eachStep visits the steps that ran. Custom checks may share a name; only the
// first of a name is visited, since a series may occur only once.
func eachStep(r *probe.Report, visit func(c *probe.Result, step string)) {
	var seen []string
	for i := range r.Checks {
		c := &r.Checks[i]
		if step := name(c.Name); !c.Skipped && !slices.Contains(seen, step) {
			seen = append(seen, step)
			visit(c, step)
		}
	}
}

func uniqueTargets(reports []*probe.Report) []string {
	used := map[string]bool{}
	names := make([]string, len(reports))
	for i, r := range reports {
		base := line(r.Target.Name)
		unique := base
		for n := 2; used[unique]; n++ {
			unique = fmt.Sprintf("%s (%d)", base, n)
		}
		used[unique] = true
		names[i] = unique
	}
	return names
}

func writeSeries(b *strings.Builder, metric, target string, labels []string, value float64) {
	fmt.Fprintf(b, `%s{target="%s"`, metric, label(target))
	for i := 0; i+1 < len(labels); i += 2 {
		fmt.Fprintf(b, `,%s="%s"`, labels[i], label(line(labels[i+1])))
	}
	// Microseconds are as fine as anything here is measured.
	fmt.Fprintf(b, "} %s\n", strconv.FormatFloat(math.Round(value*1e6)/1e6, 'f', -1, 64))
}

// label escapes a label value, which holds no line ends any more.
func label(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
