//go:build unix

package watch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/api"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// account makes the first account in a folder of data, and gives a key of an admin's.
func account(t *testing.T, data string) string {
	t.Helper()
	ctx := t.Context()
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(data, "mcpvigil.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := people.New(s.People(), people.Options{})
	token, _, err := p.SetupToken(ctx)
	if err == nil {
		_, err = p.Setup(ctx, token, "ann", "correct horse battery")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, session, err := p.Login(ctx, "ann", "correct horse battery", "", "127.0.0.1", "test")
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := p.CreateKey(ctx, session, people.Password("correct horse battery"), "test", people.Admin, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// configure writes a configuration, with what is secret in it beside it.
func configure(t *testing.T, text string, secrets map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, secret := range secrets {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "mcpvigil.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAlerts: drift and outages reach a mailbox and a web hook through the program and
// its configuration file, in two steps, the second of which an acknowledgement stops.
func TestAlerts(t *testing.T) {
	t.Parallel()
	f, r, m := newFleet(t, "drifts", "fails", "seen", "last"), newReceiver(t), newMailbox(t)
	text := fmt.Sprintf(`version: v1
channels:
  - {name: hook, type: webhook, settings: {url_file: $DIR/hook}}
  - {name: mail, type: email, settings: {host: 127.0.0.1, port: '%d', tls: none, from: watch@example.com, to: ops@example.com}}
escalations:
  - name: default
    steps: [{channels: [hook]}, {delay: 6s, channels: [mail]}]
targets:
`, m.port())
	for name := range f.servers {
		text += fmt.Sprintf("  - {name: %s, type: mcp, endpoint: %q, monitor: {interval: 10s, failure_threshold: 1}}\n", name, f.url(name))
	}
	data := t.TempDir()
	key := account(t, data)
	p := start(t, "--data", data, "--config", configure(t, text, map[string]string{"hook": r.http.URL}))
	v := views{t: t, base: "http://" + p.address, key: key}
	eventually(t, time.Minute, "every server is up", func() bool { _, _, counts, _ := v.aggregate(); return counts[watch.Up] == 4 })

	channels := testChannels(t, v, m)
	if told := r.all(); len(told) != 1 {
		t.Errorf("%d messages of the test", len(told))
	}
	hooked := func(axis, phase string, n int) func() bool {
		return func() bool {
			found := 0
			for _, told := range r.all() {
				if told.Data.Incident.Axis == axis && told.Data.Phase == phase {
					found++
				}
			}
			return found >= n
		}
	}
	mailed := func(words ...string) func() bool {
		return func() bool {
			return slices.ContainsFunc(m.got(), func(subject string) bool {
				return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(subject, w) })
			})
		}
	}
	f.change("drifts", func(m *member) { m.tools = append(m.tools, "purge") })
	f.change("fails", func(m *member) { m.down = true })
	eventually(t, time.Minute, "the hook is told of the drift", hooked("surface", "triggered", 1))
	eventually(t, time.Minute, "the hook is told of the outage", hooked("availability", "triggered", 1))
	eventually(t, time.Minute, "a mail tells of the drift", mailed("drifts"))
	eventually(t, time.Minute, "a mail tells of the outage", mailed("fails"))

	f.change("seen", func(m *member) { m.down = true })
	eventually(t, time.Minute, "the hook is told of the second outage", hooked("availability", "triggered", 2))
	seen := acknowledge(t, v, "seen")
	f.change("last", func(m *member) { m.down = true }) // whose second step comes after that one
	eventually(t, time.Minute, "a mail tells of the third outage", mailed("last"))
	if mailed("seen")() {
		t.Errorf("a mail tells of what was acknowledged: %q", m.got())
	}
	var notified ops.Page[watch.Notification]
	v.ask(http.MethodGet, fmt.Sprintf("/notifications?incident=%d", seen), nil, &notified)
	for _, n := range notified.Items {
		if n.Channel != "hook" {
			t.Errorf("a notification of what was acknowledged: %+v", n)
		}
	}
	for _, name := range []string{"fails", "seen", "last"} {
		f.change(name, func(m *member) { m.down = false })
	}
	eventually(t, time.Minute, "the hook is told of the end of all outages", hooked("availability", "resolved", 3))
	eventually(t, time.Minute, "mails tell of the end of two", func() bool { return len(m.got()) == 1+3+2 }) // with that of the test
	for channel, least := range map[string]int{"hook": 1 + 4 + 3, "mail": 1 + 3 + 2} {
		var log ops.Page[watch.Delivery]
		eventually(t, time.Minute, "every delivery is in the log", func() bool {
			v.ask(http.MethodGet, fmt.Sprintf("/channels/%d/deliveries", channels[channel]), nil, &log)
			return len(log.Items) >= least-1
		})
		for _, d := range log.Items {
			if !d.OK || d.Channel != channel {
				t.Errorf("%s: a delivery: %+v", channel, d)
			}
		}
	}
	p.stop()
}

// testChannels has the API send a test message to each channel, and returns their ids.
func testChannels(t *testing.T, v views, m *mailbox) map[string]int64 {
	t.Helper()
	var page ops.Page[watch.Channel]
	v.ask(http.MethodGet, "/channels", nil, &page)
	out := map[string]int64{}
	for _, c := range page.Items {
		out[c.Name] = c.ID
		var tested api.Tested
		v.ask(http.MethodPost, fmt.Sprintf("/channels/%d/test", c.ID), struct{}{}, &tested)
		if tested.Detail == "" {
			t.Errorf("%s: the test says nothing", c.Name)
		}
	}
	if len(out) != 2 || len(m.got()) != 1 {
		t.Errorf("channels %v, mails %q", out, m.got())
	}
	return out
}

// acknowledge acknowledges the open incident of a monitor.
func acknowledge(t *testing.T, v views, monitor string) int64 {
	t.Helper()
	var open ops.Page[watch.Incident]
	v.ask(http.MethodGet, fmt.Sprintf("/incidents?open=true&monitor=%d", v.all()[monitor].ID), nil, &open)
	if len(open.Items) != 1 {
		t.Fatalf("incidents of %s: %+v", monitor, open.Items)
	}
	var after watch.Incident
	v.ask(http.MethodPost, fmt.Sprintf("/incidents/%d/acknowledge", open.Items[0].ID), api.Comment{Comment: "on it"}, &after)
	if after.AcknowledgedAt.IsZero() || after.AcknowledgedBy != "key:test" {
		t.Errorf("acknowledged: %+v", after)
	}
	return after.ID
}

// At one moment API, health, metrics, MCP server and command line say the same of three
// servers; one that is paused is left out of what is said of all.
func TestFieldG6(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "ok", "failing", "paused")
	f.change("failing", func(m *member) { m.down = true })
	f.change("paused", func(m *member) { m.down = true })
	text := "version: v1\ntargets:\n"
	for _, name := range []string{"ok", "failing", "paused"} {
		text += fmt.Sprintf("  - {name: %s, type: mcp, endpoint: %q, monitor: {interval: 10s, failure_threshold: 1, paused: %t}}\n", name, f.url(name), name == "paused")
	}
	data, config := t.TempDir(), configure(t, text, nil)
	key := account(t, data)
	p := start(t, "--data", data, "--config", config)
	v := views{t: t, base: "http://" + p.address, key: key}
	eventually(t, time.Minute, "both were checked", func() bool { _, _, counts, _ := v.aggregate(); return counts[watch.Unknown] == 0 })
	for name, want := range map[string]shown{
		"ok": {State: watch.Up}, "failing": {State: watch.Down, Reason: "http-5xx"}, "paused": {State: watch.Unknown, Reason: watch.ReasonPaused},
	} {
		if got := v.of(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	wantAggregate(t, v, http.StatusServiceUnavailable, "unhealthy", map[string]int{watch.Up: 1, watch.Down: 1})
	for name, want := range map[string]int{"ok": 0, "failing": 1} {
		code, status := checked(t, f.url(name))
		if all := v.all()[name].Status; code != want || (status == "healthy") != all.Healthy {
			t.Errorf("%s: the command check ends with %d, %s, and the API says %+v", name, code, status, all.Availability)
		}
	}
	if n := f.look("paused").requests; n != 0 {
		t.Errorf("%d requests to the server that is paused", n)
	}
	f.change("failing", func(m *member) { m.down = false })
	eventually(t, time.Minute, "it is up again", func() bool { return v.all()["failing"].Status.Healthy })
	wantAggregate(t, v, http.StatusOK, "healthy", map[string]int{watch.Up: 2})
	p.stop()
}

func wantAggregate(t *testing.T, v views, wantCode int, wantStatus string, want map[string]int) {
	t.Helper()
	code, status, counts, paused := v.aggregate()
	if code != wantCode || status != wantStatus || paused != 1 {
		t.Errorf("the health of all: %d %s, %d paused", code, status, paused)
	}
	for state, n := range counts {
		if n != want[state] {
			t.Errorf("the health of all: %d are %s, want %d", n, state, want[state])
		}
	}
}

// checked runs the command check and returns its exit code and the status it reports.
func checked(t *testing.T, url string) (code int, status string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "check", "--format", "json", url)
	out, err := cmd.Output()
	var report struct{ Status string }
	if bad := json.Unmarshal(out, &report); bad != nil {
		t.Fatalf("%v, %v in %s", err, bad, out)
	}
	return cmd.ProcessState.ExitCode(), report.Status
}
