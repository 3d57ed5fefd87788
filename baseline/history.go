package baseline

import (
	"crypto/sha256"
	"slices"

	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// kept is how many checks a [History] remembers.
	kept = 8
	// flips are how many changes among them are no upgrade any more.
	flips = 3
)

// Sighting is what one check saw.
type Sighting struct {
	// Digest covers everything but the login.
	Digest surface.Digest `json:"digest"`
	// Login covers its metadata; nil when that was never looked at.
	Login *surface.Digest `json:"login,omitempty"`
	// Volatile: what changed since the check before are dates, versions and
	// integers in text, and nothing else.
	Volatile bool `json:"volatile,omitempty"`
}

// saw reports whether two checks saw the same; a login that one of them did not look
// at is no difference.
func (s Sighting) saw(other Sighting) bool {
	return s.Digest == other.Digest && (s.Login == nil || other.Login == nil || *s.Login == *other.Login)
}

// sight is what is seen in s, but for the kinds that are left out.
func sight(s *surface.Surface, without []surface.Kind) Sighting {
	var out Sighting
	rest, login := sha256.New(), sha256.New()
	for _, item := range s.Items() {
		if item.Kind == surface.Auth {
			login.Write(item.Digests.Raw[:])
			continue
		}
		if slices.Contains(without, item.Kind) {
			continue
		}
		rest.Write([]byte(item.Kind + "\x00"))
		rest.Write(item.Digests.Raw[:])
	}
	out.Digest = surface.Digest(rest.Sum(nil))
	if len(s.Of(surface.Auth)) > 0 {
		d := surface.Digest(login.Sum(nil))
		out.Login = &d
	}
	return out
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

// See adds a check that saw cur, after one that saw prev, which is nil when that is
// not known any more. b is the baseline of the server, or nil. The check is left out
// when an inventory of cur was not listed to its end that b lists: nothing can be
// said of it. What only a mask covers is no change, nor whether the login was looked
// at, nor what is in an inventory that b does not list.
//
// It says [surface.VolatileText] when the surface changed three times within the
// last eight checks in nothing but volatile text, [surface.InconsistentListing] when
// it changed as often between two states, and nothing otherwise. Each is said once,
// the weaker one not after the other, until eight checks in a row saw the same.
func (h History) See(prev, cur *surface.Surface, b *Baseline) (next History, say surface.Class) {
	var masks []surface.Mask
	var without []surface.Kind
	if b != nil {
		masks, without = b.Masks, b.Surface.Unlisted()
	}
	partial := func(s *surface.Surface) bool {
		return slices.ContainsFunc(s.Unlisted(), func(k surface.Kind) bool { return !slices.Contains(without, k) })
	}
	if partial(cur) {
		return h, ""
	}
	s := sight(cur, without)
	if len(h.Seen) == 0 {
		return h.see(s)
	}
	last := h.Seen[len(h.Seen)-1]
	if prev != nil && !partial(prev) {
		_, same, volatile := difference(prev, cur, masks)
		s.Volatile = volatile && !same
		if same {
			s.Digest = last.Digest
		}
	}
	if s.Login == nil {
		s.Login = last.Login
	}
	return h.see(s)
}

func (h History) see(s Sighting) (next History, say surface.Class) {
	next = History{Seen: append(slices.Clone(h.Seen), s), Said: h.Said}
	next.Seen = next.Seen[max(0, len(next.Seen)-kept):]
	changed, volatile := 0, 0
	var states []Sighting
	for i, seen := range next.Seen {
		if !slices.ContainsFunc(states, seen.saw) {
			states = append(states, seen)
		}
		if i == 0 || seen.saw(next.Seen[i-1]) {
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
	case changed >= flips && len(states) == 2:
		say = surface.InconsistentListing
	}
	if say == "" || say == next.Said || next.Said == surface.InconsistentListing {
		return next, ""
	}
	next.Said = say
	return next, say
}
