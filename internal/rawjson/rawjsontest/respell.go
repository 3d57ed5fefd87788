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

	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Respell writes v with other white space, another order of members, other escapes
// and other spellings of the same numbers. Members of the same name keep their order.
func Respell(t *rapid.T, v rawjson.Value) []byte {
	return []byte(speller{t}.value(v))
}

type speller struct{ t *rapid.T }

func (s speller) space() string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\n\t", "\r"}).Draw(s.t, "space")
}

func (s speller) value(v rawjson.Value) string {
	var parts []string
	open, end := "", ""
	switch v.Kind() {
	case rawjson.String:
		return s.text(string(v.Raw()))
	case rawjson.Number:
		return s.number(v.Lexeme())
	case rawjson.Array:
		open, end = "[", "]"
		for _, e := range v.Elems() {
			parts = append(parts, s.space()+s.value(e)+s.space())
		}
	case rawjson.Object:
		open, end = "{", "}"
		parts = s.members(v)
	default:
		return string(v.Raw())
	}
	return open + s.space() + strings.Join(parts, ",") + end
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
	if len(names) > 1 {
		names = rapid.Permutation(names).Draw(s.t, "order")
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
	style := rapid.IntRange(0, 3).Draw(s.t, "escapes")
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
	zeros := rapid.IntRange(0, 3).Draw(s.t, "zeros")
	digits += strings.Repeat("0", zeros)
	power -= zeros
	point := rapid.IntRange(0, len(digits)).Draw(s.t, "point")
	whole, fraction = cmp.Or(strings.TrimLeft(digits[:point], "0"), "0"), digits[point:]
	power += len(fraction)
	if fraction != "" {
		fraction = "." + fraction
	}
	if power == 0 && rapid.Bool().Draw(s.t, "no exponent") {
		return sign + whole + fraction
	}
	return sign + whole + fraction + rapid.SampledFrom([]string{"e", "E"}).Draw(s.t, "e") + strconv.Itoa(power)
}

// Value makes any JSON: nested, with members of the same name, strings of every
// kind of character and of what is none, numbers of any size.
func Value() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte { return []byte(value(t, 4)) })
}

// Text makes a quoted JSON string.
func Text() *rapid.Generator[string] {
	unit := rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "b", "A", " ", "/", `\"`, `\\`, `\n`, `\u0000`, "\x7f", "é", "e\u0301", "\u200b", "\ue000", "\uffff", "😀", "\U000e0041",
			`\ud83d\ude00`, `\ud800`, `\uDC00`, "\xff", "\xed\xa0\x80", "\xc0\x80",
		}),
		rapid.Custom(func(t *rapid.T) string {
			quoted := rawjson.Quote([]byte(rapid.StringN(1, 1, -1).Draw(t, "rune")))
			return string(quoted[1 : len(quoted)-1])
		}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(unit, 0, 5).Draw(t, "units"), "") + `"`
	})
}

// Number makes a JSON number.
func Number() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"0", "-0", "1", "1.0", "0.1", "1e21", "9007199254740993", "18446744073709551616", "1e400", "-1e-400", "5e-324", "1e99999999999999999999",
		}),
		rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.Int().Draw(t, "integer")) }),
		rapid.Custom(func(t *rapid.T) string {
			return strconv.FormatFloat(rapid.Float64().Draw(t, "float"), 'g', -1, 64)
		}),
	)
}

func value(t *rapid.T, levels int) string {
	kinds := []string{"literal", "number", "string", "array", "object"}
	if levels == 0 {
		kinds = kinds[:3]
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "number":
		return Number().Draw(t, "number")
	case "string":
		return Text().Draw(t, "string")
	case "array":
		return "[" + strings.Join(several(t, func() string { return value(t, levels-1) }), ",") + "]"
	case "object":
		return "{" + strings.Join(several(t, func() string { return Text().Draw(t, "name") + ":" + value(t, levels-1) }), ",") + "}"
	default:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "literal")
	}
}

func several(t *rapid.T, draw func() string) []string {
	all := make([]string, rapid.IntRange(0, 5).Draw(t, "count"))
	for i := range all {
		all[i] = draw()
	}
	return all
}
