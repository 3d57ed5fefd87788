package authserver_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestChainAudit(t *testing.T) {
	both(t, func(t *testing.T, stateful bool, _ string) {
		p := newProvider(t, settings{})
		s := newResource(t, p, resourceOptions{stateful: stateful})
		tgt := &target.Target{Endpoint: s.URL, AuditChain: true}
		r := p.check(t, tgt)
		if r.Status != probe.StatusHealthy || len(r.Chain) != 8 || len(r.Notes) != 0 {
			t.Errorf("%s with %d rungs: %s", r.Status, len(r.Chain), explain(r))
		}
		for _, rung := range r.Chain {
			if rung.Verdict != "ok" {
				t.Errorf("%s is %s: %s", rung.Name, rung.Verdict, rung.Text)
			}
		}
		if len(p.log()) != 0 || len(s.accepted()) != 0 {
			t.Error("the audit logged in")
		}
		p.stop()
		p.wantRefused(t, tgt, probe.StatusUnknown, "server-unavailable", "")
	})
}

func TestNoCredential(t *testing.T) {
	both(t, func(t *testing.T, stateful bool, _ string) {
		p := newProvider(t, settings{})
		s := newResource(t, p, resourceOptions{stateful: stateful})
		p.wantRefused(t, &target.Target{Endpoint: s.URL}, probe.StatusMisconfigured, "auth-required", "/.well-known/oauth-protected-resource/mcp")
	})
}

func TestRefusedAtTheProvider(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	narrow, either := machine("narrow", "client_secret_basic", secret), machine("either", "client_secret_basic", secret)
	narrow["scope"] = "mcp:read"
	noGrant := machine("no-grant", "client_secret_basic", secret)
	noGrant["grant_types"] = []string{"authorization_code"}
	noGrant["redirect_uris"], noGrant["response_types"] = []string{"https://client.example/callback"}, []string{"code"}
	p := newProvider(t, settings{Clients: []client{narrow, either, noGrant}})
	s := newResource(t, p, resourceOptions{scope: "mcp:write"})
	for name, c := range map[string]struct {
		change func(o *target.OAuth)
		reason probe.Reason
		hint   string
	}{
		"wrong secret":     {func(o *target.OAuth) { o.ClientSecret = target.Literal("something-else-entirely") }, "token-refused", "check client_id and the client's secret"},
		"unknown client":   {func(o *target.OAuth) { o.ClientID = "nobody" }, "token-refused", "check client_id"},
		"grant":            {func(o *target.OAuth) { o.ClientID = "no-grant" }, "token-refused", "look at the authorization server's log"},
		"scope":            {func(o *target.OAuth) { o.ClientID = "narrow" }, "insufficient-scope", "mcp:write"},
		"unknown resource": {func(o *target.OAuth) { o.Resource = "https://elsewhere.example/mcp" }, "resource-refused", "resource identifier"},
		"another issuer":   {func(o *target.OAuth) { o.Issuer = strings.Replace(p.url, "127.0.0.1", "localhost", 1) }, "issuer-mismatch", "configure the issuer that the server lists"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &target.OAuth{Grant: target.ClientCredentials, Issuer: p.url, ClientID: "either", ClientSecret: target.Literal(secret)}
			c.change(o)
			p.wantRefused(t, &target.Target{Endpoint: s.URL, OAuth: o}, probe.StatusMisconfigured, c.reason, c.hint)
		})
	}
	if n := len(s.accepted()); n != 0 {
		t.Errorf("%d tokens", n)
	}
}

func TestRefusedAtTheServer(t *testing.T) {
	both(t, func(t *testing.T, stateful bool, _ string) {
		secret := newSecret()
		p := newProvider(t, settings{Clients: []client{machine("basic", "client_secret_basic", secret)}})
		s, other := newResource(t, p, resourceOptions{stateful: stateful}), newResource(t, p, resourceOptions{})
		with := func(o target.OAuth, s *resourceServer) *target.Target {
			o.Grant, o.Issuer, o.ClientID, o.ClientSecret = target.ClientCredentials, p.url, "basic", target.Literal(secret)
			return &target.Target{Endpoint: s.URL, OAuth: &o}
		}
		t.Run("audience", func(t *testing.T) {
			p.wantRefused(t, with(target.OAuth{Resource: other.URL}, s), probe.StatusMisconfigured, "wrong-audience", "resource="+s.URL)
		})
		for name, spell := range map[string]bool{"scope": false, "scope, spelt out": true} {
			t.Run(name, func(t *testing.T) {
				s := newResource(t, p, resourceOptions{stateful: stateful, scope: "mcp:write", spell: spell})
				p.wantRefused(t, with(target.OAuth{Scopes: []string{"mcp:read"}}, s), probe.StatusMisconfigured, "insufficient-scope", "mcp:write")
				p.wantHealthy(t, with(target.OAuth{Scopes: []string{"mcp:read", "mcp:write"}}, s))
			})
		}
	})
}

// A token handed over by hand, which nothing renews.
func TestBearerByHand(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	p := newProvider(t, settings{Clients: []client{machine("post", "client_secret_post", secret)}})
	s := newResource(t, p, resourceOptions{})
	bearer := func(life time.Duration, resource string) *target.Target {
		p.ttl(life)
		status, answer := p.form("/token", url.Values{
			"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {"mcp:read"}, "client_id": {"post"}, "client_secret": {secret},
		})
		token, ok := answer["access_token"].(string)
		if status != 200 || !ok {
			t.Fatalf("%d %v", status, answer)
		}
		p.hide(token)
		return &target.Target{Endpoint: s.URL, Headers: []target.Header{target.Bearer(target.Literal(token))}}
	}
	short := bearer(time.Second, s.URL)
	if r := p.check(t, bearer(time.Hour, s.URL)); r.Status != probe.StatusHealthy || r.Credential.Kind != "bearer" || r.Credential.ExpiresAt == nil || !slices.Equal(r.Credential.Audience, []string{s.URL}) {
		t.Errorf("%s with %+v: %s", r.Status, r.Credential, explain(r))
	}
	p.wantRefused(t, bearer(time.Hour, "http://127.0.0.1:1/mcp"), probe.StatusMisconfigured, "wrong-audience", "resource="+s.URL)
	time.Sleep(2100 * time.Millisecond)
	p.wantRefused(t, short, probe.StatusMisconfigured, "token-expired", "renew the token")
}

// A login that is over: taken back by its owner, or used by somebody else, upon
// which the provider takes back everything.
func TestLoginIsOver(t *testing.T) {
	for name, end := range map[string]func(p *provider, resource, refresh string){
		"revoked": func(p *provider, _, refresh string) {
			if status, answer := p.form("/token/revocation", url.Values{"token": {refresh}, "client_id": {"app"}}); status != 200 {
				p.t.Fatalf("%d %v", status, answer)
			}
		},
		"stolen": func(p *provider, resource, refresh string) {
			if status, answer := p.form("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {"app"}, "resource": {resource}}); status != 200 {
				p.t.Fatalf("%d %v", status, answer)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, settings{Clients: []client{person("app", "")}})
			s := newResource(t, p, resourceOptions{})
			c := childTarget{s.URL, "authorization_code", p.url, "app", "", "", filepath.Join(t.TempDir(), "login.json")}
			p.mustLogin(t, c)
			p.wantHealthy(t, c.target())
			before, _ := os.ReadFile(c.TokenFile)
			end(p, s.URL, read(t, c.TokenFile).Refresh)
			s.revoke(s.accepted()...)
			for range 2 {
				p.wantRefused(t, c.target(), probe.StatusMisconfigured, "login-required", loginCommand)
			}
			if after, _ := os.ReadFile(c.TokenFile); string(after) != string(before) {
				t.Error("a failed refresh changed the token file")
			}
			p.mustLogin(t, c)
			p.wantHealthy(t, c.target())
		})
	}
}

func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	p := newProvider(t, settings{Clients: []client{machine("basic", "client_secret_basic", secret), person("app", "")}})
	s := newResource(t, p, resourceOptions{})
	fresh := childTarget{s.URL, "client_credentials", p.url, "basic", secret, "", ""}
	kept := fresh
	kept.TokenFile = filepath.Join(t.TempDir(), "token.json")
	login := childTarget{s.URL, "authorization_code", p.url, "app", "", "", filepath.Join(t.TempDir(), "login.json")}
	p.wantHealthy(t, kept.target())
	p.ttl(6 * time.Second) // of which five are too few
	p.mustLogin(t, login)
	before, _ := os.ReadFile(login.TokenFile)
	time.Sleep(1500 * time.Millisecond)
	p.log() // makes the secrets known
	p.stop()
	for _, c := range []childTarget{fresh, login} {
		p.wantRefused(t, c.target(), probe.StatusUnknown, "server-unavailable", "check that the server runs")
	}
	if after, _ := os.ReadFile(login.TokenFile); string(after) != string(before) {
		t.Error("a failed refresh changed the token file")
	}
	p.wantHealthy(t, kept.target()) // with the token of before
	_, err := startLogin(t, login)
	if err == nil || !strings.Contains(err.Error(), p.url) {
		t.Errorf("a login without a server: %v", err)
	}
}
