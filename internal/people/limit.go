package people

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const maxBuckets = 10_000 // of a limiter

// limiter bounds attempts by key: burst at once, then one in each period. Its memory is
// bounded; when it is full of keys that are still being limited, all further ones share
// one bucket, so that nobody gets rid of a limit by pushing it out.
type limiter struct {
	every time.Duration
	burst int

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	others  *rate.Limiter
	swept   time.Time
}

func newLimiter(every time.Duration, burst int) *limiter {
	l := &limiter{every: every, burst: burst, buckets: map[string]*rate.Limiter{}}
	l.others = l.bucket()
	return l
}

func (l *limiter) bucket() *rate.Limiter { return rate.NewLimiter(rate.Every(l.every), l.burst) }

// take counts an attempt, or gives a *RateError.
func (l *limiter) take(key string, now time.Time) error {
	_, err := l.reserve(key, now)
	return err
}

func (l *limiter) reserve(key string, now time.Time) (*rate.Reservation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		b = l.others
		l.sweep(now)
		if len(l.buckets) < maxBuckets {
			b = l.bucket()
			l.buckets[key] = b
		}
	}
	r := b.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return nil, &RateError{RetryAfter: wait}
	}
	return r, nil
}

// attempt is take of what only counts when it fails: the function that it gives takes it
// back.
func (l *limiter) attempt(key string, now time.Time) (right func(), err error) {
	r, err := l.reserve(key, now)
	if err != nil {
		return nil, err
	}
	return func() { r.CancelAt(now) }, nil
}

// sweep forgets who is not limited any more, when there is no room, once a second.
func (l *limiter) sweep(now time.Time) {
	if len(l.buckets) < maxBuckets || now.Sub(l.swept) < time.Second {
		return
	}
	l.swept = now
	for key, b := range l.buckets {
		if b.TokensAt(now) >= float64(l.burst) {
			delete(l.buckets, key)
		}
	}
}

// network is what counts as one address: of IPv6 the network of 64 bits that a customer
// has at the least.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		withPort, err := netip.ParseAddrPort(address)
		if err != nil {
			return "" // one for all that cannot be read
		}
		ip = withPort.Addr()
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked().String()
	}
	return ip.String()
}
