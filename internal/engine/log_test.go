package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
	"github.com/mcpvigil/mcpvigil/probe"
)

// logKept keeps a log.
type logKept struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logKept) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// has reports whether one line holds all of words.
func (l *logKept) has(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		missing := false
		for _, w := range words {
			missing = missing || !strings.Contains(line, w)
		}
		if !missing {
			return true
		}
	}
	return false
}

// Whoever reads nothing but the log sees what began, who was told or could not be, and
// what ended.
func TestTheLogTellsOfIncidents(t *testing.T) {
	both(t, func(t *testing.T, s *store.Store) {
		var kept logKept
		b := newBench(t, s, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&kept, nil)) })
		r := newReceiver(t, 1)
		b.tells(map[string]*receiver{"hook": r}, watch.Step{Channels: []string{"hook"}})
		b.add("search")
		b.server.says("search", sayDown)
		for range 3 {
			b.after(time.Minute)
		}
		told := func(n int) func() bool {
			return func() bool {
				all := b.notifications()
				return len(all) == n && all[0].Status == watch.Sent && all[n-1].Status == watch.Sent
			}
		}
		b.eventually("it is told", told(1))
		b.server.says("search", func() *probe.Report { return healthy("find") })
		for range 2 {
			b.after(time.Minute)
		}
		b.eventually("its end is told", told(2))
		for _, line := range [][]string{
			{"level=WARN", `msg="an incident was opened"`, "monitor=search", "axis=availability", "reason=connection-refused", "incident=1"},
			{"level=WARN", `msg="a channel could not be told; it is tried again"`, "channel=hook", "attempt=1", "503"},
			{"level=INFO", `msg="a channel was told"`, "channel=hook", "phase=triggered", `title="search is down"`, "attempt=2"},
			{"level=INFO", `msg="an incident is resolved"`, "monitor=search"},
			{"level=INFO", `msg="a channel was told"`, "phase=resolved"},
		} {
			b.eventually("the log has "+strings.Join(line, " "), func() bool { return kept.has(line...) })
		}
	})
}
