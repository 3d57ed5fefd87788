package diff

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// What says in a word what happened at a place of a schema.
type What string

// What can happen.
const (
	PropertyAdded   What = "property-added"
	PropertyRemoved What = "property-removed"
	Required        What = "required"     // a property became so
	NotRequired     What = "not-required" // a property is so no more
	TypeChanged     What = "type"
	ValueAdded      What = "value-added" // to an enumeration
	ValueRemoved    What = "value-removed"
	TextChanged     What = "text" // description, title, $comment
	KeywordAdded    What = "keyword-added"
	KeywordRemoved  What = "keyword-removed"
	KeywordChanged  What = "keyword"
	Repeated        What = "repeated" // a name stands twice in one object, before or after
)

// SchemaChange is one difference between two schemas. All but What is the server's text.
type SchemaChange struct {
	What What
	// Pointer is the place, as RFC 6901 writes it; of a property that of its schema.
	Pointer string
	// Name is that of the property, of the keyword, or the value of an enumeration.
	Name string
	// Before and After are what stood there: texts as they are, anything else as JSON.
	Before, After string
}

const (
	// MaxChanges are how many differences Schema tells apart.
	MaxChanges = 500
	maxDepth   = 40
	maxValues  = 2000     // of an enumeration that are compared one by one
	maxSchema  = 16 << 20 // bytes of both schemas
)

// Schema compares two JSON schemas, in the order of the names in them. more tells that
// there are differences that are not told apart: too many, too deep, or in a text that
// is no JSON.
func Schema(before, after []byte) (changes []SchemaChange, more bool) {
	if bytes.Equal(before, after) {
		return nil, false
	}
	if len(before)+len(after) > maxSchema {
		return nil, true
	}
	a, errA := parse(before)
	b, errB := parse(after)
	if errA != nil || errB != nil {
		return nil, true
	}
	c := &comparison{}
	c.schema("", a, b, 0)
	return c.changes, c.more
}

func parse(text []byte) (rawjson.Value, error) {
	if len(text) == 0 {
		return rawjson.Value{}, nil
	}
	v, _, err := rawjson.Parse(text)
	return v, err
}

type comparison struct {
	changes []SchemaChange
	more    bool
}

func (c *comparison) add(change SchemaChange) {
	if len(c.changes) == MaxChanges {
		c.more = true
		return
	}
	c.changes = append(c.changes, change)
}

// full tells whether nothing more is told apart.
func (c *comparison) full(depth int) bool {
	if c.more || depth > maxDepth {
		c.more = true
	}
	return c.more
}

// schema compares what stands at one place.
func (c *comparison) schema(at string, a, b rawjson.Value, depth int) {
	if same(a, b) || c.full(depth) {
		return
	}
	if a.Kind() != rawjson.Object || b.Kind() != rawjson.Object {
		c.add(SchemaChange{What: KeywordChanged, Pointer: at, Before: Value(a), After: Value(b)})
		return
	}
	c.repeated(at, a, b)
	for _, name := range names(a, b) {
		x, y := a.Get(name), b.Get(name)
		if same(x, y) {
			continue
		}
		here := at + rawjson.Pointer(name)
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			c.properties(here, x, y, depth)
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
			if x.Kind() == rawjson.Object && y.Kind() == rawjson.Object {
				c.schema(here, x, y, depth+1)
			} else {
				c.keyword(here, name, x, y)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			c.branches(here, name, x, y, depth)
		case "required":
			c.members(x, y, func(v rawjson.Value, added bool) {
				c.add(SchemaChange{What: either(added, Required, NotRequired), Pointer: here, Name: Value(v)})
			}, func() { c.keyword(here, name, x, y) })
		case "enum":
			c.members(x, y, func(v rawjson.Value, added bool) {
				c.add(SchemaChange{What: either(added, ValueAdded, ValueRemoved), Pointer: here, Name: Value(v)})
			}, func() { c.keyword(here, name, x, y) })
		default:
			c.keyword(here, name, x, y)
		}
	}
}

func either(yes bool, a, b What) What {
	if yes {
		return a
	}
	return b
}

// properties compares objects of schemas.
func (c *comparison) properties(at string, a, b rawjson.Value, depth int) {
	if a.Exists() && a.Kind() != rawjson.Object || b.Exists() && b.Kind() != rawjson.Object {
		c.keyword(at, at[strings.LastIndexByte(at, '/')+1:], a, b)
		return
	}
	c.repeated(at, a, b)
	for _, name := range names(a, b) {
		x, y := a.Get(name), b.Get(name)
		here := at + rawjson.Pointer(name)
		switch {
		case same(x, y):
		case !x.Exists():
			c.add(SchemaChange{What: PropertyAdded, Pointer: here, Name: name, After: Value(y)})
		case !y.Exists():
			c.add(SchemaChange{What: PropertyRemoved, Pointer: here, Name: name, Before: Value(x)})
		default:
			c.schema(here, x, y, depth+1)
		}
		if c.more {
			return
		}
	}
}

// branches compares lists of schemas, place by place.
func (c *comparison) branches(at, name string, a, b rawjson.Value, depth int) {
	x, y := a.Elems(), b.Elems()
	if a.Kind() != rawjson.Array || b.Kind() != rawjson.Array || len(x) != len(y) {
		c.keyword(at, name, a, b)
		return
	}
	for i := range x {
		c.schema(at+rawjson.Pointer(strconv.Itoa(i)), x[i], y[i], depth+1)
		if c.more {
			return
		}
	}
}

// members compares lists as sets; whole is for what are no such lists, or long ones.
func (c *comparison) members(a, b rawjson.Value, report func(v rawjson.Value, added bool), whole func()) {
	x, y := a.Elems(), b.Elems()
	if a.Exists() && a.Kind() != rawjson.Array || b.Exists() && b.Kind() != rawjson.Array || len(x)+len(y) > maxValues {
		whole()
		return
	}
	set := func(values []rawjson.Value) map[string]bool {
		out := map[string]bool{}
		for _, v := range values {
			out[string(rawjson.Canonical(v))] = true
		}
		return out
	}
	before, after := set(x), set(y)
	n := len(c.changes)
	for _, v := range x {
		if !after[string(rawjson.Canonical(v))] {
			report(v, false)
		}
	}
	for _, v := range y {
		if !before[string(rawjson.Canonical(v))] {
			report(v, true)
		}
	}
	if len(c.changes) == n && !c.more { // another order, or something twice
		whole()
	}
}

// keyword tells a keyword that differs.
func (c *comparison) keyword(at, name string, a, b rawjson.Value) {
	change := SchemaChange{What: KeywordChanged, Pointer: at, Name: name, Before: Value(a), After: Value(b)}
	text := name == "description" || name == "title" || name == "$comment"
	switch {
	case text && (a.Kind() == rawjson.String || !a.Exists()) && (b.Kind() == rawjson.String || !b.Exists()):
		change.What = TextChanged
	case !a.Exists():
		change.What = KeywordAdded
	case !b.Exists():
		change.What = KeywordRemoved
	case name == "type":
		change.What = TypeChanged
	}
	c.add(change)
}

// repeated tells that a name stands twice in an object that differs: readers take one or
// the other.
func (c *comparison) repeated(at string, a, b rawjson.Value) {
	for _, v := range []rawjson.Value{a, b} {
		seen := map[string]bool{}
		for name := range v.Members() {
			if seen[name] {
				c.add(SchemaChange{What: Repeated, Pointer: at, Name: name, Before: Value(a), After: Value(b)})
				return
			}
			seen[name] = true
		}
	}
}

// names are the member names of both, in order.
func names(a, b rawjson.Value) []string {
	var out []string
	for _, v := range []rawjson.Value{a, b} {
		for name := range v.Members() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func same(a, b rawjson.Value) bool {
	return a.Exists() == b.Exists() && bytes.Equal(a.Raw(), b.Raw())
}

// Value is what a JSON value says: a string its text, anything else its JSON, nothing
// for one that is not there. Bytes that are not UTF-8 stay, and half a surrogate pair
// becomes such bytes: two texts that differ never look the same.
func Value(v rawjson.Value) string {
	raw := v.Raw()
	if v.Kind() != rawjson.String {
		return string(raw)
	}
	raw = raw[1 : len(raw)-1]
	var out strings.Builder
	for len(raw) > 0 {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			i = len(raw)
		}
		out.Write(raw[:i])
		if raw = raw[i:]; len(raw) == 0 {
			break
		}
		n := escape(&out, raw)
		raw = raw[n:]
	}
	return out.String()
}

// escape writes the character of the escape at the start of raw, and returns how long
// that is. The grammar was checked when it was parsed.
func escape(out *strings.Builder, raw []byte) int {
	if i := strings.IndexByte("bfnrt", raw[1]); i >= 0 {
		out.WriteByte("\b\f\n\r\t"[i])
		return 2
	}
	if raw[1] != 'u' {
		out.WriteByte(raw[1])
		return 2
	}
	r := unit(raw)
	if utf16.IsSurrogate(r) {
		if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
			if whole := utf16.DecodeRune(r, unit(raw[6:])); whole != utf8.RuneError {
				out.WriteRune(whole)
				return 12
			}
		}
		out.Write([]byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6)&0x3f, 0x80 | byte(r)&0x3f})
		return 6
	}
	out.WriteRune(r)
	return 6
}

func unit(raw []byte) rune {
	n, _ := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n)
}
