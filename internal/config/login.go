package config

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/internal/access"
	"github.com/mcpvigil/mcpvigil/target"
)

// This file holds what gets a check in: credentials, trust and OAuth.

// secretEnv refers to a variable and tests that it is set.
func (p *part) secretEnv(n *yaml.Node, name variable) target.Secret {
	if !p.opts.Portable {
		if value, _ := p.opts.LookupEnv(string(name)); value == "" {
			p.missing(n, string(name))
		}
	}
	return target.FromEnv(string(name))
}

// secretFile refers to a file and tests that it can be read.
func (p *part) secretFile(n *yaml.Node, key, path string) target.Secret {
	return target.FromFile(p.readable(n, key, path, ReasonUnreadableSecret))
}

// readable expands the path of a file and tests that it can be read.
func (p *part) readable(n *yaml.Node, key, path, reason string) string {
	path = p.expand(n, key, path)
	if !p.opts.Portable && p.t.Problem == nil {
		if why := unreadable(path); why != "" {
			p.problem(n, reason, "file "+plain.Patterns(path)+" "+why, "create it, let this user read it, or change the path")
		}
	}
	return path
}

func unreadable(path string) string {
	f, err := openFile(path)
	if err != nil {
		switch {
		case errors.Is(err, errPipe):
			return "is a pipe, not a file"
		case os.IsNotExist(err):
			return "does not exist"
		case os.IsPermission(err):
			return "may not be read by this user"
		}
		return "cannot be opened"
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return "is a directory"
	}
	return ""
}

// secretCommand refers to a program that prints a secret, and tests that it is
// on this machine. It is not started.
func (p *part) secretCommand(list *yaml.Node, key string, argv []string) target.Secret {
	out := make([]string, len(argv))
	before := ""
	for i, arg := range argv {
		at := list
		if i < len(list.Content) {
			at = list.Content[i]
		}
		if !p.opts.AgentHealth && !strings.Contains(arg, "${") && slices.ContainsFunc(pieces(arg, before), func(c piece) bool { return c.secret && LooksSecret(c.text) }) {
			p.wrong(at, key, "an argument looks like a secret, which is never written into this file", "write ${VARIABLE} in its place")
		}
		out[i] = p.expand(at, key, arg)
		before = arg
	}
	if len(out) == 0 { // its mistake is recorded
		return target.Secret{}
	}
	if !p.opts.Portable && p.t.Problem == nil {
		if _, err := exec.LookPath(out[0]); err != nil {
			p.problem(list, ReasonUnreadableSecret, "command "+shownPath(out[0])+" of "+key+" is not found", "install it, or give its path; no shell is involved, so write the program and each argument as an item of their own")
		}
	}
	return target.FromCommand(out...)
}

func (p *part) credential() {
	c := p.f.Auth
	if c == nil {
		return
	}
	if p.t.Transport == target.Stdio && c.Mode != "none" {
		p.wrong(p.o.keyAt("auth"), "auth", "auth stands beside transport stdio, which has no headers", "hand the credential over with mcp.stdio.env")
	}
	if p.f.MCP != nil && p.f.MCP.OAuth != nil {
		p.wrong(p.o.keyAt("auth"), "auth", "auth stands beside mcp.oauth", "keep one of them")
	}
	switch {
	case c.Mode == "oauth":
		p.t.AuditChain = true
		if p.t.Transport == target.SSE {
			p.wrong(c.where("mode"), "auth.mode", "mode: oauth stands beside transport sse, which is older than the discovery chain", "use transport: http")
		}
	case c.BearerEnv != "":
		p.t.Headers = append(p.t.Headers, target.Bearer(p.secretEnv(c.where("bearer_env"), c.BearerEnv)))
	case c.BearerFile != "":
		p.t.Headers = append(p.t.Headers, target.Bearer(p.secretFile(c.where("bearer_file"), "auth.bearer_file", c.BearerFile)))
	case c.BearerCommand != nil:
		p.t.Headers = append(p.t.Headers, target.Bearer(p.secretCommand(c.where("bearer_command"), "auth.bearer_command", c.BearerCommand)))
	}
	seen := map[string]bool{}
	for _, h := range append(slices.Clone(c.Headers), c.Header) {
		if h == nil {
			continue
		}
		if name := strings.ToLower(h.Name); seen[name] {
			p.wrong(h.where("name"), "auth.headers", "header "+quoteKey(h.Name)+" is given twice", "keep one of them")
		} else {
			seen[name] = true
		}
		p.header(h)
	}
}

func (p *part) header(h *headerConfig) {
	out := target.Header{Name: h.Name, Prefix: h.Prefix}
	if LooksSecret(h.Prefix) {
		p.wrong(h.where("prefix"), "auth.header.prefix", "prefix looks like a secret itself", "put the secret into an environment variable and refer to it with value_env")
	}
	switch {
	case h.ValueEnv != "":
		out.Value = p.secretEnv(h.where("value_env"), h.ValueEnv)
	case h.ValueCommand != nil:
		out.Value = p.secretCommand(h.where("value_command"), "auth.header.value_command", h.ValueCommand)
	default:
		out.Value = p.secretFile(h.where("value_file"), "auth.header.value_file", h.ValueFile)
	}
	p.t.Headers = append(p.t.Headers, out)
}

func (p *part) trust() {
	c := p.f.TLS
	if c == nil {
		return
	}
	if p.t.Transport == target.Stdio {
		p.wrong(p.o.keyAt("tls"), "tls", "tls stands beside transport stdio, which has none", "remove it")
		return
	}
	switch {
	case c.has("cert_file") && !c.has("key_file"):
		p.wrong(c.keyAt("cert_file"), "tls.cert_file", "cert_file needs key_file", "add key_file")
	case c.has("key_file") && !c.has("cert_file"):
		p.wrong(c.keyAt("key_file"), "tls.key_file", "key_file needs cert_file", "add cert_file")
	}
	for _, f := range []struct {
		key, path string
		to        *string
	}{{"ca_file", c.CAFile, &p.t.TLS.CAFile}, {"cert_file", c.CertFile, &p.t.TLS.CertFile}, {"key_file", c.KeyFile, &p.t.TLS.KeyFile}} {
		if f.path != "" {
			*f.to = p.readable(c.where(f.key), "tls."+f.key, f.path, ReasonTLSFiles)
		}
	}
	p.t.TLS.ServerName = p.expand(c.where("server_name"), "tls.server_name", c.ServerName)
}

func (p *part) oauth(c *mcpConfig) {
	o := c.OAuth
	if o == nil {
		return
	}
	if p.t.Transport == target.Stdio {
		p.wrong(c.keyAt("oauth"), "mcp.oauth", "oauth stands beside transport stdio, which has no headers", "remove it")
	}
	p.grantRules(o)
	text := func(key, value string) string { return p.expand(o.where(key), "mcp.oauth."+key, value) }
	out := &target.OAuth{
		Grant: target.GrantKind(o.Grant), Issuer: text("issuer", o.Issuer),
		ClientID: text("client_id", o.ClientID), ClientMetadataURL: text("client_metadata_url", o.ClientMetadataURL),
		ClientSecret: p.either(o, "client_secret", o.ClientSecretEnv, o.ClientSecretFile),
		PrivateKey:   p.either(o, "private_key", o.PrivateKeyEnv, o.PrivateKeyFile),
		KeyID:        o.KeyID, Algorithm: string(o.Algorithm), ClientAuth: string(o.ClientAuth), Scopes: o.Scopes, Resource: text("resource", o.Resource),
		RefreshToken: p.either(o, "refresh_token", o.RefreshTokenEnv, o.RefreshTokenFile),
		TokenFile:    p.beside(text("token_file", o.TokenFile)),
		LoginCommand: p.loginCommand(),
	}
	if o.RedirectPort != nil {
		out.RedirectPort = *o.RedirectPort
	}
	p.t.OAuth = out
	p.judgeGrant(o, out)
}

// grantRules are what a grant needs, and what excludes each other.
func (p *part) grantRules(o *oauthConfig) {
	// What was written wrongly has a mistake of its own.
	some := func(keys ...string) bool { return slices.ContainsFunc(keys, o.has) }
	need := func(written bool, what string) {
		if !written {
			p.wrong(o.where("grant"), "mcp.oauth", "grant "+string(o.Grant)+" needs "+what, "add "+what)
		}
	}
	switch target.GrantKind(o.Grant) {
	case target.ClientCredentials:
		need(some("client_secret_env", "client_secret_file", "private_key_env", "private_key_file"), "client_secret_env, client_secret_file, private_key_env or private_key_file")
	case target.RefreshToken:
		need(some("refresh_token_env", "refresh_token_file", "token_file"), "refresh_token_env, refresh_token_file or token_file")
	case target.AuthorizationCode:
		need(o.has("token_file"), "token_file")
	}
	exclude := func(key, other string) {
		if o.has(key) && o.has(other) {
			p.wrong(o.keyAt(other), "mcp.oauth."+other, other+" stands beside "+key, "keep one of them")
		}
	}
	exclude("client_secret_env", "client_secret_file")
	exclude("private_key_env", "private_key_file")
	exclude("refresh_token_env", "refresh_token_file")
	for _, secret := range []string{"client_secret_env", "client_secret_file"} {
		exclude(secret, "private_key_env")
		exclude(secret, "private_key_file")
	}
	if !some("client_secret_env", "client_secret_file") && o.has("client_auth") {
		p.wrong(o.keyAt("client_auth"), "mcp.oauth.client_auth", "client_auth says how a client secret is sent, and there is none", "add client_secret_env or client_secret_file, or remove client_auth")
	}
	if !some("private_key_env", "private_key_file") {
		for _, key := range []string{"key_id", "algorithm"} {
			if o.has(key) {
				p.wrong(o.keyAt(key), "mcp.oauth."+key, key+" belongs to a private key, and there is none", "add private_key_env or private_key_file, or remove "+key)
			}
		}
	}
}

// either refers to the secret in a variable or in a file.
func (p *part) either(o *oauthConfig, key string, name variable, path string) target.Secret {
	switch {
	case name != "":
		return p.secretEnv(o.where(key+"_env"), name)
	case path != "":
		return p.secretFile(o.where(key+"_file"), "mcp.oauth."+key+"_file", path)
	}
	return target.Secret{}
}

// judgeGrant looks for what no grant can work with, whatever its secrets.
func (p *part) judgeGrant(o *oauthConfig, out *target.OAuth) {
	for _, written := range []string{o.Issuer, o.ClientMetadataURL, o.Resource} {
		if p.opts.Portable && strings.Contains(written, "${") {
			return
		}
	}
	if p.t.Problem != nil || o.Issuer == "" || o.ClientID == "" && o.ClientMetadataURL == "" {
		return
	}
	grant := access.Grant{
		Kind: access.AuthorizationCode, TokenFile: "unused", // asks for the least
		Issuer: out.Issuer, ClientID: out.ClientID, ClientMetadataURL: out.ClientMetadataURL, Resource: out.Resource,
	}
	var bad *access.Error
	if errors.As(grant.Validate(), &bad) {
		p.problem(o.at, ReasonInvalidGrant, bad.Text, bad.Hint)
	}
}

// beside resolves a path against the directory of the file, so that a login and
// a check find the same one wherever they are started.
func (p *part) beside(path string) string {
	if path == "" || filepath.IsAbs(path) || p.opts.Portable {
		return path
	}
	return filepath.Join(filepath.Dir(p.decoder.file), path)
}

// loginCommand is what a person types to log in at the target.
func (p *part) loginCommand() string {
	name := p.f.ID
	if name == "" {
		name = p.f.Name
	}
	file := p.decoder.file
	words := []string{"mcpvigil", "login", file, name}
	if strings.HasPrefix(file, "-") || strings.HasPrefix(name, "-") {
		words = []string{"mcpvigil", "login", "--", file, name}
	}
	for i, w := range words {
		words[i] = quoteWord(w, runtime.GOOS == "windows")
	}
	return strings.Join(words, " ")
}

// quoteWord writes one word of a command line as a shell reads it.
func quoteWord(word string, windows bool) string {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@+=,-"
	safe := bare
	if windows {
		safe += `\`
	}
	switch {
	case word != "" && strings.Trim(word, safe) == "":
		return word
	case windows:
		return `"` + strings.ReplaceAll(word, `"`, `""`) + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
