package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// totpPlace and challengePlace are what secrets are sealed for.
func totpPlace(account int64) string    { return fmt.Sprintf("accounts/%d/totp", account) }
func challengePlace(hash string) string { return "challenges/" + hash }

// TOTP is the secret of an account's code app, or people.ErrNotFound.
func (t *Tx) TOTP(ctx context.Context, account int64) ([]byte, error) {
	var sealed []byte
	if err := t.one(ctx, "select totp from accounts where id = $1", []any{account}, &sealed); err != nil {
		return nil, personal(err)
	}
	if len(sealed) == 0 {
		return nil, people.ErrNotFound
	}
	if t.store.sealer == nil {
		return nil, ErrNoKey
	}
	secret, err := t.store.sealer.Open(sealed, totpPlace(account))
	if err != nil {
		return nil, fmt.Errorf("read the code app of an account: %w", err)
	}
	return secret, nil
}

// SetTOTP stores the secret of an account's code app, sealed; nil removes it.
func (t *Tx) SetTOTP(ctx context.Context, account int64, secret []byte) error {
	var sealed any
	if secret != nil {
		if t.store.sealer == nil {
			return ErrNoKey
		}
		body, err := t.store.sealer.Seal(secret, totpPlace(account))
		if err != nil {
			return fmt.Errorf("store the code app of an account: %w", err)
		}
		sealed = body
	}
	n, err := t.exec(ctx, "update accounts set totp = $2 where id = $1", account, sealed)
	return updated(n, err)
}

func (t *Tx) passkeys(ctx context.Context, rest string, args ...any) ([]people.PasskeyRow, error) {
	var out []people.PasskeyRow
	err := t.each(ctx, "select id, account, credential, name, data, created_at, used_at from passkeys"+rest, args, func(rows *sql.Rows) error {
		var k people.PasskeyRow
		var created int64
		var used sql.NullInt64
		err := rows.Scan(&k.ID, &k.Account, &k.Credential, &k.Name, &k.Data, &created, &used)
		k.CreatedAt, k.UsedAt = fromMs(created), fromNullMs(used)
		out = append(out, k)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read passkeys: %w", err)
	}
	return out, nil
}

// Passkeys are those of an account, the oldest first.
func (t *Tx) Passkeys(ctx context.Context, account int64) ([]people.PasskeyRow, error) {
	return t.passkeys(ctx, " where account = $1 order by id", account)
}

// PasskeyByCredential finds a passkey, or gives people.ErrNotFound.
func (t *Tx) PasskeyByCredential(ctx context.Context, credential string) (people.PasskeyRow, error) {
	return person(t.passkeys(ctx, " where credential = $1", credential))
}

// PutPasskey inserts a passkey with ID 0, and sets its ID, or updates Data and UsedAt of
// the one with that ID. Errors: people.ErrExists for the credential, people.ErrNotFound.
func (t *Tx) PutPasskey(ctx context.Context, k *people.PasskeyRow) error {
	if k.ID == 0 {
		return inserted(t.one(ctx, `insert into passkeys (account, credential, name, data, created_at, used_at)
			values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning id`,
			[]any{k.Account, k.Credential, k.Name, k.Data, ms(k.CreatedAt), nullMs(k.UsedAt)}, &k.ID))
	}
	n, err := t.exec(ctx, "update passkeys set data = $2, used_at = $3 where id = $1", k.ID, k.Data, nullMs(k.UsedAt))
	return updated(n, err)
}

// DeletePasskey removes one.
func (t *Tx) DeletePasskey(ctx context.Context, id int64) error {
	if _, err := t.exec(ctx, "delete from passkeys where id = $1", id); err != nil {
		return fmt.Errorf("remove a passkey: %w", err)
	}
	return nil
}

// Challenge finds by the hash of the challenge, or gives people.ErrNotFound.
func (t *Tx) Challenge(ctx context.Context, hash string) (people.Challenge, error) {
	c := people.Challenge{Hash: hash}
	var sealed []byte
	var expires int64
	err := t.one(ctx, "select purpose, data, expires_at from challenges where hash = $1", []any{hash}, &c.Purpose, &sealed, &expires)
	if err != nil {
		return people.Challenge{}, personal(err)
	}
	if t.store.sealer == nil {
		return people.Challenge{}, ErrNoKey
	}
	if c.Data, err = t.store.sealer.Open(sealed, challengePlace(hash)); err != nil {
		return people.Challenge{}, fmt.Errorf("read a challenge: %w", err)
	}
	c.ExpiresAt = fromMs(expires)
	return c, nil
}

// PutChallenge stores one, its data sealed, in the place of one with the same hash.
func (t *Tx) PutChallenge(ctx context.Context, c people.Challenge) error {
	if t.store.sealer == nil {
		return ErrNoKey
	}
	sealed, err := t.store.sealer.Seal(c.Data, challengePlace(c.Hash))
	if err == nil {
		_, err = t.exec(ctx, `insert into challenges (hash, purpose, data, expires_at) values ($1, $2, $3, $4)
			on conflict (hash) do update set purpose = excluded.purpose, data = excluded.data, expires_at = excluded.expires_at`,
			c.Hash, c.Purpose, sealed, ms(c.ExpiresAt))
	}
	if err != nil {
		return fmt.Errorf("store a challenge: %w", err)
	}
	return nil
}

// DeleteChallenge removes one.
func (t *Tx) DeleteChallenge(ctx context.Context, hash string) error {
	if _, err := t.exec(ctx, "delete from challenges where hash = $1", hash); err != nil {
		return fmt.Errorf("remove a challenge: %w", err)
	}
	return nil
}

// DropChallenges removes those that expired before now and, of those with a purpose, all
// but the latest keep.
func (t *Tx) DropChallenges(ctx context.Context, purpose string, now time.Time, keep int) error {
	_, err := t.exec(ctx, "delete from challenges where expires_at < $1", ms(now))
	if err == nil {
		_, err = t.exec(ctx, `delete from challenges where purpose = $1 and hash not in
			(select hash from challenges where purpose = $1 order by expires_at desc, hash limit $2)`, purpose, keep)
	}
	if err != nil {
		return fmt.Errorf("remove old challenges: %w", err)
	}
	return nil
}

// personal is an error of package people for what is not there.
func personal(err error) error {
	if errors.Is(err, ErrNotFound) {
		return people.ErrNotFound
	}
	return fmt.Errorf("read the factors of an account: %w", err)
}
