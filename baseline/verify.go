package baseline

import (
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Verify compares a surface, and what the lint found in it, with what was approved.
func Verify(_ *surface.Surface, _ []lint.Finding, _ *Baseline, _ surface.Policy) *Result {
	return &Result{}
}

// Observe verifies fresh listings of one server, oldest first, and says whether
// another is needed before the result counts.
func Observe(_ []*surface.Surface, _ *Baseline, _ surface.Policy, _ lint.Options) (r *Result, again bool) {
	return &Result{}, false
}

// BindingOf is what a baseline of t belongs to, seen as client.
func BindingOf(_ *target.Target, _ string) Binding { return Binding{} }
