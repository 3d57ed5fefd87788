package surface

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// auth makes one item of the metadata of the login, as an object with the members
// resource and issuer. One without members says that there was none to be found.
func (b *builder) auth(a *AuthMetadata) {
	if a == nil {
		return
	}
	parts := make([][]byte, 0, 2)
	if len(a.Issuer) > 0 {
		parts = append(parts, slices.Concat([]byte(`"issuer":`), authDocument(a.Issuer)))
	}
	if len(a.Resource) > 0 {
		parts = append(parts, slices.Concat([]byte(`"resource":`), authDocument(a.Resource)))
	}
	b.addDefinition(Auth, slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}")))
}

// authDocument gives the canonical form of one document. Lists of strings are sets
// there (RFC 8414 section 2, RFC 9728 section 2) and are sorted. What holds keys or
// signatures is left out: it changes by itself, and says nothing. What is no JSON,
// or too deep to stand in another object, is a string of its bytes.
func authDocument(raw json.RawMessage) []byte {
	v, _, err := rawjson.Parse(raw)
	if err != nil || depth(raw) == rawjson.MaxDepth {
		return rawjson.Quote(raw)
	}
	if v.Kind() != rawjson.Object {
		return rawjson.Canonical(v)
	}
	v, _, _ = rawjson.Parse(rawjson.Canonical(v)) // its members are in order now
	form := []byte{'{'}
	for name, member := range v.RawMembers() {
		if string(name) == `"jwks"` || string(name) == `"signed_metadata"` {
			continue
		}
		if len(form) > 1 {
			form = append(form, ',')
		}
		form = append(form, name...)
		form = append(form, ':')
		if isStrings(member) {
			form = appendSet(form, member)
		} else {
			form = append(form, member.Raw()...)
		}
	}
	return append(form, '}')
}

func isStrings(v rawjson.Value) bool {
	if v.Kind() != rawjson.Array {
		return false
	}
	return !slices.ContainsFunc(v.Elems(), func(e rawjson.Value) bool { return e.Kind() != rawjson.String })
}

// appendSet appends the elements of a canonical array, sorted by their bytes.
func appendSet(dst []byte, v rawjson.Value) []byte {
	elems := make([][]byte, 0, v.Len())
	for _, e := range v.Elems() {
		elems = append(elems, e.Raw())
	}
	slices.SortFunc(elems, bytes.Compare)
	return appendArray(dst, elems)
}

func appendArray(dst []byte, elems [][]byte) []byte {
	dst = append(dst, '[')
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e...)
	}
	return append(dst, ']')
}
