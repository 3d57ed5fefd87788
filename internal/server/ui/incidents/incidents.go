// Package incidents is the pages of what is wrong: a list, and each incident with what
// happened, who was told, and what people do about it.
package incidents

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// perPage are shown of the list at a time.
const perPage = 50

// Deps are what the pages work on.
type Deps struct{ Ops *ops.Ops }

type area struct{ ops *ops.Ops }

// Routes are the pages of incidents.
func Routes(d Deps) []shell.Route {
	a := area{ops: d.Ops}
	post := func(path string, serve func(*shell.Request) error) shell.Route {
		return shell.Route{Method: http.MethodPost, Path: path, Permission: people.Write, Serve: serve}
	}
	return []shell.Route{
		{Method: http.MethodGet, Path: "/incidents", Permission: people.Read, Serve: a.list},
		{Method: http.MethodGet, Path: "/incidents/{id}", Permission: people.Read, Serve: a.show},
		post("/incidents/acknowledge", a.acknowledgeMany),
		post("/incidents/{id}/acknowledge", a.acknowledge),
		post("/incidents/{id}/assign", a.assign),
		post("/incidents/{id}/comments", a.comment),
		post("/incidents/{id}/snooze", a.snooze),
	}
}

// selection is what of the list is asked for.
type selection struct {
	stage                watch.Stage
	axis, assignee, text string
	after                string
}

func selectionOf(q *shell.Request) selection {
	s := selection{
		stage: watch.Stage(q.Asked("stage")), axis: q.Asked("axis"), assignee: q.Asked("assignee"), text: q.Asked("q"), after: q.Asked("after"),
	}
	if !slices.Contains(stages(), s.stage) {
		s.stage = watch.StageOpen
	}
	if !slices.Contains(axes(), watch.Axis(s.axis)) {
		s.axis = ""
	}
	return s
}

func stages() []watch.Stage {
	return []watch.Stage{watch.StageOpen, watch.StageAcknowledged, watch.StageSnoozed, watch.StageResolved}
}

func axes() []watch.Axis {
	return []watch.Axis{watch.Availability, watch.Surface, watch.Posture, watch.System}
}

// path is the address of the list with another stage or cursor.
func (s selection) path(stage watch.Stage, after string) string {
	v := url.Values{}
	for name, value := range map[string]string{"stage": string(stage), "axis": s.axis, "assignee": s.assignee, "q": s.text, "after": after} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return "/incidents?" + v.Encode()
}

func (s selection) filtered() bool { return s.axis != "" || s.assignee != "" || s.text != "" }

func (s selection) filter(q *shell.Request) (ops.IncidentFilter, error) {
	after, err := ops.Cursor(s.after)
	f := ops.IncidentFilter{Stage: s.stage, Axis: watch.Axis(s.axis), Assignee: s.assignee, Text: s.text, After: after, Limit: perPage}
	if s.assignee == "me" {
		f.Assignee = q.Session.Account().Name
	}
	return f, err
}

// listPage is what the list shows.
type listPage struct {
	selection
	now       time.Time
	counts    map[watch.Stage]int64
	incidents []watch.Incident
	monitors  map[int64]string
	next      string
	assignees []string
	writes    bool
}

func (a area) list(q *shell.Request) error {
	p := listPage{selection: selectionOf(q), now: q.Now(), writes: q.Actor.Can(people.Write)}
	f, err := p.filter(q)
	if err != nil {
		return err
	}
	ctx := q.Context()
	if p.counts, err = a.ops.IncidentCounts(ctx, q.Actor, f); err != nil {
		return err
	}
	found, err := a.ops.Incidents(ctx, q.Actor, f)
	if err != nil {
		return err
	}
	p.incidents, p.next = found.Items, found.Next
	ids := make([]int64, 0, len(p.incidents))
	for i := range p.incidents {
		if id := p.incidents[i].Monitor; id != 0 {
			ids = append(ids, id)
		}
	}
	if p.monitors, err = a.ops.MonitorNames(ctx, q.Actor, ids); err != nil {
		return err
	}
	if q.Partial() {
		return q.Part(part(p))
	}
	if p.writes {
		if p.assignees, err = a.ops.Assignees(ctx, q.Actor); err != nil {
			return err
		}
	}
	return q.Show(shell.Page{Title: q.T("Incidents"), Section: "incidents", Modules: []string{"incidents.js"}, Body: list(p)})
}

// acknowledgeMany acknowledges those that are ticked in the list.
func (a area) acknowledgeMany(q *shell.Request) error {
	ids := q.Values("id")
	if len(ids) == 0 {
		return &ops.Error{Code: ops.Invalid, Text: q.T("nothing is ticked"), Hint: q.T("tick the incidents that you look after")}
	}
	for _, text := range ids[:min(len(ids), perPage)] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &ops.Error{Code: ops.Invalid, Text: q.T("that is no incident")}
		}
		if _, err := a.ops.Acknowledge(q.Context(), q.Actor, id, ""); err != nil {
			return err
		}
	}
	back, _ := strings.CutPrefix(shell.Local(q.Value("back")), "/incidents")
	return q.Go("/incidents"+back, "acknowledged")
}

// incidentPage is what the page of one shows.
type incidentPage struct {
	ops.History
	now       time.Time
	entries   []entry
	assignees []string
	me        string
	writes    bool
	// refused is why a form was not carried out, and comment what was written in it.
	refused *ops.Error
	comment string
}

// path is the address of the incident, or of something that is done with it.
func (p incidentPage) path(rest string) string {
	return "/incidents/" + strconv.FormatInt(p.ID, 10) + rest
}

func (p incidentPage) monitorPath(rest string) string {
	return "/monitors/" + strconv.FormatInt(p.Monitor, 10) + rest
}

// nextAt is when something comes next, if it is still to come.
func (p incidentPage) nextAt() time.Time {
	if p.Next.Kind != watch.NextStep && p.Next.Kind != watch.NextHeld {
		return time.Time{}
	}
	return p.Next.At
}

func (a area) show(q *shell.Request) error { return a.showWith(q, nil) }

func (a area) showWith(q *shell.Request, refused *ops.Error) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	p := incidentPage{now: q.Now(), writes: q.Actor.Can(people.Write), refused: refused, me: q.Session.Account().Name}
	if p.History, err = a.ops.IncidentHistory(q.Context(), q.Actor, id); err != nil {
		return err
	}
	p.entries = entriesOf(&p.History)
	if p.writes {
		if p.assignees, err = a.ops.Assignees(q.Context(), q.Actor); err != nil {
			return err
		}
	}
	status := http.StatusOK
	if refused != nil {
		p.comment = q.Value("comment")
		status = shell.Status(refused)
	}
	return q.Show(shell.Page{
		Title: q.T("Incident %d", id), Section: "incidents", Modules: []string{"incidents.js"}, Status: status, Body: incident(p),
	})
}

// act does something with the incident of the path, and shows its page.
func (a area) act(q *shell.Request, done string, f func(id int64) error) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	err = f(id)
	if refused := shell.Refusal(err); refused != nil && refused.Code != ops.NotFound && !q.Partial() {
		return a.showWith(q, refused)
	}
	if err != nil {
		return err
	}
	return q.Go("/incidents/"+strconv.FormatInt(id, 10), done)
}

func (a area) acknowledge(q *shell.Request) error {
	return a.act(q, "acknowledged", func(id int64) error {
		_, err := a.ops.Acknowledge(q.Context(), q.Actor, id, q.Value("comment"))
		return err
	})
}

func (a area) comment(q *shell.Request) error {
	return a.act(q, "commented", func(id int64) error {
		_, err := a.ops.Comment(q.Context(), q.Actor, id, q.Value("comment"))
		return err
	})
}

func (a area) assign(q *shell.Request) error {
	return a.act(q, "assigned", func(id int64) error {
		_, err := a.ops.Assign(q.Context(), q.Actor, id, q.Value("assignee"))
		return err
	})
}

func (a area) snooze(q *shell.Request) error {
	until, err := snoozeUntil(q)
	return a.act(q, map[bool]string{true: "awake", false: "snoozed"}[until.IsZero()], func(id int64) error {
		if err == nil {
			_, err = a.ops.Snooze(q.Context(), q.Actor, id, until)
		}
		return err
	})
}

// snoozeUntil reads how long somebody wants to hear nothing; zero ends that.
func snoozeUntil(q *shell.Request) (time.Time, error) {
	now := q.Now()
	switch length := q.Value("for"); length {
	case "end":
		return time.Time{}, nil
	case "tomorrow":
		return tomorrow(now, q.Value("zone")), nil
	case "custom":
		hours, err := strconv.ParseFloat(q.Value("hours"), 64)
		if err != nil || !(hours > 0 && hours <= watch.MaxSnooze.Hours()) {
			return now, &ops.Error{Code: ops.Invalid, Text: q.T("that is no number of hours"), Hint: q.T("give 1 to 168")}
		}
		return now.Add(time.Duration(hours * float64(time.Hour))), nil
	default:
		d, err := time.ParseDuration(length)
		if err != nil || d <= 0 {
			return now, &ops.Error{Code: ops.Invalid, Text: q.T("that is no number of hours"), Hint: q.T("give 1 to 168")}
		}
		return now.Add(d), nil
	}
}

// tomorrow is nine o'clock of the next day where the reader is.
func tomorrow(now time.Time, zone string) time.Time {
	where, err := time.LoadLocation(zone)
	if err != nil || len(zone) > 60 || zone == "Local" {
		where = time.UTC
	}
	day := now.In(where)
	return time.Date(day.Year(), day.Month(), day.Day()+1, 9, 0, 0, 0, where).UTC()
}
