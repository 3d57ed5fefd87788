package changes

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/diff"
	"github.com/mcpvigil/mcpvigil/lint"
)

// TestRunsAreTheTexts: whatever is marked, folded nowhere and cut nowhere, both texts
// stand in the runs.
func TestRunsAreTheTexts(t *testing.T) {
	part := rapid.SampledFrom([]string{"read", " ", "file", "\n", "\u202e", "\xff", "~/.ssh/id_rsa", "<b>", "ü", "…"})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), "") })
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		var found []Finding
		for range rapid.IntRange(0, 4).Draw(t, "findings") {
			found = append(found, Finding{Finding: lint.Finding{Pointer: "/description", Excerpt: text.Draw(t, "excerpt")}})
		}
		f := &fields{item: &Item{Findings: found}, extent: All()}
		runs, cut, tooLong := f.runs("/description", before, after, 1<<20)
		var was, is strings.Builder
		for _, r := range runs {
			if r.Op != diff.Inserted {
				was.WriteString(r.Text)
			}
			if r.Op != diff.Deleted {
				is.WriteString(r.Text)
			}
			if r.Op == diff.Deleted && len(r.Found) > 0 {
				t.Fatal("a finding is in what is gone")
			}
		}
		if was.String() != before || is.String() != after || cut != 0 || tooLong {
			t.Fatalf("%q to %q: %q to %q, cut %d", before, after, was.String(), is.String(), cut)
		}
	})
}

func TestLocate(t *testing.T) {
	long := strings.Repeat("a ", 50)
	for _, x := range []struct{ said, excerpt, want string }{
		{"read ~/.ssh/id_rsa", "read ~/.ssh/id_rsa", "read ~/.ssh/id_rsa"},
		{long + "read it" + long, "…" + long[40:] + "read it" + long[:60] + "…", "read it"},
		{"a\u200bb", `a\u{200B}b`, "a\u200bb"},
		{"a\nread \u202eit now", "a read it now", "a\nread \u202eit now"},
		{"read", "write", ""},
		{"read", "", ""},
		{"\xff read", `\xFF read`, "\xff read"},
	} {
		start, end, ok := locate(x.said, x.excerpt)
		if ok != (x.want != "") || ok && x.said[start:end] != x.want {
			t.Errorf("%q in %q: %d to %d, %v", x.excerpt, x.said, start, end, ok)
		}
	}
}

// TestFolded: what is left out of a long text is what stayed, and is counted.
func TestFolded(t *testing.T) {
	same := strings.Repeat("word ", 1000)
	f := &fields{item: &Item{}, extent: Parts()}
	runs, cut, _ := f.runs("/description", same+"old "+same, same+"new "+same, 4096)
	folded, shown := 0, 0
	for _, r := range runs {
		folded += r.Folded
		if r.Op == diff.Same {
			shown += len(r.Text)
		}
	}
	if folded+shown != 2*len(same)+1 || cut != 0 || !slices.ContainsFunc(runs, func(r Run) bool { return r.Text == "new" }) {
		t.Errorf("%d folded, %d shown of %d, %d cut: %v", folded, shown, 2*len(same), cut, runs)
	}
}

// TestNothingIsTakenForAnother: what stands for items and their values is a whole hash, so
// that no server finds two texts of which only one is shown.
func TestNothingIsTakenForAnother(t *testing.T) {
	if sum, err := base64.RawURLEncoding.DecodeString(hash("a", "b")); err != nil || len(sum) != sha256.Size {
		t.Errorf("%d bytes stand for a text, %v", len(sum), err)
	}
	if hash("ab", "c") == hash("a", "bc") {
		t.Error("parts run into each other")
	}
}
