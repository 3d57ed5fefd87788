package board

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The states of a filter that are none of an axis. That nothing is known is said of each
// axis apart.
const (
	NeedsPerson    = "needs-person"
	PausedState    = "paused"
	StaleState     = "stale"
	UnknownSurface = "unknown-surface"
	UnknownPosture = "unknown-posture"
)

// States are what a filter can ask for, in the order of a page.
func States() []string {
	return []string{
		NeedsPerson,
		watch.Up, watch.Degraded, watch.Down, watch.Misconfigured, watch.Unknown,
		watch.AsApproved, watch.Changed, watch.Inconsistent, UnknownSurface,
		watch.Clean, watch.Flagged, UnknownPosture,
		PausedState, StaleState,
	}
}

// Filter says which monitors: those that fit all that is set.
type Filter struct {
	// Text is part of name, URL, tag or group, in any case.
	Text, Tag, Group string
	// State is one of States.
	State string
}

// Counts are how many monitors are in each of States, of those that fit the rest of a
// filter. All is how many there are of these.
type Counts struct {
	All   int
	State map[string]int
}

// Listing is a part of the monitors that fit a filter.
type Listing struct {
	Rows   []Row
	Counts Counts
	// Needs is how many of all that fit need a person: these come first.
	Needs int
	// Total is how many fit.
	Total int
	// Mark is the moment of the listing, for Since.
	Mark string
}

// List gives limit rows after the first offset ones: who needs a person first, by how
// much and, at equal need, the latest first; then all others by name.
func (b *Board) List(f Filter, offset, limit int) Listing {
	now := b.now()
	shown := b.shown.Load()
	out := Listing{Counts: Counts{State: make(map[string]int, 16)}, Mark: b.mark(shown, now)}
	var needs, others []*Row
	f.Text = strings.ToLower(f.Text)
	for _, e := range shown.sorted {
		if !f.fits(e) {
			continue
		}
		row := e.at(now)
		out.Counts.add(row)
		switch {
		case !row.Is(f.State):
		case row.Need != NotNeeded:
			needs = append(needs, row)
		default:
			others = append(others, row)
		}
	}
	slices.SortStableFunc(needs, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(b.Need, a.Need), b.Since.Compare(a.Since))
	})
	out.Needs, out.Total = len(needs), len(needs)+len(others)
	from := min(max(offset, 0), out.Total)
	for i := from; i < min(from+limit, out.Total); i++ {
		if i < len(needs) {
			out.Rows = append(out.Rows, *needs[i])
		} else {
			out.Rows = append(out.Rows, *others[i-len(needs)])
		}
	}
	return out
}

// Mark is the moment that the board shows now, for Since.
func (b *Board) Mark() string { return b.mark(b.shown.Load(), b.now()) }

// mark names a moment of the board.
func (b *Board) mark(s *snapshot, now time.Time) string {
	return fmt.Sprintf("%s.%d.%d", b.name, s.round, now.UnixMilli())
}

// Since are those of the monitors that changed, or are gone, since a mark was given, and
// the mark of now. ok is false when the mark is of another board: then nobody knows.
func (b *Board) Since(mark string, ids []int64) (changed []int64, next string, ok bool) {
	shown, now := b.shown.Load(), b.now()
	next = b.mark(shown, now)
	var round, at int64
	name, rest, _ := strings.Cut(mark, ".")
	if _, err := fmt.Sscanf(rest, "%d.%d", &round, &at); err != nil || name != b.name {
		return nil, next, false
	}
	for _, id := range ids {
		e := shown.byID[id]
		if e == nil || e.round > round || e.staleBy(now) && !e.staleBy(time.UnixMilli(at)) {
			changed = append(changed, id)
		}
	}
	return changed, next, true
}

// Count gives the counts of a filter.
func (b *Board) Count(f Filter) Counts { return b.List(f, 0, 0).Counts }

// Row is how one monitor stands.
func (b *Board) Row(id int64) (Row, bool) {
	e := b.shown.Load().byID[id]
	if e == nil {
		return Row{}, false
	}
	return *e.at(b.now()), true
}

// Groups and Tags are those that monitors have, up to 500 of each.
func (b *Board) Groups() []string { return b.shown.Load().groups }

// Tags are described at Groups.
func (b *Board) Tags() []string { return b.shown.Load().tags }

// fits tells whether a monitor fits all of the filter but its state.
func (f *Filter) fits(e *entry) bool {
	return (f.Group == "" || e.fresh.Group == f.Group) && (f.Tag == "" || slices.Contains(e.fresh.Tags, f.Tag)) &&
		(f.Text == "" || strings.Contains(e.search, f.Text))
}

// Fits tells whether a row fits the filter.
func (f Filter) Fits(r *Row) bool {
	if f.Group != "" && r.Group != f.Group || f.Tag != "" && !slices.Contains(r.Tags, f.Tag) || !r.Is(f.State) {
		return false
	}
	text := strings.ToLower(f.Text)
	part := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return text == "" || part(r.Name) || part(r.URL) || part(r.Group) || slices.ContainsFunc(r.Tags, part)
}

// Is tells whether a row is in one of States; every row is in none.
func (r *Row) Is(state string) bool {
	switch state {
	case "":
		return true
	case NeedsPerson:
		return r.Need != NotNeeded
	case PausedState:
		return r.Paused
	case StaleState:
		return r.Stale
	case UnknownSurface:
		return r.Surface.State == watch.Unknown
	case UnknownPosture:
		return r.Posture.State == watch.Unknown
	case watch.Unknown:
		return r.Availability.State == watch.Unknown
	}
	return r.Availability.State == state || r.Surface.State == state || r.Posture.State == state
}

func (c *Counts) add(r *Row) {
	c.All++
	if r.Need != NotNeeded {
		c.State[NeedsPerson]++
	}
	if r.Paused {
		c.State[PausedState]++
	}
	if r.Stale {
		c.State[StaleState]++
	}
	c.State[r.Availability.State]++
	c.State[known(r.Surface.State, UnknownSurface)]++
	c.State[known(r.Posture.State, UnknownPosture)]++
}

func known(state, otherwise string) string {
	if state == watch.Unknown {
		return otherwise
	}
	return state
}

// Age is how old the board is: how long ago the database could be read wholly last, at
// most a minute while all is well.
func (b *Board) Age() time.Duration {
	return b.now().Sub(*b.whole.Load())
}
