package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/pflag"

	"github.com/mcpvigil/mcpvigil/internal/config"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// pointOptions say what a command is pointed at, and how to get in.
type pointOptions struct {
	stdio, url, sse string
	configFile      string
	named           []string

	headers, headerEnv, headerFile []string
	bearerEnv, bearerFile          string
	bearerCommand                  string
	tls                            target.TLS
	authChain                      bool
	allowPlaintext                 bool
	cwd                            string
	env                            []string
	inheritEnv                     bool
	protocolVersion                string
}

// addTransport defines the flags that mcp-healthcheck has, too.
func (o *pointOptions) addTransport(fs *pflag.FlagSet) {
	grouped(fs, groupTransport, func() {
		fs.StringVar(&o.stdio, "stdio", "", "start `command` and speak over stdio; split into words as a shell would, but run without one")
		fs.StringVar(&o.url, "url", "", "connect to `url` over Streamable HTTP")
		fs.StringVar(&o.sse, "sse", "", "connect to `url` over the HTTP+SSE transport of 2024-11-05")
	})
	o.addHeaders(fs)
}

// addHeaders defines the rest of the flags that mcp-healthcheck has, too.
func (o *pointOptions) addHeaders(fs *pflag.FlagSet) {
	grouped(fs, groupConnection, func() {
		fs.Var(list{&o.headers, typeHeaders, isPair(":")}, "header", "send an HTTP header (repeatable)")
		fs.StringVar(&o.cwd, "cwd", "", "start the command in `path`")
		fs.Var(list{&o.env, typeAssignments, isPair("=")}, "env", "set a variable for the command (repeatable)")
	})
}

func (o *pointOptions) add(fs *pflag.FlagSet) {
	o.addTransport(fs)
	grouped(fs, groupTransport, func() {
		fs.StringVar(&o.configFile, "config", "", "read targets from `file`: mcpvigil.yaml, agenthealth.yaml, or a client's configuration")
		fs.Var(list{&o.named, typeList, nil}, "target", "take only the target called `name` from the file (repeatable)")
	})
	o.addConnection(fs)
}

// addConnection defines how to get in, beside addHeaders.
func (o *pointOptions) addConnection(fs *pflag.FlagSet) {
	grouped(fs, groupConnection, func() {
		fs.Var(checked{&o.bearerEnv, typeVariable, isVariable}, "bearer-env", "send the bearer token in the environment variable `name`")
		fs.Var(checked{&o.bearerFile, typeSecretFile, isSecretFile}, "bearer-file", "send the bearer token in the file `path`")
		fs.StringVar(&o.bearerCommand, "bearer-command", "", "send the bearer token that `command` prints; split into words as a shell would, but run without one")
		fs.Var(list{&o.headerEnv, typeAssignments, isReference(isVariable)}, "header-env", "send a header whose value is in an environment variable, as `NAME=VARIABLE` (repeatable)")
		fs.Var(list{&o.headerFile, typeAssignments, isReference(isSecretFile)}, "header-file", "send a header whose value is in a file, as `NAME=PATH` (repeatable)")
		fs.StringVar(&o.tls.CAFile, "ca-file", "", "trust the PEM certificates in `file` in place of the system's")
		fs.StringVar(&o.tls.CertFile, "cert-file", "", "prove the check with the PEM client certificate in `file` (mutual TLS)")
		fs.StringVar(&o.tls.KeyFile, "key-file", "", "the PEM key of --cert-file, in `file`")
		fs.StringVar(&o.tls.ServerName, "tls-server-name", "", "verify `name` in the server's certificate in place of the address's host")
		fs.BoolVar(&o.authChain, "auth-chain", false, "judge only whether a new client could find out where to log in; sends no credential and lists nothing")
		fs.BoolVar(&o.allowPlaintext, "allow-plaintext-credentials", false, "send headers also over plain http to another machine")
		fs.BoolVar(&o.inheritEnv, "inherit-env", false, "hand the whole environment down to the command, not only PATH, HOME and the like")
		fs.StringVar(&o.protocolVersion, "protocol-version", "", "speak exactly this `revision`, such as 2025-11-25, instead of negotiating")
	})
}

// selection is what a command line points at.
type selection struct {
	targets     []*target.Target
	servers     []config.ClientServer // of clients' files, for import
	warnings    []config.Warning      // for validate
	concurrency int
	// disabled are servers of a client's file that are left out.
	disabled []string
	// sources says for each target where it was found, when that is worth saying.
	sources []string
	// configured names all servers of the file, also those that are not taken. Nil:
	// there is no file.
	configured []string
	// policies are those of targets whose file has one.
	policies map[*target.Target]surface.Policy
}

// transportFlags exclude each other.
func transportFlags() []string { return []string{"stdio", "url", "sse", "config"} }

// resolve finds the targets that flags, variables, arguments and files name.
func (o *pointOptions) resolve(g *given, args []string) (*selection, error) {
	args, command, err := o.arguments(g, args)
	if err != nil {
		return nil, err
	}
	if (o.tls.CertFile == "") != (o.tls.KeyFile == "") {
		return nil, usageErrorf("--cert-file and --key-file need each other", "")
	}
	for _, name := range transportFlags() {
		if g.byFlag(name) && *o.transports()[name] == "" {
			return nil, usageErrorf("--"+name+" is empty", "")
		}
	}
	chosen := o.choose(g, len(args) > 0 || command != nil)
	if len(args) > 0 {
		chosen = append(chosen, "the argument "+masked(args[0]))
	}
	if command != nil {
		chosen = append(chosen, "the command after --")
	}
	switch {
	case len(chosen) > 1:
		return nil, usageErrorf("one target at a time", strings.Join(chosen, " and "))
	case command != nil:
		return o.direct(g, &target.Target{Command: &target.Command{Path: command[0], Args: command[1:]}})
	case len(args) > 0:
		return o.argument(g, args[0])
	case o.stdio != "":
		words, err := splitCommand("--stdio", o.stdio)
		if err != nil {
			return nil, err
		}
		return o.direct(g, &target.Target{Command: &target.Command{Path: words[0], Args: words[1:]}})
	case o.url != "":
		return o.direct(g, &target.Target{Endpoint: o.url, Transport: target.HTTP})
	case o.sse != "":
		return o.direct(g, &target.Target{Endpoint: o.sse, Transport: target.SSE})
	case o.configFile != "":
		return o.file(g, o.configFile)
	}
	return o.defaultFile(g)
}

// arguments separates the command after "--" from the rest, and takes agenthealth's
// word mcp out of "ping mcp URL".
func (o *pointOptions) arguments(g *given, args []string) (rest, command []string, err error) {
	rest = args
	if g.dash >= 0 {
		rest, command = args[:g.dash], args[g.dash:]
		if len(command) == 0 || strings.TrimSpace(command[0]) == "" {
			return nil, nil, usageErrorf("no command was given after --", "")
		}
	}
	if len(rest) > 0 && rest[0] == "mcp" && (len(rest) > 1 || command != nil) {
		rest = rest[1:]
	}
	if len(rest) > 1 {
		return nil, nil, usageErrorf("one target at a time", shown(maskedArgs(rest))).
			hint("put -- before a command and its arguments; list several servers in mcpvigil.yaml")
	}
	return rest, command, nil
}

// transports are the values of the transport flags.
func (o *pointOptions) transports() map[string]*string {
	return map[string]*string{"stdio": &o.stdio, "url": &o.url, "sse": &o.sse, "config": &o.configFile}
}

// choose returns the transport flags that count. Those on the command line, and
// arguments, win over variables; MCPVIGIL_ variables over MCP_HEALTHCHECK_ ones.
// The losers are emptied.
func (o *pointOptions) choose(g *given, arguments bool) []string {
	values := o.transports()
	rank := func(name string) int {
		switch variable := g.fromEnv[name]; {
		case *values[name] == "":
			return 0
		case variable == "":
			return 3
		case strings.HasPrefix(variable, "MCPVIGIL_"):
			return 2
		default:
			return 1
		}
	}
	best := 0
	if arguments {
		best = 3
	}
	for _, name := range transportFlags() {
		best = max(best, rank(name))
	}
	var chosen []string
	for _, name := range transportFlags() {
		if r := rank(name); r < best {
			*values[name] = ""
		} else if r > 0 {
			chosen = append(chosen, "--"+name)
		}
	}
	return chosen
}

func (o *pointOptions) argument(g *given, arg string) (*selection, error) {
	if strings.Contains(arg, "://") {
		return o.direct(g, &target.Target{Endpoint: arg, Transport: target.HTTP})
	}
	if _, err := os.Stat(arg); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return o.file(g, arg)
	}
	e := usageErrorf("no such file, and not a URL", arg)
	e.usage = false
	host, _, _ := strings.Cut(arg, "/")
	name, _, _ := strings.Cut(host, ":")
	extension := filepath.Ext(arg)
	switch {
	case slices.Contains([]string{".yaml", ".yml", ".json", ".toml"}, extension):
		return nil, e.hint("check the path; it is looked up from the current directory")
	case weburl.Loopback(name):
		return nil, e.hint("did you mean http://%s?", arg)
	case strings.Contains(name, ".") && !strings.HasPrefix(name, "."):
		return nil, e.hint("did you mean https://%s?", arg)
	}
	if _, err := exec.LookPath(arg); err == nil {
		return nil, e.hint("to start a server, put -- before its command: -- %s", arg)
	}
	return nil, e.hint("give an MCP URL such as https://mcp.example.com/mcp, a configuration file, or -- and a command")
}

// file reads targets from a configuration of ours or of a client.
func (o *pointOptions) file(g *given, path string) (*selection, error) {
	for _, name := range []string{"header", "header-env", "header-file", "bearer-env", "bearer-file", "bearer-command", "cwd", "env"} {
		if g.byFlag(name) {
			return nil, usageErrorf("--"+name+" is for a server given by address or command; the file says it for its targets", path)
		}
	}
	sel, err := readTargets(path, o.named)
	if err != nil {
		return nil, explainProgram(path, explainFile(path, err))
	}
	if o.authChain && g.byFlag("auth-chain") {
		for _, t := range sel.targets {
			if t.Kind() != target.HTTP {
				return nil, usageErrorf("--auth-chain is for Streamable HTTP servers, and this target is none", t.Label()).hint("choose targets with --target NAME")
			}
		}
	}
	o.override(sel.targets)
	return sel, nil
}

// explainProgram adds to an error about a file that it may be a server to start.
func explainProgram(path string, err error) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json", ".jsonc", ".toml":
		return err
	}
	info, stat := os.Stat(path)
	if stat != nil || !info.Mode().IsRegular() {
		return err
	}
	const advice = "to start a server, put -- before its command: -- %s"
	if start, _ := readStart(path); info.Mode()&0o111 != 0 || start == "#!" || start == "MZ" {
		return hinted(fmt.Errorf("not a configuration but a program: %s", path), advice, path)
	}
	return hinted(err, advice, "PROGRAM "+path).hint("a configuration is YAML and ends in .yaml, or is a client's .json or .toml")
}

// readStart returns the first two bytes of a file, which tell a program.
func readStart(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var start [2]byte
	_, err = io.ReadFull(f, start[:])
	return string(start[:]), err
}

// readTargets reads any kind of file that holds targets: all of them, or those
// that are named.
func readTargets(path string, named []string) (*selection, error) {
	if clientFile(path) {
		return readClientTargets(path, named)
	}
	f, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	sel := &selection{targets: slices.Clone(f.Targets), concurrency: f.Concurrency, policies: map[*target.Target]surface.Policy{}}
	for _, t := range f.Targets {
		sel.configured = append(sel.configured, t.Label())
	}
	for _, m := range f.Monitors {
		sel.policies[m.Target] = m.Policy
	}
	if len(named) > 0 {
		sel.targets = nil
	}
	for _, name := range named {
		t, err := config.Select(f, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(sel.targets, t) {
			sel.targets = append(sel.targets, t)
		}
	}
	return sel, nil
}

// clientFile tells a client's configuration by its name: ours is YAML.
func clientFile(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json", ".jsonc", ".toml":
		return true
	}
	return false
}

// selectTargets returns those of the targets that are named.
func selectTargets(targets []*target.Target, named []string, path string) ([]*target.Target, error) {
	var all []*target.Target
	for _, name := range named {
		found, err := selectTarget(targets, name, path)
		if err != nil {
			return nil, err
		}
		for _, t := range found {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return all, nil
}

func selectTarget(targets []*target.Target, name, path string) ([]*target.Target, error) {
	var names []string
	var found []*target.Target
	for _, t := range targets {
		names = append(names, t.Name)
		if t.Name == name || t.ID == name && name != "" {
			found = append(found, t)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	err := usageErrorf(path+" has no target called", name)
	err.usage = false
	if near := nearest(name, names); near != "" {
		return nil, err.hint("did you mean %s?", near)
	}
	return nil, err.hint("it has: %s", shown(names))
}

// defaultFile is for a command line that points at nothing.
func (o *pointOptions) defaultFile(g *given) (*selection, error) {
	for _, path := range defaultFiles() {
		if _, err := os.Stat(path); err == nil {
			return o.file(g, path)
		}
	}
	err := usageErrorf("no server was given, and there is no mcpvigil.yaml here", "")
	if _, stat := os.Stat(projectFile); stat == nil {
		// Its commands are started when somebody says so.
		all := g.typed(func(*pflag.Flag) bool { return true })
		return nil, err.hint("for the servers in %s: %s", projectFile, shellLine(g.command, append([]string{projectFile}, all...)))
	}
	return nil, err.hint("give an MCP URL such as https://mcp.example.com/mcp, a configuration file, or -- and a command")
}

// projectFile is where clients keep the servers of a project.
const projectFile = ".mcp.json"

func defaultFiles() []string {
	return []string{"mcpvigil.yaml", "mcpvigil.yml", "agenthealth.yaml", "agenthealth.yml"}
}

// direct completes a target that stands on the command line.
func (o *pointOptions) direct(g *given, t *target.Target) (*selection, error) {
	if len(o.named) > 0 && g.byFlag("target") {
		return nil, usageErrorf("--target picks from a configuration file, and none was given", "")
	}
	var err error
	if t.Kind() == target.Stdio {
		err = o.directStdio(g, t)
	} else {
		err = o.directHTTP(g, t)
	}
	if err != nil {
		return nil, err
	}
	sel := &selection{targets: []*target.Target{t}, concurrency: 1}
	o.override(sel.targets)
	return sel, nil
}

// override lays those flags over targets, and over all that they stand on, that
// make sense for any. It changes them in place: a target that others depend on
// is the same node, to be checked once, only as long as it is the same pointer.
func (o *pointOptions) override(targets []*target.Target) {
	for _, t := range target.WithDependencies(targets) {
		if o.protocolVersion != "" {
			t.ProtocolVersion = o.protocolVersion
		}
		if o.allowPlaintext {
			t.AllowPlaintextCredentials = true
		}
		if t.Kind() != target.Stdio {
			o.overrideTLS(&t.TLS)
		}
		if o.authChain && t.Kind() == target.HTTP {
			t.AuditChain, t.Headers, t.OAuth = true, nil, nil // it is walked without a credential
		}
		if o.inheritEnv && t.Command != nil {
			t.Command.InheritEnv = true
		}
	}
}

func (o *pointOptions) overrideTLS(t *target.TLS) {
	if o.tls.CAFile != "" {
		t.CAFile = o.tls.CAFile
	}
	if o.tls.CertFile != "" {
		t.CertFile, t.KeyFile = o.tls.CertFile, o.tls.KeyFile
	}
	if o.tls.ServerName != "" {
		t.ServerName = o.tls.ServerName
	}
}

func (o *pointOptions) directStdio(g *given, t *target.Target) error {
	for _, name := range []string{"header", "header-env", "header-file", "bearer-env", "bearer-file", "bearer-command", "ca-file", "cert-file", "key-file", "tls-server-name", "auth-chain"} {
		if g.byFlag(name) {
			return usageErrorf("--"+name+" is for HTTP servers only", "").
				hint("hand a credential to a command with --env NAME=VALUE")
		}
	}
	t.Command.Dir = o.cwd
	t.Command.ShownArgs = config.ShowArgs(t.Command.Args)
	for _, assignment := range o.env {
		name, value, err := pair(assignment, "=")
		if err != nil {
			return err
		}
		t.Command.Env = append(t.Command.Env, target.EnvVar{Name: name, Value: target.Literal(value)})
	}
	return nil
}

func (o *pointOptions) directHTTP(g *given, t *target.Target) error {
	for _, name := range []string{"cwd", "env", "inherit-env"} {
		if g.byFlag(name) {
			return usageErrorf("--"+name+" is for servers that are started as a command only", "")
		}
	}
	if o.bearerEnv != "" {
		t.Headers = append(t.Headers, target.Bearer(target.FromEnv(o.bearerEnv)))
	}
	if o.bearerFile != "" {
		t.Headers = append(t.Headers, target.Bearer(target.FromFile(o.bearerFile)))
	}
	if o.bearerCommand != "" {
		words, err := splitCommand("--bearer-command", o.bearerCommand)
		if err != nil {
			return err
		}
		t.Headers = append(t.Headers, target.Bearer(target.FromCommand(words...)))
	}
	for _, source := range []struct {
		pairs  []string
		mark   string
		secret func(string) target.Secret
	}{{o.headers, ":", target.Literal}, {o.headerEnv, "=", target.FromEnv}, {o.headerFile, "=", target.FromFile}} {
		for _, s := range source.pairs {
			name, value, err := pair(s, source.mark)
			if err != nil {
				return err
			}
			t.Headers = append(t.Headers, target.Header{Name: name, Value: source.secret(strings.TrimSpace(value))})
		}
	}
	seen := map[string]bool{}
	for _, h := range t.Headers {
		name := textproto.CanonicalMIMEHeaderKey(h.Name)
		if seen[name] {
			return usageErrorf("header given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// splitCommand splits the value of a flag into words as a shell would, without
// being one: nothing is expanded, and what only a shell can do is refused and not
// passed over.
func splitCommand(flag, s string) ([]string, error) {
	p := shellwords.NewParser()
	p.ParseEnv, p.ParseBacktick, p.ParseComment = false, false, false
	words, err := p.Parse(s)
	switch {
	case err != nil:
		return nil, usageErrorf(flag+": the command has an open quote or bracket", s).
			hint("close it, or put a backslash before it if it is meant as text")
	case p.Position >= 0:
		return nil, usageErrorf(fmt.Sprintf("%s: the command holds %q, and no shell is run", flag, operator(s, p.Position)), s).
			hint("quote it if it is meant as text, or run a shell yourself: %s \"sh -c '...'\"", flag)
	case strings.Join(words, "") == "":
		return nil, usageErrorf(flag+" is empty", "")
	}
	return words, nil
}

// operator is what stands at the given rune of s.
func operator(s string, at int) string {
	if runes := []rune(s); at < len(runes) {
		return string(runes[at])
	}
	return s
}
