package access

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type params = map[string]string

func TestParseChallenges(t *testing.T) {
	const prm = "https://mcp.example.com/.well-known/oauth-protected-resource"
	for _, c := range []struct {
		name   string
		values []string
		want   []Challenge
	}{
		{"no field", nil, nil},
		{"empty fields", []string{"", " , ,"}, nil},
		{"scheme alone", []string{"Bearer"}, []Challenge{{Scheme: "Bearer"}}},
		{"invalid token", []string{`Bearer realm="x", error="invalid_token", resource_metadata="` + prm + `"`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "x", "error": "invalid_token", "resource_metadata": prm}},
		}},
		{"insufficient scope", []string{`Bearer error="insufficient_scope", scope="mcp:read mcp:admin", error_description="more, please"`}, []Challenge{
			{Scheme: "Bearer", Params: params{"error": "insufficient_scope", "scope": "mcp:read mcp:admin", "error_description": "more, please"}},
		}},
		{"Negotiate before Bearer", []string{`Negotiate YII/abc+-._~==, Bearer realm="x"`}, []Challenge{
			{Scheme: "Negotiate", Token68: "YII/abc+-._~=="}, {Scheme: "Bearer", Params: params{"realm": "x"}},
		}},
		{"Negotiate without token", []string{`Negotiate, NTLM, Bearer realm="x"`}, []Challenge{
			{Scheme: "Negotiate"}, {Scheme: "NTLM"}, {Scheme: "Bearer", Params: params{"realm": "x"}},
		}},
		{"several fields", []string{`Basic realm="a"`, `bearer realm="b"`}, []Challenge{
			{Scheme: "Basic", Params: params{"realm": "a"}}, {Scheme: "bearer", Params: params{"realm": "b"}},
		}},
		{"Basic and Bearer in one line", []string{`Basic realm="a, b", charset="UTF-8", Bearer realm="c", error="invalid_token"`}, []Challenge{
			{Scheme: "Basic", Params: params{"realm": "a, b", "charset": "UTF-8"}},
			{Scheme: "Bearer", Params: params{"realm": "c", "error": "invalid_token"}},
		}},
		{"the RFC's example", []string{`Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\""`}, []Challenge{
			{Scheme: "Basic", Params: params{"realm": "simple"}},
			{Scheme: "Newauth", Params: params{"realm": "apps", "type": "1", "title": `Login to "apps"`}},
		}},
		{"names in any case, spaces around =", []string{"Bearer REALM = \"x\" ,\tError\t=\tinvalid_token"}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "x", "error": "invalid_token"}},
		}},
		{"unquoted URL", []string{"Bearer resource_metadata=" + prm + "?a=b, realm=x"}, []Challenge{
			{Scheme: "Bearer", Params: params{"resource_metadata": prm + "?a=b", "realm": "x"}},
		}},
		{"unquoted value with spaces", []string{"Bearer scope=a b c, error=x"}, []Challenge{
			{Scheme: "Bearer", Params: params{"scope": "a", "error": "x"}},
		}},
		{"commas at the ends", []string{`,Bearer realm="x",, error="y",,`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "x", "error": "y"}},
		}},
		{"no commas", []string{`Negotiate Bearer realm="x" error="y"`}, []Challenge{
			{Scheme: "Negotiate"}, {Scheme: "Bearer", Params: params{"realm": "x", "error": "y"}},
		}},
		{"semicolons", []string{`Bearer realm="x"; error=y; scope=z`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "x", "error": "y", "scope": "z"}},
		}},
		{"first of a repeated name", []string{`Bearer resource_metadata="https://a", Resource_Metadata="https://b"`}, []Challenge{
			{Scheme: "Bearer", Params: params{"resource_metadata": "https://a"}},
		}},
		{"empty values", []string{`Bearer realm="", error=, scope=""`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "", "error": "", "scope": ""}},
		}},
		{"parameters without a scheme", []string{`realm="x", error="y"`, `Bearer a="b"`}, []Challenge{
			{Scheme: "Bearer", Params: params{"a": "b"}},
		}},
		{"no end of a string", []string{`Bearer realm="x, Basic realm=y`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "x, Basic realm=y"}},
		}},
		{"backslash at the end", []string{`Bearer realm="x\`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": `x\`}},
		}},
		{"a challenge inside a stray string", []string{`"Basic realm=x", Bearer realm=y`}, []Challenge{
			{Scheme: "Bearer", Params: params{"realm": "y"}},
		}},
		{"junk", []string{"\x00\xff{}[]=, 123 4, (Bearer) , Bearer realm=x"}, []Challenge{
			{Scheme: "Bearer"}, {Scheme: "Bearer", Params: params{"realm": "x"}},
		}},
	} {
		if diff := cmp.Diff(c.want, ParseChallenges(c.values)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestParseChallengesIsBounded(t *testing.T) {
	var many, wide strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, "Scheme%d a=b, ", i)
		fmt.Fprintf(&wide, ", p%d=%d", i, i)
	}
	got := ParseChallenges([]string{many.String(), "Bearer"})
	if len(got) != maxChallenges || got[maxChallenges-1].Scheme != "Scheme15" || got[maxChallenges-1].Params["a"] != "b" {
		t.Errorf("%d challenges, the last %+v", len(got), got[len(got)-1])
	}
	if got := ParseChallenges([]string{"Bearer x=y" + wide.String()}); len(got) != 1 || len(got[0].Params) != maxParams {
		t.Errorf("%d challenges, %d params", len(got), len(got[0].Params))
	}
	long := ParseChallenges([]string{`Bearer realm="` + strings.Repeat("x", maxChallengeSize), "Basic"})
	if len(long) != 2 || len(long[0].Params["realm"]) != maxChallengeSize-len(`Bearer realm="`) {
		t.Errorf("got %d challenges", len(long))
	}
}

func TestBearer(t *testing.T) {
	for _, c := range []struct {
		value, want string
		ok          bool
	}{
		{"", "", false},
		{`Basic realm="a"`, "", false},
		{`Basic realm="a", BEARER realm="b", Bearer realm="c"`, "b", true},
		{`Bearer realm="b", Bearer realm="c", resource_metadata="https://h/x"`, "c", true},
	} {
		got, ok := Bearer(ParseChallenges([]string{c.value}))
		if ok != c.ok || got.Params["realm"] != c.want {
			t.Errorf("%s: %+v, %v", c.value, got, ok)
		}
	}
}

func FuzzParseChallenges(f *testing.F) {
	for _, seed := range []string{
		"", `Bearer realm="x", error="invalid_token"`, "Negotiate abc==, Basic realm=x", `a="\`, `=,="",Bearer =x`, "Bearer a=b c d Digest", "Basic ,=,",
	} {
		f.Add(seed, "Bearer")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		found := ParseChallenges([]string{a, b})
		if len(found) > maxChallenges {
			t.Fatalf("%d challenges", len(found))
		}
		for _, c := range found {
			if c.Scheme == "" || !isLetter(c.Scheme[0]) || strings.ContainsAny(c.Scheme, " ,=\"") || len(c.Params) > maxParams {
				t.Fatalf("%+v", c)
			}
			for name, value := range c.Params {
				if name == "" || name != strings.ToLower(name) {
					t.Fatalf("name %q", name)
				}
				// What was understood survives being written properly.
				quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
				again := ParseChallenges([]string{c.Scheme + " " + name + `="` + quote.Replace(value) + `"`})
				if len(name)+len(value) < 1000 && (len(again) != 1 || again[0].Scheme != c.Scheme || again[0].Params[name] != value) {
					t.Fatalf("%q=%q reads back as %+v", name, value, again)
				}
			}
		}
	})
}
