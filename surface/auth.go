package surface

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

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
// there (RFC 8414 section 2, RFC 9728 section 2) and are sorted. Keys are left out:
// they change by themselves, and say nothing. So does what is signed, of which the
// claims stay. What is no JSON, or too deep to stand in another object, is a string of its bytes.
func authDocument(raw json.RawMessage) []byte {
	v, _, err := rawjson.Parse(raw)
	if err != nil || depth(raw) == rawjson.MaxDepth {
		return rawjson.Quote(raw)
	}
	if v.Kind() != rawjson.Object {
		return rawjson.Canonical(v)
	}
	v, _, _ = rawjson.Parse(rawjson.Canonical(v)) // its members are in order now
	return appendDocument(nil, v, `"jwks"`)
}

// appendDocument appends a canonical document but for the members left out.
func appendDocument(dst []byte, v rawjson.Value, leftOut ...string) []byte {
	dst = append(dst, '{')
	for name, member := range v.RawMembers() {
		if slices.Contains(leftOut, string(name)) {
			continue
		}
		dst = openMember(dst, name)
		switch {
		case string(name) == `"`+memberSigned+`"`:
			dst = appendSigned(dst, member)
		case isStrings(member):
			dst = appendSet(dst, member)
		default:
			dst = append(dst, member.Raw()...)
		}
	}
	return append(dst, '}')
}

// memberSigned holds a JWT of metadata that takes precedence over what stands beside
// it (RFC 8414 section 2.1, RFC 9728 section 2.2).
const memberSigned = "signed_metadata"

// appendSigned appends the claims of signed metadata, without those that change each
// time it is signed; what has none that can be read as it is.
func appendSigned(dst []byte, v rawjson.Value) []byte {
	if text, ok := v.Text(); ok {
		v = claimsOf(text, v)
	}
	if v.Kind() != rawjson.Object || v.Get(memberSigned).Exists() {
		return append(dst, v.Raw()...)
	}
	return appendDocument(dst, v, `"iat"`, `"exp"`, `"nbf"`, `"jti"`, `"jwks"`)
}

// claimsOf gives the claims of a JWT in canonical form, or otherwise when it is none.
func claimsOf(token string, otherwise rawjson.Value) rawjson.Value {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return otherwise
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil || depth(raw) > rawjson.MaxDepth-maxAuthLevels {
		return otherwise
	}
	claims, _, err := rawjson.Parse(raw)
	if err != nil || claims.Kind() != rawjson.Object {
		return otherwise
	}
	claims, _, _ = rawjson.Parse(rawjson.Canonical(claims))
	return claims
}

// maxAuthLevels are the levels of the item around the claims.
const maxAuthLevels = 2

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
