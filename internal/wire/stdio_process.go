package wire

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// start makes the pipes and starts the process and the goroutines.
func (c *stdioConn) start() error {
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	// The pipes are our own, not those of exec.Cmd, whose Wait would close
	// them under the readers or wait for descendants that hold them.
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return err
		}
		if i == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	c.stdin, c.stdout, c.stderr = ours[0], ours[1], ours[2]
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	c.lines = newLineReader(c.stdout, c.cfg.Limits.ResponseBytes)
	c.started = time.Now()
	started := make(chan error)
	c.goroutines.Go(func() { c.run(started) })
	err := <-started
	closeAll(theirs)
	if err != nil {
		c.goroutines.Wait()
		closeAll(ours)
		return err
	}
	c.goroutines.Go(c.readStdout)
	c.goroutines.Go(c.readStderr)
	c.goroutines.Go(c.write)
	return nil
}

// run starts the process and sees it to its end, and that of its descendants.
func (c *stdioConn) run(started chan<- error) {
	// See dieWithParent. It costs nothing: waiting for the process takes a
	// thread anyway.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tree, err := startTree(c.cmd)
	c.tree = tree
	started <- err
	if err != nil {
		return
	}
	awaitExit(c.cmd)
	close(c.exited)
	// A wrapper may have left the real server behind, and a server its helpers.
	// Those that hold its pipes get a moment to end well.
	c.tree.terminateRest()
	drained := c.drained(min(drainGrace, c.sc.TermGrace))
	c.tree.kill()
	if !drained && !c.drained(drainGrace/5) {
		// Something left the process group and kept the pipes. What it writes
		// is not the server's any more.
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		<-c.stdoutDone
		<-c.stderrDone
	}
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Wait() // the status is in ProcessState
	}
	c.tree.release()
	c.lose(c.exitError())
}

// drained waits for the end of both outputs, for at most d.
func (c *stdioConn) drained(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, done := range []<-chan struct{}{c.stdoutDone, c.stderrDone} {
		select {
		case <-done:
		case <-timer.C:
			return false
		}
	}
	return true
}

// close ends the server: its standard input is closed, then it is asked to end,
// then it is killed, and with it all that it has started. When ctx ends, what is
// left of each grace shrinks to a moment. It may be called more than once, and
// waits for the end each time.
func (c *stdioConn) close(ctx context.Context) { c.closeOnce.Do(func() { c.shutdown(ctx) }) }

func (c *stdioConn) shutdown(ctx context.Context) {
	c.mux.fail(&Error{Reason: ReasonAborted, Text: "the connection was closed"})
	close(c.quit)
	within(c.writerDone, flushGrace)
	_ = c.stdin.Close()
	if !graceful(ctx, c.exited, c.sc.StdinGrace) {
		cut := ctx.Err() != nil // then it was not given its time, and is not to blame
		how := "only after it was asked to (SIGTERM)"
		c.tree.terminate()
		if !graceful(ctx, c.exited, c.sc.TermGrace) {
			how = "and had to be killed"
			c.tree.kill()
		}
		if !cut {
			c.cfg.Log.Note("slow-shutdown", fmt.Sprintf("the server did not end within %s of the end of its input, %s", c.sc.StdinGrace, how), "end the server when its standard input ends")
		}
	}
	finished := make(chan struct{})
	go func() {
		c.goroutines.Wait()
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		close(finished)
	}()
	within(finished, killGrace)
}

// graceful waits for ch, for at most d and, once ctx has ended, for at most a
// moment more: a server that ends as it should needs no longer.
func graceful(ctx context.Context, ch <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
	}
	return within(ch, min(d, lateGrace))
}

// within waits for ch, for at most d, and reports whether it was closed.
func within(ch <-chan struct{}, d time.Duration) bool {
	select {
	case <-ch:
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
		return false
	}
}
