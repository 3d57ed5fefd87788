package watch

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpvigil/mcpvigil/surface"
)

// Source says who owns a monitor.
type Source string

// The sources. What a file owns is shown and cannot be edited.
const (
	FromFile Source = "file"
	FromAPI  Source = "api"
)

// Limits and defaults of definitions.
const (
	MinInterval       = 10 * time.Second
	MaxInterval       = 7 * 24 * time.Hour
	DefaultInterval   = 10 * time.Minute
	DefaultTimeout    = 20 * time.Second
	MaxHeaders        = 10
	MaxExpectedTools  = 100
	MaxMaxTools       = 10_000
	DefaultThreshold  = 2 // failures in a row that make a monitor down
	DefaultRecovery   = 1 // successes in a row that make it up again
	DefaultLocation   = "local"
	DefaultEscalation = "default"
)

// The transports and authentication modes of a definition. Stdio and Login are only
// for monitors that a file owns.
const (
	StreamableHTTP = "streamable-http"
	SSE            = "sse"
	Stdio          = "stdio"

	AuthNone   = "none"
	AuthHeader = "header"
	AuthOAuth  = "oauth" // the discovery chain is judged, nothing is logged into
	AuthLogin  = "login" // a token from an authorization server
)

// Duration is a time.Duration that is written like 10m or 1h30m.
type Duration time.Duration

// MarshalText writes d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30s or 10m", text)
	}
	*d = Duration(v)
	return nil
}

// Dependency is another monitor that a monitor stands on.
type Dependency struct {
	// Monitor is its name.
	Monitor string `json:"monitor"`
	// Critical: while it is down, nobody is paged of the availability of this monitor.
	Critical bool `json:"critical"`
}

// Definition is what a person decides about a monitor. Its JSON is what the API takes
// and gives, and what is stored; values of headers are not part of it.
type Definition struct {
	// Name is unique among all monitors.
	Name  string   `json:"name"`
	Group string   `json:"group,omitempty"`
	Tags  []string `json:"tags,omitempty"`

	// URL is the endpoint; of a monitor that a file owns it is fit to be shown and
	// not to be called.
	URL       string `json:"url"`
	Transport string `json:"transport"`
	AuthMode  string `json:"auth_mode"`
	// Headers are the names of the headers that are sent in mode header.
	Headers         []string `json:"headers,omitempty"`
	ProtocolVersion string   `json:"protocol_version,omitempty"`

	ExpectedTools []string `json:"expected_tools,omitempty"`
	// MaxTools fails the check when more are listed; 0 means no cap.
	MaxTools     int                              `json:"max_tools"`
	DriftPolicy  surface.PolicyName               `json:"drift_policy"`
	DriftEffects map[surface.Class]surface.Effect `json:"drift_effects,omitempty"`

	Interval Duration `json:"interval"`
	Timeout  Duration `json:"timeout"`
	// FailureThreshold is how many failures in a row make it down, RecoveryThreshold
	// how many successes make it up again.
	FailureThreshold  int          `json:"failure_threshold"`
	RecoveryThreshold int          `json:"recovery_threshold"`
	Escalation        string       `json:"escalation,omitempty"`
	Locations         []string     `json:"locations"`
	Dependencies      []Dependency `json:"dependencies,omitempty"`
}

// Policy is what changes of the surface do.
func (d *Definition) Policy() surface.Policy {
	return surface.Policy{Base: d.DriftPolicy, Effects: d.DriftEffects}
}

// Missing are the tools that are expected and not in s; none when not all were listed.
func (d *Definition) Missing(s *surface.Surface) []string {
	if len(d.ExpectedTools) == 0 || slices.Contains(s.Unlisted(), surface.Tool) {
		return nil
	}
	there := map[string]bool{}
	for _, item := range s.Of(surface.Tool) {
		there[item.Name] = true
	}
	var out []string
	for _, name := range d.ExpectedTools {
		if !there[name] {
			out = append(out, name)
		}
	}
	return out
}

// Monitor is a target on a schedule.
type Monitor struct {
	ID int64 `json:"id"`
	// Revision grows with every change of what is checked, and Approvals with every
	// change of what is approved: results of another one are not judged.
	Revision  int64  `json:"revision"`
	Approvals int64  `json:"approvals"`
	Source    Source `json:"source"`
	// ExternalID is the caller's own name of a monitor made through the API, unique,
	// or empty.
	ExternalID string     `json:"external_id,omitempty"`
	Definition Definition `json:"definition"`
	Paused     bool       `json:"paused"`
	CreatedAt  time.Time  `json:"created_at"`
	UpdatedAt  time.Time  `json:"updated_at"`
}

// Kind says why a check ran.
type Kind string

// The kinds. A confirming check runs soon after a failure that is not yet believed.
const (
	Scheduled Kind = "scheduled"
	Confirm   Kind = "confirm"
	Manual    Kind = "manual"
	// Review is no check: a person decided, and the last surface is judged again.
	Review Kind = "review"
)

// Timing is how long the stages of a check took, in milliseconds; nil where a stage
// did not happen.
type Timing struct {
	Total     float64  `json:"total"`
	Init      *float64 `json:"init,omitempty"`
	List      *float64 `json:"list,omitempty"`
	DNS       *float64 `json:"dns,omitempty"`
	TCP       *float64 `json:"tcp,omitempty"`
	TLS       *float64 `json:"tls,omitempty"`
	FirstByte *float64 `json:"first_byte,omitempty"`
}

// Result is one check as history keeps it. (Monitor, Slot, Location, Kind) is its key.
type Result struct {
	Monitor  int64     `json:"monitor"`
	Location string    `json:"location"`
	Slot     time.Time `json:"slot"`
	Kind     Kind      `json:"kind"`
	Started  time.Time `json:"started"`
	// Status is that of the report: healthy, degraded, unhealthy, misconfigured,
	// unknown. Empty: the slot was skipped, as the last check was still running or
	// the slot had passed.
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Step    string `json:"step,omitempty"`
	Message string `json:"message,omitempty"` // one line, safe to show
	Timing  Timing `json:"timing"`
	Tools   *int   `json:"tools,omitempty"`
	// Digest is that of the surface seen; zero when it was not seen to its end.
	Digest surface.Digest `json:"digest,omitzero"`
	// Maintenance: it ran in a maintenance window and does not count for uptime.
	Maintenance bool `json:"maintenance,omitempty"`
}

// Report is a JSON report of package probe, as it was marshalled there.
type Report = json.RawMessage
