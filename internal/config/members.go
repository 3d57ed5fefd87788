package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/target"
)

// owner is the client in a sentence, as in "Cursor's".
func (c client) owner() string {
	if c.name == unknownClient {
		return "an MCP client's"
	}
	return c.name + "'s"
}

// readMembers are the members of an entry that this package reads.
func readMembers() []string {
	return []string{
		"command", "args", "env", "cwd", "envFile", "env_vars", "url", "httpUrl", "serverUrl", "type", "transport", "headers",
		"http_headers", "env_http_headers", "bearer_token_env_var", "disabled", "enabled", "startup_timeout_sec", "startup_timeout_ms",
	}
}

// otherMembers are members that clients know and that do not concern a check.
func otherMembers() []string {
	return []string{
		"timeout", "trust", "autoApprove", "alwaysAllow", "description", "name", "source", "settings", "dev", "gallery", "version",
		"includeTools", "excludeTools", "enabledTools", "disabledTools", "enabled_tools", "disabled_tools", "tools", "tool_timeout_sec",
		"required", "oauth", "auth", "authProviderType", "sandbox", "network", "inputs", "path", "icon", "id", "scopes", "tags", "roots",
	}
}

// misspelt returns, in order, the members of an entry that are probably meant to
// be others.
func (r *entryReader) misspelt() []string {
	var out []string
	known := append(readMembers(), otherMembers()...)
	for name := range r.entry {
		if !slices.Contains(known, name) && r.meant(name) != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// meant returns the member that an unknown one probably stands for.
func (r *entryReader) meant(name string) string {
	other := map[string]string{
		"cmd": "command", "program": "command", "arguments": "args", "argv": "args", "environment": "env", "envs": "env",
		"uri": "url", "endpoint": "url", "address": "url", "directory": "cwd", "workingdirectory": "cwd", "working_directory": "cwd",
	}
	if meant := other[strings.ToLower(name)]; meant != "" {
		return meant
	}
	return closest(name, readMembers())
}

// warnings says what does not make the entry unusable. It follows [entryReader.server].
func (r *entryReader) warnings() []Warning {
	var out []Warning
	add := func(t *target.Target, text, hint string, read ...string) {
		at := r.places.of(append([]string{r.name}, read...)...)
		out = append(out, Warning{Target: t, Where: Error{File: r.path, Line: at.line, Column: at.column, Text: r.about(text), Hint: hint}})
	}
	for _, name := range r.misspelt() {
		add(r.t, "unknown member "+quoteKey(name), "did you mean "+strconv.Quote(r.meant(name))+"?", name)
	}
	if r.t.Command == nil || r.t.Problem != nil {
		return out
	}
	for _, f := range faults(r.t.Command) {
		key := f.key
		if key == "directory" {
			key = "cwd"
		}
		add(r.t, f.text, f.hint, key)
	}
	return out
}
