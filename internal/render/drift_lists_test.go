package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/surface"
)

func TestNamesInListsAreTold(t *testing.T) {
	for in, want := range map[string]string{
		"add": "add", "": `""`, "a, b": `"a, b"`, "a b": `"a b"`, `a"b`: `"a\"b"`, "a:b": `"a:b"`, "a'b": `"a'b"`,
	} {
		if got := listed(in); got != want {
			t.Errorf("%q is listed as %s, not as %s", in, got, want)
		}
	}
	var v Verification
	for _, item := range []string{"a, b", "c"} {
		v.Result.Changes = append(v.Result.Changes, surface.Change{
			Class: surface.ToolRemoved, Effect: surface.Fail, Event: "tool.removed", Kind: surface.Tool, Item: item, Detail: "removed",
		})
	}
	for _, format := range []Format{Human, Markdown, JUnit, SARIF} {
		for _, verbose := range []bool{false, true} {
			var b bytes.Buffer
			if err := Drift(&b, format, "diff", []*Verification{&v}, Options{Verbose: verbose}); err != nil {
				t.Fatal(err)
			}
			got := strings.NewReplacer("&#34;", `"`, `\"`, `"`).Replace(b.String())
			if !strings.Contains(got, `2 tools: "a, b", c`) && !strings.Contains(got, "2 tools: `\"a, b\", c`") {
				t.Errorf("%s, verbose %v:\n%s", format, verbose, got)
			}
		}
	}
}
