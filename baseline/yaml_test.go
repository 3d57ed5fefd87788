package baseline

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// emit writes a definition as it stands in a lockfile.
func emit(v rawjson.Value) []byte {
	e := &emitter{}
	e.write("- definition:")
	e.child(v, 2, false)
	e.write("  end: here\n")
	return e.out
}

// reread gives the canonical form of what emit wrote.
func reread(t interface{ Fatalf(string, ...any) }, data []byte) []byte {
	doc, err := document(data)
	if err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	if err := untouched(doc); err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	item := doc.Content[0]
	if len(item.Content) != 4 || item.Content[3].Value != "here" {
		t.Fatalf("the structure around it is lost:\n%s", data)
	}
	out, err := appendValue(nil, item.Content[1])
	if err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	v, _, err := rawjson.Parse(out)
	if err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	return rawjson.Canonical(v)
}

func canonical(t interface{ Fatalf(string, ...any) }, text string) rawjson.Value {
	v, _, err := rawjson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	v, _, _ = rawjson.Parse(rawjson.Canonical(v))
	return v
}

func TestYAMLStyles(t *testing.T) {
	for name, c := range map[string]struct{ json, yaml string }{
		"order":             {`{"zeta":1,"description":"d","name":"m","alpha":2,"title":"t"}`, "\n  name: m\n  title: t\n  description: d\n  alpha: 2\n  zeta: 1\n"},
		"literal":           {`"one\ntwo"`, "|-\n  one\n  two\n"},
		"literal ended":     {`"one\n\ntwo\n"`, "|\n  one\n\n  two\n"},
		"literal kept":      {`"one\ntwo\n\n"`, "|+\n  one\n  two\n\n"},
		"docstring":         {`"\n    one\n\n    two\n"`, "|2\n\n      one\n\n      two\n"},
		"trailing blank":    {`"one \n  two"`, "\"one \\n\\\n  \\  two\"\n"},
		"hidden":            {`"one\u200b\n\ntwo\u202e\n"`, "\"one\\u200B\\n\\\n  \\n\\\n  two\\u202E\\n\"\n"},
		"tab":               {`"one\n\ttwo"`, "\"one\\n\\\n  \\ttwo\"\n"},
		"ends in backslash": {`"one \n\\"`, "\"one \\n\\\n  \\\\\"\n"},
		"astral hidden":     {`"a\udb40\udc41b"`, "\"a\\U000E0041b\"\n"},
		"byte order mark":   {`"\ufeffa"`, "\"\\uFEFFa\"\n"},
		"emoji":             {`"go \ud83d\udc69\u200d\ud83d\ude80"`, "go \U0001F469\u200D\U0001F680\n"},
		"joiner":            {`"foo\u200dbar"`, "\"foo\\u200Dbar\"\n"},
		"null text":         {`"null"`, "\"null\"\n"},
		"yes":               {`"Yes"`, "\"Yes\"\n"},
		"date":              {`"2026-11-30"`, "\"2026-11-30\"\n"},
		"digits":            {`"12"`, "\"12\"\n"},
		"colon":             {`"a: b"`, "\"a: b\"\n"},
		"comment":           {`"a #b"`, "\"a #b\"\n"},
		"sentence":          {`"Reads a file, \"quoted\" [or not] {x}."`, "Reads a file, \"quoted\" [or not] {x}.\n"},
		"path":              {`"/etc/hosts"`, "/etc/hosts\n"},
		"empty text":        {`""`, "\"\"\n"},
		"numbers":           {`[9007199254740993,1e30,1e400,-0,1.0,0.1]`, "[9007199254740993E0, 1e+30, 1E400, 0, 1, 0.1]\n"},
		"literals":          {`[null,true,false]`, "[null, true, false]\n"},
		"empty":             {`{"a":{},"b":[],"c":[{}, []]}`, "\n  a: {}\n  b: []\n  c: [{}, []]\n"},
		"lists":             {`{"a":[{"x":1,"xx":2},[{"z":3}]]}`, "\n  a:\n  - x: 1\n    xx: 2\n  - - z: 3\n"},
		"long list":         {`["` + strings.Repeat("a", 40) + `","` + strings.Repeat("b", 40) + `"]`, "\n- " + strings.Repeat("a", 40) + "\n- " + strings.Repeat("b", 40) + "\n"},
		"text in list":      {`[["one\ntwo", "` + strings.Repeat("x", 60) + `"]]`, "\n- - |-\n    one\n    two\n  - " + strings.Repeat("x", 60) + "\n"},
		"long key":          {`{"` + strings.Repeat("k", 1001) + `":{"a":1}}`, "\n  ? " + strings.Repeat("k", 1001) + "\n  :\n    a: 1\n"},
		"key":               {`{"- a":1,"a b":2,"c":3,"on":4}`, "\n  \"- a\": 1\n  a b: 2\n  c: 3\n  \"on\": 4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			v := canonical(t, c.json)
			e := &emitter{}
			e.child(v, 0, false)
			if got := strings.TrimPrefix(string(e.out), " "); got != c.yaml {
				t.Errorf("got\n%s\nwant\n%s", got, c.yaml)
			}
			if got := reread(t, emit(v)); !bytes.Equal(got, v.Raw()) {
				t.Errorf("read back as %s", got)
			}
		})
	}
}

// hostileText draws strings that YAML has a meaning for.
func hostileText() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		"null", "~", "1e3", "0x1F", "0o7", "1_000", "2026-11-30", "12:30:45", "true", "yes", "NO", ".inf", ".nan", "1E400", "9007199254740993E0",
		"- a", "-", "--- ", "...", "#", " #", ": ", ":", "? ", "?", "!tag", "&a", "*a", "|", ">", "%YAML", "@", "`", "<<", "=", "{", "}", "[", "]", ",",
		"'", "\"", "\\", "\\n", " ", "  ", "\t", "\n", "\n\n", "\n ", " \n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\u200b", "\u202e",
		"\U000E0041", "\U0001F469\u200D\U0001F680", "\ufe0f", "e\u0301", "\u0301", "\x00", "\x1b[31m", "\x7f", "\ufffd", "\ufffe", "\U0010ffff", "\ue000",
		"<<<<<<< HEAD", "=======", "text", "Reads a file.", "日本語", "שלום", "ñ", strings.Repeat("long ", 300),
	})
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 0, 6).Draw(t, "pieces"), "") }),
		rapid.String(),
	)
}

// hostileJSON draws a JSON text; exact leaves out what YAML cannot hold.
func hostileJSON(depth int, exact bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := 3
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"null", "true", "false", "0", "-1.5", "1e400", "9007199254740993", "1e30", "1e-7", "12345678901234567890123"}).Draw(t, "literal")
		case 1:
			if !exact {
				return rapid.SampledFrom([]string{`"\ud800"`, "\"a\xffb\"", `"\udc00\n"`}).Draw(t, "no text")
			}
			fallthrough
		case 2, 3:
			return string(appendText(nil, hostileText().Draw(t, "text")))
		case 4:
			elems := rapid.SliceOfN(hostileJSON(depth-1, exact), 0, 4).Draw(t, "elements")
			return "[" + strings.Join(elems, ",") + "]"
		default:
			var members []string
			names := rapid.SliceOfNDistinct(hostileText(), 0, 4, rapid.ID[string]).Draw(t, "names")
			for _, name := range names {
				members = append(members, string(appendText(nil, name))+":"+hostileJSON(depth-1, exact).Draw(t, "member"))
			}
			if !exact && len(members) > 0 {
				members = append(members, members[0])
			}
			return "{" + strings.Join(members, ",") + "}"
		}
	})
}

func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := canonical(t, hostileJSON(4, true).Draw(t, "json"))
		data := emit(v)
		if got := reread(t, data); !bytes.Equal(got, v.Raw()) {
			t.Fatalf("read back as\n%s\nwant\n%s\nfrom\n%s", got, v.Raw(), data)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if !shown(line) {
				t.Fatalf("something that cannot be seen in %q", line)
			}
			if strings.HasSuffix(line, " ") {
				t.Fatalf("a blank that editors remove at the end of %q", line)
			}
		}
	})
}

func TestYAMLRoundTripDeep(t *testing.T) {
	for _, c := range []struct{ open, end string }{{"[", "]"}, {`{"a\nb":`, "}"}, {`[1,{"k":`, "}]"}} {
		levels := rawjson.MaxDepth
		if strings.Count(c.open, "[")+strings.Count(c.open, "{") == 2 {
			levels /= 2
		}
		v := canonical(t, strings.Repeat(c.open, levels)+`"deep\nest"`+strings.Repeat(c.end, levels))
		data := emit(v)
		if got := reread(t, data); !bytes.Equal(got, v.Raw()) {
			t.Errorf("read back as %s", got)
		}
		if len(data) > 20<<10 {
			t.Errorf("%d levels of %s take %d bytes", levels, c.open, len(data))
		}
	}
}

func TestReadable(t *testing.T) {
	for definition, want := range map[string]string{
		`{"a":1,"a":2,"a":3}`:                 "\n  a: 1\n  a (2): 2\n  a (3): 3\n",
		`{"a":1,"a":2,"a (2)":3}`:             "\n  a: 1\n  a (2): 2\n  a (2) (2): 3\n",
		`"\ud800x"`:                           "\"\uFFFDx\"\n",
		"\"a\xff\"":                           "a\uFFFD\n",
		`{"name":"m","x":{"b":[1,"\udfff"]}}`: "\n  name: m\n  x:\n    b: [1, \"\uFFFD\"]\n",
	} {
		v, exact := readable([]byte(definition))
		e := &emitter{}
		e.child(v, 0, false)
		if got := strings.TrimPrefix(string(e.out), " "); exact || got != want {
			t.Errorf("%q: exact %v, got\n%s\nwant\n%s", definition, exact, got, want)
		}
		if got := string(reread(t, emit(v))); got != string(rawjson.Canonical(v)) {
			t.Errorf("%q: read back as %s", definition, got)
		}
	}
}
