package watch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
)

// TestAnySequence plays any observations, decisions of people, windows and times.
func TestAnySequence(t *testing.T) {
	surfaces := []*surface.Surface{
		tools(t, good), tools(t, other), tools(t, good, "drop=Drops a table."), tools(t, poison), partial(t),
	}
	verdicts := map[string]*baseline.Result{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, func(d *Definition) {
			d.FailureThreshold, d.RecoveryThreshold = rapid.IntRange(1, 3).Draw(t, "failures"), rapid.IntRange(1, 2).Draw(t, "recovery")
			d.Locations = []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "locations")]
		})
		w.verdicts = verdicts
		w.policy.Steps = append(w.policy.Steps, Step{Delay: Duration(7 * time.Minute), Channels: []string{"chief"}})
		w.policy.Repeat = rapid.IntRange(0, 2).Draw(t, "repeat")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.anything(t, surfaces)
			w.invariants()
		}
		// In the end all is well for long enough, and everybody knows.
		w.holds = Holds{}
		for range 12 {
			for _, location := range w.m.Definition.Locations {
				o := w.saw(surfaces[0])
				o.Location = location
				w.see(o)
			}
			if w.approved != nil && w.approved.Surface.Digest() != surfaces[0].Digest() || w.st.Awaiting {
				w.approve(Approval{baseline: baseline.New("search", w.binding(), surfaces[0])})
			}
			w.tick()
		}
		w.invariants()
		if n := len(w.open()); n > 0 || w.st.Check != CheckPass {
			t.Fatalf("all is well, and %d are open: %s %+v", n, w.states(), w.st)
		}
		w.everybodyKnows()
	})
}

func (w *world) anything(t *rapid.T, surfaces []*surface.Surface) {
	switch rapid.SampledFrom([]string{"result", "result", "result", "look", "look", "look", "wait", "ack", "snooze", "hold", "accept", "move"}).Draw(t, "what") {
	case "result":
		w.observe(t, w.letter(rapid.SampledFrom([]rune("OOFFMDUL")).Draw(t, "result")))
	case "look":
		o := w.letter(rapid.SampledFrom([]rune("OOOF")).Draw(t, "result"))
		s := rapid.SampledFrom(surfaces).Draw(t, "surface")
		w.look(o, s)
		if !s.Complete() {
			o.Surface, o.Digest = nil, surface.Digest{}
		}
		w.observe(t, o)
	case "wait":
		w.wait(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
	case "ack":
		for _, i := range w.open() {
			i, e := Acknowledge(i, "user:ann", w.now)
			if e.Name != "" {
				w.save([]Incident{i})
			}
		}
		w.escalate()
	case "snooze":
		minutes := rapid.IntRange(-5, 120).Draw(t, "snooze")
		for _, i := range w.open() {
			if i, e := Snooze(i, w.now.Add(time.Duration(minutes)*time.Minute), "user:ann", w.now); e.Name != "" {
				w.save([]Incident{i})
			}
		}
		w.escalate()
	case "hold":
		w.holds = Holds{}
		switch rapid.IntRange(0, 3).Draw(t, "hold") {
		case 0:
			w.holds.Maintenance = w.now.Add(20 * time.Minute)
		case 1:
			w.holds.ExpectedChange = w.now.Add(20 * time.Minute)
		case 2:
			w.holds.Dependency = "db"
		}
	case "accept":
		if w.approved != nil || w.st.Awaiting {
			s := surfaces[rapid.IntRange(0, 2).Draw(t, "accepted")]
			w.approve(Approval{baseline: baseline.New("search", w.binding(), s)})
			w.see(w.review(s))
		}
	case "move":
		w.m.Definition.URL = fmt.Sprintf("https://mcp%d.example.com/", rapid.IntRange(1, 3).Draw(t, "host"))
		w.m.Revision++
	}
}

// observe sees o at any of the locations, and passes some of an interval.
func (w *world) observe(t *rapid.T, o *Observation) {
	o.Location = rapid.SampledFrom(w.m.Definition.Locations).Draw(t, "location")
	before := w.st
	c := Context{Now: w.now, HasApproval: w.approved != nil}
	open := w.open()
	one := Decide(&w.m, before, open, o, c)
	two := Decide(&w.m, roundTrip(t, before), roundTrip(t, open), o, c)
	ignore := cmp.Comparer(func(a, b *Approval) bool { return (a == nil) == (b == nil) })
	if diff := cmp.Diff(roundTrip(t, one.State), roundTrip(t, two.State)); diff != "" {
		t.Fatalf("after JSON the state differs\n%s", diff)
	}
	one.State, two.State = State{}, State{}
	if diff := cmp.Diff(one, two, ignore); diff != "" {
		t.Fatalf("after JSON the decision differs\n%s", diff)
	}
	w.see(o)
	w.wait(time.Duration(rapid.IntRange(1, 10).Draw(t, "passes")) * time.Minute)
}

func (w *world) invariants() {
	open := map[Axis]int{}
	keys := map[string]int{}
	for _, i := range w.incidents {
		if i.Open() {
			open[i.Axis]++
		}
		keys[i.Key]++
		if len(i.Items) > maxItems {
			w.t.Errorf("%d items", len(i.Items))
		}
		if !i.Due.IsZero() && !i.Due.After(w.now) {
			w.t.Errorf("due and not looked at: %+v", i)
		}
		if i.Open() && i.Held == HeldSnoozed && (!i.Due.Equal(i.SnoozedUntil) || i.unheard()) {
			w.t.Errorf("snoozed without an end, or before anybody was told: %+v", i)
		}
	}
	for axis, n := range open {
		if n > 1 {
			w.t.Errorf("%d open for %s", n, axis)
		}
	}
	for key, n := range keys {
		if n > 1 {
			w.t.Errorf("%d incidents are called %s", n, key)
		}
	}
	if len(w.st.Said) != len(slices.Compact(slices.Sorted(slices.Values(w.st.Said)))) {
		w.t.Errorf("a key twice in %v", w.st.Said)
	}
	if w.count(EventFlapping)-w.count(EventSteady) > 1 || w.count(EventSteady) > w.count(EventFlapping) {
		w.t.Errorf("%d flaps, %d ends of them", w.count(EventFlapping), w.count(EventSteady))
	}
	if w.count(EventBaselineSet) > 1 {
		w.t.Errorf("%d first baselines", w.count(EventBaselineSet))
	}
}

// everybodyKnows: who was told that an incident is open was told once that it is over,
// and nobody else was told anything.
func (w *world) everybodyKnows() {
	type who struct {
		incident int64
		channel  string
	}
	told, over := map[who]bool{}, map[who]int{}
	for _, n := range w.sent {
		at := who{n.Incident, n.Channel}
		switch n.Phase {
		case Triggered:
			told[at] = true
			if over[at] > 0 {
				w.t.Errorf("told after the end: %s", n.Key)
			}
		case Resolved:
			over[at]++
		case AcknowledgedPhase:
			if !told[at] {
				w.t.Errorf("told of an acknowledgement alone: %s", n.Key)
			}
		}
	}
	for at := range told {
		if over[at] != 1 {
			w.t.Errorf("told of incident %d, and %d times of its end: %s", at.incident, over[at], at.channel)
		}
	}
	for at := range over {
		if !told[at] {
			w.t.Errorf("told of an end alone: %+v", at)
		}
	}
}

// TestSaidOnce plays surfaces alone: an event of a change comes once while the change
// stands.
func TestSaidOnce(t *testing.T) {
	surfaces := []*surface.Surface{
		tools(t, good), tools(t, other), tools(t, good, "drop=Drops a table."), tools(t, other, "drop=Drops a table."), tools(t, poison),
	}
	verdicts := map[string]*baseline.Result{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.verdicts = verdicts
		w.see(w.saw(surfaces[0]))
		standing := map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			w.tick()
			o := w.saw(rapid.SampledFrom(surfaces).Draw(t, "surface"))
			d := w.see(o)
			now := map[string]bool{}
			fresh := 0
			for _, c := range o.Verified.Changes {
				if c.Effect != surface.Silent {
					now[ChangeKey(c)] = true
					if !standing[ChangeKey(c)] {
						fresh++
					}
				}
			}
			said := 0
			for _, e := range d.Events {
				if e.Data != nil && e.Data.Class != "" && e.Data.Kind != "" {
					said++
				}
			}
			if said > fresh || said < fresh && w.st.History.Said == "" {
				t.Fatalf("%d events of %d new changes", said, fresh)
			}
			standing = now
		}
	})
}

func TestEscalateEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Escalation{Name: "p", Repeat: rapid.IntRange(0, 5).Draw(t, "repeat")}
		for n := range rapid.IntRange(0, 4).Draw(t, "steps") {
			p.Steps = append(p.Steps, Step{
				Delay:    Duration(time.Duration(rapid.IntRange(0, 90).Draw(t, "delay")) * time.Second),
				Channels: []string{"a", fmt.Sprint("c", n)},
			})
		}
		i, now := opened(), epoch().Add(time.Duration(rapid.IntRange(0, 1e9).Draw(t, "late")))
		seen := map[string]bool{}
		for calls := 0; !i.Due.IsZero(); calls++ {
			if calls > 50 {
				t.Fatalf("no end: %+v", i)
			}
			var sent []Notification
			if i, sent = Escalate(i, p, Holds{}, now); !i.Due.IsZero() && !i.Due.After(now) {
				t.Fatalf("due again at %s", i.Due)
			}
			for _, n := range sent {
				if seen[n.Key] {
					t.Fatalf("the key %s twice", n.Key)
				}
				seen[n.Key] = true
			}
			now = i.Due
		}
		if want := len(p.Steps) * 2 * (p.Repeat + 1); len(seen) != want {
			t.Fatalf("%d notifications, want %d", len(seen), want)
		}
	})
}
