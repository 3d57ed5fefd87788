package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/demo"
)

func TestRoutes(t *testing.T) {
	server := httptest.NewServer(&demo.Server{})
	defer server.Close()
	for endpoint, want := range map[string]int{server.URL: http.StatusOK, "http://127.0.0.1:1/mcp": http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		routes(endpoint).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", endpoint, w.Code, want, w.Body)
		}
	}
}
