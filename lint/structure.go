package lint

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	maxTextNote    = 16 << 10
	maxTextBlock   = 64 << 10
	maxSurfaceNote = 256 << 10
)

// schemaRules are the rules about what clients do with schemas.
func schemaRules() []rule {
	return []rule{
		{
			Rule: Rule{
				ID: "header_invalid", Family: "header_invalid", Severities: []Severity{Block},
				Text:       "an x-mcp-header for which clients must leave the tool out: not a header name, used twice, not on a string, integer or boolean, or not reached through properties alone",
				Techniques: []string{"SAFE-T1501"},
				True: []string{
					`{"name":"a","inputSchema":{"properties":{"b":{"type":"string","x-mcp-header":"A\r\nB: c"}}}}`,
					`{"name":"a","inputSchema":{"properties":{"b":{"type":"number","x-mcp-header":"B"}}}}`,
					`{"name":"a","inputSchema":{"properties":{"b":{"items":{"type":"string","x-mcp-header":"B"}}}}}`,
					`{"name":"a","inputSchema":{"properties":{"b":{"type":"string","x-mcp-header":"B"},"c":{"type":"string","x-mcp-header":"b"}}}}`,
				},
				False: []string{
					`{"name":"a","inputSchema":{"properties":{"b":{"type":"object","properties":{"c":{"type":"integer","x-mcp-header":"Tenant"}}}}}}`,
					`{"name":"a","inputSchema":{"properties":{"x-mcp-header":{"type":"array"}}}}`,
				},
			},
			item: headerInvalid,
		},
		{
			Rule: Rule{
				ID: "header_sensitive", Family: "header_sensitive", Severities: []Severity{Block},
				Text:       "an x-mcp-header on a parameter that looks like a secret: its value is shown to every proxy on the way",
				Techniques: []string{"SAFE-T1501", "SAFE-T1506"},
				True:       []string{`{"name":"a","inputSchema":{"properties":{"apiKey":{"type":"string","x-mcp-header":"Api-Key"}}}}`},
				False:      []string{`{"name":"a","inputSchema":{"properties":{"page_token":{"type":"string","x-mcp-header":"Page"},"password":{"type":"string"}}}}`},
			},
			item: headerSensitive,
		},
		{
			Rule: Rule{
				ID: "remote_ref", Family: "remote_ref", Severities: []Severity{Block, Note},
				Text:       "a schema that refers to another document, whose content can change without the listing; an unknown $schema is a note",
				Techniques: []string{"SAFE-T1501", "SAFE-T1201"},
				True: []string{
					`{"name":"a","inputSchema":{"properties":{"b":{"$ref":"https://host.test/b.json"}}}}`,
					`{"name":"a","inputSchema":{"$id":"https://host.test/a.json","properties":{"b":{"$ref":"b.json#/c"}}}}`,
					`{"name":"a","inputSchema":{"$schema":"https://host.test/meta"}}`,
				},
				False: []string{
					`{"name":"a","inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"b":{"$id":"https://host.test/b"}},"properties":{"b":{"$ref":"#/$defs/b"},"c":{"$ref":"https://host.test/b"},"$ref":{"type":"string"}}}}`,
				},
			},
			item: remoteRef, text: unknownSchema, traits: hasURL,
		},
	}
}

// formRules are the rules about the form of definitions.
func formRules() []rule {
	return []rule{
		{
			Rule: Rule{
				ID: "oversized", Family: "oversized", Severities: []Severity{Block, Note},
				Text:       "a text of more than 16 KB (from 64 KB a block), or a surface of more than 256 KB: room to hide in, and tokens that every session pays for",
				Techniques: []string{"SAFE-T1001"},
				True: []string{
					`{"name":"a","description":"` + strings.Repeat("word ", 4<<10) + `"}`,
					`{"name":"a","description":"` + strings.Repeat("word ", 14<<10) + `"}`,
				},
				False: []string{`{"name":"a","description":"` + strings.Repeat("word ", 3<<10) + `"}`},
			},
			text: oversizedText, traits: isLong, surface: oversizedSurface,
		},
		{
			Rule: Rule{
				ID: "duplicate_member", Family: "duplicate_member", Severities: []Severity{Block},
				Text:       "a member that an object has twice, or one of a tool, a prompt or a resource that differs from a member of the protocol only in the case of letters: which of them is read depends on the client",
				Techniques: []string{"SAFE-T1501"},
				True:       []string{`{"name":"a","description":"b","description":"c"}`, `{"name":"a","description":"b","Description":"c"}`},
				False:      []string{`{"name":"a","inputSchema":{"properties":{"name":{},"Name":{}}},"_meta":{"Title":1}}`},
			},
			item: duplicateMember,
		},
		{
			Rule: Rule{
				ID: "bad_unicode", Family: "bad_unicode", Severities: []Severity{Block, Note},
				Text:       "half surrogate pairs, bytes that are not UTF-8, and code points that are no characters: each client reads them differently",
				Techniques: []string{"SAFE-T1402"},
				True: []string{
					`{"name":"a","description":"b\ud83d"}`, "{\"name\":\"a\",\"description\":\"b\xe9\"}", `{"name":"a","description":"b\ufdd1"}`,
					`{"name":"a","inputSchema":{"properties":{"b":{"pattern":"[^\ufffe\uffff]"}}}}`,
				},
				False: []string{`{"name":"a","description":"\ud83d\ude00 and \ufffd"}`},
			},
			text: badUnicode, traits: hasNonASCII,
		},
		{
			Rule: Rule{
				ID: "credential_echo", Family: "credential_echo", Severities: []Severity{Block},
				Text:       "a credential that the check sent to the server, in what the server says of itself",
				Techniques: []string{"SAFE-T1506"},
				True:       []string{`{"name":"a","description":"For the user with the token ` + surface.Redacted + `."}`},
				False:      []string{`{"name":"a","description":"A token such as ***."}`},
			},
			text: credentialEcho, traits: hasNonASCII,
		},
		{
			Rule: Rule{
				ID: "unreadable", Family: "unreadable", Severities: []Severity{Block},
				Text:       "a definition that is not JSON, or nested too deeply to be checked: a client may read what was not",
				Techniques: []string{"SAFE-T1501"},
				True:       []string{`{"name":"a","inputSchema":` + strings.Repeat(`[`, 400) + strings.Repeat(`]`, 400) + `}`},
				False:      []string{`{"name":"a","inputSchema":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`},
			},
			item: unreadable,
		},
	}
}

const headerKey = "x-mcp-header"

// headers calls visit with every schema of the input that has an x-mcp-header,
// with the name of its property, and whether properties alone lead to it. The walk
// is there meanwhile.
func headers(it *item, visit func(schema rawjson.Value, property string, reached bool)) {
	if it.Kind != surface.Tool || !bytes.Contains(it.Definition, []byte(headerKey)) {
		return
	}
	it.below("inputSchema", func() {
		schemas(it, it.value.Get("inputSchema"), placeSchema, "", true, func(schema rawjson.Value, property string, reached bool) {
			if schema.Get(headerKey).Exists() {
				visit(schema, property, reached)
			}
		})
	})
}

// schemas calls visit with a schema and those in it, where clients look for them.
func schemas(it *item, v rawjson.Value, at place, property string, reached bool, visit func(rawjson.Value, string, bool)) {
	for i, elem := range v.Elems() {
		it.path.push(step{index: i})
		schemas(it, elem, at, property, false, visit)
		it.path.pop()
	}
	if at == placeSchema && v.Kind() == rawjson.Object {
		visit(v, property, reached && property != "")
	}
	for name, value := range v.Members() {
		m := at.read(name, roleOther)
		if m.place != placeSchema && m.place != placeSchemas {
			continue
		}
		it.below(name, func() {
			if at == placeSchemas {
				schemas(it, value, placeSchema, name, reached, visit)
			} else {
				schemas(it, value, m.place, property, reached && name == "properties", visit)
			}
		})
	}
}

// below runs with the walk at a member.
func (it *item) below(name string, run func()) {
	it.path.push(step{name: name, isName: true})
	run()
	it.path.pop()
}

func headerInvalid(it *item) {
	used := map[string]bool{}
	headers(it, func(schema rawjson.Value, _ string, reached bool) {
		value := schema.Get(headerKey)
		name, _ := value.Text()
		kind, _ := schema.Get("type").Text()
		lower := strings.ToLower(name)
		problem := ""
		switch {
		case !isToken(name):
			problem = "is not the name of a header"
		case !reached:
			problem = "is not reached through properties alone"
		case kind != "string" && kind != "integer" && kind != "boolean":
			problem = "is not on a string, an integer or a boolean"
		case used[lower]:
			problem = "is used twice"
		}
		used[lower] = true
		if problem == "" {
			return
		}
		it.below(headerKey, func() {
			raw := string(value.Raw())
			it.report(hit{
				Block, problem + "\x00" + raw, "an x-mcp-header that " + problem + ": clients over HTTP leave the tool out",
				excerpt(raw, 0, min(len(raw), around)), whole(name),
			})
		})
	})
}

// isToken reports a token of RFC 9110.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if charClass[c]&classWord == 0 && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 || c >= 0x80 {
			return false
		}
	}
	return s != ""
}

func headerSensitive(it *item) {
	headers(it, func(schema rawjson.Value, property string, _ bool) {
		name, _ := schema.Get(headerKey).Text()
		secret := property
		if !sensitiveName(property) {
			secret = name
		}
		if !sensitiveName(secret) {
			return
		}
		it.below(headerKey, func() {
			it.report(hit{
				Block, property + "\x00" + name, "a parameter that looks like a secret is sent as a header, which every proxy on the way can read",
				excerpt(secret, 0, min(len(secret), around)), whole(name),
			})
		})
	})
}

// sensitiveName reports names of secrets and of personal numbers. A token or a key
// is one unless the word before it says that it is another sort.
func sensitiveName(name string) bool {
	before := ""
	for _, word := range splitName(name) {
		switch word {
		case "password", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "apikey", "credential", "credentials",
			"authorization", "bearer", "jwt", "ssn", "iban", "cvv", "cvc", "passport", "cookie", "otp", "pin":
			return true
		case "token":
			switch before {
			case "page", "next", "previous", "continuation", "cursor", "sync", "resume", "start":
			default:
				return true
			}
		case "key":
			switch before {
			case "", "api", "access", "private", "secret", "auth", "encryption", "signing", "ssh", "license", "session", "account":
				return true
			}
		}
		before = word
	}
	return false
}

// splitName gives the words of a name in lower case: at separators, and where a
// capital follows a small letter.
func splitName(name string) []string {
	var b strings.Builder
	for i := range min(len(name), maxNameLength) {
		c := name[i]
		if charClass[c]&classUpper != 0 && i > 0 && charClass[name[i-1]]&classLower != 0 {
			b.WriteByte(' ')
		}
		if charClass[c]&classWord == 0 {
			c = ' '
		}
		b.WriteByte(c)
	}
	return strings.Fields(lowerASCII(b.String()))
}

func remoteRef(it *item) {
	if it.Kind != surface.Tool || !refersAway(it.Definition) {
		return
	}
	for _, name := range []string{"inputSchema", "outputSchema"} {
		it.below(name, func() {
			schema := it.value.Get(name)
			ids := schemaIDs{known: map[string]bool{}}
			schemas(it, schema, placeSchema, "", true, func(v rawjson.Value, _ string, _ bool) {
				if id, ok := v.Get("$id").Text(); ok {
					ids.add(id)
				}
			})
			refs(it, schema, func(uri string) {
				if ids.remote(uri) {
					it.report(hit{
						Block, uri, "a schema that refers to another document: its content can change without the listing",
						excerpt(uri, 0, min(len(uri), maxExcerpt)), whole(uri),
					})
				}
			})
		})
	}
}

// refersAway reports whether a definition may hold a reference that does not start
// with a fragment. Canonical JSON has no blanks around the colon.
func refersAway(definition []byte) bool {
	for {
		at := bytes.IndexByte(definition, '$')
		if at < 0 {
			return false
		}
		definition = definition[at:]
		for _, name := range []string{`$ref"`, `$dynamicRef"`, `$recursiveRef"`} {
			if value, ok := bytes.CutPrefix(definition, []byte(name)); ok && !bytes.HasPrefix(value, []byte(`:"#`)) {
				return true
			}
		}
		definition = definition[1:]
	}
}

// schemaIDs are the names that the schemas of a document give themselves, whole and
// by the last part of their path.
type schemaIDs struct {
	known    map[string]bool
	absolute bool // one names a place to load from, so that short references lead there
}

func (ids *schemaIDs) add(uri string) {
	uri = strings.TrimSuffix(uri, "#")
	ids.known[uri] = true
	ids.known[uri[strings.LastIndexByte(uri, '/')+1:]] = true
	ids.absolute = ids.absolute || absolute(uri)
}

// remote reports a reference that leads out of the document.
func (ids *schemaIDs) remote(uri string) bool {
	document, _, _ := strings.Cut(uri, "#")
	if document == "" || ids.known[document] || ids.known[uri] {
		return false
	}
	return absolute(document) || ids.absolute
}

// refs calls visit with every reference, wherever it is: what resolves them often
// looks into data as well.
func refs(it *item, v rawjson.Value, visit func(uri string)) {
	for i, elem := range v.Elems() {
		it.path.push(step{index: i})
		refs(it, elem, visit)
		it.path.pop()
	}
	for name, value := range v.Members() {
		it.below(name, func() {
			switch name {
			case "$ref", "$dynamicRef", "$recursiveRef":
				if uri, ok := value.Text(); ok {
					visit(uri)
				}
			}
			refs(it, value, visit)
		})
	}
}

// absolute reports URIs that name a place to load from.
func absolute(uri string) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		return strings.HasPrefix(uri, "//")
	}
	return !strings.EqualFold(scheme, "urn") && !strings.EqualFold(scheme, "tag")
}

// unknownSchema looks at the dialect that a schema names.
func unknownSchema(t *text) {
	if t.role != roleDialect {
		return
	}
	switch host := urlHost(t.s); host {
	case "json-schema.org", "spec.openapis.org", "modelcontextprotocol.io":
	default:
		t.item.report(hit{Note, t.s, "a schema in a dialect that is defined elsewhere", excerpt(t.s, 0, min(len(t.s), maxExcerpt)), t.spot(0, len(t.s))})
	}
}

func oversizedText(t *text) {
	if len(t.s) <= maxTextNote || t.role == roleSource {
		return
	}
	severity := Note
	if len(t.s) > maxTextBlock {
		severity = Block
	}
	t.item.report(hit{
		severity, sizeBucket(len(t.s)), fmt.Sprintf("a text of %d KB: room to hide in, and tokens that every session pays for", len(t.s)>>10),
		excerpt(t.s, 0, 0),
		spot{},
	})
}

func oversizedSurface(it *item) {
	size := 0
	for i := range it.scan.items {
		size += len(it.scan.items[i].Definition)
	}
	if size > maxSurfaceNote {
		it.report(hit{
			severity: Note, matched: sizeBucket(size),
			message: fmt.Sprintf("a surface of %d KB: tokens that every session pays for", size>>10),
		})
	}
}

// sizeBucket is the same for sizes up to twice as large.
func sizeBucket(size int) string { return fmt.Sprint(bits.Len(uint(size))) }

func duplicateMember(it *item) {
	if len(it.flaws.Duplicates) > 0 {
		duplicates(it, it.value)
	}
	for name, value := range it.value.Members() {
		if it.respelled(name) {
			it.below(name, func() {
				it.report(hit{
					Block, string(value.Raw()), "a member that differs from one of the protocol only in the case of letters: which one is read depends on the client",
					excerpt(name, 0, min(len(name), maxExcerpt)),
					spot{whole(name).spans, true},
				})
			})
		}
	}
}

// duplicates reports every member that an object in v has more than once.
func duplicates(it *item, v rawjson.Value) {
	for i, elem := range v.Elems() {
		it.path.push(step{index: i})
		duplicates(it, elem)
		it.path.pop()
	}
	type values struct {
		count  int
		digest digest
	}
	seen := make(map[string]values, v.Len())
	for name, value := range v.Members() {
		of := seen[name]
		seen[name] = values{of.count + 1, digestOf(string(of.digest[:]), string(value.Raw()))}
	}
	for name, value := range v.Members() {
		it.below(name, func() {
			if of := seen[name]; of.count > 1 {
				delete(seen, name)
				it.report(hit{
					Block, string(of.digest[:]), "a member that its object has more than once: which one is read depends on the client",
					excerpt(name, 0, min(len(name), maxExcerpt)),
					spot{whole(name).spans, true},
				})
			}
			duplicates(it, value)
		})
	}
}

// respelled reports a name that is one of the protocol for an item but for the case of
// its letters. Some clients do not tell them apart.
func (it *item) respelled(name string) bool {
	var members []string
	switch it.Kind {
	case surface.Tool:
		members = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "execution", "_meta"}
	case surface.Prompt:
		members = []string{"name", "title", "description", "arguments", "icons", "_meta"}
	case surface.Resource:
		members = []string{"uri", "name", "title", "description", "mimeType", "size", "annotations", "icons", "_meta"}
	case surface.ResourceTemplate:
		members = []string{"uriTemplate", "name", "title", "description", "mimeType", "annotations", "icons", "_meta"}
	}
	return slices.ContainsFunc(members, func(member string) bool { return name != member && strings.EqualFold(name, member) })
}

// badUnicode looks for what stands for no character. That a bad byte was read as
// U+FFFD, only the definition tells.
func badUnicode(t *text) {
	bad := slices.DeleteFunc(t.marksOf(markNothing), func(m mark) bool {
		return strings.HasPrefix(t.s[m.start:], surface.Redacted) || strings.HasSuffix(t.s[:m.end], surface.Redacted)
	})
	if len(bad) > 0 {
		severity := Block
		if t.role == rolePattern {
			severity = Note // a class of characters to refuse
		}
		t.hidden(severity, bad, t.beside(bad), "", "noncharacter")
	}
	at := strings.IndexRune(t.s, '\uFFFD')
	if at < 0 {
		return
	}
	flaws := t.item.flaws
	t.item.consulted = true
	if flaws.InvalidUTF8+flaws.LoneSurrogates == 0 {
		return
	}
	bad = nil
	for i := 0; i < len(t.s); {
		r, size := utf8.DecodeRuneInString(t.s[i:])
		if r == utf8.RuneError {
			bad = append(bad, mark{start: i, end: i + size}) // which a reading may have cut short
		}
		i += size
	}
	t.item.report(hit{
		Block, t.beside(bad), "text that is not valid Unicode: each client reads it differently",
		excerpt(t.s, at, at+len("\uFFFD")), t.spotOf(bad),
	})
}

// credentialEcho looks for what stands for a credential of the program that the server
// repeated.
func credentialEcho(t *text) {
	for at := 0; ; {
		n := strings.Index(t.s[at:], surface.Redacted)
		if n < 0 {
			return
		}
		start := at + n
		at = start + len(surface.Redacted)
		t.item.report(hit{
			Block, t.beside([]mark{{start: start, end: at}}), "a credential that the check sent stands in what the server says: whoever reads that has it",
			excerpt(t.s, start, at), t.spot(start, at),
		})
	}
}

func unreadable(it *item) {
	if it.err == nil {
		return
	}
	raw := string(it.Definition[:min(len(it.Definition), maxExcerpt)])
	it.report(hit{
		Block, string(it.Definition), "a definition that cannot be read: a client may read what was not checked",
		excerpt(raw, 0, len(raw)),
		spot{},
	})
}
