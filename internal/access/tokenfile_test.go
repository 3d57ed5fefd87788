package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTokenFileKeepsEverything(t *testing.T) {
	f := tokenFile{path: filepath.Join(t.TempDir(), "a", "b", "t.json")}
	if s, problem := f.load(); s != nil || problem != nil {
		t.Fatalf("%v %v", s, problem)
	}
	want := &saved{
		access: "a~b+/=", refresh: "r \"\\x", expires: time.Unix(1_900_000_000, 0).UTC(), issuer: "i", resource: "r", clientID: "c",
		scopes: []string{"a", "b"}, requested: []string{"a", "b", "c"}, seed: "x",
	}
	for range 2 {
		if problem := write(t.Context(), f, want); problem != nil {
			t.Fatal(problem)
		}
	}
	got, problem := f.load()
	if problem != nil {
		t.Fatal(problem)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(saved{})); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("%v %v", entries, err)
	}
}

func TestTokenFileOfAgenthealth(t *testing.T) {
	const file = `{"access_token":"a","refresh_token":"r","expires_at":"2030-01-02T03:04:05.678+01:00","issuer":"https://as","resource":"https://h/mcp","client_id":"c","scope":"x y"}`
	s, err := parseSaved([]byte(file))
	if err != nil || s.access != "a" || len(s.scopes) != 2 || s.expires.Unix() != 1893549845 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = parseSaved([]byte(strings.Replace(file, `"2030-01-02T03:04:05.678+01:00"`, "1893549845", 1))); err != nil || s.expires.Unix() != 1893549845 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestBrokenTokenFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	good := `"access_token":"a","issuer":"i","resource":"r","client_id":"c"`
	for content, want := range map[string]string{
		"":                                   "is not JSON",
		"[]":                                 "is not a JSON object",
		`{` + good[:20]:                      "is not JSON",
		`{"issuer":"i"}`:                     "holds no token",
		`{"access_token":"a"}`:               "does not say for which issuer, resource and client_id it is",
		`{` + good + `,"scope":1}`:           "has a scope that is no string",
		`{` + good + `,` + good[:18] + `}`:   "holds a member twice",
		`{` + good + `,"expires_at":"soon"}`: "has an expires_at that is no time",
		`{` + good + `,"refresh_token":"a\u000a"}`:                      "holds a token with characters that none can have",
		`{` + good + `,"x":"` + strings.Repeat("y", maxDocument) + `"}`: "is larger than 64 KiB",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, problem := tokenFile{path: path, hint: "do this"}.load()
		if problem == nil || problem.Text != "token file "+path+" "+want || problem.Reason != ReasonTokenFile || problem.Hint != "do this" {
			t.Errorf("%.60s: %v", content, problem)
		}
	}
}

// people is a login saved in a file that has expired unless life says otherwise.
func people(t *testing.T, as *fakeAS, c *clock, life time.Duration, change func(*saved)) Grant {
	t.Helper()
	g := Grant{Kind: AuthorizationCode, Issuer: as.URL, ClientID: "c", TokenFile: filepath.Join(t.TempDir(), "t.json"), LoginCommand: "mcpvigil login f.yaml search"}
	s := &saved{access: "access-0", refresh: "refresh-0", expires: c.now().Add(life), issuer: as.URL, resource: as.URL + "/mcp", clientID: "c", scopes: []string{"read"}}
	if change != nil {
		change(s)
	}
	if problem := write(t.Context(), tokenFile{path: g.TokenFile}, s); problem != nil {
		t.Fatal(problem)
	}
	return g
}

func TestSavedTokens(t *testing.T) {
	for _, c := range []struct {
		name   string
		life   time.Duration
		file   func(*saved)
		grant  func(*Grant)
		want   string // the token, or the reason of an error
		asked  int
		inText string
	}{
		{name: "good", life: time.Minute, want: "access-0"},
		{name: "six seconds left", life: 6 * time.Second, want: "access-0"},
		{name: "five seconds left", life: 5 * time.Second, want: "access-1", asked: 1},
		{name: "expired", life: -time.Hour, want: "access-1", asked: 1},
		{name: "no access token", life: time.Hour, file: func(s *saved) { s.access = "" }, want: "access-1", asked: 1},
		{name: "expired without refresh token", life: -time.Hour, file: func(s *saved) { s.refresh = "" }, want: ReasonLoginRequired, inText: "mcpvigil login f.yaml search"},
		{name: "good without refresh token", life: time.Hour, file: func(s *saved) { s.refresh = "" }, want: "access-0"},
		{name: "burnt refresh token", life: -time.Hour, file: func(s *saved) { s.refresh = "refresh-x" }, want: ReasonLoginRequired, asked: 1, inText: "mcpvigil login f.yaml search"},
		{name: "another issuer", life: time.Hour, file: func(s *saved) { s.issuer += "/" }, want: ReasonTokenFileBinding, inText: "mcpvigil login f.yaml search"},
		{name: "another client", life: time.Hour, file: func(s *saved) { s.clientID = "d" }, want: ReasonTokenFileBinding},
		{name: "another resource", life: time.Hour, file: func(s *saved) { s.resource = "https://other.example/mcp" }, want: ReasonTokenFileBinding},
		{name: "the resource with a slash, good", life: time.Hour, file: func(s *saved) { s.resource += "/" }, want: "access-0"},
		{name: "the resource with a slash, expired", life: -time.Hour, file: func(s *saved) { s.resource += "/" }, want: ReasonTokenFileBinding},
		{name: "a scope more", life: time.Hour, grant: func(g *Grant) { g.Scopes = []string{"read", "admin"} }, want: ReasonInsufficientScope, inText: "mcpvigil login f.yaml search"},
		{name: "a scope asked for and not named", life: time.Hour, file: func(s *saved) { s.requested = []string{"read", "offline_access"} }, grant: func(g *Grant) { g.Scopes = []string{"offline_access"} }, want: "access-0"},
		{name: "refresh_token grant from the file", life: -time.Hour, grant: func(g *Grant) { g.Kind = RefreshToken }, want: "access-1", asked: 1},
		{name: "no file", life: time.Hour, grant: func(g *Grant) { g.TokenFile += ".x" }, want: ReasonLoginRequired, inText: "mcpvigil login f.yaml search"},
		{name: "no directory", life: time.Hour, grant: func(g *Grant) { g.TokenFile += ".x/y" }, want: ReasonLoginRequired},
	} {
		t.Run(c.name, func(t *testing.T) {
			as, now := newAS(t), newClock()
			g := people(t, as, now, c.life, c.file)
			before, _ := os.ReadFile(g.TokenFile)
			if c.grant != nil {
				c.grant(&g)
			}
			token, err := newSource(t, as, g, now).Token(t.Context())
			got := token.Reveal()
			if err != nil {
				e := mustFail(t, err)
				got = e.Reason
				if !strings.Contains(e.Text+e.Hint, c.inText) {
					t.Errorf("%+v", e)
				}
				if after, _ := os.ReadFile(strings.TrimSuffix(g.TokenFile, ".x")); !strings.HasSuffix(g.TokenFile, "y") && string(after) != string(before) {
					t.Error("the file was touched")
				}
			}
			if got != c.want || as.requests() != c.asked {
				t.Errorf("%s after %d requests", got, as.requests())
			}
		})
	}
}

func TestRefreshedTokensAreKept(t *testing.T) {
	as, c := newAS(t), newClock()
	g := people(t, as, c, -time.Hour, nil)
	for i := range 3 {
		if got, want := mustToken(t, newSource(t, as, g, c)), fmt.Sprintf("access-%d", i+1); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		c.pass(time.Hour)
	}
	s := newSource(t, as, g, c)
	token, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Discard(token) // the resource server refused what the file says is good
	if got := mustToken(t, s); got != "access-5" {
		t.Error(got)
	}
	if n := s.Notes(); len(n) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestNewRefreshTokenInTheConfigurationWins(t *testing.T) {
	as, c := newAS(t), newClock()
	g := Grant{Kind: RefreshToken, Issuer: as.URL, ClientID: "c", TokenFile: filepath.Join(t.TempDir(), "t.json"), RefreshToken: Hide("refresh-0")}
	mustToken(t, newSource(t, as, g, c))
	if got := mustToken(t, newSource(t, as, g, c)); got != "access-1" || as.requests() != 1 {
		t.Error(got)
	}
	c.pass(2 * time.Hour)
	mustToken(t, newSource(t, as, g, c))
	as.mu.Lock()
	as.refresh = "by-hand"
	as.mu.Unlock()
	g.RefreshToken = Hide("by-hand")
	if got := mustToken(t, newSource(t, as, g, c)); got != "access-3" {
		t.Error(got)
	}
	if got := as.form(1).Get("refresh_token") + " " + as.form(2).Get("refresh_token"); got != "refresh-1 by-hand" {
		t.Error(got)
	}
}

func TestFailedRefreshLeavesTheFile(t *testing.T) {
	as, c := newAS(t), newClock()
	g := people(t, as, c, -time.Hour, nil)
	before, _ := os.ReadFile(g.TokenFile)
	for name, answer := range map[string]func(http.ResponseWriter, url.Values) bool{
		"500": func(w http.ResponseWriter, _ url.Values) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		},
		"garbage": func(w http.ResponseWriter, _ url.Values) bool { fmt.Fprint(w, "{"); return true },
		"hang up": func(http.ResponseWriter, url.Values) bool { panic(http.ErrAbortHandler) },
	} {
		as.respond(answer)
		if _, err := newSource(t, as, g, c).Token(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		after, _ := os.ReadFile(g.TokenFile)
		entries, _ := os.ReadDir(filepath.Dir(g.TokenFile))
		if string(after) != string(before) || len(entries) != 2 {
			t.Errorf("%s: %v", name, entries)
		}
	}
}

// An expired token still brings the refresh token that comes with it.
func TestExpiredTokenIsStillSaved(t *testing.T) {
	as, c := newAS(t), newClock()
	as.extra = []any{"expires_in", 0}
	g := people(t, as, c, -time.Hour, nil)
	_, err := newSource(t, as, g, c).Token(t.Context())
	if e := mustFail(t, err); e.Reason != ReasonTokenExpired {
		t.Errorf("%+v", e)
	}
	as.extra = nil
	if got := mustToken(t, newSource(t, as, g, c)); got != "access-2" || as.form(1).Get("refresh_token") != "refresh-1" {
		t.Error(got)
	}
}

func TestSourcesOfOneProcessShareOneRefresh(t *testing.T) {
	as, c := newAS(t), newClock()
	g := people(t, as, c, -time.Hour, nil)
	var wg sync.WaitGroup
	for range 8 {
		s := newSource(t, as, g, c)
		wg.Go(func() {
			if token, err := s.Token(t.Context()); err != nil || token.Reveal() != "access-1" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := as.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestProcessesShareOneRefresh(t *testing.T) {
	as := newAS(t)
	as.answer = func(http.ResponseWriter, url.Values) bool { time.Sleep(200 * time.Millisecond); return false }
	g := people(t, as, newClock(), -time.Hour, nil)
	var wg sync.WaitGroup
	for range 8 {
		cmd := command(t, "token", g.TokenFile, "CHILD_ENDPOINT="+as.URL+"/mcp")
		wg.Go(func() {
			if out, err := cmd.Output(); err != nil || string(out) != "access-1" {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if n := as.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestKilledWriterLeavesOldOrNew(t *testing.T) {
	f := tokenFile{path: filepath.Join(t.TempDir(), "t.json")}
	if problem := write(t.Context(), f, sample("first")); problem != nil {
		t.Fatal(problem)
	}
	for i := range 12 {
		cmd := command(t, "write", f.path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(40+7*i) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
		s, problem := f.load()
		if problem != nil || s == nil || s.access != s.refresh {
			t.Fatalf("after kill %d: %v", i, problem)
		}
	}
	s, _ := f.load()
	if s.access == "first" {
		t.Error("nothing was ever written")
	}
	// The lock of a dead process is nobody's, and what it left is cleared away.
	if problem := write(t.Context(), f, sample("last")); problem != nil {
		t.Error(problem)
	}
	if entries, _ := os.ReadDir(filepath.Dir(f.path)); len(entries) != 2 {
		t.Errorf("%v", entries)
	}
}

func TestWaitingForTheLockEnds(t *testing.T) {
	f := tokenFile{path: filepath.Join(t.TempDir(), "t.json")}
	h, problem := f.hold(t.Context())
	if problem != nil {
		t.Fatal(problem)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	if _, problem := f.hold(ctx); problem == nil || problem.Reason != ReasonAborted || !problem.Unknown || !errors.Is(problem, context.DeadlineExceeded) {
		t.Errorf("%v", problem)
	}
	h.release()
	if h, problem = f.hold(t.Context()); problem != nil {
		t.Fatal(problem)
	}
	h.release()
}

func FuzzTokenFile(f *testing.F) {
	data, err := sample("a").encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"access_token":"a","issuer":"i","resource":"r","client_id":"c","expires_at":-1}`))
	f.Add([]byte(`{"access_token":"a","issuer":"i","resource":"r","client_id":"c","expires_at":1e9,"scope":"  a  b a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSaved(data)
		if err != nil {
			return
		}
		written, err := s.encode()
		if err != nil {
			return // too large, or a year that JSON cannot hold
		}
		s.expires = s.expires.Truncate(time.Second)
		again, err := parseSaved(written)
		if err != nil {
			t.Fatalf("%v: %s", err, written)
		}
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(saved{})); diff != "" {
			t.Error(diff)
		}
	})
}
