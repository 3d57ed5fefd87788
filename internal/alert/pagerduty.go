package alert

import (
	"context"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const pagerdutyURL = "https://events.pagerduty.com"

func pagerdutyKind() kind {
	return kind{
		Type: Type{
			Name: "pagerduty",
			Doc:  "PagerDuty, Events API v2: one alert for an incident, acknowledged and resolved with it.",
			Fields: []Field{
				{Name: "routing_key", Doc: "The integration key of a service.", Example: "0123456789abcdef0123456789abcdef", Required: true, Secret: true},
				{Name: "url", Doc: "Base URL; `https://events.eu.pagerduty.com` in the EU.", Example: pagerdutyURL, check: baseURL},
			},
		},
		place: hostOf(pagerdutyURL),
		send:  sendPagerduty,
	}
}

type pagerdutyEvent struct {
	RoutingKey string            `json:"routing_key"`
	Action     string            `json:"event_action"`
	DedupKey   string            `json:"dedup_key"`
	Client     string            `json:"client,omitempty"`
	ClientURL  string            `json:"client_url,omitempty"`
	Payload    *pagerdutyPayload `json:"payload,omitempty"`
	Links      []pagerdutyLink   `json:"links,omitempty"`
}

type pagerdutyPayload struct {
	Summary   string         `json:"summary"`
	Source    string         `json:"source"`
	Severity  string         `json:"severity"`
	Timestamp string         `json:"timestamp"`
	Class     string         `json:"class,omitempty"`
	Details   map[string]any `json:"custom_details"`
}

type pagerdutyLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

func sendPagerduty(ctx context.Context, d *delivery) (string, error) {
	url := strings.TrimRight(d.settings.or("url", pagerdutyURL), "/") + "/v2/enqueue"
	event := pagerdutyMessage(d.Message)
	event.RoutingKey = d.settings.get("routing_key")
	detail, err := d.postJSON(ctx, url, nil, event)
	if err != nil || d.Phase != watch.TestPhase {
		return detail, err
	}
	// What was raised to try the channel is put down again.
	return d.postJSON(ctx, url, nil, pagerdutyEvent{RoutingKey: event.RoutingKey, Action: "resolve", DedupKey: event.DedupKey})
}

func pagerdutyMessage(m *Message) pagerdutyEvent {
	event := pagerdutyEvent{DedupKey: identifier(m.IncidentKey)}
	switch m.Phase {
	case watch.AcknowledgedPhase:
		event.Action = "acknowledge"
		return event
	case watch.Resolved:
		event.Action = "resolve"
		return event
	case watch.Triggered, watch.TestPhase:
	}
	n := m.note()
	event.Action, event.Client, event.ClientURL = "trigger", "mcpvigil", n.Link
	event.Payload = &pagerdutyPayload{
		Summary: n.Headline, Source: m.source(), Severity: m.severity(),
		Timestamp: stamp(m.Incident.OpenedAt), Class: string(m.Incident.Axis), Details: n.detailsMap(),
	}
	if n.Link != "" {
		event.Links = []pagerdutyLink{{n.Link, "Open in mcpvigil"}}
	}
	return event
}

// detailsMap is the note by the names of its facts.
func (n *note) detailsMap() map[string]any {
	details := map[string]any{}
	for _, f := range n.Facts {
		details[strings.ToLower(f.Label)] = f.Value
	}
	if len(n.Items) > 0 {
		details["items"] = n.Items
	}
	if n.Advice != "" {
		details["advice"] = n.Advice
	}
	return details
}
