package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// stepped is a policy: the first step at once, the second after ten minutes.
func stepped(repeat int) *Escalation {
	return &Escalation{Name: DefaultEscalation, Repeat: repeat, Steps: []Step{
		{Channels: []string{"chat", "mail"}},
		{Delay: Duration(10 * time.Minute), Channels: []string{"pager"}},
	}}
}

func opened() Incident {
	return Incident{ID: 3, Monitor: 7, Axis: Availability, Key: "k", State: Down, OpenedAt: epoch(), Due: epoch(), Escalation: DefaultEscalation}
}

// day escalates what is due, minute by minute, and returns what was sent when. Each
// minute, change may do something first.
func day(t *testing.T, p *Escalation, minutes int, change func(minute int, i *Incident, h *Holds)) []string {
	t.Helper()
	var out []string
	var h Holds
	seen := map[string]bool{}
	i := opened()
	for minute := range minutes {
		now := epoch().Add(time.Duration(minute) * time.Minute)
		if change != nil {
			change(minute, &i, &h)
		}
		for !i.Due.IsZero() && !i.Due.After(now) {
			next, sent := Escalate(roundTrip(t, i), p, h, now)
			if !next.Due.IsZero() && !next.Due.After(now) {
				t.Fatalf("minute %d: due again at %s", minute, next.Due)
			}
			again, same := Escalate(i, p, h, now)
			if fmt.Sprint(again) != fmt.Sprint(next) || len(same) != len(sent) {
				t.Fatalf("minute %d: two calls differ", minute)
			}
			for _, n := range sent {
				if seen[n.Key] || n.Incident != 3 || n.Status != Pending || !strings.HasPrefix(n.Key, "k/"+string(n.Phase)+"/") {
					t.Fatalf("%+v", n)
				}
				seen[n.Key] = true
				out = append(out, fmt.Sprintf("%d %s %s", minute, n.Phase, n.Channel))
			}
			i = next
		}
	}
	return out
}

func TestEscalate(t *testing.T) {
	at := func(minute int) time.Time { return epoch().Add(time.Duration(minute) * time.Minute) }
	ack := func(i *Incident, minute int) { *i, _ = Acknowledge(*i, "user:ann", at(minute)) }
	for name, c := range map[string]struct {
		policy *Escalation
		change func(minute int, i *Incident, h *Holds)
		want   string
	}{
		"all steps": {stepped(0), nil, "0 triggered chat, 0 triggered mail, 10 triggered pager"},
		"no policy": {nil, nil, ""},
		"no steps":  {&Escalation{}, nil, ""},
		"the steps start over": {
			stepped(1), nil,
			"0 triggered chat, 0 triggered mail, 10 triggered pager, 15 triggered chat, 15 triggered mail, 25 triggered pager",
		},
		"one step that repeats": {
			&Escalation{Repeat: 2, Steps: []Step{{Channels: []string{"chat"}}}}, nil,
			"0 triggered chat, 5 triggered chat, 10 triggered chat",
		},
		"a delay first": {
			&Escalation{Steps: []Step{{Delay: Duration(3 * time.Minute), Channels: []string{"chat"}}}}, nil,
			"3 triggered chat",
		},
		"over before anybody was told": {
			&Escalation{Steps: []Step{{Delay: Duration(3 * time.Minute), Channels: []string{"chat"}}}},
			func(minute int, i *Incident, _ *Holds) {
				if minute == 2 {
					i.resolve(at(minute))
				}
			},
			"",
		},
		"over": {
			stepped(3), func(minute int, i *Incident, _ *Holds) {
				if minute == 4 {
					i.resolve(at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 4 resolved chat, 4 resolved mail",
		},
		"over, with the policy gone": {
			stepped(0), func(minute int, i *Incident, _ *Holds) {
				if minute == 12 {
					i.resolve(at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 10 triggered pager, 12 resolved chat, 12 resolved mail, 12 resolved pager",
		},
		"acknowledged": {
			stepped(2), func(minute int, i *Incident, _ *Holds) {
				if minute == 5 || minute == 6 {
					ack(i, minute)
				}
				if minute == 30 {
					i.resolve(at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 5 acknowledged chat, 5 acknowledged mail, 30 resolved chat, 30 resolved mail",
		},
		"acknowledged before anybody was told": {
			&Escalation{Steps: []Step{{Delay: Duration(3 * time.Minute), Channels: []string{"chat"}}}},
			func(minute int, i *Incident, _ *Holds) {
				if minute == 1 {
					ack(i, minute)
				}
			},
			"",
		},
		"acknowledged, then worse": {
			&Escalation{On: []string{Misconfigured, Down}, Steps: []Step{{Channels: []string{"chat"}}}},
			func(minute int, i *Incident, _ *Holds) {
				switch minute {
				case 0:
					i.State = Misconfigured
				case 2:
					ack(i, minute)
				case 8:
					i.update(&trouble{axis: Availability, state: Down}, at(minute))
				case 9:
					ack(i, minute)
				case 20:
					i.resolve(at(minute))
				}
			},
			"0 triggered chat, 2 acknowledged chat, 8 triggered chat, 9 acknowledged chat, 20 resolved chat",
		},
		"not a state that pages": {
			stepped(0), func(minute int, i *Incident, _ *Holds) {
				if minute == 0 {
					i.State = Misconfigured
				}
				if minute == 20 {
					i.resolve(at(minute))
				}
			},
			"",
		},
		"it pages when worse": {
			stepped(0), func(minute int, i *Incident, _ *Holds) {
				if minute == 0 {
					i.State = Misconfigured
				}
				if minute == 20 {
					i.update(&trouble{axis: Availability, state: Down}, at(minute))
				}
			},
			"20 triggered chat, 20 triggered mail, 30 triggered pager",
		},
		"worse in the middle goes no faster": {
			&Escalation{On: []string{Misconfigured, Down}, Steps: stepped(0).Steps},
			func(minute int, i *Incident, _ *Holds) {
				if minute == 0 {
					i.State = Misconfigured
				}
				if minute == 3 {
					i.update(&trouble{axis: Availability, state: Down}, at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 10 triggered pager",
		},
		"maintenance": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.Maintenance = at(30)
				if minute == 5 && i.Held != HeldMaintenance {
					t.Errorf("held %q", i.Held)
				}
			},
			"30 triggered chat, 30 triggered mail, 40 triggered pager",
		},
		"maintenance is called off": {
			stepped(0), func(minute int, _ *Incident, h *Holds) {
				h.Maintenance = at(300)
				if minute >= 7 {
					h.Maintenance = time.Time{}
				}
			},
			"7 triggered chat, 7 triggered mail, 17 triggered pager",
		},
		"over in maintenance": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.Maintenance = at(30)
				if minute == 20 {
					i.resolve(at(minute))
				}
			},
			"",
		},
		"told, and over in maintenance": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				if minute >= 5 {
					h.Maintenance = at(60)
				}
				if minute == 20 {
					i.resolve(at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 20 resolved chat, 20 resolved mail",
		},
		"a dependency fails": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				if h.Dependency = "db"; minute > 12 {
					h.Dependency = ""
				}
				if minute == 5 && i.Held != "dependency:db" {
					t.Errorf("held %q", i.Held)
				}
			},
			"13 triggered chat, 13 triggered mail, 23 triggered pager",
		},
		"an expected change is one of the surface": {
			stepped(0), func(_ int, _ *Incident, h *Holds) { h.ExpectedChange = at(30) },
			"0 triggered chat, 0 triggered mail, 10 triggered pager",
		},
		"an expected change": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.ExpectedChange = at(30)
				if minute == 0 {
					i.Axis, i.State = Surface, Changed
				}
			},
			"30 triggered chat, 30 triggered mail, 40 triggered pager",
		},
		"a finding is never expected": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.ExpectedChange = at(30)
				if minute == 0 {
					i.Axis, i.State = Posture, Flagged
				}
			},
			"0 triggered chat, 0 triggered mail, 10 triggered pager",
		},
		"a change is not explained by maintenance or by what the server stands on": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.Maintenance, h.Dependency = at(300), "db"
				if minute == 0 {
					i.Axis, i.State = Surface, Changed
				}
			},
			"0 triggered chat, 0 triggered mail, 10 triggered pager",
		},
		"nor is a finding": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.Maintenance, h.Dependency = at(300), "db"
				if minute == 0 {
					i.Axis, i.State = Posture, Flagged
				}
			},
			"0 triggered chat, 0 triggered mail, 10 triggered pager",
		},
		"a change that was acknowledged before anybody was told": {
			stepped(2), func(minute int, i *Incident, h *Holds) {
				h.ExpectedChange = at(3)
				if minute == 0 {
					i.Axis, i.State = Surface, Changed
					ack(i, minute)
				}
				if minute == 30 {
					i.resolve(at(minute))
				}
			},
			"3 triggered chat, 3 triggered mail, 3 acknowledged chat, 3 acknowledged mail, 30 resolved chat, 30 resolved mail",
		},
		"the watch itself has no maintenance": {
			stepped(0), func(minute int, i *Incident, h *Holds) {
				h.Maintenance = at(30)
				if minute == 0 {
					i.Axis, i.State = System, Blind
				}
			},
			"0 triggered chat, 0 triggered mail, 10 triggered pager",
		},
		"the policy got shorter": {
			stepped(0), func(minute int, i *Incident, _ *Holds) {
				if minute == 0 {
					i.Step = 7
				}
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "sent", strings.Join(day(t, c.policy, 60, c.change), ", "), c.want)
		})
	}
}

func TestEscalateWithoutPolicyTellsOfTheEnd(t *testing.T) {
	i, sent := Escalate(opened(), stepped(0), Holds{}, epoch())
	same(t, "told", len(sent), 2)
	i.resolve(epoch().Add(time.Minute))
	i, sent = Escalate(i, nil, Holds{}, epoch().Add(time.Minute))
	same(t, "resolved", len(sent), 2)
	if !i.Due.IsZero() || sent[0].Snapshot.ResolvedAt.IsZero() {
		t.Errorf("%+v", i)
	}
	i.Due = epoch()
	if _, sent = Escalate(i, nil, Holds{}, epoch().Add(time.Hour)); len(sent) > 0 {
		t.Errorf("told twice: %+v", sent)
	}
}

func TestAcknowledge(t *testing.T) {
	i, e := Acknowledge(opened(), "user:ann", epoch())
	if i.AcknowledgedBy != "user:ann" || !i.Due.Equal(epoch()) || e.Name != EventAcknowledged || e.Actor != "user:ann" || e.Data.Incident != 3 {
		t.Errorf("%+v %+v", i, e)
	}
	if again, e := Acknowledge(i, "user:bob", epoch().Add(time.Hour)); e.Name != "" || again.AcknowledgedBy != "user:ann" {
		t.Errorf("twice: %+v %+v", again, e)
	}
	over := opened()
	over.resolve(epoch())
	if _, e := Acknowledge(over, "user:ann", epoch()); e.Name != "" {
		t.Errorf("over: %+v", e)
	}
}

func TestQuiets(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Escalation)
		want   string
	}{
		"nothing":              {func(*Escalation) {}, ""},
		"more":                 {func(e *Escalation) { e.Steps[0].Channels, e.Repeat = []string{"chat", "mail", "pager"}, 3 }, ""},
		"degraded, too":        {func(e *Escalation) { e.On = append(e.on(), Degraded) }, ""},
		"not of what is down":  {func(e *Escalation) { e.On = []string{Changed, Inconsistent, Flagged} }, ""},
		"not of changes":       {func(e *Escalation) { e.On = []string{Down, Inconsistent, Flagged} }, "on: without changed"},
		"of what is down only": {func(e *Escalation) { e.On = []string{Down} }, "on: without changed, on: without flagged, on: without inconsistent"},
		"a channel less":       {func(e *Escalation) { e.Steps[0].Channels = []string{"chat"} }, "steps: without mail"},
		"a step less":          {func(e *Escalation) { e.Steps = e.Steps[:1] }, "steps: without pager"},
		"later":                {func(e *Escalation) { e.Steps[0].Delay = Duration(time.Hour) }, "steps: chat after 1h0m0s, steps: mail after 1h0m0s, steps: pager after 1h10m0s"},
		"sooner":               {func(e *Escalation) { e.Steps[1].Delay = 0 }, ""},
		"less often":           {func(e *Escalation) { e.Repeat = 0 }, "repeat: 1 -> 0"},
	} {
		t.Run(name, func(t *testing.T) {
			after := stepped(1)
			c.change(after)
			same(t, "quiets", strings.Join(Quiets(stepped(1), after), ", "), c.want)
		})
	}
	same(t, "gone", len(Quiets(stepped(0), nil)), 6)
	down := &Escalation{On: []string{Down}, Steps: stepped(0).Steps}
	same(t, "a policy that tells of no surface", len(Quiets(down, nil)), 0)
}

func TestStopped(t *testing.T) {
	var open []Incident
	for n, axis := range []Axis{Availability, Surface, Posture} {
		open = append(open, Incident{ID: int64(n + 1), Monitor: 7, Axis: axis, OpenedAt: epoch()})
	}
	m := &Monitor{ID: 7}
	stopped, events := Stopped(m, open, epoch())
	if len(stopped) != 1 || stopped[0].Axis != Availability || stopped[0].Open() || len(events) != 1 {
		t.Errorf("paused: %+v %+v", stopped, events)
	}
	if removed, _ := Removed(m, open, epoch()); len(removed) != 3 {
		t.Errorf("removed: %+v", removed)
	}
}

func TestEscalationValidate(t *testing.T) {
	policy := func(change func(*Escalation)) *Escalation {
		e := stepped(0)
		change(e)
		return e
	}
	for name, c := range map[string]struct {
		e    *Escalation
		want string
	}{
		"right":              {policy(func(*Escalation) {}), ""},
		"no name":            {policy(func(e *Escalation) { e.Name = "" }), "name"},
		"on a state":         {policy(func(e *Escalation) { e.On = []string{Degraded, Misconfigured} }), ""},
		"on a good state":    {policy(func(e *Escalation) { e.On = []string{Up} }), "on[0]"},
		"no steps":           {policy(func(e *Escalation) { e.Steps = nil }), "steps"},
		"too many steps":     {policy(func(e *Escalation) { e.Steps = make([]Step, 21) }), "steps"},
		"no channel":         {policy(func(e *Escalation) { e.Steps[0].Channels = nil }), "steps[0].channels"},
		"an unknown channel": {policy(func(e *Escalation) { e.Steps[1].Channels = []string{"fax"} }), "steps[1].channels[0]"},
		"a channel twice":    {policy(func(e *Escalation) { e.Steps[0].Channels = []string{"chat", "chat"} }), "steps[0].channels"},
		"back in time":       {policy(func(e *Escalation) { e.Steps[0].Delay = Duration(-time.Second) }), "steps[0].delay"},
		"for ever":           {policy(func(e *Escalation) { e.Repeat = 101 }), "repeat"},
	} {
		t.Run(name, func(t *testing.T) {
			var fields []string
			for _, p := range c.e.Validate([]string{"chat", "mail", "pager"}) {
				fields = append(fields, p.Field)
				if p.Text == "" || p.Hint == "" {
					t.Errorf("%+v", p)
				}
			}
			same(t, "problems", strings.Join(fields, " "), c.want)
		})
	}
}
