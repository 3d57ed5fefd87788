package engine

import (
	"slices"
	"sync"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// sample is how many monitors, those that were checked last, say whether checks can be
// run at a location: one of them alone, behind a resolver or a proxy that fails for it,
// says nothing of the rest.
const sample = 16

// blindness remembers which checks could be run last.
type blindness struct {
	mu   sync.Mutex
	last map[string][]ran // by location, the latest last
}

type ran struct {
	monitor int64
	local   bool
}

func newBlindness() *blindness { return &blindness{last: map[string][]ran{}} }

// telling notes observations of a location, and returns those of them that say how it
// stands: those that could not be run when most could not, the others when nearly all
// could, and none in between.
func (b *blindness) telling(location string, observations []*watch.Observation) []*watch.Observation {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.last[location]
	for _, o := range observations {
		last = slices.DeleteFunc(last, func(r ran) bool { return r.monitor == o.Monitor })
		last = append(last, ran{o.Monitor, o.Local})
	}
	last = slices.Clone(last[max(0, len(last)-sample):])
	b.last[location] = last
	local := 0
	for _, r := range last {
		if r.local {
			local++
		}
	}
	blind := 2*local > len(last)
	if !blind && 4*local > len(last) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(observations), func(o *watch.Observation) bool { return o.Local != blind })
}
