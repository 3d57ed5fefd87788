package baseline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/surface"
)

func TestVerifyMasks(t *testing.T) {
	b := approve(tools(t, "1.0.0", "read=Data as of 2026-11-01."))
	next := tools(t, "1.0.0", "read=Data as of 2026-11-02.")
	expect(t, run(next, b, surface.Policy{}), "changed", "fail tool-text read/description")
	b.Masks = []surface.Mask{{Kind: surface.Tool, Item: "read", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}}}
	expect(t, run(next, b, surface.Policy{}), "approved")
	expect(t, run(tools(t, "1.0.0", "read=Data from 2026-11-02."), b, surface.Policy{}), "changed", "fail tool-text read/description")
}

func TestUnusedMasks(t *testing.T) {
	s := of(t, `{
		"serverInfo": {"name": "s", "version": "1.2.3", "title": "Server of 2026-11-01"},
		"instructions": "Request 7.",
		"tools": [
			{"name": "a/b", "description": "Data {as} of 2026-11-01, {{1}} 5.",
			 "inputSchema": {"type": "object", "properties": {"x/y": {"description": "Up to 5.", "default": "5", "anyOf": [{"description": "5", "type": "string"}]}}}},
			{"name": "bad", "description": "\ud800 5"}
		],
		"prompts": [{"name": "p", "arguments": [{"name": "q", "description": "Of 1.2.3"}]}]
	}`)
	for text, used := range map[string]bool{
		"instructions=integer":                                        true,
		"instructions=date":                                           false,
		"instructions#/x=integer":                                     false,
		"server#/title=date":                                          true,
		"server#/version=version":                                     false, // no text
		"tool/a%2Fb#/description=date":                                true,
		"tool/a%2Fb#/description=date,version":                        true,
		"tool/a%2Fb#/description=version":                             false,
		"tool/a%2Fb#/title=date":                                      false,
		"tool/a%2Fb=date":                                             false,
		"tool/a#/description=date":                                    false,
		"tool/a%2Fb#/inputSchema/properties/x~1y/description=integer": true,
		"tool/a%2Fb#/inputSchema/properties/x~1y/anyOf/0/description=integer": true,
		"tool/a%2Fb#/inputSchema/properties/x~1y/anyOf/1/description=integer": false,
		"tool/a%2Fb#/inputSchema/properties/x~1y/default=integer":             false, // no text
		"tool/a%2Fb#/inputSchema/properties/x~1y=integer":                     false,
		"tool/bad#/description=integer":                                       false, // not to be compared
		"prompt/p#/arguments/0/description=version":                           true,
		"resource/p#/description=version":                                     false,
	} {
		m, err := ParseMask(text)
		if err != nil {
			t.Fatal(err)
		}
		b := approve(s)
		b.Masks = []surface.Mask{m}
		if got := len(b.UnusedMasks()) == 0; got != used {
			t.Errorf("%s: used %v, want %v", text, got, used)
		}
	}
}

func TestMasks(t *testing.T) {
	for text, want := range map[string]surface.Mask{
		"instructions=integer":                {Kind: surface.Instructions, Masks: []surface.MaskKind{surface.MaskInteger}},
		"tool/search#/description=date":       {Kind: surface.Tool, Item: "search", Pointer: "/description", Masks: []surface.MaskKind{surface.MaskDate}},
		"tool/a=b#/x~1y=version,integer":      {Kind: surface.Tool, Item: "a=b", Pointer: "/x~1y", Masks: []surface.MaskKind{surface.MaskVersion, surface.MaskInteger}},
		"resource/docs://a%23b#/name=integer": {Kind: surface.Resource, Item: "docs://a#b", Pointer: "/name", Masks: []surface.MaskKind{surface.MaskInteger}},
		"server#/version=version":             {Kind: surface.Server, Pointer: "/version", Masks: []surface.MaskKind{surface.MaskVersion}},
		"tool/a#/b=integer,date":              {Kind: surface.Tool, Item: "a", Pointer: "/b", Masks: []surface.MaskKind{surface.MaskDate, surface.MaskInteger}},
	} {
		got, err := ParseMask(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "tool", "tool/a#/b", "hammer/a=date", "protocol=date", "auth#/issuer/issuer=version", "capabilities#/x=date", "tool/a#b=date", "tool/a=", "tool/a=words", "tool/a=date,date", "tool/%zz=date", "tool/a#/%=date"} {
		if m, err := ParseMask(text); err == nil {
			t.Errorf("%q is %+v", text, m)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := surface.Mask{
			Kind: rapid.SampledFrom([]surface.Kind{surface.Server, surface.Instructions, surface.Tool, surface.Resource, surface.ResourceTemplate, surface.Prompt}).Draw(t, "kind"), Item: hostileText().Draw(t, "item"),
			Masks: rapid.SampledFrom([][]surface.MaskKind{{surface.MaskDate}, {surface.MaskDate, surface.MaskVersion, surface.MaskInteger}}).Draw(t, "masks"),
		}
		if rapid.Bool().Draw(t, "placed") {
			want.Pointer = "/" + hostileText().Draw(t, "pointer")
		}
		text := FormatMask(want)
		got, err := ParseMask(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%s: %v (-want +got)\n%s", text, err, diff)
		}
		for _, c := range " '\"$`;&|<>()*?!\\{}[]\n" {
			for _, r := range text {
				if r == c {
					t.Fatalf("a shell acts on %q in %s", c, text)
				}
			}
		}
	})
}
