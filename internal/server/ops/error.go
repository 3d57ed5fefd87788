package ops

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Code says in one word why an operation was refused. It is stable.
type Code string

// The codes.
const (
	Invalid         Code = "invalid"
	Unauthenticated Code = "unauthenticated"
	WrongPassword   Code = "wrong-password"
	Forbidden       Code = "forbidden"
	ProofRequired   Code = "proof-required"  // a person has to do it, with the password
	FactorRequired  Code = "factor-required" // a passkey, or a code beside the password
	CodeRequired    Code = "code-required"   // a code beside the password
	SignInAgain     Code = "sign-in-again"   // the session is too old for it
	NotFound        Code = "not-found"
	Exists          Code = "exists"     // the name is taken
	Conflict        Code = "conflict"   // somebody else changed it meanwhile
	Moved           Code = "moved"      // the surface is not the one that was shown
	FileOwned       Code = "file-owned" // the configuration file owns it
	InUse           Code = "in-use"     // something else refers to it
	Busy            Code = "busy"       // a check of it is running
	Paused          Code = "paused"
	TooMany         Code = "too-many"
	Undeliverable   Code = "undeliverable" // the receiver did not take a test message
	Unavailable     Code = "unavailable"   // the database cannot be used now
)

// Error is why an operation was refused. Everything in it is fit to be shown to who
// asked.
type Error struct {
	Code Code
	// Text says what is wrong, Hint what to do.
	Text, Hint string
	// Problems are the fields of the request that are wrong.
	Problems []watch.Problem
	// Needs is what in a change takes a proof, for ProofRequired and when the proof is
	// not good.
	Needs []string
	// RetryAfter is when to try again, for TooMany and Unavailable.
	RetryAfter time.Duration
}

// Error says what is wrong, and where.
func (e *Error) Error() string {
	if len(e.Problems) == 0 {
		return e.Text
	}
	parts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		parts = append(parts, p.Field+": "+p.Text)
	}
	return e.Text + ": " + strings.Join(parts, "; ")
}

func refuse(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...), Hint: hint}
}

func invalid(problems ...watch.Problem) *Error {
	return &Error{Code: Invalid, Text: "the request cannot be carried out as it is", Problems: problems}
}

func fileOwned(what, name string) *Error {
	return refuse(FileOwned, "edit the configuration file; it is read again when it changes",
		"the %s %q belongs to the configuration file", what, name)
}

// told turns errors of the layers below that are the caller's affair into an *Error,
// and leaves all others as they are.
func told(what string, err error) error {
	var (
		exists *store.ExistsError
		owned  *store.OwnedError
		mine   *Error
	)
	switch {
	case err == nil, errors.As(err, &mine):
		return err
	case errors.Is(err, store.ErrNotFound):
		return refuse(NotFound, "", "there is no such %s", what)
	case errors.As(err, &exists):
		return &Error{
			Code: Exists, Text: "another " + what + " has this " + exists.Field,
			Problems: []watch.Problem{{Field: exists.Field, Text: "is taken", Hint: "choose another one"}},
		}
	case errors.Is(err, store.ErrConflict):
		return refuse(Conflict, "read it again, and repeat the change on what it is now",
			"the %s was changed meanwhile", what)
	case errors.Is(err, store.ErrBusy):
		return refuse(Busy, "wait for its result", "a check of this %s is running", what)
	case errors.Is(err, store.ErrCursor):
		return invalid(watch.Problem{Field: "after", Text: "is no cursor", Hint: "give what next of the page before was"})
	case errors.Is(err, store.ErrPaused):
		return refuse(Paused, "resume it first", "the %s is paused", what)
	case errors.As(err, &owned):
		return fileOwned(owned.Kind, owned.Name)
	default:
		return err
	}
}

// Personal turns errors of package people into an *Error, as far as they are the affair
// of who asked.
func Personal(err error) error {
	var (
		rate  *people.RateError
		input *people.InputError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rate):
		return &Error{Code: TooMany, Text: "too many attempts", Hint: "wait, then try again", RetryAfter: rate.RetryAfter}
	case errors.As(err, &input):
		return invalid(watch.Problem{Field: input.Field, Text: input.Text})
	case errors.Is(err, people.ErrSetupToken):
		return refuse(Unauthenticated, "take the one that was printed when the server started", "the setup token is wrong")
	case errors.Is(err, people.ErrCredentials):
		return refuse(WrongPassword, "", "%s", people.ErrCredentials.Error())
	case errors.Is(err, people.ErrCode):
		return refuse(CodeRequired, "give the code that the app shows now, or a recovery code", "%s", people.ErrCode.Error())
	case errors.Is(err, people.ErrFactor):
		return refuse(FactorRequired, "use your passkey, or set up a code app on the page of your account (/account)", "%s", people.ErrFactor.Error())
	case errors.Is(err, people.ErrSessionAge):
		return refuse(SignInAgain, "sign out, sign in again, and repeat it", "%s", people.ErrSessionAge.Error())
	case errors.Is(err, people.ErrNoPasskeys):
		return refuse(Conflict, "set --public-url to the address that browsers show", "%s", people.ErrNoPasskeys.Error())
	case errors.Is(err, people.ErrProvider):
		return refuse(Forbidden, "", "%s", people.ErrProvider.Error())
	case errors.Is(err, people.ErrUnauthenticated):
		return refuse(Unauthenticated, "sign in, or send a key", "%s", people.ErrUnauthenticated.Error())
	case errors.Is(err, people.ErrForbidden):
		return refuse(Forbidden, "", "%s", people.ErrForbidden.Error())
	case errors.Is(err, people.ErrNotFound):
		return refuse(NotFound, "", "there is no such account, key or session")
	case errors.Is(err, people.ErrExists):
		return &Error{Code: Exists, Text: "the name is taken", Problems: []watch.Problem{{Field: "name", Text: "is taken", Hint: "choose another one"}}}
	case errors.Is(err, people.ErrLastAdmin):
		return refuse(Conflict, "make another account admin first", "the last admin has to stay")
	case errors.Is(err, people.ErrSetupOver):
		return refuse(Conflict, "sign in", "there is an account already")
	default:
		return err
	}
}

// outageRetry is when to try again while the database cannot be used.
const outageRetry = 5 * time.Second

// Outage is what is said of an error that comes of the database being away or taking
// nothing, and nil for all others. It names nothing of the database: the log does.
func Outage(err error) *Error {
	if !store.Unavailable(err) {
		return nil
	}
	return &Error{Code: Unavailable, Text: "the database cannot be used now", Hint: "try again in a moment; the server's log says why", RetryAfter: outageRetry}
}

func is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
