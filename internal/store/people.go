package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// peopleLock is the advisory lock that changes of accounts take on PostgreSQL.
const peopleLock = 0x6d6376_70656f70

// People is the storage of accounts, sessions and keys.
func (s *Store) People() people.Storage { return accounts{s} }

type accounts struct{ store *Store }

// View is people.Storage's.
func (a accounts) View(ctx context.Context, f func(people.Tx) error) error {
	return a.store.View(ctx, func(t *Tx) error { return f(t) })
}

// Change is people.Storage's.
func (a accounts) Change(ctx context.Context, f func(people.Tx) error) error {
	return a.store.InTx(ctx, func(t *Tx) error {
		if t.postgres() {
			if _, err := t.exec(ctx, "select pg_advisory_xact_lock($1)", int64(peopleLock)); err != nil {
				return fmt.Errorf("wait for other changes of accounts: %w", err)
			}
		}
		return f(t)
	})
}

// person is single with the errors of package people.
func person[T any](rows []T, err error) (T, error) {
	var none T
	if err != nil {
		return none, err
	}
	if len(rows) == 0 {
		return none, people.ErrNotFound
	}
	return rows[0], nil
}

func (t *Tx) accounts(ctx context.Context, rest string, args ...any) ([]people.Account, error) {
	var out []people.Account
	query := `select id, name, role, password, disabled, created_at, updated_at, totp is not null, totp_step, recovery, subject,
		(select count(*) from passkeys where account = accounts.id) from accounts` + rest
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var a people.Account
		var created, updated int64
		var recovery string
		var subject sql.NullString
		err := rows.Scan(&a.ID, &a.Name, &a.Role, &a.Password, &a.Disabled, &created, &updated, &a.TOTP, &a.TOTPStep, &recovery, &subject, &a.Passkeys)
		a.CreatedAt, a.UpdatedAt, a.Subject = fromMs(created), fromMs(updated), subject.String
		if recovery != "" {
			a.Recovery = strings.Fields(recovery)
		}
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	return out, nil
}

// Accounts are all accounts by name.
func (t *Tx) Accounts(ctx context.Context) ([]people.Account, error) {
	return t.accounts(ctx, " order by name")
}

// Account is one account, or people.ErrNotFound.
func (t *Tx) Account(ctx context.Context, id int64) (people.Account, error) {
	return person(t.accounts(ctx, " where id = $1", id))
}

// AccountByName is one account, or people.ErrNotFound.
func (t *Tx) AccountByName(ctx context.Context, name string) (people.Account, error) {
	return person(t.accounts(ctx, " where name = $1", name))
}

// AccountBySubject is the account of an OpenID person, or people.ErrNotFound.
func (t *Tx) AccountBySubject(ctx context.Context, subject string) (people.Account, error) {
	return person(t.accounts(ctx, " where subject = $1", subject))
}

// PutAccount inserts an account with ID 0, and sets its ID, or updates the one with that
// ID. Errors: people.ErrExists for the name, people.ErrNotFound.
func (t *Tx) PutAccount(ctx context.Context, a *people.Account) error {
	recovery, subject := strings.Join(a.Recovery, " "), sql.NullString{String: a.Subject, Valid: a.Subject != ""}
	if a.ID == 0 {
		return inserted(t.one(ctx, `insert into accounts (name, role, password, disabled, created_at, updated_at, totp_step, recovery, subject)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning id`,
			[]any{a.Name, string(a.Role), a.Password, a.Disabled, ms(a.CreatedAt), ms(a.UpdatedAt), a.TOTPStep, recovery, subject}, &a.ID))
	}
	if err := t.nameFree(ctx, "accounts", a.Name, a.ID); err != nil {
		return taken(err)
	}
	n, err := t.exec(ctx, `update accounts set name = $2, role = $3, password = $4, disabled = $5, updated_at = $6,
		totp_step = $7, recovery = $8, subject = $9 where id = $1`,
		a.ID, a.Name, string(a.Role), a.Password, a.Disabled, ms(a.UpdatedAt), a.TOTPStep, recovery, subject)
	return updated(n, err)
}

// inserted turns no row of an insert that does nothing on a conflict into people.ErrExists.
func inserted(err error) error {
	if errors.Is(err, ErrNotFound) {
		return people.ErrExists
	}
	return taken(err)
}

func taken(err error) error {
	var exists *ExistsError
	if errors.As(err, &exists) {
		return people.ErrExists
	}
	if err != nil {
		return fmt.Errorf("store an account or a key: %w", err)
	}
	return nil
}

func updated(n int64, err error) error {
	if err == nil && n == 0 {
		return people.ErrNotFound
	}
	return taken(err)
}

func (t *Tx) sessions(ctx context.Context, rest string, args ...any) ([]people.SessionRow, error) {
	var out []people.SessionRow
	query := "select token, account, created_at, seen_at, expires_at, address, agent from sessions" + rest
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var s people.SessionRow
		var created, seen, expires int64
		err := rows.Scan(&s.Token, &s.Account, &created, &seen, &expires, &s.Address, &s.Agent)
		s.CreatedAt, s.SeenAt, s.ExpiresAt = fromMs(created), fromMs(seen), fromMs(expires)
		out = append(out, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	return out, nil
}

// Session finds by the hash of the token, or gives people.ErrNotFound.
func (t *Tx) Session(ctx context.Context, hash string) (people.SessionRow, error) {
	return person(t.sessions(ctx, " where token = $1", hash))
}

// Sessions are those of an account, the newest first.
func (t *Tx) Sessions(ctx context.Context, account int64) ([]people.SessionRow, error) {
	return t.sessions(ctx, " where account = $1 order by created_at desc, token", account)
}

// InsertSession stores a new session.
func (t *Tx) InsertSession(ctx context.Context, s people.SessionRow) error {
	return t.changeSessions(ctx, `insert into sessions (token, account, created_at, seen_at, expires_at, address, agent)
		values ($1, $2, $3, $4, $5, $6, $7)`,
		s.Token, s.Account, ms(s.CreatedAt), ms(s.SeenAt), ms(s.ExpiresAt), s.Address, s.Agent)
}

// TouchSession sets SeenAt.
func (t *Tx) TouchSession(ctx context.Context, hash string, at time.Time) error {
	return t.changeSessions(ctx, "update sessions set seen_at = $2 where token = $1", hash, ms(at))
}

// DeleteSession ends one.
func (t *Tx) DeleteSession(ctx context.Context, hash string) error {
	return t.changeSessions(ctx, "delete from sessions where token = $1", hash)
}

// DeleteSessions ends those of an account, but for that with the hash except.
func (t *Tx) DeleteSessions(ctx context.Context, account int64, except string) error {
	return t.changeSessions(ctx, "delete from sessions where account = $1 and token <> $2", account, except)
}

// DeleteOldSessions ends those that were last seen before seen or expire before now.
func (t *Tx) DeleteOldSessions(ctx context.Context, seen, now time.Time) error {
	return t.changeSessions(ctx, "delete from sessions where seen_at < $1 or expires_at < $2", ms(seen), ms(now))
}

func (t *Tx) changeSessions(ctx context.Context, query string, args ...any) error {
	if _, err := t.exec(ctx, query, args...); err != nil {
		return fmt.Errorf("change sessions: %w", err)
	}
	return nil
}

func (t *Tx) keys(ctx context.Context, rest string, args ...any) ([]people.Key, error) {
	var out []people.Key
	query := "select id, name, hash, role, created_by, created_at, expires_at, revoked_at, used_at from api_keys" + rest
	err := t.each(ctx, query, args, func(rows *sql.Rows) error {
		var k people.Key
		var created int64
		var expires, revoked, used sql.NullInt64
		err := rows.Scan(&k.ID, &k.Name, &k.Hash, &k.Role, &k.CreatedBy, &created, &expires, &revoked, &used)
		k.CreatedAt, k.ExpiresAt = fromMs(created), fromNullMs(expires)
		k.RevokedAt, k.UsedAt = fromNullMs(revoked), fromNullMs(used)
		out = append(out, k)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return out, nil
}

// Keys are all keys by name.
func (t *Tx) Keys(ctx context.Context) ([]people.Key, error) { return t.keys(ctx, " order by name") }

// Key is one key, or people.ErrNotFound.
func (t *Tx) Key(ctx context.Context, id int64) (people.Key, error) {
	return person(t.keys(ctx, " where id = $1", id))
}

// KeyByHash finds a key, or gives people.ErrNotFound.
func (t *Tx) KeyByHash(ctx context.Context, hash string) (people.Key, error) {
	return person(t.keys(ctx, " where hash = $1", hash))
}

// PutKey inserts a key with ID 0, and sets its ID, or updates the one with that ID.
// Errors: people.ErrExists for the name or the hash, people.ErrNotFound.
func (t *Tx) PutKey(ctx context.Context, k *people.Key) error {
	if k.ID == 0 {
		return inserted(t.one(ctx, `insert into api_keys (name, hash, role, created_by, created_at, expires_at, revoked_at, used_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning id`,
			[]any{k.Name, k.Hash, string(k.Role), k.CreatedBy, ms(k.CreatedAt), nullMs(k.ExpiresAt), nullMs(k.RevokedAt), nullMs(k.UsedAt)}, &k.ID))
	}
	if err := t.nameFree(ctx, "api_keys", k.Name, k.ID); err != nil {
		return taken(err)
	}
	n, err := t.exec(ctx, "update api_keys set name = $2, role = $3, expires_at = $4, revoked_at = $5 where id = $1",
		k.ID, k.Name, string(k.Role), nullMs(k.ExpiresAt), nullMs(k.RevokedAt))
	return updated(n, err)
}

// TouchKey sets UsedAt.
func (t *Tx) TouchKey(ctx context.Context, id int64, at time.Time) error {
	n, err := t.exec(ctx, "update api_keys set used_at = $2 where id = $1", id, ms(at))
	return updated(n, err)
}
