package lint

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	tagFirst, tagLast       = '\U000E0000', '\U000E007F'
	selector1, selector16   = '\uFE00', '\uFE0F'
	selector17, selector256 = '\U000E0100', '\U000E01EF'
	byteOrderMark           = '\uFEFF'
	zeroWidthSpace          = '\u200B'
	zeroWidthNonJoiner      = '\u200C'
	zeroWidthJoiner         = '\u200D'
	softHyphen              = '\u00AD'
	blackFlag               = '\U0001F3F4'
	brailleBlank            = '\u2800'
)

// markKind says what an invisible character is.
type markKind uint8

const (
	markNone     markKind = iota
	markTag               //
	markFormat            // drawn as nothing, joiners among them
	markBidi              // of the reading direction
	markSelector          // of a variant of the character before
	markControl           // C0 and C1 but tab and line breaks
	markBreak             // tab and line breaks
	markNothing           // a code point that is no character
)

// mark is an invisible character that its context does not explain (or, for those
// of the reading direction and for line breaks, any).
type mark struct {
	start, end int
	r          rune
	kind       markKind
}

func kindOf(r rune) markKind {
	switch {
	case r < ' ' || 0x7f <= r && r < 0xa0:
		if r == '\t' || r == '\n' || r == '\r' {
			return markBreak
		}
		return markControl
	case r < softHyphen:
		return markNone
	case r == '\u2028' || r == '\u2029':
		return markBreak
	case r == '\u061C' || r == '\u200E' || r == '\u200F' || '\u202A' <= r && r <= '\u202E' || '\u2066' <= r && r <= '\u2069':
		return markBidi
	case selector1 <= r && r <= selector16 || selector17 <= r && r <= selector256 || '\u180B' <= r && r <= '\u180F' && r != '\u180E':
		return markSelector
	case tagFirst <= r && r <= tagLast:
		return markTag
	case '\uFDD0' <= r && r <= '\uFDEF' || r&0xFFFE == 0xFFFE:
		return markNothing
	case r == brailleBlank || '\uFFF9' <= r && r <= '\uFFFB' || unicode.Is(ignorable, r):
		return markFormat
	default:
		return markNone
	}
}

// marksOf are the marks of one kind, in order.
func (t *text) marksOf(kind markKind) []mark {
	if t.marks == nil {
		t.marks = marks(t.s)
	}
	var of []mark
	for _, m := range t.marks {
		if m.kind == kind {
			of = append(of, m)
		}
	}
	return of
}

// marks finds the marks of s. It is never nil.
func marks(s string) []mark {
	c := context{s: s}
	found := []mark{}
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		m := mark{i, i + size, r, kindOf(r)}
		flag := 0
		if m.kind == markTag {
			flag = c.flag(i)
		}
		switch i += max(size, flag); {
		case m.kind == markNone:
			c.visible(r)
		case flag > 0,
			m.kind == markSelector && c.selects(m),
			m.kind == markFormat && c.explains(m):
		default:
			found = append(found, m)
		}
	}
	return c.settle(found)
}

// context decides what explains an invisible character.
type context struct {
	s       string
	braille bool // there is a Braille pattern that shows something
	flags   int  // of regions that few fonts have a picture for

	// joiners were explained by a script, or by Braille patterns, and are looked at
	// once more when the whole text is known.
	joiners []mark
}

func (c *context) visible(r rune) {
	if brailleBlank < r && r <= '\u28FF' {
		c.braille = true
	}
}

// flag gives the length of the tags at i that make a black flag one of a region:
// two letters of a country and up to four letters or digits, then the end. Only
// three have a picture in most fonts; of the others, which all look like a black
// flag, two are let pass.
func (c *context) flag(i int) int {
	if before, _ := c.before(i); before != blackFlag {
		return 0
	}
	var region []byte
	for at := i; ; {
		r, size := utf8.DecodeRuneInString(c.s[at:])
		at += size
		switch {
		case r == tagLast && len(region) >= 3:
			switch string(region) {
			case "gbeng", "gbsct", "gbwls":
			default:
				if c.flags++; c.flags > 2 {
					return 0
				}
			}
			return at - i
		case '0' <= r-tagFirst && r-tagFirst <= '9' && len(region) >= 2, 'a' <= r-tagFirst && r-tagFirst <= 'z':
			region = append(region, byte(r-tagFirst))
		default:
			return 0
		}
		if len(region) > 6 {
			return 0
		}
	}
}

func (c *context) before(i int) (rune, int) { return utf8.DecodeLastRuneInString(c.s[:i]) }
func (c *context) after(i int) (rune, int)  { return utf8.DecodeRuneInString(c.s[i:]) }

// selects reports whether a selector picks a variant that its character has. One
// after another selector never does, nor does the one before it.
func (c *context) selects(m mark) bool {
	if next, _ := c.after(m.end); kindOf(next) == markSelector {
		return false
	}
	base, _ := c.before(m.start)
	switch {
	case '\u180B' <= m.r && m.r <= '\u180F':
		return unicode.Is(unicode.Mongolian, base) || unicode.Is(unicode.Phags_Pa, base)
	case m.r >= selector17:
		// Registered sequences use the first 32.
		return m.r < selector17+32 && unicode.Is(unicode.Ideographic, base)
	case m.r >= '\uFE0E':
		return plain.IsPictographic(base) || isKeycap(base) || base >= 0x80 && unicode.IsSymbol(base) || isSkinTone(base)
	default:
		return base == '0' || unicode.In(base, unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean) ||
			'\u3000' <= base && base <= '\u303F' || '\uFF00' <= base && base <= '\uFFEF' || plain.IsPictographic(base)
	}
}

func isKeycap(r rune) bool   { return '0' <= r && r <= '9' || r == '#' || r == '*' }
func isSkinTone(r rune) bool { return '\U0001F3FB' <= r && r <= '\U0001F3FF' }

// explains reports whether an invisible character does what it is for.
func (c *context) explains(m mark) bool {
	switch m.r {
	case zeroWidthJoiner:
		if c.joinsEmoji(m) {
			return true
		}
		return c.joins(m, joinScripts)
	case zeroWidthNonJoiner:
		return c.joins(m, joinScripts)
	case zeroWidthSpace:
		return c.joins(m, unspacedScripts)
	case '\u180E':
		return c.joins(m, []*unicode.RangeTable{unicode.Mongolian})
	case '\u115F', '\u1160':
		before, _ := c.before(m.start)
		after, _ := c.after(m.end)
		return m.r == '\u115F' && '\u1161' <= after && after <= '\u11A7' || m.r == '\u1160' && '\u1100' <= before && before <= '\u115E'
	case brailleBlank:
		c.joiners = append(c.joiners, m)
		return true
	default:
		return false
	}
}

// joinsEmoji: between two pictographs, the first with a style or a skin tone.
func (c *context) joinsEmoji(m mark) bool {
	base, size := c.before(m.start)
	if base == selector16 || isSkinTone(base) {
		base, _ = c.before(m.start - size)
	}
	after, _ := c.after(m.end)
	return plain.IsPictographic(base) && plain.IsPictographic(after)
}

// joins: after a character of one of scripts, and before another of that script or
// the end of the word.
func (c *context) joins(m mark, scripts []*unicode.RangeTable) bool {
	script := c.scriptBefore(m.start, scripts)
	if script == nil {
		return false
	}
	after, _ := c.after(m.end)
	if !unicode.Is(script, after) && (unicode.IsLetter(after) || unicode.IsNumber(after) || kindOf(after) == markFormat) {
		return false
	}
	c.joiners = append(c.joiners, m)
	return true
}

// scriptBefore looks past a few marks that belong to no script.
func (c *context) scriptBefore(i int, scripts []*unicode.RangeTable) *unicode.RangeTable {
	for range 4 {
		r, size := c.before(i)
		for _, script := range scripts {
			if unicode.Is(script, r) {
				return script
			}
		}
		if !unicode.IsMark(r) {
			return nil
		}
		i -= size
	}
	return nil
}

// settle adds what only the whole text tells.
func (c *context) settle(found []mark) []mark {
	var blanks, joiners []mark
	for _, m := range c.joiners {
		if m.r == brailleBlank {
			blanks = append(blanks, m)
		} else {
			joiners = append(joiners, m)
		}
	}
	if c.braille {
		blanks = nil
	}
	if len(joiners) < 16 || 2*len(joiners) <= joinLetters(c.s) {
		joiners = nil // Fewer than the letters can need: they say no more than those.
	}
	if len(blanks)+len(joiners) == 0 {
		return found
	}
	found = slices.Concat(found, blanks, joiners)
	slices.SortFunc(found, func(a, b mark) int { return a.start - b.start })
	return found
}

// joinScripts use U+200C and U+200D to choose the form of letters: those whose
// letters join, and those with conjuncts.
var joinScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Malayalam, unicode.Kannada, unicode.Telugu,
	unicode.Tamil, unicode.Gujarati, unicode.Gurmukhi, unicode.Oriya, unicode.Sinhala, unicode.Khmer,
	unicode.Myanmar, unicode.Thai, unicode.Lao, unicode.Tibetan, unicode.Mongolian, unicode.Syriac,
	unicode.Mandaic, unicode.Nko, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Phags_Pa, unicode.Manichaean,
	unicode.Javanese, unicode.Balinese, unicode.Sundanese, unicode.Tai_Tham, unicode.Chakma, unicode.Meetei_Mayek,
	unicode.Newa, unicode.Grantha, unicode.Tirhuta, unicode.Kaithi, unicode.Sharada, unicode.Syloti_Nagri,
	unicode.Saurashtra, unicode.Brahmi, unicode.Cham, unicode.Limbu, unicode.Lepcha, unicode.Masaram_Gondi,
	unicode.Gunjala_Gondi, unicode.Khudawadi, unicode.Khojki, unicode.Takri, unicode.Dogra, unicode.Siddham,
	unicode.Modi, unicode.Nandinagari, unicode.Bhaiksuki, unicode.Ahom,
}

// unspacedScripts put U+200B where a line may break, since they have no spaces
// between words.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese,
	unicode.Balinese, unicode.Tai_Tham, unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Viet, unicode.Cham,
}

// joinLetters counts the characters of joinScripts.
func joinLetters(s string) (n int) {
	for _, r := range s {
		switch {
		case r < '\u0600', '\u2000' <= r && r < '\uA800', '\uAC00' <= r && r < '\uFB50', r >= '\U0001F000':
			// None of them, and most of what there is.
		case unicode.In(r, joinScripts...):
			n++
		}
	}
	return n
}

// spacedScripts write words without gaps inside: an invisible character between
// two of their letters splits a word for whoever searches it.
var spacedScripts = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Georgian, unicode.Hebrew, unicode.Cherokee,
}

// inWord reports whether the marks around m lie between two letters or digits of
// one word. Soft hyphens belong there, and invisible operators do beside a number or
// between a function and its argument.
func (m mark) inWord(s string) bool {
	before := outward(s[:m.start], utf8.DecodeLastRuneInString, true)
	after := outward(s[m.end:], utf8.DecodeRuneInString, false)
	switch {
	case m.r == softHyphen || m.r == '\u2061',
		'\u2062' <= m.r && m.r <= '\u2064' && (unicode.IsDigit(before) || unicode.IsDigit(after)):
		return false
	default:
		return wordRune(before) && wordRune(after)
	}
}

func wordRune(r rune) bool {
	return '0' <= r && r <= '9' || unicode.In(r, spacedScripts...)
}

// outward is the first rune of s, from the front or the back, that is not
// invisible itself. It looks at a few only.
func outward(s string, decode func(string) (rune, int), back bool) rune {
	for range 8 {
		r, size := decode(s)
		if kindOf(r) != markFormat {
			return r
		}
		if back {
			s = s[:len(s)-size]
		} else {
			s = s[size:]
		}
	}
	return utf8.RuneError
}
