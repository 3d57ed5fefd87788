// Package openid signs people in with an OpenID Connect provider: the code flow with
// PKCE, and what a provider says of a person as a role here.
//
// What a browser has to bring back is in a short cookie of its own, so that any process
// can finish what another one began. The provider is asked for its addresses when
// somebody signs in, not at the start: the monitor runs while the provider is down.
package openid

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// CallbackPath is where the provider sends browsers back to.
const CallbackPath = "/sign-in/openid/callback"

// FlowLife is how long a person may take at the provider.
const FlowLife = 10 * time.Minute

// Why somebody is not signed in.
var (
	// ErrUnavailable is a provider that does not answer, or not as one.
	ErrUnavailable = errors.New("the provider cannot be used")
	// ErrFlow is an answer that this browser did not ask for, or too late.
	ErrFlow = errors.New("the answer is not one to this browser's question")
	// ErrDenied is a provider that says no.
	ErrDenied = errors.New("the provider refused")
	// ErrIdentity is an identity that cannot be trusted.
	ErrIdentity = errors.New("the identity cannot be trusted")
	// ErrNoRole is a person without a group that has a role here.
	ErrNoRole = errors.New("no group of the person has a role")
)

// Options say which provider, and who is what here.
type Options struct {
	// Issuer is that of the provider, exactly as its tokens name it.
	Issuer string
	// ClientID and ClientSecret are those that this server is registered with; a
	// public client has no secret.
	ClientID, ClientSecret string
	// Name is what people call the provider.
	Name string
	// PublicURL is where browsers reach this server.
	PublicURL string
	// GroupsClaim names the claim with the groups of a person; dots lead into objects.
	GroupsClaim string
	// Roles are those of groups. Of several, the most powerful counts.
	Roles map[string]people.Role
	// DefaultRole is for who has no group with a role; empty: such are refused.
	DefaultRole people.Role
	// Policy says which addresses may be connected to. The addresses of the provider
	// are the operator's choice, so it is for metadata services and the like.
	Policy netguard.Policy
	Now    func() time.Time // nil: time.Now
}

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	o      Options
	client *http.Client

	mu      sync.Mutex
	found   *endpoints
	askedAt time.Time // the last time that it was asked
	failed  error     // what came of that
}

// endpoints are what the provider said about itself.
type endpoints struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	names    bool // its answers name the issuer
	userinfo bool
}

const (
	requestTime = 10 * time.Second
	maxAnswer   = 1 << 20
	// believed is how long the addresses of the provider count, pause how long one that
	// did not answer is not asked again.
	believed = time.Hour
	pause    = 5 * time.Second
	// skew is how far clocks may differ.
	skew = time.Minute
	// maxNext bounds the path that a browser goes on to.
	maxNext = 1000
)

// New makes one; it asks the provider nothing.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "" ||
		issuer.Scheme != "https" && (issuer.Scheme != "http" || !weburl.Loopback(issuer.Hostname())) {
		return nil, errors.New("the issuer has to be an https address, as the provider's tokens name it")
	}
	if o.ClientID == "" {
		return nil, errors.New("the client id is missing")
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.Name == "" {
		o.Name = issuer.Hostname()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	policy := o.Policy
	policy.AllowPrivate = true
	return &Provider{o: o, client: &http.Client{
		Transport:     bounded{netguard.NewTransport(netguard.Options{Policy: &policy})},
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Name is what people call the provider.
func (p *Provider) Name() string { return p.o.Name }

// Roles are those of groups, and that of who has none; an empty one is none.
func (p *Provider) Roles() (groups map[string]people.Role, others people.Role) {
	return p.o.Roles, p.o.DefaultRole
}

// flow is what a browser has to bring back.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Next     string `json:"p"`
	At       int64  `json:"t"`
}

// Begin gives the address at the provider to send a browser to, and what the browser
// keeps until it comes back, which goes into a cookie. Nothing in it is a secret from
// the browser that has it. Errors: ErrUnavailable.
func (p *Provider) Begin(ctx context.Context, next string) (address, kept string, err error) {
	e, err := p.endpoints(ctx)
	if err != nil {
		return "", "", err
	}
	if len(next) > maxNext {
		next = "/"
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, At: p.o.Now().Unix()}
	text, err := json.Marshal(f)
	if err != nil {
		return "", "", fmt.Errorf("keep a sign-in: %w", err)
	}
	address = e.oauth.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	return address, base64.RawURLEncoding.EncodeToString(text), nil
}

// Finish takes what the browser kept and what it brought from the provider. It gives who
// the person is and the path to go on to. Errors: all of this package.
func (p *Provider) Finish(ctx context.Context, kept string, query url.Values) (people.Identity, string, error) {
	f, err := p.flowOf(kept)
	if err != nil {
		return people.Identity{}, "", err
	}
	if subtle.ConstantTimeCompare([]byte(f.State), []byte(query.Get("state"))) != 1 {
		return people.Identity{}, "", fmt.Errorf("%w: another state", ErrFlow)
	}
	e, err := p.endpoints(ctx)
	if err != nil {
		return people.Identity{}, "", err
	}
	if iss := query.Get("iss"); iss != p.o.Issuer && (iss != "" || e.names) {
		return people.Identity{}, "", fmt.Errorf("%w: another issuer", ErrFlow)
	}
	if query.Has("error") {
		return people.Identity{}, f.Next, fmt.Errorf("%w: %.100q %.300q", ErrDenied, query.Get("error"), query.Get("error_description"))
	}
	claims, err := p.claims(ctx, e, f, query.Get("code"))
	if err != nil {
		return people.Identity{}, f.Next, err
	}
	identity, err := p.identity(claims)
	return identity, f.Next, err
}

func (p *Provider) flowOf(kept string) (flow, error) {
	var f flow
	text, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil || json.Unmarshal(text, &f) != nil || f.State == "" || f.Nonce == "" || f.Verifier == "" {
		return flow{}, fmt.Errorf("%w: this browser asked nothing", ErrFlow)
	}
	if age := p.o.Now().Sub(time.Unix(f.At, 0)); age < -skew || age > FlowLife {
		return flow{}, fmt.Errorf("%w: too late", ErrFlow)
	}
	return f, nil
}

// claims exchanges the code for what the provider says of the person.
func (p *Provider) claims(ctx context.Context, e *endpoints, f flow, code string) (map[string]any, error) {
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := e.oauth.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response != nil && answer.Response.StatusCode < 500 {
			return nil, fmt.Errorf("%w: the code was not exchanged: %d %.100q", ErrDenied, answer.Response.StatusCode, answer.ErrorCode)
		}
		return nil, because(ErrUnavailable, err)
	}
	raw, _ := token.Extra("id_token").(string)
	verifier := e.provider.VerifierContext(ctx, &oidc.Config{ClientID: p.o.ClientID, Now: func() time.Time { return p.o.Now().Add(-skew) }})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, because(ErrIdentity, err)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, because(ErrIdentity, err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.Nonce)) != 1 {
		return nil, fmt.Errorf("%w: another nonce", ErrIdentity)
	}
	if azp, ok := claims["azp"]; id.Subject == "" || (ok || len(id.Audience) > 1) && azp != p.o.ClientID {
		return nil, fmt.Errorf("%w: made for another client", ErrIdentity)
	}
	if len(p.groups(claims)) > 0 && named(claims) != "" || !e.userinfo {
		return claims, nil
	}
	return p.more(ctx, e, token, claims)
}

// because is a reason with what is behind it, which may quote the provider.
func because(reason, err error) error {
	return fmt.Errorf("%w: %s", reason, plain.Line(err.Error(), 300))
}

// more adds what the provider tells of the person elsewhere than in the token.
func (p *Provider) more(ctx context.Context, e *endpoints, token *oauth2.Token, claims map[string]any) (map[string]any, error) {
	info, err := e.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, because(ErrUnavailable, err)
	}
	if info.Subject != claims["sub"] {
		return nil, fmt.Errorf("%w: it is told of another person", ErrIdentity)
	}
	told := map[string]any{}
	if err := info.Claims(&told); err != nil {
		return nil, because(ErrIdentity, err)
	}
	for name, value := range told {
		if _, there := claims[name]; !there {
			claims[name] = value
		}
	}
	return claims, nil
}

// identity says what the claims mean here.
func (p *Provider) identity(claims map[string]any) (people.Identity, error) {
	subject, _ := claims["sub"].(string)
	i := people.Identity{Issuer: p.o.Issuer, Subject: subject, Name: named(claims), Role: p.o.DefaultRole}
	if i.Name == "" {
		i.Name = subject
	}
	for _, group := range p.groups(claims) {
		if role, ok := p.o.Roles[group]; ok && (i.Role == "" || includes(role, i.Role)) {
			i.Role = role
		}
	}
	if i.Role == "" {
		return people.Identity{}, ErrNoRole
	}
	return i, nil
}

// includes tells whether a role may all that another may.
func includes(role, other people.Role) bool {
	return !slices.ContainsFunc([]people.Permission{people.Read, people.Write, people.Approve, people.Administer},
		func(need people.Permission) bool { return other.Can(need) && !role.Can(need) })
}

// named is what the person is called.
func named(claims map[string]any) string {
	for _, claim := range []string{"preferred_username", "email", "name"} {
		if text, ok := claims[claim].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// groups are those of the person.
func (p *Provider) groups(claims map[string]any) []string {
	value, there := claims[p.o.GroupsClaim]
	if !there { // such as realm_access.roles
		value = claims
		for part := range strings.SplitSeq(p.o.GroupsClaim, ".") {
			object, _ := value.(map[string]any)
			value = object[part]
		}
	}
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var out []string
		for _, one := range value {
			if text, ok := one.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}

// endpoints are those of the provider, which is asked when that was long ago. One that
// does not answer is believed to be as it was. Errors: ErrUnavailable.
func (p *Provider) endpoints(ctx context.Context) (*endpoints, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.o.Now().Sub(p.askedAt)
	if p.failed == nil && (p.found == nil || since >= believed) || p.failed != nil && since >= pause {
		found, err := p.discover(context.WithoutCancel(ctx)) // one for all who wait
		if p.askedAt, p.failed = p.o.Now(), err; err == nil {
			p.found = found
		}
	}
	if p.found == nil {
		return nil, because(ErrUnavailable, p.failed)
	}
	return p.found, nil
}

func (p *Provider) discover(ctx context.Context) (*endpoints, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.o.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		JWKS     string   `json:"jwks_uri"`
		UserInfo string   `json:"userinfo_endpoint"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		Scopes   []string `json:"scopes_supported"`
		Names    bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := provider.Claims(&said); err != nil {
		return nil, err
	}
	e := &endpoints{provider: provider, names: said.Names, userinfo: said.UserInfo != ""}
	e.oauth = oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: provider.Endpoint(),
		RedirectURL: strings.TrimRight(p.o.PublicURL, "/") + CallbackPath, Scopes: []string{oidc.ScopeOpenID},
	}
	for _, address := range []string{e.oauth.Endpoint.AuthURL, e.oauth.Endpoint.TokenURL, said.JWKS} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !weburl.Loopback(u.Hostname())) {
			return nil, errors.New("the provider names an address that is no https one")
		}
	}
	e.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if p.o.ClientSecret == "" || len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_basic") {
		e.oauth.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	for _, scope := range []string{"profile", "email", "groups"} {
		if slices.Contains(said.Scopes, scope) || len(said.Scopes) == 0 && scope != "groups" {
			e.oauth.Scopes = append(e.oauth.Scopes, scope)
		}
	}
	return e, nil
}

// bounded ends answers that are too long.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}
