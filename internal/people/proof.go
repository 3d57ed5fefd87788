package people

import (
	"context"
	"slices"
	"time"
)

// The actions of a Statement.
const (
	ActionAccept    = "accept"
	ActionUnapprove = "unapprove"
	ActionEdit      = "edit"   // of what is checked, or of how strictly
	ActionWindow    = "window" // of an expected change
)

// ProofLife is how long a proof counts.
const ProofLife = 5 * time.Minute

// Factor is what a person shows to be the one who is signed in, now.
type Factor interface {
	verify(ctx context.Context, p *People, a Account) (bool, error)
}

type password string

// Password is the account's password as the person has typed it for this very act.
func Password(text string) Factor { return password(text) }

func (f password) verify(context.Context, *People, Account) (bool, error) { return false, errStub }

// String hides the password.
func (password) String() string { return "***" }

// GoString hides the password.
func (password) GoString() string { return "***" }

// Proof is that a person has meant one statement. Only [People.Prove] makes one.
type Proof struct {
	statement Statement
	account   string
	at        time.Time
}

// Valid tells a proof from the zero value. Whether it still counts is for ValidAt.
func (p Proof) Valid() bool { return p.account != "" }

// ValidAt tells whether the proof counts at now, which is up to five minutes after it
// was given.
func (p Proof) ValidAt(now time.Time) bool {
	return p.Valid() && !now.Before(p.at) && now.Sub(p.at) <= ProofLife
}

// Statement is what was meant, a copy.
func (p Proof) Statement() Statement {
	s := p.statement
	s.Items = slices.Clone(s.Items)
	return s
}

// Account is the name of the account of the person, such as "ann".
func (p Proof) Account() string { return p.account }

// At is when the proof was given.
func (p Proof) At() time.Time { return p.at }

// Prove makes a proof when the session is alive, its account may approve and factor
// shows the same person. Errors: ErrUnauthenticated, ErrForbidden, ErrCredentials,
// *RateError, *InputError.
func (p *People) Prove(ctx context.Context, s *Session, f Factor, st Statement) (Proof, error) {
	return Proof{}, errStub
}
