package alert

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	maxHeaders = 20
	maxSecrets = 4
)

func webhookKind() kind {
	return kind{
		Type: Type{
			Name: "webhook",
			Doc:  "JSON to a URL of yours, signed, or in any form that a template gives it.",
			Fields: []Field{
				{
					Name: "url", Doc: "Where it is sent. Only its host is ever shown.",
					Example: "https://alerts.example.com/mcpvigil", Required: true, Secret: true, check: webURL,
				},
				{
					Name: "secret", Doc: "Key of the signature: `whsec_` and 24 to 64 bytes in base64. Several, separated by commas, sign together while one replaces the other.",
					Example: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Secret: true, check: signingKeys,
				},
				{
					Name: "headers", Doc: "More headers, a line each, as `Name: template`.",
					Example: "Authorization: Bearer 0123456789abcdef", Secret: true, Long: true, check: headerLines,
				},
				{
					Name: "body", Doc: "A template of the body, in place of the JSON.",
					Example: `{"text": {{json .data.headline}}}`, Long: true,
				},
				{
					Name: "content_type", Doc: "Media type of the body; application/json when left out.",
					Example: "text/plain; charset=utf-8", check: headerValue,
				},
			},
		},
		check: checkWebhook,
		place: hostOf(""),
		send:  sendWebhook,
	}
}

// payload is the body of a webhook. Every member is always there; texts are safe to
// show, on one line and bounded. A time that has not come is empty.
type payload struct {
	// Type is incident.triggered, incident.acknowledged, incident.resolved or
	// incident.test.
	Type      string      `json:"type"`
	Timestamp string      `json:"timestamp"`
	Data      payloadData `json:"data"`
}

type payloadData struct {
	Key      string          `json:"key"`
	Phase    string          `json:"phase"`
	Headline string          `json:"headline"`
	Severity string          `json:"severity"`
	Monitor  payloadMonitor  `json:"monitor"`
	Incident payloadIncident `json:"incident"`
	Advice   string          `json:"advice"`
	Link     string          `json:"link"`
}

type payloadMonitor struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type payloadIncident struct {
	ID             int64    `json:"id"`
	Key            string   `json:"key"`
	Axis           string   `json:"axis"`
	State          string   `json:"state"`
	Reason         string   `json:"reason"`
	Title          string   `json:"title"`
	Text           string   `json:"text"`
	Items          []string `json:"items"`
	Location       string   `json:"location"`
	OpenedAt       string   `json:"opened_at"`
	AcknowledgedAt string   `json:"acknowledged_at"`
	AcknowledgedBy string   `json:"acknowledged_by"`
	ResolvedAt     string   `json:"resolved_at"`
}

func (m *Message) payload() *payload {
	i, n := &m.Incident, m.note()
	return &payload{
		Type:      "incident." + plain.Line(string(m.Phase), maxName),
		Timestamp: stamp(m.At),
		Data: payloadData{
			Key:      identifier(m.Key),
			Phase:    plain.Line(string(m.Phase), maxName),
			Headline: n.Headline,
			Severity: m.severity(),
			Monitor:  payloadMonitor{ID: i.Monitor, Name: plain.Line(m.Monitor, maxName)},
			Incident: payloadIncident{
				ID: i.ID, Key: identifier(m.IncidentKey), Axis: plain.Line(string(i.Axis), maxName),
				State: plain.Line(i.State, maxName), Reason: plain.Line(i.Reason, maxName),
				Title: m.title(), Text: plain.Line(i.Text, maxText), Items: n.Items,
				Location: plain.Line(i.Location, maxName), OpenedAt: stamp(i.OpenedAt),
				AcknowledgedAt: stamp(i.AcknowledgedAt), AcknowledgedBy: plain.Line(i.AcknowledgedBy, maxName),
				ResolvedAt: stamp(i.ResolvedAt),
			},
			Advice: n.Advice,
			Link:   n.Link,
		},
	}
}

func sendWebhook(ctx context.Context, d *delivery) (string, error) {
	p := d.payload()
	body, err := webhookBody(d.settings, p)
	if err != nil {
		return "", permanent("setting body: %w", err)
	}
	header, err := webhookHeader(d.settings, p)
	if err != nil {
		return "", permanent("setting headers: %w", err)
	}
	for _, values := range header {
		for _, value := range values {
			d.secrets.Add(value)
		}
	}
	header.Set("Content-Type", contentType(d.settings, header))
	now, id := time.Now(), identifier(d.Key)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	if signed := signature(d.settings.get("secret"), id, now, body); signed != "" {
		header.Set("Webhook-Signature", signed)
	}
	return d.post(ctx, request{d.settings.get("url"), header, body})
}

func webhookBody(s settings, p *payload) ([]byte, error) {
	text := s.get("body")
	if text == "" {
		return encode(p)
	}
	body, err := expand(text, p)
	return []byte(body), err
}

func contentType(s settings, header http.Header) string {
	return s.or("content_type", cmp.Or(header.Get("Content-Type"), jsonMedium))
}

func webhookHeader(s settings, p *payload) (http.Header, error) {
	header, number := http.Header{}, 0
	for line := range strings.Lines(s.get("headers")) {
		number++
		name, text, _ := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		value, err := expand(strings.TrimSpace(text), p)
		if err != nil {
			// What is wrong with it could quote a secret.
			return nil, fmt.Errorf("the template in line %d does not work", number)
		}
		if !httpguts.ValidHeaderFieldValue(value) || len(value) > maxSetting {
			return nil, fmt.Errorf("the value in line %d cannot be sent in a header", number)
		}
		header.Add(name, value)
	}
	return header, nil
}

// ours are the headers that a channel cannot set.
func ours(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return strings.HasPrefix(name, "Webhook-") || slices.Contains([]string{
		"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer",
		"Idempotency-Key", "User-Agent", "Accept-Encoding", "Expect", "Proxy-Authorization", "Keep-Alive",
	}, name)
}

func signingKeys(value string) (text, hint string) {
	secrets := list(value)
	if len(secrets) > maxSecrets {
		return fmt.Sprintf("has more than %d secrets", maxSecrets), "remove those that no receiver knows any more"
	}
	for _, secret := range secrets {
		if _, err := signingKey(secret); err != nil {
			return "is not a key of 24 to 64 bytes in base64", "make one with: echo whsec_$(openssl rand -base64 32)"
		}
	}
	return "", ""
}

func headerLines(value string) (text, hint string) {
	count, number := 0, 0
	for line := range strings.Lines(value) {
		number++
		name, _, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case !ok || !httpguts.ValidHeaderFieldName(name):
			return fmt.Sprintf("has no header name in line %d", number), "write each as Name: value"
		case ours(name):
			return "sets a header that this program sets", "leave out " + http.CanonicalHeaderKey(name)
		}
		if count++; count > maxHeaders {
			return fmt.Sprintf("has more than %d headers", maxHeaders), ""
		}
	}
	return "", ""
}

func headerValue(value string) (text, hint string) {
	if !httpguts.ValidHeaderFieldValue(value) {
		return "cannot be sent in a header", ""
	}
	return "", ""
}

// checkWebhook tries the templates on a message whose texts need quoting.
func checkWebhook(s settings) []watch.Problem {
	example := exampleMessage()
	p := example.payload()
	header, err := webhookHeader(s, p)
	if err != nil {
		return []watch.Problem{{Field: "headers", Text: problemText(err), Hint: "see the members of the message in docs/channels.md"}}
	}
	body, err := webhookBody(s, p)
	if err != nil {
		return []watch.Problem{{Field: "body", Text: problemText(err), Hint: "see the members of the message in docs/channels.md"}}
	}
	if strings.HasPrefix(contentType(s, header), jsonMedium) && !json.Valid(body) {
		return []watch.Problem{{
			Field: "body", Text: "does not give JSON when a text has quotes",
			Hint: "write {{json .data.headline}}, without quotes around it, or set content_type",
		}}
	}
	return nil
}

// problemText is what a template's error says; the template is not quoted at length.
func problemText(err error) string { return plain.Line(err.Error(), maxTitle) }

// exampleMessage is the one that docs/channels.md shows.
func exampleMessage() Message {
	at := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	return Of(&watch.Notification{
		Key: "monitor-7-surface-1773480413000-local-scheduled-1.1/triggered/0.0/hook", Incident: 42, Monitor: 7, Phase: watch.Triggered, At: at.Add(time.Second),
		Snapshot: watch.Incident{
			ID: 42, Monitor: 7, Axis: watch.Surface, Key: "monitor-7-surface-1773480413000-local-scheduled-1.1", State: watch.Changed,
			Reason: "description-changed", Title: `what "search" tells agents has changed`,
			Text: "2 changes are not approved", OpenedAt: at,
			Items: []string{"tool search: description-changed", "tool delete_index: tool-added"},
		},
	}, "search", "https://watch.example.com")
}
