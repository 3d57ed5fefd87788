package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/target"
)

// Reference is an environment variable that an imported configuration needs.
type Reference struct {
	Variable string
	Target   string // name of the target
	For      string // what it is for, such as "header Authorization"
	// Inline is true when the value is written out in the client's file, or in a
	// file that it names: it must be put into the variable. Otherwise the client
	// reads the same variable, or asks for the value.
	Inline bool
	// Source says what to set the variable to. It holds no secret.
	Source string
}

// Import is [ImportServers] for targets alone: what their entries say beyond
// them is lost.
func Import(targets ...*target.Target) ([]byte, []Reference, error) {
	servers := make([]ClientServer, len(targets))
	for i, t := range targets {
		servers[i] = ClientServer{Name: t.Name, Target: t}
	}
	return ImportServers(servers...)
}

// ImportServers writes a configuration file for the servers of clients' files
// ([ClientFile.Enabled]). Every secret that was written out in them becomes a
// reference to an environment variable; ${NAME} and ${NAME:-default} are carried
// over. It returns every variable that the result refers to, in the order of the
// file, without values; the head of the result lists them as well, and what was
// left out. The result loads with [Parse].
func ImportServers(servers ...ClientServer) ([]byte, []Reference, error) {
	w := &importer{used: map[string]bool{}, names: map[string]bool{}}
	for _, s := range servers { // names that clients already use are taken
		w.reserve(s)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	var left []string
	for _, s := range servers {
		before := len(w.refs)
		n := w.target(s)
		label := strconv.QuoteToASCII(s.Target.Label())
		if why := unloadable(s.Target, n); why != "" {
			w.refs = w.refs[:before]
			left = append(left, "# Left out: "+label+": "+why)
			continue
		}
		for _, what := range s.written.left {
			left = append(left, "# Left out of "+label+": "+what)
		}
		list.Content = append(list.Content, n)
	}
	if len(list.Content) == 0 {
		return nil, nil, errors.New("none of the servers can be written to a configuration file")
	}
	var out bytes.Buffer
	out.WriteString("# yaml-language-server: $schema=" + SchemaID + "\n")
	for _, line := range append(left, toSet(w.refs)...) {
		out.WriteString(plain.Line(line, 2000) + "\n")
	}
	body, err := yaml.Dump(mappingOf("version", "v1", "targets", list), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return nil, nil, fmt.Errorf("write configuration: %w", err)
	}
	out.Write(body)
	return out.Bytes(), w.refs, nil
}

// toSet lists the variables of refs, each once with all that it is for.
func toSet(refs []Reference) []string {
	var order []string
	uses := map[string][]string{}
	source := map[string]string{}
	for _, r := range refs {
		if uses[r.Variable] == nil {
			order = append(order, r.Variable)
			source[r.Variable] = r.Source
		}
		if use := strings.Trim(quoteKey(r.Target), `"`) + ", " + r.For; !slices.Contains(uses[r.Variable], use) {
			uses[r.Variable] = append(uses[r.Variable], use)
		}
	}
	if order == nil {
		return nil
	}
	lines := []string{"# Set before a check:"}
	for _, name := range order {
		lines = append(lines, "#   "+name+" ("+strings.Join(uses[name], "; ")+"): "+source[name])
	}
	return lines
}

// unloadable says why a target alone would not load.
func unloadable(t *target.Target, n *yaml.Node) string {
	if p := t.Problem; p != nil && p.Reason == ReasonInvalidEntry {
		return p.Text
	}
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

func (w *importer) reserve(s ClientServer) {
	for _, h := range s.Target.Headers {
		w.used[h.Value.Variable()] = true
	}
	if c := s.Target.Command; c != nil {
		for _, e := range c.Env {
			w.used[e.Value.Variable()] = true
		}
	}
	for _, form := range s.written.forms {
		parts, _ := cutVariables(form)
		for _, p := range parts {
			w.used[p.name] = true
		}
	}
}

// reference returns the variable that stands for a secret of s.
func (w *importer) reference(s ClientServer, value target.Secret, label, what string) string {
	if name := value.Variable(); name != "" {
		w.refer(s, name, what)
		return name
	}
	base := joinNames(s.Target.Label(), label)
	if LooksSecret(base) {
		base = "MCP_SECRET"
	}
	name := base
	for i := 2; w.used[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	w.used[name] = true
	source := s.written.sources[what]
	if source == "" {
		source = "the value in " + s.file()
	}
	w.refs = append(w.refs, Reference{Variable: name, Target: s.Target.Label(), For: what, Inline: true, Source: source})
	return name
}

// refer records that the result refers to a variable that the client also uses.
func (w *importer) refer(s ClientServer, name, what string) {
	source := "the same variable as in " + s.file()
	if word := s.written.names[name]; word != "" {
		source = "what " + s.file() + " calls " + word
	}
	w.refs = append(w.refs, Reference{Variable: name, Target: s.Target.Label(), For: what, Source: source})
}

// file is the file of the client in a sentence.
func (s ClientServer) file() string {
	if s.written.client == "" {
		return "the client's file"
	}
	return s.written.client + " file"
}

// joinNames makes the name of a variable from that of a server and of what it is
// for, without repeating words where the one ends as the other starts: github
// and GITHUB_TOKEN make GITHUB_TOKEN.
func joinNames(server, what string) string {
	first, second := strings.Split(upperName(server), "_"), strings.Split(upperName(what), "_")
	for n := min(len(first), len(second)); n > 0; n-- {
		if slices.Equal(first[len(first)-n:], second[:n]) {
			second = second[n:]
			break
		}
	}
	return strings.Join(append(first, second...), "_")
}

func (w *importer) target(s ClientServer) *yaml.Node {
	t := s.Target
	name := t.Label()
	for i := 2; w.names[name]; i++ {
		name = t.Label() + " (" + strconv.Itoa(i) + ")"
	}
	w.names[name] = true
	kind := t.Kind()
	if kind == target.Stdio {
		return mappingOf("name", name, "type", "mcp", "endpoint", "stdio://"+slug(name), "mcp", mappingOf("transport", "stdio", "stdio", w.program(s)))
	}
	var mcp *yaml.Node
	if kind != target.HTTP {
		mcp = mappingOf("transport", string(kind))
	}
	form := ""
	for _, key := range []string{"httpUrl", "serverUrl", "url"} {
		if form == "" {
			form = s.written.forms[key]
		}
	}
	return mappingOf("name", name, "type", "mcp", "endpoint", w.text(s, t.Endpoint, form, "", "the endpoint"), "auth", w.auth(s), "mcp", mcp)
}

func slug(name string) string {
	s := strings.Trim(strings.ToLower(strings.ReplaceAll(upperName(name), "_", "-")), "-")
	return s
}

// text writes value, or form where the client's file has references, with the
// secrets in it replaced by references of ours. before is the argument in front.
func (w *importer) text(s ClientServer, value, form, before, what string) string {
	stood := &standIns{}
	if form == "" || !stood.replace(form) {
		stood = &standIns{text: value}
	}
	cut := pieces(stood.text, before)
	if cut == nil {
		cut = []piece{{text: stood.text}}
	}
	var b strings.Builder
	for _, p := range cut {
		if p.secret && !stood.only(p.text) {
			b.WriteString("${" + w.reference(s, target.Secret{}, p.label, what) + "}")
			continue
		}
		for _, e := range stood.split(p.text) {
			if e.name == "" {
				b.WriteString(strings.ReplaceAll(e.text, "${", "$${"))
				continue
			}
			w.refer(s, e.name, what)
			b.WriteString(e.write())
		}
	}
	return b.String()
}

// standIns puts one rune in place of each reference of a text, so that what is
// around them can be looked at: a URL with ${PORT} in it is none, for example.
type standIns struct {
	text string
	refs []expansion
}

// The first of the private runes that stand for references, and how many.
const (
	standIn     = '\uE000'
	maxStandIns = 6400
)

// replace reports false for a form that has to be taken as plain text.
func (x *standIns) replace(form string) bool {
	parts, ok := cutVariables(form)
	if !ok || len(parts) > maxStandIns || strings.ContainsFunc(form, func(r rune) bool { return r >= standIn && r < standIn+maxStandIns }) {
		return false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		b.WriteRune(standIn + rune(len(x.refs)))
		x.refs = append(x.refs, p)
	}
	x.text = b.String()
	return true
}

// split returns the references in a part of the text, and what is between them.
func (x *standIns) split(part string) []expansion {
	var out []expansion
	from := 0
	for i, r := range part {
		if n := int(r - standIn); n >= 0 && n < len(x.refs) {
			out = append(out, expansion{text: part[from:i]}, x.refs[n])
			from = i + len(string(r))
		}
	}
	return append(out, expansion{text: part[from:]})
}

// only reports whether a part is nothing but references without defaults.
func (x *standIns) only(part string) bool {
	found := false
	for _, e := range x.split(part) {
		if e.text != "" || e.fallback != "" {
			return false
		}
		found = found || e.name != ""
	}
	return found
}

// write returns the reference as it stands in a file, without a default that may
// hold a secret.
func (e expansion) write() string {
	if e.has && pieces(e.fallback, "") == nil && !LooksSecret(e.fallback) {
		return "${" + e.name + ":-" + e.fallback + "}"
	}
	return "${" + e.name + "}"
}

func (w *importer) auth(s ClientServer) *yaml.Node {
	t := s.Target
	if len(t.Headers) == 0 {
		return nil
	}
	if h := t.Headers[0]; len(t.Headers) == 1 && strings.EqualFold(h.Name, "Authorization") && h.Prefix == "Bearer " && h.Value.Path() == "" {
		return mappingOf("bearer_env", w.reference(s, h.Value, "token", "header "+h.Name))
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, h := range t.Headers {
		if path := h.Value.Path(); path != "" {
			list.Content = append(list.Content, mappingOf("name", h.Name, "value_file", path, "prefix", h.Prefix))
			continue
		}
		list.Content = append(list.Content, mappingOf("name", h.Name, "value_env", w.reference(s, h.Value, h.Name, "header "+h.Name), "prefix", h.Prefix))
	}
	return mappingOf("headers", list)
}

func (w *importer) program(s ClientServer) *yaml.Node {
	c := s.Target.Command
	if c == nil {
		return nil
	}
	forms := s.written.forms
	command := w.text(s, c.Path, forms["command"], "", "the command")
	args := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	before := ""
	for i, arg := range c.Args {
		form := forms["args "+strconv.Itoa(i)]
		if form == "" && i < len(c.ShownArgs) && c.ShownArgs[i] != arg && strings.Contains(c.ShownArgs[i], "${") {
			form = c.ShownArgs[i]
		}
		text := w.text(s, arg, form, before, "argument "+strconv.Itoa(i+1))
		args.Content = append(args.Content, scalar(text))
		before = arg
	}
	if len(args.Content) == 0 {
		args = nil
	}
	env := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range c.Env {
		env.Content = append(env.Content, scalar(e.Name), scalar(w.reference(s, e.Value, e.Name, "variable "+e.Name)))
	}
	if len(env.Content) == 0 {
		env = nil
	}
	startup := ""
	if c := s.Target.Budgets.Startup; c > 0 {
		startup = shortDuration(c)
	}
	return mappingOf("command", command, "args", args,
		"directory", w.text(s, c.Dir, forms["cwd"], "", "the directory"), "env", env, "startup_timeout", startup)
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
