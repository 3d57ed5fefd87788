// Package ui is the web interface: pages for people who look after servers.
//
// Each area is a package below this one with a table of routes; package shell is what
// they share. Pages do what package ops does, for the person of a session.
package ui

import (
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/account"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/assets"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/compare"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/cspreport"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/incidents"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/monitorpage"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/monitors"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/overview"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/peoplepages"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/review"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/settings"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/statuspages"
)

// Deps are what the pages work on. Ops and People are required.
type Deps struct {
	Ops    *ops.Ops
	People *people.People
	// Board is kept current by who made it. Required.
	Board *board.Board
	// OpenID is the provider that people can sign in with; nil: none. NoPasswordLogin:
	// they sign in with it alone.
	OpenID          *openid.Provider
	NoPasswordLogin bool
	// PublicURL is the address that browsers know the server by.
	PublicURL string
	Version   string
	// Reports takes what browsers report of the pages; nil: it is made.
	Reports *cspreport.Reports
	// About is what the process was started with.
	About  settings.About
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Routes are all pages and what they do.
func Routes(d Deps) []shell.Route {
	return slices.Concat(
		[]shell.Route{
			{Method: http.MethodPost, Path: "/preferences", Permission: shell.Open, Serve: shell.Preferences},
			{Method: http.MethodPost, Path: "/proof/challenge", Permission: people.Read, Serve: shell.ProofChallenge},
		},
		monitorpage.Routes(monitorpage.Deps{Ops: d.Ops}),
		monitors.Routes(monitors.Deps{Ops: d.Ops}),
		overview.Routes(overview.Deps{Ops: d.Ops, Board: d.Board, People: d.People}),
		account.Routes(account.Deps{Ops: d.Ops, People: d.People, OpenID: d.OpenID, NoPasswordLogin: d.NoPasswordLogin}),
		incidents.Routes(incidents.Deps{Ops: d.Ops}),
		statuspages.Routes(statuspages.Deps{Ops: d.Ops, Now: d.Now}),
		peoplepages.Routes(peoplepages.Deps{Ops: d.Ops, OpenID: d.OpenID}),
		review.Routes(review.Deps{Ops: d.Ops}),
		compare.Routes(compare.Deps{Ops: d.Ops}),
		settings.Routes(settings.Deps{Ops: d.Ops, About: d.About}),
	)
}

// New makes the handler of all pages.
func New(d Deps) (http.Handler, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Reports == nil {
		d.Reports = cspreport.New(d.Logger, d.Now)
	}
	files, err := assets.Load()
	if err != nil {
		return nil, err
	}
	s, err := shell.New(shell.Deps{People: d.People, PublicURL: d.PublicURL, Version: d.Version, Logger: d.Logger, Now: d.Now}, files)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/{version}/{name}", files)
	mux.Handle("POST "+shell.ReportPath, d.Reports)
	for _, route := range Routes(d) {
		mux.Handle(route.Method+" "+route.Path, s.Handler(route))
	}
	mux.Handle("/", s.Handler(shell.Route{Permission: people.Read, Serve: shell.NotFound}))
	return mux, nil
}
