package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// decoder fills the types of definition.go from YAML nodes by their rules and
// collects every mistake.
type decoder struct {
	file    string
	lines   []string
	errs    []Error
	omitted int
	// blocked is set when the file could not be read as far as its structure,
	// and stopped when reading on would be without bounds.
	blocked, stopped bool
	// path leads to the value at hand.
	path []string
	// inAlias counts the aliases being followed, aliased the nodes under them.
	inAlias, aliased int
}

// fail records a mistake at n.
func (d *decoder) fail(n *yaml.Node, text, hint string) {
	e := Error{File: d.file, Path: joinPath(d.path), Text: text, Hint: hint}
	if n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	d.add(e)
}

// failAt is fail for a value that is not the one at hand.
func (d *decoder) failAt(n *yaml.Node, path, text, hint string) {
	d.add(Error{File: d.file, Line: n.Line, Column: n.Column, Path: path, Text: text, Hint: hint})
}

func (d *decoder) add(e Error) {
	if len(d.errs) >= keptErrors {
		d.omitted++
		return
	}
	if !slices.Contains(d.errs, e) { // a value under an anchor is read for each alias
		d.errs = append(d.errs, e)
	}
}

func (d *decoder) errors() *Errors {
	slices.SortStableFunc(d.errs, func(a, b Error) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	lines := d.lines
	return &Errors{Problems: d.errs, Omitted: d.omitted, line: func(n int) string {
		if n > len(lines) {
			return ""
		}
		return lines[n-1]
	}}
}

// document returns the mapping of the only document in data.
func (d *decoder) document(data []byte) *yaml.Node {
	d.blocked = true
	if len(data) > MaxBytes {
		d.fail(nil, fmt.Sprintf("the file is larger than %d MiB", MaxBytes>>20), "split it into several files")
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(MaxDepth))))
	if err != nil {
		d.syntax(err)
		return nil
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		d.fail(nil, "the file is empty", "start it with version: v1 and targets:")
		return nil
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		at := &second
		if len(second.Content) > 0 {
			at = second.Content[0]
		}
		d.fail(at, "a second document starts here", "keep one document a file, without ---")
		return nil
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
		return nil
	}
	if len(doc.Content) != 1 {
		d.fail(nil, "the file is empty", "start it with version: v1 and targets:")
		return nil
	}
	d.blocked = false
	return doc.Content[0]
}

// syntax records an error of the YAML parser. Its fixed words are kept; those
// that quote the file are not.
func (d *decoder) syntax(err error) {
	e := Error{File: d.file, Text: "this is not valid YAML", Hint: "check indentation, quotes and brackets around this place"}
	var le *yaml.LoadError
	if errors.As(err, &le) {
		e.Line, e.Column = le.Mark.Line, le.Mark.Column
		line, column := d.tabbed(e.Line)
		switch {
		case line > 0:
			e.Line, e.Column = line, column
			e.Text, e.Hint = "a tab stands in the indentation, where YAML takes only spaces", "replace it by spaces"
		case strings.HasPrefix(le.Message, "unknown anchor"):
			e.Text, e.Hint = "an alias (*name) refers to an anchor that was not defined", "define it earlier with &name, or put the text in quotes"
		case strings.HasPrefix(le.Message, "exceeded max depth"):
			e.Text, e.Hint = fmt.Sprintf("values are nested more than %d deep", MaxDepth), "flatten them"
		case strings.Contains(le.Message, "UTF-8"):
			e.Text, e.Hint = "the file is not UTF-8 text", "save it as UTF-8"
		case !strings.ContainsAny(le.Message, "\"`"):
			e.Text += ": " + le.Message
		}
	}
	d.add(e)
}

// tabbed returns where a tab stands in the indentation of line n, or of the
// nearest line above it that has text, since the parser may notice only behind
// it. It returns zeros when there is none.
func (d *decoder) tabbed(n int) (line, column int) {
	for at := min(n, len(d.lines)); at > 0 && at > n-20; at-- {
		text := strings.TrimLeft(d.lines[at-1], " \t")
		if tab := strings.IndexByte(d.lines[at-1][:len(d.lines[at-1])-len(text)], '\t'); tab >= 0 {
			return at, tab + 1
		}
		if at < n && strings.TrimSpace(text) != "" {
			return 0, 0
		}
	}
	return 0, 0
}

// decode fills out from n, the mapping of a whole file.
func (d *decoder) decode(n *yaml.Node, out *fileConfig) {
	d.value(n, &rule{kind: kindObject, object: fileRule()}, reflect.ValueOf(out).Elem())
}

// in runs f with name added to the path.
func (d *decoder) in(name string, f func()) {
	d.path = append(d.path, name)
	f()
	d.path = d.path[:len(d.path)-1]
}

// here names the value at hand in a sentence.
func (d *decoder) here() string {
	if len(d.path) == 0 {
		return "the file"
	}
	last := d.path[len(d.path)-1]
	if strings.HasPrefix(last, "[") && len(d.path) > 1 {
		return d.path[len(d.path)-2] + last
	}
	return last
}

func joinPath(path []string) string {
	var b strings.Builder
	for _, p := range path {
		if b.Len() > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

// value checks n against r and stores it in out. It reports whether out was set.
func (d *decoder) value(n *yaml.Node, r *rule, out reflect.Value) bool {
	if d.stopped {
		return false
	}
	if len(d.path) > MaxDepth {
		d.stopped, d.blocked = true, true
		d.fail(n, fmt.Sprintf("values are nested more than %d deep", MaxDepth), "flatten them; an anchor may not contain itself")
		return false
	}
	if n.Kind == yaml.AliasNode {
		d.inAlias++
		defer func() { d.inAlias-- }()
		n = n.Alias
	}
	if d.inAlias > 0 {
		if d.aliased++; d.aliased > maxAliased {
			d.stopped, d.blocked = true, true
			d.fail(n, fmt.Sprintf("aliases repeat more than %d values", maxAliased), "write fewer aliases (*name)")
			return false
		}
	}
	if isNull(n) {
		d.fail(n, d.here()+" has no value", "write "+r.want()+", or remove the key")
		return false
	}
	if out.Kind() == reflect.Pointer {
		fresh := reflect.New(out.Type().Elem())
		if !d.filled(n, r, fresh.Elem()) {
			return false
		}
		out.Set(fresh)
		return true
	}
	return d.filled(n, r, out)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// filled is value for a node that is neither alias nor null.
func (d *decoder) filled(n *yaml.Node, r *rule, out reflect.Value) bool {
	wantKind := yaml.ScalarNode
	switch r.kind {
	case kindObject, kindMap, kindFree:
		wantKind = yaml.MappingNode
	case kindList:
		wantKind = yaml.SequenceNode
	}
	if n.Kind != wantKind || r.kind != kindFree && !plainTag(n) {
		return d.wrongType(n, r)
	}
	switch r.kind {
	case kindObject:
		return d.object(n, r.object, out)
	case kindMap:
		return d.mapping(n, r, out)
	case kindList:
		return d.list(n, r, out)
	case kindFree:
		out.Set(reflect.ValueOf(freeform{n}))
		return true
	case kindString:
		return d.text(n, r, out)
	case kindBool:
		return d.boolean(n, r, out)
	case kindDuration:
		return d.duration(n, r, out)
	default:
		return d.number(n, r, out)
	}
}

func plainTag(n *yaml.Node) bool {
	switch n.ShortTag() {
	case "!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!timestamp":
		return true
	}
	return false
}

// wrongType records that n is not what r wants. It never shows the value.
func (d *decoder) wrongType(n *yaml.Node, r *rule) bool {
	found := map[string]string{
		"!!map": "a mapping", "!!seq": "a list", "!!str": "a string", "!!int": "a number",
		"!!float": "a number", "!!bool": "true or false", "!!timestamp": "a date",
	}[n.ShortTag()]
	if found == "" {
		d.fail(n, d.here()+" has a YAML tag (!…) that is not used here", "remove the tag")
		return false
	}
	hint := ""
	switch {
	case r.kind == kindString && n.Kind == yaml.ScalarNode:
		hint = "put it in quotes"
	case r.kind == kindList && n.Kind == yaml.ScalarNode:
		hint = "write it in square brackets"
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 && scalarish(n.Value, r.kind):
		hint = "remove the quotes"
	case r.kind == kindBool && slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(n.Value)):
		hint = "yes, no, on and off are strings here"
	case r.kind == kindDuration && n.ShortTag() == "!!int":
		hint = "add a unit, such as s"
	}
	d.fail(n, fmt.Sprintf("%s must be %s, not %s", d.here(), r.want(), found), hint)
	return false
}

// scalarish reports whether text would be of kind k without its quotes.
func scalarish(text string, k kind) bool {
	var err error
	switch k {
	case kindInt:
		_, err = strconv.Atoi(text)
	case kindNumber:
		_, err = strconv.ParseFloat(text, 64)
	case kindBool:
		return text == "true" || text == "false"
	default:
		return false
	}
	return err == nil
}

// members returns the members of n in order, with merged ones (<<) behind the
// written ones, and records duplicates.
func (d *decoder) members(n *yaml.Node) []member {
	var own, merged []member
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, d.merged(value, 0)...)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			d.fail(key, "a key of "+d.here()+" is not a string", "write a word, or put it in quotes")
			continue
		}
		if at := first[key.Value]; at != nil {
			d.fail(key, fmt.Sprintf("duplicate key %s, first given on line %d", quoteKey(key.Value), at.Line), "keep one of them")
			continue
		}
		first[key.Value] = key
		own = append(own, member{key, value})
	}
	for _, m := range merged {
		if first[m.key.Value] == nil {
			first[m.key.Value] = m.key
			own = append(own, m)
		}
	}
	return own
}

// merged returns the members that a merge key brings in.
func (d *decoder) merged(n *yaml.Node, depth int) []member {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.aliased += len(n.Content)
	if depth > MaxDepth || d.aliased > maxAliased {
		d.stopped, d.blocked = true, true
		d.fail(n, "merge keys (<<) bring in too many values", "write fewer of them")
		return nil
	}
	var out []member
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].ShortTag() == "!!merge" {
				out = append(out, d.merged(n.Content[i+1], depth+1)...)
			} else if n.Content[i].Kind == yaml.ScalarNode {
				out = append(out, member{n.Content[i], n.Content[i+1]})
			}
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			out = append(out, d.merged(item, depth+1)...)
		}
	default:
		d.fail(n, "a merge key (<<) takes a mapping", "refer to one with *name")
	}
	return out
}

func (d *decoder) object(n *yaml.Node, o *objectRule, out reflect.Value) bool {
	members := map[string]member{}
	var strays []string // what unknown keys were probably meant to be
	for _, m := range d.members(n) {
		if f := o.byName[m.key.Value]; f == nil {
			strays = append(strays, d.unknown(m.key, o))
		} else {
			members[f.name] = m
		}
	}
	if h, ok := out.Addr().Interface().(interface {
		hold(*yaml.Node, map[string]member)
	}); ok {
		h.hold(n, members)
	}
	for _, f := range o.fields {
		if m, ok := members[f.name]; ok {
			d.in(f.name, func() { d.value(m.value, f.rule, out.FieldByIndex(f.index)) })
		}
	}
	d.complete(n, o, members, strays)
	return true
}

// unknown records a key that is not part of o. The key is shown unless it may
// be a secret itself; the value never is. It returns the key that was
// probably meant, or "".
func (d *decoder) unknown(key *yaml.Node, o *objectRule) string {
	if why := o.refused[key.Value]; why != "" {
		d.fail(key, quoteKey(key.Value)+" is not a key of "+o.name, why)
		return ""
	}
	names := make([]string, 0, len(o.fields))
	for _, f := range o.fields {
		names = append(names, f.name)
	}
	d.fail(key, "unknown key "+quoteKey(key.Value)+" in "+o.name, meant(key.Value, names, "known keys are"))
	return closest(key.Value, names)
}

// complete records what is missing and what excludes each other. What a stray
// key was meant to be is not reported again as missing.
func (d *decoder) complete(n *yaml.Node, o *objectRule, members map[string]member, strays []string) {
	if m, ok := members[o.aloneKey]; ok && o.aloneKey != "" {
		for _, f := range o.fields {
			if other, ok := members[f.name]; ok && f.name != o.aloneKey && !slices.Contains(o.aloneWith, f.name) {
				d.fail(other.key, fmt.Sprintf("%s stands beside %s (line %d)", f.name, o.aloneKey, m.key.Line),
					fmt.Sprintf("a %s takes only %s; define the target where its id is", o.aloneKey, listed(o.aloneWith, "and")))
			}
		}
		return
	}
	for _, f := range o.fields {
		if _, ok := members[f.name]; !ok && f.required && !slices.Contains(strays, f.name) {
			d.fail(n, o.name+" has no "+f.name, "add "+f.name+": "+f.sample())
		}
	}
	if o.atLeastOne != nil && strays == nil && len(standing(members, o.atLeastOne)) == 0 {
		d.fail(n, o.name+" needs one of "+listed(o.atLeastOne, "or"), "add one of them")
	}
	if o.exactlyOne != nil {
		d.one(n, o, members, strays)
	}
}

// one records that not exactly one of the keys stands there that have to.
func (d *decoder) one(n *yaml.Node, o *objectRule, members map[string]member, strays []string) {
	found := standing(members, o.exactlyOne)
	choices := o.exactlyOne
	if o.insteadKey != "" {
		m, there := members[o.insteadKey]
		switch {
		case there && slices.Contains(o.insteadOf, m.value.Value):
			if len(found) > 0 {
				d.fail(members[found[0]].key, fmt.Sprintf("%s stands beside %s: %s", found[0], o.insteadKey, m.value.Value), "keep one of them")
			}
			return
		case there && !slices.Contains(o.byName[o.insteadKey].rule.choices, m.value.Value):
			return // its mistake is recorded
		case !there:
			choices = append(slices.Clone(choices), o.insteadKey)
		}
	}
	switch {
	case len(found) == 0 && strays != nil: // the stray key stands for it
	case len(found) == 0:
		d.fail(n, o.name+" needs one of "+listed(choices, "or"), "add one of them")
	case len(found) > 1:
		d.fail(members[found[1]].key, o.name+" has "+listed(found, "and"), "keep one of them")
	}
}

// standing returns those of the keys that stand in a mapping.
func standing(members map[string]member, keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(name string) bool {
		_, ok := members[name]
		return !ok
	})
}

// sample returns a value as one would write it.
func (f *field) sample() string {
	switch {
	case f.example != "":
		return f.example
	case f.rule.choices != nil:
		return f.rule.choices[0]
	case f.rule.kind == kindBool:
		return "true"
	case f.rule.kind == kindList:
		return "[…]"
	}
	return "…"
}
