package surface

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// root writes inputSchema or outputSchema.
func (s *splitter) root(v rawjson.Value) {
	s.traits = traitsOf(v)
	s.schema(v)
}

// schema writes a schema as its shape and its text.
//
// The shape is the schema without text, in a form in which equal constraints are
// equal: lists without an order are sorted, and what constrains nothing is left out.
// Text stands in a tree of the places that have some.
func (s *splitter) schema(v rawjson.Value) {
	if v.Kind() != rawjson.Object {
		s.shape = append(s.shape, v.Raw()...)
		return
	}
	shape, text := len(s.shape), len(s.text)
	s.shape = append(s.shape, '{')
	s.text = append(s.text, '{')
	var last []byte
	for name, member := range v.RawMembers() {
		if bytes.Equal(name, last) {
			// Which of the two counts depends on the reader.
			s.shape = append(s.shape[:shape], v.Raw()...)
			s.text = append(s.text[:text], v.Raw()...)
			return
		}
		last = name
		s.keyword(name, member)
	}
	s.shape = append(s.shape, '}')
	s.text = closeObject(s.text, text)
}

// closeObject ends the object at mark, or takes it back when it is empty.
func closeObject(dst []byte, mark int) []byte {
	if len(dst) == mark+len("{") {
		return dst[:mark]
	}
	return append(dst, '}')
}

func (s *splitter) keyword(name []byte, v rawjson.Value) {
	role := roleOf(string(name[1 : len(name)-1]))
	if role == roleIdentity {
		if dialect := dialectOf(v); dialect != "" {
			s.dialect(name, dialect)
			return
		}
	}
	if role == roleText || role == roleIdentity {
		s.text = append(openMember(s.text, name), v.Raw()...)
		return
	}
	mark := len(s.shape)
	value := s.both(name, func() { s.value(name, role, v) })
	if s.constrainsNothing(name, s.shape[value:]) {
		s.shape = s.shape[:mark]
	}
}

// dialect writes the draft of a schema where it could decide what the schema means.
func (s *splitter) dialect(name []byte, dialect string) {
	if s.dependsOn(dialect) {
		s.shape = append(openMember(s.shape, name), `"`+dialect+`"`...)
	}
}

// constrainsNothing reports whether a keyword may as well be missing.
func (s *splitter) constrainsNothing(name, shape []byte) bool {
	switch string(name) {
	case `"additionalProperties"`:
		return (string(shape) == "{}" || string(shape) == "true") && !s.unevaluated
	case `"properties"`:
		return string(shape) == "{}"
	case `"required"`:
		return string(shape) == "[]"
	}
	return false
}

// value writes the value of a keyword.
func (s *splitter) value(name []byte, r role, v rawjson.Value) {
	isArray, isObject := v.Kind() == rawjson.Array, v.Kind() == rawjson.Object
	switch {
	case r == roleSet && isArray && v.Len() == 1 && string(name) == `"type"`:
		s.shape = append(s.shape, v.Elems()[0].Raw()...)
	case r == roleSet && isArray && (!s.ordered || string(name) == `"required"`):
		s.shape = appendSet(s.shape, v)
	case r == roleSchema && !isArray:
		s.schema(v)
	case r == roleSchema, r == roleSchemas && isArray, r == roleBranches && isArray && s.ordered:
		s.schemas(v)
	case r == roleBranches && isArray:
		s.branches(v)
	case r == roleMap && isObject, r == roleSetMap && isObject:
		s.named(v, r)
	default:
		s.shape = append(s.shape, v.Raw()...)
	}
}

// named writes an object of schemas, or of sets, by names.
func (s *splitter) named(v rawjson.Value, r role) {
	text := len(s.text)
	s.shape = append(s.shape, '{')
	s.text = append(s.text, '{')
	for name, member := range v.RawMembers() {
		s.both(name, func() {
			if r == roleSetMap && member.Kind() == rawjson.Array {
				s.shape = appendSet(s.shape, member)
			} else {
				s.schema(member)
			}
		})
	}
	s.shape = append(s.shape, '}')
	s.text = closeObject(s.text, text)
}

// schemas writes a list of schemas whose order counts; its text by positions.
func (s *splitter) schemas(v rawjson.Value) {
	text := len(s.text)
	s.shape = append(s.shape, '[')
	s.text = append(s.text, '{')
	for i, schema := range v.Elems() {
		s.shape = openElement(s.shape)
		mark := len(s.text)
		s.text = openMember(s.text, strconv.AppendQuote(nil, strconv.Itoa(i)))
		empty := len(s.text)
		s.schema(schema)
		if len(s.text) == empty {
			s.text = s.text[:mark]
		}
	}
	s.shape = append(s.shape, ']')
	s.text = closeObject(s.text, text)
}

// branch is one of a list of schemas without an order.
type branch struct{ key, shape, text []byte }

// branches writes a list of schemas whose order does not count. Its text stands with
// what tells the branches apart: their types, or constants, or references; and the
// rank of their shapes among those that are alike in that. So text that moves from
// one branch to another is seen, and other branches may come and go.
func (s *splitter) branches(v rawjson.Value) {
	branches := make([]branch, 0, v.Len())
	for _, schema := range v.Elems() {
		b := branch{key: s.branchKey(schema)}
		shape, text := len(s.shape), len(s.text)
		s.schema(schema)
		b.shape, b.text = take(s.shape[shape:]), take(s.text[text:])
		s.shape, s.text = s.shape[:shape], s.text[:text]
		branches = append(branches, b)
	}
	slices.SortFunc(branches, func(a, b branch) int {
		return cmp.Or(bytes.Compare(a.key, b.key), bytes.Compare(a.shape, b.shape), bytes.Compare(a.text, b.text))
	})
	mark := len(s.text)
	s.shape = append(s.shape, '[')
	s.text = append(s.text, '[')
	rank := 0
	for i, b := range branches {
		s.shape = append(openElement(s.shape), b.shape...)
		if rank++; i > 0 && !bytes.Equal(b.key, branches[i-1].key) {
			rank = 1
		}
		if len(b.text) > 0 {
			s.text = append(append(openElement(s.text), '['), b.key...)
			s.text = strconv.AppendInt(append(s.text, ','), int64(rank), 10)
			s.text = append(append(append(s.text, ','), b.text...), ']')
		}
	}
	s.shape = append(s.shape, ']')
	if len(s.text) == mark+len("[") {
		s.text = s.text[:mark]
	} else {
		s.text = append(s.text, ']')
	}
}

// maxBranch is the longest part of a branch that is sorted as it is. A longer one
// stands as its digest, or branches in branches would be copied on every level.
const maxBranch = 1024

// take copies what was written of a branch.
func take(part []byte) []byte {
	if len(part) <= maxBranch {
		return bytes.Clone(part)
	}
	sum := sha256.Sum256(part)
	return strconv.AppendQuote(nil, hex.EncodeToString(sum[:]))
}

// branchKey is what tells a branch from others at first sight.
func (s *splitter) branchKey(v rawjson.Value) []byte {
	mark := len(s.shape)
	s.shape = append(s.shape, '{')
	for name, member := range v.RawMembers() {
		switch string(name) {
		case `"$ref"`, `"const"`, `"type"`:
			s.shape = openMember(s.shape, name)
			s.value(name, roleOf(string(name[1:len(name)-1])), member)
		}
	}
	key := bytes.Clone(append(s.shape, '}')[mark:])
	s.shape = s.shape[:mark]
	return key
}
