package watch

import (
	"strings"
	"testing"
	"time"
)

func TestWindowOpen(t *testing.T) {
	weekly := func(days, from string, length time.Duration, zone string) Window {
		return Window{Days: strings.Fields(days), From: from, For: Duration(length), Zone: zone}
	}
	at := func(s string) time.Time {
		t.Helper()
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	single := Window{Start: at("2026-11-03T10:00:00+01:00"), End: at("2026-11-03T12:00:00+01:00")}
	berlin := weekly("sun", "01:30", 2*time.Hour, "Europe/Berlin")
	for name, c := range map[string]struct {
		w     Window
		now   string
		until string // empty: not active
	}{
		"before a single one":   {single, "2026-11-03T08:59:59Z", ""},
		"at its start":          {single, "2026-11-03T09:00:00Z", "2026-11-03T11:00:00Z"},
		"at its end":            {single, "2026-11-03T11:00:00Z", ""},
		"no time at all":        {Window{}, "2026-11-03T11:00:00Z", ""},
		"summer":                {weekly("tue", "09:30", time.Hour, "Europe/Berlin"), "2026-07-07T07:30:00Z", "2026-07-07T08:30:00Z"},
		"winter":                {weekly("tue", "09:30", time.Hour, "Europe/Berlin"), "2026-11-03T08:30:00Z", "2026-11-03T09:30:00Z"},
		"another day":           {weekly("tue", "09:30", time.Hour, "Europe/Berlin"), "2026-11-04T08:30:00Z", ""},
		"UTC without a zone":    {weekly("tue", "09:30", time.Hour, ""), "2026-11-03T09:30:00Z", "2026-11-03T10:30:00Z"},
		"over midnight":         {weekly("mon", "23:00", 2*time.Hour, "UTC"), "2026-11-03T00:30:00Z", "2026-11-03T01:00:00Z"},
		"over the week's end":   {weekly("sat", "23:00", 2*time.Hour, "UTC"), "2026-11-08T00:30:00Z", "2026-11-08T01:00:00Z"},
		"a whole week":          {weekly("mon", "00:00", 168*time.Hour, "UTC"), "2026-11-08T23:59:59Z", "2026-11-09T00:00:00Z"},
		"the later end":         {weekly("mon tue", "10:00", 30*time.Hour, "UTC"), "2026-11-03T11:00:00Z", "2026-11-04T16:00:00Z"},
		"east of the day":       {weekly("mon", "06:00", time.Hour, "Pacific/Auckland"), "2026-11-01T17:30:00Z", "2026-11-01T18:00:00Z"},
		"clocks go forward":     {berlin, "2026-03-29T00:30:00Z", "2026-03-29T02:30:00Z"},
		"its end, lasting 2h":   {berlin, "2026-03-29T02:29:59Z", "2026-03-29T02:30:00Z"},
		"after it":              {berlin, "2026-03-29T02:30:00Z", ""},
		"clocks go back":        {berlin, "2026-10-24T23:30:00Z", "2026-10-25T01:30:00Z"},
		"twice the same hour":   {berlin, "2026-10-25T01:29:59Z", "2026-10-25T01:30:00Z"},
		"and no longer":         {berlin, "2026-10-25T01:30:00Z", ""},
		"a time that is no one": {weekly("sun", "02:30", time.Hour, "Europe/Berlin"), "2026-03-29T01:45:00Z", "2026-03-29T02:30:00Z"},
		"an unknown zone":       {weekly("tue", "09:30", time.Hour, "Mars/Olympus"), "2026-11-03T09:30:00Z", ""},
		"no time of day":        {weekly("tue", "9:30", time.Hour, "UTC"), "2026-11-03T09:30:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.w.Kind = Maintenance
			until, other := CalendarOf([]Window{c.w}).Open(&Monitor{}, at(c.now))
			got := ""
			if !until.IsZero() {
				got = until.Format(time.RFC3339)
			}
			same(t, "until", got, c.until)
			same(t, "of the other kind", other.IsZero(), true)
		})
	}
}

func TestWindowValidate(t *testing.T) {
	start := epoch()
	weekly := func(change func(*Window)) Window {
		w := Window{Name: "deploy", Kind: Maintenance, Days: []string{"mon"}, From: "09:30", For: Duration(2 * time.Hour), Zone: "Europe/Berlin"}
		change(&w)
		return w
	}
	for name, c := range map[string]struct {
		w    Window
		want string
	}{
		"weekly":             {weekly(func(*Window) {}), ""},
		"single":             {Window{Name: "a", Kind: ExpectedChange, Start: start, End: start.Add(time.Hour)}, ""},
		"ends before":        {Window{Name: "a", Kind: Maintenance, Start: start, End: start.Add(-time.Hour)}, "end"},
		"no length":          {Window{Name: "a", Kind: Maintenance, Start: start, End: start}, "end"},
		"two years":          {Window{Name: "a", Kind: Maintenance, Start: start, End: start.AddDate(2, 0, 0)}, "end"},
		"no end":             {Window{Name: "a", Kind: Maintenance, Start: start}, "start"},
		"no time":            {Window{Name: "a", Kind: Maintenance}, "start"},
		"both":               {weekly(func(w *Window) { w.Start = start }), "start"},
		"no name":            {weekly(func(w *Window) { w.Name = "" }), "name"},
		"another kind":       {weekly(func(w *Window) { w.Kind = "party" }), "kind"},
		"an unknown day":     {weekly(func(w *Window) { w.Days = []string{"mon", "monday"} }), "days[1]"},
		"a day twice":        {weekly(func(w *Window) { w.Days = []string{"mon", "mon"} }), "days"},
		"no day":             {weekly(func(w *Window) { w.Days = nil }), "days"},
		"25 o'clock":         {weekly(func(w *Window) { w.From = "25:00" }), "from"},
		"no time of day":     {weekly(func(w *Window) { w.From = "" }), "from"},
		"no duration":        {weekly(func(w *Window) { w.For = 0 }), "for"},
		"a negative one":     {weekly(func(w *Window) { w.For = Duration(-time.Hour) }), "for"},
		"a week":             {weekly(func(w *Window) { w.For = Duration(MaxWindow) }), ""},
		"over a week":        {weekly(func(w *Window) { w.For = Duration(MaxWindow + time.Minute) }), "for"},
		"an unknown zone":    {weekly(func(w *Window) { w.Zone = "Mars/Olympus" }), "zone"},
		"the machine's zone": {weekly(func(w *Window) { w.Zone = "Local" }), "zone"},
		"a path":             {weekly(func(w *Window) { w.Zone = "../../etc/passwd" }), "zone"},
	} {
		t.Run(name, func(t *testing.T) {
			var fields []string
			for _, p := range c.w.Validate() {
				fields = append(fields, p.Field)
				if p.Text == "" || p.Hint == "" {
					t.Errorf("%+v", p)
				}
			}
			same(t, "problems", strings.Join(fields, " "), c.want)
		})
	}
}

func TestWindowConcerns(t *testing.T) {
	m := &Monitor{Definition: Definition{Name: "search", Group: "shop", Tags: []string{"prod", "eu"}}}
	for name, c := range map[string]struct {
		w    Window
		want bool
	}{
		"everybody":     {Window{}, true},
		"by name":       {Window{Monitors: []string{"a", "search"}}, true},
		"another name":  {Window{Monitors: []string{"searcher"}}, false},
		"by tag":        {Window{Tags: []string{"eu"}}, true},
		"another tag":   {Window{Tags: []string{"us"}}, false},
		"by group":      {Window{Groups: []string{"shop"}}, true},
		"another group": {Window{Groups: []string{""}}, false},
		"any of them":   {Window{Monitors: []string{"a"}, Tags: []string{"prod"}}, true},
	} {
		t.Run(name, func(t *testing.T) { same(t, "concerns", c.w.Concerns(m), c.want) })
	}
	if (&Window{Groups: []string{""}}).Concerns(&Monitor{}) {
		t.Error("a monitor without a group")
	}
}

func TestWindowNext(t *testing.T) {
	at := func(s string) time.Time {
		t.Helper()
		out, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	single := Window{Start: at("2026-03-02 10:00"), End: at("2026-03-02 12:00")}
	weekly := Window{Days: []string{"mon", "fri"}, From: "23:00", For: Duration(2 * time.Hour), Zone: "Europe/Berlin"}
	long := Window{Days: []string{"mon"}, From: "00:00", For: Duration(MaxWindow)}
	for name, c := range map[string]struct {
		w    Window
		now  string
		want string
	}{
		"a single one that comes":       {single, "2026-03-01 00:00", "2026-03-02 10:00"},
		"a single one that is open":     {single, "2026-03-02 11:00", "2026-03-02 10:00"},
		"a single one that is over":     {single, "2026-03-02 12:00", "0001-01-01 00:00"},
		"a weekly one, the same day":    {weekly, "2026-03-02 08:00", "2026-03-02 22:00"},
		"a weekly one, past midnight":   {weekly, "2026-03-02 23:30", "2026-03-02 22:00"},
		"a weekly one, just over":       {weekly, "2026-03-03 00:00", "2026-03-06 22:00"},
		"a weekly one, in summer":       {weekly, "2026-03-28 12:00", "2026-03-30 21:00"},
		"a weekly one that never stops": {long, "2026-03-04 12:00", "2026-03-02 00:00"},
		"one that is not valid":         {Window{Days: []string{"mon"}, From: "25:00"}, "2026-03-02 08:00", "0001-01-01 00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			start, end := c.w.Next(at(c.now))
			if !start.Equal(at(c.want)) || end.IsZero() != start.IsZero() || !start.IsZero() && !at(c.now).Before(end) {
				t.Errorf("%s to %s, want it to start at %s", start, end, c.want)
			}
		})
	}
}
