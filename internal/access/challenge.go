package access

import (
	"strings"
)

const (
	maxChallenges    = 16
	maxParams        = 32
	maxChallengeSize = 8 << 10
)

// Challenge is one way to authenticate that a server offers in WWW-Authenticate
// (RFC 9110, section 11.6.1). All of it is as the server wrote it, unescaped but
// not otherwise cleaned: untrusted text.
type Challenge struct {
	Scheme  string // in the server's spelling; compare without regard to case
	Token68 string // such as the continuation of Negotiate; usually empty
	// Params maps lower-case names to unquoted values. Of a repeated name, which
	// the RFC forbids, the first value is kept. It is nil without parameters.
	Params map[string]string
}

// ParseChallenges reads the values of all WWW-Authenticate fields of a response,
// each of which can hold several challenges, in the order of the wire.
//
// It never fails: what fits no challenge is skipped up to the next parameter or
// plausible scheme. It reads at most the first 8 KiB of a value, and keeps at
// most 16 challenges with 32 parameters each.
func ParseChallenges(values []string) []Challenge {
	var found []Challenge
	for _, value := range values {
		if len(value) > maxChallengeSize {
			value = value[:maxChallengeSize]
		}
		p := challengeParser{rest: value, room: maxChallenges - len(found)}
		found = append(found, p.run()...)
	}
	return found
}

// Bearer gives the challenge of scheme Bearer (RFC 6750) to follow: the first
// that names its resource metadata (RFC 9728), or else the first. It reports
// false when there is none.
func Bearer(cs []Challenge) (Challenge, bool) {
	var first Challenge
	found := false
	for _, c := range cs {
		if !strings.EqualFold(c.Scheme, "Bearer") {
			continue
		}
		if c.Params["resource_metadata"] != "" {
			return c, true
		}
		if !found {
			first, found = c, true
		}
	}
	return first, found
}

// challengeParser consumes one field value. The grammar is ambiguous about
// commas, which separate both challenges and their parameters: a token is a
// parameter's name exactly if "=" follows.
type challengeParser struct {
	rest  string
	room  int
	found []Challenge
}

func (p *challengeParser) run() []Challenge {
	atStart := true // of the value or of a list element, where a scheme belongs
	for p.rest != "" {
		switch c := p.rest[0]; {
		case c == ',':
			p.rest, atStart = p.rest[1:], true
			continue
		case c == ' ' || c == '\t':
			p.rest = p.rest[1:]
			continue
		case c == '"':
			p.quoted() // a stray string; its inside must not pass for a challenge
		case !isTokenChar(c):
			p.rest = p.rest[1:]
		default:
			if !p.element(atStart) {
				return p.found
			}
		}
		atStart = false
	}
	return p.found
}

// element consumes what a token starts: a parameter or a scheme. It reports
// false when there is no room for another challenge.
func (p *challengeParser) element(atStart bool) bool {
	name := p.take(isTokenChar)
	if after := strings.TrimLeft(p.rest, " \t"); strings.HasPrefix(after, "=") {
		p.rest = strings.TrimLeft(after[1:], " \t")
		p.param(name, p.value())
		return true
	}
	// Behind something else, as in an unquoted value with spaces, only a scheme
	// that is known counts, since the server may have forgotten the comma.
	if !isLetter(name[0]) || !atStart && !knownScheme(name) {
		return true
	}
	if len(p.found) >= p.room {
		return false
	}
	p.found = append(p.found, Challenge{Scheme: name, Token68: p.token68()})
	return true
}

func (p *challengeParser) param(name, value string) {
	if len(p.found) == 0 {
		return
	}
	c := &p.found[len(p.found)-1]
	name = strings.ToLower(name)
	if _, repeated := c.Params[name]; repeated || len(c.Params) >= maxParams {
		return
	}
	if c.Params == nil {
		c.Params = make(map[string]string)
	}
	c.Params[name] = value
}

// value reads a quoted string, or anything up to a comma or space: servers leave
// URLs unquoted although no token can hold them.
func (p *challengeParser) value() string {
	if strings.HasPrefix(p.rest, `"`) {
		return p.quoted()
	}
	return p.take(func(c byte) bool { return c != ',' && c != ' ' && c != '\t' && c != ';' && c != '"' })
}

// quoted reads a quoted-string; one without an end goes to the end of the value.
func (p *challengeParser) quoted() string {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		c := p.rest[i]
		if c == '"' {
			p.rest = p.rest[i+1:]
			return b.String()
		}
		if c == '\\' && i+1 < len(p.rest) {
			i++
			c = p.rest[i]
		}
		b.WriteByte(c)
	}
	p.rest = ""
	return b.String()
}

// token68 reads the token68 form behind a scheme, if the whole list element has
// that form, and otherwise consumes nothing.
func (p *challengeParser) token68() string {
	ahead := challengeParser{rest: strings.TrimLeft(p.rest, " \t")}
	if len(ahead.rest) == len(p.rest) {
		return ""
	}
	body := ahead.take(isToken68Char)
	if body == "" {
		return ""
	}
	padding := ahead.take(func(c byte) bool { return c == '=' })
	ahead.rest = strings.TrimLeft(ahead.rest, " \t")
	if ahead.rest != "" && ahead.rest[0] != ',' {
		return ""
	}
	p.rest = ahead.rest
	return body + padding
}

func (p *challengeParser) take(accept func(byte) bool) string {
	n := 0
	for n < len(p.rest) && accept(p.rest[n]) {
		n++
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isTokenChar(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func isToken68Char(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("-._~+/", c) >= 0
}

// knownScheme reports the schemes of the IANA registry that servers are seen to
// offer beside Bearer.
func knownScheme(name string) bool {
	switch strings.ToLower(name) {
	case "basic", "bearer", "digest", "dpop", "gnap", "negotiate", "ntlm", "privatetoken":
		return true
	}
	return false
}
