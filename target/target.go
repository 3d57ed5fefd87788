// Package target says what a check is pointed at: an endpoint, the transport
// that reaches it, the credential that opens it and what is expected behind it.
//
// A Target is plain data. Nothing in this package touches the network; values
// of credentials are read only when [Secret.Reveal] is called. The package
// imports nothing of this module but internal/weburl, so that every layer can
// speak of targets.
//
// Compatibility: fields are added, never renamed or removed, within a major
// version. The zero value of every optional field means "as by default".
package target

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// Transport names the way messages travel. It is independent of the protocol
// revision: a legacy SSE server may well speak 2025-11-25.
type Transport string

// The transports, by the names that reports use.
const (
	// HTTP is Streamable HTTP (2025-03-26 and later).
	HTTP Transport = "http"
	// SSE is the HTTP+SSE transport of 2024-11-05.
	SSE Transport = "sse"
	// Stdio is a subprocess that speaks newline-delimited JSON.
	Stdio Transport = "stdio"
)

// Dimension is one aspect of a server that a check can judge.
type Dimension string

// The dimensions, in the order in which they are judged.
const (
	Configuration  Dimension = "configuration"
	Reachability   Dimension = "reachability"
	Authentication Dimension = "authentication"
	Protocol       Dimension = "protocol"
	Capability     Dimension = "capability"
	Functional     Dimension = "functional"
	Latency        Dimension = "latency"
	// DependencyDimension stands for the dependencies of a target. Listing it
	// adds a summary step to the report.
	DependencyDimension Dimension = "dependency"
)

// Dimensions returns every dimension, in the order in which they are judged.
func Dimensions() []Dimension {
	return []Dimension{Configuration, Reachability, Authentication, Protocol, Capability, Functional, Latency, DependencyDimension}
}

// DefaultDimensions returns what a check judges when a target names nothing.
func DefaultDimensions() []Dimension {
	return []Dimension{Configuration, Reachability, Authentication, Protocol, Capability, Latency}
}

// Target is one configured server.
type Target struct {
	// Name is shown in reports. Empty: the endpoint.
	Name string
	// ID is the target's identity inside a configuration file, or empty.
	ID string
	// Endpoint is the MCP URL (http or https; nothing is appended to it), or
	// for stdio an optional stdio://NAME that only labels the target.
	Endpoint string
	// Transport is how to reach it. Empty: Stdio when Command is set, else HTTP.
	Transport Transport
	// Command starts a stdio server. Nil for the other transports.
	Command *Command
	// Headers go with every HTTP request to the endpoint's origin.
	Headers []Header
	// OAuth gets the bearer token, or is nil. It excludes an Authorization header
	// among Headers.
	OAuth *OAuth
	// AuditChain judges the discovery chain that a new client walks instead of
	// the server behind it: an intact chain is healthy. Nothing is logged into.
	AuditChain bool
	// TLS is how an https endpoint is trusted, and how the check proves itself
	// to it. The zero value trusts what the system trusts.
	TLS TLS
	// AllowPlaintextCredentials lets Headers go to a plain http endpoint that
	// is not on this machine. Without it such a target is misconfigured.
	AllowPlaintextCredentials bool
	// ProtocolVersion pins one revision exactly. Empty: negotiate.
	ProtocolVersion string
	// Checks are the dimensions to judge. Nil: [DefaultDimensions]. Empty but
	// not nil: none, and the report is unknown.
	Checks []Dimension
	// Expect holds what must be there.
	Expect Expectations
	// Call is the one functional call, or nil.
	Call *Call
	// HeadReachability judges reachability by HEAD instead of by the first
	// exchange of the check.
	HeadReachability bool
	// Budgets bound the work. Zero values: the defaults of the check.
	Budgets Budgets
	// Limits bound what is read. Zero values: the defaults of the check.
	Limits Limits
	// Dependencies are targets that this one stands on. The same pointer
	// reached twice in a run is the same node and is checked once.
	Dependencies []Dependency
	// Problem, when not nil, is why this target cannot be checked as it is
	// configured (a missing variable, say). Its check is misconfigured and
	// sends nothing.
	Problem *Problem
}

// Problem is a local mistake that only concerns one target.
type Problem struct {
	Reason string // stable code, such as "missing-variable"
	Text   string // what is wrong, with file and line where there is one
	Hint   string // what to do next
}

// Command is a stdio server's program.
type Command struct {
	// Path is the program: an absolute path, a path relative to Dir when it
	// has a separator, or a name looked up on PATH. No shell is involved.
	Path string
	Args []string
	// ShownArgs is what to show in place of Args, where these hold a secret.
	// Nil: Args themselves.
	ShownArgs []string
	// Dir is the working directory. Empty: the current one.
	Dir string
	// Env is set for the child on top of the inherited variables.
	Env []EnvVar
	// InheritEnv hands the whole environment down instead of the safe subset
	// (PATH, HOME, USER, temporary directories and system variables).
	InheritEnv bool
	// StdinGrace and TermGrace bound how long the child may take to end after
	// its input is closed and after SIGTERM. Zero: 2 s and 3 s.
	StdinGrace, TermGrace time.Duration
}

// EnvVar is a variable for a stdio server.
type EnvVar struct {
	Name  string
	Value Secret
}

// Header is one static request header. Its value is Prefix followed by the
// secret, so that "Bearer " need not be part of what is stored.
type Header struct {
	Name   string
	Prefix string
	Value  Secret
}

// Bearer returns the Authorization header that carries a bearer token.
func Bearer(token Secret) Header {
	return Header{Name: "Authorization", Prefix: "Bearer ", Value: token}
}

// Expectations are requirements and thresholds on what a server offers.
type Expectations struct {
	// Tools, Resources (by URI) and Prompts must be listed; a missing one is
	// unhealthy, also when the server does not declare the inventory.
	Tools, Resources, Prompts []string
	// Counts outside these bounds degrade the report. Nil: no bound.
	MinTools, MaxTools, MinResources, MinPrompts *int
	// MaxLatency degrades the report when any single step takes longer.
	MaxLatency time.Duration
	// MinTokenDays degrades the report when the credential ends in fewer days.
	MinTokenDays int
	// FirstResponse degrades the report when the first exchange takes longer
	// from its start to the first byte of the answer.
	FirstResponse time.Duration
}

// Call is one functional tool call. It is made only when the server declares
// the tool with readOnlyHint true and destructiveHint false.
type Call struct {
	Tool string
	// Safe must be true: the operator's word that the call harms nothing.
	Safe bool
	// Arguments is a JSON object of at most 64 KiB. Empty: {}.
	Arguments []byte
}

// MaxArguments bounds [Call.Arguments], in bytes.
const MaxArguments = 64 << 10

// Budgets bound one check of one target.
type Budgets struct {
	// Overall bounds the whole check, without the start-up of a stdio server.
	Overall time.Duration
	// Step bounds each step.
	Step time.Duration
	// Steps overrides Step for single dimensions.
	Steps map[Dimension]time.Duration
	// Startup bounds the time from the start of a stdio server to its first
	// message, outside of Overall and Step.
	Startup time.Duration
	// Retries is how often a server that could not be reached, and sent no
	// byte, is tried again; RetryDelay is the pause before each try.
	Retries    int
	RetryDelay time.Duration
}

// Limits bound what is read from a server. Over a limit a step is unknown, never
// unhealthy.
type Limits struct {
	// ResponseBytes bounds one response, after decoding, with its resumptions;
	// for stdio, one line.
	ResponseBytes int64
	// Pages and Entries bound one inventory.
	Pages, Entries int
}

// Relationship says what a dependency is to the target that names it.
type Relationship string

// The relationships of agenthealth.yaml v1.
const (
	Supporting Relationship = "supporting"
	Downstream Relationship = "downstream"
	Path       Relationship = "path"
	Gateway    Relationship = "gateway"
	Router     Relationship = "router"
)

// Relationships returns every relationship.
func Relationships() []Relationship {
	return []Relationship{Supporting, Downstream, Path, Gateway, Router}
}

// Dependency is an edge to another target.
type Dependency struct {
	Target *Target
	// Optional makes a failure of Target degrade instead of fail.
	Optional     bool
	Relationship Relationship
}

// WithDependencies returns targets and everything they stand on, each pointer
// once, a target before its dependencies. It ends on cycles too.
func WithDependencies(targets []*Target) []*Target {
	var out []*Target
	seen := map[*Target]bool{}
	var visit func(t *Target)
	visit = func(t *Target) {
		if t == nil || seen[t] {
			return
		}
		seen[t] = true
		out = append(out, t)
		for _, d := range t.Dependencies {
			visit(d.Target)
		}
	}
	for _, t := range targets {
		visit(t)
	}
	return out
}

// Kind returns the transport, derived where it is not set.
func (t *Target) Kind() Transport {
	switch {
	case t.Transport != "":
		return t.Transport
	case t.Command != nil:
		return Stdio
	default:
		return HTTP
	}
}

// Label returns what a report calls the target: its name, else its address.
func (t *Target) Label() string {
	if t.Name != "" {
		return t.Name
	}
	return t.Address()
}

// Address returns where the target is: the endpoint without userinfo and
// query values, or the command of a stdio server with its arguments as
// [Command.ShownArgs] has them.
func (t *Target) Address() string {
	if t.Kind() == Stdio && t.Command != nil {
		args := t.Command.ShownArgs
		if args == nil {
			args = t.Command.Args
		}
		return strings.Join(append([]string{t.Command.Path}, args...), " ")
	}
	return weburl.RedactText(t.Endpoint)
}

// Judges reports whether the check of t judges d.
func (t *Target) Judges(d Dimension) bool {
	checks := t.Checks
	if checks == nil {
		checks = DefaultDimensions()
	}
	return slices.Contains(checks, d)
}

// Listing is a copy of t whose check lists the server and nothing else: nothing is
// called, no dependency is checked, and nothing is expected. It is how a surface is
// seen that is compared with another one.
func (t *Target) Listing() *Target {
	c := *t
	c.Checks = []Dimension{Configuration, Reachability, Authentication, Protocol, Capability}
	c.Expect, c.Call, c.Dependencies = Expectations{}, nil, nil
	c.HeadReachability = false
	return &c
}

// Validate reports the first thing that makes t unusable, without touching the
// network: a bad endpoint, a missing command, a credential on the wrong
// transport. It returns nil when a check can start.
func (t *Target) Validate() *Problem {
	if t.Problem != nil {
		return t.Problem
	}
	if t.Kind() == Stdio {
		return t.validateStdio()
	}
	if t.Command != nil {
		return problem("invalid-target", "a command was given for a target of transport "+string(t.Kind()), "drop the command, or use transport stdio")
	}
	if p := validateEndpoint(t.Endpoint); p != nil {
		return p
	}
	for _, h := range t.Headers {
		if !validHeaderName(h.Name) {
			return problem("invalid-header", fmt.Sprintf("%q is not a header name", h.Name), "write NAME:VALUE with letters, digits and dashes in NAME")
		}
	}
	if p := t.validateLogin(); p != nil {
		return p
	}
	u, err := url.Parse(t.Endpoint)
	if err == nil && (len(t.Headers) > 0 || t.OAuth != nil) && u.Scheme == "http" && !t.AllowPlaintextCredentials && !weburl.Loopback(u.Hostname()) {
		return problem("plaintext-credential", "headers would go to "+u.Host+" over plain http, where anyone on the way can read them",
			"use https, or allow it on purpose with --allow-plaintext-credentials (allow_plaintext_credentials: true in a file)")
	}
	return t.validateCall()
}

func (t *Target) validateLogin() *Problem {
	authorization := slices.ContainsFunc(t.Headers, func(h Header) bool { return strings.EqualFold(h.Name, "Authorization") })
	switch {
	case t.OAuth != nil && authorization:
		return problem("invalid-target", "the target has an Authorization header and an OAuth login", "keep one of them")
	case t.AuditChain && (t.OAuth != nil || authorization):
		return problem("invalid-target", "the discovery chain is walked without a credential, and the target has one", "keep auth.mode oauth or the credential")
	case t.AuditChain && t.Kind() != HTTP:
		return problem("invalid-target", "only a Streamable HTTP server has a discovery chain", "use transport http")
	}
	return nil
}

func (t *Target) validateStdio() *Problem {
	switch c := t.Command; {
	case t.OAuth != nil || t.AuditChain || t.TLS != (TLS{}):
		return problem("invalid-target", "a stdio server has no HTTP login", "hand credentials over as environment variables (env)")
	case c == nil || strings.TrimSpace(c.Path) == "":
		return problem("invalid-target", "no command was given for a stdio server", "give the program and its arguments after --")
	case len(t.Headers) > 0:
		return problem("invalid-target", "a stdio server takes no HTTP headers", "hand credentials over as environment variables (env)")
	case strings.ContainsRune(c.Path+strings.Join(c.Args, ""), 0):
		return problem("invalid-target", "the command holds a NUL byte", "remove it")
	}
	return t.validateCall()
}

func (t *Target) validateCall() *Problem {
	switch c := t.Call; {
	case c == nil:
		return nil
	case strings.TrimSpace(c.Tool) == "":
		return problem("invalid-call", "the functional call names no tool", "set functional.tool")
	case !c.Safe:
		return problem("invalid-call", "the functional call of "+fmt.Sprintf("%q", c.Tool)+" is not marked safe", "set safe: true once you know that the call harms nothing")
	case len(c.Arguments) > MaxArguments:
		return problem("invalid-call", fmt.Sprintf("the arguments of the functional call are %d bytes, over the limit of %d", len(c.Arguments), MaxArguments), "shorten them")
	}
	return nil
}

func validateEndpoint(endpoint string) *Problem {
	if strings.TrimSpace(endpoint) == "" {
		return problem("invalid-endpoint", "no endpoint was given", "give the server's MCP URL, such as https://mcp.example.com/mcp")
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return problem("invalid-endpoint", "the endpoint is not a URL", "give the server's MCP URL, such as https://mcp.example.com/mcp")
	case u.Scheme == "":
		return problem("invalid-endpoint", "the endpoint does not start with http:// or https://", "give the server's MCP URL, such as https://mcp.example.com/mcp")
	case u.Scheme != "http" && u.Scheme != "https":
		return problem("invalid-endpoint", fmt.Sprintf("the endpoint's scheme is %q, not http or https", u.Scheme), "give the server's MCP URL, such as https://mcp.example.com/mcp")
	case u.Hostname() == "":
		return problem("invalid-endpoint", "the endpoint has no host", "give the server's MCP URL, such as https://mcp.example.com/mcp")
	case !validPort(u):
		return problem("invalid-endpoint", "the endpoint's port "+u.Port()+" is not between 1 and 65535", "correct it")
	case u.User != nil:
		return problem("invalid-endpoint", "the endpoint holds a user name or password", "move the credential to a header, from an environment variable or a file")
	case u.Fragment != "":
		return problem("invalid-endpoint", "the endpoint has a #fragment, which is never sent", "remove it")
	}
	return nil
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

func problem(reason, text, hint string) *Problem {
	return &Problem{Reason: reason, Text: text, Hint: hint}
}

func validHeaderName(name string) bool {
	for _, r := range name {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)) {
			return false
		}
	}
	return name != ""
}
