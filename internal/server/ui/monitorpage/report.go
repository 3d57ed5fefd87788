package monitorpage

import (
	"encoding/json"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/probe"
)

// maxNotes bounds what is shown of a report's notes, steps and rungs.
const maxNotes = 50

// reportView is the last report of a location, to be shown.
type reportView struct {
	Location string
	At       time.Time
	// Report is nil when the stored one cannot be read.
	Report *probe.Report
	Steps  []fall
}

// fall is a step in the waterfall of a check. Left and Width are shares of the whole, in
// per cent.
type fall struct {
	probe.Result
	Left, Width float64
	// Stages are those of the first exchange of the step.
	Parts []fallPart
}

// fallPart is a stage of the first exchange; the name is English.
type fallPart struct {
	Name        string
	Ms          probe.Millis
	Left, Width float64
}

func readReport(stored *ops.StoredReport) reportView {
	v := reportView{Location: stored.Location, At: stored.At}
	var r probe.Report
	if json.Unmarshal(stored.Report, &r) != nil {
		return v
	}
	r.Checks, r.Notes, r.Chain = first(r.Checks), first(r.Notes), first(r.Chain)
	v.Report = &r
	v.waterfall()
	return v
}

func first[T any](list []T) []T { return list[:min(len(list), maxNotes)] }

// waterfall lays the steps out one after the other, as they ran.
func (v *reportView) waterfall() {
	var whole, at probe.Millis
	for i := range v.Report.Checks {
		whole += v.Report.Checks[i].DurationMs
	}
	whole = max(whole, v.Report.TotalMs, 0.001)
	share := func(ms probe.Millis) float64 { return float64(ms) / float64(whole) * 100 }
	for i := range v.Report.Checks {
		c := v.Report.Checks[i]
		f := fall{Result: c, Left: share(at), Width: share(c.DurationMs)}
		part := at
		for _, one := range stagesOf(c.Stages) {
			one.Left, one.Width = share(part), share(one.Ms)
			part += one.Ms
			f.Parts = append(f.Parts, one)
		}
		at += c.DurationMs
		v.Steps = append(v.Steps, f)
	}
}

func stagesOf(s *probe.Stages) []fallPart {
	if s == nil {
		return nil
	}
	var out []fallPart
	for _, one := range []struct {
		name string
		ms   *probe.Millis
	}{{"Starting", s.Spawn}, {"DNS", s.DNS}, {"TCP", s.TCP}, {"TLS", s.TLS}, {"First byte", s.FirstByte}} {
		if one.ms != nil {
			out = append(out, fallPart{Name: one.name, Ms: *one.ms})
		}
	}
	return out
}

// rungState is the verdict on a rung of the login as a state of the pages.
func rungState(verdict string) (state, english string) {
	switch verdict {
	case "ok":
		return "pass", "Fine"
	case "warning":
		return "degraded", "Warning"
	case "failed":
		return "fail", "Broken"
	case "skipped":
		return "paused", "Not reached"
	}
	return "unknown", "Unknown"
}

// stepState is the outcome of a step as a state of the pages.
func stepState(r *probe.Result) (state, english string) {
	switch {
	case r.Skipped:
		return "paused", "Skipped"
	case r.Status == probe.StatusHealthy:
		return "pass", "Fine"
	case r.Status == probe.StatusDegraded:
		return "degraded", "Degraded"
	case r.Status == probe.StatusMisconfigured:
		return "misconfigured", "Misconfigured"
	case r.Status == probe.StatusUnhealthy:
		return "fail", "Failed"
	}
	return "unknown", "Unknown"
}
