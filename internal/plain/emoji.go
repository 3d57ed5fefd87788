package plain

import (
	"unicode/utf8"
)

const (
	joiner        = '\u200D' // zero width joiner
	textStyle     = '\uFE0E' // variation selector 15
	emojiStyle    = '\uFE0F' // variation selector 16
	keycap        = '\u20E3'
	skinToneFirst = '\U0001F3FB'
	skinToneLast  = '\U0001F3FF'
	regionalA     = '\U0001F1E6'
	regionalZ     = '\U0001F1FF'

	// maxJoined bounds a joined sequence; the longest in use join four emoji.
	maxJoined = 8
)

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

// isRegional tells the letters that flags are made of.
func isRegional(r rune) bool { return regionalA <= r && r <= regionalZ }

// emojiElement is one emoji with at most one style selector and one skin tone.
func emojiElement(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if !IsPictographic(r) && !isRegional(r) || !visible(r) {
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
