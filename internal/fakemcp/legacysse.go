package fakemcp

import (
	"fmt"
	"net/http"
	"sync"
)

// legacySSE is the HTTP+SSE transport of 2024-11-05: a GET stream that names
// the URL for POSTs and carries the answers.
type legacySSE struct {
	server *Server

	mu       sync.Mutex
	endpoint string // the announcement, or "" for the true one
	opened   int
	streams  map[string]chan string
}

// messagesPath is where the legacy transport takes POSTs.
const messagesPath = "/messages"

// NewSSE starts a server of the legacy HTTP+SSE transport. Overrides of
// JSON-RPC methods see the POST; what they answer with Result and RPCError
// travels on the stream, what they answer with Respond on the POST itself.
func NewSSE(t TB, cfg Config) *Server {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = "/sse"
	}
	s := newServer(cfg)
	s.sse = &legacySSE{server: s, streams: map[string]chan string{}}
	s.start(t)
	return s
}

// Announce replaces the URL in the endpoint event. The marker $SESSION in it
// becomes the id of the stream.
func (s *Server) Announce(endpoint string) {
	s.sse.mu.Lock()
	defer s.sse.mu.Unlock()
	s.sse.endpoint = endpoint
}

func (l *legacySSE) serve(x *Exchange) {
	switch {
	case x.HTTPMethod == http.MethodGet && x.Path == l.server.cfg.Path:
		l.stream(x)
	case x.HTTPMethod == http.MethodPost && x.Path == messagesPath:
		l.post(x)
	case x.HTTPMethod == http.MethodPost:
		x.Text(405, "text/plain", "method not allowed")
	default:
		x.Text(404, "text/plain", "not found")
	}
}

func (l *legacySSE) stream(x *Exchange) {
	l.mu.Lock()
	l.opened++
	id := fmt.Sprintf("sessionId=stream-%d", l.opened)
	endpoint := l.endpoint
	if endpoint == "" {
		endpoint = messagesPath + "?" + id
	}
	out := make(chan string, 64)
	l.streams[id] = out
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.streams, id)
		l.mu.Unlock()
	}()
	x.Respond(Response{Type: "text/event-stream", Body: "event: endpoint\ndata: " + endpoint + "\n\n"})
	flush := http.NewResponseController(x.W).Flush
	_ = flush()
	for {
		select {
		case msg := <-out:
			x.write(Event(msg), 0, 0)
			_ = flush()
		case <-x.HTTP.Context().Done():
			return
		case <-x.Server.done:
			return
		}
	}
}

func (l *legacySSE) post(x *Exchange) {
	if l.find(x) == nil {
		x.Text(404, "text/plain", "no such stream")
		return
	}
	if x.Method == "" || x.ID == nil {
		x.Text(202, "text/plain", "Accepted")
		return
	}
	x.answer()
}

// send puts a message on the stream that the POST belongs to and accepts the
// POST.
func (l *legacySSE) send(x *Exchange, msg string) {
	if out := l.find(x); out != nil {
		select {
		case out <- msg:
		default: // a client that does not read
		}
	}
	x.Text(202, "text/plain", "Accepted")
}

func (l *legacySSE) find(x *Exchange) chan string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams[x.Query]
}

// Push puts a raw message on every open stream.
func (s *Server) Push(msg string) {
	s.sse.mu.Lock()
	defer s.sse.mu.Unlock()
	for _, out := range s.sse.streams {
		select {
		case out <- msg:
		default:
		}
	}
}
