package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Inventory names one of the lists a server can have.
type Inventory string

// The inventories.
const (
	Tools             Inventory = "tools"
	Resources         Inventory = "resources"
	ResourceTemplates Inventory = "resource templates"
	Prompts           Inventory = "prompts"
)

// listedResponses is how many times the limit of one response all lists of a
// session may hold together. They stay in memory until the check is over.
const listedResponses = 8

// inventoryTraits is what differs between the inventories.
type inventoryTraits struct {
	method string
	member string // of the result
	entry  string // one of them, in reasons and texts
	key    string // the member that identifies an entry
	// capability is what a server declares to have the inventory.
	capability string
}

var inventories = map[Inventory]inventoryTraits{
	Tools:             {"tools/list", "tools", "tool", "name", "tools"},
	Resources:         {"resources/list", "resources", "resource", "uri", "resources"},
	ResourceTemplates: {"resources/templates/list", "resourceTemplates", "resource-template", "uriTemplate", "resources"},
	Prompts:           {"prompts/list", "prompts", "prompt", "name", "prompts"},
}

// Item is one entry of an inventory. All of it is untrusted.
type Item struct {
	// Key identifies it: a name, a URI or a URI template.
	Key string
	// Raw is the entry as it was sent. It is kept instead of the parsed value,
	// which takes many times the memory.
	Raw json.RawMessage
}

// Listing is an inventory that was read to its end.
type Listing struct {
	Inventory Inventory
	// Items are the entries that a conforming client has: the first of each key,
	// without those that are Dropped.
	Items []Item
	// Unsupported: the server declares the inventory and does not know its
	// method.
	Unsupported bool
	// Disputed: other clients may read another list in the same bytes, because some
	// member of an answer was there twice or in another letter case, or a page more,
	// because the last one repeats a cursor.
	Disputed bool
	// Schemas are tools that no strict client can use. Their server is
	// unhealthy; the listing is complete all the same.
	Schemas []SchemaProblem
	// Dropped are the names of tools left out because of an invalid x-mcp-header.
	Dropped []string

	raw []json.RawMessage
}

// SchemaProblem says why a tool's input schema is unusable.
type SchemaProblem struct {
	Tool    string // safe to show
	Index   int
	Pointer string // into the tool
	Text    string
}

// Raw returns the entries as they were sent, in their order, and is never nil. It
// also has those that are no Items, because they were on the wire all the same:
// what was dropped, and other definitions of a key that was there already.
func (l *Listing) Raw() []json.RawMessage {
	if l.raw == nil {
		return []json.RawMessage{}
	}
	return l.raw
}

// Find returns the entry with key, or nil.
func (l *Listing) Find(key string) *Item {
	for i := range l.Items {
		if l.Items[i].Key == key {
			return &l.Items[i]
		}
	}
	return nil
}

// List reads an inventory, page by page. The error is an *Error; the entries
// read before it are dropped, because a part of a list says nothing.
func (s *Session) List(ctx context.Context, inv Inventory) (*Listing, error) {
	l := &lister{s: s, traits: inventories[inv], out: &Listing{Inventory: inv}, seen: map[string]int{}, cursors: map[string]bool{}, headers: map[string]toolHeaderSet{}}
	params := json.RawMessage("{}")
	for {
		next, more, err := l.page(ctx, params)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if l.pages >= s.cfg.Limits.Pages {
			return nil, &Error{Reason: ReasonPaginationLimit, Text: fmt.Sprintf("%s goes on after %d pages, the limit", l.traits.method, l.pages), Seen: true}
		}
		cursor, _ := json.Marshal(next)
		params = fmt.Appendf(nil, `{"cursor":%s}`, cursor)
	}
	if l.looped && len(l.out.Items) == 0 {
		return nil, &Error{Reason: ReasonPaginationLoop, Text: l.traits.method + " repeats a cursor and lists nothing", Seen: true}
	}
	if inv == Tools {
		s.mu.Lock()
		s.headers = l.headers
		s.mu.Unlock()
	}
	return l.out, nil
}

// lister is the state of one listing.
type lister struct {
	s       *Session
	traits  inventoryTraits
	out     *Listing
	pages   int
	seen    map[string]int // key -> index in out.Items
	cursors map[string]bool
	looped  bool
	read    int
	// headers are what the tools ask for to be mirrored.
	headers map[string]toolHeaderSet
	// others are the entries that are kept beside the Items, each once.
	others map[string]bool
}

// page reads one page. more says that next is to be followed.
func (l *lister) page(ctx context.Context, params json.RawMessage) (next string, more bool, err error) {
	a, err := l.s.ask(ctx, l.traits.method, params)
	if err != nil {
		return "", false, err
	}
	if a.disputed || disputed(a.result, l.traits.member, "nextCursor", "resultType") {
		l.out.Disputed = true
		noteDisputed(l.s.cfg.Log, l.traits.method)
	}
	if a.rpcErr != nil && a.rpcErr.Code == codeMethodNotFound && l.pages == 0 {
		l.out.Unsupported = true
		return "", false, nil
	}
	v, err := l.s.judge(l.traits.method, a)
	if err != nil {
		return "", false, err
	}
	l.pages++
	if l.s.listed.Add(int64(len(v.Raw()))) > l.s.cfg.Limits.ResponseBytes*listedResponses {
		return "", false, &Error{Reason: ReasonResponseTooLarge, Text: fmt.Sprintf("the lists of the server are larger than %d bytes in all", l.s.cfg.Limits.ResponseBytes*listedResponses), Seen: true}
	}
	if err := l.entries(v.Get(l.traits.member)); err != nil {
		return "", false, err
	}
	return l.cursor(v.Get("nextCursor"))
}

// cursor decides whether to go on. An empty string is a cursor (2026-07-28,
// Pagination); a cursor that was followed before is a loop.
func (l *lister) cursor(v rawjson.Value) (next string, more bool, err error) {
	if !v.Exists() {
		return "", false, nil
	}
	if v.IsNull() {
		l.nullField("/nextCursor")
		return "", false, nil
	}
	next, ok := v.Text()
	if !ok {
		return "", false, &Error{Reason: ReasonMalformedMessage, Text: l.traits.method + " has a nextCursor that is not a string", Seen: true}
	}
	if l.cursors[next] {
		l.looped, l.out.Disputed = true, true
		l.s.cfg.Log.Note(ReasonPaginationLoop, l.traits.method+" repeats a cursor", "leave nextCursor out on the last page; clients page for ever otherwise")
		return "", false, nil
	}
	l.cursors[next] = true
	return next, true, nil
}

func (l *lister) nullMembers(entry rawjson.Value, index int) {
	for name, m := range entry.Members() {
		if m.IsNull() {
			l.nullField(rawjson.Pointer(l.traits.member, fmt.Sprint(index), l.s.cfg.quote(name, 60)))
		}
	}
}

func (l *lister) nullField(pointer string) {
	l.s.cfg.Log.Note("null-field", fmt.Sprintf("%s sends null at %s", l.traits.method, pointer), "leave optional members out; strict clients refuse null and drop the whole list")
}

// entries adds the entries of one page.
func (l *lister) entries(v rawjson.Value) error {
	if v.Kind() != rawjson.Array {
		what := "no " + l.traits.member
		if v.Exists() {
			what = l.traits.member + " that is " + article(v.Kind()) + ", not an array"
		}
		return &Error{Reason: l.traits.entry + "s-" + ReasonNotArray, Text: fmt.Sprintf("the result of %s has %s", l.traits.method, what), Seen: true}
	}
	for _, e := range v.Elems() {
		index := l.read
		l.read++
		if len(l.out.raw) >= l.s.cfg.Limits.Entries {
			return &Error{Reason: ReasonEntryLimit, Text: fmt.Sprintf("%s lists more than %d entries, the limit", l.traits.method, l.s.cfg.Limits.Entries), Seen: true}
		}
		if err := l.entry(e, index); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) entry(v rawjson.Value, index int) error {
	invalid := func(what string) error {
		return &Error{Reason: l.traits.entry + "-" + ReasonEntryInvalid, Text: fmt.Sprintf("entry %d of %s %s", index, l.traits.method, what), Seen: true, Details: map[string]any{"index": index}}
	}
	if v.Kind() != rawjson.Object {
		return invalid("is " + article(v.Kind()) + ", not an object")
	}
	key, ok := v.Get(l.traits.key).Text()
	if !ok || strings.TrimSpace(key) == "" {
		return invalid("has no " + l.traits.key)
	}
	if name, ok := v.Get("name").Text(); !ok || strings.TrimSpace(name) == "" {
		return invalid(fmt.Sprintf("(%s) has no name", l.s.cfg.quote(key, 60)))
	}
	if bytes.Contains(v.Raw(), []byte("null")) { // saves decoding every name
		l.nullMembers(v, index)
	}
	if at, again := l.seen[key]; again {
		if string(l.out.Items[at].Raw) != string(v.Raw()) {
			l.s.cfg.Log.Note("duplicate-"+l.traits.entry, fmt.Sprintf("%s lists \"%s\" more than once, with different definitions", l.traits.method, l.s.cfg.quote(key, 100)), "give each a "+l.traits.key+" of its own; model APIs refuse the request otherwise")
			l.other(v.Raw())
		}
		return nil
	}
	if l.out.Inventory == Tools && !l.tool(key, v) {
		l.other(v.Raw())
		return nil
	}
	l.seen[key] = len(l.out.Items)
	l.out.Items = append(l.out.Items, Item{Key: key, Raw: v.Raw()})
	l.out.raw = append(l.out.raw, v.Raw())
	return nil
}

// other keeps an entry that is no item.
func (l *lister) other(raw json.RawMessage) {
	if l.others[string(raw)] {
		return
	}
	if l.others == nil {
		l.others = map[string]bool{}
	}
	l.others[string(raw)] = true
	l.out.raw = append(l.out.raw, raw)
}
