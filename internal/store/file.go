package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// fileLock is the advisory lock on PostgreSQL of who replaces what files own.
const fileLock = 0x6d6376_66696c65

// FileContent is what a configuration file owns, each name once. Sources, IDs and times
// in it do not matter.
type FileContent struct {
	// Name is that of the file, for events.
	Name        string
	Monitors    []watch.Monitor
	Channels    []watch.Channel
	Escalations []watch.Escalation
	Windows     []watch.Window
}

// FileChange says what ReplaceFile did, in words such as "monitor search" and "channel
// pager".
type FileChange struct {
	Created, Changed, Removed []string
}

// Empty reports whether nothing changed.
func (c *FileChange) Empty() bool {
	return len(c.Created) == 0 && len(c.Changed) == 0 && len(c.Removed) == 0
}

// OwnedError is the error for a name that belongs to the other source.
type OwnedError struct {
	Kind  string // monitor, channel, escalation or window
	Name  string
	Owner watch.Source
}

// Error says who owns it and what to do.
func (e *OwnedError) Error() string {
	if e.Owner == watch.FromAPI {
		return fmt.Sprintf("the %s %q was made through the API: give it another name in the file, or delete that one first", e.Kind, e.Name)
	}
	return fmt.Sprintf("the %s %q belongs to the configuration file: change it there", e.Kind, e.Name)
}

// replacing is one run of ReplaceFile.
type replacing struct {
	*Tx
	now       time.Time
	stored    []watch.Monitor
	actor     string
	change    FileChange
	events    []watch.Event
	incidents []watch.Incident
}

// ReplaceFile makes what files own equal to content, and touches nothing that the API
// owns: a name that it owns is an *OwnedError. Rows that are in both keep their ID, and
// without a change their revision and their state too. An error has to end the
// transaction.
func (t *Tx) ReplaceFile(ctx context.Context, content FileContent, now time.Time) (FileChange, error) {
	if t.postgres() {
		if _, err := t.exec(ctx, "select pg_advisory_xact_lock($1)", int64(fileLock)); err != nil {
			return FileChange{}, fmt.Errorf("wait for others that read their file: %w", err)
		}
	}
	r := &replacing{Tx: t, now: now, actor: "file:" + content.Name}
	if err := r.load(ctx); err != nil {
		return FileChange{}, err
	}
	for _, step := range []func(context.Context, FileContent) error{
		r.replaceChannels, r.replaceEscalations, r.replaceWindows, r.replaceMonitors,
	} {
		if err := step(ctx, content); err != nil {
			return FileChange{}, err
		}
	}
	if err := t.SaveIncidents(ctx, r.incidents); err != nil {
		return FileChange{}, err
	}
	if err := t.InsertEvents(ctx, r.events); err != nil {
		return FileChange{}, err
	}
	return r.change, nil
}

// load reads the monitors, and keeps those of files as they are. That comes before
// anything else, as in every transaction that changes monitors.
func (r *replacing) load(ctx context.Context) error {
	ids, err := r.ids(ctx, "select id from monitors where source = $1 order by id", string(watch.FromFile))
	if err != nil {
		return err
	}
	if err := r.lockMonitors(ctx, ids); err != nil {
		return fmt.Errorf("lock monitors: %w", err)
	}
	r.stored, err = r.AllMonitors(ctx)
	return err
}

// owned is one kind of what files own: what is stored of it, what is wanted, and how.
type owned[T any] struct {
	kind           string
	stored, wanted []T
	name           func(*T) string
	source         func(*T) watch.Source
	// equal compares a stored row with a wanted one.
	equal          func(stored, wanted *T) bool
	create, remove func(*T) error
	update         func(stored, wanted *T) error
}

func (o *owned[T]) replace(r *replacing) error {
	stored := map[string]*T{}
	for i := range o.stored {
		stored[o.name(&o.stored[i])] = &o.stored[i]
	}
	wanted := map[string]bool{}
	for i := range o.wanted {
		name := o.name(&o.wanted[i])
		if wanted[name] {
			return fmt.Errorf("the %s %q stands in the file twice: rename one", o.kind, name)
		}
		wanted[name] = true
		if s := stored[name]; s != nil && o.source(s) != watch.FromFile {
			return &OwnedError{Kind: o.kind, Name: name, Owner: o.source(s)}
		}
	}
	for i := range o.stored {
		s := &o.stored[i]
		if o.source(s) != watch.FromFile || wanted[o.name(s)] {
			continue
		}
		if err := o.remove(s); err != nil {
			return err
		}
		r.change.Removed = append(r.change.Removed, o.kind+" "+o.name(s))
	}
	for i := range o.wanted {
		w := &o.wanted[i]
		said := o.kind + " " + o.name(w)
		switch s := stored[o.name(w)]; {
		case s == nil:
			if err := o.create(w); err != nil {
				return fmt.Errorf("%s: %w", said, err)
			}
			r.change.Created = append(r.change.Created, said)
		case !o.equal(s, w):
			if err := o.update(s, w); err != nil {
				return fmt.Errorf("%s: %w", said, err)
			}
			r.change.Changed = append(r.change.Changed, said)
		}
	}
	return nil
}

func (r *replacing) replaceChannels(ctx context.Context, content FileContent) error {
	stored, err := r.Channels(ctx)
	if err != nil {
		return err
	}
	put := func(c *watch.Channel) error {
		if c.Settings == nil {
			c.Settings = map[string]string{}
		}
		return r.PutChannel(ctx, c)
	}
	o := owned[watch.Channel]{
		kind: "channel", stored: stored, wanted: slices.Clone(content.Channels),
		name:   func(c *watch.Channel) string { return c.Name },
		source: func(c *watch.Channel) watch.Source { return c.Source },
		equal: func(s, w *watch.Channel) bool {
			// One whose settings do not open is sealed anew.
			full, err := r.Channel(ctx, s.ID)
			return err == nil && s.Type == w.Type && s.Shown == w.Shown && maps.Equal(full.Settings, w.Settings)
		},
		create: func(w *watch.Channel) error {
			w.ID, w.Source, w.CreatedAt, w.UpdatedAt = 0, watch.FromFile, r.now, r.now
			return put(w)
		},
		update: func(s, w *watch.Channel) error {
			w.ID, w.Source, w.UpdatedAt = s.ID, watch.FromFile, r.now
			return put(w)
		},
		remove: func(s *watch.Channel) error { return r.DeleteChannel(ctx, s.ID) },
	}
	return o.replace(r)
}

func (r *replacing) replaceEscalations(ctx context.Context, content FileContent) error {
	stored, err := r.Escalations(ctx)
	if err != nil {
		return err
	}
	put := func(w *watch.Escalation) error {
		w.Source = watch.FromFile
		return r.PutEscalation(ctx, w)
	}
	o := owned[watch.Escalation]{
		kind: "escalation", stored: stored, wanted: slices.Clone(content.Escalations),
		name:   func(e *watch.Escalation) string { return e.Name },
		source: func(e *watch.Escalation) watch.Source { return e.Source },
		equal: func(s, w *watch.Escalation) bool {
			same := *w
			same.Source = s.Source
			return sameJSON(*s, same)
		},
		create: put,
		update: func(_, w *watch.Escalation) error { return put(w) },
		remove: func(s *watch.Escalation) error { return r.DeleteEscalation(ctx, s.Name) },
	}
	return o.replace(r)
}

func (r *replacing) replaceWindows(ctx context.Context, content FileContent) error {
	stored, err := r.Windows(ctx)
	if err != nil {
		return err
	}
	put := func(w *watch.Window, id int64) error {
		w.ID, w.Source = id, watch.FromFile
		return r.PutWindow(ctx, w, r.actor)
	}
	o := owned[watch.Window]{
		kind: "window", stored: stored, wanted: slices.Clone(content.Windows),
		name:   func(w *watch.Window) string { return w.Name },
		source: func(w *watch.Window) watch.Source { return w.Source },
		equal: func(s, w *watch.Window) bool {
			same := *w
			same.ID, same.Source = s.ID, s.Source
			return sameJSON(*s, same)
		},
		create: func(w *watch.Window) error { return put(w, 0) },
		update: func(s, w *watch.Window) error { return put(w, s.ID) },
		remove: func(s *watch.Window) error { return r.DeleteWindow(ctx, s.ID) },
	}
	return o.replace(r)
}

func (r *replacing) replaceMonitors(ctx context.Context, content FileContent) error {
	wanted := slices.Clone(content.Monitors)
	for i := range wanted {
		wanted[i].Definition.Normalize()
	}
	r.spread = spreadOf(r.stored, wanted)
	o := owned[watch.Monitor]{
		kind: "monitor", stored: r.stored, wanted: wanted,
		name:   func(m *watch.Monitor) string { return m.Definition.Name },
		source: func(m *watch.Monitor) watch.Source { return m.Source },
		equal: func(s, w *watch.Monitor) bool {
			return s.Paused == w.Paused && sameJSON(s.Definition, w.Definition)
		},
		create: func(w *watch.Monitor) error { return r.createMonitor(ctx, w) },
		update: func(s, w *watch.Monitor) error { return r.updateMonitor(ctx, s, w) },
		remove: func(s *watch.Monitor) error { return r.removeMonitor(ctx, s) },
	}
	return o.replace(r)
}

// spreadOf is in which time those of the wanted monitors that are new are checked first.
func spreadOf(stored, wanted []watch.Monitor) time.Duration {
	known := make(map[string]bool, len(stored))
	for i := range stored {
		known[stored[i].Definition.Name] = true
	}
	many, rate := 0, 0.0
	for i := range wanted {
		d := &wanted[i].Definition
		if wanted[i].Paused || d.Interval <= 0 {
			continue
		}
		rate += float64(len(d.Locations)) / time.Duration(d.Interval).Seconds()
		if !known[d.Name] {
			many += len(d.Locations)
		}
	}
	return within(many, rate)
}

func (r *replacing) createMonitor(ctx context.Context, w *watch.Monitor) error {
	w.ID, w.Source, w.ExternalID, w.CreatedAt, w.UpdatedAt = 0, watch.FromFile, "", r.now, r.now
	w.Revision, w.Approvals = 1, 0
	if err := r.InsertMonitor(ctx, w); err != nil {
		return err
	}
	r.event(w.ID, watch.EventCreated, "monitor "+w.Definition.Name+" was added to the file")
	return nil
}

func (r *replacing) updateMonitor(ctx context.Context, s, w *watch.Monitor) error {
	next := *s
	next.Definition, next.Paused, next.UpdatedAt = w.Definition, w.Paused, r.now
	if err := r.UpdateMonitor(ctx, &next, s.Revision); err != nil {
		return err
	}
	if fields := differing(s.Definition, w.Definition); len(fields) > 0 {
		r.event(s.ID, watch.EventEdited, "the file changed "+strings.Join(fields, ", "))
	}
	switch {
	case w.Paused && !s.Paused:
		if err := r.resolve(ctx, s, watch.Stopped); err != nil {
			return err
		}
		r.event(s.ID, watch.EventPaused, "the file pauses the monitor")
	case s.Paused && !w.Paused:
		r.event(s.ID, watch.EventResumed, "the file resumes the monitor")
	}
	return nil
}

func (r *replacing) removeMonitor(ctx context.Context, s *watch.Monitor) error {
	if err := r.resolve(ctx, s, watch.Removed); err != nil {
		return err
	}
	r.event(s.ID, watch.EventDeleted, "monitor "+s.Definition.Name+" was removed from the file")
	if err := r.DeleteMonitor(ctx, s.ID); err != nil {
		return fmt.Errorf("remove monitor %q: %w", s.Definition.Name, err)
	}
	return nil
}

// resolve ends the open incidents that are over now that a monitor is not checked any more.
func (r *replacing) resolve(ctx context.Context, m *watch.Monitor,
	over func(*watch.Monitor, []watch.Incident, time.Time) ([]watch.Incident, []watch.Event),
) error {
	open, err := r.OpenIncidents(ctx, []int64{m.ID})
	if err != nil {
		return err
	}
	incidents, events := over(m, open[m.ID], r.now)
	r.incidents = append(r.incidents, incidents...)
	r.events = append(r.events, events...)
	return nil
}

func (r *replacing) event(monitor int64, name, text string) {
	r.events = append(r.events, watch.Event{Monitor: monitor, At: r.now, Name: name, Text: text, Actor: r.actor})
}

// sameJSON compares values as they are stored.
func sameJSON[T any](a, b T) bool { return reflect.DeepEqual(members(a), members(b)) }

// members are the members of the JSON of a value.
func members(value any) map[string]any {
	var out map[string]any
	body, err := json.Marshal(value)
	if err != nil || json.Unmarshal(body, &out) != nil {
		return nil
	}
	return out
}

// differing names the members in which two definitions differ, in order.
func differing(a, b watch.Definition) []string {
	before, after := members(a), members(b)
	var out []string
	for _, names := range []map[string]any{before, after} {
		for name := range names {
			if !reflect.DeepEqual(before[name], after[name]) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}
