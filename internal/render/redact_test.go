package render

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestRedactJSON(t *testing.T) {
	redact := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("12345"), []byte("***")) }
	for in, want := range map[string]string{
		``:     ``,
		`null`: `null`,
		`{"a" : [1, -2.5e+3, "x\u0041\"", true ], "a":{} }`:         `{"a" : [1, -2.5e+3, "x\u0041\"", true ], "a":{} }`,
		`{"12345":12345,"b":[-12345,"a\n12345","\u0031234\u0035"]}`: `{"***":"***","b":["-***","a\n***","***"]}`,
		`"\\",12345,"\"12345"`: `"\\","***","\"***"`,
	} {
		if got := string(redactJSON([]byte(in), redact)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestRedactJSONStaysJSON: whatever is hidden, and nothing changes when nothing is.
func TestRedactJSONStaysJSON(t *testing.T) {
	leave := func(b []byte) []byte { return b }
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.MapOf(rapid.String(), rapid.OneOf(rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Int().AsAny(), rapid.SliceOf(rapid.String()).AsAny())).Draw(t, "value")
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if got := redactJSON(raw, leave); !bytes.Equal(got, raw) {
			t.Fatalf("%s became %s", raw, got)
		}
		secret := []byte(rapid.StringMatching(`[0-9a-z"\\]`).Draw(t, "secret"))
		hidden := redactJSON(raw, func(b []byte) []byte { return bytes.ReplaceAll(b, secret, []byte("*")) })
		if !json.Valid(hidden) {
			t.Fatalf("without %q, %s became %s", secret, raw, hidden)
		}
		// Any bytes end.
		redactJSON(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"), leave)
	})
}
