package shell_test

import (
	"net/url"
	"testing"

	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

// TestBinding: an answer counts for one act on one thing, and nothing else changes it.
func TestBinding(t *testing.T) {
	form := url.Values{"digest": {"d1"}, "items": {"a", "b"}, "reason": {"two\r\nlines"}}
	want := shell.Binding("POST", "/monitors/1/accept?x=1", form)

	same := url.Values{
		"reason": {"two\nlines"}, "items": {"a", "b"}, "digest": {"d1"},
		"proof_password": {"secret"}, "proof_passkey": {"{}"}, "proof_target": {"/monitors/1/accept?x=1"},
	}
	if got := shell.Binding("POST", "/monitors/1/accept?x=1", same); got != want {
		t.Error("the same form, sent by a script with its proof, is another one")
	}
	others := map[string]struct {
		method, path string
		form         url.Values
	}{
		"method":        {"GET", "/monitors/1/accept?x=1", form},
		"path":          {"POST", "/monitors/2/accept?x=1", form},
		"query":         {"POST", "/monitors/1/accept?x=2", form},
		"value":         {"POST", "/monitors/1/accept?x=1", url.Values{"digest": {"d2"}, "items": {"a", "b"}, "reason": {"two\nlines"}}},
		"one fewer":     {"POST", "/monitors/1/accept?x=1", url.Values{"digest": {"d1"}, "items": {"a"}, "reason": {"two\nlines"}}},
		"one more":      {"POST", "/monitors/1/accept?x=1", url.Values{"digest": {"d1"}, "items": {"a", "b", "c"}, "reason": {"two\nlines"}}},
		"another field": {"POST", "/monitors/1/accept?x=1", url.Values{"digest": {"d1"}, "items": {"a", "b"}, "reason": {"two\nlines"}, "all": {""}}},
		"joined":        {"POST", "/monitors/1/accept?x=1", url.Values{"digest": {"d1"}, "items": {"a,1:b"}, "reason": {"two\nlines"}}},
	}
	for name, o := range others {
		if shell.Binding(o.method, o.path, o.form) == want {
			t.Errorf("%s: another act has the same binding", name)
		}
	}
}

// TestLocal: only paths of this server are gone on to.
func TestLocal(t *testing.T) {
	for next, want := range map[string]string{
		"/monitors/1?tab=x": "/monitors/1?tab=x", "": "/", "https://evil.example/": "/", "//evil.example/": "/", `/\evil.example`: "/",
		"/\tevil": "/", "javascript:alert(1)": "/", "monitors": "/", "http:/evil.example": "/", "/%2f/evil.example": "/%2f/evil.example",
		"/..//evil.example": "/..//evil.example", "/\r\nSet-Cookie: a=b": "/", "https:evil.example": "/", "@evil.example": "/", "%2f%2fevil.example": "/", "%2fx": "/", "/:80@evil": "/:80@evil",
	} {
		if got := shell.Local(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}
