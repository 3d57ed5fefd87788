package watch

import "time"

// Context is what Decide has to know besides the monitor and what was seen.
type Context struct {
	Now time.Time
	// Maintenance: a maintenance window is open.
	Maintenance bool
	// HasApproval: something is approved of the monitor.
	HasApproval bool
}

// Decision is what an observation means.
type Decision struct {
	State State
	// Events are to be written. Those about an incident that is new have no id of it.
	Events []Event
	// Incidents are new (ID 0) or changed (with their ID).
	Incidents []Incident
	// First is the first baseline, to be written, or nil.
	First *Approval
	// Drop: what is approved does not belong to the monitor any more.
	Drop bool
	// ConfirmAt is when another check is to look again; zero: at the next slot.
	ConfirmAt time.Time
	// Fresh: the observation was of the revision and the approvals of the monitor, and
	// its surface counted. When it did not, another check should run soon.
	Fresh bool
}

// Decide says what an observation means.
func Decide(m *Monitor, st State, open []Incident, o *Observation, c Context) Decision {
	return Decision{State: st}
}

// DecideSystem says what observations mean for the location that made them: checks that
// cannot be run are one incident there, however many monitors there are.
func DecideSystem(location string, open *Incident, observations []*Observation, now time.Time) (changed *Incident, events []Event) {
	return nil, nil
}

// Removed resolves what is open of a monitor that is deleted or paused.
func Removed(m *Monitor, open []Incident, now time.Time) ([]Incident, []Event) { return nil, nil }

// View is how a monitor stands, for everybody who shows it.
type View struct {
	Availability AxisState `json:"availability"`
	Surface      AxisState `json:"surface"`
	Posture      AxisState `json:"posture"`
	Check        string    `json:"check"`
	CheckReason  string    `json:"check_reason,omitempty"`
	CheckText    string    `json:"check_text,omitempty"`
	Stale        bool      `json:"stale"`
	Healthy      bool      `json:"healthy"` // up or degraded
	Paused       bool      `json:"paused"`
}

// Current is how m stands at now. st is nil when it was never checked.
func Current(m *Monitor, st *State, now time.Time) View { return View{} }
