package surface

import (
	"cmp"
	"slices"
)

// ChangeGroup is the same change across items.
type ChangeGroup struct {
	Class  Class  `json:"class"`
	Event  string `json:"event"`
	Effect Effect `json:"effect"`
	Kind   Kind   `json:"kind"`
	// Pointer is the place of all changes; empty when they are in several.
	Pointer string   `json:"pointer,omitempty"`
	Detail  string   `json:"detail"`
	Items   []string `json:"items"` // untrusted
	// Changes are all of them. Those of a rename are both of its changes: the
	// removed item, which names the added one, and the added item, which names the
	// removed one.
	Changes []Change `json:"-"`
}

// screen is how many groups fit on a terminal with what stands around them.
const screen = 20

// Group puts the same change across many items together, the strongest effect
// first, then by kinds, in the order of the changes. Values may differ within a
// group: what is the same is what happened, and where.
//
// While there are more groups than fit on a screen, the class that has the most of
// them is told less finely: the same change in several places is one group, and then
// all its changes.
func Group(changes []Change) []ChangeGroup {
	finest := levels(changes)
	var groups []ChangeGroup
	at := make(map[groupKey]int)
	for _, c := range changes {
		key := keyOf(c, finest[keyOf(c, byClass)])
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, ChangeGroup{
				Class: c.Class, Event: c.Event, Effect: c.Effect, Kind: c.Kind, Pointer: c.Pointer, Detail: c.Detail,
			})
		}
		groups[i].add(c)
	}
	for i := range groups {
		slices.Sort(groups[i].Items)
		groups[i].Items = slices.Compact(groups[i].Items)
	}
	effects := map[Effect]int{Fail: 0, Event: 1, Silent: 2}
	kinds := kindOrder()
	slices.SortStableFunc(groups, func(a, b ChangeGroup) int {
		return cmp.Or(cmp.Compare(effects[a.Effect], effects[b.Effect]), cmp.Compare(kinds[a.Kind], kinds[b.Kind]))
	})
	return groups
}

func (g *ChangeGroup) add(c Change) {
	if c.Pointer != g.Pointer {
		g.Pointer = ""
	}
	if c.Detail != g.Detail {
		g.Detail = "several changes"
	}
	if c.Renamed == "" || c.Class == g.Class { // a rename is listed by its old name
		g.Items = append(g.Items, c.Item)
	}
	g.Changes = append(g.Changes, c)
}

// groupKey is what the changes of a group have in common.
type groupKey struct {
	class           Class
	event           string
	effect          Effect
	kind            Kind
	pointer, detail string
	identity        string
}

// level is how finely the changes of a class are told apart.
type level int

const (
	byPlace level = iota
	byDetail
	byClass
)

func keyOf(c Change, l level) groupKey {
	key := groupKey{class: c.Class, event: c.Event, effect: c.Effect, kind: c.Kind, identity: c.Identity}
	if c.Renamed != "" {
		key.class, key.event = "renamed", "" // both of its changes
	}
	if l <= byDetail {
		key.detail = c.Detail
	}
	if l == byPlace {
		key.pointer = c.Pointer
	}
	return key
}

// levels gives the level for each class, by its key.
func levels(changes []Change) map[groupKey]level {
	type onLevel struct {
		groupKey
		level level
	}
	counts := make(map[onLevel]int) // groups of a class on a level
	known := make(map[onLevel]bool)
	var classes []groupKey
	for _, c := range changes {
		class := keyOf(c, byClass)
		for l := byPlace; l <= byClass; l++ {
			if key := (onLevel{keyOf(c, l), l}); !known[key] {
				known[key] = true
				counts[onLevel{class, l}]++
				if l == byClass {
					classes = append(classes, class)
				}
			}
		}
	}
	chosen := make(map[groupKey]level, len(classes))
	size := func(class groupKey) int { return counts[onLevel{class, chosen[class]}] }
	total := 0
	for _, class := range classes {
		total += size(class)
	}
	for total > screen {
		// Ties go to the class that comes first.
		most := slices.MaxFunc(classes, func(a, b groupKey) int { return cmp.Compare(size(a), size(b)) })
		before := size(most)
		if before <= 1 {
			break
		}
		chosen[most]++
		total -= before - size(most)
	}
	return chosen
}
