package openid_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
)

// fake is a provider that says what a test wants.
type fake struct {
	*httptest.Server
	key       *rsa.PrivateKey
	published *rsa.PrivateKey // nil: key
	claims    map[string]any  // of the token, over what is right
	userinfo  map[string]any
	challenge string // of PKCE, as the browser brought it
	nonce     string
	discovery map[string]any
	broken    bool
	asked     map[string]int
}

func newFake(t *testing.T) *fake {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{key: key, asked: map[string]int{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.asked[r.URL.Path]++
	if f.broken {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		d := map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token", "jwks_uri": f.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"RS256"}, "scopes_supported": []string{"openid", "profile", "groups"},
		}
		if f.userinfo != nil {
			d["userinfo_endpoint"] = f.URL + "/userinfo"
		}
		for name, value := range f.discovery {
			d[name] = value
		}
		answer(d)
	case "/keys":
		key := f.key
		if f.published != nil {
			key = f.published
		}
		answer(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	case "/token":
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		id, secret, _ := r.BasicAuth()
		if id != "vigil" || secret != "s3cret" || r.PostFormValue("code") != "good" || base64.RawURLEncoding.EncodeToString(sum[:]) != f.challenge {
			w.WriteHeader(http.StatusBadRequest)
			answer(map[string]string{"error": "invalid_grant"})
			return
		}
		answer(map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": f.token()})
	case "/userinfo":
		answer(f.userinfo)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) token() string {
	now := time.Now()
	claims := map[string]any{
		"iss": f.URL, "aud": "vigil", "sub": "u1", "nonce": f.nonce, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"preferred_username": "Ann", "groups": []string{"sre", "everybody"},
	}
	for name, value := range f.claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	text, _ := json.Marshal(claims)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: f.key, KeyID: "k"}}, nil)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		panic(err)
	}
	compact, _ := signed.CompactSerialize()
	return compact
}

func (f *fake) provider(t *testing.T, change ...func(*openid.Options)) *openid.Provider {
	t.Helper()
	o := openid.Options{
		Issuer: f.URL, ClientID: "vigil", ClientSecret: "s3cret", PublicURL: "https://watch.example.com/",
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

// begin is a browser that is sent to the provider, which notes what it brings.
func (f *fake) begin(t *testing.T, p *openid.Provider) (kept string, back url.Values) {
	t.Helper()
	address, kept, err := p.Begin(context.Background(), "/monitors/1?tab=x")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	f.challenge, f.nonce = q.Get("code_challenge"), q.Get("nonce")
	if q.Get("code_challenge_method") != "S256" || f.nonce == "" || q.Get("state") == "" || q.Get("response_type") != "code" ||
		q.Get("redirect_uri") != "https://watch.example.com"+openid.CallbackPath || q.Get("scope") != "openid profile groups" {
		t.Errorf("the browser is sent to %s", address)
	}
	return kept, url.Values{"state": {q.Get("state")}, "code": {"good"}}
}

// TestSignIn: the group with most to say counts, and the browser goes on.
func TestSignIn(t *testing.T) {
	f := newFake(t)
	p := f.provider(t)
	kept, back := f.begin(t, p)
	got, next, err := p.Finish(t.Context(), kept, back)
	want := people.Identity{Issuer: f.URL, Subject: "u1", Name: "Ann", Role: people.Editor}
	if err != nil || got != want || next != "/monitors/1?tab=x" {
		t.Errorf("%+v to %q, %v, want %+v", got, next, err, want)
	}
	if f.asked["/.well-known/openid-configuration"] != 1 {
		t.Errorf("the provider was asked for its addresses %d times", f.asked["/.well-known/openid-configuration"])
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
			f := newFake(t)
			f.claims, f.userinfo = c.claims, c.userinfo
			p := f.provider(t, func(o *openid.Options) {
				if c.change != nil {
					c.change(o)
				}
			})
			kept, back := f.begin(t, p)
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
		fake   func(*fake)
		late   func(*fake) // after the browser left
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
		"another key":            {late: func(f *fake) { f.published, f.key = f.key, other }, err: openid.ErrIdentity},
		"another state":          {back: func(q url.Values) { q.Set("state", "x") }, err: openid.ErrFlow},
		"no state":               {back: func(q url.Values) { q.Del("state") }, err: openid.ErrFlow},
		"no cookie":              {kept: func(string) string { return "" }, err: openid.ErrFlow},
		"a broken cookie":        {kept: func(s string) string { return s[1:] }, err: openid.ErrFlow},
		"an empty cookie":        {kept: func(string) string { return base64.RawURLEncoding.EncodeToString([]byte("{}")) }, back: func(q url.Values) { q.Del("state") }, err: openid.ErrFlow},
		"mixed up":               {back: func(q url.Values) { q.Set("iss", "https://evil.example") }, err: openid.ErrFlow},
		"unnamed":                {fake: func(f *fake) { f.discovery = map[string]any{"authorization_response_iss_parameter_supported": true} }, err: openid.ErrFlow},
		"denied":                 {back: func(q url.Values) { q.Set("error", "access_denied") }, err: openid.ErrDenied},
		"another code":           {back: func(q url.Values) { q.Set("code", "bad") }, err: openid.ErrDenied},
		"another verifier":       {late: func(f *fake) { f.challenge = "x" }, err: openid.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.claims = c.claims
			if c.fake != nil {
				c.fake(f)
			}
			p := f.provider(t)
			kept, back := f.begin(t, p)
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
	f := newFake(t)
	now := time.Now()
	p := f.provider(t, func(o *openid.Options) { o.Now = func() time.Time { return now } })
	kept, back := f.begin(t, p)
	now = now.Add(openid.FlowLife + time.Second)
	if _, _, err := p.Finish(t.Context(), kept, back); !errors.Is(err, openid.ErrFlow) {
		t.Errorf("%v, want %v", err, openid.ErrFlow)
	}
}

// TestClocks: a minute more or less is no reason to refuse.
func TestClocks(t *testing.T) {
	f := newFake(t)
	f.claims = map[string]any{"exp": time.Now().Add(-30 * time.Second).Unix(), "iat": time.Now().Add(30 * time.Second).Unix(), "nbf": time.Now().Add(30 * time.Second).Unix()}
	p := f.provider(t)
	kept, back := f.begin(t, p)
	if _, _, err := p.Finish(t.Context(), kept, back); err != nil {
		t.Error(err)
	}
}

// TestProviderDown: nothing is asked until somebody signs in, and a provider that comes
// back is used again, after a pause in which it is left alone.
func TestProviderDown(t *testing.T) {
	f := newFake(t)
	f.broken = true
	now := time.Now()
	p := f.provider(t, func(o *openid.Options) { o.Now = func() time.Time { return now } })
	const path = "/.well-known/openid-configuration"
	if f.asked[path] != 0 {
		t.Error("the provider was asked at the start")
	}
	for range 3 {
		if _, _, err := p.Begin(t.Context(), "/"); !errors.Is(err, openid.ErrUnavailable) {
			t.Errorf("%v, want %v", err, openid.ErrUnavailable)
		}
	}
	if f.asked[path] != 1 {
		t.Errorf("the provider was asked %d times in a moment", f.asked[path])
	}
	f.broken, now = false, now.Add(6*time.Second)
	if _, _, err := p.Begin(t.Context(), "/"); err != nil {
		t.Error(err)
	}
	f.broken, now = true, now.Add(2*time.Hour)
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
		f := newFake(t)
		f.discovery = said
		if _, _, err := f.provider(t).Begin(t.Context(), "/"); !errors.Is(err, openid.ErrUnavailable) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, want %v", name, err, openid.ErrUnavailable)
		}
	}
	for _, issuer := range []string{"", "login.example.com", "http://login.example.com", "https://u:p@login.example.com", "https://login.example.com?x=1", "ftp://x"} {
		if _, err := openid.New(openid.Options{Issuer: issuer, ClientID: "vigil"}); err == nil {
			t.Errorf("%q is taken as an issuer", issuer)
		}
	}
}
