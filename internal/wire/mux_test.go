package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// muxUnderTest collects what a mux hands out.
type muxUnderTest struct {
	*mux
	sent      []string
	malformed []string
}

func newTestMux() *muxUnderTest {
	u := &muxUnderTest{}
	u.mux = newMux(NewLog(nil), func(b []byte) { u.sent = append(u.sent, string(b)) },
		func(_ []byte, err *Error) { u.malformed = append(u.malformed, err.Reason) })
	return u
}

func (u *muxUnderTest) open(t *testing.T, id int64) *pending {
	t.Helper()
	p, err := u.register(&request{id: id, method: "m" + strconv.FormatInt(id, 10)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// state is the answer, the reason of the error, or "" while there is neither.
func (p *pending) state() string {
	select {
	case o := <-p.done:
		if o.err != nil {
			return o.err.Reason
		}
		return string(o.answer.result.Raw())
	default:
		return ""
	}
}

func TestMuxRoutes(t *testing.T) {
	const other = `{"jsonrpc":"2.0","id":2,"result":{"n":2}}`
	tests := []struct {
		name, in     string
		first, other string // what the requests 1 and 2 got
		notes        int
	}{
		{"answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, `{}`, "", 0},
		{"batch", `[{"jsonrpc":"2.0","id":2,"result":{"n":2}},{"jsonrpc":"2.0","id":1,"result":{"n":1}}]`, `{"n":1}`, `{"n":2}`, 0},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/x"}`, "", "", 0},
		{"the number spelled otherwise", `{"jsonrpc":"2.0","id":1.0,"result":{}}`, `{}`, "", 0},
		{"text for a number", `{"jsonrpc":"2.0","id":"1","result":{}}`, ReasonIDMismatch, "", 0},
		{"other text", `{"jsonrpc":"2.0","id":"01","result":{}}`, "", "", 1},
		{"unknown", `{"jsonrpc":"2.0","id":3,"result":{}}`, "", "", 1},
		{"null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, "", "", 1},
		{"no id", `{"jsonrpc":"2.0","result":{}}`, "", "", 1},
		{"fraction", `{"jsonrpc":"2.0","id":1.5,"result":{}}`, "", "", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := newTestMux()
			first, second := u.open(t, 1), u.open(t, 2)
			if !u.receive([]byte(test.in)) {
				t.Errorf("malformed: %v", u.malformed)
			}
			got := []string{first.state(), second.state()}
			if got[0] != test.first || got[1] != test.other || len(u.log.Notes()) != test.notes {
				t.Errorf("requests got %q, notes %v", got, u.log.Notes())
			}
			if test.other == "" && u.receive([]byte(other)) && second.state() != `{"n":2}` {
				t.Error("the other request was disturbed")
			}
		})
	}
}

// An error without an id is about the one request that is open, unless it may
// be about something else.
func TestMuxErrorWithoutID(t *testing.T) {
	const null = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`
	tests := []struct {
		name, in string
		before   func(*muxUnderTest)
		want     string
	}{
		{"null", null, func(*muxUnderTest) {}, ReasonIDMismatch},
		{"no id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}`, func(*muxUnderTest) {}, ReasonIDMismatch},
		{"a result", `{"jsonrpc":"2.0","id":null,"result":{}}`, func(*muxUnderTest) {}, ""},
		{"after a notification", null, func(u *muxUnderTest) { u.unasked() }, ""},
		{"after a reply", null, func(u *muxUnderTest) { u.receive([]byte(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)) }, ""},
		{"after an abandoned request", null, func(u *muxUnderTest) { u.abandon(u.open(t, 9)) }, ""},
		{"beside another", null, func(u *muxUnderTest) { u.open(t, 2) }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := newTestMux()
			test.before(u)
			p := u.open(t, 1)
			u.receive([]byte(test.in))
			select {
			case o := <-p.done:
				if test.want == "" || o.err == nil || o.err.Reason != test.want || !strings.HasSuffix(o.err.Text, "; 1 was sent (error -32700: parse error)") {
					t.Errorf("got %+v", o)
				}
			default:
				if n := u.log.Notes(); test.want != "" || len(n) != 1 || n[0].Reason != ReasonIDMismatch {
					t.Errorf("it still waits, notes %+v", n)
				}
			}
		})
	}
	u := newTestMux()
	u.unasked() // is one error's worth
	p := u.open(t, 1)
	u.receive([]byte(null))
	u.receive([]byte(null))
	if got := p.state(); got != ReasonIDMismatch {
		t.Errorf("the second error gave %q", got)
	}
}

func TestMuxFlood(t *testing.T) {
	u := newTestMux()
	p := u.open(t, 1)
	u.receive([]byte(`[` + strings.Repeat(`{"jsonrpc":"2.0","method":"n"},`, maxMuxUnasked) + `{"jsonrpc":"2.0","id":1,"result":{}}]`))
	if u.flooded() != nil || p.state() != "{}" {
		t.Error("an answer came with it")
	}
	for range maxMuxUnasked {
		u.receive([]byte(`{"jsonrpc":"2.0","method":"n"}`))
	}
	if e := u.flooded(); e != nil {
		t.Error(e)
	}
	u.receive([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	if e := u.flooded(); e == nil || e.Reason != ReasonMalformedMessage {
		t.Errorf("got %v", e)
	}
}

func TestMuxAnswersTwice(t *testing.T) {
	u := newTestMux()
	p := u.open(t, 1)
	for range 10 {
		u.receive([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	}
	if got := p.state(); got != "{}" {
		t.Error(got)
	}
	if n := u.log.Notes(); len(n) != 1 || n[0].Reason != ReasonIDMismatch || n[0].Count != maxMuxNotes {
		t.Errorf("notes: %+v", n)
	}
}

func TestMuxRepliesAreBounded(t *testing.T) {
	u := newTestMux()
	for range 2 * maxMuxReplies {
		u.receive([]byte(`{"jsonrpc":"2.0","id":"a","method":"ping"}`))
	}
	if len(u.sent) != maxMuxReplies || u.sent[0] != `{"jsonrpc":"2.0","id":"a","result":{}}` {
		t.Errorf("%d replies, first %s", len(u.sent), u.sent[0])
	}
	if u.receive([]byte(`{"jsonrpc":"2.0","id":{},"method":"ping"}`)); len(u.sent) != maxMuxReplies {
		t.Error("an id that is an object was answered")
	}
}

func TestMuxFail(t *testing.T) {
	u := newTestMux()
	first, second := u.open(t, 1), u.open(t, 2)
	u.fail(&Error{Reason: ReasonSSEEnded, Details: map[string]any{"a": 1}})
	a, b := (<-first.done).err, (<-second.done).err
	u.fail(&Error{Reason: ReasonAborted})
	_, later := u.register(&request{id: 3})
	for _, e := range []*Error{a, b, later} {
		if e == nil || e.Reason != ReasonSSEEnded {
			t.Fatalf("got %v", e)
		}
	}
	a.Details["a"] = 2
	if b.Details["a"] != 1 || later.Details["a"] != 1 || a == b {
		t.Error("errors share memory")
	}
}

func TestMuxBlame(t *testing.T) {
	u := newTestMux()
	err := &Error{Reason: ReasonMalformedMessage}
	first, second := u.open(t, 1), u.open(t, 2)
	if u.blame(parseValue(t, `7`), err) {
		t.Error("blamed one of two")
	}
	if !u.blame(parseValue(t, `2`), err) || second.state() != ReasonMalformedMessage || first.state() != "" {
		t.Error("the id was not used")
	}
	if !u.blame(parseValue(t, `{}`).Get("id"), err) || first.state() != ReasonMalformedMessage {
		t.Error("the only one was not blamed")
	}
}

func TestMuxWait(t *testing.T) {
	u := newTestMux()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	interrupted := func() *Error { return failf(ReasonTimeout, "late") }
	p := u.open(t, 1)
	if o := u.wait(ctx, p, interrupted); o.err == nil || o.err.Reason != ReasonTimeout {
		t.Errorf("got %+v", o)
	}
	u.receive([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	if n := u.log.Notes(); len(n) > 0 {
		t.Errorf("an answer to an abandoned request: %v", n)
	}
	p = u.open(t, 2)
	u.receive([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
	for range 100 { // whichever case select takes
		if o := u.wait(ctx, p, interrupted); o.answer == nil {
			t.Fatal("an answer that had come was dropped")
		} else {
			p.done <- o
		}
	}
}

func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"\u202e"}}`,
		`{"jsonrpc":"2.0","id":1e0,"method":"ping"}`, `[{"jsonrpc":"2.0","method":"a"},3]`, `[]`, `null`, "\xef\xbb\xbf{}", `{"jsonrpc":"2.0","id":1,"id":2,"result":{"a":"` + "\xe9" + `"}}`,
	} {
		f.Add([]byte(seed), int64(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, id int64) {
		msgs, batch, err := parseMessages(data)
		if err != nil {
			e, ok := err.(*Error) //nolint:errorlint // exactly that is promised
			if !ok || e.Reason != ReasonMalformedJSON && e.Reason != ReasonMalformedMessage && e.Reason != ReasonInvalidUTF8 {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if !batch && len(msgs) != 1 {
			t.Fatalf("%d messages", len(msgs))
		}
		for i := range msgs {
			checkMessage(t, &msgs[i], id, data)
		}
	})
}

func checkMessage(t *testing.T, m *message, id int64, data []byte) {
	t.Helper()
	if m.kind == isResponse != (m.result.Exists() || m.rpcErr != nil) || m.result.Exists() && m.rpcErr != nil || m.kind != isResponse && m.answers(id) {
		t.Fatalf("message %+v", m)
	}
	if !bytes.Contains(data, m.result.Raw()) {
		t.Fatalf("result %q is not what was sent", m.result.Raw())
	}
	if m.answers(id) {
		var n json.Number
		if err := json.Unmarshal(m.id.Raw(), &n); err != nil {
			t.Fatalf("id %s: %v", m.id.Raw(), err)
		}
	}
	if m.kind != isRequest {
		return
	}
	if body := reply(m); body != nil {
		back, _, err := parseMessages(body)
		if err != nil || len(back) != 1 || back[0].kind != isResponse || !bytes.Equal(back[0].id.Raw(), m.id.Raw()) {
			t.Fatalf("reply %s: %v", body, fmt.Sprint(err))
		}
	}
}
