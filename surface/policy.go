package surface

import (
	"strings"
)

// PolicyName is a table of effects.
type PolicyName string

// The tables.
const (
	Alert  PolicyName = "alert"  // the default
	Record PolicyName = "record" // drift fails nothing
	Seed   PolicyName = "seed"   // what hosted monitors do: tools and instructions alone fail
)

// Policies returns the names of all tables, the default first.
func Policies() []PolicyName { return []PolicyName{Alert, Record, Seed} }

// Policy says what changes do. The zero Policy is [Alert].
type Policy struct {
	Base PolicyName
	// Effects override the table for single classes.
	Effects map[Class]Effect
}

// Apply sets the effects, and the events, of changes; it returns a new slice.
//
// Under [Seed], texts inside of schemas are schema changes and the title among the
// annotations is an annotation change, as the monitors hash them that do so.
func (p Policy) Apply(changes []Change) []Change {
	table := make(map[Class]ClassInfo)
	for _, info := range Classes() {
		table[info.Class] = info
	}
	out := make([]Change, len(changes))
	for i, c := range changes {
		row := table[c.Class]
		if p.Base == Seed {
			row = table[seedClass(c)]
		}
		if row.Class != "" { // else a class of a later version
			c.Event, c.Effect = row.Event, p.effect(row)
		}
		if effect, ok := p.Effects[c.Class]; ok {
			c.Effect = effect
		}
		out[i] = c
	}
	return out
}

func (p Policy) effect(row ClassInfo) Effect {
	switch {
	case p.Base == Seed:
		return row.Seed
	case p.Base == Record && row.Effect == Fail && !aboutListings(row.Class):
		return Event
	default:
		return row.Effect
	}
}

// aboutListings tells the classes that say nothing about drift from what was
// approved, but that there is no one surface to approve.
func aboutListings(c Class) bool { return c == InconsistentListing || c == CloakedSurface }

// seedClass is the class whose row a change falls under where everything inside
// of schemas is schema, and everything inside of annotations annotation.
func seedClass(c Change) Class {
	switch {
	case c.Class != ToolText:
		return c.Class
	case under(c.Pointer, "/inputSchema"), under(c.Pointer, "/outputSchema"):
		return ToolSchemaChanged
	case under(c.Pointer, "/annotations"):
		return ToolAnnotations
	default:
		return c.Class
	}
}

// under reports whether pointer is at or below place.
func under(pointer, place string) bool {
	rest, ok := strings.CutPrefix(pointer, place)
	return ok && (rest == "" || rest[0] == '/')
}

// ClassInfo explains a class.
type ClassInfo struct {
	Class        Class
	Event        string
	Effect, Seed Effect // under Alert and under Seed
	Text         string
}

// Classes returns every class, in the order of the kinds.
func Classes() []ClassInfo {
	const (
		described   = "mcp_tool_description_changed"
		schema      = "mcp_tool_schema_changed"
		annotations = "mcp_tool_annotations_changed"
		meta        = "mcp_tool_meta_changed"
		info        = "mcp_server_info_changed"
		version     = "mcp_server_version_changed"
		resource    = "mcp_resource_changed"
		template    = "mcp_resource_template_changed"
		prompt      = "mcp_prompt_changed"
		auth        = "mcp_auth_metadata_changed"
	)
	return []ClassInfo{
		{ServerIdentity, "mcp_server_identity_changed", Fail, Event, "the server has another name"},
		{ServerText, info, Fail, Event, "the server's title or description changed"},
		{ServerVersion, version, Event, Event, "the server's version changed"},
		{ServerMeta, info, Event, Event, "something else that the server says of itself changed"},
		{ProtocolVersion, version, Event, Event, "another revision of the protocol was negotiated"},
		{CapabilitiesChanged, "mcp_capabilities_changed", Event, Event, "the server declares other capabilities"},
		{InstructionsChanged, "mcp_instructions_changed", Fail, Fail, "the server's instructions to models changed"},
		{AuthIssuer, auth, Fail, Event, "the login belongs to another issuer"},
		{AuthEndpointHost, auth, Fail, Event, "a step of the login is on another host"},
		{AuthS256Lost, auth, Fail, Event, "the login no longer offers PKCE with S256"},
		{AuthResource, auth, Fail, Event, "the login is for another resource"},
		{AuthScopes, auth, Event, Event, "the login offers other scopes"},
		{AuthMetadataChanged, auth, Event, Event, "something else about the login changed"},
		{ToolRemoved, "mcp_tool_removed", Fail, Fail, "a tool is gone: clients that call it break"},
		{ToolAdded, "mcp_tool_added", Fail, Fail, "a tool is new: the server's reach grew"},
		{ToolText, described, Fail, Fail, "text of a tool that a model reads changed"},
		{ToolSchemaWidened, schema, Fail, Fail, "a schema of a tool allows more than before"},
		{ToolSchemaNarrowed, schema, Fail, Fail, "a schema of a tool allows less than before"},
		{ToolSchemaChanged, schema, Fail, Fail, "a schema of a tool changed, neither to more nor to less"},
		{ToolSchemaEquivalent, schema, Silent, Fail, "a schema of a tool is written differently and means the same"},
		{ToolHeader, schema, Fail, Fail, "another parameter is copied to an HTTP header (x-mcp-header)"},
		{ToolReadOnlyLost, annotations, Fail, Fail, "a tool no longer says that it only reads"},
		{ToolDestructive, annotations, Fail, Fail, "a tool now says that it may destroy"},
		{ToolOpenWorld, annotations, Fail, Event, "a tool now says that it reaches outside"},
		{ToolHintsRelaxed, annotations, Fail, Event, "a tool claims to be safer than before, on which clients approve calls by themselves"},
		{ToolAnnotations, annotations, Event, Event, "another hint of a tool changed"},
		{ToolAnnotationsSame, annotations, Silent, Event, "hints of a tool are written differently and mean the same"},
		{ToolMetaSteering, meta, Fail, Event, "metadata that alters how clients load or show a tool changed"},
		{ToolMeta, meta, Event, Event, "icons, metadata or members unknown to the specification changed"},
		{ToolEquivalent, meta, Silent, Silent, "a tool is written differently and means the same"},
		{OversizedGrowth, "mcp_tool_grew", Fail, Event, "the text of a tool more than doubled, by more than 4 KB"},
		{ResourceRemoved, "mcp_resource_removed", Event, Event, "a resource is gone"},
		{ResourceAdded, "mcp_resource_added", Event, Event, "a resource is new"},
		{ResourceText, resource, Fail, Event, "name, title or description of a resource changed"},
		{ResourceMeta, resource, Event, Event, "something else about a resource changed"},
		{TemplateRemoved, "mcp_resource_template_removed", Fail, Event, "a resource template is gone"},
		{TemplateAdded, "mcp_resource_template_added", Fail, Event, "a resource template is new"},
		{TemplateText, template, Fail, Event, "name, title or description of a resource template changed"},
		{TemplateMeta, template, Event, Event, "something else about a resource template changed"},
		{PromptRemoved, "mcp_prompt_removed", Fail, Event, "a prompt is gone"},
		{PromptAdded, "mcp_prompt_added", Fail, Event, "a prompt is new"},
		{PromptText, prompt, Fail, Event, "text of a prompt changed"},
		{PromptArguments, prompt, Fail, Event, "a prompt takes other arguments"},
		{PromptMeta, prompt, Event, Event, "something else about a prompt changed"},
		{HostAdded, "mcp_host_added", Fail, Event, "a host appears that no approved text names"},
		{InconsistentListing, "mcp_inconsistent_listing", Fail, Fail, "fresh listings differ from each other"},
		{VolatileText, "mcp_volatile_text", Event, Event, "fresh listings differ in dates, versions or numbers alone"},
		{CloakedSurface, "mcp_cloaked_surface", Fail, Fail, "the surface differs by who asks"},
		{CredentialDependent, "mcp_credential_dependent", Event, Event, "the surface differs by credential, as the specification allows"},
	}
}
