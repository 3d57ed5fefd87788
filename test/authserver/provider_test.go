// Package authserver_test gets in with OAuth for real: tokens from the OpenID
// provider in server.mjs, an MCP server on the Go SDK that verifies them, and a
// person's login walked through the provider's own pages.
package authserver_test

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// client is a registered client: the metadata of RFC 7591 in JSON.
type client map[string]any

// settings are those of server.mjs.
type settings struct {
	Clients     []client          `json:"clients"`
	AuthMethods []string          `json:"authMethods,omitempty"`
	Documents   map[string]client `json:"documents,omitempty"`
}

// provider is a running authorization server.
type provider struct {
	t    testing.TB
	url  string // the issuer
	stop func()

	mu      sync.Mutex
	stopped bool
	known   []string // secrets that the test made, or it gave out
}

// entry is what the provider remembers of a token request, or of a grant that it
// revoked because a refresh token was used twice.
type entry struct {
	Grant, Client, Method, Resource, Scope, Error string
	Status                                        int
	Secrets                                       []string
}

var listening = regexp.MustCompile(`^listening (\d+)$`)

// newProvider runs the provider until the test ends.
func newProvider(t testing.TB, s settings) *provider {
	t.Helper()
	node, err := filepath.Abs("../../.tools/bin/node22")
	if err != nil {
		t.Fatal(err)
	}
	// Looking at server.mjs also keeps go test from taking an old result for a new
	// server.
	for _, file := range []string{node, "node_modules/oidc-provider", "server.mjs"} {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s is missing: run make test-deps", file)
		}
	}
	line, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "server.mjs")
	stdin, err := cmd.StdinPipe() // it ends with this process, whatever happens
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(stdin, "%s\n", line); err != nil {
		t.Fatal(err)
	}
	port, ended := make(chan string, 1), make(chan string, 1)
	go func() {
		var said []string
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				port <- m[1]
			}
			said = append(said, lines.Text())
		}
		ended <- strings.Join(said, "\n")
	}()
	p := &provider{t: t}
	p.stop = sync.OnceFunc(func() {
		p.mu.Lock()
		p.stopped = true
		p.mu.Unlock()
		stdin.Close()
		cmd.Process.Kill()
		if said := <-ended; t.Failed() {
			t.Logf("the provider said:\n%s", said)
		}
		cmd.Wait()
	})
	t.Cleanup(p.stop)
	select {
	case n := <-port:
		p.url = "http://127.0.0.1:" + n
	case said := <-ended:
		ended <- ""
		t.Fatalf("the provider ended before it listened:\n%s", said)
	case <-time.After(time.Minute):
		t.Fatal("the provider does not listen after a minute")
	}
	for _, c := range s.Clients {
		if secret, ok := c["client_secret"].(string); ok {
			p.hide(secret, url.QueryEscape(secret))
		}
	}
	return p
}

func (p *provider) hide(secrets ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = append(p.known, secrets...)
}

// ttl sets how long new access tokens live.
func (p *provider) ttl(life time.Duration) {
	p.t.Helper()
	resp, err := http.Post(fmt.Sprintf("%s/test/ttl?access=%d", p.url, int(life.Seconds())), "", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
}

func (p *provider) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.stopped
}

func (p *provider) log() []entry {
	p.t.Helper()
	resp, err := http.Get(p.url + "/test/log")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var log []entry
	if err := json.NewDecoder(resp.Body).Decode(&log); err != nil {
		p.t.Fatal(err)
	}
	for _, e := range log {
		p.hide(e.Secrets...)
	}
	return log
}

// wantLog compares what the provider did with lines of grant, client, status and
// error, and says why a second look is worth it.
func (p *provider) wantLog(want ...string) {
	p.t.Helper()
	var got []string
	for _, e := range p.log() {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", e.Grant, e.Client, e.Status, e.Error)))
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("the provider was asked\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// form posts to an endpoint of the provider and returns the JSON answer.
func (p *provider) form(path string, values url.Values) (status int, answer map[string]any) {
	p.t.Helper()
	resp, err := http.PostForm(p.url+path, values)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &answer); err != nil {
			p.t.Fatalf("%v\n%s", err, data)
		}
	}
	return resp.StatusCode, answer
}

// newSecret needs every escape there is.
func newSecret() string { return rand.Text() + "+/ %&=:~" }

// machine is a client without a person.
func machine(id, method, secret string) client {
	return client{
		"client_id": id, "client_secret": secret, "token_endpoint_auth_method": method, "grant_types": []string{"client_credentials"},
		"redirect_uris": []string{}, "response_types": []string{}, "scope": "mcp:read mcp:write",
	}
}

// person is a client that a person logs in with: public without a secret. The
// port of its callback is free to choose, as RFC 8252 has it.
func person(id, secret string) client {
	c := client{
		"client_id": id, "client_name": "mcpvigil", "application_type": "native", "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "redirect_uris": []string{"http://127.0.0.1/callback"}, "response_types": []string{"code"},
	}
	if secret != "" {
		c["client_secret"], c["token_endpoint_auth_method"] = secret, "client_secret_basic"
	}
	return c
}

// keyed is a client that signs assertions, and its private key in PEM form.
func keyed(t testing.TB, id, alg string) (c client, private string) {
	t.Helper()
	var key crypto.Signer
	var jwk map[string]string
	b64 := base64.RawURLEncoding.EncodeToString
	switch alg {
	case "RS256", "PS256":
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		key, jwk = k, map[string]string{"kty": "RSA", "n": b64(k.N.Bytes()), "e": "AQAB"}
	case "ES256":
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := k.PublicKey.Bytes() // 4, X, Y
		if err != nil {
			t.Fatal(err)
		}
		key, jwk = k, map[string]string{"kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}
	case "EdDSA":
		public, k, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, jwk = k, map[string]string{"kty": "OKP", "crv": "Ed25519", "x": b64(public)}
	}
	jwk["kid"], jwk["alg"] = "k-"+alg, alg
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c = machine(id, "private_key_jwt", "")
	delete(c, "client_secret")
	c["jwks"] = map[string]any{"keys": []any{jwk}}
	c["token_endpoint_auth_signing_alg"] = alg
	return c, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
