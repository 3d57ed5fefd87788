package ui_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ui"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
)

// TestRoles asks for every route as everybody: who may not gets no answer of it.
func TestRoles(t *testing.T) {
	w := uitest.New(t)
	roles := map[string]people.Role{"viewer": people.Viewer, "editor": people.Editor, "approver": people.Approver, "admin": people.Admin}
	for _, route := range ui.Routes(ui.Deps{Ops: w.Ops, People: w.People}) {
		if route.Permission == shell.Open {
			continue
		}
		path := strings.NewReplacer("{id}", "999999", "{name}", "none", "{slug}", "none", "{$}", "").Replace(route.Path)
		ask := func(name string) uitest.Answer {
			if route.Method == http.MethodPost {
				return w.Post(name, path, nil)
			}
			return w.Get(name, path)
		}
		got := ask("")
		for got.Status == http.StatusTooManyRequests { // there are more routes than somebody who is not signed in may ask for at once
			time.Sleep(100 * time.Millisecond)
			got = ask("")
		}
		if got.Status != http.StatusUnauthorized && (got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, "/sign-in")) {
			t.Errorf("%s %s as nobody: %d, to %q", route.Method, route.Path, got.Status, got.Location)
		}
		for name, role := range roles {
			if role.Can(route.Permission) {
				continue
			}
			if got := ask(name); got.Status != http.StatusForbidden {
				t.Errorf("%s %s as %s: %d, want 403", route.Method, route.Path, name, got.Status)
			}
		}
	}
}

// TestHeaders: every answer says what a page may do.
func TestHeaders(t *testing.T) {
	w := uitest.New(t)
	for _, path := range []string{"/", "/none"} {
		got := w.Get("viewer", path)
		policy := got.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if strings.Contains(got.Body, "<script>") || strings.Contains(got.Body, " style=") || strings.Contains(got.Body, " onclick=") {
			t.Errorf("%s has script or style in it", path)
		}
	}
}

// TestDone: only a page of this server says that something was done.
func TestDone(t *testing.T) {
	w := uitest.New(t)
	const text = "Accepted. What was chosen is approved now."
	for site, want := range map[string]bool{"same-origin": true, "": true, "cross-site": false, "same-site": false, "none": false} {
		var headers []string
		if site != "" {
			headers = []string{"Sec-Fetch-Site", site}
		}
		if got := w.Get("viewer", "/?done=accepted", headers...); strings.Contains(got.Body, text) != want {
			t.Errorf("from %q: said %v", site, !want)
		}
	}
	if got := w.Get("viewer", "/?done=Pay+here"); strings.Contains(got.Body, "Pay here") {
		t.Error("a text of the address is said")
	}
}
