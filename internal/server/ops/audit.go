package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// AuditLog is who did what, the latest first.
func (o *Ops) AuditLog(ctx context.Context, actor people.Actor, f store.AuditFilter) (Page[people.AuditEntry], error) {
	if err := may(actor, people.Administer); err != nil {
		return Page[people.AuditEntry]{}, err
	}
	return list(ctx, o, actor, "entry", func(t *store.Tx) ([]people.AuditEntry, string, error) {
		limit := f.Limit
		f.Limit++ // one more tells whether there is a page after this one
		entries, err := t.AuditLog(ctx, f)
		if len(entries) <= limit {
			return entries, "", err
		}
		entries = entries[:limit]
		return entries, cursor(entries[limit-1].ID), err
	})
}

// AuditLine is an entry of the audit with the hash of the one before it.
type AuditLine struct {
	people.AuditEntry
	Previous string `json:"previous"`
}

// AuditExport writes the whole audit, the oldest entry first, each as JSON in a line of
// its own, with the hash of the one before it.
func (o *Ops) AuditExport(ctx context.Context, actor people.Actor, w io.Writer) error {
	if err := may(actor, people.Administer); err != nil {
		return err
	}
	return o.view(ctx, "audit", func(t *store.Tx) error {
		previous, entries, err := t.AuditTrail(ctx)
		if err != nil {
			return err
		}
		lines := json.NewEncoder(w)
		for e, err := range entries {
			if err == nil {
				err = lines.Encode(AuditLine{AuditEntry: e, Previous: previous})
			}
			if err != nil {
				return fmt.Errorf("export the audit: %w", err)
			}
			previous = e.Hash
		}
		return nil
	})
}
