package server

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// behind has requests that come from a trusted proxy be those of the proxy's client, so
// that all that follows (limits, sessions, the audit) knows a client by RemoteAddr alone.
// X-Forwarded-For of anybody else, and every other header of the kind, is not read.
func behind(trusted []netip.Prefix, next http.Handler) http.Handler {
	if len(trusted) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client, ok := clientOf(trusted, r.RemoteAddr, r.Header.Values("X-Forwarded-For")); ok {
			r = r.WithContext(r.Context()) // a copy: the request is the server's
			r.RemoteAddr = client
		}
		next.ServeHTTP(w, r)
	})
}

// clientOf is the address of the client of a trusted proxy: the rightmost one that is no
// trusted proxy itself. Each proxy adds at the right where a request came from, so that
// what stands further to the left was written by who must not be believed. Where a proxy
// wrote no address, or there are only proxies, it is the last one that is known.
func clientOf(trusted []netip.Prefix, remote string, forwarded []string) (client string, ok bool) {
	last, ok := address(remote)
	if !ok || !within(trusted, last) {
		return "", false
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, ok := address(strings.TrimSpace(hop))
		if !ok {
			break
		}
		if last = ip; !within(trusted, ip) {
			break
		}
	}
	return last.String(), true
}

func within(networks []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// address reads an address with or without a port.
func address(text string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = withPort.Addr()
	}
	return ip.Unmap().WithZone(""), true
}
