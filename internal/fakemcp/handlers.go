package fakemcp

import (
	"net/http"
	"sync"
	"time"
)

// Result answers with a raw JSON-RPC result.
func Result(raw string) Handler { return func(x *Exchange) { x.Result(raw) } }

// Error answers with status 200 and a JSON-RPC error.
func Error(code int, message string) Handler { return ErrorStatus(200, code, message, "") }

// ErrorStatus answers with a JSON-RPC error and an HTTP status. data is raw and
// may be empty.
func ErrorStatus(status, code int, message, data string) Handler {
	return func(x *Exchange) { x.RPCError(status, code, message, data) }
}

// Respond answers with a canned HTTP response.
func Respond(r Response) Handler { return func(x *Exchange) { x.Respond(r) } }

// Text answers with a plain HTTP response.
func Text(status int, contentType, body string) Handler {
	return Respond(Response{Status: status, Type: contentType, Body: body})
}

// Raw answers with status 200, application/json and a raw body.
func Raw(body string) Handler { return Text(200, "application/json", body) }

// Events answers with an event stream and ends it.
func Events(events ...string) Handler { return Respond(Stream(events...)) }

// Redirect answers with a redirect and an empty body.
func Redirect(status int, location string) Handler {
	return Respond(Response{Status: status, Header: map[string]string{"Location": location}})
}

// Unauthorized answers 401, with a challenge when it is not empty.
func Unauthorized(challenge string) Handler {
	r := Response{Status: 401, Type: "text/plain", Body: "Unauthorized"}
	if challenge != "" {
		r.Header = map[string]string{"WWW-Authenticate": challenge}
	}
	return Respond(r)
}

// Hang never answers.
func Hang() Handler { return (*Exchange).Hang }

// Default answers as the well-behaved server does.
func Default() Handler { return (*Exchange).Default }

// Bytes writes raw bytes to the connection and closes it.
func Bytes(raw string) Handler { return func(x *Exchange) { x.Hijack(raw, false) } }

// Reset closes the connection with a TCP reset and without an answer.
func Reset() Handler { return func(x *Exchange) { x.Hijack("", true) } }

// OneAnswerPerConnection answers the first request of each connection by h and
// resets the connection at the next, as a pooled connection that died.
func OneAnswerPerConnection(h Handler) Handler {
	var mu sync.Mutex
	used := map[int]bool{}
	return func(x *Exchange) {
		mu.Lock()
		again := used[x.Conn]
		used[x.Conn] = true
		mu.Unlock()
		if again {
			x.Hijack("", true)
			return
		}
		h(x)
	}
}

// Sequence answers the first exchange by the first handler, the second by the
// second, and so on; the last one answers all the rest.
func Sequence(handlers ...Handler) Handler {
	var mu sync.Mutex
	next := 0
	return func(x *Exchange) {
		mu.Lock()
		h := handlers[next]
		if next < len(handlers)-1 {
			next++
		}
		mu.Unlock()
		h(x)
	}
}

// First answers the first n exchanges by h and the rest by default.
func First(n int, h Handler) Handler {
	list := make([]Handler, 0, n+1)
	for range n {
		list = append(list, h)
	}
	return Sequence(append(list, Default())...)
}

// Framed lets frame turn each well-behaved result into an HTTP response of its
// own, such as a stream with other line ends. Everything else is answered by
// default.
func Framed(frame func(msg string) Response) Handler {
	return func(x *Exchange) {
		if x.Method == "" || x.ID == nil {
			x.Default()
			return
		}
		result, rpcErr := x.config().answer(&x.message)
		if rpcErr != nil {
			x.Default()
			return
		}
		x.announce(response(x.id(), result))
		x.Respond(frame(response(x.id(), result)))
	}
}

// When answers by yes if the condition holds for the exchange, else by default.
func When(condition func(*Exchange) bool, yes Handler) Handler {
	return func(x *Exchange) {
		if condition(x) {
			yes(x)
			return
		}
		x.Default()
	}
}

// Delayed waits before it answers by h.
func Delayed(d time.Duration, h Handler) Handler {
	return func(x *Exchange) {
		if x.Sleep(d) {
			h(x)
		}
	}
}

// Gated waits for the gate before it answers by h.
func Gated(g *Gate, h Handler) Handler {
	return func(x *Exchange) {
		if g.wait(x) {
			h(x)
		}
	}
}

// Gate holds answers back until it is opened.
type Gate struct {
	once sync.Once
	open chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{open: make(chan struct{})} }

// Open lets everything through, now and later.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }

// wait reports whether the gate was opened before the client left.
func (g *Gate) wait(x *Exchange) bool {
	select {
	case <-g.open:
		return true
	case <-x.HTTP.Context().Done():
	case <-x.Server.done:
	}
	return false
}

// BadGateway is an HTTP proxy that answers everything with 502 and an empty
// body. It counts what it was asked for.
func BadGateway(t TB) *Server {
	t.Helper()
	s := newServer(Config{Path: "/"})
	s.Allow("*")
	refuse := Respond(Response{Status: http.StatusBadGateway})
	for _, m := range []string{"GET", "HEAD", "POST", "CONNECT", "DELETE"} {
		s.OnHTTP(m, refuse)
	}
	s.start(t)
	return s
}
