package store

import (
	"context"
	"time"
)

// AuditEntry is one thing that somebody did.
type AuditEntry struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Action string    `json:"action"`
	Object string    `json:"object,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// AuditFilter selects entries, the latest first. After is the ID of the last one that
// was read; Limit is at most 1,000 and 100 when it is 0.
type AuditFilter struct {
	Actor, Action string
	After         int64
	Limit         int
}

// Audit writes one entry.
func (t *Tx) Audit(ctx context.Context, e AuditEntry) error { return nil }

// AuditLog reads entries.
func (t *Tx) AuditLog(ctx context.Context, f AuditFilter) ([]AuditEntry, error) { return nil, nil }
