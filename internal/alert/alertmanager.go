package alert

import (
	"context"
	"encoding/base64"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// alertFor is how long Alertmanager keeps an alert that nobody resolved. Its own
// default of minutes is for senders that repeat themselves.
const alertFor = 7 * 24 * time.Hour

func alertmanagerKind() kind {
	return kind{
		Type: Type{
			Name: "alertmanager",
			Doc:  "Prometheus Alertmanager, API v2. Labels are `alertname` (MCPVigil), `severity`, `axis`, `incident`, `monitor_id` and `location`; the monitor's name, which can change, is an annotation. It does not know acknowledgements: of those it is not told.",
			Fields: []Field{
				{Name: "url", Doc: "Base URL.", Example: "http://alertmanager.example.com:9093", Required: true, check: baseURL},
				{Name: "labels", Doc: "More labels, as `name=value`, separated by commas; `severity` may be one.", Example: "team=search, env=prod", check: labelList},
				{Name: "token", Doc: "A bearer token.", Example: "0123456789abcdef", Secret: true, check: headerValue},
				{Name: "username", Doc: "User for basic authentication.", Example: "mcpvigil"},
				{Name: "password", Doc: "Its password.", Example: "0123456789abcdef", Secret: true},
			},
		},
		check: func(s settings) []watch.Problem {
			if (s.get("username") == "") != (s.get("password") == "") {
				return []watch.Problem{{Field: "password", Text: "username and password go together", Hint: "give both, or neither"}}
			}
			if s.get("token") != "" && s.get("password") != "" {
				return []watch.Problem{{Field: "token", Text: "a token and a password do not go together", Hint: "give one of them"}}
			}
			return nil
		},
		place: hostOf(""),
		send:  sendAlertmanager,
	}
}

type alertmanagerAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

func sendAlertmanager(ctx context.Context, d *delivery) (string, error) {
	if d.Phase == watch.AcknowledgedPhase {
		return "not sent: Alertmanager does not know acknowledgements", nil
	}
	header := http.Header{}
	if token := d.settings.get("token"); token != "" {
		header.Set("Authorization", "Bearer "+token)
	} else if user := d.settings.get("username"); user != "" {
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+d.settings.get("password"))))
	}
	url := strings.TrimRight(d.settings.get("url"), "/") + "/api/v2/alerts"
	return d.postJSON(ctx, url, header, []alertmanagerAlert{alertmanagerMessage(d.Message, d.settings.get("labels"))})
}

// alertmanagerMessage makes an alert that Alertmanager recognises by its labels: they
// hold nothing that changes while the incident is open, as its state can and the
// monitor's name.
func alertmanagerMessage(m *Message, more string) alertmanagerAlert {
	n, i := m.note(), &m.Incident
	alert := alertmanagerAlert{
		Labels:       map[string]string{"alertname": "MCPVigil", "severity": "warning"},
		Annotations:  map[string]string{"summary": n.Headline, "description": n.details()},
		StartsAt:     stamp(i.OpenedAt),
		EndsAt:       stamp(m.At.Add(alertFor)),
		GeneratorURL: n.Link,
	}
	if i.Axis == watch.Availability {
		alert.Labels["severity"] = "critical"
	}
	for _, label := range labelPairs(more) {
		alert.Labels[label[0]] = label[1]
	}
	for name, value := range map[string]string{
		"incident": identifier(m.IncidentKey), "monitor_id": strconv.FormatInt(i.Monitor, 10), "axis": string(i.Axis), "location": i.Location,
	} {
		if value != "" {
			alert.Labels[name] = plain.Line(value, maxTitle)
		}
	}
	if m.Monitor != "" {
		alert.Annotations["monitor"] = plain.Line(m.Monitor, maxName)
	}
	switch m.Phase {
	case watch.Resolved:
		if alert.EndsAt = stamp(i.ResolvedAt); alert.EndsAt == "" {
			alert.EndsAt = stamp(m.At)
		}
	case watch.TestPhase:
		alert.EndsAt = stamp(m.At.Add(time.Minute))
		alert.Labels["alertname"], alert.Labels["severity"] = "MCPVigilTest", "info"
	case watch.Triggered, watch.AcknowledgedPhase:
	}
	return alert
}

func labelPairs(value string) [][2]string {
	var pairs [][2]string
	for part := range strings.SplitSeq(value, ",") {
		if name, v, ok := strings.Cut(part, "="); ok {
			pairs = append(pairs, [2]string{strings.TrimSpace(name), strings.TrimSpace(v)})
		}
	}
	return pairs
}

func labelList(value string) (text, hint string) {
	named := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	pairs := labelPairs(value)
	if len(pairs) != strings.Count(value, ",")+1 || len(pairs) > 20 {
		return "is not a list of at most 20 labels", "write it like team=search, env=prod"
	}
	for _, pair := range pairs {
		if !named.MatchString(pair[0]) || pair[1] == "" {
			return "has a label without a proper name or without a value", "write it like team=search, env=prod"
		}
		if slices.Contains([]string{"alertname", "incident", "monitor_id", "axis", "location"}, pair[0]) {
			return "has a label that this program sets", "leave out alertname, incident, monitor_id, axis and location"
		}
	}
	return "", ""
}
