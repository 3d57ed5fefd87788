package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimited bounds how many callers a limiter remembers.
const maxLimited = 10_000

// limiter bounds how often each caller does something. It is safe for concurrent use.
type limiter struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	mu      sync.Mutex
	callers map[string]*rate.Limiter
}

func newLimiter(r rate.Limit, burst int, now func() time.Time) *limiter {
	return &limiter{rate: r, burst: burst, now: now, callers: map[string]*rate.Limiter{}}
}

// take counts one act of a caller, and gives how long to wait when there were too many.
func (l *limiter) take(caller string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	reservation := l.of(caller, now).ReserveN(now, 1)
	if wait = reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// spent gives how long to wait when there were too many acts, and counts none.
func (l *limiter) spent(caller string) (wait time.Duration) {
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

func (l *limiter) of(caller string, now time.Time) *rate.Limiter {
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
func (l *limiter) forget(now time.Time) {
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
