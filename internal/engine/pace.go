package engine

import (
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
)

// How checks are paced that are due all at once, such as after a pause.
const (
	// rateEvery is how old the rate of the schedule may get, and rateAgain how old
	// while more is due than it allows.
	rateEvery = 5 * time.Minute
	rateAgain = 5 * time.Second
)

// pace spreads the start of checks: as many as the schedule has in the long run, and
// some more, so that a pause is not followed by all of them in the same second.
type pace struct {
	mu       sync.Mutex
	rate     float64 // checks a second
	at       time.Time
	tokens   float64
	last     time.Time
	backlog  bool
	measures int
}

// allow returns how many checks may start now.
func (p *pace) allow(now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	speed := max(p.rate*store.CatchUp, store.Slowest)
	if !p.last.IsZero() {
		p.tokens = min(p.tokens+speed*now.Sub(p.last).Seconds(), speed)
	}
	p.last = now
	return min(int(p.tokens), maxClaims)
}

// took notes how many did; full: there may be more that are due.
func (p *pace) took(n int, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens = max(p.tokens-float64(n), 0)
	p.backlog = full
}

// stale reports whether the rate has to be measured.
func (p *pace) stale(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := now.Sub(p.at)
	return p.measures == 0 || age >= rateEvery || p.backlog && age >= rateAgain
}

func (p *pace) measured(rate float64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate, p.at = rate, now
	p.measures++
}
