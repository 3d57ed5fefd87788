package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// auditLock is the advisory lock on PostgreSQL of who adds to the audit or drops from it.
const auditLock = 0x6d6376_61756474

// auditAnchor is the setting with id and hash of the last entry that was dropped.
const auditAnchor = "audit_anchor"

// AuditFilter selects entries, the latest first. After is the ID of the last one that
// was read; Limit is at most 1,000, and that when it is 0.
type AuditFilter struct {
	Actor, Action string
	After         int64
	Limit         int
}

// Audit notes who did what to what. It is written at the end of the transaction, whose
// only wait then is the one for others who write the audit: so nobody waits for a
// transaction that waits for something else.
func (t *Tx) Audit(_ context.Context, e people.AuditEntry) error {
	if t.reads {
		return errors.New("write the audit: the transaction only reads")
	}
	for _, text := range []*string{&e.Actor, &e.Action, &e.Object, &e.Detail} {
		// What is read again has to be what was hashed.
		*text = strings.ReplaceAll(strings.ToValidUTF8(*text, "\ufffd"), "\x00", "\ufffd")
	}
	t.audits = append(t.audits, e)
	return nil
}

// writeAudit adds the entries of the transaction to the chain.
func (t *Tx) writeAudit(ctx context.Context) error {
	if len(t.audits) == 0 {
		return nil
	}
	if err := t.lockAudit(ctx); err != nil {
		return err
	}
	id, hash, err := t.auditEnd(ctx)
	for _, e := range t.audits {
		if err != nil {
			break
		}
		id++
		e.ID, e.At = id, fromMs(ms(e.At))
		hash = e.Chain(hash)
		_, err = t.exec(ctx, "insert into audit (id, at, actor, action, object, detail, hash) values ($1, $2, $3, $4, $5, $6, $7)",
			e.ID, ms(e.At), e.Actor, e.Action, e.Object, e.Detail, hash)
	}
	if err != nil {
		return fmt.Errorf("write the audit: %w", err)
	}
	t.audits = nil
	return nil
}

func (t *Tx) lockAudit(ctx context.Context) error {
	if !t.postgres() {
		return nil
	}
	if _, err := t.exec(ctx, "select pg_advisory_xact_lock($1)", int64(auditLock)); err != nil {
		return fmt.Errorf("wait for others who write the audit: %w", err)
	}
	return nil
}

// auditEnd is id and hash of the last entry, or of the last one that was dropped.
func (t *Tx) auditEnd(ctx context.Context) (id int64, hash string, err error) {
	err = t.one(ctx, "select id, hash from audit order by id desc limit 1", nil, &id, &hash)
	if errors.Is(err, ErrNotFound) {
		return t.anchor(ctx)
	}
	return id, hash, err
}

// anchor is id and hash of the last entry that was dropped, or nothing.
func (t *Tx) anchor(ctx context.Context) (id int64, hash string, err error) {
	text, err := t.Setting(ctx, auditAnchor)
	if err != nil || text == "" {
		return 0, "", err
	}
	number, hash, _ := strings.Cut(text, " ")
	if id, err = strconv.ParseInt(number, 10, 64); err != nil {
		return 0, "", fmt.Errorf("read the setting %s: %w", auditAnchor, err)
	}
	return id, hash, nil
}

// AuditLog reads what Audit wrote, that of this transaction included.
func (t *Tx) AuditLog(ctx context.Context, f AuditFilter) ([]people.AuditEntry, error) {
	if err := t.writeAudit(ctx); err != nil {
		return nil, err
	}
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
	return t.auditEntries(ctx, fmt.Sprintf("%s order by id desc limit %d", c.where(), limited(f.Limit, 1000)), c.args...)
}

func (t *Tx) auditEntries(ctx context.Context, rest string, args ...any) ([]people.AuditEntry, error) {
	var out []people.AuditEntry
	err := t.each(ctx, "select id, at, actor, action, object, detail, hash from audit"+rest, args, func(rows *sql.Rows) error {
		var e people.AuditEntry
		var at int64
		if err := rows.Scan(&e.ID, &at, &e.Actor, &e.Action, &e.Object, &e.Detail, &e.Hash); err != nil {
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

// AuditTrail is the whole audit, the oldest first, as it is read, and the hash of the
// entry before its first one.
func (t *Tx) AuditTrail(ctx context.Context) (previous string, entries iter.Seq2[people.AuditEntry, error], err error) {
	if _, previous, err = t.anchor(ctx); err != nil {
		return "", nil, err
	}
	const some = 1000
	return previous, func(yield func(people.AuditEntry, error) bool) {
		for after := int64(-1 << 62); ; {
			part, err := t.auditEntries(ctx, fmt.Sprintf(" where id > $1 order by id limit %d", some), after)
			if err != nil {
				yield(people.AuditEntry{}, err)
				return
			}
			for _, e := range part {
				if !yield(e, nil) {
					return
				}
				after = e.ID
			}
			if len(part) < some {
				return
			}
		}
	}, nil
}

// dropAudit drops the oldest entries, up to the first that is not before a time, and
// keeps the hash of the last one of them.
func (s *Store) dropAudit(ctx context.Context, before int64, dropped *int64) error {
	for {
		var n int64
		err := s.patiently(ctx, func(t *Tx) (err error) {
			n, err = t.dropAudit(ctx, before)
			return err
		})
		if err != nil {
			return fmt.Errorf("drop old entries of the audit: %w", err)
		}
		*dropped += n
		if n < retainRows {
			return nil
		}
	}
}

func (t *Tx) dropAudit(ctx context.Context, before int64) (int64, error) {
	if err := t.lockAudit(ctx); err != nil {
		return 0, err
	}
	var id int64
	var hash string
	err := t.one(ctx, fmt.Sprintf(`select id, hash from (select id, hash from audit
		where id < coalesce((select min(id) from audit where at >= $1), %d) order by id limit %d) as old order by id desc limit 1`, int64(1)<<62, retainRows),
		[]any{before}, &id, &hash)
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := t.SetSetting(ctx, auditAnchor, strings.TrimSpace(strconv.FormatInt(id, 10)+" "+hash)); err != nil {
		return 0, err
	}
	return t.exec(ctx, "delete from audit where id <= $1", id)
}
