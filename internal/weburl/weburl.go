// Package weburl answers the questions about URLs that every layer asks in the
// same way: are two of one origin, is a host this machine, and how is a URL
// shown without what must not be shown. It imports the standard library alone.
package weburl

import (
	"net/netip"
	"net/url"
	"strings"
)

// SameOrigin compares scheme, host and port (RFC 6454, 5); the port of the
// scheme counts when none is written.
func SameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	case strings.EqualFold(u.Scheme, "http"):
		return "80"
	}
	return ""
}

// Loopback reports whether host, without port, is this machine: localhost, a
// name under .localhost (RFC 6761, 6.3), or a loopback address.
func Loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// Redact returns u fit to be shown: without userinfo and fragment, and with the
// values of its query replaced by "***", since keys are often handed over there.
func Redact(u *url.URL) string {
	shown := *u
	shown.User, shown.Fragment, shown.RawFragment = nil, "", ""
	if shown.RawQuery != "" {
		pairs := strings.Split(shown.RawQuery, "&")
		for i, pair := range pairs {
			if name, _, found := strings.Cut(pair, "="); found {
				pairs[i] = name + "=***"
			} else {
				pairs[i] = "***" // a bare word may be a key as well
			}
		}
		shown.RawQuery = strings.Join(pairs, "&")
	}
	return shown.String()
}

// RedactText is [Redact] of a URL that has yet to be parsed.
func RedactText(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(not a URL)"
	}
	return Redact(u)
}
