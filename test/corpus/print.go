package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/lint"
)

// What is printed at most: all cells come from files that nobody has to trust.
const (
	maxRows = 200
	maxCell = 60  // runes
	maxText = 100 // runes, of excerpts
)

// promise is one that can be measured on this corpus.
type promise struct {
	text, measured string
	kept           bool
}

// kept reports whether no promise is broken.
func (m *measurement) kept() bool {
	for _, p := range m.promises() {
		if !p.kept {
			return false
		}
	}
	return true
}

// promises are those for which the corpus has something to measure.
func (m *measurement) promises() []promise {
	var list []promise
	if m.servers.files+m.madeUp.files > 0 {
		blocks := m.servers.blocks + m.madeUp.blocks
		list = append(list, promise{
			fmt.Sprintf("at most %d block finding on benign servers", maxBlocks), fmt.Sprint(blocks), blocks <= maxBlocks,
		})
	}
	if n := m.servers.tools; n > 0 {
		list = append(list, promise{
			fmt.Sprintf("at most %.0f%% of benign tools with a note", 100*maxNoted),
			percent(m.servers.noted, n), share(m.servers.noted, n) <= maxNoted,
		})
	}
	var single, pairs attackCount
	for _, a := range m.attacks {
		total := &single
		if a.pairs {
			total = &pairs
		}
		total.cases += a.cases
		total.block += a.block
		total.note += a.note
	}
	if single.cases > 0 {
		list = append(list, promise{
			fmt.Sprintf("at least %.0f%% of poisoned tools found", 100*minFound),
			percent(single.found(), single.cases), share(single.found(), single.cases) >= minFound,
		})
	}
	if pairs.cases > 0 {
		list = append(list, promise{
			fmt.Sprintf("at least %.0f%% of poisoned changes found", 100*minFoundPairs),
			percent(pairs.found(), pairs.cases), share(pairs.found(), pairs.cases) >= minFoundPairs,
		})
	}
	if len(m.upgrades) > 0 {
		newBlocks, lines, unnamed := 0, 0, 0
		for _, u := range m.upgrades {
			newBlocks += len(u.newBlocks)
			lines = max(lines, u.lines)
			unnamed += u.unnamed
		}
		list = append(list, promise{
			"no block finding added by an honest upgrade", fmt.Sprint(newBlocks), newBlocks <= maxNewBlocks,
		}, promise{
			fmt.Sprintf("at most %d lines about an upgrade", maxLines), fmt.Sprint(lines), lines <= maxLines,
		}, promise{
			"every kind of failing change named in them", fmt.Sprintf("%d not", unnamed), unnamed <= maxUnnamed,
		})
	}
	return list
}

func (a attackCount) found() int { return a.block + a.note }

func share(part, whole int) float64 { return float64(part) / float64(whole) }

func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*share(part, whole))
}

// print writes everything that was measured.
func (m *measurement) print(w io.Writer) {
	if m.servers.files+m.madeUp.files > 0 {
		m.printBenign(w)
	}
	if len(m.attacks) > 0 {
		m.printAttacks(w)
	}
	if len(m.upgrades) > 0 {
		m.printUpgrades(w)
	}
	t := newTable("promise", "measured", "")
	for _, p := range m.promises() {
		verdict := "kept"
		if !p.kept {
			verdict = "BROKEN"
		}
		t.row(p.text, p.measured, verdict)
	}
	t.print(w)
	if len(m.skipped) > 0 {
		t := newTable("skipped")
		for _, s := range m.skipped {
			t.row(plain.Line(s, 3*maxCell))
		}
		t.print(w)
	}
}

func (m *measurement) printBenign(w io.Writer) {
	t := newTable("benign", "files", "tools", "block findings", "notes", "tools with a note")
	for _, row := range []struct {
		name string
		benignCount
	}{{"servers", m.servers}, {"texts that mislead", m.madeUp}} {
		if row.files > 0 {
			t.row(row.name, row.files, row.tools, row.blocks, row.notes,
				fmt.Sprintf("%d (%s)", row.noted, percent(row.noted, row.tools)))
		}
	}
	t.print(w)
	t = newTable("false positive", "", "items", "", "rule", "pointer", "excerpt")
	for _, same := range groupHits(m.hits) {
		h := same[0]
		t.row(cell(h.server), h.Severity, len(same), item(h.Finding), h.Rule, cell(h.Pointer), plain.Line(h.Excerpt, maxText))
	}
	t.print(w)
}

// groupHits puts together what one rule finds at the same place of several items.
func groupHits(hits []hit) [][]hit {
	type key struct{ server, rule, pointer, excerpt string }
	at := map[key]int{}
	var groups [][]hit
	for _, h := range hits {
		k := key{h.server, h.Rule + string(h.Severity), h.Pointer, h.Excerpt}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], h)
	}
	return groups
}

func (m *measurement) printAttacks(w io.Writer) {
	t := newTable("poisoned", "cases", "found", "block", "note only", "missed", "no finding before")
	for _, a := range m.attacks {
		clean := "-"
		if a.pairs {
			clean = fmt.Sprint(a.clean)
		}
		t.row(cell(a.file), a.cases, fmt.Sprintf("%d (%s)", a.found(), percent(a.found(), a.cases)),
			a.block, a.note, a.cases-a.found(), clean)
	}
	t.print(w)
	t = newTable("missed", "case", "kind")
	for _, a := range m.missed {
		t.row(cell(a.file), cell(a.name), cell(a.kind))
	}
	t.print(w)
}

func (m *measurement) printUpgrades(w io.Writer) {
	t := newTable("upgrade", "from", "to", "lines", "fail", "event", "silent", "only silent", "new blocks")
	for _, u := range m.upgrades {
		silent := "no"
		if u.onlySilent() {
			silent = "yes"
		}
		t.row(cell(u.name), cell(u.from), cell(u.to), u.lines, u.fail, u.event, u.silent, silent, len(u.newBlocks))
	}
	t.print(w)
	t = newTable("new block", "item", "rule", "pointer", "excerpt")
	for _, u := range m.upgrades {
		for _, f := range u.newBlocks {
			t.row(cell(u.name)+" "+cell(u.to), item(f), f.Rule, cell(f.Pointer), plain.Line(f.Excerpt, maxText))
		}
	}
	t.print(w)
}

// item names what a finding is in.
func item(f lint.Finding) string {
	return cmp.Or(strings.TrimSpace(string(f.Kind)+" "+cell(f.Item)), "whole surface")
}

// cell makes a text of the corpus fit for a column.
func cell(s string) string { return plain.Line(s, maxCell) }

// table is printed with its columns aligned, or not at all when it has no rows.
type table struct {
	head []string
	rows [][]string
	more int
}

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) row(cells ...any) {
	if len(t.rows) == maxRows {
		t.more++
		return
	}
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) print(w io.Writer) {
	if len(t.rows) == 0 {
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	_ = tw.Flush() // w keeps its error, which run looks at
	if t.more > 0 {
		fmt.Fprintf(w, "and %d more\n", t.more)
	}
	fmt.Fprintln(w)
}
