package engine

import (
	"sync"
	"time"
)

const (
	// maxLane is how many deliveries to one channel run at a time, and slowLane how many
	// while it is slow: channels that hang leave workers to the others.
	maxLane  = mailWorkers / 2
	slowLane = 2
	// slowAfter is how long an attempt takes that makes a channel slow.
	slowAfter = 2 * time.Second
	// lanePause is when a delivery that found no place looks again.
	lanePause = 2 * time.Second
)

// lanes bounds the deliveries to each channel that run at a time. The zero one is ready.
type lanes struct {
	mu  sync.Mutex
	all map[string]*lane
}

type lane struct {
	busy int
	slow bool
}

// enter takes a place, if there is one. Every place taken is given back with leave.
func (l *lanes) enter(channel string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.all[channel]
	if at == nil {
		at = &lane{}
		if l.all == nil {
			l.all = map[string]*lane{}
		}
		l.all[channel] = at
	}
	most := maxLane
	if at.slow {
		most = slowLane
	}
	if at.busy >= most {
		return false
	}
	at.busy++
	return true
}

// leave gives a place back after an attempt that took so long.
func (l *lanes) leave(channel string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.all[channel]
	at.busy--
	at.slow = took >= slowAfter
	if at.busy == 0 && !at.slow {
		delete(l.all, channel)
	}
}
