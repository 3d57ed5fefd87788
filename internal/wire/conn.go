package wire

import "context"

// conn carries messages over one transport. Its methods are safe for
// concurrent use, except that close comes last.
type conn interface {
	// exchange sends r and waits for the response with its id. Notifications
	// and requests of the server that arrive meanwhile are dealt with. A
	// JSON-RPC error is part of the answer, not an error. The error is an
	// *Error.
	exchange(ctx context.Context, r *request) (*answer, error)
	// notify sends a notification and waits until it is accepted (HTTP) or
	// written (stdio).
	notify(ctx context.Context, r *request) error
	// speaks tells the connection which revision was settled on, and the
	// session id that goes with it.
	speaks(revision, sessionID string)
	// close gives back what the connection holds, within its own short budget,
	// and at once when ctx has ended. Nothing that happens in it changes a
	// verdict.
	close(ctx context.Context)
}
