package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/demo"
)

// authority is an MCP server behind a login, and its authorization server, which
// remembers every secret that it has seen. What it refuses, it quotes.
type authority struct {
	*httptest.Server
	away string // the issuer of /far, where nobody listens
	weak string // a file with whose presence it no longer offers S256

	mu      sync.Mutex
	codes   map[string]string // to the challenge
	tokens  []string
	count   int
	secrets []string
	states  []string
}

func newAuthority() *authority {
	s := preparedAuthority()
	s.Start()
	return s
}

// preparedAuthority has not started yet.
func preparedAuthority() *authority {
	gone := httptest.NewServer(nil)
	gone.Close()
	s := &authority{codes: map[string]string{}, away: gone.URL}
	mux := http.NewServeMux()
	s.Server = httptest.NewUnstartedServer(mux)
	mux.HandleFunc("/mcp", s.mcp)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/far", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/far", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"resource": s.URL + "/far", "authorization_servers": []string{s.away}})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		method := "S256"
		if _, err := os.Stat(s.weak); err == nil {
			method = "plain"
		}
		answer(w, http.StatusOK, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"code_challenge_methods_supported": []string{method}, "client_id_metadata_document_supported": true,
			"authorization_response_iss_parameter_supported": true,
			"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "private_key_jwt", "none"},
		})
	})
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	return s
}

// issue lets an unsigned JWT in that ends after so many days.
func (s *authority) issue(days int) string {
	claims := fmt.Sprintf(`{"exp":%d,"aud":"%s/mcp"}`, time.Now().AddDate(0, 0, days).Unix(), s.URL)
	s.mu.Lock()
	defer s.mu.Unlock()
	token := s.remember("e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln")
	s.tokens = append(s.tokens, token)
	return token
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// remember keeps a secret and returns it. The caller holds the lock.
func (s *authority) remember(secret string) string {
	s.secrets = append(s.secrets, secret)
	return secret
}

func (s *authority) mcp(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	known := slices.Contains(s.tokens, token)
	s.mu.Unlock()
	if known {
		new(demo.Server).ServeHTTP(w, r)
		return
	}
	w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", error_description="not %s"`, s.URL, token))
	answer(w, http.StatusUnauthorized, map[string]any{"error": "not " + token, "headers": fmt.Sprint(r.Header)})
}

// authorize plays the person as well: the path of the browser decides.
func (s *authority) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	code := s.remember(fmt.Sprintf("code-%d-0123456789abcdef", s.count))
	s.codes[code] = q.Get("code_challenge")
	s.states = append(s.states, q.Get("state"))
	back := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	switch q.Get("person") {
	case "denies":
		back.Set("error", "access_denied")
	case "is-attacked":
		back.Set("state", "made-up")
		back.Set("code", code)
	default:
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *authority) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ParseForm() != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, name := range []string{"code", "code_verifier", "refresh_token", "client_assertion", "client_secret"} {
		if v := r.PostForm.Get(name); v != "" {
			s.remember(v)
		}
	}
	if basic, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Basic "); ok {
		s.remember(basic)
	}
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	wrong := r.PostForm.Get("grant_type") == "authorization_code" && s.codes[r.PostForm.Get("code")] != base64.RawURLEncoding.EncodeToString(sum[:])
	if wrong || strings.Contains(r.PostForm.Get("scope"), "refused") {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": r.PostForm.Encode() + " " + r.Header.Get("Authorization")})
		return
	}
	s.count++
	access := s.remember(fmt.Sprintf("access-%d-0123456789abcdef", s.count))
	s.tokens = append(s.tokens, access)
	answer(w, http.StatusOK, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": 30 * 24 * 3600, "refresh_token": s.remember(fmt.Sprintf("refresh-%d-0123456789abcdef", s.count)),
	})
}
