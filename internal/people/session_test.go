package people

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLogin(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	token, s := h.login(t, "ANN", annPassword)
	if len(token) != 43 || s.Account().Name != "ann" || s.Account().ID != h.ann.ID || s.Actor().Name() != "user:ann" {
		t.Errorf("%q, %+v", token, s.Account())
	}
	if got := h.memory.lastAudit(t); got.Action != "login" || got.Actor != "user:ann" || !strings.Contains(got.Detail, "192.0.2.1") {
		t.Errorf("audit %+v", got)
	}
	if again, _ := h.login(t, "ann", annPassword); again == token {
		t.Error("a second login has the same token")
	}
	actor, err := h.AuthenticateSession(ctx, token)
	if err != nil || actor.Name() != "user:ann" || !actor.Can(Approve) || !actor.Can(Administer) {
		t.Errorf("%+v, %v", actor, err)
	}
	for name, wrong := range map[string]string{"empty": "", "wrong": "x" + token[1:], "the hash": hashOf(token), "longer": token + "x"} {
		_, err := h.AuthenticateSession(ctx, wrong)
		is(t, name, err, ErrUnauthenticated)
	}
	stored := fmt.Sprintf("%+v", h.memory.data)
	for _, secret := range []string{token, annPassword} {
		if strings.Contains(stored, secret) {
			t.Error("a secret is stored")
		}
	}
	for _, c := range []struct{ name, user, password, object, detail string }{
		{"wrong password", "ann", "wrong horse battery", "user:ann", "wrong password"},
		{"other case", "ann", strings.ToUpper(annPassword), "user:ann", "wrong password"},
		{"unknown", "nobody", annPassword, "", "unknown name"},
		{"impossible name", "my password as name", annPassword, "", "unknown name"},
		{"impossible password", "ann", strings.Repeat("x", 5000), "user:ann", "wrong password"},
		{"empty", "ann", "", "user:ann", "wrong password"},
	} {
		h.clock = h.clock.Add(time.Minute)
		_, s, err := h.Login(ctx, c.user, c.password, "", "192.0.2.1", "test")
		is(t, c.name, err, ErrCredentials)
		if s != nil {
			t.Errorf("%s: there is a session", c.name)
		}
		if got := h.memory.lastAudit(t); got.Action != "login.failed" || got.Actor != "" || got.Object != c.object || !strings.Contains(got.Detail, c.detail) {
			t.Errorf("%s: audit %+v", c.name, got)
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", h.memory.data.audit), "my password") {
		t.Error("what was typed as a name is in the audit")
	}
}

// The names and the agent that a client sends are shown to people.
func TestLoginShowsNothingHostile(t *testing.T) {
	h := newHouse(t)
	_, _, err := h.Login(t.Context(), "ann", annPassword, "", "192.0.2.1", "curl\x1b[31m\n"+strings.Repeat("x", 5000))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range h.memory.data.sessions {
		if strings.ContainsAny(s.Agent, "\x1b\n") || len(s.Agent) > 1000 {
			t.Errorf("agent %q", s.Agent)
		}
	}
}

// An unknown name takes the work of a known one.
func TestLoginWork(t *testing.T) {
	h := newHouse(t)
	h.hasher.params.Memory, h.hasher.params.Iterations = 16*1024, 4
	hash, err := h.hasher.make(t.Context(), annPassword)
	if err != nil {
		t.Fatal(err)
	}
	attempts := []struct{ name, password, hash string }{
		{"known", "wrong horse battery", hash}, {"unknown", "wrong horse battery", ""}, {"impossible", strings.Repeat("x", 1<<20), hash},
	}
	best := map[string]time.Duration{}
	for range 5 { // by turns, as the machine may be busy with something else
		for _, a := range attempts {
			start := time.Now()
			if ok, err := h.hasher.matches(t.Context(), a.password, a.hash); ok || err != nil {
				t.Fatalf("%s: %t, %v", a.name, ok, err)
			}
			if d := time.Since(start); best[a.name] == 0 || d < best[a.name] {
				best[a.name] = d
			}
		}
	}
	for name, d := range best {
		if d < best["known"]/4 {
			t.Errorf("%s took %s, a known account %s", name, d, best["known"])
		}
	}
}

func TestLoginLimits(t *testing.T) {
	ctx := t.Context()
	t.Run("account", func(t *testing.T) {
		h := newHouse(t)
		var err error
		n := 0
		for ; n < 100; n++ {
			_, _, err = h.Login(ctx, "ann", "wrong horse battery", "", fmt.Sprintf("192.0.2.%d", n), "")
			if !errors.Is(err, ErrCredentials) {
				break
			}
		}
		if n != 10 || !isLimited(err) {
			t.Fatalf("after %d: %v", n, err)
		}
		rows := len(h.memory.data.audit)
		if _, _, err := h.Login(ctx, "ann", annPassword, "", "192.0.2.250", ""); !isLimited(err) {
			t.Errorf("the right password within the limit: %v", err)
		}
		if len(h.memory.data.audit) != rows {
			t.Error("attempts over the limit fill the audit")
		}
		if _, _, err := h.Login(ctx, "nobody", annPassword, "", "192.0.2.250", ""); !errors.Is(err, ErrCredentials) {
			t.Errorf("another account: %v", err)
		}
		h.clock = h.clock.Add(6 * time.Second)
		if _, _, err := h.Login(ctx, "ann", annPassword, "", "192.0.2.250", ""); err != nil {
			t.Errorf("after the time: %v", err)
		}
	})
	t.Run("address", func(t *testing.T) {
		h := newHouse(t)
		var err error
		n := 0
		for ; n < 100; n++ {
			// Of one network, in several spellings.
			address := fmt.Sprintf("[2606:4700::%x]:%d", n+1, 1000+n)
			_, _, err = h.Login(ctx, fmt.Sprintf("nobody%d", n), "wrong horse battery", "", address, "")
			if !errors.Is(err, ErrCredentials) {
				break
			}
		}
		if n != 20 || !isLimited(err) {
			t.Fatalf("after %d: %v", n, err)
		}
		if _, _, err := h.Login(ctx, "ann", annPassword, "", "2606:4700:0:1::1", ""); err != nil {
			t.Errorf("another network: %v", err)
		}
	})
}

func TestSessionsEnd(t *testing.T) {
	ctx := t.Context()
	t.Run("idle", func(t *testing.T) {
		h := newHouse(t)
		token, _ := h.login(t, "ann", annPassword)
		h.clock = h.clock.Add(12*time.Hour - time.Second)
		if _, err := h.AuthenticateSession(ctx, token); err != nil {
			t.Fatal(err)
		}
		h.clock = h.clock.Add(12*time.Hour - time.Second) // the use counted
		if _, err := h.AuthenticateSession(ctx, token); err != nil {
			t.Fatal(err)
		}
		h.clock = h.clock.Add(12 * time.Hour)
		_, err := h.AuthenticateSession(ctx, token)
		is(t, "unused for 12 hours", err, ErrUnauthenticated)
	})
	t.Run("absolute", func(t *testing.T) {
		h := newHouse(t)
		token, s := h.login(t, "ann", annPassword)
		start := h.clock
		for h.clock.Sub(start) < 7*24*time.Hour-6*time.Hour {
			h.clock = h.clock.Add(6 * time.Hour)
			if _, err := h.AuthenticateSession(ctx, token); err != nil {
				t.Fatalf("after %s: %v", h.clock.Sub(start), err)
			}
		}
		h.clock = s.ExpiresAt()
		_, err := h.AuthenticateSession(ctx, token)
		is(t, "after 7 days", err, ErrUnauthenticated)
		h.login(t, "ann", annPassword)
		if n := len(h.memory.data.sessions); n != 1 {
			t.Errorf("%d sessions are kept", n)
		}
	})
	t.Run("written once a minute", func(t *testing.T) {
		h := newHouse(t)
		token, _ := h.login(t, "ann", annPassword)
		before := h.memory.changes
		for range 60 {
			h.clock = h.clock.Add(2 * time.Second)
			if _, err := h.AuthenticateSession(ctx, token); err != nil {
				t.Fatal(err)
			}
		}
		if n := h.memory.changes - before; n != 2 {
			t.Errorf("%d writes in two minutes", n)
		}
	})
	t.Run("logout", func(t *testing.T) {
		h := newHouse(t)
		token, s := h.login(t, "ann", annPassword)
		other, _ := h.login(t, "ann", annPassword)
		if err := h.Logout(ctx, s); err != nil {
			t.Fatal(err)
		}
		_, err := h.AuthenticateSession(ctx, token)
		is(t, "after the logout", err, ErrUnauthenticated)
		if _, err := h.AuthenticateSession(ctx, other); err != nil {
			t.Errorf("the other session: %v", err)
		}
		_, err = h.Prove(ctx, s, Password(annPassword), accept(1))
		is(t, "a proof after the logout", err, ErrUnauthenticated)
	})
	t.Run("revoked", func(t *testing.T) {
		h := newHouse(t)
		_, bob := h.person(t, "bob", Approver)
		lost, _ := h.login(t, "ann", annPassword)
		_, ann := h.login(t, "ann", annPassword)
		is(t, "another's", h.RevokeSession(ctx, bob, ann.ID()), ErrNotFound)
		list, err := h.Sessions(ctx, ann)
		if err != nil || list[0].Token != ann.ID() || !slices.ContainsFunc(list, func(s SessionRow) bool { return s.Token == hashOf(lost) }) {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := h.RevokeSession(ctx, ann, hashOf(lost)); err != nil {
			t.Fatal(err)
		}
		_, err = h.AuthenticateSession(ctx, lost)
		is(t, "after it was revoked", err, ErrUnauthenticated)
	})
	t.Run("too many", func(t *testing.T) {
		h := newHouse(t)
		oldest, _ := h.login(t, "ann", annPassword)
		for range maxSessions {
			h.login(t, "ann", annPassword)
		}
		_, err := h.AuthenticateSession(ctx, oldest)
		is(t, "the oldest", err, ErrUnauthenticated)
		if n := len(h.memory.data.sessions); n != maxSessions {
			t.Errorf("%d sessions", n)
		}
	})
}
