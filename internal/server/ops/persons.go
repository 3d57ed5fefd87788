package ops

import (
	"context"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
)

// ResetFactors removes code app, recovery codes and passkeys of an account, for who has
// lost them, and ends its sessions.
func (o *Ops) ResetFactors(ctx context.Context, actor people.Actor, id int64, p Proof) error {
	session, err := person(actor, people.Administer)
	if err != nil {
		return err
	}
	if unshown(session, p) {
		return proofRequired("to change an account")
	}
	return Personal(o.people.ResetFactors(ctx, session, p.Shown(), id))
}

// EndSessions ends all sessions of an account.
func (o *Ops) EndSessions(ctx context.Context, actor people.Actor, id int64) error {
	if err := may(actor, people.Administer); err != nil {
		return err
	}
	return Personal(o.people.RevokeAccountSessions(ctx, actor, id))
}

// CheckAudit looks whether entries of the audit were changed, added or removed. It reads
// all of them.
func (o *Ops) CheckAudit(ctx context.Context, actor people.Actor) (c people.AuditCheck, err error) {
	if err := may(actor, people.Administer); err != nil {
		return c, err
	}
	err = o.view(ctx, "audit", func(t *store.Tx) error {
		previous, entries, err := t.AuditTrail(ctx)
		if err == nil {
			c, err = people.VerifyAudit(previous, entries)
		}
		return err
	})
	return c, err
}
