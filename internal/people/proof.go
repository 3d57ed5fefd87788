package people

import (
	"context"
	"fmt"
	"io"
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

// Factor is what a person shows to be the one who is signed in, now.
type Factor interface {
	verify(ctx context.Context, p *People, a Account) (bool, error)
}

type password struct{ text string }

// Password is the account's password as the person has typed it for this very act.
func Password(text string) Factor { return password{text} }

func (f password) verify(ctx context.Context, p *People, a Account) (bool, error) {
	return p.hasher.matches(ctx, f.text, a.Password)
}

// Format prints *** for every verb.
func (password) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

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

// Prove makes a proof when the session is alive, its account may approve and the factor
// shows the same person. Errors: ErrUnauthenticated, ErrForbidden, ErrCredentials,
// *RateError, *InputError.
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

// confirm sees that the session is alive and may do need, and that the factor shows its
// person. A factor that does not is counted and written to the audit.
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
	ok := false
	if f != nil {
		if ok, err = f.verify(ctx, p, by); err != nil {
			return nil, err
		}
	}
	if !ok {
		err := p.storage.Change(ctx, func(tx Tx) error {
			return audit(ctx, tx, now, personOf(by), "factor.failed", personOf(by), "wrong password in a session")
		})
		if err != nil {
			return nil, err
		}
		return nil, ErrCredentials
	}
	return &consent{people: p, session: s, by: by, need: need}, nil
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
