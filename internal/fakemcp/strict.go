package fakemcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// Strictness. These are the rules a client is held to; their names are what
// Allow takes.
const (
	// RuleMessage: one JSON-RPC 2.0 object a message, ids that are strings or
	// numbers.
	RuleMessage = "message"
	// RuleAccept: every POST accepts both media types.
	RuleAccept = "accept"
	// RuleContentType: every POST has Content-Type application/json.
	RuleContentType = "content-type"
	// RuleInitialize: initialize is complete, and carries neither a session id
	// nor a version header.
	RuleInitialize = "initialize"
	// RuleInitialized: notifications/initialized comes before anything else.
	RuleInitialized = "initialized"
	// RuleSession: an issued session id is on every later request, and no
	// other one is.
	RuleSession = "session"
	// RuleVersion: from 2025-06-18 on the settled revision is on every request
	// after initialize.
	RuleVersion = "version"
	// RuleDelete: a session that was opened is deleted, and nothing else.
	RuleDelete = "delete"
	// RuleModern: _meta is complete, the headers repeat the body, and there is
	// no session.
	RuleModern = "modern"
	// RuleGet and RuleHead: neither is sent, except to resume a stream.
	RuleGet  = "get"
	RuleHead = "head"
	// RuleCall: no tools/call, resources/read or prompts/get, unless the
	// configuration says Callable.
	RuleCall = "call"
)

// Violations returns what was broken so far. A session that was not deleted
// yet counts.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Violation
	for _, v := range s.violations {
		if !s.allowed[v.Rule] && !s.allowed["*"] {
			list = append(list, v)
		}
	}
	for id, open := range s.sessions {
		if open.header && !open.deleted && !s.allowed[RuleDelete] && !s.allowed["*"] {
			list = append(list, Violation{RuleDelete, "session " + id + " was never deleted"})
		}
	}
	return list
}

func (s *Server) breach(x *Exchange, rule, format string, args ...any) {
	what := x.Method
	if what == "" {
		what = "message without a method"
	}
	text := fmt.Sprintf("request %d (%s %s, %s): ", x.Seq, x.HTTPMethod, x.Path, what) + fmt.Sprintf(format, args...)
	s.violations = append(s.violations, Violation{rule, text})
}

// judge holds a request against the rules.
func (s *Server) judge(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch x.HTTPMethod {
	case http.MethodPost:
		s.judgePost(x)
	case http.MethodGet:
		if s.sse == nil && x.Header.Get("Last-Event-ID") == "" {
			s.breach(x, RuleGet, "GET was sent")
		}
	case http.MethodHead:
		s.breach(x, RuleHead, "HEAD was sent")
	case http.MethodDelete:
		s.judgeDelete(x)
	}
}

func (s *Server) judgePost(x *Exchange) {
	accept := x.Header.Get("Accept")
	if !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream") {
		s.breach(x, RuleAccept, "Accept is %q", accept)
	}
	if media, _, err := mime.ParseMediaType(x.Header.Get("Content-Type")); err != nil || media != "application/json" {
		s.breach(x, RuleContentType, "Content-Type is %q", x.Header.Get("Content-Type"))
	}
	if text := badMessage(x.Body, &x.message); text != "" {
		s.breach(x, RuleMessage, "%s", text)
		return
	}
	if forbiddenCall(x.Method) && !s.cfg.Callable {
		s.breach(x, RuleCall, "it was sent although no call was configured")
	}
	switch {
	case x.message.modern():
		s.judgeModern(x)
	case x.Method == "initialize":
		s.judgeInitialize(x)
	default:
		s.judgeLegacy(x)
	}
}

// badMessage says what keeps a body from being one JSON-RPC message of a
// client, or nothing.
func badMessage(body []byte, m *message) string {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) || !json.Valid(body) {
		return fmt.Sprintf("the body is not one JSON object: %.80q", body)
	}
	if m.Version != "2.0" {
		return `"jsonrpc" is not "2.0"`
	}
	answer := m.Result != nil || m.Error != nil
	if (m.Method == "") != answer || (m.Result != nil && m.Error != nil) {
		return "it is neither a request nor an answer"
	}
	switch id := string(m.ID); {
	case id == "null", strings.HasPrefix(id, "{"), strings.HasPrefix(id, "["), id == "true", id == "false":
		return "the id is " + id
	case id == "" && answer:
		return "an answer has no id"
	case id == "" && !strings.HasPrefix(m.Method, "notifications/"):
		return "a request has no id"
	case id != "" && strings.HasPrefix(m.Method, "notifications/"):
		return "a notification has an id"
	}
	return ""
}

func forbiddenCall(method string) bool {
	return method == "tools/call" || method == "resources/read" || method == "prompts/get"
}

// badInitialize says what is missing in the params of initialize, or nothing.
func badInitialize(m *message) string {
	var p struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ClientInfo      struct{ Name, Version string }
	}
	_ = json.Unmarshal(m.Params, &p)
	switch {
	case p.ProtocolVersion == "":
		return "protocolVersion is missing"
	case !strings.HasPrefix(string(p.Capabilities), "{"):
		return "capabilities is not an object"
	case p.ClientInfo.Name == "" || p.ClientInfo.Version == "":
		return "clientInfo lacks a name or a version"
	}
	return ""
}

func (s *Server) judgeInitialize(x *Exchange) {
	if text := badInitialize(&x.message); text != "" {
		s.breach(x, RuleInitialize, "%s", text)
	}
	for _, name := range []string{"Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		if v := x.Header.Get(name); v != "" {
			s.breach(x, RuleInitialize, "it carries %s: %s", name, v)
		}
	}
}

// judgeLegacy holds everything after initialize, DELETE included, against the
// session it belongs to.
func (s *Server) judgeLegacy(x *Exchange) {
	open, known := s.sessions[s.sessionKey(x)]
	id := x.Header.Get("Mcp-Session-Id")
	switch {
	case s.sse != nil || s.cfg.Stateless || s.issued == 0:
		if id != "" {
			s.breach(x, RuleSession, "it carries a session id that was never issued: %q", id)
		}
	case id == "":
		s.breach(x, RuleSession, "it carries no session id")
	}
	if !known {
		return // a restart, or an answer to initialize that the test wrote itself
	}
	if version := x.Header.Get("Mcp-Protocol-Version"); s.sse == nil && open.revision >= "2025-06-18" && version != open.revision {
		s.breach(x, RuleVersion, "MCP-Protocol-Version is %q, not the settled %s", version, open.revision)
	}
	if x.HTTPMethod != http.MethodPost {
		return
	}
	if x.Method == "notifications/initialized" {
		open.initialized = true
	}
	if x.Method != "" && x.Method != "notifications/cancelled" && !open.initialized {
		s.breach(x, RuleInitialized, "it came before notifications/initialized")
	}
}

func (s *Server) judgeDelete(x *Exchange) {
	id := x.Header.Get("Mcp-Session-Id")
	if id == "" {
		s.breach(x, RuleDelete, "DELETE without a session id")
		return
	}
	s.judgeLegacy(x)
	if open := s.sessions[id]; open != nil {
		if open.deleted {
			s.breach(x, RuleDelete, "session %s was deleted twice", id)
		}
		open.deleted = true
	}
}

func (s *Server) judgeModern(x *Exchange) {
	p := x.message.params()
	if text := badMeta(&p); text != "" {
		s.breach(x, RuleModern, "%s", text)
	}
	if id := x.Header.Get("Mcp-Session-Id"); id != "" {
		s.breach(x, RuleModern, "it carries a session id: %q", id)
	}
	if s.sse != nil {
		return // that transport has none of the headers
	}
	name := p.Name
	if x.Method == "resources/read" {
		name = p.URI
	} else if x.Method != "tools/call" && x.Method != "prompts/get" {
		name = ""
	}
	for header, want := range map[string]string{"Mcp-Protocol-Version": p.Meta.Version, "Mcp-Method": x.Method, "Mcp-Name": name} {
		got, err := DecodeHeader(x.Header.Get(header))
		if err != nil || got != want {
			s.breach(x, RuleModern, "header %s is %q, the body says %q", header, x.Header.Get(header), want)
		}
	}
}

func badMeta(p *params) string {
	switch {
	case p.Meta.Version == "":
		return "_meta lacks io.modelcontextprotocol/protocolVersion"
	case !strings.HasPrefix(string(p.Meta.Capabilities), "{"):
		return "_meta io.modelcontextprotocol/clientCapabilities is not an object"
	case p.Meta.Client.Name == "" || p.Meta.Client.Version == "":
		return "_meta io.modelcontextprotocol/clientInfo lacks a name or a version"
	}
	return ""
}

// DecodeHeader undoes the encoding of Mcp-Name and Mcp-Param-* values
// (2026-07-28).
func DecodeHeader(value string) (string, error) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, nil
	}
	inner, ok = strings.CutSuffix(inner, "?=")
	if !ok {
		return "", fmt.Errorf("header value %q: the closing mark is missing", value)
	}
	data, err := base64.StdEncoding.DecodeString(inner)
	return string(data), err
}
