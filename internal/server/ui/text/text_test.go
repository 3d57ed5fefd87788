package text

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// A quote shows breaks as marks, and what cannot be seen with its name.
func TestQuote(t *testing.T) {
	quote := func(s string) string {
		t.Helper()
		var b strings.Builder
		if err := Quote(s).Render(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := quote(plain.Line("read\nthis\tnow\u202e<b>", 200))
	for _, want := range []string{
		`read<span class="hidden-character" title="LINE FEED">↵</span>this`,
		`this<span class="hidden-character" title="TAB">⇥</span>now`,
		`<span class="hidden-character" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>&lt;b&gt;`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	// What was not made safe before is so here, and what is no character is no mark.
	if got := quote("a\u202eb \\u{FFFFFF} \\u{12}"); strings.Contains(got, "\u202e") || !strings.Contains(got, "not a character") || !strings.Contains(got, `\u{12}`) {
		t.Errorf("%q", got)
	}
	if got := quote(strings.Repeat("\\u{000A}", 10_000)); len(got) > 32<<10 || !strings.Contains(got, "…") {
		t.Errorf("a long one has %d bytes", len(got))
	}
}
