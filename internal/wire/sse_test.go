package wire

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readEvents reads r to its end under a limit and returns how much of that was
// left.
func readEvents(r io.Reader, limit int64) (events []sseEvent, left int64, err error) {
	s := newSSEReader(r, &limit)
	for {
		ev, err := s.next()
		if err != nil {
			return events, limit, err
		}
		events = append(events, ev)
	}
}

func TestSSE(t *testing.T) {
	data := func(lines ...string) []sseEvent {
		var events []sseEvent
		for _, l := range lines {
			events = append(events, sseEvent{data: l})
		}
		return events
	}
	tests := []struct {
		name, stream string
		want         []sseEvent
	}{
		{"nothing", "", nil},
		{"blank lines", "\n\r\n\r\r\n\n", nil},
		{"LF", "data: a\n\ndata: b\n\n", data("a", "b")},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", data("a", "b")},
		{"bare CR", "data: a\r\rdata: b\r\r", data("a", "b")},
		{"mixed ends", "data: a\r\n\rdata: b\n\r\n", data("a", "b")},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", data("a")},
		{"one byte order mark only", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", data("b")},
		{"mark in a later line", "data: a\n\n\xef\xbb\xbfdata: b\n\n", data("a")},
		{"comments", ": ping - 2026\n\n:\n\ndata: a\n: in between\n\n", data("a")},
		{"one space is dropped", "data:a\n\ndata:  a\n\n", data("a", " a")},
		{"several lines", "data: a\ndata\ndata:b\n\n", data("a\n\nb")},
		{"empty data", "data:\n\n", data("")},
		{"two empty lines of data", "data\ndata\n\n", data("\n")},
		{"colon in the value", "data: a: b\n\n", data("a: b")},
		{"unknown fields", "foo: bar\n\n DATA: a\n\ndata : a\n\nData: a\n\n", nil},
		{"cut off by the end", "data: a\n\ndata: b\n", data("a")},
		{"cut off in a line", "data: a\n\ndata: b", data("a")},
		{"event name", "event: ping\ndata: x\n\ndata: a\n\n", []sseEvent{{name: "ping", data: "x"}, {data: "a"}}},
		{"the last event name counts", "event: a\nevent: b\ndata: x\n\n", []sseEvent{{name: "b", data: "x"}}},
		{
			"priming event", "id: s:0\nretry: 1000\ndata: \n\nid: s:1\ndata: {}\n\n",
			[]sseEvent{{id: "s:0", hasID: true, retry: time.Second, hasRetry: true}, {id: "s:1", hasID: true, data: "{}"}},
		},
		{"id without data", "id: 7\n\n", []sseEvent{{id: "7", hasID: true}}},
		{"id reset", "id\ndata: a\n\n", []sseEvent{{hasID: true, data: "a"}}},
		{"id with NUL", "id: a\x00b\ndata: a\n\n", data("a")},
		{"retry must be digits", "retry: 10s\nretry: -1\nretry:\nretry: 1.5\ndata: a\n\n", data("a")},
		{"retry overflow", "retry: 99999999999999999999999\n\n", []sseEvent{{retry: (math.MaxInt64 / 1_000_000) * time.Millisecond, hasRetry: true}}},
		{"invalid UTF-8 stays", "data: caf\xe9\n\n", data("caf\xe9")},
		{"longer than the buffer", "data: " + strings.Repeat("x", 3*sseBuffer) + "\n\n", data(strings.Repeat("x", 3*sseBuffer))},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole":             func(r io.Reader) io.Reader { return r },
		"one byte per read": iotest.OneByteReader,
		"error with data":   iotest.DataErrReader,
	}
	for _, test := range tests {
		for name, wrap := range readers {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				got, left, err := readEvents(wrap(strings.NewReader(test.stream)), 1<<20)
				if !errors.Is(err, io.EOF) {
					t.Errorf("ended with %v, want io.EOF", err)
				}
				if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(sseEvent{})); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if used := 1<<20 - left; used != int64(len(test.stream)) {
					t.Errorf("counted %d bytes of %d", used, len(test.stream))
				}
			})
		}
	}
}

// An event must be given out when its blank line arrives, not when the next
// event does.
func TestSSEDoesNotReadAhead(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		r, w := io.Pipe()
		go io.WriteString(w, "data: a"+end+end)
		limit := int64(100)
		ev, err := newSSEReader(r, &limit).next()
		if err != nil || ev.data != "a" {
			t.Errorf("with %q: got %+v, %v", end, ev, err)
		}
		r.Close()
	}
}

func TestSSELimit(t *testing.T) {
	stream := "data: a\n\ndata: b\n\n" // 9 bytes each
	for _, test := range []struct {
		limit int64
		want  int
		err   string
	}{
		{18, 2, ""}, {17, 1, ReasonResponseTooLarge}, {9, 1, ReasonResponseTooLarge}, {8, 0, ReasonResponseTooLarge}, {0, 0, ReasonResponseTooLarge},
	} {
		for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
			events, left, err := readEvents(r, test.limit)
			if len(events) != test.want || ReasonOf(err) != test.err || left < 0 {
				t.Errorf("limit %d: %d events, %d left, %v", test.limit, len(events), left, err)
			}
		}
	}
}

// One budget serves several streams, one after the other.
func TestSSESharedLimit(t *testing.T) {
	limit := int64(14)
	for i, want := range []string{"", ReasonResponseTooLarge} {
		s := newSSEReader(strings.NewReader("data: a\n\n"), &limit)
		if _, err := s.next(); ReasonOf(err) != want {
			t.Errorf("stream %d: %v, want reason %q", i, err, want)
		}
	}
}

func TestSSEErrorsAreFinal(t *testing.T) {
	broken := errors.New("broken")
	limit := int64(100)
	s := newSSEReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), &limit)
	if ev, err := s.next(); ev.data != "a" || err != nil {
		t.Fatalf("got %+v, %v", ev, err)
	}
	for range 2 {
		if _, err := s.next(); !errors.Is(err, broken) {
			t.Errorf("got %v, want the reader's error", err)
		}
	}
	s = newSSEReader(emptyReader{}, &limit)
	if _, err := s.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v, want io.ErrNoProgress", err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func FuzzSSE(f *testing.F) {
	for _, seed := range []string{
		"", "data: a\n\n", "\xef\xbb\xbf: x\r\n\r\nevent: ping\rdata\r\r", "id: 1\nretry: 5\ndata:\n\nid: 2\ndata: {}\n\n", "data: a\r\n\rdata", "id: \x00\n\n",
	} {
		f.Add([]byte(seed), int64(64), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, limit int64, step uint8) {
		if limit < 0 {
			limit = 0
		}
		want, wantLeft, wantErr := readEvents(bytes.NewReader(stream), limit)
		got, gotLeft, gotErr := readEvents(&stepReader{data: stream, step: int(step%7) + 1}, limit)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sseEvent{})); diff != "" {
			t.Fatalf("the events depend on how the stream is cut (-whole +cut):\n%s", diff)
		}
		if wantLeft != gotLeft || ReasonOf(wantErr) != ReasonOf(gotErr) {
			t.Fatalf("whole: %d left, %v; cut: %d left, %v", wantLeft, wantErr, gotLeft, gotErr)
		}
		size := 0
		for _, ev := range got {
			size += len(ev.name) + len(ev.data) + len(ev.id)
		}
		if size > len(stream) || int64(size) > limit {
			t.Fatalf("%d bytes of events from %d bytes under a limit of %d", size, len(stream), limit)
		}
	})
}

// stepReader gives out step bytes at a time.
type stepReader struct {
	data []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.data[:min(r.step, len(r.data))])
	r.data = r.data[n:]
	return n, nil
}

func BenchmarkSSE(b *testing.B) {
	stream := bytes.Repeat([]byte("event: message\nid: 12\ndata: "+strings.Repeat("x", 500)+"\n\n"), 100)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := readEvents(bytes.NewReader(stream), math.MaxInt64); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
