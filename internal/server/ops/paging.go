package ops

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// ChannelInput makes or replaces a channel.
type ChannelInput struct {
	Name     string            `json:"name" minLength:"1" maxLength:"200"`
	Type     string            `json:"type" minLength:"1" maxLength:"40" doc:"One of the types that GET /channel-types lists."`
	Settings map[string]string `json:"settings,omitempty" doc:"By the fields of the type; stored encrypted and never given out. A secret that is blank or left out keeps the one that is stored, unless it would be sent to another place."`
	Proof
}

// EscalationInput makes or replaces a policy.
type EscalationInput struct {
	On     []string     `json:"on,omitempty" maxItems:"20" doc:"States that page: down, misconfigured, degraded, changed, inconsistent, flagged, blind. By default all of these but misconfigured and degraded."`
	Steps  []watch.Step `json:"steps" minItems:"1" maxItems:"20" nullable:"false" doc:"After delay (such as 10m) since the step before, channels (their names) are told."`
	Repeat int          `json:"repeat,omitempty" minimum:"0" maximum:"100" doc:"How often the steps start over while nobody acknowledges."`
	Proof
}

// WindowInput makes or replaces a planned time. A single one has start and end, one that
// repeats weekly days, from, for and zone.
type WindowInput struct {
	Name     string           `json:"name" minLength:"1" maxLength:"200"`
	Kind     watch.WindowKind `json:"kind" doc:"maintenance, or expected-change, which takes a proof."`
	Monitors []string         `json:"monitors,omitempty" maxItems:"1000" doc:"Names. Without monitors, tags and groups it is for every monitor."`
	Tags     []string         `json:"tags,omitempty" maxItems:"100"`
	Groups   []string         `json:"groups,omitempty" maxItems:"100"`
	Start    *time.Time       `json:"start,omitempty"`
	End      *time.Time       `json:"end,omitempty"`
	Days     []string         `json:"days,omitempty" maxItems:"7" doc:"mon, tue, …"`
	From     string           `json:"from,omitempty" maxLength:"5" doc:"Time of day, such as 09:30."`
	For      watch.Duration   `json:"for,omitempty" doc:"Such as 2h."`
	Zone     string           `json:"zone,omitempty" maxLength:"60" doc:"Such as Europe/Berlin."`
	Proof
}

// Channels are all channels, without their settings.
func (o *Ops) Channels(ctx context.Context, actor people.Actor) (Page[watch.Channel], error) {
	return list(ctx, o, actor, "channel", func(t *store.Tx) ([]watch.Channel, string, error) {
		channels, err := t.Channels(ctx)
		return channels, "", err
	})
}

// Channel is one channel, without its settings.
func (o *Ops) Channel(ctx context.Context, actor people.Actor, id int64) (watch.Channel, error) {
	if err := may(actor, people.Read); err != nil {
		return watch.Channel{}, err
	}
	var out watch.Channel
	err := o.view(ctx, "channel", func(t *store.Tx) error {
		c, err := t.Channel(ctx, id)
		if err == nil {
			out = *c
			out.Settings = nil
		}
		return err
	})
	return out, err
}

// PutChannel makes a channel with id 0 and otherwise replaces the one with that id. To
// change one that a policy tells takes a proof: it is how people hear of changes.
func (o *Ops) PutChannel(ctx context.Context, actor people.Actor, id int64, in ChannelInput) (watch.Channel, error) {
	if err := may(actor, people.Administer); err != nil {
		return watch.Channel{}, err
	}
	if strings.TrimSpace(in.Name) != in.Name || plain.Line(in.Name, len(in.Name)) != in.Name {
		return watch.Channel{}, invalid(watch.Problem{Field: "name", Text: "has characters that cannot be seen, or blanks around it"})
	}
	if _, person := actor.Session(); alert.AdminOnly(in.Type) && !person {
		return watch.Channel{}, refuse(ProofRequired, "a person has to do it, signed in", "a channel of type %q goes where no policy on addresses holds", in.Type)
	}
	var out watch.Channel
	err := o.paging(ctx, actor, in.Proof, "channel", func(t *store.Tx, prove func([]string) error) error {
		c := &watch.Channel{Source: watch.FromAPI, CreatedAt: o.now()}
		before := ""
		if id != 0 {
			stored, err := t.Channel(ctx, id)
			if err != nil {
				return err
			}
			if stored.Source == watch.FromFile {
				return fileOwned("channel", stored.Name)
			}
			c, before = stored, stored.Name
		}
		settings, problems := kept(in, c)
		if len(problems) == 0 {
			problems = alert.Validate(in.Type, settings)
		}
		if len(problems) > 0 {
			return invalid(inSettings(problems)...)
		}
		if before != "" && before != in.Name {
			if err := unused(ctx, t, before); err != nil {
				return err
			}
		}
		diverted, err := diverts(ctx, t, c, in.Type, settings)
		if err == nil {
			err = prove(diverted)
		}
		if err != nil {
			return err
		}
		c.Name, c.Type, c.Settings, c.UpdatedAt = in.Name, in.Type, settings, o.now()
		c.Shown = alert.Shown(in.Type, settings)
		if err := t.PutChannel(ctx, c); err != nil {
			return err
		}
		out = *c
		out.Settings = nil
		return o.audit(ctx, t, actor, "channel.put", "channel:"+c.Name, c.Type+" "+c.Shown)
	})
	return out, err
}

func inSettings(problems []watch.Problem) []watch.Problem {
	for i, p := range problems {
		if p.Field != "type" && p.Field != "name" && !strings.HasPrefix(p.Field, "settings") {
			problems[i].Field = strings.TrimSuffix("settings."+p.Field, ".")
		}
	}
	return problems
}

// unused refuses when a policy names a channel.
func unused(ctx context.Context, t *store.Tx, name string) error {
	escalations, err := t.Escalations(ctx)
	if err != nil {
		return err
	}
	for _, e := range escalations {
		for _, s := range e.Steps {
			if slices.Contains(s.Channels, name) {
				return refuse(InUse, "take it out of the policy first", "the policy %q tells the channel %q", e.Name, name)
			}
		}
	}
	return nil
}

// DeleteChannel removes a channel that no policy tells.
func (o *Ops) DeleteChannel(ctx context.Context, actor people.Actor, id int64) error {
	if err := may(actor, people.Administer); err != nil {
		return err
	}
	return o.change(ctx, "channel", func(t *store.Tx) error {
		c, err := t.Channel(ctx, id)
		if err != nil {
			return err
		}
		if c.Source == watch.FromFile {
			return fileOwned("channel", c.Name)
		}
		if err := unused(ctx, t, c.Name); err != nil {
			return err
		}
		if err := t.DeleteChannel(ctx, id); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "channel.delete", "channel:"+c.Name, "")
	})
}

// TestChannel sends a test message and gives what the receiver answered.
func (o *Ops) TestChannel(ctx context.Context, actor people.Actor, id int64) (string, error) {
	if err := may(actor, people.Administer); err != nil {
		return "", err
	}
	var name string
	err := o.change(ctx, "channel", func(t *store.Tx) error {
		c, err := t.Channel(ctx, id)
		if err != nil {
			return err
		}
		name = c.Name
		return o.audit(ctx, t, actor, "channel.test", "channel:"+c.Name, "")
	})
	if err != nil {
		return "", err
	}
	detail, err := o.engine.TestChannel(ctx, name)
	if err != nil {
		return "", refuse(Undeliverable, "", "the test message was not delivered: %s", err.Error())
	}
	return detail, nil
}

// Escalations are all policies.
func (o *Ops) Escalations(ctx context.Context, actor people.Actor) (Page[watch.Escalation], error) {
	return list(ctx, o, actor, "policy", func(t *store.Tx) ([]watch.Escalation, string, error) {
		escalations, err := t.Escalations(ctx)
		return escalations, "", err
	})
}

// Escalation is the policy of that name.
func (o *Ops) Escalation(ctx context.Context, actor people.Actor, name string) (watch.Escalation, error) {
	if err := may(actor, people.Read); err != nil {
		return watch.Escalation{}, err
	}
	var out watch.Escalation
	err := o.view(ctx, "policy", func(t *store.Tx) error {
		e, err := t.Escalation(ctx, name)
		if err == nil {
			out = *e
		}
		return err
	})
	return out, err
}

// PutEscalation makes or replaces the policy of that name. What watch.Quiets names takes
// a proof.
func (o *Ops) PutEscalation(ctx context.Context, actor people.Actor, name string, in EscalationInput) (watch.Escalation, error) {
	if err := may(actor, people.Administer); err != nil {
		return watch.Escalation{}, err
	}
	e := watch.Escalation{Name: name, Source: watch.FromAPI, On: in.On, Steps: in.Steps, Repeat: in.Repeat}
	err := o.paging(ctx, actor, in.Proof, "policy", func(t *store.Tx, prove func([]string) error) error {
		channels, err := t.Channels(ctx)
		if err != nil {
			return err
		}
		names := make([]string, 0, len(channels))
		for _, c := range channels {
			names = append(names, c.Name)
		}
		if problems := e.Validate(names); len(problems) > 0 {
			return invalid(problems...)
		}
		before, err := t.Escalation(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			before, err = &watch.Escalation{}, nil
		}
		if err == nil && before.Source != watch.FromFile {
			err = prove(watch.Quiets(before, &e))
		}
		if err != nil {
			return err
		}
		if err := t.PutEscalation(ctx, &e); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "escalation.put", "escalation:"+name, "")
	})
	return e, err
}

// DeleteEscalation removes a policy that no monitor follows. The default one, which is
// followed where there is no other, takes a proof.
func (o *Ops) DeleteEscalation(ctx context.Context, actor people.Actor, name string, p Proof) error {
	if err := may(actor, people.Administer); err != nil {
		return err
	}
	return o.paging(ctx, actor, p, "policy", func(t *store.Tx, prove func([]string) error) error {
		e, err := t.Escalation(ctx, name)
		if err != nil {
			return err
		}
		if e.Source == watch.FromFile {
			return fileOwned("policy", name)
		}
		monitors, err := t.AllMonitors(ctx)
		if err != nil {
			return err
		}
		for _, m := range monitors {
			if m.Definition.Escalation == name && name != watch.DefaultEscalation {
				return refuse(InUse, "give it another policy first", "the monitor %q follows the policy %q", m.Definition.Name, name)
			}
		}
		if name == watch.DefaultEscalation {
			if err := prove(watch.Quiets(e, nil)); err != nil {
				return err
			}
		}
		if err := t.DeleteEscalation(ctx, name); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "escalation.delete", "escalation:"+name, "")
	})
}

// Windows are all planned times.
func (o *Ops) Windows(ctx context.Context, actor people.Actor) (Page[watch.Window], error) {
	return list(ctx, o, actor, "window", func(t *store.Tx) ([]watch.Window, string, error) {
		windows, err := t.Windows(ctx)
		return windows, "", err
	})
}

// Window is one planned time.
func (o *Ops) Window(ctx context.Context, actor people.Actor, id int64) (watch.Window, error) {
	if err := may(actor, people.Read); err != nil {
		return watch.Window{}, err
	}
	var out watch.Window
	err := o.view(ctx, "window", func(t *store.Tx) error {
		w, err := t.Window(ctx, id)
		if err == nil {
			out = *w
		}
		return err
	})
	return out, err
}

func (in *WindowInput) window(id int64) watch.Window {
	w := watch.Window{
		ID: id, Name: in.Name, Source: watch.FromAPI, Kind: in.Kind, Monitors: in.Monitors, Tags: in.Tags, Groups: in.Groups,
		Days: in.Days, From: in.From, For: in.For, Zone: in.Zone,
	}
	if in.Start != nil {
		w.Start = in.Start.UTC().Truncate(time.Millisecond)
	}
	if in.End != nil {
		w.End = in.End.UTC().Truncate(time.Millisecond)
	}
	return w
}

// PutWindow makes a window with id 0 and otherwise replaces the one with that id. An
// expected change takes a proof: nobody is told of what changes in it.
func (o *Ops) PutWindow(ctx context.Context, actor people.Actor, id int64, in WindowInput) (watch.Window, error) {
	if err := may(actor, people.Write); err != nil {
		return watch.Window{}, err
	}
	w := in.window(id)
	if problems := w.Validate(); len(problems) > 0 {
		return watch.Window{}, invalid(problems...)
	}
	if w.Kind == watch.ExpectedChange {
		if err := o.proveWindow(ctx, actor, in.Proof, &w); err != nil {
			return watch.Window{}, err
		}
	}
	err := o.change(ctx, "window", func(t *store.Tx) error {
		w.ID = id // also when it runs again
		if id != 0 {
			stored, err := t.Window(ctx, id)
			if err != nil {
				return err
			}
			if stored.Source == watch.FromFile {
				return fileOwned("window", stored.Name)
			}
		}
		problems, err := unknownMonitors(ctx, t, w.Monitors)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return invalid(problems...)
		}
		if err := t.PutWindow(ctx, &w, actor.Name()); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "window.put", "window:"+w.Name, string(w.Kind))
	})
	return w, err
}

// proveWindow asks for a proof unless the window is stored just so already.
func (o *Ops) proveWindow(ctx context.Context, actor people.Actor, p Proof, w *watch.Window) error {
	if w.ID != 0 {
		if stored, err := o.Window(ctx, actor, w.ID); err != nil || reflect.DeepEqual(stored, *w) {
			return err
		}
	}
	st := people.Statement{Action: people.ActionWindow, Items: []string{w.Name}}
	_, err := o.prove(ctx, actor, p, "an expected change", st)
	return err
}

func unknownMonitors(ctx context.Context, t *store.Tx, names []string) (problems []watch.Problem, err error) {
	for i, name := range names {
		switch _, err := t.MonitorByName(ctx, name); {
		case errors.Is(err, store.ErrNotFound):
			problems = append(problems, watch.Problem{Field: indexed("monitors", i), Text: "there is no such monitor"})
		case err != nil:
			return nil, err
		}
	}
	return problems, nil
}

// DeleteWindow removes a planned time.
func (o *Ops) DeleteWindow(ctx context.Context, actor people.Actor, id int64) error {
	if err := may(actor, people.Write); err != nil {
		return err
	}
	return o.change(ctx, "window", func(t *store.Tx) error {
		w, err := t.Window(ctx, id)
		if err != nil {
			return err
		}
		if w.Source == watch.FromFile {
			return fileOwned("window", w.Name)
		}
		if err := t.DeleteWindow(ctx, id); err != nil {
			return err
		}
		return o.audit(ctx, t, actor, "window.delete", "window:"+w.Name, string(w.Kind))
	})
}
