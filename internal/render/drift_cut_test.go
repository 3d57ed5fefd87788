package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
)

func TestCutsAreMarked(t *testing.T) {
	for about, s := range map[string]string{
		"lines":      strings.Repeat("a line of text that goes on\n", 2150),
		"one line":   strings.Repeat("word and ", 6700),
		"many marks": strings.Repeat("\"\t\n", 20000),
		"longer":     strings.Repeat("word and ", 20000),
	} {
		for _, added := range []bool{false, true} {
			read := func(said string) *surface.Surface {
				raw, err := json.Marshal(map[string]any{"tools": []any{map[string]string{"name": "add", "description": said}}})
				if err != nil {
					t.Fatal(err)
				}
				got, err := surface.Read(raw)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			before, after := read("Adds."), read(s+"ENDMARK")
			if !added {
				before, after = after, before
			}
			v := &Verification{Source: "x", Result: baseline.Result{Status: baseline.Changed, Changes: surface.Compare(before, after, surface.CompareOptions{})}}
			for _, format := range []Format{Human, Markdown, JUnit, SARIF} {
				var b bytes.Buffer
				if err := Drift(&b, format, "diff", []*Verification{v}, Options{Verbose: true}); err != nil {
					t.Fatal(err)
				}
				got := strings.Join(strings.Fields(b.String()), " ")
				if !strings.Contains(got, "ENDMARK") && !strings.Contains(got, "too long to show; mcpvigil inspect --format surface has it") {
					t.Errorf("%s, %s, added %v: neither the end nor a word of it", about, format, added)
				}
			}
		}
	}
}

func TestWithin(t *testing.T) {
	for _, lines := range [][]string{
		strings.Split(strings.Repeat("+ a line\n", 9000)+"+ ENDMARK", "\n"),
		{"+ " + strings.Repeat("word ", 9000) + "ENDMARK"},
		{"- short", "+ " + strings.Repeat("word ", 9000) + "ENDMARK"},
	} {
		got := strings.Join(within(lines, 3000), "\n")
		if len(got) > 3000 || !strings.HasSuffix(got, "ENDMARK") || !strings.Contains(got, "bytes more: too long to show") || !strings.HasPrefix(got, lines[0][:4]) {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}
