package compare_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/uitest"
)

func TestCompare(t *testing.T) {
	w := uitest.New(t)
	m, other := w.Monitor("search"), w.Monitor("search-staging")
	first := uitest.Surface(t, "", uitest.Tool{Name: "add", Description: "Adds two numbers."})
	w.See(m, first)
	w.See(m, uitest.Surface(t, "", uitest.Tool{Name: "add", Description: "Adds three numbers.<script>"}))
	w.See(other, uitest.Surface(t, "", uitest.Tool{Name: "add", Description: "Adds three numbers.<script>"}))
	uitest.Has(t, w.Get("viewer", "/compare").Body, "Choose a monitor", `value="search-staging"`)
	body := w.Get("viewer", "/compare?monitor=search").Body
	uitest.Has(t, body, "<del>two</del>", "<ins>three</ins>", "&lt;script&gt;", "1 item differs.")
	if strings.Contains(body, "Fails") || strings.Contains(body, `type="checkbox"`) || strings.Contains(body, "<script>") {
		t.Error("something can be decided, or runs")
	}
	uitest.Has(t, w.Get("viewer", "/compare?monitor=search&with=search-staging").Body, "the same surface")
	uitest.Has(t, w.Get("viewer", "/compare?monitor=search&with=search-staging&before="+url.QueryEscape(first.Digest().String())).Body, "<ins>three</ins>")
	uitest.Has(t, w.Get("viewer", "/compare?monitor=stag").Body, "There is no monitor of this name.", "monitor=search-staging")
	// What is not kept any more is not taken for what is shown in its place.
	const lost = "is not kept any more"
	uitest.Has(t, w.Get("viewer", "/compare?monitor=search&before=nonsense").Body, "<ins>three</ins>", lost)
	if strings.Contains(w.Get("viewer", "/compare?monitor=search").Body, lost) {
		t.Error("nothing was asked for, and it is said to be lost")
	}
}

func TestSearch(t *testing.T) {
	w := uitest.New(t)
	m := w.Monitor("search")
	w.See(m, uitest.Surface(t, "Be brief.", uitest.Tool{Name: "old_tool", Description: "Was here."}))
	w.See(m, uitest.Surface(t, "Be BRIEF, <b>please</b>.", uitest.Tool{
		Name: "add", Description: "Adds \u202eÜbergrößen.", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"side_note": map[string]any{"type": "string"}}},
	}))
	same := w.Monitor("twin")
	w.See(same, uitest.Surface(t, "Be BRIEF, <b>please</b>.", uitest.Tool{Name: "sub", Description: "Subtracts \"quoted\" words."}))
	for query, wants := range map[string][]string{
		"brief": {"2 places", "<mark>BRIEF</mark>", ">twin</a>"}, "SIDE_NOTE": {"<mark>side_note</mark>", "/inputSchema/properties/side_note"},
		"übergröß": {"<mark>Übergröß</mark>", "U+202E"}, "<b>": {"<mark>&lt;b&gt;</mark>"}, `"quoted"`: {"<mark>&#34;quoted&#34;</mark>"}, "add": {">add<"}, "old_tool": {"No server says this."},
	} {
		body := w.Get("viewer", "/search?q="+url.QueryEscape(query)).Body
		uitest.Has(t, body, wants...)
		if strings.Contains(body, "<b>") {
			t.Errorf("%s: markup of a server", query)
		}
	}
	uitest.Has(t, w.Get("viewer", "/search?q=old_tool&past=yes").Body, "<mark>old_tool</mark>")
	if a := w.Get("viewer", "/search?q=x"); a.Status != http.StatusUnprocessableEntity {
		t.Errorf("one letter: %d", a.Status)
	}
}

// TestSearchMany: what many monitors show is searched in the time there is.
func TestSearchMany(t *testing.T) {
	w := uitest.New(t)
	for i := range 60 {
		tools := uitest.Named(50)
		tools[49].Description = fmt.Sprintf("Needle %d in a haystack.", i%30)
		w.See(w.Monitor(fmt.Sprintf("m%03d", i)), uitest.Surface(t, "", tools...))
	}
	start := time.Now()
	found, err := w.Ops.Search(t.Context(), w.Actor("viewer"), ops.Search{Text: "needle", Limit: 1000})
	if err != nil || len(found.Hits) != 60 || found.Surfaces != 30 || found.Partial || found.More {
		t.Errorf("%d hits in %d surfaces, partial %v, more %v, %v", len(found.Hits), found.Surfaces, found.Partial, found.More, err)
	}
	t.Logf("%v", time.Since(start))
	found, err = w.Ops.Search(t.Context(), w.Actor("viewer"), ops.Search{Text: "needle", Limit: 7})
	if err != nil || len(found.Hits) != 7 || !found.More {
		t.Errorf("%d hits, more %v, %v", len(found.Hits), found.More, err)
	}
}
