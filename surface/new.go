package surface

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// metaServerInfo is where servers of revision 2026-07-28 and later put serverInfo.
const metaServerInfo = "io.modelcontextprotocol/serverInfo"

// New makes a surface of what was on the wire. It never fails: an entry that is
// not JSON, or nested too deeply, becomes an item whose definition is a JSON string
// of its bytes. An inventory that was not listed to its end has no items.
func New(in Input) *Surface {
	var b builder
	b.opening(in.Opening)
	if in.Protocol != "" {
		b.addBytes(Protocol, []byte(in.Protocol))
	}
	b.auth(in.Auth)
	b.list(Tool, in.Tools)
	b.list(Resource, in.Resources)
	b.list(ResourceTemplate, in.ResourceTemplates)
	b.list(Prompt, in.Prompts)
	return b.surface()
}

// builder collects items. What it keeps between them is memory alone.
type builder struct {
	items    []Item
	unlisted []Kind
	saved    bool // the source is a saved surface, whose definitions may be encoded
	scratch  []byte
	split    splitter
}

// opening takes what counts of the result of server/discover or initialize.
func (b *builder) opening(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	result, _, err := rawjson.Parse(raw)
	if err != nil {
		b.addBytes(Server, raw)
		return
	}
	b.identity(result)
}

// identity takes serverInfo, capabilities and instructions, which null is none of.
// Which one a client reads depends on the client when a member is there twice, or in
// another letter case, and when serverInfo is in _meta and beside it: those are
// several items, if they differ.
func (b *builder) identity(result rawjson.Value) {
	for name, v := range result.Members() {
		if strings.EqualFold(name, "_meta") {
			for name, v := range v.Members() {
				if strings.EqualFold(name, metaServerInfo) {
					b.present(Server, v)
				}
			}
			continue
		}
		for _, kind := range []Kind{Server, Capabilities, Instructions} {
			if strings.EqualFold(name, kind.Member()) {
				b.present(kind, v)
			}
		}
	}
}

// present adds an item that the server sent, once.
func (b *builder) present(kind Kind, v rawjson.Value) {
	if !v.Exists() || v.IsNull() {
		return
	}
	b.add(kind, v)
	others, last := b.items[:len(b.items)-1], b.items[len(b.items)-1]
	if slices.ContainsFunc(others, func(i Item) bool { return i.Kind == kind && bytes.Equal(i.Definition, last.Definition) }) {
		b.items = others
	}
}

func (b *builder) list(kind Kind, l List) {
	if !l.Listed {
		b.unlisted = append(b.unlisted, kind)
		return
	}
	b.items = slices.Grow(b.items, len(l.Entries))
	for _, entry := range l.Entries {
		if v, _, err := rawjson.Parse(entry); err == nil {
			b.add(kind, v)
		} else {
			b.addBytes(kind, entry)
		}
	}
}

// add makes an item of a value.
func (b *builder) add(kind Kind, v rawjson.Value) {
	if definition, ok := b.encoded(v); ok {
		b.addDefinition(kind, definition)
		return
	}
	b.scratch = rawjson.AppendCanonical(b.scratch[:0], v)
	b.addDefinition(kind, bytes.Clone(b.scratch))
}

// addBytes makes an item of bytes that are not JSON.
func (b *builder) addBytes(kind Kind, raw []byte) { b.addDefinition(kind, rawjson.Quote(raw)) }

// addDefinition makes an item of canonical bytes, which it keeps.
func (b *builder) addDefinition(kind Kind, definition []byte) {
	item := Item{Kind: kind, Definition: definition}
	v, _, err := rawjson.Parse(definition)
	if member := traitsOfKind(kind).name; err == nil && member != "" {
		item.Name, _ = v.Get(member).Text()
	}
	item.Digests = b.split.digests(kind, v, definition)
	b.items = append(b.items, item)
}

func (b *builder) surface() *Surface {
	slices.SortStableFunc(b.items, func(x, y Item) int {
		return cmp.Or(
			cmp.Compare(x.Kind.order(), y.Kind.order()),
			strings.Compare(x.Name, y.Name),
			bytes.Compare(x.Definition, y.Definition),
		)
	})
	s := &Surface{items: b.items, unlisted: b.unlisted}
	s.digest = rootDigest(s)
	return s
}
