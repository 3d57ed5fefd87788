package rawjson_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
	"github.com/mcpvigil/mcpvigil/internal/rawjson/rawjsontest"
)

// draws lets a property test choose.
type draws struct{ t *rapid.T }

func (d draws) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "choice") }

func canonical(t interface{ Fatalf(string, ...any) }, in []byte) []byte {
	v, _, err := rawjson.Parse(in)
	if err != nil {
		t.Fatalf("Parse(%q): %v", in, err)
	}
	return rawjson.Canonical(v)
}

// TestRFC8785Numbers are the samples of RFC 8785, appendix B.
func TestRFC8785Numbers(t *testing.T) {
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		for _, format := range []byte("efg") {
			in := strconv.FormatFloat(math.Float64frombits(c.bits), format, -1, 64)
			if got := canonical(t, []byte(in)); string(got) != c.want {
				t.Errorf("%x as %s: got %s, want %s", c.bits, in, got, c.want)
			}
		}
	}
}

// TestRFC8785Objects are the samples of RFC 8785, sections 3.2.2 and 3.2.3.
func TestRFC8785Objects(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{
			`{
				"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
				"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
				"literals": [null, true, false]
			}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			`{
				"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
				"1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control", "\u00f6": "Latin Small Letter O With Diaeresis"
			}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
	} {
		if got := canonical(t, []byte(c.in)); string(got) != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// exact reports whether all numbers in v are such that the RFC loses nothing.
func exact(v rawjson.Value) bool {
	switch v.Kind() {
	case rawjson.Number:
		f, err := strconv.ParseFloat(v.Lexeme(), 64)
		return err == nil && math.Abs(f) < 1<<53 && (f != 0 || !bytes.ContainsAny(v.Raw(), "123456789"))
	case rawjson.Array, rawjson.Object:
		for _, e := range v.Elems() {
			if !exact(e) {
				return false
			}
		}
		for _, e := range v.Members() {
			if !exact(e) {
				return false
			}
		}
	}
	return true
}

// TestCanonicalAgreesWithAnother: another implementation of the RFC gives the same
// bytes for all that it accepts.
func TestCanonicalAgreesWithAnother(t *testing.T) {
	agreed := 0
	rapid.Check(t, func(t *rapid.T) {
		in := rawjsontest.Value(draws{t})
		v, _, err := rawjson.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := jcs.Transform(in)
		if err != nil || !exact(v) {
			return
		}
		agreed++
		if got := rawjson.Canonical(v); !bytes.Equal(got, want) {
			t.Fatalf("%q\n got %q\nwant %q", in, got, want)
		}
	})
	if agreed == 0 {
		t.Error("nothing was compared")
	}
}

func TestCanonicalIsOfTheValueAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rawjsontest.Value(draws{t})
		v, _, err := rawjson.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		once := rawjson.Canonical(v)
		if again := canonical(t, once); !bytes.Equal(again, once) {
			t.Fatalf("%q\n once %q\ntwice %q", in, once, again)
		}
		other := rawjsontest.Respell(draws{t}, v)
		if got := canonical(t, other); !bytes.Equal(got, once) {
			t.Fatalf("%q and %q\n got %q\nwant %q", in, other, got, once)
		}
	})
}

// TestCanonicalTellsStringsApart: no two texts have one form, however broken they
// are.
func TestCanonicalTellsStringsApart(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		`""`, `"\ud800"`, `"\udc00"`, `"\ud801"`, "\"\ufffd\"", "\"\xff\"", "\"\xfe\"", "\"\xed\xa0\x80\"", `"\ud800\ud800\udc00"`, `"\ud800\udc00\ud800"`,
		"\"\u00e9\"", "\"e\u0301\"", `"\\ud800"`, `"\u0000"`, "\"\\\\u0000\"", "\"\u2028\"", "\"\xef\xbb\xbf\"", `"\r\n"`, `"\n"`,
	} {
		form := string(canonical(t, []byte(text)))
		if other, ok := seen[form]; ok {
			t.Errorf("%q and %q are both %q", text, other, form)
		}
		seen[form] = text
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,-0.5e-7,1e400,9007199254740993],"a":"\ud83d\ude00\ud800\/","a":null}`, "\xef\xbb\xbf[\"\xff\\n\"]", `{"\ue000":1,"\ud800\udc00":2}`,
		`[1e1000000000000000000000,0.000001,123456789012345678901234567890e-29]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, flaws, err := rawjson.Parse(in)
		if err != nil {
			return
		}
		form := rawjson.Canonical(v)
		again, same, err := rawjson.Parse(form)
		if err != nil || !json.Valid(form) {
			t.Fatalf("%q\nis no JSON: %q: %v", in, form, err)
		}
		if twice := rawjson.Canonical(again); !bytes.Equal(twice, form) {
			t.Fatalf("%q\n once %q\ntwice %q", in, form, twice)
		}
		if same.InvalidUTF8 != flaws.InvalidUTF8 || same.LoneSurrogates != flaws.LoneSurrogates || len(same.Duplicates) != len(flaws.Duplicates) {
			t.Fatalf("%q\nhas %+v, canonical %+v", in, flaws, same)
		}
		if flaws.InvalidUTF8 > 0 || flaws.LoneSurrogates > 0 || len(flaws.Duplicates) > 0 || !exact(v) {
			return
		}
		if want, err := jcs.Transform(bytes.TrimPrefix(in, []byte("\xef\xbb\xbf"))); err != nil || !bytes.Equal(want, form) {
			t.Fatalf("%q\n got %q\nwant %q, %v", in, form, want, err)
		}
	})
}
