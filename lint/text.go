package lint

import (
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// trait is something that one cheap pass over a string can see. Rules name the
// traits, and the words, without which they find nothing.
type trait uint32

const (
	hasNonASCII trait = 1 << iota
	hasControl        // C0 other than tab and line breaks, or DEL
	hasBreak          // tab and line breaks
	hasBlanks         // at least minBlanks blanks in a row, or maxBreaks line breaks
	hasAngle          // <
	hasBracket        // [
	hasAt             // @
	hasURL            // ://
	hasImage          // ![
	hasEscapes        // several of % & \ in one string, or entities of HTML
	hasCoded          // letters and digits that do not look like words: base64, hex
	hasDigits         // many short numbers in a row, as in lists of character codes
	hasScheme         // a URI that can carry content, such as data:
	isLong            // more than maxTextNote bytes
	hasSplit          // words with markup or blanks between their letters
	hasSnake          // words_with_underscores_between_them, as if those were blanks
)

const (
	minBlanks   = 15
	minCoded    = 20 // characters in runs that look encoded, with no more than maxCodedGap between
	maxCodedGap = 12
	minNumbers  = 12
	minEscapes  = 8
	minSpelled  = 5 // letters that stand alone, in a row
	minSnake    = 3 // underscores in one word
)

// text is one string of an item.
type text struct {
	s    string
	role role
	key  string // the name of the member that holds it, or its array; "" for names
	item *item
	scan *scanner

	traits trait
	fold   *text
	marks  []mark
	depth  int     // how often it was hidden in another text
	named  bool    // it is the name of a member
	source *source // nil: it stands in the definition
}

// folded is the text as a reader takes it, see [fold]; often t itself.
func (t *text) folded() *text {
	if t.fold == nil {
		t.fold = t
		if folded := fold(t.s, t.traits); folded != t.s {
			t.fold = &text{s: folded, role: t.role, key: t.key, item: t.item, scan: t.scan, traits: t.traits, depth: t.depth, named: t.named}
			t.fold.source = &source{of: t, trace: func() [][]piece { return traceFold(t.s, t.traits) }}
			t.fold.fold = t.fold
		}
	}
	return t.fold
}

// lowerASCII folds ASCII letters only, so that offsets hold.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

const (
	classWord   = 1 << iota // letters, digits, and every byte beyond ASCII
	classUpper              //
	classLower              //
	classDigit              //
	classHex                //
	classBase64             // both alphabets, and the padding
	classBlank              // space, tab, line breaks
	classMark               // needs a closer look
)

var charClass = func() (table [256]uint16) {
	for c := range table {
		switch b := byte(c); {
		case 'a' <= b && b <= 'z':
			table[c] = classWord | classLower | classBase64
		case 'A' <= b && b <= 'Z':
			table[c] = classWord | classUpper | classBase64
		case '0' <= b && b <= '9':
			table[c] = classWord | classDigit | classBase64
		case b >= utf8.RuneSelf:
			table[c] = classWord | classMark
		case strings.IndexByte(" \t\n\r", b) >= 0:
			table[c] = classBlank
		case b < ' ' || b == 0x7f || strings.IndexByte("<[@:!%&\\", b) >= 0:
			table[c] = classMark
		case strings.IndexByte("+/-_=", b) >= 0:
			table[c] = classBase64
		}
		if strings.IndexByte("0123456789abcdefABCDEF", byte(c)) >= 0 {
			table[c] |= classHex
		}
	}
	return table
}()

// look finds the traits of s, and calls word with each of its words as they are.
func look(s string, word func(string)) trait {
	var seen trait
	if len(s) > maxTextNote {
		seen |= isLong
	}
	l := looker{s: s}
	for i := 0; i < len(s); {
		class := charClass[s[i]]
		switch {
		case class == 0:
			if (s[i] == '*' || s[i] == '`' || s[i] == '~') && insideWord(s, i) > 0 {
				seen |= hasSplit
			}
			i++
		case class&(classBase64|classWord) != 0:
			end := i + 1
			union := class
			for end < len(s) && charClass[s[end]]&(classBase64|classWord) != 0 {
				union |= charClass[s[end]]
				end++
			}
			seen |= l.token(i, end, union)
			if union&classMark == 0 {
				eachWord(s[i:end], word)
			} else {
				eachForeignWord(s[i:end], word)
			}
			i = end
		case class&classBlank != 0:
			end := l.blanks(i)
			if l.width >= minBlanks || l.breaks >= maxBreaks {
				seen |= hasBlanks
			}
			if l.breaks > 0 || l.width > end-i {
				seen |= hasBreak
				if i > 0 && s[i-1] == '-' && insideWord(s, i-1) > 0 {
					seen |= hasSplit
				}
			}
			i = end
		default:
			seen |= l.mark(i)
			i++
		}
	}
	return seen
}

func eachWord(s string, word func(string)) {
	start := 0
	for i := range len(s) {
		if charClass[s[i]]&classWord == 0 {
			if i > start {
				word(s[start:i])
			}
			start = i + 1
		}
	}
	if start < len(s) {
		word(s[start:])
	}
}

// eachForeignWord is eachWord where other characters than letters separate words too.
func eachForeignWord(s string, word func(string)) {
	start := 0
	for i, r := range s {
		if !tokenRune(r) {
			if i > start {
				word(s[start:i])
			}
			start = i + utf8.RuneLen(r)
		}
	}
	if start < len(s) {
		word(s[start:])
	}
}

// looker counts what makes a trait only in numbers.
type looker struct {
	s                       string
	coded, numbers, escapes int
	lastCoded               int // where the last run that looks encoded ended
	letters                 int // that stand alone, in a row
	lastLetter              int // where the last of them ended
	lastSnake               int // where the last word with an underscore ended
	width                   int // of the last run of blanks
	breaks                  int // line breaks
}

// blanks passes over a run of blanks.
func (l *looker) blanks(start int) (end int) {
	l.width = 0
	for end = start; end < len(l.s) && charClass[l.s[end]]&classBlank != 0; end++ {
		switch l.s[end] {
		case ' ':
			l.width++
		case '\t':
			l.width += columnsOfTab
		default:
			l.width++
			l.breaks++
		}
	}
	return end
}

// token looks at a run of word and base64 characters.
func (l *looker) token(start, end int, union uint16) (seen trait) {
	if union&classMark != 0 {
		seen |= hasNonASCII
	}
	if union&^(classUpper|classLower|classHex|classWord|classBase64) == 0 && l.spelled(start, end) {
		seen |= hasSplit
	}
	if end-start > minSnake && l.snake(start, end) {
		seen |= hasSnake
	}
	switch {
	case union&classWord != 0 && union&(classUpper|classLower|classMark) == 0 && end-start <= 3:
		if l.numbers++; l.numbers >= minNumbers {
			seen |= hasDigits
		}
		seen |= l.codedToken(start, end)
	case !looksCoded(l.s[start:end]):
		l.numbers = 0
	default:
		l.numbers = 0
		seen |= l.codedToken(start, end)
	}
	return seen
}

// snake reports a word of many parts, or one of several that follows another after a
// blank.
func (l *looker) snake(start, end int) bool {
	parts := strings.Count(l.s[start:end], "_")
	if parts == 0 {
		return false
	}
	follows := l.lastSnake > 0 && start == l.lastSnake+1 && l.s[start-1] == ' '
	l.lastSnake = end
	return follows || parts >= minSnake
}

// spelled reports letters that stand alone: i g n o r e, i-g-n-o-r-e.
func (l *looker) spelled(start, end int) bool {
	switch {
	case end-start == 1 && start-l.lastLetter <= maxSpacing:
		l.letters++
	case end-start == 1:
		l.letters = 1
	case end-start < 2*minSpelled-1 || !aloneAt(l.s, start) || !aloneAt(l.s, start+2) || !aloneAt(l.s, start+4):
		return false
	default:
		return true
	}
	l.lastLetter = end
	return l.letters >= minSpelled
}

func (l *looker) codedToken(start, end int) trait {
	if start-l.lastCoded > maxCodedGap {
		l.coded = 0
	}
	l.coded += end - start
	l.lastCoded = end
	if l.coded >= minCoded {
		return hasCoded
	}
	return 0
}

// looksCoded reports whether a run is not simply a word in small letters, in
// capitals or with one capital at its start.
func looksCoded(s string) bool {
	if len(s) < 2 {
		return false
	}
	union := uint16(0)
	for i := 1; i < len(s); i++ {
		union |= charClass[s[i]]
	}
	lower := (union|charClass[s[0]])&classLower != 0
	return union&classDigit != 0 || union&classUpper != 0 && lower
}

func (l *looker) mark(i int) (seen trait) {
	s := l.s
	switch c := s[i]; c {
	case '<':
		if insideWord(s, i) > 0 {
			return hasAngle | hasSplit
		}
		return hasAngle
	case '[':
		if i > 0 && s[i-1] == '!' {
			return hasBracket | hasImage
		}
		return hasBracket
	case '@':
		return hasAt
	case ':':
		if strings.HasPrefix(s[i:], "://") {
			return hasURL
		}
		if i+1 < len(s) && charClass[s[i+1]]&classBlank == 0 && schemeBefore(s[:i]) != "" {
			return hasScheme
		}
	case '%', '&', '\\':
		if l.escapes++; l.escapes >= minEscapes || c == '&' && entity(s[i:]) {
			return hasEscapes
		}
	default:
		if c < ' ' || c == 0x7f {
			return hasControl
		}
	}
	return 0
}

// entity reports an entity of HTML at the start of s, by its looks.
func entity(s string) bool {
	for i := 1; i < min(len(s), longestEntity); i++ {
		switch {
		case s[i] == ';':
			return i > 1
		case charClass[s[i]]&classWord == 0 && (s[i] != '#' || i > 1):
			return false
		}
	}
	return false
}

const longestEntity = 24

const (
	maxExcerpt = 200 // runes, without the escapes
	around     = 60  // bytes of text on either side of a match
)

// excerpt shows s[start:end] with some of what is around it, safe to print.
func excerpt(s string, start, end int) string {
	from, to := max(0, start-around), min(len(s), end+around)
	for from > 0 && from > start-around-utf8.UTFMax && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && to < end+around+utf8.UTFMax && !utf8.RuneStart(s[to]) {
		to++
	}
	lead := ""
	if from > 0 {
		lead = "…"
	}
	shown := lead + plain.Line(s[from:to], maxExcerpt)
	if to < len(s) && !strings.HasSuffix(shown, "…") {
		shown += "…"
	}
	return shown
}

// cut shortens s to at most n bytes, at the start of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
