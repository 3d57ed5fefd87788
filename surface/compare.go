package surface

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// CompareOptions change what is compared.
type CompareOptions struct {
	// Masks are texts that change by themselves.
	Masks []Mask
	// IgnoreProtocol leaves out the negotiated revision.
	IgnoreProtocol bool
}

const (
	// maxSnippet is the longest Before and After of a change.
	maxSnippet = 64 << 10
	// keepSnippet is how much is quoted of a longer one; quoting may triple it.
	keepSnippet = 20 << 10
	// maxDetail bounds what the changes of one comparison take beside the
	// definitions they point into: each counts as its pointer and changeCost
	// bytes. What is beyond is one change for an item.
	maxDetail  = 4 << 20
	changeCost = 128
)

// Compare says what changed, in the order of kinds and names, with the effects of
// the default policy. Inventories that after did not list to their end, and a login
// that after did not look at, are left out; one that before did not list is empty
// there.
//
// Items are paired by kind and name; of several with the same name those with equal
// bytes first, then in order. It takes time and memory linear in both surfaces,
// whatever is in them.
func Compare(before, after *Surface, o CompareOptions) []Change {
	if before.digest == after.digest {
		return []Change{}
	}
	c := comparer{masks: o.Masks, room: maxDetail}
	for _, kind := range Kinds() {
		left := slices.Contains(after.unlisted, kind) ||
			kind == Protocol && o.IgnoreProtocol ||
			kind == Auth && len(after.Of(Auth)) == 0 ||
			isOpening(kind) && after.unopened()
		if !left {
			c.kind(before.Of(kind), after.Of(kind))
		}
	}
	c.newHosts(before)
	slices.SortStableFunc(c.changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(x.Kind.order(), y.Kind.order()), strings.Compare(x.Item, y.Item))
	})
	return Policy{}.Apply(c.changes)
}

// isOpening tells the kinds that a server gives when it is opened.
func isOpening(kind Kind) bool {
	return kind == Server || kind == Protocol || kind == Capabilities || kind == Instructions
}

// unopened reports whether s comes from a server that was not opened, such as one
// that was asked for its login alone: nothing is known of it but that.
func (s *Surface) unopened() bool {
	return !slices.ContainsFunc(kinds[:], func(t kindTraits) bool { return t.name != "" && !slices.Contains(s.unlisted, t.kind) }) &&
		!slices.ContainsFunc(s.items, func(i Item) bool { return isOpening(i.Kind) })
}

// comparer collects changes.
type comparer struct {
	masks   []Mask
	changes []Change
	room    int // what is left of maxDetail
	// seen are the items of after that before does not have as they are.
	seen []Item
}

// kind compares the items of one kind, which are in the order of names.
func (c *comparer) kind(before, after []Item) {
	var removed, added []Item
	for len(before) > 0 || len(after) > 0 {
		name := firstName(before, after)
		olds, news := run(before, name), run(after, name)
		before, after = before[len(olds):], after[len(news):]
		olds, news = withoutEqual(olds, news)
		paired := min(len(olds), len(news))
		for i := range paired {
			c.pair(olds[i], news[i])
		}
		removed = append(removed, olds[paired:]...)
		added = append(added, news[paired:]...)
	}
	c.comings(removed, added)
}

func firstName(a, b []Item) string {
	if len(a) == 0 || len(b) > 0 && b[0].Name < a[0].Name {
		return b[0].Name
	}
	return a[0].Name
}

// run gives the items at the start that have this name.
func run(items []Item, name string) []Item {
	n := 0
	for n < len(items) && items[n].Name == name {
		n++
	}
	return items[:n]
}

// withoutEqual leaves out the items that are byte for byte in both.
func withoutEqual(before, after []Item) (olds, news []Item) {
	if len(before) == 1 && len(after) == 1 {
		if before[0].Digests.Raw == after[0].Digests.Raw {
			return nil, nil
		}
		return before, after
	}
	known := make(map[Digest]int, len(before))
	for i := range before {
		known[before[i].Digests.Raw]++
	}
	for _, item := range after {
		if known[item.Digests.Raw] > 0 {
			known[item.Digests.Raw]--
		} else {
			news = append(news, item)
		}
	}
	for _, item := range slices.Backward(before) { // what is left over are the last ones
		if known[item.Digests.Raw] > 0 {
			known[item.Digests.Raw]--
			olds = append(olds, item)
		}
	}
	slices.Reverse(olds)
	return olds, news
}

// comings reports items that are in one surface only. Those of kinds that are there
// once are compared with an empty one instead, so that their parts have classes.
func (c *comparer) comings(removed, added []Item) {
	kinds, ok := comingClasses(removed, added)
	if !ok {
		for _, item := range removed {
			c.pair(item, Item{Kind: item.Kind, Name: item.Name})
		}
		for _, item := range added {
			c.pair(Item{Kind: item.Kind, Name: item.Name}, item)
		}
		return
	}
	moved := moves(removed, added)
	for i, j := range moved {
		c.move(removed[i], added[j])
	}
	renamed := renames(removed, added, moved)
	for i, item := range removed {
		change := Change{Class: kinds.removed, Kind: item.Kind, Item: item.Name, Detail: "removed"}
		if j, ok := renamed[i]; ok {
			change.Renamed, change.Detail = added[j].Name, "renamed"
		}
		v, _, _ := rawjson.Parse(item.Definition)
		change.Before, _ = snippets(v, rawjson.Value{})
		c.changes = append(c.changes, change)
	}
	origin := make(map[int]int, len(renamed))
	for i, j := range renamed {
		origin[j] = i
	}
	for j, item := range added {
		change := Change{Class: kinds.added, Kind: item.Kind, Item: item.Name, Detail: "added"}
		if i, ok := origin[j]; ok {
			change.Renamed, change.Detail = removed[i].Name, "renamed"
		}
		v, _, _ := rawjson.Parse(item.Definition)
		_, change.After = snippets(rawjson.Value{}, v)
		c.changes = append(c.changes, change)
		c.seen = append(c.seen, item)
	}
}

type comings struct{ removed, added Class }

func comingClasses(removed, added []Item) (comings, bool) {
	for _, items := range [][]Item{removed, added} {
		if len(items) == 0 {
			continue
		}
		switch items[0].Kind {
		case Tool:
			return comings{ToolRemoved, ToolAdded}, true
		case Resource:
			return comings{ResourceRemoved, ResourceAdded}, true
		case ResourceTemplate:
			return comings{TemplateRemoved, TemplateAdded}, true
		case Prompt:
			return comings{PromptRemoved, PromptAdded}, true
		}
	}
	return comings{}, false
}

// pair compares two items that differ in some byte. One of them may have no
// definition.
func (c *comparer) pair(before, after Item) {
	x, _, _ := rawjson.Parse(before.Definition)
	y, _, _ := rawjson.Parse(after.Definition)
	d := differ{comparer: c, kind: after.Kind, item: after.Name, whole: wholeClass(after.Kind)}
	if after.Kind == Tool && before.Digests.Shape == after.Digests.Shape && before.Digests.Annotations == after.Digests.Annotations {
		d.whole = ToolMeta
		if before.Digests.Text != after.Digests.Text {
			d.whole = ToolText
		}
	}
	found := len(c.changes)
	d.definition(x, y)
	if !d.explained && !slices.ContainsFunc(c.changes[found:], isLoud) {
		d.unexplained(member{"", x, y}, before.Digests, after.Digests, len(c.changes) > found)
	}
	if y.Exists() {
		c.seen = append(c.seen, after)
	}
}

// differ compares two definitions of one item.
type differ struct {
	*comparer
	kind Kind
	item string
	path []string // tokens of the pointer to what is compared
	// explained: the definitions differ in something that is no change.
	explained bool
	// crowded: there was no more room for a change of this item.
	crowded bool
	// moved: another URI is no change of the text.
	moved bool
	// whole is the class of a change of the item of which no more is said.
	whole Class
}

func (d *differ) definition(before, after rawjson.Value) {
	switch d.kind {
	case Tool:
		d.tool(before, after)
	case Server:
		d.server(before, after)
	case Protocol:
		d.change(ProtocolVersion, before, after, comingOr(before, after, "another revision was negotiated"))
	case Capabilities:
		d.capabilities(before, after)
	case Instructions:
		d.text(InstructionsChanged, before, after)
	case Auth:
		d.auth(before, after)
	case Resource:
		d.resource(before, after, ResourceText, ResourceMeta)
	case ResourceTemplate:
		d.resource(before, after, TemplateText, TemplateMeta)
	case Prompt:
		d.prompt(before, after)
	}
}

// isLoud tells what is more than another way of writing the same.
func isLoud(c Change) bool {
	return c.Class != ToolSchemaEquivalent && c.Class != ToolAnnotationsSame
}

// unexplained reports items that differ in some byte for which nothing above found
// a change, or none but of spelling: silently only when their digests agree.
func (d *differ) unexplained(whole member, before, after Digests, respelled bool) {
	before.Raw, after.Raw = Digest{}, Digest{}
	if respelled {
		// Their comparison knows more equal forms than their digests.
		before.Shape, after.Shape = Digest{}, Digest{}
		before.Annotations, after.Annotations = Digest{}, Digest{}
	}
	switch {
	case before != after:
		d.change(wholeClass(d.kind), whole.before, whole.after, "changed")
	case d.kind == Tool && !respelled:
		d.change(ToolEquivalent, whole.before, whole.after, "written differently")
	}
}

// wholeClass is the class of a change of an item of which no more can be said.
func wholeClass(kind Kind) Class {
	switch kind {
	case Tool:
		return ToolSchemaChanged
	case Server:
		return ServerIdentity
	case Protocol:
		return ProtocolVersion
	case Capabilities:
		return CapabilitiesChanged
	case Instructions:
		return InstructionsChanged
	case Auth:
		return AuthIssuer
	case Resource:
		return ResourceText
	case ResourceTemplate:
		return TemplateText
	}
	return PromptText
}

// change reports a change of the values at the path.
func (d *differ) change(class Class, before, after rawjson.Value, detail string) {
	if d.crowded {
		return
	}
	if d.room <= 0 {
		d.crowded = true
		d.changes = append(d.changes, Change{
			Class: d.whole, Kind: d.kind, Item: d.item,
			Detail: "changed further: there are more changes than are told apart",
		})
		return
	}
	pointer := rawjson.Pointer(d.path...)
	d.room -= len(pointer) + changeCost
	change := Change{Class: class, Kind: d.kind, Item: d.item, Pointer: pointer, Detail: detail}
	change.Before, change.After = snippets(before, after)
	d.changes = append(d.changes, change)
}

// text reports a change of a text, but for the parts that a mask covers.
func (d *differ) text(class Class, before, after rawjson.Value) {
	if d.masked(before, after) {
		d.explained = true
		return
	}
	d.change(class, before, after, comingOr(before, after, "text changed", "text added", "text removed"))
}

func (d *differ) masked(before, after rawjson.Value) bool {
	if len(d.masks) == 0 {
		return false
	}
	a, okA := before.Text()
	b, okB := after.Text()
	// Distinct bytes that are not UTF-8 read as the same character.
	if !okA || !okB || strings.ContainsRune(a+b, '\uFFFD') {
		return false
	}
	pointer := rawjson.Pointer(d.path...)
	return slices.ContainsFunc(d.masks, func(m Mask) bool {
		return m.Kind == d.kind && m.Item == d.item && m.Pointer == pointer &&
			Template(a, m.Masks) == Template(b, m.Masks)
	})
}

// comingOr gives the words for a change, or for a value that came or went.
func comingOr(before, after rawjson.Value, changed string, coming ...string) string {
	words := append(coming, "added", "removed")
	switch {
	case !before.Exists():
		return words[0]
	case !after.Exists():
		return words[1]
	default:
		return changed
	}
}

// at calls compare with the path one token longer.
func (d *differ) at(token string, compare func()) {
	d.path = append(d.path, token)
	compare()
	d.path = d.path[:len(d.path)-1]
}

// object compares two objects member by member, with the path at each that differs.
// What is no object has changed as a whole, in the given class.
func (d *differ) object(before, after rawjson.Value, whole Class, compare func(m member)) {
	if notObject(before) || notObject(after) {
		d.change(whole, before, after, "changed: not an object")
		return
	}
	for _, m := range d.members(before, after) {
		d.at(m.name, func() { compare(m) })
	}
}

// member is a member of two objects that differs between them.
type member struct {
	name          string
	before, after rawjson.Value
}

// members gives the members in which two objects differ, by name; what is no object
// has none. A name that is there several times in one of them is reported as a
// change here, since which value a client reads depends on the client.
func (d *differ) members(before, after rawjson.Value) []member {
	type named struct {
		name  []byte // as it is spelled, since distinct names may read alike
		value rawjson.Value
	}
	all := make([]named, 0, before.Len()+after.Len())
	for name, v := range before.RawMembers() {
		all = append(all, named{name, v})
	}
	mine := len(all)
	for name, v := range after.RawMembers() {
		all = append(all, named{name, v})
	}
	byName := func(x, y named) int { return bytes.Compare(x.name, y.name) }
	olds, news := all[:mine], all[mine:]
	slices.SortStableFunc(olds, byName)
	slices.SortStableFunc(news, byName)
	// take cuts the members of that name off, and gives the last one.
	take := func(from *[]named, name []byte) (run []named, last rawjson.Value) {
		n := 0
		for n < len(*from) && bytes.Equal((*from)[n].name, name) {
			last = (*from)[n].value
			n++
		}
		run, *from = (*from)[:n], (*from)[n:]
		return run, last
	}
	var out []member
	for len(olds) > 0 || len(news) > 0 {
		var name []byte
		if len(news) == 0 || len(olds) > 0 && byName(olds[0], news[0]) < 0 {
			name = olds[0].name
		} else {
			name = news[0].name
		}
		was, x := take(&olds, name)
		is, y := take(&news, name)
		if slices.EqualFunc(was, is, func(x, y named) bool { return same(x.value, y.value) }) {
			continue
		}
		m := member{name: decoded(string(name)), before: x, after: y}
		if len(was) > 1 || len(is) > 1 {
			d.at(m.name, func() {
				d.change(wholeClass(d.kind), m.before, m.after, "changed: a member that is there several times")
			})
			continue
		}
		out = append(out, m)
	}
	return out
}

// same reports whether two values of canonical documents are equal.
func same(a, b rawjson.Value) bool {
	return a.Exists() == b.Exists() && bytes.Equal(a.Raw(), b.Raw())
}

// decoded reads a string as it is spelled; what is none is empty.
func decoded(raw string) string {
	if !strings.Contains(raw, `\`) && strings.HasPrefix(raw, `"`) && utf8.ValidString(raw) {
		return raw[1 : len(raw)-1]
	}
	v, _, _ := rawjson.Parse([]byte(raw))
	text, _ := v.Text()
	return text
}

// snippets gives two values in canonical form. When one of them is longer than
// maxSnippet, each is given instead as a JSON string that quotes its form from
// shortly before the first difference.
func snippets(before, after rawjson.Value) (x, y []byte) {
	const lead = 1 << 10
	x, y = before.Raw(), after.Raw()
	if len(x) <= maxSnippet && len(y) <= maxSnippet {
		return x, y
	}
	first := 0
	for first < min(len(x), len(y)) && x[first] == y[first] {
		first++
	}
	cut := func(raw []byte) []byte {
		if raw == nil {
			return nil
		}
		raw = raw[min(max(0, first-lead), len(raw)):]
		return rawjson.Quote(bytes.ToValidUTF8(raw[:min(keepSnippet, len(raw))], []byte("\uFFFD")))
	}
	return cut(x), cut(y)
}
