package fakemcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Handler answers one exchange.
type Handler func(x *Exchange)

// Exchange is one request that waits for its answer.
type Exchange struct {
	Request
	W      http.ResponseWriter
	HTTP   *http.Request
	Server *Server

	message message
}

// id is the request's id, or null.
func (x *Exchange) id() string {
	if x.ID == nil {
		return "null"
	}
	return string(x.ID)
}

// Default answers as the well-behaved server does.
func (x *Exchange) Default() {
	s := x.Server
	if s.sse != nil {
		s.sse.serve(x)
		return
	}
	if x.Path != s.cfg.Path {
		x.Text(404, "text/plain", "not found")
		return
	}
	switch x.HTTPMethod {
	case http.MethodPost:
		x.post()
	case http.MethodDelete:
		x.delete()
	default:
		x.W.Header().Set("Allow", "POST, DELETE")
		x.Text(405, "text/plain", "method not allowed")
	}
}

func (x *Exchange) post() {
	switch {
	case x.Method == "":
		if x.message.Result == nil && x.message.Error == nil {
			x.RPCError(400, -32700, "Parse error", "")
			return
		}
		x.W.WriteHeader(202)
	case x.message.modern() || x.Server.cfg.Era == Modern || x.Method == "initialize":
		x.answer()
	case !x.inSession():
	case x.ID == nil:
		x.W.WriteHeader(202)
	default:
		x.answer()
	}
}

// answer gives the well-behaved answer to a request.
func (x *Exchange) answer() {
	result, rpcErr := x.config().answer(&x.message)
	if rpcErr != nil {
		x.RPCError(rpcErr.status, rpcErr.code, rpcErr.message, rpcErr.data)
		return
	}
	x.Result(result)
}

// inSession answers 400 or 404 itself when the session does not exist.
func (x *Exchange) inSession() bool {
	s, id := x.Server, x.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	_, known := s.sessions[id]
	stateful := s.issued > 0
	s.mu.Unlock()
	switch {
	case known || !stateful:
		return true
	case id == "":
		x.Text(400, "text/plain", "Mcp-Session-Id header is required")
	default:
		x.Text(404, "text/plain", "session not found")
	}
	return false
}

func (x *Exchange) delete() {
	s, id := x.Server, x.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	_, known := s.sessions[id]
	delete(s.sessions, id)
	s.mu.Unlock()
	switch {
	case s.cfg.Stateless || s.cfg.Era == Modern:
		x.Text(405, "text/plain", "method not allowed")
	case !known:
		x.Text(404, "text/plain", "session not found")
	default:
		x.W.WriteHeader(204)
	}
}

// Result answers with a raw JSON-RPC result. The result of initialize opens a
// session.
func (x *Exchange) Result(raw string) { x.send(200, response(x.id(), x.Server.fill(raw, x))) }

// RPCError answers with a JSON-RPC error; data is raw and may be empty.
func (x *Exchange) RPCError(status, code int, message, data string) {
	x.send(status, errorResponse(x.id(), &rpcError{status, code, message, data}))
}

// send writes one message in the form the server is configured for.
func (x *Exchange) send(status int, msg string) {
	s := x.Server
	if status == 200 {
		x.announce(msg)
	}
	switch {
	case s.sse != nil:
		s.sse.send(x, msg)
	case s.cfg.SSE && status == 200:
		x.Respond(Stream(Event(msg)))
	default:
		x.Respond(Response{Status: status, Type: "application/json", Body: msg})
	}
}

// announce opens a session when msg is the result of initialize.
func (x *Exchange) announce(msg string) {
	if x.Method != "initialize" || strings.Contains(msg, `"error":{"code":`) {
		return
	}
	if id := x.Server.openSession(x, resultRevision(msg)); id != "" {
		x.W.Header().Set("Mcp-Session-Id", id)
	}
}

func resultRevision(msg string) string {
	var r struct{ Result params }
	_ = json.Unmarshal([]byte(msg), &r)
	return r.Result.ProtocolVersion
}

// Text answers with a plain HTTP response.
func (x *Exchange) Text(status int, contentType, body string) {
	x.Respond(Response{Status: status, Type: contentType, Body: body})
}

// Hang waits until the client leaves or the server is closed.
func (x *Exchange) Hang() {
	select {
	case <-x.HTTP.Context().Done():
	case <-x.Server.done:
	}
}

// Sleep waits for d, or until the client leaves; it reports whether the client
// is still there.
func (x *Exchange) Sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.HTTP.Context().Done():
	case <-x.Server.done:
	}
	return false
}

// Response is a canned HTTP response. $ID in Body becomes the request's id.
type Response struct {
	// Status is 200 when it is zero; Type the Content-Type, none when empty.
	Status int
	Type   string
	// Header are further headers.
	Header map[string]string
	Body   string
	// Chunk, when above zero, writes and flushes Body in pieces of that size,
	// with Pause between them.
	Chunk int
	Pause time.Duration
	// Rest follows Body once Gate, when it is not nil, is opened; the headers
	// and Body are sent at once.
	Gate *Gate
	Rest string
	// Hold keeps the response open after Body until the client leaves.
	Hold bool
	// Abort breaks the connection off after Body.
	Abort bool
}

// Respond sends a canned response.
func (x *Exchange) Respond(r Response) {
	h := x.W.Header()
	h["Content-Type"] = nil // no guessing
	if r.Type != "" {
		h.Set("Content-Type", r.Type)
	}
	for name, value := range r.Header {
		h.Set(name, value)
	}
	if r.Status == 0 {
		r.Status = 200
	}
	x.W.WriteHeader(r.Status)
	flush := http.NewResponseController(x.W).Flush
	x.write(x.Server.fill(r.Body, x), r.Chunk, r.Pause)
	if r.Gate != nil {
		_ = flush()
		if !r.Gate.wait(x) {
			return
		}
	}
	x.write(x.Server.fill(r.Rest, x), r.Chunk, r.Pause)
	if r.Hold {
		_ = flush()
		x.Hang()
	}
	if r.Abort {
		_ = flush()
		panic(http.ErrAbortHandler)
	}
}

func (x *Exchange) write(body string, chunk int, pause time.Duration) {
	if chunk <= 0 {
		_, _ = io.WriteString(x.W, body)
		return
	}
	for len(body) > 0 {
		n := min(chunk, len(body))
		if _, err := io.WriteString(x.W, body[:n]); err != nil {
			return
		}
		_ = http.NewResponseController(x.W).Flush()
		body = body[n:]
		if pause > 0 && !x.Sleep(pause) {
			return
		}
	}
}

// Hijack takes the connection over, writes raw bytes and closes it. reset
// closes it with a TCP reset.
func (x *Exchange) Hijack(raw string, reset bool) {
	conn, _, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		panic(fmt.Sprintf("fakemcp: hijack: %v", err))
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, x.Server.fill(raw, x))
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
}

// Stream is an event stream response made of events.
func Stream(events ...string) Response {
	return Response{Type: "text/event-stream", Body: strings.Join(events, "")}
}

// Event writes one server-sent event of type message.
func Event(data string) string { return "event: message\ndata: " + data + "\n\n" }

// EventID writes one event with an id, and with a retry time when retryMs is
// not zero.
func EventID(id string, retryMs int, data string) string {
	e := "id: " + id + "\n"
	if retryMs > 0 {
		e += fmt.Sprintf("retry: %d\n", retryMs)
	}
	return e + "data: " + data + "\n\n"
}
