package people

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	annPassword = "correct horse battery"
	bobPassword = "staple stable stapler"
)

// house is a People with a clock that a test sets, and cheap hashes.
type house struct {
	*People
	memory *memory
	clock  time.Time
	ann    Account // the first account, an admin
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := empty()
	token, needed, err := h.SetupToken(t.Context())
	if err != nil || !needed {
		t.Fatalf("needed %t, %v", needed, err)
	}
	h.ann, err = h.Setup(t.Context(), token, " Ann ", annPassword)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func empty() *house {
	h := &house{memory: newMemory(), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	h.People = New(h.memory, Options{Now: func() time.Time { return h.clock }})
	h.hasher.params.Memory = 64
	return h
}

func (h *house) login(t *testing.T, name, password string) (string, *Session) {
	t.Helper()
	h.clock = h.clock.Add(time.Minute) // no limits in between
	token, s, err := h.Login(t.Context(), name, password, "192.0.2.1:4711", "test")
	if err != nil {
		t.Fatal(err)
	}
	return token, s
}

// person makes an account and signs in with it.
func (h *house) person(t *testing.T, name string, role Role) (Account, *Session) {
	t.Helper()
	_, admin := h.login(t, "ann", annPassword)
	a, err := h.CreateAccount(t.Context(), admin, Password(annPassword), name, bobPassword, role)
	if err != nil {
		t.Fatal(err)
	}
	_, s := h.login(t, name, bobPassword)
	return a, s
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func isInput(t *testing.T, what string, err error, field, text string) {
	t.Helper()
	if e, ok := errors.AsType[*InputError](err); !ok || e.Field != field || !strings.Contains(e.Text, text) {
		t.Errorf("%s: %v, want an *InputError about %s with %q", what, err, field, text)
	}
}

func isLimited(err error) bool {
	e, ok := errors.AsType[*RateError](err)
	return ok && e.RetryAfter > 0
}

func TestRoles(t *testing.T) {
	can := map[Role][]Permission{Viewer: {Read}, Editor: {Read, Write}, Approver: {Read, Write, Approve}, Admin: {Read, Write, Approve, Administer}, "": nil, "root": nil}
	for role, want := range can {
		if role.Valid() != (want != nil) {
			t.Errorf("%q is valid: %t", role, role.Valid())
		}
		for _, p := range []Permission{Read, Write, Approve, Administer, "", "fly"} {
			if role.Can(p) != slices.Contains(want, p) {
				t.Errorf("%q can %q: %t", role, p, role.Can(p))
			}
			if (Actor{role: role}).Can(p) != (slices.Contains(want, p) && p != Approve) {
				t.Errorf("a key with %q can %q is wrong", role, p)
			}
		}
	}
}

func TestSetup(t *testing.T) {
	h := empty()
	ctx := t.Context()
	first, needed, err := h.SetupToken(ctx)
	second, _, err2 := h.SetupToken(ctx)
	if err = errors.Join(err, err2); err != nil || !needed || first == second || len(first) != 43 {
		t.Fatalf("%q, %q, needed %t, %v", first, second, needed, err)
	}
	if stored := h.memory.data.settings[setupSetting]; strings.Contains(stored, first) || strings.Contains(stored, second) {
		t.Error("a token is stored")
	}
	_, err = h.Setup(ctx, "wrong", "ann", annPassword)
	is(t, "a wrong token", err, ErrSetupToken)
	_, err = h.Setup(ctx, "", "ann", annPassword)
	is(t, "no token", err, ErrSetupToken)
	_, err = h.Setup(ctx, first, "ann", "short")
	isInput(t, "a short password", err, "password", "12")
	a, err := h.Setup(ctx, first, "ann", annPassword) // of an earlier start
	if err != nil || a.Role != Admin || a.ID == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := h.memory.lastAudit(t); got.Action != "account.setup" || got.Actor != "user:ann" {
		t.Errorf("audit %+v", got)
	}
	_, err = h.Setup(ctx, second, "eve", annPassword)
	is(t, "after the first account", err, ErrSetupOver)
	if token, needed, err := h.SetupToken(ctx); token != "" || needed || err != nil {
		t.Errorf("%q, %t, %v", token, needed, err)
	}
	if h.memory.data.settings[setupSetting] != "" {
		t.Error("used tokens are kept")
	}
}

func TestSetupKeepsEightTokens(t *testing.T) {
	h := empty()
	var tokens []string
	for range maxSetupTokens + 1 {
		token, _, err := h.SetupToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	_, err := h.Setup(t.Context(), tokens[0], "ann", annPassword)
	is(t, "the oldest", err, ErrSetupToken)
	if _, err = h.Setup(t.Context(), tokens[1], "ann", annPassword); err != nil {
		t.Error(err)
	}
}

// Two that set up at the same time get one account.
func TestSetupRace(t *testing.T) {
	h := empty()
	token, _, err := h.SetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.memory.inside = func() { h.memory.data.accounts[99] = Account{ID: 99, Name: "first", Role: Admin} }
	_, err = h.Setup(t.Context(), token, "second", annPassword)
	is(t, "the second", err, ErrSetupOver)
	if len(h.memory.data.accounts) != 1 {
		t.Errorf("%d accounts", len(h.memory.data.accounts))
	}
}

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
		err := acceptable("password", c.password, "twelve.chars")
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want != "" {
			isInput(t, c.name, err, "password", c.want)
		}
	}
}

func TestNames(t *testing.T) {
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
		{"other normalization is the same, other case not", "ann", strings.ToUpper(annPassword), "user:ann", "wrong password"},
		{"unknown", "nobody", annPassword, "", "unknown name"},
		{"impossible name", "my password as name", annPassword, "", "unknown name"},
		{"impossible password", "ann", strings.Repeat("x", 5000), "user:ann", "wrong password"},
		{"empty", "ann", "", "user:ann", "wrong password"},
	} {
		h.clock = h.clock.Add(time.Minute)
		_, s, err := h.Login(ctx, c.user, c.password, "192.0.2.1", "test")
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
	_, _, err := h.Login(t.Context(), "ann", annPassword, "192.0.2.1", "curl\x1b[31m\n"+strings.Repeat("x", 5000))
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
			_, _, err = h.Login(ctx, "ann", "wrong horse battery", fmt.Sprintf("192.0.2.%d", n), "")
			if !errors.Is(err, ErrCredentials) {
				break
			}
		}
		if n != 10 || !isLimited(err) {
			t.Fatalf("after %d: %v", n, err)
		}
		rows := len(h.memory.data.audit)
		if _, _, err := h.Login(ctx, "ann", annPassword, "192.0.2.250", ""); !isLimited(err) {
			t.Errorf("the right password within the limit: %v", err)
		}
		if len(h.memory.data.audit) != rows {
			t.Error("attempts over the limit fill the audit")
		}
		if _, _, err := h.Login(ctx, "nobody", annPassword, "192.0.2.250", ""); !errors.Is(err, ErrCredentials) {
			t.Errorf("another account: %v", err)
		}
		h.clock = h.clock.Add(6 * time.Second)
		if _, _, err := h.Login(ctx, "ann", annPassword, "192.0.2.250", ""); err != nil {
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
			_, _, err = h.Login(ctx, fmt.Sprintf("nobody%d", n), "wrong horse battery", address, "")
			if !errors.Is(err, ErrCredentials) {
				break
			}
		}
		if n != 20 || !isLimited(err) {
			t.Fatalf("after %d: %v", n, err)
		}
		if _, _, err := h.Login(ctx, "ann", annPassword, "2606:4700:0:1::1", ""); err != nil {
			t.Errorf("another network: %v", err)
		}
	})
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:80": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1",
		"2606:4700:1:2:3:4:5:6": "2606:4700:1:2::/64", "[2606:4700:1:2::9%eth0]:80": "2606:4700:1:2::/64", "": "", "@": "", "unix": "",
	} {
		if got := network(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

func TestLimiterIsBounded(t *testing.T) {
	l := newLimiter(time.Minute, 2)
	now := time.Unix(1_000_000, 0)
	for i := range maxBuckets {
		if err := l.take(fmt.Sprint(i), now); err != nil {
			t.Fatal(err)
		}
	}
	_ = l.take("0", now)
	if err := l.take("0", now); !isLimited(err) {
		t.Errorf("the third of one: %v", err)
	}
	limited := 0
	for i := range 100 {
		if isLimited(l.take(fmt.Sprint("more", i), now)) {
			limited++
		}
	}
	if limited != 98 || len(l.buckets) != maxBuckets {
		t.Errorf("%d of 100 without room were limited, %d buckets", limited, len(l.buckets))
	}
	if err := l.take("0", now); !isLimited(err) {
		t.Errorf("it was pushed out: %v", err)
	}
	now = now.Add(10 * time.Minute)
	if err := l.take("new", now); err != nil || len(l.buckets) != 1 {
		t.Errorf("%v, %d buckets, after all limits had ended", err, len(l.buckets))
	}
}

func TestHashesAreFew(t *testing.T) {
	h := newHasher()
	var running, highest atomic.Int32
	release := make(chan struct{})
	var group sync.WaitGroup
	work := func() error {
		n := running.Add(1)
		for seen := highest.Load(); n > seen && !highest.CompareAndSwap(seen, n); seen = highest.Load() {
		}
		<-release
		running.Add(-1)
		return nil
	}
	for range maxWaiting + maxHashes {
		group.Go(func() {
			if err := h.run(t.Context(), work); err != nil {
				t.Error(err)
			}
		})
	}
	deadline := time.Now().Add(10 * time.Second)
	for h.waiting.Load() < maxWaiting+maxHashes || running.Load() < maxHashes {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, %d run", h.waiting.Load(), running.Load())
		}
		time.Sleep(time.Millisecond)
	}
	if err := h.run(t.Context(), work); !isLimited(err) {
		t.Errorf("one more: %v", err)
	}
	close(release)
	group.Wait()
	if highest.Load() != maxHashes {
		t.Errorf("%d at a time", highest.Load())
	}
	// Who waits gives up with its context.
	blocked := newHasher()
	for range maxHashes {
		blocked.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is(t, "a canceled wait", blocked.run(ctx, func() error { return nil }), context.Canceled)
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
			_, _, err = h.Login(ctx, "bob", bobPassword, "192.0.2.1", "")
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

func TestKeys(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.login(t, "ann", annPassword)
	text, k, err := h.CreateKey(ctx, s, "CI", Editor, time.Time{})
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
		_, _, err := h.CreateKey(ctx, s, c.name, c.role, c.expires)
		isInput(t, fmt.Sprintf("%+v", c), err, c.field, "")
	}
	_, _, err = h.CreateKey(ctx, s, "ci", Viewer, time.Time{})
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
	text, k, err := h.CreateKey(ctx, s, "ci", Admin, time.Time{})
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
	_, _, err = h.CreateKey(ctx, editor, "x", Viewer, time.Time{})
	is(t, "an approver makes one", err, ErrForbidden)
	_, _, err = h.CreateKey(ctx, nil, "x", Viewer, time.Time{})
	is(t, "nobody makes one", err, ErrUnauthenticated)
}

// What cannot be stored has not happened, and is not called a wrong password.
func TestBrokenStorage(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	token, s := h.login(t, "ann", annPassword)
	full := errors.New("the disk is full")
	h.memory.broken = full
	h.clock = h.clock.Add(10 * time.Minute)
	_, _, err := h.Login(ctx, "ann", annPassword, "192.0.2.1", "")
	is(t, "login", err, full)
	_, _, err = h.Login(ctx, "ann", "wrong horse battery", "192.0.2.1", "")
	is(t, "failed login", err, full)
	_, err = h.AuthenticateSession(ctx, token)
	is(t, "session", err, full)
	proof, err := h.Prove(ctx, s, Password(annPassword), accept(1))
	is(t, "proof", err, full)
	if proof.Valid() {
		t.Error("there is a proof that no audit knows of")
	}
}

func accept(monitor int64, items ...string) Statement {
	return Statement{Action: ActionAccept, Monitor: monitor, Digest: surface.Digest{1}, Items: items}
}
