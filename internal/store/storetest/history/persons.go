package history

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// change runs fn as package people does.
func (b *bench) change(fn func(ctx context.Context, t people.Tx) error) error {
	return b.People().Change(b.Context(), func(t people.Tx) error { return fn(b.Context(), t) })
}

func (b *bench) changed(fn func(ctx context.Context, t people.Tx) error) {
	b.Helper()
	if err := b.change(fn); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) account(name string) people.Account {
	b.Helper()
	a := people.Account{Name: name, Role: people.Editor, Password: "$argon2id$x", CreatedAt: day0(), UpdatedAt: day0()}
	b.changed(func(ctx context.Context, t people.Tx) error { return t.PutAccount(ctx, &a) })
	return a
}

func testAccounts(t *testing.T, b *bench) {
	bob, ann := b.account("bob"), b.account("ann")
	bob.Role, bob.Disabled, bob.Password, bob.UpdatedAt = people.Admin, true, "$argon2id$y", day0().Add(time.Hour)
	b.changed(func(ctx context.Context, t people.Tx) error { return t.PutAccount(ctx, &bob) })
	err := b.People().View(b.Context(), func(tx people.Tx) error {
		all, err := tx.Accounts(b.Context())
		same(t, "accounts", []people.Account{ann, bob}, all)
		if err != nil {
			return err
		}
		got, err := tx.Account(b.Context(), bob.ID)
		same(t, "by id", bob, got)
		if err != nil {
			return err
		}
		got, err = tx.AccountByName(b.Context(), "ann")
		same(t, "by name", ann, got)
		_, missing := tx.Account(b.Context(), 12345)
		wantError(t, missing, people.ErrNotFound)
		_, missing = tx.AccountByName(b.Context(), "eve")
		wantError(t, missing, people.ErrNotFound)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	again, renamed, missing := people.Account{Name: "ann"}, ann, ann
	renamed.Name, missing.ID, missing.Name = "bob", 12345, "eve"
	wantError(t, b.change(func(ctx context.Context, t people.Tx) error { return t.PutAccount(ctx, &again) }), people.ErrExists)
	wantError(t, b.change(func(ctx context.Context, t people.Tx) error { return t.PutAccount(ctx, &renamed) }), people.ErrExists)
	wantError(t, b.change(func(ctx context.Context, t people.Tx) error { return t.PutAccount(ctx, &missing) }), people.ErrNotFound)
}

func testSessions(t *testing.T, b *bench) {
	ann, bob := b.account("ann"), b.account("bob")
	at := func(hours int) time.Time { return day0().Add(time.Duration(hours) * time.Hour) }
	row := func(token string, account int64, created int) people.SessionRow {
		return people.SessionRow{
			Token: token, Account: account, CreatedAt: at(created), SeenAt: at(created), ExpiresAt: at(created + 48),
			Address: "127.0.0.1", Agent: "Firefox",
		}
	}
	a, c, d := row("a", ann.ID, 0), row("c", ann.ID, 2), row("d", bob.ID, 1)
	b.changed(func(ctx context.Context, t people.Tx) error {
		for _, s := range []people.SessionRow{a, c, d} {
			if err := t.InsertSession(ctx, s); err != nil {
				return err
			}
		}
		return t.TouchSession(ctx, "a", at(3))
	})
	a.SeenAt = at(3)
	left := func(what string, account int64, want ...people.SessionRow) {
		t.Helper()
		b.changed(func(ctx context.Context, tx people.Tx) error {
			got, err := tx.Sessions(ctx, account)
			same(t, what, want, got)
			return err
		})
	}
	left("sessions, the newest first", ann.ID, c, a)
	b.changed(func(ctx context.Context, tx people.Tx) error {
		got, err := tx.Session(ctx, "d")
		same(t, "session", d, got)
		_, missing := tx.Session(ctx, "x")
		wantError(t, missing, people.ErrNotFound)
		if err != nil {
			return err
		}
		if err := tx.TouchSession(ctx, "x", at(1)); err != nil {
			return err
		}
		if err := tx.DeleteSession(ctx, "x"); err != nil {
			return err
		}
		return tx.DeleteSessions(ctx, ann.ID, "a")
	})
	left("after the others were ended", ann.ID, a)
	left("another account", bob.ID, d)
	b.changed(func(ctx context.Context, t people.Tx) error { return t.DeleteOldSessions(ctx, at(2), at(4)) })
	left("idle ones", bob.ID)
	left("one in use", ann.ID, a)
	b.changed(func(ctx context.Context, t people.Tx) error { return t.DeleteOldSessions(ctx, at(2), at(49)) })
	left("one that expired", ann.ID)
}

func testKeys(t *testing.T, b *bench) {
	ci := people.Key{Name: "ci", Role: people.Editor, CreatedBy: "ann", CreatedAt: day0(), Hash: "11"}
	app := people.Key{Name: "app", Role: people.Viewer, CreatedBy: "ann", CreatedAt: day0(), ExpiresAt: day0().Add(time.Hour), Hash: "22"}
	b.changed(func(ctx context.Context, t people.Tx) error {
		if err := t.PutKey(ctx, &ci); err != nil {
			return err
		}
		return t.PutKey(ctx, &app)
	})
	ci.RevokedAt, ci.UsedAt = day0().Add(2*time.Hour), day0().Add(time.Minute)
	b.changed(func(ctx context.Context, tx people.Tx) error {
		if err := tx.PutKey(ctx, &ci); err != nil {
			return err
		}
		if err := tx.TouchKey(ctx, ci.ID, ci.UsedAt); err != nil {
			return err
		}
		all, err := tx.Keys(ctx)
		same(t, "keys", []people.Key{app, ci}, all)
		if err != nil {
			return err
		}
		got, err := tx.Key(ctx, app.ID)
		same(t, "by id", app, got)
		if err != nil {
			return err
		}
		got, err = tx.KeyByHash(ctx, "11")
		same(t, "by hash", ci, got)
		_, missing := tx.KeyByHash(ctx, "33")
		wantError(t, missing, people.ErrNotFound)
		wantError(t, tx.TouchKey(ctx, 12345, day0()), people.ErrNotFound)
		return err
	})
	again := people.Key{Name: "ci", Hash: "44"}
	wantError(t, b.change(func(ctx context.Context, t people.Tx) error { return t.PutKey(ctx, &again) }), people.ErrExists)
}

// testPeopleOrder has changes that read before they write: none may be lost.
func testPeopleOrder(t *testing.T, b *bench) {
	const each = 10
	second := b.Store
	if b.Dialect() == store.Postgres {
		second = b.open(b.options) // as another process would
	}
	var group sync.WaitGroup
	for _, s := range []*store.Store{b.Store, second, b.Store, second} {
		group.Go(func() {
			for range each {
				err := s.People().Change(b.Context(), func(tx people.Tx) error {
					text, err := tx.Setting(b.Context(), "count")
					if err != nil {
						return err
					}
					n, _ := strconv.Atoi(text)
					return tx.SetSetting(b.Context(), "count", strconv.Itoa(n+1))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	b.do(func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.Setting(ctx, "count")
		same(t, "changes", strconv.Itoa(4*each), got)
		return err
	})
}
