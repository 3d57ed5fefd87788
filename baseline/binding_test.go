package baseline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
