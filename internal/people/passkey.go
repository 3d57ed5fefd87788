package people

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const (
	maxPasskeys    = 20 // of an account
	maxPasskeyName = 64

	challengeLife = 5 * time.Minute
	// Challenges that wait at most: to sign in, which anybody may ask for, and of one
	// purpose of one session.
	maxLoginChallenges   = 5000
	maxSessionChallenges = 10

	forLogin = "login"
)

// ErrNoPasskeys is a server that browsers know by no name.
var ErrNoPasskeys = errors.New("passkeys need a public URL with a host name that is no IP address: see --public-url")

// errPasskey is an answer of an authenticator that does not count.
var errPasskey = errors.New("a passkey that does not count")

func forProof(s *Session) string   { return "proof " + s.ID() }
func forPasskey(s *Session) string { return "passkey " + s.ID() }

// relyingParty is what passkeys are bound to, or nil without a name that they could be
// bound to.
func relyingParty(publicURL string) *webauthn.WebAuthn {
	u, err := url.Parse(publicURL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return nil
	}
	required := true
	party, err := webauthn.New(&webauthn.Config{
		RPID: strings.ToLower(u.Hostname()), RPDisplayName: "mcpvigil", RPOrigins: []string{u.Scheme + "://" + u.Host},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: &required, ResidentKey: protocol.ResidentKeyRequirementRequired,
			UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil
	}
	return party
}

// PasskeysWork tells whether browsers can use passkeys here: the public URL has a host
// name that is no IP address.
func (p *People) PasskeysWork() bool { return p.party != nil }

// holder is an account as the library wants it.
type holder struct {
	account Account
	keys    []webauthn.Credential
}

// WebAuthnID is the library's. Databases of several servers give the same ids, and an
// authenticator keeps one passkey for each.
func (h *holder) WebAuthnID() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "mcpvigil account %d %d", h.account.ID, h.account.CreatedAt.UnixMilli()))
	return sum[:]
}

// WebAuthnName is the library's.
func (h *holder) WebAuthnName() string { return h.account.Name }

// WebAuthnDisplayName is the library's.
func (h *holder) WebAuthnDisplayName() string { return h.account.Name }

// WebAuthnCredentials is the library's.
func (h *holder) WebAuthnCredentials() []webauthn.Credential { return h.keys }

// holderOf is an account with its passkeys.
func holderOf(ctx context.Context, tx Tx, a Account) (*holder, error) {
	rows, err := tx.Passkeys(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	h := &holder{account: a}
	for _, row := range rows {
		var key webauthn.Credential
		if err := json.Unmarshal([]byte(row.Data), &key); err != nil {
			return nil, fmt.Errorf("read passkey %d: %w", row.ID, err)
		}
		h.keys = append(h.keys, key)
	}
	return h, nil
}

// asked is what is kept of a challenge.
type asked struct {
	Session webauthn.SessionData `json:"session"`
	Binding string               `json:"binding,omitempty"`
}

// ask keeps a challenge, in the place of the oldest of too many for a purpose.
func ask(ctx context.Context, tx Tx, now time.Time, purpose string, keep int, a asked) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("keep a challenge: %w", err)
	}
	if err := tx.DropChallenges(ctx, purpose, now, keep-1); err != nil {
		return err
	}
	return tx.PutChallenge(ctx, Challenge{Hash: hashOf(a.Session.Challenge), Purpose: purpose, Data: data, ExpiresAt: now.Add(challengeLife)})
}

// answered takes what was asked for a purpose, which counts once. Errors: errPasskey.
func answered(ctx context.Context, tx Tx, now time.Time, purpose, binding, challenge string) (webauthn.SessionData, error) {
	c, err := tx.Challenge(ctx, hashOf(challenge))
	if missing(err) {
		return webauthn.SessionData{}, fmt.Errorf("%w: its challenge is unknown, or was answered", errPasskey)
	}
	if err != nil {
		return webauthn.SessionData{}, err
	}
	if err := tx.DeleteChallenge(ctx, c.Hash); err != nil {
		return webauthn.SessionData{}, err
	}
	if c.Purpose != purpose || !now.Before(c.ExpiresAt) {
		return webauthn.SessionData{}, fmt.Errorf("%w: its challenge was for something else, or has expired", errPasskey)
	}
	var a asked
	if err := json.Unmarshal(c.Data, &a); err != nil {
		return webauthn.SessionData{}, fmt.Errorf("read a challenge: %w", err)
	}
	if a.Binding != binding {
		return webauthn.SessionData{}, fmt.Errorf("%w: its challenge was for another request", errPasskey)
	}
	return a.Session, nil
}

// used checks an answer and counts its use. Errors: errPasskey.
func (p *People) used(ctx context.Context, tx Tx, now time.Time, h *holder, session webauthn.SessionData, answer *protocol.ParsedCredentialAssertionData) error {
	row, err := tx.PasskeyByCredential(ctx, credentialName(answer.RawID))
	if missing(err) || err == nil && row.Account != h.account.ID {
		return fmt.Errorf("%w: it is unknown", errPasskey)
	}
	if err != nil {
		return err
	}
	var key *webauthn.Credential
	if len(session.UserID) > 0 {
		key, err = p.party.ValidateLogin(h, session, answer)
	} else {
		_, key, err = p.party.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return h, nil }, session, answer)
	}
	if err != nil {
		return fmt.Errorf("%w: its answer is wrong", errPasskey)
	}
	if key.Authenticator.CloneWarning {
		return fmt.Errorf("%w: its counter went back, there may be a copy of it", errPasskey)
	}
	data, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("keep a passkey: %w", err)
	}
	row.Data, row.UsedAt = string(data), now
	return tx.PutPasskey(ctx, &row)
}

func credentialName(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

// PasskeyChallenge gives what a browser asks an authenticator for, to sign in: JSON for
// navigator.credentials.get. Errors: ErrNoPasskeys.
func (p *People) PasskeyChallenge(ctx context.Context) ([]byte, error) {
	if p.party == nil {
		return nil, ErrNoPasskeys
	}
	options, session, err := p.party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	err = p.storage.Change(ctx, func(tx Tx) error {
		return ask(ctx, tx, p.now(), forLogin, maxLoginChallenges, asked{Session: *session})
	})
	if err != nil {
		return nil, err
	}
	return optionsText(options)
}

func optionsText(options any) ([]byte, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	return text, nil
}

// LoginWithPasskey starts a session of the account whose passkey answered a challenge of
// PasskeyChallenge, under a new token; not of an OpenID person. Errors: ErrNoPasskeys,
// ErrCredentials, ErrProvider, *RateError.
func (p *People) LoginWithPasskey(ctx context.Context, answer []byte, address, agent string) (string, *Session, error) {
	if p.party == nil {
		return "", nil, ErrNoPasskeys
	}
	if p.options.ProviderOnly {
		return "", nil, ErrProvider
	}
	now := p.now()
	if err := p.addresses.take(network(address), now); err != nil {
		return "", nil, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return "", nil, ErrCredentials
	}
	return p.begin(ctx, now, address, agent, func(tx Tx, row SessionRow) (Account, error, error) {
		a, err := p.passkeyHolder(ctx, tx, now, parsed)
		switch {
		case errors.Is(err, errPasskey):
			return a, ErrCredentials, audit(ctx, tx, now, "", "login.failed", passkeyOwner(a), err.Error()+", from "+row.Address)
		case err != nil:
			return a, nil, err
		case a.Disabled:
			return a, ErrCredentials, loginFailed(ctx, tx, a, "disabled", row)
		case a.Subject != "": // whether the person may still sign in is for the provider to say
			return a, ErrProvider, loginFailed(ctx, tx, a, "a passkey, but it is a person of the OpenID provider", row)
		default:
			return a, nil, nil
		}
	})
}

func passkeyOwner(a Account) string {
	if a.ID == 0 {
		return ""
	}
	return personOf(a)
}

// passkeyHolder is the account whose passkey has answered to sign in. Errors: errPasskey,
// of which account as far as that is known.
func (p *People) passkeyHolder(ctx context.Context, tx Tx, now time.Time, answer *protocol.ParsedCredentialAssertionData) (Account, error) {
	session, err := answered(ctx, tx, now, forLogin, "", answer.Response.CollectedClientData.Challenge)
	if err != nil {
		return Account{}, err
	}
	row, err := tx.PasskeyByCredential(ctx, credentialName(answer.RawID))
	if missing(err) {
		return Account{}, fmt.Errorf("%w: it is unknown", errPasskey)
	}
	if err != nil {
		return Account{}, err
	}
	a, err := tx.Account(ctx, row.Account)
	if err != nil {
		return Account{}, err
	}
	h, err := holderOf(ctx, tx, a)
	if err != nil {
		return Account{}, err
	}
	return a, p.used(ctx, tx, now, h, session, answer)
}

// ProofChallenge gives what a browser asks an authenticator for, to prove one act of the
// session: the answer counts for the same binding alone. Errors: ErrUnauthenticated,
// ErrNoPasskeys, ErrFactor when the account has no passkey.
func (p *People) ProofChallenge(ctx context.Context, s *Session, binding string) ([]byte, error) {
	if !p.made(s) {
		return nil, ErrUnauthenticated
	}
	if p.party == nil {
		return nil, ErrNoPasskeys
	}
	now := p.now()
	var options *protocol.CredentialAssertion
	err := p.storage.Change(ctx, func(tx Tx) error {
		_, a, err := p.alive(ctx, tx, s.ID(), now)
		if err != nil {
			return err
		}
		h, err := holderOf(ctx, tx, a)
		if err != nil {
			return err
		}
		if len(h.keys) == 0 {
			return ErrFactor
		}
		var session *webauthn.SessionData
		options, session, err = p.party.BeginLogin(h, webauthn.WithUserVerification(protocol.VerificationRequired))
		if err != nil {
			return fmt.Errorf("ask for a passkey: %w", err)
		}
		return ask(ctx, tx, now, forProof(s), maxSessionChallenges, asked{Session: *session, Binding: binding})
	})
	if err != nil {
		return nil, err
	}
	return optionsText(options)
}

type passkeyAnswer struct {
	answer  []byte
	binding string
}

// Passkey is the answer of an authenticator to a challenge of ProofChallenge for the
// same binding.
func Passkey(answer []byte, binding string) Factor { return passkeyAnswer{answer, binding} }

func (f passkeyAnswer) verify(_ context.Context, p *People, s *Session, _ Account) (shown, error) {
	if p.party == nil {
		return nil, ErrNoPasskeys
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(f.answer)
	return func(ctx context.Context, tx Tx, now time.Time, a *Account) (bool, error) {
		if err != nil {
			return false, fmt.Errorf("%w: it cannot be read", errPasskey)
		}
		session, err := answered(ctx, tx, now, forProof(s), f.binding, parsed.Response.CollectedClientData.Challenge)
		if err != nil {
			return false, err
		}
		h, err := holderOf(ctx, tx, *a)
		if err != nil {
			return false, err
		}
		return true, p.used(ctx, tx, now, h, session, parsed)
	}, nil
}

// BeginPasskey gives what a browser makes a passkey from: JSON for
// navigator.credentials.create. Errors: those of Prove, ErrNoPasskeys, ErrSessionAge,
// *InputError when there are too many.
func (p *People) BeginPasskey(ctx context.Context, s *Session, f Factor) ([]byte, error) {
	if p.party == nil {
		return nil, ErrNoPasskeys
	}
	consent, err := p.confirm(ctx, s, f, Read)
	if err != nil {
		return nil, err
	}
	var options *protocol.CredentialCreation
	err = consent.run(ctx, func(c *change) error {
		h, err := holderOf(ctx, c.tx, c.by)
		if err != nil {
			return err
		}
		if len(h.keys) >= maxPasskeys {
			return errTooManyPasskeys()
		}
		var session *webauthn.SessionData
		options, session, err = p.party.BeginRegistration(h, webauthn.WithExclusions(webauthn.Credentials(h.keys).CredentialDescriptors()))
		if err != nil {
			return fmt.Errorf("ask for a new passkey: %w", err)
		}
		return ask(ctx, c.tx, c.now, forPasskey(s), maxSessionChallenges, asked{Session: *session})
	})
	if err != nil {
		return nil, err
	}
	return optionsText(options)
}

func errTooManyPasskeys() error {
	return &InputError{"name", fmt.Sprintf("is that of one passkey too many: an account has %d at most", maxPasskeys)}
}

// FinishPasskey keeps the passkey that a browser made after BeginPasskey, and ends the
// account's other sessions. Errors: ErrUnauthenticated, ErrNoPasskeys, ErrCredentials for
// an answer that does not count, ErrExists, *InputError.
func (p *People) FinishPasskey(ctx context.Context, s *Session, name string, answer []byte) error {
	if !p.made(s) {
		return ErrUnauthenticated
	}
	if p.party == nil {
		return ErrNoPasskeys
	}
	name = plain.Line(strings.TrimSpace(name), maxPasskeyName)
	if name == "" {
		return &InputError{"name", "is missing: call the passkey by what keeps it, such as laptop"}
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return ErrCredentials
	}
	now := p.now()
	var refused error
	err = p.storage.Change(ctx, func(tx Tx) error {
		_, a, err := p.alive(ctx, tx, s.ID(), now)
		if err != nil {
			return err
		}
		err = p.keep(ctx, tx, now, s, a, name, parsed)
		if refused = nil; errors.Is(err, errPasskey) {
			refused = ErrCredentials
			return audit(ctx, tx, now, personOf(a), "factor.failed", personOf(a), err.Error())
		}
		return err
	})
	return errors.Join(err, refused)
}

// keep stores the passkey of an answer. Errors: errPasskey.
func (p *People) keep(ctx context.Context, tx Tx, now time.Time, s *Session, a Account, name string, answer *protocol.ParsedCredentialCreationData) error {
	session, err := answered(ctx, tx, now, forPasskey(s), "", answer.Response.CollectedClientData.Challenge)
	if err != nil {
		return err
	}
	h, err := holderOf(ctx, tx, a)
	if err != nil {
		return err
	}
	if len(h.keys) >= maxPasskeys {
		return errTooManyPasskeys()
	}
	key, err := p.party.CreateCredential(h, session, answer)
	if err != nil {
		return fmt.Errorf("%w: its answer is wrong", errPasskey)
	}
	data, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("keep a passkey: %w", err)
	}
	row := PasskeyRow{Account: a.ID, Name: name, Credential: credentialName(key.ID), Data: string(data), CreatedAt: now}
	if err := tx.PutPasskey(ctx, &row); err != nil {
		return err
	}
	return changedFactor(ctx, tx, now, &a, s.ID(), "passkey.add", "passkey "+name)
}

// RemovePasskey removes a passkey of the session's own account, and ends the account's
// other sessions. Errors: those of Prove, ErrNotFound.
func (p *People) RemovePasskey(ctx context.Context, s *Session, f Factor, id int64) error {
	consent, err := p.confirm(ctx, s, f, Read)
	if err != nil {
		return err
	}
	return consent.run(ctx, func(c *change) error {
		rows, err := c.tx.Passkeys(ctx, c.by.ID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.ID != id {
				continue
			}
			if err := c.tx.DeletePasskey(ctx, id); err != nil {
				return err
			}
			a := c.by
			return changedFactor(ctx, c.tx, c.now, &a, s.ID(), "passkey.remove", "passkey "+row.Name)
		}
		return ErrNotFound
	})
}
