package wire

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"time"
)

// sseEvent is one block of an event stream, as the WHATWG HTML standard
// (9.2.6, interpreting an event stream) reads it, with two differences: a block
// without data is not dropped, because its id and retry matter, and bytes that
// are not UTF-8 are left for the reader of the data to find.
type sseEvent struct {
	name  string // "" stands for "message"
	data  string // "" also when there was no data
	id    string // only when hasID; it may be "", which resets the last id
	hasID bool
	retry time.Duration // only when hasRetry

	hasRetry bool
}

const (
	sseBuffer     = 4 << 10
	maxEmptyReads = 100
)

// sseReader decodes an event stream as it arrives: an event is given out as
// soon as the line end of its blank line was read, however the bytes are split.
// It is not safe for concurrent use.
type sseReader struct {
	r    io.Reader
	left *int64 // how much may still be consumed

	buf    []byte
	unread []byte // the part of buf that was not consumed
	line   []byte // the start of a line that is longer than what was read
	data   []byte // of the event under construction, each line with its line end
	event  sseEvent
	any    bool // a field of the event was seen

	begun  bool // the first line, which may start with a byte order mark, is over
	skipLF bool // the last line ended with CR: an LF that follows belongs to it
	limit  int64
	err    error
}

// newSSEReader reads events from r. Every byte that it consumes is taken off
// left, which several readers may share one after the other; next fails with
// response-too-large rather than take more.
func newSSEReader(r io.Reader, left *int64) *sseReader {
	return &sseReader{r: r, left: left, limit: *left}
}

// next returns the next event. Its errors are that of the reader, io.EOF at the
// end, and an *Error over the limit; all of them are final. An event that was
// not finished by a blank line is discarded.
func (s *sseReader) next() (sseEvent, error) {
	for {
		line, err := s.readLine()
		if err != nil {
			return sseEvent{}, err
		}
		if len(line) > 0 {
			s.field(line)
			continue
		}
		if event, ok := s.dispatch(); ok {
			return event, nil
		}
	}
}

// partial reports whether a part of an event has arrived; comments are none.
func (s *sseReader) partial() bool {
	return s.any || len(s.line) > 0 && s.line[0] != ':'
}

// dispatch finishes the event under construction, if a field of it was seen.
func (s *sseReader) dispatch() (sseEvent, bool) {
	if !s.any {
		return sseEvent{}, false
	}
	event := s.event
	if n := len(s.data); n > 0 {
		event.data = string(s.data[:n-1])
	}
	s.event, s.any, s.data = sseEvent{}, false, s.data[:0]
	return event, true
}

func (s *sseReader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) { // "" is a comment
	case "event":
		s.event.name = string(value)
	case "data":
		s.data = append(append(s.data, value...), '\n')
	case "id":
		if bytes.IndexByte(value, 0) >= 0 {
			return
		}
		s.event.id, s.event.hasID = string(value), true
	case "retry":
		retry, ok := milliseconds(value)
		if !ok {
			return
		}
		s.event.retry, s.event.hasRetry = retry, true
	default:
		return
	}
	s.any = true
}

// milliseconds reads ASCII digits. More than fit are as many as fit: the caller
// bounds its wait by a deadline anyway.
func milliseconds(digits []byte) (time.Duration, bool) {
	for _, c := range digits {
		if c < '0' || '9' < c {
			return 0, false
		}
	}
	if len(digits) == 0 {
		return 0, false
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n > most {
		n = most
	}
	return time.Duration(n) * time.Millisecond, true
}

// readLine returns the next line without its end, which is CRLF, LF or CR. The
// line is valid until the next call. At the end of the stream an unfinished line
// is dropped: it cannot complete an event.
func (s *sseReader) readLine() ([]byte, error) {
	s.line = s.line[:0]
	for {
		if len(s.unread) == 0 {
			if err := s.fill(); err != nil {
				return nil, err
			}
		}
		if s.skipLF {
			s.skipLF = false
			if s.unread[0] == '\n' {
				if err := s.consume(1); err != nil {
					return nil, err
				}
				continue
			}
		}
		chunk := s.unread
		end := lineEnd(chunk)
		if end < 0 {
			if err := s.consume(len(chunk)); err != nil {
				return nil, err
			}
			s.line = append(s.line, chunk...)
			continue
		}
		if err := s.consume(end + 1); err != nil {
			return nil, err
		}
		s.skipLF = chunk[end] == '\r'
		line := chunk[:end]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		return s.first(line), nil
	}
}

// first takes the byte order mark off the first line of the stream.
func (s *sseReader) first(line []byte) []byte {
	if s.begun {
		return line
	}
	s.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// lineEnd is the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// consume counts bytes when they are used and not when they are read, so that
// the outcome does not depend on how the stream was cut into reads.
func (s *sseReader) consume(n int) error {
	if int64(n) > *s.left {
		*s.left = 0
		s.unread = nil
		s.err = tooLarge(s.limit)
		return s.err
	}
	*s.left -= int64(n)
	s.unread = s.unread[n:]
	return nil
}

func (s *sseReader) fill() error {
	if s.err != nil {
		return s.err
	}
	if s.buf == nil {
		s.buf = make([]byte, sseBuffer)
	}
	for range maxEmptyReads {
		n, err := s.r.Read(s.buf)
		s.err = err
		if n > 0 {
			s.unread = s.buf[:n]
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}
