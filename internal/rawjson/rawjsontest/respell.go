// Package rawjsontest makes JSON for tests of what does not depend on how JSON is
// written.
package rawjsontest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Source makes choices: IntN gives a number from 0 to n-1. A *rand.Rand is one, and
// what draws from a property test.
type Source interface{ IntN(n int) int }

// Respell writes v with other white space, another order of members, other escapes
// and other spellings of the same numbers. Members of the same name keep their order.
func Respell(s Source, v rawjson.Value) []byte { return []byte(speller{s}.value(v)) }

type speller struct{ Source }

func oneOf[T any](s Source, from ...T) T { return from[s.IntN(len(from))] }

func (s speller) space() string { return oneOf(s, "", "", "", " ", "\n\t", "\r") }

func (s speller) value(v rawjson.Value) string {
	switch v.Kind() {
	case rawjson.String:
		return s.text(string(v.Raw()))
	case rawjson.Number:
		return s.number(v.Lexeme())
	case rawjson.Array:
		var parts []string
		for _, e := range v.Elems() {
			parts = append(parts, s.space()+s.value(e)+s.space())
		}
		return "[" + s.space() + strings.Join(parts, ",") + "]"
	case rawjson.Object:
		return "{" + s.space() + strings.Join(s.members(v), ",") + "}"
	default:
		return string(v.Raw())
	}
}

// members shuffles names, then hands out the values of each in their order.
func (s speller) members(v rawjson.Value) []string {
	var names []string
	values := map[string][]rawjson.Value{}
	for raw, member := range v.RawMembers() {
		name := canonical(raw)
		names = append(names, name)
		values[name] = append(values[name], member)
	}
	for i := range names {
		j := i + s.IntN(len(names)-i)
		names[i], names[j] = names[j], names[i]
	}
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = s.space() + s.text(name) + s.space() + ":" + s.space() + s.value(values[name][0]) + s.space()
		values[name] = values[name][1:]
	}
	return parts
}

func canonical(raw []byte) string {
	v, _, _ := rawjson.Parse(raw)
	return string(rawjson.Canonical(v))
}

// text writes a quoted string with other escapes. Bytes that are not UTF-8 and lone
// surrogates stay.
func (s speller) text(quoted string) string {
	rest := canonical([]byte(quoted))
	rest = rest[1 : len(rest)-1]
	style := s.IntN(4)
	var b strings.Builder
	for rest != "" {
		r, size := utf8.DecodeRuneInString(rest)
		escaped := rest[0] == '\\'
		if escaped {
			size = len(`\n`)
			if rest[1] == 'u' {
				size = len(`\uXXXX`)
			}
		}
		unit := rest[:size]
		switch {
		case escaped && style == 1 && size > 2:
			unit = `\u` + strings.ToUpper(unit[2:])
		case escaped, r == utf8.RuneError && size == 1:
		case style >= 2 && (style == 3 || len(unit)%2 == 0):
			unit = escape(r)
		case r == '/' && style == 1:
			unit = `\/`
		}
		b.WriteString(unit)
		rest = rest[size:]
	}
	return `"` + b.String() + `"`
}

func escape(r rune) string {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Sprintf(`\u%04X\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04X`, r)
}

// number moves the point of a number and makes up for it in the exponent.
func (s speller) number(lexeme string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(lexeme), "e")
	power, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil || len(exponent) > 9 {
		return lexeme
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	power -= len(fraction)
	zeros := s.IntN(4)
	digits += strings.Repeat("0", zeros)
	power -= zeros
	point := s.IntN(len(digits) + 1)
	whole, fraction = cmp.Or(strings.TrimLeft(digits[:point], "0"), "0"), digits[point:]
	power += len(fraction)
	if fraction != "" {
		fraction = "." + fraction
	}
	if power == 0 && s.IntN(2) == 0 {
		return sign + whole + fraction
	}
	return sign + whole + fraction + oneOf(s, "e", "E") + strconv.Itoa(power)
}
