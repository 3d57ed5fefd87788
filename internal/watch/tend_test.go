package watch

import (
	"strings"
	"testing"
	"time"
)

func TestSnooze(t *testing.T) {
	at := func(minute int) time.Time { return epoch().Add(time.Duration(minute) * time.Minute) }
	snooze := func(minute, until int) func(int, *Incident, *Holds) {
		return func(now int, i *Incident, _ *Holds) {
			if now == minute {
				*i, _ = Snooze(*i, at(until), "user:ann", at(now))
			}
		}
	}
	for name, c := range map[string]struct {
		change func(minute int, i *Incident, h *Holds)
		want   string
	}{
		"before anybody was told": {snooze(0, 20), "20 triggered chat, 20 triggered mail, 30 triggered pager"},
		"between steps":           {snooze(5, 20), "0 triggered chat, 0 triggered mail, 20 triggered pager"},
		"over before the step":    {snooze(5, 8), "0 triggered chat, 0 triggered mail, 10 triggered pager"},
		"a surface nobody was told of": {
			func(minute int, i *Incident, h *Holds) {
				i.Axis = Surface
				snooze(0, 30)(minute, i, h)
			},
			"0 triggered chat, 0 triggered mail, 30 triggered pager",
		},
		"ended": {
			func(minute int, i *Incident, h *Holds) {
				snooze(5, 50)(minute, i, h)
				snooze(15, 0)(minute, i, h)
			},
			"0 triggered chat, 0 triggered mail, 15 triggered pager",
		},
		"acknowledged": {
			func(minute int, i *Incident, h *Holds) {
				snooze(5, 30)(minute, i, h)
				if minute == 8 {
					*i, _ = Acknowledge(*i, "user:bob", at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 8 acknowledged chat, 8 acknowledged mail",
		},
		"resolved": {
			func(minute int, i *Incident, h *Holds) {
				snooze(5, 30)(minute, i, h)
				if minute == 8 {
					i.resolve(at(minute))
				}
			},
			"0 triggered chat, 0 triggered mail, 8 resolved chat, 8 resolved mail",
		},
		"worse": {
			func(minute int, i *Incident, h *Holds) {
				if minute == 0 {
					i.State = Degraded
				}
				snooze(5, 50)(minute, i, h)
				if minute == 9 {
					i.update(&trouble{axis: Availability, state: Down}, at(minute))
				}
			},
			"9 triggered chat, 9 triggered mail, 19 triggered pager",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(day(t, stepped(0), 60, c.change), ", "); got != c.want {
				t.Errorf("told\n%s, want\n%s", got, c.want)
			}
		})
	}
}

func TestSnoozeIsBounded(t *testing.T) {
	i, e := Snooze(opened(), epoch().Add(365*24*time.Hour), "user:ann", epoch())
	if !i.SnoozedUntil.Equal(epoch().Add(MaxSnooze)) || e.Name != EventSnoozed || !e.Data.Until.Equal(i.SnoozedUntil) || i.SnoozedBy != "user:ann" {
		t.Errorf("%+v, %+v", i, e)
	}
	if got := i.Stage(epoch()); got != StageSnoozed {
		t.Errorf("the stage is %s", got)
	}
	if got := i.Stage(i.SnoozedUntil); got != StageOpen {
		t.Errorf("at its end the stage is %s", got)
	}
	acknowledged, _ := Acknowledge(i, "user:bob", epoch())
	if _, e := Snooze(acknowledged, epoch().Add(time.Hour), "user:ann", epoch()); e.Name != "" || acknowledged.Stage(epoch()) != StageAcknowledged {
		t.Errorf("what somebody looks after was snoozed: %+v", e)
	}
	if _, e := Snooze(opened(), epoch(), "user:ann", epoch()); e.Name != "" {
		t.Error("a snooze that was none ended")
	}
}

func TestAssign(t *testing.T) {
	i, e := Assign(opened(), "ann", "user:bob", epoch())
	if i.Assignee != "ann" || e.Name != EventAssigned || e.Data.Assignee != "ann" || e.Actor != "user:bob" || !i.Due.Equal(opened().Due) {
		t.Errorf("%+v, %+v", i, e)
	}
	if _, e := Assign(i, "ann", "user:bob", epoch()); e.Name != "" {
		t.Errorf("assigned twice: %+v", e)
	}
	if i, e := Assign(i, "", "user:bob", epoch()); i.Assignee != "" || e.Text != "assigned to nobody: " {
		t.Errorf("%+v, %+v", i, e)
	}
	if e := Commented(i, " on it\n", "user:ann", epoch()); e.Data.Comment != "on it" || e.Data.Incident != 3 {
		t.Errorf("%+v", e)
	}
}
