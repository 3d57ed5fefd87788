package history

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func channel(name string) watch.Channel {
	return watch.Channel{
		Name: name, Type: "webhook", Source: watch.FromAPI, Shown: "hooks.example.com",
		Settings:  map[string]string{"url": "https://hooks.example.com/s3cret"},
		CreatedAt: day0(), UpdatedAt: day0(),
	}
}

func testChannels(t *testing.T, b *bench) {
	pager, chat := channel("pager"), channel("chat")
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.PutChannel(ctx, &pager); err != nil {
			return err
		}
		return t.PutChannel(ctx, &chat)
	})
	if pager.ID == 0 || pager.ID == chat.ID {
		t.Fatalf("ids %d and %d", pager.ID, chat.ID)
	}
	b.do(func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.Channel(ctx, pager.ID)
		if err != nil {
			return err
		}
		same(t, "by id", &pager, got)
		if got, err = tx.ChannelByName(ctx, "chat"); err != nil {
			return err
		}
		same(t, "by name", &chat, got)
		all, err := tx.Channels(ctx)
		public := []watch.Channel{chat, pager}
		public[0].Settings, public[1].Settings = nil, nil
		same(t, "all, by name and without settings", public, all)
		return err
	})
	var stored []byte
	b.do(func(ctx context.Context, t *store.Tx) error {
		return t.SQL().QueryRowContext(ctx, "select settings from channels where name = 'pager'").Scan(&stored)
	})
	if bytes.Contains(stored, []byte("s3cret")) {
		t.Error("settings are stored readable")
	}

	t.Run("another name, the settings kept", func(t *testing.T) { testRenamedChannel(t, b.on(t), pager) })
	t.Run("refused", func(t *testing.T) { testRefusedChannels(t, b.on(t), pager, chat) })
	b.do(func(ctx context.Context, t *store.Tx) error { return t.DeleteChannel(ctx, chat.ID) })
	wantError(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.DeleteChannel(ctx, chat.ID) }), store.ErrNotFound)
}

func testRenamedChannel(t *testing.T, b *bench, pager watch.Channel) {
	renamed := watch.Channel{
		ID: pager.ID, Name: "night", Type: "webhook", Source: watch.FromAPI, Shown: "elsewhere",
		CreatedAt: day0().Add(time.Hour), UpdatedAt: day0().Add(time.Hour),
	}
	b.do(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutChannel(ctx, &renamed); err != nil {
			return err
		}
		got, err := tx.ChannelByName(ctx, "night")
		if err != nil {
			return err
		}
		want := pager
		want.Name, want.Shown, want.UpdatedAt = "night", "elsewhere", renamed.UpdatedAt
		same(t, "renamed", &want, got)
		_, err = tx.ChannelByName(ctx, "pager")
		wantError(t, err, store.ErrNotFound)
		return nil
	})
}

func testRefusedChannels(t *testing.T, b *bench, pager, chat watch.Channel) {
	again := channel("chat")
	wantExists(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &again) }), "name")
	other := channel("chat")
	other.ID = pager.ID
	wantExists(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &other) }), "name")
	missing := channel("new")
	missing.ID = 12345
	wantError(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &missing) }), store.ErrNotFound)
	owned := channel("chat")
	owned.ID, owned.Source = chat.ID, watch.FromFile
	wantOwned(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &owned) }),
		store.OwnedError{Kind: "channel", Name: "chat", Owner: watch.FromAPI})
}

func testChannelsWithoutKey(t *testing.T, b *bench) {
	c := channel("pager")
	b.do(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &c) })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	o := b.options
	o.Sealer = nil
	b.Store = b.open(o)
	fresh := channel("new")
	wantError(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutChannel(ctx, &fresh) }), store.ErrNoKey)
	b.do(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Channel(ctx, c.ID)
		wantError(t, err, store.ErrNoKey)
		all, err := tx.Channels(ctx)
		if len(all) != 1 {
			t.Errorf("%d channels are listed, want 1", len(all))
		}
		return err
	})
}

func testEscalations(t *testing.T, b *bench) {
	e := watch.Escalation{
		Name: "on-call", Source: watch.FromAPI, On: []string{watch.Down}, Repeat: 2,
		Steps: []watch.Step{{Channels: []string{"chat"}}, {Delay: watch.Duration(5 * time.Minute), Channels: []string{"pager"}}},
	}
	b.do(func(ctx context.Context, t *store.Tx) error { return t.PutEscalation(ctx, &e) })
	e.Repeat = 3
	b.do(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutEscalation(ctx, &e); err != nil {
			return err
		}
		got, err := tx.Escalation(ctx, "on-call")
		same(t, "escalation", &e, got)
		return err
	})
	fromFile := e
	fromFile.Source = watch.FromFile
	wantOwned(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutEscalation(ctx, &fromFile) }),
		store.OwnedError{Kind: "escalation", Name: "on-call", Owner: watch.FromAPI})
	b.do(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Escalations(ctx)
		same(t, "all", []watch.Escalation{e}, all)
		if err != nil {
			return err
		}
		return tx.DeleteEscalation(ctx, "on-call")
	})
	b.do(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Escalation(ctx, "on-call")
		wantError(t, err, store.ErrNotFound)
		wantError(t, tx.DeleteEscalation(ctx, "on-call"), store.ErrNotFound)
		return nil
	})
}

func testWindows(t *testing.T, b *bench) {
	w := watch.Window{
		Name: "patches", Source: watch.FromAPI, Kind: watch.Maintenance, Tags: []string{"prod"},
		Days: []string{"sun"}, From: "03:00", For: watch.Duration(2 * time.Hour), Zone: "Europe/Berlin",
	}
	b.do(func(ctx context.Context, t *store.Tx) error { return t.PutWindow(ctx, &w, "user:ann") })
	w.From = "04:00"
	b.do(func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutWindow(ctx, &w, "user:bob"); err != nil {
			return err
		}
		got, err := tx.Window(ctx, w.ID)
		same(t, "window", &w, got)
		return err
	})
	again, missing, owned := w, w, w
	again.ID, missing.ID, owned.Source = 0, 12345, watch.FromFile
	wantExists(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutWindow(ctx, &again, "") }), "name")
	wantError(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutWindow(ctx, &missing, "") }), store.ErrNotFound)
	wantOwned(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.PutWindow(ctx, &owned, "") }),
		store.OwnedError{Kind: "window", Name: "patches", Owner: watch.FromAPI})
	b.do(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Windows(ctx)
		same(t, "all", []watch.Window{w}, all)
		if err != nil {
			return err
		}
		return tx.DeleteWindow(ctx, w.ID)
	})
	wantError(t, b.try(func(ctx context.Context, t *store.Tx) error { return t.DeleteWindow(ctx, w.ID) }), store.ErrNotFound)
}

func testSettings(t *testing.T, b *bench) {
	for _, value := range []string{"", "one", "two", ""} {
		b.do(func(ctx context.Context, t *store.Tx) error { return t.SetSetting(ctx, "greeting", value) })
		b.do(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Setting(ctx, "greeting")
			same(t, "setting", value, got)
			return err
		})
	}
	same(t, "settings that are removed", 0, b.number("select count(*) from settings where name = 'greeting'"))

	first := people.AuditEntry{At: day0(), Actor: "user:ann", Action: "login", Object: "", Detail: "127.0.0.1"}
	second := people.AuditEntry{At: day0().Add(time.Second), Actor: "key:ci", Action: "monitor.create", Object: "search"}
	b.do(func(ctx context.Context, t *store.Tx) error {
		if err := t.Audit(ctx, first); err != nil {
			return err
		}
		return t.Audit(ctx, second)
	})
	b.do(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.AuditLog(ctx, store.AuditFilter{})
		if err != nil || len(all) != 2 {
			t.Fatalf("audit %v, %v", all, err)
		}
		second.ID, first.ID = all[0].ID, all[1].ID
		first.Hash = first.Chain("")
		second.Hash = second.Chain(first.Hash)
		same(t, "the latest first", []people.AuditEntry{second, first}, all)
		for _, f := range []store.AuditFilter{{Actor: "user:ann"}, {Action: "login"}, {After: second.ID}} {
			got, err := tx.AuditLog(ctx, f)
			if err != nil {
				return err
			}
			same(t, "filtered", []people.AuditEntry{first}, got)
		}
		got, err := tx.AuditLog(ctx, store.AuditFilter{Limit: 1})
		same(t, "limited", []people.AuditEntry{second}, got)
		return err
	})
}
