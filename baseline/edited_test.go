package baseline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/surface"
)

// TestReadLooseMarksWhatWasEdited: what does not fit its digests is read as it is, and
// is known for it.
func TestReadLooseMarksWhatWasEdited(t *testing.T) {
	lists := func(description string) *surface.Surface {
		return surface.New(surface.Input{Tools: surface.List{
			Listed: true, Entries: []json.RawMessage{json.RawMessage(`{"name":"read","description":"` + description + `","inputSchema":{"type":"object"}}`)},
		}})
	}
	l := &Lockfile{}
	l.Put(New("one", Binding{Endpoint: "stdio://one"}, lists("Reads a file.")))
	l.Put(New("two", Binding{Endpoint: "stdio://two"}, lists("Reads a page.")))
	data := []byte(strings.Replace(string(l.Encode()), "Reads a page", "Reads a book", 1))
	if _, err := Read(data); err == nil || !strings.Contains(err.Error(), "edited by hand") {
		t.Errorf("read as approved: %v", err)
	}
	got, err := ReadLoose(data)
	if err != nil {
		t.Fatal(err)
	}
	one, two := got.Baselines[0], got.Baselines[1]
	if one.Edited || !two.Edited || !strings.Contains(string(two.Surface.Of(surface.Tool)[0].Definition), "a book") {
		t.Errorf("edited: %t, %t: %s", one.Edited, two.Edited, two.Surface.Of(surface.Tool)[0].Definition)
	}
}
