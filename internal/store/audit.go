package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// AuditFilter selects entries, the latest first. After is the ID of the last one that
// was read; Limit is at most 1,000, and that when it is 0.
type AuditFilter struct {
	Actor, Action string
	After         int64
	Limit         int
}

// Audit writes who did what to what.
func (t *Tx) Audit(ctx context.Context, e people.AuditEntry) error {
	_, err := t.exec(ctx, "insert into audit (at, actor, action, object, detail) values ($1, $2, $3, $4, $5)",
		ms(e.At), e.Actor, e.Action, e.Object, e.Detail)
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	return nil
}

// AuditLog reads what Audit wrote.
func (t *Tx) AuditLog(ctx context.Context, f AuditFilter) ([]people.AuditEntry, error) {
	var c conditions
	if f.Actor != "" {
		c.and("actor = ?", f.Actor)
	}
	if f.Action != "" {
		c.and("action = ?", f.Action)
	}
	if f.After != 0 {
		c.and("id < ?", f.After)
	}
	query := fmt.Sprintf("select id, at, actor, action, object, detail from audit%s order by id desc limit %d",
		c.where(), limited(f.Limit, 1000))
	var out []people.AuditEntry
	err := t.each(ctx, query, c.args, func(rows *sql.Rows) error {
		var e people.AuditEntry
		var at int64
		if err := rows.Scan(&e.ID, &at, &e.Actor, &e.Action, &e.Object, &e.Detail); err != nil {
			return err
		}
		e.At = fromMs(at)
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	return out, nil
}
