// Package peoplepages is how administrators look after people and programs: accounts,
// API keys and the audit.
package peoplepages

import (
	"net/http"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// Deps are what the pages work on.
type Deps struct {
	Ops *ops.Ops
	// OpenID is the provider that people can sign in with; nil: none.
	OpenID *openid.Provider
}

type pages struct{ Deps }

// Routes are the pages and what they do.
func Routes(d Deps) []shell.Route {
	p := &pages{d}
	route := func(method, path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: method, Path: path, Permission: people.Administer, Serve: serve}
	}
	return []shell.Route{
		route(http.MethodGet, "/settings/people", p.accounts),
		route(http.MethodGet, "/settings/people/new", p.newAccount),
		route(http.MethodPost, "/settings/people", p.create),
		route(http.MethodGet, "/settings/people/{id}", p.account),
		route(http.MethodPost, "/settings/people/{id}/role", p.setRole),
		route(http.MethodPost, "/settings/people/{id}/disable", p.disable(true)),
		route(http.MethodPost, "/settings/people/{id}/enable", p.disable(false)),
		route(http.MethodPost, "/settings/people/{id}/password", p.setPassword),
		route(http.MethodPost, "/settings/people/{id}/factors/delete", p.resetFactors),
		route(http.MethodPost, "/settings/people/{id}/sessions/delete", p.endSessions),
		route(http.MethodGet, "/settings/keys", p.keys),
		route(http.MethodPost, "/settings/keys", p.createKey),
		route(http.MethodPost, "/settings/keys/{id}/delete", p.revokeKey),
		route(http.MethodGet, "/settings/audit", p.audit),
		slow(route(http.MethodGet, "/settings/audit/chain", p.chain)),
		slow(route(http.MethodGet, "/settings/audit/export", p.export)),
	}
}

// slow is a route that reads all of the audit.
func slow(r shell.Route) shell.Route {
	r.Slow = true
	return r
}
