package plain

import (
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON rewrites valid JSON so that it shows only what can be seen: every rune
// outside printable ASCII becomes a \uXXXX escape (two for a rune beyond U+FFFF)
// unless it is a visible letter, a decimal digit, or a mark on a letter. Unlike
// Line it escapes emoji and symbols too, since nothing is lost by it: the result
// decodes to the same value. b is not modified.
//
// Input that is not valid JSON gives output that is not valid JSON. Bytes that
// are not UTF-8, which no marshaller writes, become \ufffd, as decoders read them.
func JSON(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/8)
	onLetter := false // whether a mark here would sit on a letter
	for i := 0; i < len(b); {
		if b[i] == '\\' {
			// Copied whole, so that a mark behind "\n" does not sit on an "n".
			n := min(escapeSize(b[i:]), len(b)-i)
			out = append(out, b[i:i+n]...)
			i += n
			onLetter = false
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		letter := unicode.IsLetter(r) || onLetter && unicode.IsMark(r)
		switch {
		case r < utf8.RuneSelf && r != '\x7f', (letter || unicode.IsDigit(r)) && visible(r):
			out = append(out, b[i:i+size]...)
			onLetter = letter
		default:
			out = appendEscape(out, r)
			onLetter = false
		}
		i += size
	}
	return out
}

func escapeSize(b []byte) int {
	if len(b) > 1 && b[1] == 'u' {
		return len(`\uXXXX`)
	}
	return len(`\n`)
}

func appendEscape(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
