package watch

import (
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Stage says how far people are with an incident.
type Stage string

// The stages.
const (
	StageOpen         Stage = "open" // nobody looks after it
	StageAcknowledged Stage = "acknowledged"
	StageSnoozed      Stage = "snoozed"
	StageResolved     Stage = "resolved"
)

// Stage is that of the incident at a time.
func (i *Incident) Stage(now time.Time) Stage {
	switch {
	case !i.Open():
		return StageResolved
	case !i.AcknowledgedAt.IsZero():
		return StageAcknowledged
	case i.snoozed(now):
		return StageSnoozed
	}
	return StageOpen
}

// snoozed reports whether nobody wants to hear of the incident at now.
func (i *Incident) snoozed(now time.Time) bool { return i.SnoozedUntil.After(now) }

// awake ends a snooze.
func (i *Incident) awake() { i.SnoozedUntil, i.SnoozedBy = time.Time{}, "" }

// sleeps reports whether a snooze holds the next step, and notes until when.
func (i *Incident) sleeps(now time.Time) bool {
	if !i.snoozed(now) || i.unheard() {
		return false
	}
	i.Held, i.Due = HeldSnoozed, i.SnoozedUntil
	return true
}

// Snooze has nobody told of an incident until a time, at most MaxSnooze away; a time that
// is over ends a snooze. The steps go on then where they stood, and at once when it gets
// worse. One that is over, or that somebody looks after, stays as it is; the event has no
// name then.
func Snooze(i Incident, until time.Time, by string, now time.Time) (Incident, Event) {
	if !i.Open() || !i.AcknowledgedAt.IsZero() {
		return i, Event{}
	}
	now, until = cut(now), cut(until)
	if latest := now.Add(MaxSnooze); until.After(latest) {
		until = latest
	}
	text := "snoozed until " + until.Format(time.RFC3339) + ": "
	if until.After(now) {
		i.SnoozedUntil, i.SnoozedBy = until, by
	} else {
		if i.SnoozedUntil.IsZero() {
			return i, Event{}
		}
		until, text = time.Time{}, "snoozed no more: "
		i.awake()
	}
	i.Due = now
	e := i.by(EventSnoozed, text, by, now)
	e.Data.Until = until
	return i, e
}

// Assign notes whose an incident is: the name of an account, or nobody's. When it was
// that before, the event has no name.
func Assign(i Incident, assignee, by string, now time.Time) (Incident, Event) {
	if i.Assignee == assignee {
		return i, Event{}
	}
	i.Assignee = assignee
	text := "assigned to " + plain.Line(assignee, maxName) + ": "
	if assignee == "" {
		text = "assigned to nobody: "
	}
	e := i.by(EventAssigned, text, by, cut(now))
	e.Data.Assignee = assignee
	return i, e
}

// Commented is the event of what a person says of an incident.
func Commented(i Incident, comment, by string, now time.Time) Event {
	e := i.by(EventCommented, "comment: ", by, cut(now))
	e.Data.Comment = strings.TrimSpace(comment)
	return e
}

// by is an event of what a person did with the incident.
func (i *Incident) by(name, text, actor string, now time.Time) Event {
	return Event{
		Monitor: i.Monitor, At: now, Name: name, Axis: i.Axis, Text: text + i.Title,
		Actor: actor, Data: &Facts{Incident: i.ID, Location: i.Location},
	}
}
