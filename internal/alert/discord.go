package alert

import (
	"context"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func discordKind() kind {
	return kind{
		Type: Type{
			Name: "discord",
			Doc:  "Discord, through a webhook of a channel.",
			Fields: []Field{
				{
					Name: "url", Doc: "The URL of the webhook.",
					Example: "https://discord.com/api/webhooks/0123456789/XXXXXXXX", Required: true, Secret: true, check: webURL,
				},
			},
		},
		place: hostOf(""),
		send: func(ctx context.Context, d *delivery) (string, error) {
			return d.postJSON(ctx, d.settings.get("url"), nil, discordMessage(d.Message))
		},
	}
}

type discordBody struct {
	Username        string          `json:"username"`
	AllowedMentions discordMentions `json:"allowed_mentions"`
	Embeds          []discordEmbed  `json:"embeds"`
}

// discordMentions with nothing in Parse lets no text mention anybody.
type discordMentions struct {
	Parse []string `json:"parse"`
}

type discordEmbed struct {
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	URL         string         `json:"url,omitempty"`
	Color       int            `json:"color"`
	Timestamp   string         `json:"timestamp,omitempty"`
	Fields      []discordField `json:"fields"`
}

type discordField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline"`
}

// discordEscape makes data inert: it escapes what starts formatting, links, mentions
// and timestamps in Discord's Markdown.
func discordEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]()<>#|~@:", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func discordMessage(m *Message) discordBody {
	n := m.note()
	embed := discordEmbed{
		Title: cut(discordEscape(n.Headline), 250), URL: n.Link, Color: m.color(), Timestamp: stamp(m.At),
		Fields: []discordField{},
	}
	lines := make([]string, 0, len(n.Items)+1)
	for _, item := range n.Items {
		lines = append(lines, "• "+discordEscape(item))
	}
	if n.Advice != "" {
		lines = append(lines, discordEscape(n.Advice))
	}
	embed.Description = cut(strings.Join(lines, "\n"), 2500)
	for _, f := range n.Facts {
		embed.Fields = append(embed.Fields, discordField{f.Label, cut(discordEscape(f.Value), 700), f.Label != "What"})
	}
	return discordBody{Username: "mcpvigil", AllowedMentions: discordMentions{[]string{}}, Embeds: []discordEmbed{embed}}
}

// color is red for what is bad, green for what is over, and grey or amber between.
func (m *Message) color() int {
	switch {
	case m.Phase == watch.Resolved:
		return 0x2e7d32
	case m.Phase != watch.Triggered:
		return 0x757575
	case m.severity() == "warning":
		return 0xf9a825
	}
	return 0xc62828
}
