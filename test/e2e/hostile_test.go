package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ui"
)

// evil is markup that does something, and marks what it makes with data-owned.
var evil = []string{
	`<script data-owned>window.e2eOwned = 1; alert(1)</script>`,
	`"><img src=x onerror="window.e2eOwned=2" data-owned id=owned>`,
	`<img src="http://evil.example/pixel.png" data-owned>`,
	`</textarea></title></pre></script><svg onload="window.e2eOwned=3" data-owned>`,
	`<a href="javascript:window.e2eOwned=4" data-owned>here</a>`,
	`[click](javascript:window.e2eOwned=5) ![x](http://evil.example/x.png)`,
	`<iframe src="http://evil.example/" data-owned></iframe><base href="http://evil.example/"><meta http-equiv="refresh" content="0;url=http://evil.example/">`,
	`<div hx-get="/account" hx-trigger="load" data-owned></div><form action="http://evil.example/" data-owned><button autofocus>Sign in</button></form>`,
	`<style data-owned>body{display:none}</style><link rel=stylesheet href="http://evil.example/x.css" data-owned>`,
	"a\u202eb\u2066c\u200bd\ufefff\U000e0041g\u0000h",
	`it's "quoted" and 'quoted' & &lt;b&gt; \u0041 ${7*7} {{7*7}} <%= 7*7 %>`,
	`javascript:window.e2eOwned=6`,
}

func asJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// evilTools are tools whose every text is hostile.
func evilTools() []string {
	var out []string
	for i, text := range evil {
		out = append(out, asJSON(map[string]any{
			"name": fmt.Sprintf("t%02d %s", i, text), "title": text, "description": "Does it. " + text + "\n" + text,
			"inputSchema": map[string]any{
				"type": "object", "required": []string{text},
				"properties": map[string]any{text: map[string]any{"type": "string", "description": text, "enum": []string{text}, "default": text}},
			},
			"annotations": map[string]any{"title": text, "readOnlyHint": true},
			"icons":       []any{map[string]string{"src": "http://evil.example/icon.png"}, map[string]string{"src": "javascript:alert(1)"}},
			"_meta":       map[string]any{text: text},
		}))
	}
	return out
}

// long is a description of a megabyte.
var long = strings.Repeat("All work and no play makes <b>Jack</b> a dull boy. ", 1<<20/50)

// harmless fails the test when something of a server became more than text.
func (p *page) harmless(t testing.TB, what string) {
	t.Helper()
	got := ask[struct {
		Owned   any
		Found   []string
		Visible bool
	}](p, `(() => {
		const bad = "[data-owned], #owned, img:not([src^='/assets/']):not([src^='data:']), iframe, object, embed, base, meta[http-equiv], style, script:not([src]), " +
			"a[href^='javascript:' i], a[href*='evil.example'], form[action*='evil.example'], [src*='evil.example'], [onerror], [onload], [onclick], [hx-get='/account'], [style*='url']";
		return {
			Owned: window.e2eOwned ?? null,
			Found: [...document.querySelectorAll(bad)].slice(0, 5).map((e) => e.outerHTML.slice(0, 200)),
			Visible: getComputedStyle(document.body).display !== "none" && document.querySelectorAll("h1").length === 1,
		};
	})()`)
	if got.Owned != nil || len(got.Found) > 0 || !got.Visible {
		t.Errorf("%s: text of a server became more than text: e2eOwned is %v, visible %v\n  %s", what, got.Owned, got.Visible, strings.Join(got.Found, "\n  "))
	}
}

// TestHostile: whatever servers say is shown as text, fast, in every language.
func TestHostile(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	big := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	bad, large := s.add("bad", m.URL), s.add("large", big.URL)
	m.become(append(evilTools(), tool("long", long))...)
	m.mu.Lock()
	m.instructions, m.name = strings.Join(evil, "\n"), evil[1]
	m.mu.Unlock()
	var tools []string
	for i := range 10_000 {
		tools = append(tools, tool(fmt.Sprintf("tool_%05d", i), evil[i%len(evil)]))
	}
	big.become(tools...)
	s.check(bad.ID)
	s.check(large.ID)
	for range 3 { // a server that calls itself something else is listed once more
		s.check(bad.ID)
	}

	p := s.open(t, "approver")
	p.language("de")
	p.visit("/")
	if got := ask[string](p, `document.documentElement.lang + " " + document.querySelector("h1").innerText`); got != "de Übersicht" {
		t.Errorf("a browser that prefers German is shown %q", got)
	}
	var paths []string
	for _, id := range []int64{bad.ID, large.ID} {
		g := &gallery{server: s, known: map[string]string{"/monitors/{id}/items/{kind}/{index}": fmt.Sprintf("/monitors/%d/items/tool/1", id), "/monitors/{id}": fmt.Sprintf("/monitors/%d", id)}}
		for _, route := range ui.Routes(ui.Deps{}) {
			if path, ok := g.paths(route.Path); ok && route.Method == http.MethodGet && strings.HasPrefix(route.Path, "/monitors/{id}") && g.isPage(t, "approver", path[0]) {
				paths = append(paths, path[0])
			}
		}
	}
	paths = append(paths, "/", "/incidents", "/incidents/1", "/incidents/2", "/search?q=onerror", "/search?q="+url.QueryEscape(`"><img src=x`), "/search?q=tool",
		"/compare?monitor=bad&with=large", "/compare?monitor=bad")
	for _, path := range paths {
		began := time.Now()
		p.visit(path)
		took := time.Since(began)
		t.Logf("%-40s %5d ms, %5d KiB, %5d elements", path, took.Milliseconds(), ask[int](p, `document.documentElement.outerHTML.length >> 10`), ask[int](p, `document.querySelectorAll("*").length`))
		p.harmless(t, path)
		if took > slack*1500*time.Millisecond {
			t.Errorf("%s takes %s", path, took)
		}
		if strings.HasSuffix(path, "/review") || strings.HasSuffix(path, "/surface") || strings.HasPrefix(path, "/search?q=onerror") || strings.HasPrefix(path, "/compare") {
			if !ask[bool](p, `/onerror|evil\.example/.test(document.querySelector("main").textContent)`) {
				t.Errorf("%s does not show what the server says", path)
			}
		}
	}
	for _, path := range []string{reviewPath(bad), fmt.Sprintf("/monitors/%d/surface", bad.ID)} {
		p.visit(path)
		for _, button := range []string{"button.more"} { // what is loaded later is no other
			for range 3 {
				if ask[bool](p, `document.querySelector(`+quote(button)+`) !== null`) {
					p.press(p.at(button), button)
					p.settle()
				}
			}
		}
		ask[bool](p, `(document.querySelectorAll("details").forEach((d) => d.open = true), true)`)
		p.settle()
		p.harmless(t, path)
		p.accessible(t, path)
		p.size(390, 844)
		p.narrow(t, path)
		p.size(1280, 900)
	}
}
