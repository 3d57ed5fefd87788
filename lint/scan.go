package lint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// maxOfRule is how many findings one rule gives for one item, of each severity.
	maxOfRule = 50
	// maxFindings is how many Scan gives in all, the last one aside.
	maxFindings = 2000
	// maxSeen bounds the memory of strings that were looked at.
	maxSeen = 1 << 16
)

// Scan reads every string of every item. Findings come in the order of the
// surface, then by pointer and rule; those about the whole surface come first, with
// an empty Kind. A rule gives at most 50 findings of a severity for one item, and
// Scan 2,000 in all; one more finding stands for the rest each time, with an ID
// that changes when one of the rest does.
//
// It takes time linear in the surface, whatever is in it.
func Scan(s *surface.Surface, o Options) []Finding {
	return scanItems(s.Items(), o)
}

func scanItems(items []surface.Item, o Options) []Finding {
	s := &scanner{
		items: items, options: o,
		dispatch:  newDispatch(ruleset()),
		seenNames: make(map[string]sight, 256),
	}
	for r := range s.seen {
		s.seen[r] = map[string]sight{}
	}
	s.names = newNames(items, o.Neighbours)
	whole := &item{Item: &surface.Item{}, scan: s}
	s.each(func(r *rule) {
		if r.surface != nil {
			r.surface(whole)
		}
	})
	whole.finish()
	for i := range items {
		s.scanItem(&items[i])
	}
	return s.finish()
}

// scanner is one scan of one surface.
type scanner struct {
	items    []surface.Item
	options  Options
	names    *names
	dispatch *dispatch
	// seen says which rules to try on a string of each role, by its spelling in
	// JSON, and seenNames on the name of a member: most of a large surface is the
	// same few texts again and again.
	seen      [numRoles]map[string]sight
	seenNames map[string]sight

	rule     *rule // the one that runs
	findings []Finding
	rest     rest // beyond maxFindings
}

func (s *scanner) each(run func(*rule)) {
	for i := range s.dispatch.rules {
		s.rule = &s.dispatch.rules[i]
		run(s.rule)
	}
}

// item is what is being scanned.
type item struct {
	*surface.Item
	scan *scanner
	// value is the definition, invalid when err says that it cannot be read.
	value rawjson.Value
	flaws rawjson.Flaws
	err   error
	path  path // where the walk is

	findings  []Finding
	reports   int            // calls of report
	consulted bool           // what the running rule finds depends on the item as well
	known     map[digest]int // where in findings
	id        string         // see identity
	limits    map[ruleSeverity]*rest
	params    map[string]bool
}

type ruleSeverity struct {
	rule     *rule
	severity Severity
}

// rest counts findings and stands for those beyond a limit.
type rest struct {
	count, dropped int
	block          bool
	digest         digest
}

func (r *rest) drop(severity Severity, id digest) {
	r.dropped++
	r.block = r.block || severity == Block
	r.digest = digestOf(string(r.digest[:]), string(id[:]))
}

func (s *scanner) scanItem(of *surface.Item) {
	it := &item{Item: of, scan: s}
	it.value, it.flaws, it.err = rawjson.Parse(of.Definition)
	s.each(func(r *rule) {
		if r.item != nil {
			r.item(it)
		}
	})
	if it.err != nil {
		definition := string(of.Definition)
		look := s.dispatch.sight(definition)
		it.try(look.mask, &text{s: definition, item: it, scan: s, traits: look.traits})
	} else {
		w := walker{path: &it.path, visit: it.visit, name: it.name}
		w.item(of.Kind, it.value)
	}
	it.finish()
}

// visit tries the rules on a string of the definition. It is decoded only when one
// may find something.
func (it *item) visit(v rawjson.Value, key string, r role) {
	seen, raw := it.scan.seen[r], v.Raw()
	of, known := seen[string(raw)]
	if known && of.mask == 0 {
		return
	}
	s, _ := v.Text()
	if !known {
		of = it.scan.dispatch.sight(s)
	}
	before := of.mask
	of.mask = it.try(of.mask, &text{s: s, role: r, key: key, item: it, scan: it.scan, traits: of.traits})
	if !known && len(seen) < maxSeen || known && of.mask != before {
		seen[string(raw)] = of
	}
}

// name tries the rules on the name of a member.
func (it *item) name(s string) {
	of, known := it.scan.seenNames[s]
	if !known {
		of = it.scan.dispatch.sight(s)
		if len(it.scan.seenNames) < maxSeen {
			it.scan.seenNames[s] = of
		}
	}
	it.try(of.mask, &text{s: s, role: roleKey, item: it, scan: it.scan, traits: of.traits, named: true})
}

// try returns the rules that are to be tried on the same string in the same role
// again: those that found something, or looked at the rest of the item.
func (it *item) try(mask ruleMask, t *text) (again ruleMask) {
	consulted := false
	for ; mask != 0; mask &= mask - 1 {
		r := &it.scan.dispatch.rules[bits.TrailingZeros64(uint64(mask))]
		it.scan.rule = r
		reports := it.reports
		it.consulted = false
		if r.folded {
			r.text(t.folded())
		} else {
			r.text(t)
		}
		if it.reports > reports || it.consulted {
			again |= mask & -mask
		}
		consulted = consulted || it.consulted
	}
	it.consulted = consulted // of a rule that revealed t, too
	return again
}

// maxReveals bounds how often what was hidden hides something again.
const maxReveals = 3

// reveal tries rules on what t hides, and where it comes from.
func (t *text) reveal(payload string, rules ruleMask, from *source) {
	if t.depth >= maxReveals {
		return
	}
	running := t.scan.rule
	of := t.scan.dispatch.sight(payload)
	hidden := &text{s: payload, role: t.role, item: t.item, scan: t.scan, traits: of.traits, depth: t.depth + 1, named: t.named, source: from}
	t.item.try(of.mask&rules, hidden)
	t.scan.rule = running
}

// parameters are the names of the properties at the root of the input schema, or
// of the arguments of a prompt.
func (it *item) parameters() map[string]bool {
	it.consulted = true
	if it.params != nil {
		return it.params
	}
	it.params = map[string]bool{}
	for name := range it.value.Get("inputSchema").Get("properties").Members() {
		it.params[name] = true
	}
	for _, argument := range it.value.Get("arguments").Elems() {
		if name, ok := argument.Get("name").Text(); ok {
			it.params[name] = true
		}
	}
	return it.params
}

// at reports at another place of the definition than the walk is.
func (it *item) at(pointer string, report func()) {
	walk := it.path
	it.path = pathOf(pointer)
	report()
	it.path = walk
}

// hit is what a rule found.
type hit struct {
	severity Severity
	// matched is what makes the finding the same finding. It is not shown.
	matched string
	message string
	excerpt string // safe to show
	at      spot
}

// found reports t.s[start:end].
func (t *text) found(severity Severity, start, end int, message string) {
	at := t.spot(start, end)
	if id, ok := t.item.admit(severity, t.s[start:end], at); ok {
		t.item.add(hit{severity: severity, message: message, excerpt: excerpt(t.s, start, end), at: at}, id)
	}
}

// report makes a finding of the rule that runs, at the place where the walk is.
func (it *item) report(h hit) {
	if id, ok := it.admit(h.severity, h.matched, h.at); ok {
		it.add(h, id)
	}
}

// admit identifies a finding, and decides whether it is a new one that is shown. An
// acceptance of a note does not hold for a block, so the severity is part of the ID. Of
// one that is known, the place is added.
func (it *item) admit(severity Severity, matched string, at spot) (id digest, ok bool) {
	rule := it.scan.rule
	where := it.path.digest()
	id = digestOf(rule.ID, string(severity), it.identity(), string(where[:]), matched)
	it.reports++
	limit := it.limit(rule, severity)
	if limit.count >= maxOfRule {
		limit.drop(severity, id)
		return id, false
	}
	if n, ok := it.known[id]; ok { // a text may hold the same twice, or hold it hidden as well
		if f := &it.findings[n]; f.InName == at.name {
			f.Spans = join(f.Spans, at.spans)
		}
		return id, false
	}
	if it.known == nil {
		it.known = map[digest]int{}
	}
	it.known[id] = len(it.findings)
	limit.count++
	return id, true
}

// identity stands for kind and name, which may be long, in IDs.
func (it *item) identity() string {
	if it.id == "" {
		d := digestOf(string(it.Kind), it.Name)
		it.id = string(d[:])
	}
	return it.id
}

func (it *item) limit(r *rule, severity Severity) *rest {
	key := ruleSeverity{r, severity}
	if it.limits[key] == nil {
		if it.limits == nil {
			it.limits = map[ruleSeverity]*rest{}
		}
		it.limits[key] = &rest{}
	}
	return it.limits[key]
}

func (it *item) add(h hit, id digest) {
	r := it.scan.rule
	it.findings = append(it.findings, Finding{
		ID: id.String(), Event: Event, Rule: r.ID, Family: r.Family, Severity: h.severity,
		Kind: it.Kind, Item: it.Name, Pointer: it.path.pointer(),
		Message: h.message, Excerpt: h.excerpt,
		Techniques: r.Techniques, Ruleset: Ruleset,
		Spans: h.at.spans, InName: h.at.name,
	})
}

// finish hands the findings of an item to the scan.
func (it *item) finish() {
	for key, limit := range it.limits {
		if limit.dropped == 0 {
			continue
		}
		message := more(limit.dropped, "of this rule in this item ")
		id := digestOf(key.rule.ID, string(key.severity), it.identity(), string(limit.digest[:]))
		it.scan.rule = key.rule
		it.add(hit{severity: key.severity, message: message}, id)
	}
	slices.SortStableFunc(it.findings, func(a, b Finding) int {
		if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
			return c
		}
		if c := strings.Compare(a.Rule, b.Rule); c != 0 {
			return c
		}
		return strings.Compare(string(a.Severity), string(b.Severity))
	})
	s := it.scan
	for _, f := range it.findings {
		if len(s.findings) < maxFindings {
			s.findings = append(s.findings, f)
		} else {
			s.rest.drop(f.Severity, digestOf(f.ID))
		}
	}
}

// finish adds what stands for the findings beyond the limit.
func (s *scanner) finish() []Finding {
	if s.rest.dropped == 0 {
		return s.findings
	}
	severity := Note
	if s.rest.block {
		severity = Block
	}
	return append(s.findings, Finding{
		ID: s.rest.digest.String(), Event: Event, Rule: tooMany, Family: tooMany, Severity: severity,
		Message: more(s.rest.dropped, ""),
		Ruleset: Ruleset,
	})
}

func more(n int, where string) string {
	if n == 1 {
		return "1 more finding " + where + "is not shown"
	}
	return fmt.Sprintf("%d more findings %sare not shown", n, where)
}

// tooMany is the rule of the finding that stands for all beyond maxFindings.
const tooMany = "too_many_findings"

// digest identifies texts, places and findings.
type digest [sha256.Size]byte

// digestOf covers parts and their borders.
func digestOf(parts ...string) (d digest) {
	h := sha256.New()
	var size [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	h.Sum(d[:0])
	return d
}

// String is 32 hexadecimal digits.
func (d digest) String() string { return hex.EncodeToString(d[:16]) }
