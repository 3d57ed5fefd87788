package overview_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/store/storetest"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// many fills a world with monitors that were checked, every twentieth of which is down.
func many(t testing.TB, w *uitest.World, n int) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	ms := storetest.Insert(t, w.Store, n, func(i int, m *watch.Monitor) {
		m.Definition.Tags, m.Definition.Group = []string{"prod", fmt.Sprintf("team-%d", i%40)}, fmt.Sprintf("group-%d", i%10)
		m.CreatedAt, m.UpdatedAt = now, now
	})
	tools := 12
	var states []watch.State
	for i := range ms {
		st := watch.State{Monitor: ms[i].ID}
		status := "healthy"
		if i%20 == 0 {
			status = "unhealthy"
		}
		for range 2 {
			o := &watch.Observation{Result: watch.Result{
				Monitor: ms[i].ID, Slot: now, Started: now, Location: watch.DefaultLocation, Kind: watch.Manual, Status: status, Tools: &tools,
				Timing: watch.Timing{Total: 12},
			}, Revision: 1, Server: "example 1.0.0"}
			st = watch.Decide(&ms[i], st, nil, o, watch.Context{Now: now}).State
		}
		states = append(states, st)
	}
	if err := w.Store.InTx(t.Context(), func(tx *store.Tx) error { return tx.SaveStates(t.Context(), states) }); err != nil {
		t.Fatal(err)
	}
	if err := w.Board.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// ask asks for a page as a browser does, and gives how long it took.
func ask(t testing.TB, w *uitest.World, path string, headers ...string) (took time.Duration, packed int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: w.Tokens["editor"]})
	start := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s: %d, packed as %q, %v", path, answer.StatusCode, answer.Header.Get("Content-Encoding"), err)
	}
	took = time.Since(start)
	unpacked, err := gzip.NewReader(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return took, len(raw), string(text)
}

// TestTenThousand: the overview of 10,000 monitors is sent in parts. How long that takes
// is what BenchmarkOverview measures, and the test in a browser.
func TestTenThousand(t *testing.T) {
	w := uitest.New(t)
	many(t, w, 10_000)
	for _, path := range []string{"/", "/?q=monitor-77", "/?state=down", "/?tag=team-7", "/?offset=5000"} {
		var headers []string
		if strings.Contains(path, "offset") {
			headers = []string{"HX-Request", "true"}
		}
		took, packed, body := ask(t, w, path, headers...)
		rows := strings.Count(body, `<li id="m-`)
		t.Logf("%s: %s, %d rows, %d bytes, %d packed", path, took, rows, len(body), packed)
		if rows == 0 || rows > 200 {
			t.Errorf("%s: %d rows", path, rows)
		}
		if packed > 60_000 {
			t.Errorf("%s takes %d bytes", path, packed)
		}
	}
	if _, _, body := ask(t, w, "/?offset=400", "HX-Request", "true"); !strings.Contains(body, `<li class="part">9500 others</li>`) || strings.Contains(body, "<html") {
		t.Error("a part does not say where it ends who needs a person")
	}
	if _, _, body := ask(t, w, "/?offset=400"); strings.Count(body, `class="part"`) != 2 || !strings.Contains(body, "<html") {
		t.Error("a page that begins later has no parts")
	}
	_, _, body := ask(t, w, "/")
	if !strings.Contains(body, "500 monitors need a person") || !strings.Contains(body, "200 of 10000 are shown.") {
		t.Error("it does not say how many there are")
	}
}

// One operation is the overview of 10,000 monitors, as a browser asks for it.
func BenchmarkOverview(b *testing.B) {
	w := uitest.New(b)
	many(b, w, 10_000)
	for b.Loop() {
		ask(b, w, "/")
	}
}
