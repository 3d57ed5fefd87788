package ops

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
	"github.com/mcpvigil/mcpvigil/surface"
)

// Header is one header that is sent to a server. Its value is taken and never given.
type Header struct {
	Name  string `json:"name" minLength:"1" maxLength:"256"`
	Value string `json:"value,omitempty" maxLength:"8192" doc:"Stored encrypted and never given out. Blank: the one that is stored stays."`
}

// Fields are what a person decides about a monitor.
type Fields struct {
	Name  string   `json:"name" minLength:"1" maxLength:"200" doc:"Unique among all monitors."`
	Group string   `json:"group,omitempty" maxLength:"200"`
	Tags  []string `json:"tags,omitempty" maxItems:"50" doc:"Labels to find it by."`

	URL             string   `json:"url" minLength:"1" maxLength:"2048" doc:"The MCP endpoint."`
	Transport       string   `json:"transport,omitempty" doc:"streamable-http (default) or sse; stdio only in a configuration file."`
	AuthMode        string   `json:"auth_mode,omitempty" doc:"none (default), header, or oauth, which judges the discovery chain and lists nothing; login only in a configuration file."`
	Headers         []Header `json:"headers,omitempty" maxItems:"10" doc:"In mode header alone. Answers hold names only."`
	ProtocolVersion string   `json:"protocol_version,omitempty" maxLength:"40" doc:"Pins the revision of the protocol."`

	ExpectedTools []string          `json:"expected_tools,omitempty" maxItems:"100" doc:"Names of tools that have to be listed."`
	MaxTools      int               `json:"max_tools,omitempty" minimum:"0" maximum:"10000" doc:"More tools fail the check; 0 means no cap."`
	DriftPolicy   string            `json:"drift_policy,omitempty" doc:"alert (default), record, or seed."`
	DriftEffects  map[string]string `json:"drift_effects,omitempty" doc:"Effects (fail, event, silent) of single classes of changes."`

	Interval          watch.Duration `json:"interval,omitempty" doc:"How often it is checked, such as 30s or 10m (default)."`
	Timeout           watch.Duration `json:"timeout,omitempty" doc:"What a check may take, 20s by default."`
	FailureThreshold  int            `json:"failure_threshold,omitempty" minimum:"0" maximum:"100" doc:"Failures in a row that make it down; 2 by default."`
	RecoveryThreshold int            `json:"recovery_threshold,omitempty" minimum:"0" maximum:"100" doc:"Successes in a row that make it up again; 1 by default."`
	Escalation        string         `json:"escalation,omitempty" maxLength:"200" doc:"Name of the policy that says who is told."`
	Locations         []string       `json:"locations,omitempty" maxItems:"20" doc:"Where it is checked from; local by default."`
	Dependencies      []Dependency   `json:"dependencies,omitempty" maxItems:"50" doc:"Monitors that this one stands on."`
}

// Dependency is another monitor that a monitor stands on.
type Dependency struct {
	Monitor  string `json:"monitor" maxLength:"200" doc:"Its name."`
	Critical bool   `json:"critical,omitempty" doc:"While it is down, nobody is told of this one."`
}

// MonitorInput makes a monitor.
type MonitorInput struct {
	Fields
	ExternalID string `json:"external_id,omitempty" maxLength:"200" doc:"The caller's own name of it, unique."`
	Paused     bool   `json:"paused,omitempty"`
}

// MonitorEdit changes what it names and leaves everything else. A header whose value is
// blank keeps the one that is stored; headers that are not named are dropped, and all
// of them when the mode is not header any more.
type MonitorEdit struct {
	Name              *string            `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Group             *string            `json:"group,omitempty" maxLength:"200"`
	Tags              *[]string          `json:"tags,omitempty" maxItems:"50"`
	URL               *string            `json:"url,omitempty" minLength:"1" maxLength:"2048"`
	Transport         *string            `json:"transport,omitempty"`
	AuthMode          *string            `json:"auth_mode,omitempty"`
	Headers           *[]Header          `json:"headers,omitempty" maxItems:"10"`
	ProtocolVersion   *string            `json:"protocol_version,omitempty" maxLength:"40"`
	ExpectedTools     *[]string          `json:"expected_tools,omitempty" maxItems:"100"`
	MaxTools          *int               `json:"max_tools,omitempty" minimum:"0" maximum:"10000"`
	DriftPolicy       *string            `json:"drift_policy,omitempty"`
	DriftEffects      *map[string]string `json:"drift_effects,omitempty"`
	Interval          *watch.Duration    `json:"interval,omitempty"`
	Timeout           *watch.Duration    `json:"timeout,omitempty"`
	FailureThreshold  *int               `json:"failure_threshold,omitempty" minimum:"0" maximum:"100"`
	RecoveryThreshold *int               `json:"recovery_threshold,omitempty" minimum:"0" maximum:"100"`
	Escalation        *string            `json:"escalation,omitempty" maxLength:"200"`
	Locations         *[]string          `json:"locations,omitempty" maxItems:"20"`
	Dependencies      *[]Dependency      `json:"dependencies,omitempty" maxItems:"50"`
}

// Monitor is a monitor as it is shown.
type Monitor struct {
	ID       int64        `json:"id"`
	Revision int64        `json:"revision" doc:"Grows with every change. Edits may name the one they are based on."`
	Source   watch.Source `json:"source" doc:"api, or file: then the configuration file owns it and it cannot be changed here."`
	// ExternalID is the caller's own name of it.
	ExternalID string `json:"external_id,omitempty"`
	Fields
	Paused    bool      `json:"paused"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Status    Status    `json:"status"`
	// Proposals are given where a single monitor is.
	Proposals []Proposal `json:"proposals,omitempty" doc:"What a first person accepted of its surface, where it takes two. Only where one monitor is asked for."`
}

// Status is how a monitor stands now.
type Status struct {
	watch.View
	Awaiting     bool           `json:"awaiting" doc:"A person has to confirm the surface: what was approved is not of this endpoint, credential or identity, or was withdrawn."`
	OpenChanges  int            `json:"open_changes" doc:"Changes that fail until a person accepts them."`
	OpenFindings int            `json:"open_findings" doc:"Findings that fail until a person accepts them."`
	Flapping     bool           `json:"flapping"`
	LastCheck    *time.Time     `json:"last_check,omitempty"`
	LastUp       *time.Time     `json:"last_up,omitempty"`
	Tools        *int           `json:"tools,omitempty"`
	Digest       string         `json:"digest,omitempty" doc:"Of the last surface that was seen to its end."`
	Server       string         `json:"server,omitempty" doc:"Name and version, as the server says. Untrusted."`
	Protocol     string         `json:"protocol,omitempty"`
	Era          string         `json:"era,omitempty"`
	Certificate  *time.Time     `json:"certificate_ends,omitempty"`
	Credential   *time.Time     `json:"credential_ends,omitempty"`
	Locations    []LocationView `json:"locations,omitempty"`
}

// LocationView is what one location saw last.
type LocationView struct {
	Location     string    `json:"location"`
	At           time.Time `json:"at"`
	Availability string    `json:"availability"`
	Surface      string    `json:"surface"`
	Posture      string    `json:"posture"`
	Reason       string    `json:"reason,omitempty"`
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func statusOf(m *watch.Monitor, st *watch.State, now time.Time) Status {
	s := Status{View: watch.Current(m, st, now)}
	if st == nil {
		return s
	}
	s.Awaiting, s.OpenChanges, s.OpenFindings, s.Flapping = st.Awaiting, st.OpenChanges, st.OpenFindings, st.Flapping
	s.LastCheck, s.LastUp = when(st.LastCheck), when(st.LastUp)
	s.Certificate, s.Credential = when(st.CertificateEnds), when(st.CredentialEnds)
	s.Tools, s.Server, s.Protocol, s.Era = st.Tools, st.Server, st.Protocol, st.Era
	if !st.Digest.IsZero() {
		s.Digest = st.Digest.String()
	}
	for _, name := range slices.Sorted(maps.Keys(st.Locations)) {
		l := st.Locations[name]
		s.Locations = append(s.Locations, LocationView{
			Location: name, At: l.At, Availability: l.Availability, Surface: l.Surface, Posture: l.Posture, Reason: l.Reason,
		})
	}
	return s
}

func shown(m *watch.Monitor, st *watch.State, now time.Time) Monitor {
	return Monitor{
		ID: m.ID, Revision: m.Revision, Source: m.Source, ExternalID: m.ExternalID, Fields: fieldsOf(&m.Definition),
		Paused: m.Paused, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Status: statusOf(m, st, now),
	}
}

func shownRow(r *store.MonitorRow, now time.Time) Monitor { return shown(&r.Monitor, r.State, now) }

func fieldsOf(d *watch.Definition) Fields {
	f := Fields{
		Name: d.Name, Group: d.Group, Tags: slices.Clone(d.Tags), URL: d.URL, Transport: d.Transport, AuthMode: d.AuthMode,
		ProtocolVersion: d.ProtocolVersion, ExpectedTools: slices.Clone(d.ExpectedTools), MaxTools: d.MaxTools,
		DriftPolicy: string(d.DriftPolicy), Interval: d.Interval, Timeout: d.Timeout,
		FailureThreshold: d.FailureThreshold, RecoveryThreshold: d.RecoveryThreshold,
		Escalation: d.Escalation, Locations: slices.Clone(d.Locations),
	}
	for _, name := range d.Headers {
		f.Headers = append(f.Headers, Header{Name: name})
	}
	for _, dep := range d.Dependencies {
		f.Dependencies = append(f.Dependencies, Dependency(dep))
	}
	if len(d.DriftEffects) > 0 {
		f.DriftEffects = make(map[string]string, len(d.DriftEffects))
		for class, effect := range d.DriftEffects {
			f.DriftEffects[string(class)] = string(effect)
		}
	}
	return f
}

// definition gives what the fields decide. Headers stand in it in their order.
func (f *Fields) definition() watch.Definition {
	d := watch.Definition{
		Name: f.Name, Group: f.Group, Tags: f.Tags, URL: f.URL, Transport: f.Transport, AuthMode: f.AuthMode,
		ProtocolVersion: f.ProtocolVersion, ExpectedTools: f.ExpectedTools, MaxTools: f.MaxTools,
		DriftPolicy: surface.PolicyName(f.DriftPolicy), Interval: f.Interval, Timeout: f.Timeout,
		FailureThreshold: f.FailureThreshold, RecoveryThreshold: f.RecoveryThreshold,
		Escalation: f.Escalation, Locations: f.Locations,
	}
	for _, h := range f.Headers {
		d.Headers = append(d.Headers, h.Name)
	}
	for _, dep := range f.Dependencies {
		d.Dependencies = append(d.Dependencies, watch.Dependency(dep))
	}
	if len(f.DriftEffects) > 0 {
		d.DriftEffects = make(map[surface.Class]surface.Effect, len(f.DriftEffects))
		for class, effect := range f.DriftEffects {
			d.DriftEffects[surface.Class(class)] = surface.Effect(effect)
		}
	}
	d.Normalize()
	return d
}

// apply gives f with what e changes.
func (e *MonitorEdit) apply(f Fields) Fields {
	set(&f.Name, e.Name)
	set(&f.Group, e.Group)
	set(&f.Tags, e.Tags)
	set(&f.URL, e.URL)
	set(&f.Transport, e.Transport)
	set(&f.AuthMode, e.AuthMode)
	set(&f.Headers, e.Headers)
	set(&f.ProtocolVersion, e.ProtocolVersion)
	set(&f.ExpectedTools, e.ExpectedTools)
	set(&f.MaxTools, e.MaxTools)
	set(&f.DriftPolicy, e.DriftPolicy)
	set(&f.DriftEffects, e.DriftEffects)
	set(&f.Interval, e.Interval)
	set(&f.Timeout, e.Timeout)
	set(&f.FailureThreshold, e.FailureThreshold)
	set(&f.RecoveryThreshold, e.RecoveryThreshold)
	set(&f.Escalation, e.Escalation)
	set(&f.Locations, e.Locations)
	set(&f.Dependencies, e.Dependencies)
	return f
}

func set[T any](place, value *T) {
	if value != nil {
		*place = *value
	}
}

// secrets are the values of headers after a change: those that are given, and of those
// that are blank the ones that were stored before, unless the endpoint is on another
// host: who can change the endpoint must not have them sent there. changed says whether
// any is new, another, or gone.
func secrets(f *Fields, d *watch.Definition, stored map[string]string, moved bool) (values map[string]string, changed bool, problems []watch.Problem) {
	if d.AuthMode != watch.AuthHeader {
		return nil, len(stored) > 0, nil
	}
	before := make(map[string]string, len(stored))
	for name, value := range stored {
		before[strings.ToLower(name)] = value
	}
	hint := "a header that is not stored yet needs a value"
	if moved {
		hint = "the endpoint is on another host now: give the values again"
	}
	values = make(map[string]string, len(f.Headers))
	for i, h := range f.Headers {
		value, place := h.Value, indexed("headers", i)+".value"
		if value == "" && !moved {
			value = before[strings.ToLower(h.Name)]
		}
		if value == "" {
			problems = append(problems, watch.Problem{Field: place, Text: "is missing", Hint: hint})
			continue
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f || r > 0xff }) {
			problems = append(problems, watch.Problem{Field: place, Text: "has characters that a header cannot have"})
		}
		changed = changed || value != before[strings.ToLower(h.Name)]
		values[h.Name] = value
	}
	return values, changed || len(values) != len(stored), problems
}

// otherHost reports whether an endpoint has another origin than the one before.
func otherHost(before, after string) bool {
	b, err := url.Parse(before)
	if err != nil {
		return true
	}
	a, err := url.Parse(after)
	return err != nil || !weburl.SameOrigin(a, b)
}
