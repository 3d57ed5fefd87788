package surface

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	baseResource = `{"resource":"https://mcp.acme.com/mcp","authorization_servers":["https://as.acme.com","https://b.acme.com"],
		"scopes_supported":["read","write"],"resource_name":"Acme"}`
	baseIssuer = `{"issuer":"https://as.acme.com","authorization_endpoint":"https://as.acme.com/authorize",
		"token_endpoint":"https://as.acme.com/token","jwks_uri":"https://keys.acme.com/jwks","jwks":{"keys":[1]},
		"code_challenge_methods_supported":["S256","plain"],"grant_types_supported":["authorization_code"],
		"service_documentation":"https://docs.acme.com","mtls_endpoint_aliases":{"token_endpoint":"https://mtls.acme.com/token"}}`
)

func loginOf(resource, issuer string) *Surface {
	return New(Input{Auth: &AuthMetadata{Resource: json.RawMessage(resource), Issuer: json.RawMessage(issuer)}})
}

func TestCompareAuth(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new string // replaced in both documents
		want     []string
	}{
		{"slash of the resource", `.com/mcp"`, `.com/mcp/"`, nil},
		{"resource", `.com/mcp"`, `.com/other"`, []string{"auth-resource /resource/resource resource changed"}},
		{"order of servers", `["https://as.acme.com","https://b.acme.com"]`, `["https://b.acme.com/","https://as.acme.com"]`, nil},
		{"another server", `"https://b.acme.com"`, `"https://evil.com"`, []string{"auth-issuer /resource/authorization_servers authorization servers changed"}},
		{"slash of the issuer", `"issuer":"https://as.acme.com"`, `"issuer":"https://as.acme.com/"`, nil},
		{"issuer", `"issuer":"https://as.acme.com"`, `"issuer":"https://as.acme.com/tenant"`, []string{"auth-issuer /issuer/issuer issuer changed"}},
		{"no issuer", `"issuer":"https://as.acme.com",`, ``, []string{"auth-issuer /issuer/issuer issuer removed"}},
		{"path of an endpoint", `.com/token","jwks`, `.com/token2","jwks`, []string{"auth-metadata /issuer/token_endpoint endpoint changed, on a host that was approved"}},
		{"host of an endpoint", `as.acme.com/token`, `b.acme.com/token`, []string{"auth-endpoint-host /issuer/token_endpoint endpoint changed, on another host"}},
		{"host of another endpoint", `as.acme.com/token`, `keys.acme.com/token`, []string{"auth-endpoint-host /issuer/token_endpoint endpoint changed, on another host"}},
		{"scheme of an endpoint", `https://as.acme.com/token`, `http://as.acme.com/token`, []string{"auth-endpoint-host /issuer/token_endpoint endpoint changed, on another host"}},
		{"port of an endpoint", `as.acme.com/token`, `as.acme.com:444/token`, []string{"auth-endpoint-host /issuer/token_endpoint endpoint changed, on another host"}},
		{"default port", `as.acme.com/token`, `AS.acme.com:443/token`, []string{"auth-metadata /issuer/token_endpoint endpoint changed, on a host that was approved"}},
		{"host that is none", `https://as.acme.com/token`, `as.acme.com/token`, []string{"auth-endpoint-host /issuer/token_endpoint endpoint changed, on another host"}},
		{"credentials before a host", `https://as.acme.com/token`, `https://as.acme.com@evil.com/token`, []string{"auth-endpoint-host /issuer/token_endpoint endpoint changed, on another host"}},
		{"host of the keys", `keys.acme.com`, `keys.evil.com`, []string{"auth-endpoint-host /issuer/jwks_uri endpoint changed, on another host"}},
		{"host of an alias", `mtls.acme.com`, `evil.com`, []string{"auth-endpoint-host /issuer/mtls_endpoint_aliases/token_endpoint endpoint changed, on another host"}},
		{"new endpoint", `"jwks":`, `"registration_endpoint":"https://as.acme.com/r","jwks":`, []string{"auth-metadata /issuer/registration_endpoint endpoint added, on a host that was approved"}},
		{"new endpoint on a new host", `"jwks":`, `"registration_endpoint":"https://evil.com/r","jwks":`, []string{"auth-endpoint-host /issuer/registration_endpoint endpoint added, on another host"}},
		{"endpoint gone", `"jwks_uri":"https://keys.acme.com/jwks",`, ``, []string{"auth-metadata /issuer/jwks_uri removed"}},
		{"keys", `"keys":[1]`, `"keys":[2]`, nil},
		{"S256 lost", `["S256","plain"]`, `["plain"]`, []string{"auth-s256-lost /issuer/code_challenge_methods_supported PKCE with S256 is no longer offered"}},
		{"PKCE gone", `"code_challenge_methods_supported":["S256","plain"],`, ``, []string{"auth-s256-lost /issuer/code_challenge_methods_supported PKCE with S256 is no longer offered"}},
		{"plain lost", `["S256","plain"]`, `["S256"]`, []string{"auth-metadata /issuer/code_challenge_methods_supported PKCE methods changed"}},
		{"order of methods", `["S256","plain"]`, `["plain","S256"]`, nil},
		{"scopes", `["read","write"]`, `["read","admin"]`, []string{"auth-scopes /resource/scopes_supported scopes changed"}},
		{"order of scopes", `["read","write"]`, `["write","read"]`, nil},
		{"grants", `["authorization_code"]`, `["implicit"]`, []string{"auth-metadata /issuer/grant_types_supported changed"}},
		{"for people", `"Acme"`, `"Evil"`, nil},
		{"documentation", `docs.acme.com`, `evil.com`, nil},
		{"an issuer in another letter case", `"jwks":`, `"Issuer":"https://evil.com","jwks":`, []string{"auth-issuer /issuer/Issuer issuer added"}},
		{"an endpoint in another letter case", `"jwks":`, `"Token_Endpoint":"https://evil.com","jwks":`, []string{"auth-endpoint-host /issuer/Token_Endpoint endpoint added, on another host"}},
		{"signed metadata", `"jwks":`, signed(`{"issuer":"https://evil.com"}`)[1:len(signed(`{"issuer":"https://evil.com"}`))-1] + `,"jwks":`, []string{"auth-issuer /issuer/signed_metadata signed metadata added"}},
		{"no object", baseIssuer, `[]`, []string{"auth-issuer /issuer changed: not an object"}},
		{"document gone", baseIssuer, ``, []string{"auth-issuer /issuer removed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			change := strings.NewReplacer(test.old, test.new).Replace
			if change(baseResource) == baseResource && change(baseIssuer) == baseIssuer {
				t.Fatal("nothing is replaced")
			}
			changes := Compare(loginOf(baseResource, baseIssuer), loginOf(change(baseResource), change(baseIssuer)), CompareOptions{})
			checkTold(t, changes, test.want...)
		})
	}
	checkTold(t, Compare(loginOf(baseResource, baseIssuer), New(Input{}), CompareOptions{})) // not looked at
	checkTold(t, Compare(loginOf(baseResource, baseIssuer), New(Input{Auth: &AuthMetadata{}}), CompareOptions{}),
		"auth-issuer /issuer removed", "auth-resource /resource removed")
	checkTold(t, Compare(New(Input{}), New(Input{Auth: &AuthMetadata{}}), CompareOptions{}))
	checkTold(t, Compare(New(Input{Auth: &AuthMetadata{}}), loginOf(baseResource, baseIssuer), CompareOptions{}),
		"auth-issuer /issuer added, where there was none", "auth-resource /resource added, where there was none")
	checkTold(t, Compare(loginOf(baseResource, ""), loginOf(baseResource, baseIssuer), CompareOptions{}),
		"auth-issuer /issuer added, where there was none")
	checkTold(t, Compare(New(Input{}), loginOf(baseResource, baseIssuer), CompareOptions{}),
		"auth-metadata /issuer added", "auth-metadata /resource added")
}

func TestCompareSignedMetadata(t *testing.T) {
	const approved = `{"issuer":"https://as.acme.com","token_endpoint":"https://as.acme.com/token","iat":1,"exp":2,"nbf":3,"jti":"a"}`
	for claims, want := range map[string][]string{
		strings.Replace(approved, `"iat":1`, `"iat":7`, 1):                                 nil,
		strings.Replace(approved, `https://as.acme.com/token`, `https://evil.com/`, 1):     {"auth-endpoint-host /issuer/signed_metadata/token_endpoint endpoint changed, on another host"},
		strings.Replace(approved, `"https://as.acme.com"`, `"https://evil.com"`, 1):        {"auth-issuer /issuer/signed_metadata/issuer issuer changed"},
		strings.Replace(approved, `"iat"`, `"scopes_supported":["x"],"iat"`, 1):            {"auth-scopes /issuer/signed_metadata/scopes_supported scopes added"},
		strings.Replace(approved, `"iat"`, `"service_documentation":"https://x","iat"`, 1): nil,
		`not JSON`: {"auth-issuer /issuer/signed_metadata signed metadata changed"},
	} {
		before, after := loginOf("", signed(approved)), loginOf("", signed(claims))
		checkTold(t, Compare(before, after, CompareOptions{}), want...)
		again := mustRead(t, after.Save())
		if again.Digest() != after.Digest() {
			t.Errorf("%s: it is not read back", claims)
		}
	}
}

func TestCompareHosts(t *testing.T) {
	tool := func(name, text string) string { return `{"name":"` + name + `","description":"` + text + `"}` }
	before := toolsOf(tool("a", "See https://api.acme.com/x, http://acme.github.io, http://1.2.3.4 and https://localhost."), tool("b", "b"))
	for text, want := range map[string]string{
		"See https://evil.com/x":                     `"evil.com"`,
		"HTTPS://EVIL.com:443.":                      `"evil.com"`,
		"http://evil.com:8080/":                      `"evil.com"`,
		"https://api.acme.com@evil.com/":             `"evil.com"`,
		"[x](https://evil.com)":                      `"evil.com"`,
		"<https://evil.com>":                         `"evil.com"`,
		"**https://evil.com**":                       `"evil.com"`,
		"https://*.evil.com/":                        `"evil.com"`,
		"https://%65vil.com/":                        `"evil.com"`,
		"line\\nhttps://evil.com\\nline":             `"evil.com"`,
		"https://api.acme.com.evil.com":              `"api.acme.com.evil.com"`,
		"https://notacme.com":                        `"notacme.com"`,
		"https://evil.github.io":                     `"evil.github.io"`,
		"http://93.184.216.34/x":                     `"93.184.216.34"`,
		"http://9.9.3.4/x":                           `"9.9.3.4"`,
		"http://1.2.3.4/x":                           "",
		"http://[2001:DB8::1]:80/":                   `"2001:db8::1"`,
		"http://intranet/":                           `"intranet"`,
		"postgres://u:p@db.evil.com/x":               `"db.evil.com"`,
		"https://b\u00fccher.de":                     `"b` + "\u00fc" + `cher.de"`,
		"https://example.com/ https://evil.com":      `"evil.com"`,
		"https://acme.com and https://v2.acme.com/":  "",
		"https://json-schema.org/draft":              "",
		"https://www.w3.org, https://schema.org":     "",
		"https://spdx.org/licenses":                  "",
		"https://example.com, https://a.example.org": "",
		"https://host.example/":                      "",
		"http://localhost:8080, http://127.0.0.1/":   "",
		"http://[::1]/":                              "",
		"ui://widget/x":                              "",
		"file:///etc/hosts":                          "",
		"https://{host}/ https://${HOST}/ https://%s/ https://$HOST/ https://<host>/ https://...": "",
		`https:\\\\evil.net\\x.png`:               `"evil.net"`,
		`https:/evil.net`:                         `"evil.net"`,
		`https:evil.net/x`:                        `"evil.net"`,
		`https:////evil.net`:                      `"evil.net"`,
		`//evil.net/x`:                            `"evil.net"`,
		`/\\evil.net/x`:                           `"evil.net"`,
		`\\\\evil.net`:                            `"evil.net"`,
		` \u0001//evil.net`:                       `"evil.net"`,
		`ht\ntps:/\t/ev\ril.net/x`:                `"evil.net"`,
		`https://api.acme.com\\@evil.net`:         "",
		`https://api.acme.com\t.evil.net/x`:       `"api.acme.com.evil.net"`,
		"see https:/evil.net/x":                   `"evil.net"`,
		`see https:\\evil.net\\x`:                 `"evil.net"`,
		"https://api.acme.com\u3002evil.net/x":    `"api.acme.com.evil.net"`,
		"\u898b https://api.acme.com\u3002\u66f4": "",
		"https://\uff45vil.net/":                  `"evil.net" "` + "\uff45" + `vil.net"`,
		"// a comment":                            "",
		"//comment":                               "",
		"http: a protocol, https:":                "",
		"file:///my.dir/x":                        "",
		"a: /b.c/d, c:/d.e":                       "",
		`C:\\Windows\\a.dll`:                      "",
		"mail me@evil.com":                        "",
		"evil.com without it":                     "",
	} {
		var got []string
		for _, c := range Compare(before, toolsOf(tool("a", "a"), tool("b", text)), CompareOptions{}) {
			if c.Class != HostAdded {
				continue
			}
			got = append(got, string(c.After))
			if c.Item != "b" || c.Pointer != "/description" || c.Before != nil {
				t.Errorf("%s: %+v", text, c)
			}
		}
		if line := strings.Join(got, " "); line != want {
			t.Errorf("%s: got %s, want %s", text, line, want)
		}
	}
}

func TestCompareHostsOnce(t *testing.T) {
	in := Input{
		Opening: json.RawMessage(`{"instructions":"Go to https://one.com","serverInfo":{"websiteUrl":"https://site.com"}}`),
		Tools: entries(`{"name":"a","inputSchema":{"properties":{"https://name.com":{"default":"https://two.com"}}}}`,
			`{"name":"b","title":"https://one.com https://two.com https://three.com"}`),
		Resources: entries(`{"uri":"https://files.com/1","name":"n"}`),
		Prompts:   List{},
		Auth:      &AuthMetadata{Issuer: json.RawMessage(`{"issuer":"https://auth.com","token_endpoint":"https://auth.com/t"}`)},
	}
	var got []string
	for _, c := range Compare(New(Input{}), New(in), CompareOptions{}) {
		if c.Class == HostAdded {
			got = append(got, string(c.Kind)+" "+c.Item+" "+c.Pointer+" "+string(c.After))
		}
	}
	want := []string{
		`server  /websiteUrl "site.com"`,
		`instructions   "one.com"`,
		`tool a /inputSchema/properties/https:~1~1name.com "name.com"`,
		`tool a /inputSchema/properties/https:~1~1name.com/default "two.com"`,
		`tool b /title "three.com"`,
		`resource https://files.com/1 /uri "files.com"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// Hosts of inventories that are not listed now, and of the login, stay known.
	full, part := New(in), New(Input{Resources: entries(`{"uri":"r:1","description":"https://two.com https://auth.com https://new.com"}`)})
	got = nil
	for _, c := range Compare(full, part, CompareOptions{}) {
		if c.Class == HostAdded {
			got = append(got, string(c.After))
		}
	}
	if diff := cmp.Diff([]string{`"new.com"`}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
