package rawjson

import (
	"strings"
	"testing"
)

func canonical(t testing.TB, in string) string {
	t.Helper()
	v, _ := mustParse(t, in)
	return string(Canonical(v))
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"white space", " { \"a\" : [ 1 , true , null ] } ", `{"a":[1,true,null]}`},
		{"byte order mark", "\xef\xbb\xbf[]", `[]`},
		{"order of names", `{"b":1,"a":2,"":3,"ab":4}`, `{"":3,"a":2,"ab":4,"b":1}`},
		{"names by code units", "{\"\ue000\":1,\"\U00010000\":2,\"\ud7ff\":3,\"a\":4}", "{\"a\":4,\"\ud7ff\":3,\"\U00010000\":2,\"\ue000\":1}"},
		{"the same, escaped", `{"\ue000":1,"\ud800\udc00":2,"\ud7ff":3,"\u0061":4}`, "{\"a\":4,\"\ud7ff\":3,\"\U00010000\":2,\"\ue000\":1}"},
		{"names twice", `{"b":1,"a":2,"\u0062":3,"a":4}`, `{"a":2,"a":4,"b":1,"b":3}`},
		{"lone surrogates among names", `{"\uE000":1,"\uDBFF":2,"\uDC00":3,"\ud800\udc00":4}`, "{\"\U00010000\":4,\"\\udbff\":2,\"\\udc00\":3,\"\ue000\":1}"},
		{"bytes among names", "{\"\xff\":1,\"\uffff\":2,\"\xed\xa0\x80\":3,\"a\":4}", "{\"a\":4,\"\uffff\":2,\"\xed\xa0\x80\":3,\"\xff\":1}"},
		{"escapes", `"\u0000\u001F\b\t\n\f\r\"\\\/\u007f\u00e9\u2028\ud83d\ude00"`, "\"\\u0000\\u001f\\b\\t\\n\\f\\r\\\"\\\\/\x7fé\u2028😀\""},
		{"lone surrogates", `"\uD800x\uDFFF\uD800\uD800\uDC00"`, "\"\\ud800x\\udfff\\ud800\U00010000\""},
		{"not UTF-8", "\"\\n\xff\xc0\xaf\xed\xa0\x80\"", "\"\\n\xff\xc0\xaf\xed\xa0\x80\""},
		{"more than a few members", `{"q":0,"p":0,"o":0,"n":0,"m":0,"l":0,"k":0,"j":0,"i":0,"h":0,"g":0,"f":0,"e":0,"d":0,"c":0,"b":0,"a":0,"b":1}`, `{"a":0,"b":0,"b":1,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"o":0,"p":0,"q":0}`},
	} {
		if got := canonical(t, c.in); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
	if got := AppendCanonical([]byte("x"), Value{}); string(got) != "x" {
		t.Errorf("a missing value appends %q", got)
	}
}

// TestCanonicalNumbers: every spelling of a value gives the same form.
func TestCanonicalNumbers(t *testing.T) {
	for _, c := range []struct {
		want string
		in   []string
	}{
		{"0", []string{"0", "-0", "0.0", "-0e5", "0e99999999999999999999", "0.000E-7"}},
		{"1", []string{"1", "1.0", "10e-1", "0.1e1", "1e0", "1E-0", "1e+0", "100e-000000000000000000002"}},
		{"-25", []string{"-25", "-2.5e1", "-250E-1"}},
		{"123456789012345", []string{"123456789012345", "1.23456789012345e14"}},
		{"9007199254740991", []string{"9007199254740991", "9007199254740.991e3"}},
		{"9007199254740992", []string{"9007199254740992", "9007199254740992.0"}},
		{"9007199254740993E0", []string{"9007199254740993", "9007199254740993.00", "0.9007199254740993e16", "9007199254740993E0"}},
		{"-9223372036854775807E0", []string{"-9223372036854775807"}},
		{"9223372036854775808E0", []string{"9223372036854775808"}},
		{"9223372036854776000", []string{"9223372036854776000"}},
		{"1180591620717411303424E0", []string{"1180591620717411303424"}},
		{"100000000000000000000", []string{"100000000000000000000", "1e20"}},
		{"1e+21", []string{"1000000000000000000000", "1e21", "10E20"}},
		{"1.5", []string{"1.5", "15e-1", "1.50"}},
		{"0.000001", []string{"0.000001", "1e-6"}},
		{"1e-7", []string{"0.0000001", "1E-07"}},
		{"0.1", []string{"0.1", "0.1000000000000000055511151231257827"}},
		{"1.7976931348623157e+308", []string{"1.7976931348623157e308", "17976931348623157e292"}},
		{"17976931348623158E292", []string{"17976931348623158e292", "1.7976931348623158e308"}},
		{"5e-324", []string{"5e-324", "4.9e-324", "0.5E-323"}},
		{"1E-400", []string{"1e-400", "0.1e-399", "10e-401"}},
		{"-1E400", []string{"-1e400", "-0.1e401", "-100e398"}},
		{"12E9223372036854775806", []string{"12e9223372036854775806", "1.2e9223372036854775807", "0.12E9223372036854775808"}},
		{"1E1000000000000000000000", []string{"1e1000000000000000000000", "10e999999999999999999999", "0.01e1000000000000000000002"}},
		{"1E-1000000000000000000", []string{"1e-1000000000000000000", "10e-1000000000000000001", "0.1e-999999999999999999"}},
	} {
		for _, in := range append(c.in, c.want) {
			if got := canonical(t, in); got != c.want {
				t.Errorf("%s: got %s, want %s", in, got, c.want)
			}
		}
	}
}

func TestMapStrings(t *testing.T) {
	t.Parallel()
	replace := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, "8080", `"},"x":{"\`), "\xff", "?")
	}
	for in, want := range map[string]string{
		`{"a": 8080, "8080":[true,null,"x8080y"]}`:  `{"\"},\"x\":{\"\\":[true,null,"x\"},\"x\":{\"\\y"],"a":8080}`,
		`"\u0038\u003080"`:                          `"\"},\"x\":{\"\\"`,
		`"\ud800\u00380\u0038\u0030\udfff\\80\"80"`: `"\ud800\"},\"x\":{\"\\\udfff\\80\"80"`,
		"\"\xff\xfe\\n\"":                           "\"?\xfe\\n\"",
		`[1.50,"",{}]`:                              `[1.5,"",{}]`,
	} {
		v, _, err := Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(MapStrings(v, replace)); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", in, got, want)
		}
	}
}
