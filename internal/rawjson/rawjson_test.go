package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustParse(t testing.TB, in string) (Value, Flaws) {
	t.Helper()
	v, flaws, err := Parse([]byte(in))
	if err != nil {
		t.Fatalf("Parse(%q): %v", in, err)
	}
	return v, flaws
}

func TestZeroValueAnswersEverything(t *testing.T) {
	var v Value
	_, isText := v.Text()
	_, isInt := v.Int()
	_, isBool := v.Bool()
	if v.Kind() != Invalid || v.Exists() || v.IsNull() || v.Raw() != nil || v.Len() != 0 ||
		v.Get("a").Exists() || v.Elems() != nil || v.Lexeme() != "" || isText || isInt || isBool {
		t.Error("a missing value claims to be something")
	}
	for range v.Members() {
		t.Error("a missing value has a member")
	}
}

func TestKindsAndRaw(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind Kind
		name string
		raw  string
		len  int
	}{
		{" null ", Null, "null", "null", 0},
		{"true", Bool, "boolean", "true", 0},
		{"\tfalse\r\n", Bool, "boolean", "false", 0},
		{"-0.50E+3", Number, "number", "-0.50E+3", 0},
		{`"a b" `, String, "string", `"a b"`, 0},
		{" [1, [2] ] ", Array, "array", "[1, [2] ]", 2},
		{"{ }", Object, "object", "{ }", 0},
		{`{"a":1,"a":2,"b":[1,2,3]}`, Object, "object", `{"a":1,"a":2,"b":[1,2,3]}`, 3},
	} {
		v, _ := mustParse(t, c.in)
		if v.Kind() != c.kind || v.Kind().String() != c.name || string(v.Raw()) != c.raw || v.Len() != c.len || !v.Exists() {
			t.Errorf("%q: got %v %q len %d, want %v %q len %d", c.in, v.Kind(), v.Raw(), v.Len(), c.name, c.raw, c.len)
		}
		if v.IsNull() != (c.kind == Null) {
			t.Errorf("%q: IsNull = %v", c.in, v.IsNull())
		}
	}
	if got := Kind(99).String(); got != "Kind(99)" {
		t.Errorf("unknown kind prints as %q", got)
	}
}

func TestRawIsASubsliceThatCannotGrowIntoTheInput(t *testing.T) {
	in := []byte(`{"a":"x","b":1}`)
	v, _, err := Parse(in)
	if err != nil {
		t.Fatal(err)
	}
	raw := v.Get("a").Raw()
	if &raw[0] != &in[5] {
		t.Error("Raw copied the input")
	}
	_ = append(raw, '!')
	if string(in) != `{"a":"x","b":1}` {
		t.Errorf("appending to Raw overwrote the input: %s", in)
	}
}

func TestGetAndMembers(t *testing.T) {
	v, flaws := mustParse(t, `{"a":1,"\u0062":[{"deep":true}],"a":"last","":null}`)
	if text, ok := v.Get("a").Text(); !ok || text != "last" {
		t.Errorf("the last duplicate must win, got %s", v.Get("a").Raw())
	}
	if on, ok := v.Get("b").Elems()[0].Get("deep").Bool(); !ok || !on {
		t.Error("no way to an escaped name's content")
	}
	if !v.Get("").IsNull() || v.Get("c").Exists() || v.Get("b").Get("x").Exists() {
		t.Error("wrong answer for the empty, an absent or an impossible name")
	}
	var names []string
	for name, member := range v.Members() {
		names = append(names, name+"="+string(member.Raw()))
	}
	want := []string{"a=1", `b=[{"deep":true}]`, `a="last"`, "=null"}
	if !slices.Equal(names, want) {
		t.Errorf("members %q, want %q", names, want)
	}
	for range v.Members() {
		break // a yield that returns false must end the walk
	}
	if !slices.Equal(flaws.Duplicates, []string{"/a"}) {
		t.Errorf("duplicates %q", flaws.Duplicates)
	}
}

func TestLargeObjects(t *testing.T) {
	for _, size := range []int{indexAbove - 1, indexAbove, indexAbove + 1, 500} {
		var b strings.Builder
		b.WriteString(`{"again":0`)
		for i := range size - 2 {
			fmt.Fprintf(&b, `,"n%d":{"v":%d}`, i, i)
		}
		b.WriteString(`,"ag\u0061in":1}`)
		v, flaws := mustParse(t, b.String())
		for i := range size - 2 {
			if n, ok := v.Get(fmt.Sprintf("n%d", i)).Get("v").Int(); !ok || n != int64(i) {
				t.Fatalf("size %d: n%d = %d, %v", size, i, n, ok)
			}
		}
		if n, _ := v.Get("again").Int(); n != 1 || v.Get("absent").Exists() {
			t.Errorf("size %d: again = %d", size, n)
		}
		if v.Len() != size || !slices.Equal(flaws.Duplicates, []string{"/again"}) {
			t.Errorf("size %d: len %d, duplicates %q", size, v.Len(), flaws.Duplicates)
		}
	}
}

func TestDuplicates(t *testing.T) {
	many := "{" + strings.Repeat(`"x":0,`, 40) + `"y":1}`
	var wide, each strings.Builder
	for i := range 40 {
		fmt.Fprintf(&each, `"k%02d":0,"k%02d":0,`, i, i)
	}
	wide.WriteString("{" + strings.TrimSuffix(each.String(), ",") + "}")
	var first16 []string
	for i := range maxDuplicates {
		first16 = append(first16, fmt.Sprintf("/k%02d", i))
	}
	long := strings.Repeat("é", maxPointerSize)
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"none", `{"a":1,"b":{"a":2}}`, nil},
		{"nested with escapes in the pointer", `{"a/b":[0,{"~":1,"~":2}]}`, []string{"/a~1b/1/~0"}},
		{"same after decoding", `{"a":1,"\u0061":2}`, []string{"/a"}},
		{"same after replacement", "{\"\xff\":1,\"\xfe\":2}", []string{"/\ufffd"}},
		{"three times is one", `{"a":1,"a":2,"a":3}`, []string{"/a"}},
		{"many times is one", many, []string{"/x"}},
		{"bounded", wide.String(), first16},
		{"in an element of the root", `[{"a":1},{"a":1,"a":2}]`, []string{"/1/a"}},
		{"cut", `{"` + long + `":{"a":1,"a":2}}`, []string{"/" + long[:maxPointerSize-2]}},
	} {
		if _, flaws := mustParse(t, c.in); !slices.Equal(flaws.Duplicates, c.want) {
			t.Errorf("%s: %q, want %q", c.name, flaws.Duplicates, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		in, want  string
		bad, lone int
	}{
		{`""`, "", 0, 0},
		{`"plain é 世 🙂"`, "plain é 世 🙂", 0, 0},
		{`"\"\\\/\b\f\n\r\t\u00e9\u4E16"`, "\"\\/\b\f\n\r\té世", 0, 0},
		{`"\ud83d\ude42"`, "🙂", 0, 0},
		{`"\ud83d"`, "\ufffd", 0, 1},
		{`"\ud83dx"`, "\ufffdx", 0, 1},
		{`"\ude42\ud83d"`, "\ufffd\ufffd", 0, 2},
		{`"\ud83d\ud83d\ude42"`, "\ufffd🙂", 0, 1},
		{`"\ud83d\u0041"`, "\ufffdA", 0, 1},
		{"\"caf\xe9\"", "caf\ufffd", 1, 0},
		{"\"\xff\xfe\\n\"", "\ufffd\ufffd\n", 2, 0},
		{"\"\xed\xa0\x80\"", "\ufffd\ufffd\ufffd", 3, 0},
		{"\"\ufffd\"", "\ufffd", 0, 0},
		{"\"\x7f\u2028\"", "\x7f\u2028", 0, 0},
	} {
		v, flaws := mustParse(t, c.in)
		if got, ok := v.Text(); !ok || got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.in, got, ok, c.want)
		}
		if flaws.InvalidUTF8 != c.bad || flaws.LoneSurrogates != c.lone || (flaws.FirstInvalid >= 0) != (c.bad > 0) {
			t.Errorf("%q: flaws %+v", c.in, flaws)
		}
	}
	if _, ok := Value.Text(Value{}); ok {
		t.Error("a missing value is no text")
	}
}

func TestFlawsGiveThePlaceInTheInput(t *testing.T) {
	in := "\xef\xbb\xbf {\"d\":\"caf\xe9 \xff\"}"
	_, flaws := mustParse(t, in)
	if !flaws.BOM || flaws.InvalidUTF8 != 2 || flaws.FirstByte != 0xe9 || flaws.FirstInvalid != strings.IndexByte(in, 0xe9) {
		t.Errorf("flaws %+v", flaws)
	}
	_, flaws, err := Parse([]byte("[\"\xe9\",]"))
	if err == nil || flaws.InvalidUTF8 != 1 || flaws.FirstInvalid != 2 {
		t.Errorf("flaws before an error are lost: %+v, %v", flaws, err)
	}
}

func TestInt(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-0", 0, true},
		{"1", 1, true},
		{"-3", -3, true},
		{"1.0", 1, true},
		{"1e2", 100, true},
		{"1E+2", 100, true},
		{"100e-2", 1, true},
		{"1.50e1", 15, true},
		{"0.0", 0, true},
		{"0e999999999999999999999", 0, true},
		{"-0.00e-5", 0, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"-9223372036854775808", math.MinInt64, true},
		{"9.223372036854775807e18", math.MaxInt64, true},
		{"922337203685477580700e-2", math.MaxInt64, true},
		{"9223372036854775808", 0, false},
		{"-9223372036854775809", 0, false},
		{"1e19", 0, false},
		{"1e999999999999999999999", 0, false},
		{"1e-999999999999999999999", 0, false},
		{"1.5", 0, false},
		{"0.1", 0, false},
		{"15e-1", 0, false},
		{"-1e-1", 0, false},
		{"0." + strings.Repeat("0", 5000) + "1e5001", 1, true},
		{`"1"`, 0, false},
		{"true", 0, false},
		{"null", 0, false},
		{"[1]", 0, false},
	} {
		v, _ := mustParse(t, c.in)
		if got, ok := v.Int(); ok != c.ok || ok && got != c.want {
			t.Errorf("%.40s: %d, %v; want %d, %v", c.in, got, ok, c.want, c.ok)
		}
	}
	v, _ := mustParse(t, "1.50e1")
	if v.Lexeme() != "1.50e1" || v.Kind() != Number {
		t.Errorf("lexeme %q", v.Lexeme())
	}
	if s, _ := mustParse(t, `"1"`); s.Lexeme() != "" {
		t.Error("a string has no lexeme")
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int
		msg    string
	}{
		{"", 0, "unexpected end of input where a value should start"},
		{" \n", 2, "unexpected end of input where a value should start"},
		{"\xef\xbb\xbf", 3, "unexpected end of input where a value should start"},
		{" \xef\xbb\xbf1", 1, "unexpected byte 0xEF where a value should start"},
		{"1 2", 2, "unexpected '2' after the value"},
		{"{}\x00", 2, `unexpected '\x00' after the value`},
		{"nul", 3, "unexpected end of input in the literal null"},
		{"truE", 3, "unexpected 'E' in the literal true"},
		{"01", 1, "unexpected '1' after the value"},
		{"-", 1, "unexpected end of input in a number"},
		{"+1", 0, "unexpected '+' where a value should start"},
		{"1.", 2, "unexpected end of input after the decimal point"},
		{"1.e1", 2, "unexpected 'e' after the decimal point"},
		{"1ex", 2, "unexpected 'x' in the exponent"},
		{"NaN", 0, "unexpected 'N' where a value should start"},
		{"[1,]", 3, "unexpected ']' where a value should start"},
		{"[1 2]", 3, "unexpected '2' after an array element"},
		{"[", 1, "unexpected end of input where a value should start"},
		{"[}", 1, "unexpected '}' where a value should start"},
		{"{]", 1, "unexpected ']' where a member name should start"},
		{`{"a":1,}`, 7, "unexpected '}' where a member name should start"},
		{`{"a"}`, 4, "unexpected '}' after a member name"},
		{`{"a":1 "b"}`, 7, `unexpected '"' after an object member`},
		{`{a:1}`, 1, "unexpected 'a' where a member name should start"},
		{`{"a":}`, 5, "unexpected '}' where a value should start"},
		{`"abc`, 4, "unexpected end of input in a string"},
		{"\"a\nb\"", 2, "raw control character 0x0A in a string"},
		{"\"a\x00b\"", 2, "raw control character 0x00 in a string"},
		{`"\x"`, 2, "unexpected 'x' in an escape"},
		{`"\u12g4"`, 5, `unexpected 'g' in a \u escape`},
		{`"\u12`, 5, `unexpected end of input in a \u escape`},
		{"/* c */1", 0, "unexpected '/' where a value should start"},
		{"'a'", 0, `unexpected '\'' where a value should start`},
		{"\xff", 0, "unexpected byte 0xFF where a value should start"},
	} {
		v, _, err := Parse([]byte(c.in))
		syntax, ok := errors.AsType[*SyntaxError](err)
		if !ok || syntax.Offset != c.offset || syntax.Msg != c.msg || v.Exists() {
			t.Errorf("%q: %v (%+v)", c.in, err, syntax)
		}
		if json.Valid([]byte(c.in)) {
			t.Errorf("%q: the oracle accepts it", c.in)
		}
	}
	err := &SyntaxError{Offset: 7, Msg: "why"}
	if err.Error() != "invalid JSON at offset 7: why" {
		t.Errorf("printed as %q", err)
	}
}

func TestDepth(t *testing.T) {
	for _, pair := range []struct{ open, close string }{{"[", "]"}, {`{"a":`, "}"}} {
		inner := ""
		if pair.close == "}" {
			inner = "0"
		}
		nested := func(n int) []byte {
			return []byte(strings.Repeat(pair.open, n) + inner + strings.Repeat(pair.close, n))
		}
		if _, _, err := Parse(nested(MaxDepth)); err != nil {
			t.Errorf("%d levels of %s: %v", MaxDepth, pair.open, err)
		}
		if _, _, err := Parse(nested(MaxDepth + 1)); !errors.Is(err, ErrDepth) {
			t.Errorf("%d levels of %s: %v", MaxDepth+1, pair.open, err)
		}
	}
	if _, _, err := Parse([]byte(strings.Repeat("[", 1<<20))); !errors.Is(err, ErrDepth) {
		t.Errorf("a million brackets: %v", err)
	}
	if _, _, err := Parse([]byte(strings.Repeat("[[],", MaxDepth-1) + "[]" + strings.Repeat("]", MaxDepth-1))); err != nil {
		t.Errorf("closed brackets count towards the depth: %v", err)
	}
}

func TestPointer(t *testing.T) {
	for _, c := range []struct {
		tokens []string
		want   string
	}{
		{nil, ""},
		{[]string{""}, "/"},
		{[]string{"a/b", "m~n", "0"}, "/a~1b/m~0n/0"},
		{[]string{"~1"}, "/~01"},
	} {
		if got := Pointer(c.tokens...); got != c.want {
			t.Errorf("%q: %q, want %q", c.tokens, got, c.want)
		}
	}
}

// TestHostileInputsStayLinear holds inputs on which a careless parser is
// quadratic. Each must be done in a time that allows for a slow machine and
// still is far below what the square of its size would take.
func TestHostileInputsStayLinear(t *testing.T) {
	long := strings.Repeat("k", 1<<20)
	var wide strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&wide, `"%d":0,`, i)
	}
	for name, in := range map[string]string{
		"wide object":                    "{" + wide.String() + `"z":0}`,
		"one name again and again":       "{" + strings.Repeat(`"a":0,`, 200_000) + `"a":0}`,
		"repeats under a long name":      `{"` + long + `":{` + strings.Repeat(`"a":0,`, 100_000) + `"a":0}}`,
		"many objects under a long name": `{"` + long + `":[` + strings.Repeat(`{"a":0,"a":0},`, 50_000) + `0]}`,
		"escaped names":                  "{" + strings.Repeat(`"\u0061`+long[:1000]+`":0,`, 1000) + `"z":0}`,
		"digits":                         strings.Repeat("9", 2<<20),
	} {
		start := time.Now()
		v, _ := mustParse(t, in)
		v.Int()
		for range 100 {
			v.Get("z")
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// tree rebuilds what encoding/json decodes into an any, with numbers as lexemes.
func tree(v Value) any {
	switch v.Kind() {
	case Bool:
		b, _ := v.Bool()
		return b
	case Number:
		return json.Number(v.Lexeme())
	case String:
		s, _ := v.Text()
		return s
	case Array:
		list := []any{}
		for _, e := range v.Elems() {
			list = append(list, tree(e))
		}
		return list
	case Object:
		object := map[string]any{}
		for name := range v.Members() {
			object[name] = tree(v.Get(name))
		}
		return object
	default:
		return nil
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"null", " [1, 2.50, -3e+7, true, false] ", `{"a":{"b":[{}]},"a":"\ud83d\ude42\ud83d"}`,
		"\xef\xbb\xbf{}", "\"\xff\xe9\"", `"\u0000\/"`, "{\"\xff\":1,\"\xfe\":2}", "1 2", "[", `{"a"`, "-", "1e", "[[[[",
		`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"10":1,"11":1,"12":1,"13":1,"14":1,"15":1,"16":1,"17":1,"1":2}`,
		"1.0e2", "123456789012345678901234567890", "0.10e1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, flaws, err := Parse(data)
		body := bytes.TrimPrefix(data, byteOrderMark)
		if valid := json.Valid(body); valid != (err == nil) && !errors.Is(err, ErrDepth) {
			t.Fatalf("oracle says valid=%v, Parse says %v", valid, err)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(v.Raw(), bytes.TrimSpace(body)) {
			t.Fatalf("Raw %q of %q", v.Raw(), data)
		}
		if flaws.InvalidUTF8 > 0 && data[flaws.FirstInvalid] != flaws.FirstByte {
			t.Fatalf("byte at %d is not %x", flaws.FirstInvalid, flaws.FirstByte)
		}
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		equalTrees(t, tree(v), want)
		if number, ok := want.(json.Number); ok && len(number) < 30 && !strings.ContainsAny(string(number), "eE") {
			r, _ := new(big.Rat).SetString(string(number))
			n, isInt := v.Int()
			if want := r.IsInt() && r.Num().IsInt64(); isInt != want || isInt && r.Num().Int64() != n {
				t.Fatalf("Int of %s = %d, %v", number, n, isInt)
			}
		}
	})
}

func equalTrees(t *testing.T, got, want any) {
	t.Helper()
	g, errG := json.Marshal(got)
	w, errW := json.Marshal(want)
	if errG != nil || errW != nil || !bytes.Equal(g, w) {
		t.Fatalf("got %s (%v)\nwant %s (%v)", g, errG, w, errW)
	}
}

func BenchmarkParse(b *testing.B) {
	tool := `{"name":"search","description":"Finds things in the index.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["query"]}}`
	in := []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat(tool+",", 200) + tool + `]}}`)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Parse(in); err != nil {
			b.Fatal(err)
		}
	}
}
