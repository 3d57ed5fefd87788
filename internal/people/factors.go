package people

import (
	"context"
	"time"
)

// PasskeyRow is a passkey of an account.
type PasskeyRow struct {
	ID        int64     `json:"id"`
	Account   int64     `json:"-"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	// Credential is the id that the authenticator gave it, base64url.
	Credential string `json:"-"`
	// Data is what its answers are checked with, JSON.
	Data string `json:"-"`
}

// Factors are what an account signs in with and proves with.
type Factors struct {
	Password bool `json:"password"`
	TOTP     bool `json:"totp"`
	// Recovery is how many recovery codes are left.
	Recovery int          `json:"recovery"`
	Passkeys []PasskeyRow `json:"passkeys" nullable:"false"`
}

// Enrolment is a code app on its way. Secret is the text to type where the URL, shown
// as a picture, cannot be read.
type Enrolment struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// NeedsSetup tells whether there is no account yet.
func (p *People) NeedsSetup(ctx context.Context) (bool, error) {
	needs := false
	err := p.storage.View(ctx, func(tx Tx) error {
		accounts, err := tx.Accounts(ctx)
		needs = len(accounts) == 0
		return err
	})
	return needs, err
}

// Factors are those of the session's own account. Errors: ErrUnauthenticated.
func (p *People) Factors(ctx context.Context, s *Session) (Factors, error) {
	if !p.made(s) {
		return Factors{}, ErrUnauthenticated
	}
	f := Factors{Passkeys: []PasskeyRow{}}
	err := p.storage.View(ctx, func(tx Tx) error {
		_, a, err := p.alive(ctx, tx, s.ID(), p.now())
		if err != nil {
			return err
		}
		f.Password, f.TOTP, f.Recovery = a.Password != "", a.TOTP, len(a.Recovery)
		rows, err := tx.Passkeys(ctx, a.ID)
		f.Passkeys = append(f.Passkeys, rows...)
		return err
	})
	if err != nil {
		return Factors{}, err
	}
	return f, nil
}

// ResetFactors removes code app, recovery codes and passkeys of an account, for who has
// lost them, and ends its sessions. Errors: those of SetRole.
func (p *People) ResetFactors(ctx context.Context, s *Session, f Factor, id int64) error {
	consent, err := p.confirm(ctx, s, f, Administer)
	if err != nil {
		return err
	}
	return consent.run(ctx, func(c *change) error {
		if err := c.removeFactors(ctx, id); err != nil {
			return err
		}
		return c.update(ctx, id, "account.factors", "code app and passkeys are removed", func(a *Account) { a.Recovery = nil })
	})
}

func (c *change) removeFactors(ctx context.Context, id int64) error {
	if _, err := c.tx.Account(ctx, id); err != nil {
		return err
	}
	rows, err := c.tx.Passkeys(ctx, id)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := c.tx.DeletePasskey(ctx, row.ID); err != nil {
			return err
		}
	}
	return c.tx.SetTOTP(ctx, id, nil)
}

// RevokeAccountSessions ends all sessions of an account. Errors: ErrForbidden,
// ErrNotFound.
func (p *People) RevokeAccountSessions(ctx context.Context, by Actor, id int64) error {
	if !by.Can(Administer) {
		return ErrForbidden
	}
	return p.storage.Change(ctx, func(tx Tx) error {
		a, err := tx.Account(ctx, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteSessions(ctx, id, ""); err != nil {
			return err
		}
		return audit(ctx, tx, p.now(), by.Name(), "account.sessions", personOf(a), "all are ended")
	})
}
