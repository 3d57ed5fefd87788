package wire

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
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
	if err == nil {
		c.family = newFamily(c.cmd.Process.Pid, c.stdin, c.stdout, c.stderr)
	}
	started <- err
	if err != nil {
		return
	}
	awaitExit(c.cmd)
	close(c.exited)
	if !c.endRest() {
		// Something out of reach kept the pipes. What it writes is not the
		// server's any more.
		_ = c.stdout.Close()
		_ = c.stderr.Close()
		<-c.stdoutDone
		<-c.stderrDone
	}
	c.family.end()
	c.tree.release()
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Wait() // the status is in ProcessState
	}
	c.lose(c.exitError())
}

// endRest ends what a server left behind: a wrapper may have left the real
// server, and a server its helpers. They get a moment to end well. It reports
// whether both outputs have come to their end.
func (c *stdioConn) endRest() bool {
	strays := c.family.strays() // while those of the group show whose children they are
	alone := c.family.alone()
	c.tree.terminateRest()
	// What left the group was not told, and may be about to end by itself.
	strays = c.outlast(strays, strayGrace)
	signalled := make(map[int]struct{}, len(strays))
	for _, s := range strays {
		signalled[s.id()] = struct{}{}
		s.terminate()
	}
	ends := time.Now().Add(min(drainGrace, c.sc.TermGrace))
	c.drained(time.Until(ends))
	c.outlast(strays, time.Until(ends))
	c.tree.kill()
	for round := 0; round < 3 && !alone; round++ { // one that is killed may just have started another
		if strays = c.family.strays(); len(strays) == 0 {
			break
		}
		for _, s := range strays {
			signalled[s.id()] = struct{}{}
			s.kill()
		}
		c.outlast(strays, strayGrace)
	}
	if n := len(signalled); n > 0 && !c.hurried() {
		text := "1 process of the server had left its group and was killed"
		if n > 1 {
			text = fmt.Sprintf("%d processes of the server had left its group and were killed", n)
		}
		c.cfg.Log.Note("stray-processes", text, "end what the server starts when the server ends")
	}
	return c.drained(drainGrace / 5)
}

// outlast waits for the end of strays, for at most d, and returns those that
// still run.
func (c *stdioConn) outlast(strays []stray, d time.Duration) []stray {
	ends := time.Now().Add(d)
	for {
		strays = slices.DeleteFunc(strays, func(s stray) bool { return !s.alive() })
		if len(strays) == 0 || c.hurried() || !time.Now().Before(ends) {
			return strays
		}
		within(c.hurry, strayPoll)
	}
}

// hurried reports whether the time of the check is up.
func (c *stdioConn) hurried() bool {
	select {
	case <-c.hurry:
		return true
	default:
		return false
	}
}

// drained waits for the end of both outputs, for at most d, or for a moment when
// the time of the check is up.
func (c *stdioConn) drained(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	hurry := c.hurry
	for _, done := range []<-chan struct{}{c.stdoutDone, c.stderrDone} {
		for open := true; open; {
			select {
			case <-done:
				open = false
			case <-timer.C:
				return false
			case <-hurry:
				hurry = nil
				timer.Reset(min(d, lateGrace))
			}
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
	stop := context.AfterFunc(ctx, func() { close(c.hurry) })
	defer stop()
	c.family.remember()
	stdinGrace, termGrace := c.graces()
	c.mux.fail(&Error{Reason: ReasonAborted, Text: "the connection was closed"})
	close(c.quit)
	within(c.writerDone, flushGrace)
	_ = c.stdin.Close()
	if !graceful(ctx, c.exited, stdinGrace) {
		// A server that was not given its time is not to blame.
		cut := ctx.Err() != nil || stdinGrace < c.sc.StdinGrace
		how := "only after it was asked to (SIGTERM)"
		c.tree.terminate()
		if !graceful(ctx, c.exited, termGrace) {
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

// graces are what the server gets to end. One that does not read its input any
// more, or whose output was given up, will not notice that its input ends.
func (c *stdioConn) graces() (stdin, term time.Duration) {
	select {
	case <-c.deaf:
	case <-c.lost:
	default:
		return c.sc.StdinGrace, c.sc.TermGrace
	}
	return min(c.sc.StdinGrace, lateGrace), min(c.sc.TermGrace, closedGrace)
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
