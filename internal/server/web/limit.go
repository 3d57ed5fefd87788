package web

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimited bounds how many callers a Limiter remembers.
const maxLimited = 10_000

// Limiter bounds how often each caller does something. It is safe for concurrent use.
type Limiter struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	callers map[string]*rate.Limiter
}

// NewLimiter lets each caller do burst acts at once and r a second.
func NewLimiter(r rate.Limit, burst int, now func() time.Time) *Limiter {
	return &Limiter{rate: r, burst: burst, now: now, callers: map[string]*rate.Limiter{}}
}

// Take counts one act of a caller, and gives how long to wait when there were too many.
func (l *Limiter) Take(caller string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	reservation := l.of(caller, now).ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// Spent gives how long to wait when there were too many acts, and counts none.
func (l *Limiter) Spent(caller string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.callers[caller]
	if !ok {
		return 0
	}
	now := l.now()
	if tokens := c.TokensAt(now); tokens < 1 {
		return time.Duration((1 - tokens) / float64(l.rate) * float64(time.Second))
	}
	return 0
}

func (l *Limiter) of(caller string, now time.Time) *rate.Limiter {
	c, ok := l.callers[caller]
	if ok {
		return c
	}
	if len(l.callers) >= maxLimited {
		l.forget(now)
	}
	c = rate.NewLimiter(l.rate, l.burst)
	l.callers[caller] = c
	return c
}

// forget drops callers that have not done anything lately, or else any half of them:
// memory is bounded, whoever calls.
func (l *Limiter) forget(now time.Time) {
	for caller, c := range l.callers {
		if c.TokensAt(now) >= float64(l.burst) {
			delete(l.callers, caller)
		}
	}
	for caller := range l.callers {
		if len(l.callers) < maxLimited/2 {
			return
		}
		delete(l.callers, caller)
	}
}
