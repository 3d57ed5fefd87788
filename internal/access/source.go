package access

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// graceAfterEnd is how long a token request that has begun may go on after its
// caller gave up: by then the server may have replaced the refresh token, and
// whoever does not hear of it is locked out.
const graceAfterEnd = 3 * time.Second

// SourceConfig is what a [Source] starts from.
type SourceConfig struct {
	Grant    Grant
	Endpoint *url.URL // the MCP URL. Required.
	// Refusal asks the endpoint without a credential and returns the status and
	// the raw WWW-Authenticate values of the answer, or 0. It is called when
	// the discovery chain has to be walked. Nil: only the well-known places are
	// tried.
	Refusal func(ctx context.Context) (status int, challenge []string)
	HTTP    HTTP
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Source gives access tokens for one grant. It is safe for concurrent use; one
// call at a time does the work and the others wait for its result. Sources of
// other processes with the same token file wait in the same way.
type Source struct {
	cfg    SourceConfig
	client *client
	turn   chan struct{}
	file   *tokenFile

	// For whoever has the turn.
	current Token
	refused string // an access token that the resource server turned down
	refresh string // the newest refresh token, when there is no file
	ladder  *Ladder

	mu    sync.Mutex
	notes []Note
}

// Format prints *** whatever the verb.
func (s *Source) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// NewSource checks the grant, without any network. Its error is an [*Error].
// Every secret becomes known to the redactor.
func NewSource(cfg SourceConfig) (*Source, error) {
	if problem := cfg.Grant.problem(); problem != nil {
		return nil, problem
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Source{cfg: cfg, client: cfg.HTTP.client(), turn: make(chan struct{}, 1), refresh: cfg.Grant.RefreshToken.Reveal()}
	for _, secret := range cfg.Grant.secrets() {
		s.client.Redact.Add(secret)
	}
	if cfg.Grant.TokenFile != "" {
		s.file = &tokenFile{path: cfg.Grant.TokenFile, hint: cfg.Grant.fileHint()}
	}
	return s, nil
}

func (g Grant) fileHint() string {
	if g.Kind == AuthorizationCode {
		return "fix or remove the file, then " + g.loginHint()
	}
	return "remove the file, or choose another in a directory of your own"
}

// Token returns an access token with more than five seconds left: the one of
// before, the saved one, or one that it gets. Its error is an [*Error].
//
// It never starts a login. Once a token has been asked for it can outlast ctx by
// up to three seconds, so that a rotated refresh token is saved.
func (s *Source) Token(ctx context.Context) (Token, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Token{}, aborted(ctx)
	}
	if s.current.good(s.cfg.Now()) {
		return s.current, nil
	}
	t, problem := s.next(ctx)
	if problem != nil {
		return Token{}, problem
	}
	s.current = t
	return t, nil
}

func aborted(ctx context.Context) *Error {
	return &Error{Reason: ReasonAborted, Unknown: true, Text: "time ran out before there was a token", Err: context.Cause(ctx)}
}

// Discard makes the next call of [Source.Token] get a new token, after the
// resource server refused t although it has not expired.
func (s *Source) Discard(t Token) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.refused = t.Reveal()
	if s.current.Reveal() == s.refused {
		s.current = Token{}
	}
}

// Ladder returns the discovery chain as far as it was walked, or nil when a
// saved token made it needless.
func (s *Source) Ladder() *Ladder {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.ladder
}

// Notes returns what did not stop a token from being got but will trouble later
// runs, each once.
func (s *Source) Notes() []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

func (s *Source) note(reason, text, hint string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := (Note{reason, text, hint}); !slices.Contains(s.notes, n) && len(s.notes) < 16 {
		s.notes = append(s.notes, n)
	}
}

func (s *Source) next(ctx context.Context) (Token, *Error) {
	if s.file == nil {
		if problem := s.walk(ctx); problem != nil {
			return Token{}, problem
		}
		return s.acquire(ctx, nil, nil)
	}
	old, problem := s.file.load()
	if t, done, problem := s.reuse(old, problem); done {
		return t, problem
	}
	if problem := s.walk(ctx); problem != nil {
		return Token{}, problem
	}
	h, problem := s.file.hold(ctx)
	if problem != nil {
		return Token{}, problem
	}
	defer h.release()
	// Somebody else may have been here while this process waited.
	old, problem = h.load()
	if t, done, problem := s.reuse(old, problem); done {
		return t, problem
	}
	if old != nil && s.cfg.Grant.Kind != ClientCredentials && old.resource != s.resource() {
		return Token{}, s.otherBinding("resource")
	}
	if problem := h.reserve(); problem != nil {
		return Token{}, problem
	}
	return s.acquire(ctx, h, old)
}

// reuse decides what a token file is good for. Done is false when a token must
// be got.
func (s *Source) reuse(old *saved, problem *Error) (t Token, done bool, _ *Error) {
	g := s.cfg.Grant
	switch {
	case problem != nil:
		return Token{}, true, problem
	case old == nil && g.Kind == AuthorizationCode, old == nil && g.Kind == RefreshToken && g.RefreshToken.IsZero():
		return Token{}, true, s.login("nobody has logged in yet: there is no token file")
	case old == nil:
		return Token{}, false, nil
	}
	s.client.Redact.Add(old.access)
	s.client.Redact.Add(old.refresh)
	switch {
	case old.issuer != g.Issuer:
		return Token{}, true, s.otherBinding("issuer")
	case old.clientID != g.clientID():
		return Token{}, true, s.otherBinding("client_id")
	case g.Resource != "" && old.resource != g.Resource, g.Resource == "" && !acceptable(resourceKind(old.resource, s.cfg.Endpoint)):
		return Token{}, true, s.otherBinding("resource")
	}
	sameChain := g.seed() == "" || g.seed() == old.seed
	if t = old.token(); sameChain && t.good(s.cfg.Now()) && old.access != s.refused && old.covers(g.Scopes) {
		return t, true, nil
	}
	if g.Kind == AuthorizationCode && !old.covers(g.Scopes) {
		e := s.login("the saved login lacks a configured scope")
		e.Reason, e.Scopes = ReasonInsufficientScope, g.Scopes
		return Token{}, true, e
	}
	if g.Kind == AuthorizationCode && old.refresh == "" {
		return Token{}, true, s.login("the saved login is good no longer and came without a refresh token")
	}
	return Token{}, false, nil
}

func (s *Source) login(text string) *Error {
	return &Error{Reason: ReasonLoginRequired, Text: text, Hint: s.cfg.Grant.loginHint()}
}

func (s *Source) otherBinding(of string) *Error {
	e := s.file.fail(unsafeError("is for another " + of))
	e.Reason = ReasonTokenFileBinding
	return e
}

// resource is the identifier that requests carry. The chain has been walked.
func (s *Source) resource() string { return firstSet(s.cfg.Grant.Resource, s.ladder.Resource) }

// walk finds the token endpoint, once.
func (s *Source) walk(ctx context.Context) *Error {
	if s.ladder != nil && usable(s.ladder) == nil {
		return nil
	}
	s.ladder = discover(ctx, s.cfg)
	return usable(s.ladder)
}

func discover(ctx context.Context, cfg SourceConfig) *Ladder {
	audit := AuditConfig{Endpoint: cfg.Endpoint, PinnedIssuer: cfg.Grant.Issuer, ClientIDConfigured: cfg.Grant.ClientID != "", HTTP: cfg.HTTP}
	if cfg.Refusal != nil {
		audit.Status, audit.Challenge = cfg.Refusal(ctx)
	}
	return Audit(ctx, audit)
}

// usable reports why no token can be asked for with what the chain gave.
func usable(l *Ladder) *Error {
	if l.token != nil && l.Server != nil && l.Resource != "" {
		return nil
	}
	// A rung that does not matter here, such as registration, is not what is
	// broken.
	for _, v := range []Verdict{Failed, Unknown} {
		for _, name := range []string{RungResourceMetadata, RungResource, RungServer, RungIssuer, RungEndpoints} {
			if r := l.Rung(name); r.Verdict == v {
				return &Error{
					Reason: r.Reason, Text: r.Name + ": " + r.Text, Hint: r.Hint, Ladder: l,
					Unknown: v == Unknown, HTTPStatus: r.HTTPStatus,
				}
			}
		}
	}
	return &Error{Reason: ReasonMetadataMissing, Text: "no token endpoint was found", Ladder: l}
}

// acquire asks the token endpoint. With h, what comes is saved; the old content
// stays when nothing does.
func (s *Source) acquire(ctx context.Context, h *held, old *saved) (Token, *Error) {
	g := s.cfg.Grant
	form := url.Values{"grant_type": {string(g.Kind)}, "resource": {s.resource()}}
	scopes := g.Scopes
	next := saved{}
	if g.Kind == ClientCredentials {
		if scopes == nil {
			scopes = s.ladder.Scopes
		}
	} else {
		form.Set("grant_type", string(RefreshToken))
		next.refresh, next.seed = s.refreshToken(old)
		if next.refresh == "" {
			return Token{}, s.login("the saved login came without a refresh token")
		}
		form.Set("refresh_token", next.refresh)
	}
	if len(scopes) > 0 {
		form.Set("scope", joinScopes(scopes))
	}
	sent := next.refresh
	got, problem := s.request(ctx, form, scopes)
	if problem != nil {
		return Token{}, problem
	}
	if fresh := got.refresh.Reveal(); fresh != "" && g.Kind != ClientCredentials {
		next.refresh = fresh
	}
	next.requested = scopes
	if old != nil && got.granted == nil {
		got.token.Scopes = firstList(scopes, old.scopes)
	}
	if old != nil && scopes == nil {
		next.requested = old.requested
	}
	s.keep(h, &next, got, sent)
	s.remark(got, g.Scopes)
	if got.expired {
		return Token{}, expiredToken()
	}
	return got.token, nil
}

func expiredToken() *Error {
	return &Error{Reason: ReasonTokenExpired, Text: "the authorization server issued a token that has expired already", Hint: "look at the lifetime of access tokens, and at the clock, of the authorization server"}
}

func firstList(lists ...[]string) []string {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}

// refreshToken picks the newest token of the chain, and names the chain. Going
// back to an older one could make the server revoke them all.
func (s *Source) refreshToken(old *saved) (token, seed string) {
	g := s.cfg.Grant
	seed = g.seed()
	switch {
	case old == nil:
		return s.refresh, seed
	case seed == "":
		return old.refresh, old.seed
	case seed == old.seed && old.refresh != "":
		return old.refresh, seed
	}
	return g.RefreshToken.Reveal(), seed
}

// keep saves what was got. That it cannot be saved is no reason not to use it.
func (s *Source) keep(h *held, next *saved, got issued, sent string) {
	s.refused = ""
	s.refresh = next.refresh
	if h == nil {
		if next.refresh != sent {
			s.note(ReasonRefreshRotated, "the authorization server replaced the refresh token, and without a token file the new one is lost after this run", "configure token_file")
		}
		return
	}
	g := s.cfg.Grant
	next.access, next.expires, next.scopes = got.token.Reveal(), got.token.Expires, got.token.Scopes
	next.issuer, next.resource, next.clientID = g.Issuer, s.resource(), g.clientID()
	if problem := h.save(next); problem != nil {
		s.note(problem.Reason, problem.Text+", so the new token is lost after this run", problem.Hint)
	}
}

func (s *Source) remark(got issued, wanted []string) {
	if got.granted == nil {
		return
	}
	var missing []string
	for _, scope := range wanted {
		if !slices.Contains(got.granted, scope) {
			missing = append(missing, scope)
		}
	}
	if missing != nil {
		s.note(ReasonScopeReduced, "the authorization server did not grant "+s.client.quote(joinScopes(missing)), "allow these scopes for the client, or do not ask for them")
	}
}

func (s *Source) request(ctx context.Context, form url.Values, scopes []string) (issued, *Error) {
	return requestToken(ctx, s.client, s.cfg, s.ladder, form, scopes)
}

// requestToken sends one token request, and never a second one: a request that
// was answered into the void may have been carried out.
func requestToken(ctx context.Context, c *client, cfg SourceConfig, l *Ladder, form url.Values, scopes []string) (issued, *Error) {
	if ctx.Err() != nil {
		return issued{}, aborted(ctx)
	}
	header := http.Header{}
	asked := cfg.Now()
	if problem := cfg.Grant.authenticate(c, l.Server, form, header, asked); problem != nil {
		return issued{}, problem
	}
	lasting, cancel := outlast(ctx)
	defer cancel()
	ans := c.post(lasting, l.token, form, header)
	if ans.failure != nil || ans.status != http.StatusOK {
		return issued{}, cfg.Grant.refusal(c, ans, scopes)
	}
	where := "the answer of the token endpoint " + showURL(l.token)
	nonsense := func(clause string) (issued, *Error) {
		return issued{}, &Error{Reason: ReasonTokenResponse, HTTPStatus: ans.status, Text: where + " " + clause, Hint: "compare it with RFC 6749, section 5.1"}
	}
	if ans.tooLarge {
		return nonsense("is larger than 64 KiB")
	}
	serverNow, err := http.ParseTime(ans.header.Get("Date"))
	if err != nil {
		serverNow = asked
	}
	got, err := parseToken(ans.body, asked, serverNow)
	if err != nil {
		if m, bad := parseObject(ans.body); bad == nil && m.text("error") != "" {
			return issued{}, cfg.Grant.refusal(c, ans, scopes) // said with 200
		}
		return nonsense(err.Error())
	}
	c.Redact.Add(got.token.Reveal())
	c.Redact.Add(got.refresh.Reveal())
	if got.granted == nil {
		got.token.Scopes = scopes
	}
	return got, nil
}

// outlast gives a context that ends some time after ctx does.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(graceAfterEnd):
			cancel()
		case <-lasting.Done():
		}
	})
	return lasting, func() { stop(); cancel() }
}

func joinScopes(scopes []string) string { return strings.Join(scopes, " ") }
