package baseline

import (
	"slices"

	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// kept is how many checks a [History] remembers.
	kept = 8
	// flips are how many changes among them are no upgrade any more.
	flips = 3
)

// Sighting is the digest that one check saw.
type Sighting struct {
	Digest surface.Digest `json:"digest"`
	// Volatile: what changed since the check before are dates, versions and
	// integers in text, and nothing else.
	Volatile bool `json:"volatile,omitempty"`
}

// History is what a monitor remembers of the surfaces that it saw, to tell a
// server that keeps changing from one that changed. The zero History is empty. It
// is a value: [History.See] returns the next one.
type History struct {
	// Seen are the last checks, oldest first.
	Seen []Sighting `json:"seen,omitempty"`
	// Said is what was said since the surface last settled.
	Said surface.Class `json:"said,omitempty"`
}

// See adds a check. It says [surface.VolatileText] when the surface changed three
// times within the last eight checks in nothing but volatile text,
// [surface.InconsistentListing] when it changed as often between two digests, and
// nothing otherwise. Each is said once, the weaker one not after the other, until
// eight checks in a row saw the same.
func (h History) See(s Sighting) (next History, say surface.Class) {
	next = History{Seen: append(slices.Clone(h.Seen), s), Said: h.Said}
	next.Seen = next.Seen[max(0, len(next.Seen)-kept):]
	changed, volatile := 0, 0
	digests := map[surface.Digest]bool{}
	for i, seen := range next.Seen {
		digests[seen.Digest] = true
		if i == 0 || seen.Digest == next.Seen[i-1].Digest {
			continue
		}
		changed++
		if seen.Volatile {
			volatile++
		}
	}
	switch {
	case changed == 0:
		next.Said = ""
	case changed >= flips && changed == volatile:
		say = surface.VolatileText
	case changed >= flips && len(digests) == 2:
		say = surface.InconsistentListing
	}
	if say == "" || say == next.Said || next.Said == surface.InconsistentListing {
		return next, ""
	}
	next.Said = say
	return next, say
}
