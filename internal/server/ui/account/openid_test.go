package account_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/openid"
	"github.com/mcpvigil/mcpvigil/internal/server/openid/openidtest"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

const flowCookie = "mcpvigil_openid"

// providerOf is the fake as a server uses it.
func providerOf(t *testing.T, f *openidtest.Provider, address string) *openid.Provider {
	t.Helper()
	p, err := openid.New(openid.Options{
		Issuer: f.URL, ClientID: openidtest.ClientID, ClientSecret: openidtest.ClientSecret, Name: "Example login", PublicURL: address,
		Roles: map[string]people.Role{"sre": people.Editor, "leads": people.Admin},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// comeBack is a browser that signs in at the provider and comes back.
func comeBack(b *browser, f *openidtest.Provider, next string) answer {
	b.t.Helper()
	gone := b.get("/sign-in/openid?next=" + url.QueryEscape(next))
	if gone.StatusCode != http.StatusSeeOther {
		b.t.Fatalf("the way to the provider: %d\n%s", gone.StatusCode, gone.body)
	}
	return b.get(openid.CallbackPath + "?" + f.Visit(b.t, gone.to()).Encode())
}

// TestOpenID: the person of the provider is one here, with the role of its groups.
func TestOpenID(t *testing.T) {
	f := openidtest.New(t)
	w := open(t, options{openID: providerOf(t, f, "http://localhost:8087")})
	b := w.browser()
	b.want("the entrance", b.get("/sign-in?next=/incidents"), http.StatusOK, "Sign in with Example login", "/sign-in/openid?next=%2Fincidents", `name="password"`)
	back := comeBack(b, f, "/incidents")
	b.goes("coming back", back, "/incidents")
	if back.cookie(web.SessionCookie) == nil || b.cookies[flowCookie] != "" {
		t.Errorf("cookies after signing in: %v", back.Cookies())
	}
	b.want("the account", b.get("/account"), http.StatusOK, "Editor", "Example login", "Use a passkey")
	b.want("who may not", b.get("/settings/people"), http.StatusForbidden)

	f.Claims = map[string]any{"groups": []string{"leads"}}
	other := w.browser()
	other.goes("with another group", comeBack(other, f, "/"), "/")
	other.want("the groups", other.get("/settings/people"), http.StatusOK, "Groups of Example login", "leads", "is refused")
	b.goes("the session with the role from before", b.get("/account"), "/sign-in?next="+url.QueryEscape("/account"))
}

// TestOpenIDFirst: who administers by the provider needs no token.
func TestOpenIDFirst(t *testing.T) {
	f := openidtest.New(t)
	f.Claims = map[string]any{"groups": []string{"leads"}}
	b := open(t, options{openID: providerOf(t, f, "http://localhost:8087"), empty: true}).browser()
	b.want("setup", b.get("/setup"), http.StatusOK, "Sign in with Example login", "docker logs")
	b.goes("coming back", comeBack(b, f, "/"), "/")
	b.want("the account", b.get("/account"), http.StatusOK, "Administrator")
}

// TestOpenIDRefused: every way in which somebody is not let in says why, and starts no
// session.
func TestOpenIDRefused(t *testing.T) {
	f := openidtest.New(t)
	w := open(t, options{openID: providerOf(t, f, "http://localhost:8087")})
	refused := func(what string, b *browser, got answer, status int, text string) {
		t.Helper()
		b.want(what, got, status, text, "Back to the sign-in")
		if b.cookies[web.SessionCookie] != "" || strings.Contains(got.body, "secret detail") {
			t.Errorf("%s: %v\n%s", what, b.cookies, got.body)
		}
	}

	b := w.browser()
	refused("without a question", b, b.get(openid.CallbackPath+"?state=x&code=good"), http.StatusForbidden, "belongs to no sign-in of this browser")

	b = w.browser()
	gone := b.get("/sign-in/openid")
	back := f.Visit(t, gone.to())
	stranger := w.browser()
	stranger.get("/sign-in/openid")
	refused("what another browser brings", stranger, stranger.get(openid.CallbackPath+"?"+back.Encode()), http.StatusForbidden, "belongs to no sign-in of this browser")
	b.goes("what this one brings", b.get(openid.CallbackPath+"?"+back.Encode()), "/")
	again := w.browser()
	refused("the same once more", again, again.get(openid.CallbackPath+"?"+back.Encode()), http.StatusForbidden, "belongs to no sign-in of this browser")

	b = w.browser()
	b.get("/sign-in/openid")
	state := f.Visit(t, w.browser().get("/sign-in/openid").to())
	state.Set("error", "access_denied")
	refused("another state", b, b.get(openid.CallbackPath+"?"+state.Encode()), http.StatusForbidden, "belongs to no sign-in of this browser")

	b = w.browser()
	denied := f.Visit(t, b.get("/sign-in/openid").to())
	denied.Set("error", "access_denied")
	denied.Set("error_description", "secret detail")
	refused("denied", b, b.get(openid.CallbackPath+"?"+denied.Encode()), http.StatusForbidden, "Example login did not let you in.")
	if !strings.Contains(w.log.String(), "secret detail") {
		t.Errorf("the log does not say why: %s", w.log)
	}

	f.Claims = map[string]any{"groups": []string{"sales"}}
	b = w.browser()
	refused("no role", b, comeBack(b, f, "/"), http.StatusForbidden, "none of your groups has a role here")

	f.Claims = map[string]any{"aud": "somebody"}
	b = w.browser()
	refused("another audience", b, comeBack(b, f, "/"), http.StatusForbidden, "cannot be trusted")

	f.Claims = nil
	admin := w.signedIn()
	_, session := w.session()
	accounts, err := w.Accounts(t.Context(), session.Actor())
	if err != nil || len(accounts) != 2 {
		t.Fatalf("%+v, %v", accounts, err)
	}
	var id int64
	for _, a := range accounts {
		if a.Subject != "" {
			id = a.ID
		}
	}
	if err := w.Disable(t.Context(), session, people.Password(password), id, true); err != nil {
		t.Fatal(err)
	}
	b = w.browser()
	got := comeBack(b, f, "/")
	b.want("disabled", got, http.StatusForbidden, "This account is disabled.")
	if b.cookies[web.SessionCookie] != "" {
		t.Error("who is disabled has a session")
	}
	admin.want("who administers", admin.get("/settings/people"), http.StatusOK, "Disabled")
}

// TestOpenIDDown: a provider that is down keeps nobody else out.
func TestOpenIDDown(t *testing.T) {
	f := openidtest.New(t)
	f.Broken = true
	w := open(t, options{openID: providerOf(t, f, "http://localhost:8087")})
	b := w.browser()
	b.want("the entrance", b.get("/sign-in"), http.StatusOK, "Sign in with Example login")
	b.want("the way to the provider", b.get("/sign-in/openid"), http.StatusServiceUnavailable, "Example login cannot be reached")
	b.goes("with a password", b.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}}), "/")
}

// TestOpenIDAlone: without local sign-in there is no other way in.
func TestOpenIDAlone(t *testing.T) {
	f := openidtest.New(t)
	const address = "https://watch.example.com"
	w := open(t, options{url: address, openID: providerOf(t, f, address), providerOnly: true})
	b := w.browser()
	page := b.get("/sign-in")
	b.want("the entrance", page, http.StatusOK, "Sign in with Example login")
	if strings.Contains(page.body, `name="password"`) || strings.Contains(page.body, "data-passkey-entrance") {
		t.Error("passwords or passkeys are asked for")
	}
	b.want("a password all the same", b.post("/sign-in", url.Values{"name": {"ann"}, "password": {password}}), http.StatusForbidden, "Sign in with the OpenID provider.")
	b.want("a passkey all the same", b.post("/sign-in/passkey", url.Values{"answer": {"{}"}}), http.StatusForbidden)
	if b.cookies[web.CookieName(web.SessionCookie, true)] != "" {
		t.Error("there is a session")
	}
	gone := b.get("/sign-in/openid")
	c := gone.cookie("__Host-" + flowCookie)
	if c == nil || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge < 60 || c.MaxAge > 600 {
		t.Errorf("the cookie of the question is %+v", c)
	}
	b.goes("coming back", b.get(openid.CallbackPath+"?"+f.Visit(t, gone.to()).Encode()), "/")
}

// TestOpenIDRedirect: what the browser kept cannot lead elsewhere.
func TestOpenIDRedirect(t *testing.T) {
	f := openidtest.New(t)
	w := open(t, options{openID: providerOf(t, f, "http://localhost:8087")})
	for _, next := range []string{"//evil.example", "https://evil.example", `/\evil.example`} {
		b := w.browser()
		b.goes(next, comeBack(b, f, next), "/")
	}
}
