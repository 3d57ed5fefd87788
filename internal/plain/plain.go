// Package plain makes untrusted text safe to show: in a terminal, in a log, in a
// web page's source, in a report that a model may read.
//
// [Line] and [Text] are for people. They keep what a reader can see (letters of
// all scripts with their marks, digits, punctuation, symbols, emoji) and spell
// out everything that acts without being seen: control characters and terminal
// escapes, bidirectional controls, zero-width and other invisible characters,
// odd spaces, private use, and bytes that are not UTF-8. [JSON] does the same to
// marshalled JSON, without loss. The output of each is valid UTF-8.
//
// [Redactor] removes secrets that are known, [Patterns] removes text that looks
// like a credential. Redaction comes first, then escaping, then HTML or other
// quoting, which is left to whoever writes that format.
//
// The package does not make look-alike letters visible: they are visible.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Line gives s as one line of at most maxRunes runes, followed by "…" when something
// was cut off. Newlines and tabs are spelled out like every other invisible
// character, as \u{000A}; a byte that is not UTF-8 as \xE9. An escape, an emoji
// sequence, is kept whole or cut whole. A backslash stays as it is, so the result
// is for reading, not for decoding.
func Line(s string, maxRunes int) string {
	return show(s, maxRunes, false, utf8.RuneCountInString)
}

// Text is Line for text of several lines, such as the tail of a process's
// standard error: newlines and tabs stay, CRLF becomes a newline, and the limit
// counts bytes of output, without the final "…".
func Text(s string, maxBytes int) string {
	return show(s, maxBytes, true, func(unit string) int { return len(unit) })
}

func show(s string, limit int, lines bool, measure func(string) int) string {
	if len(s) <= limit && isPrintable(s) {
		return s // by far the most frequent case
	}
	var b strings.Builder
	used := 0
	for s != "" {
		unit, size := next(s, lines)
		if used += measure(unit); used > limit {
			b.WriteString(ellipsis)
			break
		}
		b.WriteString(unit)
		s = s[size:]
	}
	return b.String()
}

// isPrintable reports whether s is nothing but printable ASCII.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// next gives what to show for the start of s, and how many bytes of s that is.
func next(s string, lines bool) (unit string, size int) {
	if lines {
		switch {
		case s[0] == '\n' || s[0] == '\t':
			return s[:1], 1
		case strings.HasPrefix(s, "\r\n"):
			return "\n", 2
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf(`\x%02X`, s[0]), 1
	}
	if n := emojiSequence(s); n > 0 {
		return s[:n], n
	}
	if visible(r) {
		return s[:size], size
	}
	return fmt.Sprintf(`\u{%04X}`, r), size
}

// visible reports whether a rune leaves a mark of its own on the page, or
// modifies the one before it visibly. ASCII space counts as visible.
func visible(r rune) bool {
	if r < utf8.RuneSelf {
		return ' ' <= r && r <= '~'
	}
	// The general categories leave out Cc, Cf, Co, Cs and unassigned code
	// points, and all spaces and separators.
	if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) {
		return false
	}
	return !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
}

// blank holds the letters, marks and symbols that are drawn as nothing although
// no Unicode property says so.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille pattern blank
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // Egyptian blanks
		{Lo: 0x16FE4, Hi: 0x16FE4, Stride: 1}, // Khitan filler
		{Lo: 0x1D159, Hi: 0x1D159, Stride: 1}, // musical null notehead
	},
}
