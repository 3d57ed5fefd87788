package surface

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaskKind is a kind of text that may change by itself.
type MaskKind string

// The kinds, a closed set. A masked part must match its pattern exactly.
const (
	MaskDate    MaskKind = "date"    // ISO 8601, with or without a time
	MaskVersion MaskKind = "version" // semantic version
	MaskInteger MaskKind = "integer"
)

// Mask says that parts of one text change by themselves.
type Mask struct {
	Kind    Kind       `json:"kind"`
	Item    string     `json:"item,omitempty"`
	Pointer string     `json:"pointer,omitempty"`
	Masks   []MaskKind `json:"masks"`
}

// Template replaces the parts of s that match kinds by their names in braces, and
// doubles every opening brace of s itself. Two texts with the same template differ
// in nothing but such parts.
//
// A part counts only when it stands alone between blanks, brackets, quotes or
// marks of a sentence. Digits of a phone number, an address, a port, a path, a
// package or an identifier are never such a part: who writes the text must not be
// able to swap them unseen.
func Template(s string, kinds []MaskKind) string {
	var b strings.Builder
	at := 0
	for _, p := range volatileParts(s) {
		if !slices.Contains(kinds, p.kind) {
			continue
		}
		b.WriteString(strings.ReplaceAll(s[at:p.start], "{", "{{"))
		b.WriteString("{" + string(p.kind) + "}")
		at = p.end
	}
	b.WriteString(strings.ReplaceAll(s[at:], "{", "{{"))
	return b.String()
}

// Volatile reports whether a and b differ only in parts that masks exist for, and
// in which kinds of them. Equal texts do not differ.
func Volatile(a, b string) ([]MaskKind, bool) {
	inA, inB := volatileParts(a), volatileParts(b)
	if a == b || len(inA) != len(inB) {
		return nil, false
	}
	var kinds []MaskKind
	atA, atB := 0, 0
	for i, p := range inA {
		q := inB[i]
		if p.kind != q.kind || a[atA:p.start] != b[atB:q.start] {
			return nil, false
		}
		if a[p.start:p.end] != b[q.start:q.end] && !slices.Contains(kinds, p.kind) {
			kinds = append(kinds, p.kind)
		}
		atA, atB = p.end, q.end
	}
	if a[atA:] != b[atB:] {
		return nil, false
	}
	slices.Sort(kinds)
	return kinds, true
}

// Volatile reports whether c is a text that differs in nothing but parts that masks
// exist for, and in which kinds of them.
func (c Change) Volatile() ([]MaskKind, bool) {
	switch c.Class {
	case ToolText, InstructionsChanged, ServerText, ServerVersion, ResourceText, TemplateText, PromptText:
	default:
		return nil, false
	}
	var before, after string
	if max(len(c.Before), len(c.After)) >= keepSnippet || // what is longer may be cut off
		json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil ||
		strings.ContainsRune(before+after, '\uFFFD') { // distinct bytes that are not UTF-8 read alike
		return nil, false
	}
	return Volatile(before, after)
}

// part is a place in a text that may change by itself.
type part struct {
	start, end int
	kind       MaskKind
}

// volatileParts finds them from left to right. It takes time linear in s: each
// pattern is of bounded length.
func volatileParts(s string) []part {
	var parts []part
	for at := 0; at < len(s); {
		c := s[at]
		if !digit(c) && c != 'v' || !opens(s[:at]) {
			at++
			continue
		}
		p, ok := partAt(s, at)
		if !ok {
			at++
			continue
		}
		parts = append(parts, p)
		at = p.end
	}
	return parts
}

// partAt reads the longest pattern that starts at at and ends where a word may.
func partAt(s string, at int) (part, bool) {
	for _, pattern := range []struct {
		kind MaskKind
		size func(string) int
	}{
		{MaskDate, timestampSize},
		{MaskDate, dateSize},
		{MaskVersion, versionSize},
		{MaskInteger, integerSize},
	} {
		size := pattern.size(s[at:])
		if size == 0 || !closes(s[at+size:]) {
			continue
		}
		if pattern.kind == MaskInteger && (names(s[:at]) || besideDigits(s[:at], s[at+size:])) {
			continue
		}
		return part{start: at, end: at + size, kind: pattern.kind}, true
	}
	return part{}, false
}

// opens reports whether a part may start behind before.
func opens(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsSpace(r) || strings.ContainsRune("([{\"'`<", r)
}

// closes reports whether a part may end ahead of after: a full stop and the like
// only ends it when nothing follows them directly.
func closes(after string) bool {
	after = strings.TrimPrefix(after, "%")
	if after != "" && strings.IndexByte(".,;:!?", after[0]) >= 0 {
		after = after[1:]
	}
	r, _ := utf8.DecodeRuneInString(after)
	return after == "" || unicode.IsSpace(r) || strings.ContainsRune(")]}\"'`>", r)
}

// besideDigits reports whether a number is one of several in a row, such as the
// groups of a phone number, a card or an account.
func besideDigits(before, after string) bool {
	const apart = " \t()-.\u00a0\u202f"
	before = strings.TrimRight(before, apart)
	after = strings.TrimLeft(after, apart+"+")
	return before != "" && digit(before[len(before)-1]) || after != "" && digit(after[0])
}

// nearby is how many bytes ahead of a number are searched for a word that makes it
// the name of something.
const nearby = 40

// names reports whether the words before a number, in the same sentence, say that
// it is a number by which something is reached or paid.
func names(before string) bool {
	before = before[max(0, len(before)-nearby):]
	if end := strings.LastIndexAny(before, ".;!?\n"); end >= 0 {
		before = before[end+1:]
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(before), func(r rune) bool { return !unicode.IsLetter(r) }) {
		switch word {
		case "phone", "telephone", "tel", "call", "dial", "fax", "sms", "mobile", "whatsapp", "telegram", "signal",
			"extension", "ext", "port", "ports", "pid", "id", "ids", "uid", "user", "chat", "channel", "room",
			"account", "acct", "iban", "bic", "card", "wallet", "iin", "routing", "pin", "code", "password", "passcode",
			"otp", "token", "key", "issue", "ticket", "order", "invoice", "case", "asn", "ip", "host", "zip", "postcode":
			return true
		}
	}
	return false
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// digits counts the digits that s starts with, up to limit and one more.
func digits(s string, limit int) int {
	n := 0
	for n < len(s) && n <= limit && digit(s[n]) {
		n++
	}
	return n
}

// layout reads a pattern in which 0 stands for a digit, and gives its size or 0.
func layout(s, pattern string) int {
	if len(s) < len(pattern) {
		return 0
	}
	for i := range len(pattern) {
		if pattern[i] == '0' && !digit(s[i]) || pattern[i] != '0' && pattern[i] != s[i] {
			return 0
		}
	}
	return len(pattern)
}

func twoDigits(s string) int { return int(s[0]-'0')*10 + int(s[1]-'0') }

func dateSize(s string) int {
	size := layout(s, "0000-00-00")
	if size == 0 {
		return 0
	}
	century, month, day := twoDigits(s), twoDigits(s[5:]), twoDigits(s[8:])
	if century < 19 || century > 21 || month < 1 || month > 12 || day < 1 || day > 31 {
		return 0
	}
	return size
}

func timestampSize(s string) int {
	at := dateSize(s)
	if at == 0 || at == len(s) || s[at] != 'T' && s[at] != ' ' {
		return 0
	}
	at++
	if layout(s[at:], "00:00") == 0 || twoDigits(s[at:]) > 24 || twoDigits(s[at+3:]) > 59 {
		return 0
	}
	at += len("00:00")
	if layout(s[at:], ":00") > 0 && twoDigits(s[at+1:]) <= 60 {
		at += len(":00")
		if strings.HasPrefix(s[at:], ".") {
			if n := digits(s[at+1:], 9); n > 0 && n <= 9 {
				at += 1 + n
			}
		}
	}
	switch {
	case strings.HasPrefix(s[at:], "Z"):
		at++
	case layout(s[at:], "+00:00") > 0, layout(s[at:], "-00:00") > 0:
		at += len("+00:00")
	case layout(s[at:], "+0000") > 0, layout(s[at:], "-0000") > 0:
		at += len("+0000")
	}
	return at
}

// versionSize reads a semantic version. Of what may stand behind the three numbers
// only words that cannot carry a message are taken.
func versionSize(s string) int {
	at := len(s) - len(strings.TrimPrefix(s, "v"))
	var sizes [3]int
	for i := range sizes {
		if i > 0 {
			if !strings.HasPrefix(s[at:], ".") {
				return 0
			}
			at++
		}
		n := digits(s[at:], 6)
		if n == 0 || n > 6 || n > 1 && s[at] == '0' {
			return 0
		}
		sizes[i] = n
		at += n
	}
	if sizes == [3]int{3, 3, 4} { // a phone number
		return 0
	}
	return at + preReleaseSize(s[at:])
}

// preReleaseSize reads "-rc.1", "-4", "+build.17", "+5f3c2e1" and both together.
func preReleaseSize(s string) int {
	at := 0
	if strings.HasPrefix(s, "-") {
		word := 1
		for _, known := range []string{"alpha", "beta", "rc", "pre", "dev", "next", "canary", "snapshot", "preview"} {
			if strings.HasPrefix(s[1:], known) {
				word += len(known)
				break
			}
		}
		at = word
		if word > 1 && strings.HasPrefix(s[at:], ".") && digits(s[at+1:], 12) > 0 {
			at++
		}
		at += digits(s[at:], 12)
		if at == 1 {
			return 0
		}
	}
	if strings.HasPrefix(s[at:], "+") {
		build := at + 1
		if strings.HasPrefix(s[build:], "build.") {
			build += len("build.")
		}
		n := 0
		for build+n < len(s) && n < 40 && strings.IndexByte("0123456789abcdef", s[build+n]) >= 0 {
			n++
		}
		if n > 0 {
			at = build + n
		}
	}
	return at
}

// integerSize reads a number of at most 12 digits.
func integerSize(s string) int {
	const longest = 12
	if n := digits(s, longest); n <= longest {
		return n
	}
	return 0
}
