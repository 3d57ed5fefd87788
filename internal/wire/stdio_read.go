package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/mcpvigil/mcpvigil/internal/plain"
)

const lineBuffer = 32 << 10

// errLineTooLong is returned once for a line over the limit.
var errLineTooLong = errors.New("line too long")

// lineReader cuts a stream into lines without ever holding more than one line
// and one buffer. Only partial may be called while next is.
type lineReader struct {
	r     io.Reader
	max   int64 // bytes of a line before its LF
	buf   []byte
	rest  []byte // the part of buf that was not consumed
	line  []byte // the line so far, when it spans reads
	skip  bool   // the line so far was too long: drop what is left of it
	inner atomic.Bool
	err   error
}

func newLineReader(r io.Reader, limit int64) *lineReader {
	return &lineReader{r: r, max: limit, buf: make([]byte, lineBuffer)}
}

// partial reports whether the start of a line has come and its end has not.
func (l *lineReader) partial() bool { return l.inner.Load() }

// next returns the next line without its end, LF or CRLF, in memory of its own.
// A last line need not have an end. For a line over the limit it fails with
// errLineTooLong as soon as that is known, and goes on with the line after it;
// all other errors are final.
func (l *lineReader) next() ([]byte, error) {
	for {
		if len(l.rest) == 0 {
			if err := l.fill(); err != nil {
				return l.last(err)
			}
		}
		chunk := l.rest
		end := bytes.IndexByte(chunk, '\n')
		if end >= 0 {
			chunk, l.rest = chunk[:end], chunk[end+1:]
		} else {
			l.rest = nil
		}
		l.inner.Store(end < 0)
		switch {
		case l.skip:
			l.skip = end < 0
		case int64(len(l.line)+len(chunk)) > l.max:
			l.line, l.skip = nil, end < 0
			return nil, errLineTooLong
		case end < 0:
			l.line = append(l.line, chunk...)
		default:
			return l.finish(chunk), nil
		}
	}
}

// finish returns the line so far with chunk at its end.
func (l *lineReader) finish(chunk []byte) []byte {
	line := append(l.line, chunk...)
	l.line = nil
	return trimCR(line)
}

// last hands out the line that the end of the stream cut off, then the error.
func (l *lineReader) last(err error) ([]byte, error) {
	if errors.Is(err, io.EOF) && len(l.line) > 0 {
		return l.finish(nil), nil
	}
	l.line = nil
	return nil, err
}

func (l *lineReader) fill() error {
	for empty := 0; l.err == nil; empty++ {
		n, err := l.r.Read(l.buf)
		l.err = err
		if n > 0 {
			l.rest = l.buf[:n]
			return nil
		}
		if empty == maxEmptyReads {
			l.err = io.ErrNoProgress
		}
	}
	return l.err
}

func trimCR(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\r")) }

// Bounds of what is kept and what is shown of a server's standard error.
const (
	tailKept  = 4 << 10
	tailBytes = 1 << 10
	tailLines = 10
	tailLine  = 300 // runes
)

// tail is a Writer that keeps the end of what is written. It is safe for
// concurrent use.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	p = p[max(0, n-tailKept):]
	if over := len(t.buf) + len(p) - tailKept; over > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// colours are the escape sequences that programs put around their log lines.
var colours = lazily("\x1b\\[[0-9;]*m")

// scrub takes colours and secrets out of what a server printed. What it returns
// is still to be made safe to show.
func scrub(s string, redact *plain.Redactor) string {
	return plain.Patterns(redact.String(colours().ReplaceAllString(s, "")))
}

var (
	errorLine = lazily(`(?i)^\W*([\w.]*(error|exception)|fatal|panic)\b[^:!]{0,40}[:!]`)
	noiseLine = lazily(`^\s*$|^\s+at |^\s*\^|^\s*File "|^Node\.js v|^\s*\.\.\. |^\s*[{}\])]+,?$|^npm (error|ERR!) (A complete log|code)|^goroutine \d|^\s*exit status`)
)

// tellingLine picks the line of a dying server's standard error that says why:
// the last that starts as an error, else the last that is no stack frame,
// version banner or blank.
func tellingLine(text string) string {
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines) {
		if errorLine().MatchString(line) && !noiseLine().MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	for _, line := range slices.Backward(lines) {
		if !noiseLine().MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// showTail gives the last lines of scrubbed text, safe to show. More is scrubbed
// than shown, so that a secret which the start of the tail cuts in half stays
// out.
func showTail(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	if cut := len(s) - tailBytes; cut > 0 {
		for cut < len(s) && !utf8.RuneStart(s[cut]) {
			cut++
		}
		s = s[cut:]
		if _, whole, found := strings.Cut(s, "\n"); found {
			s = whole
		}
	}
	lines := strings.Split(s, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = plain.Line(strings.TrimRight(line, "\r"), tailLine)
	}
	return strings.Join(lines, "\n")
}
