package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Why Accept refuses, beside a *SelectionError.
var (
	// ErrProof: there is no proof, it is too old, or it is for something else.
	ErrProof = errors.New("this is not what a person has just confirmed")
	// ErrStale: the surface that was shown is not the one to be accepted.
	ErrStale = errors.New("what the server tells agents has changed since it was shown: look at it again")
)

// SelectionError says what is wrong with a selection.
type SelectionError struct{ Problem Problem }

func (e *SelectionError) Error() string { return e.Problem.String() }

func wrongSelection(field, hint, format string, args ...any) error {
	return &SelectionError{Problem{Field: field, Text: fmt.Sprintf(format, args...), Hint: hint}}
}

// maxReason is how many characters of a reason are kept.
const maxReason = 500

// Statement is what a person has to prove to accept sel of the surface that was shown.
func (sel Selection) Statement(monitor int64, shown surface.Digest) people.Statement {
	return people.Statement{Action: people.ActionAccept, Monitor: monitor, Digest: shown, Items: sel.items()}
}

// items are what is selected, in order; none for all of it.
func (sel Selection) items() []string {
	items := slices.Concat(sel.Changes, sel.Findings)
	slices.Sort(items)
	items = slices.Compact(items)
	if sel.All && len(items) > 0 {
		items = append([]string{"all"}, items...)
	}
	return items
}

// acceptance is what Accept works on.
type acceptance struct {
	current  *baseline.Baseline // nil when nothing of this binding is approved
	binding  baseline.Binding
	seen     *surface.Surface
	verdict  *baseline.Result
	findings []lint.Finding
	sel      Selection
	// keys are those of the changes, in their order, and chosen what is selected of them.
	keys   []string
	chosen map[string]bool
}

// Accept approves what a person selected of surface s, which has the verdict v against
// current, what is approved of the monitor, or nil. findings are the verdicts that were
// shown beside it. The proof has to be for sel.Statement of the monitor and of s.
//
// With All, the whole of s is approved and every block finding accepted; of a text that
// keeps changing, the mask only if its change is named too. Otherwise the changes that
// are named are, an item at a time, and the rest of what was approved stays: the changes
// that are left go on failing, and so do block findings that are not named.
//
// now is a time after the proof was given. Errors: ErrProof, ErrStale, *SelectionError.
func Accept(proof people.Proof, m *Monitor, current *baseline.Baseline, binding baseline.Binding, s *surface.Surface,
	v *baseline.Result, findings []baseline.Verdict, sel Selection, now time.Time,
) (Approval, error) {
	given := proof.Statement()
	want := sel.Statement(m.ID, given.Digest)
	if !proof.ValidAt(now) || given.Action != want.Action || given.Monitor != want.Monitor || !slices.Equal(given.Items, want.Items) {
		return Approval{}, ErrProof
	}
	if s == nil || given.Digest.IsZero() || given.Digest != s.Digest() {
		return Approval{}, ErrStale
	}
	a := &acceptance{binding: binding, seen: s, sel: sel, verdict: v}
	if current != nil && current.Binding == binding {
		a.current = current
	}
	if a.current != nil && (v == nil || v.Digest != s.Digest() || v.Approved != current.Surface.Digest()) {
		return Approval{}, ErrStale
	}
	if findings == nil && v != nil {
		findings = v.Findings
	}
	for i := range findings {
		a.findings = append(a.findings, findings[i].Finding)
	}
	a.choose()
	if err := a.check(m, now); err != nil {
		return Approval{}, err
	}
	next, err := a.baseline(m.Definition.Name)
	if err != nil {
		return Approval{}, err
	}
	out := Approval{
		monitor: m.ID, baseline: next, source: ApprovedPerson, approver: "user:" + proof.Account(),
		reason: plain.Line(strings.TrimSpace(sel.Reason), maxReason), items: sel.items(), expires: sel.ExpiresAt,
	}
	out.event = Event{
		Monitor: m.ID, At: cut(now), Name: EventBaselineAccepted, Axis: Surface, Actor: out.approver,
		Text: "accepted by " + proof.Account() + ": " + extent(sel),
		Data: &Facts{Digest: next.Surface.Digest().String(), Approver: out.approver, Comment: out.reason, Count: len(out.items)},
	}
	if current != nil {
		out.event.Data.Approved = current.Surface.Digest().String()
	}
	return out, nil
}

func extent(sel Selection) string {
	if sel.All {
		return "all of it"
	}
	return counted(len(sel.Changes), "change") + ", " + counted(len(sel.Findings), "finding")
}

// check refuses what makes no sense, before anything is composed.
func (a *acceptance) check(m *Monitor, now time.Time) error {
	sel := a.sel
	switch {
	case strings.TrimSpace(sel.Reason) == "":
		return wrongSelection("reason", "say why it is right, for those who look later", "is empty")
	case !sel.ExpiresAt.IsZero() && !sel.ExpiresAt.After(now):
		return wrongSelection("expires_at", "give a time to come, or none", "is past")
	case !m.whole(a.seen):
		return wrongSelection("all", "wait for a check that lists it to the end", "not all of the server was seen")
	case !sel.All && len(sel.Changes)+len(sel.Findings) == 0:
		return wrongSelection("changes", "name changes or findings, or accept all", "nothing is selected")
	case a.current == nil && !sel.All:
		return wrongSelection("all", "accept all of it", "nothing is approved yet that a part could be added to")
	}
	known := make(map[string]bool, len(a.keys))
	for _, key := range a.keys {
		known[key] = true
	}
	for i, key := range sel.Changes {
		if !known[key] {
			return wrongSelection(fmt.Sprintf("changes[%d]", i), "take the key from what was shown", "there is no such change")
		}
	}
	for i, id := range sel.Findings {
		if !slices.ContainsFunc(a.findings, func(f lint.Finding) bool { return f.ID == id }) {
			return wrongSelection(fmt.Sprintf("findings[%d]", i), "take the id from what was shown", "there is no such finding")
		}
	}
	for _, c := range a.changes() {
		if c.Class == surface.InconsistentListing {
			return wrongSelection("all", "wait until it says the same each time", "fresh listings differ, so there is no one surface to approve")
		}
	}
	return nil
}

// choose keeps the keys of the changes: there may be ten thousand.
func (a *acceptance) choose() {
	for _, c := range a.changes() {
		a.keys = append(a.keys, ChangeKey(c))
	}
	a.chosen = make(map[string]bool, len(a.sel.Changes))
	for _, key := range a.sel.Changes {
		a.chosen[key] = true
	}
}

func (a *acceptance) changes() []surface.Change {
	if a.verdict == nil {
		return nil
	}
	return a.verdict.Changes
}

// baseline is what is approved next.
func (a *acceptance) baseline(name string) (*baseline.Baseline, error) {
	approved := a.seen
	if !a.sel.All {
		var err error
		if approved, err = a.compose(); err != nil {
			return nil, err
		}
	}
	var accepted []baseline.Acceptance
	found := lint.Scan(approved, lint.Options{})
	for _, f := range a.findings { // those that only the neighbours of the server show
		if a.sel.All && !slices.ContainsFunc(found, func(g lint.Finding) bool { return g.ID == f.ID }) {
			found = append(found, f)
		}
	}
	for i, id := range a.sel.Findings {
		if !slices.ContainsFunc(found, func(f lint.Finding) bool { return f.ID == id }) {
			return nil, wrongSelection(fmt.Sprintf("findings[%d]", i), "accept the change that it is in, too", "the finding is in what is not accepted")
		}
	}
	open := found
	if a.current != nil {
		name = a.current.Name
		accepted, open = a.current.Carry(found)
	}
	var chosen []lint.Finding
	blocked := false
	for _, f := range open {
		switch {
		case slices.Contains(a.sel.Findings, f.ID), a.sel.All && f.Severity == lint.Block && a.shown(f):
			chosen = append(chosen, f)
		case f.Severity == lint.Block:
			blocked = true
		}
	}
	next := baseline.New(name, a.binding, approved, append(accepted, baseline.Accept(chosen, plain.Line(a.sel.Reason, maxReason))...)...)
	if blocked {
		next.Ruleset = "" // they must not pass when the rules are newer
	}
	next.Masks = a.masks(approved)
	return next, nil
}

// shown reports whether the person was shown f.
func (a *acceptance) shown(f lint.Finding) bool {
	return slices.ContainsFunc(a.findings, func(g lint.Finding) bool { return g.ID == f.ID })
}

// masks are those there were that still mask something, and those that were named.
func (a *acceptance) masks(approved *surface.Surface) []surface.Mask {
	var masks []surface.Mask
	if a.current != nil {
		masks = slices.Clone(a.current.Masks)
	}
	same := func(x, y surface.Mask) bool { return x.Kind == y.Kind && x.Item == y.Item && x.Pointer == y.Pointer }
	for i, c := range a.changes() {
		if c.Class == surface.VolatileText && c.Mask != nil && a.chosen[a.keys[i]] {
			masks = append(slices.DeleteFunc(masks, func(m surface.Mask) bool { return same(m, *c.Mask) }), *c.Mask)
		}
	}
	unused := (&baseline.Baseline{Surface: approved, Masks: masks}).UnusedMasks()
	return slices.DeleteFunc(masks, func(m surface.Mask) bool {
		return slices.ContainsFunc(unused, func(u surface.Mask) bool { return same(m, u) })
	})
}

// place is one item.
type place struct {
	kind surface.Kind
	name string
}

func (p place) String() string { return itemName(p.kind, p.name) }

// compose makes a surface of the items that were approved and of those whose changes
// are selected.
func (a *acceptance) compose() (*surface.Surface, error) {
	taken := map[place]bool{}
	left := map[place]bool{}
	for i, c := range a.changes() {
		at := place{c.Kind, c.Item}
		switch {
		case c.Class == surface.VolatileText || c.Effect == surface.Silent:
		case a.chosen[a.keys[i]]:
			taken[at] = true
		default:
			left[at] = true
		}
	}
	for at := range taken {
		if left[at] {
			return nil, wrongSelection("changes", "name all changes of an item, or none", "only some of the changes of %s are named", at)
		}
	}
	old := a.current.Surface
	var items []surface.Item
	for _, item := range old.Items() {
		if !taken[place{item.Kind, item.Name}] {
			items = append(items, item)
		}
	}
	unlisted := slices.Clone(old.Unlisted())
	for _, item := range a.seen.Items() {
		if taken[place{item.Kind, item.Name}] {
			items = append(items, item)
			unlisted = slices.DeleteFunc(unlisted, func(k surface.Kind) bool { return k == item.Kind })
		}
	}
	return build(items, unlisted)
}

// build makes a surface of items, by the form in which surfaces are saved. Definitions
// stand encoded in it, so that not a byte of them changes.
func build(items []surface.Item, unlisted []surface.Kind) (*surface.Surface, error) {
	type encoded struct {
		Canonical []byte `json:"canonicalBase64"`
	}
	var file bytes.Buffer
	file.WriteString(`{"surface":1`)
	member := func(name string, value any) error {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("compose a surface: %w", err)
		}
		fmt.Fprintf(&file, `,%q:%s`, name, data)
		return nil
	}
	for _, kind := range surface.Kinds() {
		list := []encoded{}
		for _, item := range items {
			if item.Kind == kind {
				list = append(list, encoded{item.Definition})
			}
		}
		if kind.IsInventory() {
			if err := member(kind.Member(), list); err != nil {
				return nil, err
			}
			continue
		}
		for _, one := range list { // several, if the server sent several
			if err := member(kind.Member(), one); err != nil {
				return nil, err
			}
		}
	}
	if err := member("unlisted", append([]surface.Kind{}, unlisted...)); err != nil {
		return nil, err
	}
	file.WriteByte('}')
	s, err := surface.Read(file.Bytes())
	if err != nil {
		return nil, fmt.Errorf("compose a surface: %w", err)
	}
	if len(s.Items()) != len(items) {
		return nil, fmt.Errorf("compose a surface: %d items became %d", len(items), len(s.Items()))
	}
	return s, nil
}
