package people

import (
	"context"
	"errors"
	"time"
)

var errStub = errors.New("not there yet")

// What callers branch on.
var (
	// ErrUnauthenticated is a session or key that is unknown, expired or ended.
	ErrUnauthenticated = errors.New("not signed in: the session or key is unknown, or has ended")
	// ErrCredentials is a wrong name or password; which of the two is not told.
	ErrCredentials = errors.New("wrong name or password")
	// ErrForbidden is a person or key whose role does not reach.
	ErrForbidden = errors.New("the role does not allow it")
	// ErrLastAdmin is a change that would leave nobody to administer.
	ErrLastAdmin = errors.New("the last admin has to stay: make another account admin first")
	// ErrSetupOver is a setup after the first account was made.
	ErrSetupOver = errors.New("there is an account already: sign in")
)

// RateError is too many attempts.
type RateError struct{ RetryAfter time.Duration }

// Error says when to try again.
func (e *RateError) Error() string {
	return "too many attempts: try again in " + e.RetryAfter.Round(time.Second).String()
}

// InputError is a value that cannot be taken.
type InputError struct{ Field, Text string }

// Error names the field.
func (e *InputError) Error() string { return e.Field + ": " + e.Text }

// Options of New. The zero value is that of production.
type Options struct {
	Now func() time.Time // nil: time.Now
	// SessionIdle ends a session that is not used, SessionMax any. Zero: 12 hours and
	// 7 days.
	SessionIdle, SessionMax time.Duration
}

// People answers who may do what. It is safe for concurrent use. Limits on attempts are
// those of one process.
type People struct {
	storage Storage
	options Options
}

// New makes one on a storage.
func New(s Storage, o Options) *People { return &People{storage: s, options: o} }

// SetupToken gives the token that makes the first account, needed while there is none.
// Only its hash is kept, so that each call makes a new one; the last eight count.
func (p *People) SetupToken(ctx context.Context) (token string, needed bool, err error) {
	return "", false, errStub
}

// Setup makes the first account, an admin. Errors: ErrCredentials for a wrong token,
// ErrSetupOver, *InputError.
func (p *People) Setup(ctx context.Context, token, name, password string) (Account, error) {
	return Account{}, errStub
}

// Login starts a session. Address is that of the client, with or without a port. Errors:
// ErrCredentials, *RateError.
func (p *People) Login(ctx context.Context, name, password, address, agent string) (token string, s *Session, err error) {
	return "", nil, errStub
}

// Logout ends the session.
func (p *People) Logout(ctx context.Context, s *Session) error { return errStub }

// AuthenticateSession finds the person of a session's token.
func (p *People) AuthenticateSession(ctx context.Context, token string) (Actor, error) {
	return Actor{}, errStub
}

// AuthenticateKey finds the program of a key.
func (p *People) AuthenticateKey(ctx context.Context, key string) (Actor, error) {
	return Actor{}, errStub
}

// Sessions are those of the session's own account, the newest first. Token, of each, is
// the hash that RevokeSession takes, and no token.
func (p *People) Sessions(ctx context.Context, s *Session) ([]SessionRow, error) { return nil, errStub }

// RevokeSession ends a session of the session's own account.
func (p *People) RevokeSession(ctx context.Context, s *Session, id string) error { return errStub }

// Accounts are all accounts, by name, for who may administer.
func (p *People) Accounts(ctx context.Context, by Actor) ([]Account, error) { return nil, errStub }

// CreateAccount makes an account. As whoever makes accounts could make one that approves,
// a person has to do it, and shows the own password again; so for the other changes.
func (p *People) CreateAccount(ctx context.Context, s *Session, f Factor, name, password string, role Role) (Account, error) {
	return Account{}, errStub
}

// SetRole gives another role and ends the sessions of the account.
func (p *People) SetRole(ctx context.Context, s *Session, f Factor, id int64, role Role) error {
	return errStub
}

// SetPassword changes the password of the session's own account, or, for an admin, of any,
// and ends its other sessions. The factor is the password until now of the person who
// asks.
func (p *People) SetPassword(ctx context.Context, s *Session, f Factor, id int64, password string) error {
	return errStub
}

// Disable ends an account's sessions and lets nobody sign in with it, or, with disabled
// false, lets it be used again.
func (p *People) Disable(ctx context.Context, s *Session, f Factor, id int64, disabled bool) error {
	return errStub
}

// CreateKey makes an API key and gives its text, which is not kept. A zero expires means
// 90 days.
func (p *People) CreateKey(ctx context.Context, s *Session, name string, role Role, expires time.Time) (string, Key, error) {
	return "", Key{}, errStub
}

// Keys are all keys, by name, for who may administer.
func (p *People) Keys(ctx context.Context, by Actor) ([]Key, error) { return nil, errStub }

// RevokeKey ends a key.
func (p *People) RevokeKey(ctx context.Context, by Actor, id int64) error { return errStub }
