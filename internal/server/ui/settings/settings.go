// Package settings is the pages of what administrators set up: channels, escalation,
// planned times, locations and data. Who may not change them sees them.
package settings

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// Deps are what the pages work on.
type Deps struct {
	Ops   *ops.Ops
	About About
}

// About is what the process was started with.
type About struct {
	// Database is where it is, without a password.
	Database  string
	Retention ops.Retention
	// Locations are those whose checks run in this process.
	Locations []string
}

// area is the pages.
type area struct{ Deps }

// Routes are the pages of the settings.
func Routes(d Deps) []shell.Route {
	a := &area{d}
	return slices.Concat(
		[]shell.Route{get("/settings", people.Read, a.overview)},
		a.channelRoutes(), a.policyRoutes(), a.windowRoutes(),
		[]shell.Route{
			get("/settings/locations", people.Read, a.locations),
			get("/settings/data", people.Read, a.data),
			get("/settings/data/export", people.Administer, a.export),
			{Method: http.MethodPost, Path: "/settings/data/backup", Permission: people.Administer, Serve: a.backup, Slow: true},
		},
	)
}

func get(path string, need people.Permission, serve func(*shell.Request) error) shell.Route {
	return shell.Route{Method: http.MethodGet, Path: path, Permission: need, Serve: serve}
}

func post(path string, need people.Permission, serve func(*shell.Request) error) shell.Route {
	return shell.Route{Method: http.MethodPost, Path: path, Permission: need, Serve: serve}
}

// show answers with a page of the settings; refused is why a form is shown again, or nil.
func show(q *shell.Request, p shell.Page, refused *ops.Error) error {
	p.Section = "settings"
	p.Modules = append(p.Modules, "settings.js")
	if refused != nil {
		p.Status = shell.Status(refused)
	}
	return q.Show(p)
}

func administers(q *shell.Request) bool { return q.Actor.Can(people.Administer) }

// overviewPage is how everything stands that can be set up.
type overviewPage struct {
	channels, failing int
	policies          int
	hasDefault        bool
	open, planned     int
	administers       bool
	people, keys      int
	locations, blind  int
	data              ops.Data
}

func (a *area) overview(q *shell.Request) error {
	p, err := a.standing(q)
	if err != nil {
		return err
	}
	return show(q, shell.Page{Title: q.T("Settings"), Body: overview(p)}, nil)
}

func (a *area) standing(q *shell.Request) (p overviewPage, err error) {
	ctx := q.Context()
	channels, err := a.channelRows(q)
	if err != nil {
		return p, err
	}
	p.channels = len(channels)
	for _, c := range channels {
		if c.last != nil && !c.last.OK {
			p.failing++
		}
	}
	policies, err := a.Ops.Escalations(ctx, q.Actor)
	if err != nil {
		return p, err
	}
	p.policies, p.hasDefault = len(policies.Items), hasDefault(policies.Items)
	windows, err := a.windowRows(q)
	if err != nil {
		return p, err
	}
	for _, w := range windows {
		switch w.state {
		case windowOpen:
			p.open++
		case windowPlanned:
			p.planned++
		}
	}
	locations, err := a.Ops.Locations(ctx, q.Actor)
	if err != nil {
		return p, err
	}
	p.locations = len(locations.Items)
	for _, l := range locations.Items {
		if l.Incident != nil {
			p.blind++
		}
	}
	if p.data, err = a.Ops.Data(ctx, q.Actor); err != nil {
		return p, err
	}
	if p.administers = administers(q); !p.administers {
		return p, nil
	}
	accounts, err := a.Ops.Accounts(ctx, q.Actor)
	if err != nil {
		return p, err
	}
	keys, err := a.Ops.Keys(ctx, q.Actor)
	p.people = len(accounts)
	for _, k := range keys {
		if k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(q.Now())) {
			p.keys++
		}
	}
	return p, err
}

// number is one with its thousands apart.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// span is a duration in the form that fields take, such as 1h30m or 14d.
func span(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d == 0:
		return "0"
	case d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	}
	return shell.Duration(d.Round(time.Millisecond))
}
