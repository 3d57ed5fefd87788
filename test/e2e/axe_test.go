package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// axeSource is axe-core, which judges how accessible a page is.
var axeSource = sync.OnceValues(func() (string, error) {
	data, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return "", fmt.Errorf("%w: run make test-deps", err)
	}
	return string(data), nil
})

type violation struct {
	ID, Impact, Help string
	Nodes            []struct {
		HTML, FailureSummary string
		Target               []any
	}
}

func (v violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s (%d)", v.Impact, v.ID, v.Help, len(v.Nodes))
	for i, n := range v.Nodes {
		if i == 4 {
			b.WriteString("\n      …")
			break
		}
		fmt.Fprintf(&b, "\n      %v\n      %.300s\n      %s", n.Target, n.HTML, strings.ReplaceAll(n.FailureSummary, "\n", " "))
	}
	return b.String()
}

// violations are what axe-core finds on the page as it stands, by all rules or by some.
func (p *page) violations(t testing.TB, rules ...string) []violation {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		t.Fatal(err)
	}
	if !ask[bool](p, `typeof axe === "object"`) {
		if _, err := evaluate[any](p, source+";0"); err != nil {
			t.Fatalf("load axe-core: %v", err)
		}
	}
	only := ""
	if len(rules) > 0 {
		only = "runOnly: " + asJSON(rules) + ","
	}
	found, err := evaluate[[]violation](p, `axe.run(document, {`+only+` resultTypes: ["violations"], preload: false}).then((r) => r.violations.map((v) => ({
		id: v.id, impact: v.impact, help: v.help,
		nodes: v.nodes.slice(0, 6).map((n) => ({html: n.html, target: n.target, failureSummary: n.failureSummary})),
	})))`)
	if err != nil {
		t.Fatalf("axe-core: %v", err)
	}
	return found
}

// accessible fails the test when axe-core finds something serious or critical. What is
// less is logged.
func (p *page) accessible(t testing.TB, what string, rules ...string) {
	t.Helper()
	for _, v := range p.violations(t, rules...) {
		if v.Impact == "serious" || v.Impact == "critical" {
			t.Errorf("%s: %s", what, v)
		} else if !strings.Contains(what, "390") {
			t.Logf("%s: %s", what, v)
		}
	}
}
