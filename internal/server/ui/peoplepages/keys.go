package peoplepages

import (
	"context"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/account"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func pathOf(id int64) string { return "/settings/people/" + strconv.FormatInt(id, 10) }

// keyPage are all keys, and one to make.
type keyPage struct {
	keys             []people.Key
	name, role, days string
	made             *ops.NewKey
	refused          *ops.Error
	problems         shell.Problems
	now              time.Time
}

// lives are how long keys can last that are made here, in days.
var lives = []int{7, 30, 90, 365, 730}

const defaultLife = 90

func (p *pages) keys(q *shell.Request) error {
	return p.showKeys(q, keyPage{role: string(people.Viewer), days: strconv.Itoa(defaultLife)}, nil)
}

func (p *pages) showKeys(q *shell.Request, v keyPage, cause error) error {
	status := 0
	if cause != nil {
		if v.refused = shell.Refusal(cause); v.refused == nil {
			return cause
		}
		v.problems, status = shell.ProblemsOf(v.refused), shell.Status(v.refused)
	}
	var err error
	if v.keys, err = p.Ops.Keys(q.Context(), q.Actor); err != nil {
		return err
	}
	v.now = q.Now()
	return q.Show(shell.Page{Title: q.T("API keys"), Section: "settings", Status: status, Modules: []string{"account.js"}, Body: keysBody(q, v)})
}

// createKey makes a key and shows its text, this once.
func (p *pages) createKey(q *shell.Request) error {
	v := keyPage{name: q.Value("name"), role: q.Value("role"), days: q.Value("days")}
	days, err := strconv.Atoi(v.days)
	if err != nil || days < 1 || days > 730 {
		return p.showKeys(q, v, &ops.Error{
			Code: ops.Invalid, Text: q.T("The key cannot last that long."), Problems: []watch.Problem{{Field: "days", Text: q.T("from 1 to 730 days")}},
		})
	}
	ends := q.Now().Add(time.Duration(days) * 24 * time.Hour)
	if days == lives[len(lives)-1] {
		ends = ends.Add(-time.Minute) // clocks differ, and longer is refused
	}
	key, err := p.Ops.CreateKey(q.Context(), q.Actor, ops.KeyInput{Name: v.name, Role: people.Role(v.role), ExpiresAt: &ends, Proof: q.Proof()})
	if err != nil {
		return p.showKeys(q, v, err)
	}
	return p.showKeys(q, keyPage{role: v.role, days: v.days, made: &key}, nil)
}

func (p *pages) revokeKey(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	if err := p.Ops.RevokeKey(q.Context(), q.Actor, id); err != nil {
		return err
	}
	return q.Go("/settings/keys", "revoked")
}

// roleOptions are the roles to choose from; keys never approve.
func roleOptions(ctx context.Context, keys bool) []shell.Option {
	var out []shell.Option
	for _, r := range account.Roles() {
		if keys && r == people.Approver {
			continue
		}
		out = append(out, shell.Option{Value: string(r), Text: account.RoleName(ctx, r) + " – " + meaning(ctx, r, keys)})
	}
	return out
}

func meaning(ctx context.Context, r people.Role, key bool) string {
	if key && r == people.Admin {
		return lang.T(ctx, "also looks after channels and settings; never accepts")
	}
	return account.RoleMeaning(ctx, r)
}

func lifeOptions(ctx context.Context) []shell.Option {
	var out []shell.Option
	for _, days := range lives {
		out = append(out, shell.Option{Value: strconv.Itoa(days), Text: lang.N(ctx, days, "%d day", "%d days")})
	}
	return out
}

// ended tells why a key does not count, or nothing.
func ended(ctx context.Context, k people.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return lang.T(ctx, "Revoked")
	case !now.Before(k.ExpiresAt):
		return lang.T(ctx, "Expired")
	}
	return ""
}
