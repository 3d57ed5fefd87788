package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpvigil/mcpvigil/internal/demo"
	"github.com/mcpvigil/mcpvigil/internal/fakemcp"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// The names and shapes of mcp-healthcheck's HealthReport are there, as its
// users' programs read them.
func TestReportHasTheShapeOfHealthReport(t *testing.T) {
	server := httptest.NewServer(&demo.Server{Version: "1.2.3"})
	defer server.Close()
	data, err := json.Marshal(probe.Check(context.Background(), &target.Target{Endpoint: server.URL}, probe.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Status    string
		TotalMs   float64
		Timestamp time.Time
		Checks    []struct {
			Name       string
			Passed     *bool
			DurationMs *float64
			Message    string
			Details    map[string]any
		}
		Summary struct{ Total, Passed, Failed, Skipped *int }
		Server  struct{ Name, Version, ProtocolVersion string }
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Status != "healthy" || r.TotalMs <= 0 || time.Since(r.Timestamp) > time.Minute || *r.Summary.Total != 5 || *r.Summary.Passed != 5 || *r.Summary.Skipped != 0 {
		t.Errorf("the head of the report is wrong: %s", data)
	}
	if r.Server.Name != "mcpvigil-demo" || r.Server.Version != "1.2.3" || r.Server.ProtocolVersion != "2026-07-28" {
		t.Errorf("server is %+v", r.Server)
	}
	want := map[string][]string{
		"connect": {"transportType"}, "initialize": {"capabilities", "protocolVersion", "serverName", "serverVersion"},
		"tools": {"toolCount", "toolNames"}, "resources": {"resourceCount", "resourceUris", "templateCount", "templateUris"}, "prompts": {"promptCount", "promptNames"},
	}
	for _, c := range r.Checks {
		for _, name := range want[c.Name] {
			if _, ok := c.Details[name]; !ok {
				t.Errorf("%s has no detail %s: %v", c.Name, name, c.Details)
			}
		}
		if c.Passed == nil || c.DurationMs == nil || c.Message == "" {
			t.Errorf("%s lacks passed, durationMs or message", c.Name)
		}
	}
}

// Whatever a program puts into a report, its JSON is plain to look at and loses
// nothing.
func TestReportJSONIsPlainAndLossless(t *testing.T) {
	message := "ok \u202e evil\u200b \x1b[31m\u2028 größe 工具 😀"
	r := &probe.Report{Status: probe.StatusHealthy, Checks: []probe.Result{{Name: "x", Message: message}}}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\u202e", "\u200b", "\x1b", "\u2028"} {
		if bytes.Contains(data, []byte(bad)) {
			t.Errorf("%q stands in the JSON as it is", bad)
		}
	}
	for _, letters := range []string{"größe", "工具"} {
		if !bytes.Contains(data, []byte(letters)) {
			t.Errorf("the letters of %q are escaped", letters)
		}
	}
	var back probe.Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(message, back.Checks[0].Message); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestHandler(t *testing.T) {
	server := httptest.NewServer(&demo.Server{})
	defer server.Close()
	slow := target.Expectations{MaxLatency: time.Nanosecond}
	for _, c := range []struct {
		name, method string
		t            *target.Target
		want         int
		body         bool
	}{
		{"healthy", "GET", &target.Target{Endpoint: server.URL}, 200, true},
		{"HEAD", "HEAD", &target.Target{Endpoint: server.URL}, 200, false},
		{"degraded", "GET", &target.Target{Endpoint: server.URL, Expect: slow}, 200, true},
		{"down", "GET", &target.Target{Endpoint: "http://127.0.0.1:1/mcp"}, 503, true},
		{"misconfigured", "GET", &target.Target{Endpoint: "not a URL"}, 503, true},
		{"POST", "POST", &target.Target{Endpoint: server.URL}, 405, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			probe.Handler(c.t, probe.Options{}).ServeHTTP(w, httptest.NewRequest(c.method, "/", nil))
			if w.Code != c.want {
				t.Errorf("%d, want %d", w.Code, c.want)
			}
			if c.body != json.Valid(w.Body.Bytes()) {
				t.Errorf("body is %q", w.Body)
			}
			if c.want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow is %q", w.Header().Get("Allow"))
			}
		})
	}
}

// A credential that the server says back is in no part of the report.
func TestCredentialsAreInNoReport(t *testing.T) {
	const secret = "s3cr3t-Value/with+odd=chars"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="`+r.Header.Get("Authorization")+`"`)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, r.Header.Get("Authorization"))
	}))
	defer echo.Close()
	named := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"bad token %s"}}`, secret)
	}))
	defer named.Close()
	for _, endpoint := range []string{echo.URL, named.URL, echo.URL + "/?key=" + secret} {
		r := probe.Check(context.Background(), &target.Target{Endpoint: endpoint, Headers: []target.Header{target.Bearer(target.Literal(secret))}}, probe.Options{Diagnose: true, Revisions: true})
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if all := string(data) + fmt.Sprintf("%+v", r.Evidence); strings.Contains(all, secret) || strings.Contains(all, "s3cr3t") {
			t.Errorf("the secret is in the report: %s", all)
		}
		if r.Passed() {
			t.Error("a refusal passed")
		}
	}
}

// Checks that end well and checks that do not leave no goroutine, descriptor or
// process behind. SOAK makes it a thousand of each kind.
func TestChecksLeakNothing(t *testing.T) {
	server := httptest.NewServer(&demo.Server{})
	defer server.Close()
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server see the client leave
		<-r.Context().Done()
	}))
	defer hung.Close()
	n := 100
	if os.Getenv("SOAK") != "" {
		n = 1000
	}
	stdio := fakemcp.Stdio(t, fakemcp.Script{}) // fails the test when a process is left
	run := func(i int) {
		if i%10 == 0 || n == 1000 {
			probe.Check(context.Background(), stdio.Target(), probe.Options{})
			probe.Check(context.Background(), &target.Target{Command: stdio.Wrapped()}, probe.Options{CheckTimeout: time.Millisecond, Timeout: time.Millisecond, StartupTimeout: probe.StartupWithinTimeout})
		}
		probe.Check(context.Background(), &target.Target{Endpoint: server.URL}, probe.Options{})
		probe.Check(context.Background(), &target.Target{Endpoint: "http://127.0.0.1:1"}, probe.Options{})
		probe.Check(context.Background(), &target.Target{Endpoint: hung.URL}, probe.Options{CheckTimeout: 2 * time.Millisecond})
		probe.Check(context.Background(), &target.Target{Endpoint: hung.URL, Transport: target.SSE}, probe.Options{CheckTimeout: 2 * time.Millisecond})
	}
	run(0)
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	for i := range n {
		run(i)
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > goroutines+10 || openDescriptors(t) > descriptors+10 {
		if time.Now().After(deadline) {
			t.Fatalf("after %d checks %d goroutines (were %d), %d descriptors (were %d)", 4*n, runtime.NumGoroutine(), goroutines, openDescriptors(t), descriptors)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
