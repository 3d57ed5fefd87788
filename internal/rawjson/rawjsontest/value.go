package rawjsontest

import (
	"math"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Value makes any JSON: nested, with members of the same name, strings of every
// kind of character and of what is none, numbers of any size.
func Value(s Source) []byte { return []byte(value(s, 4)) }

func value(s Source, levels int) string {
	kinds := 5
	if levels == 0 {
		kinds = 3 // nothing nested
	}
	switch s.IntN(kinds) {
	case 0:
		return oneOf(s, "null", "true", "false")
	case 1:
		return Number(s)
	case 2:
		return Text(s)
	case 3:
		return "[" + several(s, func() string { return value(s, levels-1) }) + "]"
	default:
		return "{" + several(s, func() string { return Text(s) + ":" + value(s, levels-1) }) + "}"
	}
}

func several(s Source, draw func() string) string {
	all := make([]string, s.IntN(6))
	for i := range all {
		all[i] = draw()
	}
	return strings.Join(all, ",")
}

// Text makes a quoted JSON string.
func Text(s Source) string {
	var b strings.Builder
	for range s.IntN(6) {
		b.WriteString(unit(s))
	}
	return `"` + b.String() + `"`
}

func unit(s Source) string {
	switch s.IntN(3) {
	case 0:
		return oneOf(s, "a", "b", "A", " ", "/", `\"`, `\\`, `\n`, `\u0000`, "\x7f")
	case 1:
		return oneOf(s, "é", "e\u0301", "\u200b", "\ue000", "\uffff", "😀", "\U000e0041", `\ud83d\ude00`, `\ud800`, `\uDC00`, "\xff", "\xed\xa0\x80", "\xc0\x80")
	default:
		quoted := rawjson.Quote([]byte(string(rune(s.IntN(1 << 17)))))
		return string(quoted[1 : len(quoted)-1])
	}
}

// Number makes a JSON number.
func Number(s Source) string {
	switch s.IntN(4) {
	case 0:
		return oneOf(s, "0", "-0", "1.0", "0.1", "1e21", "9007199254740993", "18446744073709551616", "1e400", "-1e-400", "5e-324", "1e99999999999999999999")
	case 1:
		return strconv.Itoa(s.IntN(2001) - 1000)
	case 2:
		return strconv.FormatFloat(float64(s.IntN(1<<31))/float64(1+s.IntN(1000)), 'g', -1, 64)
	default:
		f := math.Float64frombits(uint64(s.IntN(1<<31))<<33 | uint64(s.IntN(1<<31)))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return "-1"
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}
