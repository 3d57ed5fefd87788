package api_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func hook(url string, more ...string) map[string]any {
	settings := map[string]any{"url": url}
	for i := 0; i < len(more); i += 2 {
		settings[more[i]] = more[i+1]
	}
	return map[string]any{"name": "pager", "type": "webhook", "settings": settings}
}

func steps(channel, delay string) map[string]any {
	return map[string]any{"steps": []any{map[string]any{"delay": delay, "channels": []string{channel}}}}
}

// No key can have less told of what servers tell agents.
func TestNoWayToSilence(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		key, admin := w.credentials["key admin"], w.credentials["session admin"]
		var c watch.Channel
		w.request("POST", "/channels", key, hook("https://hooks.example.com/a", "secret", signing), http.StatusCreated, &c)
		channel := path("/channels/%d", c.ID)
		w.request("PUT", channel, key, hook("https://hooks.example.com/b"), http.StatusOK, nil) // nobody is told through it yet
		w.request("PUT", "/escalations/default", key, steps("pager", "0s"), http.StatusOK, nil)
		w.request("PUT", "/escalations/default", key, steps("pager", "0s"), http.StatusOK, nil)
		w.request("PUT", channel, key, hook("https://hooks.example.com/b"), http.StatusOK, nil)

		type change struct {
			method, path string
			body         map[string]any
			status       int
		}
		for name, c := range map[string]change{
			"another address": {"PUT", channel, hook("https://hooks.example.com/null"), http.StatusOK},
			"another type":    {"PUT", channel, map[string]any{"name": "pager", "type": "ntfy", "settings": map[string]any{"topic": "a-topic-of-mine"}}, http.StatusOK},
			"other states":    {"PUT", "/escalations/default", with(steps("pager", "0s"), "on", []string{"down"}), http.StatusOK},
			"later":           {"PUT", "/escalations/default", steps("pager", "24h"), http.StatusOK},
			"no policy":       {"DELETE", "/escalations/default", map[string]any{}, http.StatusNoContent},
		} {
			t.Run(name, func(t *testing.T) {
				w.problem(c.method, c.path, key, c.body, http.StatusForbidden, "proof-required")
				w.offset.Add(int64(time.Minute)) // passwords are limited
				w.problem(c.method, c.path, key, with(c.body, "password", password), http.StatusForbidden, "proof-required")
				w.problem(c.method, c.path, admin, c.body, http.StatusForbidden, "proof-required")
				w.problem(c.method, c.path, admin, with(c.body, "password", "wrong"), http.StatusUnauthorized, "wrong-password")
				w.request(c.method, c.path, admin, with(c.body, "password", password), c.status, nil)
				// As it was.
				w.request("PUT", "/escalations/default", key, steps("pager", "0s"), http.StatusOK, nil)
				w.request("PUT", channel, admin, with(hook("https://hooks.example.com/b", "secret", signing), "password", password), http.StatusOK, nil)
			})
		}
		w.problem("POST", "/channels", key, map[string]any{"name": "other", "type": "shoutrrr", "settings": map[string]any{"url": "generic://127.0.0.1:1/"}}, http.StatusForbidden, "proof-required")
	})
}

// A secret of a channel stays with the place that it was given for.
func TestSecretsOfChannelsStayThere(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	admin := w.credentials["key admin"]
	var c watch.Channel
	w.request("POST", "/channels", admin, hook("https://hooks.example.com/a", "secret", signing), http.StatusCreated, &c)
	p := w.problem("PUT", path("/channels/%d", c.ID), admin, hook("https://evil.example.net/a"), http.StatusUnprocessableEntity, "invalid")
	if !slices.Contains(locations(p), "body.settings.secret") {
		t.Errorf("errors: %+v", p.Errors)
	}
	mail := func(host string) map[string]any {
		return map[string]any{"name": "mail", "type": "email", "settings": map[string]any{"host": host, "username": "u", "from": "a@example.com", "to": "b@example.com"}}
	}
	first := mail("smtp.example.com")
	first["settings"].(map[string]any)["password"] = "s3cr3t-of-mail"
	w.request("POST", "/channels", admin, first, http.StatusCreated, &c)
	p = w.problem("PUT", path("/channels/%d", c.ID), admin, mail("smtp.example.net"), http.StatusUnprocessableEntity, "invalid")
	if !slices.Contains(locations(p), "body.settings.password") {
		t.Errorf("errors: %+v", p.Errors)
	}
	w.request("PUT", path("/channels/%d", c.ID), admin, mail("smtp.example.com"), http.StatusOK, nil)
	err := w.store.View(context.Background(), func(tx *store.Tx) error {
		stored, err := tx.Channel(context.Background(), c.ID)
		if err == nil && stored.Settings["password"] != "s3cr3t-of-mail" {
			t.Errorf("the password did not stay")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A pause ends no alarm about what a server tells agents.
func TestPauseLeavesAChangeOpen(t *testing.T) {
	w := newWorld(t, open(t, "")).populate()
	id := w.monitor("search", nil)
	w.observe(id, tools(map[string]string{"find": "a"}))
	w.observe(id, tools(map[string]string{"find": "b"}))
	w.request("POST", path("/monitors/%d/pause", id), w.credentials["key editor"], nil, http.StatusOK, nil)
	var page ops.Page[watch.Incident]
	w.request("GET", path("/incidents?monitor=%d&open=true", id), w.credentials["key viewer"], nil, http.StatusOK, &page)
	if len(page.Items) != 1 || page.Items[0].Axis != watch.Surface {
		t.Errorf("open incidents: %+v", page.Items)
	}
	w.request("POST", path("/monitors/%d/resume", id), w.credentials["key editor"], nil, http.StatusOK, nil)
	if st := w.observe(id, tools(map[string]string{"find": "a"})); st.Surface.State != watch.AsApproved || st.Surface.Incident != 0 {
		t.Errorf("after it is as approved again: %+v", st.Surface)
	}
}
