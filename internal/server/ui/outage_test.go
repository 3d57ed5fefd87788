package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
)

// TestOutage: a database that takes nothing is no failure of a page. A full disk is stood
// for by a limit of the file's size, which gives the same error.
func TestOutage(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("one")
	limit := func(pages string) {
		t.Helper()
		if _, err := w.Store.DB().ExecContext(t.Context(), "pragma max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	var got uitest.Answer
	for range 100 { // until what is left in the file is used up
		if got = w.Post("editor", "/monitors/1/pause", nil); got.Status != http.StatusSeeOther {
			break
		}
		if got = w.Post("editor", "/monitors/1/resume", nil); got.Status != http.StatusSeeOther {
			break
		}
	}
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !strings.Contains(got.Body, "The database cannot be used now.") {
		t.Errorf("it is answered %d, to try again after %q:\n%s", got.Status, got.Header.Get("Retry-After"), got.Body)
	}
	if text := w.Logged(); !strings.Contains(text, "the disk is full") || strings.Contains(got.Body, "full") {
		t.Errorf("the log does not say why, or the page does:\n%s", text)
	}
	if got := w.Get("viewer", "/monitors/1"); got.Status != http.StatusOK || !strings.Contains(got.Body, m.Definition.Name) {
		t.Errorf("reading is answered %d", got.Status)
	}
	limit("1000000")
	if got := w.Post("editor", "/monitors/1/pause", nil); got.Status != http.StatusSeeOther {
		t.Errorf("with room again it is answered %d", got.Status)
	}
}
