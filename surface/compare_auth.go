package surface

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// auth compares the metadata of the login, document by document.
func (d *differ) auth(before, after rawjson.Value) {
	d.explained = true // what is for people only, and the order of sets, is no change
	for _, document := range []struct {
		name      string
		malformed Class
	}{{"issuer", AuthIssuer}, {"resource", AuthResource}} {
		was, is := before.Get(document.name), after.Get(document.name)
		if same(was, is) {
			continue
		}
		d.at(document.name, func() {
			switch {
			case !before.Exists(): // nobody had looked
				d.change(AuthMetadataChanged, was, is, "added")
			case !was.Exists():
				d.change(document.malformed, was, is, "added, where there was none")
			case !is.Exists():
				d.change(document.malformed, was, is, "removed")
			case notObject(was) || notObject(is):
				d.change(document.malformed, was, is, "changed: not an object")
			default:
				d.login(was, is, document.malformed)
			}
		})
	}
}

// login compares two documents of RFC 9728 or RFC 8414. What is signed in them takes
// precedence over the rest, and is compared like that.
func (d *differ) login(before, after rawjson.Value, malformed Class) {
	origins := originsIn(nil, before)
	for _, m := range d.members(before, after) {
		d.at(m.name, func() {
			switch {
			case m.name != memberSigned:
				d.loginMember(m, origins)
			case m.before.Kind() == rawjson.Object && m.after.Kind() == rawjson.Object:
				d.login(m.before, m.after, malformed)
			default:
				d.change(malformed, m.before, m.after, "signed metadata "+comingOr(m.before, m.after, "changed"))
			}
		})
	}
}

func (d *differ) loginMember(m member, origins []string) {
	coming := comingOr(m.before, m.after, "changed")
	if isDisplay([]byte(m.name)) {
		return
	}
	switch strings.ToLower(m.name) { // some clients do not tell letter case apart
	case "resource":
		d.location(m, AuthResource, "resource "+coming)
	case "issuer":
		d.location(m, AuthIssuer, "issuer "+coming)
	case "authorization_servers":
		d.location(m, AuthIssuer, "authorization servers "+coming)
	case "scopes_supported":
		d.change(AuthScopes, m.before, m.after, "scopes "+coming)
	case "code_challenge_methods_supported":
		if offersS256(m.before) && !offersS256(m.after) {
			d.change(AuthS256Lost, m.before, m.after, "PKCE with S256 is no longer offered")
		} else {
			d.change(AuthMetadataChanged, m.before, m.after, "PKCE methods "+coming)
		}
	case "mtls_endpoint_aliases":
		if m.after.Kind() != rawjson.Object {
			d.change(AuthMetadataChanged, m.before, m.after, coming)
			return
		}
		for _, alias := range d.members(m.before, m.after) {
			d.at(alias.name, func() { d.endpoint(alias, origins) })
		}
	default:
		d.endpoint(m, origins)
	}
}

// location reports other URLs than before; a slash at their end is no difference.
func (d *differ) location(m member, class Class, detail string) {
	if !slices.Equal(locations(m.before), locations(m.after)) {
		d.change(class, m.before, m.after, detail)
	}
}

// locations gives one URL or a set of them, in a form that can be compared.
func locations(v rawjson.Value) []string {
	elems := v.Elems()
	if v.Kind() != rawjson.Array && v.Exists() {
		elems = []rawjson.Value{v}
	}
	var out []string
	for _, e := range elems {
		raw := string(e.Raw())
		if text, ok := strings.CutSuffix(raw, `/"`); ok {
			raw = text + `"`
		}
		out = append(out, raw)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func offersS256(v rawjson.Value) bool {
	return slices.ContainsFunc(v.Elems(), func(e rawjson.Value) bool {
		method, _ := e.Text()
		return method == "S256"
	})
}

// endpoint compares any other member: what a login is sent to has a host, which is
// either that of before or, when the endpoint is new, one of the hosts of before.
func (d *differ) endpoint(m member, origins []string) {
	coming := comingOr(m.before, m.after, "changed")
	if !isEndpoint(m.name) || !m.after.Exists() {
		d.change(AuthMetadataChanged, m.before, m.after, coming)
		return
	}
	if m.before.Exists() {
		origins = []string{originOf(m.before)}
	}
	if slices.Contains(origins, originOf(m.after)) {
		d.change(AuthMetadataChanged, m.before, m.after, "endpoint "+coming+", on a host that was approved")
	} else {
		d.change(AuthEndpointHost, m.before, m.after, "endpoint "+coming+", on another host")
	}
}

func isEndpoint(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "_endpoint") || strings.HasSuffix(name, "_uri")
}

// originsIn appends the origins of the issuer and of all endpoints.
func originsIn(origins []string, document rawjson.Value) []string {
	for name, v := range document.Members() {
		switch {
		case name == "mtls_endpoint_aliases", name == memberSigned:
			origins = originsIn(origins, v)
		case name == "issuer", isEndpoint(name) && !isDisplay([]byte(name)):
			origins = append(origins, originOf(v))
		}
	}
	return origins
}

// originOf gives scheme, host and port; of what is no URL, its bytes.
func originOf(v rawjson.Value) string {
	text, _ := v.Text()
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return string(v.Raw())
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}
