package weburl

import (
	"net/url"
	"testing"
)

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"https://h/a", "https://h/b?c", true},
		{"https://h:443/", "https://H/", true},
		{"http://h/", "http://h:80/", true},
		{"HTTP://h/", "http://h/", true},
		{"https://h/", "http://h/", false},
		{"https://h/", "https://h.example/", false},
		{"https://h/", "https://h:8443/", false},
		{"https://[::1]:1/", "https://[::1]:1/x", true},
		{"https://h/", "//h/", false},
	} {
		if got := SameOrigin(parse(t, c.a), parse(t, c.b)); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "[::1]": true,
		"::ffff:127.0.0.1": true, "localhost.example.com": false, "10.0.0.1": false, "0.0.0.0": false, "": false, "example.com": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"https://h/mcp":                      "https://h/mcp",
		"https://user:pw@h/mcp":              "https://h/mcp",
		"https://h/mcp?key=s3cret&b=2":       "https://h/mcp?key=***&b=***",
		"https://h/mcp?s3cret":               "https://h/mcp?***",
		"https://h/mcp?api%5Fkey=a%26b#s3cr": "https://h/mcp?api%5Fkey=***",
		"http://h/\x7f":                      "(not a URL)",
	} {
		if got := RedactText(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
