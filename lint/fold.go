package lint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lookalikes are pairs of a letter and the ASCII character that it is taken for, in
// most fonts. Compatibility forms (fullwidth, mathematical, circled letters) are
// left to normalisation.
const (
	cyrillicLookalikes = "аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwӏlкkёeїiүyѵvгrьbАAВBЕEІIЈJКKМMНHОOРPСCТTУYХXЅSԌGԚQԜWЁEЇIҮYѴVӀI"
	greekCapitals      = "ΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXοoϲcϳj"
	armenianLookalikes = "օoոnսuհhցgզqյjՍUՕOԼLՏS"
	cherokeeLookalikes = "ᎠDᎡRᎢTᎥiᎪAᎫJᎬEᎳWᎷMᎻHᎽYᏀGᏃZᏏbᏒRᏙVᏚSᏞLᏟCᏢPᏦKᏧdᏴBᏻG"
	lisuLookalikes     = "ꓐBꓑPꓓDꓔTꓖGꓗKꓙJꓚCꓜZꓝFꓟMꓠNꓡLꓢSꓣRꓦVꓧHꓪWꓫXꓬYꓮAꓰEꓲIꓳOꓴU"
	copticLookalikes   = "ⲟoⲞOⲣpⲢPⲥcⲤCⲓiⲒIⲔKⲘMⲚNⲦTⲬXⲎHⲈEⲂBⲀA"
	// Letters of formulas: taken for Latin ones in a whole name, not in a word.
	greekSmall = "αaιiκkνvρpυuγyσoηnχx"
	// Latin letters themselves, as in text that is styled as small capitals.
	latinForms = "ᴀaʙbᴄcᴅdᴇeꜰfɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzɡgɑaıi"
)

func pairs(of ...string) map[rune]rune {
	m := map[rune]rune{}
	for _, s := range of {
		for s != "" {
			from, size := utf8.DecodeRuneInString(s)
			m[from] = rune(s[size])
			s = s[size+1:]
		}
	}
	return m
}

var (
	// mixable are the letters that are taken for ASCII ones inside a word of those.
	mixable = pairs(cyrillicLookalikes, greekCapitals, armenianLookalikes, cherokeeLookalikes, lisuLookalikes, copticLookalikes)
	styled  = pairs(latinForms)
	small   = pairs(greekSmall)
)

// compatible gives the ASCII letter that a fullwidth or a mathematical letter is a
// form of.
func compatible(r rune) (rune, bool) {
	switch {
	case 'Ａ' <= r && r <= 'Ｚ' || 'ａ' <= r && r <= 'ｚ':
		return r - 'Ａ' + 'A', true
	case '\U0001D400' <= r && r <= '\U0001D6A3' || '\u2100' <= r && r <= '\u2138':
		s := norm.NFKC.String(string(r))
		return rune(s[0]), len(s) == 1
	default:
		return 0, false
	}
}

// boxed are the letters in boxes and circles that normalisation leaves alone.
func boxed(r rune) (rune, bool) {
	for _, first := range []rune{'\U0001F150', '\U0001F170'} {
		if first <= r && r < first+26 {
			return r - first + 'a', true
		}
	}
	return 0, false
}

// fold gives s as a reader takes it. The traits are those of s.
func fold(s string, traits trait) string {
	if traits&hasNonASCII != 0 {
		s = unify(s)
	}
	if traits&hasSplit != 0 {
		s = mend(s)
	}
	return s
}

// unify gives s without invisible characters and marks over ASCII letters, with
// compatibility forms and look-alikes as the letters they stand for. A word with no
// ASCII letter stays: its letters are those of its script.
func unify(s string) string {
	if !strings.ContainsFunc(s, foldable) {
		return s
	}
	s = norm.NFKC.String(strings.Map(visible, s))
	var b strings.Builder
	b.Grow(len(s))
	eachRun(s, func(run string, word bool) { b.WriteString(respell(run, word)) })
	return b.String()
}

// visible gives the letter that a character is taken for before it is normalised, -1 for
// what is not seen.
func visible(r rune) rune {
	if r < utf8.RuneSelf {
		return r
	}
	switch r {
	case '\uFDFA':
		return ' ' // normalisation would write it as eighteen letters
	case '\u2010', '\u2011':
		return '-'
	}
	if plain, ok := styled[r]; ok {
		return plain
	}
	if plain, ok := boxed(r); ok {
		return plain
	}
	switch kindOf(r) {
	case markTag, markFormat, markBidi, markSelector, markNothing:
		return -1
	default:
		return r
	}
}

// respell writes a word that is disguised as the one it is taken for.
func respell(run string, word bool) string {
	if word && !isASCII(run) {
		return unaccented(undisguised(run))
	}
	return run
}

// undisguised writes the look-alikes in a word of ASCII letters as those.
func undisguised(word string) string {
	if !strings.ContainsFunc(word, isASCIILetter) {
		return word
	}
	return strings.Map(func(r rune) rune {
		if plain, ok := mixable[r]; ok {
			return plain
		}
		if '\u0300' <= r && r <= '\u036F' {
			return -1
		}
		return r
	}, word)
}

// unaccented drops the accents of a word that is one the rules know without them, and
// not with them: those of another language stay.
func unaccented(word string) string {
	if len(word) > 2*longestWord || isASCII(word) {
		return word
	}
	bare := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word))
	if len(bare) < 3 || !isASCII(bare) || knownWord(word) || !knownWord(bare) {
		return word
	}
	return bare
}

// knownWord reports a word that rules look for.
func knownWord(word string) bool {
	return len(word) < longestWord && sharedPhrasebook().words[strings.ToLower(word)] != 0
}

// maxSpacing is how far apart letters stand at most that belong to one word.
const maxSpacing = 3

// mend joins words whose letters stand apart: Ig**n**ore, ig-\nnore, i g n o r e. Where
// the words end, only those that the rules know tell; anything else is left as it is.
func mend(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	mendEach(s, func(_, out string) { b.WriteString(out) })
	return b.String()
}

// mendEach gives each part of s with what becomes of it.
func mendEach(s string, add func(in, out string)) {
	for i := 0; i < len(s); {
		letters, end := spread(s, i)
		if words, ok := segment(letters); end > i && ok {
			add(s[i:end], words)
			i = end
			continue
		}
		end = max(end, i+1)
		add(s[i:end], s[i:end])
		i = end
	}
}

// spread reads letters that stand apart at i, and gives them as one. Letters that do
// not are passed over: none, and where they end.
func spread(s string, i int) (letters string, end int) {
	if !letterAt(s, i) {
		return "", i
	}
	var b strings.Builder
	apart := false
	for end = i; ; {
		for letterAt(s, end) {
			b.WriteByte(s[end])
			end++
		}
		if n := insideWord(s, end); n > 0 {
			end, apart = end+n, true
			continue
		}
		break
	}
	if apart {
		return b.String(), end
	}
	if !aloneAt(s, i) {
		return "", end
	}
	for n := i + 1; n < len(s) && n <= end+maxSpacing; n++ {
		if aloneAt(s, n) {
			b.WriteByte(s[n])
			end = n + 1
		} else if charClass[s[n]]&classWord != 0 {
			break
		}
	}
	if b.Len() < minSpelled {
		return "", end
	}
	return b.String(), end
}

// aloneAt reports a letter with no letter or digit beside it.
func aloneAt(s string, i int) bool {
	return letterAt(s, i) && (i == 0 || charClass[s[i-1]]&classWord == 0) &&
		(i+1 == len(s) || charClass[s[i+1]]&classWord == 0 && s[i+1] != '\'')
}

func letterAt(s string, i int) bool {
	return i < len(s) && charClass[s[i]]&(classUpper|classLower) != 0
}

// insideWord gives the length of what stands at i between two letters of a word: markup
// that shows nothing itself, or a hyphen and a line break.
func insideWord(s string, i int) int {
	if i == 0 || charClass[s[i-1]]&classWord == 0 || charClass[s[i-1]]&classDigit != 0 {
		return 0
	}
	end := i
	for end < len(s) {
		n := 0
		switch s[end] {
		case '*', '`', '~':
			n = 1
		case '<':
			n = inlineTag(s[end:])
		case '-':
			n = hyphenation(s[end:])
		}
		if n == 0 {
			break
		}
		end += n
	}
	if end == i || end == len(s) || charClass[s[end]]&classWord == 0 || charClass[s[end]]&classDigit != 0 {
		return 0
	}
	return end - i
}

// hyphenation is the length of a hyphen with a line break and the indent after it.
func hyphenation(s string) int {
	rest := s[1:min(len(s), maxIndentOfLine)]
	next := strings.TrimLeft(rest, " \t\r\n")
	if strings.Count(rest[:len(rest)-len(next)], "\n") != 1 {
		return 0
	}
	return 1 + len(rest) - len(next)
}

// maxIndentOfLine bounds the blanks after a hyphen.
const maxIndentOfLine = 40

// inlineTag is the length of a tag at the start of s that changes how letters look, or
// of a comment that says nothing.
func inlineTag(s string) int {
	if rest, ok := strings.CutPrefix(s, "<!--"); ok {
		end := strings.Index(rest[:min(len(rest), maxIndentOfLine)], "-->")
		if end < 0 || strings.ContainsFunc(rest[:end], unicode.IsLetter) {
			return 0
		}
		return len("<!--") + end + len("-->")
	}
	name := strings.TrimPrefix(s[1:min(len(s), 12)], "/")
	n := 0
	for letterAt(name, n) {
		n++
	}
	switch lowerASCII(name[:n]) {
	case "a", "b", "i", "u", "s", "q", "em", "strong", "span", "font", "small", "big", "sub", "sup", "code", "tt", "kbd", "mark",
		"del", "ins", "strike", "wbr", "bdi", "bdo", "abbr", "cite", "dfn", "samp", "var", "zwnj", "zwj", "shy":
	default:
		return 0
	}
	return strings.IndexByte(s[:min(len(s), maxAltText)], '>') + 1
}

// longestJoined bounds the words that are looked for among letters.
const longestJoined = 14

// segment finds the words that rules know in a run of letters, the longest first. It
// fails when most of the letters belong to none.
func segment(letters string) (words string, ok bool) {
	var b strings.Builder
	known, ended := 0, false
	for i := 0; i < len(letters); {
		n := min(len(letters)-i, longestJoined)
		for n > 2 && !knownWord(letters[i:i+n]) {
			n--
		}
		found := n > 2
		if b.Len() > 0 && (found || ended) {
			b.WriteByte(' ')
		}
		if ended = found; found {
			known += n
		} else {
			n = 1
		}
		b.WriteString(letters[i : i+n])
		i += n
	}
	return b.String(), len(letters) > 0 && 2*known >= len(letters)
}

// foldable reports everything but ASCII and the signs, arrows, lines and emoji that
// stand for no letter.
func foldable(r rune) bool {
	switch {
	case r < 0xAA, '\u2012' <= r && r <= '\u2026', '\u2030' <= r && r <= '\u205E', '\u20A0' <= r && r <= '\u20CF',
		'\u2190' <= r && r <= '\u245F', '\u2500' <= r && r <= '\u27FF', '\U0001F300' <= r && r <= '\U0001FAFF':
		return 0x7f <= r && r < 0xA0
	default:
		return true
	}
}

// skeleton is equal for names that look alike (UTS 39, for the letters we know).
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(unify(name)) {
		for _, table := range []map[rune]rune{mixable, small} {
			if plain, ok := table[r]; ok {
				r = plain
			}
		}
		if !unicode.IsMark(r) {
			b.WriteRune(r)
		}
	}
	return sameASCII.Replace(b.String())
}

// sameASCII are the ASCII characters that look like others.
var sameASCII = strings.NewReplacer("0", "O", "1", "l", "I", "l", "|", "l", "rn", "m", "vv", "w")

// eachRun splits s into words (letters, marks and digits) and what is between.
func eachRun(s string, visit func(run string, word bool)) {
	start, word := 0, false
	for i, r := range s {
		now := unicode.IsLetter(r) || unicode.IsMark(r) || '0' <= r && r <= '9'
		if now != word && i > start {
			visit(s[start:i], word)
			start = i
		}
		word = now
	}
	if start < len(s) {
		visit(s[start:], word)
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// disguised reports a word of ASCII letters in which some are look-alikes. Inside
// text a look-alike counts when an ASCII letter follows: endings of another
// language are put behind Latin words, and variables before them.
func disguised(word string, inText bool) bool {
	if isASCII(word) {
		return false
	}
	runes := []rune(word)
	if len(runes) < 3 {
		return false
	}
	ascii, foreign := false, false
	for i, r := range runes {
		if isASCIILetter(r) {
			ascii = true
			continue
		}
		_, alike := mixable[r]
		_, form := compatible(r)
		next := i+1 < len(runes) && isASCIILetter(runes[i+1])
		previous := i > 0 && isASCIILetter(runes[i-1])
		switch {
		case alike:
			foreign = foreign || !inText || next
		case form:
			foreign = foreign || !inText || next && (previous || r >= 'Ａ' && r <= 'ｚ')
		case unicode.IsLetter(r) && inText && !unicode.Is(unicode.Latin, r):
			return false // a word of that script
		}
	}
	return ascii && foreign
}
