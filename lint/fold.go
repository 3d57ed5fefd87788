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

// fold gives s as a reader takes it: without invisible characters and marks over
// ASCII letters, with compatibility forms and look-alikes as the letters they stand
// for. A word with no ASCII letter stays: its letters are those of its script.
func fold(s string) string {
	if !strings.ContainsFunc(s, foldable) {
		return s
	}
	s = norm.NFKC.String(strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
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
	}, s))
	var b strings.Builder
	b.Grow(len(s))
	eachRun(s, func(run string, word bool) {
		if !word || isASCII(run) || !strings.ContainsFunc(run, isASCIILetter) {
			b.WriteString(run)
			return
		}
		for _, r := range run {
			if plain, ok := mixable[r]; ok {
				r = plain
			}
			if '\u0300' > r || r > '\u036F' {
				b.WriteRune(r)
			}
		}
	})
	return b.String()
}

// foldable reports everything but ASCII and the signs, arrows, lines and emoji that
// stand for no letter.
func foldable(r rune) bool {
	switch {
	case r < 0xAA, '\u2010' <= r && r <= '\u2026', '\u2030' <= r && r <= '\u205E', '\u20A0' <= r && r <= '\u20CF',
		'\u2190' <= r && r <= '\u245F', '\u2500' <= r && r <= '\u27FF', '\U0001F300' <= r && r <= '\U0001FAFF':
		return 0x7f <= r && r < 0xA0
	default:
		return true
	}
}

// skeleton is equal for names that look alike (UTS 39, for the letters we know).
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(fold(name)) {
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
