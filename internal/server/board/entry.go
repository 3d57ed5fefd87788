package board

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Row is how a monitor stands.
type Row struct {
	ID      int64
	Name    string
	Group   string
	Tags    []string
	URL     string
	Source  watch.Source
	AuthSet bool // something is sent to get in
	watch.View
	Awaiting     bool
	Flapping     bool
	OpenChanges  int
	OpenFindings int
	LastCheck    time.Time
	// Total is what the last check that was up took, in milliseconds; 0: none was.
	Total float64
	Tools *int
	// Server is its name and version, as it says. Untrusted.
	Server string
	// Need says why a person is needed, and Since from when on.
	Need  Need
	Since time.Time
}

// Need is why a person is needed; the higher, the sooner.
type Need int

// The needs.
const (
	NotNeeded Need = iota
	ToLook         // nothing is known of it, as it is not checked any more
	ToRepair       // it fails, though the server is there
	ToConfirm      // what was approved belongs to another server
	ToReview       // what it tells agents changed
	ToJudge        // what it tells agents looks like a trap
	ToRescue       // it is down
)

// entry is a monitor with all that a row of any time is made of. It does not change, as
// far as anybody sees.
type entry struct {
	id, revision, saved int64
	round               int64 // of the snapshot that it is new in
	fresh               Row
	// stale is what it becomes at staleAt, which is zero when it stays as it is.
	stale   *watch.View
	staleAt time.Time
	asStale atomic.Pointer[Row] // the row of stale, once it was needed
	search  string              // lower case
	order   string              // what it is sorted by
}

func newEntry(r *store.MarkedRow) *entry {
	m, st := &r.Monitor, r.State
	e := &entry{
		id: m.ID, revision: m.Revision, saved: r.Saved,
		search: strings.ToLower(strings.Join(slices.Concat([]string{m.Definition.Name, m.Definition.URL, m.Definition.Group}, m.Definition.Tags), "\n")),
		order:  strings.ToLower(m.Definition.Name),
		fresh: Row{
			ID: m.ID, Name: m.Definition.Name, Group: m.Definition.Group, Tags: m.Definition.Tags, URL: m.Definition.URL,
			Source: m.Source, AuthSet: m.Definition.AuthMode != watch.AuthNone,
		},
	}
	row := &e.fresh
	if st == nil {
		row.View = watch.Current(m, nil, m.UpdatedAt)
		row.judge()
		return e
	}
	row.View = watch.Current(m, st, st.LastCheck)
	if at := watch.StaleAt(m, st); !st.LastCheck.IsZero() {
		if v := watch.Current(m, st, at.Add(1)); v.Stale {
			e.stale, e.staleAt = &v, at
		}
	}
	row.Awaiting, row.Flapping, row.OpenChanges, row.OpenFindings = st.Awaiting, st.Flapping, st.OpenChanges, st.OpenFindings
	row.LastCheck, row.Total, row.Tools, row.Server = st.LastCheck, st.Timing.Total, st.Tools, st.Server
	row.judge()
	return e
}

// staleBy tells whether nothing is known of it any more.
func (e *entry) staleBy(now time.Time) bool { return e.stale != nil && now.After(e.staleAt) }

// at is the row as it is shown at a time.
func (e *entry) at(now time.Time) *Row {
	if !e.staleBy(now) {
		return &e.fresh
	}
	if row := e.asStale.Load(); row != nil {
		return row
	}
	row := e.fresh
	row.View = *e.stale
	row.judge()
	e.asStale.Store(&row)
	return &row
}

// judge says whether a person is needed.
func (r *Row) judge() {
	r.Need, r.Since = NotNeeded, time.Time{}
	need := func(n Need, since time.Time) {
		if n > r.Need {
			r.Need, r.Since = n, since
		}
	}
	if r.Paused {
		return
	}
	if r.Stale {
		need(ToLook, r.Availability.Since)
	}
	if r.Check == watch.CheckFail {
		need(ToRepair, cmp.Or(r.Availability.Since, r.LastCheck))
	}
	if r.Awaiting {
		need(ToConfirm, r.Surface.Since)
	}
	if r.OpenChanges > 0 || r.Surface.State == watch.Changed || r.Surface.State == watch.Inconsistent {
		need(ToReview, r.Surface.Since)
	}
	if r.OpenFindings > 0 {
		need(ToJudge, r.Posture.Since)
	}
	if r.Availability.State == watch.Down {
		need(ToRescue, r.Availability.Since)
	}
}

// snapshot is the board at one moment. It does not change.
type snapshot struct {
	round  int64 // grows with every change
	byID   map[int64]*entry
	sorted []*entry // by name
	groups []string
	tags   []string
}

// differs are those that marks know another version of.
func (s *snapshot) differs(m store.Marks) (ids []int64) {
	for id, revision := range m.Revisions {
		if e := s.byID[id]; e == nil || e.revision != revision {
			ids = append(ids, id)
		}
	}
	for id, saved := range m.Saved {
		// One that is not known is read once its monitor is seen, or among all.
		if e := s.byID[id]; e != nil && e.saved != saved {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// after is how many monitors there are with those that marks add.
func (s *snapshot) after(m store.Marks) int {
	n := len(s.byID)
	for id := range m.Revisions {
		if s.byID[id] == nil {
			n++
		}
	}
	return n
}

// gone are those that marks of everything do not have.
func (s *snapshot) gone(m store.Marks) (ids []int64) {
	for id := range s.byID {
		if _, there := m.Revisions[id]; !there {
			ids = append(ids, id)
		}
	}
	return ids
}

// with is the snapshot after entries were read, and others are gone.
func (s *snapshot) with(fresh []*entry, gone []int64) *snapshot {
	next := &snapshot{round: s.round + 1, byID: maps.Clone(s.byID), groups: s.groups, tags: s.tags}
	moved, labels := len(gone) > 0, len(gone) > 0
	for _, id := range gone {
		delete(next.byID, id)
	}
	for _, e := range fresh {
		old := s.byID[e.id]
		next.byID[e.id] = e
		moved = moved || old == nil || old.order != e.order
		labels = labels || old == nil || old.fresh.Group != e.fresh.Group || !slices.Equal(old.fresh.Tags, e.fresh.Tags)
	}
	if moved {
		next.sorted = slices.SortedFunc(maps.Values(next.byID), func(a, b *entry) int {
			return cmp.Or(strings.Compare(a.order, b.order), cmp.Compare(a.id, b.id))
		})
	} else {
		next.sorted = slices.Clone(s.sorted)
		for i, e := range next.sorted {
			next.sorted[i] = next.byID[e.id]
		}
	}
	if labels {
		next.label()
	}
	return next
}

// mostLabels bounds what a filter offers.
const mostLabels = 500

// label collects the groups and tags that there are.
func (s *snapshot) label() {
	groups, tags := map[string]bool{}, map[string]bool{}
	for _, e := range s.sorted {
		if e.fresh.Group != "" {
			groups[e.fresh.Group] = true
		}
		for _, tag := range e.fresh.Tags {
			tags[tag] = true
		}
	}
	first := func(names map[string]bool) []string {
		all := slices.Sorted(maps.Keys(names))
		return all[:min(len(all), mostLabels)]
	}
	s.groups, s.tags = first(groups), first(tags)
}
