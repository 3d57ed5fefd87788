package alert

import (
	"strings"
	"testing"
)

func TestTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Types() {
		if seen[k.Name] || k.Doc == "" || len(k.Fields) == 0 {
			t.Errorf("type %+v", k)
		}
		seen[k.Name] = true
		if AdminOnly(k.Name) != (k.Name == "shoutrrr") {
			t.Errorf("AdminOnly(%s)", k.Name)
		}
		example := map[string]string{}
		for _, f := range k.Fields {
			if f.Name == "" || f.Doc == "" || f.Example == "" {
				t.Errorf("%s: field %+v", k.Name, f)
			}
			example[f.Name] = f.Example
		}
		if k.Name == "alertmanager" {
			delete(example, "token") // or a password
		}
		if k.Name == "webhook" {
			delete(example, "content_type") // it is not that of the body
		}
		if problems := Validate(k.Name, example); len(problems) > 0 {
			t.Errorf("the example of %s: %+v", k.Name, problems)
		}
	}
	if len(seen) != 10 || AdminOnly("pigeon") {
		t.Errorf("types: %v", seen)
	}
}

func TestValidate(t *testing.T) {
	mail := func(more ...string) map[string]string {
		s := map[string]string{"host": "smtp.example.com", "from": "a@example.com", "to": "b@example.com"}
		for i := 0; i < len(more); i += 2 {
			s[more[i]] = more[i+1]
		}
		return s
	}
	hook := func(more ...string) map[string]string {
		s := map[string]string{"url": "https://hooks.example.com/x"}
		for i := 0; i < len(more); i += 2 {
			s[more[i]] = more[i+1]
		}
		return s
	}
	for _, c := range []struct {
		name, kind  string
		settings    map[string]string
		field, text string // of the one problem; empty: none
	}{
		{"no such type", "pigeon", nil, "type", "no such type"},
		{"nothing given", "slack", nil, "url", "is missing"},
		{"white space", "slack", map[string]string{"url": " \n"}, "url", "is missing"},
		{"another scheme", "slack", hook("url", "ftp://example.com/"), "url", "not an http or https URL"},
		{"a file", "slack", hook("url", "file:///etc/passwd"), "url", "not an http or https URL"},
		{"no host", "teams", hook("url", "https:///x"), "url", "has no host"},
		{"a fragment", "discord", hook("url", "https://h/#x"), "url", "fragment"},
		{"a line end in it", "slack", hook("url", "https://h/a\nb"), "url", "control characters"},
		{"a URL with a line end after it", "slack", hook("url", "https://h/a\n"), "", ""},
		{"too long", "slack", hook("url", "https://h/"+strings.Repeat("a", 5000)), "url", "longer than 4096"},
		{"an unknown setting", "slack", hook("channel", "#ops"), "channel", "no such setting"},
		{"a short key", "webhook", hook("secret", "whsec_c2hvcnQ="), "secret", "24 to 64 bytes"},
		{"a password for a key", "webhook", hook("secret", "hunter2"), "secret", "24 to 64 bytes"},
		{"two keys", "webhook", hook("secret", signing+","+signing), "", ""},
		{"five keys", "webhook", hook("secret", strings.Repeat(signing+" ", 5)), "secret", "more than 4"},
		{"a header without a name", "webhook", hook("headers", "X-A: b\nnothing"), "headers", "in line 2"},
		{"a header with a bad name", "webhook", hook("headers", "X A: b"), "headers", "in line 1"},
		{"a header of ours", "webhook", hook("headers", "webhook-id: 1"), "headers", "this program sets"},
		{"Host", "webhook", hook("headers", "host: evil"), "headers", "this program sets"},
		{"many headers", "webhook", hook("headers", strings.Repeat("X-A: b\n", 21)), "headers", "more than 20"},
		{"a bad template in a header", "webhook", hook("headers", "X-A: {{.nothing}}"), "headers", "template in line 1"},
		{"a bad template", "webhook", hook("body", "{{.data.nothing}}"), "body", "nothing"},
		{"text that is not quoted", "webhook", hook("body", `{"text": "{{.data.headline}}"}`), "body", "not give JSON"},
		{"text that is quoted", "webhook", hook("body", `{"text": {{json .data.headline}}}`), "", ""},
		{"text as text", "webhook", hook("body", `{{.data.headline}}`, "content_type", "text/plain"), "", ""},
		{"its type as a header", "webhook", hook("body", `{{.data.headline}}`, "headers", "Content-Type: text/plain"), "", ""},
		{"a bad media type", "webhook", hook("content_type", "text/plain\x7f"), "content_type", "control"},
		{"mail", "email", mail(), "", ""},
		{"mail to many", "email", mail("to", strings.Repeat("x@example.com,", 20)+"y@example.com"), "to", "more addresses"},
		{"mail to nobody", "email", mail("to", "nobody"), "to", "not an address"},
		{"mail with a header inside", "email", mail("to", "b@example.com\r\nBcc: c@example.com"), "to", "control"},
		{"mail from two", "email", mail("from", "a@example.com, b@example.com"), "from", "more addresses"},
		{"a host with a port", "email", mail("host", "smtp.example.com:25"), "host", "not a host"},
		{"an IPv6 host", "email", mail("host", "::1"), "", ""},
		{"a wrong port", "email", mail("port", "70000"), "port", "not a port"},
		{"a wrong tls", "email", mail("tls", "maybe"), "tls", "not one of"},
		{"a user without a password", "email", mail("username", "u"), "password", "go together"},
		{"a password in the clear", "email", mail("username", "u", "password", "p", "tls", "none"), "tls", "in the clear"},
		{"no routing key", "pagerduty", nil, "routing_key", "is missing"},
		{"a base URL with a key", "pagerduty", map[string]string{"routing_key": "k", "url": "https://u:p@h/"}, "url", "more than a scheme"},
		{"a priority", "opsgenie", map[string]string{"api_key": "k", "priority": "high"}, "priority", "not one of"},
		{"labels", "alertmanager", map[string]string{"url": "http://h", "labels": "a=b,c"}, "labels", "not a list"},
		{"a label of ours", "alertmanager", map[string]string{"url": "http://h", "labels": "monitor_id=b"}, "labels", "this program sets"},
		{"a bad label", "alertmanager", map[string]string{"url": "http://h", "labels": "1a=b"}, "labels", "proper name"},
		{"token and password", "alertmanager", map[string]string{"url": "http://h", "token": "t", "username": "u", "password": "p"}, "token", "do not go together"},
		{"a topic", "ntfy", map[string]string{"topic": "a/b"}, "topic", "not a topic"},
		{"no service", "shoutrrr", map[string]string{"url": "pigeon://x"}, "url", "not a URL of a service"},
		{"the logger", "shoutrrr", map[string]string{"url": "logger://"}, "url", "not a URL of a service"},
		{"a service", "shoutrrr", map[string]string{"url": "generic+https://h/x"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Validate(c.kind, c.settings)
			if c.field == "" {
				if len(got) != 0 {
					t.Errorf("%+v", got)
				}
				return
			}
			if len(got) == 0 || got[0].Field != c.field || !strings.Contains(got[0].Text, c.text) {
				t.Errorf("%+v; want %s: %s", got, c.field, c.text)
			}
		})
	}
}

func TestShown(t *testing.T) {
	for _, c := range []struct {
		kind     string
		settings map[string]string
		want     string
	}{
		{"slack", map[string]string{"url": "https://hooks.slack.com/services/T/B/x"}, "hooks.slack.com"},
		{"webhook", map[string]string{"url": "https://user:pass@h.example.com:8443/x?y=z"}, "h.example.com:8443"},
		{"email", map[string]string{"host": "smtp.example.com", "to": "a@example.com", "password": "p"}, "a@example.com through smtp.example.com:587"},
		{"pagerduty", map[string]string{"routing_key": "k"}, "events.pagerduty.com"},
		{"opsgenie", map[string]string{"url": "https://api.eu.opsgenie.com"}, "api.eu.opsgenie.com"},
		{"ntfy", map[string]string{"topic": "secret-topic"}, "ntfy.sh"},
		{"shoutrrr", map[string]string{"url": "gotify://host/token"}, "gotify"},
		{"shoutrrr", map[string]string{"url": "Token%"}, ""},
		{"pigeon", nil, ""},
	} {
		if got := Shown(c.kind, c.settings); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.kind, c.settings, got, c.want)
		}
	}
}
