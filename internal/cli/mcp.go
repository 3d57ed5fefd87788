package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mcpvigil/mcpvigil/internal/plain"
	"github.com/mcpvigil/mcpvigil/internal/weburl"
)

// mcpOptions are the flags of mcp.
type mcpOptions struct {
	server         string
	keyEnv         string
	allowPlaintext bool
}

func (a *app) newMCPCommand() *cobra.Command {
	o := mcpOptions{}
	cmd := &cobra.Command{
		Use:   "mcp [flags]",
		Short: "Be the MCP server of a running monitor over stdio",
		Long: `Speak MCP over standard input and output, for assistants that start their servers, and
hand what they ask to a mcpvigil serve. Its tools list, make, pause and check monitors
as far as the API key may. There is none to accept what a server changed.

EXIT STATUS
  0  the input ended
  2  the monitor cannot be reached, or the key is missing or refused`,
		Args: noArguments,
	}
	grouped(cmd.Flags(), groupConnection, func() {
		cmd.Flags().StringVar(&o.server, "server", "http://127.0.0.1:8087", "the monitor at `url`")
		cmd.Flags().Var(checked{&o.keyEnv, typeVariable, isVariable}, "key-env", "send the API key in the environment variable `name` (default MCPVIGIL_API_KEY)")
		cmd.Flags().BoolVar(&o.allowPlaintext, "allow-plaintext-credentials", false, "send the key also over plain http to another machine")
	})
	completeFlags(cmd)
	cmd.RunE = a.runE(func(ctx context.Context, _ *given, _ []string) (int, error) { return 0, a.runMCP(ctx, &o) })
	return cmd
}

// bearer adds the key to requests to one origin.
type bearer struct {
	key    string
	origin *url.URL
	next   http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if weburl.SameOrigin(r.URL, b.origin) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.key)
	}
	return b.next.RoundTrip(r)
}

func (o *mcpOptions) endpoint() (*url.URL, error) {
	u, err := url.Parse(o.server)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, usageErrorf("--server is not an address such as https://watch.example.com", o.server)
	case u.Scheme == "http" && !weburl.Loopback(u.Hostname()) && !o.allowPlaintext:
		return nil, usageErrorf("the key would go to another machine over plain http, where anyone on the way can read it", o.server).
			hint("use https, or allow it on purpose with --allow-plaintext-credentials")
	}
	return u.JoinPath("mcp"), nil
}

func (a *app) runMCP(ctx context.Context, o *mcpOptions) error {
	endpoint, err := o.endpoint()
	if err != nil {
		return err
	}
	variable := o.keyEnv
	if variable == "" {
		variable = "MCPVIGIL_API_KEY"
	}
	key, _ := a.lookup(variable)
	if strings.TrimSpace(key) == "" {
		return hinted(fmt.Errorf("the variable %s is not set", variable), "make a key in the monitor, and put it there")
	}
	a.waiting.Store(true) // until its input ends or ctx does
	client := mcp.NewClient(&mcp.Implementation{Name: "mcpvigil", Version: buildVersion()}, nil)
	transport := &mcp.StreamableClientTransport{
		Endpoint: endpoint.String(), MaxRetries: -1, DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: bearer{strings.TrimSpace(key), endpoint, http.DefaultTransport}, Timeout: 2 * time.Minute},
	}
	remote, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return hinted(fmt.Errorf("reach the monitor: %s", plain.Line(err.Error(), maxShown)), "is mcpvigil serve running at %s, and does the key in %s count?", o.server, variable)
	}
	defer remote.Close()
	server, err := relay(ctx, remote)
	if err != nil {
		return fmt.Errorf("ask the monitor for its tools: %s", plain.Line(err.Error(), maxShown))
	}
	err = server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(a.stdin), Writer: unclosed{a.stdout.w}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// relay is a server with the tools of another.
func relay(ctx context.Context, remote *mcp.ClientSession) (*mcp.Server, error) {
	instructions := ""
	if r := remote.InitializeResult(); r != nil {
		instructions = r.Instructions
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "mcpvigil", Title: "mcpvigil monitors", Version: buildVersion()}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	for tool, err := range remote.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return remote.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return server, nil
}
