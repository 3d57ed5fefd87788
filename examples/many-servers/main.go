// Many-servers checks the MCP servers named on the command line, four at a
// time, and prints a line for each. Edit it to fit: it is a whole program.
//
//	go run ./examples/many-servers https://a.example.com/mcp https://b.example.com/mcp
//
// It ends with 1 when any of them cannot be used.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	usable := check(ctx, os.Args[1:])
	stop()
	if !usable {
		os.Exit(1)
	}
}

// check reports whether every endpoint can be used.
func check(ctx context.Context, endpoints []string) bool {
	var targets []*target.Target
	for _, endpoint := range endpoints {
		targets = append(targets, &target.Target{
			Endpoint: endpoint,
			// A token for all of them, if there is one; its value is never printed.
			Headers: headers(),
			Expect:  target.Expectations{MaxLatency: 2 * time.Second},
		})
	}
	usable := true
	for _, r := range probe.CheckAll(ctx, targets, 4, probe.Options{Timeout: 10 * time.Second}) {
		fmt.Printf("%-13s %6.0f ms  %s\n", r.Status, float64(r.TotalMs), r.Target.Endpoint)
		for _, step := range r.Checks {
			if !step.Passed && !step.Skipped {
				fmt.Printf("  %s: %s\n  -> %s\n", step.Reason, step.Message, step.Hint)
			}
		}
		usable = usable && r.Passed()
	}
	return usable
}

func headers() []target.Header {
	if os.Getenv("MCP_TOKEN") == "" {
		return nil
	}
	return []target.Header{target.Bearer(target.FromEnv("MCP_TOKEN"))}
}
