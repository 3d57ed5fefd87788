package plain

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const mask = "***"

// shortSecret is the length in bytes below which a secret is replaced only
// where it stands alone: "ab" must not turn "table" into "t***le".
const shortSecret = 4

// anyCaseSecret is the length from which a secret is found in any case.
const anyCaseSecret = 8

// Redactor replaces known secrets by ***, in the forms in which they turn up:
// as they are, escaped for a URL's query or path or for JSON, and in standard
// or URL base64. Secrets of 8 bytes and more are found in any case, because
// parsers put host names and media types into lower case. Overlapping secrets
// are covered whole.
//
// Secrets of fewer than 4 bytes are replaced only where no letter, digit or
// underscore touches them. A nil *Redactor changes nothing; a Redactor is safe
// for concurrent use, and prints itself as ***.
type Redactor struct {
	base  *Redactor // knows more of them
	mu    sync.RWMutex
	forms []string // distinct, longest first
	lower []string // of the longer ones, in lower case
}

// NewRedactor makes a Redactor that knows the given secrets, as [Redactor.Add] takes them.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, secret := range secrets {
		r.Add(secret)
	}
	return r
}

// Extend makes a Redactor that knows what r knows, now and later, and beside it
// what is added to itself, of which r learns nothing.
func (r *Redactor) Extend() *Redactor { return &Redactor{base: r} }

// Add makes one more secret known. White space around it is no part of it (it
// comes from the end of files). Of the value of an Authorization header, such as
// "Bearer abc", the credential behind the scheme is a secret too. An empty
// secret, and any secret given to a nil Redactor, is ignored.
func (r *Redactor) Add(secret string) {
	secret = strings.TrimSpace(secret)
	if r == nil || secret == "" {
		return
	}
	forms := formsOf(secret)
	if scheme, credential, ok := strings.Cut(secret, " "); ok && isScheme(scheme) {
		forms = append(forms, formsOf(strings.TrimSpace(credential))...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// A new slice: readers may still hold the old one.
	forms = append(forms, r.forms...)
	slices.SortFunc(forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	r.forms = slices.Compact(forms)
	r.lower = nil
	for _, form := range r.forms {
		if len(form) >= anyCaseSecret {
			r.lower = append(r.lower, lowerASCII(form))
		}
	}
	r.lower = slices.Compact(r.lower)
}

// Empty reports whether there is no secret to replace.
func (r *Redactor) Empty() bool {
	if r == nil {
		return true
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.forms) == 0 && r.base.Empty()
}

// lowerASCII changes no byte offset, which strings.ToLower may.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func isScheme(s string) bool {
	switch strings.ToLower(s) {
	case "bearer", "basic", "token", "apikey", "dpop":
		return true
	}
	return false
}

func formsOf(secret string) []string {
	raw := []byte(secret)
	query, path := url.QueryEscape(secret), url.PathEscape(secret)
	quoted := quote(secret)
	return []string{
		secret,
		query, lowerEscapes(query),
		path, lowerEscapes(path),
		quoted, string(JSON([]byte(quoted))), quoteHTML(secret),
		base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
	}
}

var percentEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(s string) string { return percentEscape.ReplaceAllStringFunc(s, strings.ToLower) }

// quote is the inside of a JSON string with only the escapes that JSON demands.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return s // not reached: strings always encode
	}
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

// quoteHTML is quote with <, > and & escaped too, the default of encoding/json.
func quoteHTML(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s // not reached: strings always encode
	}
	return string(b[1 : len(b)-1])
}

// Format prints *** whatever the verb, so that no log line can hold the secrets.
func (r *Redactor) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(mask)) }

// Bytes is String for bytes. The result may be b itself when nothing was found.
func (r *Redactor) Bytes(b []byte) []byte {
	s := string(b)
	if clean := r.String(s); clean != s {
		return []byte(clean)
	}
	return b
}

// String gives s with every known secret replaced by ***.
func (r *Redactor) String(s string) string { return r.Replace(s, mask) }

// Replace gives s with every known secret replaced by mark.
func (r *Redactor) Replace(s, mark string) string {
	found := r.matches(s)
	if len(found) == 0 {
		return s
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var b strings.Builder
	end := 0 // of what is written or masked
	for _, m := range found {
		if m.start >= end {
			b.WriteString(s[end:m.start])
			b.WriteString(mark)
		}
		end = max(end, m.end)
	}
	b.WriteString(s[end:])
	return b.String()
}

// matches finds the secrets in s, in no order.
func (r *Redactor) matches(s string) []span {
	if r == nil {
		return nil
	}
	found := r.base.matches(s)
	r.mu.RLock()
	forms, lower := r.forms, r.lower
	r.mu.RUnlock()
	for _, form := range forms {
		found = appendMatches(found, s, form)
	}
	if len(lower) > 0 && utf8.ValidString(s) { // else Map would move bytes
		small := lowerASCII(s)
		for _, form := range lower {
			found = appendMatches(found, small, form)
		}
	}
	return found
}

type span struct{ start, end int }

func appendMatches(found []span, s, form string) []span {
	for from := 0; ; {
		i := strings.Index(s[from:], form)
		if i < 0 {
			return found
		}
		m := span{from + i, from + i + len(form)}
		if len(form) >= shortSecret || alone(s, m) {
			found = append(found, m)
		}
		from = m.start + 1 // matches of one form can overlap: "abab" in "ababab"
	}
}

// alone reports whether no part of a word touches the span.
func alone(s string, m span) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:m.start])
	after, _ := utf8.DecodeRuneInString(s[m.end:])
	return !inWord(before) && !inWord(after)
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
