// Command gosdk is a small MCP server on the official Go SDK:
//
//	gosdk stdio
//	gosdk http ADDR [stateless [json]]   endpoint /mcp
//	gosdk sse ADDR                       endpoint /sse
//
// It prints "listening PORT" on stderr once it accepts connections.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var errUsage = errors.New("usage: gosdk stdio | http ADDR [stateless [json]] | sse ADDR")

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "stdio" {
		return newServer().Run(context.Background(), &mcp.StdioTransport{})
	}
	if len(args) < 2 {
		return errUsage
	}
	server := newServer()
	get := func(*http.Request) *mcp.Server { return server }
	mux := http.NewServeMux()
	switch mode, flags := args[0], args[2:]; mode {
	case "http":
		mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless:    slices.Contains(flags, "stateless"),
			JSONResponse: slices.Contains(flags, "json"),
		}))
	case "sse":
		mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	default:
		return errUsage
	}
	return serve(args[1], mux)
}

func serve(addr string, handler http.Handler) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "listening", listener.Addr().(*net.TCPAddr).Port)
	return http.Serve(listener, handler)
}

type (
	addInput struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	addOutput struct {
		Sum float64 `json:"sum"`
	}
	echoInput struct {
		Text string `json:"text"`
	}
)

func newServer() *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "gosdk", Version: "1.0.0"},
		&mcp.ServerOptions{Instructions: "Adds, echoes and fails."},
	)
	no := false
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, OpenWorldHint: &no}
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, addOutput, error) {
			return nil, addOutput{Sum: in.A + in.B}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Returns the text", Annotations: readOnly},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Always fails"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("failed as asked")
		})
	server.AddResource(&mcp.Resource{URI: "memo://about", Name: "about", MIMEType: "text/plain"}, readMemo)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "memo://notes/{id}", Name: "note", MIMEType: "text/plain"}, readMemo)
	server.AddPrompt(&mcp.Prompt{
		Name:        "greet",
		Description: "Greets someone",
		Arguments:   []*mcp.PromptArgument{{Name: "name", Required: true}},
	}, greet)
	return server
}

func readMemo(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := request.Params.URI
	text := "A small server."
	if id, ok := strings.CutPrefix(uri, "memo://notes/"); ok {
		text = "Note " + id
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}, nil
}

func greet(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := fmt.Sprintf("Say hello to %s.", request.Params.Arguments["name"])
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: text}},
	}}, nil
}
