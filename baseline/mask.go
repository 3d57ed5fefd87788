package baseline

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/surface"
)

// maskKinds are the kinds of masks, as they are written.
func maskKinds() []surface.MaskKind {
	return []surface.MaskKind{surface.MaskDate, surface.MaskVersion, surface.MaskInteger}
}

// ParseMask is the inverse of [FormatMask].
func ParseMask(s string) (surface.Mask, error) {
	place, kinds, ok := cutLast(s, "=")
	if !ok {
		return surface.Mask{}, fmt.Errorf("%s is no mask: write it like tool/NAME#/description=date,integer or instructions=integer", quote(s))
	}
	place, pointer, _ := strings.Cut(place, "#")
	kind, name, _ := strings.Cut(place, "/")
	m := surface.Mask{Kind: surface.Kind(kind)}
	if m.Kind == surface.Protocol || m.Kind == surface.Capabilities || m.Kind == surface.Auth {
		return m, fmt.Errorf("mask %s: %s has no text to be masked", quote(s), quote(kind))
	}
	if !slices.Contains(surface.Kinds(), m.Kind) {
		return m, fmt.Errorf("mask %s: %s is no kind of item", quote(s), quote(kind))
	}
	var err error
	if m.Item, err = url.PathUnescape(name); err != nil {
		return m, fmt.Errorf("mask %s: a %% in a name is the first of %%XX, the bytes of a character", quote(s))
	}
	if m.Pointer, err = url.PathUnescape(pointer); err != nil {
		return m, fmt.Errorf("mask %s: a %% in a pointer is the first of %%XX, the bytes of a character", quote(s))
	}
	if m.Pointer != "" && m.Pointer[0] != '/' {
		return m, fmt.Errorf("mask %s: what follows # is a JSON pointer, which begins with /", quote(s))
	}
	for _, k := range strings.Split(kinds, ",") {
		if !slices.Contains(maskKinds(), surface.MaskKind(k)) {
			return m, fmt.Errorf("mask %s: %s is no kind of mask: known are date, version, integer", quote(s), quote(k))
		}
		if slices.Contains(m.Masks, surface.MaskKind(k)) {
			return m, errors.New("mask " + quote(s) + ": a kind stands there twice")
		}
		m.Masks = append(m.Masks, surface.MaskKind(k))
	}
	slices.SortFunc(m.Masks, byKind)
	return m, nil
}

func byKind(a, b surface.MaskKind) int {
	return slices.Index(maskKinds(), a) - slices.Index(maskKinds(), b)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// FormatMask writes a mask as flags and lockfiles have it: the kind of the item, its
// name, the pointer in its definition, and the kinds of text that are masked, such
// as tool/NAME#/description=date,integer or instructions=integer. In name and
// pointer, what is neither a letter nor a digit nor one of "-_.,:/+@~" stands as the
// %XX of its bytes, so that a shell takes the whole for one word.
func FormatMask(m surface.Mask) string {
	s := string(m.Kind)
	if m.Item != "" {
		s += "/" + percent(m.Item)
	}
	if m.Pointer != "" {
		s += "#" + percent(m.Pointer)
	}
	kinds := make([]string, 0, len(m.Masks))
	for _, k := range slices.SortedFunc(slices.Values(m.Masks), byKind) {
		kinds = append(kinds, string(k))
	}
	return s + "=" + strings.Join(kinds, ",")
}

func percent(s string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		one := s[:size]
		if strings.ContainsRune("-_.,:/+@~", r) || (unicode.IsLetter(r) || unicode.IsDigit(r)) && shown(one) {
			b.WriteString(one)
		} else {
			for i := range size {
				fmt.Fprintf(&b, "%%%02X", s[i])
			}
		}
		s = s[size:]
	}
	return b.String()
}

// UnusedMasks are the masks of b that let nothing change in its surface: there is no
// text in their place, or none of their kinds in it.
func (b *Baseline) UnusedMasks() []surface.Mask {
	return slices.DeleteFunc(slices.Clone(b.Masks), func(m surface.Mask) bool { return masks(m, b.Surface) })
}

// masks reports whether m lets anything change in s.
func masks(m surface.Mask, s *surface.Surface) bool {
	for _, item := range s.Of(m.Kind) {
		if item.Name != m.Item {
			continue
		}
		definition, _, err := rawjson.Parse(item.Definition)
		if err != nil {
			continue
		}
		one := filled(definition, m, "2001-02-03", "0.0.1", "7")
		two := filled(definition, m, "2004-05-06", "0.0.2", "8")
		differ := func(masks ...surface.Mask) bool {
			return len(loud(surface.Compare(one, two, surface.CompareOptions{Masks: masks}))) > 0
		}
		if differ() && !differ(m) {
			return true
		}
	}
	return false
}

// filled is a surface of one item, in which the parts that m covers are given.
func filled(definition rawjson.Value, m surface.Mask, date, version, integer string) *surface.Surface {
	fill := strings.NewReplacer("{{", "{", "{date}", date, "{version}", version, "{integer}", integer)
	edited := appendEdited(nil, definition, pointerPath(m.Pointer), func(text string) string {
		return fill.Replace(surface.Template(text, m.Masks))
	})
	i := slices.IndexFunc(parts(), func(p part) bool { return p.kind == m.Kind })
	s, err := surface.Read(saved([]entry{{part: parts()[i], definition: rawjson.Canonical(must(edited))}}, nil))
	if err != nil {
		panic("baseline: own surface does not read: " + err.Error())
	}
	return s
}

// pointerPath takes a JSON pointer apart.
func pointerPath(pointer string) []string {
	if pointer == "" {
		return nil
	}
	path := strings.Split(pointer[1:], "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	return path
}

// appendEdited appends v with the text at a path edited.
func appendEdited(dst []byte, v rawjson.Value, path []string, edit func(string) string) []byte {
	if len(path) == 0 {
		if text, ok := v.Text(); ok {
			return appendText(dst, edit(text))
		}
		return append(dst, v.Raw()...)
	}
	next := func(dst []byte, name string, value rawjson.Value) []byte {
		if name == path[0] {
			return appendEdited(dst, value, path[1:], edit)
		}
		return append(dst, value.Raw()...)
	}
	switch v.Kind() {
	case rawjson.Object:
		dst = append(dst, '{')
		for name, value := range v.Members() {
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, name), ':')
			dst = next(dst, name, value)
		}
		return append(dst, '}')
	case rawjson.Array:
		dst = append(dst, '[')
		for i, value := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = next(dst, strconv.Itoa(i), value)
		}
		return append(dst, ']')
	}
	return append(dst, v.Raw()...)
}
