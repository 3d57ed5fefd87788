// Package overview is the first page: how all monitors stand, those that need a person
// first, kept current while it is looked at.
package overview

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// Deps are what the page works on. All are required.
type Deps struct {
	Ops    *ops.Ops
	Board  *board.Board
	People *people.People
}

type pages struct {
	Deps
	streams *streams
}

// Routes are the overview, and what it does.
func Routes(d Deps) []shell.Route {
	p := &pages{Deps: d, streams: newStreams()}
	return []shell.Route{
		{Method: http.MethodGet, Path: "/{$}", Permission: people.Read, Serve: p.overview},
		{Method: http.MethodGet, Path: "/live/overview", Permission: people.Read, Serve: p.live, Slow: true},
		{Method: http.MethodPost, Path: "/monitors/bulk", Permission: people.Write, Serve: p.bulk},
	}
}

const (
	pageSize = 200
	// mostText bounds what is looked for.
	mostText = 200
	// refreshTime is how long a page waits for the database before it shows what is known.
	refreshTime = 2 * time.Second
)

// view is what the page shows.
type view struct {
	filter board.Filter
	list   board.Listing
	groups []string
	tags   []string
	offset int
	// mayWrite: who looks may change monitors.
	mayWrite bool
	// old is how old what is shown is, when the database does not answer.
	old time.Duration
}

// needing is how many of the rows are of those that need a person.
func (v *view) needing() int { return min(max(v.list.Needs-v.offset, 0), len(v.list.Rows)) }

// overview answers with the page, or with the part of it that a filter changes.
func (p *pages) overview(q *shell.Request) error {
	v := p.look(q)
	switch {
	case !q.Partial():
		return q.Show(shell.Page{Title: q.T("Overview"), Section: "overview", Modules: []string{"live.js", "overview.js"}, Body: page(v)})
	case v.offset > 0:
		return q.Part(more(v))
	}
	return q.Part(contents(v))
}

func (p *pages) look(q *shell.Request) *view {
	ctx, cancel := context.WithTimeout(q.Context(), refreshTime)
	defer cancel()
	v := &view{filter: filterOf(q.URL.Query()), mayWrite: q.Actor.Can(people.Write)}
	if err := p.Board.Refresh(ctx); err != nil && q.Context().Err() == nil { // whose error Run logs
		v.old = max(p.Board.Age(), time.Second)
	}
	v.offset, _ = strconv.Atoi(q.URL.Query().Get("offset"))
	v.offset = max(v.offset, 0)
	v.list = p.Board.List(v.filter, v.offset, pageSize)
	v.groups, v.tags = p.Board.Groups(), p.Board.Tags()
	return v
}

// filterOf reads a filter of an address; what is none of its states is left out.
func filterOf(values url.Values) board.Filter {
	f := board.Filter{Text: values.Get("q"), Tag: values.Get("tag"), Group: values.Get("group"), State: values.Get("state")}
	for _, text := range []*string{&f.Text, &f.Tag, &f.Group} {
		if len(*text) > mostText {
			*text = (*text)[:mostText]
		}
	}
	if !slices.Contains(board.States(), f.State) {
		f.State = ""
	}
	return f
}

// address is that of the page, or of what is below it, with a filter.
func address(path string, f board.Filter, more ...string) string {
	values := url.Values{}
	for name, value := range map[string]string{"q": f.Text, "tag": f.Tag, "group": f.Group, "state": f.State} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		values.Set(more[i], more[i+1])
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// with is the filter with another state, or without it when it has that one.
func with(f board.Filter, state string) board.Filter {
	if f.State == state {
		state = ""
	}
	f.State = state
	return f
}

func empty(f board.Filter) bool { return f == board.Filter{} }

// tile is a count that narrows the page to what it counts.
type tile struct{ state, name, look string }

// tiles are those of the page.
func tiles() []tile {
	return []tile{
		{board.NeedsPerson, "Need a person", "bad"},
		{"down", "Down", "bad"},
		{"changed", "Changed", "bad"},
		{"flagged", "Flagged", "bad"},
		{"misconfigured", "Misconfigured", "warn"},
		{"degraded", "Degraded", "warn"},
		{"unknown", "Unknown", "mute"},
		{"up", "Up", "good"},
		{board.PausedState, "Paused", "mute"},
	}
}

// stateNames are the states of the filter as the page says them.
func stateNames() []shell.Option {
	return []shell.Option{
		{Value: "", Text: "Every state"},
		{Value: board.NeedsPerson, Text: "Needs a person"},
		{Value: "up", Text: "Up"},
		{Value: "degraded", Text: "Degraded"},
		{Value: "down", Text: "Down"},
		{Value: "misconfigured", Text: "Misconfigured"},
		{Value: "unknown", Text: "Availability unknown"},
		{Value: "approved", Text: "Approved"},
		{Value: "changed", Text: "Changed"},
		{Value: "inconsistent", Text: "Inconsistent"},
		{Value: board.UnknownSurface, Text: "Surface unknown"},
		{Value: "clean", Text: "Clean"},
		{Value: "flagged", Text: "Flagged"},
		{Value: board.UnknownPosture, Text: "Posture unknown"},
		{Value: board.PausedState, Text: "Paused"},
		{Value: board.StaleState, Text: "Not checked lately"},
	}
}

// took is a time of a check as people read it.
func took(ms float64) string {
	if ms >= 10_000 {
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	if ms < 10 {
		return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
}
