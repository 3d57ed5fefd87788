package alert

import (
	"strings"
	"testing"
	"time"
)

func TestTemplates(t *testing.T) {
	m := exampleMessage()
	for text, want := range map[string]string{
		`plain`: "plain",
		`{{.data.monitor.name | upper}} {{lower .data.incident.state}}`:                                                 "SEARCH changed",
		`{{json .data.incident.title}}`:                                                                                 `"what \"search\" tells agents has changed"`,
		`{{date "02.01.2006 15:04" .data.incident.opened_at}}`:                                                          "14.03.2026 09:26",
		`[{{date "2006" .data.incident.resolved_at}}]`:                                                                  "[]",
		`{{range $i, $item := .data.incident.items}}{{if $i}}, {{end}}{{$item}}{{else}}none{{end}}`:                     "tool search: description-changed, tool delete_index: tool-added",
		`{{if and (eq .data.phase "triggered") (gt (len .data.incident.items) 1)}}many{{end}}`:                          "many",
		`{{with .data.link}}{{.}}{{end}}`:                                                                               "https://watch.example.com/incidents/42",
		`{{range .data.incident.items}}{{range $.data.incident.items}}x{{end}}{{end}}{{$n := .data.incident.id}}{{$n}}`: "xxxx42",
		`{{/* a comment */}}{{index .data.incident.items 0 | printfless}}`:                                              "",
		`{{range .data.incident.items}}{{break}}{{end}}{{slice .type 0 8}}`:                                             "incident",
		`{{json .data.incident.items}}`:                                                                                 `["tool search: description-changed","tool delete_index: tool-added"]`,
	} {
		got, err := expand(text, m.payload())
		if want == "" {
			if err == nil {
				t.Errorf("%s gave %q", text, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s gave %q, %v; want %q", text, got, err, want)
		}
	}
}

// Whatever a template says, it ends soon and small.
func TestHostileTemplates(t *testing.T) {
	m := exampleMessage()
	grow := `{{$x := json .}}` + strings.Repeat(`{{$x = json $x}}`, 100)
	hoard := `{{$x := json .}}` + strings.Repeat(`{{$x = json $x}}`, 8)
	for i := range 2000 {
		hoard += `{{$v` + strings.Repeat("a", i%50+1) + strings.Repeat("b", i/50) + ` := lower $x}}`
	}
	for name, text := range map[string]string{
		"unknown function":    `{{env "HOME"}}`,
		"printf":              `{{printf "%1000000000d" 1}}`,
		"print":               `{{$x := "x"}}{{$x = print $x $x}}`,
		"call":                `{{call .data}}`,
		"html":                `{{html .data.link}}`,
		"urlquery":            `{{.data.link | urlquery}}`,
		"function in a chain": `{{(print "a").b}}`,
		"in an argument":      `{{if eq (printf "%d" 1) "1"}}{{end}}`,
		"range over a number": `{{range 1000000000}}{{end}}`,
		"over a variable":     `{{$n := 1000000000}}{{range $n}}{{end}}`,
		"over the dot":        `{{with 1000000000}}{{range .}}{{end}}{{end}}`,
		"over an id":          `{{range .data.incident.id}}{{end}}`,
		"deep ranges":         `{{range .data}}{{range $.data}}{{range $.data}}{{end}}{{end}}{{end}}`,
		"recursion":           `{{define "a"}}{{template "a"}}{{template "a"}}{{end}}{{template "a"}}`,
		"a block":             `{{block "a" .}}{{end}}`,
		"an unknown template": `{{template "b"}}`,
		"a wrong member":      `{{.data.incident.titel}}`,
		"broken":              `{{.data`,
		"growth":              grow,
		"hoarding":            hoard,
		"much output":         strings.Repeat(`{{range .data.incident.items}}{{json $.data}}{{end}}`, 1000),
		"brackets":            `{{` + strings.Repeat("(", 30000) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			got, err := expand(text, m.payload())
			if err == nil {
				t.Errorf("it gave %d bytes", len(got))
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("it took %v", d)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("its error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestTemplateTime(t *testing.T) {
	l := &limits{end: time.Now().Add(-time.Second), left: maxOutput}
	if _, err := l.Write([]byte("x")); err == nil {
		t.Error("it writes after its time")
	}
	if _, err := l.value("x", nil); err == nil {
		t.Error("it calls after its time")
	}
}

func TestTemplateValuesAreBoundedTogether(t *testing.T) {
	l, large, took := &limits{end: time.Now().Add(time.Minute)}, strings.Repeat("x", maxOutput), 0
	for ; took < 100; took++ {
		if _, err := l.value(large, nil); err != nil {
			break
		}
	}
	if took != maxMade/maxOutput {
		t.Errorf("it took %d large values", took)
	}
}

func TestWebhookTemplates(t *testing.T) {
	rc := newReceiver(t, nil)
	c := fileChannel("webhook", map[string]string{
		"url": rc.URL, "secret": signing, "content_type": "text/plain; charset=utf-8",
		"body":    "{{upper .data.phase}}: {{.data.headline}}\n{{range .data.incident.items}}* {{.}}\n{{end}}",
		"headers": "X-Priority: {{if eq .data.severity \"critical\"}}1{{else}}3{{end}}\nAuthorization: Bearer tok\n\n",
	})
	if _, err := newSender(t, Options{}).Send(t.Context(), c, messages()["changed"]); err != nil {
		t.Fatal(err)
	}
	r := rc.last(t)
	want := "TRIGGERED: CHANGED: what \"search\" tells agents has changed\n* tool search: description-changed\n* tool delete_index: tool-added\n"
	if string(r.Body) != want || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" || r.Header.Get("X-Priority") != "3" || r.Header.Get("Authorization") != "Bearer tok" {
		t.Errorf("got %q with %v", r.Body, r.Header)
	}
	if err := verify(signing, r, time.Now()); err != nil {
		t.Errorf("a body of a template: %v", err)
	}
}
