package ops

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// PublicDays is how many days of the past a status page shows.
const PublicDays = 90

const (
	publicPast      = 14 * 24 * time.Hour // of incidents
	publicIncidents = 50
)

// PublicState is how something is, in the words of a status page.
type PublicState string

// The states.
const (
	PublicWorks       PublicState = "operational"
	PublicDegraded    PublicState = "degraded"
	PublicOutage      PublicState = "outage"
	PublicMaintenance PublicState = "maintenance"
	PublicUnknown     PublicState = "unknown"
)

// Public is what everybody may see of a status page. Nothing in it is from a server, and
// the only names are those that people gave.
type Public struct {
	Slug  string `json:"-"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
	// State is the worst of all.
	State PublicState `json:"state"`
	// Counts are how many are in each state.
	Counts map[PublicState]int `json:"counts"`
	// Monitors come the worst first, then by name.
	Monitors []PublicMonitor `json:"monitors"`
	// Incidents are those that are open and some that are over, the latest first.
	Incidents []PublicIncident `json:"incidents"`
	At        time.Time        `json:"at"`

	Surface bool `json:"-"`
	Badges  bool `json:"-"`
	Listed  bool `json:"-"`
	// Password is the hash of its password, or empty.
	Password string `json:"-"`
	// Changed is when somebody changed the page last.
	Changed time.Time `json:"-"`
}

// PublicMonitor is one of the page.
type PublicMonitor struct {
	ID    int64       `json:"id"`
	Name  string      `json:"name"`
	State PublicState `json:"state"`
	// Approved is whether what it tells agents is: yes, no, unknown, or empty when the
	// page does not say.
	Approved string `json:"approved,omitempty"`
}

// PublicIncident is a time in which one did not work as it should.
type PublicIncident struct {
	Name  string      `json:"name"`
	State PublicState `json:"state"`
	From  time.Time   `json:"from"`
	Until time.Time   `json:"until,omitzero"`
}

// Public is the status page of that slug. It asks nobody who they are: whoever calls it
// sees to the password.
func (o *Ops) Public(ctx context.Context, slug string) (*Public, error) {
	var out *Public
	err := o.view(ctx, "status page", func(t *store.Tx) error {
		page, err := t.StatusPage(ctx, slug)
		if err != nil {
			return err
		}
		out, err = public(ctx, t, page, o.now())
		return err
	})
	return out, err
}

// Current tells whether a page that was read before is still the one of its slug, or says
// that it is gone. What its monitors are may have changed.
func (o *Ops) Current(ctx context.Context, page *Public) (current bool, err error) {
	err = o.view(ctx, "status page", func(t *store.Tx) error {
		changed, password, err := t.StatusPageMark(ctx, page.Slug)
		current = changed.Equal(page.Changed) && password == page.Password
		return err
	})
	return current, err
}

func public(ctx context.Context, t *store.Tx, page *store.StatusPage, now time.Time) (*Public, error) {
	p := &Public{
		Slug: page.Slug, Title: page.Title, Text: page.Text, State: PublicUnknown, At: now, Counts: map[PublicState]int{},
		Monitors: []PublicMonitor{}, Incidents: []PublicIncident{},
		Surface: page.Surface, Badges: page.Badges, Listed: page.Listed, Password: page.Password, Changed: page.UpdatedAt,
	}
	all, err := t.AllMonitors(ctx)
	if err != nil {
		return nil, err
	}
	shown := slices.DeleteFunc(all, func(m watch.Monitor) bool { return !page.Shows(&m) })
	ids := make([]int64, 0, len(shown))
	for i := range shown {
		ids = append(ids, shown[i].ID)
	}
	states, err := t.States(ctx, ids, false)
	if err != nil {
		return nil, err
	}
	windows, err := t.Windows(ctx)
	if err != nil {
		return nil, err
	}
	calendar := watch.CalendarOf(windows)
	byID := make(map[int64]PublicMonitor, len(shown))
	for i := range shown {
		m := &shown[i]
		var st *watch.State
		if one, ok := states[m.ID]; ok {
			st = &one
		}
		one := publicMonitor(page, m, watch.Current(m, st, now))
		if until, _ := calendar.Open(m, now); until.After(now) && !m.Paused {
			one.State = PublicMaintenance
		}
		byID[m.ID] = one
		p.Monitors = append(p.Monitors, one)
		p.Counts[one.State]++
	}
	slices.SortStableFunc(p.Monitors, func(a, b PublicMonitor) int {
		return cmp.Or(badness(b.State)-badness(a.State), strings.Compare(a.Name, b.Name))
	})
	p.State = worst(p.Counts)
	p.Incidents, err = publicIncidentsOf(ctx, t, byID, now)
	return p, err
}

func publicMonitor(page *store.StatusPage, m *watch.Monitor, v watch.View) PublicMonitor {
	one := PublicMonitor{ID: m.ID, Name: page.NameOf(m), State: publicState(v.Availability.State)}
	if page.Surface {
		switch v.Surface.State {
		case watch.AsApproved:
			one.Approved = "yes"
		case watch.Changed, watch.Inconsistent:
			one.Approved = "no"
		default:
			one.Approved = "unknown"
		}
	}
	return one
}

// publicState is a state of availability in the words of the page. What is misconfigured
// is so here, which says nothing of the server.
func publicState(state string) PublicState {
	switch state {
	case watch.Up:
		return PublicWorks
	case watch.Degraded:
		return PublicDegraded
	case watch.Down:
		return PublicOutage
	}
	return PublicUnknown
}

// badness orders states, the worst last.
func badness(s PublicState) int {
	return slices.Index([]PublicState{PublicWorks, PublicUnknown, PublicMaintenance, PublicDegraded, PublicOutage}, s)
}

// worst is the worst of what is known, and unknown when nothing is.
func worst(counts map[PublicState]int) PublicState {
	for _, s := range []PublicState{PublicOutage, PublicDegraded, PublicMaintenance, PublicWorks} {
		if counts[s] > 0 {
			return s
		}
	}
	return PublicUnknown
}

func publicIncidentsOf(ctx context.Context, t *store.Tx, monitors map[int64]PublicMonitor, now time.Time) ([]PublicIncident, error) {
	out := []PublicIncident{}
	for _, stage := range []bool{true, false} {
		f := store.IncidentFilter{Axis: watch.Availability, Open: &stage, Limit: 1000}
		found, _, err := t.Incidents(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range found {
			m, ok := monitors[found[i].Monitor]
			state := publicState(found[i].State)
			if !ok || state == PublicUnknown || !stage && now.Sub(found[i].ResolvedAt) > publicPast {
				continue
			}
			if stage && m.State != PublicOutage && m.State != PublicDegraded {
				continue // planned, paused, or not known any more
			}
			if len(out) == publicIncidents {
				return out, nil
			}
			out = append(out, PublicIncident{Name: m.Name, State: state, From: found[i].OpenedAt, Until: found[i].ResolvedAt})
		}
	}
	return out, nil
}

// Days are the last days of monitors of a status page, today's last, by monitor: one for
// each day, with zero counts where nothing is known.
func (o *Ops) Days(ctx context.Context, monitors []int64) (map[int64][]store.Day, error) {
	now := o.now()
	first := now.Truncate(store.Daily).AddDate(0, 0, 1-PublicDays)
	out := make(map[int64][]store.Day, len(monitors))
	for _, id := range monitors {
		days := make([]store.Day, PublicDays)
		for n := range days {
			days[n] = store.Day{Monitor: id, From: first.AddDate(0, 0, n)}
		}
		out[id] = days
	}
	err := o.view(ctx, "status page", func(t *store.Tx) error {
		found, err := t.Days(ctx, monitors, first, now)
		for _, d := range found {
			if n := int(d.From.Sub(first) / store.Daily); n >= 0 && n < PublicDays {
				out[d.Monitor][n] = d
			}
		}
		return err
	})
	return out, err
}

// Took is how long checks of monitors of a status page took on average in the last days,
// in milliseconds.
func (o *Ops) Took(ctx context.Context, monitors []int64, days int) (out map[int64]float64, err error) {
	now := o.now()
	err = o.view(ctx, "status page", func(t *store.Tx) (err error) {
		out, err = t.Took(ctx, monitors, now.AddDate(0, 0, 1-days), now)
		return err
	})
	return out, err
}

// PageMark is what has to be known of a status page before it is read for somebody.
type PageMark struct {
	// Password is the hash of its password; empty: everybody may see it.
	Password string
	Badges   bool
}

// PageMark is that of the page of that slug. To ask takes the same work whether there is
// such a page or not, unlike Public.
func (o *Ops) PageMark(ctx context.Context, slug string) (m PageMark, err error) {
	err = o.view(ctx, "status page", func(t *store.Tx) error {
		page, err := t.StatusPage(ctx, slug)
		if err == nil {
			m = PageMark{Password: page.Password, Badges: page.Badges}
		}
		return err
	})
	return m, err
}

// OpensPage tells whether a password is that of a status page by its hash, which is
// empty when there is no page: that takes the same work.
func (o *Ops) OpensPage(ctx context.Context, lock, password string) (bool, error) {
	ok, err := o.people.Matches(ctx, password, lock)
	return ok, Personal(err)
}
