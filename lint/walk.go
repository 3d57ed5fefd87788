package lint

import (
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

// role says what a string is for.
type role uint8

const (
	roleOther        role = iota
	roleName              // of the item itself
	roleTitle             //
	roleDescription       // $comment too
	roleInstructions      //
	roleKey               // a member name that the server chose: a property, a key under _meta, an argument of a prompt
	roleEnum              //
	roleDefault           //
	roleConst             //
	roleExample           //
	rolePattern           //
	roleURI               // $ref, $id, uri, ...
	roleMeta              // anything under _meta
	roleDialect           // $schema
	roleSource            // src of an icon
	roleBlob              // contents in base64
	numRoles
)

// place is what the members of an object mean.
type place uint8

const (
	placeObject  place = iota // a tool, a prompt, serverInfo, an icon, ...
	placeSchema               // members are keywords of JSON Schema
	placeSchemas              // members are schemas under names the server chose
	placeData                 // members are data; strings have the role of the whole
)

// member says how to read the value of a member: as a string of role, or as what
// place says if it is an object or an array of objects.
type member struct {
	role  role
	place place
	// own: the name is chosen by the server and is a text of its own.
	own bool
}

var objectMembers = map[string]member{
	"name":             {role: roleName},
	"title":            {role: roleTitle},
	"description":      {role: roleDescription},
	"uri":              {role: roleURI},
	"uriTemplate":      {role: roleURI},
	"src":              {role: roleSource},
	"blob":             {role: roleBlob},
	"websiteUrl":       {role: roleURI},
	"version":          {},
	"mimeType":         {},
	"icons":            {},
	"sizes":            {},
	"theme":            {},
	"annotations":      {},
	"arguments":        {},
	"required":         {},
	"execution":        {},
	"taskSupport":      {},
	"audience":         {},
	"priority":         {},
	"size":             {},
	"lastModified":     {},
	"readOnlyHint":     {},
	"destructiveHint":  {},
	"idempotentHint":   {},
	"openWorldHint":    {},
	"inputSchema":      {place: placeSchema},
	"outputSchema":     {place: placeSchema},
	"_meta":            {role: roleMeta, place: placeData},
	"resource":         {role: roleURI},
	"issuer":           {role: roleURI},
	"jwks_uri":         {role: roleURI},
	"scopes_supported": {},
}

var schemaMembers = map[string]member{
	"title":                 {role: roleTitle},
	"description":           {role: roleDescription},
	"$comment":              {role: roleDescription},
	"enum":                  {role: roleEnum, place: placeData},
	"const":                 {role: roleConst, place: placeData},
	"default":               {role: roleDefault, place: placeData},
	"examples":              {role: roleExample, place: placeData},
	"example":               {role: roleExample, place: placeData},
	"pattern":               {role: rolePattern},
	"$ref":                  {role: roleURI},
	"$dynamicRef":           {role: roleURI},
	"$recursiveRef":         {role: roleURI},
	"$id":                   {role: roleURI},
	"id":                    {role: roleURI},
	"$schema":               {role: roleDialect},
	"$anchor":               {role: roleKey},
	"$dynamicAnchor":        {role: roleKey},
	"required":              {role: roleKey},
	"dependentRequired":     {role: roleKey, place: placeData},
	"properties":            {place: placeSchemas},
	"patternProperties":     {place: placeSchemas},
	"$defs":                 {place: placeSchemas},
	"definitions":           {place: placeSchemas},
	"dependentSchemas":      {place: placeSchemas},
	"dependencies":          {role: roleKey, place: placeSchemas},
	"items":                 {place: placeSchema},
	"prefixItems":           {place: placeSchema},
	"additionalItems":       {place: placeSchema},
	"additionalProperties":  {place: placeSchema},
	"unevaluatedItems":      {place: placeSchema},
	"unevaluatedProperties": {place: placeSchema},
	"propertyNames":         {place: placeSchema},
	"contains":              {place: placeSchema},
	"contentSchema":         {place: placeSchema},
	"allOf":                 {place: placeSchema},
	"anyOf":                 {place: placeSchema},
	"oneOf":                 {place: placeSchema},
	"not":                   {place: placeSchema},
	"if":                    {place: placeSchema},
	"then":                  {place: placeSchema},
	"else":                  {place: placeSchema},
	"type":                  {},
	"format":                {},
	"minimum":               {},
	"maximum":               {},
	"exclusiveMinimum":      {},
	"exclusiveMaximum":      {},
	"multipleOf":            {},
	"minLength":             {},
	"maxLength":             {},
	"minItems":              {},
	"maxItems":              {},
	"uniqueItems":           {},
	"minContains":           {},
	"maxContains":           {},
	"minProperties":         {},
	"maxProperties":         {},
	"contentEncoding":       {},
	"contentMediaType":      {},
	"readOnly":              {},
	"writeOnly":             {},
	"deprecated":            {},
	"nullable":              {},
}

// read says what a member of an object at p is.
func (p place) read(name string, whole role) member {
	switch p {
	case placeSchema:
		if m, ok := schemaMembers[name]; ok {
			return m
		}
		return member{place: placeData, own: true}
	case placeSchemas:
		return member{role: whole, place: placeSchema, own: true}
	case placeData:
		return member{role: whole, place: placeData, own: true}
	default:
		if m, ok := objectMembers[name]; ok {
			return m
		}
		return member{place: placeData, own: true}
	}
}

// walker gives every string of an item to visit, in the order of the definition.
type walker struct {
	path  *path
	visit func(v rawjson.Value, key string, r role)
	// name is visit for a member name.
	name func(name string)
}

// item walks the definition of an item of one kind.
func (w *walker) item(kind surface.Kind, v rawjson.Value) {
	if kind == surface.Instructions {
		w.value(v, "", member{role: roleInstructions, place: placeData})
		return
	}
	w.value(v, "", member{})
}

func (w *walker) value(v rawjson.Value, key string, m member) {
	switch v.Kind() {
	case rawjson.String:
		w.visit(v, key, m.role)
	case rawjson.Array:
		for i, elem := range v.Elems() {
			w.path.push(step{index: i})
			if key == "arguments" && m.place == placeObject {
				w.argument(elem)
			} else {
				w.value(elem, key, m)
			}
			w.path.pop()
		}
	case rawjson.Object:
		w.members(v, m)
	default:
	}
}

func (w *walker) members(v rawjson.Value, whole member) {
	for name, value := range v.Members() {
		w.path.push(step{name: name, isName: true})
		m := whole.place.read(name, whole.role)
		if m.own {
			w.name(name)
		}
		w.value(value, name, m)
		w.path.pop()
	}
}

// argument is an argument of a prompt: its name is a key.
func (w *walker) argument(v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		w.value(v, "arguments", member{})
		return
	}
	for name, value := range v.Members() {
		w.path.push(step{name: name, isName: true})
		m := placeObject.read(name, roleOther)
		if name == "name" {
			m.role = roleKey
		}
		if m.own {
			w.name(name)
		}
		w.value(value, name, m)
		w.path.pop()
	}
}

// step is one token of a JSON pointer.
type step struct {
	name   string
	index  int
	isName bool
}

func (s step) token() string {
	if s.isName {
		return s.name
	}
	return strconv.Itoa(s.index)
}

// path is where the walk is. Names in it may be megabytes long, and a finding may
// be made at each of many places below such a name: the pointer is cut, and the
// digest of it is made once for each name.
type path struct {
	steps   []step
	digests []digest // of the first len(digests) steps, made when asked for
}

func (p *path) push(s step) { p.steps = append(p.steps, s) }

func (p *path) pop() {
	p.steps = p.steps[:len(p.steps)-1]
	p.digests = p.digests[:min(len(p.digests), len(p.steps))]
}

// digest stands for the whole path.
func (p *path) digest() digest {
	for len(p.digests) < len(p.steps) {
		p.digests = append(p.digests, p.below(p.steps[len(p.digests)].token()))
	}
	return p.last()
}

func (p *path) below(token string) digest {
	parent := p.last()
	return digestOf(string(parent[:]), token)
}

func (p *path) last() digest {
	if len(p.digests) == 0 {
		return digest{}
	}
	return p.digests[len(p.digests)-1]
}

// pathOf reads a pointer.
func pathOf(pointer string) (p path) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		p.push(step{name: unescapePointer.Replace(token), isName: true})
	}
	return p
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// maxPointer is where a pointer is cut, in bytes.
const maxPointer = 1024

// pointer is the RFC 6901 form, cut after maxPointer.
func (p *path) pointer() string {
	var b strings.Builder
	for _, s := range p.steps {
		token := s.token()
		b.WriteString(rawjson.Pointer(token[:min(len(token), maxPointer)]))
		if b.Len() >= maxPointer {
			break
		}
	}
	return cut(b.String(), maxPointer)
}
