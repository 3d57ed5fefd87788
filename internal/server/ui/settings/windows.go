package settings

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func (a *area) windowRoutes() []shell.Route {
	return []shell.Route{
		get("/settings/windows", people.Read, a.windows),
		get("/settings/windows/new", people.Write, a.newWindow),
		post("/settings/windows", people.Write, a.putWindow),
		get("/settings/windows/{id}/edit", people.Write, a.editWindow),
		post("/settings/windows/{id}", people.Write, a.putWindow),
		post("/settings/windows/{id}/delete", people.Write, a.deleteWindow),
	}
}

// The states of a window, in the order in which they are listed.
const (
	windowOpen = iota
	windowPlanned
	windowOver
)

// windowRow is a window in the list.
type windowRow struct {
	watch.Window
	state      int
	start, end time.Time // of the time that is open, or comes next
	concerned  int
}

func windowPath(id int64) string { return "/settings/windows/" + strconv.FormatInt(id, 10) }

func (a *area) windowRows(q *shell.Request) ([]windowRow, error) {
	windows, err := a.Ops.Windows(q.Context(), q.Actor)
	if err != nil {
		return nil, err
	}
	reach, err := a.Ops.Reach(q.Context(), q.Actor)
	if err != nil {
		return nil, err
	}
	now := q.Now()
	var out []windowRow
	for i := range windows.Items {
		w := &windows.Items[i]
		row := windowRow{Window: *w, concerned: len(reach.Concerned(w))}
		row.start, row.end = w.Next(now)
		switch {
		case row.start.IsZero():
			row.state = windowOver
		case row.start.After(now):
			row.state = windowPlanned
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(x, y windowRow) int {
		return cmp.Or(cmp.Compare(x.state, y.state), x.start.Compare(y.start), cmp.Compare(x.Name, y.Name))
	})
	return out, nil
}

func (a *area) windows(q *shell.Request) error {
	rows, err := a.windowRows(q)
	if err != nil {
		return err
	}
	return show(q, shell.Page{Title: q.T("Maintenance"), Body: windowList(rows, q.Actor.Can(people.Write))}, nil)
}

// localTime is the form of inputs for a time without a zone.
const localTime = "2006-01-02T15:04"

// windowForm is the form of a planned time.
type windowForm struct {
	id     int64
	name   string
	kind   watch.WindowKind
	weekly bool
	// Of a single one, in the zone.
	start, end string
	// Of a weekly one.
	days         []string
	from, length string
	zone         string
	// A line each.
	monitors, tags, groups string
	refused                *ops.Error
}

func (f *windowForm) path() string {
	if f.id == 0 {
		return "/settings/windows"
	}
	return windowPath(f.id)
}

func (f *windowForm) problems() shell.Problems {
	out := shell.ProblemsOf(f.refused)
	for field, p := range out { // of one line of many
		name, _, indexed := strings.Cut(field, "[")
		if _, there := out[name]; indexed && !there {
			out[name] = p
		}
	}
	return out
}

func (a *area) newWindow(q *shell.Request) error {
	at := q.Now().Truncate(time.Hour).Add(time.Hour)
	f := &windowForm{
		kind: watch.Maintenance, start: at.Format(localTime), end: at.Add(time.Hour).Format(localTime), zone: "UTC",
		from: "22:00", length: "2h", monitors: q.URL.Query().Get("monitor"),
	}
	if q.URL.Query().Get("kind") == string(watch.ExpectedChange) {
		f.kind = watch.ExpectedChange
	}
	return a.showWindow(q, f)
}

func (a *area) editWindow(q *shell.Request) error {
	id, err := q.ID()
	if err != nil {
		return err
	}
	w, err := a.Ops.Window(q.Context(), q.Actor, id)
	if err != nil {
		return err
	}
	if w.Source == watch.FromFile {
		return &ops.Error{Code: ops.FileOwned, Text: q.T("This planned time belongs to the configuration file."), Hint: q.T("Edit the file; it is read again when it changes.")}
	}
	f := &windowForm{
		id: id, name: w.Name, kind: w.Kind, weekly: len(w.Days) > 0, days: w.Days, from: w.From, zone: cmp.Or(w.Zone, "UTC"),
		monitors: strings.Join(w.Monitors, "\n"), tags: strings.Join(w.Tags, "\n"), groups: strings.Join(w.Groups, "\n"),
	}
	if f.weekly {
		f.length = span(time.Duration(w.For))
	} else {
		f.start, f.end = w.Start.UTC().Format(localTime), w.End.UTC().Format(localTime)
	}
	return a.showWindow(q, f)
}

func (a *area) showWindow(q *shell.Request, f *windowForm) error {
	title := q.T("New planned time")
	if f.id != 0 {
		title = q.T("Edit the planned time")
	}
	return show(q, shell.Page{Title: title, Body: windowEdit(f, title)}, f.refused)
}

// sentWindow is the form that was sent and what it says. Problems are of what cannot be
// read.
func sentWindow(q *shell.Request) (*windowForm, ops.WindowInput, []watch.Problem) {
	f := &windowForm{
		name: q.Value("name"), kind: watch.WindowKind(q.Value("kind")), weekly: q.Value("repeats") == "weekly",
		start: q.Value("start"), end: q.Value("end"), days: q.Values("days"), from: q.Value("from"), length: q.Value("for"),
		zone: q.Value("zone"), monitors: q.PostFormValue("monitors"), tags: q.PostFormValue("tags"), groups: q.PostFormValue("groups"),
	}
	in := ops.WindowInput{
		Name: f.name, Kind: f.kind, Monitors: shell.LinesOf(q.PostFormValue("monitors")), Tags: shell.LinesOf(q.PostFormValue("tags")), Groups: shell.LinesOf(q.PostFormValue("groups")), Proof: q.Proof(),
	}
	var problems []watch.Problem
	if f.weekly {
		in.Days, in.From, in.Zone = f.days, f.from, cmp.Or(f.zone, "UTC")
		d, err := duration(f.length)
		if err != nil {
			problems = append(problems, watch.Problem{Field: "for", Text: q.T("is no duration"), Hint: q.T("write how long it lasts, such as 2h")})
		}
		in.For = watch.Duration(d)
		return f, in, problems
	}
	zone, err := time.LoadLocation(cmp.Or(f.zone, "UTC"))
	if err != nil || strings.EqualFold(f.zone, "local") {
		return f, in, []watch.Problem{{Field: "zone", Text: q.T("is no time zone"), Hint: q.T("write a name such as Europe/Berlin, or UTC")}}
	}
	for _, one := range []struct {
		field, text string
		to          **time.Time
	}{{"start", f.start, &in.Start}, {"end", f.end, &in.End}} {
		at, err := time.ParseInLocation(localTime, one.text, zone)
		if err != nil {
			problems = append(problems, watch.Problem{Field: one.field, Text: q.T("is no time"), Hint: q.T("write it such as 2026-03-01T22:00")})
			continue
		}
		*one.to = &at
	}
	return f, in, problems
}

func (a *area) putWindow(q *shell.Request) error {
	var id int64
	if q.PathValue("id") != "" {
		var err error
		if id, err = q.ID(); err != nil {
			return err
		}
	}
	f, in, problems := sentWindow(q)
	f.id = id
	if len(problems) > 0 {
		f.refused = &ops.Error{Code: ops.Invalid, Text: q.T("Some of it cannot be taken as it is."), Problems: problems}
		return a.showWindow(q, f)
	}
	_, err := a.Ops.PutWindow(q.Context(), q.Actor, id, in)
	if f.refused = shell.Refusal(err); f.refused != nil && f.refused.Code != ops.NotFound {
		return a.showWindow(q, f)
	}
	if err != nil {
		return err
	}
	done := "saved"
	if id == 0 {
		done = "created"
	}
	return q.Go("/settings/windows", done)
}

func (a *area) deleteWindow(q *shell.Request) error {
	id, err := q.ID()
	if err == nil {
		err = a.Ops.DeleteWindow(q.Context(), q.Actor, id)
	}
	if err != nil {
		return err
	}
	return q.Go("/settings/windows", "deleted")
}

// dayNames are the days as windows and as people have them.
var dayNames = [][2]string{{"mon", "Mon"}, {"tue", "Tue"}, {"wed", "Wed"}, {"thu", "Thu"}, {"fri", "Fri"}, {"sat", "Sat"}, {"sun", "Sun"}}

// zones are those that the form suggests.
func zones() []string {
	return []string{
		"UTC", "Europe/Berlin", "Europe/Vienna", "Europe/Zurich", "Europe/London", "Europe/Paris", "Europe/Madrid", "Europe/Warsaw", "Europe/Helsinki",
		"America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Sao_Paulo",
		"Asia/Dubai", "Asia/Kolkata", "Asia/Singapore", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney",
	}
}
