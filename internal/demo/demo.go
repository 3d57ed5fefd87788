// Package demo is a small MCP server that comes with the program, so that a
// first check needs no network and no other software. It is an honest one: three
// read-only tools, two resources, a template and a prompt, stateless in revision
// 2026-07-28 and with initialize in 2025-06-18 and 2025-11-25, over Streamable
// HTTP and over stdio. It is no framework and keeps no state. One with Turns shows what
// a change by an attacker looks like.
package demo

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// The revisions the server speaks.
const (
	rev20250618 = "2025-06-18"
	rev20251125 = "2025-11-25"
	rev20260728 = "2026-07-28"
)

// JSON-RPC error codes, with those of revision 2026-07-28.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// Keys of the _meta object of a modern request and result.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// Server is the demo server. It is safe for concurrent use.
type Server struct {
	// Version is the version it reports. Empty: 1.0.0.
	Version string
	// Turns is when the description of its tool count_words begins to tell agents what it
	// should not, as after an attack on who writes it. Zero: never.
	Turns time.Time
}

type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// notification reports whether no answer is due: a message without id, or an
// answer to something that this server never asks.
func (r *request) notification() bool {
	return len(r.ID) == 0 || r.Method == "" && (r.Result != nil || r.Error != nil)
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// decode reads one message. Batches belong to a revision that is not spoken.
func decode(data []byte) (*request, *rpcError) {
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		if json.Valid(data) {
			return nil, &rpcError{Code: codeInvalidRequest, Message: "not a JSON-RPC message"}
		}
		return nil, &rpcError{Code: codeParse, Message: "not JSON"}
	}
	id := bytes.TrimSpace(r.ID)
	switch {
	case r.JSONRPC != "2.0":
		return nil, &rpcError{Code: codeInvalidRequest, Message: "jsonrpc is not 2.0"}
	case len(id) > 0 && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return nil, &rpcError{Code: codeInvalidRequest, Message: "id is neither a string nor a number"}
	case r.Method == "" && r.Result == nil && r.Error == nil:
		return nil, &rpcError{Code: codeInvalidRequest, Message: "no method"}
	}
	return &r, nil
}

// meta is what a modern request says about itself.
type meta struct {
	version string // empty on a legacy request
	caps    bool
}

func (r *request) meta() meta {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(r.Params, &p) != nil {
		return meta{}
	}
	var m meta
	if json.Unmarshal(p.Meta[metaVersion], &m.version) != nil {
		m.version = ""
	}
	m.caps = p.Meta[metaCapabilities] != nil
	return m
}

// answer handles one message. It returns what to send, nil for a notification,
// and the error that is in it, if it is one.
func (s *Server) answer(r *request) ([]byte, *rpcError) {
	if r.notification() {
		return nil, nil
	}
	m := r.meta()
	var result object
	var err *rpcError
	switch {
	case m.version == "" && r.Method == "server/discover":
		err = &rpcError{Code: codeInvalidParams, Message: "_meta has no " + metaVersion}
	case m.version == "":
		result, err = s.legacy(r)
	case m.version != rev20260728:
		err = &rpcError{
			Code: codeUnsupportedVersion, Message: "unsupported protocol version",
			Data: object{"supported": []string{rev20260728}, "requested": m.version},
		}
	case !m.caps:
		err = &rpcError{Code: codeInvalidParams, Message: "_meta has no " + metaCapabilities}
	default:
		result, err = s.modern(r)
	}
	if err != nil {
		return failure(r.ID, err), err
	}
	return marshal(object{"jsonrpc": "2.0", "id": r.ID, "result": result}), nil
}

func failure(id json.RawMessage, e *rpcError) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return marshal(object{"jsonrpc": "2.0", "id": id, "error": e})
}

// marshal cannot fail: it is given maps of plain values and valid JSON only.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func (s *Server) info() object {
	version := s.Version
	if version == "" {
		version = "1.0.0"
	}
	return object{"name": "mcpvigil-demo", "title": "The demo server of mcpvigil", "version": version}
}

func capabilities() object {
	return object{"tools": object{}, "resources": object{}, "prompts": object{}}
}

// legacy handles the requests of the revisions with initialize.
func (s *Server) legacy(r *request) (object, *rpcError) {
	switch r.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if json.Unmarshal(r.Params, &p) != nil || p.ProtocolVersion == "" {
			return nil, &rpcError{Code: codeInvalidParams, Message: "no protocolVersion"}
		}
		version := rev20251125
		if slices.Contains([]string{rev20250618, rev20251125}, p.ProtocolVersion) {
			version = p.ProtocolVersion
		}
		return object{
			"protocolVersion": version, "capabilities": capabilities(),
			"serverInfo": s.info(), "instructions": instructions,
		}, nil
	case "ping":
		return object{}, nil
	}
	return s.content(r)
}

// modern handles the requests of 2026-07-28 and marks their results.
func (s *Server) modern(r *request) (object, *rpcError) {
	var result object
	var err *rpcError
	if r.Method == "server/discover" {
		result = object{
			"supportedVersions": []string{rev20260728}, "capabilities": capabilities(), "instructions": instructions,
		}
	} else if result, err = s.content(r); err != nil {
		return nil, err
	}
	result["resultType"] = "complete"
	result["_meta"] = object{metaServer: s.info()}
	if cacheable(r.Method) {
		result["ttlMs"], result["cacheScope"] = 60_000, "public"
	}
	return result, nil
}

func cacheable(method string) bool {
	return method != "tools/call" && method != "prompts/get"
}
