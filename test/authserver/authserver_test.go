package authserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

const loginCommand = "mcpvigil login servers.yaml guarded"

// childVariable makes the test binary a process that runs one check, of the
// target in the variable's value, and prints the report.
const childVariable = "AUTHSERVER_TEST_CHECK"

// childTarget is what another process needs to know of a target.
type childTarget struct{ Endpoint, Grant, Issuer, ClientID, ClientSecret, RefreshToken, TokenFile string }

func TestMain(m *testing.M) {
	text := os.Getenv(childVariable)
	if text == "" {
		flag.Set("test.parallel", "4") // most of the time is waiting for tokens to expire
		os.Exit(m.Run())
	}
	var c childTarget
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(probe.Check(context.Background(), c.target(), probe.Options{}))
}

func (c childTarget) target() *target.Target {
	o := &target.OAuth{Grant: target.GrantKind(c.Grant), Issuer: c.Issuer, ClientID: c.ClientID, TokenFile: c.TokenFile, LoginCommand: loginCommand}
	if c.ClientSecret != "" {
		o.ClientSecret = target.Literal(c.ClientSecret)
	}
	if c.RefreshToken != "" {
		o.RefreshToken = target.Literal(c.RefreshToken)
	}
	return &target.Target{Name: "guarded", Endpoint: c.Endpoint, OAuth: o}
}

// check runs a check, in whose report no secret may stand.
func (p *provider) check(t testing.TB, tgt *target.Target) *probe.Report {
	t.Helper()
	r := probe.Check(t.Context(), tgt, probe.Options{})
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	p.wantNoSecret(t, string(text)+fmt.Sprintf("%+v", r.Evidence))
	return r
}

// wantNoSecret looks for the start of every secret that the provider gave out or
// the test made. Of a JWT it is the claims and the signature that count.
func (p *provider) wantNoSecret(t testing.TB, text string) {
	t.Helper()
	if p.running() {
		p.log() // makes its secrets known
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, secret := range p.known {
		for i, part := range strings.Split(secret, ".") {
			isHeader := i == 0 && strings.HasPrefix(part, "eyJ")
			if !isHeader && strings.Contains(text, part[:min(len(part), 20)]) {
				t.Errorf("a secret stands in the report: %s", text)
			}
		}
	}
}

// wantHealthy checks, and wants the whole surface of the server behind the login.
func (p *provider) wantHealthy(t testing.TB, tgt *target.Target) *probe.Report {
	t.Helper()
	r := p.check(t, tgt)
	if r.Status != probe.StatusHealthy {
		t.Fatalf("%s: %s", r.Status, explain(r))
	}
	if s := r.Surface; s == nil || s.Tools == nil || *s.Tools != 2 || s.Prompts == nil || *s.Prompts != 1 {
		t.Errorf("the surface is %+v", s)
	}
	if c := r.Credential; c == nil || c.Kind != "oauth" || c.ExpiresAt == nil || time.Until(*c.ExpiresAt) < 0 || !slices.Equal(c.Audience, []string{tgt.Endpoint}) {
		t.Errorf("the credential is %+v", c)
	}
	return r
}

// wantRefused checks, and wants the authentication step to fail in this way.
func (p *provider) wantRefused(t testing.TB, tgt *target.Target, status probe.Status, reason probe.Reason, hint string) *probe.Report {
	t.Helper()
	r := p.check(t, tgt)
	res := r.Result(probe.StepAuthentication)
	if r.Status != status || res == nil || res.Reason != reason || !strings.Contains(res.Hint, hint) {
		t.Errorf("%s: %s(hint %q), want %s with %s and %q in the hint", r.Status, explain(r), hintOf(res), status, reason, hint)
	}
	return r
}

func hintOf(r *probe.Result) string {
	if r == nil {
		return ""
	}
	return r.Hint
}

func explain(r *probe.Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		if !c.Passed && !c.Skipped {
			fmt.Fprintf(&b, "%s: %s: %s; ", c.Name, c.Reason, c.Message)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note %s: %s; ", n.Reason, n.Text)
	}
	return b.String()
}

func wantNotes(t testing.TB, r *probe.Report, want ...probe.Reason) {
	t.Helper()
	var got []probe.Reason
	for _, n := range r.Notes {
		got = append(got, n.Reason)
	}
	if !slices.Equal(got, want) {
		t.Errorf("notes %q, want %q: %s", got, want, explain(r))
	}
}

// both runs a test against a stateless server, which speaks 2026-07-28, and
// a stateful one, which does not.
func both(t *testing.T, f func(t *testing.T, stateful bool, revision string)) {
	for name, stateful := range map[string]bool{"stateless": false, "stateful": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, stateful, map[bool]string{false: "2026-07-28", true: "2025-11-25"}[stateful])
		})
	}
}

func TestClientCredentials(t *testing.T) {
	both(t, func(t *testing.T, stateful bool, revision string) {
		secret := newSecret()
		all := []client{machine("basic", "client_secret_basic", secret)}
		private := map[string]string{}
		for _, alg := range []string{"RS256", "PS256", "ES256", "EdDSA"} {
			c, pem := keyed(t, "key-"+alg, alg)
			all, private["key-"+alg] = append(all, c), pem
		}
		basic := newProvider(t, settings{Clients: all})
		post := newProvider(t, settings{Clients: []client{machine("post", "client_secret_post", secret)}, AuthMethods: []string{"client_secret_post", "private_key_jwt"}})
		for id, method := range map[string]string{
			"basic": "client_secret_basic", "post": "client_secret_post",
			"key-RS256": "private_key_jwt", "key-PS256": "private_key_jwt", "key-ES256": "private_key_jwt", "key-EdDSA": "private_key_jwt",
		} {
			t.Run(id, func(t *testing.T) {
				p := basic
				if id == "post" {
					p = post
				}
				s := newResource(t, p, resourceOptions{stateful: stateful})
				o := &target.OAuth{Grant: target.ClientCredentials, Issuer: p.url, ClientID: id}
				if pem := private[id]; pem != "" {
					alg := strings.TrimPrefix(id, "key-")
					o.PrivateKey, o.KeyID = target.Literal(pem), "k-"+alg
					if alg == "PS256" {
						o.Algorithm = alg // the key fits RS256 too
					}
					p.hide(strings.Split(pem, "\n")[1])
				} else {
					o.ClientSecret = target.Literal(secret)
				}
				before := len(p.log())
				r := p.wantHealthy(t, &target.Target{Endpoint: s.URL, OAuth: o})
				wantNotes(t, r)
				if r.Server.ProtocolVersion != revision {
					t.Errorf("revision %s", r.Server.ProtocolVersion)
				}
				asked := p.log()[before:]
				if len(asked) != 1 || asked[0].Client != id || asked[0].Method != method || asked[0].Status != 200 || asked[0].Resource != s.URL || asked[0].Scope != "mcp:read" {
					t.Errorf("the provider was asked %+v", asked)
				}
				if n := len(s.accepted()); n != 1 {
					t.Errorf("%d tokens opened one session", n)
				}
			})
		}
	})
}

func TestClientCredentialsKeptInAFile(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	p := newProvider(t, settings{Clients: []client{machine("basic", "client_secret_basic", secret)}})
	s := newResource(t, p, resourceOptions{})
	tgt := childTarget{s.URL, "client_credentials", p.url, "basic", secret, "", filepath.Join(t.TempDir(), "token.json")}
	p.ttl(8 * time.Second) // of which five are too few
	p.wantHealthy(t, tgt.target())
	time.Sleep(3500 * time.Millisecond)
	p.ttl(time.Hour)
	p.crowd(t, tgt)
	p.wantLog("client_credentials basic 200", "client_credentials basic 200")
}

// A token that the server takes back before its time is replaced, once.
func TestTokenTakenBack(t *testing.T) {
	t.Parallel()
	secret := newSecret()
	p := newProvider(t, settings{Clients: []client{machine("basic", "client_secret_basic", secret)}})
	s := newResource(t, p, resourceOptions{})
	tgt := childTarget{s.URL, "client_credentials", p.url, "basic", secret, "", filepath.Join(t.TempDir(), "token.json")}
	p.wantHealthy(t, tgt.target())
	s.revoke(s.accepted()...)
	p.wantHealthy(t, tgt.target())
	p.wantHealthy(t, tgt.target())
	p.wantLog("client_credentials basic 200", "client_credentials basic 200")
}

// crowd checks the target at once in four processes, and four times in this one.
func (p *provider) crowd(t *testing.T, c childTarget) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if r := p.check(t, c.target()); r.Status != probe.StatusHealthy {
				t.Errorf("in this process: %s: %s", r.Status, explain(r))
			}
		})
		all.Go(func() {
			var stdout, stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+string(text))
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Errorf("%v: %s", err, &stderr)
				return
			}
			var r probe.Report
			if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Status != probe.StatusHealthy {
				t.Errorf("in another process: %v: %s: %s", err, r.Status, explain(&r))
			}
			p.wantNoSecret(t, stdout.String()+stderr.String())
		})
	}
	all.Wait()
}

func TestRefreshTokenRotates(t *testing.T) {
	both(t, func(t *testing.T, stateful bool, _ string) {
		secret := newSecret()
		p := newProvider(t, settings{Clients: []client{person("web", secret)}})
		s := newResource(t, p, resourceOptions{stateful: stateful})
		login := childTarget{s.URL, "authorization_code", p.url, "web", secret, "", filepath.Join(t.TempDir(), "login.json")}
		p.mustLogin(t, login)
		first := read(t, login.TokenFile).Refresh

		tgt := childTarget{s.URL, "refresh_token", p.url, "web", secret, first, filepath.Join(t.TempDir(), "tokens", "token.json")}
		seen := []string{first}
		p.ttl(8 * time.Second) // of which five are too few
		p.wantHealthy(t, tgt.target())
		time.Sleep(3500 * time.Millisecond)
		p.ttl(time.Hour)
		for _, why := range []string{"expired", "taken back"} {
			if why == "taken back" {
				s.revoke(s.accepted()...)
			}
			seen = append(seen, read(t, tgt.TokenFile).Refresh)
			p.crowd(t, tgt)
			if slices.Contains(seen, read(t, tgt.TokenFile).Refresh) {
				t.Errorf("%s: the refresh token did not change", why)
			}
		}
		p.wantLog("authorization_code web 200", "refresh_token web 200", "refresh_token web 200", "refresh_token web 200")
		if stat, err := os.Stat(tgt.TokenFile); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", stat.Mode(), err)
		}
	})
}

func TestRefreshTokenWithoutAFile(t *testing.T) {
	t.Parallel()
	p := newProvider(t, settings{Clients: []client{person("app", "")}})
	s := newResource(t, p, resourceOptions{})
	login := childTarget{s.URL, "authorization_code", p.url, "app", "", "", filepath.Join(t.TempDir(), "login.json")}
	p.mustLogin(t, login)
	tgt := childTarget{s.URL, "refresh_token", p.url, "app", "", read(t, login.TokenFile).Refresh, ""}
	wantNotes(t, p.wantHealthy(t, tgt.target()), "refresh-token-rotated")
	p.wantRefused(t, tgt.target(), probe.StatusMisconfigured, "token-refused", "was used before")
}
