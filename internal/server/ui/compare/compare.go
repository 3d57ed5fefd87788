// Package compare shows how what servers tell agents differs, between two moments or two
// monitors, and where they say something. Nothing is decided here.
package compare

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/changes"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Deps are what the pages work on.
type Deps struct {
	Ops *ops.Ops
}

type pages struct {
	ops *ops.Ops
}

const (
	partSize    = 100
	maxOffered  = 200 // names of monitors
	maxMoments  = 200 // of a monitor
	maxHits     = 200
	maxMonitors = 20 // that are offered for a part of a name
)

// Routes are the pages.
func Routes(d Deps) []shell.Route {
	p := &pages{ops: d.Ops}
	read := func(path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodGet, Path: path, Permission: people.Read, Serve: serve}
	}
	return []shell.Route{read("/compare", p.compare), read("/search", p.search)}
}

// chosen is one side of a comparison.
type chosen struct {
	// Name is what was written, Monitor the one of that name, or nil, and Like others
	// whose names have it in them.
	Name    string
	Monitor *ops.Monitor
	Like    []string
	Moments []ops.Sighting
	Digest  string
}

// comparing is all that is shown.
type comparing struct {
	A, B chosen
	// Names are monitors that can be chosen, some of them.
	Names []string
	Set   *changes.Set
	View  changes.View
	Cards []*changes.Card
	// Lost: a moment that was asked for is none of the monitor, and another one is shown.
	Lost bool
	// Same: both surfaces are one.
	Same        bool
	Part, Parts int
	Alone       bool
	Refusal     *ops.Error
}

func (p *pages) compare(q *shell.Request) error {
	query := q.URL.Query()
	c := &comparing{}
	monitors, err := p.ops.Monitors(q.Context(), q.Actor, ops.MonitorFilter{Limit: maxOffered})
	if err != nil {
		return err
	}
	for i := range monitors.Items {
		c.Names = append(c.Names, monitors.Items[i].Name)
	}
	if c.A, err = p.choose(q, query.Get("monitor"), query.Get("before")); err != nil {
		return err
	}
	with := query.Get("with")
	if with == "" {
		with = c.A.Name
	}
	if c.B, err = p.choose(q, with, query.Get("after")); err != nil {
		return err
	}
	c.moments()
	if c.A.Digest != "" && c.B.Digest != "" {
		if err := p.differ(q, c); err != nil {
			return err
		}
	}
	if q.Partial() && query.Get("part") != "" && c.Set != nil {
		return q.Part(part(c))
	}
	return q.Show(shell.Page{Title: q.T("Compare"), Section: "compare", Modules: []string{"review.js"}, Body: compared(c)})
}

// choose finds a monitor by its name, and what it showed.
func (p *pages) choose(q *shell.Request, name, digest string) (chosen, error) {
	c := chosen{Name: strings.TrimSpace(name), Digest: digest}
	if c.Name == "" {
		return c, nil
	}
	m, err := p.ops.MonitorByName(q.Context(), q.Actor, c.Name)
	if refused := shell.Refusal(err); refused != nil && refused.Code == ops.NotFound {
		like, err := p.ops.Monitors(q.Context(), q.Actor, ops.MonitorFilter{Text: c.Name, Limit: maxMonitors})
		for i := range like.Items {
			c.Like = append(c.Like, like.Items[i].Name)
		}
		return c, err
	}
	if err != nil {
		return c, err
	}
	c.Monitor = &m
	seen, err := p.ops.Sightings(q.Context(), q.Actor, m.ID)
	if err != nil {
		return c, err
	}
	c.Moments = seen.Items[:min(len(seen.Items), maxMoments)]
	return c, nil
}

// moments chooses, where nobody did, the latest surface of each, and of one monitor the
// one before it.
func (c *comparing) moments() {
	known := func(s *chosen) bool {
		return slices.ContainsFunc(s.Moments, func(m ops.Sighting) bool { return m.Digest == s.Digest })
	}
	lost := func(s *chosen) bool { return s.Monitor != nil && s.Digest != "" && !known(s) }
	c.Lost = lost(&c.A) || lost(&c.B)
	if !known(&c.B) {
		c.B.Digest = ""
		if len(c.B.Moments) > 0 {
			c.B.Digest = c.B.Moments[0].Digest
		}
	}
	if known(&c.A) {
		return
	}
	c.A.Digest = ""
	for _, m := range c.A.Moments {
		if c.A.Digest == "" || c.A.Name == c.B.Name && c.A.Digest == c.B.Digest {
			c.A.Digest = m.Digest
		}
	}
}

// differ compares what is chosen.
func (p *pages) differ(q *shell.Request, c *comparing) error {
	result, err := p.ops.Compare(q.Context(), q.Actor, c.A.Digest, c.B.Digest)
	if err != nil {
		if c.Refusal = shell.Refusal(err); c.Refusal == nil {
			return err
		}
		return nil
	}
	c.Same = c.A.Digest == c.B.Digest
	list := make([]changes.Change, 0, len(result.Changes))
	differing := map[string]bool{}
	for _, one := range result.Changes {
		if one.Effect != surface.Silent { // nothing fails here
			one.Effect = ""
		}
		list = append(list, changes.Change{Change: one})
		differing[string(one.Kind)+"\x00"+one.Item] = true
	}
	var found []changes.Finding
	for _, f := range result.Findings {
		if differing[string(f.Kind)+"\x00"+f.Item] { // those of what is the same are not what is asked
			found = append(found, changes.Finding{Finding: f})
		}
	}
	c.Set = changes.Of(result.Before, result.After, list, found)
	c.View = changes.View{Extent: changes.Parts(), Alone: c.path("card", "")}
	query := q.URL.Query()
	if card := c.Set.Card(query.Get("card")); card != nil {
		c.Alone, c.Cards, c.Parts = true, []*changes.Card{card}, 1
		c.View.Extent, c.View.Alone = changes.All(), ""
		return nil
	}
	c.Part, _ = strconv.Atoi(query.Get("part"))
	c.Part = max(c.Part, 1)
	c.Cards, c.Parts = c.Set.Part(c.Part, partSize)
	c.Part = min(c.Part, c.Parts)
	return nil
}

// path is the address of this comparison with one more value, which stands at its end.
func (c *comparing) path(name, value string) string {
	v := url.Values{"monitor": {c.A.Name}, "before": {c.A.Digest}, "with": {c.B.Name}, "after": {c.B.Digest}}
	if name == "" {
		return "/compare?" + v.Encode()
	}
	return "/compare?" + v.Encode() + "&" + name + "=" + url.QueryEscape(value)
}

// moment is what a choice says of a sighting.
func moment(s ops.Sighting) string {
	_, hex, _ := strings.Cut(s.Digest, ":")
	return s.From.UTC().Format("2006-01-02 15:04") + " – " + s.Until.UTC().Format("2006-01-02 15:04") + " UTC · " + hex[:min(len(hex), 8)] + " · " + s.Location
}

// options are the moments of a monitor, each surface of a location once at a time.
func (c *chosen) options() []shell.Option {
	out := make([]shell.Option, 0, len(c.Moments))
	for _, s := range c.Moments {
		out = append(out, shell.Option{Value: s.Digest, Text: moment(s)})
	}
	return out
}

// found is what a search shows.
type found struct {
	Text    string
	Past    bool
	Result  *ops.Found
	Refusal *ops.Error
}

func (p *pages) search(q *shell.Request) error {
	query := q.URL.Query()
	f := &found{Text: strings.TrimSpace(query.Get("q")), Past: query.Get("past") != ""}
	status := http.StatusOK
	if f.Text != "" {
		result, err := p.ops.Search(q.Context(), q.Actor, ops.Search{Text: f.Text, Past: f.Past, Limit: maxHits})
		if f.Refusal = shell.Refusal(err); f.Refusal != nil {
			status = shell.Status(f.Refusal)
		} else if err != nil {
			return err
		} else {
			f.Result = &result
		}
	}
	return q.Show(shell.Page{Title: q.T("Search"), Status: status, Body: searched(f)})
}
