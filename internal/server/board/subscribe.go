package board

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// mostWaiting bounds what waits for a subscriber. Who is slower has to read everything
// again.
const mostWaiting = 1000

// Subscription tells of changes. It collects them while nobody takes them: each monitor
// once, as only its last state counts.
type Subscription struct {
	board  *Board
	filter Filter
	ready  chan struct{}

	mu      sync.Mutex
	waiting map[int64]bool
	reload  bool
}

// Subscribe tells of monitors that fit a filter, or did before they changed. Close ends
// it.
func (b *Board) Subscribe(f Filter) *Subscription {
	f.Text = strings.ToLower(f.Text)
	s := &Subscription{board: b, filter: f, ready: make(chan struct{}, 1), waiting: map[int64]bool{}}
	b.listeners.Lock()
	defer b.listeners.Unlock()
	b.listeners.all[s] = true
	return s
}

// Close ends a subscription.
func (s *Subscription) Close() {
	s.board.listeners.Lock()
	defer s.board.listeners.Unlock()
	delete(s.board.listeners.all, s)
}

// Ready receives when there is something to take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take gives the ids of what changed since it was last called, or reload when that were
// too many.
func (s *Subscription) Take() (ids []int64, reload bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.waiting {
		ids = append(ids, id)
	}
	reload = s.reload
	clear(s.waiting)
	s.reload = false
	slices.Sort(ids)
	return ids, reload
}

// look collects what of the changes is of the filter.
func (s *Subscription) look(before, next *snapshot, changed []int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := false
	for _, id := range changed {
		if !s.fits(before.byID[id], now) && !s.fits(next.byID[id], now) {
			continue
		}
		told = true
		if s.reload {
			break
		}
		if s.waiting[id] = true; len(s.waiting) > mostWaiting {
			s.reload = true
			clear(s.waiting)
		}
	}
	if !told {
		return
	}
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// fits leaves the state aside for what has just become stale: it fitted before.
func (s *Subscription) fits(e *entry, now time.Time) bool {
	return e != nil && s.filter.fits(e) && (e.at(now).Is(s.filter.State) || e.fresh.Is(s.filter.State))
}
