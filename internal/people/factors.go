package people

import (
	"context"
	"errors"
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
	Passkeys []PasskeyRow `json:"passkeys"`
}

// Enrolment is a code app on its way. Secret is the text to type where the URL, shown
// as a picture, cannot be read.
type Enrolment struct{ URL, Secret string }

// Identity is a person as an OpenID provider knows it.
type Identity struct {
	Issuer, Subject string
	// Name is what the account is called, as far as it can be.
	Name string
	Role Role
}

var errNotYet = errors.New("this cannot be done yet")

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

// PasskeysWork tells whether browsers can use passkeys here: the public URL has a host
// name that is no IP address.
func (p *People) PasskeysWork() bool { return false }

// Factors are those of the session's own account.
func (p *People) Factors(ctx context.Context, s *Session) (Factors, error) {
	return Factors{}, errNotYet
}

// BeginTOTP makes the secret of a code app, which counts from ConfirmTOTP on.
func (p *People) BeginTOTP(ctx context.Context, s *Session, f Factor) (Enrolment, error) {
	return Enrolment{}, errNotYet
}

// ConfirmTOTP takes the first code of the app, and gives recovery codes, which are shown
// this once. Errors: ErrCode, ErrNotFound when nothing was begun, *RateError.
func (p *People) ConfirmTOTP(ctx context.Context, s *Session, code string) ([]string, error) {
	return nil, errNotYet
}

// RemoveTOTP removes the code app, and the recovery codes with it.
func (p *People) RemoveTOTP(ctx context.Context, s *Session, f Factor) error { return errNotYet }

// NewRecoveryCodes replaces the recovery codes.
func (p *People) NewRecoveryCodes(ctx context.Context, s *Session, f Factor) ([]string, error) {
	return nil, errNotYet
}

// PasskeyChallenge gives what a browser asks an authenticator for, to sign in.
func (p *People) PasskeyChallenge(ctx context.Context) ([]byte, error) { return nil, errNotYet }

// LoginWithPasskey starts a session of the account whose passkey answered a challenge.
func (p *People) LoginWithPasskey(ctx context.Context, answer []byte, address, agent string) (string, *Session, error) {
	return "", nil, errNotYet
}

// ProofChallenge gives what a browser asks an authenticator for, to prove one act of the
// session: the answer counts for the same binding alone.
func (p *People) ProofChallenge(ctx context.Context, s *Session, binding string) ([]byte, error) {
	return nil, errNotYet
}

// BeginPasskey gives what a browser makes a passkey from.
func (p *People) BeginPasskey(ctx context.Context, s *Session, f Factor) ([]byte, error) {
	return nil, errNotYet
}

// FinishPasskey keeps the passkey that a browser made.
func (p *People) FinishPasskey(ctx context.Context, s *Session, name string, answer []byte) error {
	return errNotYet
}

// RemovePasskey removes a passkey.
func (p *People) RemovePasskey(ctx context.Context, s *Session, f Factor, id int64) error {
	return errNotYet
}

// ResetFactors removes code app, recovery codes and passkeys of another account, by an
// admin, for who has lost them.
func (p *People) ResetFactors(ctx context.Context, s *Session, f Factor, id int64) error {
	return errNotYet
}

// LoginAs starts a session of the account of an OpenID person, which is made when it is
// not there.
func (p *People) LoginAs(ctx context.Context, who Identity, address, agent string) (string, *Session, error) {
	return "", nil, errNotYet
}

// RevokeAccountSessions ends all sessions of an account, by who administers.
func (p *People) RevokeAccountSessions(ctx context.Context, by Actor, id int64) error {
	return errNotYet
}

type withCode struct{ password, code string }

// Code is the account's password with a code of the code app, or a recovery code.
func Code(password, code string) Factor { return withCode{password, code} }

func (withCode) verify(context.Context, *People, Account) (bool, error) { return false, errNotYet }

type passkeyAnswer struct {
	answer  []byte
	binding string
}

// Passkey is the answer of an authenticator to a challenge of ProofChallenge for the
// same binding.
func Passkey(answer []byte, binding string) Factor { return passkeyAnswer{answer, binding} }

func (passkeyAnswer) verify(context.Context, *People, Account) (bool, error) {
	return false, errNotYet
}
