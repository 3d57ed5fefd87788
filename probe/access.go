package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/credential"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Rung is one step of the discovery chain that a new client walks from a 401 to
// the place where it can ask for a token.
type Rung struct {
	Name string `json:"name"`
	// URL, HTTPStatus and DurationMs are of the request that decided, if any.
	URL        string `json:"url,omitempty"`
	HTTPStatus int    `json:"httpStatus,omitempty"`
	DurationMs Millis `json:"durationMs"`
	// Verdict is ok, warning, failed, unknown or skipped.
	Verdict string `json:"verdict"`
	Reason  Reason `json:"reason,omitempty"`
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
}

// Credential says what the check got in with, never its value.
type Credential struct {
	// Kind is header, bearer, oauth or client-certificate.
	Kind string `json:"kind"`
	// ExpiresAt is when it ends, where that can be told.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	DaysLeft  *int       `json:"daysLeft,omitempty"`
	// Audience is whom a token is for, unverified, where it can be told.
	Audience []string `json:"audience,omitempty"`
}

// credentialHeader matches the names of headers that hold a credential.
var credentialHeader = regexp.MustCompile(`(?i)auth|cookie|key|token|secret|password|signature|session|bearer|credential`)

// hasCredential reports whether the target is handed a credential.
func hasCredential(t *target.Target) bool {
	return t.OAuth != nil || t.TLS.CertFile != "" || slices.ContainsFunc(t.Headers, func(h target.Header) bool { return credentialHeader.MatchString(h.Name) })
}

// network is how this target's hosts are reached: trust, client certificate and
// resolver.
func (r *run) network() (netguard.Options, *failure) {
	o, ends, p := credential.Network(r.t.TLS)
	if p != nil {
		return o, problemFailure(p)
	}
	if r.o.Resolver != nil {
		o.Resolver = r.o.Resolver
	}
	if r.o.AllowAddress != nil {
		o.Policy = &netguard.Policy{Ask: r.o.AllowAddress}
	}
	if len(o.ClientCertificates) > 0 {
		r.noteCredential("client-certificate", ends, nil)
	}
	return o, nil
}

func problemFailure(p *target.Problem) *failure {
	return &failure{reason: Reason(p.Reason), text: p.Text, hint: p.Hint}
}

// noteCredential records when a credential ends. Of several the first to end
// counts.
func (r *run) noteCredential(kind string, expires time.Time, audience []string) {
	c := &Credential{Kind: kind}
	for _, a := range audience[:min(len(audience), 10)] {
		c.Audience = append(c.Audience, plain.Line(a, 200))
	}
	if !expires.IsZero() {
		at := expires.UTC()
		days := int(time.Until(at).Hours() / 24)
		c.ExpiresAt, c.DaysLeft = &at, &days
	}
	if old := r.report.Credential; old != nil && old.ExpiresAt != nil && (c.ExpiresAt == nil || old.ExpiresAt.Before(*c.ExpiresAt)) {
		return
	}
	r.report.Credential = c
}

// oauth is a wire.Authorizer that gets its tokens from a source.
type oauth struct {
	run    *run
	source *access.Source

	mu    sync.Mutex
	last  *access.Token
	again bool // a refused token was given back once
	// down is why the endpoint itself did not answer when it was asked how to log
	// in. That, and not the login that came to nothing, is then the news.
	down error
}

// newOAuth makes the source of the target's tokens. endpoint is its URL.
func (r *run) newOAuth(ctx context.Context, endpoint *url.URL, peer func() wire.Peer) (*oauth, *failure) {
	g, problem := credential.Grant(ctx, r.t.OAuth, r.secrets)
	if problem != nil {
		return nil, problemFailure(problem)
	}
	a := &oauth{run: r}
	source, err := access.NewSource(access.SourceConfig{
		Grant: g, Endpoint: endpoint, HTTP: r.accessHTTP(),
		Refusal: func(ctx context.Context) (int, []string) {
			status, challenges, err := wire.AskAnonymously(ctx, peer(), r.config)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.down = err
			return status, challenges
		},
	})
	if err != nil {
		f := accessFailure(err)
		return nil, &f
	}
	a.source = source
	if g.Kind == access.ClientCredentials {
		r.config.Extensions = []string{access.ExtensionClientCredentials}
	}
	return a, nil
}

// accessHTTP is how metadata and tokens are fetched: never with the target's own
// headers, and with the same trust.
func (r *run) accessHTTP() access.HTTP {
	if r.beside == nil {
		endpoint, err := url.Parse(r.t.Endpoint)
		if err != nil {
			endpoint = &url.URL{}
		}
		r.beside = credential.NewTransport(endpoint, r.net)
	}
	return access.HTTP{Transport: r.beside, UserAgent: r.userAgent(), ProtocolVersion: wire.Rev20260728, Redact: r.secrets, Timeout: r.budgets.of(target.Authentication)}
}

// Authorize implements wire.Authorizer.
func (a *oauth) Authorize(ctx context.Context) (string, error) {
	token, err := a.source.Token(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.last = &token
		return token.Authorization(), nil
	}
	if e := (*access.Error)(nil); errors.As(err, &e) && infoOf(Reason(e.Reason)).Status == StatusUnknown && a.down != nil {
		return "", a.down
	}
	return "", accessError(err)
}

// Refused implements wire.Authorizer: a token that is refused before its time is
// given back, once.
func (a *oauth) Refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil || a.again {
		return false
	}
	a.again = true
	a.source.Discard(*a.last)
	return true
}

// note records the token of last, if there was one.
func (a *oauth) note() {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if last == nil {
		return
	}
	expires := last.Expires
	if last.Assumed { // five minutes by assumption are no fact, what a JWT says is
		expires, _ = access.Inspect(last.Reveal())
	}
	a.run.noteCredential("oauth", expires, last.Audience)
}

// finish moves what the source learnt into the report.
func (a *oauth) finish() {
	a.note()
	for _, n := range a.source.Notes() {
		a.run.log.Note(n.Reason, n.Text, n.Hint)
	}
	if l := a.source.Ladder(); l != nil {
		a.run.takeChain(l)
	}
}

// accessError turns an error of internal/access into one of the wire, whose
// requests it ends.
func accessError(err error) error {
	var e *access.Error
	if !errors.As(err, &e) {
		return err
	}
	reason := e.Reason
	if e.Unknown && reason == access.ReasonAborted {
		reason = access.ReasonServerUnavailable // it was waited for; nothing is known about the server behind it
	}
	return &wire.Error{Reason: reason, Text: e.Text, Hint: e.Hint, HTTPStatus: e.HTTPStatus, Seen: true, Err: e}
}

// accessFailure is accessError for what fails before any request.
func accessFailure(err error) failure {
	f := failureOf(accessError(err))
	f.answered = false
	return f
}

// takeChain copies the discovery chain into the report.
func (r *run) takeChain(l *access.Ladder) {
	r.report.Chain = nil
	for _, rung := range l.Rungs {
		r.report.Chain = append(r.report.Chain, Rung{
			Name: rung.Name, URL: r.safe(rung.URL), HTTPStatus: rung.HTTPStatus, DurationMs: MillisOf(rung.Duration),
			Verdict: string(rung.Verdict), Reason: Reason(rung.Reason), Text: r.safe(rung.Text), Hint: r.safe(rung.Hint),
		})
	}
}

// audit judges the discovery chain alone: a client that knows nothing but the
// URL must find out where to log in.
func (r *run) audit(ctx context.Context) {
	r.begin(StepConnect)
	var status int
	var challenges []string
	d, err := r.step(ctx, target.Reachability, func(ctx context.Context) (err error) {
		status, challenges, err = wire.AskAnonymously(ctx, r.peer, r.config)
		return err
	})
	if err != nil {
		f := failureOf(err)
		r.failAfter(StepConnect, f, d)
		r.bar(StepConnect, f)
	} else {
		r.pass(StepConnect, fmt.Sprintf("a request without a credential was answered with %d", status), d, r.transportDetails())
		r.judgeChain(ctx, status, challenges)
	}
	for _, step := range []string{StepInitialize, StepTools, StepResources, StepPrompts} {
		r.skip(step, "not run: only the discovery chain is judged, and without a login there is no list", true)
	}
}

func (r *run) judgeChain(ctx context.Context, status int, challenges []string) {
	r.begin(StepAuthentication)
	start := time.Now()
	ladder := r.walk(ctx, status, challenges)
	broken, bad := ladder.First()
	if !bad {
		r.pass(StepAuthentication, fmt.Sprintf("the discovery chain is intact: %s", r.chainSummary(ladder)), time.Since(start), nil)
		return
	}
	f := failure{reason: Reason(broken.Reason), text: fmt.Sprintf("the discovery chain breaks at %s: %s", broken.Name, broken.Text), hint: broken.Hint, status: StatusUnhealthy}
	switch {
	case broken.Verdict == access.Unknown:
		f.status = StatusUnknown
	case broken.Reason == access.ReasonAddressNotAllowed:
		f.status = StatusMisconfigured // on this side: the chain was not seen to its end
	}
	r.failAfter(StepAuthentication, f, time.Since(start))
}

// walk climbs the chain and keeps it, with its remarks as notes.
func (r *run) walk(ctx context.Context, status int, challenges []string) *access.Ladder {
	ladder := r.climb(ctx, status, challenges)
	r.ladder = ladder
	r.takeChain(ladder)
	for _, rung := range ladder.Rungs {
		if rung.Verdict == access.Warning {
			r.log.Note(rung.Reason, rung.Text, rung.Hint)
		}
		for _, n := range rung.Notes {
			r.log.Note(n.Reason, n.Text, n.Hint)
		}
	}
	return ladder
}

// climb audits the chain that begins at an answer to a request without a
// credential.
func (r *run) climb(ctx context.Context, status int, challenges []string) *access.Ladder {
	endpoint, err := url.Parse(r.t.Endpoint)
	if err != nil {
		endpoint = &url.URL{}
	}
	cfg := access.AuditConfig{Endpoint: endpoint, Status: status, Challenge: challenges, HTTP: r.accessHTTP()}
	if o := r.t.OAuth; o != nil {
		cfg.PinnedIssuer, cfg.ClientIDConfigured = o.Issuer, o.ClientID != "" || o.ClientMetadataURL != ""
	}
	return access.Audit(ctx, cfg)
}

// lookAtAuth adds the metadata of the login to the inventory. It comes after the
// report is finished, so that nothing of it gets in there.
func (r *run) lookAtAuth(ctx context.Context) {
	if !r.o.AuthMetadata || r.peer == nil || r.t.Kind() == target.Stdio {
		return
	}
	found := r.authMetadata(ctx)
	if r.beside != nil {
		r.beside.CloseIdleConnections()
	}
	if found == nil {
		return
	}
	if r.report.Inventory == nil {
		r.report.Inventory = &Inventory{}
	}
	r.report.Inventory.Auth = found
}

// authMetadata finds the documents of the discovery chain, with as few requests
// as will do: a chain that was walked already, and a refusal that was seen, are
// not asked for again. Nil: not all could be asked for.
func (r *run) authMetadata(ctx context.Context) *surface.AuthMetadata {
	ladder := r.ladder
	if ladder == nil && r.oauth != nil {
		ladder = r.oauth.source.Ladder()
	}
	if ladder == nil {
		status, challenges, ok := r.anonymousAnswer(ctx)
		if !ok {
			return nil
		}
		if status != http.StatusUnauthorized && status != http.StatusForbidden {
			return &surface.AuthMetadata{} // nobody has to log in
		}
		ladder = r.climb(ctx, status, challenges)
	}
	if ladder.Incomplete {
		return nil
	}
	return &surface.AuthMetadata{Resource: ladder.ResourceDocument, Issuer: ladder.ServerDocument}
}

// anonymousAnswer is how the server answers who has no credential, if that can
// be told.
func (r *run) anonymousAnswer(ctx context.Context) (status int, challenges []string, ok bool) {
	switch {
	case r.refusal.status != 0:
		return r.refusal.status, r.refusal.challenges, true
	case r.session == nil:
		return 0, nil, false
	case !hasCredential(r.t):
		return http.StatusOK, nil, true
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.budgets.of(target.Authentication), errStep)
	defer cancel()
	status, challenges, err := wire.AskAnonymously(ctx, r.peer, r.config)
	return status, challenges, err == nil
}

func (r *run) chainSummary(l *access.Ladder) string {
	if l.Server == nil {
		return "it ends at no authorization server"
	}
	return "it leads to the authorization server " + r.safe(l.Server.Issuer)
}

// explainToken tells a refused token that has ended, or is for another
// resource, from one that is refused for reasons of the server's own.
func (r *run) explainToken(f *failure) {
	if r.oauth != nil {
		r.oauth.note()
	}
	c := r.report.Credential
	if f.reason != Reason(wire.ReasonTokenRejected) || c == nil {
		return
	}
	endpoint, err := url.Parse(r.t.Endpoint)
	switch {
	case c.ExpiresAt != nil && time.Now().After(*c.ExpiresAt):
		f.reason, f.text = reasonTokenExpired, fmt.Sprintf("the token ended on %s, and the server refused it", c.ExpiresAt.Format(time.RFC3339))
		f.hint = "renew the token; a login of your own (mcp.oauth) does it by itself"
		if c.Kind == "client-certificate" {
			f.text, f.hint = strings.Replace(f.text, "token", "client certificate", 1), "renew the client certificate"
		}
	case err == nil && len(c.Audience) > 0 && !slices.Contains(c.Audience, access.ResourceOf(endpoint)) && !slices.ContainsFunc(c.Audience, func(a string) bool {
		return strings.TrimSuffix(a, "/") == strings.TrimSuffix(access.ResourceOf(endpoint), "/")
	}):
		f.reason, f.text = reasonWrongAudience, fmt.Sprintf("the token is for %s, and the server at %s refused it", strings.Join(c.Audience, ", "), access.ResourceOf(endpoint))
		f.hint = "ask the authorization server for a token with resource=" + access.ResourceOf(endpoint) + " (RFC 8707)"
	}
}

// judgeCredential holds what is left of the credential's time against the
// threshold, and reports whether it added the authentication step.
func (r *run) judgeCredential() bool {
	least := firstSet(r.o.Expect.MinTokenDays, r.t.Expect.MinTokenDays)
	c := r.report.Credential
	if least <= 0 || c == nil || c.DaysLeft == nil || *c.DaysLeft >= least {
		return false
	}
	r.fail(StepAuthentication, failure{reason: reasonTokenExpiring, text: fmt.Sprintf("the credential ends in %d days, on %s, and at least %d days must be left", *c.DaysLeft, c.ExpiresAt.Format(time.DateOnly), least)})
	return true
}

// madeUp is a credential that nobody can have issued.
const madeUp = "mcpvigil-made-this-up"

// proveCredential notes a credential that opens nothing: the server lists the
// same without it, or with any other.
func (r *run) proveCredential(ctx context.Context) {
	if r.session == nil || !hasCredential(r.t) || r.t.TLS.CertFile != "" {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.budgets.of(target.Authentication), errStep)
	defer cancel()
	status, _, err := wire.AskAnonymously(ctx, r.peer, r.config)
	if err == nil && status == http.StatusOK {
		r.log.Note(string(reasonNotProven), "the server opens and lists without the credential too, so this check does not prove it", "")
		return
	}
	other := http.Header{}
	for _, h := range r.t.Headers {
		if credentialHeader.MatchString(h.Name) {
			other.Set(h.Name, h.Prefix+madeUp)
		}
	}
	if r.t.OAuth != nil {
		other.Set("Authorization", "Bearer "+madeUp)
	}
	if status, _, err = wire.AskWith(ctx, r.peer, r.config, other); err == nil && status == http.StatusOK {
		r.log.Note(string(reasonNotProven), "the server opens and lists with a made-up credential too, so this check does not prove the configured one", "let the server verify what it is sent")
	}
}
