package config

import (
	"strings"
)

// expansion is one ${NAME} or ${NAME:-default} in a text, or text around it.
type expansion struct {
	text     string // as it is written, when name is empty
	name     string
	fallback string
	has      bool // a fallback is given
}

// cutVariables splits s at its ${…}. $${ stands for a plain ${. It reports
// false when a ${ is not closed or holds no name.
func cutVariables(s string) ([]expansion, bool) {
	var out []expansion
	for {
		at := strings.Index(s, "${")
		if at < 0 {
			return append(out, expansion{text: s}), true
		}
		if at > 0 && s[at-1] == '$' {
			out = append(out, expansion{text: s[:at-1] + "${"})
			s = s[at+2:]
			continue
		}
		end := strings.IndexByte(s[at:], '}')
		if end < 0 {
			return nil, false
		}
		name, fallback, has := strings.Cut(s[at+2:at+end], ":-")
		if !ValidVariable(name) {
			return nil, false
		}
		out = append(out, expansion{text: s[:at]}, expansion{name: name, fallback: fallback, has: has})
		s = s[at+end+1:]
	}
}

// expandText replaces the variables of s and names those that are not set. ok
// is false when s is malformed.
func expandText(s string, lookup func(string) (string, bool)) (out string, missing []string, ok bool) {
	parts, ok := cutVariables(s)
	if !ok {
		return s, nil, false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		value, set := lookup(p.name)
		switch {
		case set && value != "":
			b.WriteString(value)
		case p.has:
			b.WriteString(p.fallback)
		default:
			missing = append(missing, p.name)
		}
	}
	return b.String(), missing, true
}
