package baseline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// MaxListings is how many listings [Observe] asks for at most.
const MaxListings = 3

// Observe verifies fresh listings of one server, of which there is one at least,
// oldest first, and says whether another is needed before the result counts.
//
// A listing that is as approved counts at once, a changed one when a second is
// equal to it. When they differ the server is inconsistent: that is a change of
// class [surface.InconsistentListing], beside which what only one of the listings
// shows stands as an event, with the listing as its identity. When they differ in
// nothing but dates, versions and integers, a third decides; three different ones
// are [surface.VolatileText], and that text is verified without these parts.
func Observe(listings []*surface.Surface, b *Baseline, p surface.Policy, o lint.Options) (r *Result, again bool) {
	listings = listings[max(0, len(listings)-MaxListings):]
	last := listings[len(listings)-1]
	r = scan(last, b, p, o)
	if len(listings) == 1 {
		return r, !r.settled()
	}
	before := listings[len(listings)-2]
	masks, same, volatile := difference(before, last, b.Masks)
	switch {
	case same:
		return r, false
	case !volatile:
		return inconsistent(before, last, b, p, o), false
	case len(listings) < MaxListings:
		return r, true
	}
	first := listings[0]
	more, same, volatile := difference(first, last, b.Masks)
	if same || !volatile {
		return inconsistent(before, last, b, p, o), false
	}
	return maskedResult(last, b, p, o, mergeMasks(masks, more)), false
}

// settled reports whether r says nothing that has to be confirmed.
func (r *Result) settled() bool {
	return !slices.ContainsFunc(r.Changes, func(c surface.Change) bool { return c.Effect != surface.Silent }) &&
		!slices.ContainsFunc(r.Findings, func(v Verdict) bool { return v.New && v.Effect == surface.Fail })
}

// difference compares two listings: are they the same, and if not, do they differ
// in nothing but text that masks exist for, which it returns then?
func difference(x, y *surface.Surface, known []surface.Mask) (masks []surface.Mask, same, volatile bool) {
	same, volatile = true, true
	for _, c := range surface.Compare(x, y, surface.CompareOptions{Masks: known}) {
		if c.Effect == surface.Silent {
			continue
		}
		same = false
		kinds, ok := volatileParts(c)
		if !ok {
			return nil, false, false
		}
		masks = append(masks, surface.Mask{Kind: c.Kind, Item: c.Item, Pointer: c.Pointer, Masks: kinds})
	}
	return masks, same, volatile
}

// volatileParts returns in what a changed text differs.
func volatileParts(c surface.Change) ([]surface.MaskKind, bool) {
	var before, after string
	if json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil {
		return nil, false
	}
	return surface.Volatile(before, after)
}

// textPlace is where one text stands.
type textPlace struct {
	item    place
	pointer string
}

func placeOf(m surface.Mask) textPlace { return textPlace{place{m.Kind, m.Item}, m.Pointer} }

func placesOf(masks []surface.Mask) map[textPlace]bool {
	out := make(map[textPlace]bool, len(masks))
	for _, m := range masks {
		out[placeOf(m)] = true
	}
	return out
}

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

// maskedResult verifies s as if masks had been approved, and proposes them.
func maskedResult(s *surface.Surface, b *Baseline, p surface.Policy, o lint.Options, masks []surface.Mask) *Result {
	masked := *b
	masked.Masks = mergeMasks(b.Masks, masks)
	r := scan(s, &masked, p, o)
	changes := make([]surface.Change, 0, len(masks))
	texts := placesOf(masks)
	for _, m := range masked.Masks {
		if !texts[placeOf(m)] {
			continue
		}
		changes = append(changes, surface.Change{
			Class: surface.VolatileText, Kind: m.Kind, Item: m.Item, Pointer: m.Pointer, Detail: proposal(m),
		})
	}
	r.Add(p.Apply(changes)...)
	return r
}

// maxProposal is the longest mask that is proposed to be typed.
const maxProposal = 300

func proposal(m surface.Mask) string {
	_, kinds, _ := cutLast(FormatMask(m), "=")
	detail := fmt.Sprintf("differs in %s each time it is listed", strings.ReplaceAll(kinds, ",", " and "))
	if flag := FormatMask(m); len(flag) <= maxProposal {
		detail += ": if that is meant, run mcpvigil lock --mask " + flag
	}
	return detail
}

// inconsistent is the result of two listings that differ: what both show counts,
// what one of them shows is told beside.
func inconsistent(x, y *surface.Surface, b *Baseline, p surface.Policy, o lint.Options) *Result {
	older, r := scan(x, b, p, o), scan(y, b, p, o)
	one, two := loud(only(older.Changes, r.Changes)), loud(only(r.Changes, older.Changes))
	r.Changes = only(r.Changes, two)
	found := make(map[string]bool, len(r.Findings))
	for _, v := range r.Findings {
		found[v.ID] = true
	}
	for _, v := range older.Findings {
		if !found[v.ID] {
			r.Findings = append(r.Findings, v)
		}
	}
	r.Add(p.Apply([]surface.Change{{
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
