package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/target"
)

// Reference is an environment variable that an imported configuration needs.
type Reference struct {
	Variable string
	Target   string // name of the target
	For      string // what it is for, such as "header Authorization"
	// Inline is true when the value is written out in the client's file: it
	// must be put into the variable. Otherwise the client reads the same one.
	Inline bool
}

// Import writes a configuration file for the targets of clients' files
// ([ClientFile.Targets]). Every value that was written out in them becomes a
// reference to an environment variable; the variables are returned in the
// order of the file, without values. The result loads with [Parse]. Targets
// that cannot be written are named in a comment.
func Import(targets ...*target.Target) ([]byte, []Reference, error) {
	w := &importer{used: map[string]bool{}, names: map[string]bool{}}
	for _, t := range targets { // names that clients already use are taken
		w.reserve(t)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	var left []string
	for _, t := range targets {
		before := len(w.refs)
		n := w.target(t)
		if why := unloadable(n); why != "" {
			w.refs = w.refs[:before]
			left = append(left, fmt.Sprintf("# Left out: %s: %s", strconv.QuoteToASCII(t.Label()), why))
			continue
		}
		list.Content = append(list.Content, n)
	}
	if len(list.Content) == 0 {
		return nil, nil, errors.New("none of the servers can be written to a configuration file")
	}
	var out bytes.Buffer
	out.WriteString("# yaml-language-server: $schema=" + SchemaID + "\n")
	for _, line := range left {
		out.WriteString(line + "\n")
	}
	if names := inlineNames(w.refs); names != nil {
		out.WriteString("# Set before a check: " + strings.Join(names, ", ") + "\n")
	}
	body, err := yaml.Dump(mappingOf("version", "v1", "targets", list), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, nil, fmt.Errorf("write configuration: %w", err)
	}
	out.Write(body)
	return out.Bytes(), w.refs, nil
}

func inlineNames(refs []Reference) []string {
	var names []string
	for _, r := range refs {
		if r.Inline {
			names = append(names, r.Variable)
		}
	}
	return names
}

// unloadable says why a target alone would not load.
func unloadable(n *yaml.Node) string {
	body, err := yaml.Dump(mappingOf("version", "v1", "targets", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}))
	if err != nil {
		return "it cannot be written as YAML"
	}
	_, err = Parse("import", body, Options{Portable: true})
	var errs *Errors
	if errors.As(err, &errs) {
		return errs.Problems[0].Text
	}
	return ""
}

type importer struct {
	used  map[string]bool // variables
	names map[string]bool // targets
	refs  []Reference
}

func (w *importer) reserve(t *target.Target) {
	for _, h := range t.Headers {
		w.used[h.Value.Variable()] = true
	}
	if t.Command != nil {
		for _, e := range t.Command.Env {
			w.used[e.Value.Variable()] = true
		}
	}
}

// reference returns the variable that stands for s.
func (w *importer) reference(t *target.Target, s target.Secret, label, what string) string {
	name := s.Variable()
	inline := name == ""
	if inline {
		base := upperName(t.Label() + " " + label)
		name = base
		for i := 2; w.used[name] || LooksSecret(name); i++ {
			if LooksSecret(base) {
				base = "MCP_SECRET"
			}
			name = base + "_" + strconv.Itoa(i)
		}
		w.used[name] = true
	}
	w.refs = append(w.refs, Reference{Variable: name, Target: t.Label(), For: what, Inline: inline})
	return name
}

func (w *importer) target(t *target.Target) *yaml.Node {
	name := t.Label()
	for i := 2; w.names[name]; i++ {
		name = t.Label() + " (" + strconv.Itoa(i) + ")"
	}
	w.names[name] = true
	kind := t.Kind()
	if kind == target.Stdio {
		return mappingOf("name", name, "type", "mcp", "endpoint", "stdio://"+slug(name), "mcp", mappingOf("transport", "stdio", "stdio", w.program(t)))
	}
	var mcp *yaml.Node
	if kind != target.HTTP {
		mcp = mappingOf("transport", string(kind))
	}
	return mappingOf("name", name, "type", "mcp", "endpoint", w.cut(t, t.Endpoint, endpointPieces(t.Endpoint), "the endpoint"), "auth", w.auth(t), "mcp", mcp)
}

func slug(name string) string {
	s := strings.Trim(strings.ToLower(strings.ReplaceAll(upperName(name), "_", "-")), "-")
	return s
}

func endpointPieces(endpoint string) []piece { return pieces(endpoint, "") }

// cut writes text with its secrets replaced by references.
func (w *importer) cut(t *target.Target, text string, cut []piece, what string) string {
	if cut == nil {
		return strings.ReplaceAll(text, "${", "$${")
	}
	var b strings.Builder
	for _, p := range cut {
		if p.secret {
			b.WriteString("${" + w.reference(t, target.Secret{}, p.label, what) + "}")
		} else {
			b.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
		}
	}
	return b.String()
}

func (w *importer) auth(t *target.Target) *yaml.Node {
	if len(t.Headers) == 0 {
		return nil
	}
	if h := t.Headers[0]; len(t.Headers) == 1 && strings.EqualFold(h.Name, "Authorization") && h.Prefix == "Bearer " && h.Value.Path() == "" {
		return mappingOf("bearer_env", w.reference(t, h.Value, "token", "header Authorization"))
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, h := range t.Headers {
		if path := h.Value.Path(); path != "" {
			list.Content = append(list.Content, mappingOf("name", h.Name, "value_file", path, "prefix", h.Prefix))
			continue
		}
		list.Content = append(list.Content, mappingOf("name", h.Name, "value_env", w.reference(t, h.Value, h.Name, "header "+h.Name), "prefix", h.Prefix))
	}
	return mappingOf("headers", list)
}

func (w *importer) program(t *target.Target) *yaml.Node {
	c := t.Command
	if c == nil {
		return nil
	}
	args := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	before := ""
	for i, arg := range c.Args {
		var text string
		if i < len(c.ShownArgs) && c.ShownArgs[i] != arg && strings.Contains(c.ShownArgs[i], "${") {
			text = c.ShownArgs[i] // written with references
		} else {
			text = w.cut(t, arg, pieces(arg, before), "argument "+strconv.Itoa(i+1))
		}
		args.Content = append(args.Content, scalar(text))
		before = arg
	}
	if len(args.Content) == 0 {
		args = nil
	}
	env := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range c.Env {
		env.Content = append(env.Content, scalar(e.Name), scalar(w.reference(t, e.Value, e.Name, "variable "+e.Name)))
	}
	if len(env.Content) == 0 {
		env = nil
	}
	startup := ""
	if c := t.Budgets.Startup; c > 0 {
		startup = shortDuration(c)
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "${", "$${") }
	return mappingOf("command", plain(c.Path), "args", args, "directory", plain(c.Dir), "env", env, "startup_timeout", startup)
}

// mappingOf writes a mapping from names and values; empty ones are left out.
func mappingOf(members ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(members); i += 2 {
		name, _ := members[i].(string)
		switch v := members[i+1].(type) {
		case string:
			if v != "" {
				n.Content = append(n.Content, scalar(name), scalar(v))
			}
		case *yaml.Node:
			if v != nil {
				n.Content = append(n.Content, scalar(name), v)
			}
		}
	}
	return n
}

// scalar writes a string, quoted where another type would be read.
func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if slices.ContainsFunc([]rune(s), func(r rune) bool { return r < 0x20 || !isPrintable(r) && r != ' ' }) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
