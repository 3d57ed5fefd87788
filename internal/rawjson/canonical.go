package rawjson

import (
	"bytes"
	"cmp"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical is AppendCanonical to nothing.
func Canonical(v Value) []byte { return AppendCanonical(nil, v) }

// AppendCanonical appends v in the canonical form of RFC 8785, in which equal
// values have equal bytes. It never fails. What the RFC refuses or rounds is kept:
//
//   - All members of the same name, in the order of the wire.
//   - An integer that its float64, written in the shortest form, does not stand for
//     exactly, and a number whose magnitude no float64 has: as all its significant
//     digits, "E" and an exponent (9007199254740993E0, 1E400). That is valid JSON,
//     and no number of the RFC looks like it. A fraction is rounded to a float64.
//   - A lone surrogate as an escape with lower-case digits.
//   - A byte that is not UTF-8 as it is. Among names it sorts behind all characters.
//
// The result parses to a value with the same canonical form. A missing value
// appends nothing.
func AppendCanonical(dst []byte, v Value) []byte {
	if v.doc == nil {
		return dst
	}
	return v.doc.appendCanonical(dst, v.node)
}

// MapStrings gives the canonical form of v with each string of it, member names
// included, replaced by what replace makes of its decoded form. Nothing else can
// change: what replace gives stands between quotes. Bytes that are not UTF-8 come
// and stay as they are; a lone surrogate stays, and what is before and behind it
// comes one after the other. The members keep their order, and are no longer sorted.
func MapStrings(v Value, replace func(string) string) []byte {
	canonical := Canonical(v)
	out := make([]byte, 0, len(canonical))
	for len(canonical) > 0 {
		start := bytes.IndexByte(canonical, '"')
		if start < 0 {
			break
		}
		out = append(out, canonical[:start+1]...)
		canonical = canonical[start+1:]
		end := stringEnd(canonical)
		out = appendMapped(out, canonical[:end], replace)
		out = append(out, '"')
		canonical = canonical[end+1:]
	}
	return append(out, canonical...)
}

// stringEnd is the place of the quote that ends a string.
func stringEnd(b []byte) int {
	at := 0
	for b[at] != '"' {
		if b[at] == '\\' {
			at++
		}
		at++
	}
	return at
}

// appendMapped appends what lies between the quotes of a string, replaced.
func appendMapped(dst, inner []byte, replace func(string) string) []byte {
	decoded := make([]byte, 0, len(inner))
	flush := func() {
		for _, c := range []byte(replace(string(decoded))) {
			if c < utf8.RuneSelf {
				dst = appendRune(dst, rune(c))
			} else {
				dst = append(dst, c)
			}
		}
		decoded = decoded[:0]
	}
	for len(inner) > 0 {
		r, size, valid := decode(inner)
		switch {
		case !valid:
			decoded = append(decoded, inner[0])
		case utf16.IsSurrogate(r):
			flush()
			dst = appendRune(dst, r)
		default:
			decoded = utf8.AppendRune(decoded, r)
		}
		inner = inner[size:]
	}
	flush()
	return dst
}

// RawMembers is Members with the names as they are spelled on the wire, quotes
// included. Nothing is decoded for it.
func (v Value) RawMembers() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if v.Kind() != Object {
			return
		}
		at := v.node + 1
		for range v.at().count {
			if !yield((Value{v.doc, at}).Raw(), Value{v.doc, at + 1}) {
				return
			}
			at = v.doc.nodes[at+1].next
		}
	}
}

func (d *document) appendCanonical(dst []byte, at uint32) []byte {
	switch n := &d.nodes[at]; n.kind {
	case String:
		return d.appendString(dst, at)
	case Number:
		return appendNumber(dst, d.data[n.start:n.end])
	case Array:
		dst = append(dst, '[')
		element := at + 1
		for i := range n.count {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.appendCanonical(dst, element)
			element = d.nodes[element].next
		}
		return append(dst, ']')
	case Object:
		return d.appendObject(dst, at)
	default: // null, true, false
		return append(dst, d.data[n.start:n.end]...)
	}
}

func (d *document) appendObject(dst []byte, at uint32) []byte {
	dst = append(dst, '{')
	var few [indexAbove]uint32
	for i, name := range d.sortedNames(few[:0], at) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = d.appendString(dst, name)
		dst = append(dst, ':')
		dst = d.appendCanonical(dst, name+1)
	}
	return append(dst, '}')
}

// sortedNames appends the nodes of the names of an object in canonical order.
func (d *document) sortedNames(names []uint32, at uint32) []uint32 {
	sorted := true
	name := at + 1
	for i := range d.nodes[at].count {
		names = append(names, name)
		sorted = sorted && (i == 0 || d.compareNames(names[i-1], name) < 0)
		name = d.nodes[name+1].next
	}
	if !sorted {
		slices.SortFunc(names, d.compareNames)
	}
	return names
}

// compareNames orders two string nodes by their UTF-16 code units, then by their
// place on the wire.
func (d *document) compareNames(a, b uint32) int {
	na, nb := &d.nodes[a], &d.nodes[b]
	x, y := d.data[na.start+1:na.end-1], d.data[nb.start+1:nb.end-1]
	if na.exact && nb.exact {
		return cmp.Or(compareUTF16(x, y), cmp.Compare(a, b))
	}
	return cmp.Or(compareUnits(x, y), cmp.Compare(a, b))
}

// compareUTF16 orders UTF-8 by its UTF-16 code units. The order of the bytes is the
// same but for characters beyond U+FFFF, whose surrogates come before U+E000.
func compareUTF16(x, y []byte) int {
	n := min(len(x), len(y))
	for i := range n {
		if x[i] == y[i] {
			continue
		}
		if x[i] >= 0xEE && y[i] >= 0xEE && (x[i] >= 0xF0) != (y[i] >= 0xF0) {
			return int(y[i]) - int(x[i])
		}
		return int(x[i]) - int(y[i])
	}
	return len(x) - len(y)
}

// compareUnits is compareUTF16 for what lies between the quotes of any string.
func compareUnits(x, y []byte) int {
	a, b := codeUnits{rest: x}, codeUnits{rest: y}
	for {
		unit, other := a.next(), b.next()
		if unit != other {
			return int(unit - other)
		}
		if unit < 0 {
			return 0
		}
	}
}

// codeUnits gives the UTF-16 code units of what lies between the quotes of a string.
type codeUnits struct {
	rest []byte
	low  rune // the second half of a pair that was begun
}

// notUTF8 is added to a byte that is not UTF-8, to make a code unit of it.
const notUTF8 = 1 << 16

// next is negative at the end.
func (u *codeUnits) next() rune {
	if low := u.low; low != 0 {
		u.low = 0
		return low
	}
	if len(u.rest) == 0 {
		return -1
	}
	first := u.rest[0]
	r, size, valid := decode(u.rest)
	u.rest = u.rest[size:]
	if !valid {
		return notUTF8 + rune(first)
	}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		u.low = low
		return high
	}
	return r
}

// decode gives the first character of what lies between the quotes of a string,
// which may be a lone surrogate. It is not valid when it is a byte outside UTF-8.
func decode(b []byte) (r rune, size int, valid bool) {
	if b[0] != '\\' {
		r, size = utf8.DecodeRune(b)
		return r, size, r != utf8.RuneError || size > 1
	}
	if b[1] != 'u' {
		if short, ok := shortEscapes[b[1]]; ok {
			return rune(short), 2, true
		}
		return rune(b[1]), 2, true
	}
	r, _ = hex4(b[2:])
	if pair, ok := lowHalf(r, b[6:]); ok {
		return pair, 12, true
	}
	return r, 6, true
}

// Quote gives text as a canonical JSON string. Bytes that are not UTF-8 stay.
func Quote(text []byte) []byte {
	quoted := make([]byte, 0, len(text)+2)
	quoted = append(quoted, '"')
	for _, c := range text {
		if c < utf8.RuneSelf {
			quoted = appendRune(quoted, rune(c))
		} else {
			quoted = append(quoted, c)
		}
	}
	return append(quoted, '"')
}

const hexDigits = "0123456789abcdef"

func (d *document) appendString(dst []byte, at uint32) []byte {
	n := &d.nodes[at]
	if n.exact {
		return append(dst, d.data[n.start:n.end]...)
	}
	dst = append(dst, '"')
	for b := d.data[n.start+1 : n.end-1]; len(b) > 0; {
		if plain := plainPrefix(b); plain > 0 {
			dst = append(dst, b[:plain]...)
			b = b[plain:]
			continue
		}
		r, size, valid := decode(b)
		if valid {
			dst = appendRune(dst, r)
		} else {
			dst = append(dst, b[0])
		}
		b = b[size:]
	}
	return append(dst, '"')
}

// plainPrefix is the length of the ASCII without escapes at the start of b.
func plainPrefix(b []byte) int {
	for i, c := range b {
		if c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(b)
}

// appendRune appends a character of a string as RFC 8785 spells it, section
// 3.2.2.2, and a lone surrogate as an escape.
func appendRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	if r < ' ' || utf16.IsSurrogate(r) {
		return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// shortInteger is the number of digits up to which every integer is the shortest
// form of a float64.
const shortInteger = 15

func appendNumber(dst, lexeme []byte) []byte {
	if isShortInteger(lexeme) {
		return append(dst, lexeme...)
	}
	num := parseDecimal(lexeme)
	if len(num.digits) == 0 {
		return append(dst, '0')
	}
	f, ok := num.float()
	if !ok {
		return num.append(dst)
	}
	return appendFloat(dst, f)
}

func isShortInteger(lexeme []byte) bool {
	digits := bytes.TrimPrefix(lexeme, []byte("-"))
	if len(digits) > shortInteger || digits[0] == '0' && len(lexeme) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// appendFloat writes f as ECMAScript does, in the fewest digits that stand for it.
func appendFloat(dst []byte, f float64) []byte {
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// "e-07" is "e-7" there.
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// decimal is the value of a number, the same for all its spellings.
type decimal struct {
	negative bool
	digits   []byte // without zeros at either end; empty for zero
	// The value is 0.digits times ten to the power of scale.
	scale exponent
}

// exponent is a sign and digits without leading zeros: a hostile number may have
// an exponent of any length.
type exponent struct {
	negative bool
	digits   []byte
}

// exponentDigits are as many as surely fit in an int64, sums included.
const exponentDigits = 18

// plus adds n, which is far smaller than what needs more than exponentDigits.
func (e exponent) plus(n int64) exponent {
	if len(e.digits) <= exponentDigits {
		value, _ := strconv.ParseInt("0"+string(e.digits), 10, 64)
		if e.negative {
			value = -value
		}
		value += n
		return exponent{value < 0, strconv.AppendInt(nil, max(value, -value), 10)}
	}
	if e.negative {
		n = -n
	}
	digits := append([]byte{'0'}, e.digits...)
	for i := len(digits) - 1; n != 0; i-- {
		n += int64(digits[i] - '0')
		digit := (n%10 + 10) % 10
		digits[i] = '0' + byte(digit)
		n = (n - digit) / 10
	}
	return exponent{e.negative, bytes.TrimLeft(digits, "0")}
}

// small gives the exponent when it could be that of a float64.
func (e exponent) small() (int, bool) {
	if len(e.digits) > 3 {
		return 0, false
	}
	n, _ := strconv.Atoi("0" + string(e.digits))
	if e.negative {
		n = -n
	}
	return n, true
}

func (e exponent) append(dst []byte) []byte {
	if e.negative {
		dst = append(dst, '-')
	}
	return append(dst, e.digits...)
}

func parseDecimal(lexeme []byte) decimal {
	var d decimal
	lexeme, d.negative = bytes.CutPrefix(lexeme, []byte("-"))
	mantissa := lexeme
	if i := bytes.IndexAny(lexeme, "eE"); i >= 0 {
		mantissa = lexeme[:i]
		power := bytes.TrimPrefix(lexeme[i+1:], []byte("+"))
		power, d.scale.negative = bytes.CutPrefix(power, []byte("-"))
		d.scale.digits = bytes.TrimLeft(power, "0")
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	all := slices.Concat(whole, fraction)
	d.digits = bytes.TrimLeft(all, "0")
	d.scale = d.scale.plus(int64(len(whole) - (len(all) - len(d.digits))))
	d.digits = bytes.TrimRight(d.digits, "0")
	return d
}

// float gives the float64 that may stand for the number: a fraction within range
// is rounded, an integer must be what the shortest form of the float64 says.
func (d decimal) float() (float64, bool) {
	scale, ok := d.scale.small()
	if !ok {
		return 0, false
	}
	text := make([]byte, 0, len(d.digits)+8)
	if d.negative {
		text = append(text, '-')
	}
	text = append(text, "0."...)
	text = append(text, d.digits...)
	text = strconv.AppendInt(append(text, 'e'), int64(scale), 10)
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f == 0 {
		return 0, false
	}
	if scale < len(d.digits) {
		return f, true // a fraction
	}
	shortest := parseDecimal(strconv.AppendFloat(nil, f, 'e', -1, 64))
	return f, bytes.Equal(shortest.digits, d.digits) && bytes.Equal(shortest.scale.digits, d.scale.digits)
}

// append writes all digits of d.
func (d decimal) append(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	dst = append(dst, 'E')
	return d.scale.plus(-int64(len(d.digits))).append(dst)
}
