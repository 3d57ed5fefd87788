package surface

import (
	"math"
	"slices"
	"strconv"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// list is a list of values in canonical form, whose order does not count.
type list []string

// listOf reads a list; a missing one is empty.
func listOf(v rawjson.Value) (list, bool) {
	var values list
	for _, e := range v.Elems() {
		values = append(values, string(e.Raw()))
	}
	return values, !v.Exists() || v.Kind() == rawjson.Array
}

// without gives the values of l that are not in other.
func (l list) without(other list) list {
	if len(l) == 0 {
		return nil
	}
	known := make(map[string]bool, len(other))
	for _, value := range other {
		known[value] = true
	}
	return slices.DeleteFunc(slices.Clone(l), func(value string) bool { return known[value] })
}

// values compares enum and const, of which the one is the other with one value.
func (s *schemaDiffer) values(before, after rawjson.Value) {
	old, word, okBefore := valuesOf(before)
	values, wordAfter, okAfter := valuesOf(after)
	report := func(dir direction, detail string) {
		if word == "" {
			word = wordAfter
		}
		if wordAfter != "" && word != wordAfter { // enum became const, or the other way
			s.report(dir, before, after, detail)
			return
		}
		s.at(word, func() { s.report(dir, before.Get(word), after.Get(word), detail) })
	}
	if !okBefore || !okAfter {
		report(unclear, "fixed values changed")
		return
	}
	gained, lost := values.without(old), old.without(values)
	switch {
	case word == "":
		report(narrowed, "restricted to fixed values")
	case wordAfter == "":
		report(widened, "no longer restricted to fixed values")
	case len(gained) > 0 && len(lost) > 0 && word == "const" && wordAfter == "const":
		report(unclear, "constant changed")
	case len(gained) > 0 && len(lost) > 0:
		report(unclear, "values of enum changed")
	case len(gained) > 0:
		report(widened, "values added to enum")
	case len(lost) > 0:
		report(narrowed, "values removed from enum")
	case s.ordered:
		report(unclear, "values of enum changed places, by which something refers to them")
	default:
		s.respelled = true
	}
}

// valuesOf gives the values that a schema is restricted to, and the keyword that
// says so; it reports false when that is not well said.
func valuesOf(v rawjson.Value) (values list, keyword string, ok bool) {
	constant, enum := v.Get("const"), v.Get("enum")
	switch {
	case constant.Exists() && enum.Exists():
		return nil, "enum", false
	case constant.Exists():
		return list{string(constant.Raw())}, "const", true
	case enum.Exists():
		values, ok = listOf(enum)
		return values, "enum", ok
	}
	return nil, "", true
}

// types compares type. An integer is a number.
func (s *schemaDiffer) types(m member) {
	before, okBefore := typesOf(m.before)
	after, okAfter := typesOf(m.after)
	covers := func(types list, other list) bool {
		return !slices.ContainsFunc(other, func(t string) bool {
			return !slices.Contains(types, t) && (t != `"integer"` || !slices.Contains(types, `"number"`))
		})
	}
	switch {
	case !okBefore || !okAfter:
		s.report(unclear, m.before, m.after, "type changed")
	case !m.before.Exists():
		s.report(narrowed, m.before, m.after, "type added")
	case !m.after.Exists():
		s.report(widened, m.before, m.after, "type removed")
	case covers(after, before) && covers(before, after):
		s.respelled = true
	case covers(after, before):
		s.report(widened, m.before, m.after, "type widened")
	case covers(before, after):
		s.report(narrowed, m.before, m.after, "type narrowed")
	default:
		s.report(unclear, m.before, m.after, "type changed")
	}
}

// maxTypes bounds a list that has seven sensible values.
const maxTypes = 32

func typesOf(v rawjson.Value) (list, bool) {
	if v.Kind() == rawjson.String {
		return list{string(v.Raw())}, true
	}
	if v.Len() > maxTypes {
		return nil, false
	}
	return listOf(v)
}

// properties compares properties; m is the member, the others the schemas around it.
func (s *schemaDiffer) properties(m member, before, after rawjson.Value) {
	if notObject(m.before) || notObject(m.after) {
		s.report(unclear, m.before, m.after, "changed: not an object")
		return
	}
	subject := "property"
	if len(s.path) == 2 && s.path[0] == "inputSchema" {
		subject = "parameter"
	}
	wasRequired, isRequired := namesIn(before.Get("required")), namesIn(after.Get("required"))
	entries := s.members(m.before, m.after)
	for _, p := range entries {
		s.at(p.name, func() {
			switch {
			case p.before.Exists() && p.after.Exists():
				s.subschema(p.before, p.after, "")
			case p.before.Exists() && wasRequired[p.name]:
				s.report(narrowed, p.before, p.after, subject+" removed, was required")
			case p.before.Exists():
				s.report(narrowed, p.before, p.after, subject+" removed, was optional")
			case isRequired[p.name]:
				s.report(narrowed, p.before, p.after, subject+" added, required")
			default:
				s.report(widened, p.before, p.after, subject+" added, optional")
			}
		})
	}
	s.respelled = s.respelled || len(entries) == 0
}

func namesIn(required rawjson.Value) map[string]bool {
	names := make(map[string]bool, required.Len())
	for _, e := range required.Elems() {
		if name, ok := e.Text(); ok {
			names[name] = true
		}
	}
	return names
}

// required compares required, but for the properties that came or went with it.
func (s *schemaDiffer) required(m member, before, after rawjson.Value) {
	old, okBefore := listOf(m.before)
	names, okAfter := listOf(m.after)
	if !okBefore || !okAfter {
		s.report(unclear, m.before, m.after, "required changed: not a list")
		return
	}
	was, is := before.Get("properties"), after.Get("properties")
	stayed := func(l list) list {
		return slices.DeleteFunc(l, func(raw string) bool {
			name := decoded(raw)
			return was.Get(name).Exists() != is.Get(name).Exists()
		})
	}
	gained, lost := names.without(old), old.without(names)
	s.respelled = s.respelled || len(gained) == 0 && len(lost) == 0
	if len(stayed(gained)) > 0 {
		s.report(narrowed, m.before, m.after, "became required")
	}
	if len(stayed(lost)) > 0 {
		s.report(widened, m.before, m.after, "no longer required")
	}
}

// value compares a keyword that holds data, known or not.
func (s *schemaDiffer) value(m member) {
	coming := m.name + " " + comingOr(m.before, m.after, "changed")
	came, went := !m.before.Exists(), !m.after.Exists()
	switch m.name {
	case headerKeyword:
		s.change(ToolHeader, m.before, m.after, "HTTP header of a parameter "+comingOr(m.before, m.after, "changed"))
		return
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains":
		s.limit(m, widened)
		return
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		s.limit(m, narrowed)
		return
	case "multipleOf", "pattern", "format", "contentEncoding", "contentMediaType":
		switch {
		case came:
			s.report(narrowed, m.before, m.after, coming)
		case went:
			s.report(widened, m.before, m.after, coming)
		default:
			s.report(unclear, m.before, m.after, coming)
		}
		return
	case "uniqueItems":
		s.unique(m)
		return
	case "default", "deprecated", "readOnly", "writeOnly":
	default:
		coming = "keyword " + comingOr(m.before, m.after, "changed") // its name is the server's
	}
	s.report(unclear, m.before, m.after, coming)
}

// limit compares an upper bound (more is wider) or a lower one.
func (s *schemaDiffer) limit(m member, more direction) {
	before, okBefore := number(m.before)
	after, okAfter := number(m.after)
	switch {
	case !m.before.Exists() && okAfter:
		s.report(narrowed, m.before, m.after, m.name+" added")
	case !m.after.Exists() && okBefore:
		s.report(widened, m.before, m.after, m.name+" removed")
	case !okBefore || !okAfter || before == after: // equal within the precision of a float
		s.report(unclear, m.before, m.after, m.name+" changed")
	case before < after:
		s.report(more, m.before, m.after, m.name+" raised")
	default:
		s.report(-more, m.before, m.after, m.name+" lowered")
	}
}

func number(v rawjson.Value) (float64, bool) {
	if v.Kind() != rawjson.Number {
		return math.NaN(), false
	}
	f, err := strconv.ParseFloat(v.Lexeme(), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// unique compares uniqueItems, which is false by default.
func (s *schemaDiffer) unique(m member) {
	was, okBefore := m.before.Bool()
	is, okAfter := m.after.Bool()
	switch {
	case m.before.Exists() && !okBefore, m.after.Exists() && !okAfter:
		s.report(unclear, m.before, m.after, "uniqueItems changed")
	case is && !was:
		s.report(narrowed, m.before, m.after, "elements have to be unique")
	case was && !is:
		s.report(widened, m.before, m.after, "elements no longer have to be unique")
	default:
		s.respelled = true
	}
}
