package surface

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// direction is what a difference does to the set of values that a schema accepts:
// it grows, shrinks, or cannot be told.
type direction int

const (
	narrowed direction = iota - 1
	unclear
	widened
)

func (d direction) class() Class {
	switch d {
	case widened:
		return ToolSchemaWidened
	case narrowed:
		return ToolSchemaNarrowed
	}
	return ToolSchemaChanged
}

// schemaDiffer compares the two forms of one schema of a tool. References are
// compared in place, and what they point to where it stands. Its verdicts are per
// difference, and differ from those of set theory in one thing: a parameter is an
// offer, so that an optional one that is added widens and any that is removed
// narrows, whatever is said about further properties.
type schemaDiffer struct {
	*differ
	// effort is how many bytes of branches may yet be brought into the form in
	// which equal constraints are equal.
	effort int
	// sense is what a wider schema at the path means for the whole: the same,
	// the opposite (under not), or nothing certain (under if, oneOf, contains).
	sense  direction
	traits // of both forms
	// respelled: something was written differently that means the same.
	respelled bool
}

// schema compares inputSchema or outputSchema.
func (d *differ) schema(before, after rawjson.Value, name string) {
	switch {
	case !before.Exists() || before.IsNull():
		d.change(ToolSchemaChanged, before, after, name+" added")
		d.headers(before, after)
		return
	case !after.Exists() || after.IsNull():
		d.change(ToolSchemaChanged, before, after, name+" removed")
		d.headers(before, after)
		return
	}
	s := schemaDiffer{
		differ: d, sense: widened, effort: 4 * (len(before.Raw()) + len(after.Raw())),
		traits: traitsOf(before, after),
	}
	found := len(d.changes)
	s.subschema(before, after, "")
	for _, c := range d.changes[found:] {
		if c.Class != ToolText {
			return
		}
	}
	if s.respelled {
		d.change(ToolSchemaEquivalent, before, after, name+" written differently")
	}
}

// report reports a difference of schemas at the path, and headers that come, go or
// change with it.
func (s *schemaDiffer) report(dir direction, before, after rawjson.Value, detail string) {
	s.change((dir * s.sense).class(), before, after, detail)
	s.headers(before, after)
}

// headers reports when the places of x-mcp-header under two values differ.
func (d *differ) headers(before, after rawjson.Value) {
	h := headerFinder{seed: maphash.MakeSeed()}
	was, is := h.in(nil, before, 0), h.in(nil, after, 0)
	if slices.Equal(was, is) {
		return
	}
	detail := "HTTP header of a parameter changed"
	switch {
	case len(was) == 0:
		detail = "HTTP header of a parameter added"
	case len(is) == 0:
		detail = "HTTP header of a parameter removed"
	}
	d.change(ToolHeader, before, after, detail)
}

const headerKeyword = "x-mcp-header"

// headerFinder finds headers of parameters. A place is a hash of its pointer, since
// pointers may be long and many.
type headerFinder struct{ seed maphash.Seed }

// header is where a header stands, and its value.
type header struct {
	place uint64
	value string
}

func (h headerFinder) in(found []header, v rawjson.Value, place uint64) []header {
	if !bytes.Contains(v.Raw(), []byte(headerKeyword)) {
		return found
	}
	below := func(name string) uint64 {
		return maphash.Comparable(h.seed, header{place, name})
	}
	for i, e := range v.Elems() {
		found = h.in(found, e, below(strconv.Itoa(i)))
	}
	for name, m := range v.Members() {
		if name == headerKeyword {
			found = append(found, header{place, string(m.Raw())})
		}
		found = h.in(found, m, below(name))
	}
	return found
}

// breadth is how much a schema accepts, as far as that is seen without reading it.
type breadth int

const (
	nothing breadth = iota
	something
	anything
	noSchema // neither an object nor a boolean
)

func breadthOf(v rawjson.Value) breadth {
	switch v.Kind() {
	case rawjson.Invalid:
		return anything
	case rawjson.Bool:
		if accepts, _ := v.Bool(); accepts {
			return anything
		}
		return nothing
	case rawjson.Object:
		for name, m := range v.Members() {
			switch {
			case roleOf(name) == roleText, roleOf(name) == roleIdentity:
			case name == "not" && v.Len() == 1 && breadthOf(m) == anything:
				return nothing
			default:
				return something
			}
		}
		return anything
	}
	return noSchema
}

// subschema compares two schemas that differ. A missing one accepts anything. The
// subject is what is said to be allowed or not: "further properties".
func (s *schemaDiffer) subschema(before, after rawjson.Value, subject string) {
	was, is := breadthOf(before), breadthOf(after)
	loosened, tightened := "constraints removed", "constraints added"
	if subject != "" {
		loosened, tightened = "allows more "+subject, "allows fewer "+subject
		switch nothing {
		case was:
			loosened = "allows " + subject
		case is:
			tightened = "no longer allows " + subject
		}
	}
	bothObjects := before.Kind() == rawjson.Object && after.Kind() == rawjson.Object
	switch {
	case was == noSchema || is == noSchema:
		s.report(unclear, before, after, "changed: not a schema")
	case bothObjects && was != nothing && is != nothing:
		s.keywords(before, after)
	case was < is:
		s.report(widened, before, after, loosened)
	case was > is:
		s.report(narrowed, before, after, tightened)
	case was == nothing: // false and {"not": {}}, in which there may be a text
		s.respelled = true
		s.at("not", func() { s.keywords(before.Get("not"), after.Get("not")) })
	default: // true and {}, which may have a text
		s.respelled = true
		s.keywords(before, after)
	}
}

// keywords compares two objects by their keywords.
func (s *schemaDiffer) keywords(before, after rawjson.Value) {
	members := s.members(before, after)
	byReference := slices.ContainsFunc(members, func(m member) bool { return isReference(m.name) })
	if byReference {
		s.reference(before, after)
	}
	valuesDone := false
	for _, m := range members {
		switch {
		case byReference && roleOf(m.name) != roleText && roleOf(m.name) != roleMap:
			// The reference says it: what stood beside it moved with it.
		case m.name == "enum" || m.name == "const":
			if !valuesDone {
				s.values(before, after)
			}
			valuesDone = true
		case m.name == "properties":
			s.at(m.name, func() { s.properties(m, before, after) })
		case m.name == "required":
			s.at(m.name, func() { s.required(m, before, after) })
		default:
			s.at(m.name, func() { s.keyword(m) })
		}
	}
}

func isReference(keyword string) bool {
	return keyword == "$ref" || keyword == "$dynamicRef" || keyword == "$recursiveRef"
}

// reference reports that a schema refers to something else than before, or began
// or ceased to refer.
func (s *schemaDiffer) reference(before, after rawjson.Value) {
	detail := "reference changed"
	switch hadBefore, hasAfter := hasReference(before), hasReference(after); {
	case !hadBefore:
		detail = "replaced by a reference"
	case !hasAfter:
		detail = "reference replaced by what it stands for, or something else"
	}
	if remoteReference(after) {
		detail = "refers to another document, which can change by itself"
	}
	s.report(unclear, before, after, detail)
}

func hasReference(v rawjson.Value) bool {
	for name := range v.Members() {
		if isReference(name) {
			return true
		}
	}
	return false
}

func remoteReference(v rawjson.Value) bool {
	for name, m := range v.Members() {
		target, _ := m.Text()
		if isReference(name) && (strings.Contains(target, "://") || strings.HasPrefix(target, "//")) {
			return true
		}
	}
	return false
}

// keyword compares one keyword that constrains by itself.
func (s *schemaDiffer) keyword(m member) {
	switch roleOf(m.name) {
	case roleText:
		s.text(ToolText, m.before, m.after)
	case roleIdentity:
		s.dialect(m)
	case roleSet:
		s.set(m)
	case roleSchema:
		s.applicator(m)
	case roleSchemas:
		s.positions(m)
	case roleBranches:
		s.branches(m)
	case roleMap, roleSetMap:
		s.named(m)
	case roleValue:
		s.value(m)
	}
}

// dialect compares $schema.
func (s *schemaDiffer) dialect(m member) {
	was, is := dialectOf(m.before), dialectOf(m.after)
	switch {
	case m.before.Exists() && was == "" || m.after.Exists() && is == "":
		s.text(ToolText, m.before, m.after)
	case was != is && (s.dependsOn(was) || s.dependsOn(is)):
		s.report(unclear, m.before, m.after, "read by another draft of JSON Schema, in which a keyword means something else")
	default:
		s.respelled = true
	}
}

// set compares type and examples; the other sets depend on keywords beside them.
func (s *schemaDiffer) set(m member) {
	if m.name == "type" {
		s.types(m)
		return
	}
	before, okBefore := listOf(m.before)
	after, okAfter := listOf(m.after)
	if !s.ordered && okBefore && okAfter && m.before.Exists() && m.after.Exists() && len(before.without(after)) == 0 && len(after.without(before)) == 0 {
		s.respelled = true
		return
	}
	s.report(unclear, m.before, m.after, m.name+" "+comingOr(m.before, m.after, "changed"))
}

// applicator compares a keyword that holds one schema.
func (s *schemaDiffer) applicator(m member) {
	came, went := !m.before.Exists(), !m.after.Exists()
	if (came || went) && s.missed(m) {
		s.report(unclear, m.before, m.after, m.name+" "+comingOr(m.before, m.after, ""))
		return
	}
	switch m.name {
	case "additionalProperties", "unevaluatedProperties":
		s.subschema(m.before, m.after, "further properties")
	case "items", "additionalItems", "unevaluatedItems":
		if m.before.Kind() == rawjson.Array && m.after.Kind() == rawjson.Array {
			s.positions(m)
		} else {
			s.subschema(m.before, m.after, "further elements")
		}
	case "propertyNames":
		s.subschema(m.before, m.after, "property names")
	case "not", "contains":
		sense := unclear
		if m.name == "not" {
			sense = narrowed
		}
		switch {
		case came:
			s.report(narrowed, m.before, m.after, m.name+" added")
		case went:
			s.report(widened, m.before, m.after, m.name+" removed")
		default:
			s.in(sense, func() { s.subschema(m.before, m.after, "") })
		}
	case "if":
		s.in(unclear, func() { s.subschema(m.before, m.after, "") })
	default:
		s.subschema(m.before, m.after, "")
	}
}

// missed reports whether a keyword that came or went would be missed though it
// accepts anything: if says which of then and else counts, and to look at properties
// and elements is what unevaluatedProperties and unevaluatedItems go by.
func (s *schemaDiffer) missed(m member) bool {
	if m.name == "if" {
		return true
	}
	return s.unevaluated && breadthOf(m.before) == anything && breadthOf(m.after) == anything
}

// in calls compare where a wider schema has that sense for what is around it.
func (s *schemaDiffer) in(sense direction, compare func()) {
	outer := s.sense
	s.sense *= sense
	compare()
	s.sense = outer
}

// positions compares a list of schemas whose order counts.
func (s *schemaDiffer) positions(m member) {
	before, after := m.before.Elems(), m.after.Elems()
	if m.before.Exists() && m.before.Kind() != rawjson.Array || m.after.Exists() && m.after.Kind() != rawjson.Array {
		s.report(unclear, m.before, m.after, "changed: not a list")
		return
	}
	if len(before) != len(after) || len(before) == 0 {
		s.report(unclear, m.before, m.after, "number of elements with a place changed")
		return
	}
	for i := range before {
		if !same(before[i], after[i]) {
			s.at(strconv.Itoa(i), func() { s.subschema(before[i], after[i], "") })
		}
	}
}

// named compares an object of schemas, or of lists of names, by names that are no
// properties.
func (s *schemaDiffer) named(m member) {
	if notObject(m.before) || notObject(m.after) {
		s.report(unclear, m.before, m.after, "changed: not an object")
		return
	}
	subject, added := "definition", unclear
	switch m.name {
	case "patternProperties":
		subject = "pattern of properties"
	case "dependentSchemas", "dependentRequired", "dependencies":
		subject, added = "dependency", narrowed
	}
	entries := s.members(m.before, m.after)
	for _, entry := range entries {
		s.at(entry.name, func() {
			switch {
			case !entry.before.Exists():
				s.report(added, entry.before, entry.after, subject+" added")
			case !entry.after.Exists():
				s.report(-added, entry.before, entry.after, subject+" removed")
			case roleOf(m.name) == roleSetMap && entry.before.Kind() == rawjson.Array && entry.after.Kind() == rawjson.Array:
				s.namesOf(entry, subject)
			default:
				s.subschema(entry.before, entry.after, "")
			}
		})
	}
	s.respelled = s.respelled || len(entries) == 0
}

// namesOf compares the properties that another one brings with it.
func (s *schemaDiffer) namesOf(m member, subject string) {
	before, _ := listOf(m.before)
	after, _ := listOf(m.after)
	gained, lost := after.without(before), before.without(after)
	switch {
	case len(gained) > 0 && len(lost) > 0:
		s.report(unclear, m.before, m.after, subject+" changed")
	case len(gained) > 0:
		s.report(narrowed, m.before, m.after, subject+" on more properties")
	case len(lost) > 0:
		s.report(widened, m.before, m.after, subject+" on fewer properties")
	default:
		s.respelled = true
	}
}

func notObject(v rawjson.Value) bool { return v.Exists() && v.Kind() != rawjson.Object }
