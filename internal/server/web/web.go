// Package web is what the API and the pages share about HTTP: where a request comes from,
// how often, and the cookie of a session.
package web

import (
	"net"
	"net/http"
	"net/netip"
	"time"
)

// SessionCookie is the cookie that holds the token of a session; its name is that of
// CookieName.
const SessionCookie = "mcpvigil_session"

// CookieName is the name of a cookie. Where browsers reach the server by https it has a
// prefix, for which they refuse it from other hosts of the domain, and from who answers
// by http in its place: nobody else can have somebody use a session of theirs.
func CookieName(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

// Session is the cookie for a token, or, for an empty one, what removes it. Secure says
// that browsers reach the server by https: then the cookie is sent over that alone.
func Session(token string, expires time.Time, secure bool) http.Cookie {
	c := http.Cookie{
		Name: CookieName(SessionCookie, secure), Value: token, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
		Expires: expires.UTC(),
	}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}

// Token is the session's token that a request came with, or empty. Secure is as for
// Session.
func Token(r *http.Request, secure bool) string {
	cookie, err := r.Cookie(CookieName(SessionCookie, secure))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// Address is where a request comes from, without the port. Of an IPv6 address it is the
// network, as one host has as many addresses as it likes.
func Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr // of the client of a proxy, no port is known
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if prefix, err := ip.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return ip.String()
}
