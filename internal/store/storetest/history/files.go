package history

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func fileMonitor(name string) watch.Monitor { return watch.Monitor{Definition: definition(name)} }

func fileContent() store.FileContent {
	return store.FileContent{
		Name:        "mcpvigil.yaml",
		Monitors:    []watch.Monitor{fileMonitor("search"), fileMonitor("files")},
		Channels:    []watch.Channel{{Name: "pager", Type: "webhook", Shown: "h", Settings: map[string]string{"url": "https://h"}}},
		Escalations: []watch.Escalation{{Name: "on-call", Steps: []watch.Step{{Channels: []string{"pager"}}}}},
		Windows:     []watch.Window{{Name: "patches", Kind: watch.Maintenance, Days: []string{"sun"}, From: "03:00", Zone: "UTC"}},
	}
}

// replace replaces what files own at some hours after day0.
func (b *bench) replace(content store.FileContent, hours int) store.FileChange {
	b.Helper()
	var change store.FileChange
	b.do(func(ctx context.Context, t *store.Tx) (err error) {
		change, err = t.ReplaceFile(ctx, content, day0().Add(time.Duration(hours)*time.Hour))
		return err
	})
	return change
}

func (b *bench) byName(name string) watch.Monitor {
	b.Helper()
	var out watch.Monitor
	b.do(func(ctx context.Context, t *store.Tx) error {
		m, err := t.MonitorByName(ctx, name)
		if err == nil {
			out = *m
		}
		return err
	})
	return out
}

// said are the events since the last call, as "monitor name actor".
func (b *bench) said(after *int64) []watch.Event {
	b.Helper()
	var out []watch.Event
	b.do(func(ctx context.Context, t *store.Tx) (err error) {
		out, _, err = t.Events(ctx, store.EventFilter{After: *after, Ascending: true})
		return err
	})
	for i := range out {
		*after = out[i].ID
		out[i].ID = 0
	}
	return out
}

func testFileSame(t *testing.T, b *bench) {
	content := fileContent()
	same(t, "change", store.FileChange{
		Created: []string{"channel pager", "escalation on-call", "window patches", "monitor search", "monitor files"},
	}, b.replace(content, 0))
	search := b.byName("search")
	same(t, "source", watch.FromFile, search.Source)
	same(t, "schedule rows", 2, b.number("select count(*) from schedule where due is not null"))
	state := watch.State{Monitor: search.ID, Revision: search.Revision, Check: watch.CheckPass, LastCheck: day0()}
	b.do(func(ctx context.Context, t *store.Tx) error { return t.SaveStates(ctx, []watch.State{state}) })
	due := b.number("select sum(due) from schedule")
	var last int64
	b.said(&last)

	if again := b.replace(fileContent(), 1); !again.Empty() {
		t.Errorf("the same file made %+v", again)
	}
	same(t, "content is left alone", fileContent(), content)
	same(t, "monitor", search, b.byName("search"))
	same(t, "schedule", due, b.number("select sum(due) from schedule"))
	same(t, "states", 1, b.number("select count(*) from states"))
	if events := b.said(&last); len(events) > 0 {
		t.Errorf("the same file is told as %v", events)
	}
	b.do(func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.ChannelByName(ctx, "pager")
		if err == nil {
			same(t, "settings", map[string]string{"url": "https://h"}, c.Settings)
			same(t, "source", watch.FromFile, c.Source)
		}
		return err
	})
}

func testFileChanges(t *testing.T, b *bench) {
	b.replace(fileContent(), 0)
	search, files := b.byName("search"), b.byName("files")
	incident := watch.Incident{
		Monitor: files.ID, Axis: watch.Availability, Key: "files/1", State: watch.Down, OpenedAt: day0(), Escalation: "on-call",
	}
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.SaveStates(ctx, []watch.State{{Monitor: search.ID, Revision: search.Revision, Check: watch.CheckPass}}); err != nil {
			return err
		}
		return t.SaveIncidents(ctx, []watch.Incident{incident})
	})
	var last int64
	same(t, "events of what was made", []watch.Event{
		{Monitor: search.ID, At: day0(), Name: watch.EventCreated, Text: "monitor search was added to the file", Actor: "file:mcpvigil.yaml"},
		{Monitor: files.ID, At: day0(), Name: watch.EventCreated, Text: "monitor files was added to the file", Actor: "file:mcpvigil.yaml"},
	}, b.said(&last))

	content := fileContent()
	content.Monitors = []watch.Monitor{fileMonitor("search"), fileMonitor("new")}
	content.Monitors[0].Definition.URL = "https://elsewhere.example.com/mcp"
	content.Monitors[0].Definition.Interval = watch.Duration(time.Minute)
	content.Channels[0].Settings["url"] = "https://other"
	content.Escalations[0].Repeat = 1
	content.Windows = nil
	same(t, "change", store.FileChange{
		Created: []string{"monitor new"},
		Changed: []string{"channel pager", "escalation on-call", "monitor search"},
		Removed: []string{"window patches", "monitor files"},
	}, b.replace(content, 1))

	edited := b.byName("search")
	if edited.ID != search.ID || edited.Revision <= search.Revision {
		t.Errorf("id %d and revision %d, before %d and %d", edited.ID, edited.Revision, search.ID, search.Revision)
	}
	same(t, "endpoint", "https://elsewhere.example.com/mcp", edited.Definition.URL)
	same(t, "created", search.CreatedAt, edited.CreatedAt)
	same(t, "states that stay", 1, b.number("select count(*) from states where monitor = $1", search.ID))
	same(t, "interval of the schedule", 60_000, b.number("select interval_ms from schedule where monitor = $1", search.ID))
	b.do(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.MonitorByName(ctx, "files")
		wantError(t, err, store.ErrNotFound)
		open, err := tx.OpenIncidents(ctx, []int64{files.ID})
		if len(open) > 0 {
			t.Errorf("incidents of a removed monitor are open: %v", open)
		}
		return err
	})
	var names []string
	for _, e := range b.said(&last) {
		if !e.At.Equal(day0().Add(time.Hour)) {
			t.Errorf("event %s is of %s", e.Name, e.At)
		}
		names = append(names, e.Name+" "+e.Text)
	}
	resolved := slices.IndexFunc(names, func(s string) bool { return s[:len(watch.EventResolved)] == watch.EventResolved })
	if resolved < 0 {
		t.Fatalf("no %s in %q", watch.EventResolved, names)
	}
	names = slices.Delete(names, resolved, resolved+1)
	same(t, "events", []string{
		watch.EventDeleted + " monitor files was removed from the file",
		watch.EventEdited + " the file changed interval, url",
		watch.EventCreated + " monitor new was added to the file",
	}, names)

	content.Monitors[1].Paused = true
	same(t, "paused", store.FileChange{Changed: []string{"monitor new"}}, b.replace(content, 2))
	same(t, "not due", 0, b.number("select count(*) from schedule where monitor = $1 and due is not null", b.byName("new").ID))
	content.Monitors[1].Paused = false
	b.replace(content, 3)
	names = nil
	for _, e := range b.said(&last) {
		names = append(names, e.Name)
	}
	same(t, "events of a pause", []string{watch.EventPaused, watch.EventResumed}, names)
}

func testFileOwned(t *testing.T, b *bench) {
	api := b.monitor("theirs")
	c, e := channel("their-channel"), watch.Escalation{Name: "their-policy", Source: watch.FromAPI}
	w := watch.Window{Name: "their-window", Source: watch.FromAPI, Kind: watch.Maintenance}
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.PutChannel(ctx, &c); err != nil {
			return err
		}
		if err := t.PutEscalation(ctx, &e); err != nil {
			return err
		}
		return t.PutWindow(ctx, &w, "user:ann")
	})
	b.replace(fileContent(), 0)
	rows := func() []int64 {
		var out []int64
		for _, table := range []string{"monitors", "channels", "escalations", "windows"} {
			out = append(out, b.number("select count(*) from "+table+" where source = 'api'"),
				b.number("select count(*) from "+table+" where source = 'file'"))
		}
		return out
	}
	before := rows()
	for _, test := range []struct {
		want   store.OwnedError
		change func(*store.FileContent)
	}{
		{store.OwnedError{Kind: "monitor", Name: "theirs", Owner: watch.FromAPI}, func(f *store.FileContent) {
			f.Monitors = append(f.Monitors, fileMonitor("theirs"))
		}},
		{store.OwnedError{Kind: "channel", Name: "their-channel", Owner: watch.FromAPI}, func(f *store.FileContent) { f.Channels[0].Name = "their-channel" }},
		{store.OwnedError{Kind: "escalation", Name: "their-policy", Owner: watch.FromAPI}, func(f *store.FileContent) { f.Escalations[0].Name = "their-policy" }},
		{store.OwnedError{Kind: "window", Name: "their-window", Owner: watch.FromAPI}, func(f *store.FileContent) { f.Windows[0].Name = "their-window" }},
	} {
		content := fileContent()
		content.Monitors = content.Monitors[:1] // what would be removed has to stay
		test.change(&content)
		err := b.try(func(ctx context.Context, t *store.Tx) error {
			_, err := t.ReplaceFile(ctx, content, day0())
			return err
		})
		wantOwned(t, err, test.want)
		same(t, "rows of api and file", before, rows())
	}
	twice := fileContent()
	twice.Monitors[1].Definition.Name = "search"
	err := b.try(func(ctx context.Context, t *store.Tx) error {
		_, err := t.ReplaceFile(ctx, twice, day0())
		return err
	})
	if err == nil {
		t.Error("two monitors of one name are taken")
	}
	change := b.replace(store.FileContent{Name: "mcpvigil.yaml"}, 1)
	same(t, "removed", 5, len(change.Removed))
	same(t, "the API's monitor", api, b.byName("theirs").ID)
	same(t, "rows of api and file", []int64{1, 0, 1, 0, 1, 0, 1, 0}, rows())
}
