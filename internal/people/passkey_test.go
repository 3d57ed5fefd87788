package people

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
)

// key is an authenticator with one passkey.
type key struct {
	party virtualwebauthn.RelyingParty
	own   virtualwebauthn.Authenticator
	cred  virtualwebauthn.Credential
}

func newPasskey() *key {
	return &key{
		party: virtualwebauthn.RelyingParty{ID: "watch.example.com", Name: "mcpvigil", Origin: "https://watch.example.com"},
		own:   virtualwebauthn.NewAuthenticator(), cred: virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2),
	}
}

// make answers what BeginPasskey asked.
func (k *key) make(t *testing.T, asked []byte) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAttestationOptions(string(asked))
	if err != nil {
		t.Fatal(err)
	}
	k.own.Options.UserHandle = []byte(options.UserID)
	return []byte(virtualwebauthn.CreateAttestationResponse(k.party, k.own, k.cred, *options))
}

// sign answers a challenge, and counts it.
func (k *key) sign(t *testing.T, asked []byte) []byte {
	t.Helper()
	k.cred.Counter++
	return k.signAs(t, asked)
}

func (k *key) signAs(t *testing.T, asked []byte) []byte {
	t.Helper()
	options, err := virtualwebauthn.ParseAssertionOptions(string(asked))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(virtualwebauthn.CreateAssertionResponse(k.party, k.own, k.cred, *options))
}

// addKey gives the account of a session a passkey.
func (h *house) addKey(t *testing.T, s *Session, f Factor) *key {
	t.Helper()
	k := newPasskey()
	h.clock = h.clock.Add(time.Minute)
	asked, err := h.BeginPasskey(t.Context(), s, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.FinishPasskey(t.Context(), s, "laptop", k.make(t, asked)); err != nil {
		t.Fatal(err)
	}
	return k
}

func (h *house) loginKey(t *testing.T, k *key) (string, *Session, error) {
	t.Helper()
	h.clock = h.clock.Add(time.Minute)
	asked, err := h.PasskeyChallenge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h.LoginWithPasskey(t.Context(), k.sign(t, asked), "192.0.2.1", "test")
}

func (h *house) proofKey(t *testing.T, s *Session, k *key, binding string) Factor {
	t.Helper()
	h.clock = h.clock.Add(time.Minute)
	asked, err := h.ProofChallenge(t.Context(), s, binding)
	if err != nil {
		t.Fatal(err)
	}
	return Passkey(k.sign(t, asked), binding)
}

func TestPasskey(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	if !h.PasskeysWork() {
		t.Fatal("passkeys do not work")
	}
	_, s := h.person(t, "bob", Approver)
	other, _ := h.login(t, "bob", bobPassword)
	k := h.addKey(t, s, Password(bobPassword))
	if got := h.memory.lastAudit(t); got.Action != "passkey.add" || got.Actor != "user:bob" || !strings.Contains(got.Detail, "laptop") {
		t.Errorf("audit %+v", got)
	}
	_, err := h.AuthenticateSession(ctx, other)
	is(t, "another session after a passkey was added", err, ErrUnauthenticated)

	token, s2, err := h.loginKey(t, k)
	if err != nil || s2.Account().Name != "bob" || len(token) != 43 {
		t.Fatalf("%v", err)
	}
	if got := h.memory.lastAudit(t); got.Action != "login" || got.Actor != "user:bob" {
		t.Errorf("audit %+v", got)
	}
	proof, err := h.Prove(ctx, s2, h.proofKey(t, s2, k, "accept 1"), accept(1))
	if err != nil || !proof.Valid() || proof.Account() != "bob" {
		t.Fatalf("%v", err)
	}
	_, err = h.Prove(ctx, s2, Password(bobPassword), accept(1))
	is(t, "a password beside a passkey", err, ErrFactor)
	_, err = h.BeginTOTP(ctx, s2, Password(bobPassword))
	is(t, "a code app with the password alone", err, ErrFactor)
	is(t, "the passkey is removed with the password alone", h.RemovePasskey(ctx, s2, Password(bobPassword), 1), ErrFactor)
	f, err := h.Factors(ctx, s2)
	if err != nil || len(f.Passkeys) != 1 || f.Passkeys[0].Name != "laptop" || !f.Passkeys[0].UsedAt.Equal(h.clock) || !f.Password || f.TOTP {
		t.Fatalf("%+v, %v", f, err)
	}
	if text, err := json.Marshal(f); err != nil || strings.Contains(string(text), "publicKey") {
		t.Errorf("%s, %v", text, err)
	}
	is(t, "a passkey that is not there", h.RemovePasskey(ctx, s2, h.proofKey(t, s2, k, "x"), 999), ErrNotFound)
	if err := h.RemovePasskey(ctx, s2, h.proofKey(t, s2, k, "remove"), f.Passkeys[0].ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.loginKey(t, k)
	is(t, "a passkey that was removed", err, ErrCredentials)
	_, err = h.ProofChallenge(ctx, s2, "x")
	is(t, "a challenge without a passkey", err, ErrFactor)
}

// An answer counts once, in its session, for what it was asked for.
func TestPasskeyAnswersAreBound(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.person(t, "bob", Approver)
	k := h.addKey(t, s, Password(bobPassword))
	_, s2, err := h.loginKey(t, k)
	if err != nil {
		t.Fatal(err)
	}
	_, anns := h.login(t, "ann", annPassword)
	annKey := h.addKey(t, anns, Password(annPassword))
	challenge := func(s *Session, binding string) []byte {
		h.clock = h.clock.Add(time.Minute)
		asked, err := h.ProofChallenge(ctx, s, binding)
		if err != nil {
			t.Fatal(err)
		}
		return asked
	}
	refused := func(what string, s *Session, f Factor) {
		t.Helper()
		h.clock = h.clock.Add(time.Second)
		proof, err := h.Prove(ctx, s, f, accept(1))
		is(t, what, err, ErrCredentials)
		if proof.Valid() {
			t.Errorf("%s: a proof", what)
		}
		if got := h.memory.lastAudit(t); got.Action != "factor.failed" || !strings.Contains(got.Detail, "passkey") {
			t.Errorf("%s: audit %+v", what, got)
		}
	}
	once := k.sign(t, challenge(s, "a"))
	if _, err := h.Prove(ctx, s, Passkey(once, "a"), accept(1)); err != nil {
		t.Fatal(err)
	}
	refused("replayed", s, Passkey(once, "a"))
	refused("of another session of the account", s2, Passkey(k.sign(t, challenge(s, "a")), "a"))
	refused("of another binding", s, Passkey(k.sign(t, challenge(s, "a")), "b"))
	refused("without a binding", s, Passkey(k.sign(t, challenge(s, "a")), ""))
	refused("of another account's passkey", s, Passkey(annKey.sign(t, challenge(s, "a")), "a"))
	login, err := h.PasskeyChallenge(ctx)
	if err != nil {
		t.Fatal(err)
	}
	refused("of a challenge to sign in", s, Passkey(k.sign(t, login), ""))
	late := k.sign(t, challenge(s, "a"))
	h.clock = h.clock.Add(challengeLife)
	refused("late", s, Passkey(late, "a"))
	refused("nonsense", s, Passkey([]byte("{}"), "a"))
	refused("nothing", s, Passkey(nil, ""))
	stranger := newPasskey()
	stranger.own.Options.UserHandle = k.own.Options.UserHandle
	refused("of a passkey that nobody has", s, Passkey(stranger.sign(t, challenge(s, "a")), "a"))
	forged := newPasskey()
	forged.cred.ID, forged.cred.Counter, forged.own = k.cred.ID, 1000, k.own
	refused("of another key under the same name", s, Passkey(forged.sign(t, challenge(s, "a")), "a"))
	elsewhere := *k
	elsewhere.party.Origin = "https://watch.example.com.evil.example"
	refused("from another site", s, Passkey(elsewhere.sign(t, challenge(s, "a")), "a"))
	unverified := *k
	unverified.own.Options.UserNotVerified = true
	refused("without a look at who it is", s, Passkey(unverified.sign(t, challenge(s, "a")), "a"))

	// Of a proof, none to sign in; of a registration, neither.
	h.clock = h.clock.Add(time.Minute)
	_, _, err = h.LoginWithPasskey(ctx, k.sign(t, challenge(s, "a")), "192.0.2.1", "")
	is(t, "a proof signs in", err, ErrCredentials)
	login, err = h.PasskeyChallenge(ctx)
	if err != nil {
		t.Fatal(err)
	}
	answer := k.sign(t, login)
	h.clock = h.clock.Add(time.Minute)
	first, _, err := h.LoginWithPasskey(ctx, answer, "192.0.2.1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = h.LoginWithPasskey(ctx, answer, "192.0.2.1", ""); err == nil {
		t.Error("a replayed answer signs in")
	}
	if second, _, err := h.loginKey(t, k); err != nil || second == first {
		t.Errorf("the same token: %v", err)
	}
	another := newPasskey()
	asked, err := h.BeginPasskey(ctx, s, h.proofKey(t, s, k, "add"))
	if err != nil {
		t.Fatal(err)
	}
	is(t, "a registration of another session", h.FinishPasskey(ctx, s2, "mine", another.make(t, asked)), ErrCredentials)
	is(t, "a registration twice", h.FinishPasskey(ctx, s, "mine", another.make(t, asked)), ErrCredentials)
}

func TestClonedPasskey(t *testing.T) {
	h := newHouse(t)
	_, s := h.person(t, "bob", Approver)
	k := h.addKey(t, s, Password(bobPassword))
	clone := *k
	for range 3 {
		if _, _, err := h.loginKey(t, k); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := h.loginKey(t, &clone)
	is(t, "a copy with an older counter", err, ErrCredentials)
	if got := h.memory.lastAudit(t); got.Action != "login.failed" || got.Object != "user:bob" || !strings.Contains(got.Detail, "copy") {
		t.Errorf("audit %+v", got)
	}
	_, err = h.Prove(t.Context(), s, h.proofKey(t, s, &clone, "x"), accept(1))
	is(t, "a proof of a copy", err, ErrCredentials)
}

func TestPasskeyOfDisabledAccount(t *testing.T) {
	h := newHouse(t)
	bob, s := h.person(t, "bob", Approver)
	k := h.addKey(t, s, Password(bobPassword))
	_, anns := h.login(t, "ann", annPassword)
	if err := h.Disable(t.Context(), anns, Password(annPassword), bob.ID, true); err != nil {
		t.Fatal(err)
	}
	_, _, err := h.loginKey(t, k)
	is(t, "a disabled account", err, ErrCredentials)
	if got := h.memory.lastAudit(t); got.Object != "user:bob" || !strings.Contains(got.Detail, "disabled") {
		t.Errorf("audit %+v", got)
	}
	if err := h.ResetFactors(t.Context(), anns, Password(annPassword), bob.ID); err != nil {
		t.Fatal(err)
	}
	if n := len(h.memory.data.passkeys); n != 0 {
		t.Errorf("%d passkeys are left", n)
	}
}

func TestPasskeysAreBounded(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.person(t, "bob", Approver)
	first := h.addKey(t, s, Password(bobPassword))
	for range maxPasskeys - 1 {
		h.addKey(t, s, h.proofKey(t, s, first, "add"))
	}
	_, err := h.BeginPasskey(ctx, s, h.proofKey(t, s, first, "add"))
	isInput(t, "one more", err, "name", "20")
	for range 2 * maxSessionChallenges {
		if _, err := h.ProofChallenge(ctx, s, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(h.memory.data.asked); n > maxSessionChallenges {
		t.Errorf("%d challenges are kept", n)
	}
	h.clock = h.clock.Add(challengeLife + time.Second)
	if _, err := h.PasskeyChallenge(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(h.memory.data.asked); n != 1 {
		t.Errorf("%d challenges are kept that have expired", n-1)
	}
	isInput(t, "without a name", h.FinishPasskey(ctx, s, " ", []byte("{}")), "name", "missing")
	is(t, "nonsense", h.FinishPasskey(ctx, s, "x", []byte("{}")), ErrCredentials)
}

func TestRelyingParty(t *testing.T) {
	for address, want := range map[string]bool{
		"https://watch.example.com": true, "https://watch.example.com:8443": true, "http://localhost:8087": true,
		"": false, "http://127.0.0.1:8087": false, "http://[::1]:8087": false, "watch.example.com": false, "://": false,
	} {
		p := New(newMemory(), Options{PublicURL: address})
		if p.PasskeysWork() != want {
			t.Errorf("%q: %t", address, p.PasskeysWork())
		}
		if _, err := p.PasskeyChallenge(t.Context()); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
	if got := fmt.Sprintf("%v", ErrNoPasskeys); !strings.Contains(got, "--public-url") {
		t.Error(got)
	}
}
