package render

import (
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/surface"
)

// instructionLines is what the instructions of a new server take at most, unless all
// is asked for.
const instructionLines = 5

// introduction writes what a server that nothing was approved of offers, in room
// lines: how much, and what it tells models.
func (p *page) introduction(v *Verification, room int) {
	counts := map[surface.Kind]int{}
	instructions := ""
	var items []*surface.Change
	for i := range v.Result.Changes {
		c := &v.Result.Changes[i]
		switch {
		case c.Class == surface.InstructionsChanged:
			instructions = runs(shown(textOf(c.After), maxLine))
		case spokenRank(c) == rankNew:
			counts[c.Kind]++
			items = append(items, c)
		}
	}
	parts := []string{v.label()}
	for _, k := range []surface.Kind{surface.Tool, surface.Prompt, surface.Resource, surface.ResourceTemplate} {
		if n := counts[k]; n > 0 {
			parts = append(parts, plural(n, kindNoun(k)))
		}
	}
	if instructions != "" {
		parts = append(parts, "instructions")
	}
	if slices.ContainsFunc(v.Result.Changes, func(c surface.Change) bool { return c.Kind == surface.Auth }) {
		parts = append(parts, "login")
	}
	p.printf("  new: %s\n", cut(strings.Join(parts, ", "), screenColumns-7))
	room--
	if instructions != "" {
		lines := wrap("instructions: "+instructions, screenColumns-6)
		if n := min(instructionLines, room); len(lines) > n {
			lines = lines[:n]
			lines[n-1] = cut(lines[n-1]+" …", screenColumns-6)
		}
		for i, l := range lines {
			p.printf("    %s%s\n", strings.Repeat("  ", min(i, 1)), l)
		}
		room -= len(lines)
	}
	shown := items
	if len(items) > room {
		shown = items[:max(room-1, 0)]
	}
	for _, c := range shown {
		said := ""
		if text := spoken(c.After); text != nil {
			said = ": " + firstLine(textOf(text))
		}
		p.printf("    %s\n", cut(kindNoun(c.Kind)+" "+listed(c.Item)+said, screenColumns-4))
	}
	if n := len(items) - len(shown); n > 0 {
		p.printf("  and %d more; --verbose shows everything\n", n)
	}
}
