package people

import (
	"context"
	"errors"
	"time"
)

// What a Storage says of rows.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("the name is taken")
)

// Storage keeps accounts, sessions, keys, settings and the audit.
type Storage interface {
	// View runs f in a transaction that only reads.
	View(ctx context.Context, f func(Tx) error) error
	// Change runs f in a transaction that an error of f undoes. Transactions of
	// Change run one after another, those of other processes on the same database
	// included, so that what f has read still holds when it writes. Where that made
	// some wait for each other, f runs again.
	Change(ctx context.Context, f func(Tx) error) error
}

// Tx are the statements of a transaction. What is asked for by key and is not there is
// ErrNotFound; a name that is taken is ErrExists. Both may be wrapped.
type Tx interface {
	// Accounts are all accounts, by name.
	Accounts(ctx context.Context) ([]Account, error)
	Account(ctx context.Context, id int64) (Account, error)
	AccountByName(ctx context.Context, name string) (Account, error)
	// AccountBySubject finds who signs in with an OpenID provider.
	AccountBySubject(ctx context.Context, subject string) (Account, error)
	// PutAccount inserts an account with ID 0, and sets its ID, or updates the one with
	// that ID. TOTP and Passkeys are not written.
	PutAccount(ctx context.Context, a *Account) error

	// TOTP is the secret of an account's code app; it is stored sealed.
	TOTP(ctx context.Context, account int64) ([]byte, error)
	// SetTOTP stores it; nil removes it.
	SetTOTP(ctx context.Context, account int64, secret []byte) error

	// Passkeys are those of an account, the oldest first.
	Passkeys(ctx context.Context, account int64) ([]PasskeyRow, error)
	// PasskeyByCredential finds by what the authenticator calls it.
	PasskeyByCredential(ctx context.Context, credential string) (PasskeyRow, error)
	// PutPasskey inserts a passkey with ID 0, and sets its ID, or updates UsedAt and Data
	// of the one with that ID. A credential that is there already is ErrExists.
	PutPasskey(ctx context.Context, k *PasskeyRow) error
	// DeletePasskey removes one; one that is not there is no error.
	DeletePasskey(ctx context.Context, id int64) error

	// Challenge finds by the hash of the challenge.
	Challenge(ctx context.Context, hash string) (Challenge, error)
	// PutChallenge stores one, in the place of one with the same hash. Data is sealed.
	PutChallenge(ctx context.Context, c Challenge) error
	// DeleteChallenge removes one; one that is not there is no error.
	DeleteChallenge(ctx context.Context, hash string) error
	// DropChallenges removes those that expired before now and, of those with a
	// purpose, all but the latest keep.
	DropChallenges(ctx context.Context, purpose string, now time.Time, keep int) error

	// Session finds by the hash of the token.
	Session(ctx context.Context, hash string) (SessionRow, error)
	// Sessions are those of an account, the newest first.
	Sessions(ctx context.Context, account int64) ([]SessionRow, error)
	InsertSession(ctx context.Context, s SessionRow) error
	// TouchSession sets SeenAt; a session that is not there is no error.
	TouchSession(ctx context.Context, hash string, at time.Time) error
	// DeleteSession ends one; a session that is not there is no error.
	DeleteSession(ctx context.Context, hash string) error
	// DeleteSessions ends those of an account, but for that with the hash except.
	DeleteSessions(ctx context.Context, account int64, except string) error
	// DeleteOldSessions ends those that were last seen before seen or expire before now.
	DeleteOldSessions(ctx context.Context, seen, now time.Time) error

	// Keys are all keys, by name.
	Keys(ctx context.Context) ([]Key, error)
	Key(ctx context.Context, id int64) (Key, error)
	KeyByHash(ctx context.Context, hash string) (Key, error)
	// PutKey inserts a key with ID 0, and sets its ID, or updates the one with that ID.
	PutKey(ctx context.Context, k *Key) error
	// TouchKey sets UsedAt.
	TouchKey(ctx context.Context, id int64, at time.Time) error

	// Setting is empty when it was never set. Setting "" removes it.
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error

	// Audit adds an entry to the audit, which gets its ID and its Hash from the storage.
	Audit(ctx context.Context, e AuditEntry) error
}

// AuditEntry is who did what to what.
type AuditEntry struct {
	ID     int64     `json:"id"`
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`  // "user:ann", "key:ci", or "" when nobody is known
	Action string    `json:"action"` // such as "login" or "account.role"
	Object string    `json:"object"` // such as "user:bob"
	Detail string    `json:"detail"`
	// Hash is that of Chain; empty of entries from before there was one.
	Hash string `json:"hash"`
}

// Challenge is what somebody was asked for and has not answered yet.
type Challenge struct {
	// Hash is the SHA-256 of what the answer gives back, hexadecimal.
	Hash string
	// Purpose says what for, and in which session.
	Purpose   string
	Data      []byte
	ExpiresAt time.Time
}
