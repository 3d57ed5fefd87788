// Package statuspages is the pages that everybody may see, their badges, and the settings
// of both.
//
// Nothing on them is a server's text: they have states, times, numbers, and names that
// people gave.
package statuspages

import (
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// Deps are what the pages work on.
type Deps struct {
	Ops *ops.Ops
	Now func() time.Time // nil: time.Now
}

type area struct {
	ops       *ops.Ops
	pages     *cache
	passwords *web.Limiter // by address
}

// Routes are the pages, their badges, and their settings.
func Routes(d Deps) []shell.Route {
	if d.Now == nil {
		d.Now = time.Now
	}
	a := &area{ops: d.Ops, pages: newCache(d.Ops, d.Now), passwords: web.NewLimiter(rate.Every(10*time.Second), 6, d.Now)}
	get := func(path string, need people.Permission, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodGet, Path: path, Permission: need, Serve: serve}
	}
	post := func(path string, need people.Permission, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodPost, Path: path, Permission: need, Serve: serve}
	}
	return []shell.Route{
		get("/status/{slug}", shell.Open, a.public),
		post("/status/{slug}", shell.Open, a.unlock),
		get("/badge/{slug}/{kind}", shell.Open, a.badge),
		get("/badge/{slug}/{monitor}/{kind}", shell.Open, a.badge),
		get("/settings/status-pages", people.Read, a.list),
		get("/settings/status-pages/new", people.Write, a.fresh),
		post("/settings/status-pages", people.Write, a.create),
		get("/settings/status-pages/{slug}", people.Read, a.edit),
		post("/settings/status-pages/{slug}", people.Write, a.save),
		post("/settings/status-pages/{slug}/delete", people.Write, a.remove),
	}
}
