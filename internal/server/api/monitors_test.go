package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

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
		got := w.request("GET", path("/monitors/%d", m.ID), key, nil, http.StatusOK, nil)
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
	})
}
