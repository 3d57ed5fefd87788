package authserver_test

import (
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// savedTokens are the members of a token file that the tests look at.
type savedTokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

func read(t testing.TB, path string) (s savedTokens) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// startLogin begins the login that mcpvigil login runs.
func startLogin(t testing.TB, c childTarget) (*access.Login, error) {
	t.Helper()
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	g := access.Grant{Kind: access.Kind(c.Grant), Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: access.Hide(c.ClientSecret), TokenFile: c.TokenFile, LoginCommand: loginCommand}
	if strings.HasPrefix(c.ClientID, "https://") {
		g.ClientID, g.ClientMetadataURL = "", c.ClientID
	}
	return access.StartLogin(t.Context(), access.LoginConfig{Timeout: time.Minute, SourceConfig: access.SourceConfig{Grant: g, Endpoint: endpoint}})
}

// mustLogin logs in to the end.
func (p *provider) mustLogin(t testing.TB, c childTarget) access.LoginResult {
	t.Helper()
	l, err := startLogin(t, c)
	if err != nil {
		t.Fatal(err)
	}
	p.walk(t, l.URL(), true)
	result, err := l.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !result.Renewable || !slices.Contains(result.Scopes, "mcp:read") || time.Until(result.Expires) <= 0 {
		t.Fatalf("the login brought %+v", result)
	}
	return result
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)

// walk is the person: it fills in the pages of the provider until the callback
// answers, and returns what the callback says.
func (p *provider) walk(t testing.TB, address string, consent bool) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	defer browser.CloseIdleConnections()
	resp, err := browser.Get(address)
	for range 5 {
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		if resp.Request.URL.Path == "/callback" {
			return page
		}
		form := formAction.FindStringSubmatch(page)
		if form == nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s\n%s", resp.Request.URL, resp.Status, page)
		}
		action := html.UnescapeString(form[1])
		switch {
		case strings.Contains(page, `name="prompt" value="login"`):
			resp, err = browser.PostForm(action, url.Values{"prompt": {"login"}, "login": {"ada"}, "password": {"correct horse"}})
		case !consent:
			resp, err = browser.Get(action + "/abort")
		default:
			resp, err = browser.PostForm(action, url.Values{"prompt": {"consent"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the login does not end")
	return ""
}

func TestLogin(t *testing.T) {
	const document = "https://client.example/oauth/mcpvigil.json"
	both(t, func(t *testing.T, stateful bool, _ string) {
		secret := newSecret()
		p := newProvider(t, settings{Clients: []client{person("app", ""), person("web", secret)}, Documents: map[string]client{document: person(document, "")}})
		s := newResource(t, p, resourceOptions{stateful: stateful})
		secrets := map[string]string{"app": "", "web": secret, document: ""}
		targets, files := map[string]*target.Target{}, map[string]savedTokens{}

		p.ttl(10 * time.Second) // of which five are too few
		for id, secret := range secrets {
			c := childTarget{s.URL, "authorization_code", p.url, id, secret, "", filepath.Join(t.TempDir(), "new", "login.json")}
			tgt := c.target()
			if id == document {
				tgt.OAuth.ClientID, tgt.OAuth.ClientMetadataURL = "", id
			}
			p.wantRefused(t, tgt, probe.StatusMisconfigured, "login-required", loginCommand)
			p.mustLogin(t, c)
			wantNotes(t, p.wantHealthy(t, tgt))
			targets[id], files[id] = tgt, read(t, c.TokenFile)
		}
		time.Sleep(5500 * time.Millisecond)
		p.ttl(time.Hour)
		for id, tgt := range targets {
			p.wantHealthy(t, tgt)
			p.wantHealthy(t, tgt)
			if now := read(t, tgt.OAuth.TokenFile); now.Refresh == files[id].Refresh || now.Access == files[id].Access {
				t.Errorf("%s: the token file holds the old tokens", id)
			}
			var grants []string
			for _, e := range p.log() {
				if e.Client != id {
					continue
				}
				grants = append(grants, e.Grant)
				if e.Resource != s.URL || e.Status != http.StatusOK {
					t.Errorf("%s: %s for resource %q: %d", id, e.Grant, e.Resource, e.Status)
				}
			}
			if !slices.Equal(grants, []string{"authorization_code", "refresh_token"}) {
				t.Errorf("%s: the provider was asked for %q", id, grants)
			}
		}
		if n := len(s.accepted()); n != 2*len(secrets) {
			t.Errorf("%d tokens opened the door", n)
		}
	})
}

func TestLoginPasted(t *testing.T) {
	t.Parallel()
	p := newProvider(t, settings{Clients: []client{person("app", "")}})
	s := newResource(t, p, resourceOptions{})
	c := childTarget{s.URL, "authorization_code", p.url, "app", "", "", filepath.Join(t.TempDir(), "login.json")}
	l, err := startLogin(t, c)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// A browser on another machine ends at an address where nobody listens.
	var redirected string
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/callback" {
			redirected = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	page := func(resp *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		if form := formAction.FindStringSubmatch(string(data)); form != nil {
			return html.UnescapeString(form[1])
		}
		return ""
	}
	consent := page(browser.PostForm(page(browser.Get(l.URL())), url.Values{"prompt": {"login"}, "login": {"ada"}, "password": {"x"}}))
	page(browser.PostForm(consent, url.Values{"prompt": {"consent"}}))
	if err := l.Paste("https://elsewhere.example/callback?code=1"); access.ReasonOf(err) != access.ReasonLoginResponse {
		t.Errorf("%v", err)
	}
	if err := l.Paste(" " + redirected + "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantHealthy(t, c.target())
}

func TestLoginDenied(t *testing.T) {
	t.Parallel()
	p := newProvider(t, settings{Clients: []client{person("app", "")}})
	s := newResource(t, p, resourceOptions{})
	c := childTarget{s.URL, "authorization_code", p.url, "app", "", "", filepath.Join(t.TempDir(), "login.json")}
	l, err := startLogin(t, c)
	if err != nil {
		t.Fatal(err)
	}
	page := p.walk(t, l.URL(), false)
	var e *access.Error
	if _, err := l.Wait(t.Context()); !errors.As(err, &e) || e.Reason != access.ReasonLoginDenied || !strings.Contains(e.Hint, loginCommand) || !strings.Contains(page, "The login failed") {
		t.Errorf("%v, and the browser shows %q", err, page)
	}
	if _, err := os.Stat(c.TokenFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a token file after a denied login: %v", err)
	}
	p.wantLog()
}
