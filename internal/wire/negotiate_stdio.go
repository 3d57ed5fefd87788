package wire

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Causes that end the opening of a stdio server.
var (
	errStartup = fmt.Errorf("the start-up budget is spent: %w", context.DeadlineExceeded)
	errBudget  = fmt.Errorf("the budget of the opening is spent: %w", context.DeadlineExceeded)
)

// grace is how long a modern answer may still come after a legacy one did.
const grace = 250 * time.Millisecond

// openStdio starts a server and opens a session with it. A server that ends
// because of a first message it does not know is started once more and opened
// with initialize.
func (n *negotiation) openStdio(ctx context.Context, sc StdioConfig) (*Session, error) {
	pinnedLegacy := n.cfg.Pin != "" && !Modern(n.cfg.Pin)
	s, err := n.startStdio(ctx, sc, pinnedLegacy)
	if ReasonOf(err) == ReasonProcessExited && n.cfg.Pin == "" {
		first := err
		if s, err = n.startStdio(ctx, sc, true); err != nil {
			return nil, first
		}
		n.cfg.Log.Note("exit-on-unknown-method", "the server ended when it got a method it does not know", "answer unknown methods with error -32601; JSON-RPC servers do not end because of them")
	}
	return s, err
}

// startStdio is one start and one opening.
func (n *negotiation) startStdio(whole context.Context, sc StdioConfig, legacy bool) (*Session, error) {
	c, err := startStdio(whole, sc, n.cfg)
	if err != nil {
		return nil, err
	}
	n.conn = c
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	watch := make(chan struct{})
	go func() {
		defer close(watch)
		watchStartup(ctx, c, n.cfg, cancel)
	}()
	s, err := n.negotiateStdio(ctx, legacy)
	cause := context.Cause(ctx)
	cancel(nil)
	<-watch
	n.racing.Wait()
	if err != nil {
		err = n.stdioFailure(cause, c, err)
		c.close(whole)
		return nil, err
	}
	s.spawn = c.firstAfter()
	return s, nil
}

// watchStartup cancels an opening whose server is silent past the start-up
// budget, or whose handshake takes longer than the budget of a step after that.
func watchStartup(ctx context.Context, c *stdioConn, cfg Config, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(cfg.Startup)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
		cancel(errStartup)
		return
	case <-c.firstMessage():
		timer.Reset(cfg.Budget)
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
		cancel(errBudget)
	}
}

// stdioFailure gives an ended opening the reason that fits.
func (n *negotiation) stdioFailure(cause error, c *stdioConn, err error) error {
	stderr := c.stderrTail()
	withTail := func(e *Error) *Error {
		if stderr != "" && e.Details["stderr"] == nil {
			e.Details = detail(e.Details, "stderr", stderr)
		}
		return e
	}
	switch {
	case errors.Is(cause, context.DeadlineExceeded) && c.firstAfter() == 0 && c.spread.Load():
		return withTail(&Error{
			Reason: ReasonMalformedMessage, Seen: true,
			Text: "the messages on standard output span several lines",
			Hint: "write each message on one line, without pretty-printing: a line end is what divides messages (stdio transport)",
		})
	case errors.Is(cause, context.DeadlineExceeded) && c.firstAfter() == 0:
		// Whichever budget it was: the server has not started.
		silent := n.cfg.Startup
		if !errors.Is(cause, errStartup) {
			silent = time.Since(c.started).Round(10 * time.Millisecond)
		}
		return withTail(&Error{
			Reason: ReasonStartupTimeout,
			Text:   fmt.Sprintf("the process runs and has not sent a message in %s", silent),
			Hint:   n.startupHint(),
		})
	case errors.Is(cause, errBudget):
		return withTail(&Error{Reason: ReasonTimeout, Text: fmt.Sprintf("the server started, and the opening was not complete %s later", n.cfg.Budget), Seen: true})
	}
	var e *Error
	if errors.As(err, &e) {
		return withTail(e)
	}
	return err
}

// startupHint says what a silent server may be waiting for.
func (n *negotiation) startupHint() string {
	hint := "it may still be installing itself: give it more time with startup_timeout (--startup-timeout)"
	if sc, ok := n.peer.(StdioConfig); ok && !sc.Inherited {
		hint += "; or it waits for a variable: " + reducedEnv
	}
	return hint
}

// negotiateStdio finds out the era on one process.
func (n *negotiation) negotiateStdio(ctx context.Context, legacy bool) (*Session, error) {
	if legacy {
		return n.initialize(ctx, n.offer())
	}
	probe := n.inBackground(ctx, n.discoverRequest(n.wanted()))
	if n.cfg.Pin != "" {
		r := <-probe
		return n.afterProbe(ctx, r.answer, r.err)
	}
	silence := time.NewTimer(n.cfg.Budget / 2)
	defer silence.Stop()
	select {
	case r := <-probe:
		return n.afterProbe(ctx, r.answer, r.err)
	case <-silence.C:
	}
	// Silence: the server may be slow, or leave unknown methods unanswered.
	// Whichever valid answer comes decides; a modern one is preferred.
	initialize := n.inBackground(ctx, n.initializeRequest(n.offer()))
	select {
	case r := <-probe:
		return n.probeFirst(ctx, r, initialize)
	case r := <-initialize:
		return n.initializeFirst(ctx, r, probe)
	}
}

// probeFirst goes on when server/discover was answered with initialize under way.
func (n *negotiation) probeFirst(ctx context.Context, r returned, initialize <-chan returned) (*Session, error) {
	s, first := n.judgeProbe(ctx, r.answer, r.err)
	if first == nil {
		return s, nil
	}
	if _, fall := n.fallback(first); !fall {
		return nil, first
	}
	legacy := <-initialize
	s, err := n.openLegacy(ctx, n.offer(), legacy.answer, legacy.err)
	if err != nil {
		return nil, n.firstFinding(first, err)
	}
	return s, nil
}

// initializeFirst goes on when initialize was answered before server/discover.
func (n *negotiation) initializeFirst(ctx context.Context, r returned, probe <-chan returned) (*Session, error) {
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case p := <-probe:
		if s, err := n.judgeProbe(ctx, p.answer, p.err); err == nil {
			return s, nil
		}
	case <-late.C:
	}
	return n.openLegacy(ctx, n.offer(), r.answer, r.err)
}

// returned is how an exchange ended.
type returned struct {
	answer *answer
	err    error
}

// inBackground makes an exchange beside another. It ends with ctx at the
// latest; [negotiation.startStdio] waits for it.
func (n *negotiation) inBackground(ctx context.Context, r *request) <-chan returned {
	done := make(chan returned, 1)
	n.racing.Go(func() {
		a, err := n.conn.exchange(ctx, r)
		done <- returned{a, err}
	})
	return done
}
