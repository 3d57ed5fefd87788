package watch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Context is what Decide has to know besides the monitor and what was seen.
type Context struct {
	Now time.Time
	// Maintenance: a maintenance window is open. Its results are no flapping; whom it
	// keeps from being told is a matter of Holds.
	Maintenance bool
	// HasApproval: something is approved of the monitor, by its Approvals.
	HasApproval bool
}

// Decision is what an observation means.
type Decision struct {
	State State
	// Events are to be written, all of them: those of First and Drop are among them.
	// Those about a new incident have 0 for its id.
	Events []Event
	// Incidents are new (ID 0) or changed. Their Key tells them apart also before they
	// have an ID: it is the same in every Decision about an incident.
	Incidents []Incident
	// First is the first baseline, to be written, or nil.
	First *Approval
	// Drop: what is approved does not belong to the monitor any more.
	Drop bool
	// ConfirmAt is when another check is to look again; zero: at the next slot.
	ConfirmAt time.Time
	// Fresh: all of the observation counted. It did not when it was made for another
	// revision, or when what is approved has changed since; ConfirmAt is now then.
	Fresh bool
}

// decider makes one decision.
type decider struct {
	Decision
	m      *Monitor
	o      *Observation
	c      Context
	st     State
	before State
	open   map[Axis]*Incident
	now    time.Time
	// surfaceText and postureText are what this observation says of those axes, if it
	// does.
	surfaceReason, surfaceText string
	postureReason, postureText string
	surfaceItems, postureItems []string
}

// Decide says what an observation means: st is the state before it and open the open
// incidents of the monitor. It changes none of them.
//
// A result that is older than the last one of its location, and one of a slot that was
// skipped, mean nothing. Observations of one monitor are decided one after the other,
// each with the state and the incidents that the one before left.
func Decide(m *Monitor, st State, open []Incident, o *Observation, c Context) Decision {
	d := &decider{m: m, o: o, c: c, st: st.clone(), before: st, open: map[Axis]*Incident{}, now: cut(c.Now)}
	d.Fresh = true
	for i := range open {
		if open[i].Open() && open[i].Monitor == m.ID {
			incident := open[i]
			d.open[incident.Axis] = &incident
		}
	}
	switch {
	case o.Revision != m.Revision:
		d.Fresh, d.ConfirmAt = false, d.now
	case o.Kind != Review && o.Status == "":
	case o.Kind != Review && o.Started.Before(st.Locations[o.Location].At):
	default:
		d.begin()
		if o.Kind != Review {
			d.seeResult()
			d.settleAvailability()
			d.seeEnds()
		}
		d.seeSurface()
		d.settle(Surface, &d.st.Surface)
		d.settle(Posture, &d.st.Posture)
		d.seeTools()
		d.incidents()
		d.st.judge(&m.Definition)
	}
	d.State = d.st
	return d.Decision
}

// clone copies what Decide changes in place.
func (st State) clone() State {
	st.Locations = maps.Clone(st.Locations)
	if st.Locations == nil {
		st.Locations = map[string]LocationState{}
	}
	st.Said = slices.Clone(st.Said)
	return st
}

// begin fits the state to the monitor: what was seen of another server, and from
// locations that it is not checked from any more, is forgotten.
func (d *decider) begin() {
	if now := d.m.Definition.server(); d.st.Target != now {
		clear(d.st.Locations)
		d.st.Target, d.st.CertificateSaid, d.st.CredentialSaid = now, time.Time{}, time.Time{}
	}
	d.st.Monitor, d.st.Revision = d.m.ID, d.m.Revision
	for name := range d.st.Locations {
		if name != d.o.Location && len(d.m.Definition.Locations) > 0 && !slices.Contains(d.m.Definition.Locations, name) {
			delete(d.st.Locations, name)
		}
	}
}

func (d *decider) here() LocationState { return d.st.Locations[d.o.Location] }

// seeResult adds the result to what its location saw.
func (d *decider) seeResult() {
	o := d.o
	l := d.here()
	l.see(o, &d.m.Definition, d.c.Maintenance || o.Maintenance)
	l.At = cut(o.Started)
	if l.At.IsZero() {
		l.At = d.now
	}
	d.st.Locations[o.Location] = l
	d.ConfirmAt = l.confirmAt(&d.m.Definition, d.now)
	if l.At.After(d.st.LastCheck) {
		d.st.LastCheck = l.At
	}
	now := AvailabilityOf(o.Status)
	if now == Up || now == Degraded {
		d.st.LastUp, d.st.Timing = l.At, o.Timing
		d.st.CertificateEnds, d.st.CredentialEnds = o.CertificateEnds, o.CredentialEnds
	}
	replace(&d.st.CertificateEnds, o.CertificateEnds)
	replace(&d.st.CredentialEnds, o.CredentialEnds)
	replace(&d.st.Server, plain.Line(o.Server, maxName))
	replace(&d.st.Protocol, plain.Line(o.Protocol, maxName))
	replace(&d.st.Era, plain.Line(o.Era, maxName))
}

// replace sets what is known.
func replace[T comparable](old *T, now T) {
	var none T
	if now != none {
		*old = now
	}
}

// fresh are the locations whose last result has a vote: none that is older than two
// intervals. For a review all do.
func (d *decider) fresh() map[string]LocationState {
	out := make(map[string]LocationState, len(d.st.Locations))
	oldest := d.now.Add(-2*d.m.Definition.every() - Budget(&d.m.Definition, d.m.Definition.startup()))
	for name, l := range d.st.Locations {
		if d.o.Kind == Review || name == d.o.Location || !l.At.Before(oldest) {
			out[name] = l
		}
	}
	return out
}

// turn moves an axis, and reports whether its state is another one now.
func (d *decider) turn(a *AxisState, state, reason, text string) bool {
	turned := a.State != state
	if turned {
		a.Since = d.now
	}
	a.State, a.Reason, a.Text = state, reason, text
	return turned
}

// event adds an event of the monitor, now.
func (d *decider) event(e Event) {
	e.Monitor, e.At = d.m.ID, d.now
	d.Events = append(d.Events, e)
}

// settle decides the axis of the surface or of posture from what the locations saw.
func (d *decider) settle(axis Axis, a *AxisState) {
	states := make([]string, 0, len(d.st.Locations))
	for _, l := range d.fresh() {
		if axis == Surface {
			states = append(states, l.Surface)
		} else {
			states = append(states, l.Posture)
		}
	}
	good, said, reason, text := AsApproved, d.here().Surface, d.surfaceReason, d.surfaceText
	if axis == Posture {
		good, said, reason, text = Clean, d.here().Posture, d.postureReason, d.postureText
	}
	state := quorum(states, good)
	if state == good && slices.ContainsFunc(states, func(s string) bool { return severity(s) > 0 }) {
		// What one location saw is said to agents there; it was listed more than once.
		state = Inconsistent
		if axis == Posture {
			state = Flagged
		}
	}
	if axis == Surface && d.st.Awaiting {
		state, said, reason, text = Unknown, Unknown, ReasonAwaiting, ReasonText(ReasonAwaiting)
	}
	if text == "" && (said != state || a.State == state) { // nothing was said of what stands
		reason, text = a.Reason, a.Text
		if a.State != state {
			reason, text = "", ""
		}
	}
	if state == good {
		reason, text = "", ""
	}
	from := a.State
	if d.turn(a, state, reason, text) {
		d.sayTurn(axis, from, state, text)
	}
}

// sayTurn writes the event of an axis that moved. The changes and the findings that
// make it bad have events of their own.
func (d *decider) sayTurn(axis Axis, from, to, text string) {
	switch {
	case axis == Surface && to == AsApproved && severity(from) > 0 && d.before.Approvals == d.st.Approvals:
		d.event(Event{Name: EventApproved, Axis: axis, Text: "what the server tells agents is as approved again", Data: &Facts{Location: d.o.Location}})
	case axis == Posture && to == Flagged:
		d.event(Event{Name: EventFlagged, Axis: axis, Text: joined("flagged", text), Data: &Facts{Reason: d.postureReason, Location: d.o.Location}})
	case axis == Posture && to == Clean && from == Flagged:
		d.event(Event{Name: EventClean, Axis: axis, Text: "no finding fails any more", Data: &Facts{Location: d.o.Location}})
	}
}

// seeTools compares the list of tools with what is expected.
func (d *decider) seeTools() {
	o, m := d.o, &d.m.Definition
	if o.Surface == nil && len(o.MissingTools) == 0 && o.Tools == nil {
		return
	}
	d.st.Tools = o.Tools
	if o.Tools == nil && o.Surface != nil && !slices.Contains(o.Surface.Unlisted(), surface.Tool) {
		n := len(o.Surface.Of(surface.Tool))
		d.st.Tools = &n
	}
	missing := shownItems(o.MissingTools)
	over := m.MaxTools > 0 && d.st.Tools != nil && *d.st.Tools > m.MaxTools
	wrong := len(d.st.MissingTools) > 0 || d.st.ToolsOver
	if len(missing) > 0 && !slices.Equal(missing, d.st.MissingTools) {
		d.event(Event{
			Name: EventToolsMissing, Axis: Availability, Text: "expected tools are missing: " + list(missing),
			Data: &Facts{Count: len(o.MissingTools), Location: o.Location},
		})
	}
	if over && !d.st.ToolsOver {
		d.event(Event{
			Name: EventToolsOver, Axis: Availability, Text: fmt.Sprintf("%d tools are listed, %d are allowed", *d.st.Tools, m.MaxTools),
			Data: &Facts{Count: *d.st.Tools, Location: o.Location},
		})
	}
	if wrong && len(missing) == 0 && !over {
		d.event(Event{Name: EventToolsRight, Axis: Availability, Text: "the tools are as expected", Data: &Facts{Location: o.Location}})
	}
	d.st.MissingTools, d.st.ToolsOver = missing, over
}

// incidents opens, updates and resolves.
func (d *decider) incidents() {
	name := d.m.Definition.Name
	d.incident(&d.st.Availability, &trouble{axis: Availability, title: name + map[string]string{
		Degraded: " is slow or over a threshold", Down: " is down", Misconfigured: " cannot be checked as it is set up",
	}[d.st.Availability.State]}, nil)
	d.incident(&d.st.Surface, &trouble{axis: Surface, title: name + map[string]string{
		Changed: " tells agents something else than was approved", Inconsistent: " does not tell agents the same each time",
	}[d.st.Surface.State]}, d.surfaceItems)
	d.incident(&d.st.Posture, &trouble{axis: Posture, title: name + " has findings that nobody has accepted"}, d.postureItems)
}

// incident opens, updates or resolves that of an axis. What was down and only is slow
// now is over: it would be another incident.
func (d *decider) incident(a *AxisState, t *trouble, items []string) {
	open := d.open[t.axis]
	t.state, t.reason, t.text, t.policy = a.State, a.Reason, a.Text, d.m.Definition.Escalation
	t.items = items
	if items == nil && open != nil {
		t.items = open.Items
	}
	t.fresh = slices.ContainsFunc(d.Events, func(e Event) bool {
		return e.Axis == t.axis && e.Data != nil && e.Data.Effect == string(surface.Fail)
	})
	a.Incident = 0
	over := open != nil && a.State == Degraded && severity(open.State) >= severity(Misconfigured)
	switch bad := severity(a.State) > 0 && !over; {
	case bad && open == nil:
		if a.State == Degraded && !d.slow() {
			return
		}
		t.key = d.key(t.axis)
		i := t.open(d.m.ID, d.now)
		d.Incidents = append(d.Incidents, i)
		d.event(i.event(EventOpened, d.now))
	case bad:
		a.Incident = open.ID
		if open.update(t, d.now) {
			d.Incidents = append(d.Incidents, *open)
		}
	case open != nil && a.State == Unknown:
		a.Incident = open.ID
	case open != nil:
		open.resolve(d.now)
		d.Incidents = append(d.Incidents, *open)
		d.event(open.event(EventResolved, d.now))
	}
}

// slow reports whether some location was slow as often as makes a failure count.
func (d *decider) slow() bool {
	for _, l := range d.fresh() {
		if l.Slows >= d.m.Definition.FailureThreshold {
			return true
		}
	}
	return false
}

// key is that of an incident that this observation opens. No other observation has it.
func (d *decider) key(axis Axis) string {
	at := d.o.Slot
	if d.o.Kind == Review || at.IsZero() {
		at = d.now
	}
	return fmt.Sprintf("monitor-%d-%s-%d-%s-%s-%d.%d", d.m.ID, axis, at.UnixMilli(), d.o.Location, d.o.Kind, d.m.Revision, d.m.Approvals)
}

// whole reports whether s is all that can be approved of the monitor: every inventory,
// or in mode oauth the login.
func (m *Monitor) whole(s *surface.Surface) bool {
	return s != nil && (s.Complete() || m.Definition.AuthMode == AuthOAuth && len(s.Of(surface.Auth)) > 0)
}

// moved reports whether the observation says that what is approved is of another
// binding.
func (d *decider) moved() bool {
	return d.o.Baseline != nil && d.o.Binding != (baseline.Binding{}) && d.o.Baseline.Binding != d.o.Binding
}
