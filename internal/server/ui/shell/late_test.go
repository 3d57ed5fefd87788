package shell

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/assets"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// TestLate: a page that waits for what does not come is answered, and the log says so.
func TestLate(t *testing.T) {
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "watch.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	files, err := assets.Load()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	shell, err := New(Deps{People: people.New(s.People(), people.Options{}), Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: time.Now}, files)
	if err != nil {
		t.Fatal(err)
	}
	shell.pageTime = 50 * time.Millisecond
	wait := func(q *Request) error {
		select {
		case <-q.Context().Done():
			return q.Context().Err()
		case <-time.After(200 * time.Millisecond):
			q.Writer().WriteHeader(http.StatusNoContent)
			return nil
		}
	}
	w := httptest.NewRecorder()
	shell.Handler(Route{Serve: wait}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "The database cannot be used now.") {
		t.Errorf("it is answered %d:\n%s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "a page failed") {
		t.Errorf("the log says %q", &log)
	}
	w = httptest.NewRecorder()
	shell.Handler(Route{Serve: wait, Slow: true}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusNoContent {
		t.Errorf("one that may be slow is answered %d", w.Code)
	}
}
