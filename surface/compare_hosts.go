package surface

import (
	"bytes"
	"cmp"
	"iter"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// newHosts reports the hosts in URLs of new and changed items that belong to nobody
// whom a text of before names: one change for a host, at its first place. The
// metadata of the login has classes of its own, and only adds to what is known.
func (c *comparer) newHosts(before *Surface) {
	slices.SortStableFunc(c.seen, func(x, y Item) int {
		return cmp.Or(cmp.Compare(x.Kind.order(), y.Kind.order()), strings.Compare(x.Name, y.Name))
	})
	var h hostFinder
	for _, item := range c.seen {
		if item.Kind == Auth || !h.finds(before, item.Definition) {
			continue
		}
		h.differ = differ{comparer: c, kind: item.Kind, item: item.Name}
		v, _, _ := rawjson.Parse(item.Definition)
		h.walk(v)
	}
}

// hostFinder reports hosts, each once.
type hostFinder struct {
	differ
	known map[string]bool // owners in before; nil until there is a host to look up
	found map[string]bool // hosts that were reported
}

// finds reports whether a canonical text has a host to report.
func (h *hostFinder) finds(before *Surface, text []byte) bool {
	for host := range hostsIn(text) {
		if isReserved(host) {
			continue
		}
		if h.known == nil {
			h.known, h.found = make(map[string]bool), make(map[string]bool)
			for _, item := range before.items {
				for host := range hostsIn(item.Definition) {
					h.known[ownerOf(host)] = true
				}
			}
		}
		if h.isNew(host) {
			return true
		}
	}
	return false
}

func (h *hostFinder) isNew(host string) bool {
	return !h.found[host] && !isReserved(host) && !h.known[ownerOf(host)]
}

// walk reports the new hosts in the strings and member names of v.
func (h *hostFinder) walk(v rawjson.Value) {
	if v.Kind() == rawjson.String {
		h.report(v.Raw())
		return
	}
	for i, e := range v.Elems() {
		h.atIndex(element{i, e}, func() { h.walk(e) })
	}
	for name, m := range v.RawMembers() {
		h.at(decoded(string(name)), func() {
			h.report(name)
			h.walk(m)
		})
	}
}

func (h *hostFinder) report(text []byte) {
	for host := range hostsIn(text) {
		if h.isNew(host) {
			h.found[host] = true
			quoted, _, _ := rawjson.Parse(rawjson.Quote([]byte(host)))
			h.change(HostAdded, rawjson.Value{}, quoted, "names a host that no approved text names")
		}
	}
}

// hostsIn yields the hosts of URLs in the strings of a canonical text, in lower case and
// without port: those of URLs in a text, and that to which a browser goes when a string
// is a URL as a whole.
func hostsIn(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			start := bytes.IndexByte(text, '"')
			if start < 0 {
				return
			}
			text = text[start+1:]
			end := stringEnd(text)
			if !hostsOf(text[:end], yield) {
				return
			}
			text = text[end+1:]
		}
	}
}

// stringEnd is the place of the quote that ends a string.
func stringEnd(text []byte) int {
	for at := 0; ; at++ {
		at += bytes.IndexByte(text[at:], '"')
		escapes := 0
		for escapes < at && text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// hostsOf yields the hosts in what lies between the quotes of a string. A scheme that is
// no web address counts when the host has a dot, so that the made-up schemes of
// resources do not. As in a browser, any slash behind the scheme of a web address will
// do, and any number of them.
func hostsOf(text []byte, yield func(string) bool) bool {
	if host := hostOfURL(text); host != "" && !yield(host) {
		return false
	}
	for {
		colon := bytes.IndexByte(text, ':')
		if colon < 0 {
			return true
		}
		scheme := schemeBefore(text[:colon])
		text = text[colon+1:]
		rest, slashes := cutSlashes(text)
		isURL := bytes.HasPrefix(text, []byte("//"))
		switch web := isWeb(scheme); {
		case slashes == 0, !isURL && !web:
			continue
		case !web:
			rest = text[len("//"):]
		}
		text = rest
		host := hostAt(text)
		if host == "" || (!isURL || !isWeb(scheme)) && !strings.ContainsAny(host, ".:") {
			continue
		}
		if !yield(host) {
			return false
		}
	}
}

// cutSlashes cuts off slashes and, as they are escaped, backslashes.
func cutSlashes(text []byte) (rest []byte, count int) {
	for {
		cut, ok := bytes.CutPrefix(text, []byte("/"))
		if !ok {
			cut, ok = bytes.CutPrefix(text, []byte(`\\`))
		}
		if !ok {
			return text, count
		}
		text = cut
		count++
	}
}

// hostOfURL gives the host to which a browser goes for what lies between the quotes of a
// string, when that is a URL as a whole: without blanks and control characters around
// it and line ends and tabs anywhere, with or without a scheme.
func hostOfURL(text []byte) string {
	text = bytes.TrimLeft(text[:min(len(text), maxHost)], " ")
	if !mayBeURL(text) {
		return ""
	}
	if cut := bytes.LastIndexByte(text, '\\'); cut >= 0 && len(text) == maxHost {
		text = text[:cut] // it may be half an escape, and then goes with what is before it
		text = bytes.TrimRight(text, `\`)
	}
	url := strings.TrimFunc(decoded(`"`+string(text)+`"`), func(r rune) bool { return r <= ' ' })
	url = strings.Map(func(r rune) rune {
		switch r {
		case '\t', '\n', '\r':
			return -1
		case '\\':
			return '/'
		}
		return r
	}, url)
	scheme, rest, _ := strings.Cut(url, ":")
	switch authority := strings.TrimLeft(rest, "/"); {
	case isWeb(strings.ToLower(scheme)):
		return browserHost(authority)
	case strings.HasPrefix(url, "//"):
		if host := browserHost(strings.TrimLeft(url, "/")); strings.ContainsAny(host, ".:") {
			return host
		}
	}
	return ""
}

// mayBeURL saves decoding what does not begin like a URL: with a slash, an escape, or
// the scheme of a web address, which may have escapes in it.
func mayBeURL(text []byte) bool {
	switch {
	case len(text) == 0:
		return false
	case text[0] == '/' || text[0] == '\\':
		return true
	case strings.IndexByte("hHwWfF", text[0]) < 0:
		return false
	}
	scheme := text[:max(0, bytes.IndexByte(text, ':'))]
	return bytes.IndexByte(scheme, '\\') > 0 || len(scheme) <= len("https") && isWeb(strings.ToLower(string(scheme)))
}

// browserHost gives the host of a URL without its scheme, or nothing if it has none that
// could be reached.
func browserHost(authority string) string {
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority = authority[:end]
	}
	if strings.ContainsAny(authority, " <>^|\"'`(){},;*") {
		return "" // a text, or a place for a host
	}
	host := hostAt([]byte(authority))
	mapped, err := idna.New(idna.MapForLookup(), idna.Transitional(false)).ToUnicode(host)
	if err != nil {
		return host
	}
	return mapped
}

func isWeb(scheme string) bool {
	switch scheme {
	case "http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh":
		return true
	}
	return false
}

// schemeBefore gives the scheme that text ends with, of a sensible length.
func schemeBefore(text []byte) string {
	at := len(text)
	for at > 0 && len(text)-at < 16 && isSchemeByte(text[at-1]) {
		at--
	}
	return strings.ToLower(string(text[at:]))
}

func isSchemeByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || digit(c) || c == '+' || c == '-' || c == '.'
}

// maxHost is beyond the longest name of the DNS; a URL with a longer one, credentials
// included, has no host that could be reached.
const maxHost = 1024

// hostAt gives the host of a URL whose authority starts text.
func hostAt(text []byte) string {
	text = text[:min(len(text), maxHost)]
	if end := bytes.IndexAny(text, "/?#\\\"'`<>(){}|^ ,;\u3000\u3001"); end >= 0 {
		text = text[:end]
	}
	text = withoutStops(text)
	text = text[bytes.LastIndexByte(text, '@')+1:]
	if bytes.HasPrefix(text, []byte("[")) { // IPv6
		host, _, _ := bytes.Cut(text[1:], []byte("]"))
		return strings.ToLower(string(host))
	}
	name, _, _ := bytes.Cut(text, []byte(":"))
	host, err := url.PathUnescape(string(name)) // as browsers do
	if err != nil || strings.HasPrefix(host, "$") {
		return "" // a place for one
	}
	return strings.Trim(strings.ToLower(host), ".*!]&")
}

// withoutStops cuts a name at a full stop of Chinese or Japanese, which ends a sentence,
// but for those inside of the name, which a browser reads as dots.
func withoutStops(name []byte) []byte {
	parts := bytes.Split(name, []byte("\u3002"))
	out := slices.Clip(parts[0]) // not to write into the text
	for _, part := range parts[1:] {
		if len(part) == 0 || !isSchemeByte(part[0]) {
			break
		}
		out = append(append(out, '.'), part...)
	}
	return out
}

// ownerOf gives what one owner registers: the domain below a public suffix, or the
// host itself when it is none.
func ownerOf(host string) string {
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		if _, err := netip.ParseAddr(host); err != nil {
			return domain
		}
	}
	return host
}

// isReserved tells hosts that nobody can take over, or that schemas name for what
// they mean.
func isReserved(host string) bool {
	switch ownerOf(host) {
	case "json-schema.org", "schema.org", "w3.org", "spdx.org", "example.com", "example.org", "example.net":
		return true
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsLoopback() {
		return true
	}
	for _, top := range []string{"localhost", "example"} {
		if host == top || strings.HasSuffix(host, "."+top) {
			return true
		}
	}
	return false
}
