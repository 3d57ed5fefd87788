package access

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

func loginConfig(t *testing.T, as *fakeAS) LoginConfig {
	t.Helper()
	return LoginConfig{SourceConfig: SourceConfig{
		Grant:    Grant{Kind: AuthorizationCode, Issuer: as.URL, ClientID: "person", TokenFile: filepath.Join(t.TempDir(), "tokens", "t.json"), LoginCommand: "mcpvigil login f.yaml search"},
		Endpoint: as.endpoint(),
	}}
}

func startLogin(t *testing.T, cfg LoginConfig) *Login {
	t.Helper()
	l, err := StartLogin(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// approve plays the person and the authorization endpoint: it gives the URL to
// which the browser is sent.
func (s *fakeAS) approve(l *Login, change func(url.Values)) string {
	u := mustURL(s.t, l.URL())
	q := u.Query()
	s.mu.Lock()
	s.codes["code-1"] = q.Get("code_challenge")
	s.mu.Unlock()
	answer := url.Values{"code": {"code-1"}, "state": {q.Get("state")}, "iss": {s.URL}}
	if change != nil {
		change(answer)
	}
	return q.Get("redirect_uri") + "?" + answer.Encode()
}

func browse(t *testing.T, method, address, host string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body), response.Header
}

func TestLogin(t *testing.T) {
	as := newAS(t, "scopes_supported", []string{"read", "offline_access"}, "authorization_response_iss_parameter_supported", true)
	cfg := loginConfig(t, as)
	l := startLogin(t, cfg)
	u := mustURL(t, l.URL())
	q := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "person", "code_challenge_method": "S256", "resource": as.URL + "/mcp",
		"scope": "read offline_access", "prompt": "consent", "redirect_uri": l.RedirectURI(), "tenant": "1",
	} {
		if got := q.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if len(q.Get("state")) != 43 || len(q.Get("code_challenge")) != 43 || !strings.HasPrefix(l.URL(), as.URL+"/authorize?") || !strings.HasPrefix(l.RedirectURI(), "http://127.0.0.1:") {
		t.Errorf("%s", l.URL())
	}
	go func() {
		status, body, header := browse(t, http.MethodGet, as.approve(l, nil), "")
		if status != 200 || strings.Contains(body, "code-1") || header.Get("Cache-Control") != "no-store" || header.Get("Content-Security-Policy") == "" {
			t.Errorf("%d %s %v", status, body, header)
		}
	}()
	result, err := l.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !result.Renewable || len(result.Scopes) != 2 || time.Until(result.Expires) < 50*time.Minute || result.TokenFile != cfg.Grant.TokenFile {
		t.Errorf("%+v", result)
	}
	f := as.form(0)
	if f.Get("redirect_uri") != l.RedirectURI() || f.Get("resource") != as.URL+"/mcp" || f.Get("client_id") != "person" || len(f.Get("code_verifier")) != 43 {
		t.Errorf("%v", f)
	}
	// A check uses it, and renews it.
	c := newClock()
	if got := mustToken(t, newSource(t, as, cfg.Grant, c)); got != "access-1" {
		t.Error(got)
	}
	c.pass(time.Hour)
	if got := mustToken(t, newSource(t, as, cfg.Grant, c)); got != "access-2" {
		t.Error(got)
	}
	if _, err := net.DialTimeout("tcp", l.host, time.Second); err == nil {
		t.Error("the callback still listens")
	}
}

func TestLoginOnAFixedPortByAConfidentialClient(t *testing.T) {
	as := newAS(t)
	cfg := loginConfig(t, as)
	cfg.Grant.ClientSecret, cfg.Grant.Scopes = Hide("sesame"), []string{"mine"}
	probe, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.RedirectPort = probe.Addr().(*net.TCPAddr).Port
	_, err = StartLogin(t.Context(), cfg)
	if e := mustFail(t, err); e.Reason != ReasonCallbackPort || e.Text != fmt.Sprintf("port %d of the callback is in use or not allowed", cfg.RedirectPort) || e.Hint == "" {
		t.Errorf("%+v", e)
	}
	probe.Close()
	l := startLogin(t, cfg)
	if l.RedirectURI() != fmt.Sprintf("http://127.0.0.1:%d/callback", cfg.RedirectPort) || mustURL(t, l.URL()).Query().Get("scope") != "mine" {
		t.Error(l.URL())
	}
	if err := l.Paste("  " + as.approve(l, nil) + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := l.Paste(as.approve(l, nil)); err == nil {
		t.Error("answered twice")
	}
	if _, err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if as.auths[0] != "Basic "+basicCredential("person", "sesame") {
		t.Error(as.auths)
	}
}

func TestLoginAnswers(t *testing.T) {
	set := func(pairs ...string) func(url.Values) {
		return func(q url.Values) {
			for i := 0; i < len(pairs); i += 2 {
				q.Del(pairs[i])
				if pairs[i+1] != "" {
					q.Set(pairs[i], pairs[i+1])
				}
			}
		}
	}
	const evil = "click here"
	for _, c := range []struct {
		name       string
		advertised bool
		change     func(url.Values)
		reason     string // "": it is taken
		text       string
	}{
		{"iss-supported", true, nil, "", ""},
		{"iss-not-advertised", false, set("iss", ""), "", ""},
		{"iss-supported-missing", true, set("iss", ""), ReasonLoginIssuer, ""},
		{"iss-wrong-issuer", true, set("iss", "https://evil.example"), ReasonLoginIssuer, ""},
		{"iss-unexpected", false, set("iss", "https://evil.example"), ReasonLoginIssuer, ""},
		{"iss-normalized", true, func(q url.Values) { q.Set("iss", q.Get("iss")+"/") }, ReasonLoginIssuer, ""},
		{"iss empty", false, func(q url.Values) { q.Set("iss", "") }, ReasonLoginIssuer, ""},
		{"error of another issuer", true, set("code", "", "iss", "https://evil.example", "error", evil, "error_description", evil), ReasonLoginIssuer, ""},
		{"error without the advertised iss", true, set("code", "", "iss", "", "error", evil), ReasonLoginIssuer, ""},
		{"cancelled", true, set("code", "", "error", "access_denied", "error_description", evil), ReasonLoginDenied, "the login was cancelled or denied at the authorization server"},
		{"refused", true, set("code", "", "error", "invalid_scope", "error_description", "no \x1b[2J"), ReasonLoginRefused, `the authorization server refused: invalid_scope: no \u{001B}[2J`},
		{"state of another", true, set("state", "x"), ReasonLoginState, ""},
		{"no state", true, set("state", "", "error", evil), ReasonLoginState, ""},
		{"no code", true, set("code", ""), ReasonLoginResponse, ""},
		{"code twice", true, func(q url.Values) { q.Add("code", "x") }, ReasonLoginResponse, ""},
	} {
		for _, way := range []string{"callback", "paste"} {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				as := newAS(t, "authorization_response_iss_parameter_supported", c.advertised)
				cfg := loginConfig(t, as)
				l := startLogin(t, cfg)
				var err error
				if way == "paste" {
					err = l.Paste(as.approve(l, c.change))
				} else if status, body, _ := browse(t, http.MethodGet, as.approve(l, c.change), ""); (status == 200) != (c.reason == "") || strings.Contains(body, evil) {
					t.Errorf("%d %s", status, body)
				}
				if way == "callback" && c.reason == ReasonLoginState {
					// It is somebody else's; the login still waits for its own.
					browse(t, http.MethodGet, as.approve(l, nil), "")
					if _, err := l.Wait(t.Context()); err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil {
					_, err = l.Wait(t.Context())
				}
				if c.reason == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e := mustFail(t, err)
				if e.Reason != c.reason || e.Hint == "" || c.text != "" && e.Text != c.text || strings.Contains(e.Text+e.Hint, evil) {
					t.Errorf("%+v", e)
				}
				if as.requests() != 0 {
					t.Error("a code was exchanged")
				}
				if _, err := os.Stat(cfg.Grant.TokenFile); err == nil {
					t.Error("a token file was written")
				}
			})
		}
	}
}

func TestCallbackTakesNothingElse(t *testing.T) {
	as := newAS(t)
	l := startLogin(t, loginConfig(t, as))
	good := as.approve(l, nil)
	for _, c := range []struct {
		method, address, host string
		want                  int
	}{
		{http.MethodGet, good, "evil.example", 403},
		{http.MethodGet, good, "localhost:" + mustURL(t, good).Port(), 403},
		{http.MethodPost, good, "", 405},
		{http.MethodHead, good, "", 405},
		{http.MethodGet, strings.Replace(good, "/callback", "/", 1), "", 404},
		{http.MethodGet, strings.Replace(good, "/callback", "/callback/", 1), "", 404},
	} {
		if status, _, _ := browse(t, c.method, c.address, c.host); status != c.want {
			t.Errorf("%s %s: %d", c.method, c.address, status)
		}
	}
	for _, text := range []string{"", "nonsense", "http://127.0.0.1/callback?code=x", strings.Replace(good, "127.0.0.1", "evil.example", 1), "code-1"} {
		if e := mustFail(t, l.Paste(text)); e.Reason != ReasonLoginResponse || !strings.Contains(e.Hint, l.RedirectURI()) {
			t.Errorf("%q: %+v", text, e)
		}
	}
	if err := l.Paste(good); err != nil { // all that had no effect
		t.Error(err)
	}
}

func TestLoginThatCannotStart(t *testing.T) {
	for _, c := range []struct {
		name     string
		metadata []any
		change   func(*LoginConfig)
		reason   string
	}{
		{"PKCE not advertised", []any{"code_challenge_methods_supported", nil}, nil, ReasonPKCENotAdvertised},
		{"PKCE plain", []any{"code_challenge_methods_supported", []string{"plain"}}, nil, ReasonPKCES256},
		{"no authorization endpoint", []any{"authorization_endpoint", nil}, nil, ReasonEndpointMissing},
		{"for machines", []any{"authorization_endpoint", nil, "grant_types_supported", []string{"client_credentials"}}, nil, ReasonEndpointMissing},
		{"plain http", []any{"authorization_endpoint", "http://as.example/"}, nil, ReasonMetadataScheme},
		{"issuer of another", []any{"issuer", "https://evil.example"}, nil, ReasonIssuerMismatch},
		{"metadata document not taken", nil, func(c *LoginConfig) {
			c.Grant.ClientID, c.Grant.ClientMetadataURL = "", "https://c.example/client.json"
		}, ReasonNoRegistration},
		{"no client", nil, func(c *LoginConfig) { c.Grant.ClientID = "" }, ReasonGrantInvalid},
		{"another grant", nil, func(c *LoginConfig) { c.Grant.Kind = RefreshToken }, ReasonGrantInvalid},
		{"no place for the token", nil, func(c *LoginConfig) { c.Grant.TokenFile = "/dev/null/t.json" }, ReasonTokenFile},
	} {
		as := newAS(t, c.metadata...)
		cfg := loginConfig(t, as)
		if c.change != nil {
			c.change(&cfg)
		}
		_, err := StartLogin(t.Context(), cfg)
		if e := mustFail(t, err); e.Reason != c.reason || e.Hint == "" {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

func TestLoginWithAClientMetadataDocument(t *testing.T) {
	as := newAS(t, "client_id_metadata_document_supported", true)
	cfg := loginConfig(t, as)
	cfg.Grant.ClientID, cfg.Grant.ClientMetadataURL = "", "https://c.example/client.json"
	l := startLogin(t, cfg)
	if err := l.Paste(as.approve(l, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := as.form(0).Get("client_id"); got != "https://c.example/client.json" {
		t.Error(got)
	}
	if got := mustToken(t, newSource(t, as, cfg.Grant, nil)); got != "access-1" {
		t.Error(got)
	}
}

func TestNobodyLogsIn(t *testing.T) {
	as := newAS(t)
	cfg := loginConfig(t, as)
	cfg.Timeout = 50 * time.Millisecond
	_, err := startLogin(t, cfg).Wait(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonLoginTimeout || !strings.Contains(e.Hint, "mcpvigil login f.yaml search") {
		t.Errorf("%+v", e)
	}
	cfg.Timeout = 0
	ctx, cancel := context.WithCancel(t.Context())
	l := startLogin(t, cfg)
	cancel()
	_, err = l.Wait(ctx)
	if e := mustFail(t, err); e.Reason != ReasonAborted {
		t.Errorf("%+v", e)
	}
}

func TestRefusedCodeLeavesTheOldLogin(t *testing.T) {
	as := newAS(t)
	cfg := loginConfig(t, as)
	if problem := write(t.Context(), tokenFile{path: cfg.Grant.TokenFile}, sample("old")); problem != nil {
		t.Fatal(problem)
	}
	l := startLogin(t, cfg)
	if err := l.Paste(as.approve(l, func(q url.Values) { q.Set("code", "stolen") })); err != nil {
		t.Fatal(err)
	}
	_, err := l.Wait(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonTokenRefused || !strings.Contains(e.Hint, "mcpvigil login f.yaml search") {
		t.Errorf("%+v", e)
	}
	s, problem := tokenFile{path: cfg.Grant.TokenFile}.load()
	if problem != nil || s.access != "old" {
		t.Errorf("%v", problem)
	}
	entries, _ := os.ReadDir(filepath.Dir(cfg.Grant.TokenFile))
	if len(entries) != 2 {
		t.Errorf("%v", entries)
	}
}

func TestLoginPrintsNothingSecret(t *testing.T) {
	as := newAS(t)
	cfg := loginConfig(t, as)
	r := plain.NewRedactor()
	cfg.HTTP.Redact = r
	l := startLogin(t, cfg)
	if err := l.Paste(as.approve(l, nil)); err != nil {
		t.Fatal(err)
	}
	result, err := l.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %+v %+v", l, l, l, struct{ l *Login }{l}, result) + r.String(l.verifier+" code-1 access-1")
	for _, secret := range []string{l.state, l.verifier, "code-1", "access-1"} {
		if strings.Contains(all, secret) {
			t.Errorf("shown: %s", secret)
		}
	}
}
