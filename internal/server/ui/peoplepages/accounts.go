package peoplepages

import (
	"maps"
	"slices"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/account"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// The forms of an account's page, by which a refusal is shown.
const (
	formRole     = "role"
	formAccess   = "access"
	formPassword = "password"
	formFactors  = "factors"
	formSessions = "sessions"
)

func (p *pages) accounts(q *shell.Request) error {
	list, err := p.Ops.Accounts(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	return q.Show(shell.Page{Title: q.T("People"), Section: "settings", Body: p.accountsBody(q, list)})
}

// groupRole is what a group of the provider gives.
type groupRole struct {
	group string
	role  people.Role
}

// groups are those with a role, the most powerful first.
func (p *pages) groups() []groupRole {
	var out []groupRole
	roles, _ := p.OpenID.Roles()
	for _, role := range slices.Backward(account.Roles()) {
		for _, group := range slices.Sorted(maps.Keys(roles)) {
			if roles[group] == role {
				out = append(out, groupRole{group, role})
			}
		}
	}
	return out
}

func (p *pages) others() people.Role {
	_, role := p.OpenID.Roles()
	return role
}

// newcomer is an account to make.
type newcomer struct {
	name, role string
	refused    *ops.Error
	problems   shell.Problems
}

func (p *pages) newAccount(q *shell.Request) error {
	return p.showNew(q, newcomer{role: string(people.Viewer)}, nil)
}

func (p *pages) showNew(q *shell.Request, n newcomer, err error) error {
	status := 0
	if err != nil {
		if n.refused = shell.Refusal(err); n.refused == nil {
			return err
		}
		n.problems, status = shell.ProblemsOf(n.refused), shell.Status(n.refused)
		q.RetryAfter(n.refused)
	}
	return q.Show(shell.Page{Title: q.T("New account"), Section: "settings", Status: status, Body: newBody(q, n)})
}

func (p *pages) create(q *shell.Request) error {
	n := newcomer{name: q.Value("name"), role: q.Value("role")}
	_, err := p.Ops.CreateAccount(q.Context(), q.Actor, ops.AccountInput{
		Name: n.name, Role: people.Role(n.role), NewPassword: q.PostFormValue("password"), Proof: q.Proof(),
	})
	if err != nil {
		return p.showNew(q, n, err)
	}
	return q.Go("/settings/people", "created")
}

// one is an account as an administrator sees it.
type one struct {
	account people.Account
	own     bool
	// form was refused, for the reason given.
	form     string
	refused  *ops.Error
	problems shell.Problems
}

func (o one) of(form string) shell.Problems {
	if o.form == form {
		return o.problems
	}
	return nil
}

func (p *pages) account(q *shell.Request) error { return p.show(q, "", nil) }

// show shows the account in the path; cause, unless nil, is why a form was refused.
func (p *pages) show(q *shell.Request, form string, cause error) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	v := one{form: form, own: q.Session.Account().ID == id}
	status := 0
	if cause != nil {
		if v.refused = shell.Refusal(cause); v.refused == nil {
			return cause
		}
		v.problems, status = shell.ProblemsOf(v.refused), shell.Status(v.refused)
		q.RetryAfter(v.refused)
	}
	list, err := p.Ops.Accounts(q.Context(), q.Actor)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(a people.Account) bool { return a.ID == id })
	if i < 0 {
		return shell.NotFound(q)
	}
	v.account = list[i]
	return q.Show(shell.Page{Title: v.account.Name, Section: "settings", Status: status, Body: p.accountBody(q, v)})
}

// edit changes the account in the path in one way.
func (p *pages) edit(q *shell.Request, form string, edit ops.AccountEdit) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	edit.Proof = q.Proof()
	if _, err := p.Ops.EditAccount(q.Context(), q.Actor, id, edit); err != nil {
		return p.show(q, form, err)
	}
	return q.Go(pathOf(id), "saved")
}

func (p *pages) setRole(q *shell.Request) error {
	role := people.Role(q.Value("role"))
	return p.edit(q, formRole, ops.AccountEdit{Role: &role})
}

func (p *pages) disable(disabled bool) func(*shell.Request) error {
	return func(q *shell.Request) error {
		return p.edit(q, formAccess, ops.AccountEdit{Disabled: &disabled})
	}
}

func (p *pages) setPassword(q *shell.Request) error {
	password := q.PostFormValue("password")
	if password == "" {
		return p.show(q, formPassword, &ops.Error{
			Code: ops.Invalid, Text: q.T("The new password is missing."), Problems: []watch.Problem{{Field: "password", Text: q.T("is missing")}},
		})
	}
	return p.edit(q, formPassword, ops.AccountEdit{NewPassword: &password})
}

func (p *pages) resetFactors(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	if err := p.Ops.ResetFactors(q.Context(), q.Actor, id, q.Proof()); err != nil {
		return p.show(q, formFactors, err)
	}
	return q.Go(pathOf(id), "deleted")
}

func (p *pages) endSessions(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	if err := p.Ops.EndSessions(q.Context(), q.Actor, id); err != nil {
		return p.show(q, formSessions, err)
	}
	if id == q.Session.Account().ID {
		return q.Go("/sign-in", "signed-out")
	}
	return q.Go(pathOf(id), "revoked")
}
