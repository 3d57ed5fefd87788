package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Limits of escalations.
const (
	MaxSteps        = 20
	MaxStepChannels = 20
	MaxRepeat       = 100
	MaxDelay        = 7 * 24 * time.Hour
	MaxSnooze       = 7 * 24 * time.Hour
	// MinRepeat passes at least before the steps start over.
	MinRepeat = 5 * time.Minute
	// lookAgain passes at most until a held incident is looked at again: windows and
	// dependencies change.
	lookAgain = time.Minute
)

// Holds are why nobody is told for now.
type Holds struct {
	// Maintenance and ExpectedChange are until when such windows last; zero: none.
	Maintenance, ExpectedChange time.Time
	// Dependency is the name of a critical dependency that fails.
	Dependency string
}

// The values of Incident.Held; that of a dependency is followed by its name.
const (
	HeldMaintenance    = "maintenance"
	HeldExpectedChange = "expected-change"
	HeldDependency     = "dependency:"
	HeldSnoozed        = "snoozed"
)

// on are the states that page.
func (e *Escalation) on() []string {
	if len(e.On) > 0 {
		return e.On
	}
	return []string{Down, Changed, Inconsistent, Flagged, Blind}
}

// badStates are the states that open incidents.
func badStates() []string {
	return []string{Degraded, Down, Misconfigured, Changed, Inconsistent, Flagged, Blind}
}

// Escalate says who is to be told of an incident that is due, under p, which is nil
// when there is no such policy. The incident that it returns is due later, or not
// before it changes. The same call gives the same keys.
//
// Who was told that it is open is told that somebody looks after it, and that it is
// over, once each and whatever holds; who was not told is told nothing. Of a surface or
// a finding the first step is told even if it was acknowledged or snoozed before: who
// does that so soon may be who knew of it.
func Escalate(i Incident, p *Escalation, h Holds, now time.Time) (Incident, []Notification) {
	now = cut(now)
	i.Told = slices.Clone(i.Told)
	i.Due = time.Time{}
	if !i.snoozed(now) {
		i.awake()
	}
	switch {
	case !i.Open():
		i.Held = ""
		if i.ResolutionTold {
			return i, nil
		}
		i.ResolutionTold = true
		return i, i.announce(Resolved, i.Told, now)
	case !i.AcknowledgedAt.IsZero() && !i.unheard():
		i.Held = ""
		if i.AcknowledgementTold {
			return i, nil
		}
		i.AcknowledgementTold = true
		return i, i.announce(AcknowledgedPhase, i.Told, now)
	case p == nil || len(p.Steps) == 0 || !slices.Contains(p.on(), i.State):
		i.Held = ""
		return i, nil
	}
	i.Held = h.hold(&i, now)
	if i.Held != "" {
		i.Due = h.until(i.Held, now)
		return i, nil
	}
	if i.sleeps(now) {
		return i, nil
	}
	var out []Notification
	for i.Round <= p.Repeat {
		if i.Step >= len(p.Steps) { // the policy has got shorter
			i.Round, i.Step = i.Round+1, 0
			continue
		}
		if next := i.next(p); next.After(now) {
			i.Due = next
			break
		}
		out = append(out, i.tell(p.Steps[i.Step].Channels, now)...)
		i.SteppedAt = now
		i.Step++
		if i.Step == len(p.Steps) {
			i.Round, i.Step = i.Round+1, 0
		}
		if !i.AcknowledgedAt.IsZero() {
			i.AcknowledgementTold = true
			return i, append(out, i.announce(AcknowledgedPhase, i.Told, now)...)
		}
		if i.sleeps(now) {
			break
		}
	}
	return i, out
}

// unheard reports whether nobody was told of what a server tells agents, since it came
// or got worse.
func (i *Incident) unheard() bool {
	return (i.Axis == Surface || i.Axis == Posture) && i.SteppedAt.IsZero()
}

// again begins the steps anew, for what is worse than what somebody looks after.
func (i *Incident) again() {
	i.AcknowledgedAt, i.AcknowledgedBy, i.AcknowledgementTold = time.Time{}, "", false
	i.awake()
	i.Wave, i.Round, i.Step = i.Wave+1, 0, 0
	i.SteppedAt = time.Time{}
}

// next is when the next step is due.
func (i *Incident) next(p *Escalation) time.Time {
	delay := time.Duration(p.Steps[i.Step].Delay)
	switch {
	case i.SteppedAt.IsZero():
		return i.OpenedAt.Add(delay)
	case i.Step == 0:
		return i.SteppedAt.Add(max(delay, MinRepeat))
	}
	return i.SteppedAt.Add(delay)
}

// tell announces to channels that the incident is open.
func (i *Incident) tell(channels []string, now time.Time) []Notification {
	for _, channel := range channels {
		if !slices.Contains(i.Told, channel) {
			i.Told = append(i.Told, channel)
		}
	}
	return i.announce(Triggered, channels, now)
}

func (i *Incident) announce(phase Phase, channels []string, now time.Time) []Notification {
	snapshot := *i
	snapshot.Items, snapshot.Told = slices.Clone(i.Items), slices.Clone(i.Told)
	step := fmt.Sprintf("%d.%d", i.Round, i.Step)
	if i.Wave > 0 {
		step = fmt.Sprintf("%d.%s", i.Wave, step)
	}
	out := make([]Notification, 0, len(channels))
	for _, channel := range channels {
		out = append(out, Notification{
			Key:      fmt.Sprintf("%s/%s/%s/%s", i.Key, phase, step, channel),
			Incident: i.ID, Monitor: i.Monitor, Channel: channel, Phase: phase, At: now,
			Snapshot: snapshot, Status: Pending,
		})
	}
	return out
}

// hold says why nobody is told of i, or nothing. Maintenance, and what a server stands
// on, explain that it is not available, and never that it tells agents something else; a
// change that is expected is one of the surface, and never a finding.
func (h Holds) hold(i *Incident, now time.Time) string {
	switch {
	case i.Axis == Availability && h.Maintenance.After(now):
		return HeldMaintenance
	case i.Axis == Surface && h.ExpectedChange.After(now):
		return HeldExpectedChange
	case i.Axis == Availability && h.Dependency != "":
		return HeldDependency + h.Dependency
	}
	return ""
}

// until is when to look again.
func (h Holds) until(held string, now time.Time) time.Time {
	again := now.Add(lookAgain)
	for reason, end := range map[string]time.Time{HeldMaintenance: h.Maintenance, HeldExpectedChange: h.ExpectedChange} {
		if held == reason && end.Before(again) {
			again = cut(end.Add(time.Millisecond - 1)) // not before its end
		}
	}
	return again
}

// Acknowledge notes who looks after an incident: no further step is taken, and those
// who were told are told. One that is over, or acknowledged already, stays as it is; the
// event has no name then.
func Acknowledge(i Incident, by string, now time.Time) (Incident, Event) {
	if !i.Open() || !i.AcknowledgedAt.IsZero() {
		return i, Event{}
	}
	now = cut(now)
	i.AcknowledgedAt, i.AcknowledgedBy, i.AcknowledgementTold, i.Due = now, by, false, now
	i.awake()
	return i, Event{
		Monitor: i.Monitor, At: now, Name: EventAcknowledged, Axis: i.Axis, Text: "acknowledged: " + i.Title,
		Actor: by, Data: &Facts{Incident: i.ID, Location: i.Location},
	}
}

// Validate says what is wrong with a policy. channels are the names of those there are.
func (e *Escalation) Validate(channels []string) []Problem {
	var p problems
	p.name("name", e.Name)
	p.list("on", e.On, len(badStates()), func(field, state string) { p.oneOf(field, state, badStates()...) })
	if len(e.Steps) == 0 {
		p.add("steps", "give at least one, with the channels to tell", "the policy has none")
	}
	if len(e.Steps) > MaxSteps {
		p.add("steps", fmt.Sprintf("give at most %d", MaxSteps), "has %d entries", len(e.Steps))
		return p
	}
	for n, step := range e.Steps {
		field := fmt.Sprintf("steps[%d]", n)
		p.between(field+".delay", step.Delay, 0, MaxDelay)
		if len(step.Channels) == 0 {
			p.add(field+".channels", "name the channels to tell", "is empty")
		}
		p.list(field+".channels", step.Channels, MaxStepChannels, func(field, channel string) {
			if !slices.Contains(channels, channel) {
				p.add(field, hintOf(channels), "there is no channel %s", shownValue(channel))
			}
		})
	}
	if e.Repeat < 0 || e.Repeat > MaxRepeat {
		p.add("repeat", fmt.Sprintf("give 0 to %d", MaxRepeat), "is %d", e.Repeat)
	}
	return p
}

// Quiets says what in a change of a policy tells less of what servers tell agents:
// states that page no more, and channels that are told later, less often, or not at
// all. A nil after is a policy that is gone.
func Quiets(before, after *Escalation) []string {
	if after == nil {
		after = &Escalation{On: []string{Down}}
	}
	var out []string
	tells := false
	for _, state := range []string{Changed, Inconsistent, Flagged} {
		told := slices.Contains(before.on(), state)
		if tells = tells || told; told && !slices.Contains(after.on(), state) {
			out = append(out, "on: without "+state)
		}
	}
	if !tells {
		return nil
	}
	later := after.told()
	for channel, at := range before.told() {
		switch then, ok := later[channel]; {
		case !ok:
			out = append(out, "steps: without "+plain.Line(channel, maxName))
		case then > at:
			out = append(out, fmt.Sprintf("steps: %s after %s", plain.Line(channel, maxName), then))
		}
	}
	if after.Repeat < before.Repeat {
		out = append(out, fmt.Sprintf("repeat: %d -> %d", before.Repeat, after.Repeat))
	}
	slices.Sort(out)
	return out
}

// told is after how long channels are told first.
func (e *Escalation) told() map[string]time.Duration {
	out := map[string]time.Duration{}
	var at time.Duration
	for _, step := range e.Steps {
		at += time.Duration(step.Delay)
		for _, channel := range step.Channels {
			if _, ok := out[channel]; !ok {
				out[channel] = at
			}
		}
	}
	return out
}

func hintOf(channels []string) string {
	switch {
	case len(channels) == 0:
		return "make a channel first"
	case len(channels) > 10:
		return "make it first, or name one of those there are"
	}
	quoted := make([]string, len(channels))
	for i, name := range channels {
		quoted[i] = shownValue(name)
	}
	return "there are " + strings.Join(quoted, ", ")
}

// Pages are the states that page.
func (e *Escalation) Pages() []string { return slices.Clone(e.on()) }
