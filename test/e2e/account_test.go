package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

// app is the app on a phone that shows codes. Each counts once.
type app struct {
	secret string
	used   time.Time
}

const appStep = 30 * time.Second

// code is the next one that counts: as clocks may differ, those of the step before and
// after count too.
func (a *app) code(t testing.TB) string {
	t.Helper()
	now := time.Now()
	at := now.Add(-appStep).Truncate(appStep)
	if !at.After(a.used) {
		at = a.used.Add(appStep)
	}
	for at.After(time.Now().Add(appStep).Truncate(appStep)) {
		time.Sleep(time.Second)
	}
	a.used = at
	code, err := totp.GenerateCode(a.secret, at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// addPasskey has the signed-in person add a passkey, shown by the password.
func (p *page) addPasskey() {
	p.t.Helper()
	p.authenticator()
	p.visit("/account")
	p.press(p.at("#act-passkey > summary"), "Add a passkey")
	p.fill("Name of the passkey", "Laptop", "#act-passkey")
	p.fill("Your password", password, "#act-passkey")
	p.follow("button", "Add a passkey", "#act-passkey")
	p.sees("Laptop")
}

// addApp has the signed-in person set up a code app.
func (p *page) addApp() *app {
	p.t.Helper()
	p.visit("/account")
	p.press(p.at("#act-app > summary"), "Set up a code app")
	p.fill("Your password", password, "#act-app")
	p.follow("button", "Go on", "#act-app")
	secret := ask[string](p, `document.querySelector(".secret").textContent`)
	a := &app{secret: strings.Join(strings.Fields(secret), "")}
	p.fill("2. The code that it shows", a.code(p.t))
	p.click("button", "Confirm")
	p.until("recovery codes", `document.querySelectorAll("#codes li").length === 10`)
	return a
}

func TestSignIn(t *testing.T) {
	s := newServer(t, nil)
	p := s.open(t, "")
	p.visit("/incidents?stage=open")
	p.until("the way to sign in", `location.pathname === "/sign-in"`)
	p.refusal(http.StatusUnauthorized)
	p.fill("Name", "editor")
	p.fill("Password", "wrong horse battery staple")
	p.click("button", "Sign in")
	p.sees("is wrong")
	p.fill("Password", password)
	p.follow("button", "Sign in")
	if got := ask[string](p, `location.pathname + location.search`); got != "/incidents?stage=open" {
		t.Errorf("after signing in the browser is at %s", got)
	}
	p.press(p.at("header .menu summary"), "the menu")
	p.follow("button", "Sign out")
	p.visit("/incidents")
	if got := p.path(); got != "/sign-in" {
		t.Errorf("after signing out, /incidents leads to %s", got)
	}
}

func TestPasskey(t *testing.T) {
	s := newServer(t, nil)
	p := s.open(t, "approver")
	p.addPasskey()
	p.press(p.at("header .menu summary"), "the menu")
	p.follow("button", "Sign out")
	// The browser offers the passkey by itself, and this one says yes at once.
	p.until("to be signed in", `location.pathname === "/" && document.querySelector("header .menu summary").innerText.includes("approver")`)
}

func TestCodeApp(t *testing.T) {
	s := newServer(t, nil)
	p := s.open(t, "approver")
	a := p.addApp()
	p.press(p.at("header .menu summary"), "the menu")
	p.follow("button", "Sign out")
	p.refusal(http.StatusUnauthorized)
	p.fill("Name", "approver")
	p.fill("Password", password)
	p.click("button", "Sign in")
	p.fill("Code", "000000")
	p.click("button", "Sign in")
	p.sees("The code is wrong")
	p.fill("Code", a.code(t))
	p.follow("button", "Sign in")
	p.visit("/account")
	p.sees("10 recovery codes are left")
}
