package ops

import (
	"context"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// AccountInput makes an account.
type AccountInput struct {
	Name        string      `json:"name" minLength:"1" maxLength:"100"`
	Role        people.Role `json:"role" enum:"viewer,editor,approver,admin"`
	NewPassword string      `json:"new_password" minLength:"1" maxLength:"1024" doc:"Of the new account."`
	Proof
}

// AccountEdit changes one of role, disabled and password of an account.
type AccountEdit struct {
	Role        *people.Role `json:"role,omitempty" enum:"viewer,editor,approver,admin"`
	Disabled    *bool        `json:"disabled,omitempty"`
	NewPassword *string      `json:"new_password,omitempty" minLength:"1" maxLength:"1024"`
	Proof
}

// KeyInput makes an API key.
type KeyInput struct {
	Name      string      `json:"name" minLength:"1" maxLength:"100"`
	Role      people.Role `json:"role" enum:"viewer,editor,admin" doc:"A key never approves, whatever its role."`
	ExpiresAt *time.Time  `json:"expires_at,omitempty" doc:"In 90 days by default."`
	Proof
}

// NewKey is an API key with its text, which is shown this once.
type NewKey struct {
	people.Key
	Text string `json:"key" doc:"Send it as Authorization: Bearer. It is not shown again."`
}

// person is the session of who administers accounts, which no key may.
func person(actor people.Actor, p people.Permission) (*people.Session, error) {
	if !actor.Can(p) {
		return nil, may(actor, p)
	}
	session, ok := actor.Session()
	if !ok {
		return nil, refuse(ProofRequired, "a person has to do it, signed in", "no API key may do this")
	}
	return session, nil
}

// Shown is what a person shows, for who asks package people itself. It may be nil.
func Shown(s *people.Session, p Proof) (people.Factor, error) {
	if unshown(s, p) {
		return nil, proofRequired("this")
	}
	return p.Shown(), nil
}

// unshown tells whether a person shows nothing who could: who signs in with an OpenID
// provider has no password, and a session that has just begun counts.
func unshown(s *people.Session, p Proof) bool {
	return p.Shown() == nil && s.Account().Password != ""
}

// Accounts are all accounts.
func (o *Ops) Accounts(ctx context.Context, actor people.Actor) ([]people.Account, error) {
	if err := may(actor, people.Administer); err != nil {
		return nil, err
	}
	accounts, err := o.people.Accounts(ctx, actor)
	return accounts, Personal(err)
}

// CreateAccount makes an account. It takes the password of who makes it: whoever makes
// accounts could make one that approves.
func (o *Ops) CreateAccount(ctx context.Context, actor people.Actor, in AccountInput) (people.Account, error) {
	session, err := person(actor, people.Administer)
	if err != nil {
		return people.Account{}, err
	}
	if unshown(session, in.Proof) {
		return people.Account{}, proofRequired("to make an account")
	}
	a, err := o.people.CreateAccount(ctx, session, in.Shown(), in.Name, in.NewPassword, in.Role)
	return a, Personal(err)
}

// EditAccount changes one of role, password and whether an account is disabled. Everybody may
// change the password of the own account.
func (o *Ops) EditAccount(ctx context.Context, actor people.Actor, id int64, edit AccountEdit) (people.Account, error) {
	need := people.Administer
	session, ok := actor.Session()
	own := ok && session.Account().ID == id
	if own && edit.Role == nil && edit.Disabled == nil {
		need = people.Read
	}
	session, err := person(actor, need)
	if err != nil {
		return people.Account{}, err
	}
	if unshown(session, edit.Proof) {
		return people.Account{}, proofRequired("to change an account")
	}
	factor := edit.Shown()
	switch {
	case edit.Role != nil && edit.Disabled == nil && edit.NewPassword == nil:
		err = o.people.SetRole(ctx, session, factor, id, *edit.Role)
	case edit.Role == nil && edit.Disabled != nil && edit.NewPassword == nil:
		err = o.people.Disable(ctx, session, factor, id, *edit.Disabled)
	case edit.Role == nil && edit.Disabled == nil && edit.NewPassword != nil:
		err = o.people.SetPassword(ctx, session, factor, id, *edit.NewPassword)
	default:
		return people.Account{}, invalid(watch.Problem{Field: "role", Text: "not one of role, disabled and new_password is given", Hint: "change one thing at a time"})
	}
	if err != nil {
		return people.Account{}, Personal(err)
	}
	return o.account(ctx, id)
}

func (o *Ops) account(ctx context.Context, id int64) (out people.Account, err error) {
	err = o.store.People().View(ctx, func(t people.Tx) error {
		out, err = t.Account(ctx, id)
		return err
	})
	return out, Personal(err)
}

// Keys are all API keys, without their texts.
func (o *Ops) Keys(ctx context.Context, actor people.Actor) ([]people.Key, error) {
	if err := may(actor, people.Administer); err != nil {
		return nil, err
	}
	keys, err := o.people.Keys(ctx, actor)
	return keys, Personal(err)
}

// CreateKey makes an API key. It takes a proof of who makes it: a key outlives the session
// that it was made in.
func (o *Ops) CreateKey(ctx context.Context, actor people.Actor, in KeyInput) (NewKey, error) {
	session, err := person(actor, people.Administer)
	if err != nil {
		return NewKey{}, err
	}
	if unshown(session, in.Proof) {
		return NewKey{}, proofRequired("to make an API key")
	}
	var expires time.Time
	if in.ExpiresAt != nil {
		expires = in.ExpiresAt.UTC()
	}
	text, key, err := o.people.CreateKey(ctx, session, in.Shown(), in.Name, in.Role, expires)
	return NewKey{Key: key, Text: text}, Personal(err)
}

// RevokeKey ends an API key.
func (o *Ops) RevokeKey(ctx context.Context, actor people.Actor, id int64) error {
	if err := may(actor, people.Administer); err != nil {
		return err
	}
	return Personal(o.people.RevokeKey(ctx, actor, id))
}
