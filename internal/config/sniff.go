package config

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

var (
	// Prefixes that vendors give their tokens.
	tokenPrefix = regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{8}|github_pat_|glpat-|sk-[A-Za-z0-9_-]{6}|sk_(?:live|test)_|rk_(?:live|test)_|pk_live_|xox[abeoprs]-|xapp-|AKIA[A-Z0-9]{8}|ASIA[A-Z0-9]{8}|eyJ[A-Za-z0-9_-]{10}|AIza[A-Za-z0-9_-]{10}|ya29\.|npm_[A-Za-z0-9]{10}|hf_[A-Za-z0-9]{8}|dop_v1_|lin_api_|secret_[A-Za-z0-9]{10}|ntn_[A-Za-z0-9]{8}|figd_|SG\.[A-Za-z0-9_-]{10}|-----BEGIN)`)
	// Digests that pin an image or a package.
	contentHash = regexp.MustCompile(`sha(?:1|256|512)[:-][A-Za-z0-9+/=]+`)
	// Paths have random parts too, such as temporary directories.
	filePath = regexp.MustCompile(`^(?:~|\.{0,2}/|[A-Za-z]:[/\\])`)
	longRun  = regexp.MustCompile(`[A-Za-z0-9+/_=.-]{20,}`)
	// The user and group of docker run --user.
	ids          = regexp.MustCompile(`^[0-9]+:[0-9]+$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// Variables set in front of a command, as in env API_KEY=x npx server.
	capitals = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*=\S*$`)
	// Names of flags, variables and query parameters that hold secrets.
	secretName = regexp.MustCompile(`(?i)(?:^|[_.-])(?:api[_-]?key|apikey|key|access[_-]?key|token|secret|passw(?:or)?d|passphrase|pwd|auth|authorization|bearer|credentials?|cookie|pat|sig|signature|code)$`)
	// A URL, which need not be a valid one, also where references stand in it: see standIn.
	urlStart   = regexp.MustCompile(`^(?:[A-Za-z\x{E000}-\x{F8FF}][A-Za-z0-9+.\x{E000}-\x{F8FF}-]*://[^\s/?#]|[\x{E000}-\x{F8FF}][^\s?]*[/?])`)
	camelSplit = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// ValidVariable reports whether name can be written where the name of an
// environment variable is expected: letters, digits and underscores, the first
// not a digit. What is not such a name may be the secret itself, put in the
// wrong place: it is never shown.
func ValidVariable(name string) bool { return variableName.MatchString(name) }

// validChildVariable accepts every name that an environment can hold. It is for
// the variables of a program, whose names are not ours to choose.
func validChildVariable(name string) bool {
	return strings.TrimSpace(name) != "" && !strings.ContainsAny(name, "=\x00$")
}

// LooksSecret reports whether text contains something that is built like a
// token: a vendor's prefix, or a long run that mixes letters and digits as no
// word does. It errs towards true.
func LooksSecret(text string) bool {
	text = contentHash.ReplaceAllString(text, "")
	if tokenPrefix.MatchString(text) {
		return true
	}
	return slices.ContainsFunc(longRun.FindAllString(text, -1), randomLike)
}

// randomLike reports whether some part of run between separators is long and
// changes between letters and digits, or between cases, too often for a name.
func randomLike(run string) bool {
	for _, part := range strings.FieldsFunc(run, func(r rune) bool { return strings.ContainsRune("/_.-=", r) }) {
		if len(part) < 16 {
			continue
		}
		var changes, digits int
		last := -1
		for _, r := range part {
			class := 0
			switch {
			case unicode.IsDigit(r):
				class = 1
				digits++
			case unicode.IsUpper(r):
				class = 2
			}
			if last >= 0 && class != last {
				changes++
			}
			last = class
		}
		if changes*4 >= len(part) || digits*4 >= len(part) && changes >= 3 {
			return true
		}
	}
	return false
}

// namesSecret reports whether a flag, variable or parameter of this name
// usually holds a secret.
func namesSecret(name string) bool {
	return secretName.MatchString(camelSplit.ReplaceAllString(strings.TrimLeft(name, "-"), "${1}_$2"))
}

// piece is part of a text: a secret, or what surrounds it.
type piece struct {
	text   string
	secret bool
	label  string // what the secret is, to name a variable after
}

// pieces cuts the secrets out of one argument of a command; before is the
// argument in front of it.
func pieces(arg, before string) []piece {
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") {
		flag := strings.TrimLeft(before, "-")
		switch {
		case flag == "H" || flag == "header" || flag == "headers":
			return headerPieces(arg)
		case flag == "e" || flag == "env":
			return assignment(arg)
		case flag == "u" || flag == "user" || flag == "proxy-user":
			return userPieces(arg)
		case !strings.HasPrefix(arg, "-") && namesSecret(flag):
			return []piece{{arg, true, flag}}
		}
	}
	if strings.HasPrefix(arg, "-") || LooksSecret(arg) || capitals.MatchString(arg) {
		if out := assignment(arg); out != nil {
			return out
		}
	}
	if urlStart.MatchString(arg) {
		return urlPieces(arg)
	}
	if name, value, ok := strings.Cut(arg, ":"); ok && namesSecret(strings.TrimSpace(name)) && strings.TrimSpace(value) != "" {
		return headerPieces(arg)
	}
	if LooksSecret(arg) && (!filePath.MatchString(arg) || tokenPrefix.MatchString(arg)) {
		return []piece{{arg, true, "SECRET"}}
	}
	return nil
}

// userPieces cuts the password of NAME:PASSWORD.
func userPieces(arg string) []piece {
	name, password, ok := strings.Cut(arg, ":")
	if !ok || password == "" || ids.MatchString(arg) {
		return nil
	}
	return []piece{{text: name + ":"}, {password, true, "PASSWORD"}}
}

// assignment cuts NAME=VALUE after its =, when the name or the value says that
// it is a secret.
func assignment(arg string) []piece {
	name, value, ok := strings.Cut(arg, "=")
	if !ok || value == "" || strings.Contains(name, "://") {
		return nil
	}
	if flag := strings.TrimLeft(name, "-"); flag == "header" || flag == "H" {
		return prepend(name+"=", headerPieces(value))
	}
	if !namesSecret(name) && !LooksSecret(value) {
		if urlStart.MatchString(value) {
			return prepend(name+"=", urlPieces(value))
		}
		return nil
	}
	return []piece{{text: name + "="}, {value, true, strings.TrimLeft(name, "-")}}
}

func prepend(text string, rest []piece) []piece {
	if rest == nil {
		return nil
	}
	return append([]piece{{text: text}}, rest...)
}

// headerPieces cuts the value of "Name: value" and keeps its scheme.
func headerPieces(arg string) []piece {
	name, value, ok := strings.Cut(arg, ":")
	if !ok || strings.TrimSpace(value) == "" {
		return nil
	}
	if !namesSecret(strings.TrimSpace(name)) && !LooksSecret(value) {
		return nil
	}
	prefix, secret := splitScheme(strings.TrimLeft(value, " "))
	lead := value[:len(value)-len(strings.TrimLeft(value, " "))]
	return []piece{{text: name + ":" + lead + prefix}, {secret, true, strings.TrimSpace(name)}}
}

// splitScheme splits "Bearer x" into "Bearer " and "x".
func splitScheme(value string) (prefix, secret string) {
	for _, scheme := range []string{"Bearer ", "Basic ", "Token ", "ApiKey "} {
		if len(value) > len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) {
			return value[:len(scheme)], value[len(scheme):]
		}
	}
	return "", value
}

// span is a secret within a URL.
type span struct {
	from, to int
	label    string
}

// urlPieces cuts the password, the secret parameters and a key in the path out
// of raw, which matches urlStart.
func urlPieces(raw string) []piece {
	spans := append(passwordSpan(raw), querySpans(raw)...)
	if len(spans) == 0 || spans[0].label == "PASSWORD" {
		spans = append(spans, pathSpan(raw)...)
	}
	if len(spans) == 0 {
		return nil
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []piece
	at := 0
	for _, s := range spans {
		out = append(out, piece{text: raw[at:s.from]}, piece{raw[s.from:s.to], true, s.label})
		at = s.to
	}
	if at < len(raw) {
		out = append(out, piece{text: raw[at:]})
	}
	return out
}

// passwordSpan finds the password before the host, or the user name when it
// stands alone.
func passwordSpan(raw string) []span {
	start := strings.Index(raw, "://") + len("://")
	if start < len("://") {
		return nil
	}
	authority := raw[start:]
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	from := strings.IndexByte(authority, ':') + 1
	if at < 0 {
		return nil
	}
	if from > at {
		from = 0
	}
	if from >= at {
		return nil
	}
	return []span{{start + from, start + at, "PASSWORD"}}
}

// querySpans finds the values of secret parameters.
func querySpans(raw string) []span {
	body, _, _ := strings.Cut(raw, "#")
	q := strings.IndexByte(body, '?')
	if q < 0 {
		return nil
	}
	var out []span
	at := q + 1
	for _, part := range strings.Split(body[at:], "&") {
		name, value, _ := strings.Cut(part, "=")
		if value != "" && (namesSecret(name) || LooksSecret(value)) {
			out = append(out, span{at + len(name) + 1, at + len(part), name})
		}
		at += len(part) + 1
	}
	return out
}

// pathSpan finds the first segment of the path that is built like a key, since
// some servers take it there.
func pathSpan(raw string) []span {
	start := 0
	if scheme, _, ok := strings.Cut(raw, "://"); ok {
		start = len(scheme) + len("://")
	}
	end := len(raw)
	if q := strings.IndexAny(raw[start:], "?#"); q >= 0 {
		end = start + q
	}
	slash := strings.IndexByte(raw[start:end], '/')
	if slash < 0 {
		return nil
	}
	at := start + slash + 1
	for _, segment := range strings.Split(raw[at:end], "/") {
		if len(segment) >= 20 && LooksSecret(segment) {
			return []span{{at, at + len(segment), "PATH_KEY"}}
		}
		at += len(segment) + 1
	}
	return nil
}

// ShowArgs returns the arguments of a command fit to be shown: the same number,
// with *** for what looks like a secret. args is not modified; it is returned
// itself when nothing is hidden.
func ShowArgs(args []string) []string {
	out := args
	before := ""
	for i, arg := range args {
		if shown := showArg(arg, before); shown != arg {
			if &out[0] == &args[0] {
				out = slices.Clone(args)
			}
			out[i] = shown
		}
		before = arg
	}
	return out
}

// showArg masks the secrets in arg; before is the argument in front of it. The
// patterns catch those within a longer text, such as the script of sh -c.
func showArg(arg, before string) string {
	if cut := pieces(arg, before); cut != nil {
		return maskPieces(arg, cut)
	}
	return plain.Patterns(arg)
}

// maskPieces returns text with *** for each secret that it was cut into.
func maskPieces(text string, cut []piece) string {
	if cut == nil {
		return text
	}
	var b strings.Builder
	for _, p := range cut {
		if p.secret {
			b.WriteString("***")
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// unreferenced returns cut with the secrets that hold a ${NAME} as plain text:
// what is only referred to can be shown.
func unreferenced(cut []piece) []piece {
	out := slices.Clone(cut)
	for i := range out {
		out[i].secret = out[i].secret && !strings.Contains(out[i].text, "${")
	}
	return out
}
