package plain

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"ascii", `He said "hi" \ ~`, `He said "hi" \ ~`},
		{"scripts", "Grüße, мир, 世界, שלום, नमस्ते, ภาษาไทย, 한국어", "Grüße, мир, 世界, שלום, नमस्ते, ภาษาไทย, 한국어"},
		{"marks", "e\u0301 \u0915\u094d\u0937", "e\u0301 \u0915\u094d\u0937"},
		{"symbols", "€ → ∑ ½ ² „x“ — …", "€ → ∑ ½ ² „x“ — …"},
		{"newlines and tab", "a\nb\r\nc\td", `a\u{000A}b\u{000D}\u{000A}c\u{0009}d`},
		{"terminal escape", "\x1b[31mred\x1b]0;t\x07", `\u{001B}[31mred\u{001B}]0;t\u{0007}`},
		{"C1 and DEL", "\u009b31m\x7f\u0085", `\u{009B}31m\u{007F}\u{0085}`},
		{"bidi", "\u202ecod\u202c \u2066x\u2069\u200f\u061c", `\u{202E}cod\u{202C} \u{2066}x\u{2069}\u{200F}\u{061C}`},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg", `a\u{200B}b\u{200C}c\u{200D}d\u{2060}e\u{FEFF}f\u{00AD}g`},
		{"separators and spaces", "\u2028\u2029\u00a0\u3000\u2003\u1680", `\u{2028}\u{2029}\u{00A0}\u{3000}\u{2003}\u{1680}`},
		{"tags", "x\U000E0041\U000E007F", `x\u{E0041}\u{E007F}`},
		{"selectors off emoji", "a\ufe0f\ufe0f b\ufe00 c\U000E0100 \u180b", `a\u{FE0F}\u{FE0F} b\u{FE00} c\u{E0100} \u{180B}`},
		{"private, unassigned, noncharacter", "\ue000\U000F0000\u0378\uffff\U0010FFFF", `\u{E000}\u{F0000}\u{0378}\u{FFFF}\u{10FFFF}`},
		{"fillers", "\u3164\u115f\uffa0\u034f\u2800\u17b4", `\u{3164}\u{115F}\u{FFA0}\u{034F}\u{2800}\u{17B4}`},
		{"not UTF-8", "caf\xe9 \xed\xa0\x80 \xc0\xaf", `caf\xE9 \xED\xA0\x80 \xC0\xAF`},
		{"the replacement character is visible", "\ufffd", "\ufffd"},

		{"emoji", "🙂 👍🏽 ❤️ ☺︎ 🇨🇭 #️⃣ 1️⃣ ©️", "🙂 👍🏽 ❤️ ☺︎ 🇨🇭 #️⃣ 1️⃣ ©️"},
		{"joined emoji", "👩‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍🚀 ❤️‍🔥", "👩‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍🚀 ❤️‍🔥"},
		{"joiner after emoji", "🙂\u200dx", `🙂\u{200D}x`},
		{"joiner before emoji", "\u200d🙂", `\u{200D}🙂`},
		{"two joiners", "👩\u200d\u200d👩", `👩\u{200D}\u{200D}👩`},
		{"two selectors", "❤\ufe0f\ufe0f\ufe0e", "❤\ufe0f" + `\u{FE0F}\u{FE0E}`},
		{"selector on a digit without keycap", "1\ufe0f", `1\u{FE0F}`},
		{"tag sequence on a flag", "🏴\U000E0067\U000E007F", `🏴\u{E0067}\u{E007F}`},
		{"unassigned in an emoji block", "\U0001F7FF\u200d🙂", `\u{1F7FF}\u{200D}🙂`},
	} {
		if got := Line(c.in, 1000); got != c.want {
			t.Errorf("%s: got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		line string
		text string
	}{
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc…", "abc…"},
		{"日本語", 2, "日本…", "…"},
		{"日本語", 3, "日本語", "日…"},
		{"a\x1bb", 8, `a…`, `a…`},
		{"a\x1bb", 9, `a\u{001B}…`, `a\u{001B}…`},
		{"a👩‍🚀b", 3, "a…", "a…"},
		{"a👩‍🚀b", 4, "a👩‍🚀…", "a…"},
		{"", 0, "", ""},
		{"a", 0, "…", "…"},
		{"a", -1, "…", "…"},
	} {
		if got := Line(c.in, c.max); got != c.line {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.max, got, c.line)
		}
		if got := Text(c.in, c.max); got != c.text {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.max, got, c.text)
		}
	}
}

func TestText(t *testing.T) {
	got := Text("one\r\n\ttwo\n\rthree\r\n\x1b[0m\xff\u202e\n", 1000)
	want := "one\n\ttwo\n" + `\u{000D}three` + "\n" + `\u{001B}[0m\xFF\u{202E}` + "\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// anyText draws text with a strong taste for what is dangerous.
func anyText() *rapid.Generator[string] {
	nasty := rapid.SampledFrom([]string{
		"\x1b[0m", "\r\n", "\u202e", "\u200d", "\ufe0f", "\ufe0e", "🙂", "👩", "\U0001F3FD", "1\ufe0f\u20e3", "\u0301", "\xff", "\xed\xa0\x80",
		"\u2028", "\U000E0041", "\u3164", "\x7f", "<&>", `"\`, "é", "\u00a0", "\ue000", "\u0378", "\U0001D400", "٣",
	})
	piece := rapid.OneOf(nasty, rapid.String(), rapid.StringN(0, 3, -1))
	return rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "") })
}

func TestShownTextHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := anyText().Draw(t, "s"), rapid.IntRange(0, 60).Draw(t, "limit")
		line, text := Line(s, limit), Text(s, limit)
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, ellipsis)); n > limit {
			t.Fatalf("Line has %d runes", n)
		}
		if n := len(strings.TrimSuffix(text, ellipsis)); n > limit {
			t.Fatalf("Text has %d bytes", n)
		}
		for name, out := range map[string]string{"Line": line, "Text": text, "Line, uncut": Line(s, 1<<20)} {
			if !utf8.ValidString(out) {
				t.Fatalf("%s is not UTF-8: %q", name, out)
			}
			for _, r := range out {
				kept := r == joiner || r == emojiStyle || r == textStyle || name == "Text" && (r == '\n' || r == '\t')
				if !kept && (!unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r)) {
					t.Fatalf("%s shows %U: %q", name, r, out)
				}
			}
		}
		if again := Line(Line(s, 1<<20), 1<<20); again != Line(s, 1<<20) {
			t.Fatalf("not stable: %q", again)
		}
	})
}

func TestJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":[1,true,null,"x y"]}`, `{"a":[1,true,null,"x y"]}`},
		{"{\n\t\"a\": 1\n}", "{\n\t\"a\": 1\n}"},
		{`"Grüße 世界 ٣"`, `"Grüße 世界 ٣"`},
		{"\"e\u0301 \u0301 1\u0301\"", "\"e\u0301 " + `\u0301 1\u0301"`},
		{"\"\u0301\"", `"\u0301"`},
		{"\"\\n\u0301\\u0041\u0301\"", `"\n\u0301\u0041\u0301"`},
		{"\"🙂 € “\"", `"\ud83d\ude42 \u20ac \u201c"`},
		{"\"\u2028\u202e\u200b\x7f\u00a0\"", `"\u2028\u202e\u200b\u007f\u00a0"`},
		{"\"\u3164x\U000E0041\"", `"\u3164x\udb40\udc41"`},
		{"\"𝐀\"", `"𝐀"`},
		{"\"\\\\\u0301\"", `"\\\u0301"`},
		{"\"\xff\"", `"\ufffd"`},
		{"\"\\", "\"\\"}, // invalid input must not panic
		{"\"\\u1", "\"\\u1"},
	} {
		if got := string(JSON([]byte(c.in))); got != c.want {
			t.Errorf("%q: %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestJSONLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Members of this shape cover names, nesting and marshalled escapes.
		value := rapid.MapOf(anyText(), rapid.SliceOf(anyText())).Draw(t, "value")
		in, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(in)
		out := JSON(in)
		if !bytes.Equal(in, before) {
			t.Fatal("the input was modified")
		}
		var got, want any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for _, r := range string(out) {
			if r >= 0x7f && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) {
				t.Fatalf("%U in %s", r, out)
			}
		}
	})
}
