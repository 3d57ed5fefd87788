package watch

import "time"

// judge sets the single status from the axes: what is bad of any fails it, under the
// policy of the monitor; degraded passes.
func (st *State) judge(d *Definition) {
	fail := func(reason, text string) { st.Check, st.CheckReason, st.CheckText = CheckFail, reason, text }
	switch a := st.Availability; {
	case severity(a.State) >= severity(Misconfigured):
		reason := a.Reason
		if reason == "" {
			reason = a.State
		}
		fail(reason, joined(a.State, a.Text))
	case len(st.MissingTools) > 0:
		fail(EventToolsMissing, "expected tools are missing: "+list(st.MissingTools))
	case st.ToolsOver:
		fail(EventToolsOver, "more tools are listed than are allowed")
	case severity(st.Surface.State) > 0:
		fail(st.Surface.Reason, joined(st.Surface.State, st.Surface.Text))
	case st.Posture.State == Flagged && (st.OpenFindings > 0 || d.AuthMode == AuthOAuth):
		fail(st.Posture.Reason, joined(st.Posture.State, st.Posture.Text))
	case a.State == Unknown || a.State == "":
		st.Check, st.CheckReason, st.CheckText = CheckUnknown, a.Reason, a.Text
	case st.Awaiting:
		st.Check, st.CheckReason, st.CheckText = CheckUnknown, ReasonAwaiting, ReasonText(ReasonAwaiting)
	default:
		st.Check, st.CheckReason, st.CheckText = CheckPass, "", ""
	}
}

// View is how a monitor stands, for everybody who shows it.
type View struct {
	Availability AxisState `json:"availability"`
	Surface      AxisState `json:"surface"`
	Posture      AxisState `json:"posture"`
	Check        string    `json:"check"`
	CheckReason  string    `json:"check_reason,omitempty"`
	CheckText    string    `json:"check_text,omitempty"`
	// Stale: the last check is longer ago than three intervals.
	Stale   bool `json:"stale"`
	Healthy bool `json:"healthy"` // up or degraded
	Paused  bool `json:"paused"`
}

// Current is how m stands at now. st is nil when it was never checked, which is never
// healthy, no more than when another server was. What is stale, or paused, is unknown in every part.
func Current(m *Monitor, st *State, now time.Time) View {
	d := &m.Definition
	switch {
	case m.Paused:
		v := unknownView(ReasonPaused, m.UpdatedAt, st)
		v.Paused = true
		return v
	case st == nil || st.LastCheck.IsZero() || st.Target != d.server():
		return unknownView(ReasonPending, m.UpdatedAt, st)
	case now.After(StaleAt(m, st)):
		v := unknownView(ReasonStale, st.LastCheck, st)
		v.Stale = true
		return v
	}
	v := View{
		Availability: st.Availability, Surface: st.Surface, Posture: st.Posture,
		Check: st.Check, CheckReason: st.CheckReason, CheckText: st.CheckText,
		Healthy: st.Availability.State == Up || st.Availability.State == Degraded,
	}
	for _, a := range []*AxisState{&v.Availability, &v.Surface, &v.Posture} {
		if a.State == "" {
			a.State, a.Reason, a.Text = Unknown, ReasonPending, ReasonText(ReasonPending)
		}
	}
	if v.Check == "" {
		v.Check, v.CheckReason, v.CheckText = CheckUnknown, ReasonPending, ReasonText(ReasonPending)
	}
	return v
}

// StaleAt is until when Current takes st for how m stands, if nothing else keeps it from
// that: after three intervals, and what a check may take, it is stale.
func StaleAt(m *Monitor, st *State) time.Time {
	d := &m.Definition
	return st.LastCheck.Add(3*d.every() + Budget(d, d.startup()))
}

// unknownView is one of which nothing is known since a time. Incidents stay open.
func unknownView(reason string, since time.Time, st *State) View {
	text := ReasonText(reason)
	axis := AxisState{State: Unknown, Since: since, Reason: reason, Text: text}
	v := View{Availability: axis, Surface: axis, Posture: axis, Check: CheckUnknown, CheckReason: reason, CheckText: text}
	if st != nil {
		v.Availability.Incident, v.Surface.Incident, v.Posture.Incident = st.Availability.Incident, st.Surface.Incident, st.Posture.Incident
	}
	return v
}
