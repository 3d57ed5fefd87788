package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var listening = regexp.MustCompile(`^listening (\d+)$`)

// newProvider runs the OpenID provider of test/authserver until the test ends, and
// returns its issuer.
func newProvider(t testing.TB, settings map[string]any) string {
	t.Helper()
	dir := filepath.Join("..", "authserver")
	node, err := filepath.Abs("../../.tools/bin/node22")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{node, filepath.Join(dir, "node_modules", "oidc-provider")} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s is missing: run make test-deps", file)
		}
	}
	line, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "server.mjs")
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe() // it ends with this process, whatever happens
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(stdin, "%s\n", line); err != nil {
		t.Fatal(err)
	}
	port, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var said []string
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				port <- m[1]
			}
			said = append(said, lines.Text())
		}
		ended <- strings.Join(said, "\n")
	}()
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		if said := <-ended; t.Failed() {
			t.Logf("the provider said:\n%s", said)
		}
		_ = cmd.Wait()
	})
	select {
	case n := <-port:
		return "http://127.0.0.1:" + n
	case said := <-ended:
		ended <- ""
		t.Fatalf("the provider ended before it listened:\n%s", said)
	case <-time.After(time.Minute):
		t.Fatal("the provider does not listen after a minute")
	}
	return ""
}

// TestOpenID signs people in with a real provider: the role comes from the group, and who
// is in none is refused.
func TestOpenID(t *testing.T) {
	port := freePort(t)
	issuer := newProvider(t, map[string]any{
		"clients": []any{map[string]any{
			"client_id": "watch", "client_secret": "a secret of this test", "token_endpoint_auth_method": "client_secret_basic", "grant_types": []string{"authorization_code"},
			"response_types": []string{"code"}, "redirect_uris": []string{fmt.Sprintf("http://localhost:%d/sign-in/openid/callback", port)},
		}},
		"people": map[string]any{
			"ann": map[string]any{"preferred_username": "ann", "name": "Ann", "groups": []string{"staff", "security"}},
			"eve": map[string]any{"preferred_username": "eve", "name": "Eve", "groups": []string{"staff"}},
		},
	})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of this test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServerAt(t, port, nil, "--oidc-issuer", issuer, "--oidc-client-id", "watch", "--oidc-client-secret-file", secret, "--oidc-name", "Example login", "--oidc-role", "security=approver")
	enter := func(login string) *page {
		p := s.open(t, "")
		p.expect(`^(request to another host|answer|log): .*` + regexp.QuoteMeta(issuer)) // it has no icon
		p.expect(`googleapis`)                                                           // the provider's own pages
		p.visit("/incidents")
		p.follow("link", "Example login")
		p.press(p.at("input[name=login]"), "login")
		p.write(login)
		p.press(p.at("input[name=password]"), "password")
		p.write("any")
		p.follow("button", "Sign-in")
		p.follow("button", "Continue")
		return p
	}
	ann := enter("ann")
	ann.until("to be back", `location.pathname === "/incidents" && document.querySelector("header .menu summary").innerText.includes("ann")`)
	ann.visit("/account")
	ann.sees("Approver")
	ann.sees("Example login")

	p := enter("eve")
	p.refusal(http.StatusForbidden)
	p.sees("none of your groups has a role")
	if got := p.path(); got == "/incidents" {
		t.Errorf("who has no group with a role is at %s", got)
	}
	p.visit("/")
	if got := p.path(); got != "/sign-in" {
		t.Errorf("who has no group with a role sees %s", got)
	}
}
