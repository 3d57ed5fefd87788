package probe_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// What the design says about access: refusals, modes, tokens, trust, secrets.

// A refusal is never an outage, whoever gives it and whenever.
func TestDesign2RefusalIsNoOutage(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		for _, at := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "resources/list", "tools/call"} {
			for _, withToken := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %s %t", status, at, withToken), func(t *testing.T) {
					srv := fakemcp.New(t, fakemcp.Config{Tools: []string{fakemcp.SafeTool("health")}, Resources: fakemcp.Resources("a:b"), Callable: true})
					srv.Allow(fakemcp.RuleInitialized)
					srv.On(at, fakemcp.Respond(fakemcp.Response{Status: status, Type: "text/plain", Body: "no", Header: map[string]string{"WWW-Authenticate": "Bearer"}}))
					tgt := srv.Target()
					tgt.Call = &target.Call{Tool: "health", Safe: true}
					if withToken {
						tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
					}
					r := check(t, tgt, probe.Options{})
					sound(t, r)
					if r.Status != probe.StatusMisconfigured {
						t.Errorf("the report is %s:\n%s", r.Status, describe(r))
					}
					for _, c := range r.Checks {
						if !c.Skipped && !c.Passed && (c.Status != probe.StatusMisconfigured || c.Hint == "") {
							t.Errorf("step %s is %s, hint %q", c.Name, c.Status, c.Hint)
						}
					}
				})
			}
		}
	}
}

// In mode oauth the chain alone is judged, and a server without a login has none.
func TestDesign15Audit(t *testing.T) {
	t.Parallel()
	t.Run("intact", func(t *testing.T) {
		l := (&login{}).start(t)
		r := check(t, l.audit(), probe.Options{})
		verify(t, r, want{})
		verifyNoList(t, r)
		contains(t, "the step", step(t, r, probe.StepAuthentication).Message, "intact", l.as.URL)
		if len(r.Chain) != 8 {
			t.Errorf("the chain has %d rungs", len(r.Chain))
		}
		if g := rung(t, r, "resource-metadata"); g.URL == "" || g.HTTPStatus != 200 || g.Text == "" {
			t.Errorf("the rung is %+v", g)
		}
		sequence(t, l.mcp.Methods(), "server/discover", "HTTP GET")
		sequence(t, l.asked(), "GET "+serverPath)
	})
	t.Run("a login after the opening", func(t *testing.T) {
		l := (&login{anybody: true}).start(t)
		l.mcp.On("tools/list", func(x *fakemcp.Exchange) { l.refusal(x) })
		verify(t, check(t, l.audit(), probe.Options{}), want{})
	})
	t.Run("no login", func(t *testing.T) {
		l := (&login{anybody: true}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "auth-not-required"})
	})
	t.Run("403", func(t *testing.T) {
		l := (&login{refuse: fakemcp.Text(403, "text/plain", "no")}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "auth-status", text: []string{"403"}, hint: []string{"401"}})
	})
	t.Run("500", func(t *testing.T) {
		l := (&login{refuse: fakemcp.Text(500, "text/plain", "no")}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "http-5xx"})
	})
	t.Run("a web page", func(t *testing.T) {
		l := (&login{refuse: fakemcp.Text(200, "text/html", signInPage)}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepConnect, reason: "not-mcp-endpoint"})
	})
	t.Run("a bot challenge", func(t *testing.T) {
		l := (&login{refuse: fakemcp.Respond(fakemcp.Response{Status: 403, Type: "text/html", Header: map[string]string{"Cf-Mitigated": "challenge"}})}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{status: probe.StatusUnknown, step: probe.StepConnect, reason: "edge-challenge"})
	})
	t.Run("nobody there", func(t *testing.T) {
		l := (&login{}).start(t)
		tgt := l.audit()
		l.mcp.Close()
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "connection-refused"})
	})
	t.Run("the authorization server is down", func(t *testing.T) {
		l := (&login{server: map[string]string{serverPath: "503", openidPath: "503"}}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{status: probe.StatusUnknown, step: probe.StepAuthentication, reason: "server-unavailable"})
	})
	t.Run("another scheme first", func(t *testing.T) {
		l := (&login{challenge: `Negotiate dG9rZW4=, Basic realm="x, y", Bearer scope="read", resource_metadata="$MCP` + resourcePath + `/mcp"`}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{})
	})
	t.Run("metadata of another origin", func(t *testing.T) {
		l := (&login{challenge: `Bearer resource_metadata="$AS/resource.json"`}).start(t)
		verify(t, check(t, l.audit(), probe.Options{}), want{notes: []probe.Reason{"metadata-other-origin"}})
		if slices.Contains(l.asked(), "GET /resource.json") {
			t.Error("metadata of another origin was fetched")
		}
	})
}

func TestDesign15TokensWithoutALife(t *testing.T) {
	t.Parallel()
	// One token serves a whole check, and the next check gets one of its own.
	l := (&login{token: func(url.Values) (int, string) { return 200, `{"access_token":"opens-it","token_type":"bearer"}` }}).start(t)
	for n := 1; n <= 2; n++ {
		verify(t, check(t, l.machine(), probe.Options{}), want{})
		if got := len(l.forms()); got != n {
			t.Fatalf("%d tokens after %d checks", got, n)
		}
	}
}

func TestDesign15PinnedIssuer(t *testing.T) {
	t.Parallel()
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a server that is not trusted was asked") }))
	t.Cleanup(evil.Close)
	t.Run("not listed", func(t *testing.T) {
		l := (&login{resource: map[string]string{resourcePath + "/mcp": resourceDoc("$ENDPOINT", evil.URL)}}).start(t)
		r := check(t, l.machine(), probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "issuer-mismatch", text: []string{evil.URL, l.as.URL}})
		if len(l.asked()) > 0 {
			t.Errorf("asked for %v", l.asked())
		}
	})
	t.Run("second of two", func(t *testing.T) {
		l := (&login{resource: map[string]string{resourcePath + "/mcp": `{"resource":"$ENDPOINT","authorization_servers":["` + evil.URL + `","$AS"]}`}}).start(t)
		verify(t, check(t, l.machine(), probe.Options{}), want{})
	})
	t.Run("an endpoint elsewhere is the issuer's to name", func(t *testing.T) {
		l := (&login{}).start(t)
		other := (&login{}).start(t)
		l.server = map[string]string{serverPath: `{"issuer":"$AS","token_endpoint":"` + other.as.URL + `/token","grant_types_supported":["client_credentials"]}`}
		verify(t, check(t, l.machine(), probe.Options{}), want{})
		if len(other.forms()) != 1 {
			t.Error("the token endpoint of the metadata was not used")
		}
	})
}

// A refused token is given back once, for a request that may be repeated; a call
// may not.
func TestDesignRefusedToken(t *testing.T) {
	t.Parallel()
	safe := fakemcp.Config{Era: fakemcp.Modern, Tools: []string{fakemcp.SafeTool("health")}, Callable: true}
	call := &target.Call{Tool: "health", Safe: true}
	revoked := func(l *login) fakemcp.Handler {
		return fakemcp.When(func(x *fakemcp.Exchange) bool { return x.Header.Get("Authorization") == "Bearer opens-1" }, func(x *fakemcp.Exchange) { l.refusal(x) })
	}
	t.Run("listing", func(t *testing.T) {
		l := (&login{cfg: safe}).start(t)
		l.mcp.On("tools/list", revoked(l))
		r := check(t, l.machine(), probe.Options{})
		verify(t, r, want{})
		if n, m := len(l.forms()), l.mcp.Count("tools/list"); n != 2 || m != 2 {
			t.Errorf("%d tokens, %d listings, want two of each", n, m)
		}
	})
	t.Run("listing, for good", func(t *testing.T) {
		l := (&login{cfg: safe}).start(t)
		l.mcp.On("tools/list", func(x *fakemcp.Exchange) { l.refusal(x) })
		r := check(t, l.machine(), probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "token-rejected"})
		if n, m := len(l.forms()), l.mcp.Count("tools/list"); n != 2 || m != 2 {
			t.Errorf("%d tokens, %d listings, want two of each", n, m)
		}
	})
	t.Run("call", func(t *testing.T) {
		l := (&login{cfg: safe}).start(t)
		l.mcp.On("tools/call", revoked(l))
		tgt := l.machine()
		tgt.Call = call
		r := check(t, tgt, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepCall, reason: "token-rejected"})
		if n := l.mcp.Count("tools/call"); n != 1 {
			t.Errorf("the call was sent %d times", n)
		}
	})
	t.Run("notification", func(t *testing.T) {
		l := (&login{}).start(t)
		l.mcp.On("notifications/initialized", revoked(l))
		verify(t, check(t, l.machine(), probe.Options{}), want{})
		if n := len(l.forms()); n != 2 {
			t.Errorf("%d tokens", n)
		}
	})
	for _, at := range []string{"GET", "initialize", "tools/list"} {
		t.Run("HTTP+SSE, "+at, func(t *testing.T) {
			l := (&login{sse: true}).start(t)
			l.mcp.On(at, revoked(l))
			if at == "GET" {
				l.mcp.OnPath("/sse", revoked(l))
			}
			verify(t, check(t, l.machine(), probe.Options{}), want{})
			if n := len(l.forms()); n != 2 {
				t.Errorf("%d tokens", n)
			}
		})
	}
	t.Run("HTTP+SSE, call", func(t *testing.T) {
		l := (&login{sse: true, cfg: fakemcp.Config{Tools: safe.Tools, Callable: true}}).start(t)
		l.mcp.On("tools/call", revoked(l))
		tgt := l.machine()
		tgt.Call = call
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepCall, reason: "token-rejected"})
		if n := l.mcp.Count("tools/call"); n != 1 {
			t.Errorf("the call was sent %d times", n)
		}
	})
	t.Run("header", func(t *testing.T) {
		l := (&login{cfg: safe}).start(t)
		l.mcp.On("tools/list", func(x *fakemcp.Exchange) { l.refusal(x) })
		verify(t, check(t, l.bearer("opens-1"), probe.Options{}), want{status: probe.StatusMisconfigured, reason: "token-rejected"})
		if m := l.mcp.Count("tools/list"); m != 1 {
			t.Errorf("%d listings with a token that cannot change", m)
		}
	})
}

// What keeps a token from being good is told apart.
func TestDesignRefusalsToldApart(t *testing.T) {
	t.Parallel()
	future, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Hour).Unix()
	elsewhere := jwt(fmt.Sprintf(`{"aud":"https://other.example.com/mcp","exp":%d}`, future))
	ended := jwt(fmt.Sprintf(`{"aud":"https://other.example.com/mcp","exp":%d}`, past))
	refused := func(status int, code string) func(url.Values) (int, string) {
		return func(url.Values) (int, string) {
			return status, `{"error":"` + code + `","error_description":"because"}`
		}
	}
	gives := func(token string) func(url.Values) (int, string) {
		return func(url.Values) (int, string) {
			return 200, `{"access_token":"` + token + `","token_type":"Bearer","expires_in":600}`
		}
	}
	headers := map[string]struct {
		token  string
		reason probe.Reason
		hint   string
	}{
		"wrong audience": {elsewhere, "wrong-audience", "resource="},
		"expired":        {ended, "token-expired", "renew"},
		"refused":        {"stays-out", "token-rejected", "renew"},
	}
	for name, c := range headers {
		t.Run("header, "+name, func(t *testing.T) {
			l := (&login{}).start(t)
			r := check(t, l.bearer(c.token), probe.Options{})
			verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: c.reason, hint: []string{c.hint}})
		})
	}
	logins := map[string]struct {
		token  func(url.Values) (int, string)
		status probe.Status
		reason probe.Reason
		hint   string
	}{
		"wrong audience":        {gives(elsewhere), probe.StatusMisconfigured, "wrong-audience", "resource="},
		"refused by the server": {gives("stays-out"), probe.StatusMisconfigured, "token-rejected", ""},
		"wrong secret":          {refused(401, "invalid_client"), probe.StatusMisconfigured, "token-refused", "client_id"},
		"grant not allowed":     {refused(400, "unauthorized_client"), probe.StatusMisconfigured, "token-refused", "client_credentials"},
		"scope":                 {refused(400, "invalid_scope"), probe.StatusMisconfigured, "insufficient-scope", "read"},
		"resource":              {refused(400, "invalid_target"), probe.StatusMisconfigured, "resource-refused", "resource"},
		"expired when issued": {func(url.Values) (int, string) {
			return 200, `{"access_token":"opens-1","token_type":"Bearer","expires_in":0}`
		}, probe.StatusMisconfigured, "token-expired", "clock"},
		"server error":           {refused(500, "server_error"), probe.StatusUnknown, "server-unavailable", "later"},
		"unavailable with a 400": {refused(400, "temporarily_unavailable"), probe.StatusUnknown, "server-unavailable", "later"},
		"too many requests":      {refused(429, ""), probe.StatusUnknown, "server-unavailable", "later"},
		"redirect":               {refused(302, ""), probe.StatusMisconfigured, "token-response", "redirect"},
		"a DPoP token":           {func(url.Values) (int, string) { return 200, `{"access_token":"opens-1","token_type":"DPoP"}` }, probe.StatusMisconfigured, "token-response", ""},
	}
	for name, c := range logins {
		t.Run("login, "+name, func(t *testing.T) {
			l := (&login{token: c.token}).start(t)
			tgt := l.machine()
			tgt.OAuth.Scopes = []string{"read"}
			r := check(t, tgt, probe.Options{})
			verify(t, r, want{status: c.status, step: probe.StepAuthentication, reason: c.reason, hint: []string{c.hint}})
		})
	}
	t.Run("login, the server is gone", func(t *testing.T) {
		l := (&login{}).start(t)
		l.as.Close()
		r := check(t, l.machine(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnknown, step: probe.StepAuthentication, reason: "server-unavailable"})
	})
	t.Run("login, the server is silent", func(t *testing.T) {
		l := (&login{}).start(t)
		silent := make(chan struct{})
		l.token = func(url.Values) (int, string) { <-silent; return 503, "" }
		t.Cleanup(func() { close(silent) })
		r := check(t, l.machine(), short())
		verify(t, r, want{status: probe.StatusUnknown, step: probe.StepAuthentication, reason: "server-unavailable"})
	})
	t.Run("login, the metadata is silent", func(t *testing.T) {
		l := (&login{}).start(t)
		l.mcp.OnHTTP("GET", fakemcp.Hang())
		r := check(t, l.machine(), short())
		if r.Status != probe.StatusUnknown {
			t.Errorf("a login that did not come about is %s:\n%s", r.Status, describe(r))
		}
		sound(t, r)
	})
	t.Run("login, nobody has", func(t *testing.T) {
		l := (&login{}).start(t)
		tgt := l.plain()
		tgt.OAuth = &target.OAuth{Grant: target.AuthorizationCode, Issuer: l.as.URL, ClientID: clientID, TokenFile: filepath.Join(t.TempDir(), "token"), LoginCommand: "mcpvigil login here.yaml this"}
		r := check(t, tgt, probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "login-required", hint: []string{"mcpvigil login here.yaml this"}})
		if n := len(l.mcp.Requests()) + len(l.asked()); n != 0 {
			t.Errorf("%d requests were sent without a login", n)
		}
	})
	t.Run("login, the file is open to others", func(t *testing.T) {
		l := (&login{}).start(t)
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte("{}"), 0o644); err != nil { //nolint:gosec // that is the point
			t.Fatal(err)
		}
		tgt := l.plain()
		tgt.OAuth = &target.OAuth{Grant: target.AuthorizationCode, Issuer: l.as.URL, ClientID: clientID, TokenFile: file, LoginCommand: "mcpvigil login here.yaml this"}
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "token-file", hint: []string{"mcpvigil login here.yaml this"}})
	})
	t.Run("configuration", func(t *testing.T) {
		l := (&login{}).start(t)
		tgt := l.machine()
		tgt.OAuth.Issuer = "http://as.example.com"
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepConfiguration, reason: "grant-invalid"})
		tgt = l.machine()
		tgt.OAuth.ClientSecret = target.FromEnv("MCPVIGIL_TEST_NOT_SET")
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepConfiguration, reason: "unreadable-secret", text: []string{"MCPVIGIL_TEST_NOT_SET"}})
	})
}

func TestDesignRefreshTokenWithoutAFile(t *testing.T) {
	t.Parallel()
	l := (&login{token: func(form url.Values) (int, string) {
		if form.Get("refresh_token") != "sesame-refresh" || form.Get("resource") == "" {
			return 400, `{"error":"invalid_grant"}`
		}
		return 200, `{"access_token":"opens-1","token_type":"Bearer","expires_in":60,"refresh_token":"sesame-next"}`
	}}).start(t)
	tgt := l.plain()
	tgt.OAuth = &target.OAuth{Grant: target.RefreshToken, Issuer: l.as.URL, ClientID: clientID, RefreshToken: target.Literal("sesame-refresh")}
	verify(t, check(t, tgt, probe.Options{}), want{notes: []probe.Reason{"refresh-token-rotated"}})
}

func TestDesignClientCredentialsExtension(t *testing.T) {
	t.Parallel()
	const extension = "io.modelcontextprotocol/oauth-client-credentials"
	l := (&login{cfg: fakemcp.Config{Era: fakemcp.Modern}}).start(t)
	verify(t, check(t, l.machine(), probe.Options{}), want{})
	for _, q := range l.mcp.Requests() {
		if q.HTTPMethod == "POST" && q.Header.Get("Authorization") != "" && !strings.Contains(string(q.Body), extension) {
			t.Errorf("%s does not declare the extension: %s", q.Method, q.Body)
		}
	}
	l.mcp.Reset()
	verify(t, check(t, l.bearer("opens-it"), probe.Options{}), want{})
	for _, q := range l.mcp.Requests() {
		if strings.Contains(string(q.Body), extension) {
			t.Errorf("%s declares an extension that is not used", q.Method)
		}
	}
}

func TestDesignCredentialNotProven(t *testing.T) {
	t.Parallel()
	t.Run("anybody may list", func(t *testing.T) {
		l := (&login{anybody: true}).start(t)
		verify(t, check(t, l.bearer("whatever-it-is"), diagnose), want{notes: []probe.Reason{"credential-not-proven"}})
		verify(t, check(t, l.bearer("whatever-it-is"), probe.Options{}), want{})
		verify(t, check(t, l.plain(), diagnose), want{})
		verify(t, check(t, l.machine(), diagnose), want{notes: []probe.Reason{"credential-not-proven"}})
	})
	t.Run("any token will do", func(t *testing.T) {
		l := (&login{}).start(t)
		l.mcp.OnHTTP("POST", fakemcp.When(func(x *fakemcp.Exchange) bool { return x.Header.Get("Authorization") == "" }, func(x *fakemcp.Exchange) { l.refusal(x) }))
		r := check(t, l.bearer("whatever-it-is"), diagnose)
		verify(t, r, want{notes: []probe.Reason{"credential-not-proven"}})
		contains(t, "the note", note(t, r, "credential-not-proven").Text, "made-up")
		verify(t, check(t, l.machine(), diagnose), want{notes: []probe.Reason{"credential-not-proven"}})
		verify(t, check(t, l.bearer("whatever-it-is"), probe.Options{}), want{})
	})
	t.Run("any key will do", func(t *testing.T) {
		l := (&login{}).start(t)
		l.mcp.OnHTTP("POST", fakemcp.When(func(x *fakemcp.Exchange) bool { return x.Header.Get("X-Api-Key") == "" }, func(x *fakemcp.Exchange) { l.refusal(x) }))
		tgt := l.plain()
		tgt.Headers = []target.Header{{Name: "X-API-Key", Value: target.Literal("whatever-it-is")}}
		verify(t, check(t, tgt, diagnose), want{notes: []probe.Reason{"credential-not-proven"}})
	})
	t.Run("proven", func(t *testing.T) {
		l := (&login{}).start(t)
		verify(t, check(t, l.bearer("opens-it"), diagnose), want{})
		verify(t, check(t, l.machine(), diagnose), want{})
	})
	t.Run("the list is guarded", func(t *testing.T) {
		l := (&login{anybody: true}).start(t)
		l.mcp.On("tools/list", fakemcp.When(func(x *fakemcp.Exchange) bool {
			return !strings.HasPrefix(x.Header.Get("Authorization"), "Bearer whatever")
		}, func(x *fakemcp.Exchange) { l.refusal(x) }))
		verify(t, check(t, l.bearer("whatever-it-is"), diagnose), want{})
	})
	t.Run("strangers get a page", func(t *testing.T) {
		l := (&login{refuse: fakemcp.Text(200, "text/html", signInPage)}).start(t)
		verify(t, check(t, l.bearer("opens-it"), diagnose), want{})
	})
	t.Run("a header that is no credential", func(t *testing.T) {
		l := (&login{anybody: true}).start(t)
		tgt := l.plain()
		tgt.Headers = []target.Header{{Name: "X-Tenant", Value: target.Literal("acme")}}
		verify(t, check(t, tgt, diagnose), want{})
	})
}

// Whether a server can be reached has nothing to do with its login.
func TestDesignReachabilityNeedsNoToken(t *testing.T) {
	t.Parallel()
	l := (&login{}).start(t)
	l.mcp.Allow(fakemcp.RuleHead)
	l.as.Close()
	for name, tgt := range map[string]*target.Target{"login": l.machine(), "audit": l.audit()} {
		r := probe.Ping(t.Context(), tgt, probe.Options{})
		verify(t, r, want{})
		if t.Failed() {
			t.Fatalf("ping of a target in mode %s", name)
		}
	}
	tgt := l.machine()
	tgt.HeadReachability = true
	r := check(t, tgt, probe.Options{})
	verify(t, r, want{status: probe.StatusUnknown, step: probe.StepAuthentication, reason: "server-unavailable"})
	if !step(t, r, probe.StepConnect).Passed {
		t.Error("a server whose login is down cannot be reached")
	}
}

func TestDesignMinTokenDays(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string { return jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(d).Unix())) }
	near, far := in(5*24*time.Hour+time.Hour), in(50*24*time.Hour)
	l := (&login{good: []string{near, far}}).start(t)
	expect := func(days int) probe.Options { return probe.Options{Expect: target.Expectations{MinTokenDays: days}} }
	r := check(t, l.bearer(near), probe.Options{})
	verify(t, r, want{})
	if c := r.Credential; c == nil || c.Kind != "bearer" || c.DaysLeft == nil || *c.DaysLeft != 5 {
		t.Errorf("the credential is %+v", r.Credential)
	}
	verify(t, check(t, l.bearer(near), expect(5)), want{})
	r = check(t, l.bearer(near), expect(14))
	verify(t, r, want{status: probe.StatusDegraded, step: probe.StepAuthentication, reason: "token-expiring", text: []string{"5 days", "14"}})
	if !step(t, r, probe.StepTools).Passed {
		t.Error("a credential that still works kept the check from going on")
	}
	verify(t, check(t, l.bearer(far), expect(14)), want{})
	verify(t, check(t, l.bearer("opens-it"), expect(14)), want{})
	tgt := l.bearer(near)
	tgt.Expect.MinTokenDays = 14
	verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusDegraded, reason: "token-expiring"})
	// A token that every check gets anew does not end.
	verify(t, check(t, l.machine(), expect(14)), want{})
}

// authority issues certificates that nobody but the test trusts.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string // the file of its certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "private root"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	pair := a.sign(template, time.Now().AddDate(1, 0, 0))
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	a.pem = a.write("ca.pem", "CERTIFICATE", a.cert.Raw)
	return a
}

func (a *authority) sign(template *x509.Certificate, until time.Time) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.NotBefore, template.NotAfter = time.Now().AddDate(-1, 0, 0), until
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	parent, parentKey := template, key
	if a.cert != nil {
		parent, parentKey = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	file := filepath.Join(a.t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// client writes a client certificate that ends at the given time.
func (a *authority) client(until time.Time) target.TLS {
	a.t.Helper()
	pair := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "client"}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, until)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return target.TLS{CAFile: a.pem, CertFile: a.write("client.pem", "CERTIFICATE", pair.Certificate[0]), KeyFile: a.write("client.key", "PRIVATE KEY", key)}
}

// serve puts h behind TLS that demands client certificates of this authority.
func (a *authority) serve(h http.Handler, version uint16) string {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	leaf := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, DNSNames: []string{"inside.fake.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, time.Now().AddDate(0, 1, 0))
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.TLS = &tls.Config{MinVersion: version, MaxVersion: version, Certificates: []tls.Certificate{leaf}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	srv.StartTLS()
	a.t.Cleanup(srv.Close)
	return srv.URL
}

func TestDesignClientCertificates(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			ca, stranger := newAuthority(t), newAuthority(t)
			srv := fakemcp.New(t, fakemcp.Config{})
			at := ca.serve(srv, version) + "/mcp"
			point := func(files target.TLS) *target.Target {
				return &target.Target{Endpoint: at, Transport: target.HTTP, TLS: files}
			}
			good := ca.client(time.Now().Add(10*24*time.Hour + time.Hour))
			r := check(t, point(good), probe.Options{})
			verify(t, r, want{})
			if c := r.Credential; c == nil || c.Kind != "client-certificate" || c.DaysLeft == nil || *c.DaysLeft != 10 {
				t.Errorf("the credential is %+v", c)
			}
			verify(t, check(t, point(good), probe.Options{Expect: target.Expectations{MinTokenDays: 30}}), want{status: probe.StatusDegraded, reason: "token-expiring"})
			named := good
			named.ServerName = "inside.fake.test"
			verify(t, check(t, point(named), probe.Options{}), want{})
			named.ServerName = "outside.fake.test"
			verify(t, check(t, point(named), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "tls-untrusted"})

			verify(t, check(t, point(target.TLS{}), probe.Options{}), want{status: probe.StatusUnhealthy, step: probe.StepConnect, reason: "tls-untrusted"})
			none := target.TLS{CAFile: ca.pem}
			verify(t, check(t, point(none), probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "auth-required", hint: []string{"cert_file"}})
			foreign, ended := stranger.client(time.Now().AddDate(0, 1, 0)), ca.client(time.Now().Add(-time.Hour))
			foreign.CAFile = ca.pem
			verify(t, check(t, point(foreign), probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "token-rejected", hint: []string{"client certificate"}})
			verify(t, check(t, point(ended), probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "token-expired", text: []string{"client certificate"}, hint: []string{"client certificate"}})
		})
	}
	t.Run("files", func(t *testing.T) {
		ca := newAuthority(t)
		good := ca.client(time.Now().AddDate(0, 1, 0))
		for name, files := range map[string]target.TLS{
			"no such authority": {CAFile: filepath.Join(t.TempDir(), "nowhere.pem")},
			"no certificate":    {CAFile: good.KeyFile},
			"no such key":       {CertFile: good.CertFile, KeyFile: filepath.Join(t.TempDir(), "nowhere.key")},
			"another's key":     {CertFile: good.CertFile, KeyFile: ca.client(time.Now().AddDate(0, 1, 0)).KeyFile},
		} {
			r := check(t, &target.Target{Endpoint: "https://127.0.0.1:1/mcp", TLS: files}, probe.Options{})
			verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepConfiguration, reason: "tls-files"})
			if t.Failed() {
				t.Fatalf("case %s", name)
			}
		}
	})
}

// The client certificate and the server name are for the endpoint alone.
func TestDesignClientCertificateStaysHome(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	l := (&login{}).start(t)
	at := ca.serve(l.mcp, tls.VersionTLS13)
	var presented int
	as := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		presented += len(r.TLS.PeerCertificates)
		l.serveAS(w, r)
	}))
	leaf := ca.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "as"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, time.Now().AddDate(0, 1, 0))
	as.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{leaf}, ClientAuth: tls.RequestClientCert}
	as.StartTLS()
	t.Cleanup(as.Close)
	l.resource = map[string]string{resourcePath + "/mcp": resourceDoc(at+"/mcp", as.URL)}
	l.server = map[string]string{serverPath: `{"issuer":"` + as.URL + `","token_endpoint":"` + as.URL + `/token","grant_types_supported":["client_credentials"]}`}
	l.challenge = "Bearer"
	tgt := l.machine()
	tgt.Endpoint, tgt.OAuth.Issuer, tgt.TLS = at+"/mcp", as.URL, ca.client(time.Now().AddDate(0, 1, 0))
	tgt.TLS.ServerName = "inside.fake.test"
	verify(t, check(t, tgt, probe.Options{}), want{})
	if presented > 0 {
		t.Error("the client certificate was shown to the authorization server")
	}
	if len(l.forms()) != 1 {
		t.Errorf("%d tokens", len(l.forms()))
	}
}

// Credentials and tokens go to the endpoint's origin and nowhere else. What
// login.heldSecretsBack looks for, each other test of a login looks for as well.
func TestDesignCredentialsStayHome(t *testing.T) {
	t.Parallel()
	other := fakemcp.New(t, fakemcp.Config{})
	for name, mode := range map[string]func(l *login) *target.Target{
		"bearer": func(l *login) *target.Target { return l.bearer("opens-it") },
		"login":  (*login).machine,
	} {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{302, 307, 308} {
				l := (&login{}).start(t)
				l.mcp.On("tools/list", fakemcp.Redirect(status, other.URL))
				verify(t, check(t, mode(l), diagnose), want{status: probe.StatusUnhealthy, reason: "redirect"})
			}
			l := (&login{challenge: `Bearer resource_metadata="` + other.URL + `"`}).start(t)
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) { l.refusal(x) })
			verify(t, check(t, mode(l), diagnose), want{status: probe.StatusMisconfigured, reason: "token-rejected"})
		})
	}
	t.Run("HTTP+SSE", func(t *testing.T) {
		sse := fakemcp.NewSSE(t, fakemcp.Config{})
		sse.Allow("*")
		sse.OnHTTP("GET", fakemcp.Respond(fakemcp.Response{Type: "text/event-stream", Body: "event: endpoint\ndata: " + other.URL + "\n\n", Hold: true}))
		tgt := sse.Target()
		tgt.Headers = []target.Header{target.Bearer(target.Literal("sesame-opens"))}
		verify(t, check(t, tgt, probe.Options{}), want{status: probe.StatusUnhealthy, reason: "sse-endpoint-origin"})
	})
	if got := other.Requests(); len(got) != 0 {
		t.Errorf("%d requests went to another origin, the first is %+v", len(got), got[0])
	}
}

// A server that repeats all it is told gets no secret into a report.
func TestDesignSecretsInNoReport(t *testing.T) {
	t.Parallel()
	const key, refresh, next, access = "sesame-api-key-0815", "sesame-refresh-token-4711", "sesame-next-refresh-1234", "opens-sesame-access-99"
	secrets := []string{
		key, refresh, next, access, clientSecret,
		base64.StdEncoding.EncodeToString([]byte(clientID + ":" + clientSecret)), url.QueryEscape(key),
	}
	everything := func(x *fakemcp.Exchange) string {
		said := "X-Api-Key: " + x.Header.Get("X-Api-Key") + "; Authorization: " + x.Header.Get("Authorization")
		for name, values := range x.Header {
			said += "; " + name + ": " + strings.Join(values, ", ")
		}
		return said
	}
	text := func(x *fakemcp.Exchange) string { data, _ := json.Marshal(everything(x)); return string(data) }
	reflections := map[string]func(l *login){
		"server name": func(l *login) {
			l.mcp.On("initialize", func(x *fakemcp.Exchange) {
				x.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":` + text(x) + `,"serverInfo":{"name":` + text(x) + `,"version":` + text(x) + `}}`)
			})
		},
		"tools": func(l *login) {
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) {
				x.Result(`{"tools":[{"name":` + text(x) + `,"description":` + text(x) + `,"inputSchema":{"type":"object"}},{"name":` + text(x) + `,"inputSchema":{"type":"object"}}]}`)
			})
		},
		"RPC error": func(l *login) {
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) { x.RPCError(200, -32603, everything(x), text(x)) })
		},
		"challenge": func(l *login) {
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) {
				fakemcp.Unauthorized(`Bearer error="invalid_token", error_description="` + everything(x) + `", scope="` + x.Header.Get("X-Api-Key") + `", resource_metadata="` + l.origin() + `/` + url.PathEscape(x.Header.Get("X-Api-Key")) + `?t=` + url.QueryEscape(x.Header.Get("Authorization")) + `"`)(x)
			})
		},
		"scope": func(l *login) {
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) {
				fakemcp.Text(403, "application/json", `{"error":"insufficient_scope","scope":`+text(x)+`}`)(x)
			})
		},
		"page": func(l *login) {
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) { fakemcp.Text(200, "text/html", "<title>"+everything(x)+"</title>")(x) })
		},
		"redirect": func(l *login) {
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) {
				fakemcp.Redirect(307, "/"+url.PathEscape(x.Header.Get("X-Api-Key"))+"?t="+url.QueryEscape(x.Header.Get("Authorization")))(x)
			})
		},
		"token endpoint": func(l *login) {
			l.token = func(form url.Values) (int, string) {
				data, _ := json.Marshal(form.Encode() + " " + form.Get("refresh_token") + " " + clientSecret + " " + secrets[5])
				return 400, `{"error":` + string(data) + `,"error_description":` + string(data) + `}`
			}
		},
		"renewal": func(l *login) {
			first := l.token
			l.token = func(form url.Values) (int, string) {
				if form.Get("refresh_token") != next {
					return first(form)
				}
				return 400, `{"error":"invalid_grant","error_description":"` + next + ` is not good"}`
			}
			l.mcp.On("tools/list", func(x *fakemcp.Exchange) { l.refusal(x) })
		},
		"metadata": func(l *login) {
			l.resource = map[string]string{resourcePath + "/mcp": resourceDoc("$MCP/"+key, "$AS", `"scopes_supported":["`+key+`","`+clientSecret+`"]`)}
		},
		"nothing": func(*login) {},
	}
	for name, reflect := range reflections {
		t.Run(name, func(t *testing.T) {
			for _, mode := range []string{"header", "machine", "refresh", "refresh with a file"} {
				l := (&login{token: func(url.Values) (int, string) {
					return 200, `{"access_token":"` + access + `","token_type":"Bearer","expires_in":600,"refresh_token":"` + next + `","scope":"` + clientSecret + `"}`
				}}).start(t)
				l.mcp.Allow("*")
				reflect(l)
				tgt := l.plain()
				switch mode {
				case "header":
					tgt = l.bearer(access)
				case "machine":
					tgt = l.machine()
				case "refresh", "refresh with a file":
					tgt.OAuth = &target.OAuth{Grant: target.RefreshToken, Issuer: l.as.URL, ClientID: clientID, ClientSecret: target.Literal(clientSecret), RefreshToken: target.Literal(refresh)}
				}
				if mode == "refresh with a file" {
					tgt.OAuth.TokenFile = filepath.Join(t.TempDir(), "tokens", "t")
				}
				tgt.Headers = append(tgt.Headers, target.Header{Name: "X-Api-Key", Value: target.Literal(key)})
				r := check(t, tgt, probe.Options{Diagnose: true, Revisions: true})
				data, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				shown := string(data) + describe(r)
				for _, e := range r.Evidence {
					shown += fmt.Sprintf("%+v", e)
				}
				shown += fmt.Sprintf("%+v %#v", tgt, tgt)
				if (name == "server name" || name == "tools" || name == "RPC error") && !strings.Contains(shown, "X-Api-Key: ***") {
					t.Errorf("in mode %s nothing was reflected, so nothing was proved", mode)
				}
				for _, s := range secrets {
					if i := strings.Index(shown, s); i >= 0 {
						t.Errorf("in mode %s the report shows the secret %s: …%s…", mode, s, shown[max(0, i-120):min(len(shown), i+60)])
					}
				}
			}
		})
	}
}
