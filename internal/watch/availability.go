package watch

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/probe"
)

const (
	// recent results of a location are looked at for turns between good and bad.
	recent = 10
	// turns among them are flapping.
	turns = 4
	// steady results in a row end it.
	steady = 4
	// confirmWithin is when a failure is looked at again at the latest, and
	// confirmOver the interval up to which the next slot does that.
	confirmWithin = 15 * time.Second
	confirmOver   = 30 * time.Second
)

// The reasons of this package, beside those of the report.
const (
	ReasonPending  = "pending"  // no result counts yet
	ReasonStale    = "stale"    // the last check is too long ago
	ReasonPaused   = "paused"   // nothing is checked
	ReasonAwaiting = "awaiting" // for a person to confirm a surface
	ReasonUnseen   = "unseen"   // a surface, for as many results as make a failure count
)

// AvailabilityOf is what the status of a report says of the axis.
func AvailabilityOf[S ~string](status S) string {
	switch probe.Status(status) {
	case probe.StatusHealthy:
		return Up
	case probe.StatusDegraded:
		return Degraded
	case probe.StatusUnhealthy:
		return Down
	case probe.StatusMisconfigured:
		return Misconfigured
	}
	return Unknown
}

// ReasonText says a reason of a report in one line, without text of a server.
func ReasonText(reason string) string {
	switch reason {
	case "":
		return ""
	case ReasonPending:
		return "no result counts yet"
	case ReasonStale:
		return "the last check is too long ago"
	case ReasonPaused:
		return "the monitor is paused"
	case ReasonAwaiting:
		return "a person has to confirm what the server tells agents"
	case ReasonUnseen:
		return "not all of what the server tells agents could be seen, time and again"
	}
	for _, info := range probe.Reasons() {
		if string(info.Reason) == reason {
			return info.Text
		}
	}
	return plain.Line(reason, shownName)
}

// ReasonHint says what to do about a reason of a report, to who looks after a monitor;
// empty for a reason that no report has.
func ReasonHint(reason string) string {
	if reason == "auth-required" {
		return "give the monitor a credential: in its form, or as auth in the configuration file"
	}
	for _, info := range probe.Reasons() {
		if string(info.Reason) == reason {
			return info.Hint
		}
	}
	return ""
}

// see adds one result to what a location saw.
func (l *LocationState) see(o *Observation, d *Definition, maintenance bool) {
	now := AvailabilityOf(o.Status)
	if o.Local {
		now = Unknown
	}
	if l.Reason != o.Reason || l.Text == "" {
		l.Reason, l.Text = o.Reason, ReasonText(o.Reason)
	}
	if now == Unknown {
		l.Availability = Unknown
		return
	}
	bad := severity(now) >= severity(Misconfigured)
	l.count(now, bad)
	if !maintenance {
		l.remember(bad)
	}
	switch {
	case now == Down && (l.Downs >= d.FailureThreshold || l.Bad == Down):
		l.Bad = Down
	case bad && (l.Fails >= d.FailureThreshold || l.Bad != ""):
		l.Bad = Misconfigured
	case !bad && l.Passes >= d.RecoveryThreshold && !l.Flapping:
		l.Bad = ""
	}
	switch {
	case l.Bad != "":
		l.Availability = l.Bad
	case !bad:
		l.Availability = now
	case l.Availability == "":
		l.Availability = Unknown // not believed yet
	}
}

func (l *LocationState) count(now string, bad bool) {
	l.Slows++
	if now == Up {
		l.Slows = 0
	}
	if !bad {
		l.Fails, l.Downs = 0, 0
		l.Passes++
		return
	}
	l.Passes = 0
	l.Fails++
	l.Downs++
	if now != Down {
		l.Downs = 0
	}
}

// remember notes good and bad, and whether they take turns.
func (l *LocationState) remember(bad bool) {
	l.Recent <<= 1
	if bad {
		l.Recent |= 1
	}
	l.Recent &= 1<<recent - 1
	l.RecentN = min(l.RecentN+1, recent)
	changes := (l.Recent ^ l.Recent>>1) & (1<<(l.RecentN-1) - 1)
	last := l.Recent & (1<<steady - 1)
	switch {
	case l.Flapping && l.RecentN >= steady && (last == 0 || last == 1<<steady-1):
		l.Flapping = false
		l.Recent, l.RecentN = last, steady // it takes new turns to begin again
	case bits.OnesCount32(changes) >= turns:
		l.Flapping = true
	}
}

// confirmAt is when to look again at a failure that is not believed yet, or zero.
func (l *LocationState) confirmAt(d *Definition, now time.Time) time.Time {
	if l.Fails == 0 || l.Fails >= d.FailureThreshold || l.Bad != "" || d.every() <= confirmOver {
		return time.Time{}
	}
	return now.Add(min(d.every()/4, confirmWithin))
}

// quorum is the state that most of states have or exceed. Those that do not know have
// no vote; good is what is when none is that bad.
func quorum(states []string, good string) string {
	n := 0
	least := ""
	for _, state := range states {
		if state == Unknown || state == "" {
			continue
		}
		n++
		if severity(state) == 0 {
			good = state
		}
	}
	if n == 0 {
		return Unknown
	}
	for _, candidate := range states {
		count := 0
		for _, state := range states {
			if severity(state) >= severity(candidate) && severity(candidate) > 0 {
				count++
			}
		}
		if 2*count > n && severity(candidate) > severity(least) {
			least = candidate
		}
	}
	if least != "" {
		return least
	}
	return good
}

// settleAvailability decides the axis.
func (d *decider) settleAvailability() {
	states := make([]string, 0, len(d.st.Locations))
	for _, l := range d.fresh() {
		states = append(states, l.Availability)
	}
	state := quorum(states, Up)
	reason, text := d.here().Reason, d.here().Text
	if state == Unknown && severity(AvailabilityOf(d.o.Status)) > 0 {
		reason, text = ReasonPending, fmt.Sprintf("%d of %d failures that make it %s: %s", d.here().Fails, d.m.Definition.FailureThreshold, AvailabilityOf(d.o.Status), text)
	}
	if state == Up {
		reason, text = "", ""
	}
	if state != Unknown && AvailabilityOf(d.o.Status) != state && d.st.Availability.State == state { // what this result says is not what stands
		reason, text = d.st.Availability.Reason, d.st.Availability.Text
	}
	names := map[string]string{Up: EventUp, Degraded: EventDegraded, Down: EventDown, Misconfigured: EventMisconfigured, Unknown: EventUnknown}
	said := map[string]string{Up: "up", Degraded: "up, but over a threshold", Down: "down", Misconfigured: "cannot be checked as it is set up", Unknown: "not known"}
	if d.turn(&d.st.Availability, state, reason, text) && (state != Unknown || d.before.Availability.State != "") {
		d.event(Event{Name: names[state], Axis: Availability, Text: joined(said[state], text), Data: &Facts{Reason: reason, Location: d.o.Location}})
	}
	d.settleFlapping()
}

func (d *decider) settleFlapping() {
	flapping := false
	for _, l := range d.fresh() {
		flapping = flapping || l.Flapping
	}
	if flapping == d.st.Flapping {
		return
	}
	d.st.Flapping = flapping
	e := Event{Name: EventSteady, Axis: Availability, Text: "it does not go up and down any more", Data: &Facts{Location: d.o.Location}}
	if flapping {
		e.Name, e.Text = EventFlapping, fmt.Sprintf("it goes up and down: what is open is not resolved until %d results are the same", steady)
	}
	d.event(e)
}

func joined(text, more string) string {
	if more == "" {
		return text
	}
	return text + ": " + more
}
