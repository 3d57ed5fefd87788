package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// The scenarios auth/* go the way of an operator: an audit of the chain tells
// the issuer, which is then pinned; a client is configured; somebody logs in,
// which the suite's authorization server answers at once; and the check gets in
// with what came of it. Nothing is registered: where a scenario brings no client
// of its own, its server takes any, as if it had been registered by hand.

// documentClient is the client ID metadata document that the suite knows.
const documentClient = "https://conformance-test.local/client-metadata.json"

// checkLogin runs the check of a scenario auth/*. A login that failed is told on
// standard error; the check is then made all the same.
func checkLogin(ctx context.Context, endpoint, scenario string, particulars []byte) (*probe.Report, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("read the URL of the server: %w", err)
	}
	dir, err := os.MkdirTemp("", "conformance-client")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the token: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	oauth, err := configure(audit(ctx, u), scenario, particulars)
	if err != nil {
		return nil, err
	}
	if oauth.Grant == target.AuthorizationCode {
		oauth.TokenFile = filepath.Join(dir, "tokens", "token")
		if err := login(ctx, u, oauth); err != nil {
			fmt.Fprintln(os.Stderr, "the login failed:", err)
		}
	}
	return probe.Check(ctx, &target.Target{Endpoint: endpoint, OAuth: oauth}, probe.Options{}), nil
}

// refusal asks the server without a credential.
func refusal(ctx context.Context, u *url.URL) (status int, challenges []string) {
	redact := plain.NewRedactor()
	status, challenges, err := wire.AskAnonymously(ctx, wire.HTTPConfig{URL: u, Net: netguard.Options{}}, wire.Config{
		Client: wire.Implementation{Name: "mcpvigil", Version: "0"}, Redact: redact, Log: wire.NewLog(redact), Budget: 10 * time.Second,
		Limits: wire.Limits{ResponseBytes: 1 << 20, Pages: 10, Entries: 100},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "the server did not answer a request without a credential:", err)
	}
	return status, challenges
}

func audit(ctx context.Context, u *url.URL) *access.Ladder {
	status, challenges := refusal(ctx, u)
	return access.Audit(ctx, access.AuditConfig{Endpoint: u, Status: status, Challenge: challenges})
}

// configure is what an operator writes into the configuration after reading what
// the audit says.
func configure(l *access.Ladder, scenario string, particulars []byte) (*target.OAuth, error) {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		PrivateKey   string `json:"private_key_pem"`
		Algorithm    string `json:"signing_algorithm"`
		Issuer       string `json:"issuer"`
	}
	if len(particulars) > 0 {
		if err := json.Unmarshal(particulars, &given); err != nil {
			return nil, fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	o := &target.OAuth{Grant: target.AuthorizationCode, Issuer: given.Issuer, ClientID: given.ClientID, Algorithm: given.Algorithm}
	if strings.HasPrefix(scenario, "auth/client-credentials-") {
		o.Grant = target.ClientCredentials
	}
	if given.ClientSecret != "" {
		o.ClientSecret = target.Literal(given.ClientSecret)
	}
	if given.PrivateKey != "" {
		o.PrivateKey = target.Literal(given.PrivateKey)
	}
	if o.Issuer == "" {
		switch {
		case l.ResourceMetadata != nil && len(l.ResourceMetadata.AuthorizationServers) > 0:
			o.Issuer = l.ResourceMetadata.AuthorizationServers[0]
		case l.Server != nil:
			o.Issuer = l.Server.Issuer
		default:
			return nil, errors.New("the audit found no issuer to pin")
		}
	}
	if o.ClientID == "" {
		o.ClientID = "registered-by-hand"
		switch m := l.Server; {
		case m == nil:
		case m.ClientIDMetadataDocument:
			o.ClientID, o.ClientMetadataURL = "", documentClient
		case !slices.Contains(m.AuthMethods, "none"):
			o.ClientSecret = target.Literal("given-with-the-registration")
		}
	}
	return o, nil
}

// login is mcpvigil login with a person who says yes at once.
func login(ctx context.Context, u *url.URL, o *target.OAuth) error {
	grant := access.Grant{
		Kind: access.Kind(o.Grant), Issuer: o.Issuer, ClientID: o.ClientID, ClientMetadataURL: o.ClientMetadataURL, Scopes: o.Scopes, TokenFile: o.TokenFile,
	}
	if !o.ClientSecret.IsZero() {
		secret, err := o.ClientSecret.Reveal(ctx)
		if err != nil {
			return err
		}
		grant.ClientSecret = access.Hide(secret)
	}
	l, err := access.StartLogin(ctx, access.LoginConfig{
		SourceConfig: access.SourceConfig{Grant: grant, Endpoint: u, Refusal: func(ctx context.Context) (int, []string) { return refusal(ctx, u) }},
		Timeout:      15 * time.Second,
	})
	if err != nil {
		return err
	}
	defer l.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.URL(), nil)
	if err != nil {
		return fmt.Errorf("open the login: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("open the login: %w", err)
	}
	response.Body.Close()
	_, err = l.Wait(ctx)
	return err
}
