package e2e_test

import "testing"

func TestFrame(t *testing.T) {
	m := newMCP(t, tool("search", "Finds."))
	s := newServer(t, nil)
	mon := s.add("docs", m.URL)
	t.Logf("%+v", mon)
	p := s.open(t, "admin")
	p.refusal(404)
	p.visit("/none")
	p.sees("Not done")
	p.follow("link", "Go to the overview")
	p.tab("link", "Incidents")
	p.size(390, 800)
	p.keep()
}
