package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func TestTendIncident(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		id := w.monitor("search", nil)
		w.observe(id, tools(map[string]string{"find": "a"}))
		w.observe(id, tools(map[string]string{"find": "b"}))
		viewer, editor := w.credentials["key viewer"], w.credentials["session editor"]
		var page ops.Page[watch.Incident]
		w.request("GET", "/incidents?stage=open&text=SEAR", viewer, nil, http.StatusOK, &page)
		if len(page.Items) != 1 {
			t.Fatalf("incidents: %+v", page.Items)
		}
		address := path("/incidents/%d", page.Items[0].ID)
		var i watch.Incident
		w.request("POST", address+"/assign", editor, map[string]any{"assignee": "editor"}, http.StatusOK, &i)
		if i.Assignee != "editor" {
			t.Errorf("assigned: %+v", i)
		}
		w.problem("POST", address+"/assign", editor, map[string]any{"assignee": "nobody"}, http.StatusUnprocessableEntity, "invalid")
		w.problem("POST", address+"/comments", editor, map[string]any{"comment": "  "}, http.StatusUnprocessableEntity, "invalid")
		w.request("POST", address+"/comments", editor, map[string]any{"comment": "looks odd"}, http.StatusOK, nil)
		w.problem("POST", address+"/snooze", editor, map[string]any{"until": w.now().Add(8 * 24 * time.Hour)}, http.StatusUnprocessableEntity, "invalid")
		w.problem("POST", address+"/snooze", viewer, map[string]any{"until": w.now().Add(time.Hour)}, http.StatusForbidden, "forbidden")
		w.request("POST", address+"/snooze", editor, map[string]any{"until": w.now().Add(time.Hour)}, http.StatusOK, &i)
		w.request("GET", "/incidents?stage=snoozed&assignee=editor", viewer, nil, http.StatusOK, &page)
		if len(page.Items) != 1 || i.SnoozedBy != "user:editor" {
			t.Errorf("snoozed: %+v, %+v", page.Items, i)
		}
		var audit ops.Page[map[string]any]
		w.request("GET", "/audit?action=incident.snoozed", w.credentials["key admin"], nil, http.StatusOK, &audit)
		if len(audit.Items) != 1 {
			t.Errorf("audit: %+v", audit.Items)
		}
		w.request("POST", address+"/snooze", editor, map[string]any{}, http.StatusOK, &i)
		if !i.SnoozedUntil.IsZero() {
			t.Errorf("still snoozed: %+v", i)
		}
		w.request("POST", address+"/acknowledge", editor, nil, http.StatusOK, nil)
		w.problem("POST", address+"/snooze", editor, map[string]any{"until": w.now().Add(time.Hour)}, http.StatusConflict, "conflict")
		var events ops.Page[watch.Event]
		w.request("GET", "/events?name=incident_commented", viewer, nil, http.StatusOK, &events)
		if len(events.Items) != 1 || events.Items[0].Data.Comment != "looks odd" || events.Items[0].Data.Incident != i.ID {
			t.Errorf("events: %+v", events.Items)
		}
	})
}

func TestStatusPages(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		editor, viewer := w.credentials["key editor"], w.credentials["key viewer"]
		in := map[string]any{"title": "Payments", "groups": []string{"payments"}, "password": "a page of our own"}
		w.problem("PUT", "/status-pages/payments", viewer, in, http.StatusForbidden, "forbidden")
		w.problem("PUT", "/status-pages/Pay%20ments", editor, in, http.StatusUnprocessableEntity, "invalid")
		w.problem("PUT", "/status-pages/payments", editor, with(in, "password", "short"), http.StatusUnprocessableEntity, "invalid")
		w.problem("PUT", "/status-pages/payments", editor, with(in, "groups", []string{}), http.StatusUnprocessableEntity, "invalid")
		var page watch.StatusPage
		w.request("PUT", "/status-pages/payments", editor, in, http.StatusCreated, &page)
		if !page.Protected || page.Slug != "payments" {
			t.Errorf("made: %+v", page)
		}
		without := map[string]any{"title": "Paying", "groups": []string{"payments"}}
		w.request("PUT", "/status-pages/payments", editor, without, http.StatusOK, &page)
		if !page.Protected || page.Title != "Paying" {
			t.Errorf("the password is gone: %+v", page)
		}
		w.request("PUT", "/status-pages/payments", editor, with(without, "password", ""), http.StatusOK, &page)
		if page.Protected {
			t.Errorf("the password stays: %+v", page)
		}
		var all ops.Page[watch.StatusPage]
		w.request("GET", "/status-pages", viewer, nil, http.StatusOK, &all)
		if len(all.Items) != 1 {
			t.Errorf("pages: %+v", all.Items)
		}
		w.request("DELETE", "/status-pages/payments", editor, nil, http.StatusNoContent, nil)
		w.problem("GET", "/status-pages/payments", viewer, nil, http.StatusNotFound, "not-found")
	})
}
