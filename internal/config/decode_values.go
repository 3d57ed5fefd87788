package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

func (d *decoder) list(n *yaml.Node, r *rule, out reflect.Value) bool {
	if count := float64(len(n.Content)); !r.inRange(count) {
		d.fail(n, fmt.Sprintf("%s has %d entries", d.here(), len(n.Content)), "it takes"+strings.NewReplacer(" of ", " ", " from ", " ").Replace(r.span())+" entries")
		return false
	}
	items := reflect.MakeSlice(out.Type(), len(n.Content), len(n.Content))
	seen := map[string]int{}
	for i, item := range n.Content {
		d.in("["+strconv.Itoa(i)+"]", func() {
			if !d.value(item, r.elem, items.Index(i)) || !r.unique {
				return
			}
			text := items.Index(i).String()
			if line, again := seen[text]; again {
				d.fail(item, fmt.Sprintf("%s repeats an entry of line %d", d.here(), line), "remove it")
			}
			seen[text] = item.Line
		})
	}
	out.Set(items)
	return true
}

func (d *decoder) mapping(n *yaml.Node, r *rule, out reflect.Value) bool {
	if !r.inRange(float64(len(n.Content) / 2)) {
		d.fail(n, fmt.Sprintf("%s has %d entries", d.here(), len(n.Content)/2), "it takes"+strings.NewReplacer(" of ", " ", " from ", " ").Replace(r.span())+" entries")
		return false
	}
	all := reflect.MakeMap(out.Type())
	for _, m := range d.members(n) {
		name := m.key.Value
		if r.keys != nil && !slices.Contains(r.keys, name) {
			d.fail(m.key, "unknown key "+quoteKey(name)+" in "+d.here(), meant(name, r.keys, "known keys are"))
			continue
		}
		if r.keys == nil && !validChildVariable(name) {
			d.fail(m.key, "a key of "+d.here()+" is not the name of an environment variable", "write letters, digits and underscores")
			continue
		}
		d.in(strings.Trim(quoteKey(name), `"`), func() {
			v := reflect.New(out.Type().Elem()).Elem()
			if d.value(m.value, r.elem, v) {
				all.SetMapIndex(reflect.ValueOf(name).Convert(out.Type().Key()), v)
			}
		})
	}
	out.Set(all)
	return true
}

func (d *decoder) text(n *yaml.Node, r *rule, out reflect.Value) bool {
	if n.ShortTag() != "!!str" {
		return d.wrongType(n, r)
	}
	s := n.Value
	switch {
	case strings.ContainsRune(s, 0):
		d.fail(n, d.here()+" holds a NUL byte", "remove it")
	case !r.blank && strings.TrimSpace(s) == "":
		d.fail(n, d.here()+" is blank", "write "+r.want())
	case r.choices != nil && !slices.Contains(r.choices, s):
		d.notAChoice(n, r)
	case r.pattern != nil && !r.pattern.MatchString(s):
		d.fail(n, d.here()+" has characters or a length that it may not have", "write "+r.form)
	case r.variable && LooksSecret(s):
		d.fail(n, d.here()+" looks like a secret itself", "put the secret into an environment variable and write the name of that variable here")
	case r.variable && !ValidVariable(s): // perhaps the secret itself, so it is not shown
		d.fail(n, d.here()+" is not the name of an environment variable", "write a name of letters, digits and underscores, such as API_TOKEN; a secret belongs into that variable, not here")
	default:
		out.SetString(s)
		return true
	}
	return false
}

func (d *decoder) notAChoice(n *yaml.Node, r *rule) {
	hint := "write " + r.want()
	if c := closest(n.Value, r.choices); c != "" {
		hint = `did you mean "` + c + `"?`
	}
	if r.explain != nil {
		hint = r.explain(n.Value)
	}
	d.fail(n, d.here()+" must be "+r.want()+", not "+quoteKey(n.Value), hint)
}

func (d *decoder) boolean(n *yaml.Node, r *rule, out reflect.Value) bool {
	if n.ShortTag() != "!!bool" {
		return d.wrongType(n, r)
	}
	out.SetBool(strings.EqualFold(n.Value, "true"))
	return true
}

func (d *decoder) number(n *yaml.Node, r *rule, out reflect.Value) bool {
	tag := n.ShortTag()
	if tag != "!!int" && (tag != "!!float" || r.kind == kindInt) {
		if tag == "!!float" {
			d.fail(n, d.here()+" must be "+r.want()+", not a fraction", "")
			return false
		}
		return d.wrongType(n, r)
	}
	v, err := strconv.ParseFloat(n.Value, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(v), tag == "!!int" && strings.HasPrefix(strings.TrimLeft(n.Value, "+-"), "0") && v != 0:
		d.fail(n, d.here()+" must be "+r.want()+" in decimal digits", "")
		return false
	case math.IsInf(v, 0), !r.inRange(v):
		d.fail(n, d.here()+" is out of range", "it must be "+r.want())
		return false
	}
	if r.kind == kindInt {
		out.SetInt(int64(v))
	} else {
		out.SetFloat(v)
	}
	return true
}

func (d *decoder) duration(n *yaml.Node, r *rule, out reflect.Value) bool {
	if n.ShortTag() != "!!str" {
		return d.wrongType(n, r)
	}
	v, err := time.ParseDuration(n.Value)
	switch {
	case err != nil:
		d.fail(n, d.here()+" is not a duration", "write "+r.want())
		return false
	case !r.inRange(float64(v)):
		d.fail(n, d.here()+" is out of range", "it must be "+r.want())
		return false
	}
	out.SetInt(int64(v))
	return true
}

// quoteKey shows a word of the file, unless it may be a secret.
func quoteKey(s string) string {
	if LooksSecret(s) || utf8.RuneCountInString(s) > 60 {
		return "(not shown)"
	}
	return strconv.QuoteToASCII(s)
}

func isPrintable(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
