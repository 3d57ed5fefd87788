package engine

import (
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/surface"
)

// A server gets no change past its baseline by lists that cannot be read to their end,
// or that clients read in two ways.
func TestUnseenSurface(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		b := newBench(t, s)
		hides := map[string]func(r *probe.Report){
			"one list": func(r *probe.Report) { r.Inventory.Disputed = []surface.Kind{surface.Tool} },
			"every list": func(r *probe.Report) {
				r.Inventory.Disputed = []surface.Kind{surface.Tool, surface.Resource, surface.ResourceTemplate, surface.Prompt}
			},
			"a list without an end": func(r *probe.Report) {
				r.Status, r.Inventory.Tools = probe.StatusUnknown, nil
				r.Checks[2].Status, r.Checks[2].Reason = probe.StatusUnknown, "pagination-limit"
			},
		}
		ids := map[string]int64{}
		for name := range hides {
			ids[name] = b.add(name)
		}
		b.after(time.Minute)
		for name, hide := range hides {
			b.server.says(name, func() *probe.Report {
				r := healthy("search", "exfiltrate")
				hide(r)
				return r
			})
		}
		for range 3 {
			b.after(time.Minute)
		}
		for name, id := range ids {
			if st := b.state(id); st.Surface.State != watch.Inconsistent || st.Surface.Reason != watch.ReasonUnseen {
				t.Errorf("%s: %+v", name, st.Surface)
			}
			if i := b.incidents(id); len(i) != 1 || i[0].Axis != watch.Surface || !i[0].Open() {
				t.Errorf("%s: incidents %+v", name, i)
			}
			b.server.says(name, func() *probe.Report { return healthy("search") })
		}
		b.after(time.Minute)
		for name, id := range ids {
			if st := b.state(id); st.Surface.State != watch.AsApproved {
				t.Errorf("%s, seen again: %+v", name, st.Surface)
			}
		}
	})
}
