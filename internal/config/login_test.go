package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/target"
)

func TestOAuth(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"key.pem", "refresh", "ca.pem", "tls.crt", "tls.key"} {
		writeFile(t, dir, name, "x")
	}
	file := filepath.Join(dir, "my servers.yaml")
	text := strings.ReplaceAll(`version: v1
targets:
  - name: machine
    type: mcp
    endpoint: https://mcp.example.com/mcp
    thresholds: {min_token_days: 14}
    tls: {ca_file: DIR/ca.pem, cert_file: DIR/tls.crt, key_file: 'DIR/${KEY}', server_name: inside.example}
    mcp:
      oauth:
        issuer: https://${AS}
        client_id: c
        grant: client_credentials
        private_key_file: DIR/key.pem
        key_id: k
        algorithm: ES256
        scopes: [read, write]
        resource: https://mcp.example.com/mcp
  - name: it's me
    type: mcp
    endpoint: https://mcp.example.com/mcp
    mcp:
      oauth: {issuer: 'http://127.0.0.1:9/as', client_metadata_url: 'https://c.example/client.json', grant: authorization_code, client_secret_env: SECRET, token_file: .credentials/t.json, redirect_port: 8765}
  - name: renewed
    id: renewed
    type: mcp
    endpoint: https://mcp.example.com/mcp
    mcp:
      oauth: {issuer: 'https://as.example', client_id: c, grant: refresh_token, refresh_token_file: DIR/refresh, token_file: /var/lib/mcpvigil/t.json}
  - name: audit
    type: mcp
    endpoint: https://mcp.example.com/mcp
    auth: {mode: oauth}
  - name: open
    type: mcp
    endpoint: https://mcp.example.com/mcp
    auth: {mode: none}
  - name: fixed
    type: mcp
    endpoint: https://mcp.example.com/mcp
    auth: {mode: header, headers: [{name: X-A, value_command: [sh, -c, 'echo "$0"', '${AS}']}, {name: X-B, value_env: SECRET}]}
`, "DIR", dir)
	f, err := Parse(file, []byte(text), Options{LookupEnv: env("AS", "as.example", "KEY", "tls.key", "SECRET", "x")})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range f.Targets {
		if p := got.Validate(); p != nil {
			t.Errorf("%s: %+v", got.Name, p)
		}
	}
	quoted := "'" + file + "'"
	want := []*target.OAuth{
		{
			Grant: target.ClientCredentials, Issuer: "https://as.example", ClientID: "c", PrivateKey: target.FromFile(dir + "/key.pem"), KeyID: "k", Algorithm: "ES256",
			Scopes: []string{"read", "write"}, Resource: "https://mcp.example.com/mcp", LoginCommand: "mcpvigil login " + quoted + " machine",
		},
		{
			Grant: target.AuthorizationCode, Issuer: "http://127.0.0.1:9/as", ClientMetadataURL: "https://c.example/client.json", ClientSecret: target.FromEnv("SECRET"),
			TokenFile: filepath.Join(dir, ".credentials", "t.json"), RedirectPort: 8765, LoginCommand: "mcpvigil login " + quoted + ` 'it'\''s me'`,
		},
		{
			Grant: target.RefreshToken, Issuer: "https://as.example", ClientID: "c", RefreshToken: target.FromFile(dir + "/refresh"), TokenFile: "/var/lib/mcpvigil/t.json",
			LoginCommand: "mcpvigil login " + quoted + " renewed",
		},
		nil, nil, nil,
	}
	for i, got := range f.Targets {
		if diff := cmp.Diff(want[i], got.OAuth, sameSecret); diff != "" {
			t.Errorf("%s (-want +got):\n%s", got.Name, diff)
		}
		if got.AuditChain != (got.Name == "audit") {
			t.Errorf("%s: audit %v", got.Name, got.AuditChain)
		}
	}
	machine := f.Targets[0]
	if tls := (target.TLS{CAFile: dir + "/ca.pem", CertFile: dir + "/tls.crt", KeyFile: dir + "/tls.key", ServerName: "inside.example"}); machine.TLS != tls || machine.Expect.MinTokenDays != 14 {
		t.Errorf("%+v, %d", machine.TLS, machine.Expect.MinTokenDays)
	}
	h := f.Targets[5].Headers
	if value, err := h[0].Value.Reveal(t.Context()); len(h) != 2 || err != nil || value != "as.example" {
		t.Errorf("%+v: %q, %v", h, value, err)
	}
}

// TestPortableOAuth: no file, no program and no variable is looked at.
func TestPortableOAuth(t *testing.T) {
	data, err := os.ReadFile("../../examples/oauth.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more := "  - {name: x, type: mcp, endpoint: 'https://x.example', tls: {ca_file: /none}, mcp: {oauth: {issuer: '${AS}', client_id: c, grant: client_credentials, private_key_file: /none}}}\n" +
		"  - {name: y, type: mcp, endpoint: 'https://x.example', auth: {bearer_command: [no-such-program]}}\n"
	f, err := Parse("f", append(data, more...), Options{Portable: true, LookupEnv: func(string) (string, bool) {
		t.Error("the environment was read")
		return "", false
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range f.Targets {
		if got.Problem != nil {
			t.Errorf("%s: %+v", got.Name, got.Problem)
		}
	}
}

func TestQuoteWord(t *testing.T) {
	for word, want := range map[string][2]string{
		"mcpvigil.yaml": {"mcpvigil.yaml", "mcpvigil.yaml"},
		"":              {"''", `""`},
		"a b":           {"'a b'", `"a b"`},
		"$(x)`y`":       {"'$(x)`y`'", "\"$(x)`y`\""},
		"it's":          {`'it'\''s'`, `"it's"`},
		`C:\a\b.yaml`:   {`'C:\a\b.yaml'`, `C:\a\b.yaml`},
		"~/x":           {"'~/x'", `"~/x"`},
	} {
		if got := [2]string{quoteWord(word, false), quoteWord(word, true)}; got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
