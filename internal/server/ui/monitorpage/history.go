package monitorpage

import (
	"net/url"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// historyPart is how many checks or events are shown at a time.
const historyPart = 100

// checksData is a part of the checks.
type checksData struct {
	Monitor *ops.Monitor
	Items   []watch.Result
	// Failing leaves out those that were healthy.
	Failing bool
	More    string
}

func (p *pages) checks(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	query := q.URL.Query()
	d := checksData{Monitor: &m, Failing: query.Get("failing") != ""}
	page, err := p.ops.Results(q.Context(), q.Actor, ops.ResultFilter{Monitor: m.ID, Failing: d.Failing, After: query.Get("after"), Limit: historyPart})
	if err != nil {
		return err
	}
	d.Items = page.Items
	if page.Next != "" {
		next := url.Values{"after": {page.Next}}
		if d.Failing {
			next.Set("failing", "yes")
		}
		d.More = shell.MonitorPath(m.ID, "/checks") + "?" + next.Encode()
	}
	if q.Partial() {
		return q.Part(checkList(&d))
	}
	return p.show(q, &m, "/checks", checksTab(&d))
}

// timelineData is a part of the events.
type timelineData struct {
	Monitor *ops.Monitor
	Items   []watch.Event
	Axis    watch.Axis
	More    string
}

func (p *pages) timeline(q *shell.Request) error {
	m, err := p.monitor(q)
	if err != nil {
		return err
	}
	query := q.URL.Query()
	d := timelineData{Monitor: &m}
	for _, axis := range []watch.Axis{watch.Availability, watch.Surface, watch.Posture} {
		if string(axis) == query.Get("axis") {
			d.Axis = axis
		}
	}
	after, err := ops.Cursor(query.Get("after"))
	if err != nil {
		return err
	}
	page, err := p.ops.Events(q.Context(), q.Actor, ops.EventFilter{Monitor: m.ID, Axis: d.Axis, After: after, Limit: historyPart})
	if err != nil {
		return err
	}
	d.Items = page.Items
	if page.Next != "" {
		d.More = timelinePath(m.ID, d.Axis) + "&after=" + page.Next
	}
	if q.Partial() {
		return q.Part(eventList(&d))
	}
	return p.show(q, &m, "/timeline", timelineTab(&d))
}

func timelinePath(id int64, axis watch.Axis) string {
	return shell.MonitorPath(id, "/timeline") + "?axis=" + url.QueryEscape(string(axis))
}

// eventLook is the look of an event: good, bad, warn, decided by a person, or plain.
func eventLook(e *watch.Event) string {
	switch e.Name {
	case watch.EventUp, watch.EventApproved, watch.EventClean, watch.EventSteady, watch.EventResolved, watch.EventToolsRight, watch.EventSighted:
		return "good"
	case watch.EventDown, watch.EventFlagged, watch.EventBlind, watch.EventOpened:
		return "bad"
	case watch.EventDegraded, watch.EventMisconfigured, watch.EventFlapping, watch.EventToolsMissing, watch.EventToolsOver,
		watch.EventCertificateEnds, watch.EventCredentialEnds, watch.EventBaselineDropped, watch.EventBaselineExpired:
		return "warn"
	case watch.EventBaselineSet, watch.EventBaselineAccepted, watch.EventAcknowledged, watch.EventCreated, watch.EventEdited,
		watch.EventPaused, watch.EventResumed, watch.EventDeleted:
		return "person"
	}
	if e.Data != nil && e.Data.Effect == "fail" {
		return "bad"
	}
	return "plain"
}

// eventNames are the events in words; the names are English.
func eventNames() map[string]string {
	return map[string]string{
		watch.EventBaselineSet: "First surface approved", watch.EventBaselineAccepted: "Surface accepted",
		watch.EventBaselineDropped: "Approval belongs to another server", watch.EventBaselineExpired: "Approval ended",
		watch.EventUp: "Up", watch.EventDegraded: "Degraded", watch.EventDown: "Down",
		watch.EventMisconfigured: "Misconfigured", watch.EventUnknown: "Unknown",
		watch.EventApproved: "As approved again", watch.EventClean: "Clean", watch.EventFlagged: "Flagged",
		watch.EventFlapping: "Goes up and down", watch.EventSteady: "Steady again",
		watch.EventToolsMissing: "Expected tools are missing", watch.EventToolsOver: "Too many tools",
		watch.EventToolsRight: "Tools as expected", watch.EventCertificateEnds: "Certificate ends soon",
		watch.EventCredentialEnds: "Credential ends soon", watch.EventBlind: "Checks do not run", watch.EventSighted: "Checks run again",
		watch.EventCreated: "Created", watch.EventEdited: "Edited", watch.EventPaused: "Paused", watch.EventResumed: "Resumed",
		watch.EventDeleted: "Deleted", watch.EventOpened: "Incident opened", watch.EventAcknowledged: "Incident acknowledged",
		watch.EventResolved: "Incident resolved", "mcp_poison_finding": "Finding",
		"mcp_tool_added": "Tool added", "mcp_tool_removed": "Tool removed", "mcp_tool_description_changed": "Tool text changed",
		"mcp_tool_schema_changed": "Tool schema changed", "mcp_tool_annotations_changed": "Tool annotations changed",
		"mcp_tool_meta_changed": "Tool metadata changed", "mcp_tool_grew": "Tool text grew",
		"mcp_server_info_changed": "Server text changed", "mcp_server_version_changed": "Server version changed",
		"mcp_server_identity_changed": "Server has another name", "mcp_capabilities_changed": "Capabilities changed",
		"mcp_instructions_changed": "Instructions changed", "mcp_protocol_version_changed": "Protocol changed",
		"mcp_resource_added": "Resource added", "mcp_resource_removed": "Resource removed", "mcp_resource_changed": "Resource changed",
		"mcp_resource_template_added": "Resource template added", "mcp_resource_template_removed": "Resource template removed",
		"mcp_resource_template_changed": "Resource template changed",
		"mcp_prompt_added":              "Prompt added", "mcp_prompt_removed": "Prompt removed", "mcp_prompt_changed": "Prompt changed",
		"mcp_host_added": "New host", "mcp_auth_metadata_changed": "Login changed",
		"mcp_inconsistent_listing": "Listings differ", "mcp_volatile_text": "Text keeps changing",
		"mcp_cloaked_surface": "Tells others something else", "mcp_credential_dependent": "Differs by credential",
	}
}

// eventName says an event in a few words of English.
func eventName(e *watch.Event) string {
	if name, ok := eventNames()[e.Name]; ok {
		return name
	}
	name := strings.ReplaceAll(strings.TrimPrefix(e.Name, "mcp_"), "_", " ")
	if name == "" {
		return e.Name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
