package wire

import (
	"context"
	"errors"
	"fmt"
)

// Error is a failed exchange, classified. Reason is one of the Reason
// constants; the verdict that goes with a reason is not this package's concern.
type Error struct {
	Reason string
	// Text says what happened to what, in one clause without a final stop. It may
	// quote the server: it must go through the redactor and internal/plain, in
	// this order, before it is shown or cut.
	Text string
	// Hint names the next step when this case has one of its own.
	Hint string
	// HTTPStatus is the status of the answer, or 0.
	HTTPStatus int
	// RPC is the JSON-RPC error of the answer, or nil.
	RPC *RPCError
	// Challenges are the raw WWW-Authenticate values of a 401 or 403.
	Challenges []string
	// Seen: at least one byte of an answer had arrived.
	Seen bool
	// Body is the start of a refusal's body, raw: negotiation looks for
	// revisions in it.
	Body []byte
	// Details are facts for the report, with texts like Text.
	Details map[string]any
	// Err is the cause, or nil. Its text is not safe to show.
	Err error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// RPCError is a JSON-RPC error object. Message and Data are the server's.
type RPCError struct {
	Code    int64
	Message string
	Data    []byte
}

// JSON-RPC codes with a meaning in some revision. They are recognised by
// number and never by text.
const (
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeHeaderMismatch     = -32020 // 2026-07-28
	codeMissingCapability  = -32021 // 2026-07-28
	codeUnsupportedVersion = -32022 // 2026-07-28
)

// The reasons this package reports beside those of internal/netguard.
const (
	// Reaching and being let in.
	ReasonTimeout           = "timeout" // nothing arrived before the deadline
	ReasonAborted           = "aborted"
	ReasonPartialResponse   = "partial-response" // something arrived, then the deadline
	ReasonHTTPStatus        = "http-status"
	ReasonHTTP5xx           = "http-5xx"
	ReasonRateLimited       = "rate-limited"
	ReasonRedirect          = "redirect"
	ReasonHostRejected      = "host-rejected"
	ReasonAcceptRejected    = "accept-rejected"
	ReasonNotMCPEndpoint    = "not-mcp-endpoint"
	ReasonEdgeChallenge     = "edge-challenge"
	ReasonProxyError        = "proxy-error"
	ReasonAuthRequired      = "auth-required"
	ReasonTokenRejected     = "token-rejected"
	ReasonForbidden         = "forbidden"
	ReasonInsufficientScope = "insufficient-scope"
	ReasonLegacySSE         = "legacy-sse"

	// Bytes and messages.
	ReasonTruncatedBody    = "truncated-body"
	ReasonBadEncoding      = "bad-encoding"
	ReasonResponseTooLarge = "response-too-large"
	ReasonMalformedJSON    = "malformed-json"
	ReasonMalformedMessage = "malformed-message"
	ReasonInvalidUTF8      = "invalid-utf8"
	ReasonIDMismatch       = "id-mismatch"
	ReasonEmptyResponse    = "empty-response"
	ReasonContentType      = "content-type"
	ReasonSSEStalled       = "sse-stalled"
	ReasonSSEEnded         = "sse-ended"
	ReasonSSENoEndpoint    = "sse-no-endpoint"
	ReasonSSEEndpoint      = "sse-endpoint-origin"
	ReasonResumeLimit      = "resume-limit"
	ReasonNotifyRejected   = "notification-rejected"
	ReasonSessionID        = "session-id"
	ReasonSessionLost      = "session-lost"

	// Opening.
	ReasonRPCError           = "rpc-error"
	ReasonHeaderMismatch     = "header-mismatch"
	ReasonMissingCapability  = "missing-client-capability"
	ReasonVersionMismatch    = "version-mismatch"
	ReasonVersionUnsupported = "version-unsupported"
	ReasonInvalidDiscover    = "invalid-discover"
	ReasonInvalidInitialize  = "invalid-initialize"
	ReasonDiscoverMissing    = "discover-missing"
	ReasonProbeTimeout       = "probe-timeout"
	ReasonResultType         = "result-type"
	ReasonInputRequired      = "input-required"

	// Inventories.
	ReasonNotArray        = "not-array"     // prefixed by the inventory: tools-not-array
	ReasonEntryInvalid    = "entry-invalid" // prefixed: tool-entry-invalid
	ReasonPaginationLimit = "pagination-limit"
	ReasonPaginationLoop  = "pagination-loop"
	ReasonEntryLimit      = "entry-limit"

	// Stdio.
	ReasonCommandNotFound      = "command-not-found"
	ReasonCommandNotExecutable = "command-not-executable"
	ReasonBadDirectory         = "bad-directory"
	ReasonSpawnFailed          = "spawn-failed"
	ReasonProcessLimit         = "process-limit" // our own limit on processes or descriptors
	ReasonProcessExited        = "process-exited"
	ReasonStartupTimeout       = "startup-timeout"
)

// failf makes an Error without a cause.
func failf(reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// ReasonOf returns the reason of err when it is an [Error], or "".
func ReasonOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// timedOut reports whether ctx ended because of time. Budgets that are no
// deadline of the context itself wrap context.DeadlineExceeded in their cause.
func timedOut(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// ended turns the end of ctx into an Error. what names the thing waited for;
// seen says whether a part of it had arrived.
func ended(ctx context.Context, what string, seen bool) *Error {
	switch {
	case !timedOut(ctx):
		return &Error{Reason: ReasonAborted, Text: "cancelled while waiting for " + what, Seen: seen, Err: context.Cause(ctx)}
	case seen:
		return &Error{Reason: ReasonPartialResponse, Text: "time ran out in the middle of " + what, Seen: true, Err: context.DeadlineExceeded}
	default:
		return &Error{Reason: ReasonTimeout, Text: "no byte of " + what + " before the time ran out", Err: context.DeadlineExceeded}
	}
}
