package engine

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpvigil/mcpvigil/internal/store"
	"github.com/mcpvigil/mcpvigil/internal/watch"
)

func TestLanes(t *testing.T) {
	var l lanes
	in := func(channel string) (n int) {
		for l.enter(channel) {
			n++
		}
		return n
	}
	if n := in("a"); n != maxLane {
		t.Errorf("%d at a time, want %d", n, maxLane)
	}
	if n := in("b"); n != maxLane {
		t.Errorf("%d at a time beside another channel, want %d", n, maxLane)
	}
	for range maxLane {
		l.leave("a", slowAfter)
	}
	if n := in("a"); n != slowLane {
		t.Errorf("%d at a time to a slow channel, want %d", n, slowLane)
	}
	for range slowLane {
		l.leave("a", time.Millisecond)
	}
	if n := in("a"); n != maxLane {
		t.Errorf("%d at a time to one that is fast again, want %d", n, maxLane)
	}
	for range maxLane {
		l.leave("a", 0)
		l.leave("b", 0)
	}
	if len(l.all) != 0 {
		t.Errorf("idle channels are kept: %v", l.all)
	}
}

// A channel that hangs does not keep what is sent to others waiting.
func TestHangingChannelDelaysNoOther(t *testing.T) {
	b := newBench(t, openStore(t, store.SQLite))
	release := make(chan struct{})
	var came, ended atomic.Int64
	hang := &receiver{Server: httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		came.Add(1)
		select {
		case <-q.Context().Done():
			ended.Add(1)
		case <-release:
		}
	}))}
	t.Cleanup(hang.Close)
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let) // before the server is closed
	good := newReceiver(t, 0)
	b.tells(map[string]*receiver{"hang": hang, "good": good}, watch.Step{Channels: []string{"hang"}})
	b.tx(func(tx *store.Tx) error {
		return tx.PutEscalation(t.Context(), &watch.Escalation{Name: "good", Source: watch.FromAPI, Steps: []watch.Step{{Channels: []string{"good"}}}})
	})
	once := func(d *watch.Definition) { d.FailureThreshold = 1 }
	for i := range 2 * mailWorkers {
		name := "hung" + itoa(int64(i))
		b.add(name, once)
		b.server.says(name, sayDown)
	}
	// Nothing waits for the queue here, since it does not get empty.
	until := func(what string, holds func() bool) {
		b.clock.add(time.Minute)
		b.eventually(what, func() bool {
			if err := b.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			return holds()
		})
	}
	until("the channel hangs", func() bool { return came.Load() >= maxLane })
	b.add("search", once, func(d *watch.Definition) { d.Escalation = "good" })
	b.server.says("search", sayDown)
	until("the other is told", func() bool { return len(good.got()) > 0 })
	if n := ended.Load(); n != 0 {
		t.Errorf("%d attempts at the one that hangs had to end first", n)
	}
	let()
}
