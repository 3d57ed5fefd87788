package changes

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Extent bounds what is shown.
type Extent struct {
	// Text is how many bytes of a text are shown, JSON as many of raw JSON.
	Text, JSON int
	// Fold leaves out most of what stayed in long texts.
	Fold bool
	// left is how many bytes may still be compared.
	left *int
}

const (
	// maxPieces bounds what one text becomes on a page.
	maxPieces = 20_000
	// maxOutline bounds the properties that are listed of a schema.
	maxOutline = 200
)

// Parts is the extent of items that stand among many, All that of one that is shown
// alone.
func Parts() Extent {
	left := 4 << 20
	return Extent{Text: 4 << 10, JSON: 4 << 10, Fold: true, left: &left}
}

// All is described at Parts.
func All() Extent { left := 64 << 20; return Extent{Text: 4 << 20, JSON: 1 << 20, left: &left} }

// Field is one member of an item, as it was and as it is.
type Field struct {
	// Name is that of the member, the server's text where Known is not set.
	Name  string
	Known bool
	// Found are findings in the name, by their index among those of the item.
	Found []int
	// Pointer is its place in the definition.
	Pointer string

	// Text: it is one, and Runs say what became of it.
	Text bool
	Runs []Run
	// Cut is how many bytes of the text are not shown, and TooLong that it was not
	// compared.
	Cut     int
	TooLong bool

	// Schema: it is one, and Changes say what became of it; More that not all is told.
	Schema  bool
	Changes []SchemaChange
	More    bool
	// Outline are the properties of a schema that came or went as a whole, and texts in
	// any field that stayed and have a finding.
	Outline []Property

	// Hints: it is the annotations of a tool; Whole: of one that came or went.
	Hints  []diff.Hint
	Others bool
	Whole  bool

	// Before and After are the raw JSON, readable; JSONCut tells that it is cut.
	Before, After string
	JSONCut       bool
	// Added and Removed: only one of both is there.
	Added, Removed bool
}

// SchemaChange is a difference of a schema; of a text with what became of it.
type SchemaChange struct {
	diff.SchemaChange
	Runs []Run
}

// Property is one of a schema, with what a model reads of it; or another text in a field.
type Property struct {
	Path, Type string
	Required   bool
	Runs       []Run
	// Found are findings in its name, by their index among those of the item.
	Found []int
}

// Fields are the members that differ, or have a finding; all of them where the item
// came or went. Of several items of one name, all members of all of them.
func (i *Item) Fields(e Extent) []Field {
	f := &fields{item: i, extent: e, told: map[string]bool{}}
	if len(i.Before) > 1 || len(i.After) > 1 {
		for n := range max(len(i.Before), len(i.After)) {
			f.between(at(i.Before, n), at(i.After, n))
		}
		return f.out
	}
	f.between(at(i.Before, 0), at(i.After, 0))
	return f.out
}

func at(items []surface.Item, n int) []byte {
	if n >= len(items) {
		return nil
	}
	return items[n].Definition
}

type fields struct {
	item   *Item
	whole  bool // it came or went
	extent Extent
	out    []Field
	told   map[string]bool // the places whose texts are shown
}

// order is that in which the members of an item are shown.
var order = []string{"name", "title", "description", "uri", "uriTemplate", "version", "inputSchema", "outputSchema", "annotations", "arguments"}

func (f *fields) between(before, after []byte) {
	a, b := read(before), read(after)
	if a.Kind() != rawjson.Object && b.Kind() != rawjson.Object {
		f.add("", a, b)
		return
	}
	if a.Exists() && a.Kind() != rawjson.Object || b.Exists() && b.Kind() != rawjson.Object {
		f.add("", a, b)
		return
	}
	names := members(a, b)
	slices.SortStableFunc(names, func(x, y string) int { return rank(x) - rank(y) })
	for _, name := range names {
		x, y := a.Get(name), b.Get(name)
		f.whole = before == nil || after == nil
		if !f.whole && bytes.Equal(x.Raw(), y.Raw()) && x.Exists() == y.Exists() && !f.found(rawjson.Pointer(name)) {
			continue
		}
		if f.whole && name == "name" { // it is the heading
			if !f.found("/name") {
				continue
			}
		}
		f.add(name, x, y)
	}
}

func rank(name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}

// found tells whether a finding is in a member.
func (f *fields) found(pointer string) bool {
	return slices.ContainsFunc(f.item.Findings, func(x Finding) bool {
		return x.Pointer == pointer || strings.HasPrefix(x.Pointer, pointer+"/")
	})
}

func read(definition []byte) rawjson.Value {
	if len(definition) == 0 {
		return rawjson.Value{}
	}
	v, _, err := rawjson.Parse(definition)
	if err != nil {
		return rawjson.Value{}
	}
	return v
}

func members(a, b rawjson.Value) []string {
	var out []string
	for _, v := range []rawjson.Value{a, b} {
		for name := range v.Members() {
			if !slices.Contains(out, name) && len(out) < 200 {
				out = append(out, name)
			}
		}
	}
	return out
}

func (f *fields) add(name string, a, b rawjson.Value) {
	field := Field{
		Name: name, Known: slices.Contains(order, name), Added: !a.Exists() && b.Exists(), Removed: a.Exists() && !b.Exists(),
	}
	if name != "" {
		field.Pointer = rawjson.Pointer(name)
		field.Found = f.item.names(field.Pointer)
	}
	text := func(v rawjson.Value) bool { return !v.Exists() || v.Kind() == rawjson.String }
	switch {
	case text(a) && text(b):
		field.Text = true
		field.Runs, field.Cut, field.TooLong = f.runs(field.Pointer, diff.Value(a), diff.Value(b), f.extent.Text)
		f.out = append(f.out, field)
		return
	case name == "inputSchema" || name == "outputSchema":
		f.schema(&field, a, b)
	case name == "annotations" && f.item.Kind == surface.Tool:
		field.Whole = f.whole
		field.Hints, field.Others = diff.Annotations(a.Raw(), b.Raw())
		f.unsaid(&field, b)
	default:
		f.raw(&field, a, b)
		f.unsaid(&field, b)
	}
	var cutA, cutB bool
	field.Before, cutA = indented(a, f.extent.JSON)
	field.After, cutB = indented(b, f.extent.JSON)
	field.JSONCut = cutA || cutB
	f.out = append(f.out, field)
}

// raw compares what is neither text nor schema by its readable JSON.
func (f *fields) raw(field *Field, a, b rawjson.Value) {
	x, _ := indented(a, 1<<20)
	y, _ := indented(b, 1<<20)
	field.Runs, field.Cut, field.TooLong = f.runs(field.Pointer, x, y, f.extent.Text)
}

func (f *fields) schema(field *Field, a, b rawjson.Value) {
	field.Schema = true
	if field.Added || field.Removed {
		v := a
		if field.Added {
			v = b
		}
		f.outline(field, field.Pointer, "", v, 0)
		f.unsaid(field, b)
		return
	}
	found, more := diff.Schema(a.Raw(), b.Raw())
	field.More = more
	for _, c := range found {
		change := SchemaChange{SchemaChange: c}
		at := field.Pointer + c.Pointer
		switch c.What { //nolint:exhaustive // of the others the values are short
		case diff.TextChanged:
			change.Runs, _, _ = f.runs(at, c.Before, c.After, f.extent.Text)
		case diff.PropertyAdded, diff.PropertyRemoved:
			var added Field
			v := read([]byte(c.Before + c.After)) // one of them is empty
			f.outline(&added, at, c.Name, v, 0)
			field.Outline = append(field.Outline, added.Outline...)
		}
		field.Changes = append(field.Changes, change)
	}
	f.unsaid(field, b)
}

// unsaid shows the texts below a field that have a finding and are not shown yet, as it
// has them now.
func (f *fields) unsaid(field *Field, v rawjson.Value) {
	for _, x := range f.item.Findings {
		if len(field.Outline) >= maxOutline {
			field.More = true
			return
		}
		if !strings.HasPrefix(x.Pointer, field.Pointer+"/") || f.told[x.Pointer] {
			continue
		}
		at := v
		for token := range strings.SplitSeq(x.Pointer[len(field.Pointer)+1:], "/") {
			at = within(at, strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
		}
		row := Property{Path: x.Pointer, Found: f.item.names(x.Pointer)}
		if at.Kind() == rawjson.String {
			row.Runs, _, _ = f.runs(x.Pointer, diff.Value(at), diff.Value(at), f.extent.Text)
		}
		f.told[x.Pointer] = true
		if len(row.Runs)+len(row.Found) > 0 {
			field.Outline = append(field.Outline, row)
		}
	}
}

func within(v rawjson.Value, token string) rawjson.Value {
	if v.Kind() == rawjson.Array {
		for i, e := range v.Elems() {
			if token == number(i) {
				return e
			}
		}
		return rawjson.Value{}
	}
	return v.Get(token)
}

// outline lists the properties of a schema with their texts, nested ones too.
func (f *fields) outline(field *Field, pointer, path string, v rawjson.Value, depth int) {
	if len(field.Outline) >= maxOutline || depth > 20 {
		field.More = true
		return
	}
	var said []string
	for _, name := range []string{"title", "description", "$comment"} {
		if v.Get(name).Kind() == rawjson.String {
			said = append(said, name)
		}
	}
	row := Property{Path: path, Type: typeOf(v), Found: f.item.names(pointer)}
	if len(row.Found) > 0 {
		f.told[pointer] = true
	}
	for n, name := range said {
		runs, _, _ := f.runs(pointer+"/"+name, "", diff.Value(v.Get(name)), f.extent.Text)
		for k := range runs {
			runs[k].Op = diff.Same
		}
		if n > 0 {
			row.Runs = append(row.Runs, Run{Text: "\n"})
		}
		row.Runs = append(row.Runs, runs...)
	}
	if path != "" || len(said) > 0 {
		field.Outline = append(field.Outline, row)
	}
	needed := map[string]bool{}
	for _, r := range v.Get("required").Elems() {
		needed[diff.Value(r)] = true
	}
	below := func(name, at string, sub rawjson.Value, required bool) {
		n := len(field.Outline)
		f.outline(field, at, name, sub, depth+1)
		if n < len(field.Outline) {
			field.Outline[n].Required = required
		}
	}
	for _, group := range []string{"properties", "patternProperties", "$defs", "definitions"} {
		for name, sub := range v.Get(group).Members() {
			below(joined(path, name), pointer+"/"+group+rawjson.Pointer(name), sub, group == "properties" && needed[name])
		}
	}
	if items := v.Get("items"); items.Kind() == rawjson.Object && (items.Get("properties").Exists() || items.Get("description").Exists()) {
		below(path+"[]", pointer+"/items", items, false)
	}
	for _, group := range []string{"anyOf", "oneOf", "allOf"} {
		for i, sub := range v.Get(group).Elems() {
			if sub.Get("properties").Exists() || sub.Get("description").Exists() || sub.Get("title").Exists() {
				below(joined(path, group+" "+number(i+1)), pointer+"/"+group+"/"+number(i), sub, false)
			}
		}
	}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// typeOf says what a schema takes, in a line.
func typeOf(v rawjson.Value) string {
	if v.Kind() != rawjson.Object {
		return diff.Value(v)
	}
	out := diff.Value(v.Get("type"))
	for _, name := range []string{"const", "enum", "default", "format", "pattern", "examples"} {
		if x := v.Get(name); x.Exists() {
			out = strings.TrimSpace(out + " " + name + "=" + string(x.Raw()))
		}
	}
	return out
}

// indented is readable JSON, limit bytes of it. What cannot be seen is an escape.
func indented(v rawjson.Value, limit int) (text string, cut bool) {
	if !v.Exists() {
		return "", false
	}
	raw := v.Raw()
	if len(raw) > limit { // do not make all of it readable for a part
		return plain.Text(string(raw[:limit]), limit), true
	}
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw), false
	}
	if out.Len() > limit {
		return string(out.Bytes()[:limit]), true
	}
	return out.String(), false
}
