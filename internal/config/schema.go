package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"
)

// SchemaID is where editors find the schema of the format.
const SchemaID = "https://raw.githubusercontent.com/mcpvigil/mcpvigil/main/schema/mcpvigil.schema.json"

// Schema returns the JSON Schema (2020-12) of mcpvigil.yaml, derived from the
// rules that [Parse] decodes by. What it cannot say (unique ids, references,
// cycles, the bounds of durations) only [Parse] checks.
func Schema() []byte {
	file := fileRule()
	w := &schemaWriter{defs: map[string]any{}}
	root := w.object(file)
	root = append(members{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", SchemaID}}, root...)
	root = append(root, pair{"$defs", w.ordered()})
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic("config: schema: " + err.Error()) // only strings and numbers go in
	}
	return out.Bytes()
}

type pair struct {
	name  string
	value any
}

// members is a JSON object that keeps its order.

type members []pair

func (m members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		var v bytes.Buffer
		enc := json.NewEncoder(&v)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(p.name); err != nil {
			return nil, err
		}
		v.Truncate(v.Len() - 1)
		v.WriteByte(':')
		if err := enc.Encode(p.value); err != nil {
			return nil, err
		}
		b.Write(v.Bytes())
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

type schemaWriter struct {
	defs  map[string]any
	order []string
}

func (w *schemaWriter) ordered() members {
	var out members
	for _, name := range w.order {
		out = append(out, pair{name, w.defs[name]})
	}
	return out
}

// reference returns a $ref to o, which becomes a definition.
func (w *schemaWriter) reference(o *objectRule) pair {
	name := strings.ReplaceAll(strings.ToLower(o.title), " ", "-")
	if _, ok := w.defs[name]; !ok {
		w.defs[name] = nil // stands in while o refers to itself
		w.order = append(w.order, name)
		w.defs[name] = w.object(o)
	}
	return pair{"$ref", "#/$defs/" + name}
}

func (w *schemaWriter) object(o *objectRule) members {
	out := members{{"title", o.title}}
	if o.note != "" {
		out = append(out, pair{"description", o.note})
	}
	out = append(out, pair{"type", "object"}, pair{"additionalProperties", false})
	var properties members
	var required []string
	for _, f := range o.fields {
		properties = append(properties, pair{f.name, w.field(f)})
		if f.required {
			required = append(required, f.name)
		}
	}
	out = append(out, pair{"properties", properties})
	switch {
	case o.aloneKey != "":
		var excluded []any
		allowed := strings.Join(append([]string{o.aloneKey}, o.aloneWith...), " ")
		for _, f := range o.fields {
			if !strings.Contains(" "+allowed+" ", " "+f.name+" ") {
				excluded = append(excluded, members{{"required", []string{f.name}}})
			}
		}
		out = append(out, pair{"oneOf", []any{
			members{{"required", []string{o.aloneKey}}, {"not", members{{"anyOf", excluded}}}},
			members{{"required", required}, {"not", members{{"required", []string{o.aloneKey}}}}},
		}})
	case required != nil:
		out = append(out, pair{"required", required})
	}
	if o.exactlyOne != nil {
		var one []any
		for _, name := range o.exactlyOne {
			one = append(one, members{{"required", []string{name}}})
		}
		if o.insteadKey != "" {
			one = append(one, members{{"required", []string{o.insteadKey}}, {"properties", members{{o.insteadKey, members{{"enum", o.insteadOf}}}}}})
		}
		out = append(out, pair{"oneOf", one})
	}
	if o.atLeastOne != nil {
		var some []any
		for _, name := range o.atLeastOne {
			some = append(some, members{{"required", []string{name}}})
		}
		out = append(out, pair{"anyOf", some})
	}
	return out
}

func (w *schemaWriter) field(f *field) members {
	out := members{{"title", strings.ReplaceAll(f.name, "_", " ")}, {"description", f.doc}}
	out = append(out, w.value(f.rule)...)
	if v, ok := yamlValue(f.def); ok {
		out = append(out, pair{"default", v})
	}
	if v, ok := yamlValue(f.example); ok {
		out = append(out, pair{"examples", []any{v}})
	}
	return out
}

func (w *schemaWriter) value(r *rule) members {
	switch r.kind {
	case kindObject:
		return members{w.reference(r.object)}
	case kindList:
		out := members{{"type", "array"}, {"items", w.value(r.elem)}}
		out = r.bounds(out, "minItems", "maxItems")
		if r.unique {
			out = append(out, pair{"uniqueItems", true})
		}
		return out
	case kindMap:
		out := members{{"type", "object"}, {"additionalProperties", w.value(r.elem)}}
		if r.keys != nil {
			out = append(out, pair{"propertyNames", members{{"enum", r.keys}}})
		}
		return r.bounds(out, "minProperties", "maxProperties")
	case kindFree:
		return members{{"type", "object"}}
	case kindBool:
		return members{{"type", "boolean"}}
	case kindInt:
		return r.bounds(members{{"type", "integer"}}, "minimum", "maximum")
	case kindNumber:
		return r.bounds(members{{"type", "number"}}, "minimum", "maximum")
	case kindDuration:
		return members{{"type", "string"}, {"pattern", `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`}}
	}
	return r.stringSchema()
}

func (r *rule) stringSchema() members {
	out := members{{"type", "string"}}
	switch {
	case r.choices != nil:
		out = append(out, pair{"enum", r.choices})
	case r.variable:
		out = append(out, pair{"pattern", `^[A-Za-z_][A-Za-z0-9_]*$`})
	case r.pattern != nil:
		out = append(out, pair{"pattern", r.pattern.String()})
	case !r.blank:
		out = append(out, pair{"pattern", `\S`})
	}
	return out
}

func (r *rule) bounds(out members, low, high string) members {
	if r.min != nil {
		out = append(out, pair{low, *r.min})
	}
	if r.max != nil {
		out = append(out, pair{high, *r.max})
	}
	return out
}

// yamlValue reads a default or an example of a tag as the value that it is.
func yamlValue(text string) (any, bool) {
	if text == "" {
		return nil, false
	}
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil {
		return text, true
	}
	return v, true
}
