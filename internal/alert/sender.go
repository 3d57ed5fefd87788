package alert

import (
	"context"
	"crypto/x509"
	"errors"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Options configure a Sender.
type Options struct {
	// Policy says which addresses channels may reach that the API owns. Those that a
	// file owns may reach private ones as well.
	Policy    netguard.Policy
	UserAgent string
	PublicURL string
	RootCAs   *x509.CertPool // nil: those of the system
}

// Sender delivers messages. It is safe for concurrent use.
type Sender struct{}

// New makes a Sender.
func New(_ Options) *Sender { return &Sender{} }

// Send makes one attempt to deliver m to c. Detail is what the receiver answered, safe
// to show. An error is a *PermanentError when a retry cannot help, and a *RetryError
// otherwise.
func (s *Sender) Send(_ context.Context, _ *watch.Channel, _ Message) (detail string, err error) {
	return "", &PermanentError{errors.New("not built yet")}
}

// Close gives up idle connections.
func (s *Sender) Close() {}

// PermanentError is a failure that a retry cannot mend.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }
func (e *PermanentError) Unwrap() error { return e.Err }

// RetryError is a failure that a retry may mend.
type RetryError struct {
	Err error
	// After is how long the receiver asked to wait, at most an hour; 0: it did not say.
	After time.Duration
}

func (e *RetryError) Error() string { return e.Err.Error() }
func (e *RetryError) Unwrap() error { return e.Err }
