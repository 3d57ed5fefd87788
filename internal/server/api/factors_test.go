package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"
	"net/http"
	"testing"

	"github.com/pquerna/otp/totp"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
)

func TestCodeApp(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	viewer := w.credentials["session viewer"]
	proof := map[string]any{"password": password}
	w.problem("POST", "/account/totp", viewer, nil, http.StatusForbidden, "proof-required")
	w.problem("POST", "/account/totp", viewer, map[string]any{"password": "wrong"}, http.StatusUnauthorized, "wrong-password")
	w.problem("POST", "/account/totp/confirm", viewer, map[string]any{"code": "123456"}, http.StatusNotFound, "not-found")
	var begun people.Enrolment
	w.request("POST", "/account/totp", viewer, proof, http.StatusOK, &begun)
	w.problem("POST", "/account/totp/confirm", viewer, map[string]any{"code": "wrong"}, http.StatusUnauthorized, "code-required")
	code, err := totp.GenerateCode(begun.Secret, w.now())
	if err != nil {
		t.Fatal(err)
	}
	var recovery struct {
		Codes []string `json:"recovery_codes"`
	}
	w.request("POST", "/account/totp/confirm", viewer, map[string]any{"code": code}, http.StatusOK, &recovery)
	if len(recovery.Codes) != 10 {
		t.Fatalf("%d recovery codes", len(recovery.Codes))
	}
	var factors people.Factors
	w.request("GET", "/account/factors", viewer, nil, http.StatusOK, &factors)
	if !factors.Password || !factors.TOTP || factors.Recovery != 10 {
		t.Errorf("%+v", factors)
	}
	login := map[string]any{"name": "viewer", "password": password}
	w.problem("POST", "/session", "", login, http.StatusUnauthorized, "code-required")
	w.problem("POST", "/session", "", with(login, "code", code), http.StatusUnauthorized, "code-required")
	w.request("POST", "/session", "", with(login, "code", recovery.Codes[0]), http.StatusCreated, nil)
	w.problem("POST", "/session", "", with(login, "code", recovery.Codes[0]), http.StatusUnauthorized, "code-required")
	w.problem("POST", "/account/recovery", viewer, proof, http.StatusUnauthorized, "code-required")
	last := recovery.Codes[9]
	w.request("POST", "/account/recovery", viewer, with(proof, "code", recovery.Codes[1]), http.StatusOK, &recovery)
	w.problem("DELETE", "/account/totp", viewer, with(proof, "code", last), http.StatusUnauthorized, "code-required")
	w.request("DELETE", "/account/totp", viewer, with(proof, "code", recovery.Codes[0]), http.StatusNoContent, nil)
	w.request("POST", "/session", "", login, http.StatusCreated, nil)
}

// Who may approve, and has nothing but a password, is told what is missing.
func TestFactorIsRequired(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	admin := w.credentials["session admin"]
	w.request("POST", "/accounts", admin, map[string]any{"name": "new", "role": "approver", "new_password": password, "password": password}, http.StatusCreated, nil)
	w.credentials["session new"] = w.signIn("new")
	window := map[string]any{"name": "release", "kind": "expected-change", "start": w.now(), "end": w.now().Add(1e12), "password": password}
	w.problem("POST", "/windows", w.credentials["session new"], window, http.StatusForbidden, "factor-required")
	w.problem("POST", "/windows", admin, with(window, "code", ""), http.StatusUnauthorized, "code-required")
	w.problem("POST", "/windows", admin, with(window, "code", "123 456 789"), http.StatusUnauthorized, "code-required")
	w.enrol("new")
	w.request("POST", "/windows", w.credentials["session new"], window, http.StatusCreated, nil)

	// An administrator helps who has lost it.
	var accounts ops.Page[people.Account]
	w.request("GET", "/accounts", admin, nil, http.StatusOK, &accounts)
	for _, a := range accounts.Items {
		if a.Name == "new" {
			w.problem("POST", path("/accounts/%d/reset", a.ID), admin, nil, http.StatusForbidden, "proof-required")
			w.request("POST", path("/accounts/%d/reset", a.ID), admin, map[string]any{"password": password}, http.StatusNoContent, nil)
			w.problem("GET", "/me", w.credentials["session new"], nil, http.StatusUnauthorized, "unauthenticated")
			delete(w.codes, w.credentials["session new"])
			again := w.signIn("new")
			w.request("DELETE", path("/accounts/%d/sessions", a.ID), w.credentials["key admin"], nil, http.StatusNoContent, nil)
			w.problem("GET", "/me", again, nil, http.StatusUnauthorized, "unauthenticated")
		}
	}
}

func TestAuditExport(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		key := w.credentials["key admin"]
		a := w.request("GET", "/audit/export", key, nil, http.StatusOK, nil)
		if got := a.header.Get("Content-Type"); got != "application/x-ndjson" {
			t.Errorf("content type %q", got)
		}
		check, err := people.VerifyAudit("", entries(t, a.body))
		if err != nil || check.Broken != 0 || check.Entries < 10 {
			t.Errorf("%+v, %v", check, err)
		}
		var state people.AuditCheck
		w.request("GET", "/audit/state", key, nil, http.StatusOK, &state)
		if state != check {
			t.Errorf("the state is %+v, the export's %+v", state, check)
		}
		check, err = people.VerifyAudit("", entries(t, bytes.Replace(a.body, []byte("user:admin"), []byte("user:other"), 1)))
		if err != nil || check.Broken == 0 {
			t.Errorf("a changed export passes: %+v, %v", check, err)
		}
	})
}

func entries(t *testing.T, text []byte) iter.Seq2[people.AuditEntry, error] {
	return func(yield func(people.AuditEntry, error) bool) {
		lines := bufio.NewScanner(bytes.NewReader(text))
		previous := ""
		for lines.Scan() {
			var line ops.AuditLine
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Previous != previous {
				t.Errorf("%s: %v", lines.Bytes(), err)
			}
			previous = line.Hash
			if !yield(line.AuditEntry, nil) {
				return
			}
		}
	}
}
