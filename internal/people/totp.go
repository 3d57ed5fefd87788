package people

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"
)

const (
	// What code apps know: SHA-1, six digits, a step of 30 seconds.
	totpStep   = 30
	totpDigits = otp.DigitsSix
	// totpSkew is how many steps a clock may be off, either way.
	totpSkew = 1

	enrolmentLife = 15 * time.Minute

	recoveryCodes = 10
	recoveryGroup = 4 // letters
)

func forTOTP(s *Session) string { return "totp " + s.ID() }

// BeginTOTP makes the secret of a code app, which counts from ConfirmTOTP on: until then
// an app that was there before counts. Errors: those of Prove, *InputError for an account
// without a password.
func (p *People) BeginTOTP(ctx context.Context, s *Session, f Factor) (Enrolment, error) {
	consent, err := p.confirm(ctx, s, f, Read)
	if err != nil {
		return Enrolment{}, err
	}
	if consent.by.Password == "" {
		return Enrolment{}, &InputError{"password", "is missing: who signs in with an OpenID provider takes a passkey as second factor"}
	}
	issuer := "mcpvigil"
	if u, err := url.Parse(p.options.PublicURL); err == nil && u.Hostname() != "" {
		issuer += " " + u.Hostname()
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: consent.by.Name, Period: totpStep, Digits: totpDigits})
	if err != nil {
		return Enrolment{}, fmt.Errorf("make the secret of a code app: %w", err)
	}
	err = consent.run(ctx, func(c *change) error {
		if err := c.tx.DropChallenges(ctx, forTOTP(s), c.now, 0); err != nil {
			return err
		}
		return c.tx.PutChallenge(ctx, Challenge{
			Hash: hashOf(forTOTP(s)), Purpose: forTOTP(s), Data: []byte(key.Secret()), ExpiresAt: c.now.Add(enrolmentLife),
		})
	})
	if err != nil {
		return Enrolment{}, err
	}
	return Enrolment{URL: key.URL(), Secret: key.Secret()}, nil
}

// ConfirmTOTP takes the first code of the app, gives recovery codes, which are shown this
// once, and ends the account's other sessions. Errors: ErrUnauthenticated, ErrCode, ErrNotFound when nothing was begun,
// *RateError.
func (p *People) ConfirmTOTP(ctx context.Context, s *Session, code string) ([]string, error) {
	if !p.made(s) {
		return nil, ErrUnauthenticated
	}
	now := p.now()
	codes, hashes := newRecovery()
	var refused error
	err := p.storage.Change(ctx, func(tx Tx) error {
		_, a, err := p.alive(ctx, tx, s.ID(), now)
		if err != nil {
			return err
		}
		begun, err := tx.Challenge(ctx, hashOf(forTOTP(s)))
		if err != nil {
			return err
		}
		if !now.Before(begun.ExpiresAt) {
			return ErrNotFound
		}
		right, err := p.codes.attempt(a.Name, now)
		if err != nil {
			return err
		}
		step := stepOf(string(begun.Data), plainCode(code), now, 0)
		if refused = nil; step == 0 {
			refused = ErrCode
			return audit(ctx, tx, now, personOf(a), "factor.failed", personOf(a), "wrong first code of a code app")
		}
		right()
		if err := tx.DeleteChallenge(ctx, begun.Hash); err != nil {
			return err
		}
		if err := tx.SetTOTP(ctx, a.ID, begun.Data); err != nil {
			return err
		}
		a.TOTPStep, a.Recovery = step, hashes
		return changedFactor(ctx, tx, now, &a, s.ID(), "totp.set", "a code app, and ten recovery codes")
	})
	if err != nil {
		return nil, err
	}
	if refused != nil {
		return nil, refused
	}
	return codes, nil
}

// RemoveTOTP removes the code app, and the recovery codes with it, and ends the account's
// other sessions. Errors: those of Prove, ErrNotFound.
func (p *People) RemoveTOTP(ctx context.Context, s *Session, f Factor) error {
	consent, err := p.confirm(ctx, s, f, Read)
	if err != nil {
		return err
	}
	return consent.run(ctx, func(c *change) error {
		a := c.by
		if !a.TOTP {
			return ErrNotFound
		}
		a.Recovery = nil
		if err := c.tx.SetTOTP(ctx, a.ID, nil); err != nil {
			return err
		}
		return changedFactor(ctx, c.tx, c.now, &a, s.ID(), "totp.remove", "")
	})
}

// NewRecoveryCodes replaces the recovery codes. Errors: those of Prove; ErrFactor for an
// account without a code app.
func (p *People) NewRecoveryCodes(ctx context.Context, s *Session, f Factor) ([]string, error) {
	consent, err := p.confirm(ctx, s, f, Read)
	if err != nil {
		return nil, err
	}
	codes, hashes := newRecovery()
	err = consent.run(ctx, func(c *change) error {
		a := c.by
		if !a.TOTP {
			return ErrFactor
		}
		a.Recovery, a.UpdatedAt = hashes, c.now
		if err := c.tx.PutAccount(ctx, &a); err != nil {
			return err
		}
		return c.audit(ctx, "recovery.set", personOf(a), "ten recovery codes")
	})
	if err != nil {
		return nil, err
	}
	return codes, nil
}

// takeCode takes a code of the account's code app, or a recovery code; each counts once.
// Wrong ones are few. Errors: ErrCode, *RateError.
func (p *People) takeCode(ctx context.Context, tx Tx, now time.Time, a *Account, code string) error {
	right, err := p.codes.attempt(a.Name, now)
	if err != nil {
		return err
	}
	code = plainCode(code)
	if len(code) == totpDigits.Length() {
		secret, err := tx.TOTP(ctx, a.ID)
		if err != nil {
			return err
		}
		step := stepOf(string(secret), code, now, a.TOTPStep)
		if step == 0 {
			return ErrCode
		}
		right()
		a.TOTPStep = step
		return tx.PutAccount(ctx, a)
	}
	hash := []byte(hashOf(code))
	at := slices.IndexFunc(a.Recovery, func(h string) bool { return subtle.ConstantTimeCompare([]byte(h), hash) == 1 })
	if at < 0 {
		return ErrCode
	}
	right()
	a.Recovery = slices.Delete(slices.Clone(a.Recovery), at, at+1)
	if err := tx.PutAccount(ctx, a); err != nil {
		return err
	}
	return audit(ctx, tx, now, personOf(*a), "recovery.use", personOf(*a), strconv.Itoa(len(a.Recovery))+" recovery codes are left")
}

// stepOf is the step of a code that counts at now and is later than last, or 0.
func stepOf(secret, code string, now time.Time, last int64) int64 {
	current := now.Unix() / totpStep
	for step := max(last+1, current-totpSkew); step <= current+totpSkew; step++ {
		ok, err := hotp.ValidateCustom(code, uint64(step), secret, hotp.ValidateOpts{Digits: totpDigits, Algorithm: otp.AlgorithmSHA1}) //nolint:gosec // times are not negative
		if ok && err == nil {
			return step
		}
	}
	return 0
}

// plainCode is a code without what people put between its groups.
func plainCode(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(code))
}

// newRecovery makes recovery codes, in groups, and their hashes.
func newRecovery() (codes, hashes []string) {
	for range recoveryCodes {
		var bytes [10]byte
		_, _ = rand.Read(bytes[:]) // never fails
		text := strings.ToLower(base32.StdEncoding.EncodeToString(bytes[:]))
		hashes = append(hashes, hashOf(text))
		var groups []string
		for group := range slices.Chunk([]byte(text), recoveryGroup) {
			groups = append(groups, string(group))
		}
		codes = append(codes, strings.Join(groups, "-"))
	}
	return codes, hashes
}
