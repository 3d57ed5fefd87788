package monitorpage

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

const (
	// maxShelf bounds the surfaces that are kept, and maxShelfBytes their definitions.
	maxShelf      = 8
	maxShelfBytes = 64 << 20
	// maxCosts bounds the sizes that are kept.
	maxCosts = 4096
	// maxLine bounds what a list shows of a description.
	maxLine = 240
)

// library keeps the surfaces that were read last, as a large one takes a while to be
// read. A surface never changes: it is known by its digest.
type library struct {
	mu    sync.Mutex
	shelf []*volume // the one that was asked for last first
	sizes map[string]int
}

// volume is a surface, with what a list shows of it.
type volume struct {
	digest  string
	surface *surface.Surface
	size    int // of all definitions
	rows    map[surface.Kind][]row

	scan     sync.Once
	findings map[place][]lint.Finding
}

// place is what a finding is about.
type place struct {
	kind surface.Kind
	item string
}

// row is an item in a list.
type row struct {
	Index       int
	Name, Title string
	// Line is the beginning of the description, Cut that there is more of it.
	Line string
	Cut  bool
	Size int
}

func newLibrary() *library { return &library{sizes: map[string]int{}} }

// open gives a surface to who may read it.
func (l *library) open(ctx context.Context, o *ops.Ops, actor people.Actor, digest string) (*volume, error) {
	if actor.Can(people.Read) {
		if v := l.find(digest); v != nil {
			return v, nil
		}
	}
	s, err := o.Surface(ctx, actor, digest)
	if err != nil {
		return nil, err
	}
	v := volumeOf(s)
	l.keep(v)
	return v, nil
}

func (l *library) find(digest string) *volume {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range l.shelf {
		if v.digest == digest {
			copy(l.shelf[1:i+1], l.shelf[:i])
			l.shelf[0] = v
			return v
		}
	}
	return nil
}

func (l *library) keep(v *volume) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := []*volume{v}
	size := v.size
	for _, other := range l.shelf {
		if size += other.size; size > maxShelfBytes || len(kept) == maxShelf {
			break
		}
		if other.digest != v.digest {
			kept = append(kept, other)
		}
	}
	l.shelf = kept
}

// cost is how many bytes of a surface an agent reads before its first question: the
// definitions of all tools, and the instructions.
func (l *library) cost(ctx context.Context, o *ops.Ops, actor people.Actor, digest string) (int, error) {
	l.mu.Lock()
	size, known := l.sizes[digest]
	l.mu.Unlock()
	if known && actor.Can(people.Read) {
		return size, nil
	}
	v, err := l.open(ctx, o, actor, digest)
	if err != nil {
		return 0, err
	}
	size = v.cost()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.sizes) >= maxCosts {
		clear(l.sizes)
	}
	l.sizes[digest] = size
	return size, nil
}

func (v *volume) cost() int {
	size := 0
	for _, kind := range []surface.Kind{surface.Tool, surface.Instructions} {
		for _, r := range v.rows[kind] {
			size += r.Size
		}
	}
	return size
}

func volumeOf(s *surface.Surface) *volume {
	v := &volume{digest: s.Digest().String(), surface: s, rows: map[surface.Kind][]row{}}
	go v.about("", "") // it takes longest, and what shows the surface waits for it
	for _, kind := range surface.Kinds() {
		for i, item := range s.Of(kind) {
			v.size += len(item.Definition)
			v.rows[kind] = append(v.rows[kind], rowOf(i, &item))
		}
	}
	return v
}

func rowOf(index int, item *surface.Item) row {
	r := row{Index: index, Name: item.Name, Size: len(item.Definition)}
	d := members(item.Definition)
	r.Title, _ = beginning(textOf(d["title"]), maxLine)
	line := textOf(d["description"])
	if !item.Kind.IsInventory() && line == "" {
		line = textOf(item.Definition)
		if line == "" {
			line = string(item.Definition[:min(len(item.Definition), 4*maxLine)])
		}
	}
	r.Line, r.Cut = beginning(line, maxLine)
	return r
}

// beginning cuts a text after at most limit bytes, and holds on to nothing of the rest.
func beginning(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return strings.Clone(s), false
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit]), true
}

// members are those of an object; nil for anything else. The names are compared as they
// are: another letter case is another member.
func members(definition []byte) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	if json.Unmarshal(definition, &out) != nil {
		return nil
	}
	return out
}

// textOf is a JSON string, or empty for anything else.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// about are the findings of the lint about an item; of no kind, those about the whole.
func (v *volume) about(kind surface.Kind, item string) []lint.Finding {
	v.scan.Do(func() {
		v.findings = map[place][]lint.Finding{}
		for _, f := range lint.Scan(v.surface, lint.Options{}) {
			at := place{f.Kind, f.Item}
			v.findings[at] = append(v.findings[at], f)
		}
	})
	return v.findings[place{kind, item}]
}

// named are the items of a kind that have one name.
func (v *volume) named(kind surface.Kind, name string) []surface.Item {
	var out []surface.Item
	for _, item := range v.surface.Of(kind) {
		if item.Name == name {
			out = append(out, item)
		}
	}
	return out
}

// flagged counts the items of a kind that have findings.
func (v *volume) flagged(kind surface.Kind) int {
	_ = v.about("", "")
	n := 0
	for at := range v.findings {
		if at.kind == kind {
			n++
		}
	}
	return n
}

// match gives the rows of a kind that hold a text anywhere in their definition, and, if
// asked for, have findings. Letters of ASCII match in any case.
func (v *volume) match(kind surface.Kind, text string, flagged bool) []row {
	rows := v.rows[kind]
	if text == "" && !flagged {
		return rows
	}
	needle := lower(nil, []byte(text))
	items := v.surface.Of(kind)
	var out []row
	var buffer []byte
	for _, r := range rows {
		if flagged && len(v.about(kind, r.Name)) == 0 {
			continue
		}
		buffer = lower(buffer[:0], items[r.Index].Definition)
		if bytes.Contains(buffer, needle) || bytes.Contains(lower(nil, []byte(r.Name)), needle) {
			out = append(out, r)
		}
	}
	return out
}

func lower(dst, src []byte) []byte {
	for _, c := range src {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
