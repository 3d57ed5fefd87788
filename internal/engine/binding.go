package engine

import (
	"context"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Binding is what a baseline of a monitor belongs to, as it is checked now.
func (e *Engine) Binding(ctx context.Context, m *watch.Monitor) (baseline.Binding, error) {
	known, err := e.roster.load(ctx, m.ID, e.now())
	if err != nil {
		return baseline.Binding{}, err
	}
	return baseline.BindingOf(e.targetOf(known), clientOf(e.o.Client)), nil
}
