package baseline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpvigil/mcpvigil/surface"
)

func TestHistory(t *testing.T) {
	digest := func(c rune) surface.Digest { return surface.Digest{byte(c)} }
	// Each letter is a digest; an upper-case one differs from the one before in
	// volatile text alone. Below stands what is said.
	for _, c := range []struct{ seen, said string }{
		{"aaaaaaaaaaaa", "............"},
		{"aabbbbbbbbbb", "............"}, // an upgrade
		{"abaaaaaaaaaa", "............"}, // and its end
		{"ababababab", "...i......"},
		{"aabbaabbaa", "......i..."},
		{"abcdef", "......"}, // changes, each of which is told by itself
		{"aBCDEFGH", "...v...."},
		{"aBABABAB", "...v...."},
		{"aBCDababababab", "...v.......i.."}, // it may get worse
		{"abababCDEFGHIJKL", "...i............"},
		{"ababbbbbbbbbaba", "...i..........i"}, // it settled, and began again
	} {
		var h History
		var said strings.Builder
		for _, r := range c.seen {
			lower := []rune(strings.ToLower(string(r)))[0]
			var say surface.Class
			h, say = h.see(Sighting{Digest: digest(lower), Volatile: r != lower})
			switch say {
			case surface.InconsistentListing:
				said.WriteByte('i')
			case surface.VolatileText:
				said.WriteByte('v')
			default:
				said.WriteByte('.')
			}
			data, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			h = History{}
			if err := json.Unmarshal(data, &h); err != nil {
				t.Fatal(err)
			}
		}
		if said.String() != c.said {
			t.Errorf("%s\n%s, want\n%s", c.seen, said.String(), c.said)
		}
		if len(h.Seen) > kept {
			t.Errorf("%d checks are kept", len(h.Seen))
		}
	}
}

// TestHistorySees: what a check did not see, and what says nothing, is no change.
func TestHistorySees(t *testing.T) {
	text := func(text string) *surface.Surface { return tools(t, "1.0.0", "read="+text) }
	one, two := text("Reads a file."), text("Reads any file.")
	partial := of(t, `{"surface":1,"serverInfo":{"name":"s","version":"1.0.0"},"unlisted":["tool"]}`)
	with := func(s *surface.Surface, issuer string) *surface.Surface {
		return of(t, strings.TrimSuffix(strings.TrimSpace(string(s.Save())), "}")+`,"auth":{"issuer":{"issuer":"`+issuer+`"}}}`)
	}
	login, other := with(one, "https://a.example"), with(one, "https://b.example")
	dated := func(day int) *surface.Surface { return text(fmt.Sprintf("Data as of 2026-11-%02d.", day)) }
	mask := surface.Mask{Kind: surface.Tool, Item: "read", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}}
	schema := func(schema string) *surface.Surface {
		return of(t, `{"tools":[{"name":"read","inputSchema":`+schema+`}]}`)
	}
	short, long := schema(`{"type":"object"}`), schema(`{"type":"object","required":[],"properties":{}}`)
	for name, c := range map[string]struct {
		seen  []*surface.Surface
		masks []surface.Mask
		say   surface.Class
	}{
		"the same":                  {seen: []*surface.Surface{one, one, one, one, one}},
		"replicas":                  {seen: []*surface.Surface{one, two, one, two, one}, say: surface.InconsistentListing},
		"cut off":                   {seen: []*surface.Surface{one, partial, one, partial, one, partial, one}},
		"replicas, cut off":         {seen: []*surface.Surface{one, partial, two, partial, one, two}, say: surface.InconsistentListing},
		"login not always seen":     {seen: []*surface.Surface{one, login, one, login, one, login, one}},
		"logins":                    {seen: []*surface.Surface{login, other, login, other}, say: surface.InconsistentListing},
		"logins, not always seen":   {seen: []*surface.Surface{login, one, other, login, one, other}, say: surface.InconsistentListing},
		"volatile":                  {seen: []*surface.Surface{dated(1), dated(2), dated(3), dated(4)}, say: surface.VolatileText},
		"volatile, and masked":      {seen: []*surface.Surface{dated(1), dated(2), dated(1), dated(2), dated(1)}, masks: []surface.Mask{mask}},
		"written in different ways": {seen: []*surface.Surface{short, long, short, long, short}},
	} {
		b := approve(c.seen[0])
		b.Masks = c.masks
		var h History
		var prev *surface.Surface
		var said surface.Class
		for _, s := range c.seen {
			var say surface.Class
			if h, say = h.See(prev, s, b); say != "" {
				said = say
			}
			prev = s
		}
		if said != c.say {
			t.Errorf("%s: %q, want %q", name, said, c.say)
		}
	}
	// What was approved is the login alone.
	only := func(issuer string) *surface.Surface {
		return of(t, `{"surface":1,"unlisted":["tool","resource","resourceTemplate","prompt"],"auth":{"issuer":{"issuer":"`+issuer+`"}}}`)
	}
	b := approve(only("https://a.example"))
	for name, c := range map[string]struct {
		seen []*surface.Surface
		say  surface.Class
	}{
		"logins alone":      {[]*surface.Surface{only("https://a.example"), only("https://b.example"), only("https://a.example"), only("https://b.example")}, surface.InconsistentListing},
		"lists at times":    {[]*surface.Surface{partial, one, partial, one, partial, two}, ""},
		"nothing to report": {[]*surface.Surface{only("https://a.example"), only("https://a.example"), only("https://a.example")}, ""},
	} {
		var h History
		var said surface.Class
		for i, s := range c.seen {
			var say surface.Class
			if h, say = h.See(c.seen[max(0, i-1)], s, b); say != "" {
				said = say
			}
		}
		if said != c.say || len(h.Seen) != len(c.seen) {
			t.Errorf("%s: %q of %d checks, want %q", name, said, len(h.Seen), c.say)
		}
	}
	// Nothing is known of the checks before a start but what the history holds.
	var h History
	var said surface.Class
	for _, s := range []*surface.Surface{login, one, two, one, login, two} {
		var say surface.Class
		if h, say = h.See(nil, s, nil); say != "" {
			said = say
		}
	}
	if said != surface.InconsistentListing {
		t.Errorf("%q after restarts", said)
	}
}
