package ops

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Incidents are the incidents that a filter selects, the latest first.
func (o *Ops) Incidents(ctx context.Context, actor people.Actor, f store.IncidentFilter) (Page[watch.Incident], error) {
	return list(ctx, o, actor, "incident", func(t *store.Tx) ([]watch.Incident, string, error) {
		incidents, next, err := t.Incidents(ctx, f)
		return incidents, cursor(next), err
	})
}

// Incident is one incident.
func (o *Ops) Incident(ctx context.Context, actor people.Actor, id int64) (watch.Incident, error) {
	if err := may(actor, people.Read); err != nil {
		return watch.Incident{}, err
	}
	var out watch.Incident
	err := o.view(ctx, "incident", func(t *store.Tx) error {
		i, err := t.Incident(ctx, id)
		if err == nil {
			out = *i
		}
		return err
	})
	return out, err
}

// Acknowledge says that somebody looks after an incident: it escalates no further. An
// incident that is acknowledged or resolved already stays as it is.
func (o *Ops) Acknowledge(ctx context.Context, actor people.Actor, id int64, comment string) (watch.Incident, error) {
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
		if !i.Open() || !i.AcknowledgedAt.IsZero() {
			return nil
		}
		next, event := watch.Acknowledge(*i, actor.Name(), o.now())
		if comment != "" {
			if event.Data == nil {
				event.Data = &watch.Facts{}
			}
			event.Data.Comment = comment
		}
		saved := []watch.Incident{next}
		if err := t.SaveIncidents(ctx, saved); err != nil {
			return err
		}
		out = saved[0]
		return t.InsertEvents(ctx, []watch.Event{event})
	})
	return out, err
}

// Notifications are the messages that a filter selects, the latest first.
func (o *Ops) Notifications(ctx context.Context, actor people.Actor, f store.NotificationFilter) (Page[watch.Notification], error) {
	return list(ctx, o, actor, "notification", func(t *store.Tx) ([]watch.Notification, string, error) {
		notifications, next, err := t.Notifications(ctx, f)
		return notifications, cursor(next), err
	})
}

// Deliveries are the attempts to reach a channel, the latest first.
func (o *Ops) Deliveries(ctx context.Context, actor people.Actor, channel, after int64, limit int) (Page[watch.Delivery], error) {
	return list(ctx, o, actor, "channel", func(t *store.Tx) ([]watch.Delivery, string, error) {
		c, err := t.Channel(ctx, channel)
		if err != nil {
			return nil, "", err
		}
		deliveries, next, err := t.Deliveries(ctx, c.Name, after, limit)
		return deliveries, cursor(next), err
	})
}
