package api_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const signing = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

func TestChannels(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		admin := w.credentials["key admin"]
		in := map[string]any{"name": "pager", "type": "webhook", "settings": map[string]any{"url": "https://hooks.example.com/s3cret-path", "secret": signing}}
		var c watch.Channel
		a := w.request("POST", "/channels", admin, in, http.StatusCreated, &c)
		got := w.request("GET", path("/channels/%d", c.ID), w.credentials["key viewer"], nil, http.StatusOK, nil)
		for _, body := range []string{string(a.body), string(got.body)} {
			if strings.Contains(body, "s3cret") || strings.Contains(body, "whsec") {
				t.Errorf("settings are given out: %s", body)
			}
		}
		w.problem("POST", "/channels", admin, in, http.StatusConflict, "exists")
		p := w.problem("POST", "/channels", admin, map[string]any{"name": "x", "type": "webhook", "settings": map[string]any{}}, http.StatusUnprocessableEntity, "invalid")
		if !slices.Contains(locations(p), "body.settings.url") {
			t.Errorf("a channel without its URL: %+v", p.Errors)
		}
		// A secret that is left out stays.
		in["settings"] = map[string]any{"url": "https://hooks.example.com/other"}
		w.request("PUT", path("/channels/%d", c.ID), admin, in, http.StatusOK, nil)
		err := w.store.View(context.Background(), func(t *store.Tx) error {
			stored, err := t.Channel(context.Background(), c.ID)
			if err == nil && (stored.Settings["secret"] != signing || stored.Settings["url"] != "https://hooks.example.com/other") {
				err = errors.New("not so")
			}
			return err
		})
		if err != nil {
			t.Errorf("stored settings: %v", err)
		}

		w.request("POST", path("/channels/%d/test", c.ID), admin, nil, http.StatusOK, nil)
		w.engine.fail = errors.New("connection refused")
		w.problem("POST", path("/channels/%d/test", c.ID), admin, nil, http.StatusUnprocessableEntity, "undeliverable")
		if !slices.Equal(w.engine.tested, []string{"pager", "pager"}) {
			t.Errorf("tested: %v", w.engine.tested)
		}

		policy := map[string]any{"steps": []any{map[string]any{"channels": []string{"pager"}}}} // at once
		w.problem("PUT", "/escalations/on-call", admin, map[string]any{"steps": []any{map[string]any{"delay": "0s", "channels": []string{"nobody"}}}}, http.StatusUnprocessableEntity, "invalid")
		w.request("PUT", "/escalations/on-call", admin, policy, http.StatusOK, nil)
		w.problem("DELETE", path("/channels/%d", c.ID), admin, nil, http.StatusConflict, "in-use")
		w.monitor("search", map[string]any{"escalation": "on-call"})
		w.problem("DELETE", "/escalations/on-call", admin, nil, http.StatusConflict, "in-use")
		exported := w.request("GET", "/export", admin, nil, http.StatusOK, nil)
		if text := string(exported.body); !strings.Contains(text, "https://search.example.com/mcp") || !strings.Contains(text, "pager") || strings.Contains(text, "whsec") {
			t.Errorf("exported:\n%s", text)
		}
		var audit ops.Page[struct{ Actor, Action, Object string }]
		w.request("GET", "/audit?action=channel.put", admin, nil, http.StatusOK, &audit)
		if len(audit.Items) != 2 || audit.Items[0].Actor != "key:k-admin" || audit.Items[0].Object != "channel:pager" {
			t.Errorf("audit: %+v", audit.Items)
		}
	})
}

func TestFileOwnedIsReadOnly(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	d := watch.Definition{Name: "filed", URL: "https://filed.example.com/mcp"}
	d.Normalize()
	err := w.store.InTx(context.Background(), func(t *store.Tx) error {
		_, err := t.ReplaceFile(context.Background(), store.FileContent{
			Name: "mcpvigil.yaml", Monitors: []watch.Monitor{{Definition: d}},
			Channels: []watch.Channel{{Name: "pager", Type: "webhook", Settings: map[string]string{"url": "https://hooks.example.com/x"}}},
			Windows:  []watch.Window{{Name: "nightly", Kind: watch.Maintenance, Start: w.now(), End: w.now().Add(time.Hour)}},
		}, w.now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	admin := w.credentials["session admin"]
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", "/monitors/1", map[string]any{"tags": []string{"x"}}},
		{"DELETE", "/monitors/1", nil},
		{"POST", "/monitors/1/pause", nil},
		{"PUT", "/channels/1", map[string]any{"name": "pager", "type": "webhook", "settings": map[string]any{"url": "https://hooks.example.com/y"}}},
		{"DELETE", "/channels/1", nil},
		{"PUT", "/windows/1", map[string]any{"name": "nightly", "kind": "maintenance", "start": w.now(), "end": w.now().Add(time.Hour)}},
		{"DELETE", "/windows/1", nil},
	} {
		if p := w.problem(c.method, c.path, admin, c.body, http.StatusConflict, "file-owned"); !strings.Contains(p.Hint, "file") {
			t.Errorf("%s %s: hint %q", c.method, c.path, p.Hint)
		}
	}
}

func TestWindows(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	editor := w.credentials["key editor"]
	in := map[string]any{"name": "upgrade", "kind": "maintenance", "start": w.now(), "end": w.now().Add(time.Hour)}
	var made watch.Window
	w.request("POST", "/windows", editor, in, http.StatusCreated, &made)
	w.problem("POST", "/windows", editor, with(in, "end", w.now().Add(-time.Hour)), http.StatusUnprocessableEntity, "invalid")
	w.problem("POST", "/windows", editor, with(with(in, "name", "other"), "monitors", []string{"nobody"}), http.StatusUnprocessableEntity, "invalid")
	expected := with(with(in, "name", "release"), "kind", "expected-change")
	w.problem("POST", "/windows", editor, with(expected, "password", password), http.StatusForbidden, "proof-required")
	w.request("POST", "/windows", w.credentials["session approver"], with(expected, "password", password), http.StatusCreated, nil)
	w.request("DELETE", path("/windows/%d", made.ID), editor, nil, http.StatusNoContent, nil)
}

func TestAcknowledge(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		id := w.monitor("search", nil)
		w.observe(id, tools(map[string]string{"find": "a"}))
		w.observe(id, tools(map[string]string{"find": "b"}))
		var page ops.Page[watch.Incident]
		w.request("GET", path("/incidents?monitor=%d&open=true", id), w.credentials["key viewer"], nil, http.StatusOK, &page)
		if len(page.Items) != 1 || page.Items[0].Axis != watch.Surface {
			t.Fatalf("incidents: %+v", page.Items)
		}
		var i watch.Incident
		address := path("/incidents/%d/acknowledge", page.Items[0].ID)
		w.problem("POST", address, w.credentials["key viewer"], nil, http.StatusForbidden, "forbidden")
		for range 2 {
			w.request("POST", address, w.credentials["session editor"], map[string]any{"comment": "on it"}, http.StatusOK, &i)
		}
		if i.AcknowledgedBy != "user:editor" || i.AcknowledgedAt.IsZero() {
			t.Errorf("incident: %+v", i)
		}
		var events ops.Page[watch.Event]
		w.request("GET", "/events?name=incident_acknowledged", w.credentials["key viewer"], nil, http.StatusOK, &events)
		if len(events.Items) != 1 || events.Items[0].Data.Comment != "on it" || events.Items[0].Actor != "user:editor" {
			t.Errorf("events: %+v", events.Items)
		}
	})
}
