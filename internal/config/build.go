package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/target"
)

// agentHealthStep is agenthealth's default for one attempt.
const agentHealthStep = 5 * time.Second

// Reasons of the problems that this package finds.
const (
	ReasonMissingVariable  = "missing-variable"
	ReasonUnreadableSecret = "unreadable-secret"
	ReasonInvalidEndpoint  = "invalid-endpoint"
	ReasonInvalidGrant     = "grant-invalid"
	ReasonTLSFiles         = "tls-files"
	ReasonInvalidEntry     = "invalid-entry"
)

// builder turns decoded definitions into targets. It checks what one type
// alone cannot say, and records mistakes with the decoder.
type builder struct {
	*decoder
	opts   Options
	result *File
	nodes  map[string]*node // by id
	all    []*node
}

// node is a target on its way: its definition, where it is, and its edges.
type node struct {
	target *target.Target
	at     *yaml.Node
	path   string
	label  string
	edges  []edge
	state  uint8 // of the search for cycles
	depth  int   // longest chain from here, itself included
	size   int   // entries of the tree from here, itself included
}

type edge struct {
	to  *node // nil until the reference is resolved
	ref string
	at  *yaml.Node
	dep target.Dependency
	// path leads to the edge.
	path string
}

func (b *builder) file(conf *fileConfig) *File {
	b.result = &File{
		Name: b.decoder.file, Version: string(conf.Version),
		Concurrency: DefaultConcurrency, Defaults: Defaults{Interval: DefaultInterval},
		Nodes: map[string]*target.Target{}, lines: b.lines, byName: map[string]*target.Target{},
	}
	if conf.Concurrency != nil {
		b.result.Concurrency = *conf.Concurrency
	}
	if c := conf.Defaults; c != nil {
		b.result.Defaults.Timeout = time.Duration(c.Timeout)
		if c.Interval != 0 {
			b.result.Defaults.Interval = time.Duration(c.Interval)
		}
	}
	var roots []*node
	first := map[string]int{} // lines of names
	for i, c := range conf.Targets {
		if c == nil { // its mistake is recorded
			continue
		}
		path := "targets[" + strconv.Itoa(i) + "]"
		n := b.node(&c.object, &c.targetFields, path)
		b.named(c, n.target, path, first)
		roots = append(roots, n)
		b.result.Targets = append(b.result.Targets, n.target)
		if b.result.byName[n.target.Name] == nil {
			b.result.byName[n.target.Name] = n.target
		}
		b.result.Monitors = append(b.result.Monitors, b.monitor(n, c, path))
	}
	b.link(roots)
	b.depend(roots)
	b.watched(conf)
	return b.result
}

// node builds the target that f defines, and the tree below it.
func (b *builder) node(o *object, f *targetFields, path string) *node {
	t := &target.Target{Name: f.Name, ID: f.ID, AllowPlaintextCredentials: f.AllowPlaintext != nil && *f.AllowPlaintext}
	n := &node{target: t, at: o.at, path: path, label: f.ID}
	if n.label == "" {
		n.label = strings.Trim(quoteKey(f.Name), `"`)
	}
	b.all = append(b.all, n)
	p := &part{builder: b, t: t, o: o, f: f, path: path}
	if f.ID != "" {
		p.identify(n)
	}
	p.address()
	p.checks()
	p.budgets()
	p.limits()
	p.credential()
	p.trust()
	p.protocol()
	for i, c := range f.Dependencies {
		if c != nil {
			n.edges = append(n.edges, b.edge(c, fmt.Sprintf("%s.dependencies[%d]", path, i)))
		}
	}
	return n
}

func (b *builder) edge(c *dependency, path string) edge {
	e := edge{at: c.at, path: path, ref: c.Ref, dep: target.Dependency{
		Optional: c.Critical != nil && !*c.Critical, Relationship: target.Relationship(c.Relationship),
	}}
	if c.has("ref") {
		e.at = c.where("ref")
	} else {
		e.to = b.node(&c.object, &c.targetFields, path)
	}
	return e
}

// part builds one target; its methods each take one part of the definition.
type part struct {
	*builder
	t    *target.Target
	o    *object
	f    *targetFields
	path string
}

// wrong records a mistake at n, a value under key of the target.
func (p *part) wrong(n *yaml.Node, key, text, hint string) {
	p.failAt(n, p.path+"."+key, text, hint)
}

// problem makes the target misconfigured. Further problems of the same reason
// are added to its text; others wait until the first is solved.
func (p *part) problem(n *yaml.Node, reason, text, hint string) {
	text = Error{File: p.decoder.file, Line: n.Line, Column: n.Column, Text: text}.Error()
	switch old := p.t.Problem; {
	case old == nil:
		p.t.Problem = &target.Problem{Reason: reason, Text: text, Hint: hint}
	case old.Reason == reason:
		old.Text += "; " + text
	}
}

func (p *part) identify(n *node) {
	if other := p.nodes[p.f.ID]; other != nil {
		p.wrong(p.o.where("id"), "id", fmt.Sprintf("id %s is used twice, first by the target on line %d", quoteKey(p.f.ID), other.at.Line),
			"give each target an id of its own, or refer to the other one with ref")
		return
	}
	p.nodes[p.f.ID] = n
	p.result.Nodes[p.f.ID] = p.t
}

func (p *part) transport() target.Transport {
	if p.f.MCP == nil || p.f.MCP.Transport == "" || p.f.MCP.Transport == "streamable-http" {
		return target.HTTP
	}
	return target.Transport(p.f.MCP.Transport)
}

func (p *part) address() {
	p.t.Transport = p.transport()
	at := p.o.where("endpoint")
	p.t.Endpoint = p.expand(at, "endpoint", p.f.Endpoint)
	for _, s := range querySpans(p.f.Endpoint) {
		if !p.opts.AgentHealth && !strings.Contains(p.f.Endpoint[s.from:s.to], "${") {
			p.wrong(at, "endpoint", "endpoint holds a secret in its query, which is never written into this file", "write ${VARIABLE} in its place")
			break
		}
	}
	if p.t.Transport == target.Stdio && p.f.Endpoint != "" {
		if u, err := url.Parse(p.t.Endpoint); err != nil || u.Scheme != "stdio" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			p.problem(at, ReasonInvalidEndpoint, "the endpoint of a stdio server is only its label", "write stdio://NAME")
		}
		return
	}
	if p.t.Problem != nil || p.f.Endpoint == "" || p.opts.Portable && strings.Contains(p.f.Endpoint, "${") {
		return
	}
	alone := target.Target{Endpoint: p.t.Endpoint, Transport: p.t.Transport}
	if wrong := alone.Validate(); wrong != nil {
		p.problem(at, wrong.Reason, wrong.Text, endpointHint(p.f.Endpoint, wrong.Hint))
	}
}

// endpointHint returns the URL that was probably meant by written, or hint. What
// may hold a secret is not repeated.
func endpointHint(written, hint string) string {
	if strings.ContainsAny(written, "@?#$ ") || LooksSecret(written) {
		return hint
	}
	scheme, rest, ok := strings.Cut(written, "://")
	if ok {
		scheme = closest(scheme, []string{"http", "https"})
	} else {
		rest = strings.TrimLeft(written, "/")
		host, _, _ := strings.Cut(rest, "/")
		name, port, _ := strings.Cut(host, ":")
		switch {
		case weburl.Loopback(name):
			scheme = "http"
		case strings.Contains(strings.Trim(name, "."), ".") || port != "":
			scheme = "https"
		default:
			scheme = ""
		}
	}
	meant := target.Target{Endpoint: scheme + "://" + rest}
	if scheme == "" || meant.Validate() != nil {
		return hint
	}
	return "did you mean " + meant.Endpoint + "?"
}

// expand replaces ${NAME} in s, a value at n.
func (p *part) expand(n *yaml.Node, key, s string) string {
	if p.opts.AgentHealth {
		return s
	}
	lookup := p.opts.LookupEnv
	if p.opts.Portable {
		lookup = func(string) (string, bool) { return "", false }
	}
	out, missing, ok := expandText(s, lookup)
	if !ok {
		p.wrong(n, key, key+" has a ${ that is not closed or holds no name", "write ${NAME} or ${NAME:-default}; a plain ${ is written $${")
		return s
	}
	if p.opts.Portable {
		return s
	}
	for _, name := range missing {
		p.missing(n, name)
	}
	return out
}

func (p *part) missing(n *yaml.Node, name string) {
	p.problem(n, ReasonMissingVariable, "environment variable "+name+" is not set", "set it to a value that is not empty where mcpvigil runs, or change the name in the file")
}

func (p *part) checks() {
	if p.f.Checks != nil {
		p.t.Checks = make([]target.Dimension, len(p.f.Checks))
		for i, c := range p.f.Checks {
			p.t.Checks[i] = target.Dimension(c)
		}
	}
	c := p.f.Thresholds
	if c == nil {
		return
	}
	p.t.Expect.FirstResponse, p.t.Expect.MaxLatency = milliseconds(c.LatencyMS), milliseconds(c.MaxLatencyMS)
	p.t.Expect.MinTools, p.t.Expect.MaxTools = c.MinTools, c.MaxTools
	p.t.Expect.MinResources, p.t.Expect.MinPrompts = c.MinResources, c.MinPrompts
	if c.MinTokenDays != nil {
		p.t.Expect.MinTokenDays = *c.MinTokenDays
	}
	if c.MinTools != nil && c.MaxTools != nil && *c.MinTools > *c.MaxTools {
		p.wrong(c.keyAt("min_tools"), "thresholds.min_tools", "min_tools is larger than max_tools", "swap them")
	}
}

// milliseconds never gives zero for a threshold that was written, because zero
// means that there is none.
func milliseconds(ms *float64) time.Duration {
	if ms == nil {
		return 0
	}
	const most = float64(24 * 365 * time.Hour)
	return time.Duration(max(1, min(*ms*float64(time.Millisecond), most)))
}

func (p *part) limits() {
	c := p.f.Limits
	if c == nil {
		return
	}
	p.t.Limits = target.Limits{ResponseBytes: int64(number(c.ResponseBytes)), Pages: number(c.Pages), Entries: number(c.Entries)}
}

func (p *part) budgets() {
	ms := func(v *int) time.Duration {
		if v == nil {
			return 0
		}
		return time.Duration(*v) * time.Millisecond
	}
	b := &p.t.Budgets
	b.Step, b.Overall = ms(p.f.TimeoutMS), ms(p.f.BudgetMS)
	if p.f.TimeoutMS == nil && p.opts.AgentHealth {
		b.Step = agentHealthStep
	}
	switch {
	case p.f.Timeout != 0 && p.f.BudgetMS != nil:
		p.wrong(p.o.keyAt("budget_ms"), "budget_ms", "budget_ms and timeout both bound the whole check", "keep one of them")
	case p.f.Timeout != 0:
		b.Overall = time.Duration(p.f.Timeout)
	case p.f.BudgetMS == nil:
		b.Overall = p.result.Defaults.Timeout
	}
	for name, v := range p.f.CheckTimeoutsMS {
		if target.Dimension(name) == target.DependencyDimension {
			p.wrong(p.o.where("check_timeouts_ms"), "check_timeouts_ms", "check_timeouts_ms has the key dependency", "dependencies have timeouts of their own; remove it")
			continue
		}
		if b.Steps == nil {
			b.Steps = map[target.Dimension]time.Duration{}
		}
		b.Steps[target.Dimension(name)] = ms(&v)
	}
	b.RetryDelay = 100 * time.Millisecond
	if p.f.RetryDelayMS != nil {
		b.RetryDelay = ms(p.f.RetryDelayMS)
	}
	if p.f.Retries != nil {
		b.Retries = *p.f.Retries
	}
}

func (p *part) protocol() {
	c := p.f.MCP
	if c == nil {
		if slices.Contains(p.t.Checks, target.Functional) {
			p.uncalled()
		}
		return
	}
	p.t.ProtocolVersion = string(c.ProtocolVersion)
	p.t.Expect.Tools, p.t.Expect.Resources, p.t.Expect.Prompts = c.RequiredTools, c.RequiredResources, c.RequiredPrompts
	if c.Reachability != "" {
		p.t.HeadReachability = true
		if p.t.Transport == target.Stdio {
			p.wrong(c.keyAt("reachability"), "mcp.reachability", "reachability: head stands beside transport stdio, which has no HEAD", "remove it")
		}
	}
	p.requirements(c)
	p.functional(c)
	p.stdio(c)
	p.oauth(c)
}

// requirements need the capability dimension, where the checks are listed.
func (p *part) requirements(c *mcpConfig) {
	if p.t.Judges(target.Capability) {
		return
	}
	for _, key := range []string{"required_tools", "required_resources", "required_prompts"} {
		if c.has(key) {
			p.wrong(c.keyAt(key), "mcp."+key, key+" is not looked at, because checks does not list capability", "add capability to checks")
		}
	}
}

func (p *part) functional(c *mcpConfig) {
	wanted := slices.Contains(p.t.Checks, target.Functional)
	f := c.Functional
	switch {
	case f == nil && wanted && !c.has("functional"): // else its mistake is recorded
		p.uncalled()
	case f != nil && !wanted:
		p.wrong(c.keyAt("functional"), "mcp.functional", "a functional call is only made when checks lists functional", "add functional to checks")
	}
	if f == nil {
		return
	}
	if f.Safe != nil && !*f.Safe {
		p.wrong(f.where("safe"), "mcp.functional.safe", "safe is false", "set it to true once you know that the call harms nothing, or remove mcp.functional")
	}
	p.t.Call = &target.Call{Tool: f.Tool, Safe: f.Safe != nil && *f.Safe, Arguments: p.arguments(f)}
}

func (p *part) uncalled() {
	p.wrong(p.o.where("checks"), "checks", "checks lists functional, but nothing says which tool to call", "add mcp.functional with tool: and safe: true")
}

func (p *part) arguments(f *functionalConfig) []byte {
	switch {
	case f.ArgumentsJSON != nil && f.Arguments != nil:
		p.wrong(f.keyAt("arguments"), "mcp.functional.arguments", "arguments and arguments_json are both given", "keep one of them")
	case f.Arguments != nil:
		at := f.where("arguments")
		w := &jsonWriter{decoder: p.decoder}
		if problem := w.write(f.Arguments.node, 0); problem != nil {
			p.wrong(problem.at, "mcp.functional.arguments", problem.text, problem.hint)
			return nil
		}
		p.sized(at, "arguments", w.out.Len())
		return w.out.Bytes()
	case f.ArgumentsJSON != nil:
		text := *f.ArgumentsJSON
		at := f.where("arguments_json")
		if !p.sized(at, "arguments_json", len(text)) || strings.TrimSpace(text) == "" {
			return nil
		}
		if !json.Valid([]byte(text)) || !strings.HasPrefix(strings.TrimSpace(text), "{") {
			p.wrong(at, "mcp.functional.arguments_json", "arguments_json is not a JSON object", `write '{"name": "value"}', or use arguments: {name: value}`)
			return nil
		}
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil {
			return nil
		}
		return compact.Bytes()
	}
	return nil
}

func (p *part) sized(at *yaml.Node, key string, size int) bool {
	if size <= target.MaxArguments {
		return true
	}
	p.wrong(at, "mcp.functional."+key, fmt.Sprintf("%s is larger than %d bytes", key, target.MaxArguments), "shorten it")
	return false
}

func (p *part) stdio(c *mcpConfig) {
	s := c.Stdio
	switch {
	case p.t.Transport == target.Stdio && s == nil && !c.has("stdio"):
		p.wrong(c.at, "mcp", "transport stdio needs the program to start", "add mcp.stdio with command: and args:")
	case p.t.Transport != target.Stdio && s != nil && (c.Transport != "" || !c.has("transport")):
		p.wrong(c.keyAt("stdio"), "mcp.stdio", "stdio stands beside transport "+string(p.t.Transport), "add transport: stdio, or remove stdio")
	}
	if s == nil {
		return
	}
	cmd := &target.Command{
		Path: p.expand(s.where("command"), "command", s.Command), Dir: p.expand(s.where("directory"), "directory", s.Directory),
		StdinGrace: time.Duration(s.StdinGrace), TermGrace: time.Duration(s.TermGrace),
	}
	p.t.Budgets.Startup = time.Duration(s.StartupTimeout)
	p.args(cmd, s)
	names := make([]string, 0, len(s.Env))
	for name := range s.Env {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		cmd.Env = append(cmd.Env, target.EnvVar{Name: name, Value: p.secretEnv(envNode(s.where("env"), name), s.Env[name])})
	}
	if p.t.Transport == target.Stdio {
		p.t.Command = cmd
	}
	if p.opts.Portable || p.t.Problem != nil || s.Command == "" {
		return
	}
	for _, f := range faults(cmd) {
		at := s.where(f.key)
		p.warn(p.t, Error{Line: at.Line, Column: at.Column, Path: p.path + ".mcp.stdio." + f.key, Text: f.text, Hint: f.hint})
	}
}

// args expands the arguments, and keeps them as they were written to be shown.
func (p *part) args(cmd *target.Command, s *stdioConfig) {
	before := ""
	list := s.where("args")
	for i, arg := range s.Args {
		at := list
		if i < len(list.Content) {
			at = list.Content[i]
		}
		cut := pieces(arg, before)
		if !p.opts.AgentHealth && !strings.Contains(arg, "${") && slices.ContainsFunc(cut, func(c piece) bool { return c.secret && LooksSecret(c.text) }) {
			p.wrong(at, "mcp.stdio.args", "an argument looks like a secret, which is never written into this file", "write ${VARIABLE} in its place")
		}
		cmd.Args = append(cmd.Args, p.expand(at, "args", arg))
		shown := showArg(arg, before)
		if strings.Contains(arg, "${") {
			shown = maskPieces(arg, unreferenced(cut))
		}
		before = arg
		cmd.ShownArgs = append(cmd.ShownArgs, shown)
	}
	if slices.Equal(cmd.Args, cmd.ShownArgs) {
		cmd.ShownArgs = nil
	}
}

// envNode finds the value of name in a mapping written without merge keys.
func envNode(env *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(env.Content); i += 2 {
		if env.Content[i].Value == name {
			return env.Content[i+1]
		}
	}
	return env
}
