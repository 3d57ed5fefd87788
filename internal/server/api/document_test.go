package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpvigil/mcpvigil/internal/server/api"
)

// served is the document as it is served.
type served struct {
	OpenAPI    string
	Info       struct{ Title, Version string }
	Servers    []struct{ URL string }
	Paths      map[string]map[string]operation
	Components struct {
		Schemas         map[string]any
		SecuritySchemes map[string]any
	}

	any      any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

type operation struct {
	OperationID string
	Summary     string
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema map[string]any }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema map[string]any }
	}
	Security []map[string][]string
}

type parameter struct {
	Name, In string
	Required bool
	Schema   map[string]any
}

const documentURL = "test:document"

func (w *world) document() *served {
	w.t.Helper()
	a := w.request("GET", "/openapi.json", w.credentials["key viewer"], nil, http.StatusOK, nil)
	d := &served{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(a.body, d); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if d.any, err = jsonschema.UnmarshalJSON(bytes.NewReader(a.body)); err != nil {
		w.t.Fatal(err)
	}
	if err := d.compiler.AddResource(documentURL, d.any); err != nil {
		w.t.Fatal(err)
	}
	return d
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")

// schema compiles the one at a place of the document.
func (d *served) schema(tokens ...string) (*jsonschema.Schema, error) {
	place := documentURL + "#"
	for _, t := range tokens {
		place += "/" + pointerEscape.Replace(t)
	}
	if s, ok := d.schemas[place]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(place)
	if err == nil {
		d.schemas[place] = s
	}
	return s, err
}

func TestDocument(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	d := w.document()
	if d.OpenAPI != "3.1.0" || d.Info.Title == "" || d.Info.Version == "" || len(d.Servers) != 1 || d.Servers[0].URL != api.Prefix {
		t.Errorf("head: %s %+v %+v", d.OpenAPI, d.Info, d.Servers)
	}
	for name := range d.Components.Schemas {
		if _, err := d.schema("components", "schemas", name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	routes := map[string]api.Route{}
	for _, r := range api.Routes() {
		if _, twice := routes[r.OperationID]; twice {
			t.Errorf("two routes are %s", r.OperationID)
		}
		routes[r.OperationID] = r
	}
	for address, methods := range d.Paths {
		for method, op := range methods {
			t.Run(op.OperationID, func(t *testing.T) {
				r, ok := routes[op.OperationID]
				if !ok || !strings.EqualFold(r.Method, method) || r.Path != address {
					t.Fatalf("%s %s is not in the table", method, address)
				}
				delete(routes, op.OperationID)
				checkOperation(t, d, address, method, &op, &r)
			})
		}
	}
	for id := range routes {
		t.Errorf("%s is not in the document", id)
	}
}

func checkOperation(t *testing.T, d *served, address, method string, op *operation, r *api.Route) {
	if op.Summary == "" {
		t.Error("no summary")
	}
	seen := map[string]bool{}
	for _, p := range op.Parameters {
		if seen[p.In+p.Name] || p.Schema == nil {
			t.Errorf("parameter %s stands twice, or has no schema", p.Name)
		}
		seen[p.In+p.Name] = true
		if p.In == "path" && (!p.Required || !strings.Contains(address, "{"+p.Name+"}")) {
			t.Errorf("path parameter %+v of %s", p, address)
		}
	}
	for _, part := range strings.Split(address, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok && !seen["path"+strings.TrimSuffix(name, "}")] {
			t.Errorf("%s is not declared", part)
		}
	}
	if op.RequestBody != nil {
		if _, err := d.schema("paths", address, method, "requestBody", "content", "application/json", "schema"); err != nil {
			t.Error(err)
		}
	}
	successes := 0
	for status, response := range op.Responses {
		if response.Description == "" {
			t.Errorf("%s has no description", status)
		}
		if strings.HasPrefix(status, "2") {
			successes++
		}
		for media := range response.Content {
			if _, err := d.schema("paths", address, method, "responses", status, "content", media, "schema"); err != nil {
				t.Error(err)
			}
			if problem := media == "application/problem+json"; problem == strings.HasPrefix(status, "2") {
				t.Errorf("%s has the content %s", status, media)
			}
		}
	}
	if successes == 0 {
		t.Error("nothing is said of success")
	}
	if open := op.Security != nil && len(op.Security) == 0; open != (r.Permission == api.Open) {
		t.Errorf("security %v for permission %q", op.Security, r.Permission)
	}
	for _, s := range op.Security {
		for name := range s {
			if d.Components.SecuritySchemes[name] == nil {
				t.Errorf("there is no security scheme %s", name)
			}
		}
	}
}

// fits says what an answer has that the document does not say.
func (d *served) fits(address, method string, op *operation, a answer) error {
	status := fmt.Sprint(a.status)
	response, ok := op.Responses[status]
	if !ok {
		return fmt.Errorf("status %s is not in the document", status)
	}
	if len(response.Content) == 0 {
		if len(a.body) > 0 {
			return fmt.Errorf("status %s has a body: %.200s", status, a.body)
		}
		return nil
	}
	media := a.header.Get("Content-Type")
	if _, ok := response.Content[media]; !ok {
		return fmt.Errorf("status %s has the content type %q", status, media)
	}
	if !slices.Contains([]string{"application/json", "application/problem+json"}, media) {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		return err
	}
	schema, err := d.schema("paths", address, method, "responses", status, "content", media, "schema")
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
