package lint

import "github.com/mcpvigil/mcpvigil/surface"

// Scan reads every string of every item. Findings come in the order of the
// surface, then by pointer and rule.
func Scan(_ *surface.Surface, _ Options) []Finding { return nil }

// Rules returns every rule.
func Rules() []Rule { return nil }
