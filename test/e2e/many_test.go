package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
)

const many = 10_000

// insertMany puts n monitors of url into a database that were checked a minute ago. They
// are checked once a day: it is the pages that are measured.
func insertMany(t testing.TB, ctx context.Context, s *store.Store, n int, url string) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond).Add(-time.Minute)
	began := time.Now()
	for from := 0; from < n; from += 2000 {
		err := s.InTx(ctx, func(tx *store.Tx) error {
			var states []watch.State
			var results []watch.Result
			for i := from; i < min(from+2000, n); i++ {
				m := watch.Monitor{Source: watch.FromAPI, CreatedAt: now, UpdatedAt: now, Definition: watch.Definition{
					Name: fmt.Sprintf("server-%05d", i), Group: fmt.Sprintf("team %02d", i%40), Tags: []string{"load", []string{"prod", "staging"}[i%2]},
					URL: url, Interval: watch.Duration(24 * time.Hour),
				}}
				m.Definition.Normalize()
				if err := tx.InsertMonitor(ctx, &m); err != nil {
					return err
				}
				st := stateOf(&m, i, now)
				states = append(states, st)
				results = append(results, watch.Result{
					Monitor: m.ID, Location: watch.DefaultLocation, Slot: now, Kind: watch.Scheduled, Started: now,
					Status: "healthy", Tools: st.Tools, Digest: st.Digest, Timing: watch.Timing{Total: 20},
				})
			}
			if err := tx.SaveStates(ctx, states); err != nil {
				return err
			}
			if _, err := tx.InsertResults(ctx, results); err != nil {
				return err
			}
			// The first check of each is half a day away.
			_, err := tx.SQL().ExecContext(ctx, "update schedule set next_due = $1, due = $1", now.Add(12*time.Hour).UnixMilli())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d monitors were inserted in %s", n, time.Since(began).Round(time.Millisecond))
}

// stateOf is how the i-th of many monitors stands: most are well.
func stateOf(m *watch.Monitor, i int, now time.Time) watch.State {
	tools := i%30 + 1
	decided := watch.Decide(m, watch.State{Monitor: m.ID}, nil, &watch.Observation{
		Result:   watch.Result{Monitor: m.ID, Location: watch.DefaultLocation, Kind: watch.Scheduled, Slot: now, Started: now, Status: "healthy"},
		Revision: m.Revision,
	}, watch.Context{Now: now})
	axis := func(state, reason, text string) watch.AxisState {
		return watch.AxisState{State: state, Since: now, Reason: reason, Text: text}
	}
	st := decided.State
	st.Availability, st.Surface, st.Posture = axis("up", "", ""), axis("approved", "", ""), axis("clean", "", "")
	st.Check, st.CheckReason, st.CheckText, st.LastCheck, st.LastUp = "pass", "", "", now, now
	st.Tools, st.Digest, st.DigestAt, st.Timing = &tools, surface.Digest{byte(i), byte(i >> 8), 1}, now, watch.Timing{Total: 20}
	st.Server, st.Protocol, st.Era = "example 1.0.0", "2025-11-25", "legacy"
	switch {
	case i%200 == 7:
		st.Availability, st.Check, st.CheckReason = axis("down", "connection-refused", "nothing listens at this address"), "fail", "connection-refused"
	case i%300 == 11:
		st.Surface, st.OpenChanges = axis("changed", "description", "a description was changed"), 1
	case i%500 == 13:
		st.Posture, st.OpenFindings = axis("flagged", "hidden-instruction", "a description holds instructions"), 2
	}
	return st
}

// median is the middle one.
func median(all []time.Duration) time.Duration {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[len(all)/2]
}

// slack is by how much a machine that also does something else may be slower.
const slack = 4

// frames has the page note how long it takes from one frame to the next, until stop.
func (p *page) frames() (stop func() frameTimes) {
	p.t.Helper()
	ask[bool](p, `(() => {
		const all = window.e2eFrames = [];
		let last = performance.now();
		const next = (now) => { all.push(now - last); last = now; if (window.e2eFrames === all) requestAnimationFrame(next); };
		requestAnimationFrame(next);
		return true;
	})()`)
	return func() frameTimes {
		p.t.Helper()
		return ask[frameTimes](p, `(() => {
			const all = window.e2eFrames.slice(1).sort((a, b) => a - b);
			window.e2eFrames = null;
			const at = (q) => all[Math.min(all.length - 1, Math.floor(all.length * q))] ?? 0;
			return {Count: all.length, Median: at(0.5), P95: at(0.95), Max: at(1)};
		})()`)
	}
}

// frameTimes are milliseconds between frames.
type frameTimes struct {
	Count            int
	Median, P95, Max float64
}

func (f frameTimes) String() string {
	return fmt.Sprintf("%d frames, median %.0f ms, p95 %.0f ms, longest %.0f ms", f.Count, f.Median, f.P95, f.Max)
}

func TestManyMonitors(t *testing.T) {
	m := newMCP(t, tool("search", "Finds."))
	s := newServer(t, func(ctx context.Context, st *store.Store) { insertMany(t, ctx, st, many, m.URL) })
	live := newMCP(t, tool("search", "Finds."))
	own := s.add("aaa-live", live.URL)

	var answers []time.Duration
	var size int
	for i := range 12 {
		began := time.Now()
		got := s.send("viewer", http.MethodGet, "/", nil)
		if got.status != http.StatusOK {
			t.Fatalf("GET /: %d", got.status)
		}
		if size = len(got.body); i >= 2 {
			answers = append(answers, time.Since(began))
		}
	}
	t.Logf("GET / with %d monitors: median %s, longest %s, %d KiB", many+1, median(answers).Round(100*time.Microsecond), slices.Max(answers).Round(100*time.Microsecond), size>>10)
	if got := median(answers); got > slack*100*time.Millisecond {
		t.Errorf("the overview of %d monitors takes %s", many+1, got)
	}

	p := s.open(t, "viewer")
	p.visit("/") // the cache of the browser is warm then, as that of who looks every day
	p.visit("/")
	loaded := ask[struct{ Dom, First, Load float64 }](p, `(() => {
		const n = performance.getEntriesByType("navigation")[0];
		return {Dom: n.domContentLoadedEventEnd, First: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, Load: n.loadEventEnd};
	})()`)
	t.Logf("in the browser: first paint after %.0f ms, usable after %.0f ms, loaded after %.0f ms", loaded.First, loaded.Dom, loaded.Load)
	if loaded.Dom > slack*1000 {
		t.Errorf("the overview is usable after %.0f ms", loaded.Dom)
	}

	p.size(1280, 900)
	stop := p.frames()
	for range 3 {
		call(p, input.SynthesizeScrollGesture, input.SynthesizeScrollGestureParams{X: 600, Y: 500, YDistance: -2500, Speed: 5000})
	}
	scrolled := stop()
	t.Logf("scrolling: %s", scrolled)
	ask[bool](p, `(window.scrollTo(0, 0), true)`)

	stop = p.frames()
	began := time.Now()
	p.press(p.at(overviewFilter), "the filter")
	p.write("server-00123")
	p.until("the one row", fmt.Sprintf(`(() => { const rows = [...document.querySelectorAll(%q)].filter((r) => r.getClientRects().length); return rows.length === 1 && rows[0].innerText.includes("server-00123"); })()`, overviewRow))
	took := time.Since(began)
	typed := stop()
	t.Logf("typing a filter: the row is there after %s; %s", took.Round(time.Millisecond), typed)
	for what, f := range map[string]frameTimes{"scrolling": scrolled, "typing": typed} {
		if f.Max > slack*250 {
			t.Errorf("%s: a frame takes %.0f ms", what, f.Max)
		}
	}
	oneRow(t, s, own, live)
}

// oneRow watches the overview while one monitor of many goes down: its row changes, live,
// and what else is on the page stays.
func oneRow(t *testing.T, s *server, own monitor, live *scripted) {
	p := s.open(t, "viewer")
	p.visit("/?q=aaa-live")
	row := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((r) => r.textContent.includes("aaa-live"))`, overviewRow)
	p.until("the row", row)
	p.visit("/")
	ask[bool](p, `(() => {
		window.e2eSame = true;
		window.e2eTouched = new Set();
		window.e2eNodes = 0;
		new MutationObserver((all) => {
			for (const m of all) {
				const row = m.target.parentElement?.closest(`+quote(overviewRow)+`) ?? m.target.closest?.(`+quote(overviewRow)+`);
				if (m.target.closest?.("time") || m.target.parentElement?.closest("time")) continue;
				if (row) window.e2eTouched.add(row.id || row.innerText.slice(0, 60));
				for (const n of m.addedNodes) {
					if (n.nodeType !== 1) continue;
					window.e2eNodes += 1 + n.querySelectorAll("*").length;
					if (n.matches(`+quote(overviewRow)+`)) window.e2eTouched.add(n.id);
				}
			}
		}).observe(document.querySelector("main"), {subtree: true, childList: true, characterData: true, attributes: true});
		return true;
	})()`)
	live.fall(true)
	s.check(own.ID)
	p.until("the row to say that it is down", row+`?.querySelector(".state-down") && window.e2eSame`)
	got := ask[struct {
		Rows  []string
		Nodes int
	}](p, `({Rows: [...window.e2eTouched], Nodes: window.e2eNodes})`)
	t.Logf("one monitor of %d went down: %d rows were touched, %d elements were added", many+1, len(got.Rows), got.Nodes)
	if len(got.Rows) == 0 || len(got.Rows) > 5 || got.Nodes > 200 {
		t.Errorf("one change touched %d rows (%q) and added %d elements", len(got.Rows), got.Rows, got.Nodes)
	}
}

// TestLastGone: who deletes the last monitor leaves no overview that says one needs a
// person.
func TestLastGone(t *testing.T) {
	m := newMCP(t, tool("search", "Searches."))
	m.fall(true) // so that nothing of it is approved, and it is deleted without a proof
	s := newServer(t, nil)
	docs := s.add("docs", m.URL)
	p := s.open(t, "viewer")
	p.visit("/")
	p.sees("1 monitor needs a person")
	s.api("admin", http.MethodDelete, fmt.Sprintf("/monitors/%d", docs.ID), nil, nil)
	p.sees("Nothing is watched yet.")
	p.until("the heading to be gone", `!document.body.innerText.includes("needs a person")`)
}
