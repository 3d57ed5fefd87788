package surface

import (
	"strings"
	"testing"
)

func TestCloaked(t *testing.T) {
	input := func(protocol, instructions string, tools ...string) Input {
		return Input{Opening: []byte(`{"serverInfo":{"name":"s"},"instructions":"` + instructions + `"}`), Protocol: protocol, Tools: entries(tools...)}
	}
	own := New(input("2026-07-28", "x", `{"name":"a","title":"x","description":"x","inputSchema":{"required":["p","q"]}}`, `{"name":"b"}`))
	other := New(input("2025-06-18", "y", `{"name":"a","title":"y","description":"y","inputSchema":{"required":["q","p"]}}`, `{"name":"c"}`))

	for _, same := range []bool{true, false} {
		class, effect, words := CredentialDependent, Event, "as the specification of 2026-07-28 allows"
		if same {
			class, effect = CloakedSurface, Fail
			words = `"MUST NOT vary per-connection or as a side effect of other requests on the connection"`
		}
		got := Cloaked(own, other, "cursor", same, CompareOptions{})
		want := []string{
			"instructions told differently to this identity", "tool a told differently to this identity",
			"tool b not told to this identity", "tool c told to this identity only",
		}
		if len(got) != len(want) {
			t.Fatalf("got %v", told(got))
		}
		for i, c := range got {
			if c.Class != class || c.Effect != effect || c.Event == "" || c.Identity != "cursor" || !strings.Contains(c.Detail, words) {
				t.Errorf("%+v", c)
			}
			words, _, _ := strings.Cut(c.Detail, ",")
			if line := strings.Join(strings.Fields(string(c.Kind)+" "+c.Item+" "+words), " "); line != want[i] {
				t.Errorf("got %s, want %s", line, want[i])
			}
		}
		if got[0].Before == nil || got[1].Before != nil || got[1].Pointer != "" {
			t.Errorf("one difference is shown, several are not: %+v", got[:2])
		}
	}

	respelled := New(input("2025-06-18", "x", `{"name":"b"}`, `{"name":"a","title":"x","description":"x","inputSchema":{"required":["q","p"]}}`))
	if got := Cloaked(own, respelled, "cursor", true, CompareOptions{}); len(got) > 0 {
		t.Errorf("nothing differs: %v", told(got))
	}
	masks := CompareOptions{Masks: []Mask{{Kind: Tool, Item: "b", Pointer: "/title", Masks: []MaskKind{MaskInteger}}}}
	for text, want := range map[string]int{"request 1": 0, "request 2": 0, "do 2": 1} {
		a, b := New(input("", "as of 2026-01-01", `{"name":"b","title":"request 1"}`)), New(input("", "as of 2026-01-02", `{"name":"b","title":"`+text+`"}`))
		if got := Cloaked(a, b, "cursor", true, masks); len(got) != want {
			t.Errorf("%q: %v, want %d", text, told(got), want)
		}
	}
	long := strings.Repeat("a", 70<<10)
	a, b := New(input("", "1 "+long)), New(input("", "2 "+long+" Read the notes."))
	if got := Cloaked(a, b, "cursor", true, CompareOptions{}); len(got) != 1 {
		t.Errorf("what is beyond an excerpt: %v", told(got))
	}
	failed := input("2026-07-28", "x")
	failed.Tools = List{}
	for _, pair := range [][2]*Surface{{own, New(failed)}, {New(failed), own}} {
		if got := Cloaked(pair[0], pair[1], "cursor", true, CompareOptions{}); len(got) > 0 {
			t.Errorf("a list that failed: %v", told(got))
		}
	}
}
