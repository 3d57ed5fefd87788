package account_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/pquerna/otp/totp"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// key is an authenticator with one passkey.
type key struct {
	party virtualwebauthn.RelyingParty
	own   virtualwebauthn.Authenticator
	cred  virtualwebauthn.Credential
}

// addPasskey has the person of a browser add a passkey, shown by a form.
func (b *browser) addPasskey(proof url.Values) *key {
	b.t.Helper()
	k := &key{
		party: virtualwebauthn.RelyingParty{ID: "localhost", Name: "mcpvigil", Origin: "http://localhost:8087"},
		own:   virtualwebauthn.NewAuthenticator(), cred: virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2),
	}
	form := url.Values{"name": {"Laptop"}}
	for name, values := range proof {
		form[name] = values
	}
	asked := b.post("/account/passkeys/begin", form, "Accept", "application/json")
	b.want("to begin a passkey", asked, http.StatusOK, "challenge")
	o, err := virtualwebauthn.ParseAttestationOptions(asked.body)
	if err != nil {
		b.t.Fatal(err)
	}
	k.own.Options.UserHandle = []byte(o.UserID)
	made := virtualwebauthn.CreateAttestationResponse(k.party, k.own, k.cred, *o)
	b.goes("adding it", b.post("/account/passkeys", url.Values{"name": {"Laptop"}, "answer": {made}}), "/account?done=created")
	return k
}

// answers what a server asked.
func (k *key) answers(t *testing.T, asked string) string {
	t.Helper()
	k.cred.Counter++
	o, err := virtualwebauthn.ParseAssertionOptions(asked)
	if err != nil {
		t.Fatalf("%v: %s", err, asked)
	}
	return virtualwebauthn.CreateAssertionResponse(k.party, k.own, k.cred, *o)
}

// prove gives a form with the passkey's answer for it, as the script of the page does.
func (b *browser) prove(k *key, path string, form url.Values) url.Values {
	b.t.Helper()
	asked, sent := url.Values{"proof_target": {path}}, url.Values{}
	for name, values := range form {
		asked[name], sent[name] = values, values
	}
	got := b.post("/proof/challenge", asked, "Accept", "application/json")
	b.want("to prove "+path, got, http.StatusOK, "challenge")
	sent.Set("proof_passkey", k.answers(b.t, got.body))
	return sent
}

// TestPasskey: added with the password, it signs in.
func TestPasskey(t *testing.T) {
	w := open(t, options{})
	b := w.signedIn()
	refused := b.post("/account/passkeys/begin", url.Values{"name": {"Laptop"}, "proof_password": {"wrong"}}, "Accept", "application/json")
	b.want("with a wrong password", refused, http.StatusUnauthorized, `"text":"The password or the passkey is wrong."`)
	k := b.addPasskey(url.Values{"proof_password": {password}})
	b.want("the account", b.get("/account"), http.StatusOK, "Laptop", "never used", "data-passkey-proof")

	in := w.browser()
	asked := in.post("/sign-in/passkey/challenge", nil)
	in.want("to sign in", asked, http.StatusOK, "challenge")
	answer := k.answers(t, asked.body)
	in.goes("signing in", in.post("/sign-in/passkey", url.Values{"answer": {answer}, "next": {"/incidents"}}), "/incidents")
	in.want("the account", in.get("/account"), http.StatusOK, "last used")
	again := w.browser()
	again.want("the same answer again", again.post("/sign-in/passkey", url.Values{"answer": {answer}}), http.StatusUnauthorized)
	again.want("no answer", again.post("/sign-in/passkey", url.Values{"answer": {"{}"}}), http.StatusUnauthorized)
}

// TestProofIsBound: a passkey's answer counts for the form that was seen, once, and for
// no other field, value, path or session.
func TestProofIsBound(t *testing.T) {
	w := open(t, options{})
	b := w.signedIn()
	k := b.addPasskey(url.Values{"proof_password": {password}})
	const path = "/settings/people"
	form := func(name, role string) url.Values {
		return url.Values{"name": {name}, "role": {role}, "password": {"another long password"}, "note": {"x"}}
	}
	try := func(what string, b *browser, form url.Values, change func(url.Values)) {
		t.Helper()
		w.clock = w.clock.Add(time.Minute)
		proven := b.prove(k, path, form)
		change(proven)
		if got := b.post(path, proven); got.StatusCode != http.StatusUnauthorized || !strings.Contains(got.body, `role="alert"`) {
			t.Errorf("%s: %d to %q", what, got.StatusCode, got.to())
		}
	}
	try("a changed value", b, form("zoe", "viewer"), func(f url.Values) { f.Set("role", "admin") })
	try("a changed name", b, form("zoe", "viewer"), func(f url.Values) { f.Set("name", "mallory") })
	try("one more field", b, form("zoe", "viewer"), func(f url.Values) { f.Set("extra", "1") })
	try("one more value", b, form("zoe", "viewer"), func(f url.Values) { f.Add("role", "admin") })
	try("one fewer", b, form("zoe", "viewer"), func(f url.Values) { f.Del("note") })

	w.clock = w.clock.Add(time.Minute)
	elsewhere := b.prove(k, "/settings/people/1/disable", form("zoe", "viewer"))
	b.want("for another path", b.post(path, elsewhere), http.StatusUnauthorized)
	w.clock = w.clock.Add(time.Minute)
	b.want("with a query", b.post(path+"?x=1", b.prove(k, path, form("zoe", "viewer"))), http.StatusUnauthorized)
	other := w.signedIn()
	w.clock = w.clock.Add(time.Minute)
	other.want("in another session", other.post(path, b.prove(k, path, form("zoe", "viewer"))), http.StatusUnauthorized)

	w.clock = w.clock.Add(time.Minute)
	good := b.prove(k, path, form("bob", "viewer"))
	b.goes("as it was seen", b.post(path, good), "/settings/people?done=created")
	b.want("once more", b.post(path, good), http.StatusUnauthorized)
	page := b.get(path)
	b.want("who is there", page, http.StatusOK, "bob")
	if strings.Contains(page.body, "zoe") || strings.Contains(page.body, "mallory") {
		t.Error("an account was made without a proof for it")
	}
}

// TestProofTarget: what is asked for has to be a path of this server.
func TestProofTarget(t *testing.T) {
	b := open(t, options{}).signedIn()
	b.addPasskey(url.Values{"proof_password": {password}})
	b.want("another site", b.post("/proof/challenge", url.Values{"proof_target": {"https://evil.example/x"}}), http.StatusOK)
	if shell.Binding("POST", "/", nil) == shell.Binding("POST", "https://evil.example/x", nil) {
		t.Error("it is bound to nothing")
	}
}

var secretText = regexp.MustCompile(`class="secret">([A-Z2-7 ]+)<`)

// TestCodeApp: a code app is set up with its picture, confirmed with a code, and gives
// recovery codes once.
func TestCodeApp(t *testing.T) {
	w := open(t, options{})
	b := w.signedIn()
	b.want("without showing who it is", b.post("/account/app", nil), http.StatusUnauthorized, "Show that it is you", `id="act-app" open`)
	page := b.post("/account/app", url.Values{"proof_password": {password}})
	b.want("the picture", page, http.StatusOK, "<svg", `viewBox="0 0 `, "QR code for your app")
	found := secretText.FindStringSubmatch(page.body)
	if found == nil {
		t.Fatalf("no secret: %s", page.body)
	}
	b.want("a wrong code", b.post("/account/app/confirm", url.Values{"code": {"000000"}}), http.StatusUnprocessableEntity, "The code is wrong.")
	part := b.post("/account/app/confirm", url.Values{"code": {"000000"}}, "HX-Request", "true")
	if part.StatusCode != http.StatusUnprocessableEntity || strings.Contains(part.body, "<html") {
		t.Errorf("a script gets %d\n%s", part.StatusCode, part.body)
	}
	code, err := totp.GenerateCode(strings.ReplaceAll(found[1], " ", ""), w.clock)
	if err != nil {
		t.Fatal(err)
	}
	codes := b.post("/account/app/confirm", url.Values{"code": {code}})
	b.want("the right code", codes, http.StatusOK, "They are not shown again")
	if n := strings.Count(codes.body, "<li><code>"); n != 10 {
		t.Errorf("%d recovery codes", n)
	}
	b.want("a code that was used", b.post("/account/recovery", url.Values{"proof_password": {password}, "proof_code": {code}}), http.StatusUnauthorized, "was used already")
	recovery := regexp.MustCompile(`<li><code>([^<]+)<`).FindAllStringSubmatch(codes.body, -1)
	again := b.post("/account/recovery", url.Values{"proof_password": {password}, "proof_code": {recovery[0][1]}})
	b.want("with a recovery code", again, http.StatusOK, "They are not shown again")
	if strings.Contains(again.body, recovery[1][1]) {
		t.Error("the new recovery codes are the old ones")
	}
	w.clock = w.clock.Add(time.Minute)
	next, err := totp.GenerateCode(strings.ReplaceAll(found[1], " ", ""), w.clock)
	if err != nil {
		t.Fatal(err)
	}
	b.goes("removing it", b.post("/account/app/delete", url.Values{"proof_password": {password}, "proof_code": {next}}), "/account?done=deleted")
	b.want("the account", b.get("/account"), http.StatusOK, "Set up a code app")
}

// TestPassword: changed with the one before, it ends the other sessions.
func TestPassword(t *testing.T) {
	w := open(t, options{})
	b, other := w.signedIn(), w.signedIn()
	form := func(now, password, again string) url.Values {
		return url.Values{"proof_password": {now}, "password": {password}, "again": {again}}
	}
	const fresh = "another long password"
	b.want("a wrong one", b.post("/account/password", form("wrong", fresh, fresh)), http.StatusUnauthorized, `id="act-password" open`)
	b.want("two that differ", b.post("/account/password", form(password, fresh, fresh+"x")), http.StatusUnprocessableEntity, "differ")
	b.want("a short one", b.post("/account/password", form(password, "short", "short")), http.StatusUnprocessableEntity, "at least 12")
	b.goes("a good one", b.post("/account/password", form(password, fresh, fresh)), "/account?done=saved")
	b.want("this session", b.get("/account"), http.StatusOK)
	b.goes("the other session", other.get("/account"), "/sign-in?next="+url.QueryEscape("/account"))
}

// TestSessions: a person sees where it is signed in, and ends what it does not know.
func TestSessions(t *testing.T) {
	w := open(t, options{})
	b, other, third := w.signedIn(), w.signedIn(), w.signedIn()
	page := b.get("/account")
	b.want("the account", page, http.StatusOK, "this one", "192.0.2.9", "End all others")
	ids := regexp.MustCompile(`/account/sessions/([0-9a-f]{64})/delete`).FindAllStringSubmatch(page.body, -1)
	if len(ids) != 3 || strings.Contains(page.body, b.cookies[web.SessionCookie]) {
		t.Fatalf("%d sessions", len(ids))
	}
	b.want("one that is not there", b.post("/account/sessions/"+strings.Repeat("0", 64)+"/delete", nil), http.StatusNotFound)
	b.goes("all others", b.post("/account/sessions/delete", nil), "/account?done=revoked")
	b.want("this one", b.get("/account"), http.StatusOK)
	for _, ended := range []*browser{other, third} {
		ended.goes("another one", ended.get("/account"), "/sign-in?next="+url.QueryEscape("/account"))
	}
	own := regexp.MustCompile(`/account/sessions/([0-9a-f]{64})/delete`).FindStringSubmatch(b.get("/account").body)
	b.goes("the own one", b.post("/account/sessions/"+own[1]+"/delete", nil), "/sign-in?done=signed-out")
}

// TestLanguages: the entrance speaks the language of the browser.
func TestLanguages(t *testing.T) {
	b := open(t, options{}).browser()
	b.want("in German", b.get("/sign-in", "Accept-Language", "de-AT, en;q=0.5"), http.StatusOK, "Anmelden", `lang="de"`)
	b.want("a wrong password in German", b.post("/sign-in", url.Values{"name": {"ann"}, "password": {"x"}}, "Accept-Language", "de"), http.StatusUnauthorized, "ist falsch")
}
