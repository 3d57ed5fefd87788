package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
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
	// Workers is how many checks of servers run at a time for each location, stdio
	// servers aside. 0: 256.
	Workers   int
	PublicURL string
	Retention store.Retention
	// Check replaces probe.Check in tests.
	Check func(ctx context.Context, t *target.Target, o probe.Options) *probe.Report

	stopPatience time.Duration // of tests
}

const defaultWorkers = 256

// Engine runs the watch. It is safe for concurrent use.
type Engine struct {
	o       Options
	log     *slog.Logger
	client  *river.Client[*sql.Tx]
	sink    *sink
	metrics *meter
	pace    *pace
	depths  *depths

	roster   *roster
	memories *memories
	// blindness is whether checks can be run at the locations.
	blindness *blindness
	surfaces  *lru[surface.Digest, *surface.Surface]
	linted    *lru[surface.Digest, []baseline.Verdict]
	verdicts  *lru[verdictKey, *baseline.Result]
	approved  *lru[baselinesKey, []watch.Approved]

	running  atomic.Bool
	stopping atomic.Bool
	ticked   atomic.Int64 // when the last tick went well, Unix ms of the real clock
}

// What is kept in memory, in bytes.
const (
	maxSurfaces = 48 << 20
	maxLinted   = 16 << 20
	maxVerdicts = 32 << 20
	maxApproved = 32 << 20
)

// New makes an engine on the store's database, and migrates the tables of its queue.
func New(ctx context.Context, o Options) (*Engine, error) {
	if o.Store == nil {
		return nil, errors.New("an engine needs a store")
	}
	if len(o.Locations) == 0 {
		o.Locations = []string{watch.DefaultLocation}
	}
	for _, location := range o.Locations {
		if err := checkLocation(location); err != nil {
			return nil, err
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.stopPatience <= 0 {
		o.stopPatience = stopPatience
	}
	e := &Engine{
		o: o, log: o.Logger, metrics: newMeter(), pace: new(pace), depths: new(depths),
		roster: newRoster(o.Store), memories: newMemories(), blindness: newBlindness(),
		surfaces: newLRU[surface.Digest, *surface.Surface](maxSurfaces),
		linted:   newLRU[surface.Digest, []baseline.Verdict](maxLinted),
		verdicts: newLRU[verdictKey, *baseline.Result](maxVerdicts),
		approved: newLRU[baselinesKey, []watch.Approved](maxApproved),
	}
	e.sink = newSink(e)
	if err := migrate(ctx, driverOf(o.Store), slog.New(quiet{e.log.Handler(), &e.stopping})); err != nil {
		return nil, fmt.Errorf("prepare the tables of the job queue: %w", err)
	}
	var err error
	if e.client, err = e.newClient(); err != nil {
		return nil, fmt.Errorf("set up the job queue: %w", err)
	}
	return e, nil
}

// now is the time of decisions, as it is stored.
func (e *Engine) now() time.Time { return e.o.Now().UTC().Truncate(time.Millisecond) }

func (e *Engine) check(ctx context.Context, t *target.Target, o probe.Options) *probe.Report {
	if e.o.Check != nil {
		return e.o.Check(ctx, t, o)
	}
	return probe.Check(ctx, t, o)
}

// Run works until ctx ends, and then lets checks that are in flight finish for a
// bounded time; those that do not are run again later. It returns an error when it
// cannot start. An engine runs once.
func (e *Engine) Run(ctx context.Context) error {
	if !e.running.CompareAndSwap(false, true) {
		return errors.New("the engine runs already, or has run")
	}
	work := context.WithoutCancel(ctx)
	e.sink.start(work)
	defer e.sink.stop()
	if err := e.takeUp(work); err != nil {
		return fmt.Errorf("take up what the last process left: %w", err)
	}
	if err := e.client.Start(work); err != nil {
		return fmt.Errorf("start the job queue: %w", err)
	}
	e.dispatch(ctx)
	return e.stop(work)
}

// stop ends the queue: what is in flight has some time to finish.
func (e *Engine) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.o.stopPatience+stopPatience)
	defer cancel()
	e.stopping.Store(true)
	if err := e.client.Stop(ctx); err != nil {
		return fmt.Errorf("stop the job queue: %w", err)
	}
	return nil
}

// tooOld is how old the last good tick may be while an engine is ready.
const tooOld = 10 * time.Second

// Ready reports why this process cannot do its work at the moment, if so.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.o.Store.Ping(ctx); err != nil {
		return err
	}
	if !e.running.Load() {
		return errors.New("the engine does not run")
	}
	if at := time.UnixMilli(e.ticked.Load()); time.Since(at) > tooOld {
		return errors.New("no check could be dispatched for some seconds; the log says why")
	}
	return nil
}
