package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"github.com/mcpvigil/mcpvigil/internal/rawjson"
)

// Bounds of a mux.
const (
	maxMuxReplies   = 1000 // answers to requests of the server, a session
	maxMuxNotes     = 4    // notes of one kind
	maxMuxAbandoned = 1024 // ids whose late answers are expected

	// Bounds of messages that nobody waits for, a session.
	maxMuxUnasked      = 50_000
	maxMuxUnaskedBytes = 64 << 20
)

// mux matches what comes in on the one stream of a transport with the requests
// that wait for it. receive is called by the reader of the stream alone; all
// else is safe for concurrent use.
type mux struct {
	log *Log
	// send takes the answer to a request of the server. It must not block.
	send func(body []byte)
	// malformed is told what is no JSON-RPC message. It decides whether that
	// is noise or a broken answer, for which there is blame.
	malformed func(data []byte, err *Error)
	// arrived, if set, is called for each well-formed message or batch before
	// anything is done with it.
	arrived func()

	mu        sync.Mutex
	pending   map[int64]*pending
	abandoned map[int64]struct{}
	lost      *Error // why there are no more answers
	silent    int    // messages to the server that it should not answer

	// Of the reader only.
	replies    int
	noted      map[string]int
	settled    int // messages that answered a request
	extra      int // messages that nobody waited for
	extraBytes int
}

// pending is one request that waits for its answer.
type pending struct {
	r    *request
	done chan outcome // holds one
}

// outcome is how a request ended: exactly one of answer and err is set.
type outcome struct {
	answer *answer
	err    *Error
	bytes  int // length of the message that answered
}

func newMux(log *Log, send func([]byte), malformed func([]byte, *Error)) *mux {
	return &mux{
		log:       log,
		send:      send,
		malformed: malformed,
		pending:   make(map[int64]*pending),
		abandoned: make(map[int64]struct{}),
		noted:     make(map[string]int),
	}
}

// register makes r wait for its answer. It must be called before r is sent, and
// is followed by wait or abandon. It fails when the connection is lost.
func (m *mux) register(r *request) (*pending, *Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost != nil {
		return nil, m.lost.clone()
	}
	p := &pending{r: r, done: make(chan outcome, 1)}
	m.pending[r.id] = p
	return p, nil
}

// abandon gives up on a request. Its answer, should it come, is ignored.
func (m *mux) abandon(p *pending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending[p.r.id] != p {
		return
	}
	delete(m.pending, p.r.id)
	if len(m.abandoned) < maxMuxAbandoned {
		m.abandoned[p.r.id] = struct{}{}
	}
}

// wait waits for the answer. When ctx ends first the request is abandoned, and
// the error is the one that interrupted makes.
func (m *mux) wait(ctx context.Context, p *pending, interrupted func() *Error) outcome {
	select {
	case o := <-p.done:
		return o
	case <-ctx.Done():
	}
	m.abandon(p)
	select {
	case o := <-p.done: // it came just in time
		return o
	default:
		return outcome{err: interrupted()}
	}
}

// settle ends the request with id, and reports whether it was waiting.
func (m *mux) settle(id int64, o outcome) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.pending[id]
	if !ok {
		return false
	}
	delete(m.pending, id)
	p.done <- o
	return true
}

// fail ends every request, now and from now on. Only the first error counts.
func (m *mux) fail(err *Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost == nil {
		m.lost = err
	}
	m.failPending(m.lost)
}

// failWaiting ends the requests that wait now, and reports whether there were any.
func (m *mux) failWaiting(err *Error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failPending(err)
}

func (m *mux) failPending(err *Error) bool {
	found := len(m.pending) > 0
	for id, p := range m.pending {
		delete(m.pending, id)
		p.done <- outcome{err: err.clone()}
	}
	return found
}

// clone is for an error that several callers get: each may add to its own.
func (e *Error) clone() *Error {
	c := *e
	c.Details = maps.Clone(e.Details)
	return &c
}

// only is the request that waits, when it is the only one, or nil.
func (m *mux) only() *request {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) != 1 {
		return nil
	}
	for _, p := range m.pending {
		return p.r
	}
	return nil
}

// blame ends with err the request that a broken answer must have been for: the
// one with the id, or else the only one. It reports whether there was one.
func (m *mux) blame(id rawjson.Value, err *Error) bool {
	if n, ok := id.Int(); ok && m.settle(n, outcome{err: err}) {
		return true
	}
	r := m.only()
	return r != nil && m.settle(r.id, outcome{err: err})
}

// receive takes one message, or a batch of them, off the stream. It keeps data.
// It reports whether that was well-formed JSON-RPC.
func (m *mux) receive(data []byte) bool {
	msgs, _, err := parseMessages(data)
	if err == nil && len(msgs) == 0 {
		err = &Error{Reason: ReasonMalformedMessage, Text: "the answer is an empty JSON-RPC batch", Seen: true}
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Reason: ReasonMalformedMessage, Text: "the answer is no JSON-RPC message", Seen: true, Err: err}
		}
		m.malformed(data, e)
		return false
	}
	if m.arrived != nil {
		m.arrived()
	}
	settled := m.settled
	for i := range msgs {
		m.route(&msgs[i], len(data))
	}
	if m.settled == settled {
		m.extra += len(msgs)
		m.extraBytes += len(data)
	}
	return true
}

// flooded says why it is no use to read on, or is nil.
func (m *mux) flooded() *Error {
	if m.extra <= maxMuxUnasked && m.extraBytes <= maxMuxUnaskedBytes {
		return nil
	}
	return &Error{Reason: ReasonMalformedMessage, Text: fmt.Sprintf("the server floods the stream: %d messages that answer nothing", m.extra), Hint: "answer each request once, and send notifications sparingly", Seen: true}
}

// unasked says that the server gets a message that has no answer. Some servers
// answer it all the same, with an error whose id is null.
func (m *mux) unasked() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silent++
}

func (m *mux) route(msg *message, size int) {
	switch msg.kind {
	case isRequest:
		if m.echoed(msg) {
			return
		}
		m.flaws(msg.method, msg.flaws)
		body := reply(msg)
		if body == nil || m.replies == maxMuxReplies {
			return
		}
		m.replies++
		m.unasked()
		m.send(body)
	case isNotification:
		m.flaws(msg.method, msg.flaws)
	case isResponse:
		m.respond(msg, size)
	}
}

// echoed ends the request that came back as it was sent: what answers repeats
// its input, as cat and a terminal do. Only clients ask to open a session.
func (m *mux) echoed(msg *message) bool {
	if msg.method != methodDiscover && msg.method != methodInitialize {
		return false
	}
	return m.blame(msg.id, &Error{Reason: ReasonMalformedMessage, Text: "the answer to " + msg.method + " is the request itself: what answers repeats its input", Hint: "check the command: this is no MCP server", Seen: true})
}

// respond gives a response to its request.
func (m *mux) respond(msg *message, size int) {
	id, ok := msg.id.Int()
	r, late := m.expects(id)
	if ok && late {
		return
	}
	if ok && r != nil && msg.answers(id) {
		m.flaws(r.method, msg.flaws)
		m.settled++
		m.settle(id, outcome{answer: &answer{result: msg.result, rpcErr: msg.rpcErr, disputed: msg.disputed}, bytes: size})
		return
	}
	// Strict clients drop a response with a foreign id and wait on. When the id
	// is the right one in the wrong type that wait is in vain, and so it is when
	// an error that names no request can only be about the one that is open.
	r = m.mistyped(msg.id)
	if r == nil && msg.rpcErr != nil && (msg.id.IsNull() || !msg.id.Exists()) {
		r = m.meant()
	}
	if r != nil {
		m.settled++
		m.settle(r.id, outcome{err: wrongID(r, msg), bytes: size})
		return
	}
	m.note(ReasonIDMismatch, "a response came that answers no open request; "+describeID(msg.id), "answer each request once, with the id it had")
}

// expects returns the request that waits for id; late says that it is no longer
// waiting, in which case the id is forgotten.
func (m *mux) expects(id int64) (r *request, late bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, ok := m.pending[id]; ok {
		return p.r, false
	}
	_, late = m.abandoned[id]
	delete(m.abandoned, id)
	return nil, late
}

// mistyped returns the waiting request whose id v spells in another JSON type,
// "1" for 1, or nil.
func (m *mux) mistyped(v rawjson.Value) *request {
	text, ok := v.Text()
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range m.pending {
		if strconv.FormatInt(id, 10) == text {
			return p.r
		}
	}
	return nil
}

// meant returns the request that an error without an id must be about: the only
// one, unless the error may be about another message that was sent.
func (m *mux) meant() *request {
	m.mu.Lock()
	spare := m.silent > 0
	if spare {
		m.silent--
	}
	others := len(m.abandoned) > 0
	m.mu.Unlock()
	if spare || others {
		return nil
	}
	return m.only()
}

func describeID(v rawjson.Value) string {
	if !v.Exists() {
		return "it has no id"
	}
	return "its id is " + clip(string(v.Raw()))
}

// note limits what a server that repeats itself can put into the log.
func (m *mux) note(reason, text, hint string) {
	if m.noted[reason] == maxMuxNotes {
		return
	}
	m.noted[reason]++
	m.log.Note(reason, text, hint)
}

// flaws notes what is wrong with a message that could still be read. what is
// the method of the message, or of the request it answers.
func (m *mux) flaws(what string, f rawjson.Flaws) {
	const kind = "flaws"
	if !f.BOM && f.InvalidUTF8 == 0 && len(f.Duplicates) == 0 || m.noted[kind] == maxMuxNotes {
		return
	}
	m.noted[kind]++
	noteFlaws(m.log, m.log.quote(what, 60), f)
}
