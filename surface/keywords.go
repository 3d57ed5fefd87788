package surface

// role says what a keyword of JSON Schema holds, as far as a comparison needs to
// know. The keywords are those of the drafts from 4 to 2020-12 together, since
// servers mix them.
type role uint8

const (
	// roleValue: data, whose order counts; also every keyword that is not known.
	roleValue role = iota
	// roleText: what a model or a person reads; constrains nothing.
	roleText
	// roleIdentity: the dialect, see dialectOf.
	roleIdentity
	// roleSet: a list whose order does not count.
	roleSet
	// roleSchema: one schema, or (items of older drafts) a list of them.
	roleSchema
	// roleSchemas: a list of schemas whose order counts.
	roleSchemas
	// roleBranches: a list of schemas whose order does not count.
	roleBranches
	// roleMap: an object of schemas by names that are no keywords.
	roleMap
	// roleSetMap: an object of lists whose order does not count, or of schemas.
	roleSetMap
)

// roleOf tells the role of a keyword by its decoded name.
func roleOf(keyword string) role {
	switch keyword {
	case "title", "description", "$comment", "$id", "id", "$anchor", "$dynamicAnchor":
		return roleText // a URI can say anything
	case "$schema":
		return roleIdentity
	case "required", "enum", "type", "examples":
		return roleSet
	case "items", "additionalItems", "unevaluatedItems", "contains",
		"additionalProperties", "unevaluatedProperties", "propertyNames",
		"not", "if", "then", "else", "contentSchema":
		return roleSchema
	case "prefixItems":
		return roleSchemas
	case "anyOf", "oneOf", "allOf":
		return roleBranches
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return roleMap
	case "dependentRequired", "dependencies":
		return roleSetMap
	}
	return roleValue
}
