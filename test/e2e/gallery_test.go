package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ui"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
)

// gallery is a monitor with something to show on every page.
type gallery struct {
	*server
	// known is what stands for names in braces in the paths of routes.
	known map[string]string
}

// view is one page to look at.
type view struct {
	route, path string
	account     string // empty: nobody
}

// file gives the view a name for files.
func (v view) file() string {
	path, _, _ := strings.Cut(v.path, "token=") // which is another one each time
	name := strings.Trim(fileName.ReplaceAllString(strings.ReplaceAll(path, "/", "."), "-"), ".-")
	if name == "" {
		name = "overview"
	}
	return name
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// paths are the addresses of a route with everything in braces filled in.
func (g *gallery) paths(route string) ([]string, bool) {
	path := strings.ReplaceAll(route, "{$}", "")
	if known, ok := g.known[path]; ok {
		return []string{known}, true
	}
	prefixes := make([]string, 0, len(g.known))
	for prefix := range g.known {
		prefixes = append(prefixes, prefix)
	}
	slices.SortFunc(prefixes, func(a, b string) int { return len(b) - len(a) })
	for changed := true; changed && strings.Contains(path, "{"); {
		changed = false
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/' || rest[0] == '.') {
				path, changed = g.known[prefix]+rest, true
				break
			}
		}
	}
	return []string{path}, !strings.Contains(path, "{")
}

// views are all pages that routes show. The test fails for a route that it knows no
// example of, and for one that does not answer.
func (g *gallery) views(t testing.TB, more ...view) []view {
	t.Helper()
	var out []view
	for _, route := range ui.Routes(ui.Deps{}) {
		if route.Method != http.MethodGet {
			continue
		}
		paths, ok := g.paths(route.Path)
		if !ok {
			t.Errorf("%s: this test has no example of it: add one to gallery.known", route.Path)
			continue
		}
		for _, path := range paths {
			if g.isPage(t, "admin", path) {
				out = append(out, view{route.Path, path, "admin"})
			}
		}
	}
	for _, v := range more {
		if g.isPage(t, v.account, v.path) {
			out = append(out, v)
		} else {
			t.Errorf("%s is no page", v.path)
		}
	}
	return out
}

// isPage asks for a path: a part of a page, data or a stream is none, and neither is a
// redirection.
func (g *gallery) isPage(t testing.TB, account, path string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if account != "" {
		r.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: g.token(account)})
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Errorf("GET %s: %v", path, err)
		return false
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 400 {
		t.Errorf("GET %s as %q: %d", path, account, answer.StatusCode)
		return false
	}
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") {
		return false
	}
	start, _ := bufio.NewReader(answer.Body).Peek(15)
	return strings.EqualFold(string(start), "<!doctype html>")
}

// shoot writes a picture of the page as it stands.
func (p *page) shoot(t testing.TB, name string) {
	t.Helper()
	data, err := p.picture(true)
	if err == nil {
		err = os.WriteFile(artifacts(t, "screenshots", name+".png"), data, 0o644)
	}
	if err != nil {
		t.Errorf("picture of %s: %v", name, err)
	}
}

// narrow fails the test when the page is wider than the window.
func (p *page) narrow(t testing.TB, what string) {
	t.Helper()
	got := ask[struct {
		Width, Inner float64
		Wide         []string
	}](p, `(() => {
		const Inner = innerWidth, Width = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
		const Wide = Width <= Inner ? [] : [...document.querySelectorAll("body *")].filter((e) => {
			const r = e.getBoundingClientRect();
			return r.width > 0 && r.right > Inner + 0.5 && !e.closest("[hidden]");
		}).slice(0, 5).map((e) => e.outerHTML.slice(0, 160));
		return {Width, Inner, Wide};
	})()`)
	if got.Width > got.Inner {
		t.Errorf("%s is %g pixels wide in a window of %g:\n  %s", what, got.Width, got.Inner, strings.Join(got.Wide, "\n  "))
	}
}

// look checks one page in both themes and both widths, and takes pictures.
func (p *page) look(t *testing.T, v view) {
	t.Helper()
	p.visit(v.path)
	time.Sleep(200 * time.Millisecond) // charts and times are drawn
	for _, width := range []int64{1280, 390} {
		p.size(width, map[int64]int64{1280: 900, 390: 844}[width])
		for _, theme := range []string{"light", "dark"} {
			p.theme(theme)
			time.Sleep(50 * time.Millisecond)
			what := fmt.Sprintf("%s, %d pixels, %s", v.path, width, theme)
			switch {
			case theme == "light":
				p.accessible(t, what)
			case width == 1280: // what differs is the colours
				p.accessible(t, what, "color-contrast")
			}
			if width == 390 {
				p.narrow(t, what)
			}
			p.shoot(t, filepath.Join(fmt.Sprintf("%d-%s", width, theme), v.file()))
		}
	}
}

// newGallery is a monitor with something to show on every page: servers that are well,
// down, paused, changed and flagged, two that are to be compared, people, channels.
func newGallery(t *testing.T) *gallery {
	t.Helper()
	well := newMCP(t, tool("search", "Searches the documentation.", `"annotations":{"readOnlyHint":true}`), tool("fetch", "Fetches a page."))
	turned := newMCP(t, tool("search", "Searches the documentation."), tool("fetch", "Fetches a page."))
	down := newMCP(t, tool("build", "Builds."))
	config := filepath.Join(t.TempDir(), "mcpvigil.yaml")
	text := fmt.Sprintf("version: v1\ntargets:\n  - {name: from the file, type: mcp, endpoint: %q, monitor: {interval: 1h, tags: [file]}}\n", well.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &gallery{server: newServer(t, nil, "--config", config)}
	r := newReceiver(t)
	g.tells(r)
	docs := g.add("docs", turned.URL, "group", "platform", "tags", []string{"prod", "docs"})
	g.add("documentation", well.URL, "group", "platform", "tags", []string{"prod"})
	builder := g.add("builder", down.URL, "tags", []string{"ci"})
	paused := g.add("old builder", well.URL)
	g.api("editor", http.MethodPost, fmt.Sprintf("/monitors/%d/pause", paused.ID), nil, nil)
	down.fall(true)
	g.check(builder.ID)
	turned.become(tool("search", poison), tool("fetch", "Fetches a page of the web."), tool("delete_everything", "Deletes all.", `"annotations":{"destructiveHint":true}`))
	g.check(docs.ID)
	r.waitFor(t, "docs", "changed")

	now := time.Now().UTC()
	var window struct{ ID int64 }
	g.api("admin", http.MethodPost, "/windows", map[string]any{"name": "nightly", "kind": "maintenance", "tags": []string{"ci"}, "start": now.Add(time.Hour), "end": now.Add(2 * time.Hour)}, &window)
	g.api("editor", http.MethodPut, "/status-pages/ours", map[string]any{"title": "Our servers", "text": "What agents rely on.", "tags": []string{"prod", "ci"}, "badges": true, "surface": true}, nil)
	g.api("admin", http.MethodPost, "/keys", map[string]any{"name": "ci", "role": "viewer", "password": password}, nil)
	g.api("editor", http.MethodPost, "/incidents/1/acknowledge", map[string]any{"comment": "On it."}, nil)
	id := number(docs.ID)
	g.known = map[string]string{
		"/monitors/{id}/items/{kind}/{index}": "/monitors/" + id + "/items/tool/0",
		"/monitors/{id}":                      "/monitors/" + id,
		"/incidents/{id}":                     "/incidents/1",
		"/settings/channels/{id}":             "/settings/channels/1",
		"/settings/windows/{id}":              "/settings/windows/" + number(window.ID),
		"/settings/people/{id}":               "/settings/people/2",
		"/settings/status-pages/{slug}":       "/settings/status-pages/ours",
		"/status/{slug}":                      "/status/ours",
		"/badge/{slug}/{monitor}/{kind}":      "/badge/ours/" + id + "/status.svg",
		"/badge/{slug}/{kind}":                "/badge/ours/status.svg",
		"/monitors/first":                     "/monitors/first?ids=" + id,
		"/search":                             "/search?q=search",
		"/compare":                            "/compare",
		"/settings/escalations/policy":        "/settings/escalations/policy?name=default",
		"/settings/escalations/edit":          "/settings/escalations/edit?name=default",
	}
	return g
}

// TestPages looks at every page: it is accessible, wrong in nothing that a browser notices,
// no wider than a phone, and a picture of it is taken.
func TestPages(t *testing.T) {
	g := newGallery(t)
	docs := g.known["/monitors/{id}"]
	views := g.views(
		t, view{path: "/sign-in"}, view{path: "/status/ours"}, view{path: docs + "/review?as=editor", account: "editor"}, view{path: "/?as=viewer", account: "viewer"},
		view{path: "/monitors/new?first=1", account: "editor"}, view{path: "/settings/channels/new?type=webhook", account: "admin"},
		view{path: "/search?q=id_rsa", account: "viewer"}, view{path: "/incidents?stage=acknowledged", account: "editor"}, view{path: "/?q=nothing+has+this", account: "editor"},
	)
	if len(views) < 30 {
		t.Errorf("there are only %d pages", len(views))
	}
	began := time.Now()
	for _, v := range views {
		p := g.open(t, v.account)
		p.look(t, v)
		p.close()
	}
	german := g.open(t, "admin")
	german.language("de")
	german.size(390, 844)
	for _, v := range views {
		if v.account != "" {
			german.visit(v.path)
			german.narrow(t, v.path+" in German")
		}
	}
	fresh := start(t, t.TempDir(), freePort(t))
	p := blank(t, fresh.url)
	p.look(t, view{path: strings.TrimPrefix(printed.FindString(fresh.output.String()), fresh.url)})
	t.Logf("%d pages in %s", len(views)+1, time.Since(began).Round(time.Second))
}
