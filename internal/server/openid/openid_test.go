package openid_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/openid/openidtest"
)

func provider(t *testing.T, f *openidtest.Provider, change ...func(*openid.Options)) *openid.Provider {
	t.Helper()
	o := openid.Options{
		Issuer: f.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, PublicURL: "https://watch.example.com/",
		Roles: map[string]people.Role{"sre": people.Editor, "leads": people.Admin, "everybody": people.Viewer},
	}
	for _, c := range change {
		c(&o)
	}
	p, err := openid.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// begin is a browser that is sent to the provider and signs in there.
func begin(t *testing.T, f *openidtest.Provider, p *openid.Provider) (kept string, back url.Values) {
	t.Helper()
	address, kept, err := p.Begin(t.Context(), "/monitors/1?tab=x")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("redirect_uri") != "https://watch.example.com"+openid.CallbackPath || q.Get("scope") != "openid profile groups" {
		t.Errorf("the browser is sent to %s", address)
	}
	return kept, f.Visit(t, address)
}

// TestSignIn: the group with most to say counts, and the browser goes on.
func TestSignIn(t *testing.T) {
	f := openidtest.New(t)
	p := provider(t, f)
	kept, back := begin(t, f, p)
	got, next, err := p.Finish(t.Context(), kept, back)
	want := people.Identity{Issuer: f.URL, Subject: "u1", Name: "Ann", Role: people.Editor}
	if err != nil || got != want || next != "/monitors/1?tab=x" {
		t.Errorf("%+v to %q, %v, want %+v", got, next, err, want)
	}
	if f.Asked("/.well-known/openid-configuration") != 1 {
		t.Errorf("the provider was asked for its addresses %d times", f.Asked("/.well-known/openid-configuration"))
	}
}

// TestClaims: where groups are, and what they mean.
func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		claims, userinfo map[string]any
		change           func(*openid.Options)
		role             people.Role
		called           string
		err              error
	}{
		"most powerful":    {claims: map[string]any{"groups": []string{"everybody", "leads", "sre"}}, role: people.Admin},
		"a single group":   {claims: map[string]any{"groups": "everybody"}, role: people.Viewer},
		"none of them":     {claims: map[string]any{"groups": []string{"sales"}}, err: openid.ErrNoRole},
		"no groups":        {claims: map[string]any{"groups": nil}, err: openid.ErrNoRole},
		"odd groups":       {claims: map[string]any{"groups": []any{1, map[string]any{}, "sre"}}, role: people.Editor},
		"a default":        {claims: map[string]any{"groups": nil}, change: func(o *openid.Options) { o.DefaultRole = people.Viewer }, role: people.Viewer},
		"over a default":   {change: func(o *openid.Options) { o.DefaultRole = people.Viewer }, role: people.Editor},
		"nested":           {claims: map[string]any{"groups": nil, "realm_access": map[string]any{"roles": []string{"leads"}}}, change: func(o *openid.Options) { o.GroupsClaim = "realm_access.roles" }, role: people.Admin},
		"a dotted name":    {claims: map[string]any{"https://x.example/groups": []string{"leads"}}, change: func(o *openid.Options) { o.GroupsClaim = "https://x.example/groups" }, role: people.Admin},
		"told elsewhere":   {claims: map[string]any{"groups": nil, "preferred_username": nil}, userinfo: map[string]any{"sub": "u1", "groups": []string{"leads"}, "email": "ann@example.com"}, role: people.Admin, called: "ann@example.com"},
		"of another":       {claims: map[string]any{"groups": nil}, userinfo: map[string]any{"sub": "u2", "groups": []string{"leads"}}, err: openid.ErrIdentity},
		"token over rest":  {claims: map[string]any{"preferred_username": nil}, userinfo: map[string]any{"sub": "u1", "groups": []string{"leads"}, "name": "Ann A"}, role: people.Editor, called: "Ann A"},
		"only the subject": {claims: map[string]any{"preferred_username": nil}, role: people.Editor, called: "u1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := openidtest.New(t)
			f.Claims, f.UserInfo = c.claims, c.userinfo
			p := provider(t, f, func(o *openid.Options) {
				if c.change != nil {
					c.change(o)
				}
			})
			kept, back := begin(t, f, p)
			got, _, err := p.Finish(t.Context(), kept, back)
			if !errors.Is(err, c.err) || got.Role != c.role || c.called != "" && got.Name != c.called {
				t.Errorf("%+v, %v, want role %q, %q, %v", got, err, c.role, c.called, c.err)
			}
		})
	}
}

// TestRefused: what a provider, a network or another site could slip in.
func TestRefused(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claims map[string]any
		back   func(url.Values)
		kept   func(string) string
		fake   func(*openidtest.Provider)
		late   func(*openidtest.Provider) // after the browser left
		err    error
	}{
		"another audience":       {claims: map[string]any{"aud": "somebody"}, err: openid.ErrIdentity},
		"for several, not us":    {claims: map[string]any{"aud": []string{"vigil", "other"}, "azp": "other"}, err: openid.ErrIdentity},
		"for several, of nobody": {claims: map[string]any{"aud": []string{"vigil", "other"}}, err: openid.ErrIdentity},
		"another party":          {claims: map[string]any{"azp": "other"}, err: openid.ErrIdentity},
		"another issuer":         {claims: map[string]any{"iss": "https://evil.example"}, err: openid.ErrIdentity},
		"expired":                {claims: map[string]any{"exp": time.Now().Add(-2 * time.Minute).Unix()}, err: openid.ErrIdentity},
		"not yet":                {claims: map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}, err: openid.ErrIdentity},
		"another nonce":          {claims: map[string]any{"nonce": "other"}, err: openid.ErrIdentity},
		"no nonce":               {claims: map[string]any{"nonce": nil}, err: openid.ErrIdentity},
		"no subject":             {claims: map[string]any{"sub": ""}, err: openid.ErrIdentity},
		"another key":            {late: func(f *openidtest.Provider) { f.Published, f.Key = f.Key, other }, err: openid.ErrIdentity},
		"another state":          {back: func(q url.Values) { q.Set("state", "x") }, err: openid.ErrFlow},
		"no state":               {back: func(q url.Values) { q.Del("state") }, err: openid.ErrFlow},
		"no cookie":              {kept: func(string) string { return "" }, err: openid.ErrFlow},
		"a broken cookie":        {kept: func(s string) string { return s[1:] }, err: openid.ErrFlow},
		"an empty cookie":        {kept: func(string) string { return base64.RawURLEncoding.EncodeToString([]byte("{}")) }, back: func(q url.Values) { q.Del("state") }, err: openid.ErrFlow},
		"mixed up":               {back: func(q url.Values) { q.Set("iss", "https://evil.example") }, err: openid.ErrFlow},
		"unnamed": {fake: func(f *openidtest.Provider) {
			f.Discovery = map[string]any{"authorization_response_iss_parameter_supported": true}
		}, err: openid.ErrFlow},
		"denied":           {back: func(q url.Values) { q.Set("error", "access_denied") }, err: openid.ErrDenied},
		"another code":     {back: func(q url.Values) { q.Set("code", "bad") }, err: openid.ErrDenied},
		"another verifier": {late: func(f *openidtest.Provider) { f.Challenge = "x" }, err: openid.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			f := openidtest.New(t)
			f.Claims = c.claims
			if c.fake != nil {
				c.fake(f)
			}
			p := provider(t, f)
			kept, back := begin(t, f, p)
			if c.late != nil {
				c.late(f)
			}
			if c.back != nil {
				c.back(back)
			}
			if c.kept != nil {
				kept = c.kept(kept)
			}
			if got, _, err := p.Finish(t.Context(), kept, back); !errors.Is(err, c.err) || got != (people.Identity{}) {
				t.Errorf("%+v, %v, want %v", got, err, c.err)
			}
		})
	}
}

// TestTooLate: a person who was away for long begins again.
func TestTooLate(t *testing.T) {
	f := openidtest.New(t)
	now := time.Now()
	p := provider(t, f, func(o *openid.Options) { o.Now = func() time.Time { return now } })
	kept, back := begin(t, f, p)
	now = now.Add(openid.FlowLife + time.Second)
	if _, _, err := p.Finish(t.Context(), kept, back); !errors.Is(err, openid.ErrFlow) {
		t.Errorf("%v, want %v", err, openid.ErrFlow)
	}
}

// TestClocks: a minute more or less is no reason to refuse.
func TestClocks(t *testing.T) {
	f := openidtest.New(t)
	f.Claims = map[string]any{"exp": time.Now().Add(-30 * time.Second).Unix(), "iat": time.Now().Add(30 * time.Second).Unix(), "nbf": time.Now().Add(30 * time.Second).Unix()}
	p := provider(t, f)
	kept, back := begin(t, f, p)
	if _, _, err := p.Finish(t.Context(), kept, back); err != nil {
		t.Error(err)
	}
}

// TestProviderDown: nothing is asked until somebody signs in, and a provider that comes
// back is used again, after a pause in which it is left alone.
func TestProviderDown(t *testing.T) {
	f := openidtest.New(t)
	f.Broken = true
	now := time.Now()
	p := provider(t, f, func(o *openid.Options) { o.Now = func() time.Time { return now } })
	const path = "/.well-known/openid-configuration"
	if f.Asked(path) != 0 {
		t.Error("the provider was asked at the start")
	}
	for range 3 {
		if _, _, err := p.Begin(t.Context(), "/"); !errors.Is(err, openid.ErrUnavailable) {
			t.Errorf("%v, want %v", err, openid.ErrUnavailable)
		}
	}
	if f.Asked(path) != 1 {
		t.Errorf("the provider was asked %d times in a moment", f.Asked(path))
	}
	f.Broken, now = false, now.Add(6*time.Second)
	if _, _, err := p.Begin(t.Context(), "/"); err != nil {
		t.Error(err)
	}
	f.Broken, now = true, now.Add(2*time.Hour)
	if _, _, err := p.Begin(t.Context(), "/"); err != nil {
		t.Errorf("a provider that was found before is not believed any more: %v", err)
	}
}

// TestDiscovery: what a provider says about itself and cannot be.
func TestDiscovery(t *testing.T) {
	for name, said := range map[string]map[string]any{
		"another issuer": {"issuer": "https://evil.example"},
		"a plain token":  {"token_endpoint": "http://login.example.com/token"},
		"a script":       {"authorization_endpoint": "javascript:alert(1)"},
		"too long":       {"padding": strings.Repeat("x", 2<<20)},
	} {
		f := openidtest.New(t)
		f.Discovery = said
		if _, _, err := provider(t, f).Begin(t.Context(), "/"); !errors.Is(err, openid.ErrUnavailable) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, want %v", name, err, openid.ErrUnavailable)
		}
	}
	for _, issuer := range []string{"", "login.example.com", "http://login.example.com", "https://u:p@login.example.com", "https://login.example.com?x=1", "ftp://x"} {
		if _, err := openid.New(openid.Options{Issuer: issuer, ClientID: "vigil"}); err == nil {
			t.Errorf("%q is taken as an issuer", issuer)
		}
	}
}
