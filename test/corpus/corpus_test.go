package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/lint"
)

func TestVersions(t *testing.T) {
	inOrder := []string{"0.9", "1.0.0-alpha", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0", "1.0.1", "1.9.0", "1.10.0", "2025.8.18", "2026.7.10"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			want := cmpInt(i, j)
			if got := compareVersions(a, b); got != want {
				t.Errorf("%s and %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnusable: a folder that holds nothing to measure is no success.
func TestUnusable(t *testing.T) {
	empty := t.TempDir()
	write(t, empty, map[string]string{"benign/README.md": "nothing", "other/x.json": "{}"})
	for _, args := range [][]string{nil, {empty, empty}, {empty}, {filepath.Join(empty, "missing")}} {
		var out, errs strings.Builder
		if code := run(args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: code %d, output %q, errors %q", args, code, out.String(), errs.String())
		}
	}
}

func TestSkipped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"malicious/x.json":       "{}",
		"benign/notes.txt":       "",
		"benign/broken.json":     "{",
		"benign/good.json":       `{"tools":[{"name":"a"}]}`,
		"drift/unversioned.json": `{"tools":[]}`,
		"poisoned/list.json":     "[]",
		"poisoned/empty.json":    "{}",
		"poisoned/odd.json":      `{"cases":[{"tool":{"name":"a"},"after":{"name":"a"}},{"before":{"name":"a"}},{"tool":{"name":"b"}}]}`,
	})
	if err := os.Mkdir(filepath.Join(dir, "benign/folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, s := range c.skipped {
		name, _, _ := strings.Cut(s, ":")
		skipped = append(skipped, name)
	}
	want := []string{
		"benign/broken.json", "benign/folder.json", "benign/notes.txt", "drift/unversioned.json", "malicious",
		"poisoned/empty.json", "poisoned/list.json", "odd, case 1", "odd, case 2",
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Error(diff)
	}
	if len(c.benign) != 1 || len(c.attacks) != 1 || len(c.attacks[0].attacks) != 1 {
		t.Errorf("measured %+v", c)
	}
}

// TestPromises: each promise is kept up to its limit, and broken beyond it.
func TestPromises(t *testing.T) {
	cases := []struct {
		name string
		m    measurement
		kept bool
	}{
		{"one block", measurement{servers: benignCount{files: 1, tools: 500, blocks: 1}}, true},
		{"two blocks", measurement{servers: benignCount{files: 1, tools: 500, blocks: 2}}, false},
		{"blocks in both", measurement{servers: benignCount{files: 1, tools: 500, blocks: 1}, madeUp: benignCount{files: 1, tools: 3, blocks: 1}}, false},
		{"one note in a hundred", measurement{servers: benignCount{files: 1, tools: 100, noted: 1}}, true},
		{"two notes", measurement{servers: benignCount{files: 1, tools: 100, noted: 2}}, false},
		{"notes on misleading texts", measurement{madeUp: benignCount{files: 1, tools: 2, noted: 2}}, true},
		{"most attacks", measurement{attacks: []attackCount{{cases: 50, block: 40, note: 2}, {cases: 50, block: 43}}}, true},
		{"too few attacks", measurement{attacks: []attackCount{{cases: 50, block: 40, note: 1}, {cases: 50, block: 43}}}, false},
		{"most pairs", measurement{attacks: []attackCount{{pairs: true, cases: 10, block: 8, note: 1}}}, true},
		{"too few pairs", measurement{attacks: []attackCount{{pairs: true, cases: 10, block: 8}}}, false},
		{"one does not make up for the other", measurement{attacks: []attackCount{{cases: 100, block: 100}, {pairs: true, cases: 10, block: 8}}}, false},
		{"one screen", measurement{upgrades: []upgradeCount{{lines: 24}, {lines: 3}}}, true},
		{"more than one screen", measurement{upgrades: []upgradeCount{{lines: 25}, {lines: 3}}}, false},
		{"a failing change that is not named", measurement{upgrades: []upgradeCount{{unnamed: 1}}}, false},
		{"new block", measurement{upgrades: []upgradeCount{{newBlocks: make([]lint.Finding, 1)}}}, false},
		{"nothing to promise", measurement{}, true},
	}
	for _, c := range cases {
		if got := c.m.kept(); got != c.kept {
			t.Errorf("%s: %v, want %v: %+v", c.name, got, c.kept, c.m.promises())
		}
	}
}

// TestSameHits: the same text in many tools is one line.
func TestSameHits(t *testing.T) {
	m := measurement{servers: benignCount{files: 1, tools: 500}}
	for i := range 150 {
		m.hits = append(m.hits, hit{"server", lint.Finding{Rule: "rule", Severity: lint.Note, Item: fmt.Sprint("tool", i), Pointer: "/p", Excerpt: "same"}})
	}
	m.hits = append(m.hits, hit{"server", lint.Finding{Rule: "rule", Severity: lint.Block, Item: "last", Pointer: "/p", Excerpt: "same"}})
	var out strings.Builder
	m.print(&out)
	if strings.Count(out.String(), "same") != 2 || !strings.Contains(out.String(), "note   150    ") || !strings.Contains(out.String(), "block  1      ") {
		t.Errorf("want a line for notes and one for the block:\n%s", out.String())
	}
}

// TestHostileText: what the files say reaches no terminal as it is, and not all of it.
func TestHostileText(t *testing.T) {
	evil := "\x1b[31m\u202e\u200b\n" + strings.Repeat("long", 100)
	m := measurement{
		skipped:  []string{evil},
		servers:  benignCount{files: 1, tools: 1},
		attacks:  []attackCount{{file: evil, cases: 1}},
		missed:   []missedAttack{{evil, evil, evil}},
		upgrades: []upgradeCount{{upgrade: upgrade{name: evil, from: evil, to: evil}, newBlocks: []lint.Finding{{Item: evil, Pointer: evil, Excerpt: evil}}}},
	}
	for i := range maxRows + 5 {
		m.hits = append(m.hits, hit{evil, lint.Finding{Item: evil, Pointer: fmt.Sprint(i, evil), Excerpt: evil}})
	}
	var out strings.Builder
	m.print(&out)
	if strings.ContainsAny(out.String(), "\x1b\u202e\u200b") {
		t.Errorf("not escaped:\n%q", out.String())
	}
	if !strings.Contains(out.String(), `\u{202E}`) || !strings.Contains(out.String(), "and 5 more\n") {
		t.Errorf("the text is gone, or its rest:\n%s", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 600 {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
}

// TestKept and TestBroken measure small folders of our own.
func TestKept(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"testdata/kept"}, &out, &errs); code != 0 {
		t.Errorf("code %d\n%s%s", code, out.String(), errs.String())
	}
	for _, want := range []string{
		"servers             1      2      0               0      0 (0.0%)",
		"texts that mislead  1      1      0               0      0 (0.0%)",
		"pairs     2      2 (100.0%)  2      0          0       2",
		"single    2      2 (100.0%)  2      0          0       -",
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	upgrades := map[string][]string{} // by version: the effects, and whether all of them are silent
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) == 9 && f[0] == "notebook" {
			upgrades[f[2]] = f[4:8]
		}
	}
	want := map[string][]string{"1.10.0": {"1", "1", "0", "no"}, "1.10.1": {"0", "0", "1", "yes"}}
	if diff := cmp.Diff(want, upgrades); diff != "" {
		t.Errorf("%s\n%s", diff, out.String())
	}
}

func TestBroken(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"testdata/broken"}, &out, &errs); code != 1 {
		t.Errorf("code %d\n%s%s", code, out.String(), errs.String())
	}
	if n := strings.Count(out.String(), "BROKEN\n"); n != 5 {
		t.Errorf("%d promises are broken, want all but those of the summary\n%s", n, out.String())
	}
	for _, want := range []string{"find_notes", "best_notes", "old-news    semantic", "single, case 2", "drift/README.md"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
