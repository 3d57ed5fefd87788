package watch

import (
	"fmt"
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	now := epoch().Add(time.Second)
	told := func(repeat int, at time.Time) Incident {
		i, _ := Escalate(opened(), stepped(repeat), Holds{}, at)
		return i
	}
	acknowledged, _ := Acknowledge(told(0, now), "user:ann", now)
	early, _ := Acknowledge(Incident{Axis: Surface, State: Changed, OpenedAt: epoch()}, "user:ann", now)
	snoozed, _ := Snooze(told(0, now), now.Add(time.Hour), "user:ann", now)
	snoozed, _ = Escalate(snoozed, stepped(0), Holds{}, now)
	over := told(0, now)
	over.resolve(now)
	degraded := opened()
	degraded.State = Degraded
	all, _ := Escalate(told(0, now), stepped(0), Holds{}, now.Add(time.Hour))
	again, _ := Escalate(told(1, now), stepped(1), Holds{}, now.Add(time.Hour))
	for name, c := range map[string]struct {
		i    Incident
		p    *Escalation
		want string
	}{
		"at once":                         {opened(), stepped(0), fmt.Sprint(Next{NextStep, epoch(), []string{"chat", "mail"}})},
		"the second step":                 {told(0, now), stepped(0), fmt.Sprint(Next{NextStep, now.Add(10 * time.Minute), []string{"pager"}})},
		"all":                             {all, stepped(0), fmt.Sprint(Next{Kind: NextDone})},
		"again":                           {again, stepped(1), fmt.Sprint(Next{NextStep, now.Add(time.Hour + MinRepeat), []string{"chat", "mail"}})},
		"acknowledged":                    {acknowledged, stepped(0), fmt.Sprint(Next{Kind: NextTended})},
		"acknowledged before it was told": {early, stepped(0), fmt.Sprint(Next{NextStep, epoch(), []string{"chat", "mail"}})},
		"snoozed":                         {snoozed, stepped(0), fmt.Sprint(Next{Kind: NextHeld, At: now.Add(time.Hour)})},
		"over":                            {over, stepped(0), fmt.Sprint(Next{Kind: NextOver})},
		"no policy":                       {opened(), nil, fmt.Sprint(Next{Kind: NextNoPolicy})},
		"does not page":                   {degraded, stepped(0), fmt.Sprint(Next{Kind: NextNotPaging})},
	} {
		if got := fmt.Sprint(c.i.Next(c.p)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
