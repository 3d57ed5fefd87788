package surface

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDigestText(t *testing.T) {
	d := only(t, New(Input{Protocol: "2025-11-25"}), Protocol).Digests.Raw
	text, err := d.MarshalText()
	if err != nil || string(text) != d.String() || len(d.String()) != len("sha256:")+64 || d.IsZero() {
		t.Errorf("%q, %v", text, err)
	}
	var back Digest
	if err := back.UnmarshalText(text); err != nil || back != d {
		t.Errorf("%s became %s, %v", d, back, err)
	}
	for _, bad := range []string{"", "sha256:", d.String()[:70], d.String() + "0", "sha512:" + d.String()[7:], "sha256:zz" + d.String()[9:]} {
		if err := new(Digest).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a digest", bad)
		}
	}
}

func TestOf(t *testing.T) {
	s := New(Input{Tools: entries(`{"name":"b"}`, `{"name":"a"}`), Prompts: entries(`{"name":"p"}`)})
	names := map[Kind][]string{}
	for _, kind := range Kinds() {
		for _, i := range s.Of(kind) {
			names[kind] = append(names[kind], i.Name)
		}
	}
	if diff := cmp.Diff(map[Kind][]string{Tool: {"a", "b"}, Prompt: {"p"}}, names); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
}

// TestSurfaceDigest: what is not known is not the same as what is not there.
func TestSurfaceDigest(t *testing.T) {
	none := Input{Tools: entries(), Resources: entries(), ResourceTemplates: entries(), Prompts: entries()}
	unknown := none
	unknown.Prompts = List{}
	one := none
	one.Prompts = entries(`{"name":"a"}`)
	other := none
	other.Tools = entries(`{"name":"a"}`)
	seen := map[Digest]bool{}
	for _, in := range []Input{none, unknown, one, other} {
		seen[New(in).Digest()] = true
	}
	if len(seen) != 4 {
		t.Errorf("4 surfaces have %d digests", len(seen))
	}
}

func TestMarshalJSON(t *testing.T) {
	s := New(Input{Protocol: "2025-11-25", Tools: entries(`{"name":"<a>\u2028"}`, "\"\xff\"")})
	file, err := json.Marshal(map[string]any{"result": s})
	if err != nil {
		t.Fatal(err)
	}
	back, err := Read(file)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if diff := cmp.Diff(s.Items(), back.Items()); diff != "" || s.Digest() != back.Digest() {
		t.Errorf("items (-want +got)\n%s", diff)
	}
}

func TestSave(t *testing.T) {
	s := New(Input{
		Opening:  json.RawMessage(`{"serverInfo":{"name":"s"},"capabilities":{},"instructions":"\u202ea"}`),
		Protocol: "2025-11-25",
		Tools:    entries(`{"name":"b"}`, "{\"name\":\"a\xff\"}"),
		Prompts:  entries(),
		Auth:     &AuthMetadata{Issuer: json.RawMessage(`{"issuer":"i"}`)},
	})
	want := `{
  "surface": 1,
  "serverInfo": {
    "name": "s"
  },
  "protocolVersion": "2025-11-25",
  "capabilities": {},
  "instructions": "\u202ea",
  "auth": {
    "issuer": {
      "issuer": "i"
    }
  },
  "tools": [
    {
      "canonicalBase64": "eyJuYW1lIjoiYf8ifQ=="
    },
    {
      "name": "b"
    }
  ],
  "unlisted": [
    "resource",
    "resourceTemplate"
  ]
}
`
	if diff := cmp.Diff(want, string(s.Save())); diff != "" {
		t.Errorf("file (-want +got)\n%s", diff)
	}
}
