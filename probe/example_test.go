package probe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/demo"
	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

// startServer stands for the MCP server of your own.
func startServer() *httptest.Server { return httptest.NewServer(&demo.Server{}) }

func ExampleCheck() {
	server := startServer()
	defer server.Close()

	report := probe.Check(context.Background(), &target.Target{Endpoint: server.URL}, probe.Options{})

	fmt.Println(report.Status)
	for _, step := range report.Checks {
		fmt.Println(step.Name, step.Status)
	}
	// Output:
	// healthy
	// connect healthy
	// initialize healthy
	// tools healthy
	// resources healthy
	// prompts healthy
}

// A credential comes from the environment, a file or a command. Its value is
// in no report.
func ExampleCheck_credential() {
	t := &target.Target{
		Endpoint: "https://mcp.example.com/mcp",
		Headers:  []target.Header{target.Bearer(target.FromFile("/run/secrets/mcp-token"))},
	}

	report := probe.Check(context.Background(), t, probe.Options{Timeout: 5 * time.Second})

	fmt.Println(report.Status)
	fmt.Println(report.Checks[0].Reason)
	// Output:
	// misconfigured
	// unreadable-secret
}

// A required tool that is gone is unhealthy, and the step says which.
func ExampleCheck_requirements() {
	server := startServer()
	defer server.Close()
	t := &target.Target{
		Endpoint: server.URL,
		Expect:   target.Expectations{Tools: []string{"search"}, MaxLatency: 10 * time.Second},
	}

	report := probe.Check(context.Background(), t, probe.Options{})

	tools := report.Result(probe.StepTools)
	fmt.Println(report.Status, tools.Reason)
	fmt.Println(tools.Message)
	// Output:
	// unhealthy required-missing
	// "search" is required and not listed
}

// A check of your own runs after the standard ones, with the session in hand.
func ExampleCheck_custom() {
	server := startServer()
	defer server.Close()
	described := probe.Custom{
		Name:     "every-tool-described",
		Required: true,
		Run: func(_ context.Context, s *probe.Session) (probe.CustomResult, error) {
			for _, tool := range s.Tools() {
				var t struct{ Description string }
				if err := json.Unmarshal(tool.Raw, &t); err != nil {
					return probe.CustomResult{}, err
				}
				if strings.TrimSpace(t.Description) == "" {
					return probe.CustomResult{Message: tool.Name + " has no description"}, nil
				}
			}
			return probe.CustomResult{Passed: true, Message: "every tool has a description"}, nil
		},
	}

	report := probe.Check(context.Background(), &target.Target{Endpoint: server.URL}, probe.Options{Custom: []probe.Custom{described}})

	fmt.Println(report.Result("every-tool-described").Message)
	// Output:
	// every tool has a description
}

func ExampleHealthy() {
	server := startServer()
	t := &target.Target{Endpoint: server.URL}
	fmt.Println(probe.Healthy(context.Background(), t, probe.Options{}))
	server.Close()
	fmt.Println(probe.Healthy(context.Background(), t, probe.Options{}))
	// Output:
	// true
	// false
}

// Handler is a health route: 200 while the MCP server can be used, 503 when not.
func ExampleHandler() {
	server := startServer()
	defer server.Close()
	mux := http.NewServeMux()
	mux.Handle("/healthz", probe.Handler(&target.Target{Endpoint: server.URL}, probe.Options{Timeout: 5 * time.Second}))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output:
	// 200 application/json
}

// Several servers at a time; one that others depend on is checked once.
func ExampleCheckAll() {
	server := startServer()
	defer server.Close()
	gateway := &target.Target{Name: "gateway", Endpoint: "http://127.0.0.1:1/mcp"}
	search := &target.Target{Name: "search", Endpoint: server.URL, Dependencies: []target.Dependency{{Target: gateway, Optional: true}}}

	for _, r := range probe.CheckAll(context.Background(), []*target.Target{search, gateway}, 0, probe.Options{}) {
		fmt.Println(r.Target.Name, r.Status)
	}
	// Output:
	// search degraded
	// gateway unhealthy
}
