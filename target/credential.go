package target

// TLS are the files of a private certificate authority and of a client
// certificate (mutual TLS). They are read by each check.
type TLS struct {
	// CAFile holds the PEM certificates that are trusted in place of the
	// system's. CertFile and KeyFile are the client's certificate and key.
	CAFile, CertFile, KeyFile string
	// ServerName is verified in place of the endpoint's host.
	ServerName string
}

// GrantKind is how a token is got.
type GrantKind string

// The grants, by the names of RFC 6749.
const (
	ClientCredentials GrantKind = "client_credentials"
	RefreshToken      GrantKind = "refresh_token"
	// AuthorizationCode is what a person allowed by a login; checks only refresh
	// it.
	AuthorizationCode GrantKind = "authorization_code"
)

// OAuth says how to get a bearer token for the target.
type OAuth struct {
	Grant GrantKind
	// Issuer is the one authorization server that is trusted.
	Issuer string
	// ClientID is the registered client, or empty when ClientMetadataURL, the
	// URL of a client ID metadata document, stands for it.
	ClientID, ClientMetadataURL string
	// ClientSecret or PrivateKey (PEM) makes the client a confidential one.
	ClientSecret, PrivateKey Secret
	// ClientAuth is how ClientSecret is sent: client_secret_basic or
	// client_secret_post. Empty: as the authorization server says it may be.
	ClientAuth string
	// KeyID and Algorithm belong to PrivateKey. Empty: none, and by the key.
	KeyID, Algorithm string
	// Scopes are asked for in place of those that the server names.
	Scopes []string
	// Resource is the resource identifier (RFC 8707). Empty: the server's.
	Resource string
	// RefreshToken begins a refresh_token grant.
	RefreshToken Secret
	// TokenFile keeps tokens between runs.
	TokenFile string
	// RedirectPort is the port of the login's callback on 127.0.0.1. 0: any.
	RedirectPort int
	// LoginCommand is what a person runs to log in, for hints.
	LoginCommand string
}
