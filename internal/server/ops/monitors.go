package ops

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// CreateMonitor makes a monitor.
func (o *Ops) CreateMonitor(ctx context.Context, actor people.Actor, in MonitorInput) (Monitor, error) {
	if err := may(actor, people.Write); err != nil {
		return Monitor{}, err
	}
	var out Monitor
	err := o.change(ctx, "monitor", func(t *store.Tx) error {
		m, err := o.insert(ctx, t, actor, &in)
		if err != nil {
			return err
		}
		out = shown(m, nil, o.now())
		return nil
	})
	return out, err
}

func (o *Ops) insert(ctx context.Context, t *store.Tx, actor people.Actor, in *MonitorInput) (*watch.Monitor, error) {
	d := in.definition()
	values, _, problems := secrets(&in.Fields, &d, nil, false)
	problems = append(problems, d.Validate(watch.FromAPI)...)
	problems = append(problems, checkExternalID(in.ExternalID)...)
	more, err := o.references(ctx, t, &d)
	if err != nil {
		return nil, err
	}
	if problems = append(problems, more...); len(problems) > 0 {
		return nil, invalid(problems...)
	}
	now := o.now()
	m := &watch.Monitor{
		Source: watch.FromAPI, ExternalID: in.ExternalID, Definition: d, Paused: in.Paused,
		CreatedAt: now, UpdatedAt: now,
	}
	if err := t.InsertMonitor(ctx, m); err != nil {
		return nil, told("monitor", err)
	}
	if len(values) > 0 {
		if err := t.SetHeaders(ctx, m.ID, values); err != nil {
			return nil, err
		}
	}
	if err := o.audit(ctx, t, actor, "monitor.create", monitorNamed(m), m.Definition.URL); err != nil {
		return nil, err
	}
	return m, t.InsertEvents(ctx, []watch.Event{o.event(watch.EventCreated, m, actor, "added")})
}

func checkExternalID(id string) []watch.Problem {
	if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }) {
		return []watch.Problem{{Field: "external_id", Text: "has a blank, a slash or a control character"}}
	}
	return nil
}

// references checks what a definition names: its policy and the monitors it stands on.
func (o *Ops) references(ctx context.Context, t *store.Tx, d *watch.Definition) (problems []watch.Problem, err error) {
	if d.Escalation != "" && d.Escalation != watch.DefaultEscalation {
		switch _, err := t.Escalation(ctx, d.Escalation); {
		case errors.Is(err, store.ErrNotFound):
			problems = append(problems, watch.Problem{Field: "escalation", Text: "there is no such policy", Hint: "make it first, or leave it out"})
		case err != nil:
			return nil, err
		}
	}
	for i, dep := range d.Dependencies {
		switch _, err := t.MonitorByName(ctx, dep.Monitor); {
		case errors.Is(err, store.ErrNotFound):
			problems = append(problems, watch.Problem{Field: indexed("dependencies", i) + ".monitor", Text: "there is no such monitor"})
		case err != nil:
			return nil, err
		}
	}
	return problems, nil
}

// EditMonitor changes what the edit names. revision, unless it is 0, is the one that the
// edit is based on. What watch.Loosens names needs a proof when something is approved of
// the monitor.
func (o *Ops) EditMonitor(ctx context.Context, actor people.Actor, id, revision int64, edit MonitorEdit, p Proof) (Monitor, error) {
	if err := may(actor, people.Write); err != nil {
		return Monitor{}, err
	}
	return o.edit(ctx, actor, p, func(ctx context.Context, t *store.Tx) (*watch.Monitor, error) {
		m, err := t.Monitor(ctx, id)
		if err == nil && revision != 0 && m.Revision != revision {
			err = store.ErrConflict
		}
		return m, err
	}, edit.apply)
}

// PutMonitor makes the monitor that the caller knows by an id of its own what in says,
// and reports whether it was made by that. It can be repeated. Headers without a value
// keep the one that is stored.
func (o *Ops) PutMonitor(ctx context.Context, actor people.Actor, externalID string, in MonitorInput, p Proof) (out Monitor, created bool, err error) {
	if err := may(actor, people.Write); err != nil {
		return Monitor{}, false, err
	}
	if problems := checkExternalID(externalID); externalID == "" || len(problems) > 0 {
		return Monitor{}, false, invalid(watch.Problem{Field: "external_id", Text: "has a blank, a slash or a control character"})
	}
	if in.ExternalID != "" && in.ExternalID != externalID {
		return Monitor{}, false, invalid(watch.Problem{Field: "external_id", Text: "is not the one of the address", Hint: "leave it out"})
	}
	in.ExternalID = externalID
	_, err = o.MonitorByExternalID(ctx, actor, externalID)
	if is(err, NotFound) {
		if out, err = o.CreateMonitor(ctx, actor, in); err == nil {
			return out, true, nil
		}
		if !is(err, Exists) {
			return Monitor{}, false, err
		}
		// Made meanwhile, perhaps by the same request. If the name is what is taken,
		// it is not found now either.
		var again error
		if _, again = o.MonitorByExternalID(ctx, actor, externalID); again != nil {
			return Monitor{}, false, err
		}
	} else if err != nil {
		return Monitor{}, false, err
	}
	out, err = o.edit(ctx, actor, p, func(ctx context.Context, t *store.Tx) (*watch.Monitor, error) {
		return t.MonitorByExternalID(ctx, externalID)
	}, func(Fields) Fields { return in.Fields })
	if err == nil && out.Paused != in.Paused {
		out, err = o.setPaused(ctx, actor, out.ID, in.Paused)
	}
	return out, false, err
}

// edit changes a monitor. The proof is made between two transactions, as checking a
// password takes long: when the second finds another change than was proven, it refuses.
func (o *Ops) edit(ctx context.Context, actor people.Actor, p Proof,
	find func(context.Context, *store.Tx) (*watch.Monitor, error), next func(Fields) Fields,
) (Monitor, error) {
	var (
		out    Monitor
		needs  []string
		id     int64
		proven people.Proof
	)
	for range 2 {
		again := false
		err := o.change(ctx, "monitor", func(t *store.Tx) error {
			m, err := find(ctx, t)
			if err != nil {
				return err
			}
			id = m.ID
			c, err := o.prepare(ctx, t, m, next)
			if err != nil {
				return err
			}
			if needs = c.needs; len(needs) > 0 && !fits(proven, people.Statement{Action: people.ActionEdit, Monitor: m.ID, Items: needs}) {
				again = true
				return nil
			}
			out, err = o.save(ctx, t, actor, m, c)
			return err
		})
		if err != nil || !again {
			return out, err
		}
		if proven.Valid() {
			break
		}
		st := people.Statement{Action: people.ActionEdit, Monitor: id, Items: needs}
		if proven, err = o.prove(ctx, actor, p, "to change "+strings.Join(needs, ", ")+" of a monitor with an approved surface", st); err != nil {
			return Monitor{}, needing(err, needs)
		}
	}
	return Monitor{}, told("monitor", store.ErrConflict)
}

// needing adds what takes a proof to why there is none.
func needing(err error, needs []string) error {
	var refused *Error
	if errors.As(err, &refused) {
		refused.Needs = needs
	}
	return err
}

func fits(p people.Proof, st people.Statement) bool {
	return p.Valid() && reflect.DeepEqual(p.Statement(), st)
}

// planned is a change of a monitor that was found to be right.
type planned struct {
	after          watch.Definition
	values         map[string]string
	headersChanged bool
	needs          []string // what in it needs a proof
}

func (o *Ops) prepare(ctx context.Context, t *store.Tx, m *watch.Monitor, next func(Fields) Fields) (*planned, error) {
	if m.Source == watch.FromFile {
		return nil, fileOwned("monitor", m.Definition.Name)
	}
	stored, err := t.Headers(ctx, m.ID)
	if err != nil {
		return nil, err
	}
	fields := next(fieldsOf(&m.Definition))
	c := &planned{}
	if fields.AuthMode != "" && fields.AuthMode != watch.AuthHeader && m.Definition.AuthMode == watch.AuthHeader && onlyNames(fields.Headers) {
		fields.Headers = nil // leaving the mode drops them
	}
	c.after = fields.definition()
	var problems []watch.Problem
	c.values, c.headersChanged, problems = secrets(&fields, &c.after, stored, otherHost(m.Definition.URL, c.after.URL))
	problems = append(problems, c.after.Validate(watch.FromAPI)...)
	more, err := o.references(ctx, t, &c.after)
	if err != nil {
		return nil, err
	}
	if problems = append(problems, more...); len(problems) > 0 {
		return nil, invalid(problems...)
	}
	if guarded(m) {
		c.needs = watch.Loosens(&m.Definition, &c.after, c.headersChanged)
		entered, err := o.enters(ctx, t, m, &c.after)
		if err != nil {
			return nil, err
		}
		c.needs = append(c.needs, entered...)
	}
	return c, nil
}

// enters are the windows of an expected change that a change of name, tags or group
// brings a monitor into.
func (o *Ops) enters(ctx context.Context, t *store.Tx, m *watch.Monitor, after *watch.Definition) (names []string, err error) {
	windows, err := t.Windows(ctx)
	if err != nil {
		return nil, err
	}
	next := *m
	next.Definition = *after
	for i := range windows {
		w := &windows[i]
		if w.Kind == watch.ExpectedChange && w.Concerns(&next) && !w.Concerns(m) {
			names = append(names, "the window "+w.Name)
		}
	}
	return names, nil
}

func onlyNames(headers []Header) bool {
	return !slices.ContainsFunc(headers, func(h Header) bool { return h.Value != "" })
}

func (o *Ops) save(ctx context.Context, t *store.Tx, actor people.Actor, m *watch.Monitor, c *planned) (Monitor, error) {
	changed := differences(fieldsOf(&m.Definition), fieldsOf(&c.after), c.headersChanged)
	if len(changed) > 0 {
		revision := m.Revision
		m.Definition, m.UpdatedAt = c.after, o.now()
		if err := t.UpdateMonitor(ctx, m, revision); err != nil {
			return Monitor{}, told("monitor", err)
		}
		if c.headersChanged {
			if err := t.SetHeaders(ctx, m.ID, c.values); err != nil {
				return Monitor{}, err
			}
		}
		e := o.event(watch.EventEdited, m, actor, "changed: "+strings.Join(changed, ", "))
		if err := t.InsertEvents(ctx, []watch.Event{e}); err != nil {
			return Monitor{}, err
		}
		if err := o.audit(ctx, t, actor, "monitor.edit", monitorNamed(m), e.Text); err != nil {
			return Monitor{}, err
		}
	}
	st, err := stateOf(ctx, t, m.ID, false)
	return shown(m, st, o.now()), err
}

// differences are the members that differ.
func differences(before, after Fields, headers bool) (names []string) {
	b, a := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range b.NumField() {
		name, _, _ := strings.Cut(b.Type().Field(i).Tag.Get("json"), ",")
		x, y := b.Field(i), a.Field(i)
		same := reflect.DeepEqual(x.Interface(), y.Interface())
		if x.Kind() == reflect.Slice || x.Kind() == reflect.Map {
			same = same || x.Len() == 0 && y.Len() == 0
		}
		if !same || name == "headers" && headers {
			names = append(names, name)
		}
	}
	return names
}

// DeleteMonitor removes a monitor and its history. When something was approved of it,
// that takes what an approval takes: who deletes it and makes it again has its next
// surface taken for the first one.
func (o *Ops) DeleteMonitor(ctx context.Context, actor people.Actor, id int64, p Proof) error {
	if err := may(actor, people.Write); err != nil {
		return err
	}
	st := people.Statement{Action: people.ActionUnapprove, Monitor: id}
	var proven people.Proof
	for {
		again := false
		err := o.change(ctx, "monitor", func(t *store.Tx) error {
			// Locked before anything else: a check that is decided about meanwhile would
			// open an incident of a monitor that is gone.
			if _, err := stateOf(ctx, t, id, true); err != nil {
				return err
			}
			m, err := t.Monitor(ctx, id)
			if err != nil {
				return err
			}
			if m.Source == watch.FromFile {
				return fileOwned("monitor", m.Definition.Name)
			}
			if guarded(m) && !fits(proven, st) {
				again = true
				return nil
			}
			return o.remove(ctx, t, actor, m)
		})
		if err != nil || !again {
			return err
		}
		if proven, err = o.prove(ctx, actor, p, "to delete a monitor with an approved surface", st); err != nil {
			return err
		}
	}
}

func (o *Ops) remove(ctx context.Context, t *store.Tx, actor people.Actor, m *watch.Monitor) error {
	events := []watch.Event{o.event(watch.EventDeleted, m, actor, "monitor "+m.Definition.Name+" was deleted")}
	if err := o.close(ctx, t, m, watch.Removed, events); err != nil {
		return err
	}
	if err := o.audit(ctx, t, actor, "monitor.delete", monitorNamed(m), m.Definition.URL); err != nil {
		return err
	}
	return t.DeleteMonitor(ctx, m.ID)
}

// close resolves what is over now that a monitor is not checked any more, and writes the
// events of that after those given.
func (o *Ops) close(ctx context.Context, t *store.Tx, m *watch.Monitor,
	over func(*watch.Monitor, []watch.Incident, time.Time) ([]watch.Incident, []watch.Event), events []watch.Event,
) error {
	open, err := t.OpenIncidents(ctx, []int64{m.ID})
	if err != nil {
		return err
	}
	incidents, more := over(m, open[m.ID], o.now())
	if err := t.SaveIncidents(ctx, incidents); err != nil {
		return err
	}
	return t.InsertEvents(ctx, append(events, more...))
}

// PauseMonitor stops the checks of a monitor and resolves what is open of its
// availability; what is open of its surface and posture stays. ResumeMonitor starts the
// checks again. Both can be repeated.
func (o *Ops) PauseMonitor(ctx context.Context, actor people.Actor, id int64) (Monitor, error) {
	return o.setPaused(ctx, actor, id, true)
}

// ResumeMonitor is described at PauseMonitor.
func (o *Ops) ResumeMonitor(ctx context.Context, actor people.Actor, id int64) (Monitor, error) {
	return o.setPaused(ctx, actor, id, false)
}

func (o *Ops) setPaused(ctx context.Context, actor people.Actor, id int64, paused bool) (Monitor, error) {
	if err := may(actor, people.Write); err != nil {
		return Monitor{}, err
	}
	var out Monitor
	err := o.change(ctx, "monitor", func(t *store.Tx) error {
		m, err := t.Monitor(ctx, id)
		if err != nil {
			return err
		}
		if m.Paused != paused {
			if m.Source == watch.FromFile {
				return fileOwned("monitor", m.Definition.Name)
			}
			if err := o.switchPause(ctx, t, actor, m, paused); err != nil {
				return err
			}
		}
		st, err := stateOf(ctx, t, id, false)
		out = shown(m, st, o.now())
		return err
	})
	return out, err
}

func (o *Ops) switchPause(ctx context.Context, t *store.Tx, actor people.Actor, m *watch.Monitor, paused bool) error {
	revision := m.Revision
	m.Paused, m.UpdatedAt = paused, o.now()
	if err := t.UpdateMonitor(ctx, m, revision); err != nil {
		return err
	}
	action := "monitor.pause"
	if !paused {
		action = "monitor.resume"
	}
	if err := o.audit(ctx, t, actor, action, monitorNamed(m), ""); err != nil {
		return err
	}
	if !paused {
		return t.InsertEvents(ctx, []watch.Event{o.event(watch.EventResumed, m, actor, "checks go on")})
	}
	return o.close(ctx, t, m, watch.Stopped, []watch.Event{o.event(watch.EventPaused, m, actor, "checks stop")})
}

// RunNow has a monitor checked as soon as a worker is free. The result appears among
// its results with the kind manual.
func (o *Ops) RunNow(ctx context.Context, actor people.Actor, id int64) (Monitor, error) {
	if err := may(actor, people.Write); err != nil {
		return Monitor{}, err
	}
	var out Monitor
	err := o.change(ctx, "monitor", func(t *store.Tx) error {
		m, err := t.Monitor(ctx, id)
		if err != nil {
			return err
		}
		if m.Paused {
			return store.ErrPaused
		}
		if err := t.RunNow(ctx, id, o.now()); err != nil {
			return err
		}
		st, err := stateOf(ctx, t, id, false)
		out = shown(m, st, o.now())
		return err
	})
	return out, err
}

// Monitor is one monitor.
func (o *Ops) Monitor(ctx context.Context, actor people.Actor, id int64) (Monitor, error) {
	return o.oneMonitor(ctx, actor, func(t *store.Tx) (*watch.Monitor, error) { return t.Monitor(ctx, id) })
}

// MonitorByName is the monitor of that name.
func (o *Ops) MonitorByName(ctx context.Context, actor people.Actor, name string) (Monitor, error) {
	return o.oneMonitor(ctx, actor, func(t *store.Tx) (*watch.Monitor, error) { return t.MonitorByName(ctx, name) })
}

// MonitorByExternalID is the monitor that the caller knows by an id of its own.
func (o *Ops) MonitorByExternalID(ctx context.Context, actor people.Actor, id string) (Monitor, error) {
	return o.oneMonitor(ctx, actor, func(t *store.Tx) (*watch.Monitor, error) { return t.MonitorByExternalID(ctx, id) })
}

func (o *Ops) oneMonitor(ctx context.Context, actor people.Actor, find func(*store.Tx) (*watch.Monitor, error)) (Monitor, error) {
	if err := may(actor, people.Read); err != nil {
		return Monitor{}, err
	}
	var out Monitor
	err := o.view(ctx, "monitor", func(t *store.Tx) error {
		m, err := find(t)
		if err != nil {
			return err
		}
		st, err := stateOf(ctx, t, m.ID, false)
		if err != nil {
			return err
		}
		out = shown(m, st, o.now())
		standing, err := o.proposals(ctx, t, m, st)
		out.Proposals = proposalsOf(standing)
		return err
	})
	return out, err
}

// Monitors are the monitors that a filter selects, by id.
func (o *Ops) Monitors(ctx context.Context, actor people.Actor, f store.MonitorFilter) (Page[Monitor], error) {
	if err := may(actor, people.Read); err != nil {
		return Page[Monitor]{}, err
	}
	var out Page[Monitor]
	err := o.view(ctx, "monitor", func(t *store.Tx) error {
		rows, next, err := t.Monitors(ctx, f)
		if err != nil {
			return err
		}
		items := make([]Monitor, 0, len(rows))
		for i := range rows {
			items = append(items, shownRow(&rows[i], o.now()))
		}
		out = pageOf(items, cursor(next))
		return nil
	})
	return out, err
}

func cursor(next int64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatInt(next, 10)
}
