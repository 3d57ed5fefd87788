// Package ops holds what can be done with the watch, once: the REST API, the MCP server
// and whatever else takes requests call it.
//
// Every operation checks for itself that who asks may do it, writes who did what, and
// returns an [*Error] when it refuses. Nothing here can approve what a server tells
// agents without a proof of a person; see [Ops.Accept].
package ops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Engine is what operations need of the engine.
type Engine interface {
	// TestChannel sends a test message to a channel, by name, and returns what the
	// receiver answered.
	TestChannel(ctx context.Context, channel string) (string, error)
	// Binding is what a baseline of the monitor belongs to as it is checked now.
	Binding(ctx context.Context, m *watch.Monitor) (baseline.Binding, error)
}

// Deps are what operations work on. All are required but TwoPersons and Now.
type Deps struct {
	Store  *store.Store
	People *people.People
	Engine Engine
	// TwoPersons: a surface is approved when two persons have accepted the same of it.
	TwoPersons bool
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Ops are the operations. They are safe for concurrent use.
type Ops struct {
	store  *store.Store
	people *people.People
	engine Engine
	now    func() time.Time
	// twoPersons is described at Deps.
	twoPersons bool
	// comparisons are those that reviews showed last.
	comparisons comparisons
	baselines   baselines
	// effort is what whole surfaces are compared and searched with.
	effort effort
	// copying is held while a backup is made and sent.
	copying sync.Mutex
}

// New makes the operations.
func New(d Deps) *Ops {
	if d.Now == nil {
		d.Now = time.Now
	}
	return &Ops{store: d.Store, people: d.People, engine: d.Engine, twoPersons: d.TwoPersons, now: func() time.Time {
		return d.Now().UTC().Truncate(time.Millisecond)
	}}
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T `json:"items" nullable:"false"`
	// Next is the cursor of the part after it.
	Next string `json:"next,omitempty" doc:"Give it as after to get the part that follows; absent at the end."`
}

func pageOf[T any](items []T, next string) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{Items: items, Next: next}
}

func may(actor people.Actor, p people.Permission) error {
	if actor.Can(p) {
		return nil
	}
	if _, signedIn := actor.Session(); p == people.Approve && !signedIn && actor.Name() != "" {
		return proofRequired("this")
	}
	return refuse(Forbidden, fmt.Sprintf("ask an administrator for a role that may %s", p),
		"the role %q does not allow this", actor.Role())
}

// Proof is what a person adds to a request that needs more than to be signed in.
type Proof struct {
	// Password is that of the person's own account, typed for this very request.
	Password string `json:"password,omitempty" maxLength:"1024" doc:"Password of your account. Needed where the answer proof-required says so; a person who is signed in and may approve has to give it, no API key can."`
	// Code is one of the account's code app, or a recovery code.
	Code string `json:"code,omitempty" maxLength:"100" doc:"Code of your code app, or a recovery code. Needed beside the password where the answer is code-required."`
	// Factor is what was shown instead: the answer of a passkey.
	Factor people.Factor `json:"-"`
}

// Shown is what the person shows, or nil.
func (p Proof) Shown() people.Factor {
	switch {
	case p.Factor != nil:
		return p.Factor
	case p.Code != "":
		return people.Code(p.Password, p.Code)
	case p.Password != "":
		return people.Password(p.Password)
	default:
		return nil
	}
}

// String hides what is secret in it.
func (Proof) String() string { return "***" }

func proofRequired(what string) error {
	return refuse(ProofRequired, "a person who may approve has to do it: signed in, and with a passkey, or with password and code (members of these names in a request)",
		"%s needs the proof of a person", what)
}

// prove makes the proof that the person of the session means a statement. It is made
// outside of transactions.
func (o *Ops) prove(ctx context.Context, actor people.Actor, p Proof, what string, st people.Statement) (people.Proof, error) {
	session, ok := actor.Session()
	if !ok || p.Shown() == nil {
		return people.Proof{}, proofRequired(what)
	}
	if !actor.Can(people.Approve) {
		return people.Proof{}, refuse(Forbidden, "ask somebody with the role approver", "%s needs the role approver", what)
	}
	proof, err := o.people.Prove(ctx, session, p.Shown(), st)
	if err != nil {
		return people.Proof{}, Personal(err)
	}
	return proof, nil
}

// change runs f in a transaction and says what went wrong in the words of the caller.
func (o *Ops) change(ctx context.Context, what string, f func(t *store.Tx) error) error {
	return told(what, o.store.InTx(ctx, f))
}

func (o *Ops) view(ctx context.Context, what string, f func(t *store.Tx) error) error {
	return told(what, o.store.View(ctx, f))
}

func (o *Ops) event(name string, m *watch.Monitor, actor people.Actor, text string) watch.Event {
	return watch.Event{Monitor: m.ID, At: o.now(), Name: name, Text: text, Actor: actor.Name()}
}

func (o *Ops) audit(ctx context.Context, t *store.Tx, actor people.Actor, action, object, detail string) error {
	return t.Audit(ctx, people.AuditEntry{At: o.now(), Actor: actor.Name(), Action: action, Object: object, Detail: detail})
}

// monitorNamed is a monitor as the audit names it.
func monitorNamed(m *watch.Monitor) string { return "monitor:" + m.Definition.Name }

func indexed(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// guarded reports whether something is approved of a monitor, or was before. What takes
// that away, or weakens it, is for a person.
func guarded(m *watch.Monitor) bool { return m.Approvals > 0 }

// stateOf is the state of a monitor, or nil when it has none.
func stateOf(ctx context.Context, t *store.Tx, id int64, lock bool) (*watch.State, error) {
	states, err := t.States(ctx, []int64{id}, lock)
	if err != nil {
		return nil, err
	}
	if st, ok := states[id]; ok {
		return &st, nil
	}
	return nil, nil //nolint:nilnil // no state is no error: it was never checked
}
