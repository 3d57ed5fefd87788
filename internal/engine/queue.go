package engine

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The queues. Checks of stdio servers have one of their own for each location, as each
// of them is a process.
const (
	queueCheck   = "check_"
	queueStdio   = "stdio_"
	queueNotify  = "notify"
	queueKeep    = "keep"
	stdioWorkers = 8
	mailWorkers  = 16
)

// Times of the queue.
const (
	// maxJob bounds a job that says nothing else, and lostAfter is when one whose
	// process is gone is given to another. Jobs that may take longer say so, and are
	// given away no sooner than that.
	maxJob    = 30 * time.Second
	lostAfter = 30 * time.Second
	// stopPatience is how long checks that are in flight may go on when the engine stops.
	stopPatience = 10 * time.Second
	// confirmPatience is how much longer a check may take to confirm what is new, and
	// commitPatience how long it may wait for its result to be stored.
	confirmPatience = 10 * time.Second
	commitPatience  = 15 * time.Second
)

// checksArgs are checks of one location that were claimed together.
type checksArgs struct {
	Location string        `json:"l"`
	Claimed  int64         `json:"c"` // ms
	Budget   time.Duration `json:"b"` // the longest of Checks
	Checks   []checkArgs   `json:"w"`
}

// checkArgs are one of them.
type checkArgs struct {
	Monitor   int64      `json:"m"`
	Slot      int64      `json:"s"` // ms
	Why       watch.Kind `json:"k"`
	Revision  int64      `json:"r"`
	Approvals int64      `json:"a"`
}

// Kind names the job.
func (checksArgs) Kind() string { return kindChecks }

const kindChecks = "checks"

// dues are the claims of the checks.
func (a *checksArgs) dues() []store.Due {
	out := make([]store.Due, len(a.Checks))
	for i := range a.Checks {
		c := &a.Checks[i]
		out[i] = store.Due{
			Monitor: c.Monitor, Location: a.Location, Slot: time.UnixMilli(c.Slot).UTC(), Kind: c.Why, Budget: a.Budget,
			Version: store.Version{Revision: c.Revision, Approvals: c.Approvals},
		}
	}
	return out
}

// add adds a claim.
func (a *checksArgs) add(d *store.Due) {
	a.Budget = max(a.Budget, d.Budget)
	a.Checks = append(a.Checks, checkArgs{
		Monitor: d.Monitor, Slot: d.Slot.UnixMilli(), Why: d.Kind, Revision: d.Version.Revision, Approvals: d.Version.Approvals,
	})
}

// deliverArgs are a notification to be delivered.
type deliverArgs struct {
	Notification int64 `json:"n"`
}

// Kind names the job.
func (deliverArgs) Kind() string { return "deliver" }

// keepArgs are one of the tasks that keep house.
type keepArgs struct {
	Task string `json:"task"`
}

// Kind names the job.
func (keepArgs) Kind() string { return "keep" }

// queueName is what the queue takes for the name of one.
var queueName = regexp.MustCompile(`^[a-z0-9]+([_-]?[a-z0-9]+)*$`)

// checkLocation reports whether a location can have a queue.
func checkLocation(name string) error {
	if len(name) > 48 || !queueName.MatchString(name) {
		return fmt.Errorf("%q is no name for a location: write it in small letters and digits, with single dashes between them", name)
	}
	return nil
}

func driverOf(s *store.Store) riverdriver.Driver[*sql.Tx] {
	if pool := s.Pool(); pool != nil {
		return riverdatabasesql.NewWithPgxListener(s.DB(), pool)
	}
	return riversqlite.New(s.DB())
}

// migrateTries is how often the migration of the queue's tables is begun: another
// process may be at it.
const migrateTries = 10

// migrate brings the tables of the queue to what this version needs.
func migrate(ctx context.Context, driver riverdriver.Driver[*sql.Tx], log *slog.Logger) error {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
		if err == nil || try == migrateTries {
			return err
		}
		if err := pause(ctx, time.Duration(try)*100*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newClient makes the client of the queue.
func (e *Engine) newClient() (*river.Client[*sql.Tx], error) {
	workers := river.NewWorkers()
	for _, add := range []func() error{
		func() error { return river.AddWorkerSafely(workers, newCheckWorker(e)) },
		func() error { return river.AddWorkerSafely(workers, &deliverWorker{engine: e}) },
		func() error { return river.AddWorkerSafely(workers, &keepWorker{engine: e}) },
	} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	queues := map[string]river.QueueConfig{queueNotify: {MaxWorkers: mailWorkers}, queueKeep: {MaxWorkers: 1, FetchPollInterval: 5 * time.Second}}
	for _, location := range e.o.Locations {
		// Every job that runs holds a seat, or waits for one.
		queues[queueCheck+location] = river.QueueConfig{MaxWorkers: e.o.Workers, FetchPollInterval: tickEvery}
		queues[queueStdio+location] = river.QueueConfig{MaxWorkers: stdioWorkers}
	}
	return river.NewClient(driverOf(e.o.Store), &river.Config{
		Queues: queues, Workers: workers, PeriodicJobs: periodic(),
		FetchCooldown: 50 * time.Millisecond, FetchPollInterval: 500 * time.Millisecond,
		JobTimeout: maxJob, RescueStuckJobsAfter: lostAfter,
		CompletedJobRetentionPeriod: time.Minute, CancelledJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: time.Hour,
		SoftStopTimeout: e.o.stopPatience, ErrorHandler: &errorHandler{e}, Logger: slog.New(quiet{e.log.Handler(), &e.stopping}),
		TestOnly: e.o.Check != nil,
	})
}

// errorHandler says in the log what became of jobs.
type errorHandler struct{ engine *Engine }

// HandleError logs a job that failed for good.
func (h *errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	if ctx.Err() == nil && job.Attempt >= job.MaxAttempts {
		h.engine.log.ErrorContext(ctx, "a job failed for good", slog.String("kind", job.Kind), slog.Int64("job", job.ID), slog.Int("attempts", job.Attempt), slog.String("error", err.Error()))
	}
	return nil
}

// HandlePanic counts and logs a panic; the job is tried again.
func (h *errorHandler) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	h.engine.metrics.panicked()
	h.engine.log.ErrorContext(ctx, "a job panicked", slog.String("kind", job.Kind), slog.Int64("job", job.ID), slog.Any("panic", value), slog.String("trace", trace))
	return nil
}

// quiet passes on what the queue says from errors up: the rest is its daily routine.
// Once it is silent nothing is: a queue that stops says of much that it was cancelled.
type quiet struct {
	slog.Handler
	silent *atomic.Bool
}

// Enabled reports whether level is worth a line.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && !q.silent.Load() && q.Handler.Enabled(ctx, level)
}

// WithAttrs keeps it quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attrs), q.silent}
}

// WithGroup keeps it quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name), q.silent} }
