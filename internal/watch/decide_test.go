package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

func TestAvailability(t *testing.T) {
	recovery := func(n int) func(*Definition) { return func(d *Definition) { d.RecoveryThreshold = n } }
	for name, c := range map[string]struct {
		change []func(*Definition)
		run    string
		state  string
		events string
		told   string
	}{
		"up":                        {nil, "O", Up, "monitor_up", ""},
		"one failure is not down":   {nil, "O F", Up, "monitor_up", ""},
		"two in a row are":          {nil, "O F F", Down, "monitor_up monitor_down incident_opened", "triggered"},
		"not in a row":              {nil, "O F O F", Up, "monitor_up", ""},
		"turns are flapping":        {nil, "O F O F O", Up, "monitor_up monitor_flapping", ""},
		"a threshold of one":        {[]func(*Definition){threshold(1)}, "O F", Down, "monitor_up monitor_down incident_opened", "triggered"},
		"never up is pending":       {nil, "F", Unknown, "", ""},
		"pending has an end":        {nil, "F F", Down, "monitor_down incident_opened", "triggered"},
		"recovery":                  {nil, "F F O", Up, "monitor_down incident_opened monitor_up incident_resolved", "triggered resolved"},
		"recovery takes two":        {[]func(*Definition){recovery(2)}, "F F O", Down, "monitor_down incident_opened", "triggered"},
		"recovery took two":         {[]func(*Definition){recovery(2)}, "F F O O", Up, "monitor_down incident_opened monitor_up incident_resolved", "triggered resolved"},
		"G3 does not page":          {nil, "O M M", Misconfigured, "monitor_up monitor_misconfigured incident_opened", ""},
		"worse pages":               {nil, "M M F F", Down, "monitor_misconfigured incident_opened monitor_down", "triggered"},
		"one worse does not":        {nil, "M M F M", Misconfigured, "monitor_misconfigured incident_opened", ""},
		"better stays one incident": {nil, "F F M", Misconfigured, "monitor_down incident_opened monitor_misconfigured", "triggered"},
		"mixed failures":            {nil, "F M", Misconfigured, "monitor_misconfigured incident_opened", ""},
		"unknown opens nothing":     {nil, "O U U U", Unknown, "monitor_up monitor_unknown", ""},
		"unknown closes nothing":    {nil, "F F U", Unknown, "monitor_down incident_opened monitor_unknown", "triggered"},
		"unknown counts for nobody": {nil, "O F U F", Down, "monitor_up monitor_unknown monitor_down incident_opened", "triggered"},
		"and bad is remembered":     {[]func(*Definition){recovery(2)}, "F F U O", Down, "monitor_down incident_opened monitor_unknown monitor_down", "triggered"},
		"local is unknown":          {nil, "O L", Unknown, "monitor_up monitor_unknown", ""},
		"degraded":                  {nil, "O D", Degraded, "monitor_up monitor_degraded", ""},
		"degraded again":            {nil, "O D D O", Up, "monitor_up monitor_degraded incident_opened monitor_up incident_resolved", ""},
		"slow after down": {
			nil, "F F D D", Degraded, "monitor_down incident_opened monitor_degraded incident_resolved incident_opened", "triggered resolved",
		},
		"degraded first": {nil, "D", Degraded, "monitor_degraded", ""},
		"G7":             {[]func(*Definition){threshold(3)}, "F F O F F", Up, "monitor_up", ""},
		"G17": {
			[]func(*Definition){threshold(3)},
			"F F F O F O F O O O O", Up,
			"monitor_down incident_opened monitor_up incident_resolved monitor_flapping monitor_steady", "triggered resolved",
		},
		"G17, slower to recover": {
			[]func(*Definition){threshold(3), recovery(2)},
			"F F F O F O F O O O O", Up,
			"monitor_down incident_opened monitor_flapping monitor_up monitor_steady incident_resolved", "triggered resolved",
		},
		"flapping, at a threshold of one": {
			[]func(*Definition){threshold(1)},
			"O F O F O F O F O F O O O O", Up,
			"monitor_up monitor_down incident_opened monitor_up incident_resolved monitor_down incident_opened monitor_flapping monitor_up monitor_steady incident_resolved",
			"triggered resolved triggered resolved",
		},
		"flapping ends down": {
			[]func(*Definition){threshold(1)},
			"O F O F O F F F F", Down,
			"monitor_up monitor_down incident_opened monitor_up incident_resolved monitor_down incident_opened monitor_flapping monitor_steady",
			"triggered resolved triggered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.change...)
			w.run(c.run)
			same(t, "state", w.st.Availability.State, c.state)
			same(t, "events", strings.Join(w.names(), " "), c.events)
			phases := make([]string, 0, len(w.sent))
			for _, n := range w.sent {
				phases = append(phases, string(n.Phase))
			}
			same(t, "told", strings.Join(phases, " "), c.told)
		})
	}
}

// Restarts in a maintenance window are no flapping.
func TestMaintenanceIsNoFlapping(t *testing.T) {
	w := newWorld(t)
	for _, l := range "OFOFOFOF" {
		o := w.letter(l)
		o.Maintenance = true
		w.see(o)
		w.tick()
	}
	same(t, "events", w.names(), []string{EventUp})
}

func TestConfirmAt(t *testing.T) {
	every := func(d time.Duration) func(*Definition) { return func(x *Definition) { x.Interval = Duration(d) } }
	for name, c := range map[string]struct {
		change []func(*Definition)
		run    string
		want   time.Duration
	}{
		"healthy":          {nil, "O", 0},
		"one failure":      {nil, "F", 15 * time.Second},
		"a quarter":        {[]func(*Definition){every(40 * time.Second)}, "F", 10 * time.Second},
		"short intervals":  {[]func(*Definition){every(30 * time.Second)}, "F", 0},
		"down already":     {nil, "F F", 0},
		"down for long":    {nil, "F F F", 0},
		"unknown":          {nil, "U", 0},
		"still to recover": {[]func(*Definition){func(d *Definition) { d.RecoveryThreshold = 3 }}, "F F O F", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.change...)
			w.run(c.run[:len(c.run)-1])
			d := w.see(w.letter(rune(c.run[len(c.run)-1])))
			var got time.Duration
			if !d.ConfirmAt.IsZero() {
				got = d.ConfirmAt.Sub(w.now)
			}
			same(t, "confirm in", got, c.want)
		})
	}
}

func TestOldAndSkippedResults(t *testing.T) {
	w := newWorld(t, threshold(1))
	late := w.letter('F')
	w.tick()
	w.run("O")
	before := w.st
	if d := w.see(late); !d.Fresh || len(d.Events) > 0 {
		t.Errorf("a late result: %+v", d)
	}
	skipped := w.result("", "")
	if d := w.see(skipped); !d.Fresh || len(d.Events) > 0 {
		t.Errorf("a skipped slot: %+v", d)
	}
	edited := w.letter('F')
	edited.Revision--
	if d := w.see(edited); d.Fresh || d.ConfirmAt.IsZero() || len(d.Events) > 0 {
		t.Errorf("another revision: %+v", d)
	}
	if diff := cmp.Diff(before, w.st); diff != "" {
		t.Errorf("the state moved (-before +after)\n%s", diff)
	}
	w.see(w.letter('F'))
	same(t, "state", w.st.Availability.State, Down)
}

func TestQuorum(t *testing.T) {
	for name, c := range map[string]struct{ states, want string }{
		"none":              {"", Unknown},
		"nobody knows":      {"unknown unknown", Unknown},
		"one of two":        {"down up", Up},
		"two of two":        {"down down", Down},
		"two of three":      {"down up down", Down},
		"the lesser of two": {"down misconfigured", Misconfigured},
		"at least that bad": {"down misconfigured up", Misconfigured},
		"who knows decides": {"unknown down", Down},
		"degraded":          {"degraded down", Degraded},
		"degraded alone":    {"degraded up up", Up},
	} {
		t.Run(name, func(t *testing.T) { same(t, "state", quorum(strings.Fields(c.states), Up), c.want) })
	}
}

func TestLocations(t *testing.T) {
	w := newWorld(t, threshold(1), func(d *Definition) { d.Locations = []string{"a", "b", "c"} })
	at := func(location string, l rune) {
		o := w.letter(l)
		o.Location = location
		w.see(o)
	}
	at("a", 'O')
	at("b", 'O')
	at("c", 'F')
	same(t, "one of three", w.st.Availability.State, Up)
	w.tick()
	at("b", 'F')
	same(t, "two of three", w.st.Availability.State, Down)
	// The two that see it down fall silent: their results get too old to count.
	for range 3 {
		w.tick()
		at("a", 'O')
	}
	same(t, "the others are silent", w.st.Availability.State, Up)
	// A location that the monitor is not checked from any more has no vote.
	w.m.Definition.Locations = []string{"a"}
	at("a", 'O')
	same(t, "locations", len(w.st.Locations), 1)
}

func TestTools(t *testing.T) {
	w := newWorld(t, func(d *Definition) { d.ExpectedTools, d.MaxTools, d.DriftPolicy = []string{"add"}, 1, surface.Record })
	w.see(w.saw(tools(t, good)))
	same(t, "check", w.st.Check, CheckPass)
	w.tick()
	o := w.saw(tools(t, "sub=Subtracts."))
	o.MissingTools = []string{"add"}
	w.see(o)
	same(t, "missing", w.st.Check+" "+w.st.CheckReason, "fail expected_tools_missing")
	w.tick()
	w.see(w.saw(tools(t, good, "sub=Subtracts.")))
	same(t, "over", w.st.Check+" "+w.st.CheckReason, "fail max_tools_exceeded")
	w.tick()
	w.see(w.saw(tools(t, good, "sub=Subtracts.")))
	w.tick()
	w.see(w.saw(tools(t, good)))
	same(t, "right", w.st.Check, CheckPass)
	for _, name := range []string{EventToolsMissing, EventToolsOver, EventToolsRight} {
		same(t, name, w.count(name), 1)
	}
}

func TestSystem(t *testing.T) {
	now := epoch()
	w := newWorld(t)
	bad, fine, skipped := w.letter('L'), w.letter('O'), w.result("", "")
	i, events := DecideSystem("local", nil, []*Observation{bad, bad, bad}, now)
	if i == nil || i.Location != "local" || i.State != Blind || !i.Due.Equal(now) || len(events) != 2 || events[0].Name != EventBlind {
		t.Fatalf("%+v %+v", i, events)
	}
	for name, seen := range map[string][]*Observation{"again": {bad}, "some": {bad, fine}, "none": {skipped}, "nothing": nil} {
		if more, _ := DecideSystem("local", i, seen, now); more != nil {
			t.Errorf("%s: %+v", name, more)
		}
	}
	if more, _ := DecideSystem("local", nil, []*Observation{bad, fine}, now); more != nil {
		t.Errorf("opened by some: %+v", more)
	}
	over, events := DecideSystem("local", i, []*Observation{fine}, now.Add(time.Minute))
	if over == nil || over.Open() || over.Key != i.Key || events[0].Name != EventSighted {
		t.Errorf("%+v %+v", over, events)
	}
	if !i.Open() {
		t.Error("the argument was changed")
	}
}

// Of two processes at one location one is blind and the other is not: that is one
// incident, which is over when the first is blind no more, or gone.
func TestSystemOfTwoProcesses(t *testing.T) {
	w := newWorld(t)
	now := epoch()
	bad, fine := w.letter('L'), w.letter('O')
	i, _ := DecideSystem("local", nil, []*Observation{bad}, now)
	saved := 0
	step := func(o *Observation) []Event {
		now = now.Add(time.Second)
		next, events := DecideSystem("local", i, []*Observation{o}, now)
		if next != nil {
			saved++
			i = next
		}
		return events
	}
	for range 300 {
		if events := slices.Concat(step(fine), step(bad)); len(events) != 0 || !i.Open() {
			t.Fatalf("%v: %+v %+v", now, i, events)
		}
	}
	same(t, "saved", saved, 30)
	last := now
	for i.Open() {
		if step(fine); now.Sub(last) > time.Hour {
			t.Fatal("it is never over")
		}
	}
	if took := now.Sub(last); took < sightedAfter-blindEvery || took > sightedAfter {
		t.Errorf("it was over %s after the last time", took)
	}
}

func TestCurrent(t *testing.T) {
	w := newWorld(t)
	every := time.Duration(w.m.Definition.Interval)
	if v := Current(&w.m, nil, w.now); v.Healthy || v.Check != CheckUnknown || v.Availability.Reason != ReasonPending {
		t.Errorf("G8, never checked: %+v", v)
	}
	if v := Current(&w.m, &State{}, w.now); v.Healthy || v.Availability.State != Unknown {
		t.Errorf("an empty state: %+v", v)
	}
	w.see(w.saw(tools(t, good)))
	for name, c := range map[string]struct {
		after time.Duration
		stale bool
	}{
		"at once":                {0, false},
		"after three intervals":  {3 * every, false},
		"after four intervals":   {4 * every, true},
		"after a year":           {365 * 24 * time.Hour, true},
		"the clock was set back": {-time.Hour, false},
	} {
		v := Current(&w.m, &w.st, w.now.Add(c.after))
		if v.Stale != c.stale || v.Healthy == c.stale || (v.Surface.State == Unknown) != c.stale || (v.Check == CheckPass) == c.stale {
			t.Errorf("%s: %+v", name, v)
		}
	}
	moved := w.m
	moved.Definition.URL = "https://b.example.com/mcp"
	if v := Current(&moved, &w.st, w.now); v.Healthy {
		t.Errorf("another server: %+v", v)
	}
	renamed := w.m
	renamed.Revision++
	renamed.Definition.Tags = []string{"prod"}
	if v := Current(&renamed, &w.st, w.now); !v.Healthy {
		t.Errorf("another tag: %+v", v)
	}
	w.m.Paused = true
	if v := Current(&w.m, &w.st, w.now); v.Healthy || !v.Paused || v.Check != CheckUnknown || v.Stale {
		t.Errorf("paused: %+v", v)
	}
}

func TestG10Restart(t *testing.T) {
	w := newWorld(t)
	w.run("O F F")
	opened := w.incidents[0].OpenedAt
	w.st = roundTrip(t, w.st)
	w.run("F F F F F")
	same(t, "told", w.told(), []string{"triggered availability"})
	same(t, "incidents", len(w.incidents), 1)
	same(t, "opened at", w.incidents[0].OpenedAt, opened)
}

func TestRemoved(t *testing.T) {
	w := newWorld(t)
	w.run("O F F")
	changed, events := Removed(&w.m, w.open(), w.now)
	same(t, "changed", len(changed), 1)
	same(t, "events", events[0].Name, EventResolved)
	w.save(changed)
	w.escalate()
	same(t, "told", w.told(), []string{"triggered availability", "resolved availability"})
	// What is still bad when it is watched again is a new incident.
	w.tick()
	w.see(w.letter('F'))
	same(t, "incidents", len(w.incidents), 2)
	if w.incidents[0].Key == w.incidents[1].Key {
		t.Error("one key for two incidents")
	}
}

func TestFacts(t *testing.T) {
	w := newWorld(t)
	o := w.saw(tools(t, good))
	o.CertificateEnds, o.CredentialEnds = w.now.Add(time.Hour), w.now.Add(2*time.Hour)
	o.Server, o.Protocol, o.Era = "s 1.0.0", "2025-06-18", "legacy"
	w.see(o)
	if !w.st.CertificateEnds.Equal(o.CertificateEnds) || !w.st.CredentialEnds.Equal(o.CredentialEnds) {
		t.Errorf("%+v", w.st)
	}
	same(t, "server", w.st.Server+" "+w.st.Protocol+" "+w.st.Era, "s 1.0.0 2025-06-18 legacy")
	w.tick()
	w.see(w.letter('F'))
	if w.st.CertificateEnds.IsZero() || w.st.Server == "" || w.st.LastUp.Equal(w.st.LastCheck) {
		t.Errorf("%+v", w.st)
	}
	w.tick()
	w.see(w.letter('O'))
	if !w.st.CertificateEnds.IsZero() {
		t.Errorf("the certificate of before: %+v", w.st)
	}
}

func TestReasonsHaveTexts(t *testing.T) {
	for _, info := range probe.Reasons() {
		if ReasonText(string(info.Reason)) == string(info.Reason) {
			t.Errorf("%s has no text", info.Reason)
		}
		if hint := ReasonHint(string(info.Reason)); hint == "" && info.Hint != "" || strings.Contains(hint, "--bearer-env") {
			t.Errorf("%s says to who looks after a monitor what to do: %q", info.Reason, hint)
		}
	}
	if got := ReasonText("custom\u202e"); strings.Contains(got, "\u202e") {
		t.Errorf("%q", got)
	}
	if !slices.Contains([]string{"x"}, ReasonText("x")) {
		t.Error("an unknown reason has no text")
	}
}

func BenchmarkDecide(b *testing.B) {
	w := newWorld(b)
	w.see(w.saw(tools(b, good)))
	o := w.saw(tools(b, good))
	b.ReportAllocs()
	for b.Loop() {
		o.Started = o.Started.Add(time.Minute)
		d := Decide(&w.m, w.st, nil, o, Context{Now: o.Started, HasApproval: true})
		w.st = d.State
	}
}
