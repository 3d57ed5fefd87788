package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the zones are part of the program: not every machine has them
)

// MaxWindow is how long one occurrence of a weekly window can be, and MaxSingleWindow
// a single one.
const (
	MaxWindow       = 7 * 24 * time.Hour
	MaxSingleWindow = 366 * 24 * time.Hour
)

// weekdays are the days as Window.Days has them, in the order of time.Weekday.
func weekdays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// Validate says what is wrong with a window.
func (w *Window) Validate() []Problem {
	var p problems
	p.name("name", w.Name)
	p.oneOf("kind", string(w.Kind), string(Maintenance), string(ExpectedChange))
	p.list("monitors", w.Monitors, 1000, p.name)
	p.list("tags", w.Tags, MaxTags, p.name)
	p.list("groups", w.Groups, MaxTags, p.name)
	weekly := len(w.Days) > 0 || w.From != "" || w.For != 0 || w.Zone != ""
	single := !w.Start.IsZero() || !w.End.IsZero()
	switch {
	case weekly && single:
		p.add("start", "give start and end, or days, from and for", "is of a single window, and days of a weekly one")
	case weekly:
		w.validateWeekly(&p)
	case w.Start.IsZero() || w.End.IsZero():
		p.add("start", "give start and end, or days, from and for", "the window has no time")
	case !w.End.After(w.Start):
		p.add("end", "exchange them", "the window ends before it starts")
	case w.End.Sub(w.Start) > MaxSingleWindow:
		p.add("end", "give at most a year", "the window lasts %s", w.End.Sub(w.Start))
	}
	return p
}

func (w *Window) validateWeekly(p *problems) {
	if len(w.Days) == 0 {
		p.add("days", "give any of "+oneOf(weekdays()), "a weekly window has none")
	}
	p.list("days", w.Days, len(weekdays()), func(field, day string) { p.oneOf(field, day, weekdays()...) })
	if _, _, err := timeOfDay(w.From); err != nil {
		p.add("from", "give the time of day, such as 09:30", "%s is no time of day", shownValue(w.From))
	}
	switch length := time.Duration(w.For); {
	case length <= 0:
		p.add("for", "give how long it lasts, such as 2h", "is %s", length)
	case length > MaxWindow:
		p.add("for", "give at most 168h, which is a week", "is %s", length)
	}
	if _, err := w.location(); err != nil {
		p.add("zone", "give a name such as Europe/Berlin, or UTC", "%s is no time zone", shownValue(w.Zone))
	}
}

// timeOfDay reads a time such as 09:30.
func timeOfDay(s string) (hour, minute int, err error) {
	t, err := time.Parse("15:04", s)
	if err != nil || len(s) != len("15:04") {
		return 0, 0, fmt.Errorf("%q is no time of day", s)
	}
	return t.Hour(), t.Minute(), nil
}

// location is UTC when no zone is given. The zone of the machine is none: it differs between
// machines.
func (w *Window) location() (*time.Location, error) {
	if strings.EqualFold(w.Zone, "Local") {
		return nil, fmt.Errorf("%q is another zone on each machine", w.Zone)
	}
	zone, err := time.LoadLocation(cmp.Or(w.Zone, "UTC"))
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", w.Zone, err)
	}
	return zone, nil
}

// Calendar is windows whose times were read once, to be asked for many monitors.
type Calendar struct{ planned []planned }

// planned is a window with what its times mean; the zone is nil for a single one.
type planned struct {
	*Window
	hour, minute int
	zone         *time.Location
}

// CalendarOf reads the times of windows. One that is not valid is never open.
func CalendarOf(windows []Window) *Calendar {
	c := &Calendar{}
	zones := map[string]*time.Location{}
	for i := range windows {
		p := planned{Window: &windows[i]}
		if len(p.Days) == 0 {
			if !p.Start.IsZero() {
				c.planned = append(c.planned, p)
			}
			continue
		}
		var err error
		if p.hour, p.minute, err = timeOfDay(p.From); err != nil || time.Duration(p.For) > MaxWindow {
			continue
		}
		var known bool
		if p.zone, known = zones[p.Zone]; !known {
			p.zone, _ = p.Window.location() // nil when there is none
			zones[p.Zone] = p.zone
		}
		if p.zone != nil {
			c.planned = append(c.planned, p)
		}
	}
	return c
}

// Open says until when the windows last that are open for m at a time; zero: none is.
func (c *Calendar) Open(m *Monitor, at time.Time) (maintenance, expectedChange time.Time) {
	for i := range c.planned {
		p := &c.planned[i]
		until := p.until(at)
		if until.IsZero() || !p.Concerns(m) {
			continue
		}
		switch p.Kind {
		case Maintenance:
			maintenance = later(maintenance, until)
		case ExpectedChange:
			expectedChange = later(expectedChange, until)
		}
	}
	return maintenance, expectedChange
}

// until is when the window ends that is open now; zero: it is not.
func (p *planned) until(now time.Time) (until time.Time) {
	if p.zone == nil {
		if now.Before(p.Start) || !now.Before(p.End) {
			return time.Time{}
		}
		return p.End.UTC()
	}
	local := now.In(p.zone)
	for back := range 2 + int(time.Duration(p.For)/(24*time.Hour)) { // days on which it may have begun
		start := time.Date(local.Year(), local.Month(), local.Day()-back, p.hour, p.minute, 0, 0, p.zone)
		end := start.Add(time.Duration(p.For))
		day := time.Date(local.Year(), local.Month(), local.Day()-back, 12, 0, 0, 0, time.UTC).Weekday()
		if slices.Contains(p.Days, weekdays()[day]) && !now.Before(start) && now.Before(end) {
			until = later(until, end.UTC())
		}
	}
	return until
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Concerns reports whether the window is for m.
func (w *Window) Concerns(m *Monitor) bool {
	if len(w.Monitors)+len(w.Tags)+len(w.Groups) == 0 {
		return true
	}
	d := &m.Definition
	return slices.Contains(w.Monitors, d.Name) ||
		d.Group != "" && slices.Contains(w.Groups, d.Group) ||
		slices.ContainsFunc(d.Tags, func(tag string) bool { return slices.Contains(w.Tags, tag) })
}

// Next is the time of the window that is open at now, or else of the one that comes next;
// both are zero when there is none any more.
func (w *Window) Next(now time.Time) (start, end time.Time) {
	planned := CalendarOf([]Window{*w}).planned
	if len(planned) == 0 {
		return time.Time{}, time.Time{}
	}
	p := &planned[0]
	if p.zone == nil {
		if now.Before(p.End) {
			return p.Start.UTC(), p.End.UTC()
		}
		return time.Time{}, time.Time{}
	}
	local := now.In(p.zone)
	back := 1 + int(time.Duration(p.For)/(24*time.Hour))
	for day := -back; day <= len(weekdays()); day++ {
		start = time.Date(local.Year(), local.Month(), local.Day()+day, p.hour, p.minute, 0, 0, p.zone)
		date := time.Date(local.Year(), local.Month(), local.Day()+day, 12, 0, 0, 0, time.UTC).Weekday()
		end = start.Add(time.Duration(p.For))
		if slices.Contains(p.Days, weekdays()[date]) && now.Before(end) {
			return start.UTC(), end.UTC()
		}
	}
	return time.Time{}, time.Time{}
}
