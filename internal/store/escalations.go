package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// PutEscalation inserts or replaces the policy of that name. One of another source is
// an *OwnedError.
func (t *Tx) PutEscalation(ctx context.Context, e *watch.Escalation) error {
	body, err := encode(e)
	if err != nil {
		return err
	}
	var name string
	err = t.one(ctx, `insert into escalations (name, source, escalation) values ($1, $2, $3)
		on conflict (name) do update set escalation = excluded.escalation
		where escalations.source = excluded.source returning name`,
		[]any{e.Name, string(e.Source), body}, &name)
	if errors.Is(err, ErrNotFound) {
		return &OwnedError{Kind: "escalation", Name: e.Name, Owner: other(e.Source)}
	}
	if err != nil {
		return fmt.Errorf("store escalation %q: %w", e.Name, err)
	}
	return nil
}

func other(s watch.Source) watch.Source {
	if s == watch.FromFile {
		return watch.FromAPI
	}
	return watch.FromFile
}

func (t *Tx) escalations(ctx context.Context, rest string, args ...any) ([]watch.Escalation, error) {
	var out []watch.Escalation
	err := t.each(ctx, "select name, source, escalation from escalations"+rest, args, func(rows *sql.Rows) error {
		var name, source, body string
		if err := rows.Scan(&name, &source, &body); err != nil {
			return err
		}
		var e watch.Escalation
		if err := decode(body, &e); err != nil {
			return err
		}
		e.Name, e.Source = name, watch.Source(source)
		out = append(out, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read escalations: %w", err)
	}
	return out, nil
}

// Escalation is the policy of that name, or ErrNotFound.
func (t *Tx) Escalation(ctx context.Context, name string) (*watch.Escalation, error) {
	return single(t.escalations(ctx, " where name = $1", name))
}

// Escalations are all policies by name.
func (t *Tx) Escalations(ctx context.Context) ([]watch.Escalation, error) {
	return t.escalations(ctx, " order by name")
}

// DeleteEscalation removes a policy, or gives ErrNotFound.
func (t *Tx) DeleteEscalation(ctx context.Context, name string) error {
	return t.remove(ctx, "escalation", "delete from escalations where name = $1", name)
}
