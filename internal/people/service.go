package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
)

// What callers branch on.
var (
	// ErrUnauthenticated is a session or key that is unknown, has expired or was ended.
	ErrUnauthenticated = errors.New("not signed in: the session or key is unknown, or has ended")
	// ErrCredentials is a wrong name or password; which of the two is not told.
	ErrCredentials = errors.New("wrong name or password")
	// ErrCode is a code of the code app, or a recovery code, that is needed and is missing
	// or wrong.
	ErrCode = errors.New("a code of the code app, or a recovery code, is needed, and each counts once")
	// ErrFactor is an account that has to show more than its password.
	ErrFactor = errors.New("a passkey is needed, or a code beside the password")
	// ErrSessionAge is a change that takes a session that has just begun.
	ErrSessionAge = errors.New("sign in again: this takes a session that is younger than five minutes")
	// ErrProvider is a way of signing in that is not for this account, or for nobody.
	ErrProvider = errors.New("sign in with the OpenID provider")
	// ErrForbidden is a role that does not reach.
	ErrForbidden = errors.New("the role does not allow it")
	// ErrLastAdmin is a change that would leave nobody to administer.
	ErrLastAdmin = errors.New("the last admin has to stay: make another account admin first")
	// ErrSetupToken is a wrong token.
	ErrSetupToken = errors.New("wrong setup token: take the one that was printed when the server started")
	// ErrSetupOver is a setup after the first account was made.
	ErrSetupOver = errors.New("there is an account already: sign in with it")
)

// RateError is too many attempts.
type RateError struct{ RetryAfter time.Duration }

// Error says when to try again.
func (e *RateError) Error() string {
	return "too many attempts: try again in " + max(time.Second, e.RetryAfter.Round(time.Second)).String()
}

// InputError is a value that cannot be taken.
type InputError struct{ Field, Text string }

// Error names the field.
func (e *InputError) Error() string { return e.Field + " " + e.Text }

const (
	maxAccounts = 1000
	maxKeys     = 1000
	maxName     = 64
	nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789"
	nameMarks   = "._@-"

	// seenEvery is how often a use is written down.
	seenEvery = time.Minute
)

// Options of New. The zero value is that of production.
type Options struct {
	Now func() time.Time // nil: time.Now
	// SessionIdle ends a session that is not used, SessionMax any. Zero: 12 hours and
	// 7 days.
	SessionIdle, SessionMax time.Duration
	// PublicURL is the address that browsers know the server by; passkeys are bound to
	// its host. Empty: there are none.
	PublicURL string
	// ProviderOnly: people sign in with an OpenID provider alone.
	ProviderOnly bool
}

// People answers who may do what. It is safe for concurrent use. Limits on attempts are
// those of one process.
type People struct {
	storage Storage
	options Options
	hasher  *hasher
	// Attempts to sign in, by account and by address, and to show a factor; and codes
	// that were wrong, by account.
	accounts, addresses, factors, codes *limiter
	party                               *webauthn.WebAuthn // nil: no passkeys
}

// New makes one on a storage.
func New(s Storage, o Options) *People {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SessionIdle <= 0 {
		o.SessionIdle = 12 * time.Hour
	}
	if o.SessionMax <= 0 {
		o.SessionMax = 7 * 24 * time.Hour
	}
	return &People{
		storage: s, options: o, hasher: newHasher(),
		accounts:  newLimiter(6*time.Second, 10),
		addresses: newLimiter(3*time.Second, 20),
		factors:   newLimiter(6*time.Second, 10),
		codes:     newLimiter(2*time.Minute, 10),
		party:     relyingParty(o.PublicURL),
	}
}

func (p *People) now() time.Time { return p.options.Now().UTC().Truncate(time.Millisecond) }

// secret makes 32 random bytes as text.
func secret() string {
	var bytes [32]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(bytes[:])
}

// hashOf is what is stored of a secret that has 32 random bytes; it needs no salt.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// nameOf gives the form of a name in which it is stored.
func nameOf(text string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(text))
	odd := func(r rune) bool { return !strings.ContainsRune(nameLetters+nameMarks, r) }
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, odd) || strings.ContainsAny(name[:1], nameMarks) {
		return "", &InputError{"name", "has to be 1 to 64 letters (a-z), digits and . _ @ -, beginning with a letter or digit"}
	}
	return name, nil
}

func audit(ctx context.Context, tx Tx, at time.Time, actor, action, object, detail string) error {
	return tx.Audit(ctx, AuditEntry{At: at, Actor: actor, Action: action, Object: object, Detail: detail})
}

func personOf(a Account) string { return "user:" + a.Name }
func programOf(k Key) string    { return "key:" + k.Name }
func missing(err error) bool    { return errors.Is(err, ErrNotFound) }

func monitorOf(id int64) string {
	if id == 0 {
		return "monitors"
	}
	return "monitor:" + strconv.FormatInt(id, 10)
}
