package alert

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// echo answers with all that it got, in the forms in which receivers quote it.
func echo(code int) func(http.ResponseWriter, received) {
	return func(w http.ResponseWriter, r received) {
		var all strings.Builder
		fmt.Fprintf(&all, "%s %s %q\n", r.Method, r.Path, r.Body)
		for name, values := range r.Header {
			for _, value := range values {
				fmt.Fprintf(&all, "%s: %s\n", name, value)
			}
		}
		said := all.String()
		quoted, err := json.Marshal(said)
		if err != nil {
			panic(err)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "%s\n%s\n%s\n", said, quoted, url.QueryEscape(said))
		for _, word := range strings.FieldsFunc(said, func(c rune) bool { return strings.ContainsRune(" \n\"/?=&:", c) }) {
			fmt.Fprintf(w, "%s %s ", strings.ToUpper(word), base64.StdEncoding.EncodeToString([]byte(word)))
		}
	}
}

// secretChannel gives a channel of a kind to base, and the secrets in it.
func secretChannel(kind, base, mailPort, one, two string) (settings map[string]string, secrets []string) {
	secrets = []string{one, two}
	switch kind {
	case "webhook":
		key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(one, 3)[:32]))
		settings = map[string]string{
			"url":    strings.Replace(base, "://", "://user:"+two+"@", 1) + "/" + one + "?key=" + two,
			"secret": "whsec_" + key, "headers": "X-Token: " + one + "\nX-Auth: Bearer " + two,
		}
		secrets = append(secrets, key)
	case "slack", "teams", "discord":
		settings = map[string]string{"url": base + "/a/" + one + "?sig=" + two}
	case "pagerduty":
		settings = map[string]string{"url": base, "routing_key": one + two}
		secrets = []string{one + two}
	case "opsgenie":
		settings = map[string]string{"url": base, "api_key": one}
	case "alertmanager":
		settings = map[string]string{"url": base, "username": "vigil", "password": one}
	case "ntfy":
		settings = map[string]string{"url": base, "topic": one, "token": two}
	case "email":
		settings = map[string]string{
			"host": "127.0.0.1", "port": mailPort, "username": "vigil", "password": one,
			"from": "a@example.com", "to": "b@example.com",
		}
	case "shoutrrr":
		settings = map[string]string{"url": "generic+" + base + "/" + one + "?@X-Token=" + two + "&$key=" + one}
	}
	return settings, secrets
}

// shows reports whether text holds secret in any form that is easy to read back.
func shows(text, secret string) bool {
	text = strings.ToLower(text)
	for _, form := range []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.StdEncoding.EncodeToString([]byte("vigil:" + secret)),
	} {
		if strings.Contains(text, strings.ToLower(form)) {
			return true
		}
	}
	return false
}

// Whatever a receiver answers, no secret of a channel is in an error, in a detail, in
// what is shown of it, or in a problem.
func TestNoSecretLeaves(t *testing.T) {
	var mu sync.Mutex
	code := 200
	rc := newReceiver(t, func(w http.ResponseWriter, r received) {
		mu.Lock()
		answer := echo(code)
		mu.Unlock()
		answer(w, r)
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	mail := newSMTP(t, nil) // it quotes the login that it refuses
	s := newSender(t, Options{RootCAs: mail.roots})
	for _, k := range Types() {
		t.Run(k.Name, func(t *testing.T) {
			outcomes := map[string]bool{}
			rapid.Check(t, func(rt *rapid.T) {
				secret := rapid.StringMatching(`[a-zA-Z0-9_-]{12,40}`)
				one, two := secret.Draw(rt, "one"), secret.Draw(rt, "two")
				mu.Lock()
				code = rapid.SampledFrom([]int{200, 202, 301, 400, 401, 404, 422, 429, 500, 503}).Draw(rt, "code")
				mu.Unlock()
				settings, secrets := secretChannel(k.Name, rc.URL, mail.port(), one, two)
				if problems := Validate(k.Name, settings); len(problems) != 0 {
					rt.Fatalf("%+v", problems)
				}
				c := fileChannel(k.Name, settings)
				detail, err := s.Send(t.Context(), c, messages()["down"])
				outcomes[fmt.Sprintf("%T", err)] = true
				said := []string{detail, fmt.Sprintf("%v %+v %#v", err, err, err), Shown(k.Name, settings)}
				for e := err; e != nil; e = unwrap(e) {
					said = append(said, fmt.Sprintf("%+v", e))
				}
				for _, text := range said {
					for _, secret := range secrets {
						if shows(text, secret) {
							rt.Fatalf("%q is in %q", secret, text)
						}
					}
				}
			})
			if len(outcomes) < 2 && k.Name != "email" {
				t.Errorf("the cases gave only %v", outcomes)
			}
		})
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

// A problem with a setting does not quote it: it may be shown to whoever reads a log.
func TestNoSecretInProblems(t *testing.T) {
	s := newSender(t, Options{})
	for _, k := range Types() {
		t.Run(k.Name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				secret := rapid.StringMatching(`[a-zA-Z0-9]{12,20}`).Draw(rt, "secret")
				settings := map[string]string{}
				for _, f := range k.Fields {
					if f.Secret {
						shape := rapid.SampledFrom([]string{"%s", "x://%s/", "https://[%s/", "https://h/%s\x01", "X-A: {{%s}}", "X-A: {{.%s}}", "%s: ", " {{ %s", "https://%%zz%s", "X: {{\"%s}}"}).Draw(rt, "shape")
						settings[f.Name] = fmt.Sprintf(shape, secret)
					} else {
						settings[f.Name] = f.Example
					}
				}
				problems := Validate(k.Name, settings)
				if len(problems) == 0 {
					return // it would be sent
				}
				text := fmt.Sprintf("%+v", problems)
				_, err := s.Send(t.Context(), fileChannel(k.Name, settings), Message{})
				if strings.Contains(text, secret) || err != nil && strings.Contains(err.Error(), secret) {
					rt.Fatalf("%s; %v", text, err)
				}
			})
		})
	}
}
