package people

import (
	"strings"
	"testing"
	"time"
)

func identity(subject, name string, role Role) Identity {
	return Identity{Issuer: "https://login.example.com", Subject: subject, Name: name, Role: role}
}

func (h *house) loginAs(t *testing.T, who Identity) (string, *Session, error) {
	t.Helper()
	h.clock = h.clock.Add(time.Minute)
	return h.LoginAs(t.Context(), who, "192.0.2.1:1", "test")
}

func TestLoginAs(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	token, s, err := h.loginAs(t, identity("17", "Carla Weiß", Approver))
	if err != nil || s.Account().Name != "carla-wei" || s.Account().Role != Approver || s.Account().Password != "" {
		t.Fatalf("%v", err)
	}
	if actor, err := h.AuthenticateSession(ctx, token); err != nil || !actor.Can(Approve) {
		t.Errorf("%v", err)
	}
	if h.memory.data.audit[len(h.memory.data.audit)-2].Action != "account.create" || h.memory.lastAudit(t).Action != "login" {
		t.Errorf("audit %+v", h.memory.data.audit)
	}
	again, s2, err := h.loginAs(t, identity("17", "Another Name", Approver))
	if err != nil || s2.Account().ID != s.Account().ID || again == token {
		t.Fatalf("%v", err)
	}
	if _, err := h.AuthenticateSession(ctx, token); err != nil {
		t.Errorf("the same role ends a session: %v", err)
	}
	// The role is that of the provider each time, and another one ends sessions.
	lower, s3, err := h.loginAs(t, identity("17", "", Viewer))
	if err != nil || s3.Account().Role != Viewer {
		t.Fatalf("%v", err)
	}
	_, err = h.AuthenticateSession(ctx, token)
	is(t, "a session with the role of before", err, ErrUnauthenticated)
	if _, err := h.AuthenticateSession(ctx, lower); err != nil {
		t.Error(err)
	}
	roles := 0
	for _, e := range h.memory.data.audit {
		if e.Action == "account.role" && e.Object == "user:carla-wei" && strings.Contains(e.Detail, "viewer") {
			roles++
		}
	}
	if roles != 1 {
		t.Errorf("%d changes of the role in the audit", roles)
	}
	// It has no password, and gets none.
	for _, password := range []string{"", "x", bobPassword} {
		h.clock = h.clock.Add(time.Minute)
		_, _, err := h.Login(ctx, "carla-wei", password, "", "192.0.2.1", "")
		is(t, "with a password", err, ErrCredentials)
	}
	_, anns := h.login(t, "ann", annPassword)
	isInput(t, "a password", h.SetPassword(ctx, anns, Password(annPassword), s.Account().ID, bobPassword), "password", "OpenID")
	if err := h.Disable(ctx, anns, Password(annPassword), s.Account().ID, true); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.loginAs(t, identity("17", "", Admin))
	is(t, "disabled", err, ErrCredentials)
	if a := h.memory.data.accounts[s.Account().ID]; !a.Disabled || a.Role != Viewer {
		t.Errorf("%+v", a)
	}
}

// An account is known by issuer and subject alone: a name takes over nothing.
func TestLoginAsNames(t *testing.T) {
	h := newHouse(t)
	h.person(t, "bob", Admin)
	seen := map[int64]bool{h.ann.ID: true}
	for i, c := range []struct{ name, want string }{
		{"ann", "ann-2"},
		{"Ann", "ann-3"},
		{"bob@example.com", "bob@example.com"},
		{"", "person"},
		{"...", "person-2"},
		{strings.Repeat("x", 500), strings.Repeat("x", 59)},
		{strings.Repeat("x", 64), strings.Repeat("x", 59) + "-2"},
		{"\u202eäö", "person-3"},
	} {
		_, s, err := h.loginAs(t, identity(strings.Repeat("i", i+1), c.name, Viewer))
		if err != nil {
			t.Fatal(err)
		}
		a := s.Account()
		if a.Name != c.want || seen[a.ID] {
			t.Errorf("%q: %q, account %d", c.name, a.Name, a.ID)
		}
		if got, err := nameOf(a.Name); got != a.Name || err != nil {
			t.Errorf("%q cannot be a name: %v", a.Name, err)
		}
		seen[a.ID] = true
	}
	other := identity("i", "ann", Viewer)
	other.Issuer = "https://other.example.com"
	if _, s, err := h.loginAs(t, other); err != nil || s.Account().Name != "ann-4" {
		t.Errorf("the same subject of another issuer: %v", err)
	}
	for name, who := range map[string]Identity{
		"no subject": identity("", "x", Viewer), "no issuer": {Subject: "1", Name: "x", Role: Viewer}, "no role": identity("1", "x", ""),
		"a role that is none": identity("1", "x", "root"),
	} {
		if _, _, err := h.loginAs(t, who); err == nil {
			t.Errorf("%s signs in", name)
		}
	}
}

func TestLoginAsLastAdmin(t *testing.T) {
	h := newHouse(t)
	_, carlas, err := h.loginAs(t, identity("17", "carla", Admin))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Disable(t.Context(), carlas, nil, h.ann.ID, true); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.loginAs(t, identity("17", "carla", Viewer))
	is(t, "the last admin", err, ErrLastAdmin)
	if a := h.memory.data.accounts[carlas.Account().ID]; a.Role != Admin {
		t.Errorf("%+v", a)
	}
	if got := h.memory.lastAudit(t); got.Action != "login.failed" || !strings.Contains(got.Detail, "last admin") {
		t.Errorf("audit %+v", got)
	}
}

// Who has no password shows by a session that has just begun that it is the same person,
// and to approve needs a passkey.
func TestFactorsWithoutPassword(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s, err := h.loginAs(t, identity("17", "carla", Approver))
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Prove(ctx, s, nil, accept(1))
	is(t, "a proof of nothing", err, ErrFactor)
	_, err = h.Prove(ctx, s, Password(""), accept(1))
	is(t, "a proof of an empty password", err, ErrCredentials)
	_, err = h.BeginTOTP(ctx, s, nil)
	isInput(t, "a code app", err, "password", "passkey")
	h.clock = h.clock.Add(youngSession + time.Second)
	_, err = h.BeginPasskey(ctx, s, nil)
	is(t, "a passkey in an old session", err, ErrSessionAge)
	_, s, err = h.loginAs(t, identity("17", "carla", Approver))
	if err != nil {
		t.Fatal(err)
	}
	k := h.addKey(t, s, nil)
	if _, err := h.Prove(ctx, s, h.proofKey(t, s, k, "a"), accept(1)); err != nil {
		t.Error(err)
	}
	_, s, err = h.loginAs(t, identity("17", "carla", Approver))
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.BeginPasskey(ctx, s, nil)
	is(t, "another passkey without the first", err, ErrFactor)
	_, err = h.Prove(ctx, s, nil, accept(1))
	is(t, "a proof of a young session", err, ErrFactor)
	h.addKey(t, s, h.proofKey(t, s, k, "add"))
}

// TestProviderDecides: a passkey proves, but whether an OpenID person may still sign in is
// for the provider to say.
func TestProviderDecides(t *testing.T) {
	h := newHouse(t)
	_, s, err := h.loginAs(t, identity("17", "carla", Approver))
	if err != nil {
		t.Fatal(err)
	}
	k := h.addKey(t, s, nil)
	_, _, err = h.loginKey(t, k)
	is(t, "a passkey of an OpenID person", err, ErrProvider)
	if got := h.memory.lastAudit(t); got.Action != "login.failed" || got.Object != "user:carla" {
		t.Errorf("audit %+v", got)
	}
	bob, bobs := h.person(t, "bob", Viewer)
	k = h.addKey(t, bobs, Password(bobPassword))
	h.options.ProviderOnly = true
	_, _, err = h.Login(t.Context(), bob.Name, bobPassword, "", "192.0.2.1", "test")
	is(t, "a password", err, ErrProvider)
	_, _, err = h.loginKey(t, k)
	is(t, "a passkey", err, ErrProvider)
	if _, _, err := h.loginAs(t, identity("17", "carla", Approver)); err != nil {
		t.Error(err)
	}
}
