package engine

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// escalate looks at the incidents that are due and makes notifications of them, with
// jobs that deliver those.
func (e *Engine) escalate(ctx context.Context) error {
	return e.o.Store.InTx(ctx, func(tx *store.Tx) error {
		now := e.now()
		due, err := tx.ClaimIncidents(ctx, now, maxIncidents)
		if err != nil || len(due) == 0 {
			return err
		}
		windows, err := tx.Windows(ctx)
		if err != nil {
			return err
		}
		calendar := watch.CalendarOf(windows)
		var wanted []watch.Notification
		for i := range due {
			policy, err := policyOf(ctx, tx, due[i].Escalation)
			if err != nil {
				return err
			}
			holds, err := e.holds(ctx, tx, &due[i], calendar, now)
			if err != nil {
				return err
			}
			var notifications []watch.Notification
			due[i], notifications = watch.Escalate(due[i], policy, holds, now)
			wanted = append(wanted, notifications...)
		}
		if err := tx.SaveIncidents(ctx, due); err != nil {
			return err
		}
		return e.announce(ctx, tx, wanted)
	})
}

// announce stores notifications and has those delivered that are new.
func (e *Engine) announce(ctx context.Context, tx *store.Tx, wanted []watch.Notification) error {
	if len(wanted) == 0 {
		return nil
	}
	fresh, err := tx.InsertNotifications(ctx, wanted)
	if err != nil || len(fresh) == 0 {
		return err
	}
	jobs := make([]river.InsertManyParams, len(fresh))
	for i := range fresh {
		jobs[i] = river.InsertManyParams{
			Args:       deliverArgs{Notification: fresh[i].ID},
			InsertOpts: &river.InsertOpts{Queue: queueNotify, MaxAttempts: jobTries},
		}
	}
	_, err = e.client.InsertManyFastTx(ctx, tx.SQL(), jobs)
	return err
}

// policyOf is the policy of that name. One that is not there tells nobody.
func policyOf(ctx context.Context, tx *store.Tx, name string) (*watch.Escalation, error) {
	if name == "" {
		name = watch.DefaultEscalation
	}
	policy, err := tx.Escalation(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return &watch.Escalation{Name: name}, nil
	}
	return policy, err
}

// holds says why nobody is told of an incident for now.
func (e *Engine) holds(ctx context.Context, tx *store.Tx, i *watch.Incident, calendar *watch.Calendar, now time.Time) (watch.Holds, error) {
	var out watch.Holds
	if i.Monitor == 0 {
		return out, nil
	}
	m, err := tx.Monitor(ctx, i.Monitor)
	if errors.Is(err, store.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Maintenance, out.ExpectedChange = calendar.Open(m, now)
	out.Dependency, err = failing(ctx, tx, m, now)
	return out, err
}

// failing is the name of a critical dependency of m that is down, or empty.
func failing(ctx context.Context, tx *store.Tx, m *watch.Monitor, now time.Time) (string, error) {
	for _, d := range m.Definition.Dependencies {
		if !d.Critical {
			continue
		}
		other, err := tx.MonitorByName(ctx, d.Monitor)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		states, err := tx.States(ctx, []int64{other.ID}, false)
		if err != nil {
			return "", err
		}
		st, ok := states[other.ID]
		if ok && !other.Paused && watch.Current(other, &st, now).Availability.State == watch.Down {
			return d.Monitor, nil
		}
	}
	return "", nil
}
