package baseline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// MaxListings is how many listings an [Observation] asks for at most.
const MaxListings = 3

// Observation verifies fresh listings of one server until they count.
type Observation struct {
	verifier *verifier
	listings []*surface.Surface // oldest first, at most MaxListings
}

// Observe begins an observation of the server that b is the baseline of.
func Observe(b *Baseline, p surface.Policy, o lint.Options) *Observation {
	return &Observation{verifier: newVerifier(b, p, o)}
}

// Add verifies the next fresh listing, and says whether another is needed before
// the result counts.
//
// A listing that is as approved counts at once, a changed one when a second is
// equal to it. When they differ the server is inconsistent: that is a change of
// class [surface.InconsistentListing], beside which what only one of the listings
// shows stands as an event, with the listing as its identity. When they differ in
// nothing but dates, versions and integers, a third decides; three different ones
// are [surface.VolatileText], with the mask that would let that text pass. Nothing
// passes without one that was approved.
func (o *Observation) Add(s *surface.Surface) (r *Result, again bool) {
	o.listings = append(o.listings, s)
	o.listings = o.listings[max(0, len(o.listings)-MaxListings):]
	v, known := o.verifier, o.verifier.b.Masks
	r = v.verify(s)
	if len(o.listings) == 1 {
		return r, !r.settled()
	}
	before := o.listings[len(o.listings)-2]
	parts, same, volatile := difference(before, s, known)
	switch {
	case same:
		return r, false
	case !volatile:
		return v.inconsistent(before, s), false
	case len(o.listings) < MaxListings:
		return r, true
	}
	more, same, volatile := difference(o.listings[0], s, known)
	if same || !volatile {
		return v.inconsistent(before, s), false
	}
	parts = mergeMasks(parts, more)
	r.Add(unseenBy(r, v.verify(before), parts)...)
	r.Add(v.policy.Apply(volatileText(parts, known, before, s))...)
	return r, false
}

// unseenBy are the changes of texts that are as approved in the last listing, and
// are not in the one before.
func unseenBy(last, before *Result, texts []surface.Mask) []surface.Change {
	told := map[textPlace]bool{}
	for _, c := range last.Changes {
		told[textPlace{place{c.Kind, c.Item}, c.Pointer}] = true
	}
	var out []surface.Change
	for _, c := range before.Changes {
		at := textPlace{place{c.Kind, c.Item}, c.Pointer}
		if !told[at] && slices.ContainsFunc(texts, func(m surface.Mask) bool { return placeOf(m) == at }) {
			c.Identity = "listing 2"
			out = append(out, c)
		}
	}
	return out
}

// settled reports whether r says nothing that has to be confirmed.
func (r *Result) settled() bool {
	return !slices.ContainsFunc(r.Changes, func(c surface.Change) bool { return c.Effect != surface.Silent }) &&
		!slices.ContainsFunc(r.Findings, func(v Verdict) bool { return v.New && v.Effect == surface.Fail })
}

// difference compares two listings: are they the same, and if not, do they differ
// in nothing but such parts of text as masks exist for, which it returns then?
func difference(x, y *surface.Surface, known []surface.Mask) (parts []surface.Mask, same, volatile bool) {
	same, volatile = true, true
	for _, c := range loud(surface.Compare(x, y, surface.CompareOptions{Masks: known})) {
		same = false
		kinds, ok := c.Volatile()
		if !ok {
			return nil, false, false
		}
		parts = append(parts, surface.Mask{Kind: c.Kind, Item: c.Item, Pointer: c.Pointer, Masks: kinds})
	}
	return parts, same, volatile
}

// textPlace is where one text stands.
type textPlace struct {
	item    place
	pointer string
}

func placeOf(m surface.Mask) textPlace { return textPlace{place{m.Kind, m.Item}, m.Pointer} }

// mergeMasks joins masks, one for each text.
func mergeMasks(lists ...[]surface.Mask) []surface.Mask {
	var out []surface.Mask
	at := map[textPlace]int{}
	for _, m := range slices.Concat(lists...) {
		i, known := at[placeOf(m)]
		if !known {
			at[placeOf(m)] = len(out)
			m.Masks = slices.Clone(m.Masks)
			out = append(out, m)
			continue
		}
		for _, k := range m.Masks {
			if !slices.Contains(out[i].Masks, k) {
				out[i].Masks = append(out[i].Masks, k)
			}
		}
	}
	return out
}

// volatileText reports parts of texts in which listings differ, each with the mask
// that is needed beside the known ones. There is none for what is not text to a
// model, such as the version of a server.
func volatileText(parts, known []surface.Mask, x, y *surface.Surface) []surface.Change {
	left := map[textPlace]bool{}
	merged := mergeMasks(known, parts)
	for _, c := range loud(surface.Compare(x, y, surface.CompareOptions{Masks: merged})) {
		left[textPlace{place{c.Kind, c.Item}, c.Pointer}] = true
	}
	masks := make(map[textPlace]surface.Mask, len(merged))
	for _, m := range merged {
		masks[placeOf(m)] = m
	}
	changes := make([]surface.Change, 0, len(parts))
	for _, p := range parts {
		change := surface.Change{Class: surface.VolatileText, Kind: p.Kind, Item: p.Item, Pointer: p.Pointer, Detail: differsIn(p.Masks)}
		if m := masks[placeOf(p)]; !left[placeOf(p)] {
			change.Mask = &m
		}
		changes = append(changes, change)
	}
	return changes
}

func differsIn(kinds []surface.MaskKind) string {
	names := make([]string, 0, len(kinds))
	for _, k := range slices.SortedFunc(slices.Values(kinds), byKind) {
		names = append(names, string(k))
	}
	return "differs in " + strings.Join(names, " and ") + " each time it is listed"
}

// inconsistent is the result of two listings that differ: what both show counts,
// what one of them shows is told beside.
func (v *verifier) inconsistent(x, y *surface.Surface) *Result {
	older, r := v.verify(x), v.verify(y)
	one, two := loud(only(older.Changes, r.Changes)), loud(only(r.Changes, older.Changes))
	r.Changes = only(r.Changes, two)
	found := make(map[string]bool, len(r.Findings))
	for i := range r.Findings {
		found[r.Findings[i].ID] = true
	}
	for i := range older.Findings {
		if !found[older.Findings[i].ID] {
			r.Findings = append(r.Findings, older.Findings[i])
		}
	}
	r.Add(v.policy.Apply([]surface.Change{{
		Class: surface.InconsistentListing, Kind: surface.Server,
		Detail: fmt.Sprintf("two fresh listings differ, by %d and %d changes from what was approved that the other does not have", len(one), len(two)),
	}})...)
	r.Add(unconfirmed(one, "listing 1")...)
	r.Add(unconfirmed(two, "listing 2")...)
	return r
}

// only returns the changes that are not among others.
func only(changes, others []surface.Change) []surface.Change {
	known := make(map[string]bool, len(others))
	for _, c := range others {
		known[identity(c)] = true
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c surface.Change) bool { return known[identity(c)] })
}

// loud leaves out silent changes.
func loud(changes []surface.Change) []surface.Change {
	return slices.DeleteFunc(changes, func(c surface.Change) bool { return c.Effect == surface.Silent })
}

// identity is the same for the same change.
func identity(c surface.Change) string {
	data, err := json.Marshal(c)
	if err != nil { // values that are not JSON
		return fmt.Sprintf("%q", []string{string(c.Class), string(c.Kind), c.Item, c.Pointer, string(c.Before), string(c.After)})
	}
	return string(data)
}

// unconfirmed turns changes into events of one listing.
func unconfirmed(changes []surface.Change, listing string) []surface.Change {
	for i := range changes {
		changes[i].Effect, changes[i].Identity = surface.Event, listing
	}
	return changes
}
