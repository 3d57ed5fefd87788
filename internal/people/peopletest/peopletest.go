// Package peopletest lets tests show what people show to prove something.
package peopletest

import (
	"context"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/mcpvigil/mcpvigil/internal/people"
)

// EnrolTOTP sets up a code app for the account of a session, which has that password and
// no code app yet, at the time now of its clock. What it gives are codes: each call
// another one that counts once, however many are asked for at one time, as they are
// recovery codes.
func EnrolTOTP(t testing.TB, p *people.People, s *people.Session, password string, now time.Time) func() string {
	t.Helper()
	ctx := context.Background()
	begun, err := p.BeginTOTP(ctx, s, people.Password(password))
	if err != nil {
		t.Fatal(err)
	}
	code, err := totp.GenerateCode(begun.Secret, now)
	if err != nil {
		t.Fatal(err)
	}
	left, err := p.ConfirmTOTP(ctx, s, code)
	if err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		if len(left) == 1 {
			if left, err = p.NewRecoveryCodes(ctx, s, people.Code(password, left[0])); err != nil {
				t.Fatal(err)
			}
		}
		next := left[0]
		left = left[1:]
		return next
	}
}
