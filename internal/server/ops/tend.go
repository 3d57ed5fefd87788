package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// maxComment bounds what a person says of an incident, in characters.
const maxComment = 2000

// tend has f change an incident and say what that was: an event without a name changes
// nothing. What f does besides is to be in the same transaction.
func (o *Ops) tend(ctx context.Context, actor people.Actor, id int64,
	f func(t *store.Tx, i watch.Incident) (watch.Incident, watch.Event, error),
) (watch.Incident, error) {
	if err := may(actor, people.Write); err != nil {
		return watch.Incident{}, err
	}
	var out watch.Incident
	err := o.change(ctx, "incident", func(t *store.Tx) error {
		i, err := t.Incident(ctx, id)
		if err != nil {
			return err
		}
		out = *i
		next, event, err := f(t, *i)
		if err != nil || event.Name == "" {
			return err
		}
		saved := []watch.Incident{next}
		if err := t.SaveIncidents(ctx, saved); err != nil {
			return err
		}
		out = saved[0]
		if err := t.InsertEvents(ctx, []watch.Event{event}); err != nil {
			return err
		}
		action := strings.Replace(event.Name, "_", ".", 1) // incident_snoozed is incident.snoozed
		return o.audit(ctx, t, actor, action, fmt.Sprintf("incident:%d", id), string(next.Axis)+": "+event.Text)
	})
	return out, err
}

// commented is a comment without blanks around it, or why it is none.
func commented(comment string) (string, error) {
	comment = strings.TrimSpace(comment)
	if n := utf8.RuneCountInString(comment); n > maxComment || !utf8.ValidString(comment) {
		return "", invalid(watch.Problem{Field: "comment", Text: fmt.Sprintf("has %d characters", n), Hint: fmt.Sprintf("give at most %d", maxComment)})
	}
	return comment, nil
}

// Acknowledge says that somebody looks after an incident: it escalates no further. An
// incident that is acknowledged or resolved already stays as it is.
func (o *Ops) Acknowledge(ctx context.Context, actor people.Actor, id int64, comment string) (watch.Incident, error) {
	comment, err := commented(comment)
	if err != nil {
		return watch.Incident{}, err
	}
	return o.tend(ctx, actor, id, func(_ *store.Tx, i watch.Incident) (watch.Incident, watch.Event, error) {
		next, event := watch.Acknowledge(i, actor.Name(), o.now())
		if event.Data != nil {
			event.Data.Comment = comment
		}
		return next, event, nil
	})
}

// Comment notes what somebody says of an incident, also of one that is over.
func (o *Ops) Comment(ctx context.Context, actor people.Actor, id int64, comment string) (watch.Incident, error) {
	comment, err := commented(comment)
	if err == nil && comment == "" {
		err = invalid(watch.Problem{Field: "comment", Text: "is empty", Hint: "say something"})
	}
	if err != nil {
		return watch.Incident{}, err
	}
	return o.tend(ctx, actor, id, func(_ *store.Tx, i watch.Incident) (watch.Incident, watch.Event, error) {
		return i, watch.Commented(i, comment, actor.Name(), o.now()), nil
	})
}

// Assign gives an incident to an account, by its name; an empty one takes it away. It
// tells nobody and holds back nothing.
func (o *Ops) Assign(ctx context.Context, actor people.Actor, id int64, assignee string) (watch.Incident, error) {
	if err := may(actor, people.Write); err != nil {
		return watch.Incident{}, err
	}
	if assignee != "" {
		names, err := o.Assignees(ctx, actor)
		if err != nil {
			return watch.Incident{}, err
		}
		if !slices.Contains(names, assignee) {
			return watch.Incident{}, invalid(watch.Problem{Field: "assignee", Text: "there is no such account", Hint: "give the name of an account that can be used"})
		}
	}
	return o.tend(ctx, actor, id, func(_ *store.Tx, i watch.Incident) (watch.Incident, watch.Event, error) {
		next, event := watch.Assign(i, assignee, actor.Name(), o.now())
		return next, event, nil
	})
}

// Assignees are the accounts that an incident can be given to, by name.
func (o *Ops) Assignees(ctx context.Context, actor people.Actor) ([]string, error) {
	names, err := o.people.Names(ctx, actor)
	if errors.Is(err, people.ErrForbidden) {
		return nil, may(actor, people.Write)
	}
	return names, err
}

// Snooze has nobody told of an incident until a time, at most watch.MaxSnooze away; the
// zero time ends a snooze. It ends by itself when the incident gets worse. Of a surface or
// a finding those of the first step are told all the same.
func (o *Ops) Snooze(ctx context.Context, actor people.Actor, id int64, until time.Time) (watch.Incident, error) {
	now := o.now()
	if !until.IsZero() && (!until.After(now) || until.After(now.Add(watch.MaxSnooze+time.Minute))) {
		return watch.Incident{}, invalid(watch.Problem{
			Field: "until", Text: "is not within the next 7 days", Hint: "give a time to come, at most 7 days from now",
		})
	}
	return o.tend(ctx, actor, id, func(_ *store.Tx, i watch.Incident) (watch.Incident, watch.Event, error) {
		next, event := watch.Snooze(i, until, actor.Name(), now)
		if event.Name == "" {
			if !until.IsZero() {
				return i, event, refuse(Conflict, "", "the incident is over, or somebody looks after it: nobody is told of it any more")
			}
			return i, event, nil
		}
		return next, event, nil
	})
}
