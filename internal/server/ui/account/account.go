// Package account is how people get in and look after their own account: setup, signing
// in with password, passkey or OpenID, second factors and sessions.
//
// What a person does to the own account is package people's; nothing here is about
// others, which package peoplepages is.
package account

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// Deps are what the pages work on.
type Deps struct {
	Ops    *ops.Ops
	People *people.People
	// OpenID is the provider that people can sign in with; nil: none.
	OpenID *openid.Provider
	// NoPasswordLogin: people sign in with the provider alone.
	NoPasswordLogin bool
}

type pages struct {
	Deps
	answers *web.Limiter // that browsers bring from the provider, by address
}

// Routes are the pages and what they do.
func Routes(d Deps) []shell.Route {
	p := &pages{Deps: d, answers: web.NewLimiter(1, 20, time.Now)}
	route := func(permission people.Permission, method, path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: method, Path: path, Permission: permission, Serve: serve}
	}
	open := []shell.Route{
		route(shell.Open, http.MethodGet, "/setup", p.setup),
		route(shell.Open, http.MethodPost, "/setup", p.setUp),
		route(shell.Open, http.MethodGet, "/sign-in", p.entrance),
		route(shell.Open, http.MethodPost, "/sign-in", p.signIn),
		route(shell.Open, http.MethodPost, "/sign-in/passkey/challenge", p.passkeyChallenge),
		route(shell.Open, http.MethodPost, "/sign-in/passkey", p.passkeySignIn),
		route(shell.Open, http.MethodPost, "/sign-out", p.signOut),
	}
	if d.OpenID != nil {
		open = append(open, p.openID()...)
	}
	return slices.Concat(open, []shell.Route{
		route(people.Read, http.MethodGet, "/account", p.own),
		route(people.Read, http.MethodPost, "/account/password", p.password),
		route(people.Read, http.MethodPost, "/account/app", p.beginApp),
		route(people.Read, http.MethodPost, "/account/app/confirm", p.confirmApp),
		route(people.Read, http.MethodPost, "/account/app/delete", p.removeApp),
		route(people.Read, http.MethodPost, "/account/recovery", p.recovery),
		route(people.Read, http.MethodPost, "/account/passkeys/begin", p.beginPasskey),
		route(people.Read, http.MethodPost, "/account/passkeys", p.finishPasskey),
		route(people.Read, http.MethodPost, "/account/passkeys/{id}/delete", p.removePasskey),
		route(people.Read, http.MethodPost, "/account/sessions/{id}/delete", p.endSession),
		route(people.Read, http.MethodPost, "/account/sessions/delete", p.endOthers),
	})
}
