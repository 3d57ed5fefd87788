package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// youngSession is the age up to which a session shows, by itself, that its person is
// there: of accounts without a password and without a second factor.
const youngSession = 5 * time.Minute

// Factor is what a person shows to be the one who is signed in, now.
type Factor interface {
	// verify does what takes time. What it gives is called in a transaction.
	verify(ctx context.Context, p *People, s *Session, a Account) (shown, error)
}

// shown says in a transaction whether a factor shows the account's person, and whether it
// is a strong one: a passkey, or a password with a code. What counts once is used up. One
// that does not count is ErrCredentials or ErrCode.
type shown func(ctx context.Context, tx Tx, now time.Time, a *Account) (strong bool, err error)

type password struct{ text string }

// Password is the account's password as the person has typed it for this very act.
func Password(text string) Factor { return password{text} }

func (f password) verify(ctx context.Context, p *People, _ *Session, a Account) (shown, error) {
	ok, err := p.hasher.matches(ctx, f.text, a.Password)
	return func(context.Context, Tx, time.Time, *Account) (bool, error) {
		if !ok {
			return false, ErrCredentials
		}
		return false, nil
	}, err
}

type withCode struct{ password, code string }

// Code is the account's password with a code of the code app, or a recovery code. Of an
// account without a code app, only the password counts.
func Code(password, code string) Factor { return withCode{password, code} }

func (f withCode) verify(ctx context.Context, p *People, _ *Session, a Account) (shown, error) {
	ok, err := p.hasher.matches(ctx, f.password, a.Password)
	return func(ctx context.Context, tx Tx, now time.Time, a *Account) (bool, error) {
		if !ok {
			return false, ErrCredentials
		}
		if !a.TOTP || f.code == "" {
			return false, nil
		}
		return true, p.takeCode(ctx, tx, now, a, f.code)
	}, err
}

// Format prints *** for every verb.
func (password) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// Format prints *** for every verb.
func (withCode) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// second tells whether an account has more than its password.
func (a *Account) second() bool { return a.TOTP || a.Passkeys > 0 }

// consent is that of a person who has just shown a factor, to one change.
type consent struct {
	people  *People
	session *Session
	by      Account
	need    Permission
}

// confirm sees that the session is alive and may do need, and that the factor shows its
// person. Accounts with a second factor have to show it, and to approve, all have to. A
// factor that does not count is written to the audit.
func (p *People) confirm(ctx context.Context, s *Session, f Factor, need Permission) (*consent, error) {
	if !p.made(s) {
		return nil, ErrUnauthenticated
	}
	now := p.now()
	var by Account
	err := p.storage.View(ctx, func(tx Tx) (err error) {
		_, by, err = p.alive(ctx, tx, s.ID(), now)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !by.Role.Can(need) {
		return nil, ErrForbidden
	}
	if err := p.factors.take(by.Name, now); err != nil {
		return nil, err
	}
	show := nothing
	if f != nil {
		if show, err = f.verify(ctx, p, s, by); err != nil {
			return nil, err
		}
	}
	var refused error
	err = p.storage.Change(ctx, func(tx Tx) error {
		row, a, err := p.alive(ctx, tx, s.ID(), now)
		if err != nil {
			return err
		}
		if a.Password != by.Password {
			return ErrCredentials // changed while the factor was looked at
		}
		by = a
		refused, err = p.judge(ctx, tx, now, row, &by, show, need)
		return err
	})
	if err = errors.Join(err, refused); err != nil {
		return nil, err
	}
	return &consent{people: p, session: s, by: by, need: need}, nil
}

// nothing is what shows that is not there.
func nothing(context.Context, Tx, time.Time, *Account) (bool, error) { return false, errNothing }

var errNothing = errors.New("no factor")

// judge gives why a factor is refused, which the transaction is to keep, or what failed.
func (p *People) judge(ctx context.Context, tx Tx, now time.Time, row SessionRow, a *Account, show shown, need Permission) (refused, err error) {
	strong, refused := show(ctx, tx, now, a)
	why := "wrong password in a session"
	switch {
	case errors.Is(refused, errNothing):
		return p.unshown(ctx, tx, now, row, a, need)
	case errors.Is(refused, ErrCode):
		why = "wrong code in a session"
	case errors.Is(refused, errPasskey):
		why, refused = refused.Error()+" in a session", ErrCredentials
	case errors.Is(refused, ErrCredentials):
	case refused != nil:
		return nil, refused
	case strong, need != Approve && !a.second():
		return nil, nil
	case a.TOTP:
		return ErrCode, nil // the password was right: now the code
	default:
		return ErrFactor, nil
	}
	return refused, audit(ctx, tx, now, personOf(*a), "factor.failed", personOf(*a), why)
}

// unshown judges a request without a factor: a young session counts where there is
// nothing that could be shown.
func (p *People) unshown(ctx context.Context, tx Tx, now time.Time, row SessionRow, a *Account, need Permission) (refused, err error) {
	switch {
	case a.Password == "" && (a.second() || need == Approve):
		return ErrFactor, nil
	case a.Password == "" && now.Sub(row.CreatedAt) <= youngSession:
		return nil, nil
	case a.Password == "":
		return ErrSessionAge, nil
	default:
		return ErrCredentials, audit(ctx, tx, now, personOf(*a), "factor.failed", personOf(*a), "no factor in a session")
	}
}

// change is what is done with a consent, in one transaction.
type change struct {
	tx  Tx
	now time.Time
	by  Account
}

// run lets f change things, provided that the session is still alive and its account
// may still do it with the same factors.
func (c *consent) run(ctx context.Context, f func(*change) error) error {
	return c.people.storage.Change(ctx, func(tx Tx) error {
		now := c.people.now()
		_, by, err := c.people.alive(ctx, tx, c.session.ID(), now)
		if err != nil {
			return err
		}
		if by.Password != c.by.Password || by.TOTP != c.by.TOTP || by.Passkeys < c.by.Passkeys {
			return ErrCredentials
		}
		if !by.Role.Can(c.need) {
			return ErrForbidden
		}
		return f(&change{tx: tx, now: now, by: by})
	})
}

func (c *change) audit(ctx context.Context, action, object, detail string) error {
	return audit(ctx, c.tx, c.now, personOf(c.by), action, object, detail)
}

// changedFactor stores an account whose factors its person has changed, and ends its
// other sessions.
func changedFactor(ctx context.Context, tx Tx, now time.Time, a *Account, session, action, detail string) error {
	a.UpdatedAt = now
	if err := tx.PutAccount(ctx, a); err != nil {
		return err
	}
	if err := tx.DeleteSessions(ctx, a.ID, session); err != nil {
		return err
	}
	return audit(ctx, tx, now, personOf(*a), action, personOf(*a), detail)
}
