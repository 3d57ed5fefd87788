package baseline

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
