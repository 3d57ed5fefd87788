package incidents

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/lang"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func stageName(ctx context.Context, s watch.Stage) string {
	switch s {
	case watch.StageAcknowledged:
		return lang.T(ctx, "Acknowledged")
	case watch.StageSnoozed:
		return lang.T(ctx, "Snoozed")
	case watch.StageResolved:
		return lang.T(ctx, "Resolved")
	default:
		return lang.T(ctx, "Open")
	}
}

// meaning says in plain words what an incident is.
func meaning(ctx context.Context, i *watch.Incident) string {
	if !i.Open() {
		return meant(ctx, i)
	}
	switch i.State {
	case watch.Down:
		return lang.T(ctx, "Checks of this server fail: agents cannot use it.")
	case watch.Degraded:
		return lang.T(ctx, "The server works, but worse than it should.")
	case watch.Misconfigured:
		return lang.T(ctx, "It cannot be checked as it is set up: the server itself may be well.")
	case watch.Changed:
		return lang.T(ctx, "The server tells agents something else than what was approved. Look at the change, and accept it or not.")
	case watch.Inconsistent:
		return lang.T(ctx, "The server does not tell everybody the same.")
	case watch.Flagged:
		return lang.T(ctx, "What the server tells agents has traits of an attack or a trap. Look at the findings.")
	case watch.Blind:
		return lang.T(ctx, "Checks cannot be run here, so nothing is known of any server.")
	}
	return ""
}

// meant is meaning for what is over.
func meant(ctx context.Context, i *watch.Incident) string {
	switch i.State {
	case watch.Down:
		return lang.T(ctx, "It is over. Checks of this server failed: agents could not use it.")
	case watch.Degraded:
		return lang.T(ctx, "It is over. The server worked, but worse than it should.")
	case watch.Misconfigured:
		return lang.T(ctx, "It is over. The server could not be checked as it was set up, and may have been well itself.")
	case watch.Changed:
		return lang.T(ctx, "It is over. The server told agents something else than was approved by then.")
	case watch.Inconsistent:
		return lang.T(ctx, "It is over. The server did not tell everybody the same.")
	case watch.Flagged:
		return lang.T(ctx, "It is over. What the server told agents had traits of an attack or a trap.")
	case watch.Blind:
		return lang.T(ctx, "It is over. Checks could not be run here, so nothing was known of any server.")
	}
	return lang.T(ctx, "It is over.")
}

// who is an actor as a page says it.
func who(ctx context.Context, actor string) string {
	kind, name, ok := strings.Cut(actor, ":")
	switch {
	case !ok:
		return actor
	case kind == "key":
		return lang.T(ctx, "the API key %s", name)
	case kind == "file":
		return lang.T(ctx, "the file %s", name)
	}
	return name
}

// nextWords say what comes next; the time of it stands beside.
func nextWords(ctx context.Context, h *ops.History) string {
	switch h.Next.Kind {
	case watch.NextOver:
		return lang.T(ctx, "It is over. Nothing more is told.")
	case watch.NextTended:
		return lang.T(ctx, "%s looks after it: nobody else is told unless it gets worse.", who(ctx, h.AcknowledgedBy))
	case watch.NextNoPolicy:
		return lang.T(ctx, "Nobody is told: there is no policy %s.", h.Escalation)
	case watch.NextNotPaging:
		return lang.T(ctx, "Nobody is told: the policy %s does not page for this state.", h.Escalation)
	case watch.NextHeld:
		return heldWords(ctx, &h.Incident)
	case watch.NextStep:
		if !h.AcknowledgedAt.IsZero() {
			return lang.T(ctx, "The first step is told all the same, then nobody else. To be told: %s.", strings.Join(h.Next.Channels, ", "))
		}
		return lang.T(ctx, "To be told next: %s.", strings.Join(h.Next.Channels, ", "))
	default:
		return lang.T(ctx, "All steps of the policy %s were taken. Nobody else is told unless it gets worse.", h.Escalation)
	}
}

func heldWords(ctx context.Context, i *watch.Incident) string {
	switch i.Held {
	case watch.HeldMaintenance:
		return lang.T(ctx, "Held back by a maintenance window.")
	case watch.HeldExpectedChange:
		return lang.T(ctx, "Held back by a window of an expected change.")
	case watch.HeldSnoozed:
		return lang.T(ctx, "Snoozed by %s.", who(ctx, i.SnoozedBy))
	default:
		return lang.T(ctx, "Held back: %s, which it stands on, is down.", strings.TrimPrefix(i.Held, watch.HeldDependency))
	}
}

// entry is a line of the timeline: an event, or whom was told something at one moment.
type entry struct {
	at    time.Time
	event *watch.Event
	phase watch.Phase
	told  []string
}

// entriesOf puts what happened and what was told in one order.
func entriesOf(h *ops.History) []entry {
	var out []entry
	for i := range h.Events {
		out = append(out, entry{at: h.Events[i].At, event: &h.Events[i]})
	}
	for _, n := range slices.Backward(h.Notifications) {
		if last := len(out) - 1; last >= 0 && out[last].event == nil && out[last].at.Equal(n.At) && out[last].phase == n.Phase {
			out[last].told = append(out[last].told, n.Channel)
			continue
		}
		out = append(out, entry{at: n.At, phase: n.Phase, told: []string{n.Channel}})
	}
	slices.SortStableFunc(out, func(a, b entry) int { return cmp.Compare(a.at.UnixMilli(), b.at.UnixMilli()) })
	return out
}

func (e entry) words(ctx context.Context) string {
	if e.event == nil {
		channels := strings.Join(e.told, ", ")
		switch e.phase {
		case watch.AcknowledgedPhase:
			return lang.T(ctx, "Told that somebody looks after it: %s", channels)
		case watch.Resolved:
			return lang.T(ctx, "Told that it is over: %s", channels)
		default:
			return lang.T(ctx, "Told: %s", channels)
		}
	}
	by := who(ctx, e.event.Actor)
	switch e.event.Name {
	case watch.EventOpened:
		return lang.T(ctx, "Opened")
	case watch.EventResolved:
		return lang.T(ctx, "Over")
	case watch.EventAcknowledged:
		return lang.T(ctx, "%s looks after it", by)
	case watch.EventRejected:
		return lang.T(ctx, "%s does not accept what changed:", by)
	case watch.EventCommented:
		return lang.T(ctx, "%s says:", by)
	case watch.EventSnoozed:
		if e.event.Data.Until.IsZero() {
			return lang.T(ctx, "%s ended the snooze", by)
		}
		return lang.T(ctx, "%s snoozed it until", by)
	case watch.EventAssigned:
		if e.event.Data.Assignee == "" {
			return lang.T(ctx, "%s took it off everybody", by)
		}
		return lang.T(ctx, "%s gave it to %s", by, e.event.Data.Assignee)
	}
	return e.event.Name
}

func (e entry) until() time.Time {
	if e.event != nil && e.event.Data != nil {
		return e.event.Data.Until
	}
	return time.Time{}
}

func (e entry) comment() string {
	if e.event != nil && e.event.Data != nil {
		return e.event.Data.Comment
	}
	return ""
}

func deliveryName(ctx context.Context, status string) string {
	switch status {
	case watch.Sent:
		return lang.T(ctx, "sent")
	case watch.Failed:
		return lang.T(ctx, "failed")
	default:
		return lang.T(ctx, "on its way")
	}
}

func phaseName(ctx context.Context, p watch.Phase) string {
	switch p {
	case watch.AcknowledgedPhase:
		return lang.T(ctx, "looked after")
	case watch.Resolved:
		return lang.T(ctx, "over")
	default:
		return lang.T(ctx, "open")
	}
}
