package people

import (
	"context"
)

// Accounts are all accounts, by name, for who may administer.
func (p *People) Accounts(ctx context.Context, by Actor) (list []Account, err error) {
	if !by.Can(Administer) {
		return nil, ErrForbidden
	}
	err = p.storage.View(ctx, func(tx Tx) error {
		list, err = tx.Accounts(ctx)
		return err
	})
	return list, err
}

// CreateAccount makes an account. Whoever makes accounts can make one that approves: so
// a person has to do it, an admin, and shows an own factor again; likewise for the
// other changes of accounts. Errors: those of Prove, ErrExists, *InputError.
func (p *People) CreateAccount(ctx context.Context, s *Session, f Factor, name, password string, role Role) (Account, error) {
	a := Account{Role: role}
	var err error
	if a.Name, err = nameOf(name); err != nil {
		return Account{}, err
	}
	if !role.Valid() {
		return Account{}, &InputError{"role", "has to be viewer, editor, approver or admin"}
	}
	if err := acceptable(password, a.Name); err != nil {
		return Account{}, err
	}
	consent, err := p.confirm(ctx, s, f, Administer)
	if err != nil {
		return Account{}, err
	}
	if a.Password, err = p.hasher.make(ctx, password); err != nil {
		return Account{}, err
	}
	err = consent.run(ctx, func(c *change) error {
		all, err := c.tx.Accounts(ctx)
		if err != nil {
			return err
		}
		if len(all) >= maxAccounts {
			return &InputError{"name", "is one too many: there are 1000 accounts"}
		}
		a.ID, a.CreatedAt, a.UpdatedAt = 0, c.now, c.now // this may run again
		if err := c.tx.PutAccount(ctx, &a); err != nil {
			return err
		}
		return c.audit(ctx, "account.create", personOf(a), "role "+string(role))
	})
	if err != nil {
		return Account{}, err
	}
	return a, nil
}

// SetRole gives an account another role and ends its sessions. Errors: those of Prove,
// ErrNotFound, ErrLastAdmin, *InputError.
func (p *People) SetRole(ctx context.Context, s *Session, f Factor, id int64, role Role) error {
	if !role.Valid() {
		return &InputError{"role", "has to be viewer, editor, approver or admin"}
	}
	consent, err := p.confirm(ctx, s, f, Administer)
	if err != nil {
		return err
	}
	return consent.run(ctx, func(c *change) error {
		return c.update(ctx, id, "account.role", "role "+string(role), func(a *Account) { a.Role = role })
	})
}

// Disable ends an account's sessions and lets nobody sign in with it; with disabled
// false, it can be used again. Errors: as SetRole.
func (p *People) Disable(ctx context.Context, s *Session, f Factor, id int64, disabled bool) error {
	action := "account.disable"
	if !disabled {
		action = "account.enable"
	}
	consent, err := p.confirm(ctx, s, f, Administer)
	if err != nil {
		return err
	}
	return consent.run(ctx, func(c *change) error {
		return c.update(ctx, id, action, "", func(a *Account) { a.Disabled = disabled })
	})
}

// update changes an account, ends its sessions and sees that an admin is left.
func (c *change) update(ctx context.Context, id int64, action, detail string, f func(*Account)) error {
	a, err := c.tx.Account(ctx, id)
	if err != nil {
		return err
	}
	f(&a)
	a.UpdatedAt = c.now
	if err := c.tx.PutAccount(ctx, &a); err != nil {
		return err
	}
	if a.Disabled || a.Role != Admin {
		if err := checkLastAdmin(ctx, c.tx, id, ""); err != nil {
			return err
		}
	}
	if err := c.tx.DeleteSessions(ctx, id, ""); err != nil {
		return err
	}
	return c.audit(ctx, action, personOf(a), detail)
}

// SetPassword changes the password of the session's own account, or, by an admin, of any,
// and ends the account's sessions but for that of who asks. The factor is one that the
// one who asks has until then. Errors: those of Prove, ErrNotFound, *InputError.
func (p *People) SetPassword(ctx context.Context, s *Session, f Factor, id int64, password string) error {
	if !p.made(s) {
		return ErrUnauthenticated
	}
	need := Administer
	if id == s.account.ID {
		need = Read
	}
	consent, err := p.confirm(ctx, s, f, need)
	if err != nil {
		return err
	}
	if err := acceptable(password, ""); err != nil {
		return err
	}
	hash, err := p.hasher.make(ctx, password)
	if err != nil {
		return err
	}
	return consent.run(ctx, func(c *change) error {
		a, err := c.tx.Account(ctx, id)
		if err != nil {
			return err
		}
		if a.Subject != "" {
			return &InputError{"password", "is that of the OpenID provider with which the account signs in"}
		}
		a.Password, a.UpdatedAt = hash, c.now
		if err := c.tx.PutAccount(ctx, &a); err != nil {
			return err
		}
		if err := c.tx.DeleteSessions(ctx, id, s.ID()); err != nil {
			return err
		}
		return c.audit(ctx, "account.password", personOf(a), "")
	})
}
