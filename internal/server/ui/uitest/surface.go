package uitest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpvigil/mcpvigil/surface"
)

// Tool is a tool of a surface.
type Tool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	InputSchema map[string]any `json:"inputSchema"`
	Annotations map[string]any `json:"annotations,omitempty"`
}

// Surface is one with instructions and tools; a tool without a schema takes an object.
func Surface(t testing.TB, instructions string, tools ...Tool) *surface.Surface {
	t.Helper()
	entries := make([]json.RawMessage, 0, len(tools))
	for _, tool := range tools {
		if tool.InputSchema == nil {
			tool.InputSchema = map[string]any{"type": "object"}
		}
		text, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, text)
	}
	opening, err := json.Marshal(map[string]any{
		"protocolVersion": "2025-11-25", "serverInfo": map[string]string{"name": "example", "version": "1.0.0"},
		"capabilities": map[string]any{"tools": map[string]any{}}, "instructions": instructions,
	})
	if err != nil {
		t.Fatal(err)
	}
	none := surface.List{Listed: true}
	return surface.New(surface.Input{
		Opening: opening, Protocol: "2025-11-25", Tools: surface.List{Listed: true, Entries: entries},
		Resources: none, ResourceTemplates: none, Prompts: none,
	})
}

// Named are n tools with descriptions.
func Named(n int) []Tool {
	var out []Tool
	for i := range n {
		out = append(out, Tool{Name: fmt.Sprintf("tool_%04d", i), Description: fmt.Sprintf("Does thing %d.", i)})
	}
	return out
}
