// Package people knows who may do what: accounts with roles, sessions, API keys, and
// the proof that a person, now, meant one statement.
//
// It declares the storage that it needs and imports nothing that stores, checks or
// decides. Nothing here approves a surface; package watch does, from a Proof.
package people

import (
	"time"

	"github.com/mcpvigil/mcpvigil/surface"
)

// Role is what an account or a key may do. Each includes what stands before it.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // sees everything but secrets
	Editor   Role = "editor"   // makes, changes, pauses and runs monitors, acknowledges
	Approver Role = "approver" // accepts what a server tells agents; never a key
	Admin    Role = "admin"    // people, keys, channels, settings
)

// Permission is what a request needs.
type Permission string

// The permissions.
const (
	Read       Permission = "read"
	Write      Permission = "write"
	Approve    Permission = "approve"
	Administer Permission = "administer"
)

// Account is a person.
type Account struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Role      Role      `json:"role"`
	Disabled  bool      `json:"disabled"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// TOTP tells whether a code app is set up, Passkeys is how many there are. Neither is
	// stored with the account: see Tx.
	TOTP     bool `json:"totp"`
	Passkeys int  `json:"passkeys"`
	// Subject is issuer and subject of who signs in with an OpenID provider.
	Subject string `json:"subject,omitempty"`
	// Password is a hash in PHC form; who signs in with an OpenID provider has none.
	Password string `json:"-"`
	// TOTPStep is that of the last code that was taken.
	TOTPStep int64 `json:"-"`
	// Recovery are hashes of the recovery codes that are left.
	Recovery []string `json:"-"`
}

// Key is an API key. Its role is Viewer, Editor or Admin.
type Key struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Role      Role      `json:"role"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	// Hash is the SHA-256 of the key, hexadecimal.
	Hash string `json:"-"`
}

// SessionRow is a session as it is stored.
type SessionRow struct {
	// Token is the SHA-256 of the token, hexadecimal.
	Token                        string
	Account                      int64
	CreatedAt, SeenAt, ExpiresAt time.Time
	Address, Agent               string
}

// Statement is what a proof is for. A proof for one statement is none for another.
type Statement struct {
	// Action: accept, edit, window, unapprove, paging, backup.
	Action  string
	Monitor int64
	// Digest is that of the surface that was shown; zero for other actions.
	Digest surface.Digest
	// Items are what is accepted, in order; empty: all of it. For an edit, what changes.
	Items []string
}
