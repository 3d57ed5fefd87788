// Package rawjson reads JSON that another party wrote, and keeps what ordinary
// decoders hide: member order, duplicate names, the spelling of numbers, bytes
// that are not UTF-8, a byte order mark.
//
// The grammar is RFC 8259, strictly, with three tolerances that are reported in
// [Flaws] instead of failing: a leading UTF-8 byte order mark, invalid UTF-8
// inside strings, and escapes of lone surrogates. Everything else is an error.
//
// A [Value] is a small handle into the parsed document. It stays valid as long
// as the caller leaves the parsed bytes alone; nothing is copied out of them
// until a string is asked for. Documents are immutable after [Parse], so any
// number of goroutines may read one.
//
// Cost: parsing is linear in the input, and a document takes about 20 bytes for
// each value and each member name beside the input itself. Callers bound the
// size of the input; the package bounds the nesting ([MaxDepth]).
package rawjson

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// Kind tells the JSON types apart. The zero Kind is that of a missing value.
type Kind uint8

// The kinds of a Value.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "boolean", "number", "string", "array", "object"}

// String gives the name JSON Schema uses for the type, or "invalid".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// indexAbove is the number of members above which an object gets a map from
// name to value; below it a scan is faster than hashing.
const indexAbove = 16

// node is one value or member name. The nodes of a document lie in wire order;
// an object is followed by name, value, name, value, …, an array by its
// elements, each with its own subtree.
type node struct {
	start, end uint32 // in document.data
	next       uint32 // the node after this subtree
	count      uint32 // members or elements
	kind       Kind
	exact      bool // a string whose decoded form is its raw form
}

type document struct {
	data  []byte
	nodes []node
	// index maps the names of large objects, by node, to the last value so named.
	index map[uint32]map[string]uint32
}

// Value is one JSON value in a parsed document. The zero Value stands for a
// missing one: its Kind is Invalid, and every method on it answers as for a
// value of the wrong type, so look-ups can be chained without checks.
type Value struct {
	doc  *document
	node uint32
}

func (v Value) at() *node { return &v.doc.nodes[v.node] }

// Kind is Invalid for the zero Value only.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Invalid
	}
	return v.at().kind
}

// Exists reports whether the value was on the wire, null included.
func (v Value) Exists() bool { return v.doc != nil }

// IsNull reports whether the value is a literal null; a missing value is not.
func (v Value) IsNull() bool { return v.Kind() == Null }

// Raw is the exact spelling of the value, without surrounding white space: a
// subslice of the bytes given to Parse, with its capacity clipped. It is nil
// for a missing value.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.at()
	return v.doc.data[n.start:n.end:n.end]
}

// Len is the number of elements of an array, or of members of an object with
// duplicates counted; 0 for anything else.
func (v Value) Len() int {
	if k := v.Kind(); k != Array && k != Object {
		return 0
	}
	return int(v.at().count)
}

// Get finds an object member by its decoded name. Of several members with the
// name the last one wins, as in nearly all parsers. It gives the zero Value when
// there is none, or when v is not an object. It takes constant time on objects
// of more than 16 members.
func (v Value) Get(name string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	if names, ok := v.doc.index[v.node]; ok {
		if at, ok := names[name]; ok {
			return Value{v.doc, at}
		}
		return Value{}
	}
	var found Value
	at := v.node + 1
	for range v.at().count {
		if v.doc.equals(at, name) {
			found = Value{v.doc, at + 1}
		}
		at = v.doc.nodes[at+1].next
	}
	return found
}

// Members yields decoded names and values in wire order, duplicates included.
// It yields nothing when v is not an object.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		at := v.node + 1
		for range v.at().count {
			if !yield(v.doc.text(at), Value{v.doc, at + 1}) {
				return
			}
			at = v.doc.nodes[at+1].next
		}
	}
}

// Elems gives the elements of an array; nil when v is not an array or is empty.
func (v Value) Elems() []Value {
	if v.Kind() != Array || v.at().count == 0 {
		return nil
	}
	elems := make([]Value, 0, v.at().count)
	at := v.node + 1
	for range v.at().count {
		elems = append(elems, Value{v.doc, at})
		at = v.doc.nodes[at].next
	}
	return elems
}

// Text decodes a string. Each byte that is not UTF-8 and each lone surrogate
// becomes U+FFFD. It reports false when v is not a string.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return v.doc.text(v.node), true
}

// Bool gives a boolean; it reports false when v is not one.
func (v Value) Bool() (value, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.doc.data[v.at().start] == 't', true
}

// Lexeme is the exact spelling of a number, "" for anything else.
func (v Value) Lexeme() string {
	if v.Kind() != Number {
		return ""
	}
	return string(v.Raw())
}

// Int gives a number that is an integer within int64, however it is spelled:
// 1, 1.0, 10e-1 and 1e0 are all 1. It is exact; no float is involved. It
// reports false for fractions, for integers out of range, and for other types.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	return integer(string(v.Raw()))
}

// integer evaluates a valid JSON number as sign, significant digits and a power
// of ten, so that neither long fractions nor huge exponents cost more than their
// own length.
func integer(lexeme string) (int64, bool) {
	lexeme, negative := strings.CutPrefix(lexeme, "-")
	mantissa, exponent := lexeme, ""
	if i := strings.IndexAny(lexeme, "eE"); i >= 0 {
		mantissa, exponent = lexeme[:i], lexeme[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return 0, true
	}
	// Saturates on overflow, far outside anything the digits could make up for.
	power, _ := strconv.ParseInt(exponent, 10, 32)
	if exponent == "" {
		power = 0
	}
	power += int64(len(digits)-len(significant)) - int64(len(fraction))
	if power < 0 || int64(len(significant))+power > 19 {
		return 0, false
	}
	if negative {
		significant = "-" + significant
	}
	n, err := strconv.ParseInt(significant+strings.Repeat("0", int(power)), 10, 64)
	return n, err == nil
}

// equals compares a string node with a decoded string, without decoding it when
// that is not needed.
func (d *document) equals(at uint32, s string) bool {
	if n := &d.nodes[at]; n.exact {
		return string(d.data[n.start+1:n.end-1]) == s
	}
	return d.text(at) == s
}

func (d *document) text(at uint32) string {
	n := &d.nodes[at]
	inner := d.data[n.start+1 : n.end-1]
	if n.exact {
		return string(inner)
	}
	return unescape(inner)
}

// same compares two string nodes by their decoded form.
func (d *document) same(a, b uint32) bool {
	if na, nb := &d.nodes[a], &d.nodes[b]; na.exact && nb.exact {
		return bytes.Equal(d.data[na.start+1:na.end-1], d.data[nb.start+1:nb.end-1])
	}
	return d.equals(a, d.text(b))
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer joins unescaped tokens to a JSON pointer (RFC 6901). No tokens give
// "", the whole document.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(token))
	}
	return b.String()
}
