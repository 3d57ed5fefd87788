package surface

import (
	"bytes"
	"cmp"
	"iter"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// newHosts reports the hosts in URLs of new and changed items that belong to nobody
// whom a text of before names: one change for a host, at its first place. The
// metadata of the login has classes of its own, and only adds to what is known.
func (c *comparer) newHosts(before *Surface) {
	order := kindOrder()
	slices.SortStableFunc(c.seen, func(x, y Item) int {
		return cmp.Or(cmp.Compare(order[x.Kind], order[y.Kind]), strings.Compare(x.Name, y.Name))
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

// walk reports the new hosts in the strings and member names of v, which holds some.
func (h *hostFinder) walk(v rawjson.Value) {
	if !bytes.Contains(v.Raw(), []byte("://")) {
		return
	}
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

// hostsIn yields the hosts of URLs in a canonical text, in lower case and without
// port. A scheme that is no web address counts when the host has a dot, so that the
// made-up schemes of resources do not.
func hostsIn(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			colon := bytes.Index(text, []byte("://"))
			if colon < 0 {
				return
			}
			scheme := schemeBefore(text[:colon])
			text = text[colon+len("://"):]
			host := hostAt(text)
			if host == "" || !isWeb(scheme) && !strings.ContainsAny(host, ".:") {
				continue
			}
			if !yield(host) {
				return
			}
		}
	}
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
	if end := bytes.IndexAny(text, "/?#\\\"'`<>(){}|^ ,;\u3000\u3001\u3002"); end >= 0 {
		text = text[:end]
	}
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
