// Command conformance-client puts the check under the official conformance
// suite: it runs one normal check of the server whose URL is its last argument,
// and, as a custom check, the calls that the scenario waits for. It exits with 0
// when the check passed, and prints the report on stdout.
//
// The suite names the scenario in MCP_CONFORMANCE_SCENARIO, and hands over its
// particulars as JSON in MCP_CONFORMANCE_CONTEXT. MCP_CONFORMANCE_PROTOCOL_VERSION
// is not looked at: the check must settle on a revision by itself.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: conformance-client URL")
		os.Exit(2)
	}
	particulars := []byte(os.Getenv("MCP_CONFORMANCE_CONTEXT"))
	report, err := run(os.Args[len(os.Args)-1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), particulars)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !report.Passed() {
		os.Exit(1)
	}
}

func run(url, scenario string, particulars []byte) (*probe.Report, error) {
	if strings.HasPrefix(scenario, "auth/") {
		return checkLogin(context.Background(), url, scenario, particulars)
	}
	return check(url, scenario, particulars), nil
}

// check runs the check of a scenario that needs no login.
func check(url, scenario string, particulars []byte) *probe.Report {
	var o probe.Options
	if run := calls(scenario, particulars); run != nil {
		o.Custom = []probe.Custom{{Name: "scenario", Required: true, Run: func(ctx context.Context, s *probe.Session) (probe.CustomResult, error) {
			if err := run(ctx, s); err != nil {
				return probe.CustomResult{}, err
			}
			return probe.CustomResult{Passed: true, Message: "made the calls of " + scenario}, nil
		}}}
	}
	return probe.Check(context.Background(), &target.Target{Endpoint: url}, o)
}

// script makes the calls of one scenario.
type script func(ctx context.Context, s *probe.Session) error

// calls returns what a scenario needs beside the check itself, or nil.
func calls(scenario string, particulars []byte) script {
	switch scenario {
	case "tools_call":
		return func(ctx context.Context, s *probe.Session) error {
			return callTool(ctx, s, "add_numbers", map[string]any{"a": 5, "b": 3})
		}
	case "sse-retry":
		return func(ctx context.Context, s *probe.Session) error {
			return callTool(ctx, s, "test_reconnection", struct{}{})
		}
	case "http-standard-headers":
		return useEverything
	case "http-invalid-tool-headers":
		return callEveryTool
	case "http-custom-headers":
		return callAsTold(particulars)
	case "json-schema-2020-12-preservation":
		return echoSchema
	default:
		return nil
	}
}

func callTool(ctx context.Context, s *probe.Session, name string, arguments any) error {
	_, err := s.Call(ctx, "tools/call", map[string]any{"name": name, "arguments": arguments})
	return err
}

// useEverything calls, reads and gets whatever the server lists.
func useEverything(ctx context.Context, s *probe.Session) error {
	var errs []error
	for _, tool := range s.Tools() {
		errs = append(errs, callTool(ctx, s, tool.Name, struct{}{}))
	}
	for _, resource := range s.Resources() {
		_, err := s.Call(ctx, "resources/read", map[string]any{"uri": resource.Name})
		errs = append(errs, err)
	}
	for _, prompt := range s.Prompts() {
		_, err := s.Call(ctx, "prompts/get", map[string]any{"name": prompt.Name})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// callEveryTool calls each tool that the check kept. Those with an annotation
// that is not valid must not be among them.
func callEveryTool(ctx context.Context, s *probe.Session) error {
	var errs []error
	for _, tool := range s.Tools() {
		errs = append(errs, callTool(ctx, s, tool.Name, map[string]any{"region": "eu-west", "query": "a"}))
	}
	return errors.Join(errs...)
}

// callAsTold makes the calls that the suite lists.
func callAsTold(particulars []byte) script {
	return func(ctx context.Context, s *probe.Session) error {
		var told struct {
			ToolCalls []struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"toolCalls"`
		}
		if err := json.Unmarshal(particulars, &told); err != nil {
			return fmt.Errorf("read MCP_CONFORMANCE_CONTEXT: %w", err)
		}
		if len(told.ToolCalls) == 0 {
			return errors.New("MCP_CONFORMANCE_CONTEXT lists no toolCalls")
		}
		var errs []error
		for _, c := range told.ToolCalls {
			errs = append(errs, callTool(ctx, s, c.Name, c.Arguments))
		}
		return errors.Join(errs...)
	}
}

// echoSchema sends the schema of a tool back as it was received.
func echoSchema(ctx context.Context, s *probe.Session) error {
	for _, tool := range s.Tools() {
		if tool.Name != "json_schema_2020_12_tool" {
			continue
		}
		var t struct {
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal(tool.Raw, &t); err != nil {
			return fmt.Errorf("read the tool: %w", err)
		}
		return callTool(ctx, s, "json_schema_echo", map[string]any{"schema": t.InputSchema})
	}
	return errors.New("the tool json_schema_2020_12_tool is not listed")
}
