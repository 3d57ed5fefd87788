package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	manualPath  = "../../docs/configuration.md"
	tableMarker = "<!-- Everything below is written by go generate ./internal/config. -->\n"
)

// referenceTables writes a table for each object, in the order in which they
// are first met.
func referenceTables() string {
	var b strings.Builder
	var todo []*objectRule
	seen := map[*objectRule]bool{}
	push := func(o *objectRule) {
		if o != nil && !seen[o] {
			seen[o] = true
			todo = append(todo, o)
		}
	}
	push(fileRule())
	for len(todo) > 0 {
		o := todo[0]
		todo = todo[1:]
		fmt.Fprintf(&b, "\n### %s\n\n", o.title)
		if o.note != "" {
			b.WriteString(o.note + "\n\n")
		}
		if o.exactlyOne != nil {
			fmt.Fprintf(&b, "Exactly one of `%s`.\n\n", strings.Join(o.exactlyOne, "`, `"))
		}
		if o.aloneKey != "" {
			fmt.Fprintf(&b, "Either `%s`, alone or with `%s`, or a definition in place, with the keys of a target.\n\n", o.aloneKey, strings.Join(o.aloneWith, "`, `"))
		}
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		for _, f := range o.fields {
			if o.aloneKey != "" && f.required && o.name == "a dependency" {
				break // the keys of a target follow
			}
			b.WriteString(tableRow(f))
			r := f.rule
			for r.elem != nil {
				r = r.elem
			}
			push(r.object)
		}
	}
	return b.String()
}

func tableRow(f *field) string {
	key := "`" + f.name + "`"
	if f.expand {
		key += " `$`"
	}
	value := f.rule.want()
	switch f.rule.kind {
	case kindList:
		value = "list of " + f.rule.elem.want()
		if f.rule.elem.object != nil {
			value = "list"
		}
	case kindMap:
		value = "mapping to " + f.rule.elem.want()
	case kindObject:
		value = "mapping"
	}
	if f.rule.form != "" {
		value += ": " + f.rule.form
	}
	unset := f.def
	switch {
	case f.required:
		unset = "required"
	case unset != "":
		unset = "`" + unset + "`"
	}
	doc := f.doc
	if f.example != "" {
		doc += " Example: `" + f.example + "`."
	}
	row := fmt.Sprintf("| %s | %s | %s | %s |\n", key, value, unset, doc)
	return strings.ReplaceAll(row, ", such as 20s or 1m30s", "")
}

// TestReferenceTables fails when the manual's tables are not what the
// definitions give.
func TestReferenceTables(t *testing.T) {
	data, err := os.ReadFile(manualPath)
	if err != nil {
		t.Fatal(err)
	}
	text, tables, ok := strings.Cut(string(data), tableMarker)
	if !ok {
		t.Fatalf("%s has no line %s", manualPath, tableMarker)
	}
	if *update {
		if err := os.WriteFile(manualPath, []byte(text+tableMarker+referenceTables()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(tables, referenceTables()); diff != "" {
		t.Errorf("%s is stale; run go generate ./internal/config (-committed +derived):\n%s", manualPath, diff)
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

func TestManualBlocks(t *testing.T) {
	data, err := os.ReadFile(manualPath)
	if err != nil {
		t.Fatal(err)
	}
	schema := compileSchema(t)
	blocks := yamlBlock.FindAllSubmatch(data, -1)
	if len(blocks) < 2 {
		t.Fatalf("found %d blocks", len(blocks))
	}
	for i, block := range blocks {
		if _, err := Parse("block", block[1], Options{Portable: true}); err != nil {
			t.Errorf("block %d: %v", i+1, err)
		}
		if err := schema.Validate(asJSON(t, block[1])); err != nil {
			t.Errorf("block %d: %v", i+1, err)
		}
	}
}

// TestManualErrors: the messages that the manual shows are real ones.
func TestManualErrors(t *testing.T) {
	data, err := os.ReadFile(manualPath)
	if err != nil {
		t.Fatal(err)
	}
	var given strings.Builder
	for _, text := range []string{
		"version: v1\ntargets:\n  - name: a\n    type: mcp\n\n    endpont: https://x.example/mcp\n\n\n    timeout_ms: 300001\n",
		strings.Repeat("\n", 8) + "version: v1\ntargets:\n  - {name: a, id: a, type: mcp, endpoint: 'https://x', dependencies: [{ref: b}]}\n  - name: b\n    id: b\n    type: mcp\n    endpoint: https://x\n\n    dependencies:\n      - critical: false\n        ref:                 a\n",
	} {
		_, err := Parse("mcpvigil.yaml", []byte(text), Options{LookupEnv: env()})
		given.WriteString(err.Error() + "\n")
	}
	for _, line := range strings.Split(string(data), "\n") {
		if message, ok := strings.CutPrefix(line, "mcpvigil.yaml:"); ok {
			_, message, _ = strings.Cut(message, ": ")
			if !strings.Contains(given.String(), message) {
				t.Errorf("the manual shows a message that is not given: %s\ngiven:\n%s", line, given.String())
			}
		}
	}
}

// notConfigurations are the examples of other kinds.
var notConfigurations = []string{"ci-gate.yaml"}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	schema := compileSchema(t)
	for _, path := range files {
		if slices.Contains(notConfigurations, filepath.Base(path)) {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(data, []byte("# yaml-language-server: $schema="+SchemaID+"\n")) {
			t.Errorf("%s: the first line does not name the schema", path)
		}
		f, err := LoadWith(path, Options{LookupEnv: env("SEARCH_TOKEN", "x", "FILES_TOKEN", "x", "FLEET_TOKEN", "x", "MCP_CLIENT_SECRET", "x")})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, target := range f.Targets {
			if p := target.Validate(); p != nil && p.Reason != ReasonUnreadableSecret && p.Reason != ReasonTLSFiles {
				t.Errorf("%s: %s: %+v", path, target.Label(), p)
			}
		}
		if err := schema.Validate(asJSON(t, data)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func eachNode(v any, visit func(key string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			visit(key, item)
			eachNode(item, visit)
		}
	case []any:
		for _, item := range v {
			eachNode(item, visit)
		}
	}
}
