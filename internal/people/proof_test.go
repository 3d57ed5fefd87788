package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpvigil/mcpvigil/surface"
	"pgregory.net/rapid"
)

func TestProve(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.approver(t, "bob", Approver)
	meant := accept(7, "a", "b")
	given := accept(7, "a", "b")
	proof, err := h.Prove(ctx, s, Code(bobPassword, h.code(t, "bob")), given)
	if err != nil {
		t.Fatal(err)
	}
	given.Items[0] = "changed"
	proof.Statement().Items[1] = "changed"
	if diff := cmp.Diff(meant, proof.Statement()); diff != "" {
		t.Errorf("the statement moved: %s", diff)
	}
	if !proof.Valid() || proof.Account() != "bob" || !proof.At().Equal(h.clock) {
		t.Errorf("%+v", proof)
	}
	for at, want := range map[time.Duration]bool{-time.Millisecond: false, 0: true, 5 * time.Minute: true, 5*time.Minute + time.Millisecond: false} {
		if got := proof.ValidAt(h.clock.Add(at)); got != want {
			t.Errorf("after %s: %t", at, got)
		}
	}
	if got := h.memory.lastAudit(t); got.Action != "proof.accept" || got.Actor != "user:bob" || got.Object != "monitor:7" || !strings.Contains(got.Detail, "2 items of sha256:01") {
		t.Errorf("audit %+v", got)
	}
	if (Proof{}).Valid() || (Proof{}).ValidAt(h.clock) || (Proof{}).ValidAt(time.Time{}) {
		t.Error("the zero value is a proof")
	}
}

func TestProveIsRefused(t *testing.T) {
	ctx := t.Context()
	for role, want := range map[Role]error{Viewer: ErrForbidden, Editor: ErrForbidden, Approver: nil, Admin: nil} {
		for _, action := range []string{ActionAccept, ActionUnapprove, ActionEdit, ActionWindow, ActionPaging} {
			h := newHouse(t)
			_, s := h.approver(t, "bob", role)
			st := Statement{Action: action, Monitor: 1, Digest: surface.Digest{1}}
			proof, err := h.Prove(ctx, s, Code(bobPassword, h.code(t, "bob")), st)
			is(t, fmt.Sprintf("%s by %s", action, role), err, want)
			if proof.Valid() != (want == nil) {
				t.Errorf("%s by %s: %+v", action, role, proof)
			}
		}
	}
	h := newHouse(t)
	_, s := h.login(t, "ann", annPassword)
	_, err := h.Prove(ctx, s, Password(annPassword), accept(1))
	is(t, "no second factor", err, ErrFactor)
	_, err = h.Prove(ctx, s, Code(annPassword, "123456"), accept(1))
	is(t, "a code without a code app", err, ErrFactor)
	h.enrol(t, s, annPassword)
	for name, c := range map[string]struct {
		session *Session
		factor  Factor
		want    error
	}{
		"wrong password":    {s, Password("wrong horse battery"), ErrCredentials},
		"empty password":    {s, Password(""), ErrCredentials},
		"no code":           {s, Password(annPassword), ErrCode},
		"an empty code":     {s, Code(annPassword, ""), ErrCode},
		"a wrong code":      {s, Code(annPassword, "12345x"), ErrCode},
		"a long code":       {s, Code(annPassword, strings.Repeat("1", 1<<16)), ErrCode},
		"wrong, with code":  {s, Code("wrong horse battery", h.code(t, "ann")), ErrCredentials},
		"no factor":         {s, nil, ErrCredentials},
		"no session":        {nil, Password(annPassword), ErrUnauthenticated},
		"a literal session": {&Session{}, Password(annPassword), ErrUnauthenticated},
	} {
		h.clock = h.clock.Add(time.Minute)
		proof, err := h.Prove(ctx, c.session, c.factor, accept(1))
		is(t, name, err, c.want)
		if proof.Valid() {
			t.Errorf("%s: a proof", name)
		}
	}
	for name, st := range map[string]Statement{
		"no action": {Monitor: 1}, "another action": {Action: "delete", Monitor: 1}, "no digest": {Action: ActionAccept, Monitor: 1},
		"no monitor": {Action: ActionEdit}, "too many": {Action: ActionEdit, Monitor: 1, Items: make([]string, maxItems+1)},
	} {
		proof, err := h.Prove(ctx, s, Password(annPassword), st)
		if _, ok := errors.AsType[*InputError](err); !ok || proof.Valid() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.Prove(ctx, s, Code(annPassword, h.code(t, "ann")), Statement{Action: ActionWindow}); err != nil {
		t.Errorf("a window for all: %v", err)
	}
}

func TestProveIsLimited(t *testing.T) {
	h := newHouse(t)
	token, s := h.login(t, "ann", annPassword)
	var err error
	n := 0
	for ; n < 100; n++ {
		if _, err = h.Prove(t.Context(), s, Password("wrong horse battery"), accept(1)); !errors.Is(err, ErrCredentials) {
			break
		}
	}
	if n != 10 || !isLimited(err) {
		t.Errorf("after %d: %v", n, err)
	}
	if _, err := h.Prove(t.Context(), s, Password(annPassword), accept(1)); !isLimited(err) {
		t.Errorf("the right password within the limit: %v", err)
	}
	if _, err := h.AuthenticateSession(t.Context(), token); err != nil {
		t.Errorf("the session: %v", err)
	}
}

// An account that changes while its password is looked at proves nothing.
func TestProveRace(t *testing.T) {
	for name, change := range map[string]func(h *house, a *Account){
		"disabled": func(_ *house, a *Account) { a.Disabled = true },
		"demoted":  func(_ *house, a *Account) { a.Role = Editor },
		"password": func(_ *house, a *Account) { a.Password = "another" },
		"revoked":  func(h *house, _ *Account) { clear(h.memory.data.sessions) },
	} {
		h := newHouse(t)
		bob, s := h.approver(t, "bob", Approver)
		code := h.code(t, "bob")
		h.memory.inside = func() {
			a := h.memory.data.accounts[bob.ID]
			change(h, &a)
			h.memory.data.accounts[bob.ID] = a
		}
		if proof, err := h.Prove(t.Context(), s, Code(bobPassword, code), accept(1)); err == nil || proof.Valid() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPasswordIsNotPrinted(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, f := range []Factor{Password(annPassword), Code(annPassword, "123456")} {
			if got := fmt.Sprintf(verb, f); got != "***" {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
}

// Whatever a program does with its key, and whatever passwords it knows, it gets no
// proof and nothing that makes one.
func TestNoKeyProves(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHouse(t)
		ctx := context.Background()
		bob, _ := h.person(t, "bob", Approver)
		_, anns := h.login(t, "ann", annPassword)
		role := rapid.SampledFrom([]Role{Viewer, Editor, Admin}).Draw(rt, "role")
		text, k, err := h.CreateKey(ctx, anns, Password(annPassword), "ci", role, time.Time{})
		if err != nil {
			rt.Fatal(err)
		}
		accounts := h.memory.data.clone().accounts
		refused := func(what string, err error) {
			if err == nil {
				rt.Fatalf("%s is not refused", what)
			}
		}
		steps := rapid.SliceOfN(rapid.IntRange(0, 7), 1, 12).Draw(rt, "steps")
		for _, step := range steps {
			h.clock = h.clock.Add(time.Minute)
			actor, err := h.AuthenticateKey(ctx, text)
			if err != nil && !errors.Is(err, ErrUnauthenticated) {
				rt.Fatal(err)
			}
			s, person := actor.Session()
			if person || s != nil || actor.Can(Approve) {
				rt.Fatalf("the key is a person: %+v", actor)
			}
			own, other := Password(bobPassword), Password(annPassword)
			switch step {
			case 0:
				proof, err := h.Prove(ctx, s, own, accept(1))
				refused("a proof", err)
				if proof.Valid() {
					rt.Fatal("a key has a proof")
				}
			case 1:
				_, err := h.CreateAccount(ctx, s, other, "eve", bobPassword, Approver)
				refused("an account", err)
			case 2:
				refused("a role", h.SetRole(ctx, s, other, bob.ID, Admin))
			case 3:
				refused("a password", h.SetPassword(ctx, s, other, bob.ID, "known to the program"))
			case 4:
				refused("an account that is let in again", h.Disable(ctx, s, other, bob.ID, false))
			case 5:
				_, _, err := h.CreateKey(ctx, s, other, "more", role, time.Time{})
				refused("a key", err)
			case 6:
				_, err := h.AuthenticateSession(ctx, text)
				refused("a session", err)
				list, err := h.Keys(ctx, actor)
				if slices.ContainsFunc(list, func(k Key) bool { return k.Role == Approver }) {
					rt.Fatalf("%v, %v", list, err)
				}
			case 7:
				_ = h.RevokeKey(ctx, actor, k.ID)
			}
		}
		if diff := cmp.Diff(accounts, h.memory.data.accounts); diff != "" {
			rt.Fatalf("accounts changed: %s", diff)
		}
	})
}
