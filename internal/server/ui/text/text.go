// Package text shows what servers say on a page: as text, with what cannot be seen made
// visible, and never as markup, a link or an image.
package text

import (
	"fmt"
	"strings"
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
