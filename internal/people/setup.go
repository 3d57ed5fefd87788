package people

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
)

const (
	setupSetting   = "setup_tokens" // hashes, with spaces between them
	maxSetupTokens = 8
)

// SetupToken gives the token that makes the first account, needed while there is none.
// Only its hash is kept, so that each start makes a new one; those of the last eight
// starts count, as several processes may have been started on one database.
func (p *People) SetupToken(ctx context.Context) (token string, needed bool, err error) {
	made := secret()
	err = p.storage.Change(ctx, func(tx Tx) error {
		accounts, err := tx.Accounts(ctx)
		if err != nil || len(accounts) > 0 {
			return err
		}
		before, err := tx.Setting(ctx, setupSetting)
		if err != nil {
			return err
		}
		hashes := append(strings.Fields(before), hashOf(made))
		hashes = hashes[max(0, len(hashes)-maxSetupTokens):]
		token, needed = made, true
		return tx.SetSetting(ctx, setupSetting, strings.Join(hashes, " "))
	})
	if err != nil {
		return "", false, fmt.Errorf("make a setup token: %w", err)
	}
	return token, needed, nil
}

// Setup makes the first account, an admin. Errors: ErrSetupToken, ErrSetupOver,
// *InputError, *RateError.
func (p *People) Setup(ctx context.Context, token, name, password string) (Account, error) {
	if err := p.storage.View(ctx, func(tx Tx) error { return mayset(ctx, tx, token) }); err != nil {
		return Account{}, err
	}
	now := p.now()
	a := Account{Role: Admin, CreatedAt: now, UpdatedAt: now}
	var err error
	if a.Name, err = nameOf(name); err != nil {
		return Account{}, err
	}
	if err = acceptable(password, a.Name); err != nil {
		return Account{}, err
	}
	if a.Password, err = p.hasher.make(ctx, password); err != nil {
		return Account{}, err
	}
	err = p.storage.Change(ctx, func(tx Tx) error {
		if err := mayset(ctx, tx, token); err != nil {
			return err
		}
		a.ID = 0 // this may run again
		if err := tx.PutAccount(ctx, &a); err != nil {
			return err
		}
		if err := tx.SetSetting(ctx, setupSetting, ""); err != nil {
			return err
		}
		return audit(ctx, tx, now, personOf(a), "account.setup", personOf(a), "the first account, admin")
	})
	if err != nil {
		return Account{}, err
	}
	return a, nil
}

// mayset tells whether the token may make the first account.
func mayset(ctx context.Context, tx Tx, token string) error {
	accounts, err := tx.Accounts(ctx)
	if err != nil {
		return err
	}
	if len(accounts) > 0 {
		return ErrSetupOver
	}
	stored, err := tx.Setting(ctx, setupSetting)
	if err != nil {
		return err
	}
	hash := []byte(hashOf(token))
	same := func(h string) bool { return subtle.ConstantTimeCompare([]byte(h), hash) == 1 }
	if !slices.ContainsFunc(strings.Fields(stored), same) {
		return ErrSetupToken
	}
	return nil
}
