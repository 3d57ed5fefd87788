package access

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// Kind is how a token is got.
type Kind string

// The kinds, by the names of configuration files.
const (
	ClientCredentials Kind = "client_credentials"
	RefreshToken      Kind = "refresh_token"
	AuthorizationCode Kind = "authorization_code" // by a login; checks only refresh
)

// ExtensionClientCredentials is the extension that a client which uses
// [ClientCredentials] declares among its capabilities in modern requests.
const ExtensionClientCredentials = "io.modelcontextprotocol/oauth-client-credentials"

// defaultLoginCommand stands in where the caller does not know the real one.
const defaultLoginCommand = "mcpvigil login FILE TARGET"

// Grant says how to get a token. It is plain data, and prints no secret.
type Grant struct {
	Kind Kind
	// Issuer is the authorization server that is trusted, and no other: the
	// resource metadata must list it, and endpoints come from its metadata alone.
	Issuer string
	// ClientID is the registered client. It comes before ClientMetadataURL, the
	// https URL of a client ID metadata document. One of the two is needed;
	// nothing is registered dynamically.
	ClientID          string
	ClientMetadataURL string
	// ClientSecret or PrivateKeyPEM makes the client a confidential one.
	ClientSecret Secret
	// PrivateKeyPEM signs client assertions (private_key_jwt): PKCS #8, PKCS #1
	// or SEC 1, unencrypted; RSA, P-256 or Ed25519.
	PrivateKeyPEM Secret
	KeyID         string // kid, or ""
	// ClientAuth is how ClientSecret is sent: client_secret_basic or
	// client_secret_post. Empty: as the metadata allows, which some servers do
	// not keep to for the single client.
	ClientAuth string
	Algorithm  string // RS256, PS256, ES256 or EdDSA; "": by the key
	// Scopes are asked for in place of those of challenge and metadata.
	Scopes []string
	// Resource is the resource identifier (RFC 8707). "": that of the metadata.
	Resource string
	// TokenFile keeps tokens between runs. Required by AuthorizationCode.
	TokenFile string
	// RefreshToken begins the chain of a RefreshToken grant.
	RefreshToken Secret
	// LoginCommand is what a hint tells people to run. "": a placeholder.
	LoginCommand string
}

func (g Grant) loginCommand() string {
	if g.LoginCommand != "" {
		return g.LoginCommand
	}
	return defaultLoginCommand
}

func (g Grant) loginHint() string { return "run: " + g.loginCommand() }

// clientID is the client_id that requests carry.
func (g Grant) clientID() string {
	if g.ClientID != "" {
		return g.ClientID
	}
	return g.ClientMetadataURL
}

// seed marks a token file with the refresh token that its chain began with, so
// that a new one in the configuration is noticed.
func (g Grant) seed() string {
	if g.Kind != RefreshToken || g.RefreshToken.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(g.RefreshToken.Reveal()))
	return hex.EncodeToString(sum[:])
}

// secrets lists what must never be shown.
func (g Grant) secrets() []string {
	found := []string{g.ClientSecret.Reveal(), g.RefreshToken.Reveal(), g.PrivateKeyPEM.Reveal()}
	for line := range strings.Lines(g.PrivateKeyPEM.Reveal()) {
		if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
			found = append(found, line)
		}
	}
	if s := g.ClientSecret.Reveal(); s != "" {
		found = append(found, basicCredential(g.clientID(), s))
	}
	return found
}

// Validate reports the first thing that makes g unusable, without any network:
// a [*Error] of reason grant-invalid, or nil.
func (g Grant) Validate() error {
	if e := g.problem(); e != nil {
		return e
	}
	return nil
}

func (g Grant) problem() *Error {
	bad := func(text, hint string) *Error { return &Error{Reason: ReasonGrantInvalid, Text: text, Hint: hint} }
	if !slices.Contains([]Kind{ClientCredentials, RefreshToken, AuthorizationCode}, g.Kind) {
		return bad("there is no such OAuth grant", "use client_credentials, refresh_token or authorization_code")
	}
	if _, fault := (trust{loopback: true}).checkIssuer(g.Issuer); fault != nil {
		hint := "give the issuer as the server's metadata spells it, such as https://auth.example.com"
		return bad("the issuer "+fault.text, hint)
	}
	if g.ClientID == "" {
		if g.ClientMetadataURL == "" {
			return bad("the OAuth client has no client_id", "register a client with the authorization server and configure its client_id")
		}
		u, err := url.Parse(g.ClientMetadataURL)
		if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" || u.Fragment != "" || u.User != nil {
			return bad("the client ID metadata document is not at an https URL with a path", "publish the document on the web and give its URL")
		}
	}
	for _, s := range g.Scopes {
		if !isScope(s) {
			return bad("a scope holds a character that scopes cannot have", "list scopes one by one, without spaces and quotes")
		}
	}
	if g.Resource != "" {
		if u, err := url.Parse(g.Resource); err != nil || u.Scheme == "" || strings.Contains(g.Resource, "#") {
			return bad("the resource is not an absolute URL without a fragment", "leave it out, or write the resource of the server's metadata")
		}
	}
	switch {
	case g.Kind == ClientCredentials && g.ClientSecret.IsZero() && g.PrivateKeyPEM.IsZero():
		return bad("the client_credentials grant needs a client secret or a private key", "configure one")
	case !g.ClientSecret.IsZero() && !g.PrivateKeyPEM.IsZero():
		return bad("a client secret stands beside a private key", "keep one of them")
	case g.Kind == RefreshToken && g.RefreshToken.IsZero() && g.TokenFile == "":
		return bad("the refresh_token grant needs a refresh token or a token file", "configure one")
	case g.Kind == AuthorizationCode && g.TokenFile == "":
		return bad("the authorization_code grant needs a token file", "configure token_file")
	}
	if !g.PrivateKeyPEM.IsZero() {
		if _, err := newSigner(g); err != nil {
			return err
		}
	}
	return nil
}
