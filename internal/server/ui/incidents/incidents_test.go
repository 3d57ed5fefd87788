package incidents_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/alert"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// changed is a monitor whose surface changed, and the path of its incident.
func changed(t *testing.T, w *uitest.World) (*watch.Monitor, string) {
	t.Helper()
	m := w.Monitor("search")
	w.See(m, uitest.Surface(t, "", uitest.Named(1)...))
	w.See(m, uitest.Surface(t, "", uitest.Named(2)...))
	return m, fmt.Sprintf("/incidents/%d", only(t, w).ID)
}

func only(t *testing.T, w *uitest.World) watch.Incident {
	t.Helper()
	page, err := w.Ops.Incidents(context.Background(), w.Actor("viewer"), store.IncidentFilter{Axis: watch.Surface})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%d incidents, error %v", len(page.Items), err)
	}
	return page.Items[0]
}

func TestListAndPage(t *testing.T) {
	w := uitest.New(t)
	uitest.Has(t, w.Get("viewer", "/incidents"), "Nothing is open that nobody looks after.")
	m, path := changed(t, w)
	list := w.Get("viewer", "/incidents")
	uitest.Has(t, list, path, "search", "Changed", "nobody was told")
	uitest.HasNot(t, list, "<button data-key=\"a\"", `type="checkbox"`)
	part := w.Get("viewer", "/incidents?stage=open", "HX-Request", "true")
	uitest.Has(t, part, path)
	uitest.HasNot(t, part, "<html")
	page := w.Get("viewer", path)
	uitest.Has(t, page, fmt.Sprintf("/monitors/%d/review", m.ID), "tool_0001", "Nobody is told: there is no policy default.", `<a href="/settings/escalations">`, "Opened")
	uitest.HasNot(t, page, "<textarea", "/snooze", "/assign", "/acknowledge")
	uitest.Has(t, w.Get("editor", path), `formaction="`+path+`/acknowledge"`, path+"/snooze", path+"/assign", `data-key="a"`)
	if a := w.Get("viewer", "/incidents/4711"); a.Status != http.StatusNotFound {
		t.Errorf("an incident that is not there: %d", a.Status)
	}
}

func TestWhatToDo(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("locked")
	for range 2 {
		w.Observe(m, &watch.Observation{Result: watch.Result{Status: "misconfigured", Reason: "auth-required"}})
	}
	path := regexp.MustCompile(`/incidents/\d+`).FindString(w.Get("viewer", "/incidents").Body)
	uitest.Has(t, w.Get("viewer", path), "the server itself may be well", "What to do", watch.ReasonHint("auth-required"))
}

// The link of a notification leads here, by way of signing in.
func TestLinkOfNotification(t *testing.T) {
	w := uitest.New(t)
	_, path := changed(t, w)
	link := alert.Of(&watch.Notification{Incident: only(t, w).ID}, "search", "https://watch.example.com").Link
	if link != "https://watch.example.com"+path {
		t.Fatalf("the link is %s", link)
	}
	if a := w.Get("", path); a.Status != http.StatusSeeOther || a.Location != "/sign-in?next="+url.QueryEscape(path) {
		t.Errorf("signed out: %d to %s", a.Status, a.Location)
	}
}

func TestActs(t *testing.T) {
	w := uitest.New(t)
	_, path := changed(t, w)
	do := func(what string, form url.Values, done string) {
		t.Helper()
		if a := w.Post("editor", path+what, form); a.Status != http.StatusSeeOther || a.Location != path+"?done="+done {
			t.Fatalf("%s: %d to %q\n%s", what, a.Status, a.Location, a.Body)
		}
	}
	do("/comments", url.Values{"comment": {"seen <b>before</b>"}}, "commented")
	uitest.Has(t, w.Get("viewer", path), "editor says:", "seen &lt;b&gt;before&lt;/b&gt;")
	do("/assign", url.Values{"assignee": {"approver"}}, "assigned")
	uitest.Has(t, w.Get("viewer", path), "editor gave it to approver")
	do("/snooze", url.Values{"for": {"1h"}}, "snoozed")
	if i := only(t, w); time.Until(i.SnoozedUntil).Round(time.Minute) != time.Hour {
		t.Errorf("snoozed until %s", i.SnoozedUntil)
	}
	uitest.Has(t, w.Get("viewer", "/incidents?stage=snoozed"), path)
	uitest.HasNot(t, w.Get("viewer", "/incidents"), `href="`+path)
	do("/snooze", url.Values{"for": {"end"}}, "awake")
	do("/snooze", url.Values{"for": {"tomorrow"}, "zone": {"Europe/Berlin"}}, "snoozed")
	do("/snooze", url.Values{"for": {"custom"}, "hours": {"24"}}, "snoozed")
	do("/acknowledge", url.Values{"comment": {"on it"}}, "acknowledged")
	uitest.Has(t, w.Get("viewer", path+"?done=acknowledged"), "on it", "editor looks after it", "Acknowledged. Nobody else is told.")
	uitest.Has(t, w.Get("viewer", "/incidents?stage=acknowledged&assignee=approver"), path)
	uitest.HasNot(t, w.Get("viewer", "/incidents?stage=acknowledged&assignee=editor"), path)
}

func TestRefusals(t *testing.T) {
	w := uitest.New(t)
	_, path := changed(t, w)
	for what, form := range map[string]url.Values{
		"/comments": {"comment": {" "}},
		"/assign":   {"assignee": {"nobody at all"}},
		"/snooze":   {"for": {"custom"}, "hours": {"1000"}},
	} {
		if a := w.Post("editor", path+what, form); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, `role="alert"`) {
			t.Errorf("%s: %d", what, a.Status)
		}
	}
	if a := w.Post("editor", path+"/comments", url.Values{"comment": {strings.Repeat("x", 2001)}}); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Body, "xxx</textarea>") {
		t.Errorf("what was written is gone: %d", a.Status)
	}
}

// What is written in lines is shown in lines, however browsers send them.
func TestLines(t *testing.T) {
	w := uitest.New(t)
	_, path := changed(t, w)
	if a := w.Post("editor", path+"/comments", url.Values{"comment": {"one" + strings.Repeat("\r\n", 1994) + "two"}}); a.Status != http.StatusSeeOther {
		t.Errorf("2000 characters: %d", a.Status)
	}
	a := w.Get("viewer", path)
	uitest.Has(t, a, "one\n\n")
	uitest.HasNot(t, a, "U+000D")
}

func TestBulk(t *testing.T) {
	w := uitest.New(t)
	_, path := changed(t, w)
	if a := w.Post("editor", "/incidents/acknowledge", url.Values{}); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("nothing ticked: %d", a.Status)
	}
	form := url.Values{"id": {fmt.Sprint(only(t, w).ID)}, "back": {"/incidents?stage=open&q=sea"}}
	if a := w.Post("editor", "/incidents/acknowledge", form); a.Status != http.StatusSeeOther || a.Location != "/incidents?stage=open&q=sea&done=acknowledged" {
		t.Errorf("%d to %s", a.Status, a.Location)
	}
	uitest.Has(t, w.Get("viewer", path), "editor looks after it")
	form.Set("back", "https://evil.example/")
	if a := w.Post("editor", "/incidents/acknowledge", form); a.Location != "/incidents/?done=acknowledged" {
		t.Errorf("to %s", a.Location)
	}
}

// What a server says is shown as text alone.
func TestHostileNames(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("search")
	const hostile = "<img src=x onerror=alert(1)>\u202eevil"
	w.See(m, uitest.Surface(t, ""))
	w.See(m, uitest.Surface(t, "", uitest.Tool{Name: hostile}))
	for _, path := range []string{"/incidents", fmt.Sprintf("/incidents/%d", only(t, w).ID)} {
		uitest.HasNot(t, w.Get("viewer", path), "<img src=x", "\u202e")
	}
}

// Ten thousand open incidents are a list like any other.
func TestMany(t *testing.T) {
	w := uitest.New(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	err := w.Store.InTx(context.Background(), func(tx *store.Tx) error {
		var all []watch.Incident
		for n := range 10_000 {
			all = append(all, watch.Incident{
				Monitor: int64(n + 1), Axis: watch.Availability, Key: fmt.Sprint(n), State: watch.Down, Title: "down", OpenedAt: now,
			})
		}
		return tx.SaveIncidents(context.Background(), all)
	})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	a := w.Get("editor", "/incidents")
	if took := time.Since(start); took > 2*time.Second || len(a.Body) > 200<<10 {
		t.Errorf("the list took %s and has %d bytes", took, len(a.Body))
	}
	uitest.Has(t, a, "10000", "Older ones")
}

// What is over is told as what was.
func TestOver(t *testing.T) {
	w := uitest.New(t)
	m, path := changed(t, w)
	uitest.Has(t, w.Get("editor", path), "What is wrong", "The server tells agents something else", "Review what it tells agents")
	w.See(m, uitest.Surface(t, "", uitest.Named(1)...))
	a := w.Get("editor", path)
	uitest.Has(t, a, "Resolved", "What was wrong", "It is over. The server told agents something else")
	uitest.HasNot(t, a, "What is wrong", "The server tells agents something else", "accept it or not", "Review what it tells agents")
}

// That somebody rejected a change is told in words, with the reason.
func TestRejected(t *testing.T) {
	w := uitest.New(t)
	m, path := changed(t, w)
	r := watch.Rejection{Monitor: m.ID, Account: "approver", Reason: "It asks for keys.", CreatedAt: time.Now()}
	event := r.Event(only(t, w).ID, nil)
	err := w.Store.InTx(t.Context(), func(tx *store.Tx) error {
		return tx.InsertEvents(t.Context(), []watch.Event{event})
	})
	if err != nil {
		t.Fatal(err)
	}
	a := w.Get("viewer", path)
	uitest.Has(t, a, "approver does not accept what changed:", "It asks for keys.")
	uitest.HasNot(t, a, watch.EventRejected)
}
