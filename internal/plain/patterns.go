package plain

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// shape is one kind of credential: whole matches are masked, except for what
// its first group holds. The second group, if any, is the supposed secret, for
// the shapes that ordinary prose can have too.
type shape struct {
	expr *regexp.Regexp
	// secret decides; nil takes every match.
	secret func(value string) bool
}

const (
	// keyEnd is the end of a name of a credential, as in x-api-key or DB_PASSWORD.
	// Plurals are left out: max_tokens=4096 is a count.
	strictKey = `(?:api[-_ ]?key|apikey|access[-_]?key(?:[-_]?id)?|secret[-_]?key|private[-_]?key|client[-_]?secret|(?:access|refresh|auth|id|session|bearer)[-_]?token)`
	looseKey  = `(?:token|secret|passw(?:or)?d|passwd|passphrase|pwd|credential|jwt)`
	anyKey    = `(?:` + strictKey + `|` + looseKey + `)`
	keyStart  = `(?i)(["']?\b[\w.-]*`
	// A quote that is not closed ends with its line.
	quoted = `(?:"(?:[^"\\\r\n]|\\[^\r\n])*"?|'(?:[^'\\\r\n]|\\[^\r\n])*'?)`
	bare   = `[^\s,;&"'<>(){}\[\]]+`
	// What separates a name from its value. Never a line end: the next line is
	// about something else.
	gap  = `[ \t]*`
	gap1 = `[ \t]+`
)

// shapes is in the order of application: what is specific and long comes first.
// Each expression is linear in the input, as all of package regexp. They are
// compiled when they are first used, as most programs never use them.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{expr: regexp.MustCompile(`()-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)},
		{expr: regexp.MustCompile(`(\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#"'<>:@]*:[^\s/?#"'<>]+(?:@)`)},
		{expr: regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){1,3}`)},
		{expr: regexp.MustCompile(`()\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,})`)},
		{expr: regexp.MustCompile(`()\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|[sr]k_(?:live|test)_[A-Za-z0-9]{10,})`)},
		{expr: regexp.MustCompile(`()(\bsk-[A-Za-z0-9_-]{16,})`), secret: hasDigit},
		// Header lines, and the same in JSON or in a dump of a map.
		{expr: regexp.MustCompile(`(?i)(["']?\b(?:proxy-)?authorization["']?` + gap + `[:=]` + gap + `["'\[]*(?:(?:bearer|basic|token|digest|negotiate|apikey|dpop)` + gap1 + `)?)[^\s"',;\]}]+`)},
		{expr: regexp.MustCompile(`(?i)(["']?\b(?:set-)?cookie["']?` + gap + `:` + gap + `["']?)[^\r\n"']+`)},
		{expr: regexp.MustCompile(`(?i)(\b(?:bearer|basic)` + gap1 + `)([A-Za-z0-9._~+/-]{4,}=*)`), secret: random},
		// name = value and name: value.
		{expr: regexp.MustCompile(keyStart + anyKey + `["']?` + gap + `[:=]` + gap + `)` + quoted)},
		{expr: regexp.MustCompile(keyStart + anyKey + `=)` + bare)},
		{expr: regexp.MustCompile(keyStart + strictKey + `["']?` + gap + `[:=]` + gap + `)(` + bare + `)`), secret: notProse},
		{expr: regexp.MustCompile(keyStart + `(?:passw(?:or)?d|passwd|passphrase|pwd)["']?` + gap + `[:=]` + gap + `)(` + bare + `)`), secret: notProse},
		{expr: regexp.MustCompile(keyStart + looseKey + `["']?` + gap + `[:=]` + gap + `)(` + bare + `)`), secret: random},
		// Command-line flags with the value in the next word.
		{expr: regexp.MustCompile(`(?i)((?:^|\s)--?[\w-]*` + anyKey + gap1 + `)(` + bare + `)`), secret: notProse},
	}
})

// Patterns masks what looks like a credential in free text of unknown origin,
// such as the standard error of a server: authorization headers, keys, tokens
// and passwords given by name, user and password in a URL, private keys in PEM,
// JSON web tokens and the tokens of well-known services. The names stay. Words
// about credentials ("token expired") stay too; in doubt, short lower-case
// values stay and anything with digits goes. Nothing but a private key reaches
// over a line end: a name at the end of one line says nothing about the next. It
// is a net for accidents, not a proof: known secrets belong in a Redactor.
func Patterns(s string) string {
	for _, shape := range shapes() {
		s = shape.apply(s)
	}
	return s
}

func (p shape) apply(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range p.expr.FindAllStringSubmatchIndex(s, -1) {
		if p.secret != nil && !p.secret(s[m[4]:m[5]]) {
			continue
		}
		b.WriteString(s[done:m[3]])
		b.WriteString(mask)
		if done = m[1]; s[done-1] == '@' {
			done-- // the end of user and password in a URL stays readable
		}
	}
	b.WriteString(s[done:])
	return b.String()
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// random reports whether a value looks generated rather than written: digits in
// it, a capital inside it, or just too long for a word.
func random(s string) bool {
	if len(s) < 6 || strings.HasPrefix(s, mask) {
		return false
	}
	inner := strings.IndexFunc(s[1:], unicode.IsUpper) >= 0 && s != strings.ToUpper(s)
	return hasDigit(s) || inner || len(s) >= 24
}

// prose holds, sorted, the words that follow "password:" in messages about passwords.
var prose = []string{
	"a", "absent", "access", "an", "and", "are", "as", "at", "authentication", "bad", "by", "cannot",
	"configured", "could", "denied", "does", "empty", "env", "error", "expected", "expired", "failed", "false",
	"file", "for", "found", "from", "has", "header", "if", "in", "incorrect", "instead", "invalid", "is",
	"loaded", "malformed", "mismatch", "missing", "must", "needed", "nil", "no", "none", "not", "null", "ok",
	"on", "or", "path", "please", "provided", "read", "redacted", "refused", "rejected", "required", "revoked",
	"set", "should", "string", "that", "the", "this", "to", "true", "undefined", "unknown", "unset", "use",
	"valid", "value", "was", "when", "with", "wrong",
}

func notProse(s string) bool {
	word := strings.ToLower(strings.TrimRight(s, ".!?:*"))
	_, known := slices.BinarySearch(prose, word)
	return word != "" && !known
}
