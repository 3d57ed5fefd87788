package alert

import (
	"fmt"
	"time"
)

// PermanentError is a failure that a retry cannot mend.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// RetryError is a failure that a retry may mend.
type RetryError struct {
	Err error
	// After is how long the receiver asked to wait, at most an hour; 0: it did not say.
	After time.Duration
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *RetryError) Unwrap() error { return e.Err }

func permanent(format string, args ...any) error {
	return &PermanentError{fmt.Errorf(format, args...)}
}

func passing(format string, args ...any) error {
	return &RetryError{Err: fmt.Errorf(format, args...)}
}
