package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/internal/render"
	"github.com/mcpvigil/mcpvigil/target"
)

// visit follows an address as a browser does and returns where it ends; person
// is what the person does at the authorization server. Without following, it
// returns where the browser would be sent.
func visit(address, person string, follow bool) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"&person="+person, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		if follow {
			return nil
		}
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Header.Get("Location"), nil
}

// logsInAs is the command login PERSON CODE ARGS...: it runs mcpvigil login while somebody sits at it, and
// leaves login.out and login.err.
func logsInAs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: login PERSON CODE ARG...")
	}
	cmd := exec.Command("mcpvigil", append([]string{"login"}, args[2:]...)...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "GORACE", "SystemRoot", "TMPDIR", "MCPVIGIL_TIMEOUT"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	var out, errs bytes.Buffer
	cmd.Stderr = &errs
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for first := true; lines.Scan(); first = false {
		fmt.Fprintln(&out, lines.Text())
		if first && strings.HasPrefix(lines.Text(), "http") {
			ts.Check(sit(args[0], lines.Text(), stdin, cmd.Process))
		}
	}
	code := 0
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	ts.Check(os.WriteFile(ts.MkAbs("login.out"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("login.err"), errs.Bytes(), 0o644))
	if strconv.Itoa(code) != args[1] {
		ts.Fatalf("exit code is %d, want %s\n%s%s", code, args[1], out.String(), errs.String())
	}
}

// sit does what the person does.
func sit(person, address string, stdin io.Writer, p *os.Process) error {
	switch person {
	case "leaves":
		return nil
	case "interrupts":
		return p.Signal(os.Interrupt)
	case "pastes", "pastes-denial":
		what := ""
		if person == "pastes-denial" {
			what = "denies"
		}
		location, err := visit(address, what, false)
		if err == nil {
			_, err = fmt.Fprintf(stdin, "\nsomething else\n%s\n", location)
		}
		return err
	}
	_, err := visit(address, person, true)
	return err
}

func TestBrowser(t *testing.T) {
	for _, tt := range []struct {
		system string
		set    []string
		want   string
	}{
		{"linux", nil, ""},
		{"linux", []string{"DISPLAY"}, "xdg-open"},
		{"linux", []string{"WAYLAND_DISPLAY"}, "xdg-open"},
		{"linux", []string{"WAYLAND_DISPLAY", "SSH_CONNECTION"}, ""},
		{"linux", []string{"DISPLAY", "SSH_CONNECTION"}, "xdg-open"}, // forwarded
		{"freebsd", []string{"DISPLAY"}, "xdg-open"},
		{"darwin", nil, "open"},
		{"darwin", []string{"SSH_CONNECTION"}, ""},
		{"windows", nil, "rundll32 url.dll,FileProtocolHandler"},
	} {
		got := browser(tt.system, func(name string) bool { return slices.Contains(tt.set, name) })
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s with %v: %v, want %q", tt.system, tt.set, got, tt.want)
		}
	}
	a := &app{lookup: func(string) (string, bool) { return "x", true }}
	for _, address := range []string{"file:///etc/passwd", "--help", "javascript:1"} {
		if a.openBrowser(address) {
			t.Errorf("%s was opened", address)
		}
	}
}

// TestLoginTrustsAsChecksDo: a private authority and a client certificate, as
// the target says.
func TestLoginTrustsAsChecksDo(t *testing.T) {
	as := preparedAuthority()
	as.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	as.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	as.StartTLS()
	defer as.Close()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(as.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: as.Certificate().Raw}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}, "none.pem": {},
	} {
		text := pem.EncodeToMemory(block)
		if name == "none.pem" {
			text = []byte("nothing")
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	whole := target.TLS{CAFile: path("ca.pem"), CertFile: path("ca.pem"), KeyFile: path("key.pem")}
	for _, tt := range []struct {
		name string
		tls  target.TLS
		want string // "": it starts
	}{
		{"all", whole, ""},
		{"another name", target.TLS{CAFile: whole.CAFile, CertFile: whole.CertFile, KeyFile: whole.KeyFile, ServerName: "example.com"}, ""},
		{"a wrong name", target.TLS{CAFile: whole.CAFile, CertFile: whole.CertFile, KeyFile: whole.KeyFile, ServerName: "other.example"}, "no answer from"},
		{"no client certificate", target.TLS{CAFile: whole.CAFile}, "no answer from"},
		{"no authority", target.TLS{CertFile: whole.CertFile, KeyFile: whole.KeyFile}, "no answer from"},
		{"authority without certificate", target.TLS{CAFile: path("none.pem")}, "the certificate authority in " + path("none.pem") + " cannot be used: it holds no PEM certificate"},
		{"no file", target.TLS{CAFile: path("gone.pem")}, "the certificate authority in " + path("gone.pem") + " cannot be used: no such file or directory"},
		{"no key", target.TLS{CertFile: path("ca.pem"), KeyFile: path("none.pem")}, "the client certificate in " + path("ca.pem") + " and " + path("none.pem") + " cannot be used: "},
	} {
		cfg, err := loginConfig(t.Context(), &target.Target{
			Endpoint: as.URL + "/mcp", TLS: tt.tls,
			OAuth: &target.OAuth{Grant: target.AuthorizationCode, Issuer: as.URL, ClientID: "c", TokenFile: path("tokens/t.json")},
		})
		if err == nil {
			var login *access.Login
			if login, err = access.StartLogin(t.Context(), cfg); err == nil {
				login.Close()
			}
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

const secretTargets = `version: v1
targets:
  - {name: token, type: mcp, endpoint: 'AS/mcp', auth: {bearer_env: T_BEARER}}
  - {name: refused, type: mcp, endpoint: 'AS/mcp', auth: {headers: [{name: Authorization, value_file: DIR/header}, {name: X-API-Key, value_command: [cat, DIR/key]}]}}
  - {name: machine, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: client_credentials, client_secret_env: T_SECRET}}}
  - {name: refused machine, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: client_credentials, client_secret_env: T_SECRET, scopes: [refused]}}}
  - {name: signer, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: client_credentials, private_key_file: DIR/pem}}}
  - {name: refused signer, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: client_credentials, private_key_file: DIR/pem, scopes: [refused]}}}
  - {name: broken signer, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: client_credentials, private_key_file: DIR/cut}}}
  - {name: renewed, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: refresh_token, refresh_token_env: T_REFRESH, token_file: tokens/renewed.json}}}
  - {name: not renewed, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: refresh_token, refresh_token_env: T_REFRESH, scopes: [refused]}}}
  - {name: person, type: mcp, endpoint: 'AS/mcp', mcp: {oauth: {issuer: AS, client_id: c, grant: authorization_code, client_secret_env: T_SECRET, token_file: tokens/person.json}}}
  - {name: audit, type: mcp, endpoint: 'AS/mcp', auth: {mode: oauth}}
`

// TestNoSecretIsShown runs every command in every format over credentials of
// every kind, and looks for each of them, for the tokens that they brought, and
// for what a login makes, in all that was printed. The server quotes what it
// refuses.
func TestNoSecretIsShown(t *testing.T) {
	as := newAuthority()
	defer as.Close()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keyText := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	as.secrets = []string{"bearer-0123456789abcdef", "basic-0123456789abcdef", "key-0123456789abcdef", "secret-0123456789abcdef", "refresh-0-0123456789abcdef", keyText}
	for line := range strings.Lines(keyText) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-") {
			as.secrets = append(as.secrets, line)
		}
	}
	for name, text := range map[string]string{
		"header": "Basic basic-0123456789abcdef", "key": "key-0123456789abcdef\n", "pem": keyText, "cut": keyText[:len(keyText)-40],
		"mcpvigil.yaml": strings.NewReplacer("AS", as.URL, "DIR", dir).Replace(secretTargets),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("T_BEARER", "bearer-0123456789abcdef")
	t.Setenv("T_SECRET", "secret-0123456789abcdef")
	t.Setenv("T_REFRESH", "refresh-0-0123456789abcdef")
	file := filepath.Join(dir, "mcpvigil.yaml")

	var all, links bytes.Buffer
	run := func(args ...string) {
		stdout, w := io.Pipe()
		var stderr bytes.Buffer
		done := make(chan int)
		go func() {
			code := Main(append([]string{"mcpvigil"}, args...), nil, w, &stderr, os.LookupEnv)
			w.Close()
			done <- code
		}()
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "/authorize?") {
				links.WriteString(lines.Text() + "\n") // it is the one place of the state
				if _, err := visit(lines.Text(), "", true); err != nil {
					t.Error(err)
				}
				continue
			}
			all.WriteString(lines.Text() + "\n")
		}
		fmt.Fprintf(&all, "%s[%v: exit %d]\n", stderr.String(), args, <-done)
	}
	run("check", file) // nobody has logged in
	run("login", file, "person")
	for _, format := range render.Formats() {
		run("check", file, "--verbose", "--format", string(format))
		run("doctor", file, "--format", string(format))
		run("ping", file, "--format", string(format))
	}
	run("check", file, "--exit-map", "nagios")
	run("inspect", file)
	run("inspect", file, "--format", "json")
	run("validate", file)
	run("check", as.URL+"/mcp", "--bearer-command", "cat "+filepath.Join(dir, "key"))
	run("check", as.URL+"/mcp", "--auth-chain")

	text := all.String()
	for _, worked := range []string{"logged in: person", "[[inspect " + file + "]: exit 2]", "token-refused", "token-rejected", "grant-invalid"} {
		if !strings.Contains(text, worked) {
			t.Errorf("the run did not get to %q", worked)
		}
	}
	if len(as.states) == 0 || !strings.Contains(links.String(), as.states[0]) {
		t.Error("nobody logged in")
	}
	if len(as.secrets) < 50 {
		t.Errorf("only %d secrets were used", len(as.secrets))
	}
	for _, secret := range append(as.secrets, as.states...) {
		for _, form := range []string{secret, fmt.Sprintf("%.16s", secret), strings.ReplaceAll(secret, "\n", `\n`)} {
			if i := strings.Index(text, form); i >= 0 {
				t.Fatalf("shown: %s\nin: %s", form, text[max(0, i-400):min(len(text), i+200)])
			}
		}
	}
	for _, secret := range as.secrets {
		if strings.Contains(links.String(), secret) {
			t.Errorf("in the address of the login: %s", secret)
		}
	}
	t.Logf("%d secrets, %d bytes of output", len(as.secrets), len(text))
}
