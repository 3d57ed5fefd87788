package account

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The forms of the page of the own account, by which a refusal is shown.
const (
	formPassword = "password"
	formApp      = "app"
	formRemove   = "app-remove"
	formRecovery = "recovery"
	formPasskey  = "passkey"
)

// profile is what a person sees of the own account.
type profile struct {
	account  people.Account
	factors  people.Factors
	sessions []people.SessionRow
	current  string
	// form was refused, for the reason given.
	form     string
	refused  *ops.Error
	problems shell.Problems
}

func (p *pages) own(q *shell.Request) error { return p.showOwn(q, "", nil) }

// showOwn shows the account; err, unless nil, is why a form was refused.
func (p *pages) showOwn(q *shell.Request, form string, err error) error {
	v := profile{account: q.Session.Account(), current: q.Session.ID(), form: form}
	status := http.StatusOK
	if err != nil {
		err = ops.Personal(err)
		if v.refused = shell.Refusal(err); v.refused == nil {
			return err
		}
		status = shell.Status(v.refused)
		v.refused = proven(q, v.refused)
		v.problems = shell.ProblemsOf(v.refused)
		q.RetryAfter(v.refused)
	}
	if v.factors, err = p.People.Factors(q.Context(), q.Session); err != nil {
		return ops.Personal(err)
	}
	if v.sessions, err = p.People.Sessions(q.Context(), q.Session); err != nil {
		return ops.Personal(err)
	}
	return q.Show(shell.Page{Title: q.T("Your account"), Section: "account", Status: status, Modules: []string{"account.js"}, Body: p.ownBody(q, v)})
}

// proven is a refusal of what a person showed, in the language of who reads it.
func proven(q *shell.Request, e *ops.Error) *ops.Error {
	own := *e
	switch e.Code {
	case ops.WrongPassword:
		own.Text, own.Hint = q.T("The password or the passkey is wrong."), ""
	case ops.CodeRequired:
		own.Text, own.Hint = q.T("The code is missing, wrong, too old, or was used already."), ""
	case ops.ProofRequired:
		own.Text, own.Hint = q.T("Show that it is you: with your password, or a passkey."), ""
	case ops.TooMany:
		return said(q, e)
	}
	return &own
}

// wrong says which field holds a password that is not the same as before.
func differ(q *shell.Request, field string) *ops.Error {
	return &ops.Error{Code: ops.Invalid, Text: q.T("The two passwords differ."), Problems: []watch.Problem{{Field: field, Text: q.T("differs from the one above")}}}
}

func (p *pages) password(q *shell.Request) error {
	password := q.PostFormValue("password")
	if password != q.PostFormValue("again") {
		return p.showOwn(q, formPassword, differ(q, "again"))
	}
	edit := ops.AccountEdit{NewPassword: &password, Proof: q.Proof()}
	if _, err := p.Ops.EditAccount(q.Context(), q.Actor, q.Session.Account().ID, edit); err != nil {
		return p.showOwn(q, formPassword, err)
	}
	return q.Go("/account", "saved")
}

// beginApp shows the secret of a code app, as a picture and as text.
func (p *pages) beginApp(q *shell.Request) error {
	enrolment, err := p.People.BeginTOTP(q.Context(), q.Session, q.Factor())
	if err != nil {
		return p.showOwn(q, formApp, err)
	}
	picture, err := picture(enrolment.URL)
	if err != nil {
		return err
	}
	return q.Show(shell.Page{Title: q.T("Set up a code app"), Section: "account", Body: appBody(enrolment, picture)})
}

// confirmApp takes the first code of the app, and shows recovery codes, once.
func (p *pages) confirmApp(q *shell.Request) error {
	codes, err := p.People.ConfirmTOTP(q.Context(), q.Session, q.Value("code"))
	if err == nil {
		return p.showCodes(q, codes)
	}
	err = ops.Personal(err)
	refused := shell.Refusal(err)
	switch {
	case refused == nil:
		return err
	case refused.Code == ops.NotFound:
		refused = &ops.Error{Code: ops.Conflict, Text: q.T("This took too long, or was done already."), Hint: q.T("Begin again from your account.")}
	case refused.Code != ops.TooMany:
		refused = &ops.Error{Code: ops.Invalid, Text: q.T("The code is wrong."), Hint: q.T("Take the one that the app shows now. The clocks of both devices have to be right.")}
	default:
		refused = said(q, refused)
	}
	q.RetryAfter(refused)
	if q.Partial() {
		return q.PartWith(shell.Status(refused), shell.Refused(refused))
	}
	return q.Show(shell.Page{Title: q.T("Set up a code app"), Section: "account", Status: shell.Status(refused), Body: againBody(refused)})
}

func (p *pages) showCodes(q *shell.Request, codes []string) error {
	if q.Partial() { // all of the page changes, not the place of the problem
		q.Writer().Header().Set("HX-Retarget", "#main")
		q.Writer().Header().Set("HX-Reswap", "innerHTML")
		return q.Part(codesBody(codes))
	}
	return q.Show(shell.Page{Title: q.T("Recovery codes"), Section: "account", Modules: []string{"account.js"}, Body: codesBody(codes)})
}

func (p *pages) removeApp(q *shell.Request) error {
	if err := p.People.RemoveTOTP(q.Context(), q.Session, q.Factor()); err != nil {
		return p.showOwn(q, formRemove, err)
	}
	return q.Go("/account", "deleted")
}

func (p *pages) recovery(q *shell.Request) error {
	codes, err := p.People.NewRecoveryCodes(q.Context(), q.Session, q.Factor())
	if err != nil {
		return p.showOwn(q, formRecovery, err)
	}
	return p.showCodes(q, codes)
}

// beginPasskey answers the script that adds a passkey.
func (p *pages) beginPasskey(q *shell.Request) error {
	options, err := p.People.BeginPasskey(q.Context(), q.Session, q.Factor())
	if err == nil {
		return q.JSON(http.StatusOK, options)
	}
	err = ops.Personal(err)
	refused := shell.Refusal(err)
	if refused == nil {
		return err
	}
	refused = proven(q, refused)
	q.RetryAfter(refused)
	text, err := json.Marshal(map[string]string{"text": strings.TrimSpace(refused.Text + " " + refused.Hint)})
	if err != nil {
		return err
	}
	return q.JSON(shell.Status(refused), text)
}

func (p *pages) finishPasskey(q *shell.Request) error {
	if err := p.People.FinishPasskey(q.Context(), q.Session, q.Value("name"), []byte(q.PostFormValue("answer"))); err != nil {
		return p.showOwn(q, formPasskey, err)
	}
	return q.Go("/account", "created")
}

func (p *pages) removePasskey(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	if err := p.People.RemovePasskey(q.Context(), q.Session, q.Factor(), id); err != nil {
		return p.showOwn(q, removal(id), err)
	}
	return q.Go("/account", "deleted")
}

func (p *pages) endSession(q *shell.Request) error {
	id := q.PathValue("id")
	if err := p.People.RevokeSession(q.Context(), q.Session, id); err != nil {
		return ops.Personal(err)
	}
	if id == q.Session.ID() {
		q.SignedOut()
		return q.Go("/sign-in", "signed-out")
	}
	return q.Go("/account", "revoked")
}

// endOthers ends all sessions but the one that asks.
func (p *pages) endOthers(q *shell.Request) error {
	sessions, err := p.People.Sessions(q.Context(), q.Session)
	if err != nil {
		return ops.Personal(err)
	}
	for _, s := range sessions {
		if s.Token == q.Session.ID() {
			continue
		}
		if err := p.People.RevokeSession(q.Context(), q.Session, s.Token); err != nil && !gone(err) {
			return ops.Personal(err)
		}
	}
	return q.Go("/account", "revoked")
}
