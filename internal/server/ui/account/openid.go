package account

import (
	"errors"
	"net/http"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

func (p *pages) openID() []shell.Route {
	return []shell.Route{
		{Method: http.MethodGet, Path: "/sign-in/openid", Permission: shell.Open, Serve: p.toProvider},
		{Method: http.MethodGet, Path: openid.CallbackPath, Permission: shell.Open, Serve: p.fromProvider},
	}
}

// kept is the cookie that ties what the provider answers to the browser that asked.
func kept(q *shell.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: web.CookieName("mcpvigil_openid", q.Secure()), Value: value, Path: "/", MaxAge: int(openid.FlowLife.Seconds()),
		HttpOnly: true, Secure: q.Secure(), SameSite: http.SameSiteLaxMode, // strict ones are not sent on the way back
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// toProvider sends a browser to the provider. It is a link, not a form: the policy of
// the pages lets forms lead nowhere else.
func (p *pages) toProvider(q *shell.Request) error {
	address, value, err := p.OpenID.Begin(q.Context(), shell.Local(q.URL.Query().Get("next")))
	if err != nil {
		return p.notEntered(q, err)
	}
	http.SetCookie(q.Writer(), kept(q, value))
	http.Redirect(q.Writer(), q.Request, address, http.StatusSeeOther)
	return nil
}

// fromProvider takes a browser that comes back.
func (p *pages) fromProvider(q *shell.Request) error {
	if wait := p.answers.Take(web.Address(q.Request)); wait > 0 {
		return said(q, &ops.Error{Code: ops.TooMany, RetryAfter: wait})
	}
	cookie, err := q.Cookie(kept(q, "").Name)
	if err != nil {
		return p.notEntered(q, openid.ErrFlow)
	}
	http.SetCookie(q.Writer(), kept(q, "")) // it counts once
	identity, next, err := p.OpenID.Finish(q.Context(), cookie.Value, q.URL.Query())
	if err != nil {
		return p.notEntered(q, err)
	}
	token, session, err := p.People.LoginAs(q.Context(), identity, q.RemoteAddr, q.UserAgent())
	switch {
	case errors.Is(err, people.ErrCredentials):
		return &ops.Error{Code: ops.Forbidden, Text: q.T("This account is disabled."), Hint: q.T("Ask an administrator.")}
	case err != nil:
		return ops.Personal(err)
	}
	q.SignedIn(token, session.ExpiresAt())
	return q.Go(shell.Local(next), "")
}

// notEntered says why the provider did not let somebody in. What it said in detail is
// for the log.
func (p *pages) notEntered(q *shell.Request, err error) error {
	e := &ops.Error{Code: ops.Forbidden}
	name := p.OpenID.Name()
	switch {
	case errors.Is(err, openid.ErrNoRole):
		e.Text, e.Hint = q.T("You are signed in at %s, but none of your groups has a role here.", name), q.T("Ask an administrator for a group that has one.")
	case errors.Is(err, openid.ErrDenied):
		e.Text, e.Hint = q.T("%s did not let you in.", name), q.T("Try again, or ask who looks after it.")
	case errors.Is(err, openid.ErrFlow):
		e.Text, e.Hint = q.T("This answer of %s belongs to no sign-in of this browser, or came too late.", name), q.T("Start again, in one window, and with cookies allowed.")
	case errors.Is(err, openid.ErrIdentity):
		e.Text, e.Hint = q.T("What %s says of you cannot be trusted.", name), q.T("The server's log says why.")
	case errors.Is(err, openid.ErrUnavailable):
		e.Code, e.Text, e.Hint = ops.Busy, q.T("%s cannot be reached, or does not answer as it should.", name), q.T("Try again in a moment. The server's log says why.")
	default:
		return err
	}
	if !errors.Is(err, openid.ErrFlow) {
		q.Warn(q.Context(), "somebody was not signed in with OpenID", err)
	}
	status := shell.Status(e)
	if e.Code == ops.Busy {
		status = http.StatusServiceUnavailable
	}
	return q.Show(shell.Page{Title: q.T("Not signed in"), Bare: true, Status: status, Body: p.refusedBody(e)})
}
