package engine

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

// realChecks makes checks real.
func realChecks(o *Options) { o.Check = nil }

func TestRealServer(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite), realChecks)
	srv := fakemcp.New(t, fakemcp.Config{Era: fakemcp.Modern})
	id := b.add("real", func(d *watch.Definition) { d.URL, d.ExpectedTools = srv.URL, []string{"search", "nowhere"} })
	b.after(time.Minute)
	b.after(time.Minute)
	st := b.state(id)
	if st.Availability.Reason != "required-missing" || !slices.Equal(st.MissingTools, []string{"nowhere"}) {
		t.Errorf("a tool is missing: %+v", st)
	}
	b.tx(func(tx *store.Tx) error {
		m, err := tx.Monitor(t.Context(), id)
		if err != nil {
			return err
		}
		m.Definition.ExpectedTools = []string{"search"}
		m.Revision++
		return tx.UpdateMonitor(t.Context(), m, m.Revision-1)
	})
	for range 65 { // past the hour after which the login is looked at again
		b.after(time.Minute)
	}
	if st = b.state(id); st.Availability.State != watch.Up || st.Surface.State != watch.AsApproved || st.Protocol != "2026-07-28" {
		t.Errorf("state: %+v", st)
	}
	if events := b.events(id); slices.Contains(events, "monitor_flapping") || slices.Contains(events, "mcp_auth_metadata_changed") {
		t.Errorf("events: %q", events)
	}
	if n := b.Metrics().Listings; n != 0 {
		t.Errorf("%d fresh listings of a server that never changed", n)
	}
	b.view(func(tx *store.Tx) error {
		reports, err := tx.Reports(t.Context(), id)
		if len(reports) != 1 || len(reports[0].Report) == 0 {
			t.Errorf("reports: %+v", reports)
		}
		return err
	})
	b.clock.add(time.Second)
	asked := b.clock.now()
	b.tx(func(tx *store.Tx) error { return tx.RunNow(t.Context(), id, asked) })
	b.tick()
	if !slices.ContainsFunc(b.results(id), func(r watch.Result) bool {
		return r.Kind == watch.Manual && r.Status == "healthy" && r.Slot.Equal(asked)
	}) {
		t.Errorf("nothing ran when it was asked for: %+v", b.results(id))
	}
	ctx := t.Context()
	report, err := b.CheckLive(ctx, id)
	if err != nil || report.Status != probe.StatusHealthy {
		t.Errorf("live: %v, %v", report, err)
	}
	if err := b.Ready(ctx); err != nil {
		t.Errorf("ready: %v", err)
	}
}

func TestPolicyRefusesPrivateAddresses(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite), realChecks, func(o *Options) { o.Policy = &netguard.Policy{Allow: []netip.Prefix{}} })
	srv := fakemcp.New(t, fakemcp.Config{})
	id := b.add("real", func(d *watch.Definition) { d.URL = srv.URL })
	b.after(time.Minute)
	b.after(time.Minute)
	if st := b.state(id); st.Availability.State != watch.Misconfigured || st.Availability.Reason != netguard.ReasonAddressNotAllowed {
		t.Errorf("state: %+v", st.Availability)
	}
	if n := srv.Count("server/discover") + srv.Count("initialize"); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestMemoryOfTheLogin(t *testing.T) {
	var m memory
	now := time.Unix(1_000_000, 0)
	look := func(found *surface.AuthMetadata) *surface.AuthMetadata {
		inv := &probe.Inventory{}
		looked := m.loginDue(now)
		if looked {
			inv.Auth = found
		}
		m.recall(inv, looked, now)
		return inv.Auth
	}
	first, second := &surface.AuthMetadata{Issuer: []byte(`{"a":1}`)}, &surface.AuthMetadata{Issuer: []byte(`{"a":2}`)}
	for _, step := range []struct {
		name  string
		after time.Duration
		found *surface.AuthMetadata
		want  *surface.AuthMetadata
	}{
		{"the first look", 0, first, first},
		{"a check that does not look", time.Minute, second, first},
		{"an hour later it looks", time.Hour, second, second},
		{"a look that fails", 61 * time.Minute, nil, second},
		{"it does not look again at once", time.Minute, first, second},
		{"it looks again soon", 5 * time.Minute, first, first},
		{"a look that fails again", time.Hour, nil, first},
		{"what is too old counts no more", 61 * time.Minute, nil, nil},
	} {
		now = now.Add(step.after)
		if got := look(step.found); got != step.want {
			t.Errorf("%s: %v", step.name, got)
		}
	}
}
