package access

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

func machine(s *fakeAS) Grant {
	return Grant{Kind: ClientCredentials, Issuer: s.URL, ClientID: "machine", ClientSecret: Hide("s3cret+/ %&é")}
}

func newSource(t *testing.T, s *fakeAS, g Grant, c *clock) *Source {
	t.Helper()
	cfg := SourceConfig{Grant: g, Endpoint: s.endpoint()}
	if c != nil {
		cfg.Now = c.now
	}
	source, err := NewSource(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func mustToken(t *testing.T, s *Source) string {
	t.Helper()
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

// mustFail returns the error, which must be of this package.
func mustFail(t *testing.T, err error) *Error {
	t.Helper()
	e, ok := err.(*Error) //nolint:errorlint // exactly this type
	if !ok {
		t.Fatalf("got %T %v", err, err)
	}
	if e.Text == "" || e.Reason == "" {
		t.Errorf("without words: %+v", e)
	}
	return e
}

func TestTokensAreReusedUntilShortlyBeforeTheEnd(t *testing.T) {
	as, c := newAS(t), newClock()
	s := newSource(t, as, machine(as), c)
	for _, step := range []struct {
		pass time.Duration
		want string
	}{{0, "access-1"}, {time.Hour - 6*time.Second, "access-1"}, {time.Second, "access-2"}, {0, "access-2"}} {
		c.pass(step.pass)
		if got := mustToken(t, s); got != step.want {
			t.Errorf("after %s: %s", step.pass, got)
		}
	}
	f := as.form(0)
	if f.Get("resource") != as.URL+"/mcp" || f.Get("scope") != "read" || f.Has("client_secret") {
		t.Errorf("%v", f)
	}
	token, err := s.Token(t.Context())
	if err != nil || token.Authorization() != "Bearer access-2" || len(token.Scopes) != 1 {
		t.Errorf("%v %v", token.Scopes, err)
	}
	s.Discard(token)
	if got := mustToken(t, s); got != "access-3" {
		t.Errorf("after Discard: %s", got)
	}
}

func TestConcurrentCallersShareOneRequest(t *testing.T) {
	as := newAS(t)
	s := newSource(t, as, machine(as), nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := s.Token(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := as.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestClientSecretIsSentAsTheMetadataSays(t *testing.T) {
	const secret = "s3cret+/ %&é"
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("machine:s3cret%2B%2F+%25%26%C3%A9"))
	for _, c := range []struct {
		methods      []string
		configured   string
		auth         string
		id, inForm   string
		reason, text string
	}{
		{methods: nil, auth: basic},
		{methods: []string{"client_secret_post", "client_secret_basic"}, auth: basic},
		{methods: []string{"client_secret_post"}, id: "machine", inForm: secret},
		{methods: []string{"client_secret_post", "client_secret_basic"}, configured: "client_secret_post", id: "machine", inForm: secret},
		{methods: []string{"client_secret_post"}, configured: "client_secret_basic", auth: basic},
		{methods: []string{"none"}, id: "machine"},
		{methods: []string{"private_key_jwt"}, reason: ReasonGrantInvalid},
	} {
		as := newAS(t, "token_endpoint_auth_methods_supported", c.methods)
		grant := machine(as)
		grant.ClientAuth = c.configured
		_, err := newSource(t, as, grant, nil).Token(t.Context())
		if c.reason != "" {
			if e := mustFail(t, err); e.Reason != c.reason || as.requests() != 0 {
				t.Errorf("%v: %+v", c.methods, e)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f := as.form(0)
		if as.auths[0] != c.auth || f.Get("client_id") != c.id || f.Get("client_secret") != c.inForm {
			t.Errorf("%v: %q %v", c.methods, as.auths[0], f)
		}
	}
}

func privatePEM(t *testing.T, key any) Secret {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Hide(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

func TestPrivateKeyJWT(t *testing.T) {
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	ecKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	ecDER, _ := x509.MarshalECPrivateKey(ecKey)
	for _, c := range []struct {
		name      string
		key       Secret
		public    crypto.PublicKey
		algorithm string
		supported []string
		want      string
	}{
		{"RSA", privatePEM(t, rsaKey), rsaKey.Public(), "", nil, "RS256"},
		{"PKCS #1", Hide(string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)}))), rsaKey.Public(), "", []string{"PS256"}, "PS256"},
		{"configured", privatePEM(t, rsaKey), rsaKey.Public(), "PS256", nil, "PS256"},
		{"EC", privatePEM(t, ecKey), ecKey.Public(), "", []string{"RS256", "ES256"}, "ES256"},
		{"SEC 1", Hide(string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ecDER}))), ecKey.Public(), "", nil, "ES256"},
		{"Ed25519", privatePEM(t, edKey), edKey.Public(), "EdDSA", nil, "EdDSA"},
		{"not taken", privatePEM(t, edKey), edKey.Public(), "", []string{"RS256"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			as := newAS(t, "token_endpoint_auth_methods_supported", []string{"private_key_jwt"}, "token_endpoint_auth_signing_alg_values_supported", c.supported)
			g := Grant{Kind: ClientCredentials, Issuer: as.URL, ClientID: "machine", PrivateKeyPEM: c.key, KeyID: "k1", Algorithm: c.algorithm}
			_, err := newSource(t, as, g, nil).Token(t.Context())
			if c.want == "" {
				if e := mustFail(t, err); e.Reason != ReasonGrantInvalid || as.requests() != 0 {
					t.Errorf("%+v", e)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f := as.form(0)
			header, claims := verifyJWT(t, f.Get("client_assertion"), c.public)
			if header["alg"] != c.want || header["kid"] != "k1" || f.Get("grant_type") != "client_credentials" || f.Get("client_assertion_type") != assertionType || as.auths[0] != "" {
				t.Errorf("%v %v", header, f)
			}
			iat, exp := claims["iat"].(float64), claims["exp"].(float64)
			if claims["iss"] != "machine" || claims["sub"] != "machine" || claims["aud"] != as.URL || len(claims["jti"].(string)) < 20 || exp-iat > 300 || exp <= iat {
				t.Errorf("%v", claims)
			}
		})
	}
}

func TestInvalidGrants(t *testing.T) {
	small, _ := rsa.GenerateKey(rand.Reader, 1024)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	smallKey, p384Key := privatePEM(t, small), privatePEM(t, p384)
	good := Grant{Kind: ClientCredentials, Issuer: "https://as.example", ClientID: "c", ClientSecret: Hide("s")}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	key := func(pem Secret) func(*Grant) {
		return func(g *Grant) { g.ClientSecret, g.PrivateKeyPEM = Secret{}, pem }
	}
	for _, c := range []struct {
		text   string
		change func(*Grant)
	}{
		{"there is no such OAuth grant", func(g *Grant) { g.Kind = "password" }},
		{"the issuer is not an absolute http or https URL", func(g *Grant) { g.Issuer = "as.example" }},
		{"the issuer is plain http", func(g *Grant) { g.Issuer = "http://as.example" }},
		{"the issuer has a query", func(g *Grant) { g.Issuer = "https://as.example?x" }},
		{"the issuer holds a user name", func(g *Grant) { g.Issuer = "https://u:p@as.example" }},
		{"the OAuth client has no client_id", func(g *Grant) { g.ClientID = "" }},
		{"the client ID metadata document is not at an https URL with a path", func(g *Grant) { g.ClientID, g.ClientMetadataURL = "", "https://c.example/" }},
		{"a scope holds a character that scopes cannot have", func(g *Grant) { g.Scopes = []string{"a b"} }},
		{"the resource is not an absolute URL without a fragment", func(g *Grant) { g.Resource = "https://h/#x" }},
		{"the client_credentials grant needs a client secret or a private key", func(g *Grant) { g.ClientSecret = Secret{} }},
		{"a client secret stands beside a private key", func(g *Grant) { g.PrivateKeyPEM = p384Key }},
		{"the refresh_token grant needs a refresh token or a token file", func(g *Grant) { g.Kind = RefreshToken }},
		{"the authorization_code grant needs a token file", func(g *Grant) { g.Kind = AuthorizationCode }},
		{"the private key is not in PEM form", key(Hide("x"))},
		{"the private key is encrypted", key(Hide("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"))},
		{"the private key cannot be read", key(Hide("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))},
		{"the elliptic curve of the private key is not P-256", key(p384Key)},
		{"the RSA key is shorter than 2048 bits", key(smallKey)},
	} {
		g := good
		c.change(&g)
		if e := mustFail(t, g.Validate()); e.Text != c.text || e.Reason != ReasonGrantInvalid || e.Hint == "" {
			t.Errorf("%q: %+v", c.text, e)
		}
		if _, err := NewSource(SourceConfig{Grant: g}); err == nil {
			t.Errorf("%q: accepted", c.text)
		}
	}
}

// D13
func TestLifetimes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	soon := jwt(fmt.Sprintf(`{"exp":%d,"aud":["a","b"]}`, now.Unix()+60))
	for _, c := range []struct {
		name    string
		token   string
		expires any // nil: absent
		server  time.Time
		want    time.Duration
		assumed bool
		expired bool
		bad     bool
	}{
		{name: "number", expires: 3600, want: time.Hour},
		{name: "string", expires: "5250", want: 5250 * time.Second},
		{name: "with an exponent", expires: json.RawMessage("36e2"), want: time.Hour},
		{name: "zero", expires: 0, expired: true},
		{name: "zero string", expires: "0", expired: true},
		{name: "absent", want: 5 * time.Minute, assumed: true},
		{name: "null", expires: json.RawMessage("null"), want: 5 * time.Minute, assumed: true},
		{name: "absent, JWT", token: soon, want: time.Minute, assumed: true},
		{name: "absent, JWT with a fraction", token: jwt(`{"exp":1800000060.9}`), want: time.Minute, assumed: true},
		{name: "absent, JWT, server is ahead", token: soon, server: now.Add(30 * time.Second), want: 30 * time.Second, assumed: true},
		{name: "absent, JWT, server is behind", token: soon, server: now.Add(-time.Minute), want: 2 * time.Minute, assumed: true},
		{name: "absent, long JWT", token: jwt(`{"exp":1900000000}`), want: 5 * time.Minute, assumed: true},
		{name: "absent, expired JWT", token: jwt(`{"exp":1700000000}`), want: -100_000_000 * time.Second, assumed: true, expired: true},
		{name: "absent, odd JWT", token: jwt(`{"exp":"x"}`), want: 5 * time.Minute, assumed: true},
		{name: "a thousand years", expires: int64(31_536_000_000), want: maxLife},
		{name: "nonsense", expires: "3600abc", bad: true},
		{name: "sign", expires: "+3600", bad: true},
		{name: "negative", expires: -1, bad: true},
		{name: "empty", expires: "", bad: true},
		{name: "fraction", expires: 1.5, bad: true},
		{name: "object", expires: map[string]any{}, bad: true},
		{name: "too large a number", expires: json.RawMessage("99999999999999999999"), bad: true},
	} {
		pairs := []any{"access_token", firstSet(c.token, "a"), "token_type", "BEARER"}
		if c.expires != nil {
			pairs = append(pairs, "expires_in", c.expires)
		}
		server := c.server
		if server.IsZero() {
			server = now
		}
		got, err := parseToken([]byte(object(pairs...)), now, server)
		if (err != nil) != c.bad {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if life := got.token.Expires.Sub(now); !c.bad && (life != c.want || got.token.Assumed != c.assumed || got.expired != c.expired) {
			t.Errorf("%s: %s assumed %v expired %v", c.name, life, got.token.Assumed, got.expired)
		}
	}
	if got, _ := parseToken([]byte(object("access_token", soon, "token_type", "Bearer")), now, now); len(got.token.Audience) != 2 {
		t.Errorf("audience %q", got.token.Audience)
	}
}

func TestTokenEndpointAnswers(t *testing.T) {
	say := func(status int, body string) func(http.ResponseWriter, url.Values) bool {
		return func(w http.ResponseWriter, _ url.Values) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
	}
	const token = `"access_token":"a","token_type":"Bearer"`
	for _, c := range []struct {
		name    string
		answer  func(http.ResponseWriter, url.Values) bool
		reason  string
		unknown bool
	}{
		{"invalid_client", say(401, `{"error":"invalid_client","error_description":"no \u001b[2J"}`), ReasonTokenRefused, false},
		{"invalid_grant", say(400, `{"error":"invalid_grant"}`), ReasonTokenRefused, false},
		{"unauthorized_client", say(400, `{"error":"unauthorized_client"}`), ReasonTokenRefused, false},
		{"invalid_scope", say(400, `{"error":"invalid_scope"}`), ReasonInsufficientScope, false},
		{"invalid_target", say(400, `{"error":"invalid_target"}`), ReasonInvalidTarget, false},
		{"error with 200", say(200, `{"error":"invalid_target"}`), ReasonInvalidTarget, false},
		{"403 page", say(403, `<html>`), ReasonTokenRefused, false},
		{"500", say(500, `oops`), ReasonServerUnavailable, true},
		{"429", say(429, ``), ReasonServerUnavailable, true},
		{"temporarily_unavailable", say(400, `{"error":"temporarily_unavailable"}`), ReasonServerUnavailable, true},
		{"redirect", func(w http.ResponseWriter, _ url.Values) bool {
			w.Header().Set("Location", "/token")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}, ReasonTokenResponse, false},
		{"hang up", func(http.ResponseWriter, url.Values) bool { panic(http.ErrAbortHandler) }, ReasonServerUnavailable, true},
		{"page with 200", say(200, `<html>`), ReasonTokenResponse, false},
		{"no token", say(200, `{"token_type":"Bearer"}`), ReasonTokenResponse, false},
		{"token is a number", say(200, `{"access_token":1,"token_type":"Bearer"}`), ReasonTokenResponse, false},
		{"token with a line end", say(200, `{"access_token":"a\r\nX: y","token_type":"Bearer"}`), ReasonTokenResponse, false},
		{"token with a space", say(200, `{"access_token":"a b","token_type":"Bearer"}`), ReasonTokenResponse, false},
		{"another type", say(200, `{"access_token":"a","token_type":"DPoP"}`), ReasonTokenResponse, false},
		{"no type", say(200, `{"access_token":"a"}`), ReasonTokenResponse, false},
		{"token twice", say(200, `{`+token+`,"access_token":"b"}`), ReasonTokenResponse, false},
		{"nonsense life", say(200, `{`+token+`,"expires_in":"3600abc"}`), ReasonTokenResponse, false},
		{"expired", say(200, `{`+token+`,"expires_in":0}`), ReasonTokenExpired, false},
		{"too large", say(200, `{`+token+`,"x":"`+strings.Repeat("y", maxDocument)+`"}`), ReasonTokenResponse, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			as := newAS(t)
			as.respond(c.answer)
			_, err := newSource(t, as, machine(as), nil).Token(t.Context())
			e := mustFail(t, err)
			if e.Reason != c.reason || e.Unknown != c.unknown || e.Hint == "" || strings.ContainsAny(e.Text+e.Hint, "\x1b\n") {
				t.Errorf("%+v", e)
			}
			if as.requests() != 1 {
				t.Errorf("%d requests", as.requests())
			}
		})
	}
}

func TestBrokenChainIsTheError(t *testing.T) {
	as := newAS(t)
	as.prm = []any{"resource", "https://evil.example/mcp"}
	e := mustFail(t, func() error { _, err := newSource(t, as, machine(as), nil).Token(t.Context()); return err }())
	if e.Reason != ReasonResourceMismatch || e.Ladder == nil || as.requests() != 0 {
		t.Errorf("%+v", e)
	}
	as.prm = []any{"authorization_servers", []string{"https://other.example"}}
	s := newSource(t, as, machine(as), nil)
	_, err := s.Token(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonIssuerMismatch || s.Ladder() == nil {
		t.Errorf("%+v", e)
	}
	as.prm = nil // mended, and the source finds out
	if got := mustToken(t, s); got != "access-1" {
		t.Error(got)
	}

	down := newAS(t)
	g := machine(down)
	g.Issuer = "http://127.0.0.1:1"
	down.prm = []any{"authorization_servers", []string{g.Issuer}}
	_, err = newSource(t, down, g, nil).Token(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonServerUnavailable || !e.Unknown {
		t.Errorf("%+v", e)
	}
}

func TestChallengeLeadsToMetadataAndScopes(t *testing.T) {
	as := newAS(t)
	cfg := SourceConfig{Grant: machine(as), Endpoint: as.endpoint(), Refusal: func(context.Context) (int, []string) {
		return 401, []string{`Bearer scope="one two", resource_metadata="` + as.URL + `/.well-known/oauth-protected-resource/mcp"`}
	}}
	s, err := NewSource(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mustToken(t, s)
	if got := as.form(0).Get("scope"); got != "one two" {
		t.Errorf("scope %q", got)
	}
	cfg.Grant.Scopes, cfg.Grant.Resource = []string{"mine"}, "https://elsewhere.example/mcp"
	if s, err = NewSource(cfg); err != nil {
		t.Fatal(err)
	}
	as.extra = []any{"scope", "other"}
	mustToken(t, s)
	if f := as.form(1); f.Get("scope") != "mine" || f.Get("resource") != "https://elsewhere.example/mcp" {
		t.Errorf("%v", f)
	}
	if n := s.Notes(); len(n) != 1 || n[0].Reason != ReasonScopeReduced {
		t.Errorf("%+v", n)
	}
}

func TestRefreshTokenWithoutAFile(t *testing.T) {
	as, c := newAS(t), newClock()
	s := newSource(t, as, Grant{Kind: RefreshToken, Issuer: as.URL, ClientID: "c", RefreshToken: Hide("refresh-0")}, c)
	mustToken(t, s)
	c.pass(time.Hour)
	mustToken(t, s)
	if a, b := as.form(0), as.form(1); a.Get("refresh_token") != "refresh-0" || b.Get("refresh_token") != "refresh-1" || a.Get("client_id") != "c" || a.Get("resource") == "" || a.Has("scope") {
		t.Errorf("%v %v", a, b)
	}
	if n := s.Notes(); len(n) != 1 || n[0].Reason != ReasonRefreshRotated {
		t.Errorf("%+v", n)
	}
	_, err := newSource(t, as, Grant{Kind: RefreshToken, Issuer: as.URL, ClientID: "c", RefreshToken: Hide("refresh-0")}, c).Token(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonTokenRefused || e.Code != "invalid_grant" {
		t.Errorf("%+v", e)
	}
}

func TestOmittedRefreshTokenKeepsTheOld(t *testing.T) {
	as, c := newAS(t), newClock()
	as.answer = func(w http.ResponseWriter, f url.Values) bool {
		fmt.Fprint(w, object("access_token", "a", "token_type", "Bearer", "expires_in", 10))
		return true
	}
	g := Grant{Kind: RefreshToken, Issuer: as.URL, ClientID: "c", RefreshToken: Hide("refresh-0"), TokenFile: filepath.Join(t.TempDir(), "new", "t.json")}
	for range 2 {
		mustToken(t, newSource(t, as, g, c))
		c.pass(time.Minute)
	}
	if got := as.form(1).Get("refresh_token"); got != "refresh-0" {
		t.Errorf("%q", got)
	}
}

func TestCallerWhoGaveUpLosesNoRefreshToken(t *testing.T) {
	as, c := newAS(t), newClock()
	ctx, cancel := context.WithCancel(t.Context())
	as.answer = func(http.ResponseWriter, url.Values) bool {
		cancel()
		time.Sleep(50 * time.Millisecond)
		return false
	}
	g := Grant{Kind: RefreshToken, Issuer: as.URL, ClientID: "c", RefreshToken: Hide("refresh-0"), TokenFile: filepath.Join(t.TempDir(), "t.json")}
	if _, err := newSource(t, as, g, c).Token(ctx); err != nil {
		t.Error(err)
	}
	as.respond(nil)
	if got := mustToken(t, newSource(t, as, g, c)); got != "access-1" || as.requests() != 1 {
		t.Errorf("%s after %d requests", got, as.requests())
	}
	if _, err := newSource(t, as, machine(as), c).Token(ctx); mustFail(t, err) == nil || as.requests() != 1 {
		t.Error("an ended context still asks")
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	as := newAS(t)
	var seen []string
	as.answer = func(w http.ResponseWriter, f url.Values) bool {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, object("error", "invalid_client", "error_description", f.Get("client_secret")+" "+f.Get("client_secret")))
		return true
	}
	as.metadata = []any{"token_endpoint_auth_methods_supported", []string{"client_secret_post"}}
	g := machine(as)
	r := plain.NewRedactor()
	s, err := NewSource(SourceConfig{Grant: g, Endpoint: as.endpoint(), HTTP: HTTP{Redact: r}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Token(t.Context())
	e := mustFail(t, err)
	seen = append(seen, e.Text, fmt.Sprintf("%+v", *e))
	as.respond(nil)
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", token, "grant", g, "secret", g.ClientSecret)
	for _, v := range []any{g, &g, token, &token, s, []Token{token}, struct{ g Grant }{g}, struct{ T *Token }{&token}, struct{ s *Source }{s}, saved{access: "access-1"}, g.ClientSecret} {
		data, _ := json.Marshal(v) //nolint:errchkjson // what cannot be marshalled shows nothing
		seen = append(seen, fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), fmt.Sprintf("%s %q %x", v, v, v), string(data))
	}
	seen = append(seen, log.String(), r.String("access-1 "+g.ClientSecret.Reveal()))
	hex := fmt.Sprintf("%x", "access-1")
	for _, text := range seen {
		if strings.Contains(text, "s3cret") || strings.Contains(text, "access-1") || strings.Contains(text, hex) {
			t.Errorf("shown: %s", text)
		}
	}
}

func TestInspect(t *testing.T) {
	expires, audience := Inspect(jwt(`{"exp":1900000000,"aud":"https://h/mcp"}`) + "\n")
	if expires.Unix() != 1_900_000_000 || len(audience) != 1 {
		t.Errorf("%s %q", expires, audience)
	}
	for _, opaque := range []string{"", "a.b.c", "a.e30.c", jwt(`{"exp":-1}`), jwt(`[]`), jwt(`{"exp":1e99}`)} {
		if expires, audience := Inspect(opaque); !expires.IsZero() || audience != nil {
			t.Errorf("%q: %s %q", opaque, expires, audience)
		}
	}
}

func FuzzTokenResponse(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"a b"}`,
		`{"access_token":"` + jwt(`{"exp":1e300,"aud":1}`) + `","token_type":"bearer"}`, `{"expires_in":"3600abc"}`, `[`, "",
	} {
		f.Add([]byte(seed))
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseToken(data, now, now)
		if err != nil {
			if len(data) > 8 && strings.Contains(err.Error(), string(data)) {
				t.Errorf("quoted: %v", err)
			}
			return
		}
		request, err := http.NewRequest(http.MethodGet, "http://h/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", got.token.Authorization())
		if !isBearerToken(got.token.Reveal()) || request.Write(&strings.Builder{}) != nil {
			t.Errorf("token %q", got.token.Reveal())
		}
		if life := got.token.Expires.Sub(now); life > maxLife || (life <= 0) != got.expired {
			t.Errorf("life %s", life)
		}
	})
}
