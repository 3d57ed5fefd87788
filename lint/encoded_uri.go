package lint

import (
	"strings"
	"unicode"
)

// schemes reports URIs that carry a page or a script themselves.
func schemes(t *text) {
	for i := range len(t.s) {
		if t.s[i] != ':' {
			continue
		}
		scheme := schemeBefore(t.s[:i])
		if scheme == "" {
			continue
		}
		rest := t.s[i+1 : min(len(t.s), i+1+maxSchemeIn)]
		start := i - len(scheme)
		switch {
		case scheme == "data":
			media, content, ok := strings.Cut(strings.ToLower(rest), ",")
			if !ok || !activeType(media) || t.role == roleSource && strings.Contains(media, "svg") {
				continue
			}
			severity := Block
			if trifle(media, content) && !t.identifier() {
				severity = Note
			}
			matched, _, _ := strings.Cut(t.s[start:min(len(t.s), start+maxWholeURL)], " ")
			t.item.report(hit{severity, matched, "a data: URI that carries a page or a script", excerpt(t.s, start, i+1+len(media)), t.spot(start, start+len(matched))})
		case rest != "" && !strings.HasPrefix(rest, "void(0)"):
			end := strings.IndexFunc(rest, unicode.IsSpace)
			if end < 0 {
				end = len(rest)
			}
			if strings.ContainsAny(rest[:end], "(=") {
				t.found(Block, start, i+1+end, "a URI that is a script")
			}
		}
	}
}

// maxTrifle is how much of a script an example in documentation has, in bytes.
const maxTrifle = 24

// trifle reports a script that is too short to do anything, and loads none.
func trifle(media, content string) bool {
	if end := strings.IndexAny(content, " \n\"`"); end >= 0 {
		content = content[:end]
	}
	return strings.HasSuffix(media, "/javascript") && len(content) <= maxTrifle && !strings.Contains(content, "//")
}

// schemeBefore is the scheme that ends s, in lower case, if it is one that can
// carry content.
func schemeBefore(s string) string {
	for _, scheme := range []string{"data", "javascript", "vbscript"} {
		at := len(s) - len(scheme)
		if at >= 0 && strings.EqualFold(s[at:], scheme) && (at == 0 || charClass[s[at-1]]&classWord == 0) {
			return scheme
		}
	}
	return ""
}

// activeType reports media types that a client may run or show as a page.
func activeType(media string) bool {
	media = strings.TrimSpace(media)
	for _, active := range []string{"text/html", "application/xhtml", "image/svg", "text/xml", "application/xml", "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript", "application/x-javascript"} {
		if strings.HasPrefix(media, active) {
			return true
		}
	}
	return false
}
