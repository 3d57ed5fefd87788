package people

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

func TestCodeApp(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.person(t, "bob", Viewer)
	other, _ := h.login(t, "bob", bobPassword)
	_, err := h.BeginTOTP(ctx, s, Password(annPassword))
	is(t, "begun with a wrong password", err, ErrCredentials)
	_, err = h.ConfirmTOTP(ctx, s, "123456")
	is(t, "confirmed before it was begun", err, ErrNotFound)
	begun, err := h.BeginTOTP(ctx, s, Password(bobPassword))
	if err != nil || !strings.HasPrefix(begun.URL, "otpauth://totp/mcpvigil%20watch.example.com:bob?") || !strings.Contains(begun.URL, "secret="+begun.Secret) {
		t.Fatalf("%+v, %v", begun, err)
	}
	if _, _, err := h.Login(ctx, "bob", bobPassword, "", "192.0.2.1", ""); err != nil {
		t.Errorf("it counts before it is confirmed: %v", err)
	}
	_, err = h.ConfirmTOTP(ctx, s, "12345a")
	is(t, "a wrong first code", err, ErrCode)
	if got := h.memory.lastAudit(t); got.Action != "factor.failed" {
		t.Errorf("audit %+v", got)
	}
	_, anns := h.login(t, "ann", annPassword)
	h.apps["bob"] = begun.Secret
	_, err = h.ConfirmTOTP(ctx, anns, h.code(t, "bob"))
	is(t, "confirmed by another", err, ErrNotFound)
	recovery, err := h.ConfirmTOTP(ctx, s, h.code(t, "bob"))
	if err != nil || len(recovery) != recoveryCodes || len(recovery[0]) != 19 {
		t.Fatalf("%v, %v", recovery, err)
	}
	if got := h.memory.lastAudit(t); got.Action != "totp.set" || got.Actor != "user:bob" {
		t.Errorf("audit %+v", got)
	}
	if _, err := h.AuthenticateSession(ctx, other); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("another session after a code app was set up: %v", err)
	}
	if n := len(h.memory.data.asked); n != 0 {
		t.Errorf("%d challenges are left", n)
	}
	logged := fmt.Sprintf("%+v", h.memory.data.audit)
	stored := fmt.Sprintf("%+v", h.memory.data.accounts)
	for _, secret := range append(recovery, begun.Secret, strings.ReplaceAll(recovery[0], "-", "")) {
		if strings.Contains(logged, secret) || strings.Contains(stored, secret) {
			t.Error("a secret stands in the audit or in an account")
		}
	}
	h.login(t, "bob", bobPassword)

	// A new one takes the place of the old one when it is confirmed.
	again, err := h.BeginTOTP(ctx, s, Code(bobPassword, h.code(t, "bob")))
	if err != nil {
		t.Fatal(err)
	}
	h.login(t, "bob", bobPassword)
	h.apps["bob"] = again.Secret
	if _, err = h.ConfirmTOTP(ctx, s, h.code(t, "bob")); err != nil {
		t.Fatal(err)
	}
	h.login(t, "bob", bobPassword)
	_, _, err = h.Login(ctx, "bob", bobPassword, recovery[0], "192.0.2.1", "")
	is(t, "a recovery code of before", err, ErrCode)

	_, err = h.BeginTOTP(ctx, s, Password(bobPassword))
	is(t, "another one without a code", err, ErrCode)
	is(t, "removed without a code", h.RemoveTOTP(ctx, s, Password(bobPassword)), ErrCode)
	if err := h.RemoveTOTP(ctx, s, Code(bobPassword, h.code(t, "bob"))); err != nil {
		t.Fatal(err)
	}
	delete(h.apps, "bob")
	h.login(t, "bob", bobPassword)
	is(t, "removed twice", h.RemoveTOTP(ctx, s, Password(bobPassword)), ErrNotFound)
	_, err = h.NewRecoveryCodes(ctx, s, Password(bobPassword))
	is(t, "recovery codes without a code app", err, ErrFactor)
}

func TestEnrolmentExpires(t *testing.T) {
	h := newHouse(t)
	_, s := h.login(t, "ann", annPassword)
	begun, err := h.BeginTOTP(t.Context(), s, Password(annPassword))
	if err != nil {
		t.Fatal(err)
	}
	h.apps["ann"] = begun.Secret
	h.clock = h.clock.Add(enrolmentLife)
	_, err = h.ConfirmTOTP(t.Context(), s, h.code(t, "ann"))
	is(t, "late", err, ErrNotFound)
}

// Each step counts once, however a code is used, and only around now.
func TestCodesCountOnce(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.approver(t, "bob", Approver)
	at := func(d time.Duration) string {
		code, err := totp.GenerateCode(h.apps["bob"], h.clock.Add(d))
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	login := func(code string) error {
		_, _, err := h.Login(ctx, "bob", bobPassword, code, "192.0.2.1", "")
		return err
	}
	prove := func(code string) error {
		_, err := h.Prove(ctx, s, Code(bobPassword, code), accept(1))
		return err
	}
	h.clock = h.clock.Add(time.Hour)
	is(t, "two steps ago", login(at(-60*time.Second)), ErrCode)
	is(t, "in two steps", login(at(60*time.Second)), ErrCode)
	is(t, "a step ago", login(at(-30*time.Second)), nil)
	is(t, "now, with a blank", login(at(0)[:3]+" "+at(0)[3:]), nil)
	is(t, "replayed", login(at(0)), ErrCode)
	if got := h.memory.lastAudit(t); got.Action != "login.failed" || got.Object != "user:bob" || !strings.Contains(got.Detail, "wrong code") {
		t.Errorf("audit %+v", got)
	}
	is(t, "replayed as a proof", prove(at(0)), ErrCode)
	if got := h.memory.lastAudit(t); got.Action != "factor.failed" || !strings.Contains(got.Detail, "wrong code") {
		t.Errorf("audit %+v", got)
	}
	is(t, "in a step", prove(at(30*time.Second)), nil)
	is(t, "now, after a later one", login(at(0)), ErrCode)
	h.clock = h.clock.Add(10 * time.Minute)
	code := at(0)
	is(t, "a proof", prove(code), nil)
	is(t, "replayed after a proof", login(code), ErrCode)
	h.clock = h.clock.Add(10 * time.Minute)
	is(t, "without a code", login(""), ErrCode)
	if got := h.memory.lastAudit(t); got.Action != "login.code" || got.Actor != "" || got.Object != "user:bob" {
		t.Errorf("audit %+v", got)
	}
	if _, _, err := h.Login(ctx, "bob", "wrong horse battery", at(0), "192.0.2.1", ""); !errors.Is(err, ErrCredentials) {
		t.Errorf("a wrong password with the right code: %v", err)
	}
	is(t, "the code that came with a wrong password", login(at(0)), nil)
}

func TestRecoveryCodes(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	_, s := h.person(t, "bob", Approver)
	codes := h.enrol(t, s, bobPassword)
	login := func(code string) error {
		h.clock = h.clock.Add(time.Minute)
		_, _, err := h.Login(ctx, "bob", bobPassword, code, "192.0.2.1", "")
		return err
	}
	is(t, "one", login(codes[0]), nil)
	is(t, "twice", login(codes[0]), ErrCode)
	is(t, "as it can be typed", login(" "+strings.ToUpper(strings.ReplaceAll(codes[1], "-", " "))), nil)
	is(t, "a hash", login(hashOf(plainCode(codes[2]))), ErrCode)
	f, err := h.Factors(ctx, s)
	if err != nil || f.Recovery != 8 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := h.Prove(ctx, s, Code(bobPassword, codes[2]), accept(1)); err != nil {
		t.Fatal(err)
	}
	uses := 0
	for _, e := range h.memory.data.audit {
		if e.Action == "recovery.use" {
			uses++
		}
	}
	if uses != 3 {
		t.Errorf("%d uses in the audit", uses)
	}
	fresh, err := h.NewRecoveryCodes(ctx, s, Code(bobPassword, codes[3]))
	if err != nil || len(fresh) != recoveryCodes {
		t.Fatal(err)
	}
	is(t, "one that was replaced", login(codes[4]), ErrCode)
	is(t, "a new one", login(fresh[0]), nil)
	seen := map[string]bool{}
	for _, c := range append(fresh, codes...) {
		if seen[c] {
			t.Error("the same code twice")
		}
		seen[c] = true
	}
}

// Nobody guesses codes: neither to sign in nor in a session, however the limits on
// passwords are waited for.
func TestCodesAreLimited(t *testing.T) {
	for name, try := range map[string]func(h *house, s *Session, code string) error{
		"login": func(h *house, _ *Session, code string) error {
			_, _, err := h.Login(t.Context(), "bob", bobPassword, code, "192.0.2.1", "")
			return err
		},
		"proof": func(h *house, s *Session, code string) error {
			_, err := h.Prove(t.Context(), s, Code(bobPassword, code), accept(1))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			_, s := h.approver(t, "bob", Approver)
			start, wrong := h.clock, 0
			for h.clock.Sub(start) < time.Hour {
				h.clock = h.clock.Add(7 * time.Second)
				err := try(h, s, "12345x") // as no right one is
				if errors.Is(err, ErrCode) {
					wrong++
				} else if !isLimited(err) {
					t.Fatal(err)
				}
			}
			if wrong < 10 || wrong > 41 {
				t.Errorf("%d codes were looked at in an hour", wrong)
			}
			right := h.code(t, "bob")
			for errors.Is(try(h, s, "12345x"), ErrCode) {
				wrong++
			}
			if err := try(h, s, right); !isLimited(err) {
				t.Errorf("the right one within the limit: %v", err)
			}
			h.clock = h.clock.Add(time.Hour)
			for range 30 { // right ones are not limited
				h.clock = h.clock.Add(time.Minute)
				if err := try(h, s, h.code(t, "bob")); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// To administer accounts takes the second factor of an account that has one.
func TestAdministrationTakesTheSecondFactor(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	bob, _ := h.person(t, "bob", Viewer)
	_, s := h.login(t, "ann", annPassword)
	h.enrol(t, s, annPassword)
	do := func(f Factor) error {
		return h.SetRole(ctx, s, f, bob.ID, Approver)
	}
	is(t, "without a code", do(Password(annPassword)), ErrCode)
	is(t, "with a wrong one", do(Code(annPassword, "12345x")), ErrCode)
	is(t, "with none", do(nil), ErrCredentials)
	if h.memory.data.accounts[bob.ID].Role != Viewer {
		t.Error("the role changed")
	}
	is(t, "with one", do(Code(annPassword, h.code(t, "ann"))), nil)
	is(t, "the own password without a code", h.SetPassword(ctx, s, Password(annPassword), h.ann.ID, "a new pass phrase"), ErrCode)
}

func TestResetFactors(t *testing.T) {
	h := newHouse(t)
	ctx := t.Context()
	bob, s := h.approver(t, "bob", Approver)
	token, _ := h.login(t, "bob", bobPassword)
	_, anns := h.login(t, "ann", annPassword)
	is(t, "by an approver", h.ResetFactors(ctx, s, Code(bobPassword, h.code(t, "bob")), bob.ID), ErrForbidden)
	is(t, "of nobody", h.ResetFactors(ctx, anns, Password(annPassword), 999), ErrNotFound)
	if err := h.ResetFactors(ctx, anns, Password(annPassword), bob.ID); err != nil {
		t.Fatal(err)
	}
	if got := h.memory.lastAudit(t); got.Action != "account.factors" || got.Actor != "user:ann" || got.Object != "user:bob" {
		t.Errorf("audit %+v", got)
	}
	_, err := h.AuthenticateSession(ctx, token)
	is(t, "the session", err, ErrUnauthenticated)
	delete(h.apps, "bob")
	token, s = h.login(t, "bob", bobPassword)
	_, err = h.Prove(ctx, s, Password(bobPassword), accept(1))
	is(t, "a proof", err, ErrFactor)
	is(t, "sessions ended by an approver", h.RevokeAccountSessions(ctx, s.Actor(), h.ann.ID), ErrForbidden)
	if err := h.RevokeAccountSessions(ctx, anns.Actor(), bob.ID); err != nil {
		t.Fatal(err)
	}
	_, err = h.AuthenticateSession(ctx, token)
	is(t, "a session that an admin ended", err, ErrUnauthenticated)
	is(t, "sessions of nobody", h.RevokeAccountSessions(ctx, anns.Actor(), 999), ErrNotFound)
}
