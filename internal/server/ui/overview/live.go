package overview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"github.com/mcpvigil/mcpvigil/internal/people"
	"github.com/mcpvigil/mcpvigil/internal/server/board"
	"github.com/mcpvigil/mcpvigil/internal/server/ops"
	"github.com/mcpvigil/mcpvigil/internal/server/ui/shell"
)

const (
	// mostLive is how many pages are kept current at a time, and mostOfSession how many
	// of one session.
	mostLive      = 500
	mostOfSession = 8
	// mostIDs is how many rows of a page are kept current.
	mostIDs = 2000
	// heartbeat keeps what stands between from ending a stream, and finds who is gone.
	heartbeat = 20 * time.Second
	// recheck is how often it is asked whether the session is still good.
	recheck = time.Minute
	// sendTime is how long a browser may take to take something.
	sendTime = 30 * time.Second
)

// streams counts the open streams.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by session
}

func newStreams() *streams { return &streams{of: map[string]int{}} }

// open counts a stream of a session, unless there are too many.
func (s *streams) open(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= mostLive || s.of[session] >= mostOfSession {
		return false
	}
	s.all++
	s.of[session]++
	return true
}

func (s *streams) close(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[session]--; s.of[session] <= 0 {
		delete(s.of, session)
	}
}

// live sends what changes of a page as server-sent events: row with the new row, gone,
// tiles, order when a row that is not on the page needs a person, reload when the page
// has to be read again, end when nothing more is sent.
func (p *pages) live(q *shell.Request) error {
	session := q.Session.ID()
	if !p.streams.open(session) {
		return &ops.Error{Code: ops.TooMany, Text: q.T("Too many pages are kept current."), RetryAfter: time.Minute}
	}
	defer p.streams.close(session)
	s := &stream{
		pages: p, q: q, filter: filterOf(q.URL.Query()), shown: map[int64]bool{},
		out: http.NewResponseController(q.Writer()), mayWrite: q.Actor.Can(people.Write),
	}
	var ids []int64
	for _, text := range strings.Split(q.URL.Query().Get("ids"), ",") {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && len(ids) < mostIDs && !s.shown[id] {
			s.shown[id] = true
			ids = append(ids, id)
		}
	}
	h := q.Writer().Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	_ = s.out.SetReadDeadline(time.Time{}) // nothing more is read
	sub := p.Board.Subscribe(s.filter)
	defer sub.Close()
	// What happened between the page and this.
	changed, mark, ok := p.Board.Since(q.URL.Query().Get("mark"), ids)
	s.mark = mark
	if !ok {
		s.event("reload", "")
	} else if len(changed) > 0 {
		s.rows(changed)
	}
	s.comment()
	s.follow(q.Context(), sub)
	return nil // a browser that is gone is no failure
}

// stream is one page that is kept current.
type stream struct {
	pages    *pages
	q        *shell.Request
	filter   board.Filter
	shown    map[int64]bool // the rows of the page
	mayWrite bool
	mark     string
	out      *http.ResponseController
	err      error // the first one: nothing is sent after it
}

func (s *stream) follow(ctx context.Context, sub *board.Subscription) {
	beat, check := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer beat.Stop()
	defer check.Stop()
	for s.err == nil {
		select {
		case <-ctx.Done():
			return
		case <-s.pages.Board.Done():
			return // the server ends, and the browser comes again
		case <-beat.C:
			s.comment()
		case <-check.C:
			if err := s.pages.People.Alive(ctx, s.q.Session); errors.Is(err, people.ErrUnauthenticated) {
				s.event("end", "")
				return
			}
		case <-sub.Ready():
			ids, reload := sub.Take()
			if reload {
				s.event("reload", "")
				continue
			}
			s.mark = s.pages.Board.Mark()
			s.rows(ids)
		}
	}
}

// rows sends what became of monitors, and the tiles.
func (s *stream) rows(ids []int64) {
	order := false
	for _, id := range ids {
		r, there := s.pages.Board.Row(id)
		switch {
		case !there:
			if s.shown[id] {
				s.event("gone", fmt.Sprintf("m-%d", id))
			}
		case s.shown[id]: // even when it does not fit any more: the reader sees what became of it
			s.part("row", fmt.Sprintf("m-%d", id), row(&r, s.mayWrite))
		case r.Need != board.NotNeeded && s.filter.Fits(&r):
			order = true
		}
	}
	s.part("tiles", "tiles", summary(s.filter, s.pages.Board.Count(s.filter)))
	if order {
		s.event("order", "")
	}
	s.flush()
}

// part sends the new form of an element.
func (s *stream) part(event, id string, c templ.Component) {
	var html bytes.Buffer
	if err := c.Render(s.q.Context(), &html); err != nil {
		s.q.Log(s.q.Context(), "a part of a page failed", err)
		s.err = err
		return
	}
	body, err := json.Marshal(map[string]string{"id": id, "html": html.String()})
	if err != nil {
		s.err = err
		return
	}
	s.send(event, string(body))
}

func (s *stream) event(event, data string) {
	s.send(event, data)
	s.flush()
}

// send writes an event, with the mark of what the page is up to date with by then. data
// has no line breaks.
func (s *stream) send(event, data string) {
	if s.err != nil {
		return
	}
	_ = s.out.SetWriteDeadline(time.Now().Add(sendTime))
	_, s.err = fmt.Fprintf(s.q.Writer(), "id: %s\nevent: %s\ndata: %s\n\n", s.mark, event, data)
}

func (s *stream) comment() {
	if s.err == nil {
		_ = s.out.SetWriteDeadline(time.Now().Add(sendTime))
		_, s.err = fmt.Fprint(s.q.Writer(), ": \n\n")
	}
	s.flush()
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.out.Flush()
	}
}
