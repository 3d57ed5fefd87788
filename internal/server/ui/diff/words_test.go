package diff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
)

// shown writes edits as [-gone-]{+came+}.
func shown(edits []diff.Edit) string {
	var s strings.Builder
	for _, e := range edits {
		switch e.Op {
		case diff.Deleted:
			s.WriteString("[-" + e.Text + "-]")
		case diff.Inserted:
			s.WriteString("{+" + e.Text + "+}")
		default:
			s.WriteString(e.Text)
		}
	}
	return s.String()
}

func TestWords(t *testing.T) {
	for _, x := range []struct{ before, after, want string }{
		{"", "", ""},
		{"same", "same", "same"},
		{"", "new", "{+new+}"},
		{"old", "", "[-old-]"},
		{"Reads a file.", "Reads a small file.", "Reads a {+small +}file."},
		{"Reads files.", "Reads file.", "Reads [-files-]{+file+}."},
		{"send the mail now", "drop a mail now", "[-send the-]{+drop a+} mail now"},
		{"a\nb\nc", "a\nB\nc", "a\n[-b-]{+B+}\nc"},
		{"pay", "p\u0430y", "[-pay-]{+p\u0430y+}"},
		{"ab", "a\u200bb", "[-ab-]{+a\u200bb+}"},
		{"a b", "a \u202eb", "a {+\u202e+}b"},
		{"Über", "Ober", "[-Über-]{+Ober+}"},
		{"x\xffy", "x\xfey", "x[-\xff-]{+\xfe+}y"},
	} {
		if got := shown(diff.Words(x.before, x.after)); got != x.want {
			t.Errorf("%q to %q: %q, want %q", x.before, x.after, got, x.want)
		}
	}
}

// without is the text of the edits but for one kind of them.
func without(edits []diff.Edit, op diff.Op) string {
	var s strings.Builder
	for _, e := range edits {
		if e.Op != op {
			s.WriteString(e.Text)
		}
	}
	return s.String()
}

// whole sees that the edits give both texts back, and are as promised.
func whole(t interface {
	Helper()
	Fatalf(string, ...any)
}, before, after string,
) {
	t.Helper()
	edits := diff.Words(before, after)
	if without(edits, diff.Inserted) != before || without(edits, diff.Deleted) != after {
		t.Fatalf("%q to %q: %q", before, after, shown(edits))
	}
	for i, e := range edits {
		if e.Text == "" || i > 0 && (edits[i-1].Op == e.Op || edits[i-1].Op == diff.Inserted && e.Op == diff.Deleted) {
			t.Fatalf("%q to %q: edit %d of %q", before, after, i, shown(edits))
		}
		if before == after && e.Op != diff.Same {
			t.Fatalf("equal texts differ: %q", shown(edits))
		}
	}
}

func TestBothTextsComeBack(t *testing.T) {
	part := rapid.OneOf(rapid.SampledFrom([]string{"read", "file", " ", "  ", "\n", ".", "\u200b", "\u202e", "ü", "\xff", "<b>", "é"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 40).Draw(t, "parts"), "") })
		whole(t, text.Draw(t, "before"), text.Draw(t, "after"))
	})
}

func FuzzWords(f *testing.F) {
	f.Add("Reads a file.", "Reads a small file.")
	f.Add("a\x00\xff", "\u202ea\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		const most = 1 << 15
		whole(t, before[:min(len(before), most)], after[:min(len(after), most)])
	})
}

// TestHostileSizes: a megabyte takes no longer than a page may.
func TestHostileSizes(t *testing.T) {
	numbers := func(from, n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "%d ", from+i)
		}
		return s.String()
	}
	for name, x := range map[string][2]string{
		"one letter":     {strings.Repeat("a", 1<<20), strings.Repeat("a", 1<<20-1)},
		"other words":    {numbers(0, 150_000), numbers(1_000_000, 150_000)},
		"9,000 words":    {numbers(0, 9000), numbers(1_000_000, 9000)},
		"many lines":     {strings.Repeat("a\n", 1<<19), strings.Repeat("b\n", 1<<19)},
		"a word within":  {strings.Repeat("word ", 200_000), strings.Repeat("word ", 100_000) + "x " + strings.Repeat("word ", 100_000)},
		"hidden":         {strings.Repeat("\u200b", 300_000), strings.Repeat("\u200c", 300_000)},
		"bytes":          {strings.Repeat("\xff", 1<<20), strings.Repeat("\xfe", 1<<20)},
		"alternating":    {strings.Repeat("ab ", 300_000), strings.Repeat("ba ", 300_000)},
		"one is nothing": {"", numbers(0, 150_000)},
	} {
		start := time.Now()
		whole(t, x[0], x[1])
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
