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
	if _, err := w.zone(); err != nil {
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

// zone is UTC when none is given. The zone of the machine is none: it differs between
// machines.
func (w *Window) zone() (*time.Location, error) {
	if strings.EqualFold(w.Zone, "Local") {
		return nil, fmt.Errorf("%q is another zone on each machine", w.Zone)
	}
	zone, err := time.LoadLocation(cmp.Or(w.Zone, "UTC"))
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", w.Zone, err)
	}
	return zone, nil
}

// Active reports whether now is in the window, and until when it lasts. One that is not
// valid is never active. It reads the data of time zones, so ask once for many
// monitors.
func (w *Window) Active(now time.Time) (until time.Time, ok bool) {
	if len(w.Days) == 0 {
		return w.End.UTC(), !w.Start.IsZero() && !now.Before(w.Start) && now.Before(w.End)
	}
	hour, minute, err := timeOfDay(w.From)
	zone, zoneErr := w.zone()
	if err != nil || zoneErr != nil || time.Duration(w.For) > MaxWindow {
		return time.Time{}, false
	}
	local := now.In(zone)
	for back := range 2 + int(time.Duration(w.For)/(24*time.Hour)) { // days on which it may have begun
		start := time.Date(local.Year(), local.Month(), local.Day()-back, hour, minute, 0, 0, zone)
		end := start.Add(time.Duration(w.For))
		day := time.Date(local.Year(), local.Month(), local.Day()-back, 12, 0, 0, 0, time.UTC).Weekday()
		if slices.Contains(w.Days, weekdays()[day]) && !now.Before(start) && now.Before(end) && end.After(until) {
			until, ok = end.UTC(), true
		}
	}
	return until, ok
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
