// Package surface pins what an MCP server tells agents, and says what changed.
//
// A [Surface] is everything a server advertises: who it says it is, the
// negotiated revision, capabilities, instructions, tools, resources, resource
// templates, prompts, and the metadata of its login. It is built from the bytes
// that were on the wire ([New]) or from a saved file ([Read]), keeps each item
// whole in a canonical form, and has digests that name what moved. Two surfaces
// are compared by [Compare], without a network.
//
// Text is never normalised: letter case, blanks, invisible characters and Unicode
// form are part of what a model reads. The order of entries and of object members,
// the spelling of numbers and of string escapes are not, and never change a digest.
//
// Everything in a Surface was written by the server and is untrusted.
//
// Surfaces are immutable and safe for concurrent use. The exported names, the
// classes and events of changes and the file format are stable within a major
// version; new ones may be added. The digests carry the version of their form.
package surface

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Kind is a part of a surface.
type Kind string

// The kinds, in the order in which they are shown. The first five stand for one
// item at most, whose name is empty; for more only if the server sent the same
// member several times.
const (
	Server           Kind = "server"       // serverInfo
	Protocol         Kind = "protocol"     // the negotiated revision
	Capabilities     Kind = "capabilities" // of the server
	Instructions     Kind = "instructions"
	Auth             Kind = "auth" // metadata of the login, see [AuthMetadata]
	Tool             Kind = "tool"
	Resource         Kind = "resource"
	ResourceTemplate Kind = "resourceTemplate"
	Prompt           Kind = "prompt"
)

// Kinds returns every kind, in order.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, t := range kinds {
		all[i] = t.kind
	}
	return all
}

// Member is the member of a saved surface that holds the items of the kind, which is
// that of the protocol, but for auth.
func (k Kind) Member() string { return traitsOfKind(k).member }

// IsInventory reports whether k is listed: any number of items, by name.
func (k Kind) IsInventory() bool { return traitsOfKind(k).name != "" }

// kindTraits are what differs between kinds.
type kindTraits struct {
	kind   Kind
	member string // that holds them
	name   string // the member that identifies an item; empty for what is there once
}

// kinds are all of them, in the order in which they are shown.
var kinds = [...]kindTraits{
	{Server, "serverInfo", ""},
	{Protocol, "protocolVersion", ""},
	{Capabilities, "capabilities", ""},
	{Instructions, "instructions", ""},
	{Auth, "auth", ""},
	{Tool, "tools", "name"},
	{Resource, "resources", "uri"},
	{ResourceTemplate, "resourceTemplates", "uriTemplate"},
	{Prompt, "prompts", "name"},
}

// order is the place of a kind among all.
func (k Kind) order() int {
	return slices.IndexFunc(kinds[:], func(t kindTraits) bool { return t.kind == k })
}

func traitsOfKind(k Kind) kindTraits {
	if i := k.order(); i >= 0 {
		return kinds[i]
	}
	return kindTraits{}
}

// Redacted stands in a surface for a secret of the caller that the server repeated.
// It is between noncharacters of Unicode, which are not for interchange, so that no
// honest text has it: were it an ordinary text, a server could have it approved and
// put something else in its place, which would be taken for the secret. A text that
// has it is a finding.
const Redacted = "\uFDD0***\uFDD0"

// Input is what a server advertised, byte for byte.
type Input struct {
	// Opening is the result of server/discover or initialize, from which
	// serverInfo (of _meta, if it is there), capabilities and instructions are
	// taken, and nothing else.
	Opening json.RawMessage
	// Protocol is the negotiated revision.
	Protocol string

	Tools, Resources, ResourceTemplates, Prompts List
	// Auth is the metadata of the login; nil when it was not looked at.
	Auth *AuthMetadata
}

// List is one inventory. The zero List was not listed to its end, and is never
// compared: nothing that is missing from it reads as removed.
type List struct {
	// Listed: to its end. A server that does not declare the inventory has a
	// listed one without entries.
	Listed  bool
	Entries []json.RawMessage
}

// AuthMetadata is what a client finds when it asks where to log in: the documents
// of RFC 9728 and RFC 8414, byte for byte. Either may be nil. The item that is made
// of them is an object with the members resource and issuer, in which lists of
// strings are sorted, keys (jwks) are left out, and signed_metadata is an object of its
// claims without iat, exp, nbf and jti, if it can be read.
type AuthMetadata struct {
	Resource json.RawMessage // of the protected resource
	Issuer   json.RawMessage // of its authorization server
}

// Digest is a SHA-256 over a canonical form, its purpose and the version of both.
type Digest [sha256.Size]byte

const digestPrefix = "sha256:"

// String is "sha256:" and 64 hexadecimal digits.
func (d Digest) String() string { return digestPrefix + hex.EncodeToString(d[:]) }

// IsZero reports whether d is no digest at all.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText writes the digest as String does.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), digestPrefix)
	if !ok || len(digits) != 2*len(d) {
		return fmt.Errorf("not a digest: want %s and %d hexadecimal digits", digestPrefix, 2*len(d))
	}
	if _, err := hex.Decode(d[:], []byte(digits)); err != nil {
		return fmt.Errorf("not a digest: %w", err)
	}
	return nil
}

// Digests name what can change in an item. Raw covers the whole object. The
// others cover a part each, so that a change which moves only Raw changes nothing
// that a client or a model could tell:
//
//   - Text is what a model or a person reads: name, title, description, the URI of a
//     resource, the instructions; of a tool also the title of its annotations, and
//     titles, descriptions and comments in its schemas; of a prompt those of its
//     arguments. Places count, the order in lists that have none does not.
//   - Shape is what programs go by: the schemas of a tool without their text, in a
//     form in which equal constraints are equal; names and necessity of the arguments
//     of a prompt; the MIME type of a resource; the version of a server.
//   - Annotations are the effective hints of a tool, with their defaults, and what
//     else its annotations hold; the annotations of a resource as they are.
//   - Meta is everything else: _meta, icons, execution, members of vendors; of Auth
//     all but what only people read.
//
// A branch of anyOf, oneOf or allOf is known by its type, constant or reference, and
// among equal ones by its rank. So a change of those in a branch with text, or one
// that swaps ranks, moves Text as well as Shape.
type Digests struct {
	Raw, Text, Shape, Annotations, Meta Digest
}

// Item is one part of a surface.
type Item struct {
	Kind Kind
	// Name identifies it among its kind: the name of a tool or prompt, the URI of
	// a resource, the template of a resource template. Several items may have the
	// same name. Untrusted.
	Name string
	// Definition is the whole object in canonical form (RFC 8785, extended to keep
	// what that refuses: duplicate members, integers beyond 2^53, lone surrogates
	// and bytes that are not UTF-8). Instructions and Protocol are JSON strings. It
	// must not be modified. Untrusted.
	Definition []byte
	Digests    Digests
}

// Surface is everything that a server advertises.
type Surface struct {
	items    []Item // by kind, name and canonical bytes
	unlisted []Kind
	digest   Digest
}

// Items returns the items by kind, then name. The slice must not be modified.
func (s *Surface) Items() []Item { return s.items }

// Of returns the items of one kind, by name. The slice must not be modified.
func (s *Surface) Of(kind Kind) []Item {
	first := 0
	for first < len(s.items) && s.items[first].Kind != kind {
		first++
	}
	last := first
	for last < len(s.items) && s.items[last].Kind == kind {
		last++
	}
	return s.items[first:last:last]
}

// Unlisted are the inventories that were not listed to their end: nothing is
// known of them.
func (s *Surface) Unlisted() []Kind { return s.unlisted }

// Complete reports whether every inventory was listed to its end.
func (s *Surface) Complete() bool { return len(s.unlisted) == 0 }

// Digest covers the whole surface. One for which the login was not looked at differs
// from one for which it was.
func (s *Surface) Digest() Digest { return s.digest }
