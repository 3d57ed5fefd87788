package people

import (
	"context"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	keyPrefix = "mvk_"
	keyLength = len(keyPrefix) + 43 // base64url of 32 bytes

	// DefaultKeyLife is how long a key lasts that is made without an end.
	DefaultKeyLife = 90 * 24 * time.Hour
	// MaxKeyLife is how long a key may last.
	MaxKeyLife = 2 * 365 * 24 * time.Hour
)

// CreateKey makes an API key and gives its text, which is not kept. A person has to do
// it, an admin, and show an own factor again: a program makes no credentials, and a
// session that somebody has taken makes none that outlives it. A zero expires means 90
// days. Errors: those of Prove, ErrExists.
func (p *People) CreateKey(ctx context.Context, s *Session, f Factor, name string, role Role, expires time.Time) (string, Key, error) {
	k, err := newKey(name, role, expires, p.now())
	if err != nil {
		return "", Key{}, err
	}
	consent, err := p.confirm(ctx, s, f, Administer)
	if err != nil {
		return "", Key{}, err
	}
	text := keyPrefix + secret()
	k.Hash = hashOf(text)
	err = consent.run(ctx, func(c *change) error {
		all, err := c.tx.Keys(ctx)
		if err != nil {
			return err
		}
		if len(all) >= maxKeys {
			return &InputError{"name", "is one too many: there are 1000 keys"}
		}
		k.ID, k.CreatedBy = 0, personOf(c.by) // this may run again
		if err := c.tx.PutKey(ctx, &k); err != nil {
			return err
		}
		return c.audit(ctx, "key.create", programOf(k), "role "+string(role)+", until "+k.ExpiresAt.Format(time.DateOnly))
	})
	if err != nil {
		return "", Key{}, err
	}
	return text, k, nil
}

func newKey(name string, role Role, expires, now time.Time) (Key, error) {
	name, err := nameOf(name)
	if err != nil {
		return Key{}, err
	}
	if role != Viewer && role != Editor && role != Admin {
		return Key{}, &InputError{"role", "has to be viewer, editor or admin: what approves is a person"}
	}
	if expires.IsZero() {
		expires = now.Add(DefaultKeyLife)
	}
	expires = expires.UTC().Truncate(time.Millisecond)
	if !expires.After(now) || expires.Sub(now) > MaxKeyLife {
		return Key{}, &InputError{"expires_at", "has to be in the future, and within two years"}
	}
	return Key{Name: name, Role: role, CreatedAt: now, ExpiresAt: expires}, nil
}

// AuthenticateKey finds the program of a key. Errors: ErrUnauthenticated.
func (p *People) AuthenticateKey(ctx context.Context, key string) (Actor, error) {
	if len(key) != keyLength || !strings.HasPrefix(key, keyPrefix) {
		return Actor{}, ErrUnauthenticated
	}
	now := p.now()
	var k Key
	err := p.storage.View(ctx, func(tx Tx) (err error) {
		k, err = tx.KeyByHash(ctx, hashOf(key))
		return unauthenticated(err)
	})
	if err != nil {
		return Actor{}, err
	}
	if !k.RevokedAt.IsZero() || !now.Before(k.ExpiresAt) {
		return Actor{}, ErrUnauthenticated
	}
	if now.Sub(k.UsedAt) >= seenEvery {
		p.touch(ctx, func(ctx context.Context, tx Tx) error { return tx.TouchKey(ctx, k.ID, now) })
	}
	return Actor{name: programOf(k), role: k.Role}, nil
}

// Keys are all keys, by name, for who may administer.
func (p *People) Keys(ctx context.Context, by Actor) (list []Key, err error) {
	if !by.Can(Administer) {
		return nil, ErrForbidden
	}
	err = p.storage.View(ctx, func(tx Tx) error {
		list, err = tx.Keys(ctx)
		return err
	})
	return list, err
}

// RevokeKey ends a key, whose name stays taken. Errors: ErrForbidden, ErrNotFound.
func (p *People) RevokeKey(ctx context.Context, by Actor, id int64) error {
	if !by.Can(Administer) {
		return ErrForbidden
	}
	return p.storage.Change(ctx, func(tx Tx) error {
		k, err := tx.Key(ctx, id)
		if err != nil {
			return err
		}
		if !k.RevokedAt.IsZero() {
			return nil
		}
		k.RevokedAt = p.now()
		if err := tx.PutKey(ctx, &k); err != nil {
			return err
		}
		return audit(ctx, tx, k.RevokedAt, by.Name(), "key.revoke", programOf(k), "made by "+plain.Line(k.CreatedBy, maxShown))
	})
}
