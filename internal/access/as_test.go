package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeAS is an MCP origin and its authorization server in one: it hands out
// access tokens and rotates refresh tokens, of which the newest alone is good.
type fakeAS struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	metadata []any // pairs over the defaults
	refresh  string
	issued   int
	forms    []url.Values
	auths    []string
	answer   func(w http.ResponseWriter, form url.Values) bool // true: answered
	extra    []any                                             // pairs of the token response
	codes    map[string]string                                 // code to challenge
	prm      []any
}

func newAS(t testing.TB, metadata ...any) *fakeAS {
	s := &fakeAS{t: t, metadata: metadata, refresh: "refresh-0", codes: map[string]string{}}
	mux := http.NewServeMux()
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a credential was sent for metadata")
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, object(append([]any{"resource", s.URL + "/mcp", "authorization_servers", []string{s.URL}, "scopes_supported", []string{"read"}}, s.prm...)...))
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, object(append([]any{
			"issuer", s.URL, "authorization_endpoint", s.URL + "/authorize?tenant=1", "token_endpoint", s.URL + "/token",
			"code_challenge_methods_supported",
			[]string{"S256"},
		}, s.metadata...)...))
	})
	mux.HandleFunc("POST /token", s.token)
	return s
}

func (s *fakeAS) endpoint() *url.URL { return mustURL(s.t, s.URL+"/mcp") }

func (s *fakeAS) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" {
		s.t.Error("no form")
	}
	s.forms, s.auths = append(s.forms, r.PostForm), append(s.auths, r.Header.Get("Authorization"))
	w.Header().Set("Content-Type", "application/json")
	if s.answer != nil && s.answer(w, r.PostForm) {
		return
	}
	out := []any{"access_token", fmt.Sprintf("access-%d", s.issued+1), "token_type", "bearer", "expires_in", 3600}
	fail := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, object("error", code))
	}
	switch r.PostForm.Get("grant_type") {
	case "client_credentials":
	case "refresh_token":
		if r.PostForm.Get("refresh_token") != s.refresh {
			fail("invalid_grant")
			return
		}
		s.refresh = fmt.Sprintf("refresh-%d", s.issued+1)
		out = append(out, "refresh_token", s.refresh)
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if want := s.codes[r.PostForm.Get("code")]; want == "" || want != base64.RawURLEncoding.EncodeToString(sum[:]) {
			fail("invalid_grant")
			return
		}
		out = append(out, "refresh_token", s.refresh)
	default:
		fail("unsupported_grant_type")
		return
	}
	s.issued++
	fmt.Fprint(w, object(append(out, s.extra...)...))
}

// respond sets how token requests are answered.
func (s *fakeAS) respond(answer func(http.ResponseWriter, url.Values) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// requests returns how many token requests came.
func (s *fakeAS) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.forms)
}

func (s *fakeAS) form(i int) url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[i]
}

// verifyJWT checks a signature with the standard library's verifiers.
func verifyJWT(t *testing.T, token string, key crypto.PublicKey) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("no JWT: %q", token)
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil {
			t.Fatal(err)
		}
		raw[i] = b
	}
	if json.Unmarshal(raw[0], &header) != nil || json.Unmarshal(raw[1], &claims) != nil {
		t.Fatal("no JSON")
	}
	signed := []byte(parts[0] + "." + parts[1])
	sum := sha256.Sum256(signed)
	ok := false
	switch k := key.(type) {
	case *rsa.PublicKey:
		if header["alg"] == "PS256" {
			ok = rsa.VerifyPSS(k, crypto.SHA256, sum[:], raw[2], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}) == nil
		} else {
			ok = rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], raw[2]) == nil
		}
	case *ecdsa.PublicKey:
		ok = len(raw[2]) == 64 && ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(raw[2][:32]), new(big.Int).SetBytes(raw[2][32:]))
	case ed25519.PublicKey:
		ok = ed25519.Verify(k, signed, raw[2])
	}
	if !ok {
		t.Errorf("the signature of %v is wrong", header)
	}
	return header, claims
}

// jwt makes an unsigned token.
func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// clock is a settable time.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
