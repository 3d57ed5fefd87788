package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

const schemaPath = "../../schema/mcpvigil.schema.json"

// TestSchemaFile fails when the committed schema is not what the definitions
// give. go generate ./internal/config rewrites it.
func TestSchemaFile(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaPath, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), string(Schema())); diff != "" {
		t.Errorf("%s is stale; run go generate ./internal/config (-committed +derived):\n%s", schemaPath, diff)
	}
}

type refuseAll struct{}

func (refuseAll) Load(url string) (any, error) {
	return nil, errors.New("nothing is loaded: " + url)
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseAll{})
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON gives the value that an editor validates.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.Load(text, &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchemaAgreesOnInvalid: what the schema can say, it says as Parse does.
func TestSchemaAgreesOnInvalid(t *testing.T) {
	schema := compileSchema(t)
	beyond := map[string]bool{ // only Parse can tell
		"duplicate-keys": true, "alias-bomb": true, "alias-cycle": true, "empty": true, "two-documents": true,
		"requirements": true, "syntax-anchor": true, "syntax-bracket": true, "syntax-indent": true,
		"syntax-tab": true, "syntax-tab-list": true, "syntax-tab-behind": true, "window": true,
	}
	files, _ := filepath.Glob("testdata/invalid/*.yaml")
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if beyond[name] {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name == "wrong-types" { // a custom tag is no value at all
			data = bytes.ReplaceAll(data, []byte("!x a"), []byte("a"))
		}
		data = bytes.ReplaceAll(data, []byte(".inf"), []byte("-1")) // JSON has no infinity
		if schema.Validate(asJSON(t, data)) == nil {
			t.Errorf("%s: the schema accepts what Parse refuses", path)
		}
	}
}

// TestSchemaExamples: every example and default of the schema is valid by its
// own subschema.
func TestSchemaExamples(t *testing.T) {
	schema := compileSchema(t)
	count := 0
	var walk func(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool)
	walk = func(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for _, v := range s.Examples {
			count++
			if err := s.Validate(v); err != nil {
				t.Errorf("example of %s: %v", s.Location, err)
			}
		}
		if s.Default != nil {
			count++
			if err := s.Validate(*s.Default); err != nil {
				t.Errorf("default of %s: %v", s.Location, err)
			}
		}
		if s.Types != nil && s.Title == "" && strings.Contains(s.Location, "/properties/") && strings.Count(s.Location[strings.LastIndex(s.Location, "/properties/")+12:], "/") == 0 {
			t.Errorf("%s has no title", s.Location)
		}
		walk(s.Ref, seen)
		for _, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s has no description", p.Location)
			}
			walk(p, seen)
		}
		walk(s.Items2020, seen)
	}
	walk(schema, map[*jsonschema.Schema]bool{})
	if count < 20 {
		t.Errorf("only %d examples and defaults", count)
	}
}
