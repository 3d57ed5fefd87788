package cli

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/surface.md")

// TestSurfaceTables: the tables of the manual are those of the code.
func TestSurfaceTables(t *testing.T) {
	const path = "../../docs/surface.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace
	var classes, rules strings.Builder
	classes.WriteString("| class | event | alert | seed | what happened |\n|---|---|---|---|---|\n")
	for _, c := range surface.Classes() {
		fmt.Fprintf(&classes, "| `%s` | `%s` | %s | %s | %s |\n", c.Class, c.Event, c.Effect, c.Seed, cell(c.Text))
	}
	fmt.Fprintf(&rules, "Rules, version %s:\n\n| rule | family | severities | looks for | SAFE-MCP |\n|---|---|---|---|---|\n", lint.Ruleset)
	for _, r := range lint.Rules() {
		var severities []string
		for _, s := range r.Severities {
			severities = append(severities, string(s))
		}
		fmt.Fprintf(&rules, "| `%s` | %s | %s | %s | %s |\n", r.ID, r.Family, strings.Join(severities, ", "), cell(r.Text), strings.Join(r.Techniques, ", "))
	}
	want := string(data)
	for name, table := range map[string]string{"classes": classes.String(), "rules": rules.String()} {
		between := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->\n).*?(<!-- /` + name + ` -->)`)
		if !between.MatchString(want) {
			t.Fatalf("%s has no place for the table of %s", path, name)
		}
		want = between.ReplaceAllStringFunc(want, func(s string) string {
			m := between.FindStringSubmatch(s)
			return m[1] + table + m[2]
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("%s is stale (go test ./internal/cli -run SurfaceTables -update): -want +got\n%s", path, diff)
	}
}
