package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// endings are the signals that ask a program to end. A terminal that goes away
// sends SIGHUP, Ctrl-\ SIGQUIT; who starts a program with nohup wants it to
// outlive the first.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// supervise runs f until it ends or signals end it, and returns the exit code.
//
// The first signal cancels the context of f. While f waits for servers that is
// all, since it will end soon and has a report to print. Otherwise, and at the
// second signal, f gets a last moment, in which what it started is killed at the
// second, and is then left behind; the code is 128 and the number of the signal,
// as a shell has it.
func (a *app) supervise(f func(context.Context) int) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, endings()...)
	defer signal.Stop(signals)
	// Unless somebody asks for it, this one ends the program when the reader of
	// its standard output has gone, before a verdict is returned. Ignoring it
	// instead would be inherited by the servers that are started.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan int, 1)
	go func() { done <- f(ctx) }()
	var last os.Signal
	for ctx.Err() == nil {
		select {
		case code := <-done:
			return code
		case last = <-signals:
			if !a.hungUp(last) {
				cancel()
			}
		}
	}
	if !a.waiting.Load() {
		select {
		case code := <-done:
			return code
		case last = <-signals:
		case <-time.After(lastMoment):
		}
		return signalled(last)
	}
	select {
	case code := <-done:
		return code
	case last = <-signals:
	}
	deadline := time.After(lastMoment)
	for {
		killChildren() // again and again: one may have been about to start
		select {
		case <-done:
			return signalled(last)
		case <-deadline:
			return signalled(last)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// hungUp hands SIGHUP to a command that reads its files again at it.
func (a *app) hungUp(s os.Signal) bool {
	hangups := a.hangups.Load()
	if s != syscall.SIGHUP || hangups == nil {
		return false
	}
	select {
	case *hangups <- struct{}{}:
	default: // one that was not looked at yet stands for this one
	}
	return true
}

func signalled(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitUnknown
}
