package uitest

import (
	"strings"
	"testing"
)

// Page is an answer, or the text of one.
type Page interface{ string | Answer }

func text[P Page](page P) string {
	switch page := any(page).(type) {
	case Answer:
		return page.Body
	case string:
		return page
	}
	return ""
}

// Has fails the test for each text that a page does not have.
func Has[P Page](t testing.TB, page P, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text(page), want) {
			t.Errorf("the page has no %q:\n%.20000s", want, text(page))
		}
	}
}

// HasNot fails the test for each text that a page has.
func HasNot[P Page](t testing.TB, page P, unwanted ...string) {
	t.Helper()
	for _, bad := range unwanted {
		if strings.Contains(text(page), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}
