package shell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestLeft: that a browser left is not logged as a failure; anything else is.
func TestLeft(t *testing.T) {
	var log strings.Builder
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q := &Request{Request: r, shell: &Shell{Deps: Deps{Logger: slog.New(slog.NewTextHandler(&log, nil))}}}
	q.Log(ctx, "render", context.Canceled) // of something else: the browser is there
	if !strings.Contains(log.String(), "render") {
		t.Errorf("a failure is not logged: %q", log.String())
	}
	log.Reset()
	leave()
	q.Log(ctx, "render", fmt.Errorf("render a row: %w", context.Canceled))
	if log.Len() > 0 {
		t.Errorf("a browser that left is logged: %s", log.String())
	}
	q.Log(ctx, "remove a backup", errors.New("the disk is full"))
	if !strings.Contains(log.String(), "disk is full") {
		t.Errorf("a failure after the browser left is not logged: %q", log.String())
	}
}
