package mcpserver

import (
	"regexp"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// monitor is what a person decided about a monitor, and how it stands.
type monitor struct {
	ID           int64     `json:"id"`
	Name         string    `json:"name"`
	Source       string    `json:"source" jsonschema:"api, or file: then it is changed in the configuration file only"`
	URL          string    `json:"url"`
	Transport    string    `json:"transport"`
	AuthMode     string    `json:"auth_mode"`
	Group        string    `json:"group,omitempty"`
	Tags         []string  `json:"tags,omitempty"`
	DriftPolicy  string    `json:"drift_policy"`
	Interval     string    `json:"interval"`
	Timeout      string    `json:"timeout"`
	Escalation   string    `json:"escalation,omitempty"`
	Paused       bool      `json:"paused"`
	CreatedAt    time.Time `json:"created_at"`
	MaxTools     int       `json:"max_tools,omitempty"`
	ToolsWanted  int       `json:"expected_tools_count,omitempty"`
	Dependencies []string  `json:"dependencies,omitempty"`
	Summary      summary   `json:"mcp_summary"`
}

// summary is how a monitor stands, in states, stable codes, counts and times alone.
type summary struct {
	Check              string     `json:"check" jsonschema:"pass, fail or unknown"`
	CheckReason        string     `json:"check_reason,omitempty"`
	Availability       string     `json:"availability"`
	AvailabilityReason string     `json:"availability_reason,omitempty"`
	AvailabilitySince  *time.Time `json:"availability_since,omitempty"`
	Surface            string     `json:"surface"`
	SurfaceReason      string     `json:"surface_reason,omitempty"`
	SurfaceSince       *time.Time `json:"surface_since,omitempty"`
	Posture            string     `json:"posture"`
	PostureReason      string     `json:"posture_reason,omitempty"`
	Stale              bool       `json:"stale"`
	Flapping           bool       `json:"flapping"`
	AwaitsPerson       bool       `json:"awaits_person" jsonschema:"a person has to confirm the surface"`
	OpenChanges        int        `json:"open_changes"`
	OpenFindings       int        `json:"open_findings"`
	ToolCount          *int       `json:"tool_count,omitempty"`
	Digest             string     `json:"digest,omitempty" jsonschema:"stands for all that the server tells agents"`
	Protocol           string     `json:"protocol,omitempty"`
	LastCheck          *time.Time `json:"last_check,omitempty"`
	LastUp             *time.Time `json:"last_up,omitempty"`
	CertificateEnds    *time.Time `json:"certificate_ends,omitempty"`
}

// event is one fact of the timeline without its text.
type event struct {
	ID       int64     `json:"id"`
	At       time.Time `json:"at"`
	Name     string    `json:"name"`
	Monitor  int64     `json:"monitor,omitempty"`
	Axis     string    `json:"axis,omitempty"`
	Kind     string    `json:"kind,omitempty" jsonschema:"of the item, such as tool"`
	Item     string    `json:"item,omitempty" jsonschema:"name of the item, where it looks like a name"`
	Class    string    `json:"class,omitempty" jsonschema:"of the change"`
	Rule     string    `json:"rule,omitempty" jsonschema:"of the finding"`
	Effect   string    `json:"effect,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Location string    `json:"location,omitempty"`
	Incident int64     `json:"incident,omitempty"`
	Count    int       `json:"count,omitempty"`
	Actor    string    `json:"actor,omitempty"`
}

// shape keeps texts that can only be what they are said to be: of a form, and no longer
// than most. Their length is no part of the form, as a counted repetition is dear to
// compile, and every command would pay for it.
type shape struct {
	form *regexp.Regexp
	most int
}

// The shapes of texts that came from or through a watched server. A name of a tool is
// shown when it has the form that the specification asks for and no more than a few
// words fit in.
var (
	code     = shape{regexp.MustCompile(`^[a-z][a-z0-9_:-]*$`), 64}
	itemName = shape{regexp.MustCompile(`^[A-Za-z0-9_./-]+$`), 64}
	revision = shape{regexp.MustCompile(`^20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]$`), 10}
	digest   = shape{regexp.MustCompile(`^sha256:[0-9a-f]+$`), 71}
)

// NotShown stands for the name of an item that does not look like one.
const NotShown = "(name not shown)"

func (s shape) fits(text string) bool { return len(text) <= s.most && s.form.MatchString(text) }

func (s shape) only(text string) string {
	if s.fits(text) {
		return text
	}
	return ""
}

func shownItem(name string) string {
	if name == "" || itemName.fits(name) {
		return name
	}
	return NotShown
}

// operator makes text that a person of the watch wrote safe to show.
func operator(text string) string { return plain.Line(text, 200) }

func monitorOf(m *ops.Monitor) monitor {
	address := m.URL
	if m.Transport != watch.Stdio { // there it is a command
		address = weburl.RedactText(address)
	}
	out := monitor{
		ID: m.ID, Name: operator(m.Name), Source: string(m.Source), URL: operator(address), Transport: m.Transport, AuthMode: m.AuthMode,
		Group: operator(m.Group), DriftPolicy: m.DriftPolicy, Interval: time.Duration(m.Interval).String(), Timeout: time.Duration(m.Timeout).String(),
		Escalation: operator(m.Escalation), Paused: m.Paused, CreatedAt: m.CreatedAt, MaxTools: m.MaxTools, ToolsWanted: len(m.ExpectedTools),
		Summary: summaryOf(&m.Status),
	}
	for _, tag := range m.Tags {
		out.Tags = append(out.Tags, operator(tag))
	}
	for _, d := range m.Dependencies {
		out.Dependencies = append(out.Dependencies, operator(d.Monitor))
	}
	return out
}

func summaryOf(s *ops.Status) summary {
	return summary{
		Check: code.only(s.Check), CheckReason: code.only(s.CheckReason),
		Availability: code.only(s.Availability.State), AvailabilityReason: code.only(s.Availability.Reason), AvailabilitySince: since(s.Availability),
		Surface: code.only(s.Surface.State), SurfaceReason: code.only(s.Surface.Reason), SurfaceSince: since(s.Surface),
		Posture: code.only(s.Posture.State), PostureReason: code.only(s.Posture.Reason),
		Stale: s.Stale, Flapping: s.Flapping, AwaitsPerson: s.Awaiting, OpenChanges: s.OpenChanges, OpenFindings: s.OpenFindings,
		ToolCount: s.Tools, Digest: digest.only(s.Digest), Protocol: revision.only(s.Protocol),
		LastCheck: s.LastCheck, LastUp: s.LastUp, CertificateEnds: s.Certificate,
	}
}

func since(a watch.AxisState) *time.Time {
	if a.Since.IsZero() {
		return nil
	}
	return &a.Since
}

func eventOf(e *watch.Event) event {
	out := event{ID: e.ID, At: e.At, Name: code.only(e.Name), Monitor: e.Monitor, Axis: code.only(string(e.Axis)), Actor: operator(e.Actor)}
	if d := e.Data; d != nil {
		out.Kind, out.Item, out.Class, out.Rule = code.only(d.Kind), shownItem(d.Item), code.only(d.Class), code.only(d.Rule)
		out.Effect, out.Reason, out.Digest = code.only(d.Effect), code.only(d.Reason), digest.only(d.Digest)
		out.Location, out.Incident, out.Count = operator(d.Location), d.Incident, d.Count
	}
	return out
}
