package engine

import (
	"context"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Bounds of what a result holds of a report, in bytes.
const (
	maxMessage = 512
	maxName    = 128
)

// look checks a monitor and says what was seen. mem is that of the monitor.
func (e *Engine) look(ctx context.Context, m *entry, t *target.Target, mem *memory, o *watch.Observation) error {
	options := e.probeOptions(m, t)
	now := e.now()
	options.AuthMetadata = mem.loginDue(now)
	report := e.check(ctx, t, options)
	if ctx.Err() != nil {
		return context.Cause(ctx) // what is in the report is not about the server
	}
	e.metrics.checked(report)
	describe(o, report)
	if s := e.surfaceOf(report, t, mem, options.AuthMetadata, now); s != nil {
		if err := e.judge(ctx, &sight{monitor: m, target: t, options: options, memory: mem, surface: s, report: report}, o); err != nil {
			return err
		}
	}
	return addReport(mem, o, report)
}

// describe notes in o what a report says beside the surface.
func describe(o *watch.Observation, r *probe.Report) {
	o.Status = string(r.Status)
	if step := cause(r); step != nil {
		o.Reason, o.Step = string(step.Reason), plain.Line(step.Name, maxName)
		o.Message = plain.Line(step.Message, maxMessage)
	}
	o.Local = r.Status == probe.StatusUnknown && ownFault(o.Reason)
	o.Timing = timing(r)
	if r.Surface != nil {
		o.Tools = r.Surface.Tools
	}
	for i := range r.Chain {
		o.ChainBroken = o.ChainBroken || r.Chain[i].Verdict == "failed"
	}
	if r.Server != nil {
		o.Server = plain.Line(strings.TrimSpace(r.Server.Name+" "+r.Server.Version), maxName)
		o.Protocol = plain.Line(r.Server.ProtocolVersion, maxName)
	}
	o.Era = r.Era
	if r.Certificate != nil {
		o.CertificateEnds = r.Certificate.NotAfter.UTC()
	}
	if r.Credential != nil && r.Credential.ExpiresAt != nil {
		o.CredentialEnds = r.Credential.ExpiresAt.UTC()
	}
}

// cause is the step that made a report what it is, or nil for a healthy one.
func cause(r *probe.Report) *probe.Result {
	if r.Status == probe.StatusHealthy {
		return nil
	}
	for _, skipped := range []bool{false, true} {
		for i := range r.Checks {
			if c := &r.Checks[i]; c.Skipped == skipped && c.Status == r.Status && (!skipped || c.Error != nil) {
				return c
			}
		}
	}
	return nil
}

// ownFault reports whether a check that could not tell failed on this machine, before
// it learnt anything of the server.
func ownFault(reason string) bool {
	switch reason {
	case "descriptor-limit", "process-limit", "network-unreachable", "dns-failure", "proxy-error":
		return true
	}
	return false
}

func timing(r *probe.Report) watch.Timing {
	out := watch.Timing{Total: float64(r.TotalMs)}
	took := func(step string) *float64 {
		if c := r.Result(step); c != nil && !c.Skipped && c.DurationMs > 0 {
			return millis(&c.DurationMs)
		}
		return nil
	}
	out.Init, out.List = took(probe.StepInitialize), took(probe.StepTools)
	if c := r.Result(probe.StepConnect); c != nil && c.Stages != nil {
		s := c.Stages
		out.DNS, out.TCP, out.TLS, out.FirstByte = millis(s.DNS), millis(s.TCP), millis(s.TLS), millis(s.FirstByte)
	}
	return out
}

func millis(m *probe.Millis) *float64 {
	if m == nil {
		return nil
	}
	f := float64(*m)
	return &f
}

// surfaceOf is the surface that a check saw, with what is known of the login, or nil
// when it saw none. The same bytes are not read twice.
func (e *Engine) surfaceOf(r *probe.Report, t *target.Target, mem *memory, looked bool, now time.Time) *surface.Surface {
	if r.Inventory == nil {
		return nil
	}
	mem.recall(r.Inventory, looked, now)
	sum := sumOf(r)
	if sum == mem.sum && !mem.digest.IsZero() {
		if s, ok := e.surfaces.get(mem.digest); ok {
			return s
		}
	}
	s := r.Snapshot()
	if s == nil || len(s.Unlisted()) >= inventories && !(t.AuditChain && hasLogin(s)) {
		return nil
	}
	mem.sum, mem.digest = sum, s.Digest()
	if shared, ok := e.surfaces.get(mem.digest); ok {
		return shared
	}
	e.surfaces.put(mem.digest, s, weight(s))
	return s
}

// inventories is how many kinds are listed.
const inventories = 4

// hasLogin reports whether s has metadata of a login, of which there may be none.
func hasLogin(s *surface.Surface) bool {
	for _, item := range s.Of(surface.Auth) {
		if string(item.Definition) != "{}" {
			return true
		}
	}
	return false
}

// whole reports whether s is all of the server, or all that is asked for: its login.
func whole(s *surface.Surface, t *target.Target) bool {
	return s.Complete() || t.AuditChain && hasLogin(s)
}

// weight is about how many bytes a surface takes.
func weight(s *surface.Surface) int {
	n := 1024
	for _, item := range s.Items() {
		n += 512 + 2*len(item.Definition)
	}
	return n
}

// addReport adds the report to o, when the stored one should be replaced: it says
// something else, or is old.
func addReport(mem *memory, o *watch.Observation, r *probe.Report) (err error) {
	if reportKey(o) == mem.reportKey && o.Started.Sub(mem.reportAt) < reportEvery {
		return nil
	}
	o.Report, err = r.MarshalJSON()
	return err
}

func reportKey(o *watch.Observation) string { return o.Status + " " + o.Reason }

// clientOf is the client identity of checks, as a baseline is bound to it.
func clientOf(c probe.Client) string { return baseline.ClientOf(c.Name, c.UserAgent) }
