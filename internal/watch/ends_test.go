package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
)

func TestEndsSoon(t *testing.T) {
	const day = 24 * time.Hour
	// A step is a check at a day that sees an end at another one; 0: none is seen.
	type step struct{ day, ends float64 }
	for name, c := range map[string]struct {
		steps []step
		want  int
	}{
		"far away":                 {[]step{{0, 90}, {75, 90}}, 0},
		"not known":                {[]step{{0, 0}}, 0},
		"once":                     {[]step{{75, 90}, {76.5, 90}, {80, 90}, {89, 90}}, 1},
		"over":                     {[]step{{91, 90}, {92, 90}}, 1},
		"renewed":                  {[]step{{80, 90}, {81, 180}, {165, 180}, {167, 180}}, 2},
		"not seen for a while":     {[]step{{80, 90}, {81, 0}, {82, 90}}, 1},
		"two of them in turn":      {[]step{{80, 90}, {81, 180}, {82, 90}, {83, 180}}, 1},
		"renewed every day":        {[]step{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}, 1},
		"still so two weeks later": {[]step{{0, 1}, {13, 14}, {14, 15}, {15, 16}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for event, ends := range map[string]func(*Observation) *time.Time{
				EventCertificateEnds: func(o *Observation) *time.Time { return &o.CertificateEnds },
				EventCredentialEnds:  func(o *Observation) *time.Time { return &o.CredentialEnds },
			} {
				w := newWorld(t)
				for _, s := range c.steps {
					w.now = epoch().Add(time.Duration(s.day * float64(day)))
					o := w.result(probe.StatusHealthy, "")
					if s.ends != 0 {
						*ends(o) = epoch().Add(time.Duration(s.ends * float64(day)))
					}
					w.see(o)
				}
				same(t, event, w.count(event), c.want)
				same(t, "incidents", len(w.open()), 0)
			}
		})
	}
}

func TestEndsSoonSays(t *testing.T) {
	w := newWorld(t)
	soon := func() *Observation {
		o := w.result(probe.StatusHealthy, "")
		o.CertificateEnds, o.CredentialEnds = w.now.Add(48*time.Hour), w.now.Add(-time.Hour)
		return o
	}
	w.see(soon())
	var texts []string
	for _, e := range w.events {
		if e.Name == EventCertificateEnds || e.Name == EventCredentialEnds {
			texts = append(texts, e.Text)
		}
	}
	same(t, "texts", strings.Join(texts, "; "), "the certificate ends on 2026-11-04 08:00 UTC; the credential ended on 2026-11-02 07:00 UTC")

	w.m.Definition.URL = "https://other.example.com/mcp"
	w.tick()
	w.see(soon())
	same(t, "of another server", w.count(EventCertificateEnds), 2)

	w = newWorld(t, func(d *Definition) { d.AuthMode = AuthLogin })
	w.see(soon())
	same(t, "a token of a login", w.count(EventCredentialEnds), 0)
	same(t, "its certificate", w.count(EventCertificateEnds), 1)
}
