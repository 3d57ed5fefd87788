package monitorpage

import (
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// step is what to do next, in a line.
type step struct {
	// Tone is good, warn or bad, or empty.
	Tone, Text string
	// Hint is more about it, in English.
	Hint string
	// Link says where Path leads; empty: nowhere.
	Path, Link string
}

// next is the most urgent of what a person can do about a monitor.
func (p *pages) next(q *shell.Request, m *ops.Monitor) step {
	s := &m.Status
	switch {
	case m.Paused:
		return step{Text: q.T("Nothing is checked while it is paused. Resume it to know how the server is.")}
	case s.LastCheck == nil:
		return step{Text: q.T("It was never checked. The first check runs within %s.", shell.Duration(time.Duration(m.Interval)))}
	case s.Stale:
		return step{Tone: "warn", Text: q.T("No check for three intervals: see that a process runs for its locations."), Path: shell.MonitorPath(m.ID, "/checks"), Link: q.T("Checks")}
	case s.Availability.State == watch.Down:
		return p.incident(q, m, step{Tone: "bad", Text: q.T("The server is down. See why, and acknowledge the incident."), Hint: p.hints[s.Availability.Reason]})
	case s.Availability.State == watch.Misconfigured:
		return p.misconfigured(q, m)
	}
	if todo, ok := p.decide(q, m); ok {
		return todo
	}
	switch s.Availability.State {
	case watch.Degraded:
		return p.incident(q, m, step{Tone: "warn", Text: q.T("The server works, but not as well as it should."), Hint: p.hints[s.Availability.Reason]})
	case watch.Unknown:
		return step{Text: q.T("The last check could not tell."), Hint: p.hints[s.Availability.Reason], Path: shell.MonitorPath(m.ID, "/checks"), Link: q.T("Checks")}
	}
	return step{Tone: "good", Text: q.T("Nothing to do.")}
}

// decide is what waits for a person who may approve.
func (p *pages) decide(q *shell.Request, m *ops.Monitor) (step, bool) {
	s := &m.Status
	review := step{Tone: "bad", Path: shell.MonitorPath(m.ID, "/review"), Link: q.T("Review")}
	switch {
	case s.Awaiting:
		review.Tone = "warn"
		review.Text = q.T("Nothing is approved that belongs to this server: confirm what it tells agents.")
	case s.Surface.State == watch.Changed || s.Surface.State == watch.Inconsistent:
		review.Text = lang.N(q.Context(), s.OpenChanges, "%d change is open: review what the server tells agents now.", "%d changes are open: review what the server tells agents now.")
	case s.Posture.State == watch.Flagged && s.OpenFindings > 0:
		review.Text = lang.N(q.Context(), s.OpenFindings, "%d finding is open: read it before an agent does.", "%d findings are open: read them before an agent does.")
	case s.Posture.State == watch.Flagged:
		return p.incident(q, m, step{Tone: "bad", Text: q.T("New clients cannot log in: see where the way to a login breaks."), Path: shell.MonitorPath(m.ID, "#login"), Link: q.T("The way to a login")}), true
	default:
		return step{}, false
	}
	return review, true
}

func (p *pages) misconfigured(q *shell.Request, m *ops.Monitor) step {
	todo := step{Tone: "warn", Text: q.T("Fix the credential or the settings of this monitor: the server itself may be well."), Hint: p.hints[m.Status.Availability.Reason]}
	switch {
	case m.Source == watch.FromFile:
		todo.Text = q.T("Fix the credential or the settings in the configuration file: the server itself may be well.")
	case q.Actor.Can(people.Write):
		todo.Path, todo.Link = shell.MonitorPath(m.ID, "/edit"), q.T("Edit")
	}
	return todo
}

// incident leads to the open incident of the availability, when there is one.
func (p *pages) incident(q *shell.Request, m *ops.Monitor, todo step) step {
	if id := m.Status.Availability.Incident; id != 0 && todo.Path == "" {
		todo.Path, todo.Link = shell.IncidentPath(id), q.T("Incident %d", id)
	}
	return todo
}
