package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Bounds of what a hostile output schema may cost. A validation cannot be
// stopped, so that it is not begun when it might take longer than about a second.
const (
	maxSchemaWork   = 20_000_000
	maxNumberDigits = 64
	maxPattern      = 2_000 // instructions of one compiled pattern
)

// breaksSchema checks structured content against the schema that the tool
// declares. The schema is hostile: it is compiled with a loader that loads
// nothing, and one that does not compile is the tool's fault.
func breaksSchema(ctx context.Context, schema, content rawjson.Value) *failure {
	if schema.Kind() != rawjson.Object {
		return nil
	}
	if !content.Exists() {
		return &failure{reason: reasonOutputSchema, text: "the tool declares an output schema, and the result has no structuredContent"}
	}
	if why := tooCostly(schema, content); why != "" {
		return &failure{reason: reasonSchemaLimit, text: "the result was not held against the tool's output schema: " + why}
	}
	done := make(chan *failure, 1)
	go func() { // ends by itself, as tooCostly bounds its work
		defer func() {
			if p := recover(); p != nil {
				done <- &failure{reason: reasonSchemaLimit, text: "the result was not held against the tool's output schema, which the validator cannot handle"}
			}
		}()
		done <- validate(schema, content)
	}()
	select {
	case f := <-done:
		return f
	case <-ctx.Done():
		return &failure{reason: reasonSchemaLimit, text: "the result was not held against the tool's output schema in time"}
	}
}

func validate(schema, content rawjson.Value) *failure {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.Raw()))
	if err != nil {
		return &failure{reason: reasonOutputSchema, text: "the output schema of the tool cannot be read"}
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	const name = "urn:tool:outputSchema"
	if err := compiler.AddResource(name, doc); err != nil {
		return &failure{reason: reasonOutputSchema, text: "the output schema of the tool is not a schema"}
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return &failure{reason: reasonOutputSchema, text: "the output schema of the tool does not compile: " + err.Error()}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content.Raw()))
	if err != nil {
		return &failure{reason: reasonOutputSchema, text: "the structuredContent of the result cannot be read"}
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(value); errors.As(err, &invalid) {
		return &failure{reason: reasonOutputSchema, text: "the structuredContent of the result breaks the output schema at " + breakingPoint(invalid)}
	}
	return nil
}

// breakingPoint is where the content breaks the schema, without the content.
func breakingPoint(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	at := rawjson.Pointer(e.InstanceLocation...)
	if at == "" {
		at = "its root"
	}
	return plain.Line(at, maxText) + " (" + plain.Line(rawjson.Pointer(e.ErrorKind.KeywordPath()...), 60) + ")"
}

// noLoader refuses to load a schema from anywhere.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// tooCostly says why validating content by schema may take too long, or "". The
// bound is coarse: the size of the schema with every reference written out, times
// the size of the content; for patterns, their size times that of the text; and
// for a schema that refers to itself more than once, what that can multiply to
// over the depth of the content.
func tooCostly(schema, content rawjson.Value) string {
	var size contentSize
	size.measure(content, 1)
	s := schemaSize{root: schema, names: map[string]rawjson.Value{}, done: map[string]cost{}, open: map[string]bool{}}
	s.index(schema, 0)
	total := s.of(schema, 0)
	switch {
	case s.problem != "":
		return s.problem
	case size.problem != "":
		return size.problem
	}
	work := total.nodes*size.nodes + total.patterns*(size.text+size.nodes)
	if s.recursions > 1 {
		work *= math.Pow(float64(s.recursions), float64(size.depth))
	}
	if work > maxSchemaWork {
		return fmt.Sprintf("it may take more than %d steps", maxSchemaWork)
	}
	return ""
}

// contentSize counts the values, the bytes of text and the depth of a document.
type contentSize struct {
	nodes, text float64
	depth       int
	problem     string
}

func (c *contentSize) measure(v rawjson.Value, depth int) {
	c.nodes++
	c.depth = max(c.depth, depth)
	switch v.Kind() {
	case rawjson.String:
		c.text += float64(len(v.Raw()))
	case rawjson.Number:
		if hugeNumber(v) {
			c.problem = "the content has a number of more digits than are compared"
		}
	case rawjson.Array:
		for _, e := range v.Elems() {
			c.measure(e, depth+1)
		}
	case rawjson.Object:
		for name, m := range v.Members() {
			c.text += float64(len(name))
			c.measure(m, depth+1)
		}
	}
}

// hugeNumber reports a lexeme whose value takes a big number to hold.
func hugeNumber(v rawjson.Value) bool {
	lexeme := v.Lexeme()
	_, exponent, found := strings.Cut(strings.ToLower(lexeme), "e")
	return len(lexeme) > maxNumberDigits || found && len(strings.TrimLeft(exponent, "+-0")) > 3
}

// cost is what one value of the content meets: schema nodes, and instructions of
// patterns.
type cost struct{ nodes, patterns float64 }

func (c *cost) add(other cost) {
	c.nodes += other.nodes
	c.patterns += other.patterns
}

// schemaSize adds up a schema with its references written out.
type schemaSize struct {
	root       rawjson.Value
	names      map[string]rawjson.Value // by $anchor, $dynamicAnchor and $id
	done       map[string]cost          // by reference
	open       map[string]bool          // references on the way down
	recursions int
	problem    string
}

// index finds what references can name beside JSON pointers.
func (s *schemaSize) index(v rawjson.Value, depth int) {
	if depth > rawjson.MaxDepth {
		return
	}
	for _, e := range v.Elems() {
		s.index(e, depth+1)
	}
	for name, m := range v.Members() {
		switch text, ok := m.Text(); {
		case !ok:
			s.index(m, depth+1)
		case name == "$anchor" || name == "$dynamicAnchor":
			s.names["#"+text] = v
		case name == "$id" || name == "id":
			s.names[text] = v
		}
	}
}

func (s *schemaSize) of(v rawjson.Value, depth int) cost {
	total := cost{nodes: 1}
	if s.problem != "" || depth > 10*rawjson.MaxDepth {
		return total
	}
	switch v.Kind() {
	case rawjson.Number:
		if hugeNumber(v) {
			s.problem = "the schema has a number of more digits than are compared"
		}
	case rawjson.Array:
		for _, e := range v.Elems() {
			total.add(s.of(e, depth+1))
		}
	case rawjson.Object:
		for name, m := range v.Members() {
			total.add(s.member(name, m, depth))
		}
	}
	return total
}

func (s *schemaSize) member(name string, v rawjson.Value, depth int) cost {
	text, isText := v.Text()
	switch {
	case isText && (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef"):
		return s.reference(text, depth)
	case isText && name == "pattern":
		return s.pattern(text)
	case name == "patternProperties":
		total := s.of(v, depth+1)
		for expression := range v.Members() {
			total.add(s.pattern(expression))
		}
		return total
	}
	return s.of(v, depth+1)
}

func (s *schemaSize) reference(ref string, depth int) cost {
	if s.open[ref] {
		s.recursions++
		return cost{nodes: 1}
	}
	if known, ok := s.done[ref]; ok {
		return known
	}
	s.open[ref] = true
	total := s.of(s.resolve(ref), depth+1)
	delete(s.open, ref)
	s.done[ref] = total
	return total
}

// resolve finds what a reference names, or nothing, in which case the schema
// does not compile.
func (s *schemaSize) resolve(ref string) rawjson.Value {
	if v, ok := s.names[ref]; ok {
		return v
	}
	base, fragment, _ := strings.Cut(ref, "#")
	v := s.root
	if named, ok := s.names[base]; ok && base != "" {
		v = named
	}
	if anchored, ok := s.names["#"+fragment]; ok {
		return anchored
	}
	for _, token := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		if token == "" {
			continue
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(percentDecoded(token))
		if v.Kind() == rawjson.Array {
			v = element(v, token)
			continue
		}
		v = v.Get(token)
	}
	return v
}

// percentDecoded undoes the escapes of a URI fragment.
func percentDecoded(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

func element(v rawjson.Value, token string) rawjson.Value {
	for i, e := range v.Elems() {
		if fmt.Sprint(i) == token {
			return e
		}
	}
	return rawjson.Value{}
}

func (s *schemaSize) pattern(expression string) cost {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return cost{nodes: 1} // it does not compile
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return cost{nodes: 1}
	}
	if len(program.Inst) > maxPattern {
		s.problem = "the schema has a pattern that is too large"
	}
	return cost{nodes: 1, patterns: float64(len(program.Inst))}
}
