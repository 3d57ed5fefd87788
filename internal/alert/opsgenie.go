package alert

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const opsgenieURL = "https://api.opsgenie.com"

func opsgenieKind() kind {
	return kind{
		Type: Type{
			Name: "opsgenie",
			Doc:  "Opsgenie: one alert for an incident, acknowledged and closed with it.",
			Fields: []Field{
				{Name: "api_key", Doc: "The key of an API integration.", Example: "01234567-89ab-cdef-0123-456789abcdef", Required: true, Secret: true, check: headerValue},
				{Name: "url", Doc: "Base URL; `https://api.eu.opsgenie.com` in the EU.", Example: opsgenieURL, check: baseURL},
				{Name: "priority", Doc: "`P1` to `P5`; by the state when left out.", Example: "P2", check: oneOf("P1", "P2", "P3", "P4", "P5")},
				{Name: "tags", Doc: "Up to 20 tags, separated by commas.", Example: "mcp, prod"},
			},
		},
		place: hostOf(opsgenieURL),
		send:  sendOpsgenie,
	}
}

type opsgenieAlert struct {
	Message     string            `json:"message"`
	Alias       string            `json:"alias"`
	Description string            `json:"description"`
	Entity      string            `json:"entity"`
	Source      string            `json:"source"`
	Priority    string            `json:"priority"`
	Tags        []string          `json:"tags"`
	Details     map[string]string `json:"details"`
}

type opsgenieAction struct {
	Source string `json:"source"`
	User   string `json:"user,omitempty"`
	Note   string `json:"note"`
}

func sendOpsgenie(ctx context.Context, d *delivery) (string, error) {
	base := strings.TrimRight(d.settings.or("url", opsgenieURL), "/") + "/v2/alerts"
	post := func(url string, v any) (string, error) {
		return d.postJSON(ctx, url, http.Header{"Authorization": {"GenieKey " + d.settings.get("api_key")}}, v)
	}
	action := func(verb string) string {
		return base + "/" + url.PathEscape(d.alias()) + "/" + verb + "?identifierType=alias"
	}
	n := d.note()
	act := opsgenieAction{Source: "mcpvigil", Note: n.Headline}
	switch d.Phase {
	case watch.AcknowledgedPhase:
		act.User = cut(plain.Line(d.Incident.AcknowledgedBy, maxName), 100)
		return post(action("acknowledge"), act)
	case watch.Resolved:
		return post(action("close"), act)
	case watch.Triggered, watch.TestPhase:
	}
	detail, err := post(base, opsgenieMessage(d, &n))
	if err != nil || d.Phase != watch.TestPhase {
		return detail, err
	}
	// What was raised to try the channel is put down again.
	return post(action("close"), act)
}

// alias is the incident's key as it can stand in a path: not every gateway leaves an
// escaped slash alone.
func (m *Message) alias() string { return strings.ReplaceAll(identifier(m.IncidentKey), "/", ":") }

func opsgenieMessage(d *delivery, n *note) opsgenieAlert {
	alert := opsgenieAlert{
		Message: cut(n.Headline, 130), Alias: d.alias(), Description: n.text(),
		Entity: d.source(), Source: "mcpvigil",
		Priority: d.settings.or("priority", map[string]string{"critical": "P1", "error": "P2", "warning": "P3", "info": "P5"}[d.severity()]),
		Tags:     trimmed(d.settings.get("tags")), Details: map[string]string{},
	}
	for _, f := range n.Facts {
		alert.Details[strings.ToLower(f.Label)] = f.Value
	}
	if n.Link != "" {
		alert.Details["link"] = n.Link
	}
	return alert
}

// trimmed reads up to 20 values that commas separate.
func trimmed(value string) []string {
	all := []string{}
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" && len(all) < 20 {
			all = append(all, cut(part, 50))
		}
	}
	return all
}

// baseURL judges a URL that is not secret.
func baseURL(value string) (text, hint string) {
	if text, hint := webURL(value); text != "" {
		return text, hint
	}
	if u, err := url.Parse(value); err == nil && (u.User != nil || u.RawQuery != "") {
		return "holds more than a scheme, a host and a path", "credentials have settings of their own"
	}
	return "", ""
}
