package people

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestPasswords(t *testing.T) {
	for _, c := range []struct{ name, password, want string }{
		{"empty", "", "at least 12"},
		{"11 characters", "elevenchars", "has 11 characters"},
		{"11 characters of many bytes", strings.Repeat("ü", 11), "has 11 characters"},
		{"12 characters", "twelve chars", ""},
		{"12 letters that are one each with a mark", strings.Repeat("u\u0308", 12), ""},
		{"11 letters with marks", strings.Repeat("u\u0308", 11), "has 11 characters"},
		{"256 characters", strings.Repeat("🔑", 256), ""},
		{"257 characters", strings.Repeat("x", 257), "more than 256"},
		{"huge", strings.Repeat("x", 1<<20), "more than 256"},
		{"not UTF-8", "twelve chars\xff", "not UTF-8"},
		{"the name", "Twelve.Chars", "name of the account"},
	} {
		err := acceptable(c.password, "twelve.chars")
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" {
			isInput(t, c.name, err, "password", c.want)
		}
	}
}

func TestNamesOfAccounts(t *testing.T) {
	for text, want := range map[string]string{
		"ann": "ann", " Ann@Example.com ": "ann@example.com", "a.b_c-d": "a.b_c-d", "7": "7", strings.Repeat("a", 64): strings.Repeat("a", 64),
		"": "", " ": "", ".ann": "", "-ann": "", "ann lee": "", "ann\n": "ann", "a\nb": "", "аnn": "", "ann:x": "", strings.Repeat("a", 65): "", "\u202eann": "",
	} {
		got, err := nameOf(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestAccounts(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	bob, bobs := h.person(t, "bob", Editor)
	_, anns := h.login(t, "ann", annPassword)
	list, err := h.Accounts(ctx, anns.Actor())
	if err != nil || len(list) != 2 || list[1].Name != "bob" || list[1].Role != Editor {
		t.Errorf("%+v, %v", list, err)
	}
	if text, err := json.Marshal(list); err != nil || strings.Contains(string(text), "argon") {
		t.Errorf("%s, %v", text, err)
	}
	_, err = h.Accounts(ctx, bobs.Actor())
	is(t, "an editor lists", err, ErrForbidden)
	_, err = h.CreateAccount(ctx, anns, Password(annPassword), "Bob", bobPassword, Viewer)
	is(t, "a name twice", err, ErrExists)
	_, err = h.CreateAccount(ctx, anns, Password(annPassword), "eve", bobPassword, "root")
	isInput(t, "a role that is none", err, "role", "viewer")
	_, err = h.CreateAccount(ctx, anns, Password(annPassword), "e v e", bobPassword, Viewer)
	isInput(t, "a name that is none", err, "name", "letters")
	_, err = h.CreateAccount(ctx, anns, Password(annPassword), "eve", "short", Viewer)
	isInput(t, "a short password", err, "password", "12")
	for name, do := range map[string]func(s *Session, f Factor) error{
		"create": func(s *Session, f Factor) error {
			_, err := h.CreateAccount(ctx, s, f, "eve", bobPassword, Admin)
			return err
		},
		"role":    func(s *Session, f Factor) error { return h.SetRole(ctx, s, f, bob.ID, Admin) },
		"disable": func(s *Session, f Factor) error { return h.Disable(ctx, s, f, bob.ID, true) },
		"password": func(s *Session, f Factor) error {
			return h.SetPassword(ctx, s, f, h.ann.ID, "a new pass phrase")
		},
	} {
		h.clock = h.clock.Add(time.Minute)
		_, bobs := h.login(t, "bob", bobPassword)
		is(t, name+" by an editor", do(bobs, Password(bobPassword)), ErrForbidden)
		is(t, name+" with another's password", do(anns, Password(bobPassword)), ErrCredentials)
		is(t, name+" without a factor", do(anns, nil), ErrCredentials)
		is(t, name+" without a session", do(nil, Password(annPassword)), ErrUnauthenticated)
		is(t, name+" with a session from nowhere", do(&Session{}, Password(annPassword)), ErrUnauthenticated)
		other := newHouse(t)
		_, foreign := other.login(t, "ann", annPassword)
		is(t, name+" with a session of another house", do(foreign, Password(annPassword)), ErrUnauthenticated)
	}
	if now := h.memory.data.accounts; len(now) != 2 || now[bob.ID].Role != Editor || now[bob.ID].Disabled {
		t.Errorf("%+v", now)
	}
	is(t, "an account that is not there", h.SetRole(ctx, anns, Password(annPassword), 999, Viewer), ErrNotFound)
}

// What changes about an account ends its sessions, and those of nobody else.
func TestChangesEndSessions(t *testing.T) {
	ctx := t.Context()
	for name, change := range map[string]func(h *house, s *Session, id int64) error{
		"role": func(h *house, s *Session, id int64) error {
			return h.SetRole(ctx, s, Password(annPassword), id, Viewer)
		},
		"disabled": func(h *house, s *Session, id int64) error { return h.Disable(ctx, s, Password(annPassword), id, true) },
		"password": func(h *house, s *Session, id int64) error {
			return h.SetPassword(ctx, s, Password(annPassword), id, "a new pass phrase")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			bob, _ := h.person(t, "bob", Approver)
			token, bobs := h.login(t, "bob", bobPassword)
			annToken, anns := h.login(t, "ann", annPassword)
			if err := change(h, anns, bob.ID); err != nil {
				t.Fatal(err)
			}
			if got := h.memory.lastAudit(t); got.Actor != "user:ann" || got.Object != "user:bob" || !strings.HasPrefix(got.Action, "account.") {
				t.Errorf("audit %+v", got)
			}
			_, err := h.AuthenticateSession(ctx, token)
			is(t, "the session", err, ErrUnauthenticated)
			_, err = h.Prove(ctx, bobs, Password(bobPassword), accept(1))
			is(t, "a proof", err, ErrUnauthenticated)
			if _, err := h.AuthenticateSession(ctx, annToken); err != nil {
				t.Errorf("another's session: %v", err)
			}
			h.clock = h.clock.Add(time.Minute)
			_, _, err = h.Login(ctx, "bob", bobPassword, "", "192.0.2.1", "")
			if name != "role" {
				is(t, "a login", err, ErrCredentials)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOwnPassword(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	bob, _ := h.person(t, "bob", Viewer)
	other, _ := h.login(t, "bob", bobPassword)
	token, s := h.login(t, "bob", bobPassword)
	is(t, "a wrong old one", h.SetPassword(ctx, s, Password(annPassword), bob.ID, "a new pass phrase"), ErrCredentials)
	if got := h.memory.lastAudit(t); got.Action != "factor.failed" {
		t.Errorf("audit %+v", got)
	}
	isInput(t, "a short one", h.SetPassword(ctx, s, Password(bobPassword), bob.ID, "short"), "password", "12")
	if err := h.SetPassword(ctx, s, Password(bobPassword), bob.ID, "a new pass phrase"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AuthenticateSession(ctx, token); err != nil {
		t.Errorf("the own session: %v", err)
	}
	_, err := h.AuthenticateSession(ctx, other)
	is(t, "another session", err, ErrUnauthenticated)
	h.login(t, "bob", "a new pass phrase")
}

func TestLastAdminStays(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	bob, _ := h.person(t, "bob", Admin)
	_, s := h.login(t, "ann", annPassword)
	if err := h.Disable(ctx, s, Password(annPassword), bob.ID, true); err != nil {
		t.Fatal(err)
	}
	is(t, "disabled", h.Disable(ctx, s, Password(annPassword), h.ann.ID, true), ErrLastAdmin)
	is(t, "demoted", h.SetRole(ctx, s, Password(annPassword), h.ann.ID, Approver), ErrLastAdmin)
	if a := h.memory.data.accounts[h.ann.ID]; a.Disabled || a.Role != Admin {
		t.Errorf("%+v", a)
	}
	if err := h.Disable(ctx, s, Password(annPassword), bob.ID, false); err != nil {
		t.Fatal(err)
	}
	if err := h.SetRole(ctx, s, Password(annPassword), h.ann.ID, Viewer); err != nil {
		t.Errorf("with another admin: %v", err)
	}
}

// Keyboards differ in how they make the same characters.
func TestPasswordsAreNormalized(t *testing.T) {
	h := newHasher()
	h.params.Memory = 64
	hash, err := h.make(t.Context(), "caf\u00e9 au lait \u2460")
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"cafe\u0301 au lait 1": true, "caf\u00e9 au lait \u2460": true, "cafe au lait 1": false, "Caf\u00e9 au lait 1": false} {
		if got, err := h.matches(t.Context(), password, hash); got != want || err != nil {
			t.Errorf("%q: %t, %v", password, got, err)
		}
	}
}
