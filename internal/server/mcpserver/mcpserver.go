// Package mcpserver is the watch's own MCP server, for assistants that look after
// monitors.
//
// An assistant that reads a poisoned description here would have been reached through
// the watch. So no text of a watched server is in any answer: answers are built from a
// list of what they may hold (states, stable codes, counts, times, digests, names of
// tools that look like names), never by leaving things out of something larger. And
// there is no tool that accepts, or that weakens what is approved: that is for people.
package mcpserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

// Ops are the operations that the tools stand on. They ask whether the actor may.
type Ops interface {
	CreateMonitor(ctx context.Context, actor people.Actor, in ops.MonitorInput) (ops.Monitor, error)
	Monitor(ctx context.Context, actor people.Actor, id int64) (ops.Monitor, error)
	MonitorByName(ctx context.Context, actor people.Actor, name string) (ops.Monitor, error)
	Monitors(ctx context.Context, actor people.Actor, f store.MonitorFilter) (ops.Page[ops.Monitor], error)
	Events(ctx context.Context, actor people.Actor, f store.EventFilter) (ops.Page[watch.Event], error)
	PauseMonitor(ctx context.Context, actor people.Actor, id int64) (ops.Monitor, error)
	ResumeMonitor(ctx context.Context, actor people.Actor, id int64) (ops.Monitor, error)
	RunNow(ctx context.Context, actor people.Actor, id int64) (ops.Monitor, error)
}

// Deps are what the server needs.
type Deps struct {
	Ops Ops
	// Key finds who has an API key; its error is people.ErrUnauthenticated for nobody.
	Key     func(ctx context.Context, key string) (people.Actor, error)
	Version string
	Logger  *slog.Logger // nil: none
}

const (
	maxBody = 1 << 20
	// runWait is how long run_check waits for the result, and look how often it looks.
	runWait = 45 * time.Second
	look    = 200 * time.Millisecond
)

const instructions = `Monitors of MCP servers. Each has three axes: availability (up, degraded, down, misconfigured, unknown), surface (approved, changed, inconsistent, unknown) and posture (clean, flagged, unknown). Answers never quote a watched server. What a server changed can be accepted by a person only, signed in and outside of this server.`

type tools struct {
	Deps
	wait time.Duration
}

// New makes the handler of the server, over Streamable HTTP. It keeps no sessions:
// every request shows its key.
func New(d Deps) http.Handler {
	server := newServer(&tools{Deps: d, wait: runWait})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// Against a page that a browser is tricked to send requests for stands the key,
		// which no browser has; names of this machine that a proxy passes on are fine.
		DisableLocalhostProtection: true,
	})
	verify := func(ctx context.Context, key string, _ *http.Request) (*auth.TokenInfo, error) {
		actor, err := d.Key(ctx, key)
		if errors.Is(err, people.ErrUnauthenticated) {
			return nil, auth.ErrInvalidToken
		}
		if err != nil {
			return nil, err
		}
		return &auth.TokenInfo{UserID: actor.Name(), Expiration: time.Now().Add(time.Hour), Extra: map[string]any{actorKey: actor}}, nil
	}
	return auth.RequireBearerToken(verify, nil)(handler)
}

const actorKey = "actor"

// actorOf is who calls a tool; nobody can do nothing.
func actorOf(r *mcp.CallToolRequest) people.Actor {
	if r.Extra == nil || r.Extra.TokenInfo == nil {
		return people.Actor{}
	}
	actor, _ := r.Extra.TokenInfo.Extra[actorKey].(people.Actor)
	return actor
}

func newServer(t *tools) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcpvigil", Title: "mcpvigil monitors", Version: t.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	yes, no := true, false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}
	add(t, s, &mcp.Tool{
		Name: "list_monitors", Description: "List the monitors with how each stands now, a page at a time.", Annotations: reads,
	}, t.list)
	add(t, s, &mcp.Tool{
		Name: "get_monitor", Description: "One monitor, by its name or id: what it watches and how it stands now.", Annotations: reads,
	}, t.get)
	add(t, s, &mcp.Tool{
		Name: "list_events", Description: "The timeline of one monitor or of all, the latest first: what changed when, by kind and name.", Annotations: reads,
	}, t.events)
	add(t, s, &mcp.Tool{
		Name:        "create_mcp_monitor",
		Description: "Start to watch an MCP server. Its first successful check becomes what is approved, but for findings, which a person has to accept.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes},
	}, t.create)
	add(t, s, &mcp.Tool{
		Name: "pause_monitor", Description: "Stop the checks of a monitor and resolve what is open of its availability. What is open of its surface and posture stays, and so does its history.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
	}, t.pause)
	add(t, s, &mcp.Tool{
		Name: "resume_monitor", Description: "Start the checks of a paused monitor again.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no},
	}, t.resume)
	add(t, s, &mcp.Tool{
		Name: "run_check", Description: "Check a monitor now and wait for the result. Nothing is called on the watched server.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes},
	}, t.run)
	return s
}

// add registers a tool whose errors are fit for an assistant.
func add[In, Out any](t *tools, s *mcp.Server, tool *mcp.Tool, f func(context.Context, people.Actor, In) (Out, error)) {
	mcp.AddTool(s, tool, func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := f(ctx, actorOf(r), in)
		if err != nil {
			return nil, out, t.said(ctx, tool.Name, err)
		}
		return nil, out, nil
	})
}

// said keeps errors of the operations, which are written for who asks, and logs others.
func (t *tools) said(ctx context.Context, tool string, err error) error {
	var refused *ops.Error
	switch {
	case errors.As(err, &refused) && refused.Hint != "":
		return errors.New(refused.Error() + "; " + refused.Hint)
	case errors.As(err, &refused):
		return errors.New(refused.Error())
	case ctx.Err() != nil:
		return errors.New("the request ended before it was answered")
	}
	if t.Logger != nil {
		t.Logger.ErrorContext(ctx, "a tool failed", "tool", tool, "error", err)
	}
	return errors.New("this failed inside the monitoring server; its log says why")
}
