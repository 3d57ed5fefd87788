package e2e_test

import (
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestStatusPage makes a page for everybody, gives it a password, and looks at its badge.
func TestStatusPage(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	docs := s.add("docs", m.URL, "tags", []string{"public"})
	s.add("secret-server", m.URL)
	page := map[string]any{"title": "Our servers", "text": "What agents rely on.", "monitors": []string{"docs"}, "names": map[string]string{"docs": "Documentation"}, "badges": true}
	s.api("editor", http.MethodPut, "/status-pages/ours", page, nil)

	p := s.open(t, "")
	p.visit("/status/ours")
	p.sees("Our servers")
	p.sees("Documentation")
	if ask[bool](p, `document.documentElement.outerHTML.includes("secret-server") || document.documentElement.outerHTML.includes("127.0.0.1")`) {
		t.Error("the page says what it should not")
	}
	p.accessible(t, "/status/ours")
	m.fall(true)
	s.check(docs.ID)
	p.within(4*patience, "the page says that it is down", `document.querySelector(".headline") && !document.querySelector(".headline .state-up") || (setTimeout(() => location.reload(), 300), false)`)

	badge := s.send("", http.MethodGet, "/badge/ours/status.svg", nil)
	if badge.status != http.StatusOK || !strings.HasPrefix(badge.header.Get("Content-Type"), "image/svg+xml") {
		t.Errorf("the badge: %d %s", badge.status, badge.header.Get("Content-Type"))
	}
	for d := xml.NewDecoder(strings.NewReader(badge.body)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Errorf("the badge is no XML: %v", err)
			break
		}
	}

	page["password"] = "open sesame, please"
	s.api("editor", http.MethodPut, "/status-pages/ours", page, nil)
	q := s.open(t, "")
	q.refusal(http.StatusUnauthorized)
	q.refusal(http.StatusForbidden)
	q.refusal(http.StatusNotFound)
	q.refusal(http.StatusUnprocessableEntity)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second) { // pages are kept for a moment
		if got := s.send("", http.MethodGet, "/status/ours", nil); !strings.Contains(got.body, "Documentation") {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("a page that was given a password shows itself without after a minute")
		}
	}
	q.visit("/status/ours")
	q.accessible(t, "/status/ours with a password")
	q.fill("Password", "open barley, please")
	q.enter("\r")
	if ask[bool](q, `document.body.innerText.includes("Documentation")`) {
		t.Error("a page with a password shows itself for a wrong one")
	}
	q.fill("Password", "open sesame, please")
	q.enter("\r")
	q.sees("Documentation")
}
