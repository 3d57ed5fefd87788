package access

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	wellKnownServer   = "/.well-known/oauth-authorization-server"
	wellKnownOIDC     = "/.well-known/openid-configuration"

	maxURL  = 2048 // bytes of a URL that is used
	maxShow = 300  // runes of a quoted string
)

// trust says which URLs may be asked.
type trust struct {
	// loopback allows this machine. Only somebody on it may send a check there:
	// a server elsewhere could otherwise make it knock on local doors.
	loopback bool
}

// urlFault is why a URL is not used: a reason and a clause about it.
type urlFault struct{ reason, text string }

// check parses an absolute URL and reports why it may not be asked.
func (t trust) check(raw string) (*url.URL, *urlFault) {
	u, err := url.Parse(raw)
	switch {
	case len(raw) > maxURL:
		return nil, &urlFault{ReasonMetadataMalformed, "is longer than any sensible URL"}
	case err != nil || u.Hostname() == "" || u.Opaque != "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, &urlFault{ReasonMetadataMalformed, "is not an absolute http or https URL"}
	case u.User != nil:
		return nil, &urlFault{ReasonMetadataMalformed, "holds a user name"}
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, &urlFault{ReasonMetadataMalformed, "has a fragment"}
	case !isLoopback(u.Hostname()) && u.Scheme == "http":
		return nil, &urlFault{ReasonMetadataScheme, "is plain http"}
	case isNowhere(u.Hostname()):
		return nil, &urlFault{ReasonMetadataLoopback, "points to an address that no server on a network has (link-local, multicast or unspecified)"}
	case isLoopback(u.Hostname()) && !t.loopback:
		return nil, &urlFault{ReasonMetadataLoopback, "points to the machine of whoever reads it"}
	}
	return u, nil
}

// checkIssuer is check for an issuer, which has no query (RFC 8414, section 2).
func (t trust) checkIssuer(raw string) (*url.URL, *urlFault) {
	u, fault := t.check(raw)
	if fault == nil && (u.RawQuery != "" || u.ForceQuery) {
		return nil, &urlFault{ReasonMetadataMalformed, "has a query"}
	}
	return u, fault
}

// isLoopback reports whether host (without port) is this machine: localhost, a
// name under .localhost (RFC 6761), or a loopback address.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isNowhere reports whether host is an address at which only the machine of
// whoever reads it has something, such as the metadata service of a cloud.
func isNowhere(host string) bool {
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	return err == nil && (addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified())
}

// originOf gives scheme, host and port in one comparable form (RFC 6454).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// ResourceOf is the canonical resource identifier of an endpoint (RFC 8707): its
// URL with scheme and host in lower case, without a lone "/" for a path, query
// and fragment.
func ResourceOf(endpoint *url.URL) string {
	u := atPath(endpoint, strings.TrimSuffix(endpoint.EscapedPath(), "/"))
	if endpoint.EscapedPath() != "/" {
		u = atPath(endpoint, endpoint.EscapedPath())
	}
	return u.String()
}

// atPath is the URL of another path (escaped) at the origin of u.
func atPath(u *url.URL, escaped string) *url.URL {
	to := &url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host)}
	if path, err := url.PathUnescape(escaped); err == nil {
		to.Path, to.RawPath = path, escaped
	}
	return to
}

// resourceLocations lists where the metadata of a resource can be, in order
// (RFC 9728, section 3.1, then the root as the MCP specification adds).
func resourceLocations(endpoint *url.URL) []*url.URL {
	path := endpoint.EscapedPath()
	root := atPath(endpoint, wellKnownResource)
	if path == "" || path == "/" {
		return []*url.URL{root}
	}
	return []*url.URL{atPath(endpoint, wellKnownResource+path), root}
}

// serverLocations lists where the metadata of an issuer can be, in order: RFC
// 8414, section 3.1, then OpenID Connect Discovery with the path inserted in the
// same way, then appended as OpenID has it.
func serverLocations(issuer *url.URL) []*url.URL {
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	found := []*url.URL{atPath(issuer, wellKnownServer+path), atPath(issuer, wellKnownOIDC+path)}
	if path != "" {
		found = append(found, atPath(issuer, path+wellKnownOIDC))
	}
	return found
}

// sameButSlash reports whether a and b differ by a final slash only.
func sameButSlash(a, b string) bool {
	return a != b && (a+"/" == b || a == b+"/")
}

// The ways in which the resource of the metadata can differ from the endpoint.
const (
	KindSlashOnly   = "slash-only"
	KindSpelling    = "spelling" // equal after normalisation: case of the host, default port
	KindOriginOnly  = "origin-only"
	KindSiblingPath = "sibling-path" // a path over the endpoint's
	KindOtherPath   = "other-path"
	KindOtherOrigin = "other-origin"
	KindScheme      = "scheme" // http in place of https
)

// resourceKind compares the resource that metadata names with the endpoint; ""
// is equality. A query of the endpoint is no part of the comparison unless the
// resource has one too.
func resourceKind(resource string, endpoint *url.URL) string {
	want := ResourceOf(endpoint)
	exact := atPath(endpoint, endpoint.EscapedPath()).String()
	withQuery := exact
	if endpoint.RawQuery != "" {
		withQuery += "?" + endpoint.RawQuery
	}
	switch resource {
	case want, exact, withQuery:
		return ""
	}
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" {
		return KindOtherOrigin
	}
	secure := *u
	secure.Scheme = endpoint.Scheme
	switch path, of := strings.TrimSuffix(u.EscapedPath(), "/"), strings.TrimSuffix(endpoint.EscapedPath(), "/"); {
	case originOf(u) != originOf(endpoint) && originOf(&secure) == originOf(endpoint), u.Scheme != endpoint.Scheme && strings.EqualFold(u.Host, endpoint.Host):
		return KindScheme
	case originOf(u) != originOf(endpoint):
		return KindOtherOrigin
	case u.RawQuery != "" || u.Fragment != "":
		return KindOtherPath
	case sameButSlash(resource, want) || sameButSlash(resource, exact):
		return KindSlashOnly
	case path == of:
		return KindSpelling
	case path == "":
		return KindOriginOnly
	case strings.HasPrefix(of, path+"/"):
		return KindSiblingPath
	}
	return KindOtherPath
}

// acceptable reports whether a resource of this kind still stands for the
// endpoint: mainstream clients use it, some strict ones refuse.
func acceptable(kind string) bool {
	switch kind {
	case "", KindSlashOnly, KindSpelling, KindOriginOnly, KindSiblingPath:
		return true
	}
	return false
}

// showURL writes a URL safe to show: without userinfo and values of its query.
func showURL(u *url.URL) string {
	shown := *u
	shown.User = nil
	if shown.RawQuery != "" {
		shown.RawQuery = masked
	}
	return plain.Line(shown.String(), maxShow)
}
