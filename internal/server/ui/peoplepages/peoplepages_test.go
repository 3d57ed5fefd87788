package peoplepages_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
)

const password = "another long password"

// with is a form with what admin shows.
func with(w *uitest.World, form url.Values) url.Values {
	out := w.Proof("admin")
	maps.Copy(out, form)
	return out
}

func want(t *testing.T, what string, a uitest.Answer, status int, texts ...string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("%s: %d to %q, want %d\n%s", what, a.Status, a.Location, status, a.Body)
	}
	for _, text := range texts {
		if !strings.Contains(a.Body, text) {
			t.Errorf("%s does not say %q:\n%s", what, text, a.Body)
		}
	}
}

func goes(t *testing.T, what string, a uitest.Answer, to string) {
	t.Helper()
	if a.Status != http.StatusSeeOther || a.Location != to {
		t.Errorf("%s: %d to %q, want to %q\n%s", what, a.Status, a.Location, to, a.Body)
	}
}

// idOf is the account of a name.
func idOf(t *testing.T, w *uitest.World, name string) string {
	t.Helper()
	page := w.Get("admin", "/settings/people")
	found := regexp.MustCompile(`href="/settings/people/(\d+)">` + regexp.QuoteMeta(name) + `<`).FindStringSubmatch(page.Body)
	if found == nil {
		t.Fatalf("no account %s: %s", name, page.Body)
	}
	return found[1]
}

// TestAccounts: the life of an account, each step of which takes a proof.
func TestAccounts(t *testing.T) {
	w := uitest.New(t)
	want(t, "the list", w.Get("admin", "/settings/people"), http.StatusOK, "viewer", "approver", "code app", "no second factor")
	form := url.Values{"name": {"bob"}, "role": {"editor"}, "password": {password}}
	want(t, "without a proof", w.Post("admin", "/settings/people", form), http.StatusForbidden, `value="bob"`, "Show that it is you")
	want(t, "without the code", w.Post("admin", "/settings/people", url.Values{"name": {"bob"}, "role": {"editor"}, "password": {password}, "proof_password": {uitest.Password}}), http.StatusUnauthorized, `role="alert"`)
	want(t, "a short password", w.Post("admin", "/settings/people", with(w, url.Values{"name": {"bob"}, "role": {"editor"}, "password": {"short"}})), http.StatusUnprocessableEntity, "at least 12")
	want(t, "a name that is taken", w.Post("admin", "/settings/people", with(w, url.Values{"name": {"viewer"}, "role": {"editor"}, "password": {password}})), http.StatusConflict, "taken")
	goes(t, "a new account", w.Post("admin", "/settings/people", with(w, form)), "/settings/people?done=created")

	path := "/settings/people/" + idOf(t, w, "bob")
	want(t, "the account", w.Get("admin", path), http.StatusOK, "bob", "Editor", "Set a new password", "Disable the account")
	token, _, err := w.People.Login(t.Context(), "bob", password, "", "192.0.2.1", "test")
	if err != nil {
		t.Fatal(err)
	}
	w.Tokens["bob"] = token
	want(t, "bob", w.Get("bob", "/account"), http.StatusOK, "Editor")

	goes(t, "another role", w.Post("admin", path+"/role", with(w, url.Values{"role": {"viewer"}})), path+"?done=saved")
	if got := w.Get("bob", "/account"); got.Status != http.StatusSeeOther {
		t.Errorf("a session lives on after another role: %d", got.Status)
	}
	goes(t, "another password", w.Post("admin", path+"/password", with(w, url.Values{"password": {password + "2"}})), path+"?done=saved")
	want(t, "no password", w.Post("admin", path+"/password", with(w, nil)), http.StatusUnprocessableEntity, "is missing")
	if w.Tokens["bob"], _, err = w.People.Login(t.Context(), "bob", password+"2", "", "192.0.2.1", "test"); err != nil {
		t.Fatal(err)
	}
	goes(t, "ending sessions", w.Post("admin", path+"/sessions/delete", nil), path+"?done=revoked")
	if got := w.Get("bob", "/account"); got.Status != http.StatusSeeOther {
		t.Errorf("a session lives on after all were ended: %d", got.Status)
	}
}

// TestDisable: who is disabled gets in nowhere, and somebody administers always.
func TestDisable(t *testing.T) {
	w := uitest.New(t)
	path := "/settings/people/" + idOf(t, w, "editor")
	want(t, "disabling without a proof", w.Post("admin", path+"/disable", nil), http.StatusForbidden, `id="act-access" open`)
	goes(t, "disabling", w.Post("admin", path+"/disable", with(w, nil)), path+"?done=saved")
	if _, _, err := w.People.Login(t.Context(), "editor", uitest.Password, "", "192.0.2.1", "test"); err == nil {
		t.Error("who is disabled gets in")
	}
	want(t, "the account", w.Get("admin", path), http.StatusOK, "Disabled", "Enable the account")
	goes(t, "enabling", w.Post("admin", path+"/enable", with(w, nil)), path+"?done=saved")
	want(t, "the last admin", w.Post("admin", "/settings/people/"+idOf(t, w, "admin")+"/role", with(w, url.Values{"role": {"viewer"}})), http.StatusConflict, "last admin")
	want(t, "one that is not there", w.Get("admin", "/settings/people/9999"), http.StatusNotFound)
}

// TestResetFactors: who has lost everything gets in with the password alone again.
func TestResetFactors(t *testing.T) {
	w := uitest.New(t)
	path := "/settings/people/" + idOf(t, w, "approver")
	want(t, "the account", w.Get("admin", path), http.StatusOK, "code app", "Remove the second factor")
	want(t, "without a proof", w.Post("admin", path+"/factors/delete", nil), http.StatusForbidden, `id="act-factors" open`)
	goes(t, "removing", w.Post("admin", path+"/factors/delete", with(w, nil)), path+"?done=deleted")
	if _, _, err := w.People.Login(t.Context(), "approver", uitest.Password, "", "192.0.2.1", "test"); err != nil {
		t.Errorf("with the password alone: %v", err)
	}
	want(t, "the account", w.Get("admin", path), http.StatusOK, "no second factor")
}

// TestKeys: a key is shown once, works, and ends.
func TestKeys(t *testing.T) {
	w := uitest.New(t)
	want(t, "no keys", w.Get("admin", "/settings/keys"), http.StatusOK, "There is no API key.")
	form := url.Values{"name": {"ci"}, "role": {"editor"}, "days": {"30"}}
	want(t, "without a proof", w.Post("admin", "/settings/keys", form), http.StatusForbidden, `role="alert"`)
	form.Set("proof_password", uitest.Password)
	want(t, "with the password alone", w.Post("admin", "/settings/keys", form), http.StatusUnauthorized, `role="alert"`)
	want(t, "still no keys", w.Get("admin", "/settings/keys"), http.StatusOK, "There is no API key.")
	page := w.Post("admin", "/settings/keys", with(w, url.Values{"name": {"ci"}, "role": {"editor"}, "days": {"30"}}))
	want(t, "a new key", page, http.StatusOK, "It is shown this once")
	text := regexp.MustCompile(`mvk_[A-Za-z0-9_-]{43}`).FindString(page.Body)
	actor, err := w.People.AuthenticateKey(t.Context(), text)
	if err != nil || actor.Role() != people.Editor {
		t.Errorf("the key: %v, %v", actor.Role(), err)
	}
	list := w.Get("admin", "/settings/keys")
	want(t, "the list", list, http.StatusOK, "ci", "Editor", "user:admin", "Revoke")
	if strings.Contains(list.Body, text) {
		t.Error("a key is shown again")
	}
	want(t, "the name again", w.Post("admin", "/settings/keys", with(w, url.Values{"name": {"ci"}, "role": {"viewer"}, "days": {"30"}})), http.StatusConflict, "taken")
	want(t, "one that approves", w.Post("admin", "/settings/keys", with(w, url.Values{"name": {"a"}, "role": {"approver"}, "days": {"30"}})), http.StatusUnprocessableEntity, "a person")
	want(t, "for ever", w.Post("admin", "/settings/keys", with(w, url.Values{"name": {"a"}, "role": {"viewer"}, "days": {"100000"}})), http.StatusUnprocessableEntity, "from 1 to 730 days")
	want(t, "as long as can be", w.Post("admin", "/settings/keys", with(w, url.Values{"name": {"long"}, "role": {"viewer"}, "days": {"730"}})), http.StatusOK, "It is shown this once")
	id := regexp.MustCompile(`/settings/keys/(\d+)/delete`).FindStringSubmatch(list.Body)
	goes(t, "revoking", w.Post("admin", "/settings/keys/"+id[1]+"/delete", nil), "/settings/keys?done=revoked")
	if _, err := w.People.AuthenticateKey(t.Context(), text); err == nil {
		t.Error("a key that was revoked works")
	}
	want(t, "the list", w.Get("admin", "/settings/keys"), http.StatusOK, "Revoked")
}

// TestAudit: what was done is listed, filtered and exported, and whether it was changed.
func TestAudit(t *testing.T) {
	w := uitest.New(t)
	want(t, "the list", w.Get("admin", "/settings/audit"), http.StatusOK, "account.create", "user:admin", "login")
	filtered := w.Get("admin", "/settings/audit?actor=user:approver&action=totp.set")
	want(t, "a part of it", filtered, http.StatusOK, "totp.set", `value="user:approver"`)
	if strings.Contains(filtered.Body, "account.create") {
		t.Error("a filter lets others through")
	}
	want(t, "nothing", w.Get("admin", "/settings/audit?actor=user:nobody"), http.StatusOK, "There is no such entry.")
	want(t, "no cursor", w.Get("admin", "/settings/audit?after=x"), http.StatusNotFound)
	want(t, "the chain", w.Get("admin", "/settings/audit/chain"), http.StatusOK, "The chain is unbroken.")

	export := w.Get("admin", "/settings/audit/export")
	want(t, "the export", export, http.StatusOK)
	if got := export.Header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="mcpvigil-audit-`) {
		t.Errorf("it is shown, not kept: %q", got)
	}
	lines := strings.Split(strings.TrimSpace(export.Body), "\n")
	for i, line := range lines {
		var e struct {
			Action, Hash, Previous string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Action == "" || e.Hash == "" || i > 0 && e.Previous == "" {
			t.Errorf("line %d: %v: %s", i, err, line)
		}
	}
	if len(lines) < 8 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestAuditPages: a long audit comes in parts.
func TestAuditPages(t *testing.T) {
	w := uitest.New(t)
	w.Monitor("search")
	for i := range 120 {
		page := ops.StatusPageInput{Title: "Page " + strconv.Itoa(i), Monitors: []string{"search"}}
		if _, _, err := w.Ops.PutStatusPage(t.Context(), w.Actor("editor"), "page", page, false); err != nil {
			t.Fatal(err)
		}
	}
	page := w.Get("admin", "/settings/audit?action=status-page.put")
	more := regexp.MustCompile(`hx-get="(/settings/audit\?[^"]+)"`).FindStringSubmatch(page.Body)
	if more == nil || strings.Count(page.Body, "<code>status-page.put</code>") != 100 {
		t.Fatalf("%d entries, more at %v", strings.Count(page.Body, "<code>status-page.put</code>"), more)
	}
	part := w.Get("admin", strings.ReplaceAll(more[1], "&amp;", "&"), "HX-Request", "true")
	if n := strings.Count(part.Body, "<code>status-page.put</code>"); n != 20 || strings.Contains(part.Body, "<html") {
		t.Errorf("the next part has %d entries\n%s", n, part.Body)
	}
}

// TestAuditOfALongName: what is asked for is cut between characters.
func TestAuditOfALongName(t *testing.T) {
	w := uitest.New(t)
	page := w.Get("admin", "/settings/audit?actor="+strings.Repeat("a", 199)+"%C3%A9")
	if page.Status != http.StatusOK || !utf8.ValidString(page.Body) || !strings.Contains(page.Body, strings.Repeat("a", 199)+`"`) {
		t.Errorf("%d %.2000s", page.Status, page.Body)
	}
}
