// Package text shows what servers say on a page: as text, with what cannot be seen made
// visible, and never as markup, a link or an image.
package text

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/runenames"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Piece is a part of a text: what can be shown as it is, or one character that cannot.
type Piece struct {
	// Text is what is shown: itself, or for a hidden character its code point.
	Text string
	// Name is that of a hidden character, such as RIGHT-TO-LEFT OVERRIDE; empty for what
	// is shown as it is.
	Name string
}

// Pieces cuts a text of a server. It shows at most maxBytes of it; cut tells whether
// there is more. Line breaks and tabs are kept.
func Pieces(s string, maxBytes int) (pieces []Piece, cut bool) {
	if len(s) > maxBytes {
		s, cut = whole(s[:maxBytes]), true
	}
	var seen strings.Builder
	flush := func() {
		if seen.Len() > 0 {
			pieces = append(pieces, Piece{Text: seen.String()})
			seen.Reset()
		}
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		char := s[i : i+size]
		i += size
		switch {
		case r == '\n' || r == '\t' || visible(char):
			seen.WriteString(char)
		case r == utf8.RuneError && size == 1:
			flush()
			pieces = append(pieces, Piece{Text: fmt.Sprintf("0x%02X", char[0]), Name: "not UTF-8"})
		default:
			flush()
			pieces = append(pieces, Piece{Text: fmt.Sprintf("U+%04X", r), Name: runenames.Name(r)})
		}
	}
	flush()
	return pieces, cut
}

// escaped is a character in what [plain.Line] made of a text.
var escaped = regexp.MustCompile(`\\u\{([0-9A-F]{4,6})\}`)

// quoted cuts a text that [plain.Line] made safe: what it spelled out becomes a piece, as
// if the text itself was there. A server that writes such a spelling in its text gets the
// same, which shows too much rather than too little.
func quoted(s string, maxBytes int) (pieces []Piece, cut bool) {
	if len(s) > maxBytes {
		s, cut = whole(s[:maxBytes]), true
	}
	last := 0
	for _, at := range escaped.FindAllStringSubmatchIndex(s, -1) {
		between, _ := Pieces(s[last:at[0]], maxBytes)
		pieces = append(append(pieces, between...), spelled(s[at[2]:at[3]]))
		last = at[1]
	}
	rest, _ := Pieces(s[last:], maxBytes)
	return append(pieces, rest...), cut
}

// spelled is a character that cannot be shown, given its code point. Breaks and tabs have
// signs that everybody knows.
func spelled(hex string) Piece {
	n, err := strconv.ParseInt(hex, 16, 32)
	if err != nil || n > unicode.MaxRune {
		return Piece{Text: "U+" + hex, Name: "not a character"}
	}
	p := Piece{Text: "U+" + hex, Name: runenames.Name(rune(n))}
	switch n {
	case '\n':
		p = Piece{Text: "↵", Name: "LINE FEED"}
	case '\r':
		p = Piece{Text: "␍", Name: "CARRIAGE RETURN"}
	case '\t':
		p = Piece{Text: "⇥", Name: "TAB"}
	}
	return p
}

// tall tells whether a block of a text may be higher than what is shown of it at a time, on
// a narrow screen.
func tall(s string) bool { return len(s) > 400 || strings.Count(s, "\n") > 10 }

// visible tells whether a character is one that a reader sees.
func visible(char string) bool {
	return len(char) == 1 && char[0] >= 0x20 && char[0] < 0x7f || plain.Line(char, 1) == char
}

// whole cuts off a character that is there in part.
func whole(s string) string {
	for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size > 1 {
			return s
		}
		s = s[:len(s)-1]
	}
	return s
}
