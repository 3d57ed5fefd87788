package ops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

const (
	// mostEfforts are made at a time, each of which may take a second and a hundred MB.
	mostEfforts = 2
	// mostInLine is how many one actor may have asked for.
	mostInLine = 32
)

// effort has whole surfaces compared and searched a few at a time, and one at a time for
// each actor: whoever asks for a hundred neither fills the memory nor keeps others
// waiting. The zero value is ready to use, by many at once.
type effort struct {
	mu   sync.Mutex
	all  chan struct{}
	line map[string]*inLine // by actor
}

// inLine is what one actor has asked for.
type inLine struct {
	turn  chan struct{}
	asked int
}

// begin waits for the turn of an actor. What it gives ends it.
func (e *effort) begin(ctx context.Context, actor people.Actor) (end func(), err error) {
	own, err := e.join(actor.Name())
	if err != nil {
		return nil, err
	}
	var held []chan struct{}
	end = func() {
		for _, slots := range held {
			<-slots
		}
		e.leave(actor.Name())
	}
	for _, slots := range []chan struct{}{own.turn, e.all} {
		select {
		case slots <- struct{}{}:
			held = append(held, slots)
		case <-ctx.Done():
			end()
			return nil, fmt.Errorf("wait for others to be done: %w", context.Cause(ctx))
		}
	}
	return end, nil
}

func (e *effort) join(actor string) (*inLine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all, e.line = make(chan struct{}, mostEfforts), map[string]*inLine{}
	}
	own := e.line[actor]
	if own == nil {
		own = &inLine{turn: make(chan struct{}, 1)}
		e.line[actor] = own
	}
	if own.asked >= mostInLine {
		return nil, &Error{Code: TooMany, Text: "too many comparisons and searches at a time", Hint: "wait for those that you have asked for", RetryAfter: time.Second}
	}
	own.asked++
	return own, nil
}

func (e *effort) leave(actor string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	own := e.line[actor]
	if own.asked--; own.asked == 0 {
		delete(e.line, actor)
	}
}
