// Package monitors is how monitors are made, changed and removed, and what a person sees
// after the first one was made.
package monitors

import (
	"context"
	"net/http"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Deps are what the pages work on.
type Deps struct {
	Ops *ops.Ops
}

type pages struct {
	ops *ops.Ops
}

// Routes are the forms of monitors, and the first run.
func Routes(d Deps) []shell.Route {
	p := &pages{ops: d.Ops}
	get := func(path string, need people.Permission, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodGet, Path: path, Permission: need, Serve: serve}
	}
	post := func(path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodPost, Path: path, Permission: people.Write, Serve: serve}
	}
	return []shell.Route{
		get("/monitors/new", people.Write, p.new),
		post("/monitors", p.create),
		post("/monitors/preview", p.preview),
		post("/monitors/import", p.take),
		get("/monitors/first", people.Read, p.firsts),
		get("/monitors/{id}/first", people.Read, p.first),
		get("/monitors/{id}/edit", people.Write, p.edit),
		post("/monitors/{id}/edit", p.save),
		get("/monitors/{id}/delete", people.Write, p.askDelete),
		post("/monitors/{id}/delete", p.delete),
		post("/monitors/{id}/pause", p.act(p.ops.PauseMonitor, "paused")),
		post("/monitors/{id}/resume", p.act(p.ops.ResumeMonitor, "resumed")),
		post("/monitors/{id}/run", p.act(p.ops.RunNow, "running")),
	}
}

// act does something with a monitor that takes no more than to say so.
func (p *pages) act(do func(context.Context, people.Actor, int64) (ops.Monitor, error), done string) func(*shell.Request) error {
	return func(q *shell.Request) error {
		id, err := q.ID()
		if err != nil {
			return err
		}
		if _, err := do(q.Context(), q.Actor, id); err != nil {
			return err
		}
		next := shell.MonitorPath(id, "")
		if wanted := q.Value("next"); wanted != "" {
			next = shell.Local(wanted)
		}
		return q.Go(next, done)
	}
}

func (p *pages) monitor(q *shell.Request) (ops.Monitor, error) {
	id, err := q.ID()
	if err != nil {
		return ops.Monitor{}, err
	}
	return p.ops.Monitor(q.Context(), q.Actor, id)
}

// new shows the form, or how to begin when nothing is watched yet.
func (p *pages) new(q *shell.Request) error {
	if q.URL.Query().Get("first") != "" {
		return p.beginning(q, "", nil)
	}
	f := newForm(nil)
	f.fields.URL = q.URL.Query().Get("url")
	return p.show(q, f, nil)
}

// create makes a monitor, and has it checked at once.
func (p *pages) create(q *shell.Request) error {
	f := read(q)
	if f.rows(q) {
		return p.show(q, f, nil)
	}
	if len(f.problems) > 0 {
		return p.show(q, f, &ops.Error{Code: ops.Invalid, Text: q.T("Some fields are not as they have to be.")})
	}
	m, err := p.ops.CreateMonitor(q.Context(), q.Actor, ops.MonitorInput{Fields: f.fields, Paused: q.Value("paused") != ""})
	if refused := shell.Refusal(err); refused != nil {
		return p.show(q, f, refused)
	}
	if err != nil {
		return err
	}
	if m.Paused {
		return q.Go(shell.MonitorPath(m.ID, ""), "created")
	}
	if _, err := p.ops.RunNow(q.Context(), q.Actor, m.ID); err != nil && shell.Refusal(err) == nil {
		return err
	}
	return q.Go(shell.MonitorPath(m.ID, "/first"), "created")
}

func (p *pages) edit(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	if m.Source == watch.FromFile {
		return q.Show(shell.Page{Title: m.Name, Section: "overview", Body: owned(&m)})
	}
	return p.show(q, newForm(&m), nil)
}

// save changes a monitor.
func (p *pages) save(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	f := read(q)
	f.id, f.name, f.status = m.ID, m.Name, m.Status
	for _, h := range m.Headers {
		f.stored = append(f.stored, h.Name)
	}
	if f.rows(q) {
		return p.show(q, f, nil)
	}
	if len(f.problems) > 0 {
		return p.show(q, f, &ops.Error{Code: ops.Invalid, Text: q.T("Some fields are not as they have to be.")})
	}
	_, err = p.ops.EditMonitor(q.Context(), q.Actor, m.ID, f.revision, f.edit(), q.Proof())
	refused := shell.Refusal(err)
	switch {
	case err == nil:
		return q.Go(shell.MonitorPath(m.ID, ""), "saved")
	case refused == nil || refused.Code == ops.FileOwned || refused.Code == ops.NotFound:
		return err
	case refused.Code == ops.Conflict:
		f.conflict = true
		f.revision = m.Revision
	}
	return p.show(q, f, refused)
}

func (p *pages) askDelete(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	return q.Show(shell.Page{Title: q.T("Delete %s", m.Name), Section: "overview", Body: deletion(&m, nil)})
}

func (p *pages) delete(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	err = p.ops.DeleteMonitor(q.Context(), q.Actor, m.ID, q.Proof())
	if refused := shell.Refusal(err); shell.AsksProof(refused) {
		return q.Show(shell.Page{
			Title: q.T("Delete %s", m.Name), Section: "overview",
			Status: shell.Status(refused), Body: deletion(&m, refused),
		})
	}
	if err != nil {
		return err
	}
	return q.Go("/", "deleted")
}
