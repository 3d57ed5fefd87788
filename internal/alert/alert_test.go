package alert

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mcpvigil/mcpvigil/internal/netguard"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

var update = flag.Bool("update", false, "rewrite testdata and docs/channels.md")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// received is one request, as it came.
type received struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// receiver is a real HTTP server that keeps what it got.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	answer func(w http.ResponseWriter, r received)
}

// newReceiver answers 200 and "ok", unless answer says otherwise.
func newReceiver(t testing.TB, answer func(w http.ResponseWriter, r received)) *receiver {
	t.Helper()
	rc := &receiver{answer: answer}
	rc.Server = httptest.NewServer(rc)
	t.Cleanup(rc.Close)
	return rc
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	got := received{r.Method, r.URL.RequestURI(), r.Header.Clone(), body}
	rc.mu.Lock()
	rc.got = append(rc.got, got)
	rc.mu.Unlock()
	if rc.answer == nil {
		fmt.Fprint(w, "ok")
		return
	}
	rc.answer(w, got)
}

func (rc *receiver) requests() []received {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return slices.Clone(rc.got)
}

func (rc *receiver) last(t testing.TB) received {
	t.Helper()
	all := rc.requests()
	if len(all) == 0 {
		t.Fatal("the receiver got nothing")
	}
	return all[len(all)-1]
}

func status(code int, text string) func(http.ResponseWriter, received) {
	return func(w http.ResponseWriter, _ received) {
		w.WriteHeader(code)
		io.WriteString(w, text)
	}
}

func newSender(t testing.TB, o Options) *Sender {
	t.Helper()
	o.UserAgent = "mcpvigil/test"
	s := New(o)
	t.Cleanup(s.Close)
	return s
}

// fileChannel is one that may reach this machine.
func fileChannel(kind string, settings map[string]string) *watch.Channel {
	return &watch.Channel{Name: "hook", Type: kind, Source: watch.FromFile, Settings: settings}
}

// signing is a secret of tests.
const signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// httpSettings are settings of every type that speaks HTTP, for a receiver at base.
func httpSettings(base string) map[string]map[string]string {
	return map[string]map[string]string{
		"webhook":      {"url": base + "/hook/s3cr3t-path?key=s3cr3t-query", "secret": signing, "headers": "Authorization: Bearer s3cr3t-header\nX-Monitor: {{.data.monitor.name}}"},
		"slack":        {"url": base + "/services/T0000/B0000/s3cr3t-slack"},
		"teams":        {"url": base + "/workflows/0123/invoke?sig=s3cr3t-teams"},
		"discord":      {"url": base + "/api/webhooks/0123/s3cr3t-discord"},
		"pagerduty":    {"url": base, "routing_key": "s3cr3t-routing"},
		"opsgenie":     {"url": base, "api_key": "s3cr3t-opsgenie", "tags": "mcp, prod"},
		"alertmanager": {"url": base, "labels": "team=search", "username": "vigil", "password": "s3cr3t-am"},
		"ntfy":         {"url": base, "topic": "s3cr3t-topic", "token": "s3cr3t-token", "tags": "mcp"},
	}
}

func messages() map[string]Message {
	opened := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	down := watch.Incident{
		ID: 42, Monitor: 7, Axis: watch.Availability, Key: "monitor-7-availability-1773480413000-local-confirm-1.1", State: watch.Down,
		Reason: "connection-refused", Title: "search is down", Text: "search.example.com:443 refused the connection", OpenedAt: opened,
	}
	acknowledged := down
	acknowledged.AcknowledgedAt, acknowledged.AcknowledgedBy = opened.Add(5*time.Minute), "user:ann"
	resolved := acknowledged
	resolved.ResolvedAt = opened.Add(time.Hour + 2*time.Minute)
	changed := exampleMessage()
	note := func(phase watch.Phase, i watch.Incident) Message {
		n := watch.Notification{Key: i.Key + "/" + string(phase) + "/0.0/hook", Incident: i.ID, Monitor: i.Monitor, Phase: phase, At: opened.Add(time.Second), Snapshot: i}
		return Of(&n, "search", "https://watch.example.com/")
	}
	return map[string]Message{
		"down": note(watch.Triggered, down), "acknowledged": note(watch.AcknowledgedPhase, acknowledged),
		"resolved": note(watch.Resolved, resolved), "changed": changed,
		"test": Test("hook", "https://watch.example.com", opened),
	}
}

// golden compares got with a file of testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./internal/alert -update rewrites it): -want +got\n%s", path, diff)
	}
}

// wire is a request in a form for testdata, without what changes from run to run.
func (r *received) wire() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.Path)
	for _, name := range []string{"Authorization", "Content-Type", "Idempotency-Key", "User-Agent", "Webhook-Id", "X-Monitor"} {
		if v := r.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", r.Body)
	return b.Bytes()
}

// The bodies that receivers get, exactly.
func TestRequests(t *testing.T) {
	for kind := range httpSettings("") {
		for name, message := range messages() {
			t.Run(kind+"/"+name, func(t *testing.T) {
				rc := newReceiver(t, nil)
				settings := httpSettings(rc.URL)[kind]
				detail, err := newSender(t, Options{}).Send(t.Context(), fileChannel(kind, settings), message)
				if err != nil {
					t.Fatal(err)
				}
				if detail == "" {
					t.Error("no detail")
				}
				var all []byte
				for _, r := range rc.requests() {
					all = append(all, r.wire()...)
				}
				golden(t, kind+"-"+name+".txt", all)
			})
		}
	}
}

// One incident is one alert at each receiver that keeps alerts.
func TestOneAlertForAnIncident(t *testing.T) {
	find := func(t *testing.T, r received, before, after string) string {
		t.Helper()
		_, rest, ok := strings.Cut(r.Path+" "+string(r.Body), before)
		key, _, end := strings.Cut(rest, after)
		if !ok || !end || key == "" {
			t.Fatalf("no %s in %s %s", before, r.Path, r.Body)
		}
		return key
	}
	for _, kind := range []string{"pagerduty", "opsgenie", "alertmanager"} {
		t.Run(kind, func(t *testing.T) {
			rc := newReceiver(t, status(202, "accepted"))
			s := newSender(t, Options{})
			c := fileChannel(kind, httpSettings(rc.URL)[kind])
			for n, phase := range []string{"down", "acknowledged", "resolved"} {
				m := messages()[phase]
				m.Monitor = []string{"search", "renamed", ""}[n] // and deleted
				if _, err := s.Send(t.Context(), c, m); err != nil {
					t.Fatal(err)
				}
			}
			keys := map[string]bool{}
			for _, r := range rc.requests() {
				switch {
				case kind == "pagerduty":
					keys[find(t, r, `"dedup_key":"`, `"`)] = true
				case kind == "alertmanager":
					keys[find(t, r, `"labels":{`, `}`)] = true // they are its identity
				case strings.HasSuffix(r.Path, "identifierType=alias"):
					keys[find(t, r, "/v2/alerts/", "/")] = true
				default:
					keys[find(t, r, `"alias":"`, `"`)] = true
				}
			}
			want := map[string]int{"pagerduty": 3, "opsgenie": 3, "alertmanager": 2}[kind]
			if got := len(rc.requests()); got != want || len(keys) != 1 {
				t.Errorf("%d requests under keys %v; want %d under one", got, keys, want)
			}
		})
	}
}

// What a message tries must not stay open at the receiver.
func TestTestMessageLeavesNothingOpen(t *testing.T) {
	for kind, last := range map[string]string{"pagerduty": `"event_action":"resolve"`, "opsgenie": "/close?"} {
		rc := newReceiver(t, status(202, ""))
		if _, err := newSender(t, Options{}).Send(t.Context(), fileChannel(kind, httpSettings(rc.URL)[kind]), messages()["test"]); err != nil {
			t.Fatal(err)
		}
		if r := rc.last(t); !strings.Contains(r.Path+string(r.Body), last) {
			t.Errorf("%s: the last request is %s %s", kind, r.Path, r.Body)
		}
	}
}

func TestPolicy(t *testing.T) {
	rc := newReceiver(t, nil)
	s := newSender(t, Options{})
	c := fileChannel("webhook", map[string]string{"url": rc.URL})
	c.Source = watch.FromAPI
	_, err := s.Send(t.Context(), c, messages()["down"])
	if !isPermanent(err) || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("a channel that the API owns reached loopback: %v", err)
	}
	if len(rc.requests()) != 0 {
		t.Error("the receiver got the message")
	}
	s = newSender(t, Options{Policy: netguard.Policy{AllowPrivate: true}})
	if _, err := s.Send(t.Context(), c, messages()["down"]); err != nil {
		t.Errorf("with a policy that allows it: %v", err)
	}
	metadata := fileChannel("webhook", map[string]string{"url": "http://169.254.169.254/latest/"})
	if _, err := s.Send(t.Context(), metadata, messages()["down"]); !isPermanent(err) {
		t.Errorf("a channel that a file owns may ask the metadata service: %v", err)
	}
}
