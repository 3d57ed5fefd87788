package people

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeys(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.login(t, "ann", annPassword)
	text, k, err := h.CreateKey(ctx, s, Password(annPassword), "CI", Editor, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := Key{ID: k.ID, Name: "ci", Role: Editor, CreatedBy: "user:ann", CreatedAt: h.clock, ExpiresAt: h.clock.Add(DefaultKeyLife), Hash: hashOf(text)}
	if diff := cmp.Diff(want, k); diff != "" || k.ID == 0 || !strings.HasPrefix(text, "mvk_") || len(text) != 47 {
		t.Errorf("%s: %s", text, diff)
	}
	if strings.Contains(fmt.Sprintf("%+v", h.memory.data), text) {
		t.Error("the key is stored")
	}
	if got := h.memory.lastAudit(t); got.Action != "key.create" || got.Actor != "user:ann" || got.Object != "key:ci" {
		t.Errorf("audit %+v", got)
	}
	actor, err := h.AuthenticateKey(ctx, text)
	if _, person := actor.Session(); err != nil || actor.Name() != "key:ci" || actor.Role() != Editor || person {
		t.Errorf("%+v, %v", actor, err)
	}
	for name, wrong := range map[string]string{"empty": "", "prefix": "mvk_", "wrong": text[:46] + "!", "no prefix": text[4:], "longer": text + "x", "the hash": k.Hash} {
		_, err := h.AuthenticateKey(ctx, wrong)
		is(t, name, err, ErrUnauthenticated)
	}
	for _, c := range []struct {
		name    string
		role    Role
		expires time.Time
		field   string
	}{
		{"x", Approver, time.Time{}, "role"},
		{"x", "", time.Time{}, "role"},
		{"", Viewer, time.Time{}, "name"},
		{"x", Viewer, h.clock, "expires_at"},
		{"x", Viewer, h.clock.Add(MaxKeyLife + time.Second), "expires_at"},
	} {
		_, _, err := h.CreateKey(ctx, s, Password(annPassword), c.name, c.role, c.expires)
		isInput(t, fmt.Sprintf("%+v", c), err, c.field, "")
	}
	_, _, err = h.CreateKey(ctx, s, Password(annPassword), "ci", Viewer, time.Time{})
	is(t, "a name twice", err, ErrExists)
	h.clock = k.ExpiresAt.Add(-time.Millisecond)
	if _, err := h.AuthenticateKey(ctx, text); err != nil {
		t.Errorf("just before its end: %v", err)
	}
	h.clock = k.ExpiresAt
	_, err = h.AuthenticateKey(ctx, text)
	is(t, "at its end", err, ErrUnauthenticated)
}

func TestKeyUse(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.login(t, "ann", annPassword)
	text, k, err := h.CreateKey(ctx, s, Password(annPassword), "ci", Admin, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	before := h.memory.changes
	for range 60 {
		h.clock = h.clock.Add(2 * time.Second)
		if _, err := h.AuthenticateKey(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.memory.changes - before; n != 2 && n != 3 {
		t.Errorf("%d writes in two minutes", n)
	}
	actor, err := h.AuthenticateKey(ctx, text)
	if err != nil || actor.Can(Approve) || !actor.Can(Administer) {
		t.Errorf("%v", err)
	}
	list, err := h.Keys(ctx, actor)
	if err != nil || len(list) != 1 || list[0].UsedAt.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	is(t, "revoked by nobody", h.RevokeKey(ctx, Actor{}, k.ID), ErrForbidden)
	is(t, "another", h.RevokeKey(ctx, actor, 999), ErrNotFound)
	if err := h.RevokeKey(ctx, actor, k.ID); err != nil {
		t.Fatal(err)
	}
	if got := h.memory.lastAudit(t); got.Action != "key.revoke" || got.Actor != "key:ci" {
		t.Errorf("audit %+v", got)
	}
	_, err = h.AuthenticateKey(ctx, text)
	is(t, "after it was revoked", err, ErrUnauthenticated)
	_, editor := h.person(t, "bob", Approver)
	_, err = h.Keys(ctx, editor.Actor())
	is(t, "an approver lists", err, ErrForbidden)
	_, _, err = h.CreateKey(ctx, editor, Password(bobPassword), "x", Viewer, time.Time{})
	is(t, "an approver makes one", err, ErrForbidden)
	_, _, err = h.CreateKey(ctx, nil, Password(annPassword), "x", Viewer, time.Time{})
	is(t, "nobody makes one", err, ErrUnauthenticated)
}
