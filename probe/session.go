package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mcpvigil/mcpvigil/internal/wire"
)

// Session is the open session of a check, handed to custom checks. Its methods
// may be called concurrently. It ends with the custom check it was handed to:
// after that Call fails.
type Session struct {
	run  *run
	over atomic.Bool
}

// Entry is one tool, resource, template or prompt, as the server sent it.
type Entry struct {
	// Name identifies it: the name of a tool or prompt, the URI of a resource,
	// the template of a resource template. Untrusted.
	Name string
	// Raw is the whole object, byte for byte. Untrusted.
	Raw json.RawMessage
}

// CallError is a request of a custom check that failed. Its text is safe to show.
type CallError struct {
	Reason Reason
	Text   string
	// RPC is the JSON-RPC error the server answered with, or nil.
	RPC *RPCError
}

// RPCError is the code and message of a JSON-RPC error, the message safe to show.
type RPCError struct {
	Code    int64
	Message string
}

// Error returns the text.
func (e *CallError) Error() string { return e.Text }

// Server returns who the server says it is, and the revision settled on.
func (s *Session) Server() ServerInfo { return *s.run.report.Server }

// Era returns "modern" or "legacy".
func (s *Session) Era() string { return s.run.report.Era }

// Declares reports whether the server declared a capability, such as "tools".
func (s *Session) Declares(capability string) bool { return s.run.session.Declares(capability) }

// Tools returns the tools that the check listed. It is empty when the server
// declares none, or when the step was left out or failed.
func (s *Session) Tools() []Entry { return s.entries(wire.Tools) }

// Resources returns the resources that the check listed.
func (s *Session) Resources() []Entry { return s.entries(wire.Resources) }

// ResourceTemplates returns the resource templates that the check listed.
func (s *Session) ResourceTemplates() []Entry { return s.entries(wire.ResourceTemplates) }

// Prompts returns the prompts that the check listed.
func (s *Session) Prompts() []Entry { return s.entries(wire.Prompts) }

func (s *Session) entries(inv wire.Inventory) []Entry {
	l := s.run.listings[inv]
	if l == nil {
		return nil
	}
	out := make([]Entry, len(l.Items))
	for i, item := range l.Items {
		out[i] = Entry{Name: item.Key, Raw: item.Raw}
	}
	return out
}

// Call sends one request, exactly once, and returns its raw result. params is
// marshalled to a JSON object; nil stands for none. The members that the
// protocol itself needs (_meta, headers) are added. What it does to the server
// is the caller's responsibility. A request that failed is a [*CallError].
func (s *Session) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if s.over.Load() {
		return nil, &CallError{Reason: reasonCustomCheck, Text: "the custom check is over, and its session with it"}
	}
	var raw json.RawMessage
	if params != nil {
		var err error
		if raw, err = json.Marshal(params); err != nil {
			return nil, fmt.Errorf("marshal the parameters of %s: %w", method, err)
		}
	}
	result, err := s.run.session.Call(ctx, method, raw)
	var e *wire.Error
	if errors.As(err, &e) {
		out := &CallError{Reason: Reason(e.Reason), Text: s.run.safe(e.Text)}
		if e.RPC != nil {
			out.RPC = &RPCError{Code: e.RPC.Code, Message: s.run.safe(e.RPC.Message)}
		}
		return nil, out
	}
	return result, err
}
