package surface

import "encoding/json"

// Class says what kind of difference a [Change] is. [Classes] explains them.
type Class string

// Effect is what a change does to a verification.
type Effect string

// The effects, from the strongest.
const (
	// Fail: until a person approves it.
	Fail Effect = "fail"
	// Event: recorded, and fails nothing.
	Event Effect = "event"
	// Silent: nothing that a client or a model could tell.
	Silent Effect = "silent"
)

// Effects returns all effects, the strongest first.
func Effects() []Effect { return []Effect{Fail, Event, Silent} }

// The classes. A class is stable; what it does is a matter of [Policy].
const (
	ToolRemoved          Class = "tool-removed"
	ToolAdded            Class = "tool-added"
	ToolText             Class = "tool-text"              // name aside, what a model reads
	ToolSchemaWidened    Class = "tool-schema-widened"    // accepts or returns more
	ToolSchemaNarrowed   Class = "tool-schema-narrowed"   // accepts or returns less
	ToolSchemaChanged    Class = "tool-schema-changed"    // neither, or cannot be told
	ToolSchemaEquivalent Class = "tool-schema-equivalent" // written differently
	ToolHeader           Class = "tool-header"            // x-mcp-header
	ToolReadOnlyLost     Class = "tool-read-only-lost"
	ToolDestructive      Class = "tool-destructive"      // became so
	ToolOpenWorld        Class = "tool-open-world"       // became so
	ToolHintsRelaxed     Class = "tool-hints-relaxed"    // claims to be safer than before
	ToolAnnotations      Class = "tool-annotations"      // any other effective change
	ToolAnnotationsSame  Class = "tool-annotations-same" // no effective change
	ToolMeta             Class = "tool-meta"             // _meta, icons, execution, keys of vendors
	ToolMetaSteering     Class = "tool-meta-steering"    // _meta that alters how clients load or show the tool
	ToolEquivalent       Class = "tool-equivalent"       // any other difference of spelling
	InstructionsChanged  Class = "instructions"
	ServerVersion        Class = "server-version"
	ServerIdentity       Class = "server-identity" // its name
	ServerText           Class = "server-text"     // its title or description
	ServerMeta           Class = "server-meta"     // the rest of serverInfo
	ProtocolVersion      Class = "protocol-version"
	CapabilitiesChanged  Class = "capabilities"
	ResourceRemoved      Class = "resource-removed"
	ResourceAdded        Class = "resource-added"
	ResourceText         Class = "resource-text"
	ResourceMeta         Class = "resource-meta"
	TemplateRemoved      Class = "resource-template-removed"
	TemplateAdded        Class = "resource-template-added"
	TemplateText         Class = "resource-template-text"
	TemplateMeta         Class = "resource-template-meta"
	PromptRemoved        Class = "prompt-removed"
	PromptAdded          Class = "prompt-added"
	PromptText           Class = "prompt-text"
	PromptArguments      Class = "prompt-arguments"
	PromptMeta           Class = "prompt-meta"
	HostAdded            Class = "host-added"       // a host that no approved text names
	OversizedGrowth      Class = "oversized-growth" // more than twice, and 4 KB
	AuthIssuer           Class = "auth-issuer"
	AuthEndpointHost     Class = "auth-endpoint-host"
	AuthS256Lost         Class = "auth-s256-lost"
	AuthResource         Class = "auth-resource"
	AuthScopes           Class = "auth-scopes"
	AuthMetadataChanged  Class = "auth-metadata"        // anything else
	InconsistentListing  Class = "inconsistent-listing" // fresh listings differ
	VolatileText         Class = "volatile-text"        // fresh listings differ in dates, versions, counts
	CloakedSurface       Class = "cloaked-surface"      // differs by who asks
	CredentialDependent  Class = "credential-dependent" // differs by credential, as the specification allows
)

// Change is one difference between two surfaces.
type Change struct {
	Class Class `json:"class"`
	// Event is the stable name for timelines, such as "mcp_tool_added".
	Event string `json:"event"`
	Kind  Kind   `json:"kind"`
	// Item is the name of the item; empty for kinds without one. Untrusted.
	Item string `json:"item"`
	// Pointer is the place in the item's definition (RFC 6901); empty for all of
	// it. In a list whose order does not count it is that of after, or of before
	// for what was removed. Property names in it are untrusted.
	Pointer string `json:"pointer,omitempty"`
	Effect  Effect `json:"effect"`
	// Detail says what happened in the program's own words, such as "became
	// required". It never holds text of the server.
	Detail string `json:"detail"`
	// Renamed is the other name, when a removed and an added item are the same
	// but for that. Untrusted.
	Renamed string `json:"renamed,omitempty"`
	// Identity is who saw it: the identity that was told something else (cloaking), or
	// the listing that shows it where fresh listings differ.
	Identity string `json:"identity,omitempty"`
	// Mask would let a [VolatileText] pass, if a person approves it. Untrusted.
	Mask *Mask `json:"mask,omitempty"`
	// Before and After are the values at Pointer in canonical JSON, nil where
	// there was none. When one of them is longer than 64 KiB, each is a JSON string
	// that quotes its canonical form from shortly before the first difference. They
	// share memory with the surfaces and must not be modified. Untrusted.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}
