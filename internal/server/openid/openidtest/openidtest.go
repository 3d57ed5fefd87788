// Package openidtest is an OpenID provider that says what a test wants.
package openidtest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// What a client of the provider is registered with.
const (
	ClientID     = "vigil"
	ClientSecret = "s3cret"
)

// Provider is one. What it says may be changed between requests.
type Provider struct {
	*httptest.Server

	// Key signs, and Published is what it publishes in its place; nil: the same.
	Key, Published *rsa.PrivateKey
	// Claims are those of the token, over what is right; nil removes one.
	Claims map[string]any
	// UserInfo is what is told elsewhere; nil: there is no such endpoint.
	UserInfo map[string]any
	// Discovery is what it says about itself, over what is right.
	Discovery map[string]any
	// Broken: it answers nothing.
	Broken bool
	// Challenge and Nonce are what the browser brought.
	Challenge, Nonce string

	mu    sync.Mutex
	asked map[string]int
}

var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// New runs one until the test ends.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{Key: key(), asked: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

// Asked is how often a path was asked for.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Visit is a browser that is sent to address, where its person signs in. It gives what
// the browser brings back.
func (p *Provider) Visit(t testing.TB, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	p.Challenge, p.Nonce = q.Get("code_challenge"), q.Get("nonce")
	if u.Scheme+"://"+u.Host+u.Path != p.URL+"/authorize" || q.Get("code_challenge_method") != "S256" || p.Challenge == "" || p.Nonce == "" ||
		q.Get("state") == "" || q.Get("response_type") != "code" || q.Get("client_id") != ClientID {
		t.Errorf("the browser is sent to %s", address)
	}
	return url.Values{"state": {q.Get("state")}, "code": {"good"}}
}

func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[r.URL.Path]++
	p.mu.Unlock()
	if p.Broken {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		write(w, http.StatusOK, p.configuration())
	case "/keys":
		published := p.Key
		if p.Published != nil {
			published = p.Published
		}
		write(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: published.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	case "/token":
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		id, secret, _ := r.BasicAuth()
		if id != ClientID || secret != ClientSecret || r.PostFormValue("code") != "good" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.Challenge {
			write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		write(w, http.StatusOK, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": p.token()})
	case "/userinfo":
		write(w, http.StatusOK, p.UserInfo)
	default:
		http.NotFound(w, r)
	}
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *Provider) configuration() map[string]any {
	c := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256"}, "scopes_supported": []string{"openid", "profile", "groups"},
	}
	if p.UserInfo != nil {
		c["userinfo_endpoint"] = p.URL + "/userinfo"
	}
	maps.Copy(c, p.Discovery)
	return c
}

func (p *Provider) token() string {
	now := time.Now()
	claims := map[string]any{
		"iss": p.URL, "aud": ClientID, "sub": "u1", "nonce": p.Nonce, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"preferred_username": "Ann", "groups": []string{"sre", "everybody"},
	}
	for name, value := range p.Claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.Key, KeyID: "k"}}, nil)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		panic(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return compact
}
