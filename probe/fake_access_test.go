package probe_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// login is an MCP server that lets tokens in, the documents that say where to
// get one, and an authorization server on an origin of its own. In every string
// $MCP, $ENDPOINT and $AS stand for the two origins and the endpoint.
type login struct {
	cfg fakemcp.Config
	// challenge is the WWW-Authenticate of a 401. Empty: one that names the
	// resource metadata; "-": none.
	challenge string
	// resource and server are the documents of the two origins, by path. A
	// number is a status without a document. Nil: one good document each.
	resource, server map[string]string
	// token answers the token endpoint. Nil: a good token, "opens-N".
	token func(form url.Values) (status int, body string)
	// refuse overrides the answer to a request that is not let in.
	refuse fakemcp.Handler
	// sse serves the HTTP+SSE transport, at /sse.
	sse bool
	// anybody lets everything in; good are tokens that are let in beside opens-N.
	anybody bool
	good    []string
	// host is the name in the URLs of the MCP server. Empty: 127.0.0.1.
	host string

	t    *testing.T
	mcp  *fakemcp.Server
	as   *httptest.Server
	mu   sync.Mutex
	seen []asRequest
}

// asRequest is a request to the authorization server.
type asRequest struct {
	method, path string
	header       http.Header
	form         url.Values
}

const (
	resourcePath = "/.well-known/oauth-protected-resource"
	serverPath   = "/.well-known/oauth-authorization-server"
	openidPath   = "/.well-known/openid-configuration"
)

// resourceDoc is resource metadata; serverDoc is that of a server. Members are
// added.
func resourceDoc(resource, issuer string, members ...string) string {
	return `{"resource":"` + resource + `","authorization_servers":["` + issuer + `"]` + also(members) + `}`
}

const cimd = `"client_id_metadata_document_supported":true`

func serverDoc(issuer string, members ...string) string {
	return `{"issuer":"` + issuer + `","authorization_endpoint":"$AS/authorize","token_endpoint":"$AS/token"` + also(members) + `}`
}

func also(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return "," + strings.Join(members, ",")
}

const pkce = `"code_challenge_methods_supported":["S256"]`

func (l *login) start(t *testing.T) *login {
	t.Helper()
	l.t = t
	at := resourcePath + "/mcp"
	if l.sse {
		at = resourcePath + "/sse"
	}
	if l.challenge == "" {
		l.challenge = `Bearer resource_metadata="$MCP` + at + `"`
	}
	if l.resource == nil {
		l.resource = map[string]string{at: resourceDoc("$ENDPOINT", "$AS")}
	}
	if l.server == nil {
		l.server = map[string]string{serverPath: serverDoc("$AS", pkce, cimd)}
	}
	l.as = httptest.NewServer(http.HandlerFunc(l.serveAS))
	t.Cleanup(l.as.Close)
	if l.sse {
		l.mcp = fakemcp.NewSSE(t, l.cfg)
	} else {
		l.mcp = fakemcp.New(t, l.cfg)
	}
	l.mcp.Allow(fakemcp.RuleGet)
	l.mcp.OnHTTP("GET", l.serveDocument)
	l.mcp.OnHTTP("POST", fakemcp.When(func(x *fakemcp.Exchange) bool { return !l.letsIn(x) }, l.refusal))
	t.Cleanup(l.heldSecretsBack)
	return l
}

func (l *login) letsIn(x *fakemcp.Exchange) bool {
	token := strings.TrimPrefix(x.Header.Get("Authorization"), "Bearer ")
	return l.anybody || strings.HasPrefix(token, "opens-") || slices.Contains(l.good, token)
}

func (l *login) refusal(x *fakemcp.Exchange) {
	switch {
	case l.refuse != nil:
		l.refuse(x)
	case l.challenge == "-":
		fakemcp.Unauthorized("")(x)
	case x.Header.Get("Authorization") != "":
		fakemcp.Unauthorized(l.fill(l.challenge + `, error="invalid_token"`))(x)
	default:
		fakemcp.Unauthorized(l.fill(l.challenge))(x)
	}
}

func (l *login) endpoint() string {
	if l.host == "" {
		return l.mcp.URL
	}
	return strings.Replace(l.mcp.URL, "127.0.0.1", l.host, 1)
}

func (l *login) plainPath() string {
	u, _ := url.Parse(l.mcp.URL)
	return u.Path
}

func (l *login) origin() string {
	u, _ := url.Parse(l.endpoint())
	return u.Scheme + "://" + u.Host
}

func (l *login) fill(s string) string {
	return strings.NewReplacer("$MCP", l.origin(), "$HOST", strings.TrimPrefix(l.origin(), "https://"), "$ENDPOINT", l.endpoint(), "$AS", l.as.URL).Replace(s)
}

func (l *login) serveDocument(x *fakemcp.Exchange) {
	if x.Path == l.plainPath() {
		if l.sse && !l.letsIn(x) {
			l.refusal(x)
			return
		}
		x.Default()
		return
	}
	doc, ok := l.resource[x.Path]
	if !ok {
		doc = "404"
	}
	if status, err := strconv.Atoi(doc); err == nil {
		fakemcp.Text(status, "text/plain", "no document")(x)
		return
	}
	fakemcp.Text(200, "application/json", l.fill(doc))(x)
}

func (l *login) serveAS(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	l.mu.Lock()
	l.seen = append(l.seen, asRequest{r.Method, r.URL.Path, r.Header.Clone(), form})
	n := 0
	for _, q := range l.seen {
		if q.path == "/token" {
			n++
		}
	}
	doc, ok := l.server[r.URL.Path]
	l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/token" && r.Method == http.MethodPost {
		status, answer := 200, fmt.Sprintf(`{"access_token":"opens-%d","token_type":"Bearer","expires_in":3600}`, n)
		if l.token != nil {
			status, answer = l.token(form)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, l.fill(answer))
		return
	}
	if !ok {
		doc = "404"
	}
	if status, err := strconv.Atoi(doc); err == nil {
		w.WriteHeader(status)
		return
	}
	_, _ = io.WriteString(w, l.fill(doc))
}

// asked returns the paths that the authorization server was asked for.
func (l *login) asked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var paths []string
	for _, q := range l.seen {
		paths = append(paths, q.method+" "+q.path)
	}
	return paths
}

// forms returns what the token endpoint was sent.
func (l *login) forms() []url.Values {
	l.mu.Lock()
	defer l.mu.Unlock()
	var forms []url.Values
	for _, q := range l.seen {
		if q.path == "/token" {
			forms = append(forms, q.form)
		}
	}
	return forms
}

// documents returns the paths of the MCP origin that were asked for with GET.
func (l *login) documents() []string {
	var paths []string
	for _, q := range l.mcp.Requests() {
		if q.HTTPMethod == http.MethodGet {
			paths = append(paths, q.Path)
		}
	}
	return paths
}

// heldSecretsBack fails the test when a request for a document carried a
// credential, or one for a token that of the MCP server.
func (l *login) heldSecretsBack() {
	check := func(what string, h http.Header, token bool) {
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
			v := h.Get(name)
			if v != "" && !(token && strings.HasPrefix(v, "Basic ")) {
				l.t.Errorf("%s carried %s", what, name)
			}
		}
	}
	for _, q := range l.mcp.Requests() {
		if q.HTTPMethod == http.MethodGet && strings.Contains(q.Path, ".well-known") {
			check("GET "+q.Path, q.Header, false)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.seen {
		check(q.method+" "+q.path+" at the authorization server", q.header, q.path == "/token")
	}
}

// modes.

func (l *login) plain() *target.Target {
	tgt := l.mcp.Target()
	tgt.Endpoint = l.endpoint()
	return tgt
}

func (l *login) bearer(token string) *target.Target {
	tgt := l.plain()
	tgt.Headers = []target.Header{target.Bearer(target.Literal(token))}
	return tgt
}

func (l *login) audit() *target.Target {
	tgt := l.plain()
	tgt.AuditChain = true
	return tgt
}

const (
	clientID     = "the-client"
	clientSecret = "sesame-client-secret"
)

// machine logs in with client_credentials.
func (l *login) machine() *target.Target {
	tgt := l.plain()
	tgt.OAuth = &target.OAuth{Grant: target.ClientCredentials, Issuer: l.as.URL, ClientID: clientID, ClientSecret: target.Literal(clientSecret)}
	return tgt
}

var diagnose = probe.Options{Diagnose: true}

// rung returns a rung of the report's chain, or fails.
func rung(t *testing.T, r *probe.Report, name string) probe.Rung {
	t.Helper()
	for _, g := range r.Chain {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("the chain has no rung %s:\n%s", name, describe(r))
	return probe.Rung{}
}

// jwt is a token that nobody signed.
func jwt(claims string) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"none"}`) + "." + part(claims) + "." + part("signature")
}
