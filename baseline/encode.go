package baseline

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

// formatVersion is that of the file.
const formatVersion = 1

const header = `# What these MCP servers told agents when a person approved it, word for word.
# Written by "mcpvigil lock" and held against the servers by "mcpvigil verify".
# Review its changes like code. Do not edit it: each digest is of what stands there.
`

// Encode writes the lockfile, always the same bytes for the same content. [Read]
// takes up to [MaxBytes] of it, which no honest server comes near.
func (l *Lockfile) Encode() []byte {
	e := &emitter{}
	e.write(header, "version: ", strconv.Itoa(formatVersion), "\n")
	if len(l.Baselines) == 0 {
		e.write("baselines: []\n")
		return e.out
	}
	e.write("baselines:\n")
	sorted := slices.SortedStableFunc(slices.Values(l.Baselines), func(a, b *Baseline) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.Compare(a.Binding.parts(), b.Binding.parts()))
	})
	for _, b := range sorted {
		e.baseline(b)
	}
	return e.out
}

func (e *emitter) baseline(b *Baseline) {
	e.write("- ")
	e.started(2, "name", b.Name)
	e.field(2, "endpoint", b.Binding.Endpoint)
	e.optional(2, "credential", b.Binding.Credential)
	e.optional(2, "client", b.Binding.Client)
	e.optional(2, "protocol", b.Binding.Protocol)
	e.field(2, "ruleset", b.Ruleset)
	e.field(2, "digest", b.Surface.Digest().String())
	if len(b.Masks) > 0 {
		e.write("  masks:\n")
		for _, m := range sortedMasks(b.Masks) {
			e.write("  - ")
			e.text(FormatMask(m), 2)
		}
	}
	if len(b.Accepted) > 0 {
		e.write("  accepted:\n")
		for _, a := range sortedAcceptances(b.Accepted) {
			e.acceptance(a)
		}
	}
	e.surface(b.Surface)
}

func (e *emitter) acceptance(a Acceptance) {
	e.write("  - ")
	e.started(4, "id", a.ID)
	e.field(4, "rule", a.Rule)
	e.field(4, "ruleset", a.Ruleset)
	e.field(4, "severity", string(a.Severity))
	e.optional(4, "kind", string(a.Kind))
	e.optional(4, "item", a.Item)
	e.optional(4, "pointer", a.Pointer)
	e.field(4, "excerpt", a.Excerpt)
	e.field(4, "reason", a.Reason)
}

func (e *emitter) surface(s *surface.Surface) {
	if len(s.Unlisted()) > 0 {
		e.write("  unlisted:\n")
	}
	for _, p := range parts() {
		if slices.Contains(s.Unlisted(), p.kind) {
			e.write("  - ", p.key, "\n")
		}
	}
	for _, p := range parts() {
		items := s.Of(p.kind)
		if len(items) == 0 {
			continue
		}
		e.write("  ", p.key, ":\n")
		for _, item := range items {
			if p.list || len(items) > 1 {
				e.write("  - ")
			} else {
				e.pad(4)
			}
			e.item(item)
		}
	}
}

// item writes an item from where its first key stands, in column 4.
func (e *emitter) item(item surface.Item) {
	e.started(4, "digest", item.Digests.Raw.String())
	e.pad(4)
	e.write("definition:")
	definition, exact := readable(item.Definition)
	e.child(definition, 4, false)
	if !exact {
		e.field(4, "bytes", base64.StdEncoding.EncodeToString(item.Definition))
	}
}

// readable returns what of a definition YAML can hold, and whether that is all of
// it: members of one name are numbered, and what is no character is U+FFFD.
func readable(definition []byte) (v rawjson.Value, exact bool) {
	v, flaws, err := rawjson.Parse(definition)
	if err == nil && !flaws.BOM && flaws.InvalidUTF8 == 0 && flaws.LoneSurrogates == 0 && len(flaws.Duplicates) == 0 {
		return v, true
	}
	if err != nil {
		return must(appendText(nil, strings.ToValidUTF8(string(definition), "\uFFFD"))), false
	}
	return must(appendReadable(nil, v)), false
}

// must parses JSON that was written here.
func must(data []byte) rawjson.Value {
	v, _, err := rawjson.Parse(data)
	if err != nil {
		panic("baseline: own JSON does not parse: " + err.Error())
	}
	return v
}

func appendReadable(dst []byte, v rawjson.Value) []byte {
	switch v.Kind() {
	case rawjson.Object:
		taken := map[string]int{}
		dst = append(dst, '{')
		for name, value := range v.Members() {
			if len(taken) > 0 {
				dst = append(dst, ',')
			}
			dst = appendText(dst, unique(name, taken))
			dst = append(dst, ':')
			dst = appendReadable(dst, value)
		}
		return append(dst, '}')
	case rawjson.Array:
		dst = append(dst, '[')
		for i, elem := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendReadable(dst, elem)
		}
		return append(dst, ']')
	case rawjson.String:
		s, _ := v.Text()
		return appendText(dst, s)
	default:
		return append(dst, v.Raw()...)
	}
}

// unique returns name, with a number behind it when it is taken. taken holds how
// often each name was asked for.
func unique(name string, taken map[string]int) string {
	candidate := name
	for taken[candidate] > 0 {
		taken[name]++
		candidate = name + " (" + strconv.Itoa(taken[name]) + ")"
	}
	taken[candidate]++
	return candidate
}

func sortedAcceptances(accepted []Acceptance) []Acceptance {
	return slices.SortedStableFunc(slices.Values(accepted), func(a, b Acceptance) int {
		return cmp.Or(
			cmp.Compare(slices.Index(surface.Kinds(), a.Kind), slices.Index(surface.Kinds(), b.Kind)),
			strings.Compare(a.Item, b.Item),
			strings.Compare(a.Pointer, b.Pointer),
			strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.ID, b.ID),
			strings.Compare(a.Excerpt, b.Excerpt),
		)
	})
}

func sortedMasks(masks []surface.Mask) []surface.Mask {
	return slices.SortedStableFunc(slices.Values(masks), func(a, b surface.Mask) int {
		return strings.Compare(FormatMask(a), FormatMask(b))
	})
}
