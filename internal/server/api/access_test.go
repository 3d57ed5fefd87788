package api_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/time/rate"

	"github.com/mcpvigil/mcpvigil/internal/server/api"
)

func decode(t *testing.T, a answer) (p api.Problem) {
	t.Helper()
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("status %d: %v in %s", a.status, err, a.body)
	}
	return p
}

func locations(p api.Problem) (out []string) {
	for _, e := range p.Errors {
		out = append(out, e.Location)
	}
	return out
}

func TestSetupOnce(t *testing.T) {
	w := newWorld(t, open(t, ""))
	token, _, err := w.people.SetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]any{"token": "wrong", "name": "ann", "password": password}
	w.problem("POST", "/setup", "", first, http.StatusUnauthorized, "unauthenticated")
	w.problem("POST", "/setup", "", map[string]any{"token": token, "name": "ann", "password": "short"}, http.StatusUnprocessableEntity, "invalid")
	w.request("POST", "/setup", "", with(first, "token", token), http.StatusCreated, nil)
	w.problem("POST", "/setup", "", with(with(first, "token", token), "name", "bob"), http.StatusConflict, "conflict")
}

func TestSessions(t *testing.T) {
	w := newWorld(t, open(t, ""), func(d *api.Deps) { d.PublicURL = "https://watch.example.com" }).populate()
	w.problem("POST", "/session", "", map[string]any{"name": "admin", "password": "wrong"}, http.StatusUnauthorized, "wrong-password")
	a := w.request("POST", "/session", "", map[string]any{"name": "viewer", "password": password}, http.StatusCreated, nil)
	if len(a.cookies) != 1 {
		t.Fatalf("cookies: %v", a.cookies)
	}
	if c := a.cookies[0]; !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
		t.Errorf("cookie: %+v", c)
	}
	if strings.Contains(string(a.body), a.cookies[0].Value) {
		t.Error("the token stands in the body")
	}
	mine := "cookie:" + a.cookies[0].Value
	var me api.Me
	w.request("GET", "/me", mine, nil, http.StatusOK, &me)
	if me.Name != "user:viewer" || me.Role != "viewer" || len(me.Permissions) != 1 {
		t.Errorf("me: %+v", me)
	}
	var list struct{ Items []api.Session }
	w.request("GET", "/sessions", mine, nil, http.StatusOK, &list)
	if len(list.Items) != 2 {
		t.Fatalf("sessions: %+v", list.Items)
	}
	for _, s := range list.Items {
		if !s.Current {
			w.request("DELETE", "/sessions/"+s.ID, mine, nil, http.StatusNoContent, nil)
		}
	}
	w.problem("GET", "/me", w.credentials["session viewer"], nil, http.StatusUnauthorized, "unauthenticated")
	out := w.request("DELETE", "/session", mine, nil, http.StatusNoContent, nil)
	if len(out.cookies) != 1 || out.cookies[0].MaxAge >= 0 {
		t.Errorf("signing out left the cookie: %v", out.cookies)
	}
	w.problem("GET", "/me", mine, nil, http.StatusUnauthorized, "unauthenticated")
}

func TestCrossOrigin(t *testing.T) {
	w := newWorld(t, open(t, ""), func(d *api.Deps) { d.PublicURL = "https://watch.example.com" }).populate()
	id := w.monitor("search", nil)
	session, key := w.credentials["session editor"], w.credentials["key editor"]
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		credential, header, value string
		want                      int
	}{
		"a browser on another site":     {session, "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		"a browser on the same site":    {session, "Sec-Fetch-Site", "same-site", http.StatusForbidden},
		"an old browser elsewhere":      {session, "Origin", "https://evil.example.com", http.StatusForbidden},
		"the page itself":               {session, "Sec-Fetch-Site", "same-origin", http.StatusOK},
		"the public address":            {session, "Origin", "https://watch.example.com", http.StatusOK},
		"no browser":                    {session, "X-Nothing", "1", http.StatusOK},
		"a key, which no browser holds": {key, "Sec-Fetch-Site", "cross-site", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.send("POST", path("/monitors/%d/pause", id), c.credential, nil, header(c.header, c.value))
			if a.status != c.want {
				t.Errorf("status %d, want %d: %s", a.status, c.want, a.body)
			}
		})
	}
	a := w.send("POST", "/session", "", strings.NewReader(`{"name":"admin","password":"`+password+`"}`), header("Sec-Fetch-Site", "cross-site"))
	if a.status != http.StatusForbidden || len(a.cookies) != 0 {
		t.Errorf("signing in from another site: status %d, cookies %v", a.status, a.cookies)
	}
}

func TestRateLimits(t *testing.T) {
	s := open(t, "")
	w := newWorld(t, s).populate()
	limited := newWorld(t, s, func(d *api.Deps) { d.Rate, d.Burst, d.Failures = rate.Limit(0.001), 3, 2 })
	for i := range 4 {
		a := limited.send("GET", "/me", w.credentials["key viewer"], nil)
		if want := map[bool]int{true: 429, false: 200}[i == 3]; a.status != want {
			t.Fatalf("request %d: status %d, want %d: %s", i, a.status, want, a.body)
		}
		if after := a.header.Get("Retry-After"); a.status == 429 {
			if n, err := strconv.Atoi(after); err != nil || n < 1 {
				t.Errorf("Retry-After is %q", after)
			}
		}
	}
	if a := limited.send("GET", "/me", w.credentials["key editor"], nil); a.status != 200 {
		t.Errorf("another key: status %d", a.status)
	}
	for i := range 3 {
		a := limited.send("GET", "/me", "mvk_nonsense", nil)
		if want := map[bool]int{true: 429, false: 401}[i == 2]; a.status != want {
			t.Errorf("wrong key %d: status %d, want %d", i, a.status, want)
		}
	}
}

func TestAccounts(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	admin := w.credentials["session admin"]
	a := w.request("GET", "/accounts", admin, nil, http.StatusOK, nil)
	if strings.Contains(string(a.body), "argon2") {
		t.Errorf("hashes are given out: %s", a.body)
	}
	var list struct {
		Items []struct {
			ID   int64
			Name string
		}
	}
	if err := json.Unmarshal(a.body, &list); err != nil {
		t.Fatal(err)
	}
	ids := map[string]int64{}
	for _, account := range list.Items {
		ids[account.Name] = account.ID
	}
	viewer := path("/accounts/%d", ids["viewer"])
	w.problem("PATCH", viewer, admin, map[string]any{"role": "editor"}, http.StatusForbidden, "proof-required")
	w.problem("PATCH", viewer, admin, map[string]any{"role": "editor", "password": "wrong"}, http.StatusUnauthorized, "wrong-password")
	w.problem("PATCH", viewer, admin, map[string]any{"password": password}, http.StatusUnprocessableEntity, "invalid")
	w.problem("PATCH", viewer, w.credentials["session editor"], map[string]any{"new_password": password + "2", "password": password}, http.StatusForbidden, "forbidden")
	w.problem("PATCH", viewer, w.credentials["session viewer"], map[string]any{"role": "admin", "password": password}, http.StatusForbidden, "forbidden")
	w.request("PATCH", viewer, w.credentials["session viewer"], map[string]any{"new_password": password + "2", "password": password}, http.StatusOK, nil)
	w.request("PATCH", viewer, admin, map[string]any{"role": "editor", "password": password}, http.StatusOK, nil)
	w.problem("PATCH", path("/accounts/%d", ids["admin"]), admin, map[string]any{"disabled": true, "password": password}, http.StatusConflict, "conflict")
	w.problem("POST", "/accounts", admin, map[string]any{"name": "viewer", "role": "viewer", "new_password": password, "password": password}, http.StatusConflict, "exists")
}
