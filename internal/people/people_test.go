package people

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

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
	apps   map[string]string
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
	h := &house{memory: newMemory(), apps: map[string]string{}, clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	h.People = New(h.memory, Options{Now: func() time.Time { return h.clock }, PublicURL: "https://watch.example.com"})
	h.hasher.params.Memory = 64
	return h
}

func (h *house) login(t *testing.T, name, password string) (string, *Session) {
	t.Helper()
	h.clock = h.clock.Add(time.Minute) // no limits in between
	token, s, err := h.Login(t.Context(), name, password, h.code(t, name), "192.0.2.1:4711", "test")
	if err != nil {
		t.Fatal(err)
	}
	return token, s
}

// enrol sets up a code app for the account of a session.
func (h *house) enrol(t *testing.T, s *Session, password string) (recovery []string) {
	t.Helper()
	h.clock = h.clock.Add(time.Minute)
	name := s.Account().Name
	begun, err := h.BeginTOTP(t.Context(), s, Code(password, h.code(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	h.apps[name] = begun.Secret
	if recovery, err = h.ConfirmTOTP(t.Context(), s, h.code(t, name)); err != nil {
		t.Fatal(err)
	}
	return recovery
}

// code is one of the code app of an account that was not used yet, or empty without one.
// The clock goes on for it.
func (h *house) code(t *testing.T, name string) string {
	t.Helper()
	secret := h.apps[name]
	if secret == "" {
		return ""
	}
	h.clock = h.clock.Add(totpStep * time.Second)
	code, err := totp.GenerateCode(secret, h.clock)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// approver is a person with a code app.
func (h *house) approver(t *testing.T, name string, role Role) (Account, *Session) {
	t.Helper()
	a, s := h.person(t, name, role)
	h.enrol(t, s, bobPassword)
	return a, s
}

// person makes an account and signs in with it.
func (h *house) person(t *testing.T, name string, role Role) (Account, *Session) {
	t.Helper()
	_, admin := h.login(t, "ann", annPassword)
	a, err := h.CreateAccount(t.Context(), admin, Code(annPassword, h.code(t, "ann")), name, bobPassword, role)
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

// What cannot be stored has not happened, and is not called a wrong password.
func TestBrokenStorage(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	token, s := h.login(t, "ann", annPassword)
	h.enrol(t, s, annPassword)
	full := errors.New("the disk is full")
	h.memory.broken = full
	h.clock = h.clock.Add(10 * time.Minute)
	_, _, err := h.Login(ctx, "ann", annPassword, h.code(t, "ann"), "192.0.2.1", "")
	is(t, "login", err, full)
	_, _, err = h.Login(ctx, "ann", "wrong horse battery", "", "192.0.2.1", "")
	is(t, "failed login", err, full)
	_, err = h.AuthenticateSession(ctx, token) // who reads still may
	is(t, "session", err, nil)
	proof, err := h.Prove(ctx, s, Code(annPassword, h.code(t, "ann")), accept(1))
	is(t, "proof", err, full)
	if proof.Valid() {
		t.Error("there is a proof that no audit knows of")
	}
}

func accept(monitor int64, items ...string) Statement {
	return Statement{Action: ActionAccept, Monitor: monitor, Digest: surface.Digest{1}, Items: items}
}
