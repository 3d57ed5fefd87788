package alert

import "context"

func teamsKind() kind {
	return kind{
		Type: Type{
			Name: "teams",
			Doc:  "Microsoft Teams, through a workflow that posts an adaptive card when a webhook request is received.",
			Fields: []Field{
				{
					Name: "url", Doc: "The URL of the workflow.",
					Example: "https://example.westeurope.logic.azure.com/workflows/0123456789abcdef/triggers/manual/paths/invoke?sig=0123456789", Required: true, Secret: true, check: webURL,
				},
			},
		},
		place: hostOf(""),
		send: func(ctx context.Context, d *delivery) (string, error) {
			return d.postJSON(ctx, d.settings.get("url"), nil, teamsMessage(d.note()))
		},
	}
}

type teamsBody struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	ContentURL  *string   `json:"contentUrl"`
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Schema  string           `json:"$schema"`
	Type    string           `json:"type"`
	Version string           `json:"version"`
	Body    []teamsRichText  `json:"body"`
	Actions []teamsURLAction `json:"actions,omitempty"`
}

// teamsRichText holds runs of text, in which Teams, unlike in a TextBlock, reads no
// Markdown: data needs no escapes there.
type teamsRichText struct {
	Type    string     `json:"type"`
	Inlines []teamsRun `json:"inlines"`
}

type teamsRun struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Weight string `json:"weight,omitempty"`
	Size   string `json:"size,omitempty"`
}

type teamsURLAction struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

func teamsMessage(n note) teamsBody {
	paragraph := func(runs ...teamsRun) teamsRichText { return teamsRichText{"RichTextBlock", runs} }
	run := func(text string) teamsRun { return teamsRun{Type: "TextRun", Text: text} }
	bold := func(text string) teamsRun { return teamsRun{Type: "TextRun", Text: text, Weight: "Bolder"} }

	headline := bold(n.Headline)
	headline.Size = "Medium"
	card := teamsCard{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Body: []teamsRichText{paragraph(headline)},
	}
	for _, f := range n.Facts {
		card.Body = append(card.Body, paragraph(bold(f.Label+": "), run(f.Value)))
	}
	for _, item := range n.Items {
		card.Body = append(card.Body, paragraph(run("• "+item)))
	}
	if n.Advice != "" {
		card.Body = append(card.Body, paragraph(run(n.Advice)))
	}
	if n.Link != "" {
		card.Actions = []teamsURLAction{{"Action.OpenUrl", "Open in mcpvigil", n.Link}}
	}
	return teamsBody{Type: "message", Attachments: []teamsAttachment{{
		ContentType: "application/vnd.microsoft.card.adaptive", Content: card,
	}}}
}
