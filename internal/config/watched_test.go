package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/surface"
	"github.com/mcpvigil/mcpvigil/target"
)

const watchedFile = `version: v1
defaults: {interval: 5m}
targets:
  - name: search
    id: search
    type: mcp
    endpoint: https://u.example/mcp?key=${KEY}
    timeout: 7s
    auth: {headers: [{name: X-A, value_env: KEY}, {name: X-B, value_env: KEY}]}
    thresholds: {max_tools: 40}
    mcp: {protocol_version: '2025-06-18', required_tools: [search]}
    monitor: {interval: 10s, failure_threshold: 3, recovery_threshold: 2, group: pay, tags: [prod], locations: [eu, us], escalation: on-call, drift_policy: record, drift_effects: {tool-text: fail}, paused: true}
  - {name: chain, type: mcp, endpoint: 'https://u.example/mcp', auth: {mode: oauth}, dependencies: [{ref: search, critical: false}, {name: in place, type: mcp, endpoint: 'https://u.example/x'}]}
  - {name: old, type: mcp, endpoint: 'https://u.example/sse', mcp: {transport: sse}, dependencies: [{ref: search}]}
  - {name: login, type: mcp, endpoint: 'https://u.example/mcp', mcp: {oauth: {issuer: 'https://as.example', client_id: c, grant: client_credentials, client_secret_env: KEY}}}
  - {name: files, type: mcp, endpoint: 'stdio://files', mcp: {transport: stdio, stdio: {command: '/bin/true', args: ['--token=${KEY}']}}}
channels:
  - {name: team, type: slack, settings: {url_env: KEY, text: 'a ${NOTE:-b} c'}}
  - {name: hook, type: webhook, settings: {url: 'https://h.example/x', secret_file: watched_test.go, token_command: [echo, x]}}
escalations:
  - {name: on-call, on: [down], steps: [{channels: [team]}, {delay: 15m, channels: [hook]}], repeat: 2}
windows:
  - {name: w, kind: maintenance, tags: [prod], days: [mon, tue], from: '09:30', for: 2h, zone: Europe/Berlin}
  - {name: once, kind: expected-change, monitors: [search], start: '2026-12-24T18:00:00+01:00', end: '2026-12-24T19:00:00+01:00'}
lockfile: git/mcpvigil.lock
`

func TestWatchedFile(t *testing.T) {
	f, err := Parse("dir/test.yaml", []byte(watchedFile), Options{LookupEnv: env("KEY", "s3cret-value")})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Served(); err != nil {
		t.Error(err)
	}
	want := []watch.Definition{
		{
			Name: "search", Group: "pay", Tags: []string{"prod"}, URL: "https://u.example/mcp?key=***", Transport: watch.StreamableHTTP,
			AuthMode: watch.AuthHeader, Headers: []string{"X-A", "X-B"}, ProtocolVersion: "2025-06-18", ExpectedTools: []string{"search"}, MaxTools: 40,
			DriftPolicy: surface.Record, DriftEffects: map[surface.Class]surface.Effect{surface.ToolText: surface.Fail},
			Interval: watch.Duration(10 * time.Second), Timeout: watch.Duration(7 * time.Second), FailureThreshold: 3, RecoveryThreshold: 2,
			Escalation: "on-call", Locations: []string{"eu", "us"},
		},
		{Name: "chain", URL: "https://u.example/mcp", Transport: watch.StreamableHTTP, AuthMode: watch.AuthOAuth, Dependencies: []watch.Dependency{{Monitor: "search"}}},
		{Name: "old", URL: "https://u.example/sse", Transport: watch.SSE, AuthMode: watch.AuthNone, Dependencies: []watch.Dependency{{Monitor: "search", Critical: true}}},
		{Name: "login", URL: "https://u.example/mcp", Transport: watch.StreamableHTTP, AuthMode: watch.AuthLogin},
		{Name: "files", URL: "/bin/true --token=${KEY}", Transport: watch.Stdio, AuthMode: watch.AuthNone},
	}
	for i := range want {
		if i > 0 {
			want[i].DriftPolicy, want[i].Interval, want[i].Locations = surface.Alert, watch.Duration(5*time.Minute), []string{"local"}
		}
		want[i].Normalize()
		got := f.Monitors[i].Definition()
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want[i].Name, diff)
		}
	}
	if !f.Monitors[0].Paused || f.FileTarget("old") != f.Targets[2] || f.FileTarget("in place") != nil {
		t.Error("paused, or the target of a name, is wrong")
	}
	if f.Lockfile != filepath.Join("dir", "git", "mcpvigil.lock") {
		t.Errorf("lockfile %s", f.Lockfile)
	}
	team, hook := f.Channels[0], f.Channels[1]
	if v := team.Settings["url"]; !v.Reference() || v.Secret.Variable() != "KEY" || team.Settings["text"].Text != "a b c" {
		t.Errorf("%+v", team)
	}
	if hook.Settings["secret"].Secret.Path() != "watched_test.go" || !hook.Settings["token"].Secret.FromProgram() || hook.Settings["url"].Text != "https://h.example/x" {
		t.Errorf("%+v", hook)
	}
	if v, err := hook.Settings["token"].Secret.Reveal(context.Background()); err != nil || v != "x" {
		t.Errorf("%q %v", v, err)
	}
	if text := fmt.Sprintf("%+v %#v", f.Channels, f.Channels); strings.Contains(text, "s3cret") {
		t.Error("a secret is printed")
	}
	wantPolicy := []watch.Escalation{{
		Name: "on-call", Source: watch.FromFile, On: []string{"down"}, Repeat: 2,
		Steps: []watch.Step{{Channels: []string{"team"}}, {Delay: watch.Duration(15 * time.Minute), Channels: []string{"hook"}}},
	}}
	wantWindows := []watch.Window{
		{Name: "w", Source: watch.FromFile, Kind: watch.Maintenance, Tags: []string{"prod"}, Days: []string{"mon", "tue"}, From: "09:30", For: watch.Duration(2 * time.Hour), Zone: "Europe/Berlin"},
		{Name: "once", Source: watch.FromFile, Kind: watch.ExpectedChange, Monitors: []string{"search"}, Start: time.Date(2026, 12, 24, 17, 0, 0, 0, time.UTC), End: time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)},
	}
	if diff := cmp.Diff(wantPolicy, f.Escalations); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantWindows, f.Windows); diff != "" {
		t.Error(diff)
	}
}

// TestServed: what a check gets along with, and a monitor does not.
func TestServed(t *testing.T) {
	tools := make([]string, watch.MaxExpectedTools+1)
	for i := range tools {
		tools[i] = fmt.Sprintf("t%d", i)
	}
	const target = "  - {name: a, type: mcp, endpoint: 'https://x.example/mcp'"
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"fine":       {"targets:\n" + target + "}\n", nil},
		"name":       {"targets:\n" + target + "}\n" + target + "}\n", []string{`f:4:12: name "a" is used twice, first on line 3; give each target a name of its own: reports and metrics tell targets apart by it`}},
		"escalation": {"targets:\n" + target + ", monitor: {escalation: on-call}}\n", []string{`f:3:83: there is no escalation "on-call"; define it under escalations`}},
		"variable": {
			"targets:\n" + target + "}\nchannels:\n  - {name: c, type: slack, settings: {url_env: GONE}}\n",
			[]string{"f:5:39: environment variable GONE is not set; set it to a value that is not empty where mcpvigil runs, or change the name in the file"},
		},
		"tools": {"targets:\n" + target + ", mcp: {required_tools: [" + strings.Join(tools, ",") + "]}}\n", []string{"f:3:5: "}},
	} {
		f, err := Parse("f", []byte("version: v1\n"+tt.text), Options{LookupEnv: env()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		var errs *Errors
		if err := f.Served(); errors.As(err, &errs) {
			for _, p := range errs.Problems {
				got = append(got, p.Error())
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i], tt.want[i]) {
				t.Errorf("%s: %s\nwant %s", name, got[i], tt.want[i])
			}
		}
	}
}

// TestExport: an exported file loads, gives the same definitions and holds no secret.
func TestExport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Exported{
			Channels: []Channel{{Name: "team", Type: "slack", Settings: map[string]Setting{
				"url": {Secret: target.Literal("hunter2")}, "text": {Text: rapid.SampledFrom([]string{"plain", "a ${X} b", "no", "5", " ", "ghp_hunter2hunter2hunter2hunter2hunter2"}).Draw(t, "text")},
			}}},
			Escalations: []watch.Escalation{{Name: "on-call", Source: watch.FromFile, Steps: []watch.Step{{Channels: []string{"team"}}, {Delay: watch.Duration(time.Minute), Channels: []string{"team"}}}, Repeat: 1}},
			Windows: []watch.Window{
				{Name: "w", Source: watch.FromFile, Kind: watch.Maintenance, Tags: []string{"prod"}, Days: []string{"mon"}, From: "23:30", For: watch.Duration(2 * time.Hour), Zone: "Europe/Berlin"},
				{Name: "once", Source: watch.FromFile, Kind: watch.ExpectedChange, Start: time.Date(2026, 12, 24, 17, 0, 0, 0, time.UTC), End: time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)},
			},
		}
		var before []string
		for i := range rapid.IntRange(1, 4).Draw(t, "monitors") {
			m := drawMonitor(t, i, before)
			before = append(before, m.Definition.Name)
			e.Monitors = append(e.Monitors, m)
		}
		data, err := Export(e)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse("f", data, Options{LookupEnv: func(string) (string, bool) { return "value", true }})
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if err := f.Served(); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if strings.Contains(string(data), "hunter2") {
			t.Errorf("a secret is in\n%s", data)
		}
		var got, want []watch.Definition
		for i := range e.Monitors {
			d := e.Monitors[i].Definition
			d.URL = (&target.Target{Endpoint: d.URL}).Address() // which is to be shown only
			if f.Targets[i].Endpoint != e.Monitors[i].Definition.URL {
				t.Errorf("%s, not %s", f.Targets[i].Endpoint, e.Monitors[i].Definition.URL)
			}
			want = append(want, d)
			got = append(got, f.Monitors[i].Definition())
			if e.Monitors[i].Paused != f.Monitors[i].Paused {
				t.Error("paused is lost")
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("monitors (-want +got):\n%s\n%s", diff, data)
		}
		if diff := cmp.Diff([]any{e.Escalations, e.Windows}, []any{f.Escalations, f.Windows}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if c := f.Channels[0]; !c.Settings["url"].Reference() || !strings.Contains(e.Channels[0].Settings["text"].Text, "hunter2") && c.Settings["text"].Text != e.Channels[0].Settings["text"].Text {
			t.Errorf("%+v\n%s", c, data)
		}
	})
}

func drawMonitor(t *rapid.T, i int, before []string) watch.Monitor {
	words := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"search", "123", "no", "a b", "2026-07-28", "é", "'q'", "x: y", "~"}), 0, 4, rapid.ID)
	list := func(label string) []string {
		if l := words.Draw(t, label); len(l) > 0 {
			return l
		}
		return nil
	}
	d := watch.Definition{
		Name:      rapid.SampledFrom([]string{"search", "No", "12", "a: b # c", "日本", "\"q\"", "mixed Case/9"}).Draw(t, "name") + fmt.Sprint(i),
		Group:     rapid.SampledFrom([]string{"", "pay", "true"}).Draw(t, "group"),
		Tags:      list("tags"),
		URL:       rapid.SampledFrom([]string{"https://a.example/mcp", "http://10.0.0.1:8080/mcp", "https://a.example/%24%7Bx%7D?v=1"}).Draw(t, "url"),
		Transport: rapid.SampledFrom([]string{watch.StreamableHTTP, watch.SSE}).Draw(t, "transport"),
		AuthMode:  watch.AuthNone, ProtocolVersion: rapid.SampledFrom([]string{"", "2025-06-18"}).Draw(t, "revision"),
		ExpectedTools: list("tools"), MaxTools: rapid.SampledFrom([]int{0, 1, 10000}).Draw(t, "max"),
		DriftPolicy:      rapid.SampledFrom(surface.Policies()).Draw(t, "policy"),
		Interval:         watch.Duration(rapid.SampledFrom([]time.Duration{10 * time.Second, 90 * time.Minute, 168 * time.Hour}).Draw(t, "interval")),
		Timeout:          watch.Duration(rapid.SampledFrom([]time.Duration{time.Second, 4500 * time.Millisecond}).Draw(t, "timeout")),
		FailureThreshold: rapid.IntRange(1, 5).Draw(t, "failures"), RecoveryThreshold: rapid.IntRange(1, 5).Draw(t, "recoveries"),
		Escalation: rapid.SampledFrom([]string{"", "on-call"}).Draw(t, "escalation"),
		Locations:  rapid.SampledFrom([][]string{{"local"}, {"eu", "us"}}).Draw(t, "locations"),
	}
	switch rapid.IntRange(0, 2).Draw(t, "auth") {
	case 1:
		d.AuthMode, d.Headers = watch.AuthHeader, []string{"Authorization", "X-Key"}
	case 2:
		d.AuthMode, d.Transport = watch.AuthOAuth, watch.StreamableHTTP
	}
	if rapid.Bool().Draw(t, "effects") {
		d.DriftEffects = map[surface.Class]surface.Effect{surface.ToolText: surface.Silent, surface.ServerVersion: surface.Fail}
	}
	if len(before) > 0 && rapid.Bool().Draw(t, "depends") {
		d.Dependencies = []watch.Dependency{{Monitor: before[0], Critical: rapid.Bool().Draw(t, "critical")}}
	}
	d.Normalize()
	return watch.Monitor{Definition: d, Paused: rapid.Bool().Draw(t, "paused")}
}
