package lint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is what a token is by its looks, whatever its letters.
type form uint16

const (
	formWord   form = 1 << iota
	formCaps        // two or more letters, none in lower case
	formIdent       // send_email, sendEmail, `send-email`: the name of something in a program
	formQuoted      // stands right after a quotation mark or a backtick
	formEmail       // local@domain
	formURL         // scheme://…
	formHost        // a bare domain name under a well-known suffix
	formPhone       // + and seven digits or more
	formPath        // has a slash or a leading dot or tilde
	formNumber
	formVariable // AWS_SECRET_ACCESS_KEY: the name of a variable that holds a secret
	formLine     // the first of its line
)

// formTarget is where data can be sent to.
const formTarget = formEmail | formURL | formHost | formPhone

// token is a word, or something told by its form, of a folded text. Letter case,
// quotes, emphasis and apostrophes are left out of it.
type token struct {
	start, end int32
	word       int32 // in the vocabulary; 0 for a word that no rule knows
	form       form
	// opens: a sentence, a list entry or a paragraph begins here. Phrases do not
	// reach over it.
	opens bool
}

// vocabulary numbers the words that rules know, from 1.
type vocabulary map[string]int32

func (v vocabulary) add(word string) int32 {
	n, ok := v[word]
	if !ok {
		n = int32(len(v) + 1) //nolint:gosec // some hundred words
		v[word] = n
	}
	return n
}

// tokenizer reads one text from left to right, once.
type tokenizer struct {
	words  vocabulary
	text   string
	tokens []token
	opens  bool
	line   bool
	quoted bool
}

// tokens appends the tokens of text to into. It takes time linear in the text.
func (v vocabulary) tokens(text string, into []token) []token {
	t := tokenizer{words: v, text: text, tokens: into, opens: true, line: true}
	for at := 0; at < len(text); {
		next := t.run(at)
		if next == at {
			at += t.separator(at)
			continue
		}
		// What ends a sentence or a clause is no part of the word before.
		end := next
		for end > at && strings.IndexByte(".,:;!?-/", text[end-1]) >= 0 {
			end--
		}
		t.split(at, end)
		if !abbreviation(text[at:end]) {
			for ; end < next; end++ {
				t.separator(end)
			}
		}
		at = next
	}
	return t.tokens
}

// abbreviation reports "for example" and "that is", whose full stops end no sentence.
func abbreviation(s string) bool {
	switch s {
	case "e.g", "i.e", "E.g", "I.e", "eg", "ie":
		return true
	}
	return false
}

// separator passes over one character that belongs to no chunk, and notes what it
// separates.
func (t *tokenizer) separator(at int) int {
	switch c := t.text[at]; {
	case c == '\n':
		t.line, t.quoted = true, false
		if t.paragraph(at + 1) {
			t.opens = true
		}
		return 1
	case c == '.' || c == '?' || c == '!' && (at == 0 || t.text[at-1] != '<'):
		t.opens = true
		return 1
	case c == '"' || c == '\'' || c == '`':
		t.quoted = true
		return 1
	case c < utf8.RuneSelf:
		t.quoted = false
		return 1
	}
	r, size := utf8.DecodeRuneInString(t.text[at:])
	switch r {
	case '“', '”', '‘', '’', '«', '»', '„':
		t.quoted = true
	case '。', '！', '？', '…', '•':
		t.opens = true
	case '\u2028', '\u2029':
		t.line = true
	}
	return size
}

// paragraph reports whether the line at begins something new: it is blank, or an
// entry of a list, or a heading.
func (t *tokenizer) paragraph(at int) bool {
	rest := strings.TrimLeft(t.text[at:min(len(t.text), at+40)], " \t\r")
	if rest == "" {
		return false
	}
	switch rest[0] {
	case '\n', '#':
		return true
	case '-', '*':
		return len(rest) > 1 && rest[1] == ' '
	}
	digits := strings.TrimLeft(rest, "0123456789")
	return len(digits) < len(rest) && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// run finds the end of the characters at that words, addresses and paths are made
// of.
func (t *tokenizer) run(at int) int {
	i := at
	for i < len(t.text) {
		c := t.text[i]
		if c < utf8.RuneSelf {
			if !inChunk[c] && (c != '\'' || i == at || !t.letterAt(i-1) || !t.letterAt(i+1)) {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(t.text[i:])
		if !tokenRune(r) && (!apostrophe(r) || !t.letterAt(i+size)) {
			break
		}
		i += size
	}
	return i
}

// inChunk tells the ASCII characters of words, addresses and paths.
var inChunk = func() (set [utf8.RuneSelf]bool) {
	for c := range set {
		set[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("_-./\\~@:+%$#&=?", byte(c)) >= 0
	}
	return set
}()

func (t *tokenizer) letterAt(at int) bool {
	if at < 0 || at >= len(t.text) {
		return false
	}
	c := t.text[at] | 0x20
	return 'a' <= c && c <= 'z'
}

// split adds the tokens of a chunk: one, if it has a form of its own, or its words.
func (t *tokenizer) split(start, end int) {
	chunk := t.text[start:end]
	if chunk == "" {
		return
	}
	if abbreviation(chunk) {
		t.add(start, end, t.words["eg"], formWord)
		return
	}
	if name, value, ok := strings.Cut(chunk, "="); ok && value != "" && identifier(name) {
		t.split(start, start+len(name))
		t.split(end-len(value), end)
		return
	}
	if strings.ContainsAny(chunk, "@/\\~.+") || strings.HasPrefix(chunk, "id_") {
		if f := special(chunk); f != 0 {
			t.add(start, end, 0, f)
			return
		}
	}
	if t.quoted && strings.IndexByte(chunk, '-') > 0 && identifier(chunk) {
		t.add(start, end, 0, formWord|formIdent)
		return
	}
	for at := start; at < end; {
		next := t.addWord(at, end)
		if next > at {
			at = next
			continue
		}
		_, size := utf8.DecodeRuneInString(t.text[at:])
		at += size
	}
}

// longestWord bounds the words of the vocabulary, in bytes.
const longestWord = 32

// addWord adds the word at, if there is one, and returns where it ends.
func (t *tokenizer) addWord(at, end int) int {
	var folded [longestWord]byte
	n, i := 0, at
	var lower, upper, inner, digits, other bool
	last := at
	for i < end {
		r, size := rune(t.text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(t.text[i:])
		}
		if apostrophe(r) {
			if i == at {
				break
			}
			i += size
			continue
		}
		switch {
		case 'a' <= r && r <= 'z':
			lower = true
		case 'A' <= r && r <= 'Z':
			inner = inner || (lower && !upper)
			upper = true
			r |= 0x20
		case '0' <= r && r <= '9':
			digits = true
		case r == '_':
			other = true
		case r < utf8.RuneSelf || !tokenRune(r):
			size = 0
		default:
			lower = true
			r = unicode.ToLower(r)
		}
		if size == 0 {
			break
		}
		if n+utf8.UTFMax <= len(folded) {
			n += utf8.EncodeRune(folded[n:], r)
		} else {
			n = len(folded)
		}
		i += size
		last = i
	}
	if last == at {
		return at
	}
	f := formWord
	switch {
	case other && (lower || upper), inner && i-at > 4:
		f |= formIdent
		if !lower && secretVariable(t.text[at:last]) {
			f |= formVariable
		}
	case digits && !lower && !upper:
		f |= formNumber
	case upper && !lower && n > 1:
		f |= formCaps
	}
	word := int32(0)
	if n < len(folded) {
		word = t.words[string(folded[:n])]
	}
	t.add(at, last, word, f)
	return i
}

// secretVariable reports the name of an environment variable that holds a key or a
// password, by its last part.
func secretVariable(name string) bool {
	last := name[strings.LastIndexByte(name, '_')+1:]
	switch last {
	case "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS", "CREDENTIAL", "APIKEY", "PAT":
		return !strings.HasSuffix(name, "PUBLIC_KEY") && !strings.HasSuffix(name, "PRIMARY_KEY") && !strings.HasSuffix(name, "FOREIGN_KEY")
	}
	return false
}

func (t *tokenizer) add(start, end int, word int32, f form) {
	if t.quoted {
		f |= formQuoted
	}
	if t.line {
		f |= formLine
	}
	t.tokens = append(t.tokens, token{
		start: int32(start), end: int32(end), //nolint:gosec // a text is within a response, 4 MiB
		word: word, form: f, opens: t.opens,
	})
	t.opens, t.line, t.quoted = false, false, false
}

func tokenRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' || r == '‘' }

// identifier reports letters, digits, underscores and hyphens with a letter first.
func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '-' && c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// special gives the form of a chunk that is more than words, or 0.
func special(chunk string) form {
	if at := strings.Index(chunk, "://"); at > 0 && identifier(chunk[:at]) {
		return formURL
	}
	if at := strings.IndexByte(chunk, '@'); at > 0 && at < len(chunk)-1 {
		if domain := chunk[at+1:]; strings.IndexByte(domain, '.') > 0 && !strings.ContainsAny(domain, "@/\\") {
			return formEmail
		}
	}
	if chunk[0] == '+' {
		digits := 0
		for i := 1; i < len(chunk); i++ {
			if '0' <= chunk[i] && chunk[i] <= '9' {
				digits++
			} else if strings.IndexByte("-.", chunk[i]) < 0 {
				return 0
			}
		}
		if digits >= 7 {
			return formPhone
		}
		return 0
	}
	if secrecy(chunk) != 0 {
		return formPath
	}
	if host(chunk) {
		return formHost
	}
	return 0
}

// host reports a domain name, with a path or not, under one of the suffixes that
// are no suffixes of files.
func host(chunk string) bool {
	name, _, _ := strings.Cut(chunk, "/")
	name, _, _ = strings.Cut(name, ":")
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 {
		return false
	}
	return slices.Contains(hostSuffixes(), lowerASCII(name[dot+1:])) && !strings.ContainsAny(name, "@\\=&?%$#~+")
}

// hostSuffixes are the suffixes under which a bare name is taken for a host.
func hostSuffixes() []string {
	return []string{"com", "net", "org", "ru", "xyz", "cc", "biz", "top", "tk", "site", "online", "example", "onion"}
}
