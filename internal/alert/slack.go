package alert

import (
	"context"
	"fmt"
	"strings"
)

func slackKind() kind {
	return kind{
		Type: Type{
			Name: "slack",
			Doc:  "Slack, through an incoming webhook.",
			Fields: []Field{
				{
					Name: "url", Doc: "The URL of the incoming webhook.",
					Example: "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXX", Required: true, Secret: true, check: webURL,
				},
			},
		},
		place: hostOf(""),
		send: func(ctx context.Context, d *delivery) (string, error) {
			return d.postJSON(ctx, d.settings.get("url"), nil, slackMessage(d.note()))
		},
	}
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Verbatim keeps Slack from making links and mentions of what only looks like one.
	Verbatim bool `json:"verbatim"`
}

type slackBlock struct {
	Type   string      `json:"type"`
	Text   *slackText  `json:"text,omitempty"`
	Fields []slackText `json:"fields,omitempty"`
}

type slackBody struct {
	Text        string       `json:"text"`
	UnfurlLinks bool         `json:"unfurl_links"`
	UnfurlMedia bool         `json:"unfurl_media"`
	Blocks      []slackBlock `json:"blocks"`
}

// slackEscape makes data inert: Slack's links, mentions and commands all start with <.
func slackEscape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func slackMessage(n note) slackBody {
	markdown := func(text string) slackText { return slackText{"mrkdwn", text, true} }
	section := func(text string) slackBlock {
		t := markdown(cut(text, 2900))
		return slackBlock{Type: "section", Text: &t}
	}
	body := slackBody{
		Text:   slackEscape(n.Headline),
		Blocks: []slackBlock{section("*" + slackEscape(n.Headline) + "*")},
	}
	facts := slackBlock{Type: "section"}
	for _, f := range n.Facts {
		facts.Fields = append(facts.Fields, markdown(fmt.Sprintf("*%s*\n%s", f.Label, cut(slackEscape(f.Value), 1900))))
	}
	if len(facts.Fields) > 0 {
		body.Blocks = append(body.Blocks, facts)
	}
	if len(n.Items) > 0 {
		body.Blocks = append(body.Blocks, section("• "+slackEscape(strings.Join(n.Items, "\n• "))))
	}
	if n.Advice != "" {
		body.Blocks = append(body.Blocks, section(slackEscape(n.Advice)))
	}
	if n.Link != "" {
		body.Blocks = append(body.Blocks, section("<"+strings.ReplaceAll(slackEscape(n.Link), "|", "%7C")+"|Open in mcpvigil>"))
	}
	return body
}
