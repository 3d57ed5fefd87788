package probe

import (
	"encoding/json"
	"slices"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/wire"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Inventory holds what a server advertises, byte for byte as it was sent, in
// the order of the wire. It is untrusted.
type Inventory struct {
	// Opening is the result of server/discover or initialize. Nil when there was
	// none.
	Opening json.RawMessage
	// The lists. One that the server does not have, or declares and does not
	// implement, is empty; one that was not listed to its end, for whatever reason,
	// is nil, and so are tools that are declared and not implemented.
	Tools, Resources, ResourceTemplates, Prompts []json.RawMessage
	// Disputed are the lists in which other clients may read something else than the
	// check did: an answer had a member twice or in another letter case, or the last
	// page repeats a cursor. In a snapshot they are not listed to their end.
	Disputed []surface.Kind
	// Auth is what [Options.AuthMetadata] found. Nil when it was not asked for,
	// or when some document could not be asked for.
	Auth *surface.AuthMetadata
}

// list returns the place of a list.
func (inv *Inventory) list(which wire.Inventory) *[]json.RawMessage {
	switch which {
	case wire.Tools:
		return &inv.Tools
	case wire.Resources:
		return &inv.Resources
	case wire.ResourceTemplates:
		return &inv.ResourceTemplates
	default:
		return &inv.Prompts
	}
}

// kindOf is what the entries of a list are.
func kindOf(which wire.Inventory) surface.Kind {
	switch which {
	case wire.Tools:
		return surface.Tool
	case wire.Resources:
		return surface.Resource
	case wire.ResourceTemplates:
		return surface.ResourceTemplate
	default:
		return surface.Prompt
	}
}

// Redact returns b without the secrets of the check, for what is shown of
// [Report.Inventory].
func (r *Report) Redact(b []byte) []byte { return r.redact.Bytes(b) }

// Snapshot is the surface that the check saw, or nil when it saw nothing of one.
// Where the server repeats a secret of the operator, or a token that it was exchanged
// for, in a string, [surface.Redacted] stands instead, so that the secret is not
// stored, and a new one changes nothing. What the server itself chose, such as the id
// of a session, stays: it could be any text.
//
// It is made anew by each call, which takes a few times as long as parsing the
// inventory.
func (r *Report) Snapshot() *surface.Surface {
	inv := r.Inventory
	if inv == nil {
		return nil
	}
	in := surface.Input{
		Opening: r.clean(inv.Opening),
		Tools:   r.cleanList(surface.Tool, inv.Tools), Resources: r.cleanList(surface.Resource, inv.Resources),
		ResourceTemplates: r.cleanList(surface.ResourceTemplate, inv.ResourceTemplates), Prompts: r.cleanList(surface.Prompt, inv.Prompts),
	}
	if r.Server != nil {
		in.Protocol = r.Server.ProtocolVersion
	}
	if inv.Auth != nil {
		in.Auth = &surface.AuthMetadata{Resource: r.clean(inv.Auth.Resource), Issuer: r.clean(inv.Auth.Issuer)}
	}
	return surface.New(in)
}

// Digest is that of [Report.Snapshot]. It is zero when the server was not opened,
// or when not all of its inventories were listed to their end: a part of a
// surface has a digest that can be compared with nothing.
func (r *Report) Digest() surface.Digest {
	if r.Inventory == nil || r.Inventory.Opening == nil {
		return surface.Digest{}
	}
	if s := r.Snapshot(); s.Complete() {
		return s.Digest()
	}
	return surface.Digest{}
}

func (r *Report) cleanList(kind surface.Kind, entries []json.RawMessage) surface.List {
	if entries == nil || slices.Contains(r.Inventory.Disputed, kind) {
		return surface.List{}
	}
	l := surface.List{Listed: true, Entries: make([]json.RawMessage, len(entries))}
	for i, raw := range entries {
		l.Entries[i] = r.clean(raw)
	}
	return l
}

// clean takes the secrets out of one of the server's values. They are looked for in
// its strings as they read, whatever their spelling; nothing else of it can change.
func (r *Report) clean(raw json.RawMessage) json.RawMessage {
	if raw == nil || r.secrets.Empty() {
		return raw
	}
	masked := func(s string) string { return r.secrets.Replace(s, surface.Redacted) }
	v, _, err := rawjson.Parse(raw)
	if err != nil { // a document that is no JSON becomes one string
		return json.RawMessage(masked(string(raw)))
	}
	return rawjson.MapStrings(v, masked)
}
