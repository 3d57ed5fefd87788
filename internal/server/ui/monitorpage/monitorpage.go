// Package monitorpage is the page of one monitor: how it stands, what to do next, how its
// checks went, what its server tells agents, and what happened to it.
package monitorpage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// Deps are what the pages work on.
type Deps struct {
	Ops *ops.Ops
}

type pages struct {
	ops     *ops.Ops
	library *library
	// hints are what to do about a reason of a report.
	hints map[string]string
}

// Routes are the pages of a monitor.
func Routes(d Deps) []shell.Route {
	p := &pages{ops: d.Ops, library: newLibrary(), hints: map[string]string{}}
	for _, info := range probe.Reasons() {
		p.hints[string(info.Reason)] = watch.ReasonHint(string(info.Reason))
	}
	read := func(path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodGet, Path: path, Permission: people.Read, Serve: serve}
	}
	return []shell.Route{
		read("/monitors/{id}", p.overview),
		read("/monitors/{id}/status", p.status),
		read("/monitors/{id}/chart.json", p.chart),
		read("/monitors/{id}/numbers", p.numbers),
		read("/monitors/{id}/surface", p.surface),
		read("/monitors/{id}/items/{kind}/{index}", p.item),
		read("/monitors/{id}/items/{kind}/{index}/definition.json", p.definition),
		read("/monitors/{id}/checks", p.checks),
		read("/monitors/{id}/timeline", p.timeline),
		read("/monitors/{id}/settings", p.settings),
	}
}

// monitor is the one that the path names.
func (p *pages) monitor(q *shell.Request) (ops.Monitor, error) {
	id, err := q.ID()
	if err != nil {
		return ops.Monitor{}, err
	}
	return p.ops.Monitor(q.Context(), q.Actor, id)
}

// show answers with a tab of the page.
func (p *pages) show(q *shell.Request, m *ops.Monitor, tab string, body templ.Component) error {
	page := shell.Page{Title: plain.Line(m.Name, 80), Section: "overview", Body: frame(p.standing(q, m), tab, body)}
	if tab == "" {
		page.Modules = []string{"chart.js"}
	}
	return q.Show(page)
}

// standing is how a monitor stands, and what may be done about it.
type standing struct {
	ops.Monitor
	Next step
	// Writes: who asks may run, pause and edit it.
	Writes bool
	// Version is another one whenever what is shown differs.
	Version string
	hints   map[string]string
}

func (p *pages) standing(q *shell.Request, m *ops.Monitor) *standing {
	s := &standing{Monitor: *m, Next: p.next(q, m), Writes: q.Actor.Can(people.Write), hints: p.hints}
	text, err := json.Marshal([]any{m.Status, m.Paused, m.Revision, s.Next})
	if err != nil {
		return s // without a version it is sent each time
	}
	sum := sha256.Sum256(text)
	s.Version = hex.EncodeToString(sum[:8])
	return s
}

// statusPath is where the live part asks whether it still holds.
func (s *standing) statusPath(whole bool) string {
	path := "/status?v=" + s.Version
	if !whole {
		path += "&line=yes"
	}
	return shell.MonitorPath(s.ID, path)
}

// status answers with the part of the page that keeps itself up to date, or with nothing
// when it is shown already.
func (p *pages) status(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	s := p.standing(q, &m)
	if seen := q.URL.Query().Get("v"); seen != "" && seen == s.Version {
		q.Writer().WriteHeader(http.StatusNoContent)
		return nil
	}
	if !q.Partial() {
		return q.Go(shell.MonitorPath(m.ID, ""), "")
	}
	return q.Part(live(s, q.URL.Query().Get("line") == ""))
}

// overviewData is what the first tab shows.
type overviewData struct {
	Monitor   *ops.Monitor
	Approvals []ops.Approval
	Reports   []reportView
	Incidents []watch.Incident
	Uptime    []uptimeTile
	Strip     strip
	Range     span
	Median    bool
}

func (p *pages) overview(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	d := overviewData{Monitor: &m, Range: spanOf(q.URL.Query().Get("range"), &m, q.Now()), Median: q.URL.Query().Get("p") != "95"}
	ctx := q.Context()
	if d.Approvals, err = p.ops.Approvals(ctx, q.Actor, m.ID); err != nil {
		return err
	}
	reports, err := p.ops.Reports(ctx, q.Actor, m.ID)
	if err != nil {
		return err
	}
	for i := range reports.Items {
		d.Reports = append(d.Reports, readReport(&reports.Items[i]))
	}
	incidents, err := p.ops.Incidents(ctx, q.Actor, ops.IncidentFilter{Monitor: m.ID, Limit: maxIncidents})
	if err != nil {
		return err
	}
	d.Incidents = incidents.Items
	if d.Uptime, err = p.uptimes(q, m.ID); err != nil {
		return err
	}
	if d.Strip, err = p.strip(q, &m); err != nil {
		return err
	}
	return p.show(q, &m, "", overviewTab(&d))
}

func (p *pages) settings(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	return p.show(q, &m, "/settings", settingsTab(&m))
}

// doctor is the command that looks closer at the endpoint, to be pasted into a shell.
func doctor(m *ops.Monitor) string {
	if m.Source == watch.FromFile {
		return "mcpvigil doctor " + quoted(m.Name)
	}
	return "mcpvigil doctor " + quoted(m.URL)
}

// quoted is a text as one word of a shell. What cannot be seen is left out of it: the
// word is then none of the server's, and nothing that runs.
func quoted(s string) string {
	word := "'"
	for _, r := range plain.Line(s, 2048) {
		if r == '\'' {
			word += `'\''`
			continue
		}
		word += string(r)
	}
	return word + "'"
}
