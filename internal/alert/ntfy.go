package alert

import (
	"context"
	"net/http"
	"regexp"
	"strconv"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

const (
	ntfyURL     = "https://ntfy.sh"
	maxNtfyText = 3800 // bytes; from 4096 on ntfy makes a file of it
)

func ntfyKind() kind {
	return kind{
		Type: Type{
			Name: "ntfy",
			Doc:  "ntfy, to phones and desktops.",
			Fields: []Field{
				{Name: "topic", Doc: "The topic. On a server without access control whoever knows it can read it.", Example: "mcpvigil-0123456789", Required: true, Secret: true, check: ntfyTopic},
				{Name: "url", Doc: "Base URL of the server.", Example: ntfyURL, check: baseURL},
				{Name: "token", Doc: "An access token.", Example: "tk_0123456789abcdef", Secret: true, check: headerValue},
				{Name: "priority", Doc: "`1` to `5` for a new incident; by its state when left out.", Example: "4", check: oneOf("1", "2", "3", "4", "5")},
				{Name: "tags", Doc: "Tags, separated by commas.", Example: "mcp"},
			},
		},
		place: hostOf(ntfyURL),
		send:  sendNtfy,
	}
}

// ntfyMessage is published as JSON: nothing of it is a header.
type ntfyMessage struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Tags     []string `json:"tags"`
	Priority int      `json:"priority"`
	Click    string   `json:"click,omitempty"`
	// SequenceID: a second message with the same one replaces the first.
	SequenceID string `json:"sequence_id"`
}

func sendNtfy(ctx context.Context, d *delivery) (string, error) {
	n := d.note()
	m := ntfyMessage{
		Topic: d.settings.get("topic"), Title: n.Headline, Message: plain.Text(n.details(), maxNtfyText),
		Tags: trimmed(d.settings.get("tags")), Priority: 3, Click: n.Link, SequenceID: digest(d.Key),
	}
	switch d.Phase {
	case watch.Resolved:
		m.Tags = append(m.Tags, "white_check_mark")
	case watch.Triggered:
		m.Tags = append(m.Tags, "rotating_light")
		m.Priority = map[string]int{"critical": 5, "error": 4}[d.severity()]
		if m.Priority == 0 {
			m.Priority = 3
		}
		if p, err := strconv.Atoi(d.settings.get("priority")); err == nil {
			m.Priority = p
		}
	}
	header := http.Header{}
	if token := d.settings.get("token"); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return d.postJSON(ctx, d.settings.or("url", ntfyURL), header, m)
}

func ntfyTopic(value string) (text, hint string) {
	if !regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(value) {
		return "is not a topic", "use up to 64 letters, digits, - and _"
	}
	return "", ""
}
