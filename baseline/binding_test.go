package baseline

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

func TestBindingOf(t *testing.T) {
	for name, c := range map[string]struct {
		target target.Target
		client string
		want   Binding
	}{
		"open": {target.Target{Endpoint: "https://a.example/mcp"}, "", Binding{Endpoint: "https://a.example/mcp"}},
		"query and user": {
			target.Target{Endpoint: "https://u:p@a.example/mcp?key=s3cret&bare", ProtocolVersion: "2025-11-25"},
			"other",
			Binding{Endpoint: "https://a.example/mcp?key=***&***", Client: "other", Protocol: "2025-11-25"},
		},
		"headers": {
			target.Target{Endpoint: "https://a.example", Headers: []target.Header{
				{Name: "X-Tenant", Value: target.Literal("s3cret")},
				{Name: "X-Key", Value: target.FromFile("/run/secrets/key")},
				{Name: "X-Other", Value: target.FromCommand("/usr/bin/op", "read", "s3cret")},
				target.Bearer(target.FromEnv("TOKEN")),
				{Name: "X-Token", Value: target.FromEnv("TOKEN")},
			}},
			"",
			Binding{Endpoint: "https://a.example", Credential: "command:op, env:TOKEN, file:key, header:X-Tenant"},
		},
		"login": {
			target.Target{
				Endpoint: "https://a.example", OAuth: &target.OAuth{Issuer: "https://login.example/?k=s3cret", ClientID: "c1"},
				TLS: target.TLS{CertFile: `C:\certs\client.pem`},
			},
			"",
			Binding{Endpoint: "https://a.example", Credential: "certificate:client.pem, oauth:c1@https://login.example/?k=***"},
		},
		"login by document": {
			target.Target{Endpoint: "https://a.example", OAuth: &target.OAuth{Issuer: "https://login.example", ClientMetadataURL: "https://c.example/c.json?k=s3cret"}},
			"",
			Binding{Endpoint: "https://a.example", Credential: "oauth:https://c.example/c.json?k=***@https://login.example"},
		},
		"stdio": {
			target.Target{Endpoint: "stdio://files", Command: &target.Command{
				Path: "npx", Args: []string{"-y", "server", "--key=s3cret"}, ShownArgs: []string{"-y", "server", "--key=***"},
				Env: []target.EnvVar{{Name: "MODE", Value: target.Literal("s3cret")}, {Name: "API_TOKEN", Value: target.FromEnv("FILES_TOKEN")}},
			}},
			"",
			Binding{Endpoint: "npx -y server --key=***", Credential: "env:FILES_TOKEN, env:MODE"},
		},
		"stdio with a name": {
			target.Target{Name: "my\u202efiles", Endpoint: "stdio://files", Command: &target.Command{Path: "npx", Args: []string{"-y", "server@2"}}},
			"",
			Binding{Endpoint: `stdio://my\u{202E}files`},
		},
		"address with a name": {target.Target{Name: "search", Endpoint: "https://a.example/mcp"}, "", Binding{Endpoint: "https://a.example/mcp"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, BindingOf(&c.target, c.client)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
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
