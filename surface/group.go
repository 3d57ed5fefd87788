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
	// Pointer, Detail and Identity are those of all changes.
	Pointer  string   `json:"pointer,omitempty"`
	Detail   string   `json:"detail"`
	Identity string   `json:"identity,omitempty"`
	Items    []string `json:"items"` // untrusted
	// Changes are all of them. Those of a rename are both of its changes: the
	// removed item, which names the added one, and the added item, which names the
	// removed one.
	Changes []Change `json:"-"`
}

// Group puts the same change across many items together, the strongest effect
// first, then by kinds, in the order of the changes. Values may differ within a
// group: what is the same is what happened, and where.
func Group(changes []Change) []ChangeGroup {
	var groups []ChangeGroup
	at := make(map[groupKey]int)
	for _, c := range changes {
		key := keyOf(c)
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, ChangeGroup{
				Class: c.Class, Event: c.Event, Effect: c.Effect, Kind: c.Kind,
				Pointer: c.Pointer, Detail: c.Detail, Identity: c.Identity,
			})
		}
		groups[i].add(c)
	}
	for i := range groups {
		slices.Sort(groups[i].Items)
		groups[i].Items = slices.Compact(groups[i].Items)
	}
	slices.SortStableFunc(groups, func(a, b ChangeGroup) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Effects(), a.Effect), slices.Index(Effects(), b.Effect)),
			cmp.Compare(a.Kind.order(), b.Kind.order()),
		)
	})
	return groups
}

func (g *ChangeGroup) add(c Change) {
	if c.Renamed == "" || c.Class == g.Class { // a rename is listed by its old name
		g.Items = append(g.Items, c.Item)
	}
	g.Changes = append(g.Changes, c)
}

// groupKey is what the changes of a group have in common.
type groupKey struct {
	class                     Class
	effect                    Effect
	kind                      Kind
	pointer, detail, identity string
}

func keyOf(c Change) groupKey {
	if c.Renamed != "" {
		c.Class = "renamed" // both of its changes
	}
	return groupKey{c.Class, c.Effect, c.Kind, c.Pointer, c.Detail, c.Identity}
}
