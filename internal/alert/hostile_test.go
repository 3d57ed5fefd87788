package alert

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// hostile is a name that tries everything.
const hostile = "x\r\nBcc: mallory@evil.example\r\n\r\n@everyone @here <!channel> <!here|here> <@U012345> <https://evil.example|click> " +
	"[click](https://evil.example) <script>alert(1)</script> <at>Ann</at> **bold** `code` \u202egnp.exe\u200b\x1b[31m\x00 ~s~ ||spoiler|| \xff"

func hostileMessage(phase watch.Phase) Message {
	m := messages()["resolved"]
	m.Phase, m.Key, m.IncidentKey, m.Monitor, m.Link = phase, hostile, hostile, hostile, "https://watch.example.com/x?y="+hostile
	i := &m.Incident
	i.Title, i.Text, i.Reason, i.AcknowledgedBy, i.Location, i.State = hostile, hostile, hostile, hostile, hostile, hostile
	for range 30 {
		i.Items = append(i.Items, hostile)
	}
	return m
}

// texts are all strings in a JSON value.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, texts(item)...)
		}
		return all
	case map[string]any:
		var all []string
		for key, item := range v {
			all = append(append(all, key), texts(item)...)
		}
		return all
	}
	return nil
}

func invisible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar)
	})
}

func TestHostileNamesOverHTTP(t *testing.T) {
	// What must not be in any text of a channel's body.
	forbidden := map[string]*regexp.Regexp{
		"slack":   regexp.MustCompile(`<[^h]|<h(?:[^t]|$)|<https?://evil`),
		"discord": regexp.MustCompile("(?:^|[^\\\\])(?:\\\\\\\\)*[@<>`*\\[\\]()|~_#:]"),
	}
	for kind := range httpSettings("") {
		for _, phase := range []watch.Phase{watch.Triggered, watch.AcknowledgedPhase, watch.Resolved, watch.TestPhase} {
			t.Run(kind+"/"+string(phase), func(t *testing.T) {
				rc := newReceiver(t, nil)
				if _, err := newSender(t, Options{}).Send(t.Context(), fileChannel(kind, httpSettings(rc.URL)[kind]), hostileMessage(phase)); err != nil {
					t.Fatal(err)
				}
				for _, r := range rc.requests() {
					var body any
					if err := json.Unmarshal(r.Body, &body); err != nil {
						t.Fatalf("%v: %s", err, r.Body)
					}
					if len(r.Body) > 64<<10 {
						t.Errorf("%d bytes", len(r.Body))
					}
					for _, text := range texts(body) {
						if invisible(text) || strings.Contains(text, "\nBcc") {
							t.Errorf("unsafe text %q", text)
						}
					}
					checkHeaders(t, r)
					checkBody(t, kind, body, forbidden[kind])
				}
			})
		}
	}
}

func checkHeaders(t *testing.T, r received) {
	t.Helper()
	for name, values := range r.Header {
		for _, value := range values {
			if name == "X-Monitor" { // a template of the test's channel writes the name there
				continue
			}
			if strings.Contains(value, "evil") || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%s: %q", name, value)
			}
		}
	}
	if r.Header.Get("Bcc") != "" || strings.ContainsAny(r.Path, "\r\n ") {
		t.Errorf("%s %v", r.Path, r.Header)
	}
}

func checkBody(t *testing.T, kind string, body any, forbidden *regexp.Regexp) {
	t.Helper()
	switch kind {
	case "slack":
		for _, text := range texts(body) {
			if forbidden.MatchString(text) {
				t.Errorf("active in Slack: %q", text)
			}
		}
	case "discord":
		top := body.(map[string]any)
		if parse := top["allowed_mentions"].(map[string]any)["parse"].([]any); len(parse) != 0 {
			t.Errorf("mentions allowed: %v", parse)
		}
		embed := top["embeds"].([]any)[0].(map[string]any)
		shown := append(texts(embed["title"]), texts(embed["description"])...)
		for _, text := range append(shown, texts(embed["fields"])...) {
			if forbidden.MatchString(text) {
				t.Errorf("active in Discord: %q at %q", text, forbidden.FindString(text))
			}
		}
	case "teams":
		for _, text := range texts(body) {
			if text == "TextBlock" || text == "FactSet" || text == "msteams" {
				t.Errorf("a %s, in which Teams reads Markdown", text)
			}
		}
	}
}

func TestHostileNamesInMail(t *testing.T) {
	server := newSMTP(t, nil)
	s := newSender(t, Options{RootCAs: server.roots})
	for _, phase := range []watch.Phase{watch.Triggered, watch.AcknowledgedPhase, watch.Resolved, watch.TestPhase} {
		if _, err := s.Send(t.Context(), fileChannel("email", mailSettings(server)), hostileMessage(phase)); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range server.taken() {
		header, body := parsed(t, l)
		for name := range header {
			switch name {
			case "Date", "From", "To", "Subject", "Message-Id", "In-Reply-To", "References", "Mime-Version", "Content-Type", "Content-Transfer-Encoding", "Auto-Submitted":
			default:
				t.Errorf("header %s: %q", name, header[name])
			}
		}
		if len(l.To) != 2 || invisible(body) || strings.Contains(body, "\nBcc") || invisible(subject(t, header)) {
			t.Errorf("to %v: %q\n%s", l.To, subject(t, header), body)
		}
	}
}

// Everything that is said is bounded, whatever it is made of.
func TestLongTexts(t *testing.T) {
	m := hostileMessage(watch.Triggered)
	long := strings.Repeat("\u202e", 1<<20)
	m.Monitor, m.Incident.Title, m.Incident.Text = long, long, long
	for i := range m.Incident.Items {
		m.Incident.Items[i] = long
	}
	for kind := range httpSettings("") {
		rc := newReceiver(t, nil)
		if _, err := newSender(t, Options{}).Send(t.Context(), fileChannel(kind, httpSettings(rc.URL)[kind]), m); err != nil {
			t.Fatal(err)
		}
		if n := len(rc.last(t).Body); n > 64<<10 {
			t.Errorf("%s: %d bytes", kind, n)
		}
	}
	d := discordMessage(&m).Embeds[0]
	total := len([]rune(d.Title)) + len([]rune(d.Description))
	for _, f := range d.Fields {
		total += len([]rune(f.Name)) + len([]rune(f.Value))
	}
	if total > 6000 || len(d.Fields) > 25 {
		t.Errorf("an embed of %d characters and %d fields; Discord takes 6000 and 25", total, len(d.Fields))
	}
	for _, block := range slackMessage(m.note()).Blocks {
		if block.Text != nil && len([]rune(block.Text.Text)) > 3000 || len(block.Fields) > 10 {
			t.Errorf("a block that Slack refuses: %d fields", len(block.Fields))
		}
	}
}
