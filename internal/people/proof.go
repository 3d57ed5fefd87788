package people

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// The actions of a Statement.
const (
	ActionAccept    = "accept"
	ActionUnapprove = "unapprove"
	ActionEdit      = "edit"   // of what is checked, or of how strictly
	ActionWindow    = "window" // of an expected change
	ActionPaging    = "paging" // of who is told of what
	ActionBackup    = "backup" // a copy of everything
)

// ProofLife is how long a proof counts.
const ProofLife = 5 * time.Minute

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

// Prove makes a proof when the session is alive, its account may approve and the factor,
// a passkey or a code beside the password, shows the same person. Errors:
// ErrUnauthenticated, ErrForbidden, ErrCredentials, ErrCode, ErrFactor, *RateError,
// *InputError.
func (p *People) Prove(ctx context.Context, s *Session, f Factor, st Statement) (Proof, error) {
	if err := st.check(); err != nil {
		return Proof{}, err
	}
	consent, err := p.confirm(ctx, s, f, Approve)
	if err != nil {
		return Proof{}, err
	}
	st.Items = slices.Clone(st.Items)
	proof := Proof{statement: st}
	err = consent.run(ctx, func(c *change) error {
		proof.account, proof.at = c.by.Name, c.now
		return c.audit(ctx, "proof."+st.Action, monitorOf(st.Monitor), st.detail())
	})
	if err != nil {
		return Proof{}, err
	}
	return proof, nil
}

const maxItems = 20_000 // of a statement: more than a surface has

// check tells whether the statement says what it is for.
func (st Statement) check() error {
	switch st.Action {
	case ActionAccept:
		if st.Digest.IsZero() {
			return &InputError{"digest", "of the surface that was shown is missing"}
		}
	case ActionUnapprove, ActionEdit, ActionWindow, ActionPaging, ActionBackup:
	default:
		return &InputError{"action", "has to be accept, unapprove, edit, window, paging or backup"}
	}
	if st.Monitor <= 0 && st.Action != ActionWindow && st.Action != ActionPaging && st.Action != ActionBackup { // which may concern many
		return &InputError{"monitor", "is missing"}
	}
	if len(st.Items) > maxItems {
		return &InputError{"items", "are too many"}
	}
	return nil
}

func (st Statement) detail() string {
	detail := "all"
	if n := len(st.Items); n > 0 {
		detail = strconv.Itoa(n) + " items"
	}
	if !st.Digest.IsZero() {
		detail += " of " + st.Digest.String()
	}
	return detail
}
