package surface

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// dialectOf gives the draft of JSON Schema that the value of $schema names, or
// nothing. Only these values are not text: any other URI could say something.
func dialectOf(v rawjson.Value) string {
	uri, _ := v.Text()
	uri, _ = strings.CutSuffix(uri, "#")
	if scheme, rest, _ := strings.Cut(uri, "://"); scheme == "https" || scheme == "http" {
		switch rest {
		case "json-schema.org/draft-04/schema":
			return "draft-04"
		case "json-schema.org/draft-06/schema":
			return "draft-06"
		case "json-schema.org/draft-07/schema":
			return "draft-07"
		case "json-schema.org/draft/2019-09/schema":
			return "2019-09"
		case "json-schema.org/draft/2020-12/schema":
			return "2020-12"
		}
	}
	return ""
}

// traits are what decides for a whole schema which of its forms are equal.
type traits struct {
	// unevaluated: a keyword looks at which properties or elements others have looked
	// at, so that one which accepts anything is not the same as none.
	unevaluated bool
	// ordered: a reference goes through a list by index, so that order counts in all.
	ordered bool

	schemas []rawjson.Value
	drafts  map[string]bool // see dependsOn
}

// traitsOf gives those of whole schemas that are compared, or of the only one.
func traitsOf(schemas ...rawjson.Value) traits {
	t := traits{schemas: schemas}
	for _, schema := range schemas {
		raw := schema.Raw()
		t.unevaluated = t.unevaluated || bytes.Contains(raw, []byte(`"unevaluated`))
		t.ordered = t.ordered || bytes.Contains(raw, []byte(`ef":`)) && refersByIndex(schema)
	}
	return t
}

// dependsOn reports whether it makes a difference that the schema is read by this
// draft, no draft being the one that readers choose.
func (t *traits) dependsOn(draft string) bool {
	depends, known := t.drafts[draft]
	if !known {
		depends = slices.ContainsFunc(t.schemas, func(v rawjson.Value) bool { return dependsOnDraft(v, draft) })
		if t.drafts == nil {
			t.drafts = make(map[string]bool)
		}
		t.drafts[draft] = depends
	}
	return depends
}

// refersByIndex reports whether a reference anywhere in v has a token that is a number.
func refersByIndex(v rawjson.Value) bool {
	for _, e := range v.Elems() {
		if refersByIndex(e) {
			return true
		}
	}
	for name, m := range v.Members() {
		if target, ok := m.Text(); ok && isReference(name) && hasIndex(target) || refersByIndex(m) {
			return true
		}
	}
	return false
}

func hasIndex(target string) bool {
	if unescaped, err := url.PathUnescape(target); err == nil {
		target = unescaped
	}
	_, fragment, _ := strings.Cut(target, "#")
	for token := range strings.SplitSeq(fragment, "/") {
		if token != "" && strings.Trim(token, "0123456789") == "" {
			return true
		}
	}
	return false
}

// dependsOnDraft reports whether a keyword anywhere in schema means something else in
// another draft than in this one. It may take data for a keyword, and a member of a
// map, such as properties, for none.
func dependsOnDraft(schema rawjson.Value, draft string) bool {
	for _, e := range schema.Elems() {
		if dependsOnDraft(e, draft) {
			return true
		}
	}
	refers, siblings := false, false // which older drafts ignore
	for name, m := range schema.Members() {
		refers = refers || isReference(name)
		siblings = siblings || isSibling(name)
		if keywordDependsOnDraft(name, m, draft) || refers && siblings {
			return true
		}
		if r := roleOf(name); r != roleMap && r != roleSetMap {
			if dependsOnDraft(m, draft) {
				return true
			}
			continue
		}
		for _, named := range m.Members() {
			if dependsOnDraft(named, draft) {
				return true
			}
		}
	}
	return false
}

func keywordDependsOnDraft(name string, v rawjson.Value, draft string) bool {
	switch name {
	case "unevaluatedItems", "unevaluatedProperties", "prefixItems", "additionalItems", "dependentRequired",
		"dependentSchemas", "dependencies", "minContains", "maxContains", "$recursiveRef", "$recursiveAnchor", "$dynamicRef":
		return true
	case "items":
		return v.Kind() == rawjson.Array
	case "exclusiveMinimum", "exclusiveMaximum":
		return v.Kind() == rawjson.Bool || draft == "draft-04"
	case "const", "contains", "propertyNames":
		return draft == "draft-04"
	case "if", "then", "else":
		return draft == "draft-04" || draft == "draft-06"
	}
	return false
}

// isSibling tells the keywords that constrain something beside a reference.
func isSibling(name string) bool {
	role := roleOf(name)
	return !isReference(name) && role != roleText && role != roleIdentity && name != "$defs" && name != "definitions"
}
