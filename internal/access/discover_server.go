package access

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

func (a *auditor) resource() {
	doc := a.ladder.ResourceMetadata
	if doc == nil {
		a.skip(RungResource, "there is no resource metadata")
		return
	}
	r := a.rung(RungResource)
	want := ResourceOf(a.cfg.Endpoint)
	if doc.Resource == "" {
		r.mark(Failed, ReasonMetadataMalformed, "the resource metadata names no resource", fmt.Sprintf("add \"resource\": %q", want))
		return
	}
	r.Kind = resourceKind(doc.Resource, a.cfg.Endpoint)
	given := a.client.quote(doc.Resource)
	r.Text = "the resource is " + given
	if acceptable(r.Kind) {
		a.ladder.Resource = doc.Resource
	}
	hint := fmt.Sprintf("set resource to %q", want)
	switch r.Kind {
	case "":
	case KindScheme:
		r.mark(Failed, ReasonMetadataScheme, fmt.Sprintf("the resource is %q, but the endpoint is %s", given, a.cfg.Endpoint.Scheme), schemeHint(ReasonMetadataScheme))
	default:
		v := Failed
		if acceptable(r.Kind) {
			v = Warning
		}
		r.mark(v, ReasonResourceMismatch, fmt.Sprintf("the resource is %q, the endpoint %q (%s)", given, showURL(a.cfg.Endpoint), r.Kind), hint)
	}
}

// chooseIssuer picks the authorization server to look at and marks why there is
// none.
func (a *auditor) chooseIssuer(r *Rung) string {
	pinned := a.cfg.PinnedIssuer
	listed := a.ladder.ResourceMetadata.AuthorizationServers
	switch {
	case len(listed) == 0:
		r.mark(Failed, ReasonNoServer, "the resource metadata lists no authorization server", `add "authorization_servers" with its issuer`)
		return ""
	case pinned == "":
		if len(listed) > 1 {
			r.Notes = append(r.Notes, Note{"several-authorization-servers", fmt.Sprintf("%d authorization servers are listed; the first is looked at", len(listed)), ""})
		}
		return listed[0]
	case slices.Contains(listed, pinned):
		return pinned
	}
	for _, issuer := range listed {
		if sameButSlash(issuer, pinned) {
			r.mark(Warning, ReasonIssuerSlash, fmt.Sprintf("the resource metadata lists %q, the configuration %q", a.client.quote(issuer), a.client.quote(pinned)), "write the issuer in one way everywhere")
			return pinned
		}
	}
	shown := make([]string, 0, 3)
	for _, issuer := range listed[:min(len(listed), 3)] {
		shown = append(shown, fmt.Sprintf("%q", a.client.quote(issuer)))
	}
	r.mark(Failed, ReasonIssuerMismatch, fmt.Sprintf("the resource metadata lists %s, not the configured issuer %q", strings.Join(shown, ", "), a.client.quote(pinned)), "configure the issuer that the server lists, if you trust it")
	return ""
}

// authorizationServer fetches the metadata of the issuer and judges its name.
func (a *auditor) authorizationServer(ctx context.Context) {
	if a.ladder.ResourceMetadata == nil {
		if a.noneAt {
			a.legacyServer(ctx)
			return
		}
		a.skip(RungServer, "there is no resource metadata")
		a.skip(RungIssuer, "there is no authorization server")
		return
	}
	r := a.rung(RungServer)
	issuer := a.chooseIssuer(r)
	if issuer == "" {
		a.skip(RungIssuer, "there is no authorization server")
		return
	}
	u, bad := a.trust.checkIssuer(issuer)
	if bad != nil {
		r.mark(Failed, bad.reason, fmt.Sprintf("the issuer %q %s", a.client.quote(issuer), bad.text), schemeHint(bad.reason))
		a.skip(RungIssuer, "the authorization server was not asked")
		return
	}
	a.serverMetadata(ctx, r, serverLocations(u))
	a.issuer(issuer, "the resource metadata")
}

// legacyServer looks where revision 2025-03-26 had it: the endpoint's origin is
// the authorization server.
func (a *auditor) legacyServer(ctx context.Context) {
	r := a.rung(RungServer)
	root := atPath(a.cfg.Endpoint, "")
	a.serverMetadata(ctx, r, []*url.URL{atPath(root, wellKnownServer)})
	if a.server == nil {
		*r = Rung{Name: RungServer, Verdict: Skipped, Text: "nothing names an authorization server", Tries: r.Tries}
		a.skip(RungIssuer, "there is no authorization server")
		return
	}
	a.ladder.Legacy = true
	r.mark(Warning, ReasonLegacyDiscovery, "found at the endpoint's origin, where only clients of revision 2025-03-26 look", "publish resource metadata that lists the issuer")
	issuer := root.String()
	if a.cfg.PinnedIssuer != "" {
		issuer = a.cfg.PinnedIssuer
	}
	a.issuer(issuer, "the place of the document")
	if a.ladder.Server != nil {
		a.ladder.Resource = ResourceOf(a.cfg.Endpoint)
	}
}

func (a *auditor) serverMetadata(ctx context.Context, r *Rung, places []*url.URL) {
	var wrong []string
	at, faults := a.search(ctx, r, places, true, func(data []byte) (err error) {
		if a.server, wrong, err = parseServerMetadata(data); err == nil {
			a.ladder.ServerDocument = data
		}
		return err
	})
	if at < 0 {
		a.notFound(r, faults, "the authorization server publishes no metadata", "serve it at "+showURL(places[0]))
		return
	}
	a.oddities(r, faults, wrong)
	if r.Text == "" {
		r.Text = "found at " + showURL(places[at])
	}
}

// issuer compares the name in the document with the one that led to it, which
// RFC 8414, section 3.3, wants identical.
func (a *auditor) issuer(want, source string) {
	if a.server == nil {
		a.skip(RungIssuer, "there is no metadata of the authorization server")
		return
	}
	r := a.rung(RungIssuer)
	given := a.server.Issuer
	r.Text = "the issuer is " + a.client.quote(given)
	if a.cfg.PinnedIssuer != "" {
		source = "the configuration"
	}
	both := fmt.Sprintf("the document's issuer is %q, %s says %q", a.client.quote(given), source, a.client.quote(want))
	switch {
	case given == "":
		r.mark(Failed, ReasonMetadataMalformed, "the metadata names no issuer", fmt.Sprintf("add \"issuer\": %q", a.client.quote(want)))
		return
	case sameButSlash(given, want):
		r.mark(Warning, ReasonIssuerSlash, both, "align authorization_servers in the resource metadata with issuer in the server's metadata; strict clients stop here")
	case given != want:
		r.mark(Failed, ReasonIssuerMismatch, both, "align authorization_servers in the resource metadata with issuer in the server's metadata")
		return
	}
	a.ladder.Server = a.server
}

func (a *auditor) endpoints() {
	m := a.ladder.Server
	if m == nil {
		a.skip(RungEndpoints, "there is no validated metadata of the authorization server")
		return
	}
	r := a.rung(RungEndpoints)
	usable := func(name, raw string, required bool) *url.URL {
		if raw == "" {
			if required {
				r.mark(Failed, ReasonEndpointMissing, "the metadata has no "+name, "add "+name)
			}
			return nil
		}
		u, bad := a.trust.check(raw)
		if bad != nil {
			r.mark(Failed, bad.reason, fmt.Sprintf("the %s %q %s", name, a.client.quote(raw), bad.text), schemeHint(bad.reason))
		}
		return u
	}
	a.ladder.authorization = usable("authorization_endpoint", m.AuthorizationEndpoint, m.forPeople())
	a.ladder.token = usable("token_endpoint", m.TokenEndpoint, true)
	usable("registration_endpoint", m.RegistrationEndpoint, false)
	if r.Verdict == OK {
		r.Text = "authorization and token endpoints are there"
		if a.ladder.authorization == nil {
			r.Text = "the token endpoint is there; people cannot log in here"
		}
	}
}

func (a *auditor) pkce() {
	m := a.ladder.Server
	if m == nil {
		a.skip(RungPKCE, "there is no validated metadata of the authorization server")
		return
	}
	r := a.rung(RungPKCE)
	const hint = `list "S256" in code_challenge_methods_supported`
	switch methods := m.CodeChallengeMethods; {
	case slices.Contains(methods, "S256"):
		r.Text = "S256 is advertised"
	case !m.forPeople():
		r.Verdict, r.Text = Skipped, "the server offers no authorization code"
	case methods == nil:
		r.mark(Warning, ReasonPKCENotAdvertised, "PKCE is not advertised; clients of revision 2025-11-25 or later must refuse to log in", hint)
	default:
		r.mark(Failed, ReasonPKCES256, fmt.Sprintf("PKCE methods are %q, without S256", a.client.quote(strings.Join(methods, " "))), hint)
	}
}

func (a *auditor) registration() {
	m := a.ladder.Server
	if m == nil {
		a.skip(RungRegistration, "there is no validated metadata of the authorization server")
		return
	}
	r := a.rung(RungRegistration)
	const missing = "the server takes neither client ID metadata documents nor dynamic registration"
	switch {
	case m.ClientIDMetadataDocument:
		r.Text = "client ID metadata documents are accepted"
	case a.cfg.ClientIDConfigured:
		r.Text = "a registered client is configured"
		if m.RegistrationEndpoint == "" {
			r.Notes = append(r.Notes, Note{ReasonNoRegistration, missing, ""})
		}
	case m.RegistrationEndpoint != "":
		r.mark(Warning, ReasonDynamicOnly, "clients can only register dynamically, which revision 2026-07-28 deprecates", "support client ID metadata documents")
	default:
		r.mark(Failed, ReasonNoRegistration, missing+", so only registered clients get in", "register a client and configure its client_id, or support client ID metadata documents")
	}
}
