package wire

import (
	"crypto/x509"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

// Bounds of a Log.
const (
	maxNotes     = 64
	maxExchanges = 256
	maxNoteText  = 400
)

// Note is something off-spec that did not stop the session. Text is safe to show.
type Note struct {
	Reason, Text, Hint string
	Step               string
	Count              int
}

// Stages splits the time of one HTTP exchange. A stage that did not happen is
// negative.
type Stages struct {
	DNS, TCP, TLS, FirstByte time.Duration
}

// Exchange is one message that was sent and what came back.
type Exchange struct {
	Step       string
	Method     string // JSON-RPC method
	HTTPMethod string
	URL        string
	// Address is what it was sent to, that of a proxy included; empty: nothing was.
	Address string
	// Header are the request's headers without those that hold a credential,
	// whose names are in SecretHeaders.
	Header        http.Header
	SecretHeaders []string
	Body          []byte // as sent; nil for calls with arguments of the operator
	Status        int
	ContentType   string
	Stages        *Stages
	Started       time.Time
	Duration      time.Duration
	Bytes         int64
	Err           error
	Certificate   *x509.Certificate
}

// Log collects notes and exchanges of a check, bounded. It is safe for
// concurrent use.
type Log struct {
	mu        sync.Mutex
	step      string
	notes     []Note
	exchanges []Exchange
	redact    *plain.Redactor
}

// NewLog returns an empty log whose notes are redacted by r.
func NewLog(r *plain.Redactor) *Log { return &Log{redact: r} }

// SetStep names the step that later notes and exchanges belong to.
func (l *Log) SetStep(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.step = step
}

// Note records something off-spec. The same reason and text is counted, not
// repeated. Text may quote a server: it is made safe here.
func (l *Log) Note(reason, text, hint string) {
	text = l.quote(text, maxNoteText)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.notes {
		if n := &l.notes[i]; n.Reason == reason && n.Text == text {
			n.Count++
			return
		}
	}
	if len(l.notes) < maxNotes {
		l.notes = append(l.notes, Note{Reason: reason, Text: text, Hint: hint, Step: l.step, Count: 1})
	}
}

// quote is [Config.quote] for those who have only the log.
func (l *Log) quote(text string, most int) string {
	return plain.Line(l.redact.String(text), most)
}

// Notes returns a copy of what was noted, in order.
func (l *Log) Notes() []Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notes)
}

func (l *Log) exchange(e Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Step == "" {
		e.Step = l.step
	}
	if len(l.exchanges) < maxExchanges {
		l.exchanges = append(l.exchanges, e)
	}
}

// answered completes the latest exchange of a method whose answer did not come
// with it, but on a stream.
func (l *Log) answered(method string, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range slices.Backward(l.exchanges) {
		if x := &l.exchanges[i]; x.Method == method {
			x.Duration, x.Bytes, x.ContentType = time.Since(x.Started), int64(size), "text/event-stream (on the stream)"
			return
		}
	}
}

// Exchanges returns a copy of what was exchanged, in order of completion.
func (l *Log) Exchanges() []Exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.exchanges)
}
