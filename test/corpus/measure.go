package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

// The promises. A change of the rules that breaks one is not fit for release.
const (
	maxBlocks     = 1    // block findings on all benign servers together
	maxNoted      = 0.01 // share of benign tools with a note
	minFound      = 0.85 // share of poisoned tools that are found
	minFoundPairs = 0.90 // the same, where the honest tool is known
	maxNewBlocks  = 0    // block findings that honest upgrades add
	maxLines      = 24   // of the summary of an upgrade: one screen
	maxUnnamed    = 0    // classes of failing changes that such a summary leaves out
)

// measurement is what the product says about a corpus.
type measurement struct {
	skipped []string

	servers, madeUp benignCount
	hits            []hit // on benign servers

	attacks []attackCount // by file and shape
	missed  []missedAttack

	upgrades []upgradeCount
}

// benignCount is what the lint says about honest texts.
type benignCount struct {
	files, tools, blocks, notes int
	noted                       int // tools with a note
}

// hit is a finding in an honest text: a false positive.
type hit struct {
	server string
	lint.Finding
}

// attackCount says how many attacks the lint finds. A finding that was there
// before the attack does not count.
type attackCount struct {
	file        string
	pairs       bool
	cases       int
	block, note int // the strongest finding
	clean       int // pairs of which the honest tool has no finding
}

type missedAttack struct {
	file, name, kind string
}

// upgradeCount is what a person reads about an honest upgrade.
type upgradeCount struct {
	upgrade
	lines               int // of the summary
	unnamed             int // classes of failing changes that it does not name
	fail, event, silent int // groups of changes
	newBlocks           []lint.Finding
}

// onlySilent reports whether there are changes, none of which anybody is told of.
func (u upgradeCount) onlySilent() bool { return u.silent > 0 && u.fail+u.event == 0 }

func measure(c *corpus) *measurement {
	m := &measurement{skipped: c.skipped}
	for _, s := range c.benign {
		m.addServer(s)
	}
	for _, file := range c.attacks {
		m.addAttacks(file, false)
		m.addAttacks(file, true)
	}
	for _, u := range c.drift {
		m.upgrades = append(m.upgrades, measureUpgrade(u))
	}
	return m
}

func (m *measurement) addServer(s server) {
	count := &m.servers
	if s.madeUp {
		count = &m.madeUp
	}
	count.files++
	count.tools += len(s.surface.Of(surface.Tool))
	noted := map[string]bool{}
	for _, f := range lint.Scan(s.surface, lint.Options{}) {
		m.hits = append(m.hits, hit{s.name, f})
		if f.Severity == lint.Block {
			count.blocks++
			continue
		}
		count.notes++
		if f.Kind == surface.Tool {
			noted[f.Item] = true
		}
	}
	count.noted += len(noted)
}

// addAttacks adds the attacks of one shape.
func (m *measurement) addAttacks(file attackFile, pairs bool) {
	count := attackCount{file: file.name, pairs: pairs}
	for _, a := range file.attacks {
		if (a.before != nil) != pairs {
			continue
		}
		count.cases++
		var before []lint.Finding
		if pairs {
			before = lint.Scan(a.before, lint.Options{})
			if len(before) == 0 {
				count.clean++
			}
		}
		switch found := added(before, lint.Scan(a.after, lint.Options{})); {
		case slices.ContainsFunc(found, isBlock):
			count.block++
		case len(found) > 0:
			count.note++
		default:
			m.missed = append(m.missed, missedAttack{file.name, a.name, a.kind})
		}
	}
	if count.cases > 0 {
		m.attacks = append(m.attacks, count)
	}
}

// measureUpgrade verifies the newer surface against the older one, as if somebody
// had approved that.
func measureUpgrade(u upgrade) upgradeCount {
	count := upgradeCount{upgrade: u}
	approved := &baseline.Baseline{Name: u.name, Surface: u.before, Ruleset: lint.Ruleset}
	result := baseline.Verify(u.after, approved, surface.Policy{}, lint.Options{})
	for _, g := range surface.Group(result.Changes) {
		switch g.Effect {
		case surface.Fail:
			count.fail++
		case surface.Event:
			count.event++
		case surface.Silent:
			count.silent++
		}
	}
	for _, f := range result.Findings {
		if f.New && isBlock(f.Finding) {
			count.newBlocks = append(count.newBlocks, f.Finding)
		}
	}
	page := summary(u, result)
	count.lines, count.unnamed = bytes.Count(page, []byte("\n")), unnamed(result.Changes, page)
	return count
}

// unnamed counts the classes of failing changes that a page does not name: it is made
// to fit, so that it fits says nothing by itself.
func unnamed(changes []surface.Change, page []byte) int {
	words := strings.FieldsFunc(string(page), func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	missing := map[surface.Class]bool{}
	for _, c := range changes {
		if c.Effect == surface.Fail && !slices.Contains(words, string(c.Class)) {
			missing[c.Class] = true
		}
	}
	return len(missing)
}

// summary is what a person reads about an upgrade.
func summary(u upgrade, result *baseline.Result) []byte {
	v := &render.Verification{Before: u.name + " " + u.from, Source: u.name + " " + u.to, Result: *result}
	var page bytes.Buffer
	if err := render.Drift(&page, render.Human, "diff", []*render.Verification{v}, render.Options{}); err != nil {
		panic(err) // a buffer takes everything, and the format exists
	}
	return page.Bytes()
}

// added are the findings of after that are not among those of before.
func added(before, after []lint.Finding) []lint.Finding {
	known := map[string]bool{}
	for _, f := range before {
		known[f.ID] = true
	}
	return slices.DeleteFunc(after, func(f lint.Finding) bool { return known[f.ID] })
}

func isBlock(f lint.Finding) bool { return f.Severity == lint.Block }
