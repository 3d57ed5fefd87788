package probe_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
)

// The cases of family D: what servers with a login do.

// verifyNoList fails unless the report of an audit says why there is no list.
func verifyNoList(t *testing.T, r *probe.Report) {
	t.Helper()
	for _, name := range []string{probe.StepInitialize, probe.StepTools} {
		s := step(t, r, name)
		if !s.Skipped {
			t.Errorf("step %s ran in an audit", name)
		}
		contains(t, "the message of "+name, s.Message, "discovery chain", "no list")
	}
	if r.Surface != nil || r.Server != nil {
		t.Error("an audit tells about a server that it did not log in to")
	}
}

func TestFieldD1WellKnownPlacesAreTried(t *testing.T) {
	t.Parallel()
	for name, documents := range map[string]map[string]string{"nothing is published": {}, "the well-known places hold it": nil} {
		t.Run(name, func(t *testing.T) {
			published := documents == nil
			newLogin := func(t *testing.T) *login {
				t.Helper()
				return (&login{challenge: "-", resource: documents}).start(t)
			}
			t.Run("no credential", func(t *testing.T) {
				l := newLogin(t)
				r := check(t, l.plain(), probe.Options{})
				verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "auth-required", notes: []probe.Reason{"auth-not-advertised"}})
				if c := step(t, r, probe.StepConnect); !c.Passed {
					t.Errorf("a server that refuses cannot be reached: %+v", c)
				}
				if len(l.documents())+len(l.asked()) > 0 {
					t.Errorf("a plain check asked for %v %v", l.documents(), l.asked())
				}
			})
			t.Run("a header that opens", func(t *testing.T) {
				verify(t, check(t, newLogin(t).bearer("opens-it"), probe.Options{}), want{})
			})
			t.Run("a header that does not", func(t *testing.T) {
				verify(t, check(t, newLogin(t).bearer("stays-out"), probe.Options{}), want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "token-rejected"})
			})
			t.Run("diagnose", func(t *testing.T) {
				l := newLogin(t)
				r := check(t, l.plain(), diagnose)
				verify(t, r, want{status: probe.StatusMisconfigured, reason: "auth-required", notes: []probe.Reason{"auth-not-advertised"}})
				if got := l.documents(); !slices.Contains(got, resourcePath+"/mcp") {
					t.Errorf("the well-known places were not tried: %v", got)
				}
				verdict := map[bool]string{true: "ok", false: "failed"}[published]
				if g := rung(t, r, "resource-metadata"); g.Verdict != verdict {
					t.Errorf("the rung is %+v, want %s", g, verdict)
				}
			})
			t.Run("audit", func(t *testing.T) {
				r := check(t, newLogin(t).audit(), probe.Options{})
				w := want{notes: []probe.Reason{"auth-not-advertised"}}
				if !published {
					w = want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "metadata-missing", hint: []string{resourcePath + "/mcp"}}
				}
				verify(t, r, w)
				verifyNoList(t, r)
			})
			t.Run("login", func(t *testing.T) {
				w := want{}
				if !published {
					w = want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "metadata-missing"}
				}
				verify(t, check(t, newLogin(t).machine(), probe.Options{}), w)
			})
		})
	}
}

func TestFieldD3ResourceDiffers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		path, resource, kind string
		fatal                bool
	}{
		"slash":          {"/mcp/", "$MCP/mcp", "slash-only", false},
		"slash too many": {"/mcp", "$MCP/mcp/", "slash-only", false},
		"origin":         {"/mcp/", "$MCP/", "origin-only", false},
		"origin bare":    {"/mcp", "$MCP", "origin-only", false},
		"sibling":        {"/mcp/oauth", "$MCP/mcp", "sibling-path", false},
		"other path":     {"/mcp", "$MCP/other", "other-path", true},
		"other host":     {"/mcp", "https://other.example.com/mcp", "other-origin", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			newLogin := func(t *testing.T) *login {
				t.Helper()
				at := resourcePath + c.path
				return (&login{
					cfg: fakemcp.Config{Path: c.path}, challenge: `Bearer resource_metadata="$MCP` + at + `"`,
					resource: map[string]string{at: resourceDoc(c.resource, "$AS")},
				}).start(t)
			}
			t.Run("audit", func(t *testing.T) {
				r := check(t, newLogin(t).audit(), probe.Options{})
				if c.fatal {
					verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "resource-mismatch", text: []string{c.kind}, hint: []string{c.path}})
					return
				}
				verify(t, r, want{notes: []probe.Reason{"resource-mismatch"}})
				contains(t, "the note", note(t, r, "resource-mismatch").Text, c.kind)
			})
			t.Run("login", func(t *testing.T) {
				l := newLogin(t)
				r := check(t, l.machine(), probe.Options{})
				if c.fatal {
					verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "resource-mismatch"})
					if len(l.forms()) > 0 {
						t.Error("a token was asked for, for the resource of somebody else")
					}
					return
				}
				verify(t, r, want{})
				if got := l.forms()[0].Get("resource"); got != l.fill(c.resource) {
					t.Errorf("the resource is %q, the metadata says %q", got, l.fill(c.resource))
				}
			})
			t.Run("plain", func(t *testing.T) {
				verify(t, check(t, newLogin(t).plain(), probe.Options{}), want{status: probe.StatusMisconfigured, reason: "auth-required"})
			})
		})
	}
}

func TestFieldD5BehindAProxy(t *testing.T) {
	t.Parallel()
	const host = fakemcp.TLSHost
	o := probe.Options{Resolver: fakemcp.NewResolver(host)}
	secure := fakemcp.Config{TLS: fakemcp.TLSGood}
	at := resourcePath + "/mcp"
	const named = `Bearer resource_metadata="$MCP` + resourcePath + `/mcp"`
	cases := map[string]struct {
		challenge  string
		documents  map[string]string
		reason     probe.Reason
		text, hint string
	}{
		"http resource":      {named, map[string]string{at: resourceDoc("http://$HOST/mcp", "http://$HOST")}, "metadata-scheme", "http://", "X-Forwarded-Proto"},
		"http server":        {named, map[string]string{at: resourceDoc("$ENDPOINT", "http://as.fake.test")}, "metadata-scheme", "http://as.fake.test", "X-Forwarded-Proto"},
		"http challenge":     {`Bearer resource_metadata="http://$HOST` + at + `"`, map[string]string{}, "metadata-scheme", "http://", "X-Forwarded-Proto"},
		"needs a credential": {named, map[string]string{at: "401", resourcePath: "401"}, "metadata-needs-auth", "401", ".well-known"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			newLogin := func(t *testing.T) *login {
				t.Helper()
				return (&login{cfg: secure, host: host, challenge: c.challenge, resource: c.documents}).start(t)
			}
			t.Run("audit", func(t *testing.T) {
				r := check(t, newLogin(t).audit(), o)
				verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: c.reason, text: []string{c.text}, hint: []string{c.hint}})
			})
			t.Run("diagnose", func(t *testing.T) {
				withLooks := o
				withLooks.Diagnose = true
				r := check(t, newLogin(t).plain(), withLooks)
				verify(t, r, want{status: probe.StatusMisconfigured, reason: "auth-required"})
				if !slices.ContainsFunc(r.Chain, func(g probe.Rung) bool { return g.Verdict == "failed" && g.Reason == c.reason && g.Hint != "" }) {
					t.Errorf("no rung failed with %s: %+v", c.reason, r.Chain)
				}
			})
			t.Run("header", func(t *testing.T) {
				verify(t, check(t, newLogin(t).bearer("opens-it"), o), want{})
			})
		})
	}
	t.Run("relative", func(t *testing.T) {
		l := (&login{challenge: `Bearer resource_metadata="` + at + `"`, cfg: fakemcp.Config{}}).start(t)
		r := check(t, l.audit(), probe.Options{})
		verify(t, r, want{notes: []probe.Reason{"metadata-relative"}})
		verify(t, check(t, l.machine(), probe.Options{}), want{})
	})
}

func TestFieldD6IssuerSlash(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ listed, issuer string }{
		"in the server's": {"$AS", "$AS/"},
		"in the list":     {"$AS/", "$AS"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			newLogin := func(t *testing.T) *login {
				t.Helper()
				return (&login{
					resource: map[string]string{resourcePath + "/mcp": resourceDoc("$ENDPOINT", c.listed)},
					server:   map[string]string{serverPath: serverDoc(c.issuer, pkce, cimd)},
				}).start(t)
			}
			t.Run("audit", func(t *testing.T) {
				l := newLogin(t)
				r := check(t, l.audit(), probe.Options{})
				verify(t, r, want{notes: []probe.Reason{"issuer-slash"}})
				n := note(t, r, "issuer-slash")
				contains(t, "the note", n.Text+n.Hint, l.fill(`"`+c.listed+`"`), l.fill(`"`+c.issuer+`"`), "the resource metadata", "the server's metadata")
			})
			t.Run("diagnose", func(t *testing.T) {
				r := check(t, newLogin(t).plain(), diagnose)
				verify(t, r, want{status: probe.StatusMisconfigured, reason: "auth-required", notes: []probe.Reason{"issuer-slash"}})
			})
			t.Run("login", func(t *testing.T) {
				for _, pin := range []string{"$AS", "$AS/"} {
					l := newLogin(t)
					tgt := l.machine()
					tgt.OAuth.Issuer = l.fill(pin)
					verify(t, check(t, tgt, probe.Options{}), want{anyNotes: true})
				}
			})
		})
	}
}

func TestFieldD7IssuerPath(t *testing.T) {
	t.Parallel()
	newLogin := func(t *testing.T) *login {
		t.Helper()
		return (&login{server: map[string]string{serverPath: serverDoc("$AS/backend/oauth", pkce, cimd)}}).start(t)
	}
	t.Run("audit", func(t *testing.T) {
		l := newLogin(t)
		r := check(t, l.audit(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "issuer-mismatch", text: []string{`"` + l.as.URL + `"`, l.as.URL + "/backend/oauth"}})
	})
	t.Run("login", func(t *testing.T) {
		l := newLogin(t)
		r := check(t, l.machine(), probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "issuer-mismatch"})
		if len(l.forms()) > 0 {
			t.Error("a secret was sent to a server whose metadata is another's")
		}
	})
}

func TestFieldD8WellKnownPlaces(t *testing.T) {
	t.Parallel()
	const tenant = "$AS/tenant1"
	cases := map[string]struct {
		issuer, at, resourceAt string
	}{
		"inserted OAuth":     {tenant, serverPath + "/tenant1", resourcePath + "/mcp"},
		"inserted OpenID":    {tenant, openidPath + "/tenant1", resourcePath + "/mcp"},
		"appended OpenID":    {tenant, "/tenant1" + openidPath, resourcePath + "/mcp"},
		"root OAuth":         {"$AS", serverPath, resourcePath + "/mcp"},
		"root OpenID":        {"$AS", openidPath, resourcePath + "/mcp"},
		"resource at root":   {"$AS", serverPath, resourcePath},
		"both at their last": {tenant, "/tenant1" + openidPath, resourcePath},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			newLogin := func(t *testing.T) *login {
				t.Helper()
				return (&login{
					challenge: "Bearer", resource: map[string]string{c.resourceAt: resourceDoc("$ENDPOINT", c.issuer)},
					server: map[string]string{c.at: serverDoc(c.issuer, pkce, cimd)},
				}).start(t)
			}
			t.Run("audit", func(t *testing.T) {
				l := newLogin(t)
				r := check(t, l.audit(), probe.Options{})
				verify(t, r, want{notes: []probe.Reason{"metadata-not-advertised"}})
				if g := rung(t, r, "authorization-server"); g.URL != l.as.URL+c.at || g.HTTPStatus != 200 {
					t.Errorf("the rung does not say that %s answered: %+v", c.at, g)
				}
				if g := rung(t, r, "resource-metadata"); g.URL != l.origin()+c.resourceAt {
					t.Errorf("the rung does not say that %s answered: %+v", c.resourceAt, g)
				}
				for _, p := range l.asked() {
					if strings.Contains(p, "/mcp") {
						t.Errorf("the authorization server was asked for %s", p)
					}
				}
			})
			t.Run("login", func(t *testing.T) {
				l := newLogin(t)
				tgt := l.machine()
				tgt.OAuth.Issuer = l.fill(c.issuer)
				verify(t, check(t, tgt, probe.Options{}), want{})
			})
		})
	}
}

func TestFieldD9PKCE(t *testing.T) {
	t.Parallel()
	newLogin := func(t *testing.T, members ...string) *login {
		t.Helper()
		return (&login{server: map[string]string{serverPath: serverDoc("$AS", append(members, cimd)...)}}).start(t)
	}
	t.Run("not mentioned", func(t *testing.T) {
		r := check(t, newLogin(t).audit(), probe.Options{})
		verify(t, r, want{notes: []probe.Reason{"pkce-not-advertised"}})
		contains(t, "the note", note(t, r, "pkce-not-advertised").Text, "2025-11-25", "refuse")
	})
	t.Run("plain alone", func(t *testing.T) {
		r := check(t, newLogin(t, `"code_challenge_methods_supported":["plain"]`).audit(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "pkce-s256", text: []string{"plain"}, hint: []string{"S256"}})
	})
	t.Run("machines need none", func(t *testing.T) {
		verify(t, check(t, newLogin(t).machine(), probe.Options{}), want{})
	})
}

func TestFieldD10Registration(t *testing.T) {
	t.Parallel()
	newLogin := func(t *testing.T, members ...string) *login {
		t.Helper()
		return (&login{server: map[string]string{serverPath: serverDoc("$AS", append(members, pkce)...)}}).start(t)
	}
	t.Run("no endpoint", func(t *testing.T) {
		// A new client has no way in: design 7.15.
		r := check(t, newLogin(t).audit(), probe.Options{})
		verify(t, r, want{status: probe.StatusUnhealthy, step: probe.StepAuthentication, reason: "no-dynamic-registration", hint: []string{"client_id"}})
	})
	t.Run("no endpoint, diagnose", func(t *testing.T) {
		r := check(t, newLogin(t).plain(), diagnose)
		verify(t, r, want{status: probe.StatusMisconfigured, reason: "auth-required"})
		if g := rung(t, r, "registration"); g.Reason != "no-dynamic-registration" {
			t.Errorf("the rung is %+v", g)
		}
	})
	t.Run("no endpoint, a registered client", func(t *testing.T) {
		verify(t, check(t, newLogin(t).machine(), probe.Options{}), want{})
	})
	t.Run("an endpoint that answers 404", func(t *testing.T) {
		l := newLogin(t, `"registration_endpoint":"$AS/register"`)
		r := check(t, l.audit(), probe.Options{})
		verify(t, r, want{notes: []probe.Reason{"dynamic-registration-only"}})
		for _, p := range l.asked() {
			if strings.HasPrefix(p, "POST") {
				t.Errorf("an audit sent %s", p)
			}
		}
	})
}

func TestFieldD13ExpiresIn(t *testing.T) {
	t.Parallel()
	soon := jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(60*time.Second).Unix()))
	late := jwt(fmt.Sprintf(`{"exp":%d}`, time.Now().Add(90*time.Minute).Unix()))
	answer := func(token, member string) string {
		return `{"access_token":"` + token + `","token_type":"Bearer"` + member + `}`
	}
	cases := map[string]struct {
		answer string
		reason probe.Reason
		life   time.Duration // that the report gives; 0: none
	}{
		"a number":              {answer("opens-1", `,"expires_in":5250`), "", 5250 * time.Second},
		"a string":              {answer("opens-1", `,"expires_in":"5250"`), "", 5250 * time.Second},
		"zero":                  {answer("opens-1", `,"expires_in":0`), "token-expired", 0},
		"a string of zero":      {answer("opens-1", `,"expires_in":"0"`), "token-expired", 0},
		"absent, opaque":        {answer("opens-1", ``), "", 0},
		"absent, a JWT":         {answer(soon, ``), "", 60 * time.Second},
		"absent, a later JWT":   {answer(late, ``), "", 90 * time.Minute},
		"null":                  {answer("opens-1", `,"expires_in":null`), "", 0},
		"nonsense":              {answer("opens-1", `,"expires_in":"3600abc"`), "token-response", 0},
		"negative":              {answer("opens-1", `,"expires_in":-1`), "token-response", 0},
		"a fraction":            {answer("opens-1", `,"expires_in":"1.5"`), "token-response", 0},
		"an object":             {answer("opens-1", `,"expires_in":{}`), "token-response", 0},
		"longer than any clock": {answer("opens-1", `,"expires_in":99999999999999`), "", 315_360_000 * time.Second},
		"no token":              {`{"token_type":"Bearer"}`, "token-response", 0},
		"no JSON":               {`<html>`, "token-response", 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := (&login{good: []string{soon, late}, token: func(url.Values) (int, string) { return 200, c.answer }}).start(t)
			r := check(t, l.machine(), probe.Options{})
			if c.reason != "" {
				verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: c.reason})
				if n := len(l.forms()); n != 1 {
					t.Errorf("%d tokens were asked for", n)
				}
				return
			}
			verify(t, r, want{})
			switch at := r.Credential.ExpiresAt; {
			case c.life == 0 && at != nil:
				t.Errorf("the report says that the token ends at %s, which nobody told", at)
			case c.life > 0 && (at == nil || time.Until(*at) > c.life || time.Until(*at) < c.life-30*time.Second):
				t.Errorf("the report says that the token ends at %v, want in %s", at, c.life)
			}
			if n := len(l.forms()); n != 1 {
				t.Errorf("%d tokens were asked for in one check", n)
			}
		})
	}
}

func TestFieldD15InsufficientScope(t *testing.T) {
	t.Parallel()
	answers := map[string]fakemcp.Handler{
		"challenge":    fakemcp.Respond(fakemcp.Response{Status: 403, Type: "application/json", Body: `{"error":"insufficient_scope"}`, Header: map[string]string{"WWW-Authenticate": `Bearer error="insufficient_scope", scope="mcp:admin"`}}),
		"bare 403":     fakemcp.Text(403, "application/json", `{"error":"insufficient_scope","scope":"mcp:admin"}`),
		"in a 200":     fakemcp.Text(200, "application/json", `{"error":"insufficient_scope","scope":"mcp:admin"}`),
		"as RPC error": fakemcp.Error(-32003, "insufficient_scope: mcp:admin is needed"),
	}
	for name, answer := range answers {
		for _, where := range []string{"server/discover", "tools/list"} {
			t.Run(name+" at "+where, func(t *testing.T) {
				for _, machine := range []bool{false, true} {
					l := (&login{cfg: fakemcp.Config{Era: fakemcp.Modern}}).start(t)
					l.mcp.On(where, answer)
					if name == "as RPC error" {
						l.mcp.On("initialize", answer)
						l.mcp.Allow(fakemcp.RuleInitialize)
					}
					tgt := l.bearer("opens-it")
					if machine {
						tgt = l.machine()
					}
					r := check(t, tgt, probe.Options{})
					verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "insufficient-scope"})
					s := step(t, r, probe.StepAuthentication)
					contains(t, "the step", s.Message+" "+s.Hint+" "+fmt.Sprint(s.Details), "mcp:admin")
					sent := 0
					for _, q := range l.mcp.Received(where) {
						if q.Header.Get("Authorization") != "" {
							sent++
						}
					}
					if sent != 1 {
						t.Errorf("%s was sent %d times with the token", where, sent)
					}
					if n := len(l.forms()); machine && n != 1 {
						t.Errorf("%d tokens were asked for", n)
					}
				}
			})
		}
	}
	t.Run("a bare 403 of another kind", func(t *testing.T) {
		l := (&login{}).start(t)
		l.mcp.OnHTTP("POST", fakemcp.Text(403, "application/json", `{"message":"Forbidden"}`))
		r := check(t, l.bearer("opens-it"), probe.Options{})
		verify(t, r, want{status: probe.StatusMisconfigured, step: probe.StepAuthentication, reason: "forbidden"})
		sequence(t, l.mcp.Methods(), "server/discover")
	})
}
