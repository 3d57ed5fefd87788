package baseline

import (
	"path"
	"slices"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/target"
)

// ClientOf is the client identity of a [Binding], of the name and the user agent that
// a client gives in place of the default ones; empty for those.
func ClientOf(name, userAgent string) string { return strings.TrimSpace(name + " " + userAgent) }

// BindingOf is what a baseline of t belongs to, seen as client, which is
// that of [ClientOf].
//
// It is the same on every machine that a lockfile is for: the names of variables
// and the base names of files are part of it, folders and values are not.
func BindingOf(t *target.Target, client string) Binding {
	return Binding{
		Endpoint:   plain.Line(endpoint(t), maxEndpoint),
		Credential: credential(t),
		Client:     client,
		Protocol:   t.ProtocolVersion,
	}
}

const maxEndpoint = 4096

// endpoint is the address of t. That of a command which has a name is stdio://NAME:
// a new version on its command line is content, to be compared.
func endpoint(t *target.Target) string {
	if t.Kind() == target.Stdio && t.Name != "" {
		return "stdio://" + t.Name
	}
	return t.Address()
}

// credential names what t gets in with: "env:NAME", "file:NAME", "command:NAME" for
// secrets, "header:NAME" for a header whose value stands in the configuration,
// "oauth:CLIENT@ISSUER", "certificate:NAME"; sorted, with ", " between them.
func credential(t *target.Target) string {
	var sources []string
	for _, h := range t.Headers {
		sources = append(sources, source(h.Value, "header:"+h.Name))
	}
	if t.Command != nil {
		for _, v := range t.Command.Env {
			sources = append(sources, source(v.Value, "env:"+v.Name))
		}
	}
	if o := t.OAuth; o != nil {
		client := o.ClientID
		if client == "" {
			client = shownURL(o.ClientMetadataURL)
		}
		sources = append(sources, "oauth:"+client+"@"+shownURL(o.Issuer))
	}
	if t.TLS.CertFile != "" {
		sources = append(sources, "certificate:"+base(t.TLS.CertFile))
	}
	slices.Sort(sources)
	return plain.Line(strings.Join(slices.Compact(sources), ", "), maxEndpoint)
}

// shownURL is a URL as that of a target is shown.
func shownURL(raw string) string { return (&target.Target{Endpoint: raw}).Address() }

// source names where s comes from, or is literal.
func source(s target.Secret, literal string) string {
	switch name, isCommand := strings.CutPrefix(s.Origin(), "command "); {
	case s.Variable() != "":
		return "env:" + s.Variable()
	case s.Path() != "":
		return "file:" + base(s.Path())
	case isCommand:
		return "command:" + base(name)
	}
	return literal
}

// base is the last element of a path of any system.
func base(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }
