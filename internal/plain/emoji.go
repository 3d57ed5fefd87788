package plain

import (
	"unicode"
	"unicode/utf8"
)

const (
	joiner        = '\u200D' // zero width joiner
	textStyle     = '\uFE0E' // variation selector 15
	emojiStyle    = '\uFE0F' // variation selector 16
	keycap        = '\u20E3'
	skinToneFirst = '\U0001F3FB'
	skinToneLast  = '\U0001F3FF'

	// maxJoined bounds a joined sequence; the longest in use join four emoji.
	maxJoined = 8
)

// pictograph approximates the Unicode property Extended_Pictographic by blocks,
// with the regional indicators. It only decides where an invisible joiner or
// style selector has a purpose; being too wide by a few symbols does no harm.
var pictograph = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00A9, Hi: 0x00AE, Stride: 5},
		{Lo: 0x203C, Hi: 0x2049, Stride: 13},
		{Lo: 0x2122, Hi: 0x2139, Stride: 23},
		{Lo: 0x2194, Hi: 0x21AA, Stride: 1},
		{Lo: 0x231A, Hi: 0x23FF, Stride: 1},
		{Lo: 0x24C2, Hi: 0x24C2, Stride: 1},
		{Lo: 0x25AA, Hi: 0x25FE, Stride: 1},
		{Lo: 0x2600, Hi: 0x27BF, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2B05, Hi: 0x2B55, Stride: 1},
		{Lo: 0x3030, Hi: 0x303D, Stride: 13},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32:         []unicode.Range32{{Lo: 0x1F000, Hi: 0x1FAFF, Stride: 1}},
	LatinOffset: 1,
}

// emojiSequence gives the length in bytes of the emoji at the start of s with
// the style selectors, skin tones and joined emoji that belong to it, and 0 when
// there is none. Joiners and selectors are part of a sequence only where they
// have an effect, each once, so that nothing can be hidden in them.
func emojiSequence(s string) int {
	n := keycapSequence(s)
	if n > 0 {
		return n
	}
	n = emojiElement(s)
	for range maxJoined - 1 {
		r, size := utf8.DecodeRuneInString(s[n:])
		if n == 0 || r != joiner {
			break
		}
		element := emojiElement(s[n+size:])
		if element == 0 {
			break
		}
		n += size + element
	}
	return n
}

// emojiElement is one emoji with at most one style selector and one skin tone.
func emojiElement(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if !unicode.Is(pictograph, r) || !visible(r) {
		return 0
	}
	if r, size := utf8.DecodeRuneInString(s[n:]); r == emojiStyle || r == textStyle {
		return n + size
	}
	if r, size := utf8.DecodeRuneInString(s[n:]); skinToneFirst <= r && r <= skinToneLast {
		n += size
	}
	return n
}

// keycapSequence is a digit, # or * with the emoji style and an enclosing keycap.
func keycapSequence(s string) int {
	const tail = string(emojiStyle) + string(keycap)
	if len(s) <= len(tail) || s[1:1+len(tail)] != tail {
		return 0
	}
	if c := s[0]; c == '#' || c == '*' || '0' <= c && c <= '9' {
		return 1 + len(tail)
	}
	return 0
}
