package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
)

const (
	endpoint  = "https://h.example/mcp"
	prmPath   = "https://h.example/.well-known/oauth-protected-resource/mcp"
	prmRoot   = "https://h.example/.well-known/oauth-protected-resource"
	issuer    = "https://as.example"
	asRoot    = "https://as.example/.well-known/oauth-authorization-server"
	oidcRoot  = "https://as.example/.well-known/openid-configuration"
	challenge = `Bearer resource_metadata="` + prmPath + `"`
)

func prm(pairs ...any) string {
	return object(append([]any{"resource", endpoint, "authorization_servers", []string{issuer}}, pairs...)...)
}

func asDoc(pairs ...any) string {
	return object(append([]any{
		"issuer", issuer, "authorization_endpoint", issuer + "/authorize", "token_endpoint", issuer + "/token",
		"code_challenge_methods_supported",
		[]string{"S256"},
		"client_id_metadata_document_supported", true,
	}, pairs...)...)
}

// healthy is a chain without a flaw.
func healthy() map[string]page {
	return map[string]page{prmPath: {body: prm()}, asRoot: {body: asDoc()}}
}

// with is healthy with some pages replaced; an empty page removes one.
func with(changes map[string]page) map[string]page {
	pages := healthy()
	for u, p := range changes {
		if p.body == "" && p.status == 0 && p.err == nil {
			delete(pages, u)
			continue
		}
		pages[u] = p
	}
	return pages
}

// show writes a ladder in one line: each rung that is not ok or skipped, with
// kind, and after "+" the reasons of notes.
func show(l *Ladder) string {
	var out []string
	for _, r := range l.Rungs {
		s := ""
		if r.Verdict != OK && r.Verdict != Skipped {
			s = r.Name + ":" + string(r.Verdict) + ":" + r.Reason
			if r.Kind != "" {
				s += ":" + r.Kind
			}
		}
		for _, n := range r.Notes {
			s += "+" + n.Reason
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func TestAudit(t *testing.T) {
	const tenant = issuer + "/tenant1"
	tenantPRM := page{body: prm("authorization_servers", []string{tenant})}
	tenantDoc := page{body: asDoc("issuer", tenant)}
	down := &url.Error{Op: "Get", URL: asRoot, Err: &netguard.DialError{Address: "as.example:443"}}
	for _, c := range []struct {
		name      string
		pages     map[string]page
		challenge string // "": as it should be; "-": none
		endpoint  string
		pinned    string
		clientID  bool
		status    int
		want      string
		asked     []string
	}{
		{name: "intact", pages: healthy(), asked: []string{prmPath, asRoot}},
		{name: "anywhere on the origin", challenge: `Bearer resource_metadata="https://h.example/custom?a=b"`, pages: with(map[string]page{"https://h.example/custom?a=b": {body: prm()}}), asked: []string{"https://h.example/custom?a=b", asRoot}},
		{name: "not protected", status: 200, challenge: "-", pages: healthy(), want: "challenge:failed:auth-not-required"},
		{name: "403", status: 403, pages: healthy(), want: "challenge:failed:auth-status"},

		// D1
		{name: "D1 nothing at all", challenge: "-", pages: nil, want: "challenge:warning:auth-not-advertised resource-metadata:failed:metadata-missing", asked: []string{prmPath, prmRoot, "https://h.example/.well-known/oauth-authorization-server"}},
		{name: "D1 well-known present", challenge: "-", pages: healthy(), want: "challenge:warning:auth-not-advertised"},
		{name: "Bearer without metadata", challenge: `Bearer realm="x"`, pages: healthy(), want: "challenge:warning:metadata-not-advertised"},

		// D3
		{name: "D3 slash on the endpoint", endpoint: endpoint + "/", challenge: "-", pages: map[string]page{prmPath + "/": {body: prm()}, asRoot: {body: asDoc()}}, want: "challenge:warning:auth-not-advertised resource:warning:resource-mismatch:slash-only"},
		{name: "D3 slash in the document", pages: with(map[string]page{prmPath: {body: prm("resource", endpoint+"/")}}), want: "resource:warning:resource-mismatch:slash-only"},
		{name: "D3 origin only", pages: with(map[string]page{prmPath: {body: prm("resource", "https://h.example/")}}), want: "resource:warning:resource-mismatch:origin-only"},
		{name: "D3 sibling", endpoint: endpoint + "/oauth", pages: healthy(), want: "resource:warning:resource-mismatch:sibling-path"},
		{name: "D3 other path", pages: with(map[string]page{prmPath: {body: prm("resource", "https://h.example/other")}}), want: "resource:failed:resource-mismatch:other-path"},
		{name: "D3 other path with the same start", pages: with(map[string]page{prmPath: {body: prm("resource", "https://h.example/mc")}}), want: "resource:failed:resource-mismatch:other-path"},
		{name: "D3 other host", pages: with(map[string]page{prmPath: {body: prm("resource", "https://evil.example/mcp")}}), want: "resource:failed:resource-mismatch:other-origin"},
		{name: "D3 spelling", pages: with(map[string]page{prmPath: {body: prm("resource", "https://H.example:443/mcp")}}), want: "resource:warning:resource-mismatch:spelling"},
		{name: "no resource", pages: with(map[string]page{prmPath: {body: prm("resource", nil)}}), want: "resource:failed:metadata-malformed"},

		// D5
		{
			name: "D5 http links", pages: with(map[string]page{prmPath: {body: prm("resource", "http://h.example/mcp", "authorization_servers", []string{"http://h.example"})}}),
			want: "resource:failed:metadata-scheme:scheme authorization-server:failed:metadata-scheme", asked: []string{prmPath},
		},
		{name: "D5 http challenge", challenge: `Bearer resource_metadata="http://h.example/.well-known/oauth-protected-resource/mcp"`, pages: healthy(), want: "resource-metadata:failed:metadata-scheme", asked: []string{prmPath, asRoot}},
		{name: "D5 needs auth", pages: with(map[string]page{prmPath: {status: 401}, prmRoot: {status: 401}}), want: "resource-metadata:failed:metadata-needs-auth"},
		{name: "D5 relative", challenge: `Bearer resource_metadata="/.well-known/oauth-protected-resource/mcp"`, pages: healthy(), want: "resource-metadata:warning:metadata-relative", asked: []string{prmPath, asRoot}},
		{name: "D5 http endpoints", pages: with(map[string]page{asRoot: {body: asDoc("token_endpoint", "http://as.example/token")}}), want: "endpoints:failed:metadata-scheme"},

		// D6
		{name: "D6 issuer with a slash", pages: with(map[string]page{asRoot: {body: asDoc("issuer", issuer+"/")}}), want: "issuer:warning:issuer-slash"},
		{name: "D6 the other way round", pages: with(map[string]page{prmPath: {body: prm("authorization_servers", []string{issuer + "/"})}}), want: "issuer:warning:issuer-slash", asked: []string{prmPath, asRoot}},
		{name: "D6 pinned with a slash", pinned: issuer + "/", pages: healthy(), want: "authorization-server:warning:issuer-slash issuer:warning:issuer-slash"},

		// D7
		{name: "D7", pages: with(map[string]page{asRoot: {body: asDoc("issuer", issuer+"/backend/oauth")}}), want: "issuer:failed:issuer-mismatch"},
		{name: "issuer of another", pages: with(map[string]page{asRoot: {body: asDoc("issuer", "https://attacker.example")}}), want: "issuer:failed:issuer-mismatch"},
		{name: "no issuer", pages: with(map[string]page{asRoot: {body: asDoc("issuer", nil)}}), want: "issuer:failed:metadata-malformed"},
		{name: "pinned, not listed", pinned: "https://mine.example", pages: healthy(), want: "authorization-server:failed:issuer-mismatch", asked: []string{prmPath}},

		// D8
		{name: "D8 inserted OAuth", pages: map[string]page{prmPath: tenantPRM, asRoot + "/tenant1": tenantDoc}, asked: []string{prmPath, asRoot + "/tenant1"}},
		{name: "D8 inserted OIDC", pages: map[string]page{prmPath: tenantPRM, oidcRoot + "/tenant1": tenantDoc}, asked: []string{prmPath, asRoot + "/tenant1", oidcRoot + "/tenant1"}},
		{name: "D8 appended OIDC", pages: map[string]page{prmPath: tenantPRM, tenant + "/.well-known/openid-configuration": tenantDoc}, asked: []string{prmPath, asRoot + "/tenant1", oidcRoot + "/tenant1", tenant + "/.well-known/openid-configuration"}},
		{name: "D8 OIDC at the root", pages: with(map[string]page{asRoot: {}, oidcRoot: {body: asDoc()}}), asked: []string{prmPath, asRoot, oidcRoot}},
		{name: "D8 resource metadata at the root", challenge: `Bearer realm=x`, pages: with(map[string]page{prmPath: {}, prmRoot: {body: prm()}}), want: "challenge:warning:metadata-not-advertised", asked: []string{prmPath, prmRoot, asRoot}},
		{name: "D8 none", pages: with(map[string]page{asRoot: {}}), want: "authorization-server:failed:metadata-missing"},
		{name: "the challenge's place is empty", challenge: `Bearer resource_metadata="https://h.example/x"`, pages: healthy(), want: "resource-metadata:failed:metadata-missing", asked: []string{"https://h.example/x", prmPath, asRoot}},

		// D9
		{name: "D9 absent", pages: with(map[string]page{asRoot: {body: asDoc("code_challenge_methods_supported", nil)}}), want: "pkce:warning:pkce-not-advertised"},
		{name: "D9 plain", pages: with(map[string]page{asRoot: {body: asDoc("code_challenge_methods_supported", []string{"plain"})}}), want: "pkce:failed:pkce-s256"},
		{name: "D9 empty", pages: with(map[string]page{asRoot: {body: asDoc("code_challenge_methods_supported", []string{})}}), want: "pkce:failed:pkce-s256"},
		{name: "D9 no people", pages: with(map[string]page{asRoot: {body: asDoc("code_challenge_methods_supported", nil, "authorization_endpoint", nil, "grant_types_supported", []string{"client_credentials"})}})},

		// D10
		{name: "D10 neither", pages: with(map[string]page{asRoot: {body: asDoc("client_id_metadata_document_supported", nil)}}), want: "registration:failed:no-dynamic-registration"},
		{name: "D10 with a client", clientID: true, pages: with(map[string]page{asRoot: {body: asDoc("client_id_metadata_document_supported", nil)}}), want: "+no-dynamic-registration"},
		{name: "D10 dynamic only", pages: with(map[string]page{asRoot: {body: asDoc("client_id_metadata_document_supported", false, "registration_endpoint", issuer+"/register")}}), want: "registration:warning:dynamic-registration-only"},

		// Hostile and broken documents
		{name: "other origin", challenge: `Bearer resource_metadata="https://evil.example/prm"`, pages: with(map[string]page{"https://evil.example/prm": {body: prm()}}), want: "resource-metadata:warning:metadata-other-origin", asked: []string{prmPath, asRoot}},
		{name: "other origin only", challenge: `Bearer resource_metadata="https://evil.example/prm"`, pages: map[string]page{"https://evil.example/prm": {body: prm()}}, want: "resource-metadata:failed:metadata-other-origin", asked: []string{prmPath, prmRoot}},
		{name: "no URL", challenge: `Bearer resource_metadata="https://u:p@h.example/x"`, pages: healthy(), want: "resource-metadata:failed:metadata-malformed"},
		{name: "HTML everywhere", pages: map[string]page{prmPath: {kind: "text/html", body: "<html>"}, prmRoot: {kind: "text/html", body: "<html>"}}, want: "resource-metadata:failed:metadata-malformed"},
		{name: "HTML, then the document", challenge: "Bearer", pages: with(map[string]page{prmPath: {kind: "text/html", body: "<html>"}, prmRoot: {body: prm()}}), want: "challenge:warning:metadata-not-advertised +metadata-malformed"},
		{name: "a member twice", pages: with(map[string]page{asRoot: {body: `{"issuer":"https://as.example","issuer":"https://evil.example"}`}}), want: "authorization-server:failed:metadata-malformed"},
		{name: "an array", pages: with(map[string]page{asRoot: {body: `[]`}}), want: "authorization-server:failed:metadata-malformed"},
		{name: "wrong types", pages: with(map[string]page{asRoot: {body: asDoc("code_challenge_methods_supported", "S256")}}), want: "authorization-server:warning:metadata-malformed pkce:warning:pkce-not-advertised"},
		{name: "too large", pages: with(map[string]page{prmPath: {body: prm("x", strings.Repeat("y", maxDocument))}}), want: "resource-metadata:failed:metadata-too-large"},
		{name: "as large as may be", pages: with(map[string]page{prmPath: {body: prm() + strings.Repeat(" ", maxDocument-len(prm()))}})},
		{name: "redirect", pages: with(map[string]page{prmPath: {status: 302, header: http.Header{"Location": {"https://evil.example/"}}}}), want: "resource-metadata:failed:metadata-redirect", asked: []string{prmPath, prmRoot}},
		{name: "served as text", pages: with(map[string]page{prmPath: {kind: "text/plain", body: prm()}}), want: "+metadata-content-type"},
		{name: "no server listed", pages: with(map[string]page{prmPath: {body: prm("authorization_servers", []string{})}}), want: "authorization-server:failed:no-authorization-server"},
		{name: "server with a query", pages: with(map[string]page{prmPath: {body: prm("authorization_servers", []string{issuer + "?a"})}}), want: "authorization-server:failed:metadata-malformed", asked: []string{prmPath}},
		{name: "server on this machine", pages: with(map[string]page{prmPath: {body: prm("authorization_servers", []string{"http://localhost:1"})}}), want: "authorization-server:failed:metadata-loopback", asked: []string{prmPath}},
		{name: "no token endpoint", pages: with(map[string]page{asRoot: {body: asDoc("token_endpoint", nil)}}), want: "endpoints:failed:endpoint-missing"},

		// Servers in trouble
		{name: "resource server 500", pages: with(map[string]page{prmPath: {status: 500}, prmRoot: {status: 500}}), want: "resource-metadata:failed:metadata-unavailable"},
		{name: "authorization server 503", pages: with(map[string]page{asRoot: {status: 503}}), want: "authorization-server:unknown:server-unavailable", asked: []string{prmPath, asRoot, oidcRoot}},
		{name: "503, then the document", pages: with(map[string]page{asRoot: {status: 503}, oidcRoot: {body: asDoc()}}), want: "+server-unavailable"},
		{name: "authorization server down", pages: with(map[string]page{asRoot: {err: down}}), want: "authorization-server:unknown:server-unavailable", asked: []string{prmPath, asRoot}},

		// 2025-03-26
		{
			name: "legacy", challenge: "-", pages: map[string]page{"https://h.example/.well-known/oauth-authorization-server": {body: asDoc("issuer", "https://h.example")}},
			want:  "challenge:warning:auth-not-advertised resource-metadata:failed:metadata-missing authorization-server:warning:legacy-discovery",
			asked: []string{prmPath, prmRoot, "https://h.example/.well-known/oauth-authorization-server"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWeb(c.pages)
			cfg := AuditConfig{Endpoint: mustURL(t, firstSet(c.endpoint, endpoint)), Status: 401, PinnedIssuer: c.pinned, ClientIDConfigured: c.clientID, HTTP: HTTP{Transport: w}}
			if c.status != 0 {
				cfg.Status = c.status
			}
			if c.challenge != "-" {
				cfg.Challenge = []string{firstSet(c.challenge, challenge)}
			}
			l := Audit(t.Context(), cfg)
			if got := show(l); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if c.asked != nil && !slices.Equal(w.asked, c.asked) {
				t.Errorf("asked %s", cmp.Diff(c.asked, w.asked))
			}
			checkLadder(t, l)
			for _, r := range w.seen {
				if r.Header.Get("Authorization") != "" || r.Method != http.MethodGet {
					t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
				}
			}
		})
	}
}

// checkLadder holds for every ladder.
func checkLadder(t *testing.T, l *Ladder) {
	t.Helper()
	names := []string{RungChallenge, RungResourceMetadata, RungResource, RungServer, RungIssuer, RungEndpoints, RungPKCE, RungRegistration}
	var got []string
	tries := 0
	for _, r := range l.Rungs {
		got = append(got, r.Name)
		tries += len(r.Tries)
		if r.Text == "" || r.Verdict != OK && r.Verdict != Skipped && r.Reason == "" {
			t.Errorf("rung without words: %+v", r)
		}
		if r.Verdict == Failed && r.Hint == "" {
			t.Errorf("no hint: %+v", r)
		}
		if strings.ContainsAny(fmt.Sprintf("%+v", r), "\n\r\x00\x1b") {
			t.Errorf("unsafe: %+v", r)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("rungs %q", got)
	}
	if tries > maxRequests {
		t.Errorf("%d requests", tries)
	}
	if first, broken := l.First(); broken != (first.Name != "") {
		t.Errorf("first %+v", first)
	}
}

func TestAuditLearns(t *testing.T) {
	w := newWeb(with(map[string]page{
		prmPath: {body: prm("scopes_supported", []string{"read", "write", "read", "bad scope"})},
		asRoot:  {body: asDoc("scopes_supported", []string{"read"}, "token_endpoint_auth_methods_supported", []string{"none"}, "device_authorization_endpoint", issuer+"/device", "authorization_response_iss_parameter_supported", true, "grant_types_supported", []string{"authorization_code"}, "registration_endpoint", issuer+"/register")},
	}))
	cfg := AuditConfig{Endpoint: mustURL(t, endpoint), Status: 401, Challenge: []string{challenge}, HTTP: HTTP{Transport: w, UserAgent: "test/1", ProtocolVersion: "2025-11-25"}}
	l := Audit(t.Context(), cfg)
	want := &ServerMetadata{
		Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register", DeviceEndpoint: issuer + "/device",
		Scopes: []string{"read"}, GrantTypes: []string{"authorization_code"}, AuthMethods: []string{"none"}, CodeChallengeMethods: []string{"S256"},
		ClientIDMetadataDocument: true, IssParameter: true,
	}
	if diff := cmp.Diff(want, l.Server); diff != "" {
		t.Error(diff)
	}
	if l.Resource != endpoint || !slices.Equal(l.Scopes, []string{"read", "write"}) {
		t.Errorf("resource %q, scopes %q", l.Resource, l.Scopes)
	}
	if h := w.seen[0].Header; h.Get("User-Agent") != "test/1" || h.Get("MCP-Protocol-Version") != "2025-11-25" {
		t.Errorf("%v", h)
	}
	cfg.Challenge = []string{challenge + `, scope="a b"`}
	if l := Audit(t.Context(), cfg); !slices.Equal(l.Scopes, []string{"a", "b"}) {
		t.Errorf("scopes %q", l.Scopes)
	}
	if r := l.Rung(RungServer); r.URL != asRoot || r.HTTPStatus != 200 || len(r.Tries) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAuditShowsTextSafely(t *testing.T) {
	evil := "https://as.example/\x1b[2J\u202e"
	w := newWeb(with(map[string]page{prmPath: {body: prm("resource", "https://evil.example/\x1b]0;x\a", "authorization_servers", []string{evil})}, asRoot: {body: asDoc("issuer", evil)}}))
	l := Audit(t.Context(), AuditConfig{Endpoint: mustURL(t, endpoint+"?key=sesame"), Status: 401, HTTP: HTTP{Transport: w}})
	checkLadder(t, l)
	if s := fmt.Sprintf("%+v", l.Rungs); strings.Contains(s, "sesame") {
		t.Error(s)
	}
}

func TestAuditOverTheNetwork(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	calls := 0
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		calls++
		http.Redirect(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/"}}, "/elsewhere", http.StatusFound)
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { t.Error("redirect followed") })
	l := Audit(t.Context(), AuditConfig{Endpoint: mustURL(t, server.URL+"/mcp"), Status: 401})
	if r := l.Rung(RungResourceMetadata); r.Reason != ReasonMetadataRedirect || calls != 1 {
		t.Errorf("%+v", r)
	}
	refused := httptest.NewServer(nil)
	refused.Close()
	l = Audit(t.Context(), AuditConfig{Endpoint: mustURL(t, refused.URL+"/mcp"), Status: 401})
	if r := l.Rung(RungResourceMetadata); r.Reason != ReasonMetadataUnavailable || len(r.Tries) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAuditEndsInTime(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	started := time.Now()
	l := Audit(ctx, AuditConfig{Endpoint: mustURL(t, server.URL+"/mcp"), Status: 401})
	if r := l.Rung(RungResourceMetadata); r.Verdict != Unknown || time.Since(started) > 5*time.Second {
		t.Errorf("%+v", r)
	}
}

func TestAuditOfFailingNetwork(t *testing.T) {
	w := newWeb(map[string]page{prmPath: {err: errors.New("strange")}})
	l := Audit(t.Context(), AuditConfig{Endpoint: mustURL(t, endpoint), Status: 401, HTTP: HTTP{Transport: w}})
	if r := l.Rung(RungResourceMetadata); r.Verdict != Failed || r.Reason != ReasonMetadataUnavailable {
		t.Errorf("%+v", r)
	}
}

func TestResourceOf(t *testing.T) {
	for in, want := range map[string]string{
		"https://H.Example/": "https://h.example", "https://h.example": "https://h.example", "https://h.example/mcp/": "https://h.example/mcp/",
		"HTTPS://h.example/A%2Fb?x=y#z": "https://h.example/A%2Fb", "https://h.example:8443/mcp": "https://h.example:8443/mcp",
	} {
		if got := ResourceOf(mustURL(t, in)); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

func TestServerLocations(t *testing.T) {
	for in, want := range map[string]string{
		"https://as.example":        asRoot + " " + oidcRoot,
		"https://as.example/":       asRoot + " " + oidcRoot,
		"https://as.example/a/b":    asRoot + "/a/b " + oidcRoot + "/a/b https://as.example/a/b/.well-known/openid-configuration",
		"https://as.example/a/":     asRoot + "/a " + oidcRoot + "/a https://as.example/a/.well-known/openid-configuration",
		"https://as.example/a%2Fb/": asRoot + "/a%2Fb " + oidcRoot + "/a%2Fb https://as.example/a%2Fb/.well-known/openid-configuration",
	} {
		var got []string
		for _, u := range serverLocations(mustURL(t, in)) {
			got = append(got, u.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s", in, s)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add(prm(), asDoc(), challenge)
	f.Add(prm("resource", "\x00"), asDoc("issuer", issuer+"/"), `Bearer resource_metadata="//evil"`)
	f.Add(`{"resource":1}`, `{"issuer":{}}`, "Bearer resource_metadata=:")
	f.Add(`{"authorization_servers":["http://[::1]:1/%zz"]}`, `null`, `Bearer resource_metadata="?"`)
	f.Fuzz(func(t *testing.T, resource, server, given string) {
		w := newWeb(map[string]page{prmPath: {body: resource}, prmRoot: {body: resource}, asRoot: {body: server}})
		l := Audit(t.Context(), AuditConfig{Endpoint: mustURL(t, endpoint), Status: 401, Challenge: []string{given}, HTTP: HTTP{Transport: w}})
		checkLadder(t, l)
		for i, raw := range w.asked {
			u := mustURL(t, raw)
			if u.Scheme != "https" || i == 0 && originOf(u) != "https://h.example:443" {
				t.Errorf("asked %q", raw)
			}
		}
		if m := l.Server; m != nil {
			listed := l.ResourceMetadata.AuthorizationServers[0]
			if m.Issuer != listed && !sameButSlash(m.Issuer, listed) {
				t.Errorf("issuer %q for %q", m.Issuer, listed)
			}
		}
		if l.Resource != "" && originOf(mustURL(t, l.Resource)) != "https://h.example:443" {
			t.Errorf("resource %q", l.Resource)
		}
	})
}
