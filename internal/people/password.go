package people

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"
)

const (
	minPassword = 12 // characters
	maxPassword = 256

	maxHashes  = 2  // at a time: each takes 46 MiB
	maxWaiting = 64 // for one of them
)

// hasher is the one place where passwords are hashed. As a hash is meant to be dear, few
// are made at a time.
type hasher struct {
	slots   chan struct{}
	waiting atomic.Int32
	params  argon2id.Params
}

func newHasher() *hasher {
	// What OWASP names first for Argon2id.
	params := argon2id.Params{Memory: 46 * 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	return &hasher{slots: make(chan struct{}, maxHashes), params: params}
}

// run waits for its turn, within ctx. Errors: that of ctx, *RateError when too many wait.
func (h *hasher) run(ctx context.Context, f func() error) error {
	if h.waiting.Add(1) > maxWaiting+maxHashes {
		h.waiting.Add(-1)
		return &RateError{RetryAfter: 5 * time.Second}
	}
	defer h.waiting.Add(-1)
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait to look at a password: %w", context.Cause(ctx))
	}
	defer func() { <-h.slots }()
	return f()
}

// make hashes a password that acceptable has let pass.
func (h *hasher) make(ctx context.Context, password string) (hash string, err error) {
	err = h.run(ctx, func() error {
		hash, err = argon2id.CreateHash(normal(password), &h.params)
		if err != nil {
			return fmt.Errorf("hash a password: %w", err)
		}
		return nil
	})
	return hash, err
}

// matches compares. Without a hash, as of an account that is not there, it takes the same
// work and tells no.
func (h *hasher) matches(ctx context.Context, password, hash string) (ok bool, err error) {
	if !possible(password) {
		password, hash = "", ""
	}
	err = h.run(ctx, func() error {
		if hash == "" {
			_, err := argon2id.CreateHash(normal(password), &h.params)
			return err
		}
		ok, err = argon2id.ComparePasswordAndHash(normal(password), hash)
		return err
	})
	if _, busy := errors.AsType[*RateError](err); err != nil && !busy && ctx.Err() == nil {
		err = fmt.Errorf("compare a password: %w", err)
	}
	return ok, err
}

// normal gives the same text for what different keyboards make of the same characters.
func normal(password string) string { return norm.NFKC.String(password) }

// possible tells whether a text can be a password at all.
func possible(password string) bool {
	return len(password) <= 4*maxPassword && utf8.ValidString(password)
}

// acceptable tells what is wrong with a new password for the account with that name.
func acceptable(password, name string) error {
	const field = "password"
	n := utf8.RuneCountInString(normal(password))
	switch {
	case !utf8.ValidString(password):
		return &InputError{field, "is not UTF-8"}
	case n < minPassword:
		return &InputError{field, fmt.Sprintf("has %d characters, and at least %d are needed: some words in a row do well", n, minPassword)}
	case n > maxPassword || !possible(password):
		return &InputError{field, fmt.Sprintf("has more than %d characters", maxPassword)}
	case strings.EqualFold(password, name):
		return &InputError{field, "is the name of the account"}
	}
	return nil
}
