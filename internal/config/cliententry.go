package config

import (
	"bufio"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpvigil/mcpvigil/target"
)

// entryReader reads one server of a client's file.
type entryReader struct {
	path, name, project string
	client              client
	lookup              func(string) (string, bool)
	places              places
	entry               map[string]any
	t                   *target.Target
	// read names the member that is looked at, for the place of a problem.
	read []string
	w    written
}

// written is how a client's file has what cannot be told from a target.
type written struct {
	client string // whose file it is, as in "Cursor's"
	// forms are the texts that hold references, with ${NAME} in place of the
	// client's own words, by member: url, command, cwd, and args 0 and so on.
	forms map[string]string
	// names say how the client writes what a variable stands for here, such as
	// ${input:api-key}.
	names map[string]string
	// sources say what the value of a header or variable is, where it is not
	// simply the one in the file, by "header NAME" and "variable NAME".
	sources map[string]string
	// left is what is not carried over, each as a phrase.
	left []string
}

func (r *entryReader) server(raw any) (out ClientServer) {
	r.t = &target.Target{Name: r.name}
	r.w = written{client: r.client.owner(), forms: map[string]string{}, names: map[string]string{}, sources: map[string]string{}}
	out = ClientServer{Name: r.name, Project: r.project, Target: r.t}
	defer func() { out.written = r.w }()
	entry, ok := raw.(map[string]any)
	if !ok {
		r.invalid("the entry must be an object", "write command and args, or url")
		return out
	}
	r.entry = entry
	out.Disabled = r.flag("disabled", false) || !r.flag("enabled", true)
	r.nestedCommand()
	switch {
	case r.entry["command"] != nil:
		r.program()
	default:
		r.remote()
	}
	return out
}

// problem keeps the first problem of an entry, with the place of what was read
// last.
func (r *entryReader) problem(reason, text, hint string) {
	if r.t.Problem == nil {
		r.t.Problem = &target.Problem{Reason: reason, Text: r.where() + ": " + r.about(text), Hint: hint}
	}
}

func (r *entryReader) about(text string) string {
	return "server " + quoteKey(r.name) + ": " + text
}

func (r *entryReader) where() string {
	return r.places.of(append([]string{r.name}, r.read...)...).in(r.path)
}

func (r *entryReader) invalid(text, hint string) { r.problem(ReasonInvalidEntry, text, hint) }

func (r *entryReader) wrongType(key, want string) {
	r.invalid(fmt.Sprintf("%q must be %s", key, want), "correct the entry in "+r.client.owner()+" configuration")
}

func (r *entryReader) text(key string) string {
	r.read = []string{key}
	v, ok := r.entry[key]
	if !ok || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.wrongType(key, "a string")
	}
	return s
}

func (r *entryReader) flag(key string, unset bool) bool {
	r.read = []string{key}
	v, ok := r.entry[key]
	if !ok || v == nil {
		return unset
	}
	b, ok := v.(bool)
	if !ok {
		r.wrongType(key, "true or false")
		return unset
	}
	return b
}

func (r *entryReader) list(key string) []string {
	r.read = []string{key}
	v, ok := r.entry[key]
	if !ok || v == nil {
		return nil
	}
	items, ok := v.([]any)
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, isText := item.(string)
		ok = ok && isText
		out = append(out, s)
	}
	if !ok {
		r.wrongType(key, "a list of strings")
		return nil
	}
	return out
}

// table returns an object of strings with its names in order.
func (r *entryReader) table(key string) (names []string, values map[string]string) {
	r.read = []string{key}
	v, ok := r.entry[key]
	if !ok || v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	values = map[string]string{}
	for name, item := range m {
		s, isText := item.(string)
		ok = ok && isText
		names, values[name] = append(names, name), s
	}
	if !ok {
		r.wrongType(key, "an object of strings")
		return nil, nil
	}
	slices.Sort(names)
	return names, values
}

func (r *entryReader) seconds(key string, unit time.Duration) time.Duration {
	r.read = []string{key}
	var v float64
	switch n := r.entry[key].(type) {
	case nil:
		return 0
	case float64:
		v = n
	case int64:
		v = float64(n)
	default:
		r.wrongType(key, "a number")
	}
	if v <= 0 || v > 24*3600*1000 {
		return 0
	}
	return time.Duration(v * float64(unit))
}

// nestedCommand flattens Zed's older command: {path, args, env}.
func (r *entryReader) nestedCommand() {
	inner, ok := r.entry["command"].(map[string]any)
	if !ok {
		return
	}
	flat := map[string]any{"command": inner["path"], "args": inner["args"], "env": inner["env"]}
	if r.t.Problem == nil && inner["path"] == nil {
		r.wrongType("command", "a string")
	}
	r.entry = flat
}

func (r *entryReader) program() {
	r.t.Transport = target.Stdio
	if kind := r.text("type"); kind != "" && kind != "stdio" && kind != "local" {
		r.read = []string{"type"}
		r.invalid(fmt.Sprintf("it has a command, but its type is %s", quoteKey(kind)), "set type to stdio, or replace command by url")
	}
	c := &target.Command{}
	r.t.Command = c
	c.Path, _ = r.plain(r.text("command"))
	if strings.TrimSpace(c.Path) == "" {
		r.invalid(`"command" is blank`, "name the program to start")
	}
	r.arguments(c)
	c.Dir, _ = r.plain(r.text("cwd"))
	if c.Dir == "" {
		c.Dir = r.client.folder
	} else if !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(r.start(), c.Dir)
		if form := r.w.forms["cwd"]; form != "" {
			r.w.forms["cwd"] = filepath.Join(r.start(), form)
		}
	}
	r.envFile(c)
	for _, name := range r.list("env_vars") {
		r.setEnv(c, name, r.variable(name))
	}
	names, values := r.table("env")
	for _, name := range names {
		r.read = []string{"env", name}
		_, value := r.secret("variable", name, values[name])
		r.setEnv(c, name, value)
	}
	r.t.Budgets.Startup = max(r.seconds("startup_timeout_sec", time.Second), r.seconds("startup_timeout_ms", time.Millisecond))
}

// start is where relative paths of the entry start.
func (r *entryReader) start() string {
	if r.client.folder != "" {
		return r.client.folder
	}
	return r.client.base
}

func (r *entryReader) setEnv(c *target.Command, name string, value target.Secret) {
	if !validChildVariable(name) {
		r.invalid("a name under \"env\" is not the name of a variable", "write letters, digits and underscores, without =")
		return
	}
	if value.IsZero() {
		return // an empty value: the variable is as good as not set
	}
	for i := range c.Env {
		if c.Env[i].Name == name {
			c.Env[i].Value = value
			return
		}
	}
	c.Env = append(c.Env, target.EnvVar{Name: name, Value: value})
}

func (r *entryReader) arguments(c *target.Command) {
	before, hidden := "", false
	for i, arg := range r.list("args") {
		r.read = []string{"args", strconv.Itoa(i)}
		value, written := r.plain(arg)
		shown := written
		if value == written {
			shown = showArg(value, before)
		}
		c.Args, c.ShownArgs = append(c.Args, value), append(c.ShownArgs, shown)
		hidden = hidden || shown != value
		before = arg
	}
	if !hidden {
		c.ShownArgs = nil
	}
}

// envFile reads VS Code's and Cursor's envFile: NAME=VALUE lines.
func (r *entryReader) envFile(c *target.Command) {
	path, _ := r.plain(r.text("envFile"))
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.start(), path)
	}
	f, err := openFile(path)
	if err != nil {
		r.w.left = append(r.w.left, "envFile "+shownPath(path)+", which "+unreadable(path))
		r.problem(ReasonUnreadableSecret, "envFile "+path+" "+unreadable(path), "create it, let this user read it, or change the path")
		return
	}
	defer f.Close()
	r.w.left = append(r.w.left, "envFile "+shownPath(path)+"; its variables are referred to, one by one, under env")
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan() && n < 10_000; n++ {
		line := strings.TrimPrefix(strings.TrimSpace(lines.Text()), "export ")
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || !validChildVariable(name) {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		if value != "" {
			name = strings.TrimSpace(name)
			r.setEnv(c, name, target.Literal(value))
			r.w.sources["variable "+name] = "the value in " + shownPath(path)
		}
	}
}

func (r *entryReader) remote() {
	address, kind := "", target.Transport("")
	for _, key := range []string{"httpUrl", "serverUrl", "url"} {
		if address, _ = r.plain(r.text(key)); address == "" {
			continue
		}
		if key == "httpUrl" {
			kind = target.HTTP
		} else if key == "url" && r.client.sseURL {
			kind = target.SSE
		}
		break
	}
	if address == "" {
		r.read = nil
		hint := "add one of them in " + r.client.owner() + " configuration"
		for _, name := range r.misspelt() {
			if meant := r.meant(name); meant == "command" || meant == "url" {
				r.read, hint = []string{name}, "did you mean "+strconv.Quote(meant)+" by "+quoteKey(name)+"?"
				break
			}
		}
		r.invalid("it has neither a command nor a url", hint)
	}
	r.t.Endpoint = address
	r.t.Transport = r.remoteTransport(kind)
	if name := r.text("bearer_token_env_var"); name != "" {
		r.t.Headers = append(r.t.Headers, target.Bearer(r.variable(name)))
	}
	for _, key := range []string{"headers", "http_headers"} {
		names, values := r.table(key)
		for _, name := range names {
			r.read = []string{key, name}
			prefix, value := r.secret("header", name, values[name])
			if !value.IsZero() {
				r.t.Headers = append(r.t.Headers, target.Header{Name: name, Prefix: prefix, Value: value})
			}
		}
	}
	names, values := r.table("env_http_headers")
	for _, name := range names {
		r.read = []string{"env_http_headers", name}
		r.t.Headers = append(r.t.Headers, target.Header{Name: name, Value: r.variable(values[name])})
	}
}

// remoteTransport takes the entry's type, then what its key implied. Clients
// that try both transports are followed by what the address looks like.
func (r *entryReader) remoteTransport(implied target.Transport) target.Transport {
	kind := r.text("type")
	if kind == "" {
		kind = r.text("transport")
	}
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(kind)) {
	case "http", "streamablehttp":
		return target.HTTP
	case "sse":
		return target.SSE
	case "", "remote":
	case "stdio":
		r.invalid("its type is stdio, but it has no command", "add command, or set type to http")
	default:
		r.invalid(fmt.Sprintf("its type %s is not one that mcpvigil knows", quoteKey(kind)), "use stdio, http or sse")
	}
	if implied != "" {
		return implied
	}
	if u, err := url.Parse(r.t.Endpoint); err == nil && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/sse") {
		return target.SSE
	}
	return target.HTTP
}

func (r *entryReader) variable(name string) target.Secret {
	if !ValidVariable(name) || LooksSecret(name) {
		r.invalid("the name of an environment variable was expected, not a value", "put the secret into a variable and name it")
		return target.Secret{}
	}
	if value, _ := r.lookup(name); value == "" {
		r.missing(name)
	}
	return target.FromEnv(name)
}

func (r *entryReader) missing(name string) {
	r.problem(ReasonMissingVariable, "environment variable "+name+" is not set", "set it where mcpvigil runs")
}

// secret reads a value that must not be shown: that of a header or of a variable
// (what). One that is a single reference stays one; for a header, its scheme
// becomes the prefix.
func (r *entryReader) secret(what, name, value string) (prefix string, s target.Secret) {
	if what == "header" {
		prefix, value = splitScheme(value)
	}
	source := what + " " + name
	delete(r.w.sources, source) // of an envFile
	form := r.normal(value)
	parts, ok := cutVariables(form)
	if !ok || !r.replaces() {
		return prefix, literal(value)
	}
	parts = slices.DeleteFunc(parts, func(e expansion) bool { return e.name == "" && e.text == "" })
	if len(parts) == 1 && parts[0].name != "" && !parts[0].has {
		return prefix, r.variable(parts[0].name)
	}
	var names []string
	for _, p := range parts {
		if p.name != "" && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	switch {
	case len(names) > 0 && len(parts) == 1:
		r.w.sources[source] = "that of " + names[0] + ", or the default that stands in " + r.w.client + " file"
	case len(names) > 0:
		r.w.sources[source] = "what stands in " + r.w.client + " file, made up of " + listed(names, "and")
	case form != value && folderValue.MatchString(value) && !namesSecret(name) && !LooksSecret(value):
		r.w.sources[source] = strconv.QuoteToASCII(form)
	}
	out, _ := r.plain(value)
	return prefix, literal(out)
}

// folderValue is a path under a folder that is known, and nothing else.
var folderValue = regexp.MustCompile(`^\$\{(?:workspaceFolder|userHome)\}(?:(?:/|\\|\$\{/\}|\$\{pathSeparator\})[\w.@ -]+)*[/\\]?$`)

func literal(value string) target.Secret {
	if value == "" {
		return target.Secret{}
	}
	return target.Literal(value)
}

func (r *entryReader) replaces() bool { return r.client.shell || r.client.editor }

// plain replaces what the client would replace in s. written is s in the form
// of mcpvigil.yaml, with ${NAME} where something was replaced.
func (r *entryReader) plain(s string) (value, written string) {
	if !r.replaces() {
		return s, s
	}
	written = r.normal(s)
	out, missing, ok := expandText(written, r.lookup)
	if !ok {
		r.w.left = append(r.w.left, fmt.Sprintf("what only the client can replace: a ${…} in %s", strings.Join(r.read[:1], "")))
		return s, s
	}
	if parts, _ := cutVariables(written); slices.ContainsFunc(parts, func(e expansion) bool { return e.name != "" }) {
		r.w.forms[strings.Join(r.read, " ")] = written
	}
	for _, name := range missing {
		r.missing(name)
	}
	return out, written
}

// normal rewrites the client's references as ${NAME} or ${NAME:-default}.
func (r *entryReader) normal(s string) string {
	if r.client.editor {
		home, _ := r.lookup("HOME")
		base := ""
		if r.client.folder != "" {
			base = filepath.Base(r.client.folder)
		}
		s = r.known(s, "${workspaceFolder}", r.client.folder, "WORKSPACE_FOLDER")
		s = r.known(s, "${workspaceFolderBasename}", base, "WORKSPACE_FOLDER_BASENAME")
		s = r.known(s, "${userHome}", home, "HOME")
		s = strings.NewReplacer("${/}", string(filepath.Separator), "${pathSeparator}", string(filepath.Separator)).Replace(s)
		s = renamed(s, "${env:", func(name string) string { return name })
		s = renamed(s, "${input:", func(name string) string {
			variable := upperName("INPUT_" + name)
			r.w.names[variable] = "${input:" + name + "}"
			return variable
		})
	}
	if r.client.bare {
		s = bareVariables(s)
	}
	return s
}

// known replaces the client's word by its value, or by a reference to variable
// where the value is not known.
func (r *entryReader) known(s, word, value, variable string) string {
	if value == "" && strings.Contains(s, word) {
		r.w.names[variable] = word
		value = "${" + variable + "}"
	}
	return strings.ReplaceAll(s, word, value)
}

// renamed rewrites each ${kind:NAME} in s.
func renamed(s, kind string, name func(string) string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, kind)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		inner, rest, closed := strings.Cut(after, "}")
		if !closed {
			b.WriteString(kind + after)
			return b.String()
		}
		b.WriteString("${" + name(inner) + "}")
		s = rest
	}
}

// bareVariables rewrites $NAME as ${NAME}.
func bareVariables(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		b.WriteByte(s[i])
		if s[i] != '$' || i+1 == len(s) || s[i+1] == '{' || !isNameByte(s[i+1], true) {
			continue
		}
		end := i + 1
		for end < len(s) && isNameByte(s[end], false) {
			end++
		}
		b.WriteString("{" + s[i+1:end] + "}")
		i = end - 1
	}
	return b.String()
}

func isNameByte(c byte, first bool) bool {
	return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || !first && c >= '0' && c <= '9'
}

// upperName makes the name of a variable from words.
func upperName(s string) string {
	s = camelSplit.ReplaceAllString(s, "${1}_$2")
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(unicode.ToUpper(r))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.TrimSuffix(b.String(), "_")
	if name == "" || unicode.IsDigit(rune(name[0])) {
		name = "MCP_" + name
	}
	return strings.TrimSuffix(name, "_")
}
