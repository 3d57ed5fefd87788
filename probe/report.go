package probe

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

// Status is the verdict on a step or on a whole check.
type Status string

// The verdicts. A report has the worst one of its steps, in the order
// unhealthy, misconfigured, unknown, degraded, healthy.
const (
	// Healthy: a conforming client can use the server.
	StatusHealthy Status = "healthy"
	// Degraded: usable, but over a threshold that was asked for.
	StatusDegraded Status = "degraded"
	// Unknown: the check could not tell (own network, a limit, a budget).
	StatusUnknown Status = "unknown"
	// Misconfigured: the check is set up wrongly, or lacks a credential.
	StatusMisconfigured Status = "misconfigured"
	// Unhealthy: a conforming client cannot use the server.
	StatusUnhealthy Status = "unhealthy"
)

var severity = []Status{StatusHealthy, StatusDegraded, StatusUnknown, StatusMisconfigured, StatusUnhealthy}

// Worse returns the worse of s and other.
func (s Status) Worse(other Status) Status {
	if slices.Index(severity, other) > slices.Index(severity, s) {
		return other
	}
	return s
}

// Passed reports whether s is healthy or degraded.
func (s Status) Passed() bool { return s == StatusHealthy || s == StatusDegraded }

// Reason is a stable kebab-case code that says why. The codes are listed, with
// their verdicts, by [Reasons].
type Reason string

// Names of the standard steps, in the order in which they stand in a report.
// configuration, authentication, latency and call appear only when they were
// asked for or failed.
const (
	StepConfiguration  = "configuration"
	StepConnect        = "connect"
	StepAuthentication = "authentication"
	StepInitialize     = "initialize"
	StepTools          = "tools"
	StepResources      = "resources"
	StepPrompts        = "prompts"
	StepLatency        = "latency"
	StepCall           = "call"
	StepDependencies   = "dependencies"
)

// Report is the outcome of one check of one target. It is complete also when
// the check failed early: later steps are then listed as skipped.
//
// Its JSON has the names and shapes of mcp-healthcheck's HealthReport, and more
// members beside them. Text that came from the server has been made safe to
// show: control, bidirectional and invisible characters are escaped, lengths
// are bounded, and secrets of the run are replaced by "***".
type Report struct {
	Status Status `json:"status"`
	// TotalMs is the wall-clock time of the check, in milliseconds.
	TotalMs   Millis     `json:"totalMs"`
	Timestamp time.Time  `json:"timestamp"`
	Target    TargetInfo `json:"target"`
	// Era is "modern" or "legacy", or empty when the server did not get that far.
	Era     string      `json:"era,omitempty"`
	Checks  []Result    `json:"checks"`
	Summary Summary     `json:"summary"`
	Server  *ServerInfo `json:"server,omitempty"`
	Surface *Surface    `json:"surface,omitempty"`
	// Notes are things off-spec that did not change the verdict.
	Notes       []Note       `json:"notes,omitempty"`
	Certificate *Certificate `json:"certificate,omitempty"`
	// Credential is what the check got in with.
	Credential *Credential `json:"credential,omitempty"`
	// Chain is the discovery chain, where it was walked.
	Chain []Rung `json:"chain,omitempty"`
	// Revisions is every known revision with what the server made of it.
	// Filled only when [Options.Revisions] asks for it.
	Revisions    []Revision         `json:"revisions,omitempty"`
	Dependencies []DependencyResult `json:"dependencies,omitempty"`

	// Inventory is what the server advertised, as raw bytes. Nil when the check
	// did not get that far.
	Inventory *Inventory `json:"-"`
	// Evidence is what was sent and received, for people who have to find
	// out. It holds no bodies and no secrets and is not part of the JSON.
	Evidence []Exchange `json:"-"`

	// secrets are those of the operator and the tokens that they were exchanged
	// for; redact knows beside them what is not to be shown, such as the id of a
	// session.
	secrets, redact *plain.Redactor
	// answered: at least one byte of an answer has come.
	answered bool
}

// TargetInfo names what was checked.
type TargetInfo struct {
	Name      string           `json:"name"`
	ID        string           `json:"id,omitempty"`
	Transport target.Transport `json:"transport"`
	// Endpoint is the address, with query values and userinfo replaced; for
	// stdio the command line.
	Endpoint string `json:"endpoint"`
}

// Summary counts steps. Total counts those that ran; Skipped stands beside.
type Summary struct {
	Total   int `json:"total"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// ServerInfo is who the server says it is.
type ServerInfo struct {
	Name            string `json:"name"`
	Version         string `json:"version"`
	Title           string `json:"title,omitempty"`
	ProtocolVersion string `json:"protocolVersion"`
}

// Surface counts what the server advertises. A nil count was not listed.
type Surface struct {
	// Digest is that of [Report.Digest]. It is computed when the report is
	// marshalled, and zero before.
	Digest            surface.Digest `json:"digest,omitzero"`
	Tools             *int           `json:"tools,omitempty"`
	Resources         *int           `json:"resources,omitempty"`
	ResourceTemplates *int           `json:"resourceTemplates,omitempty"`
	Prompts           *int           `json:"prompts,omitempty"`
}

// Result is one step of a check.
type Result struct {
	// Name is a step name such as "tools", or the name of a custom check.
	Name string `json:"name"`
	// Dimension is what the step judges; empty for custom checks.
	Dimension target.Dimension `json:"dimension,omitempty"`
	Status    Status           `json:"status"`
	// Passed is true for healthy, for degraded by latency, and for a step
	// that was skipped because the server does not offer it.
	Passed bool `json:"passed"`
	// Skipped: the step did not run.
	Skipped    bool   `json:"skipped,omitempty"`
	DurationMs Millis `json:"durationMs"`
	// Message says what was asserted and what was found, in one line.
	Message string `json:"message"`
	// Reason is empty when the step is healthy.
	Reason Reason `json:"reason,omitempty"`
	// Hint names the next thing to do, in one line.
	Hint    string         `json:"hint,omitempty"`
	Error   *Failure       `json:"error,omitempty"`
	Details map[string]any `json:"details,omitempty"`
	Stages  *Stages        `json:"stages,omitempty"`
}

// Failure carries mcp-healthcheck's error code of a failed step.
type Failure struct {
	// Code is one of the Code constants.
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The error codes of mcp-healthcheck.
const (
	CodeTransport      = "TRANSPORT_ERROR"
	CodeSpawn          = "SPAWN_ERROR"
	CodeHandshake      = "HANDSHAKE_ERROR"
	CodeProtocol       = "PROTOCOL_ERROR"
	CodeCheckTimeout   = "CHECK_TIMEOUT"
	CodeOverallTimeout = "OVERALL_TIMEOUT"
	CodeAborted        = "ABORTED"
	CodeThreshold      = "THRESHOLD_VIOLATION"
	CodeCustomCheck    = "CUSTOM_CHECK_ERROR"
	CodeUnknown        = "UNKNOWN_ERROR"
)

// Stages splits the time of the first exchange, in milliseconds. A stage that
// did not happen (TLS on plain http, DNS for an address) is nil.
type Stages struct {
	DNS *Millis `json:"dnsMs,omitempty"`
	TCP *Millis `json:"tcpMs,omitempty"`
	TLS *Millis `json:"tlsMs,omitempty"`
	// FirstByte runs from the request being written to the first byte of the
	// answer.
	FirstByte *Millis `json:"firstByteMs,omitempty"`
	// Spawn is the time from the start of a stdio server to its first message.
	Spawn *Millis `json:"spawnMs,omitempty"`
}

// Note is one thing off-spec, or worth knowing, that did not change the verdict.
type Note struct {
	Reason Reason `json:"reason"`
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"`
	// Step is the step that saw it.
	Step string `json:"step,omitempty"`
	// Count is how often it was seen.
	Count int `json:"count,omitempty"`
}

// Certificate is the leaf certificate that the endpoint showed.
type Certificate struct {
	Subject  string    `json:"subject,omitempty"`
	Issuer   string    `json:"issuer"`
	Names    []string  `json:"names,omitempty"`
	NotAfter time.Time `json:"notAfter"`
	DaysLeft int       `json:"daysLeft"`
}

// Revision is one protocol revision and whether the server speaks it, tried
// with the opening that the revision itself prescribes.
type Revision struct {
	Version   string `json:"version"`
	Supported bool   `json:"supported"`
	// Answer is what the server said: the revision it offered, or why not.
	Answer string `json:"answer"`
}

// DependencyResult is the outcome of a target that this one stands on.
type DependencyResult struct {
	Name         string              `json:"name"`
	ID           string              `json:"id,omitempty"`
	Critical     bool                `json:"critical"`
	Relationship target.Relationship `json:"relationship,omitempty"`
	Status       Status              `json:"status"`
	// Report is the whole report of that target; the same node has the same
	// report wherever it appears. It is left out of the JSON, where the
	// dependency's own steps stand beside as Checks.
	Report *Report  `json:"-"`
	Checks []Result `json:"checks"`
}

// Exchange is one request and what came back, without bodies.
type Exchange struct {
	// Step is the step that sent it.
	Step string
	// Method is the JSON-RPC method; empty for a bare HTTP request.
	Method string
	// HTTPMethod, URL, Status and ContentType are empty on stdio.
	HTTPMethod, URL string
	Status          int
	ContentType     string
	Stages          *Stages
	Duration        time.Duration
	// Bytes is the size of the answer's body or line, as it was sent.
	Bytes int64
	// Err is why it failed, safe to show, or empty.
	Err string
	// Curl writes a shell line that sends the same request, with secrets replaced
	// by variables to fill in. Nil on stdio.
	Curl func() string
}

// Millis is a duration in milliseconds, marshalled with at most three decimals.
type Millis float64

// MillisOf converts d.
func MillisOf(d time.Duration) Millis { return Millis(float64(d.Microseconds()) / 1000) }

// Duration converts m back.
func (m Millis) Duration() time.Duration {
	return time.Duration(float64(m) * float64(time.Millisecond))
}

// String writes m for people: whole milliseconds from ten on.
func (m Millis) String() string {
	if m < 10 {
		return strconv.FormatFloat(float64(m), 'g', 2, 64) + " ms"
	}
	return strconv.FormatFloat(float64(m), 'f', 0, 64) + " ms"
}

// Passed reports whether the verdict is healthy or degraded.
func (r *Report) Passed() bool { return r.Status.Passed() }

// Result returns the step called name, or nil.
func (r *Report) Result(name string) *Result {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return &r.Checks[i]
		}
	}
	return nil
}

// MarshalJSON writes the report losslessly, with every character outside
// printable ASCII that is not a letter as \uXXXX.
func (r Report) MarshalJSON() ([]byte, error) {
	type bare Report // without this method
	if d := r.Digest(); !d.IsZero() {
		var digested Surface // the caller's stays as it is
		if r.Surface != nil {
			digested = *r.Surface
		}
		digested.Digest, r.Surface = d, &digested
	}
	data, err := json.Marshal(bare(r))
	if err != nil {
		return nil, err
	}
	return plain.JSON(data), nil
}
