package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var printed = regexp.MustCompile(`http://localhost:\d+/setup\?token=\S+`)

// TestFirstRun is a person with nothing but the address that the program printed: the
// first account, the first server with its first check, what it tells agents, and where
// alerts go. Then the configuration of a client is dropped onto the page.
func TestFirstRun(t *testing.T) {
	m := newMCP(t, tool("search", "Searches the documentation."), tool("fetch", "Fetches a page."))
	other := newMCP(t, tool("build", "Builds."))
	s := start(t, t.TempDir(), freePort(t))
	address := printed.FindString(s.output.String())
	if address == "" {
		t.Fatalf("no address was printed:\n%s", s.output)
	}
	p := blank(t, s.url)
	p.visit(strings.TrimPrefix(address, s.url))
	p.accessible(t, "/setup")
	p.fill("Name", "ann")
	p.fill("Password", password)
	p.fill("The same password again", password)
	p.follow("button", "Make the account")

	p.fill("Addresses, one a line", m.URL)
	p.follow("button", "See what would be watched")
	p.fill("Name of server 1", "docs")
	p.accessible(t, "what would be watched")
	p.follow("button", "Watch those that are chosen")
	p.until("the first check, live", `document.querySelector("section.first").innerText.includes("It has 2 tools.") && document.querySelector("section.first .state-up")`)
	p.sees("nobody is told")
	p.accessible(t, "the first check")
	p.mark()
	p.click("link", "See what it tells agents")
	p.arrived("what it tells agents")
	p.sees("Searches the documentation.")

	r := newReceiver(t)
	p.visit("/settings/channels/new?type=webhook")
	p.fill("Name", "hook")
	p.fill("Address", r.URL)
	p.follow("button", "Save")
	p.click("button", "Send a test")
	p.sees("The receiver took the test message.")
	r.waitFor(t, "test")

	file := filepath.Join(t.TempDir(), "mcp.json")
	config := fmt.Sprintf(`{"mcpServers": {"builder": {"url": %q, "headers": {"Authorization": "Bearer of nobody"}}, "local": {"command": "npx", "args": ["-y", "some-server"]}}}`, other.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p.visit("/monitors/new?first=1")
	p.mark()
	p.drop("h1", file)
	p.arrived("what the file holds")
	p.until("the name from the file", `[...document.querySelectorAll("main input")].some((e) => e.value === "builder")`)
	p.sees("started by a command")
	if ask[bool](p, `document.documentElement.outerHTML.includes("Bearer of nobody")`) {
		t.Error("the page holds the secret of the file")
	}
	p.follow("button", "Watch those that are chosen")
	p.until("the first check", `document.querySelector("section.first .state-up")`)
	if got := sent(other, "Authorization"); got != "Bearer of nobody" {
		t.Errorf("the server was sent %q in place of the header of the file", got)
	}
}

// sent is what a header of the last request that had it was. Servers are asked without a
// credential, too.
func sent(m *scripted, header string) string {
	value := ""
	for _, r := range m.Received("initialize") {
		if got := r.Header.Get(header); got != "" {
			value = got
		}
	}
	return value
}

// TestMonitorForm makes a monitor by the form, with a header; a blank value keeps it.
func TestMonitorForm(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	p := s.open(t, "editor")
	p.refusal(http.StatusUnprocessableEntity)
	p.visit("/monitors/new")
	p.fill("Address of the MCP server", m.URL)
	p.fill("Name", "docs")
	p.choose("How to get in", "header")
	p.fill("Name of header 1", "X-Api-Key")
	p.fill("Value of header 1", "the first secret")
	p.follow("button", "Watch it")
	p.until("the first check", `document.querySelector("main .state-up")`)
	if got := sent(m, "X-Api-Key"); got != "the first secret" {
		t.Errorf("the server was sent %q", got)
	}
	var list struct{ Items []monitor }
	s.api("admin", http.MethodGet, "/monitors", nil, &list)
	docs := list.Items[0]
	p.visit(fmt.Sprintf("/monitors/%d/edit", docs.ID))
	if ask[bool](p, `document.documentElement.outerHTML.includes("the first secret")`) {
		t.Error("the form holds the secret")
	}
	p.unfold("Group, tags and dependencies")
	p.fill("Group", "platform")
	p.follow("button", "Save")
	p.sees("Saved.")
	m.Reset()
	s.check(docs.ID)
	if got := sent(m, "X-Api-Key"); got != "the first secret" {
		t.Errorf("after an edit that left the value blank the server is sent %q", got)
	}
}

// TestMonitorByKeys adds a monitor without a mouse, from the sign-in on.
func TestMonitorByKeys(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	s := newServer(t, nil)
	p := s.open(t, "")
	p.visit("/")
	p.tab("field", "Name")
	p.write("editor")
	p.tab("field", "Password")
	p.write(password)
	p.enter("\r")
	p.tab("link", "New monitor")
	p.enter("\r")
	p.tab("field", "Address of the MCP server")
	p.write(m.URL)
	p.tab("field", "Name")
	p.write("docs")
	p.tab("button", "Watch it")
	p.enter("\r")
	p.until("the first check", `document.querySelector("main .state-up")`)
}
