package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func (w *world) storedHeaders(id int64) (out map[string]string) {
	w.t.Helper()
	err := w.store.View(context.Background(), func(t *store.Tx) (err error) {
		out, err = t.Headers(context.Background(), id)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestMonitorLifecycle(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		key := w.credentials["key editor"]
		var m ops.Monitor
		w.request("POST", "/monitors", key, map[string]any{
			"name": "search", "url": "https://search.example.com/mcp", "auth_mode": "header", "tags": []string{"prod"},
			"headers":        []map[string]string{{"name": "Authorization", "value": "Bearer s3cret-value"}},
			"expected_tools": []string{"find"}, "max_tools": 40, "interval": "1m",
		}, http.StatusCreated, &m)
		if m.ID == 0 || m.Interval != watch.Duration(time.Minute) || m.Transport != "streamable-http" || m.DriftPolicy != "alert" {
			t.Errorf("a new monitor is %+v", m)
		}
		if m.Status.Availability.State != "unknown" || m.Status.Healthy {
			t.Errorf("a monitor that was never checked is %+v", m.Status)
		}
		address := path("/monitors/%d", m.ID)
		got := w.request("GET", address, key, nil, http.StatusOK, nil)
		if strings.Contains(string(got.body), "s3cret") {
			t.Errorf("the value of a header was given out: %s", got.body)
		}
		if len(m.Headers) != 1 || m.Headers[0].Name != "Authorization" || m.Headers[0].Value != "" {
			t.Errorf("headers are %+v", m.Headers)
		}
		p := w.problem("POST", "/monitors", key, map[string]any{"name": "search", "url": "https://other.example.com/mcp"}, http.StatusConflict, "exists")
		if len(p.Errors) != 1 || p.Errors[0].Location != "body.name" {
			t.Errorf("errors of a taken name: %+v", p.Errors)
		}

		// A blank value keeps the secret, a new header needs one, leaving the mode deletes them.
		edit := map[string]any{"headers": []map[string]string{{"name": "Authorization"}}, "revision": m.Revision}
		w.request("PATCH", address, key, edit, http.StatusOK, &m)
		if diff := cmp.Diff(map[string]string{"Authorization": "Bearer s3cret-value"}, w.storedHeaders(m.ID)); diff != "" {
			t.Errorf("a blank value changed what is stored (-want +got):\n%s", diff)
		}
		w.problem("PATCH", address, key, map[string]any{"headers": []map[string]string{{"name": "X-Other"}}}, http.StatusUnprocessableEntity, "invalid")
		// Nor is a secret sent to another host than the one that it was given for.
		elsewhere := map[string]any{"url": "https://evil.example.com/mcp"}
		p = w.problem("PATCH", address, key, elsewhere, http.StatusUnprocessableEntity, "invalid")
		if !slices.Contains(locations(p), "body.headers[0].value") {
			t.Errorf("another host: %+v", p.Errors)
		}
		w.request("PATCH", address, key, map[string]any{"url": "https://search.example.com/v2/mcp"}, http.StatusOK, &m)
		before := m.Revision
		w.request("PATCH", address, key, map[string]any{"tags": []string{"prod", "search"}, "revision": before}, http.StatusOK, &m)
		w.problem("PATCH", address, key, map[string]any{"tags": []string{}, "revision": before}, http.StatusConflict, "conflict")
		w.request("PATCH", address, key, map[string]any{"auth_mode": "none"}, http.StatusOK, &m)
		if len(m.Headers) != 0 || len(w.storedHeaders(m.ID)) != 0 {
			t.Errorf("after leaving the mode the headers are %v, stored %v", m.Headers, w.storedHeaders(m.ID))
		}
		if diff := cmp.Diff([]string{"prod", "search"}, m.Tags); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}

		w.request("POST", address+"/run", key, nil, http.StatusAccepted, nil)
		w.request("POST", address+"/pause", key, nil, http.StatusOK, &m)
		w.request("POST", address+"/pause", key, nil, http.StatusOK, &m)
		if !m.Paused {
			t.Error("it is not paused")
		}
		w.problem("POST", address+"/run", key, nil, http.StatusConflict, "paused")
		w.request("POST", address+"/resume", key, nil, http.StatusOK, &m)
		w.request("DELETE", address, key, nil, http.StatusNoContent, nil)
		want := []string{"monitor_created", "monitor_edited", "monitor_edited", "monitor_edited", "monitor_paused", "monitor_resumed", "monitor_deleted"}
		if diff := cmp.Diff(want, w.eventNames(m.ID)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestPutMonitorIsIdempotent(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		key := w.credentials["key editor"]
		body := map[string]any{"name": "files", "url": "https://files.example.com/mcp", "interval": "5m"}
		var first, again, paused ops.Monitor
		w.request("PUT", "/external-ids/team%2Dfiles", key, body, http.StatusCreated, &first)
		w.request("PUT", "/external-ids/team-files", key, body, http.StatusOK, &again)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("the same request again changed it (-first +again):\n%s", diff)
		}
		w.request("PUT", "/external-ids/team-files", key, with(body, "paused", true), http.StatusOK, &paused)
		if !paused.Paused || paused.ID != first.ID || paused.ExternalID != "team-files" {
			t.Errorf("replaced: %+v", paused)
		}
		w.request("GET", "/external-ids/team-files", key, nil, http.StatusOK, nil)
		w.problem("PUT", "/external-ids/other", key, body, http.StatusConflict, "exists")
		w.problem("PUT", "/external-ids/a%2Fb", key, body, http.StatusUnprocessableEntity, "invalid")
	})
}

func TestCreateMonitorRefuses(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	for name, c := range map[string]struct {
		body     string
		status   int
		code     string
		location string
	}{
		"not JSON":              {`{"name":`, 400, "malformed", "body"},
		"two members":           {`{"name":"a","name":"b","url":"https://a.example.com"}`, 400, "malformed", "body"},
		"another case":          {`{"Name":"a","url":"https://a.example.com"}`, 400, "malformed", "body"},
		"U+0000":                {`{"name":"a\u0000","url":"https://a.example.com"}`, 400, "malformed", "body"},
		"not UTF-8":             {"{\"name\":\"a\xff\",\"url\":\"https://a.example.com\"}", 400, "malformed", "body"},
		"an unknown member":     {`{"name":"a","url":"https://a.example.com","colour":"red"}`, 422, "invalid", "body.colour"},
		"a wrong type":          {`{"name":"a","url":"https://a.example.com","max_tools":"many"}`, 422, "invalid", "body.max_tools"},
		"no URL":                {`{"name":"a"}`, 422, "invalid", "body"},
		"a short interval":      {`{"name":"a","url":"https://a.example.com","interval":"1s"}`, 422, "invalid", "body.interval"},
		"no interval":           {`{"name":"a","url":"https://a.example.com","interval":"often"}`, 422, "invalid", ""},
		"stdio":                 {`{"name":"a","url":"stdio://a","transport":"stdio"}`, 422, "invalid", "body.transport"},
		"an unknown policy":     {`{"name":"a","url":"https://a.example.com","escalation":"nobody"}`, 422, "invalid", "body.escalation"},
		"an unknown monitor":    {`{"name":"a","url":"https://a.example.com","dependencies":[{"monitor":"b"}]}`, 422, "invalid", "body.dependencies[0].monitor"},
		"a header without it":   {`{"name":"a","url":"https://a.example.com","auth_mode":"header","headers":[{"name":"X-Key"}]}`, 422, "invalid", "body.headers[0].value"},
		"a header of two lines": {`{"name":"a","url":"https://a.example.com","auth_mode":"header","headers":[{"name":"X-Key","value":"a\r\nHost: b"}]}`, 422, "invalid", "body.headers[0].value"},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.send("POST", "/monitors", w.credentials["key editor"], strings.NewReader(c.body))
			p := decode(t, a)
			if a.status != c.status || p.Code != c.code {
				t.Fatalf("status %d, code %q, want %d, %q: %s", a.status, p.Code, c.status, c.code, a.body)
			}
			if c.location != "" && !slices.Contains(locations(p), c.location) {
				t.Errorf("locations %q, want %q: %s", locations(p), c.location, a.body)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		a := w.send("POST", "/monitors", w.credentials["key editor"], strings.NewReader(`{"name":"`+strings.Repeat("a", 1<<20)+`"}`))
		if p := decode(t, a); a.status != http.StatusRequestEntityTooLarge || p.Code != "too-large" {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	})
	t.Run("another type", func(t *testing.T) {
		a := w.send("POST", "/monitors", w.credentials["key editor"], strings.NewReader(`name: a`), func(r *http.Request) { r.Header.Set("Content-Type", "application/yaml") })
		if p := decode(t, a); a.status != http.StatusUnsupportedMediaType || p.Code != "unsupported-media-type" || !strings.Contains(p.Hint, "application/json") {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	})
	t.Run("a secret of a wrong type is not quoted", func(t *testing.T) {
		a := w.send("POST", "/monitors", w.credentials["key editor"], strings.NewReader(`{"name":"a","url":"https://a.example.com","headers":[{"name":"X","value":["s3cret"]}]}`))
		if a.status != http.StatusUnprocessableEntity || strings.Contains(string(a.body), "s3cret") {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	})
}

func TestListsInParts(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	for i := range 5 {
		w.monitor(fmt.Sprintf("m%d", i), map[string]any{"tags": []string{map[bool]string{true: "even", false: "odd"}[i%2 == 0]}})
	}
	key := w.credentials["key viewer"]
	var names []string
	for after := ""; ; {
		var page ops.Page[ops.Monitor]
		w.request("GET", "/monitors?limit=2&after="+after, key, nil, http.StatusOK, &page)
		for _, m := range page.Items {
			names = append(names, m.Name)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"m0", "m1", "m2", "m3", "m4"}, names); diff != "" {
		t.Errorf("monitors in parts (-want +got):\n%s", diff)
	}
	var even ops.Page[ops.Monitor]
	w.request("GET", "/monitors?tag=even", key, nil, http.StatusOK, &even)
	if len(even.Items) != 3 {
		t.Errorf("%d monitors have the tag", len(even.Items))
	}
	for _, query := range []string{"limit=201", "limit=0", "after=x", "unknown=1", "limit=1&limit=2", "source=nobody"} {
		a := w.send("GET", "/monitors?"+query, key, nil)
		if a.status != http.StatusUnprocessableEntity && a.status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", query, a.status, a.body)
		}
	}
	var audit ops.Page[struct{ ID int64 }]
	w.request("GET", "/audit?limit=1", w.credentials["key admin"], nil, http.StatusOK, &audit)
	if len(audit.Items) != 1 || audit.Next == "" {
		t.Errorf("the audit in parts: %+v", audit)
	}
}

func TestHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		key := w.credentials["key viewer"]
		id := w.monitor("search", nil)
		first, second := tools(map[string]string{"find": "a"}), tools(map[string]string{"find": "b"})
		w.observe(id, first)
		between := w.now()
		w.offset.Add(int64(time.Minute))
		w.observe(id, second)
		var results ops.Page[watch.Result]
		w.request("GET", path("/monitors/%d/results?limit=1", id), key, nil, http.StatusOK, &results)
		if len(results.Items) != 1 || results.Next == "" || results.Items[0].Digest != second.Digest() {
			t.Errorf("results: %+v", results)
		}
		w.request("GET", path("/monitors/%d/results?limit=1&after=%s", id, results.Next), key, nil, http.StatusOK, &results)
		if len(results.Items) != 1 || results.Items[0].Digest != first.Digest() {
			t.Errorf("the next results: %+v", results)
		}
		var uptime store.Uptime
		w.request("GET", path("/monitors/%d/uptime", id), key, nil, http.StatusOK, &uptime)
		if uptime.Ratio == nil || *uptime.Ratio != 1 || uptime.Checks != 2 {
			t.Errorf("uptime: %+v", uptime)
		}
		var sightings ops.Page[ops.Sighting]
		w.request("GET", path("/monitors/%d/surfaces", id), key, nil, http.StatusOK, &sightings)
		if len(sightings.Items) != 2 || sightings.Items[1].Digest != first.Digest().String() {
			t.Errorf("surfaces: %+v", sightings)
		}
		then := w.request("GET", path("/monitors/%d/surface?at=%s", id, between.UTC().Format(time.RFC3339Nano)), key, nil, http.StatusOK, nil)
		byDigest := w.request("GET", "/surfaces/"+first.Digest().String(), key, nil, http.StatusOK, nil)
		if string(then.body) != string(byDigest.body) || !strings.Contains(string(then.body), `"description":"a"`) {
			t.Errorf("what it said then:\n%s\nby digest:\n%s", then.body, byDigest.body)
		}
		w.request("GET", path("/monitors/%d/rollups?period=5m", id), key, nil, http.StatusOK, nil)
		w.problem("GET", path("/monitors/%d/rollups?period=5m&from=2020-01-01T00:00:00Z", id), key, nil, http.StatusUnprocessableEntity, "invalid")
		w.request("GET", path("/monitors/%d/reports", id), key, nil, http.StatusOK, nil)
	})
}
