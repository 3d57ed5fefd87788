package overview_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/server/web"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// down has checks of a monitor fail until that is believed.
func down(w *uitest.World, m *watch.Monitor) {
	for range 3 {
		w.Observe(m, &watch.Observation{Result: watch.Result{Status: "unhealthy", Reason: "connection-refused"}})
	}
}

// after tells whether texts stand in body in this order.
func after(body string, texts ...string) bool {
	at := 0
	for _, text := range texts {
		i := strings.Index(body[at:], text)
		if i < 0 {
			return false
		}
		at += i + len(text)
	}
	return true
}

func TestOverview(t *testing.T) {
	w := uitest.New(t)
	if got := w.Get("viewer", "/"); got.Status != http.StatusOK || !strings.Contains(got.Body, "Nothing is watched yet.") || strings.Contains(got.Body, "/monitors/new") {
		t.Errorf("nothing is there: %d\n%s", got.Status, got.Body)
	}
	if got := w.Get("editor", "/"); !strings.Contains(got.Body, `href="/monitors/new?first=1"`) {
		t.Error("an editor is not led to the first monitor")
	}
	good := w.Monitor("a good one", func(m *watch.Monitor) { m.Definition.Tags = []string{"prod"} })
	changed, gone := w.Monitor("changed"), w.Monitor("gone")
	w.See(good, uitest.Surface(t, "", uitest.Named(3)...))
	w.See(changed, uitest.Surface(t, "", uitest.Named(2)...))
	w.See(changed, uitest.Surface(t, "", append(uitest.Named(2), uitest.Tool{Name: "another", Description: "x"})...))
	down(w, gone)

	got := w.Get("viewer", "/")
	if !after(got.Body, "2 monitors need a person", ">gone</a>", ">changed</a>", "1 other", ">a good one</a>") {
		t.Errorf("the order is another:\n%s", got.Body)
	}
	for _, part := range []string{
		fmt.Sprintf(`<li id="m-%d"`, good.ID), "3 tools", "12 ms", `href="/?tag=prod"`, fmt.Sprintf(`href="/monitors/%d/review"`, changed.ID), "Review 1 change",
		`data-live="/live/overview"`,
	} {
		if !strings.Contains(got.Body, part) {
			t.Errorf("there is no %s", part)
		}
	}
	if strings.Contains(got.Body, `type="checkbox"`) || strings.Contains(got.Body, "/monitors/bulk") {
		t.Error("a viewer may choose monitors")
	}
	for address, want := range map[string]string{
		"/?state=down": "gone", "/?q=GOOD": "a good one", "/?tag=prod": "a good one", "/?state=changed": "changed", "/?state=needs-person&q=chan": "changed",
	} {
		page := w.Get("viewer", address)
		part := w.Get("viewer", address, "HX-Request", "true")
		for _, body := range []string{page.Body, part.Body} {
			if strings.Count(body, `<li id="m-`) != 1 || !strings.Contains(body, ">"+want+"</a>") {
				t.Errorf("%s does not show %s alone", address, want)
			}
		}
		if strings.Contains(part.Body, "<html") || !strings.HasPrefix(strings.TrimSpace(part.Body), `<div id="board"`) {
			t.Errorf("%s as a part is more than that", address)
		}
	}
	if got := w.Get("viewer", "/?q=nothing+like+that"); !strings.Contains(got.Body, "No monitor fits.") {
		t.Error("nothing fits, and the page does not say so")
	}
	if got := w.Get("viewer", "/?state=%3Cscript%3E&q=%22%3E%3Cscript%3E"); strings.Contains(got.Body, "<script>") {
		t.Error("a filter is markup")
	}
}

func TestBulk(t *testing.T) {
	w := uitest.New(t)
	one, two := w.Monitor("one"), w.Monitor("two")
	file := w.Monitor("of the file", func(m *watch.Monitor) { m.Source = watch.FromFile })
	id := func(m *watch.Monitor) string { return fmt.Sprint(m.ID) }
	form := func(do string, ms ...*watch.Monitor) url.Values {
		v := url.Values{"do": {do}, "next": {"/?q=o"}}
		for _, m := range ms {
			v.Add("id", id(m))
		}
		return v
	}
	if got := w.Post("editor", "/monitors/bulk", form("pause", one, two)); got.Status != http.StatusSeeOther || got.Location != "/?q=o&done=paused" {
		t.Fatalf("%d to %q\n%s", got.Status, got.Location, got.Body)
	}
	if got := w.Get("editor", "/?state=paused"); strings.Count(got.Body, `<li id="m-`) != 2 {
		t.Error("two were paused")
	}
	got := w.Post("editor", "/monitors/bulk", form("resume", one, file, two))
	if got.Status != http.StatusSeeOther {
		t.Errorf("nothing of the file was paused: %d", got.Status)
	}
	got = w.Post("editor", "/monitors/bulk", form("pause", one, file))
	if got.Status != http.StatusConflict || !strings.Contains(got.Body, "of the file") || strings.Contains(got.Body, ">one</a>") {
		t.Errorf("one of the file was paused: %d\n%s", got.Status, got.Body)
	}
	if got := w.Get("editor", "/?state=paused"); strings.Count(got.Body, `<li id="m-`) != 1 {
		t.Error("one was paused")
	}
	if got := w.Post("editor", "/monitors/bulk", form("run", two)); got.Location != "/?q=o&done=running" {
		t.Errorf("run: %d to %q", got.Status, got.Location)
	}
	for name, form := range map[string]url.Values{"none": form("pause"), "unknown": form("delete", one)} {
		if got := w.Post("editor", "/monitors/bulk", form); got.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", name, got.Status)
		}
	}
	if got := w.Post("editor", "/monitors/bulk", url.Values{"do": {"run"}, "id": {id(two)}, "next": {"https://evil.example/"}}); got.Status == http.StatusSeeOther && !strings.HasPrefix(got.Location, "/?done") {
		t.Errorf("it leads to %q", got.Location)
	}
	if got := w.Post("viewer", "/monitors/bulk", form("pause", two)); got.Status != http.StatusForbidden {
		t.Errorf("a viewer: %d", got.Status)
	}
}

// event is one that a stream sent.
type event struct{ id, name, data string }

// follow opens a stream and gives what it sends.
func follow(t *testing.T, w *uitest.World, name, path string) (<-chan event, func(), int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: web.SessionCookie, Value: w.Tokens[name]})
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan event, 100)
	go func() {
		defer close(out)
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		var e event
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					out <- e
				}
				e = event{}
			}
		}
	}()
	stop := func() { cancel(); _ = answer.Body.Close() }
	t.Cleanup(stop)
	return out, stop, answer.StatusCode
}

func next(t *testing.T, events <-chan event, name string) event {
	t.Helper()
	for deadline := time.After(10 * time.Second); ; {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before %s", name)
			}
			if e.name == name {
				return e
			}
		case <-deadline:
			t.Fatalf("there is no %s", name)
		}
	}
}

func TestLive(t *testing.T) {
	w := uitest.New(t)
	m, other := w.Monitor("one"), w.Monitor("other")
	page := w.Get("viewer", "/")
	_, mark, _ := strings.Cut(page.Body, `data-mark="`)
	mark, _, _ = strings.Cut(mark, `"`)
	path := fmt.Sprintf("/live/overview?ids=%d&mark=%s", m.ID, mark)
	w.See(m, uitest.Surface(t, "", uitest.Named(3)...)) // after the page, before the stream
	if err := w.Board.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	events, stop, _ := follow(t, w, "viewer", path)
	row := func() string {
		e := next(t, events, "row")
		var part struct{ ID, HTML string }
		if err := json.Unmarshal([]byte(e.data), &part); err != nil || part.ID != fmt.Sprintf("m-%d", m.ID) || e.id == "" {
			t.Fatalf("%v: %+v", err, e)
		}
		return part.HTML
	}
	if got := row(); !strings.Contains(got, "state-up") || !strings.Contains(got, "3 tools") {
		t.Errorf("the row is %s", got)
	}
	next(t, events, "tiles")
	down(w, m)
	for got := ""; !strings.Contains(got, "state-down"); {
		got = row()
	}
	down(w, other) // is not on the page
	next(t, events, "order")
	if err := w.Store.InTx(t.Context(), func(tx *store.Tx) error { return tx.DeleteMonitor(t.Context(), m.ID) }); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events, "gone"); e.data != fmt.Sprintf("m-%d", m.ID) {
		t.Errorf("%+v", e)
	}
	stop()
	// Who comes from another process, or from before a restart, reads the page again.
	events, stop, _ = follow(t, w, "viewer", "/live/overview?mark=other.1.1")
	next(t, events, "reload")
	stop()
}

// TestAlive: who signed out is sent nothing more, which a stream asks once a minute.
func TestAlive(t *testing.T) {
	w := uitest.New(t)
	session, _ := w.Actor("viewer").Session()
	if err := w.People.Alive(t.Context(), session); err != nil {
		t.Error(err)
	}
	if err := w.People.Logout(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := w.People.Alive(t.Context(), session); !errors.Is(err, people.ErrUnauthenticated) {
		t.Errorf("after signing out: %v", err)
	}
	if err := w.People.Alive(t.Context(), nil); !errors.Is(err, people.ErrUnauthenticated) {
		t.Errorf("no session: %v", err)
	}
}

func TestLiveLimits(t *testing.T) {
	w := uitest.New(t)
	status := 0
	for n := 0; n < 20 && status != http.StatusTooManyRequests; n++ {
		_, _, status = follow(t, w, "viewer", "/live/overview")
	}
	if status != http.StatusTooManyRequests {
		t.Error("a session may have any number of streams")
	}
	if _, _, status := follow(t, w, "editor", "/live/overview"); status != http.StatusOK {
		t.Errorf("another session: %d", status)
	}
	if got := w.Get("", "/live/overview"); got.Status != http.StatusUnauthorized {
		t.Errorf("nobody: %d", got.Status)
	}
}
