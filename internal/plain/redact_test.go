package plain

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestRedactor(t *testing.T) {
	const odd = `p/ss+w"rd <é>?`
	b64 := base64.StdEncoding.EncodeToString
	for _, c := range []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"plain", []string{"hunter22"}, "pw hunter22, hunter22!", "pw ***, ***!"},
		{"inside a word", []string{"hunter22"}, "xhunter22x", "x***x"},
		{"nothing there", []string{"hunter22"}, "hunter2", "hunter2"},
		{"query", []string{odd}, "?k=" + url.QueryEscape(odd) + "&x=1", "?k=***&x=1"},
		{"query in lower case", []string{odd}, strings.ToLower(url.QueryEscape(odd)), "***"},
		{"path", []string{odd}, "/a/" + url.PathEscape(odd) + "/b", "/a/***/b"},
		{"json", []string{odd}, `{"k":"p/ss+w\"rd <é>?"}`, `{"k":"***"}`},
		{"json for html", []string{odd}, `{"k":"p/ss+w\"rd \u003cé\u003e?"}`, `{"k":"***"}`},
		{"json of this package", []string{"k€y-secret"}, string(JSON([]byte(`"k€y-secret"`))), `"***"`},
		{"base64", []string{"secret?>secret~"}, b64([]byte("secret?>secret~")) + " " + base64.RawURLEncoding.EncodeToString([]byte("secret?>secret~")), "*** ***"},
		{"base64 without padding", []string{"secret7"}, strings.TrimRight(b64([]byte("secret7")), "=") + ".", "***."},
		{"longest first", []string{"abcd", "abcd-efgh"}, "abcd-efgh abcd", "*** ***"},
		{"overlapping", []string{"abcdef", "defghi"}, "<abcdefghi>", "<***>"},
		{"overlapping itself", []string{"abab"}, "ababab", "***"},
		{"adjacent", []string{"abcd"}, "abcdabcd", "******"},
		{"bearer value", []string{"Bearer tok-123"}, "got tok-123 from Bearer tok-123", "got *** from ***"},
		{"no scheme", []string{"open sesame"}, "sesame, open sesame", "sesame, ***"},
		{"white space around", []string{"\ttok-123\n"}, "tok-123\n", "***\n"},
		{"short, alone", []string{"ab"}, "ab (ab) x=ab", "*** (***) x=***"},
		{"short, in words", []string{"ab"}, "table ab1 _ab éab abé", "table ab1 _ab éab abé"},
		{"short, then alone", []string{"a"}, "aa a", "aa ***"},
		{"empty secrets", []string{"", " \n"}, "a b", "a b"},
		{"mask is no secret", []string{"*"}, "a * b", "a *** b"},
	} {
		r := NewRedactor(c.secrets...)
		if got := r.String(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := string(r.Bytes([]byte(c.in))); got != c.want {
			t.Errorf("%s: Bytes %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNilRedactor(t *testing.T) {
	var r *Redactor
	r.Add("secret")
	if r.String("secret") != "secret" || string(r.Bytes([]byte("secret"))) != "secret" {
		t.Error("a nil Redactor changed something")
	}
}

func TestRedactorDoesNotPrintItsSecrets(t *testing.T) {
	r := NewRedactor("hunter22")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		if got := fmt.Sprintf(verb, r); got != mask {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	if b, err := json.Marshal(r); err != nil || string(b) != "{}" {
		t.Errorf("marshals as %s, %v", b, err)
	}
}

func TestRedactorIsSafeForConcurrentUse(t *testing.T) {
	r := NewRedactor()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			secret := fmt.Sprintf("secret-%d", i)
			for range 50 {
				r.Add(secret)
				if got := r.String("a " + secret); got != "a ***" {
					t.Errorf("%s stayed: %s", secret, got)
				}
			}
		})
	}
	wait.Wait()
}

func TestNoSecretSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few letters, so that secrets overlap; no form of them looks like the mask.
		secret := rapid.StringMatching(`[ab/+"é]{4,8}`)
		secrets := rapid.SliceOfN(secret, 1, 4).Draw(t, "secrets")
		filler := rapid.StringMatching(`[ab/+ ]{0,4}`)
		var in strings.Builder
		for _, s := range secrets {
			in.WriteString(filler.Draw(t, "filler"))
			in.WriteString(rapid.SampledFrom(formsOf(s)).Draw(t, "form"))
		}
		out := NewRedactor(secrets...).String(in.String())
		for _, s := range secrets {
			if strings.Contains(out, s) {
				t.Fatalf("%q is left in %q (from %q)", s, out, in.String())
			}
		}
	})
}

func TestPatternsMask(t *testing.T) {
	const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
	for _, c := range []struct{ in, want string }{
		{"Authorization: Bearer abc", "Authorization: Bearer ***"},
		{"> authorization: Basic dXNlcjpwYXNz\n> accept: */*", "> authorization: Basic ***\n> accept: */*"},
		{"Authorization: tok_live", "Authorization: ***"},
		{`{"Authorization":"Bearer abc","n":1}`, `{"Authorization":"Bearer ***","n":1}`},
		{"map[Authorization:[Bearer abcd1234]]", "map[Authorization:[Bearer ***]]"},
		{"Proxy-Authorization: Basic eDp5", "Proxy-Authorization: Basic ***"},
		{"sent bearer a1b2c3d4e5 to it", "sent bearer *** to it"},
		{"Bearer " + jwt, "Bearer ***"},
		{"jwt is " + jwt + ".", "jwt is ***"},
		{"X-API-Key: abcdef", "X-API-Key: ***"},
		{"api_key=abcdef&x=1", "api_key=***&x=1"},
		{"OPENAI_API_KEY=sk-proj-abc", "OPENAI_API_KEY=***"},
		{"GITHUB_TOKEN=abc def", "GITHUB_TOKEN=*** def"},
		{"?access_token=abc&b=2", "?access_token=***&b=2"},
		{`{"client_secret": "a \" b", "b": 2}`, `{"client_secret": ***, "b": 2}`},
		{"{token: 'abc'}", "{token: ***}"},
		{"token: 'abc\nmore", "token: ***\nmore"},
		{"token=\"abc\r\nmore", "token=***\r\nmore"},
		{"token: 9f8e7d6c5b4a", "token: ***"},
		{"password: correcthorse", "password: ***"},
		{"DB_PASSWORD = hunter2", "DB_PASSWORD = ***"},
		{"password=x", "password=***"},
		{"run with --token abc1 --port 80", "run with --token *** --port 80"},
		{"--api-key=abc", "--api-key=***"},
		{"key sk-abcdefghij0123456789 used", "key *** used"},
		{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "***"},
		{"github_pat_11ABCDEFG0abcdefghijkl_mnop", "***"},
		{"slack xoxb-1234567890-abcdef", "slack ***"},
		{"id AKIAIOSFODNN7EXAMPLE.", "id ***."},
		{"sk_live_0123456789abcdef", "***"},
		{"postgres://user:pa$s@db:5432/x", "postgres://***@db:5432/x"},
		{"GET https://u:p@ss@h/ and https://h2/", "GET https://***@h/ and https://h2/"},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd==\n-----END RSA PRIVATE KEY-----\nb", "a\n***\nb"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE cut off", "***"},
		{"Cookie: sid=abc; t=1\nHost: h", "Cookie: ***\nHost: h"},
	} {
		if got := Patterns(c.in); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestPatternsLeaveProse(t *testing.T) {
	for _, s := range []string{
		"",
		"token expired",
		"Invalid token: expired",
		"Error: token is missing",
		"SyntaxError: Unexpected token < in JSON at position 0",
		"Unexpected token: }",
		"password: required",
		"Password: not set.",
		"the api key is missing",
		"API key: missing",
		"Bearer token required",
		"Bearer authentication is not configured",
		"bearer of bad news",
		"basic usage: see the manual",
		"Basic support for it",
		"max_tokens=4096 tokens: 512",
		"token_type=bearer",
		"secrets are kept in the keychain",
		"authorization is required",
		"authorization server at https://as.example.com/token",
		"see https://example.com:8080/path@v1 and mailto:me@example.com",
		"git@github.com:owner/repo.git",
		"ssh://git@github.com/owner/repo",
		"sk-learn-contrib-estimators installed",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"use --token to authenticate",
		"--password is required",
		"listening on 127.0.0.1:3000",
		"eyJ is how they start",
	} {
		if got := Patterns(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// TestPatternsKeepToTheLine: what is masked in a text is what is masked in each
// of its lines.
func TestPatternsKeepToTheLine(t *testing.T) {
	const usage = "unknown flag: --api-key\nhint: run mcpvigil check --help"
	if got := Patterns(usage); got != usage {
		t.Errorf("%q became %q", usage, got)
	}
	word := rapid.SampledFrom([]string{
		"unknown flag:", "--api-key", "--token", "hint:", "Authorization:", "authorization", "Bearer", "bearer ", "token", "token=", "api_key", "password:",
		"password =", "Cookie:", "set-cookie: ", `"client_secret":`, `secret="abc`, "secret='", `"`, "'", ":", "=", " ", "\t", "\r", "abc1", "hunter22",
		"9f8e7d6c5b4a", "https://u:p@", "h/x", "sk-abcdefghij0123456789", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", ".c2lnbmF0dXJl", "-----BEGIN PRIVATE", "\\",
	})
	line := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), "") })
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 2, 3).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end")
		var want []string
		for _, l := range lines {
			want = append(want, Patterns(l))
		}
		if got := Patterns(strings.Join(lines, end)); got != strings.Join(want, end) {
			t.Fatalf("%q\n got %q\nwant %q", lines, got, strings.Join(want, end))
		}
	})
}

func TestPatternsCannotBeStalled(t *testing.T) {
	for _, piece := range []string{"token=", "Bearer ", `"password":"`, "-----BEGIN PRIVATE KEY-----", "https://a:", "eyJaaaaa.", "a.-_"} {
		s := strings.Repeat(piece, 1<<15/len(piece))
		if got := Patterns(s); len(got) > 2*len(s) {
			t.Errorf("%q grew from %d to %d bytes", piece, len(s), len(got))
		}
	}
}

func TestProseIsSortedForTheBinarySearch(t *testing.T) {
	if !slices.IsSorted(prose) {
		t.Error("sort it")
	}
}

func TestRedactorExtend(t *testing.T) {
	t.Parallel()
	base := NewRedactor()
	r := base.Extend()
	if !r.Empty() {
		t.Error("one without secrets has some")
	}
	base.Add("first-secret")
	if r.Empty() || base.Empty() {
		t.Error("one with a secret has none")
	}
	r.Add("of-its-own")
	base.Add("added-later")
	const text = "first-secret of-its-own added-later"
	if got := r.String(text); got != "*** *** ***" {
		t.Errorf("the extended one gives %q", got)
	}
	if got := base.Replace(text, "#"); got != "# of-its-own #" {
		t.Errorf("its base gives %q", got)
	}
	if got := (*Redactor)(nil).Extend().String(text); got != text {
		t.Errorf("an extension of nothing gives %q", got)
	}
}
