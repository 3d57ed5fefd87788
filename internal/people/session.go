package people

import (
	"context"
	"errors"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	maxSessions = 20 // of an account; a further one ends the oldest
	maxShown    = 200
)

// Login starts a session, under a new token whatever the client had before. Address is
// that of the client, with or without a port. Code is one of the code app, or a recovery
// code, for accounts that have them. Errors: ErrCredentials, ErrCode, ErrProvider,
// *RateError.
func (p *People) Login(ctx context.Context, name, password, code, address, agent string) (token string, s *Session, err error) {
	if p.options.ProviderOnly {
		return "", nil, ErrProvider
	}
	now := p.now()
	name, _ = nameOf(name) // a name that cannot be is one of nobody
	if err := p.addresses.take(network(address), now); err != nil {
		return "", nil, err
	}
	if err := p.accounts.take(name, now); err != nil {
		return "", nil, err
	}
	known, err := p.accountByName(ctx, name)
	if err != nil {
		return "", nil, err
	}
	ok, err := p.hasher.matches(ctx, password, known.Password)
	if err != nil {
		return "", nil, err
	}
	return p.begin(ctx, now, address, agent, func(tx Tx, row SessionRow) (a Account, refused, err error) {
		if !ok || known.Disabled {
			return a, ErrCredentials, loginFailed(ctx, tx, known, "wrong password", row)
		}
		a, err = tx.Account(ctx, known.ID)
		if missing(err) || err == nil && (a.Disabled || a.Password != known.Password) {
			return a, ErrCredentials, nil // changed while the password was looked at
		}
		if err != nil || !a.TOTP {
			return a, nil, err
		}
		if code == "" {
			return a, ErrCode, audit(ctx, tx, now, "", "login.code", personOf(a), "right password, now the code, from "+row.Address)
		}
		if err = p.takeCode(ctx, tx, now, &a, code); errors.Is(err, ErrCode) {
			return a, ErrCode, loginFailed(ctx, tx, a, "wrong code", row)
		}
		return a, nil, err
	})
}

// begin starts a session, under a new token, of the account that find gives, in one
// transaction with it. What find refuses is kept in the audit.
func (p *People) begin(ctx context.Context, now time.Time, address, agent string, find func(Tx, SessionRow) (a Account, refused, err error)) (string, *Session, error) {
	token := secret()
	s := &Session{owner: p}
	var refused error
	err := p.storage.Change(ctx, func(tx Tx) (err error) {
		s.row = SessionRow{
			Token: hashOf(token), CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(p.options.SessionMax),
			Address: plain.Line(address, maxShown), Agent: plain.Line(agent, maxShown),
		}
		if s.account, refused, err = find(tx, s.row); err != nil || refused != nil {
			return err
		}
		s.row.Account = s.account.ID
		return p.start(ctx, tx, s.account, s.row)
	})
	if err = errors.Join(err, refused); err != nil {
		return "", nil, err
	}
	return token, s, nil
}

// accountByName gives the zero account when there is none.
func (p *People) accountByName(ctx context.Context, name string) (a Account, err error) {
	err = p.storage.View(ctx, func(tx Tx) error {
		a, err = tx.AccountByName(ctx, name)
		if missing(err) {
			a, err = Account{}, nil
		}
		return err
	})
	return a, err
}

// loginFailed never says what was typed as a name that is nobody's: it may be a password.
func loginFailed(ctx context.Context, tx Tx, a Account, why string, row SessionRow) error {
	object := personOf(a)
	switch {
	case a.ID == 0:
		object, why = "", "unknown name"
	case a.Disabled:
		why = "disabled"
	}
	return audit(ctx, tx, row.CreatedAt, "", "login.failed", object, why+", from "+row.Address)
}

// start stores a session, in the place of the oldest of too many.
func (p *People) start(ctx context.Context, tx Tx, a Account, row SessionRow) error {
	if err := tx.DeleteOldSessions(ctx, row.CreatedAt.Add(-p.options.SessionIdle), row.CreatedAt); err != nil {
		return err
	}
	sessions, err := tx.Sessions(ctx, a.ID)
	if err != nil {
		return err
	}
	for _, old := range sessions[min(len(sessions), maxSessions-1):] {
		if err := tx.DeleteSession(ctx, old.Token); err != nil {
			return err
		}
	}
	if err := tx.InsertSession(ctx, row); err != nil {
		return err
	}
	return audit(ctx, tx, row.CreatedAt, personOf(a), "login", personOf(a), "from "+row.Address)
}

// Logout ends the session.
func (p *People) Logout(ctx context.Context, s *Session) error {
	if !p.made(s) {
		return ErrUnauthenticated
	}
	return p.storage.Change(ctx, func(tx Tx) error {
		if err := tx.DeleteSession(ctx, s.ID()); err != nil {
			return err
		}
		return audit(ctx, tx, p.now(), personOf(s.account), "logout", personOf(s.account), "")
	})
}

// AuthenticateSession finds the person of a session's token. Errors: ErrUnauthenticated.
func (p *People) AuthenticateSession(ctx context.Context, token string) (Actor, error) {
	s := &Session{owner: p}
	now := p.now()
	err := p.storage.View(ctx, func(tx Tx) (err error) {
		s.row, s.account, err = p.alive(ctx, tx, hashOf(token), now)
		return err
	})
	if err != nil {
		return Actor{}, err
	}
	if now.Sub(s.row.SeenAt) >= min(seenEvery, p.options.SessionIdle/4) {
		s.row.SeenAt = now
		p.touch(ctx, func(ctx context.Context, tx Tx) error { return tx.TouchSession(ctx, s.row.Token, now) })
	}
	return s.Actor(), nil
}

// touchTime is how long a request waits for a note that a credential was used.
const touchTime = time.Second

// touch notes that a credential was used. Where that cannot be stored, as a disk is full
// or a database is locked, who reads still may: a session without the note only ends
// sooner.
func (p *People) touch(ctx context.Context, note func(context.Context, Tx) error) {
	ctx, cancel := context.WithTimeout(ctx, touchTime)
	defer cancel()
	_ = p.storage.Change(ctx, func(tx Tx) error { return note(ctx, tx) })
}

// alive finds a session that has not ended and the account that may use it, or gives
// ErrUnauthenticated.
func (p *People) alive(ctx context.Context, tx Tx, hash string, now time.Time) (SessionRow, Account, error) {
	row, err := tx.Session(ctx, hash)
	if err != nil {
		return SessionRow{}, Account{}, unauthenticated(err)
	}
	if !now.Before(row.ExpiresAt) || now.Sub(row.SeenAt) >= p.options.SessionIdle || now.Sub(row.CreatedAt) >= p.options.SessionMax {
		return SessionRow{}, Account{}, ErrUnauthenticated
	}
	a, err := tx.Account(ctx, row.Account)
	if err != nil {
		return SessionRow{}, Account{}, unauthenticated(err)
	}
	if a.Disabled {
		return SessionRow{}, Account{}, ErrUnauthenticated
	}
	return row, a, nil
}

func unauthenticated(err error) error {
	if missing(err) {
		return ErrUnauthenticated
	}
	return err
}

// made tells whether this value, and not somebody's literal, is a session of p.
func (p *People) made(s *Session) bool { return s != nil && s.owner == p }

// Sessions are those of the session's own account, the newest first. Token, of each, is
// the hash that RevokeSession takes, and no token.
func (p *People) Sessions(ctx context.Context, s *Session) (list []SessionRow, err error) {
	if !p.made(s) {
		return nil, ErrUnauthenticated
	}
	err = p.storage.View(ctx, func(tx Tx) error {
		if _, _, err := p.alive(ctx, tx, s.ID(), p.now()); err != nil {
			return err
		}
		list, err = tx.Sessions(ctx, s.account.ID)
		return err
	})
	return list, err
}

// RevokeSession ends a session of the session's own account. Errors: ErrUnauthenticated,
// ErrNotFound.
func (p *People) RevokeSession(ctx context.Context, s *Session, id string) error {
	if !p.made(s) {
		return ErrUnauthenticated
	}
	return p.storage.Change(ctx, func(tx Tx) error {
		now := p.now()
		if _, _, err := p.alive(ctx, tx, s.ID(), now); err != nil {
			return err
		}
		row, err := tx.Session(ctx, id)
		if err != nil {
			return err
		}
		if row.Account != s.account.ID {
			return ErrNotFound
		}
		if err := tx.DeleteSession(ctx, id); err != nil {
			return err
		}
		return audit(ctx, tx, now, personOf(s.account), "session.revoke", personOf(s.account), "that from "+row.Address)
	})
}
