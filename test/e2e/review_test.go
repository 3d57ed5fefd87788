package e2e_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// tells makes a webhook channel to r, and the policy that tells it of everything bad.
func (s *server) tells(r *receiver) {
	s.t.Helper()
	s.api("admin", http.MethodPost, "/channels", map[string]any{"name": "hook", "type": "webhook", "settings": map[string]string{"url": r.URL}}, nil)
	s.api("admin", http.MethodPut, "/escalations/default", map[string]any{
		"on": []string{"down", "changed", "inconsistent", "flagged"}, "steps": []any{map[string]any{"channels": []string{"hook"}}},
	}, nil)
}

// row is a script that finds the row of a monitor on the overview.
func row(m monitor) string { return fmt.Sprintf(`document.getElementById("m-%d")`, m.ID) }

// reviewPath is where what a monitor's server tells agents is decided.
func reviewPath(m monitor) string { return fmt.Sprintf("/monitors/%d/review", m.ID) }

// TestPoison is a description that turns on its readers, from the first sight of it to
// the decision, with a passkey.
func TestPoison(t *testing.T) {
	m := newMCP(t, tool("search", "Searches the documentation."), tool("fetch", "Fetches a page."))
	r := newReceiver(t)
	s := newServer(t, nil)
	s.tells(r)
	docs := s.add("docs", m.URL)
	approver := s.open(t, "approver")
	approver.addPasskey()

	seen := s.open(t, "editor")
	seen.visit("/")
	seen.until("the row", row(docs)+`?.innerText.includes("Approved")`)
	ask[bool](seen, `window.e2eSame = true`)
	m.become(tool("search", poison), tool("fetch", "Fetches a page of the web."))
	if got := s.check(docs.ID); got.Status.Surface.State != "changed" || got.Status.Posture.State != "flagged" {
		t.Fatalf("after the change the monitor is %+v", got.Status)
	}
	seen.until("the row to change without being loaded again", row(docs)+`?.innerText.includes("Changed") && `+row(docs)+`.innerText.includes("Flagged") && window.e2eSame`)
	seen.until("the row to come to the head of the list", `document.querySelector("li.monitor") === `+row(docs))
	r.waitFor(t, "docs", "changed")
	seen.visit("/incidents")
	seen.follow("link", "docs tells agents something else")
	seen.follow("link", "Review what it tells agents")
	seen.sees("You see everything and decide nothing")

	p := approver
	p.visit(reviewPath(docs))
	p.until("what was put in is marked, word by word", `[...document.querySelectorAll("article.change ins")].some((e) => e.innerText.includes("id_rsa"))`)
	p.until("the hidden character is visible", `[...document.querySelectorAll("article.change .hidden-character")].some((e) => e.title.includes("RIGHT-TO-LEFT OVERRIDE") && e.innerText.includes("U+202E") && e.getClientRects().length)`)
	p.until("the finding is marked", `document.querySelectorAll("article.change .finding").length > 0 && document.querySelector("article.change mark")`)

	// The harmless item first: the other one goes on failing.
	p.press(p.at(cardOf(p, "fetch")+" input[name=item]"), "the box of fetch")
	p.fill("Reason", "The description is more precise.")
	p.follow("button", "Use a passkey", "#decide section.decide")
	p.sees("Accepted.")
	if got := s.look(docs.ID); got.Status.Surface.State != "changed" {
		t.Errorf("after one of two items was accepted the surface is %s", got.Status.Surface.State)
	}
	if cards := ask[[]string](p, `[...document.querySelectorAll("article.change h3")].map((h) => h.innerText)`); len(cards) != 1 || !strings.Contains(cards[0], "search") {
		t.Errorf("what is left to decide is %q", cards)
	}

	// Then the other one, with what was found in it.
	p.press(p.at(cardOf(p, "search")+" input[name=item]"), "the box of search")
	for i := range ask[int](p, `document.querySelectorAll("input[name=finding]").length`) {
		object := p.at(fmt.Sprintf("article.change ol.findings > li:nth-child(%d) input[name=finding]", i+1))
		p.press(object, "the box of a finding")
	}
	p.fill("Reason", "This is a test of ours.")
	p.follow("button", "Use a passkey", "#decide section.decide")
	p.sees("Accepted.")
	if got := s.check(docs.ID); got.Status.Surface.State != "approved" || got.Status.Posture.State != "clean" {
		t.Errorf("after all of it was accepted the monitor is %+v", got.Status)
	}
	seen.visit(fmt.Sprintf("/monitors/%d/timeline", docs.ID))
	seen.sees("This is a test of ours.")
}

// cardOf is the selector of the card of an item.
func cardOf(p *page, name string) string {
	p.t.Helper()
	p.until("the card of "+name, fmt.Sprintf(`[...document.querySelectorAll("article.change")].some((c) => c.querySelector("h3").innerText.includes(%s))`, quote(name)))
	id := ask[string](p, fmt.Sprintf(`[...document.querySelectorAll("article.change")].find((c) => c.querySelector("h3").innerText.includes(%s)).id`, quote(name)))
	return "[id=" + quote(id) + "]"
}

// TestCodeAndStale accepts with password and code, by the keyboard alone, after the
// server has changed once more between what was shown and what was sent.
func TestCodeAndStale(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	docs := s.add("docs", m.URL)
	p := s.open(t, "approver")
	phone := p.addApp()

	m.become(tool("search", "Searches the manual."))
	s.check(docs.ID)
	p.visit(reviewPath(docs))
	m.become(tool("search", poison))
	s.check(docs.ID)
	p.refusal(http.StatusConflict)
	accept := func(reason string) {
		t.Helper()
		p.tab("radio", "What is ticked")
		p.keys(kb.ArrowDown) // everything
		p.tab("field", "Reason")
		p.write(reason)
		p.tab("field", "Your password")
		p.write(password)
		p.tab("field", "Code of your app")
		p.write(phone.code(t))
		p.tab("button", "Accept")
		p.enter(kb.Enter)
	}
	accept("The manual was moved.")
	p.sees("Nothing was stored")
	if got := s.look(docs.ID); got.Status.Surface.State != "changed" {
		t.Fatalf("what was never shown was accepted: the surface is %s", got.Status.Surface.State)
	}
	p.until("what is shown now", `document.querySelector("article.change").innerText.includes("id_rsa")`)
	m.become(tool("search", "Searches the manual."))
	s.check(docs.ID)
	p.visit(reviewPath(docs))
	accept("The manual was moved.")
	p.sees("Accepted.")
	if got := s.check(docs.ID); got.Status.Surface.State != "approved" {
		t.Errorf("after it was accepted the surface is %s", got.Status.Surface.State)
	}
}

// TestMayNotAccept: an editor, an API key and who has no second factor accept nothing.
func TestMayNotAccept(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	docs := s.add("docs", m.URL)
	m.become(tool("search", poison))
	digest := s.check(docs.ID).Status.Digest

	p := s.open(t, "editor")
	p.visit(reviewPath(docs))
	p.until("the change", `document.querySelector("article.change")`)
	if n := ask[int](p, `document.querySelectorAll("main button[formaction], main form[method=post], main input[type=checkbox], main .proof").length`); n > 0 {
		t.Errorf("an editor is shown %d things to decide with", n)
	}
	form := url.Values{"digest": {digest}, "what": {"all"}, "reason": {"x"}, "proof_password": {password}}.Encode()
	for _, path := range []string{"", "/reject", "/withdraw", "/second"} {
		if got := s.send("editor", http.MethodPost, reviewPath(docs)+path, form); got.status != http.StatusForbidden {
			t.Errorf("POST %s%s as an editor: %d", reviewPath(docs), path, got.status)
		}
	}
	var key struct{ Key string }
	s.api("admin", http.MethodPost, "/keys", map[string]any{"name": "ci", "role": "admin", "password": password}, &key)
	in := map[string]any{"digest": digest, "all": true, "reason": "x", "password": password}
	if got := s.send("Bearer "+key.Key, http.MethodPost, fmt.Sprintf("/api/v1/monitors/%d/approvals", docs.ID), in); got.status != http.StatusForbidden || !strings.Contains(got.body, "proof-required") {
		t.Errorf("accepting with an API key: %d %s", got.status, got.body)
	}
	if got := s.send("Bearer "+key.Key, http.MethodPost, reviewPath(docs), form); got.status == http.StatusOK || got.status == http.StatusSeeOther && !strings.HasPrefix(got.location, "/sign-in") {
		t.Errorf("accepting on the page with an API key: %d %s", got.status, got.location)
	}

	q := s.open(t, "approver")
	q.refusal(http.StatusForbidden)
	q.visit(reviewPath(docs))
	q.click("radio", "Everything")
	q.fill("Reason", "x")
	q.fill("Your password", password, "#decide section.decide")
	q.follow("button", "Accept", "#decide section.decide")
	q.sees("second factor")
	if got := s.look(docs.ID); got.Status.Surface.State != "changed" || got.Status.Posture.State != "flagged" {
		t.Errorf("the monitor is %+v", got.Status)
	}
}
