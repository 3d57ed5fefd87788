package watch

import (
	"errors"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Why Accept refuses, beside errors in the selection.
var (
	// ErrProof: there is no proof, or it is for something else.
	ErrProof = errors.New("no proof that a person accepts this")
	// ErrStale: the surface that was shown is not the one to be accepted.
	ErrStale = errors.New("the surface has changed since it was shown")
)

// ActionAccept is the action of the statement that Accept needs a proof of.
const ActionAccept = "accept"

// Statement is what a person has to prove to accept sel of a surface.
func (sel Selection) Statement(monitor int64, shown surface.Digest) people.Statement {
	return people.Statement{Action: ActionAccept, Monitor: monitor, Digest: shown}
}

// Accept approves what a person selected of a surface.
func Accept(proof people.Proof, m *Monitor, current *baseline.Baseline, binding baseline.Binding, s *surface.Surface,
	v *baseline.Result, findings []baseline.Verdict, sel Selection, now time.Time,
) (Approval, error) {
	return Approval{}, ErrProof
}
