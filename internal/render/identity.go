package render

import "github.com/mcpvigil/mcpvigil/surface"

// Identity is another client that a server was listed as, and what it was told.
type Identity struct {
	Name string `json:"name"`
	// Listed: it was told all that we were told of, so that both can be compared.
	Listed bool `json:"listed"`
	// Differences counts the items that one of both is told and the other is not, or
	// is told differently.
	Differences int `json:"differences"`
	// Digest is that of what it was told; nil when it was told nothing.
	Digest *surface.Digest `json:"digest,omitempty"`
}
