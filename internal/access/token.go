package access

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

const (
	// defaultLife is that of a token whose life nobody tells.
	defaultLife = 5 * time.Minute
	// maxLife is the longest life that is believed.
	maxLife = 315_360_000 * time.Second
	// reuseMargin is the life that a token must have left to be used again.
	reuseMargin = 5 * time.Second
)

// Token is an access token. Every way of printing it gives "***".
type Token struct {
	value Secret
	// Expires is by this machine's clock.
	Expires time.Time
	// Assumed: the server did not tell; five minutes were assumed, or less
	// because the token itself, a JWT, says so.
	Assumed bool
	// Scopes are those granted, or those asked for when the server is silent.
	Scopes []string
	// Audience is that of a JWT (RFC 9068), unverified; nil for other tokens.
	Audience []string
}

// Reveal returns the token.
func (t Token) Reveal() string { return t.value.Reveal() }

// Authorization returns the value of the Authorization header (RFC 6750,
// section 2.1).
func (t Token) Authorization() string { return "Bearer " + t.value.Reveal() }

// Format prints *** whatever the verb.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(masked)) }

// MarshalText returns "***".
func (t Token) MarshalText() ([]byte, error) { return []byte(masked), nil }

// LogValue returns "***".
func (t Token) LogValue() slog.Value { return slog.StringValue(masked) }

func (t Token) good(now time.Time) bool {
	return !t.value.IsZero() && t.Expires.Sub(now) > reuseMargin
}

// issued is a successful token response.
type issued struct {
	token   Token
	refresh Secret   // "" when the server sent none
	granted []string // nil when the server is silent
	expired bool
}

// parseToken reads a successful response of a token endpoint (RFC 6749, section
// 5.1), asked for at the time asked. serverNow is what the server thought the
// time was: by its clock the claims of a JWT are judged. The error is
// a clause about the response and quotes nothing of it.
func parseToken(data []byte, asked, serverNow time.Time) (issued, error) {
	m, err := parseObject(data)
	if err != nil {
		return issued{}, err
	}
	access, refresh, kind, scope := m.text("access_token"), m.text("refresh_token"), m.text("token_type"), m.text("scope")
	switch {
	case len(m.wrong) > 0:
		return issued{}, fmt.Errorf("has a %s that is no string", m.wrong[0])
	case access == "":
		return issued{}, fmt.Errorf("has no access_token")
	case !isBearerToken(access):
		return issued{}, fmt.Errorf("has an access_token that no header can carry")
	case !strings.EqualFold(kind, "Bearer"):
		return issued{}, fmt.Errorf("has a token_type that is not Bearer")
	case !isVisible(refresh):
		return issued{}, fmt.Errorf("has a refresh_token with characters that none can have")
	}
	life, known, err := lifetime(m.object.Get("expires_in"))
	if err != nil {
		return issued{}, err
	}
	claims := readJWT(access)
	if !known {
		life = defaultLife
		if claims.hasExp {
			life = min(life, claims.exp.Sub(serverNow))
		}
	}
	out := issued{refresh: Hide(refresh), expired: life <= 0}
	if scope != "" {
		out.granted = splitScopes(scope)
	}
	out.token = Token{value: Hide(access), Expires: asked.Add(life), Assumed: !known, Scopes: out.granted, Audience: claims.audience}
	return out, nil
}

// lifetime reads expires_in: a number or, as some servers write it, a string of
// digits. It is not known when absent or null.
func lifetime(v rawjson.Value) (life time.Duration, known bool, err error) {
	if !v.Exists() || v.IsNull() {
		return 0, false, nil
	}
	seconds, ok := v.Int()
	if s, isText := v.Text(); isText {
		seconds, err = strconv.ParseInt(s, 10, 64)
		ok = err == nil && s[0] != '+'
	}
	if !ok || seconds < 0 {
		return 0, false, fmt.Errorf("has an expires_in that is no number of seconds")
	}
	return time.Duration(min(seconds, int64(maxLife/time.Second))) * time.Second, true, nil
}

// isBearerToken is b64token of RFC 6750, section 2.1.
func isBearerToken(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		if !isToken68Char(body[i]) {
			return false
		}
	}
	return body != ""
}

func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

type jwtClaims struct {
	hasExp   bool
	exp      time.Time
	audience []string
}

// readJWT looks into a token that may be a JWT, without verifying it: whom it is
// for and how long it lives are hints, no more.
func readJWT(token string) jwtClaims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return jwtClaims{}
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return jwtClaims{}
	}
	m, err := parseObject(data)
	if err != nil {
		return jwtClaims{}
	}
	var c jwtClaims
	if exp, ok := seconds(m.object.Get("exp")); ok {
		c.hasExp, c.exp = true, time.Unix(exp, 0)
	}
	if one := m.text("aud"); one != "" {
		c.audience = []string{one}
	} else {
		c.audience = m.list("aud")
	}
	return c
}

// Inspect looks into a bearer token that is a JWT, without verifying anything:
// when it expires and whom it is for. Both are zero for any other token.
func Inspect(token string) (expires time.Time, audience []string) {
	c := readJWT(strings.TrimSpace(token))
	return c.exp, c.audience
}

// seconds reads a NumericDate (RFC 7519, section 2), which may have a fraction.
func seconds(v rawjson.Value) (int64, bool) {
	if n, ok := v.Int(); ok {
		return n, n >= 0 && n < 1<<40
	}
	f, err := strconv.ParseFloat(v.Lexeme(), 64)
	if err != nil || !(f >= 0 && f < 1<<40) {
		return 0, false
	}
	return int64(f), true
}

// refusal explains an answer of the token endpoint that is no token.
func (g Grant) refusal(c *client, ans answer, scopes []string) *Error {
	where := "the token endpoint " + showURL(ans.url)
	e := &Error{HTTPStatus: ans.status}
	if ans.failure != nil {
		e.Reason, e.Unknown, e.Hint = ReasonServerUnavailable, true, firstSet(ans.failure.Hint, "the authorization server is in trouble; try again later")
		e.Text = "no answer from " + where + ": " + ans.failure.Text
		if ans.failure.Reason == ReasonAddressNotAllowed {
			e.Reason, e.Unknown = ReasonAddressNotAllowed, false
		}
		return e
	}
	described := ""
	if m, err := parseObject(ans.body); err == nil && !ans.tooLarge {
		e.Code = c.quote(m.text("error"))
		if d := m.text("error_description"); d != "" {
			described = ": " + c.quote(d)
		}
	}
	e.Text = fmt.Sprintf("%s answered %d", where, ans.status)
	if e.Code != "" {
		e.Text += " " + e.Code + described
	}
	switch {
	case ans.status >= 500 || ans.status == http.StatusTooManyRequests || e.Code == "temporarily_unavailable" || e.Code == "server_error" || e.Code == "slow_down":
		e.Reason, e.Unknown, e.Hint = ReasonServerUnavailable, true, "the authorization server is in trouble; try again later"
	case ans.status >= 300 && ans.status < 400:
		e.Reason, e.Hint = ReasonTokenResponse, "redirects of token requests are not followed; the metadata must name the real token endpoint"
	case e.Code == "invalid_target":
		e.Reason, e.Hint = ReasonInvalidTarget, "let the authorization server know the MCP server's resource identifier"
	case e.Code == "invalid_scope" || e.Code == "insufficient_scope":
		e.Reason, e.Scopes = ReasonInsufficientScope, scopes
		e.Hint = "ask for scopes that the client may have; asked for: " + firstSet(c.quote(strings.Join(scopes, " ")), "none")
	case e.Code == "invalid_grant" && g.Kind == AuthorizationCode:
		e.Reason, e.Hint = ReasonLoginRequired, "the saved login has expired or was revoked; "+g.loginHint()
	default:
		e.Reason, e.Hint = ReasonTokenRefused, g.refusedHint(e.Code)
	}
	return e
}

func (g Grant) refusedHint(code string) string {
	switch code {
	case "invalid_client":
		return "check client_id and the client's secret or key"
	case "invalid_grant":
		return "the refresh token has expired, was revoked or was used before; configure a new one"
	case "unauthorized_client", "unsupported_grant_type":
		return "allow the grant " + string(g.Kind) + " for this client at the authorization server"
	}
	return "look at the authorization server's log for this client"
}

func firstSet(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
