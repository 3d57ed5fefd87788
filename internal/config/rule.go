package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v4"
)

// kind is what a value looks like in YAML.
type kind uint8

const (
	kindObject kind = iota
	kindList
	kindMap
	kindString
	kindInt
	kindNumber
	kindBool
	kindDuration
	kindFree
)

// rule says what one value must be. Rules are derived from the types of
// definition.go and used by the decoder, the JSON Schema and the manual.
type rule struct {
	kind     kind
	object   *objectRule // of kindObject
	elem     *rule       // of kindList and kindMap
	keys     []string    // of kindMap: the keys allowed; nil: any
	choices  []string
	min, max *float64 // of a number, of nanoseconds, of the length of a list
	pattern  *regexp.Regexp
	form     string // pattern in words
	blank    bool
	unique   bool
	variable bool // a name that ValidVariable accepts
	explain  func(string) string
}

// field is one key of an object.
type field struct {
	name, doc, def, example   string
	required, expand, private bool
	rule                      *rule
	index                     []int // for reflect.Value.FieldByIndex
}

type objectRule struct {
	name, title string
	note        string // what to know about the whole object
	fields      []*field
	byName      map[string]*field
	exactlyOne  []string
	atLeastOne  []string
	insteadKey  string // with one of insteadOf, it takes the place of exactlyOne
	insteadOf   []string
	refused     map[string]string
	aloneKey    string // when present, only aloneWith may stand beside it
	aloneWith   []string
}

// object is embedded by every type that is decoded from a mapping. It keeps
// where the mapping and its members are.
type object struct {
	at      *yaml.Node
	members map[string]member
}

type member struct{ key, value *yaml.Node }

func (o *object) hold(at *yaml.Node, members map[string]member) { o.at, o.members = at, members }

// has reports whether key was written.
func (o *object) has(key string) bool { _, ok := o.members[key]; return ok }

// where returns the value of key, or the mapping where key is not written.
func (o *object) where(key string) *yaml.Node {
	if m, ok := o.members[key]; ok {
		return m.value
	}
	return o.at
}

// keyAt returns the key itself, or the mapping where key is not written.
func (o *object) keyAt(key string) *yaml.Node {
	if m, ok := o.members[key]; ok {
		return m.key
	}
	return o.at
}

type (
	duration time.Duration
	variable string
	freeform struct{ node *yaml.Node }
)

// ruler derives rules; it remembers objects, since targets nest.
type ruler map[reflect.Type]*objectRule

func (r ruler) objectOf(t reflect.Type) *objectRule {
	if o := r[t]; o != nil {
		return o
	}
	o := &objectRule{byName: map[string]*field{}}
	r[t] = o
	zero := reflect.New(t).Elem().Interface()
	if v, ok := zero.(interface{ about() (string, string) }); ok {
		o.name, o.title = v.about()
	}
	if v, ok := zero.(interface{ note() string }); ok {
		o.note = v.note()
	}
	if v, ok := zero.(interface{ exactlyOne() []string }); ok {
		o.exactlyOne = v.exactlyOne()
	}
	if v, ok := zero.(interface{ atLeastOne() []string }); ok {
		o.atLeastOne = v.atLeastOne()
	}
	if v, ok := zero.(interface{ instead() (string, []string) }); ok {
		o.insteadKey, o.insteadOf = v.instead()
	}
	if v, ok := zero.(interface{ refused() map[string]string }); ok {
		o.refused = v.refused()
	}
	if v, ok := zero.(interface{ alone() (string, []string) }); ok {
		o.aloneKey, o.aloneWith = v.alone()
	}
	r.addFields(o, t, nil)
	for _, f := range o.fields {
		o.byName[f.name] = f
	}
	return o
}

func (r ruler) addFields(o *objectRule, t reflect.Type, index []int) {
	for sf := range t.Fields() {
		at := append(slices.Clone(index), sf.Index...)
		name := sf.Tag.Get("yaml")
		if name == "" {
			if sf.Anonymous && sf.Type != reflect.TypeFor[object]() {
				r.addFields(o, sf.Type, at)
			}
			continue
		}
		is := strings.Fields(sf.Tag.Get("is"))
		o.fields = append(o.fields, &field{
			name: name, doc: sf.Tag.Get("doc"), def: sf.Tag.Get("default"), example: sf.Tag.Get("example"),
			required: slices.Contains(is, "required"), expand: slices.Contains(is, "expand"), private: slices.Contains(is, "private"),
			rule: r.valueOf(sf.Type, sf.Tag, is), index: at,
		})
	}
}

func (r ruler) valueOf(t reflect.Type, tag reflect.StructTag, is []string) *rule {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out := &rule{blank: slices.Contains(is, "blank")}
	switch {
	case t == reflect.TypeFor[duration]():
		out.kind = kindDuration
	case t == reflect.TypeFor[freeform]():
		out.kind = kindFree
	case t.Kind() == reflect.Struct:
		out.kind, out.object = kindObject, r.objectOf(t)
	case t.Kind() == reflect.Slice:
		out.kind, out.unique = kindList, slices.Contains(is, "unique")
		elemTag := reflect.StructTag("")
		if p, ok := tag.Lookup("pattern"); ok {
			elemTag = reflect.StructTag(`pattern:` + strconv.Quote(p) + ` form:` + strconv.Quote(tag.Get("form")))
		}
		out.elem = r.valueOf(t.Elem(), elemTag, is)
	case t.Kind() == reflect.Map:
		out.kind = kindMap
		if v, ok := reflect.Zero(t.Key()).Interface().(interface{ choices() []string }); ok {
			out.keys = v.choices()
		}
		if t.Elem().Kind() == reflect.String {
			out.elem = r.valueOf(t.Elem(), "", nil)
		} else {
			out.elem = r.valueOf(t.Elem(), tag, nil)
			return out // the bounds are those of its values
		}
	case t.Kind() == reflect.Bool:
		out.kind = kindBool
	case t.Kind() == reflect.Int:
		out.kind = kindInt
	case t.Kind() == reflect.Float64:
		out.kind = kindNumber
	default:
		out.kind = kindString
		r.stringRule(out, t, tag)
	}
	out.min, out.max = bound(tag.Get("min"), out.kind), bound(tag.Get("max"), out.kind)
	return out
}

func (ruler) stringRule(out *rule, t reflect.Type, tag reflect.StructTag) {
	out.variable = t == reflect.TypeFor[variable]()
	zero := reflect.Zero(t).Interface()
	if v, ok := zero.(interface{ choices() []string }); ok {
		out.choices = v.choices()
	}
	if v, ok := zero.(interface{ explain(string) string }); ok {
		out.explain = v.explain
	}
	if p := tag.Get("pattern"); p != "" {
		out.pattern, out.form = regexp.MustCompile("^(?:"+p+")$"), tag.Get("form")
	}
}

func bound(text string, k kind) *float64 {
	if text == "" {
		return nil
	}
	if k == kindDuration {
		d, err := time.ParseDuration(text)
		if err != nil {
			panic("config: bad tag: " + err.Error())
		}
		v := float64(d)
		return &v
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("config: bad tag: " + err.Error())
	}
	return &v
}

// fileRule returns the rule of a whole file, which nobody may modify. It is
// derived once, since that takes longer than to read a file.
var fileRule = sync.OnceValue(func() *objectRule { return ruler{}.objectOf(reflect.TypeFor[fileConfig]()) })

// want describes a valid value, to complete "must be".
func (r *rule) want() string {
	switch r.kind {
	case kindObject, kindFree:
		return "a mapping (key: value)"
	case kindMap:
		return "a mapping (name: value)"
	case kindList:
		return "a list"
	case kindBool:
		return "true or false"
	case kindInt:
		return "a whole number" + r.span()
	case kindNumber:
		return "a number" + r.span()
	case kindDuration:
		return "a duration" + r.span() + ", such as 20s or 1m30s"
	}
	switch {
	case len(r.choices) == 1:
		return strconv.Quote(r.choices[0])
	case r.choices != nil:
		return "one of " + listed(r.choices, "or")
	case r.variable:
		return "the name of an environment variable"
	}
	return "a string"
}

func (r *rule) span() string {
	show := func(v float64) string {
		if r.kind == kindDuration {
			return shortDuration(time.Duration(v))
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	switch {
	case r.min != nil && r.max != nil:
		return fmt.Sprintf(" from %s to %s", show(*r.min), show(*r.max))
	case r.min != nil:
		return " of at least " + show(*r.min)
	case r.max != nil:
		return " of at most " + show(*r.max)
	}
	return ""
}

func (r *rule) inRange(v float64) bool {
	return (r.min == nil || v >= *r.min) && (r.max == nil || v <= *r.max)
}

// shortDuration writes d without the zero units that String appends.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// listed joins words as a sentence does.
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
