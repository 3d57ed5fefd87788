package authserver_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// resourceServer is an MCP server on the Go SDK that lets nobody in without a
// token of the provider for it.
type resourceServer struct {
	URL      string // the endpoint, which is the resource identifier too
	provider *provider

	mu      sync.Mutex
	keys    map[string]*rsa.PublicKey
	tokens  []string // that were accepted, each once
	revoked []string // that are refused although they are good
}

type resourceOptions struct {
	stateful bool
	scope    string // "": mcp:read
	// spell writes error="insufficient_scope" into the challenge of a 403, as
	// RFC 6750 has it and the TypeScript SDK does. The Go SDK leaves it out.
	spell bool
}

func newResource(t testing.TB, p *provider, o resourceOptions) *resourceServer {
	t.Helper()
	s := &resourceServer{provider: p}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	s.URL = srv.URL + "/mcp"
	scope := "mcp:read"
	if o.scope != "" {
		scope = o.scope
	}

	const metadata = "/.well-known/oauth-protected-resource/mcp"
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.URL, AuthorizationServers: []string{p.url}, ScopesSupported: []string{scope}, BearerMethodsSupported: []string{"header"},
	}))
	guard := auth.RequireBearerToken(s.verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: srv.URL + metadata, Scopes: []string{scope}})
	server := newServer()
	handler := guard(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: !o.stateful}))
	if o.spell {
		handler = spellError(handler)
	}
	mux.Handle("/mcp", handler)
	return s
}

// spellError names the error in the challenge of a 403.
func spellError(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&spelling{w}, r)
	})
}

type spelling struct{ http.ResponseWriter }

func (w *spelling) WriteHeader(status int) {
	if c := w.Header().Get("WWW-Authenticate"); status == http.StatusForbidden && c != "" {
		w.Header().Set("WWW-Authenticate", strings.Replace(c, "Bearer ", `Bearer error="insufficient_scope", `, 1))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *spelling) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1.0.0"}, nil)
	for _, name := range []string{"whoami", "add"} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Does as it is called"},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, errors.New("nobody calls this")
			})
	}
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greets"}, nil)
	return server
}

// verify is an auth.TokenVerifier: an RS256 access token (RFC 9068) of the
// provider, for this server, that has not expired.
func (s *resourceServer) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	info, err := s.inspect(token)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.revoked, token) {
		return nil, fmt.Errorf("%w: revoked", auth.ErrInvalidToken)
	}
	if !slices.Contains(s.tokens, token) {
		s.tokens = append(s.tokens, token)
	}
	return info, nil
}

func (s *resourceServer) inspect(token string) (*auth.TokenInfo, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("no JWT")
	}
	var header struct{ Alg, Kid, Typ string }
	var claims struct {
		Iss, Aud, Sub, Scope string
		Exp                  int64
	}
	if err := errors.Join(decode(parts[0], &header), decode(parts[1], &claims)); err != nil {
		return nil, err
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, err
	}
	key, err := s.key(header.Kid)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	switch {
	case header.Alg != "RS256" || header.Typ != "at+jwt":
		return nil, fmt.Errorf("it is a %s of %s", header.Typ, header.Alg)
	case rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) != nil:
		return nil, errors.New("bad signature")
	case claims.Iss != s.provider.url:
		return nil, errors.New("of another issuer")
	case claims.Aud != s.URL:
		return nil, errors.New("for another audience")
	case time.Now().After(time.Unix(claims.Exp, 0)):
		return nil, errors.New("expired")
	}
	return &auth.TokenInfo{UserID: claims.Sub, Scopes: strings.Fields(claims.Scope), Expiration: time.Unix(claims.Exp, 0)}, nil
}

func decode(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// key fetches the provider's keys once.
func (s *resourceServer) key(id string) (*rsa.PublicKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		resp, err := http.Get(s.provider.url + "/jwks")
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var set struct{ Keys []struct{ Kid, N string } }
		if err := json.NewDecoder(resp.Body).Decode(&set); err != nil {
			return nil, err
		}
		s.keys = map[string]*rsa.PublicKey{}
		for _, k := range set.Keys {
			n, err := base64.RawURLEncoding.DecodeString(k.N)
			if err != nil {
				return nil, err
			}
			s.keys[k.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}
		}
	}
	if k := s.keys[id]; k != nil {
		return k, nil
	}
	return nil, errors.New("of an unknown key")
}

// accepted lists the tokens that opened the door.
func (s *resourceServer) accepted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tokens)
}

func (s *resourceServer) revoke(tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = append(s.revoked, tokens...)
}
