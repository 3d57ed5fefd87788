package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
)

// maxPointer is far longer than what is shown unless all is asked for, in runes.
const maxPointer = 16 << 10

// row is one class of changes as people read it: the same effect on some items,
// under whatever pointers.
type row struct {
	class    surface.Class
	effect   surface.Effect
	kind     surface.Kind
	identity string
	items    []string // safe to show, in order, each once
	details  []*detail

	seen   map[string]bool    // items, as they are
	places map[string]*detail // by pointer and text
}

// detail is the same change at the same place.
type detail struct {
	pointer, text string // safe to show
	items         []string
	changes       []*surface.Change
}

// rows puts changes together, what fails first, then in the order of the classes.
func rows(changes []*surface.Change) []*row {
	var out []*row
	type key struct {
		class    surface.Class
		effect   surface.Effect
		identity string
	}
	known := map[key]*row{}
	for _, c := range changes {
		k := key{c.Class, c.Effect, c.Identity}
		r := known[k]
		if r == nil {
			r = &row{class: c.Class, effect: c.Effect, kind: c.Kind, identity: name(c.Identity), seen: map[string]bool{}, places: map[string]*detail{}}
			known[k] = r
			out = append(out, r)
		}
		r.add(c)
	}
	order := map[surface.Class]int{}
	for i, c := range surface.Classes() {
		order[c.Class] = i
	}
	slices.SortStableFunc(out, func(a, b *row) int {
		return cmp.Or(rank(a.effect)-rank(b.effect), order[a.class]-order[b.class])
	})
	for _, r := range out {
		slices.SortStableFunc(r.details, func(a, b *detail) int { return len(b.items) - len(a.items) })
	}
	return out
}

// listed is a name as it stands among others: one that could pass for several, or for
// more than a name, is quoted.
func listed(s string) string {
	s = name(s)
	if s != "" && !strings.ContainsAny(s, " ,:\"'`") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
}

// pointers are the changes of a result, to be told apart by where they are.
func pointers(changes []surface.Change) []*surface.Change {
	out := make([]*surface.Change, len(changes))
	for i := range changes {
		out[i] = &changes[i]
	}
	return out
}

func (r *row) add(c *surface.Change) {
	item := listed(c.Item)
	if c.Renamed != "" {
		other := " (now " + listed(c.Renamed) + ")"
		if c.After != nil && c.Before == nil {
			other = " (was " + listed(c.Renamed) + ")"
		}
		item += other
	}
	if c.Item != "" && !r.seen[c.Item] {
		r.seen[c.Item] = true
		r.items = append(r.items, item)
	}
	pointer, text := plain.Line(c.Pointer, maxPointer), line(happened(c))
	d := r.places[pointer+"\n"+text]
	if d == nil {
		d = &detail{pointer: pointer, text: text}
		r.places[pointer+"\n"+text] = d
		r.details = append(r.details, d)
	}
	d.changes = append(d.changes, c)
	if c.Item != "" {
		d.items = append(d.items, item)
	}
}

// happened is what a change is, in our words. Which rule it breaks to tell clients
// different things is said once for all of them.
func happened(c *surface.Change) string {
	if c.Class == surface.CloakedSurface || c.Class == surface.CredentialDependent {
		what, _, _ := strings.Cut(c.Detail, ",")
		return what
	}
	return c.Detail
}
