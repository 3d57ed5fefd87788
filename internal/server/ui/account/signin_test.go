package account_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ui"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// TestSetup: without an account everything leads to the page that makes one, once.
func TestSetup(t *testing.T) {
	b := open(t, options{empty: true}).browser()
	token, _, err := b.SetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/sign-in", "/monitors/1", "/account", "/none"} {
		b.goes(path, b.get(path), "/setup")
	}
	if got := b.get("/", "HX-Request", "true"); got.Header.Get("HX-Redirect") != "/setup" {
		t.Errorf("a script is sent to %q", got.Header.Get("HX-Redirect"))
	}
	b.want("without a token", b.get("/setup"), http.StatusOK, "http://localhost:8087/setup?token=…", "docker logs")
	b.want("with a token", b.get("/setup?token="+token), http.StatusOK, `value="`+token+`"`)

	form := func(token, name, password, again string) url.Values {
		return url.Values{"token": {token}, "name": {name}, "password": {password}, "again": {again}}
	}
	b.want("a wrong token", b.post("/setup", form("x", "ann", password, password)), http.StatusUnauthorized, "setup token is wrong")
	b.want("two passwords", b.post("/setup", form(token, "ann", password, password+"x")), http.StatusUnprocessableEntity, "differ")
	b.want("a short password", b.post("/setup", form(token, "ann", "short", "short")), http.StatusUnprocessableEntity, "at least 12", `value="ann"`)
	b.want("a name that cannot be", b.post("/setup", form(token, "<b>", password, password)), http.StatusUnprocessableEntity, "&lt;b&gt;")
	b.goes("the first account", b.post("/setup", form(token, "Ann", password, password)), "/monitors/new?first=1")
	b.want("signed in", b.get("/account"), http.StatusOK, "ann", "Administrator")
	b.goes("setup that is over", b.browser().get("/setup?token="+token), "/sign-in")
	b.want("a second first account", b.browser().post("/setup", form(token, "eve", password, password)), http.StatusConflict)
}

// TestSetupOfWatched: who sets up a monitor that watches already sees what it watches.
func TestSetupOfWatched(t *testing.T) {
	w := open(t, options{empty: true})
	token, _, err := w.SetupToken(t.Context())
	if err == nil {
		err = w.store.InTx(t.Context(), func(x *store.Tx) error {
			return x.InsertMonitor(t.Context(), &watch.Monitor{
				Source: watch.FromFile, CreatedAt: w.clock, UpdatedAt: w.clock,
				Definition: watch.Definition{Name: "search", URL: "https://mcp.example.com/mcp", Transport: watch.StreamableHTTP, AuthMode: watch.AuthNone},
			})
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	b := w.browser()
	b.goes("the first account", b.post("/setup", url.Values{"token": {token}, "name": {"ann"}, "password": {password}, "again": {password}}), "/")
}

// TestSignIn: in with the right password alone, and on to where the person wanted.
func TestSignIn(t *testing.T) {
	b := open(t, options{}).browser()
	b.goes("a page", b.get("/monitors/1?tab=x"), "/sign-in?next="+url.QueryEscape("/monitors/1?tab=x"))
	b.want("the entrance", b.get("/sign-in?next=/monitors/1"), http.StatusOK, `name="next" value="/monitors/1"`, `autocomplete="username webauthn"`)
	form := url.Values{"name": {"ann"}, "password": {"wrong"}, "next": {"/monitors/1?tab=x"}}
	got := b.post("/sign-in", form)
	b.want("a wrong password", got, http.StatusUnauthorized, "is wrong", "Forgotten the password?", `value="ann"`, `value="/monitors/1?tab=x"`)
	if got.cookie(web.SessionCookie) != nil || strings.Contains(got.body, `value="wrong"`) {
		t.Error("a wrong password starts a session, or is shown")
	}
	form.Set("password", password)
	b.goes("the right one", b.post("/sign-in", form), "/monitors/1?tab=x")
	b.goes("who is in already", b.get("/sign-in?next=/incidents"), "/incidents")
	b.goes("signing out", b.post("/sign-out", nil), "/sign-in?done=signed-out")
	b.goes("who is out", b.get("/account"), "/sign-in?next="+url.QueryEscape("/account"))
	b.goes("signing out twice", b.post("/sign-out", nil), "/sign-in?done=signed-out")
}

// TestSignInWithCode: the code is asked for once the password is right, and a script
// keeps what was typed.
func TestSignInWithCode(t *testing.T) {
	w := open(t, options{})
	code := w.codeApp()
	b := w.browser()
	form := url.Values{"name": {"ann"}, "password": {password}}
	b.want("without a code", b.post("/sign-in", form), http.StatusUnauthorized, `name="code"`)
	part := b.post("/sign-in", form, "HX-Request", "true")
	b.want("without a code, by script", part, http.StatusUnauthorized, `name="code"`)
	if strings.Contains(part.body, "<html") || strings.Contains(part.body, `name="password"`) {
		t.Errorf("a script gets more than it puts in place: %s", part.body)
	}
	form.Set("code", "000000")
	b.want("a wrong code", b.post("/sign-in", form), http.StatusUnauthorized, "The code is wrong")
	if len(b.cookies) != 0 {
		t.Errorf("cookies without being signed in: %v", b.cookies)
	}
	form.Set("code", code())
	b.goes("the code", b.post("/sign-in", form), "/")
	b.want("who is in", b.get("/account"), http.StatusOK, "recovery codes are left")
}

// TestOpenRedirect: no way in leads to another site.
func TestOpenRedirect(t *testing.T) {
	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)", "/\t/evil.example", "%2f%2fevil.example"} {
		w := open(t, options{})
		in := w.browser().post("/sign-in", url.Values{"name": {"ann"}, "password": {password}, "next": {next}})
		already := w.signedIn().get("/sign-in?next=" + url.QueryEscape(next))
		theme := w.browser().post("/preferences", url.Values{"theme": {"dark"}, "next": {next}})
		for what, got := range map[string]answer{"signing in": in, "signed in already": already, "preferences": theme} {
			if got.StatusCode != http.StatusSeeOther || got.to() != "/" {
				t.Errorf("%s with next=%q leads to %q", what, next, got.to())
			}
		}
	}
}

// TestSessionFixation: whatever cookie a browser had before, it has another one after.
func TestSessionFixation(t *testing.T) {
	w := open(t, options{})
	b := w.browser()
	planted, _ := w.session()
	b.cookies[web.SessionCookie] = planted
	b.goes("signing in", b.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}}), "/")
	if b.cookies[web.SessionCookie] == planted {
		t.Error("the session is the one that was planted")
	}
	made := w.browser()
	made.cookies[web.SessionCookie] = "chosen-by-somebody-else"
	made.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}})
	other := w.browser()
	other.cookies[web.SessionCookie] = "chosen-by-somebody-else"
	if got := other.get("/account"); got.StatusCode == http.StatusOK {
		t.Error("a token that somebody chose is a session")
	}
	token := b.cookies[web.SessionCookie]
	b.post("/sign-out", nil)
	late := w.browser()
	late.cookies[web.SessionCookie] = token
	if got := late.get("/account"); got.StatusCode == http.StatusOK {
		t.Error("a session lives on after signing out")
	}
}

// TestCookie: scripts do not see the session, other sites do not send it, and under
// https it never leaves that.
func TestCookie(t *testing.T) {
	for address, secure := range map[string]bool{"http://localhost:8087": false, "https://watch.example.com": true} {
		w := open(t, options{url: address})
		b, session := w.browser(), web.CookieName(web.SessionCookie, secure)
		in := b.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}})
		theme := b.post("/preferences", url.Values{"theme": {"dark"}})
		out := b.post("/sign-out", nil)
		for what, c := range map[string]*http.Cookie{"in": in.cookie(session), "out": out.cookie(session), "theme": theme.cookie("mcpvigil_theme")} {
			if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != secure || c.Path != "/" || c.Domain != "" {
				t.Errorf("%s, %s: %+v", address, what, c)
			}
		}
		if c := out.cookie(session); c == nil || c.MaxAge >= 0 || c.Value != "" {
			t.Errorf("%s: signing out leaves %+v", address, c)
		}
		planted := w.browser()
		planted.cookies[web.SessionCookie], _ = w.session()
		if got := planted.get("/account"); secure != (got.StatusCode == http.StatusSeeOther) {
			t.Errorf("%s: a cookie that another host of the domain may set: %d", address, got.StatusCode)
		}
	}
}

// TestCrossSite: nothing is done that another site has a browser send, signed in or not.
func TestCrossSite(t *testing.T) {
	w := open(t, options{url: "https://watch.example.com"})
	b := w.signedIn()
	routes := 0
	for _, route := range ui.Routes(w.deps) {
		if route.Method != http.MethodPost {
			continue
		}
		routes++
		path := strings.NewReplacer("{id}", "1", "{name}", "a", "{slug}", "a", "{$}", "").Replace(route.Path)
		for what, headers := range map[string][]string{
			"site":        {"Sec-Fetch-Site", "cross-site"},
			"sibling":     {"Sec-Fetch-Site", "same-site"},
			"origin":      {"Origin", "https://evil.example"},
			"null origin": {"Origin", "null"},
			"by http":     {"Origin", "http://watch.example.com"},
		} {
			if got := b.post(path, nil, headers...); got.StatusCode != http.StatusForbidden || strings.Contains(got.body, "<html") {
				t.Errorf("%s, %s: %d", path, what, got.StatusCode)
			}
		}
	}
	if routes < 20 {
		t.Errorf("only %d routes were tried", routes)
	}
	form := url.Values{"theme": {"dark"}}
	b.goes("the own page", b.post("/preferences", form, "Sec-Fetch-Site", "same-origin", "Origin", "https://watch.example.com"), "/")
	b.goes("the own page behind a proxy", b.post("/preferences", form, "Origin", "https://watch.example.com"), "/")
	b.want("still signed in", b.get("/account"), http.StatusOK)
}

// TestClickjacking: no page shows in a frame, and what a page may load is said.
func TestClickjacking(t *testing.T) {
	w := open(t, options{})
	for path, b := range map[string]*browser{"/sign-in": w.browser(), "/account": w.signedIn(), "/none": w.signedIn(), "/settings/audit": w.signedIn(), "/setup": w.browser()} {
		h := b.get(path).Header
		policy := h.Get("Content-Security-Policy")
		if h.Get("X-Frame-Options") != "DENY" || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// TestRateLimits: attempts are bounded for an account, for an address and for codes, and
// the page says when to try again.
func TestRateLimits(t *testing.T) {
	limited := func(t *testing.T, what string, within int, try func(i int) answer) {
		t.Helper()
		for i := range within {
			got := try(i)
			if got.StatusCode != http.StatusTooManyRequests {
				continue
			}
			wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
			if err != nil || wait < 1 || wait > 600 || !strings.Contains(got.body, "Too many attempts.") || !strings.Contains(got.body, "Try again in") {
				t.Errorf("%s: Retry-After %q:\n%s", what, got.Header.Get("Retry-After"), got.body)
			}
			return
		}
		t.Errorf("%s: %d attempts are not bounded", what, within)
	}
	t.Run("account", func(t *testing.T) {
		w := open(t, options{})
		limited(t, "passwords of an account", 20, func(i int) answer {
			b := w.browser()
			b.address = "192.0.2." + strconv.Itoa(i+1) + ":1"
			return b.post("/sign-in", url.Values{"name": {"ann"}, "password": {"wrong"}})
		})
	})
	t.Run("address", func(t *testing.T) {
		w := open(t, options{})
		limited(t, "names from an address", 40, func(i int) answer {
			return w.browser().post("/sign-in", url.Values{"name": {"nobody" + strconv.Itoa(i)}, "password": {"wrong"}})
		})
	})
	t.Run("code", func(t *testing.T) {
		w := open(t, options{})
		w.codeApp()
		limited(t, "codes", 30, func(i int) answer {
			w.clock = w.clock.Add(20 * time.Second) // slow enough for passwords
			b := w.browser()
			b.address = "192.0.2." + strconv.Itoa(i+1) + ":1"
			return b.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}, "code": {"000000"}})
		})
	})
	t.Run("code in a session", func(t *testing.T) {
		w := open(t, options{})
		code := w.codeApp()
		b := w.browser()
		b.goes("signing in", b.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}, "code": {code()}}), "/")
		limited(t, "proofs", 20, func(int) answer {
			return b.post("/account/recovery", url.Values{"proof_password": {password}, "proof_code": {"000000"}})
		})
	})
}
