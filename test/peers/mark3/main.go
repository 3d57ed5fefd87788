// Command mark3 is a small MCP server on mark3labs/mcp-go:
//
//	mark3 stdio
//	mark3 http ADDR [stateless [json]]   endpoint /mcp
//	mark3 sse ADDR                       endpoint /sse
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

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var errUsage = errors.New("usage: mark3 stdio | http ADDR [stateless [json]] | sse ADDR")

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "stdio" {
		return server.ServeStdio(newServer())
	}
	if len(args) < 2 {
		return errUsage
	}
	mux := http.NewServeMux()
	switch mode, flags := args[0], args[2:]; mode {
	case "http":
		// This SDK answers a POST with JSON unless a handler notifies, so that
		// "json" only turns the GET stream off.
		mux.Handle("/mcp", server.NewStreamableHTTPServer(
			newServer(),
			server.WithStateLess(slices.Contains(flags, "stateless")),
			server.WithDisableStreaming(slices.Contains(flags, "json")),
		))
	case "sse":
		mux.Handle("/", server.NewSSEServer(newServer()))
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

func newServer() *server.MCPServer {
	s := server.NewMCPServer(
		"mark3", "1.0.0",
		server.WithInstructions("Adds, echoes and fails."),
		server.WithToolCapabilities(true),
		server.WithResourceCapabilities(false, true),
		server.WithPromptCapabilities(true),
	)
	readOnly := []mcp.ToolOption{
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithDestructiveHintAnnotation(false),
		mcp.WithOpenWorldHintAnnotation(false),
	}
	s.AddTool(mcp.NewTool("add", append(readOnly,
		mcp.WithDescription("Adds two numbers"),
		mcp.WithNumber("a", mcp.Required()),
		mcp.WithNumber("b", mcp.Required()))...), add)
	s.AddTool(mcp.NewTool("echo", append(readOnly,
		mcp.WithDescription("Returns the text"),
		mcp.WithString("text", mcp.Required()))...), echo)
	s.AddTool(mcp.NewTool("fail", mcp.WithDescription("Always fails")), fail)
	s.AddResource(mcp.NewResource("memo://about", "about", mcp.WithMIMEType("text/plain")), readMemo)
	s.AddResourceTemplate(mcp.NewResourceTemplate("memo://notes/{id}", "note", mcp.WithTemplateMIMEType("text/plain")), readMemo)
	s.AddPrompt(mcp.NewPrompt("greet",
		mcp.WithPromptDescription("Greets someone"),
		mcp.WithArgument("name", mcp.RequiredArgument())), greet)
	return s
}

func add(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	sum := request.GetFloat("a", 0) + request.GetFloat("b", 0)
	return mcp.NewToolResultText(fmt.Sprint(sum)), nil
}

func echo(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(request.GetString("text", "")), nil
}

func fail(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultError("failed as asked"), nil
}

func readMemo(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri := request.Params.URI
	text := "A small server."
	if id, ok := strings.CutPrefix(uri, "memo://notes/"); ok {
		text = "Note " + id
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: text}}, nil
}

func greet(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := fmt.Sprintf("Say hello to %s.", request.Params.Arguments["name"])
	return mcp.NewGetPromptResult("A greeting", []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text)),
	}), nil
}
