package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// maxQuote bounds quoted server text, in runes.
const maxQuote = 200

// request is one JSON-RPC message to the server.
type request struct {
	// id is 0 for a notification.
	id     int64
	method string
	// body is the whole encoded message, without a line end.
	body []byte
	// header goes with an HTTP request: what the modern revisions mirror from
	// the body. Stdio ignores it.
	header http.Header
	// modern: the request is of a stateless revision, whose streams neither
	// resume nor carry requests of the server.
	modern bool
	// once forbids sending the message a second time, whatever happens.
	once bool
}

// encode builds a message. params must be a JSON object or empty.
func encode(id int64, method string, params []byte) []byte {
	var b bytes.Buffer
	b.Grow(80 + len(method) + len(params))
	b.WriteString(`{"jsonrpc":"2.0",`)
	if id != 0 {
		b.WriteString(`"id":` + strconv.FormatInt(id, 10) + `,`)
	}
	name, _ := json.Marshal(method)
	b.WriteString(`"method":`)
	b.Write(name)
	if len(params) > 0 {
		b.WriteString(`,"params":`)
		b.Write(params)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// messageKind tells the JSON-RPC messages apart.
type messageKind uint8

const (
	isResponse messageKind = iota + 1
	isRequest
	isNotification
)

// message is one parsed message from the server.
type message struct {
	kind   messageKind
	id     rawjson.Value // missing, null, number or string
	method string
	result rawjson.Value // of a response
	rpcErr *RPCError
	flaws  rawjson.Flaws
	// disputed: parsers differ about its members.
	disputed bool
}

// answer is the response to a request of ours.
type answer struct {
	result rawjson.Value
	rpcErr *RPCError
	// disputed: other clients may read another answer in the same bytes.
	disputed bool
	// status is the HTTP status it came with, or 0; sessionID the value of the
	// Mcp-Session-Id header.
	status    int
	sessionID string
}

// parseMessages reads one message, or a batch of them (2025-03-26).
func parseMessages(data []byte) (msgs []message, batch bool, err error) {
	v, flaws, err := rawjson.Parse(data)
	if err != nil {
		return nil, false, &Error{Reason: ReasonMalformedJSON, Text: "the answer is not JSON: " + clip(err.Error()), Seen: true, Err: err}
	}
	if v.Kind() != rawjson.Array {
		m, err := readMessage(v)
		m.flaws = flaws
		return []message{m}, false, err
	}
	for _, e := range v.Elems() {
		m, err := readMessage(e)
		if err != nil {
			return nil, true, err
		}
		m.flaws = flaws
		msgs = append(msgs, m)
	}
	return msgs, true, nil
}

func readMessage(v rawjson.Value) (message, error) {
	malformed := func(format string, args ...any) (message, error) {
		e := failf(ReasonMalformedMessage, "the answer is no JSON-RPC message: "+format, args...)
		e.Seen = true
		return message{}, e
	}
	if v.Kind() != rawjson.Object {
		return malformed("it is %s, not an object", article(v.Kind()))
	}
	if version, ok := v.Get("jsonrpc").Text(); !ok || version != "2.0" {
		if e := lacksScope(v); e != nil {
			return message{}, e
		}
		return malformed(`"jsonrpc" is not "2.0"`)
	}
	m := message{id: v.Get("id"), disputed: disputed(v, "jsonrpc", "id", "method", "params", "result", "error")}
	method, result, rpcErr := v.Get("method"), v.Get("result"), v.Get("error")
	if method.Exists() {
		name, ok := method.Text()
		switch {
		case !ok:
			return malformed(`"method" is not a string`)
		case result.Exists() || rpcErr.Exists():
			return malformed(`it has "method" and an answer`)
		}
		m.kind, m.method = isNotification, name
		if m.id.Exists() {
			m.kind = isRequest
		}
		return m, nil
	}
	m.kind = isResponse
	switch {
	case result.Exists() == rpcErr.Exists():
		return malformed(`it must have "result" or "error", and not both`)
	case rpcErr.Exists():
		e, ok := readRPCError(rpcErr)
		if !ok {
			return malformed(`"error" lacks an integer "code"`)
		}
		m.rpcErr = e
	case result.Kind() != rawjson.Object:
		return malformed(`"result" is %s, not an object`, article(result.Kind()))
	default:
		m.result = result
	}
	return m, nil
}

// disputed reports whether parsers differ about the members of v with these names: one
// is there twice, of which some take the first and some the last, or in another letter
// case, which some do not tell apart.
func disputed(v rawjson.Value, names ...string) bool {
	seen := make(map[string]bool, len(names))
	for name := range v.Members() {
		i := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(name, known) })
		if i < 0 {
			continue
		}
		if name != names[i] || seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// insufficientScope is the error code of RFC 6750, section 3.1.
const insufficientScope = "insufficient_scope"

// lacksScope recognises an OAuth error about scopes that came without its
// challenge, as some servers send it, even with status 200. Nil: it is none.
func lacksScope(v rawjson.Value) *Error {
	if code, _ := v.Get("error").Text(); code != insufficientScope {
		return nil
	}
	e := &Error{Reason: ReasonInsufficientScope, Text: "the server says " + insufficientScope, Seen: true}
	if scope, _ := v.Get("scope").Text(); scope != "" {
		e.Text += ": " + clip(scope)
		e.Hint = "get a token with the scope " + clip(scope)
	}
	return e
}

func readRPCError(v rawjson.Value) (*RPCError, bool) {
	code, ok := v.Get("code").Int()
	if !ok {
		return nil, false
	}
	text, _ := v.Get("message").Text()
	return &RPCError{Code: code, Message: clip(text), Data: v.Get("data").Raw()}, true
}

// answers reports whether m is the response to the request with id: equal
// including its JSON type, so that "1" does not answer 1.
func (m *message) answers(id int64) bool {
	if m.kind != isResponse || m.id.Kind() != rawjson.Number {
		return false
	}
	n, ok := m.id.Int()
	return ok && n == id
}

// reply answers a request of the server: ping with an empty result, everything
// else with method-not-found. It returns nil when the id cannot be answered.
func reply(m *message) []byte {
	if m.id.Kind() != rawjson.Number && m.id.Kind() != rawjson.String {
		return nil
	}
	if m.method == "ping" {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id.Raw())
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"method not found"}}`, m.id.Raw(), codeMethodNotFound)
}

func article(k rawjson.Kind) string {
	switch k {
	case rawjson.Array, rawjson.Object:
		return "an " + k.String()
	case rawjson.Null:
		return "null"
	default:
		return "a " + k.String()
	}
}
