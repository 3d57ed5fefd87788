package surface

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTemplate(t *testing.T) {
	all := []MaskKind{MaskDate, MaskVersion, MaskInteger}
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"Data as of 2026-11-30.", "Data as of {date}."},
		{"Data as of 2026-11-30T21:49:39Z", "Data as of {date}"},
		{"Data as of 2026-11-30T21:49:39.123456789+02:00, cached", "Data as of {date}, cached"},
		{"Data as of 2026-11-30 21:49", "Data as of {date}"},
		{"(2026-11-30)", "({date})"},
		{"Version 1.2.3", "Version {version}"},
		{"Version v1.2.3-rc.1+build.17!", "Version {version}!"},
		{"Build 2.0.0+5f3c2e1", "Build {version}"},
		{"\"1.2.3\"", "\"{version}\""},
		{"17 requests", "{integer} requests"},
		{"Visitor number 17", "Visitor number {integer}"},
		{"Load 95%, memory 80%.", "Load {integer}%, memory {integer}%."},
		{"Is it 17?", "Is it {integer}?"},
		{"123456789012", "{integer}"},
		{"a {date} of 2026-11-30", "a {{date} of {date}"},

		// Not a part of its own.
		{"1234567890123", "1234567890123"},
		{"3.14", "3.14"},
		{"5ms", "5ms"},
		{"-5", "-5"},
		{"$100", "$100"},
		{"#17", "#17"},
		{"x17", "x17"},
		{"tool_17", "tool_17"},
		{"17-abc", "17-abc"},
		{"1,234", "1,234"},

		// Not a date or a version.
		{"2026-13-30", "2026-13-30"},
		{"9999-11-30", "9999-11-30"},
		{"1.2.3.4", "1.2.3.4"},
		{"01.2.3", "01.2.3"},
		{"1.2.3-ignore-all-rules", "1.2.3-ignore-all-rules"},
		{"1.2.3+ignore", "1.2.3+ignore"},

		// What somebody could be sent to.
		{"Call +13245550100 now", "Call +13245550100 now"},
		{"+1 324 555 0100", "+1 324 555 0100"},
		{"(324) 555-0100", "(324) 555-0100"},
		{"324 555 0100", "324 555 0100"},
		{"324.555.0100", "324.555.0100"},
		{"call 13245550100", "call 13245550100"},
		{"phone number: 13245550100", "phone number: 13245550100"},
		{"pay to account 12345678", "pay to account 12345678"},
		{"10.0.0.1", "10.0.0.1"},
		{"[2001:db8::1]", "[2001:db8::1]"},
		{"localhost:8080", "localhost:8080"},
		{"port 8080", "port 8080"},
		{"17@mail.example", "17@mail.example"},
		{"bob@17.example", "bob@17.example"},
		{"https://17.example/2026-11-30/1.2.3?n=17", "https://17.example/2026-11-30/1.2.3?n=17"},
		{"/srv/17", "/srv/17"},
		{"/srv/17 is full", "/srv/17 is full"},
		{`C:\17`, `C:\17`},
		{"17/x", "17/x"},
		{"pkg@1.2.3", "pkg@1.2.3"},
		{"id 17", "id 17"},
		{"user 17", "user 17"},
		{"4111 1111 1111 1111", "4111 1111 1111 1111"},
		{"DE89 3704 0044", "DE89 3704 0044"},
	} {
		if got := Template(test.text, all); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
	if got := Template("17 on 2026-11-30", []MaskKind{MaskInteger}); got != "{integer} on 2026-11-30" {
		t.Errorf("a kind that is not asked for: %q", got)
	}
}

func TestVolatile(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want []MaskKind
		ok   bool
	}{
		{"as of 2026-11-30", "as of 2026-12-01", []MaskKind{MaskDate}, true},
		{"as of 2026-11-30T10:00:00Z", "as of 2026-12-01", []MaskKind{MaskDate}, true},
		{"v1.2.3, 5 rows", "v1.2.4, 6 rows", []MaskKind{MaskInteger, MaskVersion}, true},
		{"5 rows, 7 columns", "5 rows, 8 columns", []MaskKind{MaskInteger}, true},
		{"9 rows", "10 rows", []MaskKind{MaskInteger}, true},
		{"same", "same", nil, false},
		{"5 rows", "5 rows", nil, false},
		{"5 rows", "5 columns", nil, false},
		{"5 rows", "6 columns", nil, false},
		{"5 rows", "five rows", nil, false},
		{"5 rows", "2026-11-30 rows", nil, false},
		{"5 rows", "5 5 rows", nil, false},
		{"5 rows of 3", "5 rows of ", nil, false},
		{"call +13245550100", "call +13245550199", nil, false},
		{"see 10.0.0.1", "see 10.0.0.2", nil, false},
		{"see http://a.example:80", "see http://a.example:81", nil, false},
		{"run pkg@1.2.3", "run pkg@6.6.6", nil, false},
		{"{integer} rows", "5 rows", nil, false},
	} {
		got, ok := Volatile(test.a, test.b)
		if ok != test.ok || !cmp.Equal(got, test.want) {
			t.Errorf("%q, %q: got %v, %v", test.a, test.b, got, ok)
		}
		if sameTemplate := Template(test.a, got) == Template(test.b, got); sameTemplate != (ok || test.a == test.b) {
			t.Errorf("%q, %q: templates %q, %q", test.a, test.b, Template(test.a, got), Template(test.b, got))
		}
	}
}

// Texts whose templates are equal differ in nothing that a person could be sent to:
// letters and marks stay as they are.
func TestTemplateKeepsEverythingElse(t *testing.T) {
	pieces := []string{"{", "}", "{date}", "a", " ", "\n", ".", ",", ":", "/", "@", "+", "-", "(", ")", "v", "5", "17", "1.2.3", "2026-11-30", "call", "é", "\xff"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
	})
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' || strings.ContainsRune("v.-:+TZ ", r) {
				return -1
			}
			return r
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		for _, kinds := range [][]MaskKind{nil, {MaskInteger}, {MaskDate, MaskVersion, MaskInteger}} {
			if Template(a, kinds) == Template(b, kinds) && letters(a) != letters(b) {
				t.Errorf("%q and %q have the template %q", a, b, Template(a, kinds))
			}
		}
		if Template(a, nil) == Template(b, nil) && a != b {
			t.Errorf("%q and %q have the template %q", a, b, Template(a, nil))
		}
	})
}

func TestTemplateIsLinear(t *testing.T) {
	for _, piece := range []string{"5 ", " ", "1.2.3-", "2026-11-30 ", "(", "port ", "5     ", "1111111111111"} {
		text := strings.Repeat(piece, 1_000_000/len(piece))
		start := time.Now()
		Template(text, []MaskKind{MaskInteger})
		if took := time.Since(start); took > time.Minute { // on a loaded machine; a mistake takes hours
			t.Errorf("%q: %v", piece, took)
		}
	}
	text := strings.Repeat(" ", 500_000) + "5" + strings.Repeat(" ", 500_000)
	start := time.Now()
	Template(strings.Repeat("5 .", 10)+text, []MaskKind{MaskInteger})
	if took := time.Since(start); took > time.Minute { // on a loaded machine; a mistake takes hours
		t.Errorf("blanks: %v", took)
	}
}
