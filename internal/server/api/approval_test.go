package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// hostile is text that a server might hide: a right-to-left override and a zero-width space.
const hostile = "Finds things.\u202e\u200b"

func (w *world) eventNames(id int64) (names []string) {
	w.t.Helper()
	var page ops.Page[watch.Event]
	w.request("GET", path("/events?monitor=%d&order=asc&limit=200", id), w.credentials["key viewer"], nil, http.StatusOK, &page)
	for _, e := range page.Items {
		names = append(names, e.Name)
	}
	return names
}

func TestAccept(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		approver, key := w.credentials["session approver"], w.credentials["key editor"]
		id := w.monitor("search", nil)
		w.problem("GET", path("/monitors/%d/review", id), key, nil, http.StatusNotFound, "not-found")
		w.observe(id, tools(map[string]string{"find": "Finds things."}))
		changed := tools(map[string]string{"find": hostile, "send": "Sends things."})
		w.observe(id, changed)

		var review ops.Review
		a := w.request("GET", path("/monitors/%d/review", id), key, nil, http.StatusOK, &review)
		if strings.ContainsAny(string(a.body), "\u202e\u200b") {
			t.Errorf("what cannot be seen stands in the answer as it is: %q", a.body)
		}
		if review.Digest != changed.Digest().String() || len(review.Changes) != 2 || review.Status != "changed" || len(review.Approved) != 1 {
			t.Fatalf("review: %+v", review)
		}
		i := slices.IndexFunc(review.Changes, func(c ops.ReviewChange) bool { return c.Item == "find" })
		if got := string(review.Changes[i].After); !strings.Contains(got, "Finds things.") || review.Changes[i].Key == "" {
			t.Errorf("the change of find is %+v", review.Changes[i])
		}

		accept := map[string]any{"digest": review.Digest, "all": true, "reason": "reviewed", "password": password}
		address := path("/monitors/%d/approvals", id)
		for _, who := range []string{"key editor", "key admin"} {
			w.problem("POST", address, w.credentials[who], accept, http.StatusForbidden, "proof-required")
		}
		w.problem("POST", address, w.credentials["session editor"], accept, http.StatusForbidden, "forbidden")
		w.problem("POST", address, approver, without(accept, "password"), http.StatusForbidden, "proof-required")
		w.problem("POST", address, approver, with(accept, "password", "wrong"), http.StatusUnauthorized, "wrong-password")
		w.problem("POST", address, approver, with(accept, "digest", tools(nil).Digest().String()), http.StatusConflict, "moved")
		w.problem("POST", address, approver, with(accept, "digest", "nonsense"), http.StatusUnprocessableEntity, "invalid")
		w.problem("POST", address, approver, with(accept, "reason", " "), http.StatusUnprocessableEntity, "invalid")
		w.problem("POST", address, approver, with(accept, "expires_at", time.Now().Add(-time.Hour)), http.StatusUnprocessableEntity, "invalid")
		if m := w.get(id); m.Status.Surface.State != watch.Changed || m.Status.OpenChanges == 0 {
			t.Errorf("after refusals the surface is %+v", m.Status.Surface)
		}

		var m ops.Monitor
		w.request("POST", address, approver, accept, http.StatusOK, &m)
		if m.Status.Surface.State != watch.AsApproved || m.Status.OpenChanges != 0 || m.Status.OpenFindings != 0 || m.Status.Posture.State != watch.Clean {
			t.Errorf("after the acceptance the monitor is %+v", m.Status)
		}
		var approvals ops.Page[ops.Approval]
		w.request("GET", address, key, nil, http.StatusOK, &approvals)
		if len(approvals.Items) != 1 || approvals.Items[0].Approver != "user:approver" || approvals.Items[0].Reason != "reviewed" || approvals.Items[0].Digest != review.Digest {
			t.Errorf("approvals: %+v", approvals.Items)
		}
		if names := w.eventNames(id); !slices.Contains(names, watch.EventBaselineSet) || !slices.Contains(names, watch.EventBaselineAccepted) || !slices.Contains(names, watch.EventResolved) {
			t.Errorf("events: %v", names)
		}
		if st := w.observe(id, changed); st.Surface.State != watch.AsApproved {
			t.Errorf("the next check says %+v", st.Surface)
		}
	})
}

func TestAcceptOneItem(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	id := w.monitor("search", nil)
	w.observe(id, tools(map[string]string{"find": "Finds things."}))
	w.observe(id, tools(map[string]string{"find": "Finds other things.", "send": "Sends things."}))
	var review ops.Review
	w.request("GET", path("/monitors/%d/review", id), w.credentials["key viewer"], nil, http.StatusOK, &review)
	i := slices.IndexFunc(review.Changes, func(c ops.ReviewChange) bool { return c.Item == "send" })
	accept := map[string]any{"digest": review.Digest, "changes": []string{review.Changes[i].Key}, "reason": "the new tool is wanted", "password": password}
	var m ops.Monitor
	w.request("POST", path("/monitors/%d/approvals", id), w.credentials["session approver"], accept, http.StatusOK, &m)
	if m.Status.Surface.State != watch.Changed || m.Status.OpenChanges != 1 {
		t.Errorf("with one of two changes accepted the surface is %+v with %d open changes", m.Status.Surface, m.Status.OpenChanges)
	}
	w.request("GET", path("/monitors/%d/review", id), w.credentials["key viewer"], nil, http.StatusOK, &review)
	if len(review.Changes) != 1 || review.Changes[0].Item != "find" {
		t.Errorf("what is left to decide: %+v", review.Changes)
	}
}

func TestWithdraw(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		approver := w.credentials["session approver"]
		id := w.monitor("search", nil)
		seen := tools(map[string]string{"find": "Finds things."})
		w.observe(id, seen)
		address := path("/monitors/%d/approvals", id)
		withdrawal := map[string]any{"reason": "it was poisoned from the start", "password": password}
		w.problem("DELETE", address, w.credentials["key admin"], withdrawal, http.StatusForbidden, "proof-required")
		w.problem("DELETE", address, approver, without(withdrawal, "password"), http.StatusForbidden, "proof-required")
		var m ops.Monitor
		w.request("DELETE", address, approver, withdrawal, http.StatusOK, &m)
		if !m.Status.Awaiting || m.Status.Surface.State != watch.Unknown {
			t.Errorf("after the withdrawal the monitor is %+v", m.Status)
		}
		if st := w.observe(id, seen); !st.Awaiting || st.Surface.State != watch.Unknown {
			t.Errorf("the next check took the surface for the first one: %+v", st.Surface)
		}
		var review ops.Review
		w.request("GET", path("/monitors/%d/review", id), approver, nil, http.StatusOK, &review)
		if !review.Awaiting || len(review.Approved) != 0 {
			t.Errorf("review: %+v", review)
		}
		w.request("POST", address, approver, map[string]any{"digest": review.Digest, "all": true, "reason": "it was not", "password": password}, http.StatusOK, &m)
		if m.Status.Awaiting || m.Status.Surface.State != watch.AsApproved {
			t.Errorf("after the acceptance the monitor is %+v", m.Status)
		}
	})
}

// Nothing that an API key may do makes an unapproved surface pass.
func TestNoWayAroundApproval(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	id := w.monitor("search", map[string]any{"external_id": "ext", "max_tools": 5, "expected_tools": []string{"find"}})
	w.observe(id, tools(map[string]string{"find": "Finds things."}))
	address := path("/monitors/%d", id)
	w.request("POST", "/channels", w.credentials["key admin"], map[string]any{"name": "nowhere", "type": "webhook", "settings": map[string]any{"url": "https://hooks.example.com/x"}}, http.StatusCreated, nil)
	w.request("PUT", "/escalations/quiet", w.credentials["key admin"], map[string]any{"steps": []any{map[string]any{"channels": []string{"nowhere"}, "delay": "1h"}}}, http.StatusOK, nil)
	w.request("POST", "/windows", w.credentials["session approver"], map[string]any{
		"name": "canaries", "kind": "expected-change", "tags": []string{"unstable"}, "groups": []string{"unstable"},
		"days": []string{"mon"}, "from": "00:00", "for": "168h", "password": password,
	}, http.StatusCreated, nil)
	edits := map[string]map[string]any{
		"another endpoint":           {"url": "https://other.example.com/mcp"},
		"another transport":          {"transport": "sse"},
		"a credential":               {"auth_mode": "header", "headers": []any{map[string]any{"name": "X-Key", "value": "v"}}},
		"a pinned revision":          {"protocol_version": "2025-06-18"},
		"only records":               {"drift_policy": "record"},
		"one class fails no more":    {"drift_effects": map[string]any{"tool-text": "event"}},
		"no cap of tools":            {"max_tools": 0},
		"fewer expected tools":       {"expected_tools": []any{}},
		"a higher failure threshold": {"failure_threshold": 50},
		"once a week":                {"interval": "168h"},
		"where nobody checks":        {"locations": []string{"mars"}},
		"told to somebody else":      {"escalation": "quiet"},
		"into a planned change":      {"tags": []string{"unstable"}},
		"under the name of one":      {"name": "canary", "group": "unstable"},
	}
	for name, edit := range edits {
		for _, who := range []string{"key editor", "key admin"} {
			t.Run(name+"/"+who, func(t *testing.T) {
				w.problem("PATCH", address, w.credentials[who], with(edit, "password", password), http.StatusForbidden, "proof-required")
			})
		}
		t.Run(name+"/session without the role", func(t *testing.T) {
			w.problem("PATCH", address, w.credentials["session editor"], with(edit, "password", password), http.StatusForbidden, "forbidden")
		})
		t.Run(name+"/session without the password", func(t *testing.T) {
			w.problem("PATCH", address, w.credentials["session approver"], edit, http.StatusForbidden, "proof-required")
		})
	}
	for _, who := range []string{"key editor", "key admin"} {
		w.problem("DELETE", address, w.credentials[who], nil, http.StatusForbidden, "proof-required")
		w.problem("PUT", "/external-ids/ext", w.credentials[who], map[string]any{"name": "search", "url": "https://search.example.com/mcp"}, http.StatusForbidden, "proof-required")
		w.problem("POST", "/windows", w.credentials[who], map[string]any{"name": "release", "kind": "expected-change", "start": w.now(), "end": w.now().Add(time.Hour)}, http.StatusForbidden, "proof-required")
		w.problem("POST", "/accounts", w.credentials[who], map[string]any{"name": "mole", "role": "approver", "new_password": password, "password": password}, http.StatusForbidden, "proof-required")
		w.problem("POST", "/keys", w.credentials[who], map[string]any{"name": "mole", "role": "admin", "password": password}, http.StatusForbidden, "proof-required")
	}
	// A session alone makes no credential that outlives it.
	w.problem("POST", "/keys", w.credentials["session admin"], map[string]any{"name": "mole", "role": "admin"}, http.StatusForbidden, "proof-required")
	w.problem("POST", "/keys", w.credentials["session admin"], map[string]any{"name": "mole", "role": "admin", "password": "wrong"}, http.StatusUnauthorized, "wrong-password")
	w.problem("POST", "/keys", w.credentials["session admin"], map[string]any{"name": "mole", "role": "admin", "password": password, "code": ""}, http.StatusUnauthorized, "code-required")
	// What loosens nothing needs no proof.
	w.request("PATCH", address, w.credentials["key editor"], map[string]any{"tags": []string{"prod"}, "max_tools": 3, "interval": "1m"}, http.StatusOK, nil)
	w.request("POST", address+"/pause", w.credentials["key editor"], nil, http.StatusOK, nil)
	// A person who may approve can.
	var m ops.Monitor
	w.request("PATCH", address, w.credentials["session approver"], map[string]any{"url": "https://other.example.com/mcp", "password": password}, http.StatusOK, &m)
	if m.URL != "https://other.example.com/mcp" {
		t.Errorf("the endpoint is %s", m.URL)
	}
	w.request("DELETE", address, w.credentials["session approver"], map[string]any{"password": password}, http.StatusNoContent, nil)
	w.problem("GET", address, w.credentials["key viewer"], nil, http.StatusNotFound, "not-found")
	if names := w.eventNames(id); !slices.Contains(names, watch.EventDeleted) {
		t.Errorf("events after the deletion: %v", names)
	}
}

func (w *world) get(id int64) (m ops.Monitor) {
	w.t.Helper()
	w.request("GET", path("/monitors/%d", id), w.credentials["key viewer"], nil, http.StatusOK, &m)
	return m
}

func with(body map[string]any, name string, value any) map[string]any {
	out := without(body, name)
	out[name] = value
	return out
}

func without(body map[string]any, name string) map[string]any {
	out := map[string]any{}
	for k, v := range body {
		if k != name {
			out[k] = v
		}
	}
	return out
}
