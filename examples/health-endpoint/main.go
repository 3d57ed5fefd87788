// Health-endpoint serves the health of one MCP server at /healthz: 200 while a
// client can use it, 503 when not, with the whole report as JSON.
//
//	go run ./examples/health-endpoint http://127.0.0.1:3000/mcp 127.0.0.1:8080
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/mcpvigil/mcpvigil/probe"
	"github.com/mcpvigil/mcpvigil/target"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: health-endpoint ENDPOINT LISTEN")
		os.Exit(2)
	}
	server := &http.Server{Addr: os.Args[2], Handler: routes(os.Args[1]), ReadHeaderTimeout: 5 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "health-endpoint:", err)
		os.Exit(1)
	}
}

func routes(endpoint string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", probe.Handler(&target.Target{Endpoint: endpoint}, probe.Options{Timeout: 5 * time.Second}))
	return mux
}
