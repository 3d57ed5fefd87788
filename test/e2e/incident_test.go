package e2e_test

import (
	"testing"
)

// TestIncident is a server that goes down and comes back, and what people do meanwhile.
func TestIncident(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	r := newReceiver(t)
	s := newServer(t, nil)
	s.tells(r)
	docs := s.add("docs", m.URL)
	p := s.open(t, "editor")
	p.visit("/incidents")
	p.sees("Nothing is open that nobody looks after.")
	m.fall(true)
	s.check(docs.ID)
	p.within(3*patience, "the incident appears by itself", `document.querySelector(".incident-row")?.innerText.includes("docs")`)
	r.waitFor(t, "docs", "triggered")
	p.follow("link", "docs is down")
	p.reloaded("who was told", `document.querySelector("table.told")?.innerText.includes("hook")`)

	p.follow("button", "Assign it to me")
	p.until("whose it is", `document.querySelector("main dl.facts").innerText.includes("editor")`)
	p.fill("Comment", "The machine is being moved.")
	p.follow("button", "Only comment")
	p.until("the comment", `document.querySelector(".timeline").innerText.includes("The machine is being moved.")`)
	p.follow("button", "1 hour")
	p.until("the stage", `document.querySelector("main .head").innerText.includes("Snoozed")`)
	p.follow("button", "Acknowledge")
	p.until("the stage", `document.querySelector("main .head").innerText.includes("Acknowledged")`)
	if p.has("button", "Acknowledge") {
		t.Error("an acknowledged incident can be acknowledged")
	}
	r.waitFor(t, "docs", "acknowledged")

	m.fall(false)
	s.check(docs.ID)
	r.waitFor(t, "docs", "resolved")
	p.visit("/incidents?stage=resolved")
	p.follow("link", "docs is down")
	p.until("the stage", `document.querySelector("main .head").innerText.includes("Resolved")`)
	for _, text := range []string{"editor", "The machine is being moved."} {
		p.sees(text)
	}
	p.reloaded("that it is over was told", `document.querySelectorAll("table.told tbody tr").length >= 3`)
}

// TestIncidentByKeys acknowledges an incident without a mouse.
func TestIncidentByKeys(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	docs := s.add("docs", m.URL)
	m.fall(true)
	s.check(docs.ID)
	p := s.open(t, "editor")
	p.visit("/")
	p.tab("link", "Incidents")
	p.enter("\r")
	p.tab("link", "docs is down")
	p.enter("\r")
	p.tab("field", "Comment")
	p.write("On it.")
	p.tab("button", "Acknowledge")
	p.enter("\r")
	p.until("the stage", `document.querySelector("main .head").innerText.includes("Acknowledged")`)
	p.sees("On it.")
}
