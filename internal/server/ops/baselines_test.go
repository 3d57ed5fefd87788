package ops

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/baseline"
	"github.com/mcpvigil/mcpvigil/surface"
)

// TestBaselines: what is kept is bounded in bytes, and what was used last stays.
func TestBaselines(t *testing.T) {
	none := surface.List{Listed: true}
	text, err := json.Marshal(map[string]any{"name": "a", "description": strings.Repeat("a", 2<<20), "inputSchema": map[string]any{"type": "object"}})
	if err != nil {
		t.Fatal(err)
	}
	large := &baseline.Baseline{Surface: surface.New(surface.Input{
		Tools: surface.List{Listed: true, Entries: []json.RawMessage{text}}, Resources: none, ResourceTemplates: none, Prompts: none,
	})}
	var b baselines
	for id := range int64(100) {
		b.put(id, large)
		if b.get(0) == nil {
			t.Fatalf("after %d the one that is used all the time is gone", id)
		}
	}
	if b.size > maxBaselines || len(b.kept) < 20 || len(b.kept) > 32 {
		t.Errorf("%d bytes in %d baselines are kept", b.size, len(b.kept))
	}
	if b.get(50) != nil || b.get(99) == nil {
		t.Error("not the latest are kept")
	}
}
