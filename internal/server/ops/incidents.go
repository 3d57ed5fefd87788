package ops

import (
	"context"
	"errors"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Incidents are the incidents that a filter selects, the latest first.
func (o *Ops) Incidents(ctx context.Context, actor people.Actor, f store.IncidentFilter) (Page[watch.Incident], error) {
	f.Now = o.now()
	return list(ctx, o, actor, "incident", func(t *store.Tx) ([]watch.Incident, string, error) {
		incidents, next, err := t.Incidents(ctx, f)
		return incidents, cursor(next), err
	})
}

// IncidentCounts are how many incidents there are at each stage, of those that a filter
// selects but for its stage.
func (o *Ops) IncidentCounts(ctx context.Context, actor people.Actor, f store.IncidentFilter) (out map[watch.Stage]int64, err error) {
	if err := may(actor, people.Read); err != nil {
		return nil, err
	}
	f.Now = o.now()
	err = o.view(ctx, "incident", func(t *store.Tx) (err error) {
		out, err = t.IncidentCounts(ctx, f)
		return err
	})
	return out, err
}

// History is what there is to know of an incident.
type History struct {
	watch.Incident
	// MonitorName is that of its monitor, or empty when that is gone or there is none.
	MonitorName string `json:"monitor_name,omitempty"`
	// Next is what comes next while nothing changes.
	Next watch.Next `json:"next"`
	// Events are what happened, in the order of time, at most 500; Notifications what was
	// told, the latest first, at most 200.
	Events        []watch.Event        `json:"events" nullable:"false"`
	Notifications []watch.Notification `json:"notifications" nullable:"false"`
}

// IncidentHistory is one incident with what happened, who was told, and what comes next.
func (o *Ops) IncidentHistory(ctx context.Context, actor people.Actor, id int64) (History, error) {
	if err := may(actor, people.Read); err != nil {
		return History{}, err
	}
	var out History
	err := o.view(ctx, "incident", func(t *store.Tx) error {
		i, err := t.Incident(ctx, id)
		if err != nil {
			return err
		}
		out = History{Incident: *i}
		if m, err := t.Monitor(ctx, i.Monitor); err == nil {
			out.MonitorName = m.Definition.Name
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		policy, err := t.Escalation(ctx, i.Escalation)
		if errors.Is(err, store.ErrNotFound) {
			policy, err = nil, nil
		}
		if err != nil {
			return err
		}
		out.Next = i.Next(policy)
		out.Events, _, err = t.Events(ctx, store.EventFilter{Monitor: i.Monitor, Incident: id, From: i.OpenedAt, Ascending: true, Limit: 500})
		if err != nil {
			return err
		}
		out.Notifications, _, err = t.Notifications(ctx, store.NotificationFilter{Incident: id, Limit: 200})
		return err
	})
	out.Events, out.Notifications = pageOf(out.Events, "").Items, pageOf(out.Notifications, "").Items
	return out, err
}

// MonitorNames are the names of monitors, by id. Those that are gone have none.
func (o *Ops) MonitorNames(ctx context.Context, actor people.Actor, ids []int64) (map[int64]string, error) {
	if err := may(actor, people.Read); err != nil {
		return nil, err
	}
	out := make(map[int64]string, len(ids))
	err := o.view(ctx, "monitor", func(t *store.Tx) error {
		monitors, err := t.MonitorsOf(ctx, ids)
		for id, m := range monitors {
			out[id] = m.Definition.Name
		}
		return err
	})
	return out, err
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
