package store

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// PutEscalation inserts or replaces the policy of that name. One of another source is
// an *OwnedError.
func (t *Tx) PutEscalation(ctx context.Context, e *watch.Escalation) error { return nil }

// Escalation is the policy of that name, or ErrNotFound.
func (t *Tx) Escalation(ctx context.Context, name string) (*watch.Escalation, error) { return nil, nil }

// Escalations are all policies by name.
func (t *Tx) Escalations(ctx context.Context) ([]watch.Escalation, error) { return nil, nil }

// DeleteEscalation removes a policy, or gives ErrNotFound.
func (t *Tx) DeleteEscalation(ctx context.Context, name string) error { return nil }
