package access

import (
	"errors"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
)

// Error is why no token was got. Text and Hint are safe to show.
type Error struct {
	// Reason is one of the Reason constants; of a broken discovery chain it is
	// the reason of the first broken rung.
	Reason string
	// Text says what happened to what, in one clause without a final stop.
	Text string
	// Hint names the next step.
	Hint string
	// Unknown: nothing has been learnt about the credential, because the
	// authorization server or the way to it failed.
	Unknown bool
	// HTTPStatus is the status of the answer that decided, or 0.
	HTTPStatus int
	// Code is the error code of the token endpoint (RFC 6749, section 5.2), or "".
	Code string
	// Scopes are those that were asked for, with [ReasonInsufficientScope].
	Scopes []string
	// Ladder is the discovery chain when that is what failed, or nil.
	Ladder *Ladder
	// Err is the cause, or nil. Its text is not safe to show.
	Err error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReasonOf returns the reason of err when it is an [Error], or "".
func ReasonOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// The reasons of rungs.
const (
	ReasonAuthNotRequired     = "auth-not-required"       // no credential was asked for
	ReasonAuthStatus          = "auth-status"             // refused, but not with 401
	ReasonAuthNotAdvertised   = "auth-not-advertised"     // a 401 without a Bearer challenge
	ReasonNotInChallenge      = "metadata-not-advertised" // a Bearer challenge without resource_metadata
	ReasonMetadataRelative    = "metadata-relative"       // resource_metadata is no absolute URL
	ReasonMetadataOtherOrigin = "metadata-other-origin"
	ReasonMetadataScheme      = "metadata-scheme" // plain http beyond loopback
	ReasonMetadataLoopback    = "metadata-loopback"
	ReasonMetadataMissing     = "metadata-missing"
	ReasonMetadataNeedsAuth   = "metadata-needs-auth"
	ReasonMetadataRedirect    = "metadata-redirect"
	ReasonMetadataTooLarge    = "metadata-too-large"
	ReasonMetadataMalformed   = "metadata-malformed"
	ReasonMetadataType        = "metadata-content-type"
	ReasonMetadataUnavailable = "metadata-unavailable" // the resource server fails to answer
	ReasonServerUnavailable   = "server-unavailable"   // the authorization server does
	ReasonAddressNotAllowed   = netguard.ReasonAddressNotAllowed
	ReasonResourceMismatch    = "resource-mismatch" // Kind says how
	ReasonIssuerSlash         = "issuer-slash"
	ReasonIssuerMismatch      = "issuer-mismatch"
	ReasonNoServer            = "no-authorization-server"
	ReasonLegacyDiscovery     = "legacy-discovery" // found in the way of 2025-03-26 only
	ReasonEndpointMissing     = "endpoint-missing"
	ReasonPKCENotAdvertised   = "pkce-not-advertised"
	ReasonPKCES256            = "pkce-s256"
	ReasonNoRegistration      = "no-dynamic-registration"
	ReasonDynamicOnly         = "dynamic-registration-only"
)

// The reasons of errors beside those of rungs and [ReasonServerUnavailable].
const (
	ReasonGrantInvalid      = "grant-invalid" // the configuration cannot work
	ReasonTokenRefused      = "token-refused"
	ReasonTokenResponse     = "token-response" // not what RFC 6749 says
	ReasonTokenExpired      = "token-expired"  // expired when it was issued
	ReasonInsufficientScope = "insufficient-scope"
	ReasonInvalidTarget     = "resource-refused" // the server issues no token for the resource
	ReasonLoginRequired     = "login-required"
	ReasonTokenFile         = "token-file"
	ReasonTokenFileBinding  = "token-file-binding" // of another issuer, resource or client
	ReasonAborted           = "aborted"

	ReasonCallbackPort  = "callback-port"
	ReasonLoginDenied   = "login-denied"
	ReasonLoginRefused  = "login-refused"
	ReasonLoginState    = "login-state"
	ReasonLoginIssuer   = "login-issuer"
	ReasonLoginResponse = "login-response"
	ReasonLoginTimeout  = "login-timeout"

	ReasonRefreshRotated = "refresh-token-rotated" // and there is nowhere to keep the new one
	ReasonScopeReduced   = "scope-reduced"
)
