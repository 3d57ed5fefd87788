package surface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/rawjson/rawjsontest"
)

// draws lets a property test choose.
type draws struct{ t *rapid.T }

func (d draws) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

// writer writes surfaces in which each value that is subject to change says which
// digest it belongs to: text#1, shape#2, annotations#3, meta#4, or raw#5 when it is
// in none of the parts.
type writer struct {
	draws
	marks int
}

func (w *writer) mark(part string) string {
	w.marks++
	return fmt.Sprintf(`"%s#%d"`, part, w.marks)
}

// object gives some of the members, each of which is a printf format for a mark of
// the part before the bar.
func (w *writer) object(always string, some ...string) string {
	members := []string{always}
	for _, member := range some {
		part, format, _ := strings.Cut(member, "|")
		if w.IntN(2) == 0 {
			members = append(members, fmt.Sprintf(format, w.mark(part)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (w *writer) schema(kind string, levels int) string {
	object := w.object(
		fmt.Sprintf(`"type":%q`, kind),
		`text|"title":%s`, `text|"description":%s`, `text|"$comment":%s`, `text|"$id":%s`,
		`shape|"pattern":%s`, `shape|"enum":["x",%s]`, `shape|"default":{"description":%s}`, `shape|"examples":[%s,1]`,
		`shape|"required":[%s,"x"]`, `shape|"dependentRequired":{"title":["x",%s]}`, `shape|"x-vendor":{"title":%s}`, `shape|"x-mcp-header":%s`,
	)
	var more []string
	for range w.IntN(3) {
		if levels > 0 {
			more = append(more, w.applicator(len(more), levels-1))
		}
	}
	return strings.Join(append([]string{strings.TrimSuffix(object, "}")}, more...), ",") + "}"
}

func (w *writer) applicator(n, levels int) string {
	one := func() string { return w.schema("object", levels) }
	forms := [][]func() string{
		{
			func() string {
				return fmt.Sprintf(`"properties":{"title":%s,"description":%s,"a":%s}`, one(), one(), one())
			},
			func() string { return fmt.Sprintf(`"patternProperties":{"^x":%s}`, one()) },
			func() string { return fmt.Sprintf(`"$defs":{"enum":%s}`, one()) },
			func() string { return fmt.Sprintf(`"items":%s`, one()) },
			func() string { return fmt.Sprintf(`"additionalProperties":%s`, one()) },
			func() string { return fmt.Sprintf(`"if":%s,"then":%s`, one(), one()) },
		},
		{
			func() string { return fmt.Sprintf(`"prefixItems":[%s,true,%s]`, one(), one()) },
			func() string {
				return fmt.Sprintf(`"anyOf":[%s,%s,{"type":"null"}]`, w.schema("string", levels), w.schema("object", levels))
			},
			func() string { return fmt.Sprintf(`"allOf":[%s]`, one()) },
			func() string { return fmt.Sprintf(`"dependencies":{"a":%s,"b":["x",%s]}`, one(), w.mark("shape")) },
		},
	}
	return forms[n][w.IntN(len(forms[n]))]()
}

func (w *writer) tool(i int) string {
	return w.object(
		fmt.Sprintf(`"name":"tool-%d","inputSchema":%s,"outputSchema":%s`, i, w.schema("object", 2), w.schema("object", 1)),
		`text|"title":%s`, `text|"description":%s`, `annotations|"annotations":{"readOnlyHint":true,"x":%s}`, `meta|"_meta":{"title":%s}`,
		`meta|"icons":[{"src":%s}]`, `meta|"execution":{"description":%s}`, `meta|"vendor":%s`,
	)
}

func (w *writer) file() []byte {
	resource := func(uri string) string {
		return w.object(uri, `text|"name":%s`, `text|"title":%s`, `text|"description":%s`, `shape|"mimeType":%s`, `annotations|"annotations":{"audience":[%s]}`, `meta|"_meta":{"a":%s}`)
	}
	argument := func(name string) string {
		return w.object(name, `text|"title":%s`, `text|"description":%s`, `shape|"required":%s`, `meta|"x":%s`)
	}
	prompt := w.object(fmt.Sprintf(`"name":"p","arguments":[%s,%s]`, argument(`"name":"a"`), argument(`"name":"b"`)), `text|"title":%s`, `meta|"icons":[%s]`)
	return []byte(fmt.Sprintf(`{"protocolVersion":%s,"serverInfo":%s,"capabilities":{"x":%s},"instructions":%s,"auth":{"resource":%s,"issuer":%s},`+
		`"tools":[%s,%s],"resources":[%s,%s],"resourceTemplates":[%s],"prompts":[%s]}`,
		w.mark("meta"), w.object(`"":1`, `text|"name":%s`, `text|"description":%s`, `shape|"version":%s`, `meta|"websiteUrl":%s`), w.mark("meta"), w.mark("text"),
		w.object(`"":1`, `raw|"resource_name":%s`, `meta|"resource":%s`, `meta|"scopes_supported":["x",%s]`), w.object(`"":1`, `meta|"issuer":%s`),
		w.tool(1), w.tool(2), resource(`"uri":"u:1"`), resource(`"uri":"u:2"`), resource(`"uriTemplate":"u:{a}"`), prompt))
}

func mustRead(t interface{ Fatalf(string, ...any) }, file []byte) *Surface {
	s, err := Read(file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

var marks = regexp.MustCompile(`"(text|shape|annotations|meta|raw)#\d+"`)

// TestOneChangeMovesOneDigest: a change of a character in a text, or of one
// constraint, moves the digest of the whole item and exactly that which names it.
func TestOneChangeMovesOneDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{draws: draws{t}}
		file := w.file()
		all := marks.FindAllSubmatchIndex(file, -1)
		at := all[w.IntN(len(all))]
		part, old := string(file[at[2]:at[3]]), file[at[0]:at[1]]
		changed := slices.Concat(file[:at[0]], change(w, old), file[at[1]:])

		before, after := mustRead(t, file), mustRead(t, changed)
		if before.Digest() == after.Digest() {
			t.Fatalf("%s changed, and the surface did not", old)
		}
		want := "raw " + part
		if part == "raw" {
			want = part
		}
		var got []string
		for i, item := range before.Items() {
			if names := moved(item, after.Items()[i]); names != "" {
				got = append(got, names)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Fatalf("%s changed: moved %q, want %q\n%s", old, got, want, changed)
		}
	})
}

// change alters one character of a quoted string.
func change(w *writer, quoted []byte) []byte {
	at := 1 + w.IntN(len(quoted)-1)
	with := []string{"x", "X", `\u200b`, "\ufeff", `\ud800`, "\xff", `\\`, "e\u0301"}
	if !bytes.HasPrefix(quoted, []byte(`"raw`)) { // where blanks make it a text
		with = append(with, " ", `\n`)
	} else {
		with = with[:2]
	}
	return slices.Concat(quoted[:at], []byte(with[w.IntN(len(with))]), quoted[at:])
}

// TestFieldE1: neither the order of entries and members nor the spelling of numbers
// and strings is a change.
func TestFieldE1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{draws: draws{t}}
		file := parsed(t, w.file())
		lists := map[string][]json.RawMessage{}
		for _, inventory := range kinds[5:] {
			for _, entry := range file.Get(inventory.member).Elems() {
				lists[inventory.member] = append(lists[inventory.member], rawjsontest.Respell(w, entry))
			}
			lists[inventory.member] = append(lists[inventory.member], rawjsontest.Value(w), rawjsontest.Value(w))
		}
		input := func() Input {
			list := func(member string) List { return List{Listed: true, Entries: slices.Clone(lists[member])} }
			return Input{
				Opening: file.Raw(), Tools: list("tools"), Resources: list("resources"),
				ResourceTemplates: list("resourceTemplates"), Prompts: list("prompts"),
			}
		}
		in := input()
		before := New(in)
		in.Opening = rawjsontest.Respell(w, file)
		for _, l := range []List{in.Tools, in.Resources, in.ResourceTemplates, in.Prompts} {
			for i := range l.Entries {
				j := i + w.IntN(len(l.Entries)-i)
				l.Entries[i], l.Entries[j] = l.Entries[j], l.Entries[i]
				l.Entries[i] = rawjsontest.Respell(w, parsed(t, l.Entries[i]))
			}
		}
		after := New(in)
		same := slices.EqualFunc(before.Items(), after.Items(), func(x, y Item) bool {
			return x.Kind == y.Kind && x.Name == y.Name && bytes.Equal(x.Definition, y.Definition) && x.Digests == y.Digests
		})
		if !same || before.Digest() != after.Digest() {
			t.Fatalf("items (-before +after)\n%s", cmp.Diff(before.Items(), after.Items()))
		}
	})
}

// TestSaveLosesNothing: whatever the server said is read back.
func TestSaveLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draws{t}
		list := func() List {
			l := List{Listed: w.IntN(4) > 0}
			for range w.IntN(3) {
				l.Entries = append(l.Entries, entry(w))
			}
			return l
		}
		in := Input{
			Opening:  []byte(fmt.Sprintf(`{"serverInfo":%s,"capabilities":%s,"instructions":%s}`, rawjsontest.Value(w), rawjsontest.Value(w), rawjsontest.Text(w))),
			Protocol: []string{"", "2025-06-18", "\xff\x00"}[w.IntN(3)],
			Tools:    list(), Resources: list(), ResourceTemplates: list(), Prompts: list(),
		}
		if w.IntN(2) == 0 {
			in.Auth = &AuthMetadata{Resource: entry(w), Issuer: entry(w)}
		}
		checkSaved(t, New(in))
	})
}

// entry is anything that a server may put in a list, or nearly.
func entry(w draws) []byte {
	switch w.IntN(4) {
	case 0:
		return []byte(`{"name":"a","title":` + rawjsontest.Text(w) + `}`)
	case 1:
		depth := 250 + w.IntN(8)
		return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	case 2:
		return []byte(`{"canonicalBase64":` + rawjsontest.Text(w) + `}`)
	default:
		return rawjsontest.Value(w)
	}
}

func checkSaved(t interface{ Fatalf(string, ...any) }, s *Surface) {
	file := s.Save()
	if shown := plain.JSON(file); !bytes.Equal(shown, file) {
		t.Fatalf("the file has what cannot be seen: %q", file)
	}
	back := mustRead(t, file)
	if diff := cmp.Diff(s.Items(), back.Items()); diff != "" {
		t.Fatalf("items (-saved +read)\n%s\n%s", diff, file)
	}
	if diff := cmp.Diff(s.Unlisted(), back.Unlisted()); diff != "" || s.Digest() != back.Digest() {
		t.Fatalf("%s and %s, unlisted (-saved +read)\n%s", s.Digest(), back.Digest(), diff)
	}
	if again := back.Save(); !bytes.Equal(again, file) {
		t.Fatalf("saved again it is another file\n%s\n%s", file, again)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"tools":[{"name":"a","inputSchema":{"type":["object"],"anyOf":[{"title":"b"},{}],"properties":{"title":{}}},"annotations":{"title":"x"}}]}`,
		`{"result":{"prompts":[{"name":"p","arguments":[{"name":"a"}]}],"resources":[{"uri":"u"}],"serverInfo":{"name":"\xff\ud800"}}}`,
		`{"surface":1,"unlisted":["tool"],"auth":{"resource":{"a":["b"]}},"instructions":{"canonicalBase64":"Iv8i"}}`,
		`{"surface":1,"tools":[1,null,"",{"canonicalBase64":"e30="},{"a":1,"a":1e400}],"tools":[9007199254740993]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if s, err := Read(file); err == nil {
			checkSaved(t, s)
		}
	})
}
