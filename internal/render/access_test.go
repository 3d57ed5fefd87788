package render

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// chainServers are an MCP server that answers 401, and an authorization server.
// Each document is what edit makes of the right one; nil: it is not there.
type chainServers struct {
	resource, issuer *httptest.Server
	challenge        bool
	documents        map[string]map[string]any
}

func newChainServers(t *testing.T) *chainServers {
	s := &chainServers{challenge: true, documents: map[string]map[string]any{}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			if s.challenge {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://`+r.Host+`/.well-known/oauth-protected-resource/mcp"`)
			}
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		doc := s.documents[r.URL.Path]
		if doc == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	})
	s.resource, s.issuer = httptest.NewServer(handler), httptest.NewServer(handler)
	t.Cleanup(s.resource.Close)
	t.Cleanup(s.issuer.Close)
	s.documents[resourceDocument] = map[string]any{"resource": s.resource.URL + "/mcp", "authorization_servers": []string{s.issuer.URL}}
	s.documents[serverDocument] = map[string]any{
		"issuer": s.issuer.URL, "authorization_endpoint": s.issuer.URL + "/authorize", "token_endpoint": s.issuer.URL + "/token",
		"code_challenge_methods_supported": []string{"S256"}, "client_id_metadata_document_supported": true,
	}
	return s
}

const (
	resourceDocument = "/.well-known/oauth-protected-resource/mcp"
	serverDocument   = "/.well-known/oauth-authorization-server"
)

// settle replaces what differs from run to run.
func (s *chainServers) settle(r *probe.Report) {
	r.TotalMs, r.Timestamp = 25, at()
	for i := range r.Checks {
		if r.Checks[i].Stages = nil; !r.Checks[i].Skipped {
			r.Checks[i].DurationMs = 2
		}
	}
	for i := range r.Chain {
		if r.Chain[i].DurationMs > 0 {
			r.Chain[i].DurationMs = probe.Millis(3 + i)
		}
	}
	r.Evidence = nil
}

func (s *chainServers) hosts(text string) string {
	return strings.NewReplacer(
		s.resource.URL, "https://mcp.example.com", s.issuer.URL, "https://auth.example.com",
		strings.TrimPrefix(s.issuer.URL, "http://"), "auth.example.com",
	).Replace(text)
}

// TestChainGolden: what doctor makes of a healthy chain and of broken ones, each
// walked for real. The broken step and its repair stand in the verdict.
func TestChainGolden(t *testing.T) {
	for _, tt := range []struct {
		name    string
		breaks  func(s *chainServers)
		verdict string
		plain   bool // a check without a credential, not the audit
	}{
		{"healthy", func(*chainServers) {}, "healthy: a new client can find out where to log in.", false},
		{"no-challenge", func(s *chainServers) { s.challenge = false }, "healthy: a new client can find out where to log in; 1 remark below.", false},
		{"nothing-published", func(s *chainServers) {
			s.challenge = false
			s.documents[resourceDocument], s.documents[serverDocument] = nil, nil
		}, "unhealthy: the way to a login breaks at resource-metadata: ", false},
		{"resource-of-another-host", func(s *chainServers) { s.documents[resourceDocument]["resource"] = "https://other.example.com/mcp" }, "unhealthy: the way to a login breaks at resource: ", false},
		{"issuer-mismatch", func(s *chainServers) { s.documents[serverDocument]["issuer"] = "https://login.example.com" }, "unhealthy: the way to a login breaks at issuer: ", false},
		{"no-s256", func(s *chainServers) {
			s.documents[serverDocument]["code_challenge_methods_supported"] = []string{"plain"}
		}, "unhealthy: the way to a login breaks at pkce: ", false},
		{"server-down", func(s *chainServers) { s.issuer.Close() }, "unknown: the way to a login cannot be followed past authorization-server: ", false},
		{"refused", func(s *chainServers) {
			s.documents[serverDocument]["code_challenge_methods_supported"] = []string{"plain"}
		}, "misconfigured: the way to a login breaks at pkce: ", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newChainServers(t)
			tt.breaks(s)
			r := probe.Check(t.Context(), &target.Target{Name: "search", Endpoint: s.resource.URL + "/mcp", AuditChain: !tt.plain}, probe.Options{Diagnose: true})
			s.settle(r)
			var b bytes.Buffer
			if err := Doctor(&b, []*probe.Report{r}, Options{Version: "0.2.0"}); err != nil {
				t.Fatal(err)
			}
			text := s.hosts(b.String())
			golden(t, "chain-"+tt.name+".txt", []byte(text))
			visible(t, text)
			_, verdict, _ := strings.Cut(text, "Verdict: ")
			verdict, _, _ = strings.Cut(verdict, "\n")
			if !strings.HasPrefix(verdict, tt.verdict) {
				t.Errorf("verdict: %s\nwant: %s", verdict, tt.verdict)
			}
			if broken := brokenRung(r); broken != nil && !strings.Contains(verdict, line(s.hosts(broken.Hint)[1:])) {
				t.Errorf("the verdict does not say how to mend it (%s): %s", broken.Hint, verdict)
			}
		})
	}
}

// TestCredential: every format that has a place for it tells when it ends.
func TestCredential(t *testing.T) {
	r := healthy()
	ends := time.Date(2027, 1, 31, 8, 30, 0, 0, time.UTC)
	r.Credential = &probe.Credential{Kind: "oauth", ExpiresAt: &ends, DaysLeft: ptr(61), Audience: []string{"https://mcp.example.com/mcp", "other" + evil}}
	r.Chain = []probe.Rung{{Name: "challenge" + evil, URL: "http://x/" + evil, HTTPStatus: 401, Verdict: "failed", Reason: "x" + evil, Text: "text" + evil, Hint: evil}}
	for _, tt := range []struct {
		format Format
		want   []string
	}{
		{Human, []string{"kind:     oauth", "ends:     2027-01-31 08:30 UTC (61 days left)", "audience: https://mcp.example.com/mcp, other"}},
		{JSON, []string{`"kind": "oauth"`, `"expiresAt": "2027-01-31T08:30:00Z"`, `"daysLeft": 61`, `"verdict": "failed"`}},
		{YAML, []string{"kind: oauth", "daysLeft: 61", "verdict: failed"}},
		{JUnit, []string{`<property name="credential" value="oauth">`, `<property name="credentialExpiresAt" value="2027-01-31T08:30:00Z">`, "chain challenge"}},
		{Prometheus, []string{`mcpvigil_credential_expiry_timestamp_seconds{target="node ./server.js",kind="oauth"} 1801384200`}},
	} {
		var b bytes.Buffer
		if err := Reports(&b, tt.format, []*probe.Report{r}, Options{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s does not say %q:\n%s", tt.format, want, b.String())
			}
		}
		visible(t, b.String())
	}
	r.Credential.ExpiresAt, r.Credential.DaysLeft = nil, nil
	var b bytes.Buffer
	if err := Reports(&b, Prometheus, []*probe.Report{r}, Options{}); err != nil || strings.Contains(b.String(), "credential") {
		t.Errorf("%v: %s", err, b.String())
	}
}
