package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const familyHidden = "hidden_unicode"

// hiddenRules are the rules about characters that are not seen.
func hiddenRules() []rule {
	return []rule{
		{
			Rule: Rule{
				ID: "hidden_tag", Family: familyHidden, Severities: []Severity{Block},
				Text:       "Unicode tag characters, which models read as ASCII and nobody sees, outside of the flags of regions",
				Techniques: []string{"SAFE-T1402", "SAFE-T1001"},
				True: []string{
					`{"name":"a","description":"Adds.\udb40\udc68\udb40\udc69"}`,
					`{"name":"a","description":"\ud83c\udff4\udb40\udc72\udb40\udc75\udb40\udc6e\udb40\udc20\udb40\udc6e\udb40\udc6f\udb40\udc77"}`,
					`{"name":"a","_meta":{"k\udb40\udc61":1}}`,
				},
				False: []string{
					`{"name":"a","description":"Scores for \ud83c\udff4\udb40\udc67\udb40\udc62\udb40\udc73\udb40\udc63\udb40\udc74\udb40\udc7f and \ud83c\udff4 alone"}`,
					`{"name":"a","description":"Strips U+E0041 and \\udb40\\udc41"}`,
				},
			},
			text: hiddenTag, traits: hasNonASCII,
		},
		{
			Rule: Rule{
				ID: "hidden_format", Family: familyHidden, Severities: []Severity{Block, Note},
				Text:       "invisible characters and joiners where no script and no emoji needs them: a block in names, keys and values, inside words, or from four in one text",
				Techniques: []string{"SAFE-T1402", "SAFE-T1001"},
				True: []string{
					`{"name":"a","description":"ig\u200bnore"}`,
					`{"name":"a","description":"See the docs\u200b\u200b "}`,
					`{"name":"a","inputSchema":{"properties":{"pa\u00adth":{}}}}`,
				},
				False: []string{
					`{"name":"a","description":"\ufeffReads the \ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67."}`,
					`{"name":"a","description":"\u0641\u0627\u06cc\u0644\u200c\u0647\u0627"}`,
				},
			},
			text: hiddenFormat, traits: hasNonASCII,
		},
		{
			Rule: Rule{
				ID: "bidi", Family: familyHidden, Severities: []Severity{Block, Note},
				Text:       "controls that show text in another order than a model reads it: overrides anywhere, embeddings and isolates that are open or in text without a right-to-left letter; stray marks are a note",
				Techniques: []string{"SAFE-T1402"},
				True: []string{
					`{"name":"a","description":"Returns \u202eelif\u202c"}`,
					`{"name":"a","description":"to the\u200f left"}`,
					`{"name":"a","description":"\u05e9\u05dc\u05d5\u05dd \u2067abc"}`,
				},
				False: []string{
					`{"name":"a","description":"\u05e9\u05dc\u05d5\u05dd \u2066JSON\u2069\u200f."}`,
				},
			},
			text: bidi, traits: hasNonASCII,
		},
		{
			Rule: Rule{
				ID: "variation_run", Family: familyHidden, Severities: []Severity{Block, Note},
				Text:       "variation selectors in a row, or on characters that have no variants: bytes hidden behind a visible character; a single stray one is a note",
				Techniques: []string{"SAFE-T1402"},
				True: []string{
					`{"name":"a","description":"\ud83d\ude00\udb40\udd58\udb40\udd59"}`,
					`{"name":"a","description":"Fast\ufe0f tool"}`,
				},
				False: []string{
					`{"name":"a","description":"\u26a0\ufe0f 1\ufe0f\u20e3 \u845b\udb40\udd00\u57ce"}`,
				},
			},
			text: variationRun, traits: hasNonASCII,
		},
	}
}

// blankRules are the rules about what moves or hides other text.
func blankRules() []rule {
	return []rule{
		{
			Rule: Rule{
				ID: "control_char", Family: familyHidden, Severities: []Severity{Block, Note},
				Text:       "control characters other than tab and line breaks, such as terminal escapes; in names and keys also those",
				Techniques: []string{"SAFE-T1402"},
				True: []string{
					`{"name":"a","description":"Adds.\u001b[8m hidden \u001b[0m"}`,
					`{"name":"a","inputSchema":{"properties":{"a\nb":{}}}}`,
					`{"name":"a","inputSchema":{"properties":{"b":{"pattern":"^[^\u0000-\u001f]+$"}}}}`,
				},
				False: []string{
					`{"name":"a","description":"Tabs\tand\r\nbreaks; colours such as \\x1b[31m"}`,
				},
			},
			text: controlChar, traits: hasControl | hasNonASCII | hasBreak,
		},
		{
			Rule: Rule{
				ID: "whitespace_pad", Family: "whitespace_pad", Severities: []Severity{Block},
				Text:       "blanks or empty lines that push text out of sight: 40 blanks inside a line, 80 at its start, or 15 line breaks, also in HTML",
				Techniques: []string{"SAFE-T1402", "SAFE-T1401"},
				True: []string{
					`{"name":"a","description":"Adds.` + strings.Repeat(" ", 60) + `Then more."}`,
					`{"name":"a","description":"Adds.` + strings.Repeat(`\n`, 20) + `Then more."}`,
				},
				False: []string{
					`{"name":"a","description":"Example:\n` + strings.Repeat(" ", 40) + `{ }\n\n\n` + strings.Repeat(" ", 60) + `"}`,
				},
			},
			text: whitespacePad, traits: hasBlanks | hasNonASCII, words: []string{"br", "nbsp", "xa0", "160", "emsp", "ensp", "thinsp"},
		},
	}
}

// identifier reports whether the text is one that programs compare, where nothing
// invisible has a use.
func (t *text) identifier() bool {
	switch t.role {
	case roleName, roleKey, roleEnum, roleConst, roleURI, roleDialect, roleSource:
		return true
	default:
		return false
	}
}

func hiddenTag(t *text) {
	tags := t.marksOf(markTag)
	if len(tags) == 0 {
		return
	}
	var payload strings.Builder
	for _, m := range tags {
		if r := m.r - tagFirst; ' ' <= r && r <= '~' {
			payload.WriteRune(r)
		}
	}
	t.hidden(Block, tags, t.beside(tags), payload.String(), "tag character")
}

func hiddenFormat(t *text) {
	formats := t.marksOf(markFormat)
	if !t.identifier() && len(formats) > 0 && formats[0].start == 0 && formats[0].r == byteOrderMark {
		formats = formats[1:]
	}
	if len(formats) == 0 {
		return
	}
	severity := Note
	switch {
	case t.role == rolePattern: // a class of characters to match
	case t.identifier() || len(formats) >= 4 || slices.ContainsFunc(formats, func(m mark) bool { return m.inWord(t.s) }):
		severity = Block
	}
	t.hidden(severity, formats, t.beside(formats), twoSymbols(formats), "invisible character")
}

func variationRun(t *text) {
	selectors := t.marksOf(markSelector)
	if len(selectors) == 0 {
		return
	}
	severity := Note
	var payload []byte
	for i, m := range selectors {
		payload = append(payload, selectorByte(m.r))
		if m.r >= selector17 || i > 0 && selectors[i-1].end == m.start {
			severity = Block
		}
	}
	switch {
	case t.role == rolePattern:
		severity = Note
	case t.identifier() || len(selectors) >= 4:
		severity = Block
	}
	t.hidden(severity, selectors, t.beside(selectors), readable(payload), "variation selector")
}

func controlChar(t *text) {
	named := t.role == roleName || t.role == roleKey
	if !named && t.traits&(hasControl|hasNonASCII) == 0 {
		return
	}
	controls := t.marksOf(markControl)
	if named {
		controls = append(controls, t.marksOf(markBreak)...)
	}
	if len(controls) == 0 {
		return
	}
	severity := Block
	if t.role == rolePattern && !slices.ContainsFunc(controls, func(m mark) bool { return m.r == '\x1b' }) {
		severity = Note // a class of characters to refuse
	}
	t.hidden(severity, controls, t.controlled(controls), "", "control character")
}

func bidi(t *text) {
	controls := t.marksOf(markBidi)
	if len(controls) == 0 {
		return
	}
	severity := bidiSeverity(t, controls)
	if severity == "" {
		return
	}
	matched := t.beside(controls)
	if slices.ContainsFunc(controls, func(m mark) bool { return !strayMark(m.r) }) {
		matched = t.controlled(controls)
	}
	t.hidden(severity, controls, matched, "", "direction control")
}

// strayMark reports a mark that stands for a letter of a direction, and reaches over no
// text.
func strayMark(r rune) bool { return r == '\u200E' || r == '\u200F' || r == '\u061C' }

// bidiSeverity is empty where the controls serve the text.
func bidiSeverity(t *text, controls []mark) Severity {
	var open []rune
	marks, isolatesOnly := 0, true
	for i, m := range controls {
		switch m.r {
		case '\u202D', '\u202E':
			return Block
		case '\u202A', '\u202B':
			open, isolatesOnly = append(open, '\u202C'), false
		case '\u2066', '\u2067', '\u2068':
			open, isolatesOnly = append(open, '\u2069'), isolatesOnly && m.r != '\u2067'
		case '\u202C', '\u2069':
			if len(open) == 0 || open[len(open)-1] != m.r {
				return Block
			}
			open = open[:len(open)-1]
		default:
			marks++
			if i >= 2 && controls[i-1].end == m.start && controls[i-2].end == controls[i-1].start {
				return Block // three in a row show nothing that one does not
			}
		}
	}
	switch {
	case len(open) > 0:
		return Block
	case strings.ContainsFunc(t.s, rightToLeft):
		return ""
	case t.identifier() || marks >= 4 || !isolatesOnly || len(controls) > 16:
		return Block
	default:
		return Note
	}
}

// hidden reports marks of one kind, as one finding for the whole text.
func (t *text) hidden(severity Severity, marks []mark, matched, payload, what string) {
	at := t.spotOf(marks)
	if id, ok := t.item.admit(severity, matched, at); ok {
		h := hit{severity: severity, message: describe(marks, what), at: at}
		if payload != "" {
			h.message += ", which spell text that a model can read and a person does not see"
			h.excerpt = plain.Line(payload, maxExcerpt)
		} else {
			h.excerpt = excerpt(t.s, marks[0].start, runEnd(marks))
		}
		t.item.add(h, id)
	}
	if payload != "" {
		t.reveal(payload, allRules, &source{carrier: at.spans})
	}
}

const (
	maxBeside  = 32 // bytes of a word beside a mark
	maxBetween = 8  // and of what stands between
)

// beside gives the runs of marks, each with the word before and the word after it.
// What is elsewhere in the text may change; these make the finding.
func (t *text) beside(marks []mark) string {
	var b strings.Builder
	for i := 0; i < len(marks); {
		start, end := marks[i].start, marks[i].end
		for i++; i < len(marks) && marks[i].start == end; i++ {
			end = marks[i].end
		}
		b.WriteString(t.s[wordBefore(t.s, start):wordAfter(t.s, end)])
		b.WriteByte(0)
	}
	return b.String()
}

func wordBefore(s string, i int) int {
	for n := 0; i > 0 && n < maxBetween && charClass[s[i-1]]&classWord == 0; n++ {
		i--
	}
	for n := 0; i > 0 && n < maxBeside && charClass[s[i-1]]&classWord != 0; n++ {
		i--
	}
	return i
}

func wordAfter(s string, i int) int {
	for n := 0; i < len(s) && n < maxBetween && charClass[s[i]]&classWord == 0; n++ {
		i++
	}
	for n := 0; i < len(s) && n < maxBeside && charClass[s[i]]&classWord != 0; n++ {
		i++
	}
	return i
}

// controlled gives the text that controls change: their lines, and all that follows
// where a terminal is told what to do.
func (t *text) controlled(marks []mark) string {
	start := strings.LastIndexByte(t.s[:marks[0].start], '\n') + 1
	last := marks[len(marks)-1].end
	terminal := slices.ContainsFunc(marks, func(m mark) bool { return m.r == '\x1b' || m.r == '\u009b' })
	if end := strings.IndexByte(t.s[last:], '\n'); end >= 0 && !terminal {
		return t.s[start : last+end]
	}
	return t.s[start:]
}

// runEnd is where the first run of marks ends.
func runEnd(marks []mark) int {
	end := marks[0].end
	for _, m := range marks[1:] {
		if m.start != end {
			break
		}
		end = m.end
	}
	return end
}

// describe counts marks and names their characters.
func describe(marks []mark, what string) string {
	runes := map[rune]bool{}
	for _, m := range marks {
		runes[m.r] = true
	}
	if len(marks) == 1 {
		return fmt.Sprintf("one %s (%s) at byte %d", what, codePoints(runes), marks[0].start)
	}
	return fmt.Sprintf("%d %ss (%s), the first at byte %d", len(marks), what, codePoints(runes), marks[0].start)
}

// codePoints names a few characters.
func codePoints(runes map[rune]bool) string {
	var names []string
	for r := range runes {
		names = append(names, fmt.Sprintf("U+%04X", r))
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	if len(names) > 4 {
		names = append(names[:4], "…")
	}
	return strings.Join(names, ", ")
}

// readable is b as text if that is what it is.
func readable(b []byte) string {
	if utf8.Valid(b) && !slices.ContainsFunc(b, func(c byte) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }) && len(b) > 1 {
		return string(b)
	}
	return ""
}

// twoSymbols reads marks as bits, as when two kinds of invisible characters spell
// out the bytes of a text.
func twoSymbols(marks []mark) string {
	if len(marks) < 16 {
		return ""
	}
	zero, one := marks[0].r, rune(-1)
	for _, m := range marks {
		if m.r != zero && one < 0 {
			one = m.r
		}
		if m.r != zero && m.r != one {
			return ""
		}
	}
	var payload, inverse []byte
	for i := 0; i+8 <= len(marks); i += 8 {
		var b byte
		for _, m := range marks[i : i+8] {
			b <<= 1
			if m.r == one {
				b |= 1
			}
		}
		payload, inverse = append(payload, b), append(inverse, ^b)
	}
	for _, bytes := range [][]byte{payload, inverse} {
		if text := readable(bytes); strings.ContainsFunc(text, func(r rune) bool { return r != rune(text[0]) }) {
			return text
		}
	}
	return ""
}

// selectorByte is the number of a selector, which is how bytes are hidden in them.
func selectorByte(r rune) byte {
	if r >= selector17 {
		return byte(r - selector17 + 16)
	}
	return byte(r - selector1)
}

// rightToLeft reports letters of scripts that are written so.
func rightToLeft(r rune) bool {
	return r >= 0x590 && unicode.IsLetter(r) && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac,
		unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic, unicode.Adlam, unicode.Mende_Kikakui,
		unicode.Hanifi_Rohingya, unicode.Yezidi)
}

const (
	maxBlanks    = 40 // inside a line
	maxIndent    = 80 // at its start
	maxBreaks    = 15
	columnsOfTab = 4
	maxPushed    = 400 // bytes of the text behind that the finding is about
)

// whitespacePad reports stretches of blanks after which text goes on out of sight. A
// line with nothing but one mark counts as empty.
func whitespacePad(t *text) {
	if t.traits&(hasAngle|hasEscapes) != 0 {
		markupPad(t)
	}
	if t.traits&(hasBlanks|hasNonASCII) == 0 {
		return
	}
	pad := padding{indent: true}
	for i, r := range t.s {
		start, end, what := pad.next(i, r)
		if what == "" {
			continue
		}
		shown := excerpt(t.s[:start], start, start) + " [" + what + "] " + excerpt(t.s[end:], 0, 0)
		matched := t.s[start:min(len(t.s), end+maxPushed)]
		t.item.report(hit{Block, matched, what + " before more text", shown, t.spot(start, end)})
	}
}

// padding follows the blanks of a text.
type padding struct {
	blanks, columns int  // where they begin since the last visible character, and their width
	gap, breaks     int  // where the empty lines begin, and their number
	shown           int  // visible characters in this line
	first           int  // where they begin
	indent          bool // none yet
}

// next takes the rune at i. If a stretch that is too long has ended, it says where
// that is, and what.
func (p *padding) next(i int, r rune) (start, end int, tooLong string) {
	switch {
	case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		if p.shown > 1 {
			p.gap, p.breaks = i, 0
		}
		if r != '\r' {
			p.breaks++
		}
		p.blanks, p.columns, p.shown, p.indent = i+utf8.RuneLen(r), 0, 0, true
		return 0, 0, ""
	case isBlank(r):
		if p.columns == 0 {
			p.blanks = i
		}
		p.columns++
		if r == '\t' {
			p.columns += columnsOfTab - 1
		}
		return 0, 0, ""
	case unicode.Is(ignorable, r):
		return 0, 0, ""
	}
	if p.shown++; p.shown == 1 {
		p.first = i
	}
	switch {
	case p.indent && p.columns >= maxIndent || !p.indent && p.columns >= maxBlanks:
		start, end, tooLong = p.blanks, i, fmt.Sprintf("%d blanks", p.columns)
	case p.breaks >= maxBreaks && p.shown == 2:
		start, end, tooLong = p.gap, p.first, fmt.Sprintf("%d line breaks", p.breaks)
	}
	p.columns, p.indent = 0, false
	return start, end, tooLong
}

// isBlank reports characters that take space and show nothing.
func isBlank(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r == '\t'
	}
	return unicode.Is(unicode.Zs, r) || r == brailleBlank || r == '\u3164' || r == '\uFFA0' || r == '\u115F' || r == '\u1160'
}
