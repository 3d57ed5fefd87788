package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	// sendBudget bounds one attempt to deliver, and recordPatience what is stored of it.
	sendBudget     = 20 * time.Second
	recordPatience = 10 * time.Second
	maxDetail      = 1024
	// orderPause is when it is looked again whether a channel was told what came before.
	orderPause = 3 * time.Second
	// orderMost is longer than all tries of a delivery take.
	orderMost = 6 * time.Hour
)

// deliverTries is how often a delivery is tried: for some four hours. jobTries is how
// often its job is, which fails only when the store does.
const (
	deliverTries = 12
	jobTries     = 25
)

// retryAfter is the pause after each failed attempt.
func retryAfter(attempt int) time.Duration {
	pauses := [...]time.Duration{
		2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	}
	return pauses[min(max(attempt, 1), len(pauses))-1]
}

// deliverWorker delivers notifications.
type deliverWorker struct {
	river.WorkerDefaults[deliverArgs]
	engine *Engine
	lanes  lanes
}

// Timeout leaves time to store what became of it.
func (w *deliverWorker) Timeout(*river.Job[deliverArgs]) time.Duration {
	return sendBudget + recordPatience
}

// NextRetry is for a store that failed. A receiver that did is asked again by snoozing.
func (w *deliverWorker) NextRetry(job *river.Job[deliverArgs]) time.Time {
	return time.Now().Add(retryAfter(job.Attempt))
}

// Work makes one attempt to deliver a notification.
func (w *deliverWorker) Work(ctx context.Context, job *river.Job[deliverArgs]) error {
	e := w.engine
	l, err := e.letter(ctx, job.Args.Notification)
	if err != nil {
		return err
	}
	n := l.notification
	switch {
	case n == nil || n.Status != watch.Pending:
		return nil
	case l.waits:
		return river.JobSnooze(orderPause)
	case !w.lanes.enter(n.Channel):
		return river.JobSnooze(lanePause)
	}
	var took time.Duration
	defer func() { w.lanes.leave(n.Channel, took) }()
	began := time.Now()
	detail, sent := e.send(ctx, l.channel, alert.Of(n, l.monitor, e.o.PublicURL))
	took = time.Since(began)
	if ctx.Err() != nil && sent != nil {
		return context.Cause(ctx) // the engine stops; it was no fault of the receiver
	}
	d := watch.Delivery{
		Notification: n.ID, Channel: n.Channel, Key: n.Key, Attempt: n.Attempts + 1, At: e.now(), OK: sent == nil,
		Detail: detail, DurationMs: float64(took.Microseconds()) / 1000,
	}
	if sent != nil {
		d.Detail = plain.Line(sent.Error(), maxDetail)
	}
	status, again := outcome(sent, d.Attempt)
	e.metrics.sent(sent == nil)
	if err := e.record(ctx, d, status); err != nil {
		return err
	}
	e.logDelivery(ctx, n, &d, status)
	if status == watch.Pending {
		return river.JobSnooze(again)
	}
	return nil
}

// logDelivery says in the log who was told, and who could not be.
func (e *Engine) logDelivery(ctx context.Context, n *watch.Notification, d *watch.Delivery, status string) {
	attrs := []slog.Attr{
		slog.String("channel", n.Channel), slog.String("phase", string(n.Phase)), slog.String("title", n.Snapshot.Title),
		slog.Int64("incident", n.Incident), slog.Int("attempt", d.Attempt),
	}
	switch status {
	case watch.Sent:
		e.log.LogAttrs(ctx, slog.LevelInfo, "a channel was told", attrs...)
	case watch.Pending:
		e.log.LogAttrs(ctx, slog.LevelWarn, "a channel could not be told; it is tried again", append(attrs, slog.String("error", d.Detail))...)
	default:
		e.log.LogAttrs(ctx, slog.LevelError, "a channel was not told", append(attrs, slog.String("error", d.Detail))...)
	}
}

// outcome is what became of a notification by its attempt of that number, and when it
// is tried again.
func outcome(sent error, attempt int) (status string, again time.Duration) {
	var permanent *alert.PermanentError
	var retry *alert.RetryError
	switch {
	case sent == nil:
		return watch.Sent, 0
	case errors.As(sent, &permanent), attempt >= deliverTries:
		return watch.Failed, 0
	case errors.As(sent, &retry) && retry.After > 0:
		return watch.Pending, retry.After
	}
	return watch.Pending, retryAfter(attempt)
}

// letter is what is to be delivered.
type letter struct {
	notification *watch.Notification // nil when it is gone
	channel      *watch.Channel      // nil when it is gone
	monitor      string              // its name
	// waits: the channel has not been told yet what happened to the incident before.
	waits bool
}

// letter reads a notification with what it takes to deliver it.
func (e *Engine) letter(ctx context.Context, id int64) (l letter, err error) {
	err = e.o.Store.View(ctx, func(tx *store.Tx) error {
		n, err := tx.Notification(ctx, id)
		if err != nil {
			return unlessGone(err)
		}
		l.notification = n
		if l.channel, err = tx.ChannelByName(ctx, n.Channel); unlessGone(err) != nil {
			return err
		}
		before, _, err := tx.Notifications(ctx, store.NotificationFilter{Incident: n.Incident, Channel: n.Channel, Status: watch.Pending})
		if err != nil {
			return err
		}
		l.waits = slices.ContainsFunc(before, func(other watch.Notification) bool {
			return other.ID < n.ID && e.now().Sub(other.At) < orderMost
		})
		if n.Monitor == 0 {
			return nil
		}
		m, err := tx.Monitor(ctx, n.Monitor)
		if err != nil {
			return unlessGone(err)
		}
		l.monitor = m.Definition.Name
		return nil
	})
	return l, err
}

func unlessGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// send makes one attempt.
func (e *Engine) send(ctx context.Context, c *watch.Channel, m alert.Message) (string, error) {
	switch {
	case c == nil:
		return "", &alert.PermanentError{Err: errors.New("the channel does not exist any more")}
	case e.o.Alerts == nil:
		return "", errors.New("this process sends nothing")
	}
	ctx, cancel := context.WithTimeout(ctx, sendBudget)
	defer cancel()
	return e.o.Alerts.Send(ctx, c, m)
}

// record stores an attempt, also when the engine is stopping: it was made.
func (e *Engine) record(ctx context.Context, d watch.Delivery, status string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordPatience)
	defer cancel()
	return e.o.Store.InTx(ctx, func(tx *store.Tx) error { return tx.RecordDelivery(ctx, d, status) })
}
