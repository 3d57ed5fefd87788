package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

const (
	loginTimeout  = 5 * time.Minute
	callbackPath  = "/callback"
	maxCallback   = 64 << 10 // bytes of the callback's request line and headers
	callbackGrace = time.Second
	offlineAccess = "offline_access" // the scope that asks for a refresh token
)

// LoginConfig is what [StartLogin] starts from. Its grant is of kind
// [AuthorizationCode].
type LoginConfig struct {
	SourceConfig
	// RedirectPort is the port of the callback on 127.0.0.1; 0: any free one.
	RedirectPort int
	// Timeout is how long the person has. Zero: five minutes.
	Timeout time.Duration
}

// Login is one login of one person: an authorization code (RFC 6749, section
// 4.1) with PKCE S256 (RFC 7636), for one resource (RFC 8707), whose answer
// comes to a listener on 127.0.0.1 (RFC 8252, section 7.3) or is pasted. It
// prints nothing that is secret.
type Login struct {
	cfg      LoginConfig
	client   *client
	ladder   *Ladder
	file     tokenFile
	scopes   []string
	started  time.Time
	state    string
	verifier string
	redirect string
	address  string // the URL for the browser

	host     string // of the callback
	server   *http.Server
	served   chan struct{} // closed when the server has ended
	outcomes chan outcome  // room for one
}

// outcome is a judged answer of the authorization endpoint: a code, or why not.
type outcome struct {
	code    string
	problem *Error
}

// LoginResult is what a login brought. The token is in the token file.
type LoginResult struct {
	Scopes  []string
	Expires time.Time
	// Renewable: there is a refresh token. Without one a person has to log in
	// again when the token expires.
	Renewable bool
	TokenFile string
}

// Format prints *** whatever the verb: state and verifier are secrets.
func (l *Login) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// StartLogin walks the discovery chain, makes sure that the token file can be
// written, and opens the callback. The person goes to [Login.URL], and
// [Login.Wait] does the rest. Its error is an [*Error].
//
// A server that does not advertise S256 is refused, as revision 2025-11-25 and
// later demand. The client is the configured one, or else the one of the client
// ID metadata document if the server takes these.
func StartLogin(ctx context.Context, cfg LoginConfig) (*Login, error) {
	l, problem := prepareLogin(ctx, cfg)
	if problem != nil {
		return nil, problem
	}
	listener, problem := l.listen(ctx)
	if problem != nil {
		return nil, problem
	}
	l.buildURL()
	l.serve(listener) // last: an answer is judged by what came before
	return l, nil
}

func prepareLogin(ctx context.Context, cfg LoginConfig) (*Login, *Error) {
	g := cfg.Grant
	if problem := g.problem(); problem != nil {
		return nil, problem
	}
	if g.Kind != AuthorizationCode {
		return nil, &Error{Reason: ReasonGrantInvalid, Text: "the grant " + string(g.Kind) + " needs no login", Hint: "run the check"}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	l := &Login{cfg: cfg, client: cfg.HTTP.client(), file: tokenFile{path: g.TokenFile, hint: "choose a token_file in a directory that is yours alone"}}
	for _, secret := range g.secrets() {
		l.client.Redact.Add(secret)
	}
	// Now, and not after the person has gone through the login.
	if problem := l.file.replaceable(); problem != nil {
		return nil, problem
	}
	h, problem := l.file.hold(ctx)
	if problem == nil {
		problem = h.reserve()
		h.release()
	}
	if problem != nil {
		return nil, problem
	}
	l.ladder = discover(ctx, cfg.SourceConfig)
	return l, l.fit()
}

// fit reports why the server that was found cannot be logged in to.
func (l *Login) fit() *Error {
	if problem := usable(l.ladder); problem != nil {
		return problem
	}
	m, g := l.ladder.Server, l.cfg.Grant
	broken := func(r Rung) *Error { return &Error{Reason: r.Reason, Text: r.Text, Hint: r.Hint, Ladder: l.ladder} }
	switch {
	case l.ladder.authorization == nil && l.ladder.Rung(RungEndpoints).Verdict == Failed:
		return broken(l.ladder.Rung(RungEndpoints))
	case l.ladder.authorization == nil:
		return &Error{Reason: ReasonEndpointMissing, Text: "the authorization server has no authorization_endpoint", Hint: "people cannot log in here; use the grant client_credentials", Ladder: l.ladder}
	case m.CodeChallengeMethods == nil:
		return &Error{
			Reason: ReasonPKCENotAdvertised, Ladder: l.ladder,
			Text: "the authorization server does not advertise PKCE, and clients must then refuse to log in",
			Hint: `let its metadata list "S256" in code_challenge_methods_supported`,
		}
	case !slices.Contains(m.CodeChallengeMethods, "S256"):
		return &Error{Reason: ReasonPKCES256, Text: "the authorization server does not offer PKCE with S256", Hint: `let its metadata list "S256" in code_challenge_methods_supported`, Ladder: l.ladder}
	case g.ClientID == "" && !m.ClientIDMetadataDocument:
		return &Error{Reason: ReasonNoRegistration, Text: "the authorization server takes no client ID metadata document", Hint: "register a client and configure its client_id", Ladder: l.ladder}
	}
	l.scopes = g.Scopes
	if l.scopes == nil {
		l.scopes = slices.Clone(l.ladder.Scopes)
		l.scopes = slices.DeleteFunc(l.scopes, func(s string) bool { return s == offlineAccess })
		if slices.Contains(m.Scopes, offlineAccess) {
			l.scopes = append(l.scopes, offlineAccess)
		}
	}
	return nil
}

// listen opens the callback.
func (l *Login) listen(ctx context.Context) (net.Listener, *Error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(l.cfg.RedirectPort))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", address)
	if err != nil {
		e := &Error{Reason: ReasonCallbackPort, Text: "the callback cannot listen on " + address, Hint: "configure another redirect_port", Err: err}
		if l.cfg.RedirectPort != 0 {
			e.Text = fmt.Sprintf("port %d of the callback is in use or not allowed", l.cfg.RedirectPort)
			e.Hint = "end the program that uses it (another login?), or configure another redirect_port"
		}
		return nil, e
	}
	l.started = time.Now()
	l.host = listener.Addr().String()
	l.redirect = "http://" + l.host + callbackPath
	return listener, nil
}

func (l *Login) serve(listener net.Listener) {
	l.outcomes = make(chan outcome, 1)
	l.served = make(chan struct{})
	l.server = &http.Server{
		Handler:           http.HandlerFunc(l.callback),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    maxCallback,
	}
	go func() {
		defer close(l.served)
		_ = l.server.Serve(listener) // ends with Close
	}()
}

func (l *Login) buildURL() {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	l.state = base64.RawURLEncoding.EncodeToString(secret)
	l.verifier = oauth2.GenerateVerifier() // 32 random bytes
	l.client.Redact.Add(l.verifier)
	u := *l.ladder.authorization
	q := u.Query()
	for name, value := range map[string]string{
		"response_type":         "code",
		"client_id":             l.cfg.Grant.clientID(),
		"redirect_uri":          l.redirect,
		"state":                 l.state,
		"code_challenge":        oauth2.S256ChallengeFromVerifier(l.verifier),
		"code_challenge_method": "S256",
		"resource":              l.resource(),
	} {
		q.Set(name, value)
	}
	if len(l.scopes) > 0 {
		q.Set("scope", joinScopes(l.scopes))
	}
	if slices.Contains(l.scopes, offlineAccess) {
		q.Set("prompt", "consent") // or the scope is ignored (OpenID Connect Core, section 11)
	}
	u.RawQuery = q.Encode()
	l.address = u.String()
}

func (l *Login) resource() string { return firstSet(l.cfg.Grant.Resource, l.ladder.Resource) }

// URL is where the person goes. It is meant to be shown.
func (l *Login) URL() string { return l.address }

// RedirectURI is where the answer comes, which the client's registration must
// allow.
func (l *Login) RedirectURI() string { return l.redirect }

// Ladder returns the discovery chain.
func (l *Login) Ladder() *Ladder { return l.ladder }

// callback serves the redirected browser. It shows nothing of the request.
func (l *Login) callback(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	say := func(status int, text string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n") // the browser may be gone
	}
	switch {
	case r.Host != l.host:
		say(http.StatusForbidden, "Wrong host.")
	case r.URL.Path != callbackPath:
		say(http.StatusNotFound, "Nothing here.")
	case r.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		say(http.StatusMethodNotAllowed, "Only GET.")
	default:
		if !l.asked(r.URL.Query()) {
			// Any page and any user of this machine can send such a thing; it must
			// not end the login of the person.
			say(http.StatusBadRequest, "This is not the answer to the login that is waiting here. Open the address that the terminal shows.")
			return
		}
		o := l.judge(r.URL.RawQuery)
		switch {
		case !l.deliver(o):
			say(http.StatusConflict, "This login has been answered already.")
		case o.problem != nil:
			say(http.StatusBadRequest, "The login failed; the terminal says why. You can close this window.")
		default:
			say(http.StatusOK, "The answer has arrived; the terminal says how it went. You can close this window.")
		}
	}
}

// deliver hands the outcome to Wait; the first one counts.
func (l *Login) deliver(o outcome) bool {
	select {
	case l.outcomes <- o:
		return true
	default:
		return false
	}
}

// Paste takes the URL to which the browser was redirected, for a person whose
// browser cannot reach this machine. Its error is an [*Error], after which
// another try is welcome; otherwise [Login.Wait] goes on with the answer.
func (l *Login) Paste(redirected string) error {
	u, err := url.Parse(strings.TrimSpace(redirected))
	if err != nil || len(redirected) > maxCallback || u.Scheme+"://"+u.Host+u.Path != l.redirect {
		return &Error{Reason: ReasonLoginResponse, Text: "this is not the address of the redirect", Hint: "paste the whole address that the browser shows after the login; it starts with " + l.redirect + "?"}
	}
	o := l.judge(u.RawQuery)
	if o.problem != nil {
		return o.problem
	}
	if !l.deliver(o) {
		return &Error{Reason: ReasonLoginResponse, Text: "this login has been answered already", Hint: "start over: " + l.cfg.Grant.loginCommand()}
	}
	return nil
}

// asked reports whether an answer has the state of this login, once.
func (l *Login) asked(q url.Values) bool {
	return len(q["state"]) == 1 && subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.state)) == 1
}

// judge checks an authorization response (RFC 6749, section 4.1.2; RFC 9207):
// first that it belongs to this login, then that this server sent it, and only
// then what it says.
func (l *Login) judge(query string) outcome {
	again := "start over: " + l.cfg.Grant.loginCommand()
	bad := func(reason, text, hint string) outcome {
		return outcome{problem: &Error{Reason: reason, Text: text, Hint: hint}}
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return bad(ReasonLoginResponse, "the answer of the authorization server cannot be read", again)
	}
	for _, name := range []string{"state", "iss", "code", "error", "error_description"} {
		if len(q[name]) > 1 {
			return bad(ReasonLoginResponse, "the answer of the authorization server holds "+name+" twice", again)
		}
	}
	l.client.Redact.Add(q.Get("code"))
	switch {
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.state)) != 1:
		return bad(ReasonLoginState, "the answer belongs to another login, or somebody made it up (state differs)", "close old tabs and "+again)
	case !q.Has("iss") && l.ladder.Server.IssParameter:
		return bad(ReasonLoginIssuer, "the answer does not say which authorization server sent it (no iss), although the metadata promises that", "tell the operator of "+l.client.quote(l.ladder.Server.Issuer))
	case q.Has("iss") && q.Get("iss") != l.ladder.Server.Issuer:
		return bad(ReasonLoginIssuer, "the answer comes from another authorization server (iss differs from "+l.client.quote(l.ladder.Server.Issuer)+")", "do not go on; find out who sent it")
	case q.Get("error") == "access_denied":
		return bad(ReasonLoginDenied, "the login was cancelled or denied at the authorization server", again)
	case q.Has("error"):
		text := "the authorization server refused: " + l.client.quote(q.Get("error"))
		if d := q.Get("error_description"); d != "" {
			text += ": " + l.client.quote(d)
		}
		return bad(ReasonLoginRefused, text, "check client_id, scopes and that "+l.redirect+" is registered, then "+again)
	case q.Get("code") == "":
		return bad(ReasonLoginResponse, "the answer of the authorization server holds no code", again)
	}
	return outcome{code: q.Get("code")}
}

// Wait waits for the answer, exchanges the code and writes the token file, which
// it leaves as it was when anything fails. It closes the login. Its error is an
// [*Error].
func (l *Login) Wait(ctx context.Context) (LoginResult, error) {
	defer l.Close()
	within := l.cfg.Timeout
	if within <= 0 {
		within = loginTimeout
	}
	timer := time.NewTimer(within - time.Since(l.started))
	defer timer.Stop()
	select {
	case o := <-l.outcomes:
		if o.problem != nil {
			return LoginResult{}, o.problem
		}
		result, problem := l.exchange(ctx, o.code)
		if problem != nil {
			return LoginResult{}, problem
		}
		return result, nil
	case <-timer.C:
		return LoginResult{}, &Error{
			Reason: ReasonLoginTimeout, Text: "nobody logged in within " + within.Round(time.Second).String(),
			Hint: "start over: " + l.cfg.Grant.loginCommand(),
		}
	case <-ctx.Done():
		return LoginResult{}, &Error{Reason: ReasonAborted, Text: "the login was cancelled", Hint: "start over: " + l.cfg.Grant.loginCommand(), Err: context.Cause(ctx)}
	}
}

func (l *Login) exchange(ctx context.Context, code string) (LoginResult, *Error) {
	g := l.cfg.Grant
	h, problem := l.file.hold(ctx)
	if problem != nil {
		return LoginResult{}, problem
	}
	defer h.release()
	if problem := h.reserve(); problem != nil {
		return LoginResult{}, problem
	}
	form := url.Values{
		"grant_type": {string(AuthorizationCode)}, "code": {code}, "redirect_uri": {l.redirect},
		"code_verifier": {l.verifier}, "resource": {l.resource()},
	}
	got, problem := requestToken(ctx, l.client, l.cfg.SourceConfig, l.ladder, form, l.scopes)
	if problem != nil {
		if problem.Code == "invalid_grant" {
			problem.Reason, problem.Hint = ReasonTokenRefused, "the code was not accepted; start over: "+g.loginCommand()
		}
		return LoginResult{}, problem
	}
	if got.expired && got.refresh.IsZero() {
		return LoginResult{}, expiredToken()
	}
	next := &saved{
		access: got.token.Reveal(), refresh: got.refresh.Reveal(), expires: got.token.Expires,
		issuer: g.Issuer, resource: l.resource(), clientID: g.clientID(),
		scopes: got.token.Scopes, requested: l.scopes,
	}
	if problem := h.save(next); problem != nil {
		return LoginResult{}, problem
	}
	return LoginResult{Scopes: got.token.Scopes, Expires: got.token.Expires, Renewable: !got.refresh.IsZero(), TokenFile: g.TokenFile}, nil
}

// Close ends the callback. It is safe to call more than once.
func (l *Login) Close() {
	// The browser is still to get its page.
	ctx, cancel := context.WithTimeout(context.Background(), callbackGrace)
	defer cancel()
	if l.server.Shutdown(ctx) != nil {
		_ = l.server.Close() // it has nobody to serve any more
	}
	<-l.served
}
