package surface

import (
	"slices"
	"strconv"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// branches compares anyOf, oneOf or allOf, whose order does not count. Branches are
// paired that are equal, then those of equal constraints (their texts differ), then
// those alike at first sight, then what is left, if that is as many on both sides.
func (s *schemaDiffer) branches(m member) {
	came, went := !m.before.Exists(), !m.after.Exists()
	notLists := !came && m.before.Kind() != rawjson.Array || !went && m.after.Kind() != rawjson.Array
	switch {
	case notLists:
		s.report(unclear, m.before, m.after, "changed: not a list")
		return
	case came:
		s.report(narrowed, m.before, m.after, m.name+" added")
		return
	case went:
		s.report(widened, m.before, m.after, m.name+" removed")
		return
	}
	if s.ordered {
		s.positions(m)
		return
	}
	p := pairing{before: numbered(m.before), after: numbered(m.after)}
	p.by(func(v rawjson.Value) string { return string(v.Raw()) })
	p.pairs = nil // equal
	s.pairAlike(&p)
	if len(p.before) == len(p.after) {
		p.by(func(rawjson.Value) string { return "" })
	}
	sense, more := s.branchSense(m.name)
	for _, pair := range p.pairs {
		s.atIndex(pair.after, func() {
			s.in(sense, func() { s.subschema(pair.before.value, pair.after.value, "") })
		})
	}
	switch {
	case len(p.before) > 0 && len(p.after) > 0:
		s.report(unclear, m.before, m.after, "alternatives changed")
	case len(p.after) > 0:
		s.report(more, m.before, m.after, "alternatives added")
	case len(p.before) > 0:
		s.report(-more, m.before, m.after, "alternatives removed")
	}
	s.respelled = s.respelled || len(p.pairs) == 0 && len(p.before) == 0 && len(p.after) == 0
}

// branchSense tells what a wider branch, and what one more branch, does to the whole.
func (s *schemaDiffer) branchSense(keyword string) (wider, more direction) {
	switch keyword {
	case "anyOf":
		return widened, widened
	case "allOf":
		return widened, narrowed
	}
	return unclear, unclear // exactly one of them has to match
}

// pairAlike pairs the branches that differ in texts alone, or that are of the same
// type, constant or reference, within the effort that is left.
func (s *schemaDiffer) pairAlike(p *pairing) {
	if len(p.before) <= 1 && len(p.after) <= 1 {
		return
	}
	for _, branches := range [][]element{p.before, p.after} {
		for _, b := range branches {
			s.effort -= len(b.value.Raw())
		}
	}
	if s.effort < 0 {
		return
	}
	split := splitter{traits: s.traits}
	p.by(func(v rawjson.Value) string {
		split.shape, split.text = split.shape[:0], split.text[:0]
		split.schema(v)
		return string(split.shape)
	})
	p.by(func(v rawjson.Value) string {
		split.shape = split.shape[:0]
		return string(split.branchKey(v))
	})
}

// pairing pairs the elements of two lists whose order does not count.
type pairing struct {
	before, after []element // not yet paired
	pairs         []struct{ before, after element }
}

// element is an element of a list and where it stands.
type element struct {
	index int
	value rawjson.Value
}

func numbered(v rawjson.Value) []element {
	elements := make([]element, 0, v.Len())
	for i, e := range v.Elems() {
		elements = append(elements, element{i, e})
	}
	return elements
}

// by pairs the elements with the same key, in order.
func (p *pairing) by(key func(rawjson.Value) string) {
	waiting := make(map[string][]element, len(p.after))
	for _, e := range p.after {
		k := key(e.value)
		waiting[k] = append(waiting[k], e)
	}
	var left []element
	paired := make(map[int]bool, len(p.after))
	for _, e := range p.before {
		k := key(e.value)
		if len(waiting[k]) == 0 {
			left = append(left, e)
			continue
		}
		p.pairs = append(p.pairs, struct{ before, after element }{e, waiting[k][0]})
		paired[waiting[k][0].index] = true
		waiting[k] = waiting[k][1:]
	}
	p.before = left
	p.after = slices.DeleteFunc(p.after, func(e element) bool { return paired[e.index] })
}

// atIndex calls compare with the path at an element.
func (d *differ) atIndex(e element, compare func()) { d.at(strconv.Itoa(e.index), compare) }
