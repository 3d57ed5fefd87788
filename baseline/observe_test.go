package baseline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/lint"
	"github.com/mcpvigil/mcpvigil/surface"
)

func observe(b *Baseline, listings ...*surface.Surface) (r *Result, again bool) {
	o := Observe(b, surface.Policy{}, lint.Options{})
	for _, s := range listings {
		r, again = o.Add(s)
	}
	return r, again
}

func TestObserve(t *testing.T) {
	good := tools(t, "1.0.0", "read=Reads a file.", "write=Writes a file.")
	changed := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file.")
	more := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file.", "drop=Drops a table.")
	poisoned := tools(t, "1.0.0", "read=Reads any file.", "write=Writes a file."+hidden)
	b := approve(good)
	for name, c := range map[string]struct {
		listings []*surface.Surface
		again    bool
		want     []string
	}{
		"as approved":       {[]*surface.Surface{good}, false, []string{"approved"}},
		"changed":           {[]*surface.Surface{changed}, true, []string{"changed", "fail tool-text read/description"}},
		"confirmed":         {[]*surface.Surface{changed, changed}, false, []string{"changed", "fail tool-text read/description"}},
		"only a version":    {[]*surface.Surface{tools(t, "1.0.1", "read=Reads a file.", "write=Writes a file.")}, true, []string{"approved", "event server-version /version"}},
		"changed only once": {[]*surface.Surface{changed, good}, false, []string{"inconsistent", "fail inconsistent-listing ", "event tool-text read/description in listing 1"}},
		"changed in part": {[]*surface.Surface{changed, more}, false, []string{
			"changed", "fail tool-text read/description", "fail inconsistent-listing ", "event tool-added drop in listing 2",
		}},
		"poisoned once": {[]*surface.Surface{poisoned, changed}, false, []string{
			"changed", "fail tool-text read/description", "fail inconsistent-listing ", "event tool-text write/description in listing 1", "fail block in write new",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, again := observe(b, c.listings...)
			if again != c.again {
				t.Errorf("again %v, want %v", again, c.again)
			}
			expect(t, r, c.want...)
		})
	}
	// A finding that was there when the surface was approved needs no second look.
	if r, again := observe(approve(poisoned), poisoned); again || r.Status != Flagged {
		t.Errorf("%s, again %v", r.Status, again)
	}
	// A listing that was cut off confirms nothing, and contradicts nothing.
	r, again := observe(b, changed, of(t, `{"surface":1,"serverInfo":{"name":"s","version":"1.0.0"},"unlisted":["tool"]}`))
	if again {
		t.Error("a third listing after one that was cut off")
	}
	expect(t, r, "unknown")
}

func TestFieldE1(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j")
	listing := func() *surface.Surface {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		entries := make([]string, 0, len(names))
		for _, name := range names {
			keys := []string{`"x":{"type":"string"}`, `"y":{"type":"number"}`, `"z":{}`}
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			entries = append(entries, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, name, strings.Join(keys, ",")))
		}
		return of(t, `{"tools":[`+strings.Join(entries, ",")+`]}`)
	}
	b := approve(listing())
	var h History
	for range 100 {
		s := listing()
		r, again := observe(b, s)
		if again {
			t.Fatal("a second listing")
		}
		expect(t, r, "approved")
		var say surface.Class
		if h, say = h.See(nil, s, b); say != "" {
			t.Fatal(say)
		}
	}
}

func TestFieldE4(t *testing.T) {
	of := func(credential string, n int) *Baseline {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("tool%d=Does %d things.", i, i)
		}
		return New("s", Binding{Endpoint: "https://a", Credential: credential}, tools(t, "1.0.0", list...))
	}
	a, b := of("env:A", 5), of("env:B", 9)
	var l Lockfile
	l.Put(a)
	l.Put(b)
	for _, want := range []*Baseline{a, b} {
		got, err := l.Find("s", want.Binding)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := observe(got, want.Surface)
		expect(t, r, "approved")
	}
}

func TestFieldE5(t *testing.T) {
	one := tools(t, "1.0.0", "a=Adds numbers.", "b=Bakes bread.")
	two := tools(t, "2.0.0", "c=Counts words.", "d=Draws lines.", "e=Ends a process.", "f=Finds files.")
	built := tools(t, "2.0.0+build.17", "c=Counts words.", "d=Draws lines.", "e=Ends a process.", "f=Finds files.")
	r, again := observe(approve(one), two, two)
	if again || r.Status != Changed {
		t.Errorf("%s, again %v", r.Status, again)
	}
	groups := map[surface.Class]int{}
	for _, g := range surface.Group(r.Changes) {
		groups[g.Class] = len(g.Items)
	}
	if diff := cmp.Diff(map[surface.Class]int{surface.ToolRemoved: 2, surface.ToolAdded: 4, surface.ServerVersion: 1}, groups); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	r, _ = observe(approve(two), built, built)
	expect(t, r, "approved", "event server-version /version")

	var h History
	for _, s := range []*surface.Surface{one, one, two, two, built, built} {
		var say surface.Class
		if h, say = h.See(nil, s, nil); say != "" {
			t.Error(say)
		}
	}
}

func TestFieldE6(t *testing.T) {
	at := func(day, count int) *surface.Surface {
		return of(t, fmt.Sprintf(`{"instructions":"Request %d of this server.","tools":[{"name":"read","description":"Data as of 2026-11-%02d.","inputSchema":{"type":"object"}}]}`, count, day))
	}
	b := approve(at(1, 7))
	if _, again := observe(b, at(2, 8)); !again {
		t.Fatal("no second listing")
	}
	if _, again := observe(b, at(2, 8), at(3, 9)); !again {
		t.Fatal("no third listing")
	}
	r, again := observe(b, at(2, 8), at(3, 9), at(4, 10))
	if again {
		t.Error("a fourth listing")
	}
	// Nobody approved that it changes.
	expect(t, r, "changed", "fail instructions ", "fail tool-text read/description", "event volatile-text ", "event volatile-text read/description")
	for i, want := range []struct{ detail, mask string }{
		{"differs in integer each time it is listed", "instructions=integer"},
		{"differs in date each time it is listed", "tool/read#/description=date"},
	} {
		c := r.Changes[2+i]
		if c.Mask == nil {
			t.Fatalf("%s has no mask", c.Detail)
		}
		if got := FormatMask(*c.Mask); c.Detail != want.detail || got != want.mask || c.Event != "mcp_volatile_text" {
			t.Errorf("%s: %s, %s", c.Event, c.Detail, got)
		}
		b.Masks = append(b.Masks, *c.Mask)
	}
	r, again = observe(b, at(5, 11))
	if again {
		t.Error("a second listing of what is masked")
	}
	expect(t, r, "approved")

	// What is proposed does not drop what is masked already.
	b = approve(of(t, `{"instructions":"Of 2026-11-01, request 1."}`))
	b.Masks = []surface.Mask{{Kind: surface.Instructions, Masks: []surface.MaskKind{surface.MaskInteger}}}
	counted := func(day int) *surface.Surface {
		return of(t, fmt.Sprintf(`{"instructions":"Of 2026-11-%02d, request %d."}`, day, day))
	}
	r, _ = observe(b, counted(2), counted(3), counted(4))
	expect(t, r, "changed", "fail instructions ", "event volatile-text ")
	if got := FormatMask(*r.Changes[1].Mask); got != "instructions=date,integer" {
		t.Error(got)
	}

	b = approve(at(1, 7))
	b.Masks = []surface.Mask{{Kind: surface.Tool, Item: "read", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}}}
	r, _ = observe(b, at(2, 8), at(3, 9), at(4, 10))
	expect(t, r, "changed", "fail instructions ", "event volatile-text ")

	// The last listing being as approved does not excuse the others.
	r, _ = observe(approve(at(4, 10)), at(2, 8), at(3, 9), at(4, 10))
	expect(t, r, "changed", "fail instructions  in listing 2", "fail tool-text read/description in listing 2",
		"event volatile-text ", "event volatile-text read/description")

	// A version that is no text cannot be masked, and needs no mask.
	versions := func(n int) *surface.Surface { return tools(t, fmt.Sprintf("1.0.%d", n), "read=Reads a file.") }
	r, _ = observe(approve(versions(1)), versions(2), versions(3), versions(4))
	expect(t, r, "approved", "event server-version /version", "event volatile-text /version")
	if m := r.Changes[1].Mask; m != nil {
		t.Errorf("%s is proposed", FormatMask(*m))
	}
	// Digits that are a message are.
	paid := func(n int) *surface.Surface { return tools(t, "1.0.0", fmt.Sprintf("pay=Pay %d dollars.", n)) }
	if r, _ = observe(approve(paid(5)), paid(1001), paid(1002), paid(1003)); r.Status != Changed {
		t.Errorf("%s", summary(r))
	}

	// What else changed is not excused by it.
	b = approve(at(1, 7))
	worse := func(day, count int) *surface.Surface {
		return of(t, fmt.Sprintf(`{"instructions":"Request %d of this server. Send it on.","tools":[{"name":"read","description":"Data as of 2026-11-%02d.","inputSchema":{"type":"object"}}]}`, count, day))
	}
	r, _ = observe(b, worse(2, 8), worse(3, 9), worse(4, 10))
	expect(t, r, "changed", "fail instructions ", "fail tool-text read/description", "event volatile-text ", "event volatile-text read/description")

	// One of three listings again: these are replicas.
	r, again = observe(b, at(2, 8), at(3, 9), at(2, 8))
	if again || r.Status != Inconsistent {
		t.Errorf("%s, again %v", r.Status, again)
	}
	// Two equal ones at the end: an upgrade in between.
	r, again = observe(b, at(2, 8), at(3, 9), at(3, 9))
	if again || r.Status != Changed {
		t.Errorf("%s, again %v", r.Status, again)
	}
}
