package monitors

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	// mostFirsts is how many first checks one page shows.
	mostFirsts = 20
	// firstTime is how long a page asks again for the first result.
	firstTime = 10 * time.Minute
)

// beginning shows where servers to be watched are pasted or sent. The text is not shown
// again: there may be secrets in it.
func (p *pages) beginning(q *shell.Request, lines string, refused *ops.Error) error {
	page := shell.Page{Title: q.T("Watch servers"), Section: "overview", Modules: []string{"monitors.js"}, Body: beginning(lines, refused)}
	if refused != nil {
		page.Status = shell.Status(refused)
	}
	return q.Show(page)
}

// preview shows what would be watched of what was pasted or sent.
func (p *pages) preview(q *shell.Request) error {
	name, text, err := sent(q)
	if err == nil {
		var plan ops.Plan
		plan, err = p.ops.PlanImport(q.Context(), q.Actor, name, text)
		if err == nil {
			return q.Show(shell.Page{Title: q.T("What would be watched"), Section: "overview", Modules: []string{"monitors.js"}, Body: preview(&plan)})
		}
	}
	refused := shell.Refusal(err)
	if refused == nil {
		return err
	}
	lines := ""
	if name == "" && len(text) < 10_000 && !strings.ContainsAny(text, "{[\"'?@") {
		lines = text
	}
	return p.beginning(q, lines, refused)
}

// sent is the file that was sent, or else what was pasted.
func sent(q *shell.Request) (name, text string, err error) {
	tooLarge := &ops.Error{Code: ops.Invalid, Text: q.T("The file is too large.")}
	q.Body = http.MaxBytesReader(q.Writer(), q.Body, 2*ops.MaxImport)
	if err := q.ParseMultipartForm(2 * ops.MaxImport); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return "", "", tooLarge
	}
	text = q.PostFormValue("text")
	file, header, err := q.FormFile("file")
	if err != nil { // none was sent
		return "", text, nil
	}
	defer file.Close()
	body, err := io.ReadAll(io.LimitReader(file, ops.MaxImport+1))
	if err != nil || len(body) > ops.MaxImport {
		return "", "", tooLarge
	}
	if len(body) == 0 {
		return "", text, nil
	}
	return header.Filename, string(body), nil
}

// take makes the monitors that were chosen of a preview.
func (p *pages) take(q *shell.Request) error {
	names := map[int]string{}
	for _, text := range q.Values("take") {
		if i, err := strconv.Atoi(text); err == nil && len(names) < ops.MaxImported {
			names[i] = q.Value("name-" + text)
		}
	}
	if len(names) == 0 {
		return &ops.Error{Code: ops.Invalid, Text: q.T("No server is chosen."), Hint: q.T("Tick the box before each server that is to be watched.")}
	}
	made, err := p.ops.Import(q.Context(), q.Actor, q.PostFormValue("sealed"), names)
	if err != nil {
		return err
	}
	var ids []string
	var not []ops.Imported
	for _, one := range made {
		if one.Monitor == 0 {
			not = append(not, one)
			continue
		}
		ids = append(ids, strconv.FormatInt(one.Monitor, 10))
	}
	next := "/"
	switch {
	case len(ids) == 1:
		next = "/monitors/" + ids[0] + "/first"
	case len(ids) > 1 && len(ids) <= mostFirsts:
		next = "/monitors/first?ids=" + strings.Join(ids, ",")
	}
	if len(not) == 0 {
		return q.Go(next, "created")
	}
	return q.Show(shell.Page{Title: q.T("Not all are watched"), Section: "overview", Status: http.StatusConflict, Body: notAll(len(ids), not, next)})
}

// start is how the first check of a monitor went.
type start struct {
	m ops.Monitor
	// again: there is no result yet, and the page asks once more.
	again bool
	// unsure: there is a failure, and another check has to find it, too, before it counts.
	unsure bool
	// Reasons say what was wrong at each location.
	reasons []why
}

type why struct{ location, text, hint string }

func (p *pages) start(q *shell.Request, m ops.Monitor) start {
	s := start{m: m}
	checked := false
	for _, l := range m.Status.Locations {
		if l.At.Before(m.CreatedAt) {
			continue
		}
		checked = true
		if l.Reason == "" || l.Availability == watch.Up {
			continue
		}
		s.reasons = append(s.reasons, why{location: l.Location, text: watch.ReasonText(l.Reason), hint: watch.ReasonHint(l.Reason)})
	}
	begins := !m.Paused && q.Now().Sub(m.UpdatedAt) < firstTime
	s.again = !checked && begins
	s.unsure = len(s.reasons) > 0 && m.Status.Availability.State == watch.Unknown && begins
	return s
}

// followed makes the part of a monitor ask again for what comes of the next check.
func (s *start) followed() templ.Attributes {
	if !s.unsure {
		return nil
	}
	return templ.Attributes{"hx-get": shell.MonitorPath(s.m.ID, "/first"), "hx-trigger": "load delay:5s", "hx-target": "this", "hx-swap": "outerHTML"}
}

// first shows how the first check of a monitor goes, or the part of it that changes.
func (p *pages) first(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	s := p.start(q, m)
	if q.Partial() {
		return q.Part(progress(s))
	}
	return p.showFirsts(q, []start{s})
}

// firsts is first for several monitors.
func (p *pages) firsts(q *shell.Request) error {
	var all []start
	for _, text := range strings.Split(q.URL.Query().Get("ids"), ",") {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || len(all) >= mostFirsts {
			continue
		}
		m, err := p.ops.Monitor(q.Context(), q.Actor, id)
		if refused := shell.Refusal(err); refused != nil && refused.Code == ops.NotFound {
			continue
		} else if err != nil {
			return err
		}
		all = append(all, p.start(q, m))
	}
	if len(all) == 0 {
		return shell.NotFound(q)
	}
	return p.showFirsts(q, all)
}

func (p *pages) showFirsts(q *shell.Request, all []start) error {
	a, err := p.alerts(q)
	if err != nil {
		return err
	}
	return q.Show(shell.Page{Title: q.T("The first check"), Section: "overview", Body: firsts(all, a)})
}

// alerts is where it is told when something is wrong.
type alerts struct {
	// channels are those that the default policy tells.
	channels []string
	// any: there are channels, though the policy may tell none of them.
	any      bool
	mayAdmin bool
}

func (p *pages) alerts(q *shell.Request) (a alerts, err error) {
	a.mayAdmin = q.Actor.Can(people.Administer)
	channels, err := p.ops.Channels(q.Context(), q.Actor)
	if err != nil {
		return a, err
	}
	a.any = len(channels.Items) > 0
	policy, err := p.ops.Escalation(q.Context(), q.Actor, watch.DefaultEscalation)
	if refused := shell.Refusal(err); refused != nil && refused.Code == ops.NotFound {
		return a, nil
	}
	for _, step := range policy.Steps {
		a.channels = append(a.channels, step.Channels...)
	}
	return a, err
}
