// Package changes shows how two surfaces differ, item by item: what a person reads before
// a decision, and what a comparison shows.
//
// Everything that it shows of an item is the server's text. It is bounded: of long texts
// a part is shown until all of it is asked for.
package changes

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"strconv"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Change is a difference, with the key that accepts it, if it can be.
type Change struct {
	Key string
	surface.Change
}

// Finding is a finding in what is shown.
type Finding struct {
	lint.Finding
	// Effect is what it does; empty where nothing is decided.
	Effect   surface.Effect
	New      bool
	Accepted bool
}

// Item is one item of a surface as it was and as it is. An item is accepted whole.
type Item struct {
	// ID stands for kind and name.
	ID   string
	Kind surface.Kind
	Name string
	// Before and After are its definitions: none where it is not there, several where a
	// server lists several of one name.
	Before, After []surface.Item
	Changes       []Change
	Findings      []Finding
}

// Card is what is shown and decided at once: an item, or several with equal changes.
type Card struct {
	ID    string
	Items []*Item
}

// Group is the same kind of change in several items: what happened, and where, is the
// same, and the values may differ.
type Group struct {
	ID    string
	Cards []*Card
	// Items is how many there are in all cards.
	Items int
}

// Sample is an item of the group.
func (g *Group) Sample() *Item { return g.Cards[0].Items[0] }

// Item is the item that stands for all of the card.
func (c *Card) Item() *Item { return c.Items[0] }

// Set is all that differs between two surfaces.
type Set struct {
	Items  []*Item
	Groups []*Group
	Cards  []*Card
	// General are findings about the surface as a whole.
	General []Finding
}

type place struct {
	kind surface.Kind
	name string
}

// Of puts changes and findings together by item, what fails first. before is nil when
// nothing is compared: then every item of after is one, as are the items with findings
// otherwise.
func Of(before, after *surface.Surface, changes []Change, findings []Finding) *Set {
	s := &Set{}
	at := map[place]*Item{}
	item := func(p place) *Item {
		i, ok := at[p]
		if !ok {
			i = &Item{ID: hash("item", string(p.kind), p.name), Kind: p.kind, Name: p.name}
			at[p] = i
			s.Items = append(s.Items, i)
		}
		return i
	}
	for _, c := range changes {
		i := item(place{c.Kind, c.Item})
		i.Changes = append(i.Changes, c)
	}
	for _, f := range findings {
		if f.Kind == "" {
			s.General = append(s.General, f)
			continue
		}
		i := item(place{f.Kind, f.Item})
		i.Findings = append(i.Findings, f)
	}
	if before == nil && after != nil {
		for _, one := range after.Items() {
			item(place{one.Kind, one.Name})
		}
	}
	defined(before, at, func(i *Item, one surface.Item) { i.Before = append(i.Before, one) })
	defined(after, at, func(i *Item, one surface.Item) { i.After = append(i.After, one) })
	slices.SortStableFunc(s.General, Gravest)
	for _, i := range s.Items {
		slices.SortStableFunc(i.Findings, Gravest)
	}
	slices.SortStableFunc(s.Items, func(a, b *Item) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(slices.Index(surface.Kinds(), a.Kind), slices.Index(surface.Kinds(), b.Kind)), cmp.Compare(a.Name, b.Name))
	})
	s.group()
	return s
}

// Gravest puts first what fails, then what blocks; at one place what comes first.
func Gravest(a, b Finding) int {
	rank := func(f *Finding) int {
		switch {
		case f.Effect == surface.Fail && !f.Accepted:
			return 0
		case f.Severity == lint.Block:
			return 1
		default:
			return 2
		}
	}
	start := func(f *Finding) int {
		if len(f.Spans) == 0 {
			return 0
		}
		return f.Spans[0].Start
	}
	return cmp.Or(rank(&a)-rank(&b), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Pointer, b.Pointer), start(&a)-start(&b))
}

func defined(s *surface.Surface, at map[place]*Item, add func(*Item, surface.Item)) {
	if s == nil {
		return
	}
	for _, one := range s.Items() {
		if i, ok := at[place{one.Kind, one.Name}]; ok {
			add(i, one)
		}
	}
}

// rank puts first what needs a person most.
func (i *Item) rank() int {
	rank := 4
	for _, f := range i.Findings {
		switch {
		case f.Effect == surface.Fail || f.Effect == "" && f.Severity == lint.Block:
			return 0
		case !f.Accepted:
			rank = min(rank, 3)
		}
	}
	for _, c := range i.Changes {
		switch c.Effect {
		case surface.Fail:
			rank = min(rank, 1)
		case surface.Event:
			rank = min(rank, 2)
		case surface.Silent:
		}
	}
	return rank
}

// Decidable tells whether there is anything about the item that can be accepted.
func (i *Item) Decidable() bool { return len(i.Keys()) > 0 }

// Keys are those of its changes that are accepted with it.
func (i *Item) Keys() []string {
	var out []string
	for _, c := range i.Changes {
		if c.Effect != surface.Silent && c.Class != surface.VolatileText && c.Key != "" {
			out = append(out, c.Key)
		}
	}
	return out
}

// Keys are those of all items of the card.
func (c *Card) Keys() []string {
	var out []string
	for _, i := range c.Items {
		out = append(out, i.Keys()...)
	}
	return out
}

// Open are the ids of the findings that fail until a person accepts them.
func (i *Item) Open() []string {
	var out []string
	for _, f := range i.Findings {
		if f.Effect == surface.Fail && !f.Accepted {
			out = append(out, f.ID)
		}
	}
	return out
}

// Open is how many findings of the card fail.
func (c *Card) Open() int {
	n := 0
	for _, i := range c.Items {
		n += len(i.Open())
	}
	return n
}

// Whole stands among what is chosen for a card with all its findings.
func Whole(card string) string { return "whole " + card }

// Effect is the strongest of its changes and findings; empty when there are none.
func (i *Item) Effect() surface.Effect {
	var out surface.Effect
	for _, effect := range surface.Effects() {
		for _, c := range i.Changes {
			if out == "" && c.Effect == effect {
				out = effect
			}
		}
		for _, f := range i.Findings {
			if out == "" && f.Effect == effect && !f.Accepted {
				out = effect
			}
		}
	}
	return out
}

// group makes cards and groups. Items with findings have a card and a group each.
func (s *Set) group() {
	cards, groups := map[string]*Card{}, map[string]*Group{}
	for _, i := range s.Items {
		what, values := i.ID, i.ID
		if len(i.Findings) == 0 && len(i.Changes) > 0 {
			what, values = i.signature(false), i.signature(true)
		}
		card, ok := cards[values]
		if !ok {
			card = &Card{ID: hash("card", values)}
			cards[values] = card
			s.Cards = append(s.Cards, card)
			group, ok := groups[what]
			if !ok {
				group = &Group{ID: hash("group", what)}
				groups[what] = group
				s.Groups = append(s.Groups, group)
			}
			group.Cards = append(group.Cards, card)
		}
		card.Items = append(card.Items, i)
		groups[what].Items++
	}
	// Cards of a group stand together.
	s.Cards = s.Cards[:0]
	for _, g := range s.Groups {
		s.Cards = append(s.Cards, g.Cards...)
	}
}

// signature stands for what happened to an item, and where, with the values on request.
func (i *Item) signature(values bool) string {
	parts := []string{string(i.Kind)}
	for _, c := range i.Changes {
		parts = append(parts, string(c.Class), string(c.Effect), c.Pointer, c.Detail, c.Renamed)
		if values {
			parts = append(parts, string(c.Before), string(c.After))
		}
	}
	return hash(parts...)
}

// hash stands for parts in an address or a form, and for what is said to be the same. It
// is not cut: a server that finds two texts with one hash has one of them shown and both
// accepted.
func hash(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(sum, strconv.Itoa(len(p))+":")
		_, _ = io.WriteString(sum, p)
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// Part is the n-th part of the cards, from 1, and how many parts there are.
func (s *Set) Part(n, size int) (cards []*Card, parts int) {
	parts = max(1, (len(s.Cards)+size-1)/size)
	n = min(max(n, 1), parts)
	return s.Cards[min((n-1)*size, len(s.Cards)):min(n*size, len(s.Cards))], parts
}

// Card finds a card, or nil.
func (s *Set) Card(id string) *Card {
	if i := slices.IndexFunc(s.Cards, func(c *Card) bool { return c.ID == id }); i >= 0 {
		return s.Cards[i]
	}
	return nil
}

// Shared are the groups of more than one item, at most n.
func (s *Set) Shared(n int) (groups []*Group, more bool) {
	for _, g := range s.Groups {
		if g.Items < 2 {
			continue
		}
		if len(groups) == n {
			return groups, true
		}
		groups = append(groups, g)
	}
	return groups, false
}
