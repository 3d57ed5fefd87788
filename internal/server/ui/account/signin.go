package account

import (
	"net/http"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// attempt is what somebody tried to sign in with, and why that was refused. A password
// is not in it: pages never hold one.
type attempt struct {
	name, next string
	// code: the account has a second factor, and a code is asked for; first: none was
	// given yet.
	code    bool
	first   bool
	refused *ops.Error
}

// entrance is the page where people sign in.
func (p *pages) entrance(q *shell.Request) error {
	next := shell.Local(q.URL.Query().Get("next"))
	if q.Session != nil {
		return q.Go(next, "")
	}
	needed, err := p.People.NeedsSetup(q.Context())
	if err != nil {
		return err
	}
	if needed {
		return q.Go("/setup", "")
	}
	return p.show(q, attempt{next: next})
}

func (p *pages) show(q *shell.Request, a attempt) error {
	status := http.StatusOK
	if a.refused != nil {
		status = shell.Status(a.refused)
		q.RetryAfter(a.refused)
	}
	if q.Partial() {
		return q.PartWith(status, problem(a))
	}
	return q.Show(shell.Page{Title: q.T("Sign in"), Bare: true, Status: status, Modules: []string{"passkey.js"}, Body: p.entranceBody(q, a)})
}

// signIn takes a name, a password and, when the account has a code app, a code.
func (p *pages) signIn(q *shell.Request) error {
	a := attempt{name: q.Value("name"), next: shell.Local(q.Value("next"))}
	code := q.Value("code")
	token, session, err := p.People.Login(q.Context(), a.name, q.PostFormValue("password"), code, q.RemoteAddr, q.UserAgent())
	return p.entered(q, a, token, session, err)
}

// passkeyChallenge is what a browser asks an authenticator for.
func (p *pages) passkeyChallenge(q *shell.Request) error {
	options, err := p.People.PasskeyChallenge(q.Context())
	if err != nil {
		return ops.Personal(err)
	}
	return q.JSON(http.StatusOK, options)
}

func (p *pages) passkeySignIn(q *shell.Request) error {
	a := attempt{next: shell.Local(q.Value("next"))}
	token, session, err := p.People.LoginWithPasskey(q.Context(), []byte(q.PostFormValue("answer")), q.RemoteAddr, q.UserAgent())
	return p.entered(q, a, token, session, err)
}

// entered goes on with a session, which has a new token whatever the browser had before,
// or says why there is none.
func (p *pages) entered(q *shell.Request, a attempt, token string, session *people.Session, err error) error {
	if err == nil {
		q.SignedIn(token, session.ExpiresAt())
		return q.Go(a.next, "")
	}
	err = ops.Personal(err)
	a.refused = shell.Refusal(err)
	if a.refused == nil {
		return err
	}
	a.code = a.refused.Code == ops.CodeRequired
	a.first = q.Value("code") == ""
	a.refused = said(q, a.refused)
	return p.show(q, a)
}

// said is a refusal in the language of who reads it.
func said(q *shell.Request, e *ops.Error) *ops.Error {
	own := *e
	switch e.Code {
	case ops.WrongPassword:
		own.Text, own.Hint = q.T("The name or what you signed in with is wrong."), ""
	case ops.CodeRequired:
		own.Text, own.Hint = q.T("Now the code that your app shows, or a recovery code."), ""
		if q.Value("code") != "" {
			own.Text = q.T("The code is wrong, too old, or was used already.")
		}
	case ops.Forbidden:
		own.Text, own.Hint = q.T("Sign in with the OpenID provider."), ""
	case ops.TooMany:
		own.Text = q.T("Too many attempts.")
		own.Hint = q.T("Try again in %s.", max(time.Second, e.RetryAfter.Round(time.Second)).String())
	case ops.Unauthenticated:
		own.Text, own.Hint = q.T("The setup token is wrong."), q.T("Take the address that was printed when the server started last.")
	}
	return &own
}

func (p *pages) signOut(q *shell.Request) error {
	if q.Session != nil {
		if err := p.People.Logout(q.Context(), q.Session); err != nil {
			return ops.Personal(err)
		}
	}
	q.SignedOut()
	return q.Go("/sign-in", "signed-out")
}

// start is what the first account is made with.
type start struct {
	token, name string
	refused     *ops.Error
	problems    shell.Problems
}

// setup is where the first account is made, by who has the token that the server printed.
func (p *pages) setup(q *shell.Request) error {
	needed, err := p.People.NeedsSetup(q.Context())
	if err != nil {
		return err
	}
	if !needed {
		return q.Go("/sign-in", "")
	}
	return p.showSetup(q, start{token: q.URL.Query().Get("token")})
}

func (p *pages) showSetup(q *shell.Request, s start) error {
	status := http.StatusOK
	if s.refused != nil {
		status = shell.Status(s.refused)
		q.RetryAfter(s.refused)
	}
	return q.Show(shell.Page{Title: q.T("Welcome"), Bare: true, Status: status, Body: p.setupBody(q, s)})
}

func (p *pages) setUp(q *shell.Request) error {
	s := start{token: q.Value("token"), name: q.Value("name")}
	password := q.PostFormValue("password")
	if password != q.PostFormValue("again") {
		s.refused = differ(q, "again")
	} else {
		_, err := p.People.Setup(q.Context(), s.token, s.name, password)
		if err == nil {
			return p.first(q, s.name, password)
		}
		err = ops.Personal(err)
		if s.refused = shell.Refusal(err); s.refused == nil {
			return err
		}
		s.refused = said(q, s.refused)
	}
	s.problems = shell.ProblemsOf(s.refused)
	return p.showSetup(q, s)
}

// first signs the first person in.
func (p *pages) first(q *shell.Request, name, password string) error {
	if p.NoPasswordLogin {
		return q.Go("/sign-in", "created")
	}
	token, session, err := p.People.Login(q.Context(), name, password, "", q.RemoteAddr, q.UserAgent())
	next := "/monitors/new?first=1"
	if err == nil {
		// What a configuration file has is watched already, and is what to look at first.
		watched, failed := p.Ops.Monitors(q.Context(), session.Actor(), ops.MonitorFilter{Limit: 1})
		if failed == nil && len(watched.Items) > 0 {
			next = "/"
		}
	}
	return p.entered(q, attempt{name: name, next: next}, token, session, err)
}
