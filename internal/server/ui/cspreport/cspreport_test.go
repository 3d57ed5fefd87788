package cspreport_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/cspreport"
)

func send(r *cspreport.Reports, body string) int {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/csp-report", strings.NewReader(body)))
	return w.Code
}

func TestReports(t *testing.T) {
	var log bytes.Buffer
	at := time.Now()
	r := cspreport.New(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return at })
	old := `{"csp-report": {"document-uri": "https://watch.example.com/monitors/7?token=secret", "effective-directive": "script-src-elem", "blocked-uri": "https://evil.example/x.js?secret"}}`
	list := `[{"type": "csp-violation", "body": {"documentURL": "https://watch.example.com/", "effectiveDirective": "style-src-attr", "blockedURL": "inline"}}, {"type": "deprecation"}]`
	for range 3 {
		if got := send(r, old); got != http.StatusNoContent {
			t.Errorf("a report: %d", got)
		}
	}
	if got := send(r, list); got != http.StatusNoContent {
		t.Errorf("a list: %d", got)
	}
	if r.Count() != 4 {
		t.Errorf("counted %d, want 4", r.Count())
	}
	if lines := strings.Count(log.String(), "\n"); lines != 2 || strings.Contains(log.String(), "secret") {
		t.Errorf("logged %d lines, want 2:\n%s", lines, log.String())
	}
	for _, text := range []string{"path=/monitors/7", "directive=script-src-elem", "blocked=https://evil.example", "blocked=inline"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("%s is not in\n%s", text, log.String())
		}
	}
	for body, want := range map[string]int{
		"": http.StatusBadRequest, "{": http.StatusBadRequest, `"x"`: http.StatusBadRequest,
		`{"csp-report": {"document-uri": "` + strings.Repeat("x", 17<<10) + `"}}`: http.StatusRequestEntityTooLarge,
	} {
		if got := send(r, body); got != want {
			t.Errorf("%.20q: %d, want %d", body, got, want)
		}
	}
}

// TestBounds: who sends many is slowed down, and whatever they send, the log stays short.
func TestBounds(t *testing.T) {
	var log bytes.Buffer
	at := time.Now()
	r := cspreport.New(slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return at })
	slowed := 0
	for i := range 1000 {
		at = at.Add(time.Duration(i%2) * time.Second) // every other one has to wait
		code := send(r, fmt.Sprintf(`{"csp-report": {"document-uri": "https://x/%d\n%s", "effective-directive": "img-src\ninjected"}}`, i, strings.Repeat("y", 1000)))
		if code == http.StatusTooManyRequests {
			slowed++
		}
	}
	if slowed < 400 {
		t.Errorf("%d were told to wait", slowed)
	}
	if lines := strings.Count(log.String(), "\n"); lines > 200 || len(log.String()) > 200*600 {
		t.Errorf("logged %d lines, %d bytes", lines, log.Len())
	}
}
