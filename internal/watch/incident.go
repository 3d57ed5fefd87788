package watch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// maxItems are named in an incident.
const maxItems = 20

// severity orders the states of an axis; 0 opens no incident.
func severity(state string) int {
	switch state {
	case Degraded, Inconsistent, Flagged, Blind:
		return 1
	case Misconfigured, Changed:
		return 2
	case Down:
		return 3
	}
	return 0
}

// trouble is what an incident says of an axis.
type trouble struct {
	axis               Axis
	state              string
	reason, text       string
	items              []string
	key, title, policy string
	// fresh: something failed in it that had not before.
	fresh bool
}

// open makes an incident.
func (t *trouble) open(monitor int64, now time.Time) Incident {
	i := Incident{
		Monitor: monitor, Axis: t.axis, Key: t.key, State: t.state, OpenedAt: now,
		Escalation: cmp.Or(t.policy, DefaultEscalation), Due: now,
	}
	i.describe(t)
	return i
}

func (i *Incident) describe(t *trouble) (changed bool) {
	items := t.items[:min(len(t.items), maxItems)]
	changed = i.Reason != t.reason || i.Text != t.text || i.Title != t.title || !slices.Equal(i.Items, items)
	i.Reason, i.Text, i.Title, i.Items = t.reason, t.text, t.title, slices.Clone(items)
	return changed
}

// update notes where the axis stands. What is worse than before, or new, pages anew,
// also after somebody acknowledged or snoozed what was less.
func (i *Incident) update(t *trouble, now time.Time) (changed bool) {
	if severity(t.state) < severity(i.State) {
		t.title = i.Title // which says the worst
	}
	changed = i.describe(t)
	worse := severity(t.state) > severity(i.State)
	if worse {
		i.State = t.state
	}
	if worse || t.fresh {
		changed, i.Due = true, now
		if !i.AcknowledgedAt.IsZero() || i.snoozed(now) || t.fresh && len(i.Told) > 0 {
			i.again()
		}
	}
	return changed
}

// resolve ends an incident, which is announced then to those who were told of it.
func (i *Incident) resolve(now time.Time) {
	i.ResolvedAt, i.Due, i.ResolutionTold = now, now, false
}

func (i *Incident) event(name string, now time.Time) Event {
	word := map[string]string{EventOpened: "opened: ", EventResolved: "resolved: "}[name]
	return Event{
		Monitor: i.Monitor, At: now, Name: name, Axis: i.Axis, Text: word + i.Title,
		Data: &Facts{Incident: i.ID, Reason: i.Reason, Location: i.Location},
	}
}

// Stopped resolves what is open of the availability of a monitor that is paused. What is
// open of what it tells agents is not over by that.
func Stopped(m *Monitor, open []Incident, now time.Time) ([]Incident, []Event) {
	return Removed(m, slices.DeleteFunc(slices.Clone(open), func(i Incident) bool { return i.Axis != Availability }), now)
}

// Removed resolves what is open of a monitor that is deleted.
func Removed(m *Monitor, open []Incident, now time.Time) ([]Incident, []Event) {
	now = cut(now)
	var changed []Incident
	var events []Event
	for _, i := range open {
		if !i.Open() || i.Monitor != m.ID {
			continue
		}
		i.resolve(now)
		i.Reason, i.Text = "not-watched", "the monitor was paused or deleted"
		changed, events = append(changed, i), append(events, i.event(EventResolved, now))
	}
	return changed, events
}

// sightedAfter is how long nobody at a location was blind when that is over, and
// blindEvery how often it is noted that somebody still is.
const (
	sightedAfter = time.Minute
	blindEvery   = 20 * time.Second
)

// DecideSystem says what observations mean for the location that made them: checks that
// cannot be run are one incident there, however many monitors there are. It opens
// when none of them could be run. It ends when all could, and for a while none could
// not: several processes may check from a location of which one is blind.
func DecideSystem(location string, open *Incident, observations []*Observation, now time.Time) (changed *Incident, events []Event) {
	now = cut(now)
	var local *Observation
	ran := 0
	for _, o := range observations {
		switch {
		case o.Kind == Review || o.Status == "":
		case o.Local:
			local = o
		default:
			ran++
		}
	}
	switch {
	case open == nil && local != nil && ran == 0:
		text := ReasonText(local.Reason)
		t := trouble{
			axis: System, state: Blind, reason: local.Reason, text: text,
			key:   fmt.Sprintf("location-%s-%d-%d", location, now.UnixMilli(), local.Monitor),
			title: "checks cannot be run at " + plain.Line(location, maxName),
		}
		i := t.open(0, now)
		i.Location, i.SeenAt = location, now
		at := Event{At: now, Name: EventBlind, Axis: System, Text: i.Title + ": " + text, Data: &Facts{Location: location, Reason: local.Reason}}
		return &i, []Event{at, i.event(EventOpened, now)}
	case open == nil:
	case local != nil && now.Sub(open.SeenAt) >= blindEvery:
		i := *open
		i.SeenAt = now
		return &i, nil
	case local == nil && ran > 0 && open.Open() && now.Sub(open.SeenAt) >= sightedAfter:
		i := *open
		i.resolve(now)
		at := Event{At: now, Name: EventSighted, Axis: System, Text: "checks run again at " + plain.Line(location, maxName), Data: &Facts{Location: location}}
		return &i, []Event{at, i.event(EventResolved, now)}
	}
	return nil, nil
}
